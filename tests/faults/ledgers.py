"""Places for ledgers in tests: a file, or a database of its own on the PostgreSQL server that
DISCREET_POSTGRES_URL names.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

VARIABLE = "DISCREET_POSTGRES_URL"
TABLES = ("discreet_entries", "discreet_budgets", "discreet_charges")


class File:
    """A ledger in a file."""

    newer = "pragma user_version = 99"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "budget.db"
        self.url = f"sqlite:///{self.path}"

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Do something to the tables behind the ledger's back."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(statement, values).fetchall()

    def written(self) -> bytes:
        """Everything that is on the disk. Another process reads it: to open and close the file
        here would lose SQLite's locks.
        """
        files = [str(path) for path in self.path.parent.rglob("*") if path.is_file()]
        return subprocess.run(["cat", *files], capture_output=True, check=True).stdout

    def keep_copy(self) -> None:
        """Copy the ledger; nobody may use it meanwhile."""
        shutil.copy(self.path, self.path.with_name("copy.db"))

    def put_copy_back(self) -> None:
        """Put the copy in the place of the ledger."""
        self.path.with_name("copy.db").replace(self.path)

    def remove(self) -> None:
        """Delete the ledger."""
        self.path.unlink()


class Database:
    """A ledger on a server, in a database that no other test uses at the same time."""

    newer = "update discreet_schema set version = 99"
    _free: ClassVar[list[str]] = []  # empty ones: to make a database takes longer than most tests

    def __init__(self) -> None:
        if not self._free:
            self._free.append(f"ledger_{secrets.token_hex(8)}")
            _admin(f"create database {self._free[0]}")
            atexit.register(_admin, f"drop database if exists {self._free[0]} with (force)")
        self._name = self._free.pop()
        self.url = (
            urlsplit(os.environ[VARIABLE])
            ._replace(scheme="postgresql+psycopg", path=f"/{self._name}")
            .geturl()
        )

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Do something to the tables behind the ledger's back."""
        return _run(self.url, statement, values)

    def written(self) -> bytes:
        """Everything that is in the tables."""
        tables = [
            name
            for (name,) in self.sql(
                "select tablename from pg_tables where schemaname in ('discreet', 'public')"
            )
        ]
        return "\n".join(str(self.sql(f"select * from {table}")) for table in tables).encode()

    def keep_copy(self) -> None:
        """Copy the ledger; nobody may use it meanwhile."""
        _admin(f"create database {self._name}_copy template {self._name}")

    def put_copy_back(self) -> None:
        """Put the copy in the place of the ledger."""
        _admin(f"drop database if exists {self._name} with (force)")
        _admin(f"alter database {self._name}_copy rename to {self._name}")

    def remove(self) -> None:
        """Delete the ledger."""
        self.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = "
            "current_database() and pid <> pg_backend_pid()"
        )
        self.sql("drop schema if exists discreet cascade")
        self.sql("drop schema public cascade")
        self.sql("create schema public")
        self.sql("grant usage on schema public to public")

    def drop(self) -> None:
        """At the end of a test."""
        self.remove()
        self._free.append(self._name)


def _admin(statement: str) -> None:
    _run(os.environ[VARIABLE], statement, ())


def _run(url: str, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    import psycopg

    # a superuser who reaches behind the ledger's back: without the triggers that keep it
    options = "-c search_path=discreet,public -c session_replication_role=replica"
    with psycopg.connect(
        url.replace("+psycopg", ""), autocommit=True, options=options
    ) as connection:
        cursor = connection.execute(statement.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []


Place = File | Database
NEEDS_SERVER = (
    pytest.mark.postgres,
    pytest.mark.skipif(
        VARIABLE not in os.environ, reason="needs a PostgreSQL server: run by make engines"
    ),
)
EVERY = [pytest.param("sqlite"), pytest.param("postgresql", marks=NEEDS_SERVER)]
"""Both kinds of ledgers, as parameters of a test."""


@contextmanager
def a_place(kind: str, folder: Path) -> Iterator[Place]:
    """Where there is no ledger yet."""
    if kind == "sqlite":
        yield File(folder)
        return
    database = Database()
    try:
        yield database
    finally:
        database.drop()
