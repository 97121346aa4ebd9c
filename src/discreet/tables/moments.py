"""Sums of products of columns over persons, in whole numbers: all that a subspace is fitted to.

DuckDB and Polars multiply and add up few columns where the table lives, and one row comes
back. Many columns are too long a query for any engine, and few are for those that write
out what was computed before each time it is used: then each person's vector comes back.
Which way is a matter of the engine and the number of columns, which are public; the
result is the same.
docs/proofs/vectors.md#shortening
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.row_grid import RowGrid, second_moment
from discreet.tables.counting import only, run
from discreet.tables.vectors import Vectors

if TYPE_CHECKING:
    import narwhals as nw

MOST_IN_ENGINE = 24
"""Up to so many columns are multiplied in the engine."""
_HALF = 2**16
_SQUARES, _LENGTH = "__discreet_squares", "__discreet_length"


def moment_of(vectors: Vectors, grid: RowGrid) -> NDArray[np.object_]:
    """The sum of all products of two entries, over persons whose vectors are shortened to
    the longest that the grid allows.
    """
    engine = vectors.table.frame.implementation
    if len(vectors.axes) > MOST_IN_ENGINE or not (engine.is_duckdb() or engine.is_polars()):
        whole, _ = vectors.read()
        return second_moment(grid.shortened(whole))
    return _in_engine(vectors, grid.longest)


def _in_engine(vectors: Vectors, longest: int) -> NDArray[np.object_]:
    # DuckDB adds whole numbers of 64 bits in 128; Polars wraps around
    halved = not vectors.table.frame.implementation.is_duckdb()
    names, columns = vectors.names, len(vectors.axes)
    pairs = [(one, other) for one in range(columns) for other in range(one + 1)]
    sums = [f"__discreet_{part}_{one}_{other}" for one, other in pairs for part in _parts(halved)]

    def query() -> nw.LazyFrame[Any]:
        rows = shortened(vectors.frame(), names, longest)
        products = [_product(names[one], names[other], halved) for one, other in pairs]
        parts = [part for product in products for part in product]
        return rows.select(
            *(part.sum().alias(name) for part, name in zip(parts, sums, strict=True))
        )

    row = [int(number or 0) for number in only(run(vectors.table, query, sums))]
    if halved:
        row = [_HALF * high + low for high, low in zip(row[::2], row[1::2], strict=True)]
    moment = np.zeros((columns, columns), dtype=object)
    for (one, other), total in zip(pairs, row, strict=True):
        moment[one, other] = moment[other, one] = total
    return moment


def _parts(halved: bool) -> tuple[str, ...]:
    return ("high", "low") if halved else ("sum",)


def _product(one: str, other: str, halved: bool) -> list[nw.Expr]:
    """The product of two entries, at most 2^32 in size: as it is, or in two halves whose
    sums fit 64 bits for 2^46 persons.
    """
    import narwhals as nw

    product = nw.col(one) * nw.col(other)
    if not halved:
        return [product]
    high = (product.cast(nw.Float64) / float(_HALF)).floor().cast(nw.Int64)
    return [high, product - high * _HALF]


def shortened(frame: nw.LazyFrame[Any], names: list[str], longest: int) -> nw.LazyFrame[Any]:
    """As `RowGrid.shortened`, in the engine: vectors in their direction, none longer than
    `longest`.
    """
    import narwhals as nw

    squares, length = nw.col(_SQUARES), nw.col(_LENGTH)
    frame = frame.with_columns(_squared(names).alias(_SQUARES))
    # at least 1: an engine may fail to divide by 0, and one person's vector could be 0
    root = squares.cast(nw.Float64).sqrt().floor().clip(1.0, 2.0**31).cast(nw.Int64)
    frame = frame.with_columns(root.alias(_LENGTH))
    for _ in range(2):
        # up to the next whole number: what an engine's root is off by is made up for
        up = nw.when(length * length < squares).then(length + 1).otherwise(length)
        frame = frame.with_columns(up.alias(_LENGTH))
    frame = frame.with_columns(
        *(_shorter(nw.col(name), longest).alias(name) for name in names),
    )
    # whatever the floats of an engine do, nobody is longer than that
    right = _squared(names) <= longest**2
    return frame.select(
        *(nw.when(right).then(nw.col(name)).otherwise(nw.lit(0)).alias(name) for name in names)
    )


def _squared(names: list[str]) -> nw.Expr:
    import narwhals as nw

    return reduce(add, (nw.col(name) * nw.col(name) for name in names))


def _shorter(entry: nw.Expr, longest: int) -> nw.Expr:
    """An entry times longest / length, towards zero, where the vector is too long."""
    import narwhals as nw

    # both below 2^53, so the rounded quotient has the same whole part as the exact one
    size = (entry.abs() * longest).cast(nw.Float64)
    whole = (size / nw.col(_LENGTH).cast(nw.Float64)).floor().cast(nw.Int64)
    shorter = nw.when(entry < 0).then(whole * -1).otherwise(whole)
    return nw.when(nw.col(_SQUARES) > longest**2).then(shorter).otherwise(entry)
