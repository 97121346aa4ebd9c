"""Somebody who moves a score by next to nothing: a caller who has told NumPy to raise must not
hear of it.
"""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.testing import SeededBits

# differences that a rate of 2^-30 takes below the smallest normal float
SMALL = [0.0, 5e-324, 1e-310, 3e-308, 1e-300]
MECHANISM = {"epsilon": 2**-30, "sensitivity": 1}
MECHANISMS = {
    "exponential": discreet.mechanisms.ExponentialMechanism(**MECHANISM),
    "permute-and-flip": discreet.mechanisms.PermuteAndFlip(**MECHANISM, objective="min"),
    "laplace": discreet.mechanisms.ReportNoisyMax(noise="laplace", **MECHANISM),
    "joint": discreet.mechanisms.JointTopK(k=2, epsilon=1e-5, sensitivity=1e250),
    "peeling": discreet.mechanisms.PeelingTopK(k=2, **MECHANISM),
}
CALLS = {
    name: lambda scores, each=each: each.select(scores, bits=SeededBits(1))
    for name, each in MECHANISMS.items()
} | {
    "with gap": lambda scores: MECHANISMS["permute-and-flip"].release(
        scores, with_gap=True, bits=SeededBits(1)
    ),
    "many": lambda scores: MECHANISMS["exponential"].select_many(
        scores, draws=2, bits=SeededBits(1)
    ),
    "generalized": lambda scores: discreet.mechanisms.GeneralizedExponentialMechanism(
        epsilon=2**-30, failure_probability=0.1
    ).select(scores, [1, 2, 1], bits=SeededBits(1)),
    "generalized release": lambda scores: discreet.mechanisms.GeneralizedExponentialMechanism(
        epsilon=2**-30, failure_probability=0.1
    ).release(scores, [1, 2, 1], bits=SeededBits(1)),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_score_is_heard_of_by_its_underflow(call):
    for moved in SMALL:
        for scores in ([0.0, 0.0, moved], [1.0, 0.0, moved], [0.0, -moved, 2 * moved]):
            with np.errstate(all="raise"):
                CALLS[call](np.array(scores))
