"""Models chosen privately: what they capture, beside other libraries and published constants.

    python benchmarks/models.py [--quick] [--output FOLDER]

A full run writes benchmarks/results/models.{json,md}. All libraries get the same rows: columns
scaled by bounds that stand for public ones, rows shortened to a norm that stands for a public one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import Section, Table, Target, environment, write
from sklearn import datasets

import discreet

Rows = NDArray[np.float64]

BARS = {
    ("iris", 1): 0.95,
    ("wine", 3): 0.83,
    ("breast_cancer", 3): 0.88,
    ("digits", 3): 0.90,
    ("digits", 10): 0.80,
}
ALSO = [("iris", 2), ("wine", 1), ("breast_cancer", 1), ("digits", 1)]
# a peer that has not answered by then is stopped
_PATIENCE = 60.0


def load(name: str) -> Rows:
    """A bundled set, with rows of norm at most 1."""
    rows = getattr(datasets, f"load_{name}")().data.astype(float)
    if name == "digits":
        rows = (rows - 8) / 8
    else:
        low, high = rows.min(axis=0), rows.max(axis=0)
        rows = 2 * (rows - low) / (high - low) - 1
    rows = rows / math.sqrt(rows.shape[1])
    lengths = np.linalg.norm(rows, axis=1)
    norm = np.quantile(lengths, 0.9)
    return rows * (np.minimum(1, norm / lengths) / norm)[:, None]


def share(rows: Rows, directions: Any) -> float:
    """What the span of directions captures, relative to the best subspace."""
    basis = np.linalg.qr(np.asarray(directions, dtype=float).T)[0]
    moment = rows.T @ rows
    best = np.linalg.eigvalsh(moment)[::-1][: basis.shape[1]].sum()
    return float(np.trace(basis.T @ moment @ basis) / best)


def joint(rows: Rows, k: int) -> Any:
    """One joint draw."""
    return discreet.models.fit_subspace(rows, k=k, epsilon=1, norm=1).value


def one_by_one(rows: Rows, k: int) -> Any:
    """Directions with all of epsilon: twice as much goes to `fit_covariance`, half is for sums."""
    found = discreet.models.fit_covariance(rows, k=k, epsilon=2, norm=1).value
    return [direction for _, direction in found]


def published(rows: Rows, k: int) -> Any:
    """The right law at the published rate: epsilon / (4 (k + 1)) for each direction.

    `fit_covariance` with k directions has the rate epsilon / (2 k) for each.
    """
    epsilon = 2 * k / (4 * (k + 1))
    found = discreet.models.fit_covariance(rows, k=k, epsilon=epsilon, norm=1).value
    return [direction for _, direction in found]


def diffprivlib(rows: Rows, k: int) -> Any:
    """Its PCA, uncentred: the covariance of the same rows."""
    from diffprivlib.models.utils import covariance_eig

    _, vectors = covariance_eig(rows, epsilon=1, norm=1.0, dims=k)
    return vectors.T


METHODS: dict[str, Callable[[Rows, int], Any]] = {
    "joint draw": joint,
    "one by one": one_by_one,
    "one by one, published rate": published,
    "diffprivlib": diffprivlib,
}


def measured(method: str, name: str, k: int, repeats: int) -> dict[str, Any]:
    """Shares and seconds of some draws; for a peer in a process that can be stopped."""
    if method != "diffprivlib":
        return _run(method, name, k, repeats)
    queue: Any = multiprocessing.Queue()
    worker = multiprocessing.Process(target=_send, args=(queue, method, name, k, min(repeats, 10)))
    worker.start()
    try:
        return queue.get(timeout=_PATIENCE)
    except Exception:
        return {"method": method, "data": name, "k": k, "missing": f"> {_PATIENCE:.0f} s"}
    finally:
        worker.terminate()
        worker.join()


def _send(queue: Any, *given: Any) -> None:
    try:
        queue.put(_run(*given))
    except ImportError:
        queue.put({"method": given[0], "data": given[1], "k": given[2], "missing": "not installed"})


def _run(method: str, name: str, k: int, repeats: int) -> dict[str, Any]:
    rows = load(name)
    shares, seconds = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        found = METHODS[method](rows, k)
        seconds.append(time.perf_counter() - start)
        shares.append(share(rows, found))
    return {
        "method": method,
        "data": name,
        "k": k,
        "repeats": repeats,
        "mean": float(np.mean(shares)),
        "error": float(np.std(shares, ddof=1) / math.sqrt(repeats)),
        "milliseconds": 1e3 * float(np.median(seconds)),
    }


def principal_components(repeats: int) -> Section:
    """What private principal components capture."""
    section = Section(
        "principal components",
        "Private principal components",
        "Second moment in the subspace relative to the best one, mean and standard error, at "
        "epsilon = 1, delta = 0. diffprivlib draws from another law than it states "
        "(docs/proofs/subspaces.md#the-core), so its column is no epsilon-DP answer.",
    )
    rows = []
    for name, k in [*BARS, *ALSO]:
        cells = [f"{name}, k = {k}"]
        for method in METHODS:
            record = measured(method, name, k, repeats)
            section.records.append(record)
            cells.append(
                record.get("missing")
                or f"{record['mean']:.3f} ± {record['error']:.3f} ({record['milliseconds']:.0f} ms)"
            )
            if method == "joint draw" and (name, k) in BARS:
                section.targets.append(
                    Target(f"captured, {name} {k}", BARS[name, k], record["mean"])
                )
        rows.append(cells)
        print(" | ".join(cells), flush=True)
    section.tables.append(Table("captured (time of one call)", ["data", *METHODS], rows))
    return section


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("results"))
    given = parser.parse_args()
    sections = [principal_components(5 if given.quick else 60)]
    for section in sections:
        print(f"\n{section}")
    if not given.quick:
        write(given.output, "models", environment(["numpy", "scikit-learn"]), sections)


if __name__ == "__main__":
    main()
