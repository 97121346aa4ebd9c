"""The candidate with the best score of the caller's own: a total over persons for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.errors import Hidden, ParameterError, ParameterTypeError, type_name
from discreet.literals import MechanismName, Objective
from discreet.mechanisms.selection import make_mechanism
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import ScoreRange
from discreet.questions.kinds import (
    Candidates,
    Epsilon,
    Function,
    RowCondition,
    ScoreAmount,
)
from discreet.questions.question import Question, parameter, question
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.condition_language import read_where
from discreet.tables.condition_matching import matching
from discreet.tables.inquiry import Inquiry, Prepared, default_mechanism
from discreet.tables.items import require_number
from discreet.tables.score_expressions import total_of
from discreet.tables.table import Table
from discreet.tables.total_questions import add_up
from discreet.tables.totals import Total, range_of_totals

if TYPE_CHECKING:
    import narwhals as nw

    Scored = Total | nw.Expr
else:
    # Narwhals is loaded by those who use it
    Scored = Total

_SCORES = (
    "a function from a candidate to discreet.total(...), discreet.row_count(...) or such a sum in "
    "Narwhals"
)

Score = Annotated[Callable[[Any], Scored], Function(rule=_SCORES)]


@question("select")
class Select(Question):
    """Pick the candidate that is best by a score of your own.

    Privacy: each person's part of each score is clipped to its bounds, in whole steps, and
        added in integers that cannot overflow.
    """

    not_over_http = "Its score is a Python function."

    candidates: Candidates = parameter("The public labels to choose from.")
    score: Score = parameter(
        "A function from a candidate to its score: discreet.total(column, bounds=, step=) or "
        "discreet.row_count(most=), each with its own where. Their bounds limit how far one "
        "person can move the score, and are enforced. A Narwhals expression also works if it is "
        "such a sum, as in (nw.col('teacher') == teacher).sum(). Then give {sensitivity}, with "
        "{monotonic}, or {score_range}: how far one person can move it, which is enforced as well."
    )
    epsilon: Epsilon = parameter()
    sensitivity: ScoreAmount = parameter(
        "How far one person can move the score of a Narwhals expression.", default=None
    )
    monotonic: bool = parameter(
        "True if one more person moves all scores in the same direction, if at all.",
        default=False,
    )
    score_range: ScoreAmount = parameter(
        "Instead of {sensitivity} and {monotonic}: how far one person can move two scores apart.",
        default=None,
    )
    mechanism: MechanismName | None = parameter(
        "How to choose. By default: permute-and-flip if epsilons add up in the budget, else "
        "exponential.",
        default=None,
    )
    objective: Objective = parameter(
        "Which score is the best: the largest or the smallest.", default="max"
    )
    where: RowCondition | None = parameter(default=None)

    def check(self) -> None:
        if self.score_range is not None and (self.sensitivity is not None or self.monotonic):
            hint = "It replaces 'sensitivity' and 'monotonic'."
            raise ParameterError("score_range", "given alone", self.score_range, hint)
        scores = {label: self.score(label) for label in self.candidates}
        object.__setattr__(self, "_scores", scores)
        # refuses what is no score before there is a table
        self._totals(lambda _: False)

    @property
    def used_columns(self) -> Sequence[tuple[str, str]]:
        names: list[str] = []
        for each in self._totals(lambda _: False).values():
            names += [] if each.column is None else [each.column]
            names += [] if each.where is None else each.where.columns
        return [("score", name) for name in dict.fromkeys(names)]

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        parts = super().stated(rule) | {"mechanism": self.mechanism or default_mechanism(rule)}
        del parts["candidates"], parts["score"]
        return {"scores": self._totals(lambda _: False)} | parts

    def prepare(self, inquiry: Inquiry) -> Prepared:
        table, unit = inquiry.table, inquiry.unit
        scores = self._totals(lambda name: table.schema[name].is_integer())
        for each in scores.values():
            _require_fitting(each, table)
        totals = self._within(list(scores.values()))
        # Each person's part of each score is clipped to its bounds: docs/proofs/tables.md#totals
        made = make_mechanism(
            self.mechanism or default_mechanism(inquiry.rule),
            self.epsilon,
            ScoreRange(score_range=range_of_totals(totals)),
            self.objective,
        )

        def answer(bits: Bits | None) -> Release:
            added = add_up(table, unit, totals)
            return made.release(dict(zip(scores, added, strict=True)), bits=bits)

        def accuracy(failure: Fraction) -> Accuracy:
            return made.accuracy(candidates=len(totals), failure_probability=failure)

        return Prepared(Cost(made.privacy_loss()), answer, accuracy)

    def _totals(self, is_whole: Callable[[str], bool]) -> Mapping[Any, Total]:
        """For each candidate what its score adds up to.

        is_whole: whether a column of the table holds whole numbers only.
        """
        scores: dict[Any, Any] = vars(self)["_scores"]
        return {label: _read_total(score, is_whole) for label, score in scores.items()}

    def _within(self, totals: list[Total]) -> list[Total]:
        """The totals with the bounds of each person: their own, and what the caller has said."""
        name = "score_range" if self.sensitivity is None else "sensitivity"
        most = self.score_range if self.sensitivity is None else self.sensitivity
        if most is None:
            return _require_bounds(totals, self.monotonic)
        return _clipped(totals, most, name, self.monotonic)


def _read_total(score: object, is_whole: Callable[[str], bool]) -> Total:
    """A total, however it is written."""
    if isinstance(score, Total):
        return score
    if hasattr(score, "_nodes"):
        return total_of(score, is_whole)
    # A score that was computed already is private.
    raise ParameterTypeError("score", _SCORES, Hidden(type_name(score)))


def _require_fitting(total: Total, table: Table) -> None:
    """Refuse columns and conditions that do not fit the table."""
    if total.column is not None:
        require_number(table, total.column)
    if total.written is not None:
        read_where(total.written, list(table.schema))
    if total.where is not None:
        matching(total.where, table)


def _clipped(totals: list[Total], most: Fraction, name: str, monotonic: bool) -> list[Total]:
    """Each person's part of each score cut to what the caller says is the most."""
    down = all(each.rows[1] <= 0 for each in totals)
    up = all(each.rows[0] >= 0 for each in totals)
    if monotonic and not (up or down):
        hint = "Some rows may raise a score and others lower one: leave 'monotonic' out."
        raise ParameterError("monotonic", "True only where all terms have one sign", True, hint)
    half = most / 2 if name == "score_range" and not (up or down) else most
    low, high = (Fraction(0) if up else -half), (Fraction(0) if down else half)
    clipped = [each.within(low, high) for each in totals]
    if range_of_totals(clipped) <= 0:
        raise ParameterError(name, "at least one step of the score", float(most))
    return clipped


def _require_bounds(totals: list[Total], monotonic: bool) -> list[Total]:
    if any(each.persons is None for each in totals):
        hint = "You can also use discreet.total or discreet.row_count, which have their own bounds."
        raise ParameterTypeError("sensitivity", "given", None, hint)
    if monotonic:
        raise ParameterError("monotonic", "left out if the scores have their own bounds", True)
    return totals
