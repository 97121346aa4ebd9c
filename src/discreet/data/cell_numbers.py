"""What a cell is worth as a number: the one pattern of a number in text, and casts that never fail."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import ParameterTypeError

if TYPE_CHECKING:
    import narwhals as nw

# What counts as a number in a text column: short enough that no engine overflows or refuses it.
# Engines do not agree on where a text ends ($ may stand before a line break) and on what is a
# space, so other characters are ruled out one by one.
_NUMBER = r"^ *[+-]?[0-9]{1,25}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *$"
_NEVER_IN_A_NUMBER = r"[^0-9eE+. -]"
_LONGEST = 1000
"""The most characters of a number in text, spaces included."""
_LARGEST_DECIMAL, _SMALLEST_DECIMAL = 2**62, Decimal("1e-300")


def cell_number(table: Table, column: str) -> nw.Expr:
    """The column as finite floats, null where there is none."""
    import narwhals as nw

    value, kind = nw.col(column), table.schema[column]
    if kind in (nw.Categorical, nw.Enum):
        value = value.cast(nw.String)
    if kind in (nw.String, nw.Categorical, nw.Enum):
        value = _plain_decimal(value)
    elif kind == nw.Decimal and table.frame.implementation.is_ibis():
        value = _within_floats(value)
    value = value.cast(nw.Float64)
    return nw.when(value.is_finite()).then(value).otherwise(None)


def _plain_decimal(text: nw.Expr) -> nw.Expr:
    """Text that is a plain decimal number, in the spelling that every engine can read; else null."""
    import narwhals as nw

    # A pattern on a text of gigabytes can be too much for an engine, so longer ones are gone before it.
    short = nw.when(text.str.len_chars() <= _LONGEST).then(text).otherwise(None)
    right = short.str.contains(_NUMBER) & ~short.str.contains(_NEVER_IN_A_NUMBER)
    plain = nw.when(right).then(short).otherwise(None)
    for dispensable in (" ", "+"):
        plain = plain.str.replace_all(dispensable, "", literal=True)
    return plain


def _within_floats(value: nw.Expr) -> nw.Expr:
    """PostgreSQL's numeric has NaN, infinities, and numbers that its floats refuse."""
    import narwhals as nw

    small = (value >= -_LARGEST_DECIMAL) & (value <= _LARGEST_DECIMAL)
    value = nw.when(small).then(value).otherwise(None)
    tiny = (value > -_SMALLEST_DECIMAL) & (value < _SMALLEST_DECIMAL)
    return nw.when(tiny).then(0).otherwise(value)


def require_number(table: Table, column: str, owner: str) -> None:
    """Refuse a column that can have no numbers in it."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column", owner)]
    if not (kind == nw.String or kind.is_numeric()):
        got = f"{column}, of {kind_name(kind)}"
        raise ParameterTypeError(owner, "column", "a column of numbers or of text", got)
    require_spelling(table, column, owner)


def kind_name(kind: nw.dtypes.DType) -> str:
    """The name of a type without what is inside: categories and fields may be private."""
    return str(kind.base_type().__name__)


def native_kind(table: Table, column: str) -> str:
    """What the engine itself calls the type of a column, where Narwhals has fewer names for them."""
    native, engine = table.frame.to_native(), table.frame.implementation
    if engine.is_duckdb() and column in native.columns:
        return str(native.types[native.columns.index(column)])
    return str(native.schema()[column]).upper() if engine.is_ibis() else ""


def whole_limits(kind: nw.dtypes.DType) -> tuple[int, int]:
    """The smallest and the largest number of a type of whole numbers."""
    bits = int(re.sub(r"\D", "", kind_name(kind)))
    signed = kind.is_signed_integer()
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
