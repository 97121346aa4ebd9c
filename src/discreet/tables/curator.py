"""Who holds the table of a session and answers: the budget is taken first, and only then a
row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from threading import Lock
from typing import Any, Concatenate, NoReturn, ParamSpec, SupportsIndex

from discreet.errors import (
    DiscreetError,
    EngineError,
    Hidden,
    ParameterError,
    ParameterTypeError,
    QuestionEndedError,
)
from discreet.exact.rationals import Number
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.parameters import Person, Unit
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.tables.candidates import listed_once
from discreet.tables.condition_expressions import Where, read_where
from discreet.tables.condition_matching import matching
from discreet.tables.conditions import Condition, days_within
from discreet.tables.duckdb_connection import STOPPED
from discreet.tables.engine import Brake, Watch, WatchedBits, brake_of, read_time_limit
from discreet.tables.groups import prepare_groups
from discreet.tables.inquiry import (
    LISTED,
    Inquiry,
    Prepared,
    Question,
    question_form,
)
from discreet.tables.payment import Budget
from discreet.tables.table import Table

Asked = ParamSpec("Asked")
Preparing = Callable[Concatenate[Inquiry, Asked], Prepared]
"""What checks a question, by its own parameters: `prepare_mode`, say."""


_MOST_PREPARED = 64
"""Questions of a session that are remembered."""
_LONG = 1000
"""The most labels of a question that is remembered."""
_DEEP = 2
"""Lists within lists of such a question."""
# a fraction may have more digits than Python prints
_AS_THEY_ARE = (str, int, bool, type(None), Fraction)
_AS_THEY_PRINT = (float, Decimal)


@dataclass(frozen=True, slots=True)
class Asking:
    """What a caller says about any question, besides its own parameters.

    what: the name of the session's method.
    columns: that it is about.
    where, by, groups: as for `Session.mode`.
    ballots: whether a cell of the columns may hold several items.
    fresh: whether to ask anew what was answered before.
    bits: of a simulation.
    """

    what: str
    columns: Sequence[str] = ()
    where: Where | None = field(default=None, kw_only=True)
    by: str | None = field(default=None, kw_only=True)
    groups: Sequence[Any] | None = field(default=None, kw_only=True)
    ballots: bool = field(default=False, kw_only=True)
    fresh: bool = field(default=False, kw_only=True)
    bits: Bits | None = field(default=None, kw_only=True)

    @property
    def owner(self) -> str:
        """The method that was called, for error messages."""
        return f"Session.{self.what}"


_COPIED = (
    "A Session is one budget, and a copy would be a second one. Open a session in each process, "
    "with a Ledger that they share."
)


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
        # questions that were asked lately, by their public parameters
        self._prepared: dict[Hashable, Prepared] = {}
        self._lock = Lock()
        self._open = True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse what would make a second budget of a session: copy.deepcopy and pickle."""
        raise TypeError(_COPIED)

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

    def _inquiry(self, asking: Asking) -> Inquiry:
        """What the question is prepared with."""
        groups = None if asking.groups is None else listed_once(asking.groups)
        return Inquiry(
            what=asking.what,
            table=self._rows(asking),
            unit=self.unit,
            rule=self.budget.rule,
            by=asking.by,
            groups=groups,
        )

    def _rows(self, asking: Asking) -> Table:
        """The rows that count for a question. None of them is read yet."""
        owner, where, ballots = asking.owner, asking.where, asking.ballots
        columns = asking.columns if asking.by is None else (*asking.columns, asking.by)
        own = None if where is None else read_where(where, owner, list(self.table.schema))
        condition = _both(own, self._window_condition())
        for name in asking.columns:
            self.table.require(name, "column", owner)
        if asking.by is not None:
            self.table.require(asking.by, "by", owner)
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
        asking: Asking,
        prepare: Preparing[Asked],
        /,
        *args: Asked.args,
        **asked: Asked.kwargs,
    ) -> Release:
        """Check what is left to check, take the budget, and only then answer from the
        rows that count.

        asked: the question in its own parameters, also for its canonical form.
        """
        prepared = self.prepare(asking, prepare, *args, **asked)
        cost, bits, name = prepared.cost, asking.bits, prepared.name
        read_bits(bits, asking.owner)
        if not isinstance(asking.fresh, bool):
            raise ParameterTypeError(asking.owner, "fresh", "True or False", asking.fresh)
        self._require_delta(cost, asking.owner)
        # a simulation is drawn as often as it is asked for
        again = not asking.fresh and bits is None
        if again and name in self._answers:
            return deepcopy(self._answers[name])
        if self.table.is_unchanged is not None:
            self.table.require_unchanged(asking.owner)
        # a question that is remembered is nobody's to change
        question = replace(prepared.question, asked=deepcopy(prepared.question.asked))
        kept_by = None if bits is not None else name
        with self.budget.charge(cost, question.asked, kept_by, fresh=asking.fresh) as payment:
            kept = payment.answer
            if kept is None:
                self.history.append(question)
                release = self._answered(prepared, bits)
                kept = payment.settle(_telling(release, prepared, question))
            if bits is None:
                self._answers[name] = deepcopy(kept)
            return kept

    def _answered(self, prepared: Prepared, bits: Bits | None) -> Release:
        """The answer, or one of three failures that say nothing else about the rows."""
        release, interrupted, by_request = None, False, False
        watch = Watch(self._brake(), self._limit)
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
            paid = f"{prepared.question.loss!r} stays charged."
            raise KeyboardInterrupt(f"The question was interrupted after it was paid for: {paid}")
        if release is not None and not watch.ended:
            return release
        # an answer that comes after the end is none
        error = QuestionEndedError() if watch.ended else EngineError()
        error.by_request = by_request or watch.ended_idle
        raise error

    def prepare(
        self,
        asking: Asking,
        prepare: Preparing[Asked],
        /,
        *args: Asked.args,
        **asked: Asked.kwargs,
    ) -> Prepared:
        """The question, checked, with its canonical form. Nothing is charged.

        All of it follows from public things, so it is made once for the same
        parameters.
        """
        self._require_open()
        if self.table.connection in STOPPED:
            self.table = self._reopen()
            self._prepared.clear()
        # a question is found by the names of its parameters: one without names is read anew
        spelt = None if args else _spelt(prepare, asking, asked)
        if spelt is None:
            return self._checked(asking, prepare, *args, **asked)
        prepared, table = self._recall(spelt), self.table
        if prepared is None:
            # a list that the caller changes later must not change what is remembered
            asking, kept = replace(asking, groups=deepcopy(asking.groups)), deepcopy(asked)
            prepared = self._checked(asking, prepare, *args, **kept)
            # Another thread may have opened the table once more, as this one was closed, or have
            # changed a list before it was copied.
            if self.table is table and _spelt(prepare, asking, kept) == spelt:
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

    def _checked(
        self,
        asking: Asking,
        prepare: Preparing[Asked],
        /,
        *args: Asked.args,
        **asked: Asked.kwargs,
    ) -> Prepared:
        """The same, made anew. A complaint about its parameters names the method that was
        called.
        """
        inquiry = self._inquiry(asking)
        # What is counted and what the question is named after have to be the same labels.
        for name in LISTED:
            if asked.get(name) is not None:
                asked[name] = listed_once(asked[name])

        def prepared_for(inquiry: Inquiry) -> Prepared:
            if inquiry.by is None and inquiry.groups is None:
                return prepare(inquiry, *args, **asked)
            return prepare_groups(inquiry, lambda group: prepare(group, *args, **asked))

        try:
            prepared = prepared_for(inquiry)
            if inquiry.table.frame.implementation.is_ibis():
                _require_planned(inquiry, prepared_for)
        except ParameterError as error:
            wrong = error.at(inquiry.owner, asked)
        else:
            return prepared.named(self._form(inquiry, asked))
        # Raised out here, so that there is one complaint and not two.
        raise wrong

    def _form(self, inquiry: Inquiry, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The canonical form of a question."""
        return question_form(
            inquiry.what,
            table=self._identity,
            unit=self.unit,
            window=self.budget.windows or None,
            where=inquiry.table.condition,
            **asked,
            by=inquiry.by,
            groups=inquiry.groups,
        )

    def is_kept(self, prepared: Prepared) -> bool:
        """Whether its answer is there for nothing: here, or where the budget is."""
        return prepared.name in self._answers or self.budget.has_answer(prepared.name)

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
    rule, hint = "one of which the database can answer this", "Ask again later, or about another."
    raise ParameterError(inquiry.owner, "table", rule, Hidden("one of which it cannot"), hint)


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    return other if one is None else one if other is None else one & other


def _telling(release: Release, prepared: Prepared, question: Question) -> Release:
    """The release with what was asked and how far off it can be, both public."""
    # Where the table is, is nobody's business but the owner's.
    asked = {name: part for name, part in question.asked.items() if name != "table"}
    return replace(release, accuracy=prepared.told, asked=asked)


def _spelt(prepare: Any, asking: Asking, asked: Mapping[str, Any]) -> Hashable | None:
    """A question as it was spelt, to find it again; None for one that has to be read anew: it
    has parameters that can change or are too long.
    """
    said = (asking.what, asking.columns, asking.where, asking.by, asking.groups, asking.ballots)
    try:
        return (prepare, *map(_typed, said), *asked, *map(_typed, asked.values()))
    except _CannotBeKeptError:
        return None


class _CannotBeKeptError(Exception):
    """Raised for a parameter that no remembered question can be found by."""


def _typed(value: Any, depth: int = _DEEP) -> Hashable:
    """A value with its type: 1, True, 1.0 and "1" are four. Numbers that are equal may be
    spelt in two ways, as Decimal("1.0") and Decimal("1.00") are, and answers have the label
    that was given.

    depth: how many lists may be around what is in it; one that holds itself has no end.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return kind, value
    if kind in _AS_THEY_PRINT:
        return kind, repr(value)
    if kind not in (list, tuple) or len(value) > _LONG or not depth:
        raise _CannotBeKeptError
    inside = set(map(type, value))
    if len(inside) == 1 and inside <= {str, int}:
        # as most lists are
        return kind, inside.pop(), tuple(value)
    return kind, tuple(_typed(each, depth - 1) for each in value)
