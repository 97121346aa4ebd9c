"""The file of a ledger as it is opened: nobody else could have made it, and its tables are those of
this version.

SQLite believes what lies beside a file under the right name, and the folder beside it says whether
a log was synced. So all of them must be ours. What can change later is looked at again in each
transaction: see `sqlite.py`.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.schema import DEFINITIONS, SCHEMA, THIRD, upgrade
from discreet.platforms import CLOSED_ON_EXEC, has_owners, is_owned, sync_folder
from discreet.trusted_files import is_trusted, require_trusted, wrong

LOGS = ("-wal", "-shm")
"""How the names of the log and of its index end."""
WRITING = "begin immediate"
"""How a transaction that writes begins: one at a time."""
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORKS = (
    *("afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre"),
    *("ncpfs", "nfs", "nfs4", "smb3", "smbfs"),
)
"""What Linux calls file systems on other machines. SQLite's processes share memory, which those on
two machines cannot, and locks there may be known on one machine only.
"""
# Other tables in the same file hinder nobody. Triggers and views would run with every charge.
_DEFINITIONS = (
    "select sql from sqlite_master where sql is not null and (tbl_name like 'discreet%' or type in "
    "('trigger', 'view'))"
)
_CREATE = re.compile("^CREATE (TABLE|INDEX)")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def require_our_file(path: Path, name: str) -> None:
    """Refuse a file that another user may have made, or that has two logs.

    path: as it was given: it may be a link.
    """
    require_trusted(path, name)
    if os.stat(path).st_nlink != 1:
        raise two_names(name)
    place, kind = _mount_of(path.resolve())
    if place == os.fspath(path.resolve()):
        # the log would not be in the folder of those who use the file by its other name
        rule = "in a folder that is mounted as a whole"
        raise wrong(name, rule, "a file that is mounted by itself")
    if kind in _NETWORKS:
        hint = " A ledger for several machines belongs on a server: postgresql://..."
        raise wrong(name, "on a disk of this machine", f"a network file system ({kind})", hint)


def two_names(name: str) -> LedgerError:
    """The error for a file with a second name: SQLite finds the log by the name."""
    got = "a file with several (hard links): each would have a log"
    return wrong(name, "known by one name", got)


def require_our_logs(path: Path, name: str) -> None:
    """Refuse files beside a database that another user has made: SQLite would believe them."""
    for ending in (*LOGS, "-journal"):
        with suppress(FileNotFoundError):
            log = os.lstat(os.fspath(path) + ending)
            if not stat.S_ISREG(log.st_mode) or log.st_nlink != 1 or not is_trusted(log):
                raise wrong(name, "written to through a log of its own", "a log of somebody else")


def require_our_folder(folder: Path, file: Path) -> None:
    """Refuse a folder of a user who cannot write the file: it is believed about syncs."""
    owner, ours = os.stat(file), os.lstat(folder)
    if not stat.S_ISDIR(ours.st_mode) or not is_owned(ours, owner.st_uid, 0):
        raise LedgerError(
            f"The folder {folder} must belong to the owner of the ledger. Got one that belongs to "
            f"somebody else."
        )
    if has_owners() and ours.st_mode & 0o022 & ~owner.st_mode:
        raise LedgerError(
            f"The folder {folder} must be writable only by those who may write the ledger. Got "
            f"one that others can write to."
        )


def create_file(path: Path) -> None:
    """Make an empty file that only its owner can read, and whose name survives a power cut."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | CLOSED_ON_EXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        return
    sync_folder(path.parent)


def _mount_of(path: Path) -> tuple[str, str]:
    """Where the file system of a file is mounted, and its type; two empty texts if Linux does not
    say it. Containers may mount the file itself.
    """
    try:
        lines = _MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return "", ""
    nearest = "", ""
    above = [os.fspath(path), *map(os.fspath, path.parents)]
    for line in lines:
        mount, _, source = line.partition(" - ")
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), mount.split(" ")[4])
        # the last of several at one place is the one that is seen
        if place in above and len(place) >= len(nearest[0]):
            nearest = place, source.split(" ")[0]
    return nearest


def prepare(connection: Any, name: str) -> None:
    """Bring the schema to this version, and refuse a file that has another one."""
    execute = connection.execute
    (version,) = execute("pragma user_version").fetchone()
    if version > len(SCHEMA):
        raise LedgerError(
            f"The ledger {name} was written by a newer discreet. Got schema {version}."
        )
    if version != len(SCHEMA):
        _upgrade(connection, name)
    definitions = {
        _CREATE.sub(lambda match: match[0].lower(), sql) for (sql,) in execute(_DEFINITIONS)
    }
    if definitions != DEFINITIONS:
        raise LedgerError(f"The ledger {name} must contain only its own tables. Got others.")


def _upgrade(connection: Any, name: str) -> None:
    execute = connection.execute
    execute(WRITING)
    try:
        # another process may have been faster
        (version,) = execute("pragma user_version").fetchone()
        for step in SCHEMA[version:]:
            for statement in step:
                execute(statement)
            if step is THIRD:
                upgrade(connection, name)
        execute(f"pragma user_version = {len(SCHEMA)}")
        execute("commit")
    except BaseException:
        with suppress(Exception):
            execute("rollback")
        raise
