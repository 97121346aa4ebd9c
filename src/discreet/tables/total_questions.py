"""The candidate with the best score of the caller's own: a total over persons for each
candidate.

The engine adds up all totals in one pass, in whole numbers that no number of rows can
overflow. A whole number of steps is added in two halves, `65536 * high + low`, or as it
is where its bounds are no larger than a half. What is added is at most 2^16 in size, so
64 bits hold the sum of 2^46 rows: Spark fails on a sum of more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accuracy import Accuracy
from discreet.errors import Hidden, ParameterError, ParameterTypeError, type_name
from discreet.exact.rationals import Number, exact_binary, positive
from discreet.literals import MechanismName, Objective
from discreet.mechanisms.catalogue import make_mechanism
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import OneRow, Unit
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.candidates import read_labels
from discreet.tables.condition_language import read_where
from discreet.tables.condition_matching import compiled, matching
from discreet.tables.counting import only, run
from discreet.tables.inquiry import Inquiry, Prepared
from discreet.tables.items import PERSON, cell_number, person_column, require_number, with_person
from discreet.tables.score_expressions import total_of
from discreet.tables.table import Table
from discreet.tables.totals import Total, range_of_totals

if TYPE_CHECKING:
    import narwhals as nw

_OWNER = "Session.select"
_SCORES = (
    "a function from a candidate to discreet.total(...), discreet.row_count(...) or such a sum in "
    "Narwhals"
)


def read_scores(
    table: Table, candidates: Sequence[Any], score: Callable[[Any], Any]
) -> dict[Any, Total]:
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
    inquiry: Inquiry,
    *,
    scores: Mapping[Any, Total],
    epsilon: Number,
    sensitivity: Number | None,
    monotonic: bool,
    score_range: Number | None,
    mechanism: MechanismName,
    objective: Objective,
) -> Prepared:
    """As `Session.select` says."""
    table, unit = inquiry.table, inquiry.unit
    for each in scores.values():
        _require_fitting(each, table)
    totals = _within(list(scores.values()), sensitivity, monotonic, score_range)
    # Each person's part of each score is clipped to its bounds: docs/proofs/tables.md#totals
    made = make_mechanism(
        mechanism, epsilon, score_range=range_of_totals(totals), objective=objective
    )

    def answer(bits: Bits | None) -> Release:
        added = add_up(table, unit, totals, _OWNER)
        return made.release(dict(zip(scores, added, strict=True)), bits=bits)

    def accuracy(failure: Fraction) -> Accuracy:
        return made.accuracy(candidates=len(totals), failure_probability=failure)

    loss = made.privacy_loss()
    return Prepared(Cost(loss), answer, accuracy)


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
    if total.written is not None:
        read_where(total.written, _OWNER, list(table.schema))
    if total.where is not None:
        matching(total.where, table, _OWNER)


def _is_whole(table: Table, column: str) -> bool:
    return table.schema[table.require(column, "score", _OWNER)].is_integer()


def _within(
    totals: list[Total], sensitivity: Number | None, monotonic: bool, score_range: Number | None
) -> list[Total]:
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
        raise ParameterError(
            _OWNER, "monotonic", "True only where all terms have one sign", True, hint
        )
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
        raise ParameterError(
            _OWNER, "monotonic", "left out where the scores have bounds of their own", True
        )
    return totals


_HALF = 2**16
_ENOUGH = 2**40
_Bounds = tuple[int, int]


def add_up(table: Table, unit: Unit, totals: Sequence[Total], owner: str) -> list[Fraction]:
    """Each total over the rows that count, exactly."""
    of_rows = [each.rows for each in totals]
    of_persons = [each.persons or (0, 0) for each in totals]

    def query() -> nw.LazyFrame[Any]:
        # Added to the columns that are there: constants alone would have one row for the
        # whole table. Step by step: an expression that uses another one twice has it twice.
        cells = _cells(table, totals)
        rows = table.rows.with_columns(*cells) if cells else table.rows
        rows = rows.with_columns(*person_column(unit), *_row_steps(table, totals, owner))
        rows = with_person(rows.with_columns(*_row_halves(of_rows)), table, unit)
        # all of a person's rows together
        persons = rows if isinstance(unit, OneRow) else rows.group_by(PERSON).agg(*_sums(of_rows))
        return persons.select(*_person_halves(of_rows, of_persons)).select(*_sums(of_persons))

    names = _names(of_persons)
    halves = [int(half or 0) for half in only(run(table, query, names))]
    found = dict(zip(names, halves, strict=True))
    whole = [
        _HALF * found.get(_name("high", place), 0) + found[_name("low", place)]
        for place in range(len(totals))
    ]
    return [number * each.step for number, each in zip(whole, totals, strict=True)]


def _is_short(bounds: _Bounds) -> bool:
    """Whether a number within these bounds is no larger than a half."""
    return max(map(abs, bounds)) <= _HALF


def _name(what: str, place: int) -> str:
    return f"__discreet_{what}_{place}"


def _names(every: Sequence[_Bounds]) -> list[str]:
    """The columns of the halves of numbers within these bounds."""
    return [
        _name(half, place)
        for place, bounds in enumerate(every)
        for half in (("low",) if _is_short(bounds) else ("high", "low"))
    ]


def _cells(table: Table, totals: Sequence[Total]) -> list[nw.Expr]:
    """The numbers that totals are made of."""
    return [
        cell_number(table, each.column).alias(_name("cell", place))
        for place, each in enumerate(totals)
        if each.column is not None
    ]


def _row_steps(table: Table, totals: Sequence[Total], owner: str) -> list[nw.Expr]:
    """What each row adds to each total."""
    return [
        _steps(table, each, place, owner).alias(_name("steps", place))
        for place, each in enumerate(totals)
    ]


def _steps(table: Table, each: Total, place: int, owner: str) -> nw.Expr:
    """The steps of one row, as a float that is a whole number: 0 where the row does not count."""
    import narwhals as nw

    first, last = each.rows
    # that the engine can plan it was tried before the charge
    there = None if each.where is None else compiled(each.where, table, owner)
    if each.column is None:
        constant = nw.lit(float(first))
        return constant if there is None else nw.when(there).then(constant).otherwise(0.0)
    value, size = nw.col(_name("cell", place)), float(each.step)
    # What is beyond the bounds is brought near first: some engines refuse to divide what is
    # too large.
    near = value.clip((first - 1) * size, (last + 1) * size)
    # A float that stands for a multiple of the step may come out below it by rounding. The slack is
    # added before dividing: what is next to 0 would underflow, which PostgreSQL takes for an error.
    slack = max(abs(first), abs(last), 1) * size / 2**49
    steps = ((near + slack) / size).floor().clip(float(first), float(last))
    known = ~value.is_null()
    return nw.when(known if there is None else known & there).then(steps).otherwise(0.0)


def _row_halves(of_rows: Sequence[_Bounds]) -> list[nw.Expr]:
    """The steps of each row, in halves."""
    import narwhals as nw

    return [
        half
        for place, bounds in enumerate(of_rows)
        for half in _halves(nw.col(_name("steps", place)), place, bounds)
    ]


def _halves(steps: nw.Expr, place: int, bounds: _Bounds) -> list[nw.Expr]:
    """A whole number within bounds, as a float, in halves that are 64-bit integers."""
    import narwhals as nw

    parts = {"low": steps}
    if not _is_short(bounds):
        high = (steps / float(_HALF)).floor()
        parts = {"high": high, "low": steps - high * float(_HALF)}
    return [part.cast(nw.Int64).alias(_name(half, place)) for half, part in parts.items()]


def _person_halves(of_rows: Sequence[_Bounds], of_persons: Sequence[_Bounds]) -> list[nw.Expr]:
    """Each person's sum, clipped to the person's bounds, and in halves again."""
    import narwhals as nw

    parts: list[nw.Expr] = []
    for place, (row, person) in enumerate(zip(of_rows, of_persons, strict=True)):
        whole = nw.col(_name("low", place)).cast(nw.Int64)
        if not _is_short(row):
            high = nw.col(_name("high", place)).cast(nw.Int64)
            whole = high.clip(-_ENOUGH, _ENOUGH) * _HALF + whole
        first, last = person
        parts += _halves(whole.clip(first, last).cast(nw.Float64), place, person)
    return parts


def _sums(every: Sequence[_Bounds]) -> list[nw.Expr]:
    import narwhals as nw

    return [nw.col(name).sum().alias(name) for name in _names(every)]
