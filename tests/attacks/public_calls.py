"""Every public call on neighbouring data that was chosen to tell by its time, and a table of what
the time tells.

Run it by hand on a quiet machine: ``python tests/attacks/public_calls.py [runs]``
(PYTHONPATH=tests). A timing is never an assertion: the table goes to
docs/explanation/limitations.md.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from attacks.discovered_calls import fits, many_counts, mechanism_calls, session_calls

import discreet
from discreet.auditing.timing import Call, epsilon_from_time, largest_epsilon, time_calls, welch
from discreet.mechanisms.count_lists import make_top_k
from discreet.privacy.parameters import ScoreRange

SIZE, LIMIT, K = 10_000, 100, 10
_REACH = 28 * math.log(2)  # noise scales up to which an envelope looks closely
_DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class Pair:
    """One call on two neighbouring data sets."""

    name: str
    first: Call
    second: Call
    epsilon: float = 1.0
    share: float = 1.0
    """Of the runs: slow calls get fewer."""


Counts = Any


def counts_with(*runs: tuple[int, int]) -> Counts:
    """So many items of each count, in a fixed order that mixes them."""
    counts = np.concatenate([np.full(many, count, dtype=np.int64) for many, count in runs])
    return np.random.default_rng(3).permutation(counts)


def one_less(counts: Counts, value: int) -> Counts:
    """The same, with one person less who had the first item of this count."""
    less = counts.copy()
    less[int(np.flatnonzero(counts == value)[0])] -= 1
    return less


def neighbours(size: int, border: int) -> dict[str, tuple[Counts, Counts]]:
    """Counts that look most different to an algorithm, and yet differ by one person."""
    lone = counts_with((size - 1, 1), (1, 2))
    favourites = counts_with((K, border + 1), (size - K, 1))
    spread = counts_with(*((1, 2 + 3 * place) for place in range(99)), (size - 99, 1))
    return {
        "all 1, or one 2": (lone, one_less(lone, 2)),
        "the crowd at the border of reach": (favourites, one_less(favourites, border + 1)),
        "a gap, or none": (spread, one_less(spread, 2)),
    }


def pairs() -> Iterator[Pair]:
    """All of them."""
    yield from selections()
    yield from lists()
    yield from unknown_domains()
    yield from numbers()
    yield from quantile_pairs()
    yield from tables()
    yield from discovered()


def both(name: str, call: Callable[[Any], object], data: tuple[Any, Any], **more: float) -> Pair:
    first, second = data
    return Pair(name, lambda: call(first), lambda: call(second), **more)


def selections() -> Iterator[Pair]:
    """One candidate of many."""
    known: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    made = {
        "permute-and-flip": discreet.mechanisms.PermuteAndFlip(**known),
        "exponential": discreet.mechanisms.ExponentialMechanism(**known),
        "noisy max, exponential": discreet.mechanisms.ReportNoisyMax(noise="exponential", **known),
        "noisy max, Laplace": discreet.mechanisms.ReportNoisyMax(noise="laplace", **known),
    }
    for name, mechanism in made.items():
        for words, data in neighbours(SIZE, math.ceil(_REACH)).items():
            yield both(f"select, {name}: {words}", mechanism.release, data)
    for words, data in neighbours(SIZE, math.ceil(_REACH)).items():
        yield both(
            f"select with gap: {words}", lambda v: discreet.select(v, **known, with_gap=True), data
        )
    generalized = discreet.mechanisms.GeneralizedExponentialMechanism(
        epsilon=1, failure_probability=0.01
    )
    ones, many = np.ones(SIZE), np.repeat([1.0, 2.0, 3.0, 4.0], SIZE // 4)
    data = neighbours(SIZE, math.ceil(_REACH))["all 1, or one 2"]
    yield both(
        "generalized, equal sensitivities: all 1, or one 2",
        lambda v: generalized.release(v, ones),
        data,
    )
    yield both(
        "generalized, four sensitivities: all 1, or one 2",
        lambda v: generalized.release(v, many),
        data,
    )


def lists() -> Iterator[Pair]:
    """Known candidates, ranked."""
    ways: dict[str, dict[str, Any]] = {"joint": {}, "peel": {}, "one-shot": {"delta": _DELTA}}
    for method, more in ways.items():
        made = make_top_k(
            K, 1, more.get("delta", 0), ScoreRange(sensitivity=1, monotonic=True), method=method
        )
        far = sum(math.log(SIZE - place) for place in range(K)) + 40
        border = math.ceil((far if method == "joint" else _REACH) / float(made.rate))
        for words, data in neighbours(SIZE, border).items():
            yield both(f"top_k, {method}: {words}", made.release, data, share=0.5)
    floats = tuple(part.astype(float) for part in neighbours(SIZE, 1)["all 1, or one 2"])
    joint = discreet.mechanisms.JointTopK(k=K, epsilon=1, sensitivity=1, monotonic=True)
    yield both(
        "top_k, joint, floats: all 1, or one 2", joint.release, (floats[0], floats[1]), share=0.5
    )


def unknown_domains() -> Iterator[Pair]:
    """Items that only the data know."""
    lone = counts_with((SIZE - 1, 1), (1, 2))
    full = counts_with((LIMIT, 2), (SIZE - LIMIT, 1))
    new = np.ones(LIMIT + 1, dtype=np.int64)
    data = {
        "all 1, or one 2": (lone, one_less(lone, 2)),
        "the limit full, or one missing": (full, one_less(full, 2)),
        "as many items as places, or one more": (new, new[:-1]),
    }
    for words, (first, second) in data.items():
        for items in (None, 1):
            made = discreet.mechanisms.UnknownDomainTopK(
                k=K, epsilon=1, delta=_DELTA, limit=LIMIT, items_per_person=items
            )
            bounded = ", one item each" if items else ""
            yield both(f"unknown domain{bounded}: {words}", made.release, (first, second))
    labelled = tuple(
        {f"item {place}": int(count) for place, count in enumerate(part)}
        for part in data["all 1, or one 2"]
    )
    made = discreet.mechanisms.UnknownDomainTopK(
        k=K, epsilon=1, delta=_DELTA, limit=LIMIT, items_per_person=1
    )
    yield both(
        "unknown domain, labels: all 1, or one 2",
        made.release,
        (labelled[0], labelled[1]),
        share=0.25,
    )


def numbers() -> Iterator[Pair]:
    """Noise on numbers, thresholds, and selections from intervals and lattices."""
    laplace = discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1)
    yield both("DiscreteLaplace: 0, or 1", laplace.release, (0, 1))
    yield both("DiscreteLaplace: 2^63 - 1, or 2^63", laplace.release, (2**63 - 1, 2**63))
    bounded = discreet.mechanisms.BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100))
    yield both("BoundedDiscreteLaplace: 0, or 1", bounded.release, (0, 1))
    threshold = discreet.mechanisms.AboveThreshold(
        threshold=5, epsilon=1, sensitivity=1, monotonic=True
    )
    yield both(
        "AboveThreshold: 100 answers of 4, or of 5", threshold.release, ([4] * 100, [5] * 100)
    )
    yield both(
        "AboveThreshold: one far answer, or one more", threshold.release, ([10**6], [10**6 + 1])
    )
    # It works in fractions, a fraction of a millisecond for each interval.
    few = 200
    interval = discreet.mechanisms.IntervalExponentialMechanism(
        bounds=(0, few), epsilon=1, sensitivity=1, step=0.5
    )
    cuts = range(1, few)
    for words, data in neighbours(few, math.ceil(2 * _REACH)).items():
        yield both(
            f"interval: {words}", lambda scores: interval.release(scores, cuts), data, share=0.5
        )

    endless = discreet.mechanisms.LatticeExponentialMechanism(epsilon=1, sensitivity=1)

    def lattice(best: int) -> Call:
        return lambda: endless.release(lambda y: -abs(y - best))

    yield Pair("lattice: the best at 0, or at 1", lattice(0), lattice(1))


def quantile_pairs() -> Iterator[Pair]:
    """Quantiles of values, one for each person."""
    same, other = np.full(SIZE, 50.0), np.full(SIZE, 50.0)
    other[17] = 99.0
    half = np.repeat([0.0, 100.0], SIZE // 2)
    data = {
        "all equal, or one other": (same, other),
        "two halves, or one person less": (half, half[:-1]),
    }
    for grid, step in (("100 points", 1), ("a million points", 1e-4)):
        known: dict[str, Any] = {
            "bounds": (0, 100),
            "step": step,
            "epsilon": 1,
            "neighbours": "replace",
        }
        for words, both_values in data.items():
            yield both(
                f"quantile, {grid}: {words}",
                lambda v, w=known: discreet.quantile(v, q=0.5, **w),
                both_values,
            )
            for method in ("recursive", "independent"):
                yield both(
                    f"quantiles, {method}, {grid}: {words}",
                    lambda v, w=known, m=method: discreet.quantiles(
                        v, q=[0.25, 0.5, 0.75], method=m, **w
                    ),
                    both_values,
                    share=0.5,
                )
    known = {"q": [0.25, 0.5], "bounds": (0, 100), "step": 1, "epsilon": 1, "method": "joint"}
    words = "all equal, or one other"
    yield both(
        f"quantiles, joint: {words}",
        lambda v: discreet.quantiles(v, **known),
        data[words],
        share=0.1,
    )


def tables() -> Iterator[Pair]:
    """Sessions on small tables: 1,000 persons, or one more, whose item nobody else has."""
    for engine in ("arrow", "duckdb"):
        calls = session_calls(lambda persons, e=engine: session_on(frame_of(e, persons)))
        for words, first, second in calls:
            yield Pair(f"{engine}, {words}", first, second, share=0.25)


def discovered() -> Iterator[Pair]:
    """Every public mechanism; what takes many counts; and fits."""
    for words, first, second in mechanism_calls():
        yield Pair(f"small: {words}", first, second, share=0.25)
    for words, first, second in many_counts(SIZE):
        yield Pair(words, first, second, share=0.25)
    for words, first, second in fits(2000):
        yield Pair(words, first, second, share=0.25)


def frame_of(engine: str, persons: int) -> Any:
    import duckdb
    import pyarrow

    numbers = range(persons)
    items = [("abcdef"[number % 6] if number < 1000 else "somebody's own") for number in numbers]
    frame = pyarrow.table(
        {
            "person": list(numbers),
            "item": items,
            "value": [number % 101 for number in numbers],
            "team": [("red", "blue")[number % 2] for number in numbers],
        }
    )
    if engine == "arrow":
        return frame
    connection = duckdb.connect()
    connection.register("given", frame)
    connection.execute("create table people as select * from given")
    return connection.table("people")


def session_on(frame: Any) -> discreet.Session:
    return discreet.Session(
        frame, unit=discreet.Person("person"), budget=discreet.ApproxDP(10**6, 0.9)
    )


def large_pairs() -> Iterator[Pair]:
    """The worst pairs of before, with a million items."""
    lone = counts_with((10**6 - 1, 1), (1, 2))
    data = (lone, one_less(lone, 2))
    unknown = discreet.mechanisms.UnknownDomainTopK(k=K, epsilon=1, delta=_DELTA, limit=LIMIT)
    joint = discreet.mechanisms.JointTopK(k=K, epsilon=1, sensitivity=1, monotonic=True)
    yield both("unknown domain, 1e6 items: all 1, or one 2", unknown.release, data)
    yield both("top_k, joint, 1e6 items: all 1, or one 2", joint.release, data)
    values = np.full(10**6, 50.0)
    other = values.copy()
    other[17] = 99.0
    known: dict[str, Any] = {
        "q": 0.5,
        "bounds": (0, 100),
        "step": 1e-4,
        "epsilon": 1,
        "neighbours": "replace",
    }
    yield both(
        "quantile, 1e6 persons: all equal, or one other",
        lambda v: discreet.quantile(v, **known),
        (values, other),
    )


def row(pair: Pair, runs: int) -> str:
    """One line of the table in Markdown."""
    runs = max(40, int(runs * pair.share))
    times = time_calls(pair.first, pair.second, runs)
    medians = " / ".join(f"{statistics.median(part) / 1e3:,.0f}" for part in times)
    bound = epsilon_from_time(*times)
    return (
        f"| {pair.name} | {medians} | {welch(*times):.1f} | {bound:.2f} | "
        f"{largest_epsilon(runs):.2f} |"
    )


HEAD = (
    "| call: neighbours | median, µs | Welch's t | ε from time ≥ | could show "
    "|\n|---|--:|--:|--:|--:|"
)


def table(runs: int, *, large: int = 0, only: str = "") -> Iterator[str]:
    """The lines of the table, one after the other."""
    yield HEAD
    for pair in pairs():
        if only in pair.name:
            yield row(pair, runs)
    for pair in large_pairs() if large else ():
        if only in pair.name:
            yield row(pair, large)


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for line in table(asked, large=asked // 20, only=sys.argv[2] if len(sys.argv) > 2 else ""):
        print(line, flush=True)
