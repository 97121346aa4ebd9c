"""The file of a ledger: that it is still the one that was opened, and that nobody else
could have made it.

SQLite finds the log of a file by the file's name. So a file with two names has two
logs, and each of them spends the whole budget; a log that is removed takes the charges
in it along; and what lies beside the file under the right name is believed. Everything
is checked at opening, and what can change later again in each transaction, by one look
at each file.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from discreet.errors import LedgerError

Identity = tuple[int, int]
Beside = tuple[Identity, Identity]
"""The log and its index."""

_LOGS = ("-wal", "-shm")
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Place:
    """Where a ledger's file is. Once another file was found there, it is refused for good."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        # as text: pathlib would take longer than the system calls
        self._text = os.fspath(path)
        self._log, self._index = (self._text + ending for ending in _LOGS)
        self._file: Identity | None = None
        self._refused = ""

    def identity(self) -> Identity:
        """The file that was there first."""
        if self._file is None:
            self._file = _identity(os.stat(self.path))
        return self._file

    def require_ours(self) -> None:
        """Refuse a file that another user may have made, or may put another one in the
        place of.
        """
        folder, file = os.stat(self.path.parent), os.stat(self.path)
        if folder.st_mode & 0o002 or not _is_trusted(folder):
            rule = "in a folder that only you, root or your group can write to"
            raise self._wrong(rule, "a folder of somebody else, or of everybody")
        if not stat.S_ISREG(file.st_mode):
            raise self._wrong("readable and writable, as a file", "something else")
        if file.st_mode & 0o002 or not _is_trusted(file):
            rule = "a file of your own, of root, or one that your group may write"
            raise self._wrong(rule, "a file of somebody else, or of everybody")
        if _is_mounted(self.path):
            # The log would be in another folder than that of those who use the file by its
            # other name.
            raise self._wrong(
                "in a folder that is mounted as a whole", "a file that is mounted by itself"
            )
        self.require_same()

    def require_same(self, beside: Beside | None = None) -> None:
        """Refuse to go on with another file, or a log, than at the beginning: charges
        would be lost.

        beside: the log that the connection writes to.
        """
        if self._refused:
            raise self._wrong("the file that it was", self._refused)
        try:
            found = os.stat(self._text)
        except FileNotFoundError:
            raise self._for_good("no such file") from None
        if _identity(found) != self.identity():
            raise self._for_good("another file in its place")
        if found.st_nlink != 1:
            raise self._wrong(
                "known by one name", "a file with several (hard links): each would have a log"
            )
        if beside is not None and beside != self._logs():
            raise self._for_good("another log beside it")

    def beside(self) -> Beside:
        """The log of an open connection."""
        self.require_our_logs()
        found = self._logs()
        if found is None:
            raise self._for_good("no log beside it")
        return found

    def require_our_logs(self) -> None:
        """Refuse files beside the ledger that another user has made: SQLite would believe them."""
        for ending in (*_LOGS, "-journal"):
            with suppress(FileNotFoundError):
                log = os.lstat(self._text + ending)
                if not stat.S_ISREG(log.st_mode) or log.st_nlink != 1 or not _is_trusted(log):
                    raise self._wrong(
                        "written to through a log of its own", "a log of somebody else"
                    )

    def _logs(self) -> Beside | None:
        try:
            return _identity(os.lstat(self._log)), _identity(os.lstat(self._index))
        except FileNotFoundError:
            return None

    def _for_good(self, got: str) -> LedgerError:
        self._refused = got
        return self._wrong("the file that it was", got)

    def _wrong(self, rule: str, got: str) -> LedgerError:
        hint = " Find out who did that, and open a new Ledger." if self._refused else ""
        return LedgerError(f"The ledger {self.name} must be {rule}. Got {got}.{hint}")


def create(path: Path) -> None:
    """Make an empty file that only its owner can read, and make sure that its name
    survives a power cut.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        return
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _is_trusted(found: os.stat_result) -> bool:
    """Whether it belongs to us, to root, or to a team of ours that may write it."""
    if found.st_uid in (os.geteuid(), 0):
        return True
    ours = found.st_gid == os.getegid() or found.st_gid in os.getgroups()
    return ours and bool(found.st_mode & 0o020)


def _is_mounted(path: Path) -> bool:
    """Whether the file itself was mounted, as containers do it: its folder is then not
    the one of others.
    """
    try:
        lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return False
    return os.fspath(path) in (_ESCAPED.sub(_character, line.split(" ")[4]) for line in lines)


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1], 8))
