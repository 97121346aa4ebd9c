"""Other ways to many quantiles, for benchmarks/quantiles.py: libraries, and published mechanisms
in floats as their authors wrote them.

The published ones are for comparing errors only: floats leak, and what they do with values that
many persons have is not private (see docs/explanation/quantiles.md).
"""

from __future__ import annotations

import json
import math
import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Answer = Callable[[Values, list[float], float], Sequence[float]]
"""From values from 0 to a highest one, shares, and that highest one, to quantiles. Epsilon is 1
for all of them together.
"""

_RANDOM = np.random.default_rng(11)
_FAILURE = 0.05


def diffprivlib(values: Values, shares: list[float], high: float) -> Sequence[float]:
    """Its quantiles share epsilon evenly; floats, and sensitivity 1 whatever the share."""
    from diffprivlib.tools import quantile

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Sequence[float] = np.atleast_1d(
            quantile(values, shares, epsilon=1, bounds=(0, high))
        ).tolist()
    return found


def opendp(values: Values, shares: list[float], high: float) -> Sequence[float]:
    """Scores of all points of the grid, and its report-noisy-max; one quantile after the other,
    each with its part of epsilon.
    """
    clipped = values.clip(0, high).tolist()
    return sorted(float(_opendp_search(share, len(shares), int(high))(clipped)) for share in shares)


@cache
def _opendp_search(share: float, count: int, high: int) -> Callable[[list[float]], int]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    grid = [float(point) for point in range(high + 1)]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = space >> dp.t.then_quantile_score_candidates(grid, share)
    found: Callable[[list[float]], int] = dp.binary_search_chain(
        lambda scale: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True),
        d_in=1,
        d_out=1 / count,
        T=float,
        bounds=(1e-3, 1e9),
    )
    return found


def published_recursion(values: Values, shares: list[float], high: float) -> Sequence[float]:
    """ApproximateQuantiles: Kaplan, Schnapp and Stemmer 2022."""
    layers = len(shares).bit_length()
    return recurse(np.sort(values.clip(0, high)), shares, 0.0, 1.0, 0.0, high, 1 / layers)


def recurse(
    values: Values,
    shares: list[float],
    low: float,
    high: float,
    left: float,
    right: float,
    epsilon: float,
) -> list[float]:
    if not shares:
        return []
    middle = len(shares) // 2
    share = shares[middle]
    here = _search(values, (share - low) / (high - low) * values.size, left, right, epsilon)
    before = recurse(values[values <= here], shares[:middle], low, share, left, here, epsilon)
    return [
        *before,
        here,
        *recurse(values[values >= here], shares[middle + 1 :], share, high, here, right, epsilon),
    ]


def slicing(values: Values, shares: list[float], high: float) -> Sequence[float]:
    """SliceQuantiles: Imola and others 2025. Ranks with correlated noise, then a search among the
    persons next to each.

    Half of epsilon for the ranks (a binary tree of noise) and half for the searches. What it
    answers where slices overlap, points at random, is left out, which makes its errors look
    smaller.
    """
    values = np.sort(
        values.clip(0, high) + _RANDOM.uniform(0, 1e-3, values.size)
    )  # it needs values that all differ, as its authors do
    reach = math.ceil(4 * math.log(len(shares) * high / _FAILURE))
    ranks = np.floor(np.array(shares) * values.size) + np.round(_tree_noise(len(shares), 0.5))
    found, left = [], 0.0
    for rank in ranks.astype(int).tolist():
        part = values[max(rank - reach, 0) : max(rank + reach, 1)]
        left = _search(part, part.size / 2, left, high, 0.5)
        found.append(left)
    return found


def _tree_noise(count: int, epsilon: float) -> Values:
    """Noise for the running sums of so many steps of which one may change by 1: a node of each
    layer of a binary tree changes.
    """
    layers = count.bit_length()
    nodes = [
        _RANDOM.laplace(0, layers / epsilon, (2 << layers) >> layer) for layer in range(layers)
    ]
    return np.array(
        [
            sum(nodes[layer][(end >> layer) - 1] for layer in range(layers) if end >> layer & 1)
            for end in range(1, count + 1)
        ]
    )


def _search(values: Values, rank: float, left: float, right: float, epsilon: float) -> float:
    """The exponential mechanism between sorted values, by their distances, in floats; sensitivity
    1.
    """
    edges = np.concatenate([[left], values.clip(left, right), [right]])
    with np.errstate(divide="ignore"):
        log_odds = np.log(np.diff(edges)) - epsilon / 2 * np.abs(np.arange(values.size + 1) - rank)
    place = int((log_odds + _RANDOM.gumbel(size=log_odds.size)).argmax())
    return float(_RANDOM.uniform(edges[place], edges[place + 1]))


class Tumult:
    """Tumult Analytics in a Python of its own: it needs Spark, and older versions of pandas."""

    def __init__(self, python: str) -> None:
        worker = Path(__file__).with_name("quantile_tumult.py")
        self._process = subprocess.Popen(
            [python, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._ask({"values": [1.0, 2.0], "shares": [0.5], "high": 3.0})  # starts Spark

    def __call__(self, values: Values, shares: list[float], high: float) -> Sequence[float]:
        """One quantile after the other, each with its part of epsilon."""
        return self._ask({"values": values.tolist(), "shares": shares, "high": high})

    def _ask(self, question: dict[str, object]) -> list[float]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes")
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        found: list[float] = json.loads(self._process.stdout.readline())
        return found
