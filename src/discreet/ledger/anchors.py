"""A file, best on another disk or machine, that keeps the latest point of a ledger's chain.

The ledger itself notes, in an entry, that it has such a file. From then on a missing file is one
that was removed, and not one that was not written yet.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from discreet.errors import LedgerDamagedError, LedgerError
from discreet.ledger.chain import Anchor
from discreet.ledger.transaction import ANCHORED, Transaction
from discreet.platforms import BINARY, CLOSED_ON_EXEC, NO_LINK, NO_WAIT, LockedFile, sync_folder
from discreet.trusted_files import require_trusted

_NEXT = (
    "First find out why. Then, only if you know that the ledger is complete, write its anchor "
    "into the file."
)
# neither a link that was put there since nor a pipe to wait for
_READ = os.O_RDONLY | BINARY | NO_LINK | NO_WAIT | CLOSED_ON_EXEC
_LONGEST = 200  # bytes to read: a point of the chain is shorter
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY | NO_LINK | CLOSED_ON_EXEC


class AnchorFile:
    """The file. It is replaced as a whole, and never goes back to an earlier point.

    timeout: how many seconds to wait for others who write it.
    """

    def __init__(self, path: Path, timeout: float = 30) -> None:
        self._timeout = timeout
        # The process may change its folder.
        self._given, self._path = path.parent.resolve() / path.name, path.resolve()

    def read(self) -> Anchor | None:
        """The point that was kept, if there is one."""
        try:
            require_trusted(self._given, f"anchor file {self._path}")
            with open(os.open(self._path, _READ), "rb") as file:
                return Anchor.read(file.read(_LONGEST).decode())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise LedgerError(
                f"The anchor file {self._path} must hold a point of the chain. Got something else."
            ) from None

    def keep(self, anchor: Anchor) -> None:
        """Write a later point, which has to be on the ledger's disk by now. The lock is there
        because another thread or process may be at a later point still.
        """
        try:
            lock = LockedFile(str(self._beside(".lock")), self._timeout)
            try:
                known = self.read()
                if known is None or known.number < anchor.number:
                    self._write(anchor)
            finally:
                lock.close()
        except OSError as error:
            problem = error.strerror or str(error)
            raise LedgerError(
                f"The anchor file {self._path} must be writable. Got: {problem}."
            ) from None

    def begin(
        self, transaction: Transaction, name: str, kept: Anchor | None
    ) -> tuple[bool, Anchor]:
        """Find out whether the ledger notes that it has this file, and its latest point.

        Raises if it has and the file is gone, or is that of another ledger.
        """
        is_noted = transaction.request(ANCHORED) is not None
        if not is_noted and kept is None:
            return False, transaction.head()
        return is_noted, self.require(transaction, name, kept)

    def require(self, transaction: Transaction, name: str, kept: Anchor | None) -> Anchor:
        """Refuse a ledger without the point that was kept; the ledger's latest point.

        kept: read before the transaction: one that somebody keeps since is not in its snapshot.
        """
        head = transaction.head()
        # a power cut may come between the first entry, which notes the file, and the file
        if kept is None or (kept.number == 0 and head.number > 1):
            problem = "is missing" if kept is None else "holds only the first point"
            raise LedgerError(
                f"The anchor file {self._path} {problem}. It should hold the number and hash of "
                f"the last entry of the ledger {name}. {_NEXT}"
            )
        entry = transaction.entry(kept.number) if kept.number else None
        if kept.number and (entry is None or entry[1] != kept.hash):
            raise LedgerDamagedError(
                f"The ledger {name} must contain its anchor, entry {kept.number}. It was cut, or "
                f"replaced by an older copy."
            )
        return head

    def _write(self, anchor: Anchor) -> None:
        # a new file with a name that nobody can guess: a link placed there would be followed
        draft = self._beside(f".{secrets.token_hex(8)}.draft")
        descriptor = os.open(draft, _NEW, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{anchor}\n")
                file.flush()
                # before it has its name: an empty anchor would stop everybody after a power cut
                os.fsync(file.fileno())
            draft.replace(self._path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        sync_folder(self._path.parent)

    def _beside(self, ending: str) -> Path:
        return self._path.with_name(self._path.name + ending)
