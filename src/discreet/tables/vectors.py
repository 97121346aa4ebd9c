"""The vector of each person: columns on a public grid, and rows added up in whole numbers.

A row has a vector if each of its cells is a finite number; other rows are left out. A
cell becomes a whole number of public steps, cut towards zero and clipped, so that sums
over a person's rows are exact in any order. docs/proofs/vectors.md

The sums of products of columns over persons are all that a subspace is fitted to.
DuckDB multiplies and adds up few columns where the table lives, and one row
comes back. Many columns are too long a query for any engine, and few are for those that
write out what was computed before each time it is used: then each person's vector comes
back. Which way is a matter of the engine and the number of columns, which are public;
the result is the same: docs/proofs/vectors.md#shortening.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Hidden, ParameterError, read_each
from discreet.exact.rationals import Number, exact_decimal, positive
from discreet.literals import VECTOR_RULES, VectorRule
from discreet.mechanisms.rows import RowGrid, ordered_rows, second_moment
from discreet.privacy.parameters import OneRow, Unit
from discreet.tables.contribution_cap import stated_rule
from discreet.tables.counting import guarded, only, run
from discreet.tables.items import PERSON, cell_number, person_column, with_person
from discreet.tables.table import Table

if TYPE_CHECKING:
    import narwhals as nw


MOST_STEPS = 2**31
"""The largest number of steps of one cell: sums of 2^32 rows of a person fit 64 bits."""

_SMALLEST, _LARGEST = Fraction(1, 10**280), Fraction(10) ** 280
_HOW = "Use 'sum' to add up the rows of a person, or 'mean' to average them."
_COUNT, _SIGN = "__discreet_rows", "__discreet_sign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """How a column is read: steps of a public size from a public centre, towards zero.

    column: None where each row has 1 there, for an intercept.
    most: no cell, and no person, counts for more steps than this.
    """

    column: str | None
    step: Fraction
    center: Fraction = Fraction(0)
    most: int = MOST_STEPS

    def steps(self, value: nw.Expr) -> nw.Expr:
        """Finite numbers in whole steps."""
        import narwhals as nw

        if self.column is None:
            return nw.lit(min(self.most, math.floor(1 / self.step))).cast(nw.Int64)
        size, center = float(self.step), float(self.center)
        # Some engines refuse to compute what is too large, and to divide what becomes too small.
        far = (self.most + 1) * size
        near = value.clip(center - far, center + far) - center
        large = nw.when(near.abs() >= size).then(near).otherwise(0.0)
        whole = (large.abs() / size).floor().clip(0.0, float(self.most))
        return nw.when(large < 0).then(whole * -1.0).otherwise(whole).cast(nw.Int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """One vector of whole numbers for each person (or row) that has one.

    rule: whether a person's rows are added up or averaged; None where each row is
        protected by itself.
    sign: where rows have one of two labels, 1 or -1, and 0 for any other. A person has
        the label of most of their rows, and is left out where there is none.
    """

    table: Table
    unit: Unit
    axes: Sequence[Axis]
    rule: VectorRule | None
    sign: nw.Expr | None = None

    @property
    def names(self) -> list[str]:
        """What the entries are called in the engine."""
        return [f"__discreet_x_{place}" for place in range(len(self.axes))]

    def frame(self) -> nw.LazyFrame[Any]:
        """The vectors, still in the engine."""
        persons = self._of_rows() if isinstance(self.unit, OneRow) else self._of_persons()
        return persons if self.sign is None else self._labelled(persons)

    def read(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The vectors in an order of their own, and their signs: ones without labels."""
        signs = [] if self.sign is None else [_SIGN]
        names = [*self.names, *signs]

        def entries() -> list[NDArray[Any]]:
            result = self.frame().select(*names).collect()
            return [result[name].to_numpy() for name in names]

        table = np.stack(guarded(self.table, entries), axis=1).astype(np.int64)
        # engines give them in any order
        table = ordered_rows(table)
        size = len(self.axes)
        return table[:, :size], table[:, size] if signs else np.ones(len(table), dtype=np.int64)

    def _of_rows(self) -> nw.LazyFrame[Any]:
        """The rows that have a vector, with the person that they belong to."""
        import narwhals as nw

        read = [
            cell_number(self.table, axis.column).alias(name)
            for name, axis in zip(self.names, self.axes, strict=True)
            if axis.column is not None
        ]
        signs = [] if self.sign is None else [self.sign.cast(nw.Int64).alias(_SIGN)]
        # Added to the columns that are there: what a row counts for may look at other ones.
        rows = self.table.rows.with_columns(*person_column(self.unit), *read, *signs)
        rows = with_person(rows, self.table, self.unit)
        for name, axis in zip(self.names, self.axes, strict=True):
            rows = rows if axis.column is None else rows.filter(~nw.col(name).is_null())
        whole = [
            axis.steps(nw.col(name)).alias(name)
            for name, axis in zip(self.names, self.axes, strict=True)
        ]
        person = [] if isinstance(self.unit, OneRow) else [nw.col(PERSON)]
        return rows.select(*person, *whole, *([nw.col(_SIGN)] if signs else []))

    def _of_persons(self) -> nw.LazyFrame[Any]:
        """Each person's rows as one vector."""
        import narwhals as nw

        added = [*self.names, *([] if self.sign is None else [_SIGN])]
        persons = (
            self._of_rows()
            .group_by(PERSON)
            .agg(*(nw.col(name).sum().alias(name) for name in added), nw.len().alias(_COUNT))
        )
        joined = [
            (_mean(nw.col(name)) if self.rule == "mean" else nw.col(name))
            .clip(-axis.most, axis.most)
            .cast(nw.Int64)
            .alias(name)
            for name, axis in zip(self.names, self.axes, strict=True)
        ]
        return persons.select(*joined, *added[len(self.names) :])

    def _labelled(self, persons: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        import narwhals as nw

        return persons.filter(nw.col(_SIGN) != 0).with_columns(
            nw.when(nw.col(_SIGN) > 0).then(nw.lit(1)).otherwise(nw.lit(-1)).alias(_SIGN)
        )


def _mean(total: nw.Expr) -> nw.Expr:
    """A sum over the number of rows, towards zero."""
    import narwhals as nw

    size = total.cast(nw.Float64)
    whole = (size.abs() / nw.col(_COUNT).cast(nw.Float64)).floor()
    return nw.when(size < 0).then(whole * -1.0).otherwise(whole)


def read_vector_rule(rule: VectorRule | None, unit: Unit) -> VectorRule | None:
    """Read whether several rows of one person are added up or averaged."""
    return stated_rule(rule, VECTOR_RULES, _HOW, unit)


def scaled_axes(
    columns: Sequence[str],
    center: Number | Sequence[Number] | None,
    scale: Number | Sequence[Number] | None,
    *,
    step: Fraction,
    most: int,
) -> list[Axis]:
    """Columns read as (cell - center) / scale, in these steps."""
    centers = _for_each(center, 0, columns, "center", exact_decimal)
    scales = _for_each(scale, 1, columns, "scale", _positive)
    for size in scales:
        if not _SMALLEST < size * step * most < _LARGEST or not size * step > _SMALLEST:
            rule = "such that its product with the norm is between 1e-270 and 1e270"
            raise ParameterError("scale", rule, scale)
    if any(abs(number) > _LARGEST for number in centers):
        raise ParameterError("center", "at most 1e280 in size", center)
    return [
        Axis(column=name, step=size * step, center=middle, most=most)
        for name, middle, size in zip(columns, centers, scales, strict=True)
    ]


def target_step(bounds: tuple[Number, Number]) -> Fraction:
    """Steps for targets within these bounds, which no float is too short for: at most a
    2^24-th of the larger one.
    """
    largest = max(abs(exact_decimal(bound, "bounds")) for bound in bounds)
    return _power_below(largest / 2**24)


def point_step(low: Fraction, size: int, step: Fraction) -> Fraction:
    """Steps for points of a grid: as fine as 2^31 of them from 0 to a bound can be."""
    largest = max(abs(low), abs(low + (size - 1) * step))
    fine = 2 * _power_below(largest / MOST_STEPS)
    if 4 * fine > step or not _SMALLEST < fine < _LARGEST / MOST_STEPS:
        rule = f"large enough for at most {MOST_STEPS // 8:,} steps from 0 to a bound"
        raise ParameterError("step", rule, float(step))
    return fine


def _power_below(value: Fraction) -> Fraction:
    """The largest power of two that is not above a number."""
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    return power if power <= value else power / 2


def _positive(value: Number, name: str) -> Fraction:
    return positive(exact_decimal(value, name), value, name)


def _for_each(
    given: Any,
    usual: int,
    columns: Sequence[str],
    name: str,
    read: Callable[[Any, str], Fraction],
) -> list[Fraction]:
    """One number for each column: the same for all, or a list with one for each."""
    if given is None:
        return [Fraction(usual)] * len(columns)
    if not isinstance(given, (tuple, list, np.ndarray)):
        return [read(given, name)] * len(columns)
    if len(given) != len(columns):
        rule = "one number, or one for each column"
        got = Hidden(f"{len(given)} for {len(columns)} columns")
        raise ParameterError(name, rule, got)
    return read_each(lambda number: read(number, name), given)


MOST_IN_ENGINE = 24
"""The most columns that are multiplied in the engine."""
_SQUARES, _LENGTH = "__discreet_squares", "__discreet_length"


def moment_of(vectors: Vectors, grid: RowGrid) -> NDArray[np.object_]:
    """The sum of all products of two entries, over persons whose vectors are shortened to
    the longest that the grid allows.
    """
    if len(vectors.axes) > MOST_IN_ENGINE or not vectors.table.frame.implementation.is_duckdb():
        whole, _ = vectors.read()
        return second_moment(grid.shortened(whole))
    return _in_engine(vectors, grid.longest)


def _in_engine(vectors: Vectors, longest: int) -> NDArray[np.object_]:
    """Add up on DuckDB, which adds whole numbers of 64 bits in 128."""
    import narwhals as nw

    names, columns = vectors.names, len(vectors.axes)
    pairs = [(one, other) for one in range(columns) for other in range(one + 1)]
    sums = [f"__discreet_sum_{one}_{other}" for one, other in pairs]

    def query() -> nw.LazyFrame[Any]:
        rows = shortened(vectors.frame(), names, longest)
        products = [nw.col(names[one]) * nw.col(names[other]) for one, other in pairs]
        return rows.select(
            *(product.sum().alias(name) for product, name in zip(products, sums, strict=True))
        )

    row = [int(number or 0) for number in only(run(vectors.table, query, sums))]
    moment = np.zeros((columns, columns), dtype=object)
    for (one, other), total in zip(pairs, row, strict=True):
        moment[one, other] = moment[other, one] = total
    return moment


def shortened(frame: nw.LazyFrame[Any], names: list[str], longest: int) -> nw.LazyFrame[Any]:
    """Shorten vectors in the engine, like `RowGrid.shortened`: in their direction, none longer than
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
