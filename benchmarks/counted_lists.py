"""The most frequent items with their counts, by several libraries: errors beside times.

    python benchmarks/counted_lists.py [--opendp PYTHON] [--pipelinedp PYTHON] [--tumult PYTHON]

Each option names a Python that has the library; those left out are not measured. Writes
benchmarks/results/counted_lists.{json,md}. Answers are drawn at random, so numbers vary.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from report import Table, environment, number

HERE = Path(__file__).parent
PERSONS, ITEMS, K, EPSILON, DELTA, REPETITIONS = 20_000, 1_000, 10, 0.1, 1e-6, 9
LIBRARIES = {
    "discreet": "discreet",
    "opendp": "OpenDP",
    "pipelinedp": "PipelineDP",
    "tumult": "Tumult Analytics",
}

_ABOUT = f"""\
{PERSONS:,} persons with one item each, of {ITEMS:,} items with Zipf's frequencies; the {K} most
frequent with their counts, epsilon {EPSILON:g}; without public names delta {DELTA:g}. Medians of
{REPETITIONS} answers from rows that are in memory, each with all of its budget; Tumult counts on
Spark. *Missed*: the most by which the count at some rank is behind the true count of that rank,
of a shorter list nothing for the ranks that it has not. *Count off*: the most by which a number is
off. *Named*: how many items came out."""


def data(seed: int = 7) -> list[tuple[int, str]]:
    """Rows of persons and items."""
    weights = 1 / np.arange(1, ITEMS + 1)
    drawn = np.random.default_rng(seed).choice(ITEMS, PERSONS, p=weights / weights.sum())
    return [(person, f"item {item}") for person, item in enumerate(drawn)]


def ask(python: str, library: str, question: dict[str, Any]) -> list[dict[str, Any]]:
    """All answers of one library."""
    done = subprocess.run(
        [python, str(HERE / "counted_peer.py"), library],
        input=json.dumps(question) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{library}: {done.stderr[-2000:]}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def judged(answers: list[dict[str, Any]], true: Counter[str]) -> dict[str, float]:
    """Errors and times of the answers of one library."""
    best = [count for _, count in true.most_common(K)]
    missed, off = [], []
    for answer in answers:
        pairs = list(enumerate(answer["list"]))
        missed.append(max((best[rank] - true[name] for rank, (name, _) in pairs), default=0))
        off.append(max((abs(count - true[name]) for _, (name, count) in pairs), default=0))
    return {
        "missed": statistics.median(missed),
        "off": statistics.median(off),
        "named": statistics.median(len(answer["list"]) for answer in answers),
        "seconds": statistics.median(answer["seconds"] for answer in answers),
    }


def main() -> None:
    """Ask every library that there is, and write what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for library in list(LIBRARIES)[1:]:
        parser.add_argument(f"--{library}", metavar="PYTHON")
    options = vars(parser.parse_args()) | {"discreet": sys.executable}
    rows = data()
    true = Counter(item for _, item in rows)
    records = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        with file.open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerows([("person", "item"), *rows])
        for known in (True, False):
            question = {
                "file": str(file),
                "k": K,
                "epsilon": EPSILON,
                "delta": 0 if known else DELTA,
                "names": [f"item {item}" for item in range(ITEMS)] if known else None,
                "repetitions": REPETITIONS,
            }
            for library, name in LIBRARIES.items():
                if options[library] is not None:
                    found = judged(ask(options[library], library, question), true)
                    records.append({"names": "public" if known else "unknown", "by": name} | found)
                    print(records[-1], flush=True)
                    # an interrupted run leaves what it has
                    _write(records)


def _write(records: list[dict[str, Any]]) -> None:
    about = environment(["discreet", "numpy"])
    table = Table(
        "Names with counts",
        ["names", "by", "missed", "count off", "named", "ms"],
        [
            [
                record["names"],
                record["by"],
                *(number(round(record[part])) for part in ("missed", "off", "named")),
                number(round(1000 * record["seconds"])),
            ]
            for record in records
        ],
    )
    parts = [
        "# Benchmark: counted_lists",
        ", ".join(f"{key} {value}" for key, value in about.items()) + ".",
        _ABOUT,
        str(table),
    ]
    (HERE / "results" / "counted_lists.md").write_text("\n\n".join(parts) + "\n")
    stored = {"environment": about, "records": records}
    (HERE / "results" / "counted_lists.json").write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
