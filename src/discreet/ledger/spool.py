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


class Spool:
    """The folder as one thread sees it, and the turn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = secrets.token_hex(8)
        self._pipe: int | None = None
        self._cleaned = 0.0

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether it is our turn; if so, until the end of the block."""
        # a new description each time, so that threads exclude each other too
        descriptor = os.open(self._folder / "turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)  # gives the turn back

    def post(self, operations: Operations) -> None:
        """Let others carry these out."""
        if self._pipe is None:
            os.mkfifo(self._path(_PIPE), 0o600)
            # for writing too, so that it does not end when the last one who told us something closes it
            self._pipe = os.open(self._path(_PIPE), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._forget()
        self._write(self._path(_POST), operations)

    def withdraw(self) -> None:
        """Take back what was posted."""
        self._path(_POST).unlink(missing_ok=True)

    def wait(self, seconds: float) -> Outcomes | None:
        """Sleep until somebody tells us something; the outcomes, if that is what was told."""
        assert self._pipe is not None  # we have posted
        select.select([self._pipe], [], [], seconds)
        return self.told()

    def told(self) -> Outcomes | None:
        """The outcomes, if somebody has told them."""
        if self._pipe is None:
            return None
        try:
            last = os.read(self._pipe, _ATOMIC).decode().rstrip("\n").rsplit("\n", 1)[-1]
        except BlockingIOError:
            return None
        if last == "long":
            found: Outcomes | None = _read(self._path(_LONG))
            self._path(_LONG).unlink(missing_ok=True)
            return found
        return json.loads(last) if last else None

    def posted(self) -> dict[str, Operations]:
        """What others have posted, by the name of the one who waits for it."""
        names = [entry.name for entry in os.scandir(self._folder) if entry.name.endswith(_POST)]
        found: dict[str, Operations] = {}
        for name in (name.removesuffix(_POST) for name in names[:MOST_AT_ONCE]):
            operations = _read(self._path(_POST, name))
            if name == self._name:
                continue
            if isinstance(operations, list):
                found[name] = operations
            else:  # torn by a power cut
                self._path(_POST, name).unlink(missing_ok=True)
        return found

    def tell(self, name: str, outcomes: Outcomes) -> None:
        """Say what became of somebody's operations."""
        self._path(_POST, name).unlink(missing_ok=True)
        text = json.dumps(outcomes)
        if len(text) >= _ATOMIC:
            self._write(self._path(_LONG, name), outcomes)
            text = "long"
        self._send(name, text)

    def wake(self) -> None:
        """Tell one of those who wait that the turn is free."""
        for entry in os.scandir(self._folder):
            if entry.name.endswith(_POST) and self._send(entry.name.removesuffix(_POST), ""):
                return

    def clean(self) -> None:
        """Now and then, remove what dead processes left behind."""
        now = time.time()
        if now - self._cleaned < _LITTER:
            return
        self._cleaned = now
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                if entry.name != "turn" and now - entry.stat().st_mtime > _LITTER and not self._is_read(entry.name):
                    os.unlink(entry.path)

    def close(self) -> None:
        """Remove our pipe."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._path(_PIPE).unlink(missing_ok=True)
            self._pipe = None

    def _forget(self) -> None:
        """Empty the pipe of what was told too late."""
        assert self._pipe is not None
        with suppress(BlockingIOError):
            while os.read(self._pipe, _ATOMIC):
                pass

    def _send(self, name: str, text: str) -> bool:
        """Write a line into somebody's pipe; False if nobody reads it."""
        try:
            pipe = os.open(self._path(_PIPE, name), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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

    def _path(self, ending: str, name: str | None = None) -> Path:
        return self._folder / ((self._name if name is None else name) + ending)

    def _write(self, path: Path, value: Any) -> None:
        draft = path.with_suffix(path.suffix + _DRAFT)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(value, file)
        draft.rename(path)  # whole or not at all


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
