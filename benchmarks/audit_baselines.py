"""Plain testers in the manner of DP-Auditorium, to stand beside the auditor.

That package is not in the registry, so these are our own few lines of its published idea: a
generator of random neighbours, and a tester that estimates a divergence between the outcomes of
each pair. One tester is a histogram with a bound on the hockey-stick divergence, one a histogram
with the Renyi divergence of order 2. Both get as many draws as the auditor, and the confidence of
all their pairs together is the auditor's. They see answers only, as that package does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.auditing.claims import lower_bound, upper_bound
from discreet.auditing.events import observe

PAIRS = 20
# cells of a histogram of numbers
_CELLS = 20
# further apart, random scores never have the same winner
_SPREAD = 10

Answers = list[Any]
Sides = tuple[Answers, Answers]


def histogram(samples: list[Sides], epsilon: float, alpha: float) -> bool:
    """Whether any pair has an event, chosen in one half, that breaks the claim in the other."""
    share = alpha / (2 * len(samples))
    for first, second in samples:
        chosen = _event((first[0::2], second[0::2]), epsilon)
        proof = (first[1::2], second[1::2])
        hits = [sum(answer in chosen for answer in side) for side in proof]
        likely = lower_bound(hits[0], len(proof[0]), share)
        if likely > math.exp(epsilon) * upper_bound(hits[1], len(proof[1]), share):
            return True
    return False


def renyi(samples: list[Sides], epsilon: float, alpha: float) -> bool:
    """Whether the Renyi divergence of order 2 of any pair is above what pure DP allows, by
    more than its standard errors say; cells and divergence from different halves.
    """
    # pure DP of epsilon is a Renyi divergence of order 2 of at most log(e^eps + e^-eps - 1)
    allowed = math.exp(epsilon) + math.exp(-epsilon) - 1
    z = -NormalDist().inv_cdf(alpha / len(samples))
    for first, second in samples:
        cells = Counter(first[0::2]) + Counter(second[0::2])
        p, q = (_shares(side[1::2], cells) for side in (first, second))
        ratios = p / q
        moment = float(np.sum(p * ratios))
        # by the derivatives of sum p^2 / q in p and in q
        variance = _variance(2 * ratios, p, len(first) // 2)
        variance += _variance(ratios**2, q, len(second) // 2)
        if moment - z * math.sqrt(variance) > allowed:
            return True
    return False


TESTERS = {"histogram": histogram, "Rényi": renyi}


def random_samples(function: Callable[..., Any], draws: int) -> list[Sides]:
    """The answers of random neighbours, each pair in both directions."""
    rng = np.random.default_rng(7)
    samples = []
    for _ in range(PAIRS):
        scores = rng.integers(-_SPREAD, _SPREAD + 1, size=8)
        moved = scores + rng.integers(-1, 2, size=8)
        sides = _in_cells(
            [
                [
                    outcome.answer if not outcome.error else "error"
                    for outcome in observe(
                        lambda data: function(data, rng), data.tolist(), draws // (2 * PAIRS)
                    )
                ]
                for data in (scores, moved)
            ]
        )
        samples += [(sides[0], sides[1]), (sides[1], sides[0])]
    return samples


def _in_cells(sides: list[Answers]) -> list[Answers]:
    """Floats become the cells of a histogram."""
    numbers = [value for side in sides for value in side if isinstance(value, float)]
    if len(set(numbers)) <= _CELLS:
        return sides
    edges = np.quantile(numbers, np.linspace(0, 1, _CELLS + 1)[1:-1])
    return [
        [
            int(np.searchsorted(edges, value)) if isinstance(value, float) else value
            for value in side
        ]
        for side in sides
    ]


def _event(sides: Sides, epsilon: float) -> set[Any]:
    """The cells in which the first is likelier than the claim allows, as far as was seen."""
    first, second = Counter(sides[0]), Counter(sides[1])
    return {cell for cell in first if first[cell] > math.exp(epsilon) * second[cell]}


def _shares(side: Answers, cells: Counter[Any]) -> np.ndarray:
    """The shares of the frequent cells; all others are one more."""
    seen = Counter(side)
    frequent = sorted((cell for cell, hits in cells.items() if hits >= _CELLS), key=repr)
    hits = [seen[cell] for cell in frequent]
    return (np.array([*hits, len(side) - sum(hits)]) + 0.5) / (len(side) + 0.5 * (len(hits) + 1))


def _variance(weights: np.ndarray, shares: np.ndarray, runs: int) -> float:
    mean = float(np.sum(weights * shares))
    return (float(np.sum(weights**2 * shares)) - mean**2) / max(1, runs)
