"""Certified lower bounds of what the running time of a call tells about the data.

Two calls on neighbouring data are timed in turns. One half of the times is for looking:
it chooses the event ("longer than this") that tells the two calls apart best. The other
half is for the proof: Clopper-Pearson bounds of the event's two probabilities give a
lower bound of epsilon that is false with a probability of at most 1 - confidence,
whatever the times are. A bound of 0 says that nothing was found with these runs;
`largest_epsilon` says how much they could have shown.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.claims import approximate_bounds, lower_bound, upper_bound

Call = Callable[[], object]

CONFIDENCE = 0.999
# thresholds that are tried, at even shares of the times
_CUTS = 97


def time_calls(
    first: Call, second: Call, runs: int, *, clock: Callable[[], int] = time.perf_counter_ns
) -> tuple[list[int], list[int]]:
    """The times of `runs` runs of each call, in nanoseconds. The calls take turns in a
    random order, so that a slow moment of the machine hits both alike.
    """
    times: tuple[list[int], list[int]] = ([], [])
    calls = (first, second)
    for call in calls:
        # the first call may load and remember things, so it is not timed
        call()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(runs):
            for which in random.sample((0, 1), 2):
                start = clock()
                calls[which]()
                times[which].append(clock() - start)
    finally:
        if collecting:
            gc.enable()
    return times


def epsilon_from_time(
    times_a: Sequence[float],
    times_b: Sequence[float],
    confidence: float = CONFIDENCE,
    *,
    delta: float = 0.0,
) -> float:
    """A lower bound of the epsilon of the time alone, at this delta; 0 if nothing is certain."""
    first, second = _halves(times_a), _halves(times_b)
    event = _best_event((first[0], second[0]), delta)
    hits = _hits(event, (first[1], second[1]))
    runs = (first[1].size, second[1].size)
    alpha, which = (1 - confidence) / 2, event[2]
    likely = lower_bound(hits[which], runs[which], alpha) - delta
    rare = upper_bound(hits[1 - which], runs[1 - which], alpha)
    return max(0.0, math.log(likely / rare)) if likely > 0 else 0.0


def largest_epsilon(runs: int, confidence: float = CONFIDENCE) -> float:
    """The bound that this many runs of each call give if one call always takes longer."""
    return epsilon_from_time(range(runs), range(runs, 2 * runs), confidence)


def welch(times_a: Sequence[float], times_b: Sequence[float]) -> float:
    """Welch's t of the logarithms of the times. If it is beyond 4.5 or -4.5, the times
    are commonly taken to differ.
    """
    a, b = np.log(np.asarray(times_a, dtype=float)), np.log(np.asarray(times_b, dtype=float))
    spread = a.var(ddof=1) / a.size + b.var(ddof=1) / b.size
    difference = float(a.mean() - b.mean())
    if spread > 0:
        return difference / math.sqrt(float(spread))
    return math.copysign(math.inf, difference) if difference else 0.0


Times = NDArray[np.float64]
TimeEvent = tuple[float, bool, int]
"""A threshold, whether the event is a longer or a shorter time, and which of the two
calls makes it more likely.
"""


def _halves(times: Sequence[float]) -> tuple[Times, Times]:
    """The times of every other run, and the rest: a drift is in both halves."""
    array: Times = np.asarray(times, dtype=np.float64)
    if array.size < 4:
        raise ValueError("At least four runs of each call are needed.")
    return array[0::2], array[1::2]


def _best_event(times: tuple[Times, Times], delta: float) -> TimeEvent:
    cuts = np.unique(np.quantile(np.concatenate(times), np.linspace(0.01, 0.99, _CUTS)))
    events = [
        (float(cut), longer, which) for cut in cuts for longer in (True, False) for which in (0, 1)
    ]
    return max(events, key=lambda event: _promise(event, times, delta))


def _promise(event: TimeEvent, times: tuple[Times, Times], delta: float) -> float:
    """An estimate of the bound that the second half will give."""
    hits, which = _hits(event, times), event[2]
    bounds = [
        approximate_bounds(np.array([float(hit)]), part.size, 3)
        for hit, part in zip(hits, times, strict=True)
    ]
    likely, rare = float(bounds[which][0][0]) - delta, float(bounds[1 - which][1][0])
    return math.log(likely / rare) if likely > 0 else -math.inf


def _hits(event: TimeEvent, times: tuple[Times, Times]) -> list[int]:
    cut, longer, _ = event
    return [int(np.count_nonzero((part > cut) == longer)) for part in times]
