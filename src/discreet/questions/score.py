"""The candidate with the best score of the caller's own: a total over persons for each candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.data.cell_numbers import require_number
from discreet.data.condition_matching import matching
from discreet.data.labels import read_labels
from discreet.data.table import Table
from discreet.data.total_expressions import total_of
from discreet.data.total_sums import add_up
from discreet.data.totals import Total, range_of_totals
from discreet.errors import Hidden, ParameterError, ParameterTypeError, type_name
from discreet.privacy.numbers import Number, exact_binary, positive
from discreet.privacy.unit import Unit
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.selecting import make_mechanism

_OWNER = "Session.select"
_SCORES = "a function from a candidate to discreet.total(...), discreet.row_count(...) or such a sum in Narwhals"


def read_scores(table: Table, candidates: Sequence[Any], score: Callable[[Any], Any]) -> dict[Any, Total]:
    """For each candidate what its score adds up to."""
    labels = read_labels(candidates, "candidates", _OWNER)
    if not callable(score):
        raise ParameterTypeError(_OWNER, "score", _SCORES, score)
    return {label: _read_total(score(label), table) for label in labels}


def columns_of(totals: Mapping[Any, Total]) -> list[str]:
    """The columns that the totals look at."""
    names: list[str] = []
    for each in totals.values():
        names += [] if each.column is None else [each.column]
        names += [] if each.where is None else each.where.columns
    return list(dict.fromkeys(names))


def prepare_select(
    table: Table,
    unit: Unit,
    scores: Mapping[Any, Total],
    epsilon: Number,
    sensitivity: Number | None,
    monotonic: bool,
    score_range: Number | None,
    mechanism: str,
    objective: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.select` says."""
    for each in scores.values():
        _require_fitting(each, table)
    totals = _within(list(scores.values()), sensitivity, monotonic, score_range)
    # Each person's part of each score is clipped to its bounds: docs/proofs/tables.md#totals
    made = make_mechanism(mechanism, epsilon, score_range=range_of_totals(totals), objective=objective)

    def answer() -> Release:
        added = add_up(table, unit, totals, _OWNER)
        return made.release(dict(zip(scores, added, strict=True)), bits=bits)

    return Prepared(Question("select", None, made.privacy_loss()), answer)


def _read_total(score: object, table: Table) -> Total:
    """A total, however it is written."""
    if isinstance(score, Total):
        return score
    if hasattr(score, "_nodes"):
        return total_of(score, lambda column: _is_whole(table, column), _OWNER)
    # A score that was computed already is private.
    raise ParameterTypeError(_OWNER, "score", _SCORES, Hidden(type_name(score)))


def _require_fitting(total: Total, table: Table) -> None:
    """Refuse columns and conditions that do not fit the table."""
    if total.column is not None:
        require_number(table, total.column, _OWNER)
    if total.where is not None:
        matching(total.where, table, _OWNER)


def _is_whole(table: Table, column: str) -> bool:
    return table.schema[table.require(column, "score", _OWNER)].is_integer()


def _within(totals: list[Total], sensitivity: Number | None, monotonic: bool, score_range: Number | None) -> list[Total]:
    """The totals with the bounds of each person: their own, and what the caller has said."""
    if not isinstance(monotonic, bool):
        raise ParameterTypeError(_OWNER, "monotonic", "True or False", monotonic)
    if score_range is not None and (sensitivity is not None or monotonic):
        hint = "It replaces 'sensitivity' and 'monotonic'."
        raise ParameterError(_OWNER, "score_range", "given alone", score_range, hint)
    name = "score_range" if sensitivity is None else "sensitivity"
    said = score_range if sensitivity is None else sensitivity
    if said is None:
        return _require_bounds(totals, monotonic)
    most = positive(exact_binary(said, name, _OWNER), said, name, _OWNER)
    return _clipped(totals, most, name, monotonic)


def _clipped(totals: list[Total], most: Fraction, name: str, monotonic: bool) -> list[Total]:
    """Each person's part of each score cut to what the caller says is the most."""
    down = all(each.rows[1] <= 0 for each in totals)
    up = all(each.rows[0] >= 0 for each in totals)
    if monotonic and not (up or down):
        hint = "Some rows may raise a score and others lower one: leave 'monotonic' out."
        raise ParameterError(_OWNER, "monotonic", "True only where all terms have one sign", True, hint)
    half = most / 2 if name == "score_range" and not (up or down) else most
    low, high = (Fraction(0) if up else -half), (Fraction(0) if down else half)
    clipped = [each.within(low, high) for each in totals]
    if range_of_totals(clipped) <= 0:
        raise ParameterError(_OWNER, name, "at least one step of the score", float(most))
    return clipped


def _require_bounds(totals: list[Total], monotonic: bool) -> list[Total]:
    if any(each.persons is None for each in totals):
        hint = "Or use discreet.total or discreet.row_count, which have bounds of their own."
        raise ParameterTypeError(_OWNER, "sensitivity", "given", None, hint)
    if monotonic:
        raise ParameterError(_OWNER, "monotonic", "left out where the scores have bounds of their own", True)
    return totals
