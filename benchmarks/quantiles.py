"""Many quantiles: the errors and times of each method, and of other libraries, in one run.

    python benchmarks/quantiles.py [--quick] [--output FOLDER]

A full run writes benchmarks/results/quantiles.{json,md}. The error of an answer is how many persons lie between it and the true
quantile; a list counts with the mean of its errors, and each number here is the mean over many lists with a standard error.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import Section, Table, environment, number, write

import discreet

_PERSONS, _EPSILON, _DELTA, _HIGH = 1000, 1, 1e-6, 1000
_COUNTS = (1, 2, 3, 5, 9, 19)
_MOST_OPENDP = 3  # quantiles; its search for a scale takes seconds for each
_FEWER = {"OpenDP": 10, "joint": 2}  # slow ones answer only every so many lists
_NOTE = f"""\
{_PERSONS:,} persons, a public grid of {_HIGH:,} points, epsilon {_EPSILON} for all quantiles together; evenly spaced shares. `δ` is
{_DELTA} where it says so, and 0 otherwise. Errors in persons: how many lie between the answer and the true quantile, on average."""

Answer = Callable[[NDArray[np.float64], list[float]], Sequence[float]]


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer lists")
    parser.add_argument("--output", type=Path, help="where to write; a full run writes to benchmarks/results")
    chosen = parser.parse_args()
    lists = 12 if chosen.quick else 40
    about = environment(["discreet", "numpy", "diffprivlib", "opendp"])
    sections = [compare(name, draw, lists) for name, draw in DATA.items()]
    for section in sections:
        print(f"\n{section}", flush=True)
    output = chosen.output or (None if chosen.quick else Path(__file__).parent / "results")
    if output:
        write(output, "quantiles", about, sections)


def _normal(random: np.random.Generator) -> NDArray[np.float64]:
    return random.normal(400, 100, _PERSONS)


def _skewed(random: np.random.Generator) -> NDArray[np.float64]:
    return random.lognormal(4, 1, _PERSONS)


def _tied(random: np.random.Generator) -> NDArray[np.float64]:
    return random.choice([100.0, 250.0, 260.0, 700.0], _PERSONS, p=[0.4, 0.3, 0.2, 0.1])


DATA: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "normal": _normal,
    "skewed": _skewed,
    "tied": _tied,
}


def _ours(method: str, delta: float) -> Answer:
    def answer(values: NDArray[np.float64], shares: list[float]) -> Sequence[float]:
        release = discreet.quantiles(
            values, q=shares, bounds=(0, _HIGH - 1), step=1, epsilon=_EPSILON, delta=delta, method=method
        )
        found: Sequence[float] = release.value
        return found

    return answer


def _diffprivlib(values: NDArray[np.float64], shares: list[float]) -> Sequence[float]:
    """Its quantiles share epsilon evenly; floats, and sensitivity 1 whatever the share."""
    from diffprivlib.tools import quantile

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Sequence[float] = np.atleast_1d(quantile(values, shares, epsilon=_EPSILON, bounds=(0, _HIGH - 1))).tolist()
    return found


def _opendp(values: NDArray[np.float64], shares: list[float]) -> Sequence[float]:
    """Scores of all points of the grid, and its report-noisy-max; one quantile after the other, each with its part of epsilon."""
    clipped = values.clip(0, _HIGH - 1).tolist()
    return sorted(float(_opendp_search(share, len(shares))(clipped)) for share in shares)


@cache
def _opendp_search(share: float, count: int) -> Callable[[list[float]], int]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    grid = [float(point) for point in range(_HIGH)]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = space >> dp.t.then_quantile_score_candidates(grid, share)
    found: Callable[[list[float]], int] = dp.binary_search_chain(
        lambda scale: scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True),
        d_in=1,
        d_out=_EPSILON / count,
        T=float,
        bounds=(1e-3, 1e9),
    )
    return found


METHODS: dict[str, Answer] = {
    "recursive": _ours("recursive", 0),
    "joint": _ours("joint", 0),
    "independent": _ours("independent", 0),
    "auto": _ours("auto", 0),
    "recursive, δ": _ours("recursive", _DELTA),
    "independent, δ": _ours("independent", _DELTA),
    "auto, δ": _ours("auto", _DELTA),
    "diffprivlib": _diffprivlib,
    "OpenDP": _opendp,
}


def compare(name: str, draw: Callable[[np.random.Generator], NDArray[np.float64]], lists: int) -> Section:
    """All methods on one kind of data."""
    section = Section(name, f"Data: {name}", _NOTE)
    random = np.random.default_rng(7)
    data = [draw(random) for _ in range(lists)]
    errors: list[list[str]] = [[method] for method in METHODS]
    times: list[list[str]] = [[method] for method in METHODS]
    for count in _COUNTS:
        shares = [round((place + 1) / (count + 1), 4) for place in range(count)]
        for row, (method, answer) in enumerate(METHODS.items()):
            if method == "OpenDP" and count > _MOST_OPENDP:
                errors[row].append("")
                times[row].append("")
                continue
            found, seconds = _measure(answer, data[:: _FEWER.get(method, 1)], shares)
            if not found:
                errors[row].append("fails")
                times[row].append("")
                continue
            mean, spread = float(np.mean(found)), float(np.std(found) / math.sqrt(len(found)))
            section.records.append(
                {
                    "method": method,
                    "quantiles": count,
                    "error": mean,
                    "standard_error": spread,
                    "seconds": seconds,
                    "lists": len(found),
                }
            )
            errors[row].append(f"{mean:.1f} ± {spread:.1f}")
            times[row].append(number(1000 * seconds))
    columns = ["", *(str(count) for count in _COUNTS)]
    section.tables.append(Table("Mean error in persons, for so many quantiles", columns, errors))
    section.tables.append(Table("Milliseconds for a list, median", columns, times))
    return section


def _measure(answer: Answer, data: Sequence[NDArray[np.float64]], shares: list[float]) -> tuple[list[float], float]:
    errors, taken = [], []
    for values in data:
        began = time.perf_counter()
        try:
            found = answer(values, shares)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error)[:100]}")
            return [], 0.0
        taken.append(time.perf_counter() - began)
        errors.append(float(np.mean([_error(values, share, point) for share, point in zip(shares, found, strict=True)])))
    return errors, float(np.median(taken))


def _error(values: NDArray[np.float64], share: float, point: float) -> float:
    """How many persons lie between the answer and the share: none if the share ends among those who have the answer."""
    whole = np.floor(values.clip(0, _HIGH - 1))
    below, at = float((whole < math.floor(point)).sum()), float((whole == math.floor(point)).sum())
    wanted = share * len(values)
    return max(below - wanted, wanted - below - at, 0.0)


if __name__ == "__main__":
    main()
