"""A folder beside a ledger's file where processes post operations for the one that has the turn, and are told what became of them.

A process that waits has a pipe in the folder and sleeps until somebody writes to it: the outcomes, or an empty line, which means that
the turn is free. Nothing here has to be durable: what counts is in the ledger, and after a crash the folder is only litter.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.ledger.combining import MOST_AT_ONCE, Operations, Outcomes

_POST, _DRAFT, _PIPE, _LONG = ".post", ".draft", ".pipe", ".long"
_LITTER = 600.0  # seconds after which nobody waits for an outcome any more
_ATOMIC = 4096  # a pipe takes so many bytes at once or not at all
_MOST = 1 << 20  # more than a pipe holds
_ELSEWHERE = "long"  # the outcomes are in a file


class Spool:
    """The folder as one thread sees it, and the turn."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)  # as text: pathlib would take longer than the system calls
        self._name = secrets.token_hex(8)
        self._post = self._name  # of what we posted last
        self._posts = 0
        self._pipe: int | None = None
        self._turn: int | None = None
        self._cleaned = 0.0

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether it is our turn; if so, until the end of the block."""
        # a new description each time, so that threads exclude each other too
        descriptor = self._turn = os.open(f"{self._folder}/turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            # in a child that was forked meanwhile, it was let go of already
            if self._turn is not None:
                # also for such a child, which has the descriptor too
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                self._turn = None
                os.close(descriptor)

    def post(self, operations: Operations) -> None:
        """Let others carry these out."""
        if self._pipe is None:
            os.mkfifo(self._path(self._name, _PIPE), 0o600)
            # for writing too, so that it does not end when the last one who told us something closes it
            self._pipe = os.open(self._path(self._name, _PIPE), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._posts += 1
        self._post = (
            f"{self._name}-{self._posts}"  # a new name, so that what is told too late is not taken for this one's outcome
        )
        self._write(self._path(self._post, _POST), operations)

    def withdraw(self) -> None:
        """Take back what was posted, if nobody has told us what became of it."""
        if self._post != self._name:
            _remove(self._path(self._post, _POST))
            self._post = self._name

    def wait(self, seconds: float) -> Outcomes | None:
        """Sleep until somebody tells us something; the outcomes, if that is what was told."""
        assert self._pipe is not None  # we have posted
        select.select([self._pipe], [], [], seconds)
        return self.told()

    def told(self) -> Outcomes | None:
        """The outcomes of what we have posted, if somebody has told them."""
        if self._pipe is None:
            return None
        try:
            lines = os.read(self._pipe, _MOST).decode().splitlines()
        except BlockingIOError:
            return None
        found: Outcomes | None = None
        for post, _, told in (line.partition(" ") for line in lines):
            text: str | bytes = told
            if told == _ELSEWHERE:
                text = _read(self._path(post, _LONG))
                _remove(self._path(post, _LONG))
            if post == self._post and text:
                found = json.loads(text)
        if found is not None:
            self._post = self._name  # who tells removes the post
        return found

    def posted(self) -> dict[str, Operations]:
        """What others have posted, by the name of the post."""
        names = [name for name in os.listdir(self._folder) if name.endswith(_POST)]
        found: dict[str, Operations] = {}
        for name in (name.removesuffix(_POST) for name in names[:MOST_AT_ONCE]):
            if _owner(name) == self._name:
                continue
            operations = _parse(_read(self._path(name, _POST)))
            if isinstance(operations, list):
                found[name] = operations
            else:  # torn by a power cut
                _remove(self._path(name, _POST))
        return found

    def tell(self, post: str, outcomes: Outcomes) -> None:
        """Say what became of somebody's operations."""
        _remove(self._path(post, _POST))
        line = f"{post} {json.dumps(outcomes)}"
        if len(line) >= _ATOMIC:
            self._write(self._path(post, _LONG), outcomes)
            line = f"{post} {_ELSEWHERE}"
        self._send(_owner(post), line)

    def wake(self) -> None:
        """Tell one of those who wait that the turn is free."""
        for name in os.listdir(self._folder):
            if name.endswith(_POST) and _owner(name) != self._name and self._send(_owner(name), ""):
                return

    def clean(self) -> None:
        """Now and then, remove what dead processes left behind."""
        now = time.time()
        if now - self._cleaned < _LITTER:
            return
        self._cleaned = now
        for name in os.listdir(self._folder):
            path = self._path(name, "")
            with suppress(OSError):
                if name != "turn" and now - os.stat(path).st_mtime > _LITTER and not self._is_read(name):
                    os.unlink(path)

    def close(self) -> None:
        """Remove our pipe."""
        if self._pipe is not None:
            os.close(self._pipe)
            _remove(self._path(self._name, _PIPE))
            self._pipe = None

    def forget(self) -> None:
        """In a forked child: let go of what is the parent's, and leave the parent's files alone."""
        for descriptor in (self._pipe, self._turn):
            if descriptor is not None:
                os.close(descriptor)
        self._pipe = self._turn = None

    def _send(self, name: str, text: str) -> bool:
        """Write a line into somebody's pipe; False if nobody reads it."""
        try:
            pipe = os.open(self._path(name, _PIPE), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(pipe, f"{text}\n".encode())
        except BlockingIOError:
            return False
        finally:
            os.close(pipe)
        return True

    def _is_read(self, file: str) -> bool:
        return file.endswith(_PIPE) and self._send(file.removesuffix(_PIPE), "")

    def _path(self, name: str, ending: str) -> str:
        return f"{self._folder}/{name}{ending}"

    def _write(self, path: str, value: Any) -> None:
        draft = path + _DRAFT
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:  # buffered: that writes all of it, or raises
            file.write(json.dumps(value).encode())
        os.rename(draft, path)  # whole or not at all


def _owner(post: str) -> str:
    """Who waits for the outcomes of a post."""
    return post.partition("-")[0]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
