"""Slow, obvious, exact: the laws of top-k, of unknown domains and of the gap, by listing every
outcome.

Nothing here imports the package. As in exact.py, candidates are whole multiples of one step
behind the best, so with x = exp(-step) most probabilities are rational functions of x: pairs of a
numerator and a denominator, both exact polynomials. Unknown domains have a threshold that is a
logarithm, so their probabilities are enclosures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

from flint import arb, fmpq, fmpq_poly
from reference.exact import Gaps, evaluate, first_heads, power, softmax

Ranking = tuple[int, ...]
Ratio = tuple[fmpq_poly, fmpq_poly]
"""Numerator and denominator, polynomials in x."""
Law = dict[Ranking, Ratio]

ONE = fmpq_poly([1])


def peeled(
    pick: Callable[[Gaps], tuple[tuple[fmpq_poly, ...], fmpq_poly]], gaps: Gaps, count: int
) -> Law:
    """Pick, take out, pick from those that are left: the product of the probabilities of the
    single picks.
    """

    def chance_of(ranking: Ranking) -> Ratio:
        numerator, denominator, left = ONE, ONE, list(range(len(gaps)))
        for winner in ranking:
            best = min(gaps[candidate] for candidate in left)
            numerators, total = pick(tuple(gaps[candidate] - best for candidate in left))
            numerator, denominator = numerator * numerators[left.index(winner)], denominator * total
            left.remove(winner)
        return numerator, denominator

    return {ranking: chance_of(ranking) for ranking in permutations(range(len(gaps)), count)}


@cache
def plackett_luce(gaps: Gaps, count: int) -> Law:
    """Peeling the exponential mechanism, which is also one-shot Gumbel noise."""
    return peeled(softmax, gaps, count)


@cache
def peeled_first_heads(gaps: Gaps, count: int) -> Law:
    """Peeling permute-and-flip."""
    return peeled(first_heads, gaps, count)


def behind(gaps: Gaps, ranking: Ranking) -> int:
    """The largest amount by which a member of the list is behind the candidate that truly has its
    rank.
    """
    return max(gaps[member] - best for member, best in zip(ranking, sorted(gaps), strict=False))


@cache
def joint(gaps: Gaps, count: int) -> Law:
    """The exponential mechanism over all lists."""
    odds = {
        ranking: power(behind(gaps, ranking)) for ranking in permutations(range(len(gaps)), count)
    }
    total = sum(odds.values(), fmpq_poly([0]))
    return {ranking: (numerator, total) for ranking, numerator in odds.items()}


TOP_K: dict[str, Callable[[Gaps, int], Law]] = {
    "peeling-permute-and-flip": peeled_first_heads,
    "one-shot-gumbel": plackett_luce,
    "joint-exponential": joint,
}
"""Exact laws by the name that a Release has for the mechanism."""


def at(ratio: Ratio, x: arb) -> arb:
    """The value of a probability."""
    return evaluate(ratio[0], x) / evaluate(ratio[1], x)


def decay(step: Fraction) -> arb:
    """x = exp(-step)."""
    return (-arb(fmpq(step.numerator, step.denominator))).exp()


@cache
def one_shot_exponential(gaps: Gaps) -> Law:
    """The two highest of all scores with exponential noise that is added *once*: not the same as
    peeling permute-and-flip.

    The integral over m, the noisy score of the second, of its density, the chance of the first to
    be above m, and the chances of all others to be below. Below the first one's true score its
    chance is 1; above, it falls like e^-m. All pieces are sums of e^(-n m).
    """

    def piece(raised: list[int], lowered: list[int], start: int) -> fmpq_poly:
        """Integral from -start steps to infinity of prod e^-(m + gap) over `raised` times prod (1
        - e^-(m + gap)) over `lowered`.
        """
        total = fmpq_poly([0])
        for size in range(len(lowered) + 1):
            for subset in combinations(lowered, size):
                terms = [gap - start for gap in (*raised, *subset)]
                total += power(sum(terms)) * fmpq((-1) ** size, len(terms))
        return total

    def chance_of(first: int, second: int) -> fmpq_poly:
        others = [gap for candidate, gap in enumerate(gaps) if candidate not in (first, second)]
        lowest = (
            min(gaps[second], *others) if others else gaps[second]
        )  # m is at least the true score of all but the first
        turn = min(lowest, gaps[first])
        total = piece([gaps[second], gaps[first]], others, turn)
        if turn < lowest:  # between: the first one is above m for certain
            total += piece([gaps[second]], others, lowest) - piece([gaps[second]], others, turn)
        return total

    return {
        (first, second): (chance_of(first, second), ONE)
        for first, second in permutations(range(len(gaps)), 2)
    }


@cache
def gumbel_gap(gaps: Gaps, winner: int, steps: int) -> Ratio:
    """Pr[this winner, and at least so many steps ahead of the runner-up]: it would also win if
    all others were raised.
    """
    mine = power(gaps[winner] + steps)
    others = sum(
        (power(gap) for candidate, gap in enumerate(gaps) if candidate != winner), fmpq_poly([0])
    )
    return mine, mine + others


@cache
def exponential_gap(gaps: Gaps, winner: int, steps: int) -> Ratio:
    """The same with exponential noise: E[min(1, e^-(m + steps - score))] over the highest noisy
    score m of the others.

    Let m be at least c = max(best of the others, score - steps): up to c the winner is far enough
    ahead for certain.
    """
    others = [gap for candidate, gap in enumerate(gaps) if candidate != winner]
    start = min(*others, gaps[winner] + steps) if others else gaps[winner] + steps
    total = ONE
    for gap in others:
        total *= ONE - power(gap - start)  # Pr[m <= c]
    for size in range(1, len(others) + 1):
        for subset in combinations(others, size):
            exponent = gaps[winner] + steps - start + sum(gap - start for gap in subset)
            total += power(exponent) * fmpq((-1) ** (size + 1) * size, size + 1)
    return total, ONE


GAPS: dict[str, Callable[[Gaps, int, int], Ratio]] = {
    "gumbel": gumbel_gap,
    "exponential": exponential_gap,
}
"""Pr[winner, gap at least so many steps] by the kind of noise."""


def gap_cells(noise: str, gaps: Gaps, unit: int, count: int, x: arb) -> dict[tuple[int, int], arb]:
    """Pr[winner, floor(gap / unit) = n] for n below `count`, and for `count` that it is at least
    that.
    """
    law, cells = GAPS[noise], {}
    for winner in range(len(gaps)):
        marks = [at(law(gaps, winner, place * unit), x) for place in range(count + 1)]
        for place in range(count):
            cells[winner, place] = marks[place] - marks[place + 1]
        cells[winner, count] = marks[count]
    return cells


Counts = tuple[int, ...]
Items = tuple[int, ...]
"""The items that were named, most frequent first; shorter than asked for if the list ended with
⊥.
"""


def threshold(items: int, delta: Fraction, epsilon: Fraction) -> arb:
    """How far ⊥ has to be above the crowd if one person can bring in so many items: 1 + ln(items
    / delta) / epsilon.
    """
    ratio, rate = items / delta, arb(fmpq(epsilon.numerator, epsilon.denominator))
    return 1 + arb(fmpq(ratio.numerator, ratio.denominator)).log() / rate


def taking_part(counts: Counts, limit: int) -> Iterator[tuple[Fraction, Items, int]]:
    """All sets of items that can take part, how likely each is, and the largest count among those
    that do not.
    """
    seen = [item for item, count in enumerate(counts) if count > 0]
    sets = list(combinations(seen, min(limit, len(seen))))
    most = max(sum(counts[item] for item in chosen) for chosen in sets)
    largest = [chosen for chosen in sets if sum(counts[item] for item in chosen) == most]
    for chosen in largest:
        yield (
            Fraction(1, len(largest)),
            chosen,
            max((counts[item] for item in seen if item not in chosen), default=0),
        )


def limited_domain(
    counts: Counts, k: int, limit: int, epsilon: Fraction, height: arb, *, nameless: bool = True
) -> dict[Items, arb]:
    """Every list and its probability. nameless: fill free places with items of count 0 that have
    no name.
    """
    rate = arb(fmpq(epsilon.numerator, epsilon.denominator))
    result: dict[Items, arb] = {}

    def go_on(list_so_far: Items, likelihood: arb, odds: dict[int, arb], end: arb) -> None:
        if len(list_so_far) == k:
            result[list_so_far] = result.get(list_so_far, arb(0)) + likelihood
            return
        total = sum(odds.values(), end)
        result[list_so_far] = result.get(list_so_far, arb(0)) + likelihood * end / total
        for item, weight in odds.items():
            left = {other: size for other, size in odds.items() if other != item}
            go_on((*list_so_far, item), likelihood * weight / total, left, end)

    for share, chosen, next_count in taking_part(counts, limit):
        end = (rate * (next_count + height)).exp() + (limit - len(chosen) if nameless else 0)
        odds = {item: (rate * counts[item]).exp() for item in chosen}
        go_on((), arb(fmpq(share.numerator, share.denominator)), odds, end)
    return result


def hockey_stick(mine: dict[Items, arb], theirs: dict[Items, arb], epsilon: Fraction) -> arb:
    """The smallest delta for which (epsilon, delta)-DP holds between two distributions, in one
    direction.
    """
    factor = arb(fmpq(epsilon.numerator, epsilon.denominator)).exp()
    total = arb(0)
    for outcome, likelihood in mine.items():
        excess = likelihood - factor * theirs.get(outcome, arb(0))
        if not excess <= 0:
            total += excess if excess > 0 else abs(excess).upper()
    return total
