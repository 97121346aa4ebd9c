"""Models of a table: what each is fitted to, and which bound one person has in it.

Every person is one vector, so what is proved for rows holds for persons.
docs/proofs/vectors.md

Each mechanism is imported by the question that it answers: all of them take longer to load
than a count takes to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.errors import Hidden, ParameterError, shown_pair
from discreet.exact.rationals import Number
from discreet.literals import VectorRule
from discreet.mechanisms.rows import MOST_STEPS, RowGrid
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import Slot
from discreet.questions.kinds import (
    Amount,
    AmountOrNone,
    Bounds,
    ColumnList,
    ColumnName,
    Epsilon,
    EpsilonOrNone,
    Exact,
    Pairs,
    PerColumn,
    RowCondition,
    TwoLabels,
    WholeNumber,
)
from discreet.questions.question import Question, parameter, question
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

    from discreet.mechanisms.ball import BallExponentialMechanism
    from discreet.mechanisms.covariance import CovarianceMechanism
    from discreet.mechanisms.subspace import SubspaceExponentialMechanism

_ColumnNames = Slot[Sequence[str], tuple[str, ...]]
_ScaleNumbers = Slot[Number | Sequence[Number] | None, "Fraction | tuple[Fraction, ...] | None"]
Columns = Annotated[_ColumnNames, ColumnList(help="Columns of numbers.")]
TwoColumns = Annotated[_ColumnNames, ColumnList(help="2 to 128 columns of numbers.", least=2)]
Norm = Annotated[
    Slot[Number, Fraction],
    Exact(
        help=(
            "The largest length of a person's vector, after centering and scaling; public. A "
            "longer one is shortened to it. A cell, or a person's sum, beyond about 1,000 times "
            "the norm counts as that much."
        )
    ),
]
Centers = Annotated[
    _ScaleNumbers,
    PerColumn(
        help=(
            "A public number that is subtracted from each cell: one for all columns, or a list "
            "with one for each."
        )
    ),
]
Scales = Annotated[
    _ScaleNumbers,
    PerColumn(
        help=(
            "A public number that each cell is then divided by: one for all columns, or a list "
            "with one for each."
        )
    ),
]
Steps = Annotated[
    Slot[Number | Sequence[Number], "Fraction | tuple[Fraction, ...]"],
    PerColumn(
        help="The step of the grid that the answer is on, for all columns or for each; public."
    ),
]
PairList = Annotated[
    Slot[Sequence[tuple[Number, Number]], tuple[tuple[Fraction, Fraction], ...]], Pairs()
]
ClassPair = Annotated[tuple[Any, Any], TwoLabels()]
_RULE = (
    "How the rows of a person are combined: added up (sum) or averaged (mean). There is no "
    "default if a person can have several rows."
)
_RIDGE = "Pulls coefficients toward 0: without data, each would be about 1 / sqrt of this."
_INTERCEPT = "Add a constant as the last coefficient: a column of ones, which counts toward {norm}."
_RHO = "Instead of {epsilon}: the loss as zero-concentrated privacy. It needs {ridge}."
_NOT_OVER_HTTP = "Manifests cannot publish the bounds, centers and scales that a model needs."


@question("fit_subspace")
class FitSubspace(Question):
    """Fit private principal components: the k-dimensional subspace in which the people's
    vectors are longest, as `discreet.models.fit_subspace`.

    Each person is one vector. A row with a cell that is not a finite number is left out, and so
    is a person without another row.

    Cost: one aggregation of whole numbers in the engine, which gives back one row; of more than
        24 columns, and in other engines than DuckDB, one row for each person.
    Utility: `Release.accuracy`, for up to 2^33 persons.

    >>> import pandas
    >>> from discreet import OneRow, PureDP, Session
    >>> from discreet.testing import SeededBits
    >>> sizes = pandas.DataFrame({"height": [150, 160, 190] * 200, "weight": [50, 60, 90] * 200})
    >>> session = Session(sizes, unit=OneRow(), budget=PureDP(1))
    >>> release = session.fit_subspace(
    ...     ["height", "weight"],
    ...     k=1,
    ...     epsilon=1,
    ...     norm=1,
    ...     center=[165, 65],
    ...     scale=20,
    ...     bits=SeededBits(1),
    ... )
    >>> [round(part, 1) for part in release.value[0]]
    [0.7, 0.7]
    """

    not_over_http = _NOT_OVER_HTTP

    columns: TwoColumns = parameter(kw_only=False)
    k: WholeNumber = parameter("The number of dimensions.")
    epsilon: Epsilon = parameter()
    norm: Norm = parameter()
    center: Centers = parameter(default=None)
    scale: Scales = parameter(default=None)
    rule: VectorRule | None = parameter(_RULE, default=None)
    where: RowCondition | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        from discreet.mechanisms.subspace import SubspaceExponentialMechanism

        # A person's vector is at most as long as the norm: docs/proofs/vectors.md#shortening
        made = SubspaceExponentialMechanism(k=self.k, epsilon=self.epsilon, norm=self.norm)
        made.require_columns(len(self.columns))
        vectors = _vectors(inquiry, self, made.grid)
        return _of_moment(vectors, made, Cost(made.privacy_loss()))


@question("fit_covariance")
class FitCovariance(Question):
    """Fit orthogonal directions in which the people's vectors are long, and the sum of squares
    along each, as `discreet.models.fit_covariance`. A person is one vector, as in `fit_subspace`.

    Half of epsilon is for the directions, half for the sums, with noise.
    """

    not_over_http = _NOT_OVER_HTTP

    columns: TwoColumns = parameter(kw_only=False)
    epsilon: Epsilon = parameter()
    norm: Norm = parameter()
    k: WholeNumber | None = parameter(
        "How many directions; by default, as many as there are columns.", default=None
    )
    center: Centers = parameter(default=None)
    scale: Scales = parameter(default=None)
    rule: VectorRule | None = parameter(_RULE, default=None)
    where: RowCondition | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        from discreet.mechanisms.covariance import CovarianceMechanism

        # A person's vector is at most as long as the norm: docs/proofs/vectors.md#shortening
        made = CovarianceMechanism(k=self.k, epsilon=self.epsilon, norm=self.norm)
        made.directions(len(self.columns))
        vectors = _vectors(inquiry, self, made.grid)
        cost = Cost(made.privacy_loss(), made.losses(columns=len(self.columns)))
        return _of_moment(vectors, made, cost)


@question("fit_linear")
class FitLinear(Question):
    """Fit the coefficients of a linear regression, one for each column, as
    `discreet.models.fit_linear`. They belong to the centered and scaled columns. Each person is one
    vector, as for `fit_subspace`; of several rows of a person, targets are added up or averaged
    as the other columns are.

    Cost: one aggregation in the engine, which gives back one row for each person.
    """

    not_over_http = _NOT_OVER_HTTP

    columns: Columns = parameter(kw_only=False)
    target: ColumnName = parameter("The column to predict.", kw_only=False)
    bounds: Bounds = parameter(
        "The public bounds of {target}. Values outside count as the nearest bound."
    )
    norm: Norm = parameter()
    radius: Amount = parameter("The largest length of the vector of coefficients; public.")
    epsilon: EpsilonOrNone = parameter(default=None)
    rho: AmountOrNone = parameter(_RHO, default=None)
    ridge: Amount = parameter(_RIDGE, default=0)
    intercept: bool = parameter(_INTERCEPT, default=False)
    center: Centers = parameter(default=None)
    scale: Scales = parameter(default=None)
    rule: VectorRule | None = parameter(_RULE, default=None)
    where: RowCondition | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        from discreet.mechanisms.ball import BallExponentialMechanism

        assert self.bounds is not None
        made = BallExponentialMechanism(
            loss="squared",
            norm=self.norm,
            radius=self.radius,
            epsilon=self.epsilon,
            rho=self.rho,
            ridge=self.ridge,
            bounds=self.bounds,
        )
        grid = RowGrid.of(self.norm)
        _require_number(inquiry.table, self.target, "target")
        goal = Axis(column=self.target, step=target_step(self.bounds))
        vectors = _vectors(inquiry, self, grid, intercept=self.intercept, more=[goal])

        def answer(bits: Bits | None) -> Release:
            whole, _ = vectors.read()
            targets = whole[:, -1] * float(goal.step)
            return made.release(_lengths(whole[:, :-1], grid), targets, bits=bits)

        return _of_ball(inquiry, made, len(vectors.axes) - 1, answer)


@question("fit_logistic")
class FitLogistic(Question):
    """Fit the coefficients of a logistic regression, one for each column, as
    `discreet.models.fit_logistic`. They belong to the centered and scaled columns. Each person is
    one vector, as for `fit_subspace`.

    A row with another label than the two classes belongs to neither. A person has the label of
    most of their rows, and is left out where there are as many of one as of the other.
    """

    not_over_http = _NOT_OVER_HTTP

    columns: Columns = parameter(kw_only=False)
    label: ColumnName = parameter("The column with the two classes.", kw_only=False)
    norm: Norm = parameter()
    classes: ClassPair = parameter(
        "The two public labels: first the one for negative scores, then the one for positive "
        "scores."
    )
    radius: AmountOrNone = parameter(
        "The largest length of the vector of coefficients; public. With {rho}, it follows from "
        "{ridge} by default.",
        default=None,
    )
    epsilon: EpsilonOrNone = parameter(default=None)
    rho: AmountOrNone = parameter(_RHO, default=None)
    ridge: Amount = parameter(_RIDGE, default=0)
    intercept: bool = parameter(_INTERCEPT, default=False)
    center: Centers = parameter(default=None)
    scale: Scales = parameter(default=None)
    rule: VectorRule | None = parameter(_RULE, default=None)
    where: RowCondition | None = parameter(default=None)

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        return super().stated(rule) | {"classes": Classes(self.classes)}

    def prepare(self, inquiry: Inquiry) -> Prepared:
        from discreet.mechanisms.ball import BallExponentialMechanism

        made = BallExponentialMechanism(
            loss="logistic",
            norm=self.norm,
            radius=self.radius,
            epsilon=self.epsilon,
            rho=self.rho,
            ridge=self.ridge,
        )
        grid = RowGrid.of(self.norm)
        sign = _sign(inquiry.table, self.label, self.classes)
        vectors = _vectors(inquiry, self, grid, intercept=self.intercept, sign=sign)

        def answer(bits: Bits | None) -> Release:
            whole, signs = vectors.read()
            return made.release(_lengths(whole, grid), signs.astype(np.float64), bits=bits)

        return _of_ball(inquiry, made, len(vectors.axes), answer)


@question("fit_deepest")
class FitDeepest(Question):
    """Fit a point in the middle of all people, as `discreet.models.fit_deepest`: about a median in
    every column, whatever some people are. Each person is one vector, as for `fit_subspace`.

    Utility: ask `DeepestPoint.points_needed` first.
    """

    not_over_http = _NOT_OVER_HTTP

    columns: Columns = parameter(kw_only=False)
    bounds: PairList = parameter(
        "A pair of public bounds for each column. Values outside count as the nearest bound."
    )
    step: Steps = parameter()
    epsilon: Epsilon = parameter()
    rule: VectorRule | None = parameter(_RULE, default=None)
    where: RowCondition | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        from discreet.mechanisms.deepest_point import DeepestPoint

        # A person is one point: docs/proofs/vectors.md#one-row-a-person
        made = DeepestPoint(epsilon=self.epsilon, bounds=self.bounds, step=self.step, unit="point")
        if len(made.grids) != len(self.columns):
            rule = "a list of a pair for each column"
            raise ParameterError("bounds", rule, Hidden(f"{len(made.grids)} pairs"))
        axes = [
            Axis(column=name, step=point_step(grid.low, grid.size, grid.step))
            for name, grid in zip(self.columns, made.grids, strict=True)
        ]
        for name in self.columns:
            _require_number(inquiry.table, name, "columns")
        vectors = Vectors(
            table=inquiry.table,
            unit=inquiry.unit,
            axes=axes,
            rule=read_vector_rule(self.rule, inquiry.unit),
        )

        def answer(bits: Bits | None) -> Release:
            whole, _ = vectors.read()
            return made.release(whole * np.array([float(axis.step) for axis in axes]), bits=bits)

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(failure_probability=failure)
            return told.in_words(unit=counted(inquiry.unit))

        return Prepared(Cost(made.privacy_loss()), answer, accuracy)


@dataclass(frozen=True, slots=True)
class Classes:
    """Two labels, which keep their kind in the form of a question: 1 is not "1"."""

    labels: Any


def _of_moment(
    vectors: Vectors, made: SubspaceExponentialMechanism | CovarianceMechanism, cost: Cost
) -> Prepared:
    """A question that is answered from the sum of products of all vectors."""

    def answer(bits: Bits | None) -> Release:
        return made.release_from(moment_of(vectors, made.grid), read_bits(bits))

    def accuracy(failure: Fraction) -> Accuracy:
        return made.accuracy(columns=len(vectors.axes), failure_probability=failure)

    return Prepared(cost, answer, accuracy)


def _of_ball(
    inquiry: Inquiry,
    made: BallExponentialMechanism,
    dimensions: int,
    answer: Callable[[Bits | None], Release],
) -> Prepared:
    """A question whose answer is a vector of coefficients."""
    if made.rho is not None and inquiry.rule.counting != "rho":
        rule = "left out unless the budget is in rho"
        raise ParameterError("rho", rule, made.rho, "Give 'epsilon' instead.")
    # refuses what no ball of this many dimensions has
    made.bounded_range(dimensions=dimensions)

    def accuracy(failure: Fraction) -> Accuracy:
        return made.accuracy(dimensions=dimensions, failure_probability=failure)

    return Prepared(Cost(made.privacy_loss()), answer, accuracy)


def _vectors(
    inquiry: Inquiry,
    fit: FitSubspace | FitCovariance | FitLinear | FitLogistic,
    grid: RowGrid,
    *,
    intercept: bool = False,
    more: Sequence[Axis] = (),
    sign: nw.Expr | None = None,
) -> Vectors:
    """The vectors of all persons: the columns in steps of the grid, and what stands after them.

    intercept: whether 1 stands behind the columns.
    """
    for name in fit.columns:
        _require_number(inquiry.table, name, "columns")
    axes = scaled_axes(fit.columns, fit.center, fit.scale, step=grid.step, most=MOST_STEPS)
    ones = [Axis(column=None, step=grid.step, most=MOST_STEPS)] if intercept else []
    return Vectors(
        table=inquiry.table,
        unit=inquiry.unit,
        axes=[*axes, *ones, *more],
        rule=read_vector_rule(fit.rule, inquiry.unit),
        sign=sign,
    )


def _require_number(table: Table, column: str, name: str) -> None:
    try:
        require_number(table, column)
    except ParameterError as error:
        wrong = type(error)(name, error.rule, error.got, error.hint)
    else:
        return
    raise wrong


def _sign(table: Table, label: str, classes: tuple[Any, Any]) -> nw.Expr:
    """1 for the second class, -1 for the first, 0 for other labels."""
    import narwhals as nw

    kind = table.schema[label]
    if kind in (nw.String, nw.Enum) and not all(isinstance(each, str) for each in classes):
        rule = "two texts, as the column of labels is text"
        raise ParameterError("classes", rule, shown_pair(classes))
    if kind == nw.Boolean:
        first, second = (bool(each) if each in (0, 1) else each for each in classes)
    else:
        first, second = classes
    try:
        negative, positive = (
            matching(column_named(label) == each, table) for each in (first, second)
        )
    except ParameterError as error:
        wrong = type(error)("classes", error.rule, error.got, error.hint)
    else:
        below = nw.when(negative).then(nw.lit(-1)).otherwise(nw.lit(0))
        return nw.when(positive).then(nw.lit(1)).otherwise(below)
    raise wrong


def _lengths(whole: NDArray[np.int64], grid: RowGrid) -> NDArray[np.float64]:
    """Vectors in steps of the grid as floats, exactly."""
    return whole.astype(np.float64) * float(grid.step)
