"""Before the first query: how much each of many may cost, and how many there can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting import adaptive_grid as grid
from discreet.accounting import renyi
from discreet.accounting.analyses import (
    MANY,
    NON_ADAPTIVE_ONLY,
    Losses,
    basic_delta,
    gaussian_together_delta,
    kov_delta,
    pairs_profile,
    rdp_delta,
    zcdp_delta,
)
from discreet.accounting.dominating_pairs import BLOCK
from discreet.accounting.two_point import delta_non_adaptive, quick_delta, slack
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.rationals import count, round_down
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    is_loss,
)

Kind = type[BoundedRange] | type[PureDP]

_EACH = (BoundedRange, LogisticDP, GaussianDP, PureDP, ZCDP, ApproxDP)
_WITHOUT_END = 10**18
# the efforts of the runs of the adaptive grid: a rough one first
_PLAN_EFFORTS = (1e7, 4e7, 4e7, 4e7)
# an epsilon that any analysis can compute with
_TINY = Fraction(1, 2**20)
# a plan may leave this share of delta unused
_CLOSE = 0.005


@dataclass(frozen=True, slots=True)
class Plan:
    """What each of many queries may cost.

    loss: what each query may cost, rounded down.
    method: the analysis that allows it.
    queries, budget, adaptive: what was asked for.
    alternatives: what each analysis would have allowed, or None where it does not
        apply.
    """

    loss: BoundedRange | PureDP
    method: str
    queries: int
    budget: Loss
    adaptive: bool
    alternatives: Mapping[str, Fraction | None]

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of each query."""
        return self.loss.epsilon

    def __repr__(self) -> str:
        return (
            f"Plan(loss={self.loss!r}, method={self.method!r}, queries={self.queries}, "
            f"budget={self.budget!r})"
        )

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, facts, table

        told = [
            ("each", repr(self.loss)),
            ("queries", f"{self.queries:,}{'' if self.adaptive else ', all fixed in advance'}"),
            ("budget", repr(self.budget)),
        ]
        others = [
            # what is allowed, never more than it is
            [name, "does not apply" if not value else f"{float(round_down(value, 6)):.6g}"]
            for name, value in self.alternatives.items()
        ]
        return card("Plan", facts(told), table(["analysis", "epsilon of each"], others))


@public_function("plan")
def plan(*, queries: int, budget: Loss, kind: Kind = BoundedRange, adaptive: bool = True) -> Plan:
    """The largest epsilon that each of `queries` equal queries may have so that all
    together stay within the budget.

    kind: BoundedRange for exponential mechanisms, PureDP for permute-and-flip and
        everything else.
    adaptive: True if a query may depend on earlier answers. Say False only if all are
        fixed beforehand.

    >>> from discreet import ApproxDP
    >>> result = plan(queries=100, budget=ApproxDP(1, 1e-6))
    >>> 0.0472 < result.epsilon < 0.0475, result.method
    (True, 'bounded-range-adaptive')
    """
    queries = count(queries, "queries")
    _read_adaptive(adaptive)
    if kind is not BoundedRange and kind is not PureDP:
        raise ParameterTypeError("kind", "BoundedRange or PureDP", kind)
    budget = _read_budget(budget)
    found = _by_every_analysis(queries, budget, kind is PureDP)
    best, method = max(
        (value, name)
        for name, value in found.items()
        if value and not (adaptive and name in NON_ADAPTIVE_ONLY)
    )
    shown = {
        name: None if value is None else round_down(value) if value else value
        for name, value in found.items()
    }
    return Plan(kind(round_down(best)), method, queries, budget, adaptive, shown)


# a list of winners is planned for each question, and the adaptive and the other plan are one search
@lru_cache(maxsize=64)
def _by_every_analysis(
    queries: int, budget: PureDP | ZCDP | ApproxDP, pure: bool
) -> Mapping[str, Fraction | None]:
    kind: Kind = PureDP if pure else BoundedRange
    return {name: search(queries, budget, kind) for name, search in _PLANS.items()}


