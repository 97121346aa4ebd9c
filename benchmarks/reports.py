"""Ten million reports of each local mechanism, beside floating-point code that is not exact, in
one run.

    python benchmarks/reports.py [--quick] [--output FOLDER]

A full run writes benchmarks/results/reports.{json,md}; a quick one writes only where --output
says. Both sides work in steps of the same size, on one thread. Ours takes its bits from the
operating system's cryptographic generator; the other side takes them from NumPy's PCG64, which is
fast and predictable.
"""

from __future__ import annotations

import argparse
import math
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import Section, Table, Target, environment, number, write
from timing import Effort, Timing, interleave

from discreet.mechanisms import RandomizedResponse, Rappor, SubsetSelection

Array = NDArray[Any]
Made = RandomizedResponse | Rappor | SubsetSelection

EPSILON = 1
CATEGORIES = (10, 100)
KINDS: dict[str, type[Made]] = {
    "randomized-response": RandomizedResponse,
    "rappor": Rappor,
    "subset": SubsetSelection,
}
_NOTE = """\
Epsilon 1, values uniform among the categories, made beforehand as an array of whole numbers.
“floats” is the usual NumPy code: a uniform float below a float probability, an argpartition of
random keys for subsets. It is not exact and not for real reports. The extra memory is what one
call has at its peak, beyond the reports themselves."""


def float_response(values: Array, categories: int, generator: np.random.Generator) -> Array:
    """Randomised response with floats."""
    truth = math.exp(EPSILON) / (math.exp(EPSILON) + categories - 1)
    lies = generator.random(values.size, dtype=np.float32) >= truth
    others = generator.integers(0, categories - 1, size=values.size, dtype=np.uint8)
    return np.where(lies, others + (others >= values), values).astype(np.uint8)


def float_rappor(values: Array, categories: int, generator: np.random.Generator) -> Array:
    """RAPPOR with floats."""
    flip = 1 / (math.exp(EPSILON / 2) + 1)
    bits = generator.random((values.size, categories), dtype=np.float32) < flip
    bits[np.arange(values.size), values] ^= True
    return np.packbits(bits, axis=1)


def float_subset(values: Array, categories: int, generator: np.random.Generator) -> Array:
    """Subset selection with floats: the smallest of random keys, where the own key is made the
    smallest or the largest.
    """
    size = SubsetSelection(range(categories), epsilon=EPSILON).size or 1
    inside = size * math.exp(EPSILON) / (size * math.exp(EPSILON) + categories - size)
    keys = generator.random((values.size, categories), dtype=np.float32)
    keys[np.arange(values.size), values] = np.where(generator.random(values.size) < inside, -1, 2)
    return np.sort(np.argpartition(keys, size - 1, axis=1)[:, :size].astype(np.uint8), axis=1)


FLOATS: dict[str, Callable[[Array, int, np.random.Generator], Array]] = {
    "randomized-response": float_response,
    "rappor": float_rappor,
    "subset": float_subset,
}


def in_steps(name: str, values: Array, categories: int) -> Array:
    """The float code in steps, as ours has them."""
    generator, step = np.random.default_rng(1), max(1, min(1 << 16, (1 << 20) // categories))
    parts = [
        FLOATS[name](values[start : start + step], categories, generator)
        for start in range(0, values.size, step)
    ]
    return np.concatenate(parts)


def reports(quick: bool) -> Section:
    """Times, memory and ratios, for each mechanism and number of categories."""
    persons = 300_000 if quick else 10_000_000
    section = Section("reports", f"{persons:,} reports", _NOTE)
    rows: list[list[str]] = []
    for categories in CATEGORIES:
        values = np.random.default_rng(5).integers(0, categories, persons)
        for name, kind in KINDS.items():
            mechanism = kind(range(categories), epsilon=EPSILON)
            calls: dict[str, Callable[[], object]] = {
                "exact": partial(mechanism.privatize, values),
                "floats": partial(in_steps, name, values, categories),
            }
            times = interleave(calls, Effort(rounds=2 if quick else 3))
            peak, size = _memory(mechanism, values)
            estimating = _estimating(mechanism, values)
            rows.append(_row(name, categories, times, estimating, peak, size, persons))
            section.records.append(
                {
                    "mechanism": name,
                    "categories": categories,
                    "reports": persons,
                    "extra_bytes": peak,
                    "report_bytes": size,
                }
                | {
                    f"{who}_{what}_s": getattr(t, what)
                    for who, t in times.items()
                    for what in ("median", "minimum")
                }
                | {"estimate_s": estimating}
            )
            section.targets += _targets(name, categories, times, persons)
    columns = [
        "",
        "categories",
        "exact, s",
        "floats, s",
        "exact / floats",
        "ns a report",
        "estimate, s",
        "extra MB",
        "reports MB",
    ]
    section.tables.append(Table("Medians", columns, rows))
    return section


def _row(
    name: str,
    categories: int,
    times: Mapping[str, Timing],
    estimating: float,
    peak: int,
    size: int,
    persons: int,
) -> list[str]:
    exact, floats = times["exact"].median, times["floats"].median
    cells = (
        exact,
        floats,
        exact / floats,
        exact / persons * 1e9,
        estimating,
        peak / 1e6,
        size / 1e6,
    )
    return [name, str(categories), *map(number, cells)]


def _targets(name: str, categories: int, times: Mapping[str, Timing], persons: int) -> list[Target]:
    exact, floats, scale = times["exact"], times["floats"], 10_000_000 / persons
    where = f"{categories} categories"
    ratio, least = exact.median / floats.median, exact.minimum / floats.minimum
    return [
        Target(
            f"{name}: seconds for ten million reports",
            10.0,
            exact.median * scale,
            exact.minimum * scale,
            where,
            True,
        ),
        Target(f"{name}: exact over floats", 2.0, ratio, least, where, True),
    ]


def _memory(mechanism: Made, values: Array) -> tuple[int, int]:
    """Bytes at the peak of one call beyond its result (tracemalloc sees NumPy's arrays), and
    bytes of the result.
    """
    mechanism.privatize(values[:10])  # loads what is loaded late
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = mechanism.privatize(values)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak - made.nbytes, made.nbytes


def _estimating(mechanism: Made, values: Array) -> float:
    made = mechanism.privatize(values)
    return interleave({"estimate": partial(mechanism.estimate, made)}, Effort(rounds=2))[
        "estimate"
    ].median


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="300,000 reports: under half a minute")
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    options = parser.parse_args()
    about = environment(["discreet", "numpy"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    section = reports(options.quick)
    print(f"\n{section}", flush=True)
    folder = options.output or (None if options.quick else Path(__file__).parent / "results")
    if folder:
        write(folder, "reports", about, [section])


if __name__ == "__main__":
    main()
