"""A ledger beside a model of it in plain fractions: whatever is done, in whatever order, they agree after every step."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from discreet import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    BudgetExceeded,
    KeyReused,
    Ledger,
    LedgerError,
    ParameterError,
    PureDP,
    Release,
    ReservationBurnt,
)
from discreet.accounting.filter import Filter

UNITS = 10**30
DATASETS, ANALYSTS, WINDOWS, KEYS = ("survey", "clicks"), ("ada", "bob"), ("april", "may"), ("k-1", "k-2", "k-3")
numbers = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(1, 10**31), Fraction(2, 7)])
deltas = st.sampled_from([Fraction(1, 10**7), Fraction(1, 3 * 10**7), Fraction(0)])
losses = st.one_of(numbers.map(PureDP), numbers.map(BoundedRange), numbers.map(ZCDP), st.builds(ApproxDP, numbers, deltas))
budgets = st.one_of(
    numbers.map(lambda epsilon: PureDP(1 + epsilon)),
    numbers.map(lambda rho: ZCDP(1 + rho)),
    numbers.map(lambda epsilon: ApproxDP(3 + epsilon, Fraction(1, 10**6))),
)


@dataclass
class Budget:
    """One budget: what it allows, and what was taken, as fractions."""

    budget: object
    limit: Fraction
    delta_limit: Fraction
    spent: Fraction = Fraction(0)
    delta_spent: Fraction = Fraction(0)


@dataclass
class Model:
    """What a ledger has to know."""

    budgets: dict = field(default_factory=dict)  # by data set, analyst, window
    windows: dict = field(default_factory=dict)
    requests: dict = field(default_factory=dict)  # by data set and key: what was asked, the answer
    history: list = field(default_factory=list)
    settled: set = field(default_factory=set)
    entries: int = 0


def down(value):
    return Fraction(math.floor(value * UNITS), UNITS)


def up(value):
    return Fraction(math.ceil(value * UNITS), UNITS)


def limits(budget):
    half = budget.delta / 2 if isinstance(budget, ApproxDP) else Fraction(0)
    within = Filter(budget, delta_for_losses=half)
    return down(within.limit), down(within.delta_limit)


def cost(budget, loss):
    """What a loss takes from a budget: None where it cannot be counted in it."""
    if isinstance(budget, PureDP):
        if isinstance(loss, ZCDP):
            return None
        return up(loss.epsilon), up(getattr(loss, "delta", Fraction(0)))
    if isinstance(loss, ZCDP):
        return up(loss.rho), Fraction(0)
    pure = PureDP(loss.epsilon) if isinstance(loss, ApproxDP) else loss
    return up(pure.to_zcdp().rho), up(getattr(loss, "delta", Fraction(0)))


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'budget.db'}"
        self.ledger, self.model = Ledger(self.url), Model()
        self.anchors, self.reservations = [self.ledger.anchor()], []

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
            self.folder.cleanup()

    @rule(dataset=st.sampled_from(DATASETS), budget=budgets, windows=st.booleans())
    def open(self, dataset, budget, windows):
        known = self.model.budgets.get((dataset, "", ""))
        if known is None:
            self.ledger.open(dataset, budget=budget, windows=windows)
            self.model.budgets[dataset, "", ""] = Budget(budget, *limits(budget))
            self.model.windows[dataset] = windows
            self.model.entries += 1
        elif known.budget == budget and self.model.windows[dataset] == windows:
            self.ledger.open(dataset, budget=budget, windows=windows)
        else:
            with pytest.raises(ParameterError):
                self.ledger.open(dataset, budget=budget, windows=windows)

    @rule(dataset=st.sampled_from(DATASETS), analyst=st.sampled_from(ANALYSTS), budget=budgets)
    def open_for_an_analyst(self, dataset, analyst, budget):
        whole, known = self.model.budgets.get((dataset, "", "")), self.model.budgets.get((dataset, analyst, ""))
        fits = whole is not None and isinstance(whole.budget, PureDP) == isinstance(budget, PureDP)
        if not fits or (known is not None and known.budget != budget):
            with pytest.raises(ParameterError):
                self.ledger.open(dataset, budget=budget, analyst=analyst)
            return
        self.ledger.open(dataset, budget=budget, analyst=analyst)
        if known is None:
            self.model.budgets[dataset, analyst, ""] = Budget(budget, *limits(budget))
            self.model.entries += 1

    @precondition(lambda self: self.model.budgets)
    @rule(data=st.data(), budget=budgets)
    def extend(self, data, budget):
        whose = sorted(name for name in self.model.budgets if not name[2])
        dataset, analyst, _ = data.draw(st.sampled_from(whose))
        known = self.model.budgets[dataset, analyst, ""]
        limit = limits(budget)
        if type(known.budget) is not type(budget) or limit[0] < known.limit or limit[1] < known.delta_limit:
            with pytest.raises(ParameterError):
                self.ledger.extend(dataset, budget=budget, analyst=analyst or None, reason="More.")
            return
        self.ledger.extend(dataset, budget=budget, analyst=analyst or None, reason="More.")
        known.budget, (known.limit, known.delta_limit) = budget, limit
        self.model.entries += 1

    @rule(
        dataset=st.sampled_from(DATASETS),
        analyst=st.sampled_from(("", "", *ANALYSTS)),
        windows=st.sets(st.sampled_from(WINDOWS)),
        loss=losses,
        key=st.sampled_from((None, *KEYS)),
        what=st.sampled_from(("mode", "mode", "top")),
        settle=st.sampled_from(("kept", "kept", "not kept", "never", "later")),
    )
    def reserve(self, dataset, analyst, windows, loss, key, what, settle):
        expected = self.expected(dataset, analyst, windows, loss, key, what)
        options = {"analyst": analyst or None, "window": sorted(windows) or None, "replayable": settle == "kept"}
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.ledger.reserve(dataset, loss, request={"what": what}, key=key, **options)
            return
        reservation = self.ledger.reserve(dataset, loss, request={"what": what}, key=key, **options)
        if isinstance(expected, Release):
            assert reservation.answer == expected
            return
        assert reservation.answer is None
        amounts, taken = expected
        for name in taken:
            budget = self.budget(*name)
            budget.spent, budget.delta_spent = budget.spent + amounts[0], budget.delta_spent + amounts[1]
            self.model.budgets[name] = budget
        self.model.entries += 1
        assert reservation.number == self.model.entries
        asked = (dataset, analyst, tuple(sorted(windows)), loss, what)
        self.model.history.append((reservation.number, asked, *amounts))
        place = dataset, key if key is not None else self.ledger.history(dataset)[-1].key
        self.model.requests[place] = (asked, None)
        if settle == "later":
            self.reservations.append((reservation, place))
        elif settle != "never":
            self.settle(reservation, place, kept=settle == "kept")

    def expected(self, dataset, analyst, windows, loss, key, what):
        """The error that must come, the answer that must be repeated, or what is charged to whom."""
        whole = self.model.budgets.get((dataset, "", ""))
        if whole is None or bool(windows) != self.model.windows[dataset]:
            return ParameterError
        amounts = cost(whole.budget, loss)
        if amounts is None:
            return ParameterError
        if (dataset, key) in self.model.requests:
            asked, answer = self.model.requests[dataset, key]
            if asked != (dataset, analyst, tuple(sorted(windows)), loss, what):
                return KeyReused
            return ReservationBurnt if answer is None else answer
        known = {name for where, name, _ in self.model.budgets if where == dataset and name}
        if known and analyst not in known:
            return ParameterError
        taken = [(dataset, name, window) for name in ("", *({analyst} & known)) for window in windows or [""]]
        for name in taken:
            budget = self.budget(*name)
            if budget.spent + amounts[0] > budget.limit or budget.delta_spent + amounts[1] > budget.delta_limit:
                return BudgetExceeded
        return amounts, taken

    def budget(self, dataset, analyst, window):
        found = self.model.budgets.get((dataset, analyst, window))
        whole = self.model.budgets[dataset, analyst, ""]
        return found or Budget(whole.budget, whole.limit, whole.delta_limit)

    def settle(self, reservation, place, kept):
        answer = Release(value=reservation.number, loss=reservation.loss, mechanism="test", candidates=None)
        assert reservation.settle(answer) == answer
        asked, _ = self.model.requests[place]
        self.model.requests[place] = (asked, answer if kept else None)
        self.model.settled.add(reservation.number)
        self.model.entries += 1
        with pytest.raises(LedgerError):
            reservation.settle(answer)

    @precondition(lambda self: self.reservations)
    @rule()
    def settle_later(self):
        self.settle(*self.reservations.pop(), kept=False)

    @rule()
    def reopen(self):
        self.reservations.clear()  # who asked is gone
        self.ledger.close()
        self.ledger = Ledger(self.url, create=False)

    @rule(each=losses)
    def count_queries(self, each):
        for (dataset, analyst, window), budget in self.model.budgets.items():
            whole = self.budget(dataset, "", window)
            amounts = cost(whole.budget, each)
            if amounts is None or self.model.windows[dataset] != bool(window):
                with pytest.raises(ParameterError):
                    self.ledger.queries_left(dataset, each=each, analyst=analyst or None, window=window or None)
                continue
            left = [(one.limit - one.spent) // amounts[0] for one in (whole, budget)]
            left += [(one.delta_limit - one.delta_spent) // amounts[1] for one in (whole, budget) if amounts[1]]
            assert self.ledger.queries_left(dataset, each=each, analyst=analyst or None, window=window or None) == min(left)

    @rule()
    def keep_anchor(self):
        self.anchors.append(self.ledger.anchor())

    @invariant()
    def the_accounts_agree(self):
        if not hasattr(self, "ledger"):
            return
        found = {(one.dataset, one.analyst or "", one.window or ""): one for one in self.ledger.accounts()}
        assert found.keys() == self.model.budgets.keys()
        for name, budget in self.model.budgets.items():
            account = found[name]
            limit = (budget.limit, budget.delta_limit)
            assert (account.limit, account.delta_limit) == limit
            assert (account.spent, account.delta_spent) == (budget.spent, budget.delta_spent)
            assert budget.spent <= budget.limit
            assert budget.delta_spent <= budget.delta_limit

    @invariant()
    def what_remains_agrees(self):
        for dataset, analyst, window in self.model.budgets if hasattr(self, "ledger") else ():
            if self.model.windows[dataset] == bool(window):
                rests = [
                    budget.limit - budget.spent for budget in (self.budget(dataset, name, window) for name in ("", analyst))
                ]
                assert self.ledger.remaining(dataset, analyst=analyst or None, window=window or None) == min(rests)

    @invariant()
    def the_history_agrees(self):
        if not hasattr(self, "ledger"):
            return
        found = [made for dataset in DATASETS for made in self.ledger.history(dataset)]
        shown = [
            (
                made.number,
                (made.dataset, made.analyst or "", made.windows, made.loss, made.request["what"]),
                made.amount,
                made.delta,
            )
            for made in sorted(found, key=lambda made: made.number)
        ]
        assert shown == self.model.history
        assert {made.number for made in found if made.settled} == self.model.settled

    @invariant()
    def the_chain_holds(self):
        if hasattr(self, "ledger"):
            assert self.ledger.verify(*self.anchors).entries == self.model.entries


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def test_a_ledger_and_its_model_agree():
    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=120, stateful_step_count=40, **QUIET))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_ledger_and_its_model_agree_for_long():
    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=400, stateful_step_count=60, **QUIET))