@public_function("queries_allowed")
def queries_allowed(*, each: Loss, budget: Loss, adaptive: bool = True) -> int:
    """How many queries of this loss stay within the budget together.

    >>> from discreet import ApproxDP
    >>> queries_allowed(each=BoundedRange(0.1), budget=ApproxDP(1, 1e-6))
    22
    """
    _read_adaptive(adaptive)
    return max(
        value
        for name, value in queries_by_analysis(each=each, budget=budget).items()
        if value is not None and not (adaptive and name in NON_ADAPTIVE_ONLY)
    )


@public_function("queries_allowed")
def queries_by_analysis(*, each: Loss, budget: Loss) -> dict[str, int | None]:
    """How many queries of this loss fit the budget, by each analysis; None where one
    does not apply.
    """
    budget = _read_budget(budget)
    if not is_loss(each, *_EACH):
        raise ParameterTypeError("each", "a loss", each)
    if isinstance(budget, PureDP):
        if not isinstance(each, (BoundedRange, LogisticDP, PureDP)):
            rule = "PureDP, BoundedRange or LogisticDP for a pure budget"
            raise ParameterError("each", rule, each)
        return {"basic": int(budget.epsilon // each.epsilon)}
    if isinstance(budget, ZCDP):
        read = Losses.read([each])
        if read.delta:
            raise ParameterError(
                "each",
                "without a delta of its own for a concentrated budget",
                each,
            )
        return {"zcdp": int(budget.rho // read.rho)}
    return dict(_allowed_by_approx(each, budget))


@lru_cache(maxsize=64)
def _allowed_by_approx(each: Loss, budget: ApproxDP) -> Mapping[str, int | None]:
    def fits(direction: Callable[[Losses, Fraction], Fraction | None]) -> Callable[[int], bool]:
        def good(queries: int) -> bool:
            losses = Losses.read({each: queries})
            value = direction(losses, budget.epsilon)
            return value is not None and value + losses.delta <= budget.delta

        return good

    impure = isinstance(each, (ZCDP, GaussianDP))
    found: dict[str, int | None] = {
        "basic": None if impure else _largest_count(fits(basic_delta), _WITHOUT_END),
        "kov": None if impure else _largest_count(fits(kov_delta), MANY),
        "zcdp": _largest_count(fits(zcdp_delta), _WITHOUT_END),
        "rdp": _largest_count(fits(rdp_delta), _WITHOUT_END),
        "bounded-range-adaptive": None,
        "gaussian-noise": None,
        "dominating-pairs": None,
        "bounded-range-non-adaptive": None,
    }
    if isinstance(each, BoundedRange):
        most = _count_non_adaptive(each, budget)
        found["bounded-range-non-adaptive"] = most
        found["bounded-range-adaptive"] = _count_on_grid(each, most, budget)
        found["dominating-pairs"] = _count_by_blocks(each, found["rdp"] or 0, most, budget)
    elif isinstance(each, GaussianDP):
        found["gaussian-noise"] = _largest_count(fits(gaussian_together_delta), _WITHOUT_END)
    elif isinstance(each, LogisticDP):
        found["dominating-pairs"] = _count_by_pairs(each, found["rdp"] or 0, budget)
    return found


def _count_non_adaptive(each: BoundedRange, budget: ApproxDP) -> int:
    """How many queries of one range fit, found with the quick search and then certified."""

    def good(queries: int) -> bool:
        return quick_delta(each.epsilon, queries, budget.epsilon) <= budget.delta / (
            1 + slack(queries)
        )

    most = _largest_count(good, MANY)
    while most and delta_non_adaptive(each.epsilon, most, budget.epsilon).high > budget.delta:
        most -= 1
    return most


def _count_on_grid(each: BoundedRange, most: int, budget: ApproxDP) -> int | None:
    """The adaptive bracket stage by stage, until it exceeds delta; at most the non-adaptive count.

    A single query depends on no answer: for it the non-adaptive certificate is enough,
    and `plan` goes by that one too.
    """
    if most <= 1:
        return most
    reach = (
        float(renyi.epsilon_of(renyi.total_curve({each: most}), budget.delta / 10**6))
        if budget.delta
        else float(budget.epsilon)
    )
    layout = grid.layout_for({each: most}, reach)
    if layout is None:
        return None
    stages = grid.Grid(layout.step, layout.reach, max(layout.cells), lower=False)
    values = stages.start
    for queries in range(1, most + 1):
        values = stages.range_stage(values, layout.cells[0])
        if (
            queries * each.epsilon > budget.epsilon
            and grid.Curve(layout.step, *values).delta(budget.epsilon).high > budget.delta
        ):
            return queries - 1
    return most


def _count_by_blocks(each: BoundedRange, known: int, most: int, budget: ApproxDP) -> int | None:
    """More than a block of them, and at most the non-adaptive count, by dominating pairs."""
    low = max(known, BLOCK)
    found = _last_good(lambda queries: _fits_by_pairs(each, queries, budget), low, most + 1)
    return found if found > low else None


def _count_by_pairs(each: LogisticDP, known: int, budget: ApproxDP) -> int | None:
    """At least two of them, by dominating pairs; `known` is good by another analysis."""

    def good(queries: int) -> bool:
        return _fits_by_pairs(each, queries, budget)

    low = high = min(max(known, 1), MANY)
    while high < MANY and (high == low or good(high)):
        low, high = high, min(MANY, high + max(1, high // 4))
    found = _last_good(good, low, high)
    return found if found > 1 and good(found) else None


def _fits_by_pairs(each: Loss, queries: int, budget: ApproxDP) -> bool:
    reached = _by_pairs(each, queries, budget)
    return reached is not None and reached <= budget.delta


def _by_pairs(each: Loss, queries: int, budget: ApproxDP) -> Fraction | None:
    """The delta of this many queries at the budget's epsilon."""
    profile = pairs_profile(Losses({each: queries}, Fraction(0)), budget.delta)
    return None if profile is None else profile.delta(budget.epsilon)


def _largest_count(good: Callable[[int], bool], limit: int) -> int:
    """The largest number up to the limit that is good, where smaller ones are good too."""
    low, high = 0, 1
    while high <= limit and good(high):
        low, high = high, 2 * high
    return _last_good(good, low, min(high, limit + 1))


def _last_good(good: Callable[[int], bool], low: int, high: int) -> int:
    """The last good number between one that is good, or stands for none, and one that is not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _largest(good: Callable[[Fraction], bool], start: Fraction, halvings: int = 50) -> Fraction:
    """The largest epsilon that is good, from below; `start` is good or nothing is known to be."""
    if not good(start):
        return Fraction(0)

    low, times = start, 1
    # by ever longer steps and back: a start may be hundreds of digits too small
    while low * 2 ** (2 * times) < _TINY and good(low * 2**times):
        low, times = low * 2**times, 2 * times
    while times > 1:
        times //= 2
        low = low * 2**times if good(low * 2**times) else low
    while good(2 * low):
        low *= 2
    high = 2 * low
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _plan_basic(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
    return budget.epsilon / queries if isinstance(budget, (PureDP, ApproxDP)) else None


def _plan_with(
    direction: Callable[[Losses, Fraction], Fraction | None],
) -> Callable[[int, Loss, Kind], Fraction | None]:
    """Search for the epsilon at which an analysis gives the budget's delta."""

    def search(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
        if not isinstance(budget, ApproxDP) or not budget.delta:
            return None

        def good(epsilon: Fraction) -> bool:
            value = direction(Losses({kind(epsilon): queries}, Fraction(0)), budget.epsilon)
            return value is not None and value <= budget.delta

        return _largest(good, budget.epsilon / (2 * queries))

    return search


def _plan_zcdp(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
    if isinstance(budget, ApproxDP) and budget.delta:
        rho = renyi.largest_rho(budget.epsilon, budget.delta)
    elif isinstance(budget, ZCDP):
        rho = budget.rho
    else:
        return None
    if not rho:
        return None
    return _largest(
        lambda epsilon: Losses({kind(epsilon): queries}, Fraction(0)).rho <= rho,
        rho / (queries + 1),
    )


def _plan_non_adaptive(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
    if (
        kind is not BoundedRange
        or not isinstance(budget, ApproxDP)
        or not budget.delta
        or queries > MANY
    ):
        return None
    return _optimum(queries, budget)


# two other plans begin with it
@lru_cache(maxsize=8)
def _optimum(queries: int, budget: ApproxDP) -> Fraction:
    # so that the certificate, which is that much looser, usually holds at once
    goal = budget.delta / (1 + slack(queries))
    found = _largest(
        lambda epsilon: quick_delta(epsilon, queries, budget.epsilon) <= goal,
        budget.epsilon / (2 * queries),
        40,
    )
    step = found / 2**30
    while delta_non_adaptive(found, queries, budget.epsilon).high > budget.delta:
        found, step = found - step, step * 4
    return found


def _plan_adaptive(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
    """An epsilon a little below what is optimal without adaptivity, by a few runs of the grid."""
    if kind is not BoundedRange or not isinstance(budget, ApproxDP) or not budget.delta:
        return None
    most = _PLANS["bounded-range-non-adaptive"](queries, budget, kind)
    if not most or queries == 1:
        return most
    reach = float(
        renyi.epsilon_of(renyi.total_curve({BoundedRange(most): queries}), budget.delta / 10**6)
    )
    efforts = iter(_PLAN_EFFORTS)

    def reached_by(guess: Fraction) -> Fraction | None:
        counts: dict[Loss, int] = {BoundedRange(guess): queries}
        curve = grid.curve_for(counts, reach, next(efforts), lower=False)
        return None if curve is None else Fraction(curve.delta(budget.epsilon).high)

    return _approached(reached_by, most, queries, budget)


def _plan_by_blocks(queries: int, budget: Loss, kind: Kind) -> Fraction | None:
    """Plan for more queries than a block has, by dominating pairs."""
    if (
        kind is not BoundedRange
        or not isinstance(budget, ApproxDP)
        or not budget.delta
        or queries <= BLOCK
    ):
        return None
    most = _PLANS["bounded-range-non-adaptive"](queries, budget, kind)
    if not most:
        return None
    return _approached(
        lambda guess: _by_pairs(BoundedRange(guess), queries, budget), most, queries, budget
    )


def _approached(
    reached_by: Callable[[Fraction], Fraction | None],
    most: Fraction,
    queries: int,
    budget: ApproxDP,
) -> Fraction | None:
    """The largest epsilon that was found to fit, up to `most`: each try shows where to go next."""
    # delta grows about like this power of epsilon
    more = quick_delta(most * Fraction(101, 100), queries, budget.epsilon)
    if not more > float(budget.delta) > 0:
        # beyond floats
        return None
    power = math.log(more / float(budget.delta)) / math.log(1.01)
    guess, best = most * Fraction(995, 1000), None
    for _ in _PLAN_EFFORTS:
        guess = round_down(guess, 12)
        reached = reached_by(guess)
        if reached is None:
            return best
        # only where to go next; the logarithm of two floats decides nothing
        excess = max(-1.0, math.log(float(reached) / float(budget.delta)))
        if reached <= budget.delta:
            best = guess if best is None else max(best, guess)
            if excess > -_CLOSE:
                break
        guess = min(most, guess * Fraction(math.exp(-(excess + _CLOSE / 2) / power)))
    return best


_PLANS: dict[str, Callable[[int, Loss, Kind], Fraction | None]] = {
    "basic": _plan_basic,
    "kov": _plan_with(kov_delta),
    "zcdp": _plan_zcdp,
    "rdp": _plan_with(rdp_delta),
    "bounded-range-adaptive": _plan_adaptive,
    # only for Gaussian noise, and a plan is for selections
    "gaussian-noise": lambda queries, budget, kind: None,
    "dominating-pairs": _plan_by_blocks,
    "bounded-range-non-adaptive": _plan_non_adaptive,
}


def _read_adaptive(adaptive: object) -> None:
    if not isinstance(adaptive, bool):
        raise ParameterTypeError("adaptive", "True or False", adaptive)


def _read_budget(budget: object) -> PureDP | ZCDP | ApproxDP:
    if not (is_loss(budget) and isinstance(budget, (PureDP, ZCDP, ApproxDP))):
        raise ParameterTypeError("budget", "PureDP, ZCDP or ApproxDP", budget)
    if isinstance(budget, ApproxDP) and not budget.delta:
        return PureDP(budget.epsilon)
    return budget
