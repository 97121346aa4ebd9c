"""What is audited in an environment of its own: one case, by its name; prints one line of JSON.

Run with the Python of a throw-away environment that has the version in question, and with
discreet's source on its path: python benchmarks/audit_peers.py pipelinedp
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
from planted_bugs import BUGS

from discreet import PureDP
from discreet.auditing import audit
from discreet.auditing.audited_code import AuditedCode, from_opendp, seeded
from discreet.auditing.neighbours import ValueLists
from discreet.auditing.score_vectors import ScoreVectors

ONE = PureDP(1)


class Stated:
    """Code that tells its probabilities."""

    epsilon, sensitivity, objective = 1, 1, "max"

    def __init__(self, probabilities: Any) -> None:
        self.probabilities = probabilities

    def privacy_loss(self) -> PureDP:
        return ONE

    def select(self, scores: Any, *, bits: Any = None) -> int:
        chances = self.probabilities(scores)
        return int(np.random.choice(len(chances), p=chances))


def diffprivlib_zeros() -> Any:
    from diffprivlib.mechanisms import Exponential

    def probabilities(scores: Any) -> Any:
        made = Exponential(epsilon=1, sensitivity=1, utility=[float(score) for score in scores])
        # cumulative sums, as the mechanism draws from them
        return np.diff(np.asarray(made._probabilities, dtype=float), prepend=0.0)

    return audit(Stated(probabilities), draws=2000)


def diffprivlib_quantile() -> Any:
    from diffprivlib.tools import quantile

    def run(values: Any) -> float:
        return float(quantile(np.array(values), 0.5, epsilon=1, bounds=(0.0, 8.0)))

    return audit(
        AuditedCode(
            name="diffprivlib's quantile",
            make_run=seeded(run),
            world=ValueLists(bounds=(0.0, 8.0), replace=True),
            claim=ONE,
        ),
        draws=20_000,
    )


def diffprivlib_quantile_grid() -> Any:
    """The same without rows that are no numbers: what is left is in the last digits."""
    from diffprivlib.tools import quantile

    def run(values: Any) -> float:
        return float(quantile(np.array(values), 0.0, epsilon=1, bounds=(0.0, 8.0)))

    salary, others = 0.5371, [5.25, 6.5, 7.0, 7.75]
    pairs = [("one other smallest value", [salary, *others], [0.7193, *others])]
    return audit(run, claim=ONE, pairs=pairs, draws=20_000)


def opendp_gumbel() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    made = dp.m.make_report_noisy_max_gumbel(*space, scale=2.0, optimize="max")
    return audit(from_opendp(made, claim=ONE, objective="max"), draws=3000)


def pipelinedp() -> Any:
    from pipeline_dp.dp_computations import ExponentialMechanism

    def run(scores: Any) -> int:
        class Score(ExponentialMechanism.ScoringFunction):
            def score(self, k: Any) -> float:
                return float(scores[k])

            @property
            def global_sensitivity(self) -> float:
                return 1.0

            @property
            def is_monotonic(self) -> bool:
                return False

        return int(ExponentialMechanism(Score()).apply(1.0, list(range(len(scores)))))

    subject = AuditedCode(
        name="PipelineDP's exponential mechanism",
        make_run=seeded(run),
        world=ScoreVectors(candidates=4, sensitivity=ONE.epsilon, monotonic=False, extremes=False),
        claim=ONE,
    )
    return audit(subject, draws=10_000)


def numpy_softmax() -> Any:
    def probabilities(scores: Any) -> Any:
        logits = 0.5 * np.array([float(score) for score in scores])
        odds = np.exp(logits - logits.max())
        return odds / odds.sum()

    return audit(Stated(probabilities), draws=2000)


def numpy_cumsum() -> Any:
    def probabilities(scores: Any) -> Any:
        logits = 0.5 * np.array([float(score) for score in scores])
        odds = np.exp(logits - logits.max()).astype(np.float32)
        total = np.cumsum(odds / odds.sum())
        return np.diff(total.astype(float) / float(total[-1]), prepend=0.0)

    return audit(Stated(probabilities), draws=2000)


def numpy_gumbel() -> Any:
    def run(scores: Any, rng: Any) -> int:
        noisy = np.array(scores, dtype=float) + rng.gumbel(scale=2.0, size=len(scores))
        return int(np.argmax(noisy))

    return audit(run, claim=ONE, draws=30_000)


def numpy_many() -> Any:
    """Ten million candidates, whose odds are summed up in floats of 32 bits."""

    def run(scores: Any, rng: Any) -> int:
        odds = np.exp(0.5 * (scores - scores.max()), dtype=np.float32)
        total = np.cumsum(odds / odds.sum(dtype=np.float64).astype(np.float32), dtype=np.float32)
        return int(np.searchsorted(total, rng.random() * float(total[-1]), side="right"))

    return audit(run, claim=ONE, scores=10**7, draws=1000)


def missing_factor_two() -> Any:
    return _planted("missing factor 2")


def sensitivity_halved() -> Any:
    return _planted("sensitivity halved")


def epsilon_for_each_pick() -> Any:
    return _planted("epsilon for each of 3 picks")


def _planted(name: str) -> Any:
    (bug,) = [bug for bug in BUGS if bug.name == name]
    return audit(bug.function, claim=bug.claim, extremes=False, draws=30_000)


def main(case: str) -> None:
    report = globals()[case]()
    found = report.to_dict() | {"verdict": report.verdict}
    if math.isinf(report.lower_bound):
        found["lower_bound"] = "inf"
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
