"""How good the lists are that each way to a top-k gives: the measurements behind `method="auto"`.

    python benchmarks/top_k_utility.py [--quick] [--output FOLDER]

Everything is seeded, so the numbers are the same on every machine. A full run writes
benchmarks/results/top_k_utility.{json,md} and docs/explanation/which-top-k.png; a quick one
writes only where --output says.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import Table, environment, number
from top_k_plot import draw_errors

from discreet.mechanisms.count_lists import ListRequest, make_top_k
from discreet.mechanisms.histogram_top_k import HistogramTopK
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.privacy.parameters import ScoreRange
from discreet.testing import SeededBits

Scores = NDArray[np.int64]

DELTA = 1e-6
METHODS: dict[str, tuple[str, float, int | None]] = {
    "peel": ("peel", 0, None),
    "one-shot": ("one-shot", 0, None),
    "joint": ("joint", 0, None),
    "peel, δ": ("peel", DELTA, None),
    "one-shot, δ": ("one-shot", DELTA, None),
    "1 item": ("histogram", 0, 1),
    "3 items": ("histogram", 0, 3),
    "5 items": ("histogram", 0, 5),
    "10 items": ("histogram", 0, 10),
    "10 items, δ": ("histogram", DELTA, 10),
    "20 items, δ": ("histogram", DELTA, 20),
}
"""By name: the method, delta, and how many items a person has. Peel is permute-and-flip, one-shot
the exponential mechanism, that is Gumbel noise; with items it is noise on the whole histogram.
"""

SITUATIONS: dict[str, tuple[float, int | None]] = {
    "any": (0, None),
    "1 item": (0, 1),
    "3 items": (0, 3),
    "5 items": (0, 5),
    "10 items": (0, 10),
    "any, δ": (DELTA, None),
    "10 items, δ": (DELTA, 10),
    "20 items, δ": (DELTA, 20),
}
"""What `auto` is told: delta, and how many items a person has."""

SIZES = (1_000, 10_000)
EPSILONS = (0.1, 0.3, 1.0)
COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 200)
REPETITIONS = 40

_ABOUT = f"""\
@ seeded lists for each number. Counts of persons, so one person moves each score by
at most 1, all in the same direction. *Largest error*: the most by which the score at some rank is
behind the true score of that rank. *Mean error*: how much score the list misses in total, divided
by k. delta is {DELTA:g} where there is one. Only epsilon times the counts matters: ten times the
epsilon is the same as ten times the counts, with a tenth of the error.

- **Zipf**: 100,000 / rank. A few favourites and a long tail.
- **bell**: normally distributed, mean 10,000, standard deviation 1,000. A few stand out a little.
- **near-tie**: 300 leaders, each 1 behind the one before, and all others at half of that and below.
- **flat**: equally popular candidates, whose counts, about 1,000, differ by chance only
(Poisson)."""
_RATIOS = """\
A ratio below 1 is better than `peel` without a delta. Geometric means over all shapes, sizes and
epsilons. To both errors 1/epsilon is added first, the noise scale of one single selection: an
error of 3 instead of 0 persons is no infinite factor.

What auto takes is judged by both errors together, the geometric mean of the two ratios: 1.00 is as
good as the best way that is allowed there. In brackets by the largest error alone, where the best
way may be another one, and by the mean error alone. Epsilons are taken together, because without a
delta ten times the epsilon is nothing but ten times the counts, which no rule may look at."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One situation, and how well one method did."""

    shape: str
    size: int
    epsilon: float
    k: int
    method: str
    largest: float
    largest_error_bar: float
    mean: float


