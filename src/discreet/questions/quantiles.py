"""One quantile, or many for one price, on a public grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.literals import PersonRule, PickName, QuantileMethod
from discreet.mechanisms.grid import Cells, Points, read_points
from discreet.mechanisms.prices import Price, cost_in_parts
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.privacy.cost import Cost
from discreet.questions.kinds import (
    WHICH_ROW,
    Bounds,
    ColumnName,
    Delta,
    Epsilon,
    PointNumbers,
    RowCondition,
    RowsPerPerson,
    Share,
    Shares,
    Step,
)
from discreet.questions.question import Question, parameter, question
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.tables.contribution_cap import draw_cap, read_rows, told_cap
from discreet.tables.counting import count_ranks
from discreet.tables.inquiry import Inquiry, Prepared, counted
from discreet.tables.items import require_number

_GRID = (
    "The smallest and the largest point of a public grid. Values outside count as the nearest "
    "point."
)


@question("quantile")
class Quantile(Question):
    """Pick the median or another quantile, from the points of a public grid.

    A value between two points counts half at each of them. Accuracy refers to these
    values.
    """

    column: ColumnName = parameter("The column of numbers.", kw_only=False)
    q: Share = parameter("The share of people below the answer: 0.5 for the median.")
    bounds: Bounds = parameter(_GRID, default=None)
    step: Step = parameter(default=None)
    points: PointNumbers = parameter(default=None)
    epsilon: Epsilon = parameter()
    rule: PersonRule | None = parameter(WHICH_ROW, default=None)
    rows_per_person: RowsPerPerson | None = parameter(default=None)
    mechanism: PickName | None = parameter(
        "How to choose. By default: permute-and-flip if epsilons add up in the budget, else "
        "exponential.",
        default=None,
    )
    where: RowCondition | None = parameter(default=None)

    def check(self) -> None:
        read_points(self.bounds, self.step, self.points)

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        return super().stated(rule) | {
            "mechanism": self.mechanism or Price(rule, self.epsilon).mechanism
        }

    def prepare(self, inquiry: Inquiry) -> Prepared:
        grid = read_points(self.bounds, self.step, self.points)
        one, most = read_rows(self.rule, self.rows_per_person, inquiry.table, inquiry.unit)
        mechanism = self.mechanism or inquiry.price(self.epsilon).mechanism
        # Several values of one person move the errors that many times:
        # docs/proofs/quantiles.md#rows
        made = OneQuantile(q=self.q, epsilon=self.epsilon, mechanism=mechanism, rows=most or 1)
        cells_of = _cells(self.column, grid, one, most, inquiry)

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            return made.release(cells_of(chance), grid, chance)

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(points=grid.size, failure_probability=failure)
            return _in_words(told, most, inquiry)

        return Prepared(Cost(made.privacy_loss()), answer, accuracy)


@question("quantiles")
class Quantiles(Question):
    """Pick several quantiles for one price, in ascending order."""

    column: ColumnName = parameter("The column of numbers.", kw_only=False)
    q: Shares = parameter("The shares in ascending order, such as 0.25, 0.5 and 0.75.")
    bounds: Bounds = parameter(_GRID, default=None)
    step: Step = parameter(default=None)
    points: PointNumbers = parameter(default=None)
    epsilon: Epsilon = parameter()
    delta: Delta = parameter(
        "The chance that the promise of {epsilon} fails. A small one, such as 1e-6, makes many "
        "quantiles more accurate.",
        default=0,
    )
    method: QuantileMethod = parameter(
        "How to pick: auto means recursive. Avoid joint if many people have the same value.",
        default="auto",
    )
    rule: PersonRule | None = parameter(WHICH_ROW, default=None)
    rows_per_person: RowsPerPerson | None = parameter(default=None)
    where: RowCondition | None = parameter(default=None)

    def check(self) -> None:
        read_points(self.bounds, self.step, self.points)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        grid = read_points(self.bounds, self.step, self.points)
        one, most = read_rows(self.rule, self.rows_per_person, inquiry.table, inquiry.unit)
        made = ManyQuantiles(
            q=self.q,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            grid_size=grid.size,
            rows=most or 1,
            price=inquiry.price(self.epsilon),
        )
        cost = cost_in_parts(made.privacy_loss(), made.losses(), inquiry.rule)
        cells_of = _cells(self.column, grid, one, most, inquiry)

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            return replace(made.release(cells_of(chance), grid, chance), loss=cost.loss)

        def accuracy(failure: Fraction) -> Accuracy:
            return _in_words(made.accuracy(failure_probability=failure), most, inquiry)

        return Prepared(cost, answer, accuracy)


def _cells(
    column: str, grid: Points, one: Any, most: int | None, inquiry: Inquiry
) -> Callable[[Chance], Cells]:
    """How many values each cell of the grid has: counted only when the question is paid for.

    one, most: which row of a person counts, or how many do.
    """
    table, unit = inquiry.table, inquiry.unit
    require_number(table, column)

    def count(chance: Chance) -> Cells:
        rows = one or draw_cap(most, unit, chance)
        return Cells.of_rank_counts(count_ranks(table, unit, column, grid, rows))

    return count


def _in_words(told: Accuracy, most: int | None, inquiry: Inquiry) -> Accuracy:
    unit = inquiry.unit
    return told.in_words(unit=counted(unit, rows=most is not None), cap=told_cap(most, unit))
