"""A ledger beside a model of it in plain fractions: whatever is done, in whatever order, they
agree after every step.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from discreet import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    BudgetClosedError,
    BudgetExceededError,
    Ledger,
    LedgerError,
    ParameterError,
    PureDP,
    Release,
)
from discreet.accounting.coin_prices import MENU
from discreet.accounting.coin_table import coin_terms
from discreet.accounting.renyi import largest_rho
from discreet.errors import KeyReusedError, ReservationLostError, ReservationRunningError

UNITS = 10**30
DATASETS, ANALYSTS, WINDOWS, KEYS = (
    ("survey", "clicks"),
    ("ada", "bob"),
    ("april", "may"),
    ("k-1", "k-2", "k-3"),
)
numbers = st.sampled_from(
    [
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(1, 2),
        Fraction(1),
        Fraction(1, 10**31),
        Fraction(2, 7),
    ]
)
deltas = st.sampled_from([Fraction(1, 10**7), Fraction(1, 3 * 10**7), Fraction(0)])
losses = st.one_of(
    numbers.map(PureDP),
    numbers.map(BoundedRange),
    numbers.map(ZCDP),
    st.builds(ApproxDP, numbers, deltas),
)
budgets = st.one_of(
    numbers.map(lambda epsilon: PureDP(1 + epsilon)),
    numbers.map(lambda rho: ZCDP(1 + rho)),
    st.sampled_from([1, 2, 4]).map(lambda epsilon: ApproxDP(epsilon, Fraction(1, 10**6))),
)


@dataclass
class Budget:
    """One budget: what it allows, and what was taken, as fractions.

    None in a limit is a sum that does not count; in a sum, it is more than any budget has.
    """

    budget: object
    limits: tuple
    coin: Fraction | None
    delta_limit: Fraction
    epsilon: Fraction | None = Fraction(0)
    squares: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    closed: bool = False

    @property
    def untouched(self):
        return (self.epsilon, self.squares, self.delta) == (0, 0, 0)

    def after(self, taken, loss):
        """The sums after a charge; None where it does not fit."""
        sums = [
            None if None in pair else sum(pair)
            for pair in zip((self.epsilon, self.squares), taken[:2], strict=True)
        ]
        delta = self.delta + taken[2]
        within = [
            limit is not None and total is not None and total <= limit
            for limit, total in zip(self.limits, sums, strict=True)
        ]
        if any(within) and delta <= self.delta_limit:
            return (*sums, delta)
        if self.untouched and loss <= self.budget:
            return None, None, Fraction(0)
        return None

    def take(self, taken, loss):
        self.epsilon, self.squares, self.delta = self.after(taken, loss)


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


def opened(budget):
    """A new budget, with its limits by another route than the ledger's."""
    if isinstance(budget, PureDP):
        return Budget(budget, (budget.epsilon, None), None, Fraction(0))
    if isinstance(budget, ZCDP):
        return Budget(budget, (None, down(budget.rho)), None, Fraction(0))
    share = budget.delta / 10
    terms = coin_terms(budget.epsilon, budget.delta - share)
    return Budget(budget, (budget.epsilon, Fraction(terms.coins)), terms.unit, share)


def cost(budget, loss):
    """What a loss takes from a budget: None where it cannot be counted in it."""
    delta = up(getattr(loss, "delta", Fraction(0)))
    pure = PureDP(loss.epsilon) if isinstance(loss, ApproxDP) else loss
    epsilon = None if isinstance(loss, ZCDP) else up(pure.epsilon)
    if isinstance(budget.budget, PureDP):
        return None if epsilon is None else (epsilon, rho(pure), delta)
    if budget.coin is None:
        return epsilon, rho(pure), delta
    return None if epsilon is None else (epsilon, coins(pure, budget.coin), delta)


def rho(loss):
    return up(loss.rho if isinstance(loss, ZCDP) else loss.to_zcdp().rho)


