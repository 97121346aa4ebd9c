"""What answers the questions of a session: the budget is taken first, and only then a row is
read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from threading import Lock
from typing import Any, NoReturn, SupportsIndex

from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    EngineError,
    Hidden,
    InputError,
    ParameterError,
    ParameterTypeError,
    QuestionEndedError,
    ReservationLostError,
    called_as,
)
from discreet.exact.rationals import Number
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ApproxDP, Composed, Loss, PureDP
from discreet.privacy.parameters import Person, Unit
from discreet.questions.question import Question
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.tables.condition_language import Where, read_where
from discreet.tables.condition_matching import matching
from discreet.tables.conditions import Condition, days_within
from discreet.tables.duckdb_connection import STOPPED
from discreet.tables.engine import Cancellation, Deadline, WatchedBits, brake_of, read_time_limit
from discreet.tables.groups import prepare_groups
from discreet.tables.inquiry import (
    ChargedQuestion,
    Inquiry,
    Prepared,
    question_form,
)
from discreet.tables.payment import Budget, Payment, amount_of
from discreet.tables.table import Table

Charge = Callable[..., AbstractContextManager[Payment]]
"""Takes the cost of a question, as `Budget.charge` does."""
_MOST_PREPARED = 64
"""Questions of a session that are remembered."""

_COPIED = (
    "A Session cannot be copied or pickled: a copy would be a second budget. Open a session "
    "in each process, with a Ledger that they share."
)


class QuestionRunner:
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
        self._watches: set[Deadline] = set()
        self.history: list[ChargedQuestion] = []
        self._identity = identity
        self._answers: dict[str, Release] = {}
        # questions that were asked lately, by their public parameters
        self._prepared: dict[Hashable, Prepared] = {}
        self._lock, self._one_list = Lock(), Lock()
        self._open = True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse what would make a second budget of a session: copy.deepcopy and pickle."""
        raise TypeError(_COPIED)

    def close(self) -> None:
        """Let go of the table."""
        if self._open and self.table.connection is not None:
            self.table.connection.close()
        self._open = False

    def _brake(self) -> Cancellation | None:
        return brake_of(self.table.frame, self.table.connection)

    def cancel(self) -> None:
        """End the questions that are being answered."""
        for watch in list(self._watches):
            watch.end()

    def _inquiry(self, question: Question) -> Inquiry:
        """What the question is prepared with."""
        where, by, groups = question.rows()
        return Inquiry(
            what=question.name,
            table=self._rows(question, where, by),
            unit=self.unit,
            rule=self.budget.rule,
            by=by,
            groups=groups,
        )

    def _rows(self, question: Question, where: Where | None, by: str | None) -> Table:
        """The rows that count for a question. None of them is read yet."""
        columns = [name for _, name in question.used_columns]
        own = None if where is None else read_where(where, list(self.table.schema))
        condition = _both(own, self._window_condition())
        for parameter, name in question.used_columns:
            self.table.require(name, parameter)
        asked = [*columns, *([self.unit.column] if isinstance(self.unit, Person) else [])]
        looked_at = [] if condition is None else condition.columns
        for name in looked_at:
            self.table.require(name, "where")
        table = self.table.having([*asked, *looked_at], lists=columns if question.ballots else ())
        if condition is None:
            return table
        return replace(table, where=matching(condition, table), condition=condition)

    def _window_condition(self) -> Condition | None:
        """Only rows of the windows that are paid for, where the budget says which column tells."""
        found = self.budget.window_intervals()
        if found is None:
            return None
        name, intervals = found
        kind = self.table.schema[self.table.require(name, "window")]
        return days_within(name, intervals, zoned=getattr(kind, "time_zone", None) is not None)

    def ask(
        self,
        question: Question,
        *,
        fresh: bool = False,
        again: bool = False,
        bits: Bits | None = None,
        charge: Charge | None = None,
    ) -> Release:
        """Check what is left to check, take the budget, and only then answer from the
        rows that count.

        fresh: whether to ask anew what was answered before.
        again: whether to pay once more for an answer that was lost.
        bits: of a simulation.
        charge: takes the cost, in place of the budget itself.
        """
        prepared = self._ready(question, fresh, again, bits)
        return self._paid(prepared, fresh, again, bits, charge or self.budget.charge)

    def ask_all(
        self,
        questions: Sequence[Question],
        *,
        fresh: bool = False,
        again: bool = False,
        bits: Bits | None = None,
    ) -> list[Release]:
        """Answer several questions if all of them fit what is left, and else none.

        Each is paid for and kept by itself. So a list that broke off can be asked again: what
        was answered costs nothing then.
        """
        every = [self._ready(question, fresh, again, bits) for question in questions]
        once = {prepared.name: prepared for prepared in every}
        # another list of this session finds what this one leaves
        with self._one_list:
            drawn_anew = fresh or bits is not None
            unpaid = [each for each in once.values() if drawn_anew or not self.is_kept(each)]
            self._require_room(unpaid)
            if not drawn_anew and not again:
                self._require_none_lost(unpaid)
            answers = {
                name: self._paid(prepared, fresh, again, bits, self.budget.charge)
                for name, prepared in once.items()
            }
        return [deepcopy(answers[prepared.name]) for prepared in every]

    def _require_room(self, unpaid: Sequence[Prepared]) -> None:
        """Refuse questions that do not all fit."""
        costs = [prepared.cost for prepared in unpaid]
        if not self.budget.allows(*costs):
            raise BudgetExceededError(
                f"These questions cost {amount_of(self.budget, *costs)} together, but your budget "
                f"has room for {self.budget.room()}. Nothing was charged. Ask fewer of them, "
                "or with smaller epsilons."
            )

    def _require_none_lost(self, unpaid: Sequence[Prepared]) -> None:
        """Refuse a question that would be paid for twice, before any other one is paid for."""
        for prepared in unpaid:
            if self.budget.has_lost(prepared.name):
                assert prepared.line is not None
                about = "" if prepared.line.column is None else f" about {prepared.line.column!r}"
                raise ReservationLostError(
                    f"The question {prepared.line.what!r}{about} was charged before, but its "
                    "answer was lost. Nothing was charged now. To pay again for this question "
                    "only, ask with again=True (in the shell: --again)."
                )

    def _ready(self, question: Question, fresh: bool, again: bool, bits: Bits | None) -> Prepared:
        """The question with all that is checked before anything is paid."""
        prepared = self.prepare(question)
        try:
            read_bits(bits)
            for name, value in (("fresh", fresh), ("again", again)):
                if not isinstance(value, bool):
                    raise ParameterTypeError(name, "True or False", value)
            self._require_delta(prepared.cost)
        except InputError as error:
            # not `called_as`: a question that is prepared is asked in microseconds
            error.called(_owner(question))
            raise
        return prepared

    def _paid(
        self, prepared: Prepared, fresh: bool, again: bool, bits: Bits | None, charge: Charge
    ) -> Release:
        """The answer, for its charge; or the one that was given before."""
        # a simulation is drawn as often as it is asked for
        if not fresh and bits is None and prepared.name in self._answers:
            return deepcopy(self._answers[prepared.name])
        assert prepared.line is not None
        if self.table.is_unchanged is not None:
            with called_as(f"Session.{prepared.line.what}"):
                self.table.require_unchanged()
        # a question that is remembered is nobody's to change
        line = replace(prepared.line, asked=deepcopy(prepared.line.asked))
        kept_by = None if bits is not None else prepared.name
        with charge(prepared.cost, line.asked, kept_by, fresh=fresh, again=again) as payment:
            kept = payment.answer
            if kept is None:
                self.history.append(line)
                release = self._answered(prepared, bits)
                kept = payment.settle(_telling(release, prepared, line))
            if bits is None:
                self._answers[prepared.name] = deepcopy(kept)
            return kept

    def _answered(self, prepared: Prepared, bits: Bits | None) -> Release:
        """The answer, or one of three failures that say nothing else about the rows."""
        release, interrupted, by_request = None, False, False
        watch = Deadline(self._brake(), self._limit)
        self._watches.add(watch)
        try:
            with watch:
                # a test's own `Chance` is asked for effects, not for bits
                watched = bits if isinstance(bits, Chance) else WatchedBits(bits, watch)
                release = prepared.answer(watched)
        except KeyboardInterrupt:
            interrupted = True
        except MemoryError:
            # not the engine's, which is an EngineError: a draw is as long as the request says
            by_request = True
        except Exception:
            # whatever it is, its kind and its text may depend on the data
            release = None
        finally:
            self._watches.discard(watch)
        # Raised out here, so that what has happened does not hang on to it.
        if interrupted:
            paid = f"{prepared.cost.loss!r} stays charged."
            raise KeyboardInterrupt(f"The question was interrupted after it was paid for: {paid}")
        if release is not None and not watch.ended:
            return release
        # an answer that comes after the end is none
        error = QuestionEndedError() if watch.ended else EngineError()
        error.by_request = by_request or watch.ended_idle
        raise error

    def prepare(self, question: Question) -> Prepared:
        """The question, checked, with its canonical form. Nothing is charged.

        All of it follows from public things, so it is made once for the same
        parameters.
        """
        self._require_open()
        if self.table.connection in STOPPED:
            self.table = self._reopen()
            self._prepared.clear()
        spelt = question.spelling
        if spelt is None:
            return self._checked(question)
        prepared, table = self._recall(spelt), self.table
        if prepared is None:
            prepared = self._checked(question)
            # another thread may have opened the table once more, as this one was closed
            if self.table is table:
                self._remember(spelt, prepared)
        return prepared

    def _recall(self, spelt: Hashable) -> Prepared | None:
        """The question that was prepared for this spelling, from now on the latest."""
        with self._lock:
            prepared = self._prepared.pop(spelt, None)
            if prepared is not None:
                self._prepared[spelt] = prepared
            return prepared

    def _remember(self, spelt: Hashable, prepared: Prepared) -> None:
        """Keep a question, in place of the one that was not asked for longest."""
        with self._lock:
            self._prepared[spelt] = prepared
            if len(self._prepared) > _MOST_PREPARED:
                del self._prepared[next(iter(self._prepared))]

    def _checked(self, question: Question) -> Prepared:
        """The question, prepared anew. A complaint about its parameters names the method."""
        with called_as(_owner(question), question.takes):
            inquiry = self._inquiry(question)

            def prepared_for(inquiry: Inquiry) -> Prepared:
                if inquiry.by is None and inquiry.groups is None:
                    return question.prepare(inquiry)
                return prepare_groups(inquiry, question.prepare)

            prepared = prepared_for(inquiry)
            if inquiry.table.frame.implementation.is_ibis():
                _require_planned(inquiry, prepared_for)
            return prepared.named(self._form(inquiry, question))

    def _form(self, inquiry: Inquiry, question: Question) -> dict[str, Any]:
        """The canonical form of a question."""
        return question_form(
            inquiry.what,
            table=self._identity,
            unit=self.unit,
            window=self.budget.windows or None,
            where=inquiry.table.condition,
            **question.stated(self.budget.rule),
            by=inquiry.by,
            groups=inquiry.groups,
        )

    def is_kept(self, prepared: Prepared) -> bool:
        """True if its answer is there for nothing: here, or where the budget is."""
        return prepared.name in self._answers or self.budget.has_answer(prepared.name)

    def charge(self, loss: Loss, what: str) -> None:
        """Take a loss from the budget for an answer that is made elsewhere."""
        asked = question_form("charge", table=self._identity, unit=self.unit, described=what)
        self._require_open()
        self._require_delta(Cost(loss))
        with self.budget.charge(Cost(loss), asked, None) as payment:
            self.history.append(ChargedQuestion("charge", None, loss, asked))
            payment.settle(
                Release(value=None, loss=loss, mechanism="made elsewhere", candidates=None)
            )

    def _require_open(self) -> None:
        if not self._open:
            raise DiscreetError("The session is closed. Open another one to ask again.")

    def _require_delta(self, cost: Cost) -> None:
        """Refuse a loss with a delta where the budget can never have one."""
        loss, pure = cost.loss, isinstance(self.budget.budget, PureDP)
        has_delta = isinstance(loss, (ApproxDP, Composed)) and loss.delta
        if not has_delta or self.budget.takes_delta:
            return
        if pure or (cost.delta and not loss <= self.budget.budget):
            rule = f"0 for the budget {self.budget.budget!r}"
            hint = "Open the session with an ApproxDP budget."
            raise ParameterError("delta", rule, float(has_delta), hint)


def _require_planned(inquiry: Inquiry, prepare: Callable[[Inquiry], Prepared]) -> None:
    """Refuse what a database cannot do whatever is in the rows: only it knows its types and its
    rights. It answers the question once without any row, so nothing of that is private.
    """
    table = inquiry.table
    try:
        prepare(replace(inquiry, table=replace(table, frame=table.frame.head(0)))).answer(None)
        return
    except ParameterError:
        raise
    except Exception:
        # raised out here, without the words of the database
        pass
    rule, hint = (
        "one about which the database can answer this",
        "Ask again later, or about another.",
    )
    raise ParameterError("table", rule, Hidden("one about which it cannot"), hint)


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    return other if one is None else one if other is None else one & other


def _telling(release: Release, prepared: Prepared, line: ChargedQuestion) -> Release:
    """The release with what was asked and how far off it can be, both public."""
    # Where the table is, is nobody's business but the owner's.
    asked = {name: part for name, part in line.asked.items() if name != "table"}
    return replace(release, accuracy=prepared.told, asked=asked)


def _owner(question: Question) -> str:
    """The method that was called, for error messages."""
    return f"Session.{question.name}"
