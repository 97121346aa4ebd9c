"""Models of a table: what each is fitted to, and which bound one person has in it.

Every person is one vector, so what is proved for rows holds for persons.
docs/proofs/vectors.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import Accuracy
from discreet.errors import Hidden, ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, require_flag
from discreet.literals import VectorRule
from discreet.mechanisms.ball import BallExponentialMechanism
from discreet.mechanisms.covariance import CovarianceMechanism
from discreet.mechanisms.deepest_point import DeepestPoint
from discreet.mechanisms.rows import MOST_STEPS, RowGrid
from discreet.mechanisms.subspace import SubspaceExponentialMechanism
from discreet.privacy.cost import Cost
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.condition_matching import matching
from discreet.tables.conditions import column as column_named
from discreet.tables.inquiry import Inquiry, Prepared, counted
from discreet.tables.items import require_number
from discreet.tables.table import Table
from discreet.tables.vectors import (
    Axis,
    Vectors,
    moment_of,
    point_step,
    read_vector_rule,
    scaled_axes,
    target_step,
)

if TYPE_CHECKING:
    import narwhals as nw

Scales = Number | Sequence[Number] | None
"""A public number for all columns, or one for each."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Two labels, which keep their kind in the form of a question: 1 is not "1"."""

    labels: Any


def prepare_subspace(
    inquiry: Inquiry,
    columns: Sequence[str],
    k: int,
    epsilon: Number,
    norm: Number,
    center: Scales,
    scale: Scales,
    rule: VectorRule | None,
) -> Prepared:
    """As `Session.fit_subspace` says."""
    # A person's vector is at most as long as the norm: docs/proofs/vectors.md#shortening
    made = SubspaceExponentialMechanism(k=k, epsilon=epsilon, norm=norm)
    made.require_columns(len(columns))
    vectors = _vectors(inquiry, columns, center, scale, rule, made.grid)
    return _of_moment("fit_subspace", inquiry, vectors, made, Cost(made.privacy_loss()))


def prepare_covariance(
    inquiry: Inquiry,
    columns: Sequence[str],
    k: int | None,
    epsilon: Number,
    norm: Number,
    center: Scales,
    scale: Scales,
    rule: VectorRule | None,
) -> Prepared:
    """As `Session.fit_covariance` says."""
    # A person's vector is at most as long as the norm: docs/proofs/vectors.md#shortening
    made = CovarianceMechanism(k=k, epsilon=epsilon, norm=norm)
    made.directions(len(columns))
    vectors = _vectors(inquiry, columns, center, scale, rule, made.grid)
    cost = Cost(made.privacy_loss(), made.losses(columns=len(columns)))
    return _of_moment("fit_covariance", inquiry, vectors, made, cost)


def _of_moment(
    what: str,
    inquiry: Inquiry,
    vectors: Vectors,
    made: SubspaceExponentialMechanism | CovarianceMechanism,
    cost: Cost,
) -> Prepared:
    """A question that is answered from the sum of products of all vectors."""

    def answer(bits: Bits | None) -> Release:
        moment = moment_of(vectors, made.grid)
        return made.release_from(moment, read_bits(bits, inquiry.owner))

    def accuracy(failure: Fraction) -> Accuracy:
        return made.accuracy(columns=len(vectors.axes), failure_probability=failure)

    return Prepared(cost, answer, accuracy)


def prepare_linear(
    inquiry: Inquiry,
    columns: Sequence[str],
    target: str,
    bounds: tuple[Number, Number],
    norm: Number,
    radius: Number,
    epsilon: Number | None,
    rho: Number | None,
    ridge: Number,
    intercept: bool,
    center: Scales,
    scale: Scales,
    rule: VectorRule | None,
) -> Prepared:
    """As `Session.fit_linear` says."""
    owner = inquiry.owner
    made = BallExponentialMechanism(
        loss="squared",
        norm=norm,
        radius=radius,
        epsilon=epsilon,
        rho=rho,
        ridge=ridge,
        bounds=bounds,
    )
    grid = RowGrid.of(norm, owner)
    axes = _axes(inquiry.table, columns, center, scale, grid, intercept, owner)
    _require_number(inquiry.table, target, "target", owner)
    goal = Axis(column=target, step=target_step(bounds, owner))
    vectors = Vectors(
        table=inquiry.table,
        unit=inquiry.unit,
        axes=[*axes, goal],
        rule=read_vector_rule(rule, inquiry.unit, owner),
    )

    def answer(bits: Bits | None) -> Release:
        whole, _ = vectors.read()
        targets = whole[:, -1] * float(goal.step)
        return made.release(_lengths(whole[:, :-1], grid), targets, bits=bits)

    return _prepared_ball(made, "fit_linear", len(axes), answer)


