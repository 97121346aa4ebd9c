"""A timer that is fair on a noisy machine: all competitors take turns, round by round, and
medians and minima are kept.
"""

from __future__ import annotations

import gc
import os
import random
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Call = Callable[[], object]

_TURN = 0.02  # seconds, after which a turn has no more calls


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one competitor, in seconds."""

    median: float
    minimum: float
    calls: int


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure.

    rounds: how often every competitor gets its turn.
    repeats: the most calls in one turn, each timed by itself; only calls that are fast are
        repeated.
    seconds: a competitor that has used this much time leaves the game early ...
    least: ... but not before so many rounds.
    """

    rounds: int
    repeats: int = 1
    seconds: float = float("inf")
    least: int = 3


@contextmanager
def one_core() -> Iterator[None]:
    """Meanwhile the process may use one core only."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def interleave(calls: Mapping[Key, Call], effort: Effort) -> dict[Key, Timing]:
    """Time the competitors in turns, so that a slow moment of the machine hits all of them.

    Each round has its own order, so that nobody always comes after the one that empties the
    caches.
    """
    times: dict[Key, list[float]] = {key: [] for key in calls}
    order, shuffler = list(calls), random.Random(5)
    for played in range(effort.rounds):
        shuffler.shuffle(order)
        for key in order:
            if played < effort.least or sum(times[key]) < effort.seconds:
                times[key] += _turn(calls[key], effort.repeats)
    return {
        key: Timing(statistics.median(taken), min(taken), len(taken))
        for key, taken in times.items()
    }


def _turn(call: Call, repeats: int) -> list[float]:
    taken: list[float] = []
    gc.collect(0)
    gc.disable()
    try:
        while len(taken) < repeats and sum(taken) < _TURN:
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return taken
