"""The door for people who have a table: who is protected, how much may be spent, and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.counting import require_person
from discreet.data.expressions import require_condition
from discreet.data.public import PublicTable
from discreet.data.table import columns_in, open_table
from discreet.errors import ParameterError
from discreet.mechanisms.parameters import read_bits
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Person, Unit, read_unit
from discreet.purse import open_purse
from discreet.questions.best_price import prepare_best_price
from discreet.questions.mode import prepare_mode
from discreet.questions.quantiles import prepare_quantile, prepare_quantiles
from discreet.questions.question import Prepared, Question
from discreet.questions.score import prepare_select
from discreet.questions.top_k import prepare_top_k
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.selecting import make_mechanism

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

    A question is checked first: its parameters, its columns and their types. Then the budget is taken, and only then a row is
    read. From there on nothing in the table raises, changes the charge or the shape of the answer: empty cells, NaN, infinities,
    and text in a column of numbers are left out.

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
    ) -> None:
        self._unit = read_unit(unit, "Session")
        self._purse = open_purse(budget, ledger, dataset, analyst, window)
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
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The candidate that most persons have in this column. Each person counts once for each candidate.

        candidates: public labels; values of the column that are not among them do not count. Where they are too many to bring to
            Python, a `PublicTable` on the same engine.
        where: which rows count, as a Narwhals expression on single rows.
        """
        prepared = prepare_mode(self._table, self._unit, column, candidates, epsilon, mechanism, bits)
        return self._ask(prepared, where, bits)

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
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The k values of this column that most persons have, in order.

        candidates: public labels to choose from. Without them the domain is unknown: then `delta` and `limit` are needed, only
            values that stand clearly above the crowd are named, and the list may be shorter than k.
        items_per_person: in an unknown domain, how many different values of one person count. Of more, so many are drawn at
            random, anew for each question. A small number lowers the threshold a little, but less of each person counts.
        """
        prepared = prepare_top_k(
            self._table, self._unit, column, k, epsilon, delta, candidates, limit, items_per_person, method, bits
        )
        return self._ask(prepared, where, bits)

    def best_price(
        self,
        column: str,
        *,
        prices: Sequence[Number],
        epsilon: Number,
        rule: str = "max",
        mechanism: str = "permute-and-flip",
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The one price that earns most, if everybody buys who would pay it (the digital good).

        column: how much each person would pay. Of several rows of one person the largest ("max") or smallest ("min") counts: `rule`.
        prices: the public prices to choose from.
        """
        prepared = prepare_best_price(self._table, self._unit, column, prices, epsilon, rule, mechanism, bits)
        return self._ask(prepared, where, bits)

    def quantile(
        self,
        column: str,
        *,
        q: Number,
        bounds: tuple[Number, Number],
        step: Number,
        epsilon: Number,
        rule: str = "max",
        mechanism: str = "permute-and-flip",
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The point of a public grid that the share q of all persons reaches: at q = 0.5 the median.

        bounds, step: the grid: from the lower bound in steps to the upper one. Values outside count as the nearest bound.
        rule: which of several rows of one person counts, "max" or "min".
        """
        prepared = prepare_quantile(self._table, self._unit, column, q, bounds, step, epsilon, rule, mechanism, bits)
        return self._ask(prepared, where, bits)

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
        rule: str = "max",
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Many quantiles for one price, in ascending order: see `discreet.quantiles`.

        bounds, step, rule: as for `quantile`.
        """
        prepared = prepare_quantiles(self._table, self._unit, column, q, bounds, step, epsilon, delta, method, rule, bits)
        return self._ask(prepared, where, bits)

    def select(
        self,
        *,
        candidates: Sequence[Any],
        score: Callable[[Any], nw.Expr],
        epsilon: Number,
        sensitivity: Number | None = None,
        monotonic: bool = False,
        score_range: Number | None = None,
        mechanism: str = "permute-and-flip",
        objective: str = "max",
        where: nw.Expr | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """The candidate with the best score of your own.

        score: from a candidate to a Narwhals expression that aggregates the table to one number; where that is empty or not finite it
            counts as 0. How far one protected unit can move it is your statement: `sensitivity`, `monotonic` or `score_range`.
        """
        made = make_mechanism(mechanism, epsilon, sensitivity, monotonic, score_range, objective)
        return self._ask(prepare_select(self._table, candidates, score, made, bits), where, bits)

    def _ask(self, prepared: Prepared, where: nw.Expr | None, bits: Bits | None) -> Release:
        """Check what is left to check, take the budget, and only then answer from the rows that count."""
        question, delta = prepared.question, prepared.delta
        owner, loss = f"Session.{question.what}", question.loss
        asked = [*columns_in(where), *([] if question.column is None else [question.column])]
        asked += [self._unit.column] if isinstance(self._unit, Person) else []
        table = self._table.having([name for name in asked if name in self._table.schema], owner=owner)
        require_condition(table, where, owner)
        read_bits(bits, owner)
        self._require_delta(loss, delta, owner)
        request = {"what": question.what, "column": question.column}
        with self._purse.pay(loss, prepared.parts or {loss: 1}, delta, request) as payment:
            self._history.append(question)
            return payment.settle(prepared.answer(replace(table, where=where)))

    def _require_delta(self, loss: Loss, delta: Fraction, owner: str) -> None:
        """Refuse a loss with a delta where the budget can never have one."""
        needed = isinstance(self._purse.budget, PureDP) or delta
        if isinstance(loss, ApproxDP) and loss.delta and needed and not self._purse.takes_delta:
            rule, hint = f"0 for the budget {self._purse.budget!r}", "Open the session with an ApproxDP budget."
            raise ParameterError(owner, "delta", rule, float(loss.delta), hint)