def coins(loss, unit):
    """The first price on the menu that pays for the range, by squares and no roots."""
    extent = loss.epsilon if isinstance(loss, BoundedRange) else 2 * loss.epsilon
    fitting = [price for price in MENU if price >= (extent / unit) ** 2]
    return Fraction(fitting[0]) if fitting else None


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
            self.model.budgets[dataset, "", ""] = opened(budget)
            self.model.windows[dataset] = windows
            self.model.entries += 1
        elif known.closed:
            with pytest.raises(BudgetClosedError, match="closed permanently"):
                self.ledger.open(dataset, budget=budget, windows=windows)
        elif known.budget == budget and self.model.windows[dataset] == windows:
            self.ledger.open(dataset, budget=budget, windows=windows)
        else:
            with pytest.raises(ParameterError, match="with the same terms"):
                self.ledger.open(dataset, budget=budget, windows=windows)

    @rule(dataset=st.sampled_from(DATASETS), analyst=st.sampled_from(ANALYSTS), budget=budgets)
    def open_for_an_analyst(self, dataset, analyst, budget):
        whole, known = (
            self.model.budgets.get((dataset, "", "")),
            self.model.budgets.get((dataset, analyst, "")),
        )
        if whole is None or (known is not None and known.budget != budget and not known.closed):
            with pytest.raises(ParameterError, match=r"opened in this ledger|with the same terms"):
                self.ledger.open(dataset, budget=budget, analyst=analyst)
            return
        if (known is None and whole.closed) or (known is not None and known.closed):
            with pytest.raises(BudgetClosedError, match="closed permanently"):
                self.ledger.open(dataset, budget=budget, analyst=analyst)
            return
        self.ledger.open(dataset, budget=budget, analyst=analyst)
        if known is None:
            self.model.budgets[dataset, analyst, ""] = opened(budget)
            self.model.entries += 1

    @precondition(lambda self: self.model.budgets)
    @rule(data=st.data(), budget=budgets)
    def extend(self, data, budget):
        whose = sorted(name for name in self.model.budgets if not name[2])
        dataset, analyst, _ = data.draw(st.sampled_from(whose))
        known = self.model.budgets[dataset, analyst, ""]
        options = {"budget": budget, "analyst": analyst or None, "reason": "More."}
        smaller = type(known.budget) is not type(budget) or not known.budget <= budget
        if smaller or known.closed:
            with pytest.raises(
                (ParameterError, BudgetClosedError), match=r"as before|no small|closed p"
            ):
                self.ledger.extend(dataset, **options)
            return
        self.ledger.extend(dataset, **options)
        larger = opened(budget)
        if not known.untouched and larger.coin != known.coin:
            # by concentrated DP, in coins of the size that they had
            within = largest_rho(budget.epsilon, budget.delta - larger.delta_limit)
            number = max(known.limits[1], math.floor(8 * within / known.coin**2))
            larger.limits, larger.coin = (budget.epsilon, Fraction(number)), known.coin
        known.budget, known.limits, known.coin = budget, larger.limits, larger.coin
        known.delta_limit = larger.delta_limit
        self.model.entries += 1

    @precondition(lambda self: self.model.budgets)
    @rule(data=st.data(), sure=st.sampled_from([False, False, False, True]))
    def close_budget(self, data, sure):
        whose = sorted(name for name in self.model.budgets if not name[2])
        dataset, analyst, _ = data.draw(st.sampled_from(whose))
        known = self.model.budgets[dataset, analyst, ""]
        if not sure:
            return
        if known.closed:
            with pytest.raises(BudgetClosedError, match="closed permanently"):
                self.ledger.close_budget(dataset, analyst=analyst or None, reason="Over.")
            return
        self.ledger.close_budget(dataset, analyst=analyst or None, reason="Over.")
        known.closed = True
        self.model.entries += 1

    @rule(what=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2))
    def note(self, what):
        assert self.ledger.note(what) == self.model.entries + 1
        self.model.entries += 1

    @rule(
        dataset=st.sampled_from(DATASETS),
        analyst=st.sampled_from(("", "", *ANALYSTS)),
        windows=st.sets(st.sampled_from(WINDOWS)),
        loss=losses,
        key=st.sampled_from((None, *KEYS)),
        what=st.sampled_from(("mode", "mode", "top")),
        settle=st.sampled_from(("kept", "kept", "not kept", "never", "later")),
        again=st.booleans(),
    )
    def reserve(self, dataset, analyst, windows, loss, key, what, settle, again):
        expected = self.expected(dataset, analyst, windows, loss, key, what, again)
        options = {
            "analyst": analyst or None,
            "window": sorted(windows) or None,
            "replayable": settle == "kept",
            "again": again,
            "wait": 0,
        }
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.ledger.reserve(dataset, loss, request={"what": what}, key=key, **options)
            return
        reservation = self.ledger.reserve(dataset, loss, request={"what": what}, key=key, **options)
        if isinstance(expected, Release):
            assert reservation.answer == expected
            return
        assert reservation.answer is None
        for name, taken in expected.items():
            budget = self.budget(*name)
            budget.take(taken, loss)
            self.model.budgets[name] = budget
        self.model.entries += 1
        assert reservation.number == self.model.entries
        asked = (dataset, analyst, tuple(sorted(windows)), loss, what)
        self.model.history.append((reservation.number, asked))
        newest = self.ledger.history(dataset, limit=1)[0]
        place = dataset, analyst, key if key is not None else newest.key
        self.model.requests[place] = (asked, "running")
        if settle == "later":
            self.reservations.append((reservation, place))
        elif settle == "never":
            with reservation:
                pass
            self.model.requests[place] = (asked, "lost")
            self.model.entries += key is not None
        else:
            self.settle(reservation, place, kept=settle == "kept")

    def expected(self, dataset, analyst, windows, loss, key, what, again):
        """The error that must come, the answer that must be repeated, or what is charged
        to whom.
        """
        whole = self.model.budgets.get((dataset, "", ""))
        if whole is None or bool(windows) != self.model.windows[dataset]:
            return ParameterError
        if cost(whole, loss) is None:
            return ParameterError
        asked = (dataset, analyst, tuple(sorted(windows)), loss, what)
        before = self.asked_before((dataset, analyst, key), asked, again)
        if before is not None:
            return before
        return self.charged(dataset, analyst, windows, loss)

    def asked_before(self, place, asked, again):
        """What a key that was used before leads to; None where it may be paid for."""
        known, state = self.model.requests.get(place, (asked, "lost"))
        if known != asked:
            return KeyReusedError
        if isinstance(state, Release):
            return state
        if state == "running":
            return ReservationRunningError
        return None if again or place not in self.model.requests else ReservationLostError

    def charged(self, dataset, analyst, windows, loss):
        """What is charged to whom, or the error."""
        known = {name for where, name, _ in self.model.budgets if where == dataset and name}
        if known and analyst not in known:
            return ParameterError
        owners = ("", *({analyst} & known))
        names = [(dataset, name, window) for name in owners for window in sorted(windows) or [""]]
        if any(self.model.budgets[dataset, name, ""].closed for name in owners):
            return BudgetClosedError
        budgets = {name: self.budget(*name) for name in names}
        taken = {name: cost(budget, loss) for name, budget in budgets.items()}
        if None in taken.values():
            return ParameterError
        if any(budget.after(taken[name], loss) is None for name, budget in budgets.items()):
            return BudgetExceededError
        return taken

    def budget(self, dataset, analyst, window):
        found = self.model.budgets.get((dataset, analyst, window))
        whole = self.model.budgets[dataset, analyst, ""]
        return found or Budget(whole.budget, whole.limits, whole.coin, whole.delta_limit)

    def settle(self, reservation, place, kept):
        answer = Release(
            value=reservation.number, loss=reservation.loss, mechanism="test", candidates=None
        )
        assert reservation.settle(answer) == answer
        asked, _ = self.model.requests[place]
        self.model.requests[place] = (asked, answer if kept else "lost")
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
        # who asked is gone, and closing says so
        for _, place in self.reservations:
            self.model.requests[place] = (self.model.requests[place][0], "lost")
        self.reservations.clear()
        self.ledger.close()
        self.ledger = Ledger(self.url, create=False)

    @rule(each=losses)
    def ask_what_fits(self, each):
        for dataset, analyst, window in list(self.model.budgets):
            if self.model.windows[dataset] != bool(window):
                continue
            names = [(dataset, name, window) for name in {"", analyst}]
            budgets = [self.budget(*name) for name in names]
            options = {"analyst": analyst or None, "window": window or None}
            if any(cost(budget, each) is None for budget in budgets):
                with pytest.raises(ParameterError, match="'loss'"):
                    self.ledger.allows(dataset, each, **options)
                continue
            closed = any(self.model.budgets[dataset, name, ""].closed for name in {"", analyst})
            fits = not closed and all(
                budget.after(cost(budget, each), each) is not None for budget in budgets
            )
            assert self.ledger.allows(dataset, each, **options) == fits
            assert (self.ledger.questions_left(dataset, loss=each, **options) > 0) == fits

    @rule()
    def keep_anchor(self):
        self.anchors.append(self.ledger.anchor())

    @invariant()
    def the_accounts_agree(self):
        if not hasattr(self, "ledger"):
            return
        found = {
            (one.dataset, one.analyst or "", one.window or ""): one
            for one in self.ledger.accounts()
        }
        assert found.keys() == self.model.budgets.keys()
        for name, budget in self.model.budgets.items():
            account = found[name]
            sums = account.sums
            assert (sums.epsilon, sums.delta) == (budget.epsilon, budget.delta)
            if budget.limits[1] is not None:
                assert sums.squares == budget.squares
                assert account.rule.squares_limit == budget.limits[1]
            assert account.rule.coin == budget.coin
            assert account.delta_limit == budget.delta_limit
            if not name[2]:
                assert (account.closed is not None) == budget.closed

    @invariant()
    def the_history_agrees(self):
        if not hasattr(self, "ledger"):
            return
        found = self.ledger.history()
        shown = [
            (
                made.number,
                (made.dataset, made.analyst or "", made.windows, made.loss, made.request["what"]),
            )
            for made in reversed(found)
        ]
        assert shown == self.model.history
        assert {made.number for made in found if made.settled} == self.model.settled
        kept = [state for _, state in self.model.requests.values() if isinstance(state, Release)]
        assert {one.release.value for one in self.ledger.answers()} == {one.value for one in kept}

    @invariant()
    def the_chain_holds(self):
        if hasattr(self, "ledger"):
            assert self.ledger.verify(*self.anchors).entries == self.model.entries


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def test_a_ledger_and_its_model_agree():
    run_state_machine_as_test(
        LedgerMachine,
        settings=settings(max_examples=12, stateful_step_count=40, derandomize=True, **QUIET),
    )


@pytest.mark.sizes
@pytest.mark.timeout(1200)
def test_a_ledger_and_its_model_agree_for_long():
    run_state_machine_as_test(
        LedgerMachine, settings=settings(max_examples=400, stateful_step_count=60, **QUIET)
    )
