"""A file, best on another disk or machine, that keeps the latest point of a ledger's chain."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.chain import Anchor


class AnchorFile:
    """The file. It is replaced as a whole, and never goes back to an earlier point."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def read(self) -> Anchor | None:
        """The point that was kept, if there is one."""
        try:
            return Anchor.read(self._path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise LedgerError(f"The anchor file {self._path} must hold a point of the chain. Got something else.") from None

    def keep(self, anchor: Anchor) -> None:
        """Write a later point."""
        try:
            with self._alone():
                known = self.read()
                if known is None or known.number < anchor.number:
                    self._write(anchor)
        except OSError as error:
            raise LedgerError(f"The anchor file {self._path} must be writable. Got: {error.strerror}.") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other thread or process writes it, because one of them may be at a later point."""
        descriptor = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _write(self, anchor: Anchor) -> None:
        draft = self._beside(".draft")
        with draft.open("w") as file:
            file.write(f"{anchor}\n")
            file.flush()
            os.fsync(file.fileno())  # before it has its name: an empty anchor would stop everybody after a power cut
        draft.replace(self._path)

    def _beside(self, ending: str) -> Path:
        return self._path.with_name(self._path.name + ending)
