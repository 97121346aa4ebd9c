"""Previews: the real sampler on made-up counts, without any table.

This module imports nothing of the service that knows data sets; a test checks that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import discreet

DRAWS = 40
"""How many draws each average is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Simulated answers to one question about made-up counts.

    right: of the k names of a list, how many are among the true k best, on average.
    examples: some of the lists, as true ranks from 1.
    """

    epsilon: Fraction
    k: int
    right: Fraction
    examples: tuple[tuple[int, ...], ...]

    def sentence(self, persons: int) -> str:
        """The result in words."""
        about = float(self.right)
        names = "names are" if self.k > 1 else "name is"
        return (
            f"With epsilon {_short(self.epsilon)}, about {about:.1f} of {self.k} {names} are "
            f"right, for {persons:,} made-up people."
        )


def made_up(shape: str, persons: int, candidates: int) -> list[int]:
    """Counts of made-up persons, the largest first.

    >>> made_up("zipf", 100, 4), made_up("flat", 100, 4), made_up("winner", 100, 4)
    ([48, 24, 16, 12], [25, 25, 25, 25], [50, 16, 16, 16])
    """
    if shape == "zipf":
        whole = sum(Fraction(1, rank) for rank in range(1, candidates + 1))
        return [int(persons / rank / whole) for rank in range(1, candidates + 1)]
    if shape == "flat":
        return [persons // candidates] * candidates
    rest = max(candidates - 1, 1)
    return [persons // 2, *[persons // 2 // rest] * (candidates - 1)]


def simulate(
    counts: Sequence[int],
    *,
    k: int,
    epsilon: Fraction,
    items_per_person: int | None = None,
    budget: discreet.Loss | None = None,
    draws: int = DRAWS,
) -> Simulation:
    """Draw lists from made-up counts as a session would, and count how many names are right.

    items_per_person: how many values of a person count, where the question says so.
    budget: of the data set, which decides how lists are drawn.
    """
    ordered = sorted(counts, reverse=True)
    k = min(k, len(ordered))
    seen = discreet.planning.preview(
        dict(enumerate(ordered, start=1)),
        k=k,
        epsilon=epsilon,
        items_per_person=items_per_person,
        budget=budget,
        draws=draws,
    )
    # a name that is tied with the k-th is as right as that one
    least = ordered[k - 1]
    right = sum(times for rank, times in seen.chosen.items() if seen.counts[rank] >= least)
    examples = tuple(tuple(release.value) for release in seen.examples[:3])
    return Simulation(epsilon=epsilon, k=k, right=Fraction(right, draws), examples=examples)


def curve(
    counts: Sequence[int],
    *,
    k: int,
    epsilon: Fraction,
    items_per_person: int | None = None,
    budget: discreet.Loss | None = None,
) -> list[Simulation]:
    """Simulations at smaller and larger epsilons: a quarter of this one to four times."""
    steps = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
    return [
        simulate(
            counts,
            k=k,
            epsilon=epsilon * step,
            items_per_person=items_per_person,
            budget=budget,
        )
        for step in steps
    ]


def _short(value: Fraction) -> str:
    return f"{float(value):.3g}"
