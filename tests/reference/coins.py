"""The coin game the slow way: whole trees of adaptive questions in exact rationals, and floats.

In the exact part all losses are whole multiples of the logarithm of one rational base, so that
every probability is rational.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.stats import norm

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Question:
    """The outcomes' probabilities under P and under Q, the range, and the price in coins."""

    outcomes: tuple[tuple[Fraction, Fraction], ...]
    extent: int
    price: int


def two_points(base: Fraction, extent: int, top: int, price: int) -> Question:
    """Losses `top` and `top - extent`."""
    return three_points(base, extent, top, 0, Fraction(0), price)


def three_points(
    base: Fraction, extent: int, top: int, middle: int, share: Fraction, price: int
) -> Question:
    """A third outcome of loss `middle` that has this share under P; the others make up for it."""
    high, low, ratio = base**-top, base ** (extent - top), base**-middle
    # p * high + q * low + share * ratio = 1 and p + q + share = 1
    p = (low * (1 - share) - (1 - share * ratio)) / (low - high)
    q = 1 - share - p
    assert p >= 0
    assert q >= 0
    outcomes = ((p, p * high), (q, q * low), (share, share * ratio))
    assert sum(there for _, there in outcomes) == 1
    return Question(tuple(pair for pair in outcomes if pair[0]), extent, price)


def best_tree(
    questions: Sequence[Question],
    may_ask: Callable[[int, int], bool],
    threshold: Fraction,
    depth: int,
    here: tuple[Fraction, Fraction] = (Fraction(1), Fraction(1)),
    spent: tuple[int, int] = (0, 0),
) -> Fraction:
    """The largest sum of (P - threshold * Q)+ over all adaptive strategies of this depth.

    `may_ask(extents, coins)` says whether totals are admitted. At each node all questions that are
    admitted are tried, and to stop as well: the best tree is made of best subtrees.
    """
    best = max(Fraction(0), here[0] - threshold * here[1])
    if not depth:
        return best
    for question in questions:
        total = spent[0] + question.extent, spent[1] + question.price
        if may_ask(*total):
            branches = ((here[0] * p, here[1] * q) for p, q in question.outcomes)
            values = (
                best_tree(questions, may_ask, threshold, depth - 1, branch, total)
                for branch in branches
            )
            best = max(best, sum(values))
    return best


def random_bounded_range(
    random: np.random.Generator, extent: float
) -> tuple[np.ndarray, np.ndarray]:
    """A mechanism with up to five outcomes whose losses lie in an interval of this length."""
    while True:
        outcomes = random.integers(2, 6)
        top = random.uniform(0, extent)
        ratios = np.exp(random.uniform(-top, extent - top, outcomes))
        # half of the time the extreme ratios
        if random.random() < 0.5:
            ratios[:2] = np.exp([-top, extent - top])
        low, high = ratios <= 1, ratios > 1
        if not low.any() or not high.any():
            continue
        chances = np.empty(outcomes)
        first, second = random.dirichlet(np.ones(low.sum())), random.dirichlet(np.ones(high.sum()))
        below, above = first @ ratios[low], second @ ratios[high]
        weight = (above - 1) / (above - below)
        chances[low], chances[high] = weight * first, (1 - weight) * second
        return chances, chances * ratios


def random_gaussian(random: np.random.Generator, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian pair of which only a few intervals are seen, in either order of the two."""
    cuts = np.sort(random.normal(mu / 2, 1 + mu, random.integers(1, 5)))
    ends = [-np.inf, *cuts, np.inf]
    here = np.diff(norm.cdf(ends))
    there = np.diff(norm.cdf(ends, loc=mu))
    return (here, there) if random.random() < 0.5 else (there, here)


def random_play(
    random: np.random.Generator, unit: float, coins: int, s: float, noise: float = 0.0
) -> float:
    """What one random adaptive strategy gains with these coins at s = e^epsilon Q / P.

    noise: where it is above 0, half of the questions are Gaussian noise, of which c coins
        pay for a distance of noise * unit * sqrt(c) / 2.
    """
    if coins == 0 or random.random() < 0.1:
        return max(0.0, 1 - s)
    price = int(random.integers(1, coins + 1))
    if noise and random.random() < 0.5:
        here, there = random_gaussian(random, noise * unit * price**0.5 / 2)
    else:
        here, there = random_bounded_range(random, unit * price**0.5)
    return sum(
        p * random_play(random, unit, coins - price, s * q / p, noise)
        for p, q in zip(here, there, strict=True)
        if p > 0
    )


def game_value(
    ranges: Sequence[float],
    prices: Sequence[int],
    coins: int,
    epsilon: float,
    mus: Sequence[float] = (),
) -> list[float]:
    """The value of the game after 0, 1, ... coins, in floats: no bound, an estimate.

    Many tops on a fine grid, and W interpolated by cubic splines, which have no slack from chords.
    mus: the distance of the Gaussian pair that each price pays for; averages over one are
        sums over 400 intervals.
    """
    y = np.arange(-3.0, epsilon + 3.0, 0.002)
    curves: list[Curve] = [lambda at: np.maximum(0.0, 1 - np.exp(at))]
    for left in range(1, coins + 1):
        best = curves[left - 1](y)
        for extent, price in zip(ranges, prices, strict=True):
            if price <= left:
                np.maximum(best, _best_of(curves[left - price], extent, y), out=best)
        for price, mu in enumerate(mus[:left], start=1):
            np.maximum(best, _average(curves[left - price], mu, y), out=best)
        curves.append(_closed(CubicSpline(y, best), y[0], y[-1]))
    return [float(curve(np.array([epsilon]))[0]) for curve in curves]


def _best_of(rest: Curve, extent: float, y: np.ndarray) -> np.ndarray:
    tops = np.linspace(0, extent, 62)[1:-1]
    chances = (np.exp(extent) - np.exp(tops)) / np.expm1(extent)
    mixed = (
        p * rest(y - top) + (1 - p) * rest(y - top + extent)
        for p, top in zip(chances, tops, strict=True)
    )
    return np.maximum.reduce(list(mixed))


def _average(rest: Curve, mu: float, y: np.ndarray) -> np.ndarray:
    ends = np.linspace(-8, 8, 401)
    middles, weights = (ends[1:] + ends[:-1]) / 2, np.diff(norm.cdf(ends))
    values = (w * rest(y - mu**2 / 2 + mu * z) for z, w in zip(middles, weights, strict=True))
    return np.add.reduce(list(values))


def _closed(spline: Curve, low: float, high: float) -> Curve:
    """The spline inside; 1 - e^y below and 0 above, where the game is decided."""

    def at(points: np.ndarray) -> np.ndarray:
        outside = np.where(points < low, 1 - np.exp(points), 0.0)
        inside = (points >= low) & (points <= high)
        return np.where(inside, spline(np.clip(points, low, high)), outside)

    return at
