"""The best answer for the price: what each method reaches at the price of one selection.

For every kind of budget, counts of people and lists are asked for at the price of one
selection of an epsilon, with every method that discreet has for them. Errors are those
of many draws; for counts the root of the mean square, for lists the mean of how far the
list is behind the best one, in people. `auto` is what `Price` names for counts, and
picks for lists.

    python benchmarks/best_for_the_price.py            # prints a table
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import ZCDP, ApproxDP, Loss, PureDP
from discreet.accounting.privacy_filter import BudgetRule
from discreet.mechanisms import (
    CorrelatedCounts,
    DiscreteLaplace,
    JointTopK,
    PeelingTopK,
    RoundedGaussian,
)
from discreet.mechanisms.prices import NoiseForCounts, Price
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

BUDGETS = (PureDP(1), ZCDP(Fraction(1, 10)), ApproxDP(1, 1e-6), ApproxDP(1, 1e-9))
EPSILON = Fraction(1, 10)
ITEMS = (1, 2, 5, 10, 40, 100)
CAPS = (None, 1, 3, 10)
LISTS = ((3, 100), (10, 1000), (20, 1000))
COUNTS_DRAWS, SHARED_DRAWS, LIST_DRAWS = 10_000, 1000, 100

Array = NDArray[np.int64]
Select = Callable[[Array, SeededBits], list[int]]


def noises(price: Price, items: int, cap: int | None) -> dict[str, NoiseForCounts]:
    """Every noise for counts at this price."""
    moved = items if cap is None else min(items, cap)
    pure, gaussian = price.laplace().epsilon, price.gaussian()
    found: dict[str, NoiseForCounts] = {
        "Laplace": DiscreteLaplace(epsilon=pure, sensitivity=moved),
        "shared Laplace": CorrelatedCounts(items=items, epsilon=pure),
    }
    if gaussian is not None:
        found["Gaussian"] = RoundedGaussian(mu=gaussian.mu, squared_sensitivity=moved)
        found["shared Gaussian"] = CorrelatedCounts(items=items, mu=gaussian.mu)
    return found


def error_of_counts(noise: NoiseForCounts, items: int) -> float:
    """The root of the mean square of the error of a count, within one or two percent."""
    chance = Chance(SeededBits(1))
    if isinstance(noise, CorrelatedCounts):
        errors: list[int] = []
        for _ in range(max(SHARED_DRAWS, COUNTS_DRAWS // items)):
            errors += noise.add_noise([7] * items, 9, chance)[:-1]
    else:
        errors = noise.add_noise([7] * COUNTS_DRAWS, chance)
    return float(np.sqrt(np.mean((np.array(errors) - 7.0) ** 2)))


def shapes(candidates: int) -> dict[str, Array]:
    """Counts of people, of a few shapes."""
    places = np.arange(candidates)
    random = np.random.default_rng(1)
    return {
        "flat": 1000 + places % 7,
        "bell": np.sort(random.normal(2000, 300, candidates).astype(np.int64)),
        "Zipf": (20_000 / (1 + places)).astype(np.int64),
        "linear": 10 * places,
    }


def list_methods(
    price: Price, k: int
) -> Iterator[tuple[str, Callable[[Array, SeededBits], list[int]]]]:
    """Every way to a list at this price."""
    whole = price.selection.epsilon
    joint = JointTopK(k=k, epsilon=whole, sensitivity=1, monotonic=True)
    yield "joint", lambda counts, bits: joint.select(counts, bits=bits)
    each = price.pick(k)
    if each is not None:
        # without a delta a list of k picks has k equal parts of its epsilon
        picks = PeelingTopK(k=k, epsilon=k * each.epsilon, sensitivity=1, monotonic=True)
        yield "picks", lambda counts, bits: picks.select(counts, bits=bits)


def error_of_list(counts: Array, chosen: list[int]) -> float:
    """The mean of how far each place is behind the one that belongs there."""
    best = np.sort(counts)[::-1][: len(chosen)]
    return float(np.mean(best - counts[chosen]))


def main() -> None:
    """Print both tables."""
    print(
        f"Counts at the price of a selection of epsilon {float(EPSILON)}: error, and over the best"
    )
    for budget in BUDGETS:
        price = Price(BudgetRule.of(budget), EPSILON)
        for items in ITEMS:
            for cap in (each for each in CAPS if each is None or each <= items):
                print_counts(budget, price, items, cap)
    print("Lists at the same price: mean error over all draws")
    for budget in BUDGETS:
        for k, candidates in LISTS:
            print_lists(budget, Price(BudgetRule.of(budget), EPSILON), k, candidates)


def print_counts(budget: Loss, price: Price, items: int, cap: int | None) -> None:
    """One line for each cell."""
    errors = {name: error_of_counts(n, items) for name, n in noises(price, items, cap).items()}
    auto = error_of_counts(price.noise_for_counts(items, items_per_person=cap), items)
    shown = "  ".join(f"{name} {error:.1f}" for name, error in errors.items())
    print(
        f"{budget!r:34} items {items:3} cap {cap or '-':>3}: auto {auto:.1f} "
        f"({auto / min(errors.values()):.2f})  {shown}"
    )
    sys.stdout.flush()


def print_lists(budget: Loss, price: Price, k: int, candidates: int) -> None:
    """One line for each shape."""
    for shape, counts in shapes(candidates).items():
        errors = {
            name: np.mean(
                [
                    error_of_list(counts, select(counts, SeededBits(seed)))
                    for seed in range(LIST_DRAWS)
                ]
            )
            for name, select in list_methods(price, k)
        }
        shown = "  ".join(f"{name} {error:.1f}" for name, error in errors.items())
        print(f"{budget!r:34} {k} of {candidates}, {shape:6}: {shown}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