def prepare_logistic(
    inquiry: Inquiry,
    columns: Sequence[str],
    label: str,
    classes: Classes,
    norm: Number,
    radius: Number | None,
    epsilon: Number | None,
    rho: Number | None,
    ridge: Number,
    intercept: bool,
    center: Scales,
    scale: Scales,
    rule: VectorRule | None,
) -> Prepared:
    """As `Session.fit_logistic` says."""
    owner = inquiry.owner
    made = BallExponentialMechanism(
        loss="logistic", norm=norm, radius=radius, epsilon=epsilon, rho=rho, ridge=ridge
    )
    grid = RowGrid.of(norm, owner)
    vectors = Vectors(
        table=inquiry.table,
        unit=inquiry.unit,
        axes=_axes(inquiry.table, columns, center, scale, grid, intercept, owner),
        rule=read_vector_rule(rule, inquiry.unit, owner),
        sign=_sign(inquiry.table, label, classes.labels, owner),
    )

    def answer(bits: Bits | None) -> Release:
        whole, signs = vectors.read()
        return made.release(_lengths(whole, grid), signs.astype(np.float64), bits=bits)

    return _prepared_ball(made, "fit_logistic", len(vectors.axes), answer)


def prepare_deepest(
    inquiry: Inquiry,
    columns: Sequence[str],
    bounds: Sequence[tuple[Number, Number]],
    step: Number | Sequence[Number],
    epsilon: Number,
    rule: VectorRule | None,
) -> Prepared:
    """As `Session.fit_deepest` says."""
    owner = inquiry.owner
    # A person is one point: docs/proofs/vectors.md#one-row-a-person
    made = DeepestPoint(epsilon=epsilon, bounds=bounds, step=step, unit="point")
    if len(made.grids) != len(columns):
        rule_text = "a list of a pair for each column"
        raise ParameterError(owner, "bounds", rule_text, Hidden(f"{len(made.grids)} pairs"))
    axes = [
        Axis(column=name, step=point_step(grid.low, grid.size, grid.step, owner))
        for name, grid in zip(columns, made.grids, strict=True)
    ]
    for name in columns:
        _require_number(inquiry.table, name, "columns", owner)
    vectors = Vectors(
        table=inquiry.table,
        unit=inquiry.unit,
        axes=axes,
        rule=read_vector_rule(rule, inquiry.unit, owner),
    )

    def answer(bits: Bits | None) -> Release:
        whole, _ = vectors.read()
        return made.release(whole * np.array([float(axis.step) for axis in axes]), bits=bits)

    def accuracy(failure: Fraction) -> Accuracy:
        told = made.accuracy(failure_probability=failure)
        return told.in_words(unit=counted(inquiry.unit))

    loss = made.privacy_loss()
    return Prepared(Cost(loss), answer, accuracy)


def _prepared_ball(
    made: BallExponentialMechanism,
    what: str,
    dimensions: int,
    answer: Callable[[Bits | None], Release],
) -> Prepared:
    # refuses what no ball of this many dimensions has
    made.bounded_range(dimensions=dimensions)

    def accuracy(failure: Fraction) -> Accuracy:
        return made.accuracy(dimensions=dimensions, failure_probability=failure)

    loss = made.privacy_loss()
    return Prepared(Cost(loss), answer, accuracy)


def _vectors(
    inquiry: Inquiry,
    columns: Sequence[str],
    center: Scales,
    scale: Scales,
    rule: VectorRule | None,
    grid: RowGrid,
) -> Vectors:
    owner = inquiry.owner
    axes = _axes(inquiry.table, columns, center, scale, grid, False, owner)
    return Vectors(
        table=inquiry.table,
        unit=inquiry.unit,
        axes=axes,
        rule=read_vector_rule(rule, inquiry.unit, owner),
    )


def _axes(
    table: Table,
    columns: Sequence[str],
    center: Scales,
    scale: Scales,
    grid: RowGrid,
    intercept: bool,
    owner: str,
) -> list[Axis]:
    """The columns in steps of the grid, and 1 where there is an intercept."""
    for name in columns:
        _require_number(table, name, "columns", owner)
    require_flag(intercept, "intercept", owner)
    axes = scaled_axes(columns, center, scale, step=grid.step, most=MOST_STEPS, owner=owner)
    one = Axis(column=None, step=grid.step, most=MOST_STEPS)
    return [*axes, one] if intercept else axes


def _require_number(table: Table, column: str, name: str, owner: str) -> None:
    try:
        require_number(table, column, owner)
    except ParameterError as error:
        wrong = type(error)(owner, name, error.rule, error.got, error.hint)
    else:
        return
    raise wrong


def _sign(table: Table, label: str, classes: Any, owner: str) -> nw.Expr:
    """1 for the second class, -1 for the first, 0 for other labels."""
    import narwhals as nw

    if not isinstance(classes, (tuple, list)) or len(classes) != 2:
        raise ParameterTypeError(owner, "classes", "a pair of labels", classes)
    if classes[0] == classes[1]:
        raise ParameterError(owner, "classes", "two different labels", classes[0])
    if table.schema[label] == nw.Boolean:
        classes = [bool(each) if each in (0, 1) else each for each in classes]
    try:
        negative, positive = (
            matching(column_named(label) == each, table, owner) for each in classes
        )
    except ParameterError as error:
        wrong = type(error)(owner, "classes", error.rule, error.got, error.hint)
    else:
        first = nw.when(negative).then(nw.lit(-1)).otherwise(nw.lit(0))
        return nw.when(positive).then(nw.lit(1)).otherwise(first)
    raise wrong


def _lengths(whole: NDArray[np.int64], grid: RowGrid) -> NDArray[np.float64]:
    """Vectors in steps of the grid as floats, exactly."""
    return whole.astype(np.float64) * float(grid.step)
