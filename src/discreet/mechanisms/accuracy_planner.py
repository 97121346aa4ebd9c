"""From a wanted accuracy to the epsilon that gives it, by public numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, exact_decimal, positive, readable
from discreet.literals import MechanismName
from discreet.mechanisms.catalogue import make_mechanism
from discreet.mechanisms.count_lists import ListRequest, make_unknown, squares_of
from discreet.mechanisms.count_noise import default_noise
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.grid import read_share, read_shares
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.privacy.loss import ApproxDP, Loss
from discreet.privacy.parameters import read_delta, read_epsilon, read_probability

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
    sensitivity, monotonic, score_range: of "select", as there.
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
    >>> print(plan_accuracy("mode", within=50, candidates=1000))
    epsilon 0.195. The selected value has at most 50 persons fewer than the best one, with 95 %.
    >>> plan_accuracy("quantile", within=100, q=0.5, points=121).epsilon
    Fraction(39, 500)
    >>> words = {"k": 10, "candidates": 1000, "items_per_person": 1}
    >>> plan_accuracy("top_k", within=200, **words, budget=ApproxDP(1, 1e-6)).epsilon
    Fraction(17, 125)
    """
    owner = "plan_accuracy"
    wanted = exact_decimal(within, "within", owner)
    if wanted < 0:
        raise ParameterError(owner, "within", "at least 0", within)
    described = {name: value for name, value in locals().items() if name in _DESCRIBED}
    told = _told(question, owner, **described)
    found = smallest_epsilon(told, wanted, owner)
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
    The selected value has at most 99 persons fewer than the best one, with 95 %.
    """
    owner = "accuracy_at"
    unknown = sorted(described.keys() - _DESCRIBED)
    if unknown:
        raise ParameterError(
            owner, unknown[0], f"one of {', '.join(sorted(_DESCRIBED))}", unknown[0]
        )
    return _told(question, owner, **described)(read_epsilon(epsilon, None, owner))


_DESCRIBED = frozenset(
    {
        "candidates",
        "k",
        "delta",
        "limit",
        "items_per_person",
        "highest_price",
        "q",
        "points",
        "rows_per_person",
        "sensitivity",
        "monotonic",
        "score_range",
        "mechanism",
        "method",
        "budget",
        "failure_probability",
    }
)
"""What describes a question."""


def _told(
    question: str,
    owner: str,
    *,
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
) -> Callable[[Fraction], Accuracy]:
    """From an epsilon to the accuracy of this question.

    owner: the function that an error names.
    """
    choice(question, PLANNED, "question", owner)
    return _ways(
        _Given(
            candidates,
            k,
            highest_price,
            q,
            points,
            None if budget is None else budget_rule(budget, owner).budget,
            owner,
        ),
        read_probability(failure_probability, "failure_probability", owner),
        named=mechanism or "permute-and-flip",
        stated={"sensitivity": sensitivity, "monotonic": monotonic, "score_range": score_range},
        listed={"delta": delta, "method": method},
        counted={"limit": limit, "items_per_person": items_per_person},
        rows=None if rows_per_person is None else count(rows_per_person, "rows_per_person", owner),
    )[question]


def smallest_epsilon(
    told: Callable[[Fraction], Accuracy], within: Fraction, owner: str
) -> AccuracyPlan:
    """The smallest epsilon of three digits whose bound is small enough.

    told: from an epsilon to the accuracy that it gives; never worse for a larger one.
    """
    low, high = 0, _place(_LARGEST)
    best = told(_LARGEST)
    if best.bound > within:
        rule = f"at least {float(best.bound):.6g}, the bound of epsilon 64"
        raise ParameterError(owner, "within", rule, float(within))
    epsilon = _LARGEST
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


def budget_rule(budget: Loss, owner: str) -> SpendingRule:
    """How a budget counts; a complaint where it is none."""
    from discreet.accounting.budget_rules import SpendingRule

    return SpendingRule.of(budget, owner=owner)


@dataclass(frozen=True, slots=True)
class _Given:
    """What was said about the question, and the function that an error names."""

    candidates: int | None
    k: int | None
    highest_price: Number | None
    q: Number | Sequence[Number] | None
    points: int | None
    budget: Loss | None
    owner: str

    def squares(self, epsilon: Fraction, delta: Number) -> Literal["coins", "rho"] | None:
        """What the budget counts in squares, for this question."""
        if self.budget is None:
            return None
        return squares_of(budget_rule(self.budget, self.owner), epsilon, delta)

    def number(self, name: str) -> int:
        """A number that this question needs."""
        value = getattr(self, name)
        if value is None:
            raise ParameterTypeError(self.owner, name, "given for this question", None)
        return count(value, name, self.owner)


def _ways(
    given: _Given,
    beta: Fraction,
    *,
    named: MechanismName,
    stated: dict[str, Any],
    listed: dict[str, Any],
    counted: dict[str, Any],
    rows: int | None,
) -> dict[str, Callable[[Fraction], Accuracy]]:
    """For each question the way from an epsilon to its accuracy."""
    ranked_by = "persons" if rows is None else "rows"

    def one(epsilon: Fraction, words: dict[str, Any], **range_of: Any) -> Accuracy:
        made = make_mechanism(named, epsilon, **range_of)
        size = given.number("candidates")
        told = made.accuracy(candidates=size, failure_probability=beta)
        return told.in_words(**words) if words else told

    def several(epsilon: Fraction) -> Accuracy:
        # counts, as in Session.top_k: docs/proofs/accuracy.md#counts
        request = ListRequest(
            k=given.number("k"),
            epsilon=epsilon,
            **listed,
            items_per_person=counted["items_per_person"],
            sensitivity=1,
            monotonic=True,
            squares=given.squares(epsilon, listed["delta"]),
            owner=given.owner,
        )
        if given.candidates is None:
            unknown = make_unknown(request, counted["limit"])
            # names only, whose accuracy needs no number of candidates
            assert not isinstance(unknown, CountedSelection)
            told = unknown.accuracy(failure_probability=beta)
        else:
            ranked = replace(request, items_per_person=moved()).make()
            size = ranked.require_enough(given.number("candidates"))
            told = ranked.accuracy(candidates=size, failure_probability=beta)
        most = counted["items_per_person"]
        return told.in_words(unit="persons", thing="value", whole=True, cap=most)

    def moved() -> int:
        """How many counts one person moves: of all candidates, unless something else is said."""
        size, most = given.number("candidates"), counted["items_per_person"]
        return size if most is None else min(size, count(most, "items_per_person", given.owner))

    def histogram(epsilon: Fraction) -> Accuracy:
        # as in Session.counts: docs/proofs/accuracy.md#counts
        small = read_delta(listed["delta"], given.owner)
        noise, _ = default_noise(given.budget, epsilon, small, moved=moved())
        told = noise.accuracy(numbers=given.number("candidates"), failure_probability=beta)
        return told.in_words(unit="persons", cap=counted["items_per_person"])

    def number(epsilon: Fraction) -> Accuracy:
        # as in Session.count: docs/proofs/accuracy.md#counts
        noise, _ = default_noise(given.budget, epsilon, Fraction(0), moved=1)
        return noise.accuracy(failure_probability=beta).in_words(unit="persons")

    def quantile(epsilon: Fraction) -> Accuracy:
        share: Any = given.q
        # complains about a mechanism that finds no quantiles
        pick: Any = named
        share = read_share(share, given.owner)
        made = OneQuantile(q=share, epsilon=epsilon, mechanism=pick, rows=rows or 1)
        told = made.accuracy(points=given.number("points"), failure_probability=beta)
        return told.in_words(unit=ranked_by, cap=rows)

    def quantiles(epsilon: Fraction) -> Accuracy:
        shares: Any = given.q
        made = ManyQuantiles(
            q=read_shares(shares, given.owner),
            epsilon=epsilon,
            grid_size=given.number("points"),
            rows=rows or 1,
            **listed,
        )
        return made.accuracy(failure_probability=beta).in_words(unit=ranked_by, cap=rows)

    def price(epsilon: Fraction) -> Accuracy:
        highest: Any = given.highest_price
        exact = exact_decimal(highest, "highest_price", given.owner)
        # as in Session.best_price: docs/proofs/accuracy.md#counts
        span = positive(exact, highest, "highest_price", given.owner)
        words = {"unit": "revenue", "thing": "price"}
        return one(epsilon, words, sensitivity=span, monotonic=True)

    persons = {"unit": "persons", "thing": "value", "whole": True}
    return {
        "select": partial(one, words={}, **stated),
        # counts, as in Session.mode: docs/proofs/accuracy.md#counts
        "mode": partial(one, words=persons, sensitivity=1, monotonic=True),
        "top_k": several,
        "counts": histogram,
        "count": number,
        "best_price": price,
        "quantile": quantile,
        "quantiles": quantiles,
    }
