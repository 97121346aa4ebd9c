"""Linear and logistic regression beside diffprivlib: the same rows, public bounds and splits.

    python benchmarks/linear_models.py [--quick]

Rows are scaled by public-like bounds, with a column of ones, and shortened to length 1. The
radius is the same for all sets. The peer has its best regularisation with hindsight: of four
it is given the one whose own test mean is highest. Accuracies are means over splits; the
standard error is that of the difference over splits (which overlap, so it is a little small).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import Section, Table, Target, environment, write
from sklearn import datasets
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split

import discreet

Floats = NDArray[np.float64]
RADIUS = 10
PEER_SETTINGS = (0.01, 0.1, 1.0, 10.0)
EPSILONS = (0.2, 1)
SETS = ("breast_cancer", "wine", "iris", "digits")


def scaled(rows: Floats) -> Floats:
    """Columns from -1 to 1, a column of ones, and rows of length at most 1."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    rows = 2 * (rows - low) / np.where(high > low, high - low, 1) - 1
    rows = np.column_stack([rows, np.ones(len(rows))]) / np.sqrt(rows.shape[1] + 1)
    lengths = np.linalg.norm(rows, axis=1)
    norm = np.quantile(lengths, 0.9)
    shortened: Floats = rows * np.minimum(1, norm / lengths)[:, None] / norm
    return shortened


