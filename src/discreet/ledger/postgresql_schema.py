"""Where the tables of a ledger are on a server, how they are made, and which roles may do what.

A ledger is in the schema `discreet`, or where an earlier version put it. A table of that name is
believed only if it belongs to a role that `trusted_roles` names: anybody else who may create tables
could have put it there.

The owner makes the tables, and no process that answers questions should run as the owner. A writer
charges: it adds entries, raises sums and settles requests, and cannot take any of it back. A reader
audits. Every other role may do nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.postgresql_connection import BEGIN, COMMIT, ServerConnection
from discreet.ledger.records import Right
from discreet.ledger.schema import FOURTH, SCHEMA, THIRD, upgrade
from discreet.trusted_roles import trusted

HOME = "discreet"
TABLES = ("entries", "budgets", "charges", "schema", "turn")
"""The names of the tables, each after `discreet_`."""
_OLDER_TABLES = ("entries", "scopes", "requests", "schema", "posts", "turn")
_NAMES = sorted(f"discreet_{name}" for name in {*TABLES, *_OLDER_TABLES})
_ATTEMPTS = 5

_REFUSE = "for each row execute function discreet_refuse()"
_REFUSE_ALL = "for each statement execute function discreet_refuse()"
_SUMS = ("main_limit", "delta_limit", "main_spent", "delta_spent")
_SHRINKS = " or ".join(f"new.{name}::numeric < old.{name}::numeric" for name in _SUMS)
_MOVES = " or ".join(f"new.{name} <> old.{name}" for name in ("dataset", "analyst", "slot"))
_ASKED = ("dataset", "request_key", "number", "fingerprint")
_CHANGES = " or ".join(f"new.{name} <> old.{name}" for name in _ASKED)
SERVER_STEP: tuple[str, ...] = (
    # posts and the turn need not survive a crash, so a commit of these waits for no disk
    "drop table if exists discreet_posts",
    "create unlogged table discreet_posts (name text primary key, operations text not null, "
    "posted timestamptz not null default now())",
    # whoever has locked its one row has the turn: a role needs the right to change it for that
    "create unlogged table discreet_turn (one integer primary key check (one = 1))",
    # The conditions below are parsed once, here, by the owner. A function that compared would be
    # parsed in the session of the role that it has to stop.
    "create function discreet_refuse() returns trigger language plpgsql "
    "set search_path = pg_catalog, pg_temp as $$ begin "
    "raise exception using errcode = '23000', message = 'a ledger only grows'; end $$",
    "revoke all on function discreet_refuse() from public",
    f"create trigger only_grows before update or delete on discreet_entries {_REFUSE}",
    f"create trigger stays before truncate on discreet_entries {_REFUSE_ALL}",
    f"create trigger only_grows before update on discreet_scopes for each row "
    f"when ({_SHRINKS} or {_MOVES}) execute function discreet_refuse()",
    f"create trigger stays before delete on discreet_scopes {_REFUSE}",
    f"create trigger all_stay before truncate on discreet_scopes {_REFUSE_ALL}",
    f"create trigger answered_once before update on discreet_requests for each row "
    f"when (old.state <> 'reserved' or {_CHANGES}) execute function discreet_refuse()",
    f"create trigger stays before delete on discreet_requests {_REFUSE}",
    f"create trigger all_stay before truncate on discreet_requests {_REFUSE_ALL}",
    *(f"revoke all on table discreet_{name} from public" for name in _OLDER_TABLES),
)
"""The second step on a server; the later steps are those of every ledger. Never edit it."""

_SPENT = ("epsilon_spent", "squares_spent", "delta_spent")
# what is more than any budget has never becomes a number again
_GIVES_BACK = " or ".join(
    f"(case when old.{name} = 'more' then new.{name} <> 'more' when new.{name} = 'more' then false "
    f"else new.{name}::numeric < old.{name}::numeric end)"
    for name in _SPENT
)
_REOPENS = "(old.closed <> '' and new.closed <> old.closed)"
_CHARGED = ("dataset", "analyst", "request_key", "attempt", "number", "fingerprint")
_CHARGED_OTHERWISE = " or ".join(f"new.{name} <> old.{name}" for name in _CHARGED)
SERVER_THIRD: tuple[str, ...] = (
    f"create trigger only_grows before update on discreet_budgets for each row "
    f"when ({_GIVES_BACK} or {_REOPENS} or {_MOVES}) execute function discreet_refuse()",
    f"create trigger stays before delete on discreet_budgets {_REFUSE}",
    f"create trigger all_stay before truncate on discreet_budgets {_REFUSE_ALL}",
    f"create trigger answered_once before update on discreet_charges for each row "
    f"when (old.state <> 'reserved' or {_CHARGED_OTHERWISE}) execute function discreet_refuse()",
    f"create trigger stays before delete on discreet_charges {_REFUSE}",
    f"create trigger all_stay before truncate on discreet_charges {_REFUSE_ALL}",
    "revoke all on table discreet_budgets from public",
    "revoke all on table discreet_charges from public",
)
"""What a server adds to the third version. Never edit it."""
SERVER_FOURTH: tuple[str, ...] = (
    "alter table discreet_entries drop column ticket",
    "drop index {schema}.discreet_charges_of_dataset",
    "drop index {schema}.discreet_charges_of_analyst",
    "alter table discreet_charges drop constraint discreet_charges_pkey, "
    "drop constraint discreet_charges_number_key",
    "alter table discreet_charges add primary key (number), "
    "add unique (dataset, analyst, request_key, attempt)",
    "drop table discreet_posts",
)
"""The fourth version on a server. Never edit it."""

_FIND = (
    "select n.nspname, quote_ident(n.nspname), "
    f"bool_and(c.relkind = 'r' and {trusted('c.relowner')}) "
    f"and bool_and({trusted('n.nspowner')}) "
    "from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
    "where c.relname = any(?) and c.relpersistence <> 't' group by 1"
)
_OF_HOME = (
    f"select c.relname, c.relkind = 'r' and {trusted('c.relowner')} and {trusted('n.nspowner')} "
    "from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
    "where n.nspname = ? and c.relname = any(?)"
)
_GRANTED = (
    "from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace "
    "cross join lateral (select * from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) "
    "union select x.* from pg_catalog.pg_attribute t, aclexplode(t.attacl) x "
    "where t.attrelid = c.oid) a "
    "left join pg_catalog.pg_roles r on r.oid = a.grantee "
    "where quote_ident(n.nspname) = ? and c.relname = any(?)"
)
"""Who may do what with tables: the tables as c, the rights as a and the roles as r."""
_GRANTEES = (
    "select distinct quote_ident(c.relname), coalesce(quote_ident(r.rolname), 'public') "
    f"{_GRANTED} and a.grantee <> c.relowner"
)
_GRANTEES_OF_SCHEMA = (
    "select distinct coalesce(quote_ident(r.rolname), 'public') from pg_catalog.pg_namespace n "
    "cross join lateral aclexplode(n.nspacl) a "
    "left join pg_catalog.pg_roles r on r.oid = a.grantee "
    "where n.nspname = ? and a.grantee <> n.nspowner"
)
_CHANGERS = (
    f"select distinct coalesce(r.rolname, 'PUBLIC') {_GRANTED} "
    f"and lower(a.privilege_type) = any(?) and not {trusted('a.grantee')}"
)
_CODE = ("trigger",)
"""What no other role may do with a ledger: its code would run as each role that charges."""
_CHANGES_OF_KEYS = ("insert", "update", "delete", "truncate", "trigger")
"""What no other role may do with the keys of a service."""
_TABLES_OF = (
    "select c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n "
    "on n.oid = c.relnamespace where quote_ident(n.nspname) = ? and c.relkind = 'r'"
)
_OURS = trusted("n.nspowner")
_HOME_IS_OURS = f"select {_OURS} from pg_catalog.pg_namespace n where n.nspname = ?"


def steps() -> tuple[tuple[str, ...], ...]:
    """For each version of the tables on a server the statements that lead there."""
    later = (SERVER_FOURTH if step is FOURTH else step for step in SCHEMA[1:])
    return (SCHEMA[0], SERVER_STEP, *later)


def find(connection: ServerConnection) -> bool:
    """Look where the ledger is; False if the database has none, and an error if none is ours.

    Tables of others are passed over if ours exist: else a role could keep everybody from the right
    ones. If ours do not exist, nothing is made beside the others: a second ledger would be a second
    budget.
    """
    schemas = {name: rest for name, *rest in connection.one(_FIND, _NAMES)}
    for place in (HOME, *connection.path):
        quoted, is_ours = schemas.get(place, ("", False))
        if is_ours:
            connection.schema = quoted
            return True
    if schemas:
        raise _foreign(connection, f"in the schema {HOME}, or where this role looks first")
    return False


def _foreign(connection: ServerConnection, places: str) -> LedgerError:
    return LedgerError(
        f"The tables of the {connection.kind} {connection.name} must be {places}, and belong to "
        "the owner of the database, to this role or to a superuser, and the schema too. Got "
        "others. Who may create tables in this database could have put them there."
    )


def prepare(connection: ServerConnection, create: bool) -> None:
    """Find the ledger, make it if it is wanted, and bring its tables to this version."""

    def find_or_make() -> None:
        if find(connection):
            _require_unchanged(connection, _NAMES, _CODE)
            return _bring_forward(connection)
        if not create:
            told = "must exist. Got a database without one."
            raise LedgerError(f"The ledger {connection.name} {told}")
        return _make(connection)

    _insist(connection, find_or_make, "see discreet ledger init")


def prepare_tables(connection: ServerConnection, home: str, tables: dict[str, str]) -> None:
    """Make the missing tables of a schema of our own, and refuse those of others.

    tables: for each name, what `create table` says of it.
    """

    def make_missing() -> None:
        connection.ask([BEGIN])
        _make_home(connection, home)
        known = {name for name, _ in connection.one(_OF_HOME, home, list(tables))}
        missing = [name for name in tables if name not in known]
        for name in missing:
            connection.one(f"create table {name} {tables[name]}")
        _take_from_others(connection, missing)
        connection.ask([COMMIT])

    hint = f"grant create on database NAME to ROLE lets the role make the schema {home}"
    _insist(connection, make_missing, hint)
    require_tables(connection, home, tables)


def require_tables(connection: ServerConnection, home: str, names: Collection[str]) -> None:
    """Use the tables of a schema of our own, and refuse those of others."""
    known: dict[str, bool] = dict(connection.one(_OF_HOME, home, list(names)))
    if known.keys() != set(names) or not all(known.values()):
        raise _foreign(connection, f"in the schema {home}")
    connection.schema = home
    _require_unchanged(connection, names, _CHANGES_OF_KEYS)


def _require_unchanged(
    connection: ServerConnection, names: Collection[str], rights: Sequence[str]
) -> None:
    """Refuse tables on which a role that we do not trust has one of these rights."""
    changers = connection.one(_CHANGERS, connection.schema, list(names), list(rights))
    if changers:
        roles = ", ".join(sorted(role for (role,) in changers))
        raise LedgerError(
            f"The tables of the {connection.kind} {connection.name} must give other roles no right "
            f"to {' or '.join(rights)}. Got {roles}. Their owner takes it away: revoke "
            f"{', '.join(rights)} on all tables in schema {connection.schema} from {roles}"
        )


def _take_from_others(connection: ServerConnection, names: Iterable[str]) -> None:
    """Take new tables from everybody but their owner: default privileges may have given them."""
    schema = connection.schema
    for table, role in connection.one(_GRANTEES, schema, list(names)):
        connection.raw.execute(f"revoke all on {schema}.{table} from {role}")


def _insist(connection: ServerConnection, make: Callable[[], None], hint: str) -> None:
    """Make tables, while other processes may do the same."""
    from psycopg import errors

    for _ in range(_ATTEMPTS):
        try:
            return make()
        except errors.InsufficientPrivilege as error:
            raise _forbidden(connection, error, hint) from None
        except (errors.UniqueViolation, errors.DuplicateSchema, errors.DuplicateTable):
            # another process was faster
            connection.rollback()
            connection.schema = ""
    told = f"could not be created after {_ATTEMPTS} attempts: something else has that name."
    raise LedgerError(f"The {connection.kind} {connection.name} {told}")


def _forbidden(connection: ServerConnection, error: Exception, hint: str) -> LedgerError:
    problem = " ".join(str(error).split())
    return LedgerError(
        f"This role may not use the {connection.kind} {connection.name}: {problem}. Ask the owner "
        f"of the database to set it up: {hint}."
    )


def _make(connection: ServerConnection) -> None:
    """Make a ledger. The first statement waits for others that do the same, and fails after."""
    connection.ask([BEGIN])
    _make_home(connection, HOME)
    connection.one("create table discreet_schema (version integer not null)")
    connection.one("insert into discreet_schema values (0)")
    _take_from_others(connection, _known_tables(connection))
    _take_steps(connection, 0)


def _make_home(connection: ServerConnection, home: str) -> None:
    """Make our schema, and refuse one of somebody else."""
    ours = connection.one(_HOME_IS_OURS, home)
    if ours == [(False,)]:
        raise _foreign(connection, f"in the schema {home}")
    if not ours:
        connection.one(f"create schema {home}")
        for (role,) in connection.one(_GRANTEES_OF_SCHEMA, home):
            connection.raw.execute(f"revoke all on schema {home} from {role}")
    connection.schema = home


def _bring_forward(connection: ServerConnection) -> None:
    import psycopg

    version, latest = _version(connection), len(steps())
    if version == latest:
        return
    try:
        connection.ask([BEGIN, ("lock table discreet_schema in exclusive mode", ())])
        _take_steps(connection, _version(connection))
    except psycopg.errors.InsufficientPrivilege:
        raise LedgerError(
            f"The ledger {connection.name} must have tables of version {latest}. Got version "
            f"{version}. Ask its owner to run discreet ledger init."
        ) from None


def _version(connection: ServerConnection) -> int:
    rows = connection.one("select version from discreet_schema")
    version: int = rows[0][0] if rows else 0
    if version > len(steps()):
        problem = f"was written by a newer discreet. Got schema {version}."
        raise LedgerError(f"The ledger {connection.name} {problem}")
    return version


def _take_steps(connection: ServerConnection, version: int) -> None:
    """From this version to ours, and commit."""
    known = _known_tables(connection)
    for step in steps()[version:]:
        named = [statement.replace("{schema}", connection.schema) for statement in step]
        connection.ask([(statement, ()) for statement in named or ["select 1"]])
        if step is THIRD:
            upgrade(connection, connection.name)
            connection.ask([(statement, ()) for statement in SERVER_THIRD])
    _take_from_others(connection, _known_tables(connection) - known)
    connection.ask([("update discreet_schema set version = ?", (len(steps()),)), COMMIT])


def _known_tables(connection: ServerConnection) -> set[str]:
    return {name for (name,) in connection.one(_TABLES_OF, connection.schema)}


OWNER, WRITER, READER, OTHER = "owner", "writer", "reader", "other"
_WRITABLE = "terms, epsilon_spent, squares_spent, delta_spent, closed"
_WRITERS = {
    "entries": "select, insert",
    "budgets": f"select, insert, update ({_WRITABLE})",
    "charges": "select, insert, update (state, answer)",
    # a row is locked by those who may change it
    "turn": "select, insert, update (one)",
    "schema": "select",
}
_READERS = {"entries": "select", "budgets": "select", "charges": "select", "schema": "select"}
_RIGHTS = (
    "select coalesce(r.rolname, 'PUBLIC'), a.grantee = c.relowner, "
    f"c.relname || ' ' || lower(a.privilege_type) {_GRANTED}"
)
_ROLES = "select rolname, quote_ident(rolname) from pg_catalog.pg_roles where rolname = any(?)"


def grant(
    connection: ServerConnection, writers: Sequence[str], readers: Sequence[str]
) -> tuple[Right, ...]:
    """Give these roles their rights, take all from PUBLIC, and say who has which now."""
    quoted_writers = _read_roles(connection, writers, "writers")
    quoted_readers = _read_roles(connection, readers, "readers")
    connection.ask([BEGIN])
    # not by `ask`, which could take the name of a role for a table of ours
    for statement in _statements(connection.schema, quoted_writers, quoted_readers):
        connection.raw.execute(statement)
        # the server only warns a role that may not grant
        if connection.warned:
            rule = "must be given by its owner. Got another role: permission denied"
            raise LedgerError(f"Rights on the ledger {connection.name} {rule}.")
    connection.ask([COMMIT])
    return list_rights(connection)


def list_rights(connection: ServerConnection) -> tuple[Right, ...]:
    """All roles that may do something with the tables of the ledger."""
    names = [f"discreet_{name}" for name in TABLES]
    rights: dict[str, set[str]] = defaultdict(set)
    owners = set()
    for role, is_owner, right in connection.one(_RIGHTS, connection.schema, names):
        rights[role].add(right)
        owners |= {role} if is_owner else set()
    return tuple(
        Right(role, OWNER if role in owners else _kind(rights[role])) for role in sorted(rights)
    )


def _kind(rights: set[str]) -> str:
    if rights == _without_columns(_READERS):
        return READER
    return WRITER if rights == _without_columns(_WRITERS) else OTHER


def _without_columns(granted: dict[str, str]) -> set[str]:
    """Rights as the server lists them."""
    return {
        f"discreet_{table} {word}"
        for table, words in granted.items()
        for word in ("select", "insert", "update", "delete")
        if word in words
    }


def _read_roles(connection: ServerConnection, roles: Sequence[str], name: str) -> list[str]:
    """Roles on the server, quoted."""
    owner = "Ledger.grant"
    if isinstance(roles, str) or not all(isinstance(role, str) for role in roles):
        raise ParameterTypeError(name, "a list of names of roles", roles, owner=owner)
    known: dict[str, str] = dict(connection.one(_ROLES, list(roles))) if roles else {}
    for role in roles:
        if role not in known:
            raise ParameterError(name, "roles on the server", role, "See CREATE ROLE.", owner=owner)
    owners = {right.role for right in list_rights(connection) if right.may == OWNER}
    for role in roles:
        if role in owners:
            hint = "The owner may do everything with the ledger. Name other roles."
            raise ParameterError(name, "roles that do not own the ledger", role, hint, owner=owner)
    return [known[role] for role in roles]


def _statements(schema: str, writers: list[str], readers: list[str]) -> Iterable[str]:
    tables = ", ".join(f"{schema}.discreet_{name}" for name in TABLES)
    everybody = ", ".join(["public", *writers, *readers])
    yield f"revoke all on {tables} from {everybody}"
    # a schema where an earlier version put the ledger is not ours: often it is `public`
    if schema == HOME:
        yield f"revoke all on schema {schema} from {everybody}"
        yield from (f"grant usage on schema {schema} to {role}" for role in (*writers, *readers))
    for roles, granted in ((readers, _READERS), (writers, _WRITERS)):
        if roles:
            names = ", ".join(roles)
            for table, words in granted.items():
                yield f"grant {words} on {schema}.discreet_{table} to {names}"
