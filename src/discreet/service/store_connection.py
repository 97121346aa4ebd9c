"""Connections to the service's own tables, in a file (SQLite) or on a server (PostgreSQL)."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any


class StoreConnection:
    """A connection that one thread at a time uses, and that commits each statement."""

    def __init__(self, address: str) -> None:
        self._lock = threading.Lock()
        self._connection, self._mark = _connect(address)

    def run(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """What a statement finds. Its values are marked by question marks."""
        with self._lock:
            cursor = self._connection.execute(statement.replace("?", self._mark), values)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def _connect(address: str) -> tuple[Any, str]:
    """A connection, and how it marks a value."""
    if address.startswith("sqlite:///"):
        path = address.removeprefix("sqlite:///")
        # for its owner alone, as the ledger's file is; what SQLite puts beside it follows
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=30
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection, "?"
    import psycopg

    plain = address.replace("postgresql+psycopg://", "postgresql://", 1)
    return psycopg.connect(plain, autocommit=True), "%s"
