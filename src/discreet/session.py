"""The door for people who have a table: who is protected, how much may be spent, and questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.capping import draw_cap, read_items
from discreet.data.counting import (
    RULES,
    collect_scores,
    count_bins,
    count_candidates,
    count_grid,
    count_items,
    require_names,
    require_number,
    require_person,
)
from discreet.data.expressions import require_condition, require_scores
from discreet.data.grid import read_amount, read_grid, read_share
from discreet.data.labels import read_labels, require_kind
from discreet.data.public import Levels, PublicTable, count_public, require_same
from discreet.data.spelling import require_spelling
from discreet.data.table import Table, open_table
from discreet.errors import ParameterError, ParameterTypeError
from discreet.locating import read_shares
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.quantiles import ManyQuantiles
from discreet.mechanisms.selection import SelectionMechanism
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.numbers import Number, choice
from discreet.privacy.unit import Person, Unit, read_unit
from discreet.purse import LedgerPurse, OwnPurse, Purse
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.first_heads import draw_first_heads
from discreet.samplers.levels import LevelEnvelope, split
from discreet.samplers.softmax import draw_softmax
from discreet.scores.cells import Cells
from discreet.scores.ranks import rank_errors
from discreet.scores.revenue import revenues
from discreet.selecting import make_mechanism, make_top_k

if TYPE_CHECKING:
    import narwhals as nw

    from discreet.ledger import Ledger

_DRAWS = {"permute-and-flip": draw_first_heads, "exponential": draw_softmax}  # what can draw from levels


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a session's history: what was asked and what it cost. No answer, no row."""

    what: str
    column: str | None
    loss: Loss


