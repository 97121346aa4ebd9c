"""Who holds the table of a session and answers: the budget is taken first, and only then a
row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec

from discreet.errors import (
    DiscreetError,
    EngineError,
    ParameterError,
    ParameterTypeError,
    QuestionEndedError,
)
from discreet.exact.rationals import Number
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.parameters import Person, Unit
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import listed_once
from discreet.tables.condition_expressions import Where, read_where
from discreet.tables.condition_matching import matching
from discreet.tables.conditions import Condition, days_within
from discreet.tables.duckdb_connection import STOPPED
from discreet.tables.groups import prepare_groups
from discreet.tables.inquiry import (
    LISTED,
    Inquiry,
    Prepared,
    Question,
    digest,
    question_form,
)
from discreet.tables.payment import Budget
from discreet.tables.table import Table
from discreet.tables.watch import Brake, Watch, brake_of, read_time_limit

Asked = ParamSpec("Asked")
Preparing = Callable[Concatenate[Inquiry, Asked], Prepared]
"""What checks a question, by its own parameters: `prepare_mode`, say."""


class Curator:
    """A table, whom it is about, the budget that pays for it, and what was answered so far.

    identity: which table it is, for the names of questions.
    reopen: opens the table once more, where a fork has closed DuckDB.
    time_limit: seconds that a question may take once it is paid for.
    """

    def __init__(
        self,
        *,
        table: Table,
        unit: Unit,
        budget: Budget,
        identity: str,
        reopen: Callable[[], Table],
        time_limit: Number | None = None,
    ) -> None:
        self.table, self.unit, self.budget = table, unit, budget
        self._reopen = reopen
        self._limit = read_time_limit(time_limit, self._brake())
        self._watches: set[Watch] = set()
        self.history: list[Question] = []
        self._identity = identity
        self._answers: dict[str, Release] = {}
        self._open = True

    def close(self) -> None:
        """Let go of the table."""
        if self._open and self.table.connection is not None:
            self.table.connection.close()
        self._open = False

    def _brake(self) -> Brake | None:
        return brake_of(self.table.frame, self.table.connection)

    def cancel(self) -> None:
        """End the questions that are being answered."""
        for watch in list(self._watches):
            watch.end()

    def inquiry(
        self,
        what: str,
        *columns: str,
        where: Where | None,
        fresh: bool,
        bits: Bits | None,
        by: str | None = None,
        groups: Any = None,
        ballots: bool = False,
    ) -> Inquiry:
        """What a question about these columns has in common with every other one.

        ballots: whether a cell of the columns may hold several items.
        """
        self._require_open()
        if self.table.connection in STOPPED:
            self.table = self._reopen()
        owner, looked_at = f"Session.{what}", columns if by is None else (*columns, by)
        return Inquiry(
            what=what,
            table=replace(
                self._rows(owner, where, looked_at, ballots),
                watch=Watch(self._brake(), self._limit),
            ),
            unit=self.unit,
            rule=self.budget.rule,
            by=by,
            groups=groups,
            fresh=fresh,
            bits=bits,
        )

    def _rows(
        self, owner: str, where: Where | None, columns: tuple[str, ...], ballots: bool
    ) -> Table:
        """The rows that count for a question about these columns. None of them is read yet."""
        own = None if where is None else read_where(where, owner)
        condition = _both(own, self._window_condition())
        for name in columns:
            self.table.require(name, "column", owner)
        asked = [*columns, *([self.unit.column] if isinstance(self.unit, Person) else [])]
        looked_at = [] if condition is None else condition.columns
        for name in looked_at:
            self.table.require(name, "where", owner)
        table = self.table.having(
            [*asked, *looked_at], lists=columns if ballots else (), owner=owner
        )
        if condition is None:
            return table
        return replace(table, where=matching(condition, table, owner), condition=condition)

    def _window_condition(self) -> Condition | None:
        """Only rows of the windows that are paid for, where the budget says which column tells."""
        found = self.budget.window_intervals()
        if found is None:
            return None
        name, intervals = found
        kind = self.table.schema[self.table.require(name, "window", "Session")]
        return days_within(name, intervals, zoned=getattr(kind, "time_zone", None) is not None)

    def ask(
        self,
        inquiry: Inquiry,
        prepare: Preparing[Asked],
        /,
        *args: Asked.args,
        **asked: Asked.kwargs,
    ) -> Release:
        """Check what is left to check, take the budget, and only then answer from the
        rows that count.

        asked: the question in its own parameters, also for its canonical form.
        """
        prepared = self.prepare(inquiry, prepare, *args, **asked).telling()
        question, cost, bits = prepared.question, prepared.cost, inquiry.bits
        read_bits(bits, inquiry.owner)
        if not isinstance(inquiry.fresh, bool):
            raise ParameterTypeError(inquiry.owner, "fresh", "True or False", inquiry.fresh)
        self._require_delta(cost, inquiry.owner)
        # a simulation is drawn as often as it is asked for
        again = not inquiry.fresh and bits is None
        if again and self.has_answered(question):
            return deepcopy(self._answers[digest(question.asked)])
        name = digest(question.asked)
        kept_by = None if bits is not None else name
        with self.budget.charge(cost, question.asked, kept_by, fresh=inquiry.fresh) as payment:
            kept = payment.answer
            if kept is None:
                self.history.append(question)
                kept = payment.settle(self._answered(prepared, inquiry.table.watch))
            if bits is None:
                self._answers[name] = deepcopy(kept)
            return kept

    def _answered(self, prepared: Prepared, watch: Watch) -> Release:
        """The answer, or one of three failures that say nothing else about the rows."""
        release, interrupted = None, False
        self._watches.add(watch)
        try:
            with watch:
                release = prepared.answer()
        except KeyboardInterrupt:
            interrupted = True
        except Exception:
            # whatever it is, its kind and its text may depend on the data
            release = None
        finally:
            self._watches.discard(watch)
        # Raised out here, so that what has happened does not hang on to it.
        if interrupted:
            paid = f"{prepared.question.loss!r} stays charged."
            raise KeyboardInterrupt(f"The question was interrupted after it was paid for: {paid}")
        if watch.ended:
            # an answer that comes after the end is none
            raise QuestionEndedError
        if release is None:
            raise EngineError
        return release

    def prepare(
        self,
        inquiry: Inquiry,
        prepare: Preparing[Asked],
        /,
        *args: Asked.args,
        **asked: Asked.kwargs,
    ) -> Prepared:
        """The question, checked, with its canonical form. Nothing is charged.

        A complaint about its parameters names the method that was called.
        """
        # Whoever counts and whoever names the question have to see the same labels.
        for name in LISTED:
            if asked.get(name) is not None:
                asked[name] = listed_once(asked[name])
        if inquiry.groups is not None:
            inquiry = replace(inquiry, groups=listed_once(inquiry.groups))
        try:
            if inquiry.by is None and inquiry.groups is None:
                prepared = prepare(inquiry, *args, **asked)
            else:
                prepared = prepare_groups(inquiry, lambda group: prepare(group, *args, **asked))
        except ParameterError as error:
            wrong = error.at(inquiry.owner, asked)
        else:
            return self._named(prepared, inquiry, asked)
        # Raised out here, so that there is one complaint and not two.
        raise wrong

    def _named(self, prepared: Prepared, inquiry: Inquiry, asked: Mapping[str, Any]) -> Prepared:
        """The question with its canonical form."""
        self._require_open()
        form = question_form(
            inquiry.what,
            table=self._identity,
            unit=self.unit,
            window=self.budget.windows or None,
            where=inquiry.table.condition,
            **asked,
            by=inquiry.by,
            groups=inquiry.groups,
        )
        return replace(prepared, question=replace(prepared.question, asked=form))

    def has_answered(self, question: Question) -> bool:
        """Whether this very question was answered before, by this session."""
        return digest(question.asked) in self._answers

    def is_kept(self, question: Question) -> bool:
        """Whether its answer is there for nothing: here, or where the budget is."""
        return self.has_answered(question) or self.budget.has_answer(digest(question.asked))

    def charge(self, loss: Loss, what: str, owner: str) -> None:
        """Take a loss from the budget for an answer that is made elsewhere."""
        asked = question_form("charge", table=self._identity, unit=self.unit, described=what)
        self._require_open()
        self._require_delta(Cost(loss), owner)
        with self.budget.charge(Cost(loss), asked, None) as payment:
            self.history.append(Question("charge", None, loss, asked))
            payment.settle(
                Release(value=None, loss=loss, mechanism="made elsewhere", candidates=None)
            )

    def _require_open(self) -> None:
        if not self._open:
            raise DiscreetError("The session is closed. Open another one to ask again.")

    def _require_delta(self, cost: Cost, owner: str) -> None:
        """Refuse a loss with a delta where the budget can never have one."""
        loss, pure = cost.loss, isinstance(self.budget.budget, PureDP)
        if not isinstance(loss, ApproxDP) or not loss.delta or self.budget.takes_delta:
            return
        if pure or (cost.delta and not loss <= self.budget.budget):
            rule = f"0 for the budget {self.budget.budget!r}"
            hint = "Open the session with an ApproxDP budget."
            raise ParameterError(owner, "delta", rule, float(loss.delta), hint)


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    return other if one is None else one if other is None else one & other
