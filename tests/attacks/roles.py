"""A database with the roles of a ledger, and with others that want something for nothing.

The owner owns the database and the ledger; the writer charges; the reader audits. The others have
what their names say. They exist for one test, with a password each.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from faults.ledgers import Database

HONEST = ("owner", "writer", "reader")
HOSTILE = {
    "nobody": (),
    "selector": (
        "grant usage on schema {schema} to {role}",
        "grant select on all tables in schema {schema} to {role}",
    ),
    "watcher": ("grant pg_read_all_stats to {role}",),
    "monitor": ("grant pg_monitor to {role}",),
    "creator": (
        "grant create on database {database} to {role}",
        "grant create on schema public to {role}",
    ),
    "killer": ("grant pg_signal_backend, pg_monitor to {role}",),
}
"""For each hostile role what it is given besides the right to connect."""


class Roles:
    """The roles of one database: their names, and the addresses they use."""

    def __init__(self, database: Database) -> None:
        self.database, self._mark = database, secrets.token_hex(4)
        self._database = urlsplit(database.url).path[1:]
        self.passwords = {role: secrets.token_hex(8) for role in (*HONEST, *HOSTILE)}
        for role, password in self.passwords.items():
            database.sql(f"create role {self.name(role)} login password '{password}'")

    def arm(self, role: str, schema: str = "discreet") -> None:
        """Give a hostile role what it has."""
        names = {"role": self.name(role), "database": self._database, "schema": schema}
        for statement in HOSTILE[role]:
            self.database.sql(statement.format(**names))

    def name(self, role: str) -> str:
        """The name of the role on the server."""
        return f"{role}_{self._mark}"

    def url(self, role: str) -> str:
        """The address of the ledger for this role."""
        address = urlsplit(self.database.url)
        place = f"{self.name(role)}:{self.passwords[role]}@{address.hostname}:{address.port}"
        return address._replace(netloc=place).geturl()

    def connect(self, role: str) -> Any:
        """A connection of this role, by hand."""
        import psycopg

        return psycopg.connect(self.url(role).replace("+psycopg", ""), autocommit=True)

    def start(self) -> None:
        """An empty database, and each role with what it has from the beginning."""
        self.database.sql(f"alter database {self._database} owner to {self.name('owner')}")
        for role in HOSTILE.keys() - {"selector"}:
            self.arm(role)

    def stop(self) -> None:
        """Remove everything that the roles own, and take everything from them."""
        everybody = ", ".join(self.name(role) for role in self.passwords)
        self.database.sql(f"alter database {self._database} owner to current_user")
        self.database.remove()
        self.database.sql(f"drop owned by {everybody} cascade")
        self.database.sql(
            "do $$ declare r text; begin for r in select format('revoke %I from %I', g.rolname, "
            "m.rolname) "
            "from pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles m on m.oid = "
            "a.member "
            f"where m.rolname like '%{self._mark}' loop execute r; end loop; "
            "for r in select format('alter role %I reset all', rolname) from pg_roles "
            f"where rolname like '%{self._mark}' loop execute r; end loop; end $$"
        )

    def drop(self) -> None:
        """Remove the roles."""
        self.database.sql(f"drop role {', '.join(self.name(role) for role in self.passwords)}")


@contextmanager
def some_roles() -> Iterator[Roles]:
    """A database with its roles."""
    database = Database()
    roles = Roles(database)
    try:
        yield roles
    finally:
        roles.drop()
        database.drop()
