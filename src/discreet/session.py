"""The door for people who have a table: who is protected, how much may be spent, and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.condition_matching import matching
from discreet.data.conditions import Condition, days_within
from discreet.data.counting import require_person
from discreet.data.public import PublicTable
from discreet.data.table import Table, open_table
from discreet.data.totals import Total
from discreet.data.where import Where, read_where
from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.parameters import read_bits
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Person, Unit, read_unit
from discreet.purse import Asked, open_purse
from discreet.questions.best_price import prepare_best_price
from discreet.questions.mode import prepare_mode
from discreet.questions.quantiles import prepare_quantile, prepare_quantiles
from discreet.questions.question import Prepared, Question
from discreet.questions.score import columns_of, prepare_select, read_scores
from discreet.questions.top_k import prepare_top_k
from discreet.release import Release
from discreet.samplers.bits import Bits

if TYPE_CHECKING:
    import narwhals as nw

    from discreet.ledger import Ledger


class Session:
    """Private questions to one table.

    table: a path or glob (.parquet, .csv, .tsv, .jsonl, .duckdb), a `CsvFile`, a pandas, Polars or Arrow
        table, a DuckDB relation, a Spark data frame or an Ibis table.
    unit: who is protected: `Person(column)` or `OneRow()`.
    budget: what may be spent in total: `PureDP`, `ZCDP` or `ApproxDP`. It lives as long as the session.
    ledger, dataset: in place of a budget, a `Ledger` and the name of a budget in it: shared by many processes, and durable.
    analyst, window: whose budget in the ledger, and which windows of the data the table is.
    table_name: the table in a DuckDB file.
    table_label: for a budget in a ledger that names its table by a label: which table this is.

    A question is checked first: its parameters, its columns and their types. Then the budget is taken, and only then a row is
    read. From there on nothing in the table raises, changes the charge or the shape of the answer, or how other rows are read: empty
    cells, NaN, infinities, and text in a column of numbers are left out.

    Privacy: all answers together are within the budget, under adding or removing one person with all their rows (or one row).
    Cost: one aggregation in the engine for each question; what comes back has one row for each candidate.

    >>> import pandas
    >>> from discreet import OneRow, Person, PureDP, Session
    >>> votes = pandas.DataFrame({"student": [1, 1, 2, 3], "teacher": ["Ada", "Ada", "Ada", "Bob"]})
    >>> session = Session(votes, unit=Person("student"), budget=PureDP(3))
    >>> release = session.mode("teacher", candidates=["Ada", "Bob", "Cy"], epsilon=1)
    >>> release.loss, session.remaining()
    (PureDP(epsilon=1), Fraction(2, 1))
    """

    def __init__(
        self,
        table: Any,
        *,
        unit: Unit,
        budget: Loss | None = None,
        ledger: Ledger | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
        window: str | Sequence[str] | None = None,
        table_name: str | None = None,
        table_label: str | None = None,
    ) -> None:
        self._unit = read_unit(unit, "Session")
        asked = Asked(unit=self._unit, table=table, table_name=table_name, table_label=table_label)
        self._purse = open_purse(budget, ledger, dataset, analyst, window, asked)
        self._table = open_table(table, "Session", table=table_name)
        if isinstance(self._unit, Person):
            require_person(self._table, self._unit.column, "Session")
        self._history: list[Question] = []

    def __repr__(self) -> str:
        return f"Session(unit={self._unit!r}, budget={self._purse.budget!r}, questions={len(self._history)})"

    def remaining(self) -> Fraction:
        """What is left of the budget: epsilon for a pure budget, else rho."""
        return self._purse.remaining()

    def history(self) -> tuple[Question, ...]:
        """The questions that were charged, in order."""
        return tuple(self._history)

    def mode(
        self,
        column: str,
        *,
        candidates: Sequence[Any] | PublicTable,
        epsilon: Number,
        mechanism: str = "permute-and-flip",
        where: Where | None = None,
        split: str | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The candidate that most persons have in this column. Each person counts once for each candidate.

        candidates: public labels; values of the column that are not among them do not count. Where they are too many to bring to
            Python, a `PublicTable` on the same engine.
        where: which rows count: text such as "age >= 30 and role = 'nurse'", or a condition made with
            `discreet.column`, or a Narwhals expression of such comparisons.
        split: where a cell is text that lists several items, such as "Ada; Bob", the character between
            them. A column of lists needs no such word: each item counts once for its person.
        """
        rows = self._rows("mode", where, column, ballots=split is None)
        prepared = prepare_mode(rows, self._unit, column, candidates, epsilon, mechanism, split, bits)
        return self._ask(prepared, bits)

    def top_k(
        self,
        column: str,
        *,
        k: int,
        epsilon: Number,
        delta: Number = 0,
        candidates: Sequence[Any] | None = None,
        limit: int | None = None,
        items_per_person: int | None = None,
        method: str = "auto",
        where: Where | None = None,
        split: str | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The k values of this column that most persons have, in order.

        candidates: public labels to choose from. Without them the domain is unknown: then `delta` and `limit` are needed, only
            values that stand clearly above the crowd are named, and the list may be shorter than k.
        items_per_person: in an unknown domain, how many different values of one person count. Of more, so many are drawn at
            random, anew for each question. A small number lowers the threshold a little, but less of each person counts.
        where, split: as for `mode`.
        """
        rows = self._rows("top_k", where, column, ballots=split is None)
        prepared = prepare_top_k(
            rows,
            self._unit,
            column,
            k,
            epsilon,
            delta,
            candidates,
            limit,
            items_per_person,
            method,
            split,
            bits,
        )
        return self._ask(prepared, bits)

    def best_price(
        self,
        column: str,
        *,
        prices: Sequence[Number],
        epsilon: Number,
        rule: str | None = None,
        mechanism: str = "permute-and-flip",
        where: Where | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The one price that earns most, if everybody buys who would pay it (the digital good).

        column: how much each person would pay.
        rule: of several rows of one person the largest ("max") or the smallest ("min") counts. It has to
            be said where a person can have several rows; there is no default.
        prices: the public prices to choose from.
        """
        rows = self._rows("best_price", where, column)
        prepared = prepare_best_price(rows, self._unit, column, prices, epsilon, rule, mechanism, bits)
        return self._ask(prepared, bits)

    def quantile(
        self,
        column: str,
        *,
        q: Number,
        bounds: tuple[Number, Number],
        step: Number,
        epsilon: Number,
        rule: str | None = None,
        rows_per_person: int | None = None,
        mechanism: str = "permute-and-flip",
        where: Where | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The point of a public grid that the share q of all persons reaches: at q = 0.5 the median.

        bounds, step: the grid: from the lower bound in steps to the upper one. Values outside count as the nearest bound.
        rule: of several rows of one person the largest value ("max") or the smallest ("min") counts.
        rows_per_person: in place of a rule, a quantile over rows: so many rows of each person count, drawn
            anew for each question where there are more. The noise grows in proportion. One of the two has
            to be said where a person can have several rows; there is no default.
        """
        rows = self._rows("quantile", where, column)
        prepared = prepare_quantile(
            rows,
            self._unit,
            column,
            q,
            bounds,
            step,
            epsilon,
            rule,
            rows_per_person,
            mechanism,
            bits,
        )
        return self._ask(prepared, bits)

    def quantiles(
        self,
        column: str,
        *,
        q: Sequence[Number],
        bounds: tuple[Number, Number],
        step: Number,
        epsilon: Number,
        delta: Number = 0,
        method: str = "auto",
        rule: str | None = None,
        rows_per_person: int | None = None,
        where: Where | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Many quantiles for one price, in ascending order: see `discreet.quantiles`.

        bounds, step, rule, rows_per_person: as for `quantile`.
        """
        rows = self._rows("quantiles", where, column)
        prepared = prepare_quantiles(
            rows,
            self._unit,
            column,
            q,
            bounds,
            step,
            epsilon,
            delta,
            method,
            rule,
            rows_per_person,
            bits,
        )
        return self._ask(prepared, bits)

    def select(
        self,
        *,
        candidates: Sequence[Any],
        score: Callable[[Any], Total | nw.Expr],
        epsilon: Number,
        sensitivity: Number | None = None,
        monotonic: bool = False,
        score_range: Number | None = None,
        mechanism: str = "permute-and-flip",
        objective: str = "max",
        where: Where | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The candidate with the best score of your own.

        score: from a candidate to what its score adds up to: `discreet.total(column, bounds=, step=)` or
            `discreet.row_count(most=)`, each with its own `where`. Their bounds say how far one person can
            move the score, and are enforced. A Narwhals expression is taken where it is such a sum, as
            `(nw.col("teacher") == teacher).sum()`; then say how far one person can move it, which is
            enforced, too: `sensitivity`, with `monotonic`, or `score_range`.

        Privacy: each person's part of each score is clipped to its bounds, in whole steps, and added in
            integers that cannot overflow.
        """
        scores = read_scores(self._table, candidates, score)
        rows = self._rows("select", where, *columns_of(scores))
        prepared = prepare_select(
            rows,
            self._unit,
            scores,
            epsilon,
            sensitivity,
            monotonic,
            score_range,
            mechanism,
            objective,
            bits,
        )
        return self._ask(prepared, bits)

    def _rows(self, what: str, where: Where | None, *columns: str, ballots: bool = False) -> Table:
        """The rows that count for a question about these columns. None of them is read yet.

        ballots: whether a cell of the columns may hold several items.
        """
        owner = f"Session.{what}"
        condition = _both(read_where(where, owner), self._window_condition())
        for name in columns:
            self._table.require(name, "column", owner)
        asked = [*columns, *([self._unit.column] if isinstance(self._unit, Person) else [])]
        looked_at = [] if condition is None else condition.columns
        for name in looked_at:
            self._table.require(name, "where", owner)
        table = self._table.having([*asked, *looked_at], lists=columns if ballots else (), owner=owner)
        if condition is None:
            return table
        return replace(table, where=matching(condition, table, owner))

    def _window_condition(self) -> Condition | None:
        """Only rows of the windows that are paid for, where the budget says which column tells."""
        found = self._purse.window_intervals()
        if found is None:
            return None
        name, intervals = found
        zone = getattr(self._table.schema[self._table.require(name, "window", "Session")], "time_zone", None)
        return days_within(name, intervals, zoned=zone is not None)

    def _ask(self, prepared: Prepared, bits: Bits | None) -> Release:
        """Check what is left to check, take the budget, and only then answer from the rows that count."""
        question, delta = prepared.question, prepared.delta
        owner, loss = f"Session.{question.what}", question.loss
        read_bits(bits, owner)
        self._require_delta(loss, delta, owner)
        request = {"what": question.what, "column": question.column}
        with self._purse.pay(loss, prepared.parts or {loss: 1}, delta, request) as payment:
            self._history.append(question)
            return payment.settle(_answered(prepared))

    def _require_delta(self, loss: Loss, delta: Fraction, owner: str) -> None:
        """Refuse a loss with a delta where the budget can never have one."""
        needed = isinstance(self._purse.budget, PureDP) or delta
        if isinstance(loss, ApproxDP) and loss.delta and needed and not self._purse.takes_delta:
            rule, hint = f"0 for the budget {self._purse.budget!r}", "Open the session with an ApproxDP budget."
            raise ParameterError(owner, "delta", rule, float(loss.delta), hint)


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    return other if one is None else one if other is None else one & other


def _answered(prepared: Prepared) -> Release:
    """The answer, or one of two failures that say nothing about the rows."""
    try:
        return prepared.answer()
    except KeyboardInterrupt:
        interrupted = True
    except Exception:  # whatever it is, its kind and its text may depend on the data
        interrupted = False
    # Raised out here, so that what has happened does not hang on to it.
    if interrupted:
        charged = f"{prepared.question.loss!r} stays charged."
        raise KeyboardInterrupt(f"The question was interrupted after it was paid for: {charged}")
    raise EngineError
