"""A folder beside a ledger's file where processes post operations for the one that has
the turn, and are told what became of them.

A process that waits has a pipe in the folder and sleeps until another one writes to it:
the outcomes, or an empty line, which means that the turn is free. Nothing here has to
be durable: what counts is in the ledger, and after a crash the folder is only litter.

Who asks is there, too: a file for each process that uses the ledger, locked as long as the
process lives. A request that was charged and has no answer is running, or lost. The entry
of the charge names its holder, and whoever asks for the same key looks whether that one is
still there. Nothing is decided by it but which of two errors comes: an answer is never
computed again for the same charge.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.ledger.fork_safety import ByProcess
from discreet.ledger.group_commit import MOST_AT_ONCE, Posted

Told = list[Any]
"""Operations, or outcomes, as JSON."""

_POST, _DRAFT, _PIPE, _LONG = ".post", ".draft", ".pipe", ".long"
# seconds after which nobody waits for an outcome any more
_LITTER = 600.0
# a pipe takes so many bytes at once or not at all
_ATOMIC = 4096
# more than a pipe holds
_MOST = 1 << 20
# the outcomes are in a file
_ELSEWHERE = "long"
_HOLDER = ".holder"
_HOLDER_NAME = re.compile("[0-9a-f]{32}")


class Mailbox:
    """The folder as one thread sees it, and the turn."""

    def __init__(self, folder: Path) -> None:
        # as text: pathlib would take longer than the system calls
        self._folder = os.fspath(folder)
        self._name = secrets.token_hex(8)
        # of what we posted last
        self._post = self._name
        self._posts = 0
        self._pipe: int | None = None
        self._turn: int | None = None
        self._cleaned = 0.0

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether it is our turn; if so, until the end of the block."""
        # a new description each time, so that threads exclude each other too
        descriptor = self._turn = os.open(
            f"{self._folder}/turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
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

    def post(self, operations: Told) -> None:
        """Let others carry these out."""
        if self._pipe is None:
            os.mkfifo(self._path(self._name, _PIPE), 0o600)
            # for writing too, so that it does not end when the last one who told us
            # something closes it
            self._pipe = os.open(
                self._path(self._name, _PIPE), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
            )
        self._posts += 1
        # a new name, so that what is told too late is not taken for this one's outcome
        self._post = f"{self._name}-{self._posts}"
        self._write(self._path(self._post, _POST), operations)

    def withdraw(self) -> None:
        """Take back what was posted, if nobody has told us what became of it."""
        if self._post != self._name:
            _remove(self._path(self._post, _POST))
            self._post = self._name

    def wait(self, seconds: float) -> Told | None:
        """Sleep until another process writes to our pipe; the outcomes, if it wrote them."""
        # we have posted
        assert self._pipe is not None
        select.select([self._pipe], [], [], seconds)
        return self.told()

    def told(self) -> Told | None:
        """The outcomes of the operations we have posted, if another process has written them."""
        if self._pipe is None:
            return None
        try:
            lines = os.read(self._pipe, _MOST).decode().splitlines()
        except BlockingIOError:
            return None
        found: Told | None = None
        for post, _, told in (line.partition(" ") for line in lines):
            text: str | bytes = told
            if told == _ELSEWHERE:
                text = _read(self._path(post, _LONG))
                _remove(self._path(post, _LONG))
            if post == self._post and text:
                found = json.loads(text)
        if found is not None:
            # who tells removes the post
            self._post = self._name
        return found

    def posted(self) -> Posted:
        """What others have posted, by the name of the post."""
        names = [name for name in os.listdir(self._folder) if name.endswith(_POST)]
        found: Posted = {}
        for name in (name.removesuffix(_POST) for name in names[:MOST_AT_ONCE]):
            if _owner(name) == self._name:
                continue
            operations = _parse(_read(self._path(name, _POST)))
            if isinstance(operations, list):
                found[name] = operations
            else:
                # torn by a power cut
                _remove(self._path(name, _POST))
        return found

    def tell(self, post: str, outcomes: Told) -> None:
        """Tell the process that posted these operations what became of them."""
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

    def clean(self, is_used: Callable[[str], bool] = lambda file: False) -> None:
        """Now and then, remove what dead processes left behind.

        is_used: whether a file that is not of the mailbox is still needed.
        """
        now = time.time()
        if now - self._cleaned < _LITTER:
            return
        self._cleaned = now
        for name in os.listdir(self._folder):
            path = self._path(name, "")
            with suppress(OSError):
                old = name != "turn" and now - os.stat(path).st_mtime > _LITTER
                if old and not self._is_read(name) and not is_used(name):
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
        """Write a line into the pipe of a waiting process; False if no process reads it."""
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
        # buffered: that writes all of it, or raises
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(value).encode())
        # whole or not at all
        os.rename(draft, path)


def _owner(post: str) -> str:
    """The process that waits for the outcomes of a post."""
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


class Holders:
    """The files of those who use one ledger."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        # A forked child is somebody else: the lock is not inherited.
        self._mine: ByProcess[_Holder] = ByProcess(lambda: _Holder(self._folder))

    def mine(self) -> str:
        """The name of this process."""
        return self._mine.here().name

    def is_alive(self, name: str) -> bool:
        """Whether the process of this name still uses the ledger."""
        if name in _ours.here():
            return True
        # an entry is what somebody wrote: it must not lead to another file
        if not _HOLDER_NAME.fullmatch(name):
            return False
        try:
            descriptor = os.open(f"{self._folder}/{name}{_HOLDER}", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def is_used(self, file: str) -> bool:
        """Whether a file is that of a process that is still there."""
        return file.endswith(_HOLDER) and self.is_alive(file.removesuffix(_HOLDER))

    def close(self) -> None:
        """Say that this process does not use the ledger any more."""
        mine = self._mine.forget()
        if mine is not None:
            mine.close()


class _Holder:
    """The file of one process, and its lock."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(16)
        self._path = f"{folder}/{self.name}{_HOLDER}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor: int | None = os.open(self._path, flags, 0o600)
        # Of this process alone, unlike flock: a child that was forked does not keep it.
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        _ours.here().add(self.name)

    def close(self) -> None:
        _ours.here().discard(self.name)
        if self._descriptor is not None:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = None


_ours: ByProcess[set[str]] = ByProcess(set)
"""The names of this process. Its own locks do not stop it, and to open and close such a
file here would lose the lock.
"""
