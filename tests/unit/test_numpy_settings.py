"""What a caller has told NumPy decides nothing: whoever has it raise gets the same answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tiers import more

import discreet
from discreet.accounting import two_point
from discreet.accounting.adaptive_grid import Curve, Grid
from discreet.auditing import claims

BUDGET = discreet.ApproxDP(1, 1e-6)
FAR = [0, 1000, 5000, 10**5]
KNOWN = {"epsilon": 1, "sensitivity": 1}
# losses that no other test has, where results are remembered
ODD = Fraction(1097, 10**4)
SEVERAL = discreet.mechanisms.GeneralizedExponentialMechanism(epsilon=1)


def _stages() -> list:
    """Some stages of a grid whose largest epsilons are hardly ever reached."""
    grid = Grid(Fraction(1, 4), 40.0, 4)
    values = grid.range_stage(grid.range_stage(grid.start, 4), 4)
    return [part.tolist() for part in grid.pure_stage(values, 4, 4)]


def _between_points() -> two_point.Bracket:
    tiny = np.full(3, two_point.TINY)
    return Curve(Fraction(1, 4), tiny, tiny).delta(Fraction(1, 10**30))


def _audit() -> str:
    mechanism = discreet.mechanisms.ExponentialMechanism(**KNOWN)
    return str(discreet.auditing.audit(mechanism, draws=1000, scores=3).to_dict()["findings"])


CALLS = {
    "stages of a grid": _stages,
    "between the points of a grid": _between_points,
    "copies of a pair": lambda: two_point.hockey_stick(
        Fraction(60), Fraction(30), 100, Fraction(1)
    ),
    "compose": lambda: discreet.compose([discreet.BoundedRange(ODD)] * 20, delta=1e-6).epsilon,
    "plan": lambda: discreet.plan(queries=13, budget=BUDGET).epsilon,
    "queries_allowed": lambda: discreet.queries_allowed(
        each=discreet.BoundedRange(ODD), budget=BUDGET, adaptive=False
    ),
    "PeelingTopK": lambda: (
        discreet.mechanisms.PeelingTopK(
            k=11, epsilon=ODD, delta=1e-6, sensitivity=1, mechanism="exponential"
        ).rate
    ),
    "probabilities": lambda: (
        discreet.mechanisms.PermuteAndFlip(**KNOWN).probabilities(FAR).tolist()
    ),
    "log_probabilities": lambda: (
        discreet.mechanisms.ReportNoisyMax(noise="laplace", **KNOWN).log_probabilities(FAR).tolist()
    ),
    "log_probability of a list": lambda: discreet.mechanisms.PeelingTopK(
        k=2, **KNOWN
    ).log_probability([3, 2], FAR),
    "log_probability of a joint list": lambda: discreet.mechanisms.JointTopK(
        k=2, **KNOWN
    ).log_probability([0, 1], FAR),
    "probabilities by sensitivities": lambda: [
        law(FAR, [1, 2, 3, 4]).tolist()
        for law in (SEVERAL.probabilities, SEVERAL.log_probabilities)
    ],
    "audit": _audit,
    "bounds of an audit": lambda: (
        claims.lower_bound(3, 2001, 0.01),
        claims.binomial_quantiles(2001, 0.25, 0.01),
        claims.binary_rho(1.0, 1e-200),
    ),
    "laws in an audit": lambda: [
        claims.Claim(loss).of_laws({0: -1.0, 1: -700.0}, {0: -2.0, 1: -745.0})
        for loss in (
            discreet.accounting.LogisticDP(1),
            discreet.ZCDP(1),
            discreet.ApproxDP(1, 1e-6),
        )
    ],
}


@pytest.mark.parametrize(
    "name", [more(name, tier="audits") if name == "audit" else name for name in CALLS]
)
def test_what_numpy_was_told_decides_nothing(name):
    with np.errstate(all="raise"):
        found = CALLS[name]()
    with np.errstate(all="ignore"):
        assert found == CALLS[name]()