def shapes(size: int) -> dict[str, Scores]:
    """The counts, in random order."""
    ranks, generator = np.arange(1, size + 1), np.random.default_rng(5)
    ordered = {
        "Zipf": 100_000 // ranks,
        "bell": generator.normal(10_000, 1_000, size).astype(np.int64),
        "near-tie": np.where(ranks <= 300, 10_000 - ranks, 5_000 * 301 // ranks),
        "flat": generator.poisson(1_000, size),
    }
    return {name: generator.permutation(scores) for name, scores in ordered.items()}


def simulate(task: tuple[int, float, int, int]) -> list[Cell]:
    """All methods and shapes, for one size, epsilon and k."""
    size, epsilon, k, repetitions = task
    cells = []
    for name in METHODS:
        mechanism = _make(name, k, epsilon)
        for place, (shape, scores) in enumerate(shapes(size).items()):
            first_seed = ((size * 1000 + k) * 10 + place) * repetitions
            seeds = range(first_seed, first_seed + repetitions)
            errors = np.array([_errors(mechanism, scores, seed) for seed in seeds])
            bar = float(errors[:, 0].std() / math.sqrt(repetitions))
            cells.append(
                Cell(
                    shape,
                    size,
                    epsilon,
                    k,
                    name,
                    float(errors[:, 0].mean()),
                    bar,
                    float(errors[:, 1].mean()),
                )
            )
    return cells


def _make(name: str, k: int, epsilon: float) -> TopKMechanism | HistogramTopK:
    method, delta, items = METHODS[name]
    if items is not None:
        return HistogramTopK(k=k, epsilon=epsilon, delta=delta, items_per_person=items)
    return make_top_k(k, epsilon, delta, ScoreRange(sensitivity=1, monotonic=True), method=method)


def _errors(
    mechanism: TopKMechanism | HistogramTopK, scores: Scores, seed: int
) -> tuple[float, float]:
    """The largest and the mean error of one list."""
    chosen = scores[mechanism.select(scores, bits=SeededBits(seed))]
    behind = np.sort(scores)[::-1][: mechanism.k] - chosen
    return max(0.0, float(behind.max())), float(behind.mean())


def run(
    sizes: Iterable[int], epsilons: Iterable[float], counts: Iterable[int], repetitions: int
) -> list[Cell]:
    """Every situation, on all cores. The longest lists go first."""
    tasks = [
        (size, epsilon, k, repetitions)
        for k, size, epsilon in product(sorted(counts, reverse=True), sizes, epsilons)
    ]
    with Pool() as pool:
        found = pool.map(simulate, tasks, chunksize=1)
    return sorted(
        (cell for cells in found for cell in cells),
        key=lambda cell: list(asdict(cell).values())[:5],
    )


def tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """First the ratios that decide about a rule, then all errors."""
    counts = sorted({cell.k for cell in cells})
    for title, error in (("Largest error", _largest), ("Mean error", _mean)):
        rows = []
        for k in counts:
            here = [cell for cell in cells if cell.k == k]
            rows.append(
                [
                    str(k),
                    *(f"{_ratio(here, name, error):.2f}" for name in METHODS),
                ]
            )
        yield Table(f"{title}, as a ratio to peel", ["k", *METHODS], rows)
    rows = [[str(k), *(_beside_best(cells, k, name) for name in SITUATIONS)] for k in counts]
    yield Table("What auto takes, and its error beside the best", ["k", *SITUATIONS], rows)
    for shape, size in product(
        dict.fromkeys(cell.shape for cell in cells), sorted({cell.size for cell in cells})
    ):
        rows = []
        for epsilon, k in product(sorted({cell.epsilon for cell in cells}), counts):
            methods = {
                c.method: c
                for c in cells
                if (c.shape, c.size, c.epsilon, c.k) == (shape, size, epsilon, k)
            }
            rows.append(
                [
                    f"{epsilon:g}",
                    str(k),
                    *(f"{_short(c.largest)} ({_short(c.mean)})" for c in _in_order(methods)),
                ]
            )
        yield Table(
            f"{shape}, {size:,} candidates: largest (mean) error", ["epsilon", "k", *METHODS], rows
        )


def _in_order(cells: Mapping[str, Cell]) -> list[Cell]:
    return [cells[name] for name in METHODS]


def _largest(cell: Cell) -> float:
    return cell.largest


def _mean(cell: Cell) -> float:
    return cell.mean


def _ratio(cells: Sequence[Cell], method: str, error: Callable[[Cell], float]) -> float:
    """The geometric mean of this method's errors as a ratio to those of the first one."""

    def logarithms(name: str) -> dict[Any, float]:
        found = (cell for cell in cells if cell.method == name)
        return {(c.shape, c.size, c.epsilon): math.log(error(c) + 1 / c.epsilon) for c in found}

    base = logarithms(next(iter(METHODS)))
    return math.exp(
        sum(value - base[case] for case, value in logarithms(method).items()) / len(base)
    )


def _beside_best(cells: Sequence[Cell], k: int, situation: str) -> str:
    """What `method="auto"` takes, and the ratio of its error to that of the best way that the
    situation allows: by both errors, by the largest, and by the mean error.
    """
    delta, items = SITUATIONS[situation]
    allowed = [
        name
        for name, (_, used, known) in METHODS.items()
        if used in (0, delta) and known in (None, items)
    ]
    here = [cell for cell in cells if cell.k == k]
    taken = {
        epsilon: _automatic(k, epsilon, delta, items)
        for epsilon in sorted({cell.epsilon for cell in here})
    }
    chosen = [cell for cell in here if cell.method == taken[cell.epsilon]]
    here += [replace(cell, method="auto") for cell in chosen]
    largest = {name: _ratio(here, name, _largest) for name in (*allowed, "auto")}
    mean = {name: _ratio(here, name, _mean) for name in (*allowed, "auto")}
    both = {name: math.sqrt(largest[name] * mean[name]) for name in largest}
    ratios = [f"{each['auto'] / min(each.values()):.2f}" for each in (both, largest, mean)]
    return f"{' / '.join(dict.fromkeys(taken.values()))} {ratios[0]} ({', '.join(ratios[1:])})"


def _automatic(k: int, epsilon: float, delta: float, items: int | None) -> str:
    """What `method="auto"` takes, by its name here."""
    made = ListRequest(
        k=k,
        epsilon=epsilon,
        delta=delta,
        items_per_person=items,
        sensitivity=1,
        monotonic=True,
    ).make()
    words = {
        "peeling-permute-and-flip": "peel",
        "one-shot-gumbel": "one-shot",
        "joint-exponential": "joint",
    }
    if made.name in words:
        # without a composition a delta changes nothing
        used = ", δ" if delta and made.name != "joint-exponential" else ""
        return words[made.name] + used
    found = f"{items} item{'' if items == 1 else 's'}"
    return next(name for name in (f"{found}, δ", found) if name in METHODS and _fits(name, delta))


def _fits(name: str, delta: float) -> bool:
    return METHODS[name][1] == delta


def _short(value: float) -> str:
    return "0" if value == 0 else "<1" if value < 1 else number(round(value))


def _write(folder: Path, cells: Sequence[Cell], repetitions: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = environment(["discreet", "numpy"])
    del about["cpu"]  # nothing here depends on it
    ratios, errors = list(tables(cells))[:3], list(tables(cells))[3:]
    parts = [
        "# Benchmark: top_k_utility",
        ", ".join(f"{key} {value}" for key, value in about.items()) + ".",
        _ABOUT.replace("@", str(repetitions), 1),
    ]
    parts += ["## Ratios", _RATIOS, *map(str, ratios), "## Errors", *map(str, errors)]
    (folder / "top_k_utility.md").write_text("\n\n".join(parts) + "\n")
    lines = ",\n".join(json.dumps(asdict(cell), ensure_ascii=False) for cell in cells)
    (folder / "top_k_utility.json").write_text(
        f'{{"environment": {json.dumps(about)}, "records": [\n{lines}\n]}}\n'
    )


def main() -> None:
    """Simulate, print the ratios, and write everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="lists of up to 50 of 1,000 candidates: some minutes",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="where to write; a full run writes to benchmarks/results and docs/explanation",
    )
    options = parser.parse_args()
    start = time.perf_counter()
    quick = options.quick
    cells = run(
        SIZES[:1] if quick else SIZES,
        EPSILONS,
        COUNTS[:10] if quick else COUNTS,
        repetitions=REPETITIONS,
    )
    for table in list(tables(cells))[:3]:
        print(f"\n{table}")
    print(f"\n{time.perf_counter() - start:.0f} s")
    here = Path(__file__).parent
    if options.output or not quick:
        _write(options.output or here / "results", cells, REPETITIONS)
        draw_errors(
            [asdict(cell) for cell in cells],
            (options.output or here.parent / "docs" / "explanation") / "which-top-k.png",
        )


if __name__ == "__main__":
    main()
