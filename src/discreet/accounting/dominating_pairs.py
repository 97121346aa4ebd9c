"""Many queries, each dominated by a pair of distributions, and long runs of them block by block.

What stands for a loss, at every epsilon g up to its own:

| loss | delta of the pair | |
|---|---|---|
| `PureDP` | (1 - e^(g - epsilon)) / (1 + e^-epsilon) | randomized response |
| `LogisticDP` | (1 - e^((g - epsilon) / 2))^2 / (1 - e^-epsilon) | two logistic distributions |
| `GaussianDP`, all | Phi(mu/2 - g/mu) - e^g Phi(-mu/2 - g/mu), at every g | two normal ones |
| `BoundedRange`, many | the certified curve of a block of them (adaptive_grid.py) | adaptive |
| `BoundedRange`, others | as logistic DP | |

Pairs are convolved (loss_distribution.py), which holds for queries that depend on
earlier answers, in any order. One pair for each bounded range would be 15% above the
optimum for many of them, because no single mechanism is the worst at all epsilons; a
block of a few hundred has nearly one worst strategy, so that its pair loses next to
nothing.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import get_args

import numpy as np
from flint import arb

from discreet.accounting import renyi
from discreet.accounting.adaptive_grid import Array, Grid, curve_for
from discreet.accounting.loss_distribution import LossDistribution
from discreet.exact.enclosures import at_precision, ball
from discreet.exact.normal import gaussian_profile, square_root_up
from discreet.exact.rationals import round_up
from discreet.privacy.loss import BoundedRange, GaussianDP, LogisticDP, Loss, PureDP

BLOCK = 320
"""Queries of bounded range whose curve is computed query by query."""

# grid points in the range of one query
_CELLS = 32
# the smallest and the largest epsilon of one query, and the largest of all together
_SMALLEST, _LARGEST, _FARTHEST = Fraction(1, 10**8), 100, 1000
_SMALLEST_DELTA = Fraction(1, 10**300)
# how many bits finer a unit of mass is than the delta that is asked for
_SPARE_BITS = 96
# the share of that delta that may be cut off in all
_TAIL = Fraction(1, 2**24)
# the most points of a distribution, and the most points of all products together
_MOST_POINTS, _MOST_WORK = 2**15, 3 * 10**6
# how many steps are compared
_CHOICES = 32
# about the share of the variance of the loss that a grid may add
_SPREAD = 1e-4

Pair = PureDP | LogisticDP | GaussianDP
"""A loss that one pair of distributions stands for."""


@dataclass(frozen=True, slots=True)
class Block:
    """A certified curve at the epsilons 0, step, 2 step, ..., and how often it occurs."""

    step: Fraction
    upper: Array
    times: int


def distribution_for(counts: Mapping[Loss, int], delta: Fraction) -> LossDistribution | None:
    """What dominates all these queries in any order, accurate for a delta of this size.

    None where it does not apply, or where another analysis is as good: pure DP of one
    epsilon, few queries of one range, a single query.
    """
    if delta < _SMALLEST_DELTA or not _applies(counts):
        return None
    reach = _reach(counts, delta * _TAIL)
    if reach > _FARTHEST:
        return None
    blocks, pairs = _blocks_of(counts, delta)
    for loss, times in counts.items():
        if isinstance(loss, (PureDP, LogisticDP)):
            pairs[loss] += times
    # all Gaussian noise together is one Gaussian pair
    squares = sum(
        (times * loss.mu**2 for loss, times in counts.items() if isinstance(loss, GaussianDP)),
        Fraction(0),
    )
    if squares:
        pairs[GaussianDP(round_up(square_root_up(squares)))] += 1
    products = sum(2 * block.times.bit_length() for block in blocks)
    products += sum(2 * times.bit_length() for times in pairs.values())
    step = _step(
        counts, blocks, pairs, 2 * reach * products / min(_MOST_WORK, _MOST_POINTS * products)
    )
    bits = _SPARE_BITS + math.ceil(1 / delta).bit_length()
    cut = int(2**bits * delta * _TAIL / (4 * products))
    return at_precision(bits + _SPARE_BITS, lambda: _convolved(blocks, pairs, step, bits, cut))


def _applies(counts: Mapping[Loss, int]) -> bool:
    if not all(isinstance(loss, (*get_args(Pair), BoundedRange)) for loss in counts):
        return False
    if not _SMALLEST <= max(loss.numbers[0] for loss in counts) <= _LARGEST:
        return False
    if len(counts) > 1:
        return True
    ((loss, times),) = counts.items()
    few = BLOCK if isinstance(loss, BoundedRange) else 1
    return times > few and not isinstance(loss, (PureDP, GaussianDP))


def _blocks_of(counts: Mapping[Loss, int], delta: Fraction) -> tuple[list[Block], Counter[Pair]]:
    """Blocks for bounded ranges, and pairs for those that are in no block.

    Several ranges are one block, where that is quick enough; else the ones that weigh
    most are in blocks, and every other has a pair.
    """
    ranges = {loss: times for loss, times in counts.items() if isinstance(loss, BoundedRange)}
    game: dict[Loss, int] = dict(ranges.items())
    if not ranges:
        return [], Counter()
    if len(ranges) > 1 and max(ranges.values()) <= BLOCK:
        curve = curve_for(game, _reach(game, delta * _TAIL), lower=False)
        if curve is not None:
            return [Block(curve.step, curve.upper, 1)], Counter()
    main = max(ranges, key=lambda loss: ranges[loss] * loss.epsilon**2)
    others = Counter(
        {loss.to_logistic_dp(): times for loss, times in ranges.items() if loss != main}
    )
    return _blocks_of_one(main, ranges[main], delta), Counter(others)


def _blocks_of_one(each: BoundedRange, times: int, delta: Fraction) -> list[Block]:
    size = min(times, BLOCK)
    tail = delta * _TAIL * size / (4 * times)
    # in steps of a thousand, so that neighbouring questions have the same blocks
    thousands = math.ceil((1 / tail).__ceil__().bit_length() / 10) + 1
    stages = _stages(each, size, thousands)
    step = each.epsilon / _CELLS
    whole, rest = divmod(times, size)
    blocks = [Block(step, stages[size - 1], whole)]
    return blocks + ([Block(step, stages[rest - 1], 1)] if rest else [])


@lru_cache(maxsize=4)
def _stages(each: BoundedRange, size: int, thousands: int) -> tuple[Array, ...]:
    """The curves of 1, 2, ... queries, up to an epsilon whose delta is 1000^-thousands."""
    reach = _reach({each: size}, Fraction(1, 1000**thousands))
    grid = Grid(each.epsilon / _CELLS, reach, _CELLS, lower=False)
    values, found = grid.start, []
    for _ in range(size):
        values = grid.range_stage(values, _CELLS)
        found.append(values[0])
    return tuple(found)


def _reach(counts: Mapping[Loss, int], delta: Fraction) -> float:
    """An epsilon at which delta is certainly this small."""
    most = float(sum(times * loss.numbers[0] for loss, times in counts.items()))
    if any(isinstance(loss, GaussianDP) for loss in counts):
        most = math.inf
    return min(most, float(renyi.epsilon_of(renyi.total_curve(counts), delta)))


def _step(
    counts: Mapping[Loss, int], blocks: list[Block], pairs: Counter[Pair], least: float
) -> Fraction:
    """A step that adds little to the variance of the loss, and is not below the least.

    A multiple of the blocks' step, or else a part of the largest epsilon; among those
    of the right size the one on which most epsilons are nearly multiples. Only a guess
    of what is accurate: every step is valid.
    """
    terms = sum(block.times for block in blocks) + pairs.total()
    fine = max(least, math.sqrt(4 * _SPREAD * sum(map(_variance, counts.items())) / terms))
    if blocks:
        unit = blocks[0].step
        most = max(1, math.ceil(least / float(unit)), math.floor(fine / float(unit)))
        fewest = max(1, math.ceil(least / float(unit)), most // 2, most - _CHOICES)
        steps = [unit * times for times in range(most, fewest - 1, -1)]
    else:
        largest = max(loss.numbers[0] for loss in pairs)
        parts = max(1, math.floor(float(largest) / fine))
        steps = [largest / more for more in range(parts, min(2 * parts, parts + _CHOICES) + 1)]
        steps = [step for step in steps if step >= least] or steps[:1]
    return min(steps, key=lambda step: _added(pairs, step))


def _added(pairs: Counter[Pair], step: Fraction) -> float:
    """About how much variance the chords add: a response off the grid is shared by two points."""
    overs = [
        (float(loss.epsilon % step), times)
        for loss, times in pairs.items()
        if isinstance(loss, PureDP)
    ]
    return sum(times * over * (float(step) - over) for over, times in overs)


def _variance(item: tuple[Loss, int]) -> float:
    loss, times = item
    # of pure DP and Gaussian noise it is the square
    share = 4 if isinstance(loss, BoundedRange) else 3 if isinstance(loss, LogisticDP) else 1
    return times * float(loss.numbers[0]) ** 2 / share


def _convolved(
    blocks: list[Block], pairs: Counter[Pair], step: Fraction, bits: int, cut: int
) -> LossDistribution:
    """All of them together: always the two shortest next, so that long products are few."""
    parts = [(_of_block(block, step, bits), block.times) for block in blocks]
    parts += [(_of_pair(loss, step, bits), times) for loss, times in pairs.items()]
    order = count()
    waiting = [_entry(part.power(times, cut), next(order)) for part, times in parts]
    heapq.heapify(waiting)
    while len(waiting) > 1:
        one, other = heapq.heappop(waiting)[2], heapq.heappop(waiting)[2]
        heapq.heappush(waiting, _entry((one * other).without_tails(cut), next(order)))
    return waiting[0][2]


def _entry(part: LossDistribution, order: int) -> tuple[int, int, LossDistribution]:
    return len(part.masses), order, part


def _of_block(block: Block, step: Fraction, bits: int) -> LossDistribution:
    """Some points of its curve, evenly spaced; it does not grow from the last one on."""
    every = int(step / block.step)
    return LossDistribution.connect(step, [_exact(value) for value in block.upper[::every]], bits)


def _exact(value: np.float64) -> arb:
    return ball(Fraction(float(value)))


def _of_pair(loss: Pair, step: Fraction, bits: int) -> LossDistribution:
    if isinstance(loss, GaussianDP):
        return _of_gaussian(ball(loss.mu), loss.mu, step, bits)
    delta = _response if isinstance(loss, PureDP) else _logistic
    inside = [delta(loss.epsilon, step * place) for place in range(math.ceil(loss.epsilon / step))]
    return LossDistribution.connect(step, [*inside, arb(0)], bits)


def _of_gaussian(mu: arb, number: Fraction, step: Fraction, bits: int) -> LossDistribution:
    """Reach as far as its delta is more than a few units of mass; what is beyond is infinite."""
    reach = number * math.ceil(math.sqrt(2 * math.log(2) * bits)) + number**2 / 2
    places = range(math.ceil(reach / step) + 1)
    values = [gaussian_profile(mu, step * place) for place in places]
    return LossDistribution.connect(step, values, bits)


def _response(epsilon: Fraction, at: Fraction) -> arb:
    """The delta of randomized response at an epsilon below its own."""
    return -ball(at - epsilon).expm1() / (1 + (-ball(epsilon)).exp())


def _logistic(epsilon: Fraction, at: Fraction) -> arb:
    """The delta of two logistic distributions at an epsilon below their distance."""
    root = ball((at - epsilon) / 2).expm1()
    return root * root / -(-ball(epsilon)).expm1()
