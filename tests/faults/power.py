"""A disk that remembers what was written to it and what was synced, so that the power can be cut
at any moment, afterwards.

What was synced survives. Of what was written since, any part may be lost: whole writes, or single
sectors of them, in any order. The same holds for names: a file that was made or deleted since the
folder was last synced may be there or not.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

_SECTOR = 512
Event = tuple[Any, ...]


FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


class Recorder(apsw.VFS):
    """The file system of SQLite, with a list of what was done."""

    def __init__(self) -> None:
        self.name = f"recorder-{secrets.token_hex(4)}"
        self.events: list[Event] = []
        super().__init__(self.name, "")

    def xOpen(self, name, flags):
        return _File(self, name, flags)

    def xDelete(self, name, sync_folder):
        super().xDelete(name, sync_folder)
        self.events.append(("delete", Path(name).name))
        if sync_folder:
            self.events.append(("sync folder",))

    def connect(self, path: Path, instead: dict[str, str] | None = None) -> Connection:
        """What `SQLiteStore` takes; some statements may be replaced by others."""
        return Connection(apsw.Connection(str(path), FLAGS, vfs=self.name), instead or {})


class _File(apsw.VFSFile):
    def __init__(self, recorder: Recorder, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._events, self._name = (
            recorder.events,
            Path(name if isinstance(name, str) else name.filename()).name,
        )
        # SQLite syncs the folder together with the first sync of a new log
        self._folder = bool(flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL))
        self._events.append(("open", self._name))

    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        self._events.append(("write", self._name, offset, bytes(data)))

    def xTruncate(self, size):
        super().xTruncate(size)
        self._events.append(("truncate", self._name, size))

    def xSync(self, flags):
        super().xSync(flags)
        self._events.append(("sync", self._name))
        if self._folder:
            self._events.append(("sync folder",))


class Connection:
    """An apsw connection as the store uses it."""

    def __init__(self, connection: apsw.Connection, instead: dict[str, str]) -> None:
        self._connection, self._instead = connection, instead
        connection.execute(
            "pragma wal_autocheckpoint = 6"
        )  # pages: so that a short test has many checkpoints

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> apsw.Cursor:
        return self._connection.execute(self._instead.get(statement, statement), values)

    def executemany(self, statement: str, values: Any) -> None:
        self._connection.executemany(statement, values)

    def close(self) -> None:
        self._connection.close()


@dataclass
class _Content:
    """One file: what is on the disk for sure, and what was done since."""

    synced: bytes = b""
    pending: list[Event] = field(default_factory=list)

    def sync(self) -> None:
        self.synced, self.pending = _apply(self.synced, self.pending), []

    def after_cut(self, chance: random.Random) -> bytes:
        return _apply(
            self.synced, [part for event in self.pending for part in _survivors(event, chance)]
        )


def _apply(content: bytes, events: list[Event]) -> bytes:
    found = bytearray(content)
    for kind, _, *rest in events:
        if kind == "truncate":
            found = found[: rest[0]].ljust(rest[0], b"\0")
        else:
            offset, data = rest
            found = found.ljust(offset, b"\0")
            found[offset : offset + len(data)] = data
    return bytes(found)


def _survivors(event: Event, chance: random.Random) -> Iterator[Event]:
    """What is left of a write that was not synced: all, nothing, or some of its sectors."""
    fate = chance.choice(("all", "nothing", "torn"))
    if fate == "all":
        yield event
    elif fate == "torn" and event[0] == "write":
        _, name, offset, data = event
        for start in range(0, len(data), _SECTOR):
            if chance.random() < 0.5:
                yield "write", name, offset + start, data[start : start + _SECTOR]


class Disk:
    """The disk as it was at some moment of the recording."""

    def __init__(self, name: str) -> None:
        self._now = {name: _Content()}  # the ledger makes the file itself, and syncs the folder
        self._synced = dict(self._now)

    def do(self, event: Event) -> None:
        """The next thing that happened."""
        kind, *rest = event
        if kind == "open":
            self._now.setdefault(rest[0], _Content())
        elif kind == "delete":
            self._now.pop(rest[0], None)
        elif kind == "sync folder":
            self._synced = dict(self._now)
        elif kind == "sync":
            self._now[rest[0]].sync()
        elif kind in ("write", "truncate"):
            self._now[rest[0]].pending.append(event)

    def cut(self, folder: Path, chance: random.Random) -> None:
        """Write the files as they would be found after a power cut now."""
        for name in self._now.keys() | self._synced.keys():
            found = chance.choice((self._now.get(name), self._synced.get(name)))
            if found is not None:
                (folder / name).write_bytes(found.after_cut(chance))
