"""Tables of a PostgreSQL database, as Ibis hands them over: what the database itself says of
their columns, and of who may read their rows.

Ibis names fewer types than PostgreSQL has. It takes `money` for a decimal and `oid` for a
whole number, and PostgreSQL fails to compare or to cast some of these values when it meets
them in a row, after the charge. So a column has the type that the database says, and an
unknown one where that is not among those that questions compute with.

A query of Ibis names functions and operators without their schema, and the database prefers
one that fits a column's type exactly to its own. Whoever may create them in a schema of the
search path decides what is counted, and runs code as the role that asks.

A policy of row-level security is an expression that the database computes for each row, also
for the rows that it hides. One that fails would tell that a row is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.tables.lines import quoted
from discreet.trusted_roles import trusted

if TYPE_CHECKING:
    import narwhals as nw

_ENCODING = "UTF8"
_COMPUTED_WITH = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric"),
    *("date", "timestamp", "timestamptz"),
)
"""The types of PostgreSQL that questions compute with, but for text: `require_spelling` looks at
that.
"""
_FORBIDDEN = "42501"
"""What PostgreSQL calls a query that a policy, or a missing right, stands in the way of."""


_OPEN_SCHEMAS = (
    "select n.nspname from pg_namespace n where n.nspname = any(%s) and ("
    f"not {trusted('n.nspowner')} "
    "or exists (select 1 from aclexplode(n.nspacl) a "
    f"where a.privilege_type = 'CREATE' and not {trusted('a.grantee')}) "
    "or exists (select 1 from pg_proc p "
    f"where p.pronamespace = n.oid and not {trusted('p.proowner')}) "
    "or exists (select 1 from pg_operator o "
    f"where o.oprnamespace = n.oid and not {trusted('o.oprowner')}))"
)
"""The schemas in which a role that we do not trust may make functions and operators, or has."""


def is_postgresql(native: Any) -> bool:
    """True if this is a table of Ibis on PostgreSQL."""
    return bool(native.get_backend().name == "postgres")


def read_kinds(native: Any, schema: Mapping[str, nw.dtypes.DType]) -> dict[str, nw.dtypes.DType]:
    """The types of the columns, as far as PostgreSQL agrees with them. Refuses a table that it
    may fail to read because of what is in a row.
    """
    import narwhals as nw

    _require_path(native)
    encoding = native.get_backend().con.info.parameter_status("server_encoding")
    if encoding != _ENCODING:
        # a text in another one may be none in Python
        rule, hint = f"in a database whose encoding is {_ENCODING}", "Copy it into one."
        raise ParameterError("table", rule, f"one in {encoding}", hint)
    computed = {name: kind for name, kind in schema.items() if _is_computed_with(kind)}
    codes, types = _codes(native, list(computed)), import_module("psycopg").postgres.types
    plain = {types[name].oid for name in _COMPUTED_WITH}
    lists = {types[name].array_oid for name in _COMPUTED_WITH}
    others = {
        name: nw.Unknown()
        for name, kind in computed.items()
        if codes[name] not in (lists if kind == nw.List else plain)
    }
    return {**schema, **others}


def _require_path(native: Any) -> None:
    """Refuse a search path on which others may put functions and operators."""
    connection = native.get_backend().con
    try:
        # rolled back, so that the setting does not stay
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            cursor.execute("select pg_catalog.current_schemas(true)")
            ((path,),) = cursor.fetchall()
            cursor.execute("set local search_path = pg_catalog, pg_temp")
            cursor.execute(_OPEN_SCHEMAS, (path,))
            names = sorted(name for (name,) in cursor.fetchall())
    except Exception as error:
        rule = "one that the database can read"
        raise ParameterError("table", rule, type(error).__name__, "Ask again later.") from None
    if names:
        rule = "on a connection whose search path has no schema that other roles can change"
        hint = (
            "Connect with options='-c search_path=pg_catalog', and name the schema of the table: "
            "connection.table('reads', database='public')."
        )
        raise ParameterError("table", rule, ", ".join(names), hint)


def _is_computed_with(kind: Any) -> bool:
    """True if questions would compute with such cells, or with what is in their lists."""
    import narwhals as nw

    held: Any = kind.inner if isinstance(kind, nw.List) else kind
    return bool(held in (nw.Boolean, nw.Date, nw.Datetime) or held.is_numeric())


def _codes(native: Any, columns: list[str]) -> dict[str, int]:
    """The numbers of the columns' types. The database plans to read all rows, and reads none."""
    ibis, connection = import_module("ibis"), native.get_backend().con
    query = ibis.to_sql(native.select(*columns, __discreet_one=ibis.literal(1)))
    try:
        # rolled back, so that the setting does not stay
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            cursor.execute("set local row_security = off")
            cursor.execute(f"select * from ({query}) as __discreet_rows limit 0")
            return {column.name: column.type_code for column in cursor.description}
    except Exception as error:
        if getattr(error, "sqlstate", None) == _FORBIDDEN:
            rule = "one of which this role may read all rows"
            got = "one with row-level security, or one that this role may not read"
            hint = "Pass a view whose owner may read all rows."
        else:
            rule, got = "one that the database can read", type(error).__name__
            hint = "Ask again later."
    raise ParameterError("table", rule, got, hint)


def with_bytes_compared(native: Any, column: str) -> Any:
    """The table with the texts of a column compared byte by byte, whatever their collation: no
    row can then say by its spelling how others are counted.
    """
    cells = {name: quoted(name) for name in native.columns}
    cells[column] += f' collate "C" as {cells[column]}'
    query = import_module("ibis").to_sql(native)
    return native.get_backend().sql(
        f"select {', '.join(cells.values())} from ({query}) as __discreet_rows",
        schema=native.schema(),
    )
