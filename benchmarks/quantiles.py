"""Many quantiles: the errors and times of each method, of other libraries, and of published
mechanisms, in one run.

    python benchmarks/quantiles.py [--quick] [--tumult PYTHON] [--output FOLDER]

A full run writes benchmarks/results/quantiles.{json,md}. The error of an answer is how many
persons lie between it and the true quantile; a list counts with the mean of its errors, and each
number here is the mean over many lists with a standard error.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from quantile_peers import Answer, Tumult, Values, diffprivlib, opendp, published_recursion, slicing
from report import Section, Table, environment, number, write

import discreet

_DELTA = 1e-6
_MANY = 2**32

Draw = Callable[[np.random.Generator, int, float], Values]


@dataclass(frozen=True)
class Trial:
    """What is measured together: so many persons, a grid of so many points, and lists of so many
    quantiles.
    """

    name: str
    draw: Draw
    persons: int
    points: int
    counts: tuple[int, ...]
    methods: dict[str, Answer]
    slow: dict[str, tuple[int, int]]

    @property
    def note(self) -> str:
        """Under what conditions."""
        return (
            f"{self.persons:,} persons, a public grid of {self.points:,} points, epsilon 1 for all "
            "quantiles together; evenly spaced "
            f"shares. `δ` is {_DELTA}\nwhere it says so, and 0 otherwise. Errors in persons: how "
            "many lie between the answer and the "
            "true quantile."
        )


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer lists")
    parser.add_argument("--tumult", metavar="PYTHON", help="a Python with tmlt.analytics")
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    chosen = parser.parse_args()
    about = environment(["discreet", "numpy", "diffprivlib", "opendp"])
    output = chosen.output or (None if chosen.quick else Path(__file__).parent / "results")
    sections: list[Section] = []
    for trial in trials(chosen.tumult):
        sections.append(compare(trial, 4 if chosen.quick else 40))
        print(f"\n{sections[-1]}", flush=True)
        if output:
            write(output, "quantiles", about, sections)


def trials(tumult: str | None) -> list[Trial]:
    """Few persons on a small grid, where everything can run, and many on a fine one."""
    small = SMALL | ({"Tumult": Tumult(tumult)} if tumult else {})
    few = [
        Trial(name, draw, 1000, 1000, (1, 2, 3, 5, 9, 19, 49), small, SLOW)
        for name, draw in {"normal": _normal, "skewed": _skewed, "tied": _tied}.items()
    ]
    many = [
        Trial(f"many {name}", draw, 250_000, _MANY, (9, 49, 99, 199), LARGE, SLOW_WITH_MANY)
        for name, draw in {"normal": _normal, "skewed": _skewed}.items()
    ]
    return [*few, *many]


def _normal(random: np.random.Generator, persons: int, high: float) -> Values:
    return random.normal(0.4 * high, 0.1 * high, persons).clip(0, high)


def _skewed(random: np.random.Generator, persons: int, high: float) -> Values:
    return (random.lognormal(4, 1, persons) * high / 1000).clip(0, high)


def _tied(random: np.random.Generator, persons: int, high: float) -> Values:
    return random.choice([100.0, 250.0, 260.0, 700.0], persons, p=[0.4, 0.3, 0.2, 0.1])


def _ours(method: str, delta: float) -> Answer:
    def answer(values: NDArray[np.float64], shares: list[float], high: float) -> Sequence[float]:
        release = discreet.quantiles(
            values, q=shares, bounds=(0, int(high)), step=1, epsilon=1, delta=delta, method=method
        )
        found: Sequence[float] = release.value
        return found

    return answer


SMALL: dict[str, Answer] = {
    "recursive": _ours("recursive", 0),
    "joint": _ours("joint", 0),
    "independent": _ours("independent", 0),
    "auto": _ours("auto", 0),
    "recursive, δ": _ours("recursive", _DELTA),
    "independent, δ": _ours("independent", _DELTA),
    "auto, δ": _ours("auto", _DELTA),
    "published recursion": published_recursion,
    "diffprivlib": diffprivlib,
    "OpenDP": opendp,
}
LARGE: dict[str, Answer] = {
    "recursive": _ours("recursive", 0),
    "recursive, δ": _ours("recursive", _DELTA),
    "published recursion": published_recursion,
    "slicing": slicing,
    "diffprivlib": diffprivlib,
}
# Slow ones answer only every so many lists, and only up to so many quantiles.
SLOW = {"OpenDP": (10, 3), "Tumult": (10, 5), "joint": (4, 49), "independent, δ": (4, 49)}
SLOW_WITH_MANY = {"diffprivlib": (5, 9)}


def compare(trial: Trial, lists: int) -> Section:
    """All methods on one kind of data."""
    section = Section(trial.name, f"Data: {trial.name}", trial.note)
    random = np.random.default_rng(7)
    high = trial.points - 1
    data = [
        np.floor(trial.draw(random, trial.persons, high))
        for _ in range(lists if trial.persons < 10_000 else lists // 4)
    ]
    means, largest, times = ([[method] for method in trial.methods] for _ in range(3))
    for count in trial.counts:
        shares = [round((place + 1) / (count + 1), 4) for place in range(count)]
        for row, (method, answer) in enumerate(trial.methods.items()):
            every, most = trial.slow.get(method, (1, count))
            asked = data[::every] if count <= most else []
            record = _measure(answer, asked, shares, high)
            if record is None:
                for table in (means, largest, times):
                    table[row].append("")
                continue
            section.records.append({"method": method, "quantiles": count, **record})
            means[row].append(f"{record['error']:.1f} ± {record['standard_error']:.1f}")
            largest[row].append(f"{record['largest']:.0f}")
            times[row].append(number(1000 * record["seconds"]))
    columns = ["", *(str(count) for count in trial.counts)]
    section.tables.append(Table("Mean error in persons, for so many quantiles", columns, means))
    section.tables.append(Table("Largest error of a list, on average", columns, largest))
    section.tables.append(Table("Milliseconds for a list, median", columns, times))
    return section


def _measure(
    answer: Answer, data: Sequence[Values], shares: list[float], high: float
) -> dict[str, float] | None:
    """Errors and seconds over all lists; nothing if there are none, or if the method fails."""
    means, largest, taken = [], [], []
    for values in data:
        began = time.perf_counter()
        try:
            found = answer(values, shares, high)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error)[:100]}")
            return None
        taken.append(time.perf_counter() - began)
        errors = rank_errors(np.sort(values), shares, found)
        means.append(float(errors.mean()))
        largest.append(float(errors.max()))
    if not means:
        return None
    return {
        "error": float(np.mean(means)),
        "standard_error": float(np.std(means) / math.sqrt(len(means))),
        "largest": float(np.mean(largest)),
        "seconds": float(np.median(taken)),
        "lists": len(means),
    }


def rank_errors(values: Values, shares: list[float], found: Sequence[float]) -> Values:
    """How many persons lie between each answer and its share: none if the share ends among those
    who have the answer.
    """
    points = np.floor(found)
    below, reached = values.searchsorted(points), values.searchsorted(points, side="right")
    wanted = np.array(shares) * values.size
    errors: Values = np.maximum(np.maximum(below - wanted, wanted - reached), 0)
    return errors


if __name__ == "__main__":
    main()
