"""How good the lists are that each way to a top-k gives: the measurements behind `method="auto"`.

    python benchmarks/top_k_utility.py [--quick] [--output FOLDER]

Everything is seeded, so the numbers are the same on every machine. A full run writes benchmarks/results/top_k_utility.{json,md} and
docs/explanation/which-top-k.png; a quick one writes only where --output says.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from competitors import Scores
from report import Table, environment, number
from top_k_plot import draw_errors

from discreet.mechanisms.top_k import TopKMechanism
from discreet.selecting import make_top_k
from discreet.testing import SeededBits

DELTA = 1e-6
METHODS: dict[str, tuple[str, float]] = {
    "peel": ("peel", 0),
    "one-shot": ("one-shot", 0),
    "joint": ("joint", 0),
    "peel, δ": ("peel", DELTA),
    "one-shot, δ": ("one-shot", DELTA),
}
"""By name: the method and delta. Peel is permute-and-flip, one-shot the exponential mechanism, that is Gumbel noise."""

SIZES = (1_000, 10_000)
EPSILONS = (0.1, 0.3, 1.0)
COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 200)
REPETITIONS = 40

_ABOUT = f"""\
{REPETITIONS} seeded lists for each number. Counts of persons, so one person moves each score by at most 1, all in the same
direction. *Largest error*: the most by which the score at some rank is behind the true score of that rank. *Mean error*: how much score
the list misses in total, divided by k. delta is {DELTA:g} where there is one. Only epsilon times the counts matters: ten times
the epsilon is the same as ten times the counts, with a tenth of the error.

- **Zipf**: 100,000 / rank. A few favourites and a long tail.
- **bell**: normally distributed, mean 10,000, standard deviation 1,000. A few stand out a little.
- **near-tie**: 300 leaders, each 1 behind the one before, and all others at half of that and below.
- **flat**: equally popular candidates, whose counts, about 1,000, differ by chance only (Poisson)."""
_RATIOS = """\
A ratio below 1 is better than `peel` without a delta. Geometric means over all shapes, sizes and epsilons. To both errors 1/epsilon is
added first, the noise scale of one single selection: an error of 3 instead of 0 persons is no infinite factor."""


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
            cells.append(Cell(shape, size, epsilon, k, name, float(errors[:, 0].mean()), bar, float(errors[:, 1].mean())))
    return cells


def _make(name: str, k: int, epsilon: float) -> TopKMechanism:
    method, delta = METHODS[name]
    return make_top_k(k, epsilon, delta, sensitivity=1, monotonic=True, method=method)


def _errors(mechanism: TopKMechanism, scores: Scores, seed: int) -> tuple[float, float]:
    """The largest and the mean error of one list."""
    chosen = scores[mechanism.select(scores, bits=SeededBits(seed))]
    behind = np.sort(scores)[::-1][: mechanism.k] - chosen
    return max(0.0, float(behind.max())), float(behind.mean())


def run(sizes: Iterable[int], epsilons: Iterable[float], counts: Iterable[int], repetitions: int) -> list[Cell]:
    """Every situation, on all cores. The longest lists go first."""
    tasks = [(size, epsilon, k, repetitions) for k, size, epsilon in product(sorted(counts, reverse=True), sizes, epsilons)]
    with Pool() as pool:
        found = pool.map(simulate, tasks, chunksize=1)
    return sorted((cell for cells in found for cell in cells), key=lambda cell: list(asdict(cell).values())[:5])


def tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """First the ratios that decide about a rule, then all errors."""
    counts = sorted({cell.k for cell in cells})
    for title, error in (("Largest error", _largest), ("Mean error", _mean)):
        rows = []
        for k in counts:
            here = [cell for cell in cells if cell.k == k]
            rows.append(
                [str(k), *(f"{_ratio(here, name, error):.2f}" for name in METHODS), _automatic(k, 0), _automatic(k, DELTA)]
            )
        columns = ["k", *METHODS, "auto", "auto, δ"]
        yield Table(f"{title}, as a ratio to peel", columns, rows)
    for shape, size in product(dict.fromkeys(cell.shape for cell in cells), sorted({cell.size for cell in cells})):
        rows = []
        for epsilon, k in product(sorted({cell.epsilon for cell in cells}), counts):
            methods = {c.method: c for c in cells if (c.shape, c.size, c.epsilon, c.k) == (shape, size, epsilon, k)}
            rows.append([f"{epsilon:g}", str(k), *(f"{_short(c.largest)} ({_short(c.mean)})" for c in _in_order(methods))])
        yield Table(f"{shape}, {size:,} candidates: largest (mean) error", ["epsilon", "k", *METHODS], rows)


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
    return math.exp(sum(value - base[case] for case, value in logarithms(method).items()) / len(base))


def _automatic(k: int, delta: float) -> str:
    """What `method="auto"` takes."""
    words = {"peeling-permute-and-flip": "peel", "one-shot-gumbel": "one-shot", "joint-exponential": "joint"}
    mechanism = make_top_k(k, 1, delta, sensitivity=1, monotonic=True)
    return words[mechanism.name]


def _short(value: float) -> str:
    return "0" if value == 0 else "<1" if value < 1 else number(round(value))


def _write(folder: Path, cells: Sequence[Cell]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = environment(["discreet", "numpy"])
    del about["cpu"]  # nothing here depends on it
    ratios, errors = list(tables(cells))[:2], list(tables(cells))[2:]
    parts = ["# Benchmark: top_k_utility", ", ".join(f"{key} {value}" for key, value in about.items()) + ".", _ABOUT]
    parts += ["## Ratios", _RATIOS, *map(str, ratios), "## Errors", *map(str, errors)]
    (folder / "top_k_utility.md").write_text("\n\n".join(parts) + "\n")
    lines = ",\n".join(json.dumps(asdict(cell), ensure_ascii=False) for cell in cells)
    (folder / "top_k_utility.json").write_text(f'{{"environment": {json.dumps(about)}, "records": [\n{lines}\n]}}\n')


def main() -> None:
    """Simulate, print the ratios, and write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few lists, up to 20 of 1,000 candidates: under a minute")
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results and docs/explanation"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    quick = options.quick
    cells = run(
        SIZES[:1] if quick else SIZES, EPSILONS, COUNTS[:9] if quick else COUNTS, repetitions=5 if quick else REPETITIONS
    )
    for table in list(tables(cells))[:2]:
        print(f"\n{table}")
    print(f"\n{time.perf_counter() - start:.0f} s")
    here = Path(__file__).parent
    if options.output or not quick:
        _write(options.output or here / "results", cells)
        draw_errors(
            [asdict(cell) for cell in cells], (options.output or here.parent / "docs" / "explanation") / "which-top-k.png"
        )


if __name__ == "__main__":
    main()