class Session:
    """Private questions to one table.

    table: a path or glob (.parquet, .csv, .tsv, .jsonl, .duckdb), a pandas, Polars or Arrow table, a DuckDB relation, a Spark data frame
        or an Ibis table.
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
        self._purse = _open_purse(budget, ledger, dataset, analyst, window)
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
        made = make_mechanism(mechanism, epsilon, 1, True)
        if isinstance(candidates, PublicTable):
            return self._mode_of_many(column, candidates, made, where, bits)
        labels = self._read_candidates(column, candidates, "Session.mode")

        def answer(table: Table) -> Release:
            counts = count_candidates(table, self._unit, column, labels)
            return made.release(dict(zip(labels, counts, strict=True)), bits=bits)

        return self._ask(Question("mode", column, made.privacy_loss()), where, bits, answer)

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
        if candidates is None:
            return self._top_k_unknown(column, k, epsilon, delta, limit, items_per_person, where, bits)
        for name, value in (("limit", limit), ("items_per_person", items_per_person)):
            if value is not None:
                raise ParameterError("Session.top_k", name, "left out where there are candidates", value)
        made = make_top_k(k, epsilon, delta, 1, True, method=method)
        labels = self._read_candidates(column, candidates, "Session.top_k")
        made.require_enough(len(labels))

        def answer(table: Table) -> Release:
            counts = count_candidates(table, self._unit, column, labels)
            return made.release(dict(zip(labels, counts, strict=True)), bits=bits)

        return self._ask(Question("top_k", column, made.privacy_loss()), where, bits, answer, made.losses())

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
        owner = "Session.best_price"
        choice(rule, RULES, "rule", owner)
        exact = {price: read_amount(price, "prices", owner) for price in read_labels(prices, "prices", owner)}
        ascending = sorted(exact, key=lambda price: exact[price])
        made = make_mechanism(mechanism, epsilon, max(exact.values()), True)
        require_number(self._table, column, owner)
        amounts = [exact[price] for price in ascending]

        def answer(table: Table) -> Release:
            bins = count_bins(table, self._unit, column, amounts, rule)
            return made.release(dict(zip(ascending, revenues(amounts, bins), strict=True)), bits=bits)

        return self._ask(Question("best_price", column, made.privacy_loss()), where, bits, answer)

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
        owner = "Session.quantile"
        share, grid = read_share(q, owner), read_grid(bounds, step, owner)
        choice(rule, RULES, "rule", owner)
        made = make_mechanism(mechanism, epsilon, score_range=2 * max(share, 1 - share), objective="min")
        require_number(self._table, column, owner)

        def answer(table: Table) -> Release:
            bins = count_grid(table, self._unit, column, grid.low, grid.step, grid.size, rule)
            release = made.release(rank_errors(bins, share), bits=bits)
            return replace(release, value=grid.point(release.value))

        return self._ask(Question("quantile", column, made.privacy_loss()), where, bits, answer)

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
        owner = "Session.quantiles"
        shares, grid = read_shares(q, owner), read_grid(bounds, step, owner)
        choice(rule, RULES, "rule", owner)
        made = ManyQuantiles(q=shares, epsilon=epsilon, delta=delta, method=method, grid_size=grid.size)
        require_number(self._table, column, owner)

        def answer(table: Table) -> Release:
            bins = count_grid(table, self._unit, column, grid.low, grid.step, grid.size, rule)
            return made.release(Cells.of_bins(bins), grid, read_bits(bits, owner))

        return self._ask(Question("quantiles", column, made.privacy_loss()), where, bits, answer, made.losses())

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
        labels = read_labels(candidates, "candidates", "Session.select")
        if not callable(score):
            raise ParameterTypeError("Session.select", "score", "a function from a candidate to a Narwhals expression", score)
        expressions = [score(label) for label in labels]
        require_scores(self._table, expressions, "Session.select")

        def answer(table: Table) -> Release:
            return made.release(dict(zip(labels, collect_scores(table, expressions), strict=True)), bits=bits)

        return self._ask(Question("select", None, made.privacy_loss()), where, bits, answer)

    def _top_k_unknown(
        self,
        column: str,
        k: int,
        epsilon: Number,
        delta: Number,
        limit: int | None,
        items_per_person: int | None,
        where: nw.Expr | None,
        bits: Bits | None,
    ) -> Release:
        owner = "Session.top_k"
        if limit is None:
            raise ParameterTypeError(
                owner, "limit", "given where there are no candidates", None, "Ten times k is a good start."
            )
        items = read_items(items_per_person, self._table, self._unit, owner)
        made = UnknownDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit, items_per_person=items)
        require_names(self._table, column, owner)

        def answer(table: Table) -> Release:
            cap = draw_cap(items, self._unit, read_bits(bits, owner))
            # Who is next after the limit is all that the threshold needs to know of the others.
            return made.release(dict(count_items(table, self._unit, column, made.limit + 1, cap)), bits=bits)

        question = Question("top_k", column, made.privacy_loss())
        return self._ask(question, where, bits, answer, made.losses(), made.threshold_delta)

    def _mode_of_many(
        self, column: str, candidates: PublicTable, made: SelectionMechanism, where: nw.Expr | None, bits: Bits | None
    ) -> Release:
        """The same where the candidates stay in the engine, and only how many lie on each level of distance comes back."""
        owner = "Session.mode"
        draw = _DRAWS.get(made.name)
        if draw is None:
            raise ParameterError(owner, "mechanism", "one of " + ", ".join(map(repr, _DRAWS)), made.name)
        self._table.require(column, "column", owner)
        public = open_table(candidates.source, owner, beside=self._table)
        public.require(candidates.column, "candidates", owner)
        require_same(self._table, column, public, candidates.column, owner)
        size = count_public(public, candidates.column, owner)
        chance = read_bits(bits, owner)

        def answer(table: Table) -> Release:
            levels = Levels(table, self._unit, column, public, candidates.column, made.rate)
            winner = draw(LevelEnvelope(levels.sizes, levels.distance), chance)
            return Release(
                value=levels.label(*split(winner)),
                loss=made.privacy_loss(),
                mechanism=made.name,
                candidates=size,
                seeded=chance.bits.seeded,
            )

        return self._ask(Question("mode", column, made.privacy_loss()), where, bits, answer)

    def _ask(
        self,
        question: Question,
        where: nw.Expr | None,
        bits: Bits | None,
        answer: Callable[[Table], Release],
        parts: Mapping[Loss, int] | None = None,
        delta: Fraction = Fraction(0),
    ) -> Release:
        """Check what is left to check, take the budget, and only then answer from the rows that count.

        parts, delta: what the loss is made of: a budget that counts in rho pays less for many small parts.
        """
        owner, loss = f"Session.{question.what}", question.loss
        require_condition(self._table, where, owner)
        read_bits(bits, owner)
        self._require_delta(loss, delta, owner)
        request = {"what": question.what, "column": question.column}
        with self._purse.pay(loss, parts or {loss: 1}, delta, request) as payment:
            self._history.append(question)
            return payment.settle(answer(replace(self._table, where=where)))

    def _require_delta(self, loss: Loss, delta: Fraction, owner: str) -> None:
        """Refuse a loss with a delta where the budget can never have one."""
        needed = isinstance(self._purse.budget, PureDP) or delta
        if isinstance(loss, ApproxDP) and loss.delta and needed and not self._purse.takes_delta:
            rule, hint = f"0 for the budget {self._purse.budget!r}", "Open the session with an ApproxDP budget."
            raise ParameterError(owner, "delta", rule, float(loss.delta), hint)

    def _read_candidates(self, column: str, candidates: Sequence[Any], owner: str) -> list[Any]:
        self._table.require(column, "column", owner)
        labels = read_labels(candidates, "candidates", owner)
        require_kind(labels, column, self._table.schema[column], owner)
        require_spelling(self._table, column, owner)
        return labels


def _open_purse(
    budget: Loss | None, ledger: Ledger | None, dataset: str | None, analyst: str | None, window: str | Sequence[str] | None
) -> Purse:
    """The budget of a session: its own, or one in a ledger."""
    if ledger is None:
        for name, value in (("dataset", dataset), ("analyst", analyst), ("window", window)):
            if value is not None:
                raise ParameterError("Session", name, "left out where there is no ledger", value)
        return OwnPurse(budget)
    if budget is not None:
        raise ParameterError("Session", "budget", "left out where there is a ledger", budget)
    from discreet.ledger import Ledger

    if not isinstance(ledger, Ledger):
        raise ParameterTypeError("Session", "ledger", "a Ledger", type(ledger).__name__)
    if dataset is None:
        raise ParameterTypeError("Session", "dataset", "the name of a budget in the ledger", dataset)
    return LedgerPurse(ledger, dataset, analyst, window)
