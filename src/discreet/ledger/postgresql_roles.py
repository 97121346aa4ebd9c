"""Which roles on a server may do what with a ledger.

The owner makes the tables, and no process that answers questions should run as the
owner. A writer charges: it adds entries, raises sums and settles requests, and cannot
take any of it back. A reader audits. Everybody else has nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.postgresql_connection import BEGIN, COMMIT, ServerConnection
from discreet.ledger.postgresql_schema import HOME, TABLES
from discreet.ledger.records import Right

OWNER, WRITER, READER, OTHER = "owner", "writer", "reader", "other"
_SUMS = "terms, epsilon_spent, squares_spent, delta_spent, closed"
_WRITERS = {
    "entries": "select, insert",
    "budgets": f"select, insert, update ({_SUMS})",
    "charges": "select, insert, update (state, answer)",
    "posts": "select, insert, delete",
    # a row is locked by those who may change it
    "turn": "select, insert, update (one)",
    "schema": "select",
}
_READERS = {"entries": "select", "budgets": "select", "charges": "select", "schema": "select"}
_RIGHTS = (
    "select coalesce(r.rolname, 'PUBLIC'), a.grantee = c.relowner, "
    "c.relname || ' ' || lower(a.privilege_type) "
    "from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
    "cross join lateral (select * from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) "
    "union select x.* from pg_catalog.pg_attribute t, aclexplode(t.attacl) x "
    "where t.attrelid = c.oid) a "
    "left join pg_catalog.pg_roles r on r.oid = a.grantee "
    "where quote_ident(n.nspname) = ? and c.relname = any(?)"
)
_ROLES = "select rolname, quote_ident(rolname) from pg_catalog.pg_roles where rolname = any(?)"


def grant(
    connection: ServerConnection,
    writers: Sequence[str],
    readers: Sequence[str],
) -> tuple[Right, ...]:
    """Give these roles their rights, take all from PUBLIC, and say who has which now."""
    owner = "Ledger.grant"
    quoted = {
        "writers": _read_roles(connection, writers, "writers", owner),
        "readers": _read_roles(connection, readers, "readers", owner),
    }
    connection.ask([BEGIN])
    # The names of roles stand in the text, and are not to be taken for tables of ours.
    for statement in _statements(connection.schema, quoted["writers"], quoted["readers"]):
        connection.raw.execute(statement)
        # to the server it is no error that a role grants nothing because it may not
        if connection.warned:
            rule = "must be given by its owner"
            got = "another role: permission denied"
            raise LedgerError(f"Rights on the ledger {connection.name} {rule}. Got {got}.")
    connection.ask([COMMIT])
    return rights(connection)


def rights(connection: ServerConnection) -> tuple[Right, ...]:
    """All roles that may do something with the tables of the ledger."""
    names = [f"discreet_{name}" for name in TABLES]
    held: dict[str, set[str]] = defaultdict(set)
    owners = set()
    for role, is_owner, right in connection.one(_RIGHTS, connection.schema, names):
        held[role].add(right)
        owners |= {role} if is_owner else set()
    found = (Right(role, OWNER if role in owners else _kind(held[role])) for role in sorted(held))
    return tuple(found)


def _kind(held: set[str]) -> str:
    known = ((READER, _plain(_READERS)), (WRITER, _plain(_WRITERS)))
    return next((kind for kind, granted in known if held == granted), OTHER)


def _plain(granted: dict[str, str]) -> set[str]:
    """Rights as the server lists them, without their columns."""
    return {
        f"discreet_{table} {word}"
        for table, words in granted.items()
        for word in ("select", "insert", "update", "delete")
        if word in words
    }


def _read_roles(
    connection: ServerConnection,
    roles: Sequence[str],
    name: str,
    owner: str,
) -> list[str]:
    """Roles that are there, quoted."""
    if isinstance(roles, str) or not all(isinstance(role, str) for role in roles):
        raise ParameterTypeError(owner, name, "a list of names of roles", roles)
    known: dict[str, str] = dict(connection.one(_ROLES, list(roles))) if roles else {}
    for role in roles:
        if role not in known:
            raise ParameterError(owner, name, "roles on the server", role, "See CREATE ROLE.")
    of_tables = {right.role for right in rights(connection) if right.may == OWNER}
    for role in roles:
        if role in of_tables:
            hint = "The owner may do everything with it: let others charge."
            raise ParameterError(owner, name, "roles that do not own the ledger", role, hint)
    return [known[role] for role in roles]


def _statements(schema: str, writers: list[str], readers: list[str]) -> Iterable[str]:
    tables = ", ".join(f"{schema}.discreet_{name}" for name in TABLES)
    everybody = ", ".join(["public", *writers, *readers])
    yield f"revoke all on {tables} from {everybody}"
    # Where an earlier version put the ledger, the schema is not ours: often it is `public`.
    if schema == HOME:
        yield f"revoke all on schema {schema} from {everybody}"
        yield from (f"grant usage on schema {schema} to {role}" for role in (*writers, *readers))
    for roles, granted in ((readers, _READERS), (writers, _WRITERS)):
        if roles:
            names = ", ".join(roles)
            for table, words in granted.items():
                yield f"grant {words} on {schema}.discreet_{table} to {names}"
