"""A file, best on another disk or machine, that keeps the latest point of a ledger's chain."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.chain import Anchor


class AnchorFile:
    """The file. It is replaced as a whole, and never goes back to an earlier point."""

    def __init__(self, path: Path) -> None:
        self._path = path

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
        known = self.read()
        if known is not None and known.number >= anchor.number:
            return
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.draft")
        try:
            draft.write_text(f"{anchor}\n")
            draft.replace(self._path)
        except OSError as error:
            raise LedgerError(f"The anchor file {self._path} must be writable. Got: {error.strerror}.") from None
