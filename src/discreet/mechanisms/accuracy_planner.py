"""From a wanted accuracy to the epsilon that gives it, by public numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ParameterTypeError, called_as, public_function
from discreet.exact.rationals import Number, choice, count, exact_decimal, positive, readable
from discreet.literals import MechanismName
from discreet.mechanisms.count_lists import ListRequest, make_unknown
from discreet.mechanisms.count_noise import CountNoise, accuracy_of_counts
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.grid import read_share, read_shares
from discreet.mechanisms.prices import Price, default_noise
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.mechanisms.selection import make_mechanism
from discreet.privacy.loss import ApproxDP, Loss, PureDP
from discreet.privacy.parameters import ScoreRange, read_delta, read_epsilon, read_probability

if TYPE_CHECKING:
    from discreet.accounting.budget_rules import SpendingRule

PLANNED = (
    *("select", "mode", "top_k", "counts", "count"),
    *("best_price", "quantile", "quantiles"),
)
"""The questions whose accuracy can be planned."""

# epsilons with three digits, from a millionth to what counts as private at all
_DIGITS, _FIRST_DECADE, _LARGEST = 900, -8, Fraction(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyPlan:
    """The smallest epsilon, of three digits or all of a budget, that is accurate enough.

    epsilon: what the question then costs.
    accuracy: how far off its answer can be then.
    """

    epsilon: Fraction
    accuracy: Accuracy

    def __str__(self) -> str:
        return f"epsilon {readable(self.epsilon)}. {self.accuracy}"


@public_function("plan_accuracy")
def plan_accuracy(
    question: str,
    *,
    within: Number,
    candidates: int | None = None,
    k: int | None = None,
    delta: Number = 0,
    limit: int | None = None,
    items_per_person: int | None = None,
    highest_price: Number | None = None,
    q: Number | Sequence[Number] | None = None,
    points: int | None = None,
    rows_per_person: int | None = None,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    mechanism: MechanismName | None = None,
    method: str = "auto",
    budget: Loss | None = None,
    failure_probability: Number = USUAL_FAILURE,
) -> AccuracyPlan:
    """The epsilon that a question needs for a wanted accuracy. Free: there is no table.

    question: "mode", "top_k", "counts", "count", "best_price", "quantile" or
        "quantiles", as a `Session` has them, or "select".
    within: how far off the answer may be, in the question's own unit: persons, revenue,
        or the score of a selection.
    candidates: how many there are to choose from; for a "top_k" of an unknown domain
        leave it out, and give `delta`, and `limit` or `items_per_person`.
    highest_price: of a "best_price", the highest of the `candidates` prices.
    q, points: of quantiles, the share or shares, and how many points the grid has.
    sensitivity, monotonic, score_range: as for `select`.
    mechanism, method, k, delta, limit, items_per_person, rows_per_person: as in the
        question.
    budget: of the session that will be asked, which says how a list of items of which a
        person has few is drawn, and which noise counts get. Left out, one in which
        epsilons add up, `PureDP`, or one that the question takes as a whole. An epsilon
        beyond that of the budget does not fit it.
    failure_probability: how often the answer may be farther off.

    Utility: what the stated bound needs, which holds for the worst data; the usual
        error is smaller.

    >>> from discreet import ApproxDP
    >>> print(plan_accuracy("mode", within=50, candidates=1000))  # doctest: +NORMALIZE_WHITESPACE
    epsilon 0.181. With 95% confidence, the chosen value is at most 50 people behind the most
    frequent one.
    >>> plan_accuracy("quantile", within=100, q=0.5, points=121).epsilon
    Fraction(71, 1000)
    >>> words = {"k": 10, "candidates": 1000, "items_per_person": 1}
    >>> plan_accuracy("top_k", within=200, **words, budget=ApproxDP(1, 1e-6)).epsilon
    Fraction(63, 1000)
    """
    wanted = exact_decimal(within, "within")
    if wanted < 0:
        raise ParameterError("within", "at least 0", within)
    described = {name: value for name, value in locals().items() if name in _names()}
    told = _way(question, described)
    if budget is not None:
        # beyond the prices in coins an epsilon buys less than a smaller one did
        paid = _last_in_squares(budget_rule(budget))
        if paid and told(_epsilon(paid)).bound <= wanted:
            return smallest_epsilon(told, wanted, most=_epsilon(paid))
    found = smallest_epsilon(told, wanted)
    if isinstance(budget, ApproxDP) and budget.epsilon < found.epsilon:
        # a question that takes the budget as a whole is drawn better than its neighbours
        whole = told(budget.epsilon)
        if whole.bound <= wanted:
            return AccuracyPlan(epsilon=budget.epsilon, accuracy=whole)
    return found


def accuracy_at(question: str, *, epsilon: Number, **described: Any) -> Accuracy:
    """How far off the answer to a question can be at an epsilon. Free: there is no table.

    question, described: as for `plan_accuracy`, without `within`.

    >>> print(accuracy_at("mode", epsilon=0.1, candidates=1000))
    With 95% confidence, the chosen value is at most 92 people behind the most frequent one.
    """
    names = _names()
    with called_as("accuracy_at", {"question", "epsilon"} | names):
        for name in sorted(described.keys() - names):
            raise ParameterError(name, f"one of {', '.join(sorted(names))}", name)
        return _way(question, described)(read_epsilon(epsilon, None))


def _names() -> set[str]:
    """The parameters that describe a question."""
    return {each.name for each in fields(_Described)}


def _way(question: str, described: dict[str, Any]) -> Callable[[Fraction], Accuracy]:
    """From an epsilon to the accuracy of this question."""
    choice(question, PLANNED, "question")
    way: Callable[[Fraction], Accuracy] = getattr(_Described(**described), question)
    return way


def _last_in_squares(rule: SpendingRule) -> int:
    """The place of the largest epsilon that is paid for in coins; 0 where none is."""
    if rule.counting != "coins":
        return 0
    low, high = 0, _place(_LARGEST)
    while low < high:
        middle = (low + high + 1) // 2
        paid = Price(rule, _epsilon(middle)).squares is not None
        low, high = (middle, high) if paid else (low, middle - 1)
    return low


def smallest_epsilon(
    told: Callable[[Fraction], Accuracy], within: Fraction, most: Fraction = _LARGEST
) -> AccuracyPlan:
    """The smallest epsilon of three digits, up to `most`, whose bound is small enough.

    told: from an epsilon to the accuracy that it gives; never worse for a larger one.
    """
    low, high = 0, _place(most)
    best = told(most)
    if best.bound > within:
        rule = f"at least {float(best.bound):.6g}, the bound of epsilon 64"
        raise ParameterError("within", rule, float(within))
    epsilon = most
    while low < high:
        middle = (low + high) // 2
        accuracy = told(_epsilon(middle))
        if accuracy.bound <= within:
            high, epsilon, best = middle, _epsilon(middle), accuracy
        else:
            low = middle + 1
    return AccuracyPlan(epsilon=epsilon, accuracy=best)


def _epsilon(place: int) -> Fraction:
    decade, digits = divmod(place, _DIGITS)
    return (100 + digits) * Fraction(10) ** (_FIRST_DECADE + decade)


def _place(epsilon: Fraction) -> int:
    """The place of an epsilon of three digits, from 1 to 99.9, in their order."""
    decade = 0 if epsilon < 10 else 1
    return _DIGITS * (decade - 2 - _FIRST_DECADE) + int(epsilon * 10 ** (2 - decade)) - 100


def budget_rule(budget: Loss) -> SpendingRule:
    """How a budget counts; a complaint where it is none."""
    from discreet.accounting.budget_rules import SpendingRule

    return SpendingRule.of(budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Described:
    """What describes a question, as `plan_accuracy` says, with a method for each question: the
    way from an epsilon to its accuracy.
    """

    candidates: int | None = None
    k: int | None = None
    delta: Number = 0
    limit: int | None = None
    items_per_person: int | None = None
    highest_price: Number | None = None
    q: Number | Sequence[Number] | None = None
    points: int | None = None
    rows_per_person: int | None = None
    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | None = None
    mechanism: MechanismName | None = None
    method: Any = "auto"
    budget: Loss | None = None
    failure_probability: Number = USUAL_FAILURE

    def __post_init__(self) -> None:
        read_probability(self.failure_probability, "failure_probability")
        if self.budget is not None:
            budget_rule(self.budget)
        if self.rows_per_person is not None:
            count(self.rows_per_person, "rows_per_person")

    @property
    def _beta(self) -> Fraction:
        return read_probability(self.failure_probability, "failure_probability")

    def _number(self, name: str) -> int:
        """A number that this question needs."""
        value = getattr(self, name)
        if value is None:
            raise ParameterTypeError(name, "given for this question", None)
        return count(value, name)

    def _moved(self) -> int:
        """How many counts one person moves: of all candidates, unless something else is said."""
        size, most = self._number("candidates"), self.items_per_person
        return size if most is None else min(size, count(most, "items_per_person"))

    def _price(self, epsilon: Fraction) -> Price | None:
        """What an epsilon buys in the budget; nothing is known where none is given."""
        return None if self.budget is None else Price(budget_rule(self.budget), epsilon)

    def _noise(self, epsilon: Fraction, delta: Fraction, size: int, most: int | None) -> CountNoise:
        """Noise for counts; in a budget in which epsilons add up, where none is given."""
        # docs/proofs/accuracy.md#counts
        price = self._price(epsilon) or Price(budget_rule(PureDP(1)), epsilon)
        return default_noise(price, delta, items=size, items_per_person=most)[0]

    def _mechanism(self, epsilon: Fraction) -> Any:
        """The mechanism that was named, or the one that suits the budget."""
        price = self._price(epsilon)
        return self.mechanism or ("permute-and-flip" if price is None else price.mechanism)

    def _one(self, epsilon: Fraction, span: ScoreRange) -> Accuracy:
        """The accuracy of one winner."""
        made = make_mechanism(self._mechanism(epsilon), epsilon, span)
        size = self._number("candidates")
        return made.accuracy(candidates=size, failure_probability=self._beta)

    def select(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of `discreet.select`."""
        # as was said, which is for the caller to say: docs/proofs/accuracy.md#winners
        span = ScoreRange(
            sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range
        )
        return self._one(epsilon, span)

    def mode(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.mode."""
        # counts, as in Session.mode: docs/proofs/accuracy.md#counts
        told = self._one(epsilon, ScoreRange(sensitivity=1, monotonic=True))
        return told.in_words(unit="persons", thing="value", whole=True)

    def top_k(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.top_k."""
        # counts, as in Session.top_k: docs/proofs/accuracy.md#counts
        request = ListRequest(
            k=self._number("k"),
            epsilon=epsilon,
            delta=self.delta,
            method=self.method,
            items_per_person=self.items_per_person,
            sensitivity=1,
            monotonic=True,
            price=self._price(epsilon),
            candidates=self.candidates,
        )
        if self.candidates is None:
            unknown = make_unknown(request, self.limit)
            # names only, whose accuracy needs no number of candidates
            assert not isinstance(unknown, CountedSelection)
            told = unknown.accuracy(failure_probability=self._beta)
        else:
            ranked = replace(request, items_per_person=self._moved()).make()
            size = ranked.require_enough(self._number("candidates"))
            told = ranked.accuracy(candidates=size, failure_probability=self._beta)
        return told.in_words(unit="persons", thing="value", whole=True, cap=self.items_per_person)

    def counts(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.counts."""
        # as in Session.counts: docs/proofs/accuracy.md#counts
        small = read_delta(self.delta)
        size = self._number("candidates")
        noise = self._noise(epsilon, small, size, self.items_per_person)
        told = accuracy_of_counts(noise, size, self._beta)
        return told.in_words(unit="persons", cap=self.items_per_person)

    def count(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.count."""
        # as in Session.count: docs/proofs/accuracy.md#counts
        noise = self._noise(epsilon, Fraction(0), 1, 1)
        return accuracy_of_counts(noise, 1, self._beta).in_words(unit="persons")

    def best_price(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.best_price."""
        highest: Any = self.highest_price
        exact = exact_decimal(highest, "highest_price")
        # as in Session.best_price: docs/proofs/accuracy.md#counts
        span = positive(exact, highest, "highest_price")
        told = self._one(epsilon, ScoreRange(sensitivity=span, monotonic=True))
        return told.in_words(unit="revenue", thing="price")

    def quantile(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.quantile."""
        share: Any = self.q
        made = OneQuantile(
            q=read_share(share),
            epsilon=epsilon,
            # complains about one that finds no quantiles
            mechanism=self._mechanism(epsilon),
            rows=self.rows_per_person or 1,
        )
        told = made.accuracy(points=self._number("points"), failure_probability=self._beta)
        return told.in_words(unit=self._ranked, cap=self.rows_per_person)

    def quantiles(self, epsilon: Fraction) -> Accuracy:
        """The accuracy of Session.quantiles."""
        shares: Any = self.q
        made = ManyQuantiles(
            q=read_shares(shares),
            epsilon=epsilon,
            delta=self.delta,
            method=self.method,
            grid_size=self._number("points"),
            rows=self.rows_per_person or 1,
            price=self._price(epsilon),
        )
        told = made.accuracy(failure_probability=self._beta)
        return told.in_words(unit=self._ranked, cap=self.rows_per_person)

    @property
    def _ranked(self) -> str:
        return "persons" if self.rows_per_person is None else "rows"