def classes(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """One of scikit-learn's sets, as a question of two classes."""
    data = getattr(datasets, f"load_{name}")()
    wanted = {"iris": data.target == 2, "wine": data.target == 1, "digits": data.target % 2 == 1}
    return scaled(data.data), wanted.get(name, data.target == 1).astype(np.int64)


def accuracy(rows: Floats, labels: NDArray[np.int64], coefficients: Any) -> float:
    return float(((rows @ np.ravel(coefficients) > 0) == labels).mean())


def peer_scores(split: list[Any], epsilon: float, fits: int) -> list[float]:
    """The mean accuracy of diffprivlib at each of its settings."""
    from diffprivlib.models import LogisticRegression as Peer

    rows, test, labels, wanted = split
    result = []
    for setting in PEER_SETTINGS:
        made = [
            Peer(epsilon=epsilon, data_norm=1.0, C=setting, fit_intercept=False).fit(rows, labels)
            for _ in range(fits)
        ]
        result.append(float(np.mean([accuracy(test, wanted, each.coef_) for each in made])))
    return result


def our_scores(split: list[Any], epsilon: float, fits: int) -> tuple[float, float]:
    """The mean accuracy, and the seconds of one fit."""
    rows, test, labels, wanted = split
    start = time.perf_counter()
    made = [
        discreet.models.fit_logistic(
            rows, labels, classes=(0, 1), epsilon=epsilon, norm=1, radius=RADIUS
        ).value
        for _ in range(fits)
    ]
    seconds = (time.perf_counter() - start) / fits
    return float(np.mean([accuracy(test, wanted, each) for each in made])), seconds


def logistic(quick: bool) -> Section:
    """Logistic regression on the four sets."""
    section = Section(
        "logistic",
        "Logistic regression",
        f"Test accuracy at radius {RADIUS}; 'ahead' is ours less the peer's best, and its "
        "standard error over splits.",
    )
    lines, wins = [], {epsilon: 0 for epsilon in EPSILONS}
    for name in SETS:
        rows, labels = classes(name)
        splits, fits = (3, 2) if quick else (10, 3) if name == "digits" else (20, 6)
        for epsilon in EPSILONS:
            ours, peers, plain, seconds = [], [], [], []
            for seed in range(splits):
                split = train_test_split(
                    rows, labels, test_size=0.3, random_state=seed, stratify=labels
                )
                split = [split[0], split[1], split[2], split[3]]
                mean, taken = our_scores(split, epsilon, fits)
                ours.append(mean)
                seconds.append(taken)
                peers.append(peer_scores(split, epsilon, fits))
                model = LogisticRegression(C=1e3, fit_intercept=False, max_iter=3000)
                plain.append(model.fit(split[0], split[2]).score(split[1], split[3]))
            best = int(np.mean(peers, axis=0).argmax())
            gaps = np.array(ours) - np.array(peers)[:, best]
            wins[epsilon] += bool(gaps.mean() > 0)
            section.records.append(
                {
                    "set": name,
                    "rows": len(rows),
                    "dimensions": rows.shape[1],
                    "epsilon": epsilon,
                    "ours": float(np.mean(ours)),
                    "peer": float(np.mean(peers, axis=0)[best]),
                    "setting": PEER_SETTINGS[best],
                    "gap": float(gaps.mean()),
                    "error": float(gaps.std(ddof=1) / np.sqrt(splits)),
                    "seconds": float(np.median(seconds)),
                }
            )
            last = section.records[-1]
            lines.append(
                [
                    f"{name} ({len(rows)}, {rows.shape[1]})",
                    f"{epsilon:g}",
                    f"{last['ours']:.3f}",
                    f"{last['peer']:.3f} (C = {last['setting']:g})",
                    f"{last['gap']:+.3f} ± {last['error']:.3f}",
                    f"{np.mean(plain):.3f}",
                    f"{1000 * last['seconds']:.0f}",
                ]
            )
            print(" ".join(lines[-1]), flush=True)
    columns = ["set", "epsilon", "ours", "diffprivlib, best C", "ahead", "not private", "ms a fit"]
    section.tables.append(Table("Accuracy", columns, lines))
    section.targets += [
        Target("sets on which ours is ahead at epsilon 0.2", 4, wins[0.2]),
        Target("sets on which ours is ahead at epsilon 1", 3, wins[1]),
    ]
    return section


def linear(quick: bool) -> Section:
    """Linear regression on diabetes."""
    from diffprivlib.models import LinearRegression as Peer

    data = datasets.load_diabetes()
    rows = scaled(data.data)
    low, high = data.target.min(), data.target.max()
    targets = 2 * (data.target - low) / (high - low) - 1
    bounds_x = (data.data.min(axis=0), data.data.max(axis=0))
    section = Section(
        "linear",
        "Linear regression, diabetes",
        "R² on test rows, radius 1; of the peer the median, because its mean has no meaning.",
    )
    lines, means = [], {}
    for epsilon in (1, 3, 10):
        ours, peers, plain = [], [], []
        for seed in range(4 if quick else 20):
            split = train_test_split(
                rows, targets, data.data, data.target, test_size=0.3, random_state=seed
            )
            train, test, wanted, truth, raw, raw_test, raw_wanted, raw_truth = split

            def explained(coefficients: Any, test: Any = test, truth: Any = truth) -> float:
                return float(1 - ((truth - test @ coefficients) ** 2).mean() / truth.var())

            for _ in range(8):
                ours.append(
                    explained(
                        np.array(
                            discreet.models.fit_linear(
                                train, wanted, epsilon=epsilon, norm=1, radius=1, bounds=(-1, 1)
                            ).value
                        )
                    )
                )
            peer = Peer(epsilon=epsilon, bounds_X=bounds_x, bounds_y=(low, high))
            peers.append(peer.fit(raw, raw_wanted).score(raw_test, raw_truth))
            plain.append(LinearRegression().fit(train, wanted).score(test, truth))
        means[epsilon] = float(np.mean(ours))
        record = {
            "epsilon": epsilon,
            "ours": means[epsilon],
            "error": float(np.std(ours, ddof=1) / np.sqrt(len(ours) / 8)),
            "peer": float(np.median(peers)),
            "plain": float(np.mean(plain)),
        }
        section.records.append(record)
        lines.append(
            [
                f"{epsilon}",
                f"{record['ours']:.3f} ± {record['error']:.3f}",
                f"{record['peer']:.3g}",
                f"{record['plain']:.3f}",
            ]
        )
        print(" ".join(lines[-1]), flush=True)
    columns = ["epsilon", "ours", "diffprivlib, median", "not private"]
    section.tables.append(Table("R²", columns, lines))
    section.targets.append(Target("R² of diabetes at epsilon 1", 0.2, means[1]))
    return section


def set_up(quick: bool) -> Section:
    """Seconds of whole fits with many rows."""
    section = Section(
        "many-rows",
        "Logistic regression with many rows",
        "Generated rows, radius 6, epsilon 1: a whole fit, and without its draws (set-up).",
    )
    lines, slowest = [], 0.0
    for count, size in ((20_000, 10), (20_000, 30), (100_000, 10)):
        random = np.random.default_rng(1)
        rows = random.normal(size=(count, size))
        rows /= np.maximum(np.linalg.norm(rows, axis=1), np.sqrt(size))[:, None]
        slope = random.normal(size=size)
        margins = rows @ (4 * slope / np.linalg.norm(slope))
        labels = (margins + random.logistic(size=count) > 0).astype(np.int64)
        times = [_timed(rows, labels) for _ in range(2 if quick else 5)]
        whole, setting = (float(np.min(each)) for each in zip(*times, strict=True))
        section.records.append({"rows": count, "dimensions": size, "fit": whole, "set_up": setting})
        lines.append([f"{count:,} x {size}", f"{setting:.2f}", f"{whole:.2f}"])
        print(" ".join(lines[-1]), flush=True)
        if count == 20_000:
            slowest = max(slowest, setting)
    section.tables.append(Table("Seconds, least", ["rows", "set-up", "fit"], lines))
    section.targets.append(Target("seconds of set-up at 20,000 rows", 0.5, slowest, at_most=True))
    return section


def _timed(rows: Floats, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Seconds of a fit, and of making its envelopes."""
    from fractions import Fraction

    from discreet.mechanisms.rows import unit_rows
    from discreet.samplers.ball_proposal import make_shells
    from discreet.samplers.gaussian_envelope import Target as Law
    from discreet.samplers.losses import LogisticLoss

    start = time.perf_counter()
    discreet.models.fit_logistic(rows, labels, classes=(0, 1), epsilon=1, norm=1, radius=6)
    middle = time.perf_counter()
    loss = LogisticLoss(unit_rows(rows, Fraction(1)) * (2.0 * labels - 1)[:, None], 6.0)
    make_shells(loss, Law(Fraction(1, 6), Fraction(0), Fraction(6)))
    return middle - start, time.perf_counter() - middle


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few splits: under a minute")
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    about = environment(["numpy", "scikit-learn", "diffprivlib"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    sections = [part(options.quick) for part in (set_up, linear, logistic)]
    for section in sections:
        print(f"\n{section}", flush=True)
    folder = options.output or (None if options.quick else Path(__file__).parent / "results")
    if folder:
        write(folder, "linear_models", about, sections)


if __name__ == "__main__":
    main()
