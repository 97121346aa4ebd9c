"""The three output distributions of noisy selection, each with its sampler, its numbers and its privacy loss in one place.

| law | noise on the scores | also known as | loss |
|---|---|---|---|
| SOFTMAX | Gumbel | exponential mechanism | bounded range |
| FIRST_HEADS | exponential | permute-and-flip | pure DP |
| NOISY_LAPLACE | Laplace | report-noisy-max of the textbooks | pure DP |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import distributions, utility
from discreet.privacy.loss import BoundedRange, Loss, PureDP
from discreet.samplers.arrivals import EXPONENTIAL, GUMBEL, Hazard
from discreet.samplers.chance import Chance
from discreet.samplers.envelope import Envelope
from discreet.samplers.first_heads import draw_first_heads
from discreet.samplers.noisy_laplace import draw_noisy_laplace
from discreet.samplers.softmax import draw_softmax


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """An output distribution over candidates at known distances behind the best, counted in noise scales."""

    loss: Callable[[Fraction], Loss]
    """What a draw costs if the scale is range / epsilon."""
    draw: Callable[[Envelope, Chance], int]
    log_probabilities: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    error: Callable[[int, int, Fraction], float]
    """(candidates, tied best, failure probability) to the error that is exceeded no more often than that."""
    expected_error: Callable[[int, int], float]
    """(candidates, tied best) to a bound on the mean error."""
    hazard: Hazard | None = None
    """How the noisy scores are met from above, where the gap between the two highest can be drawn."""
    lead: Callable[[float, Fraction], float | None] | None = None
    """(noisy gap, failure probability) to a lower bound of the winner's true lead, where there is a theorem."""


SOFTMAX = Law(
    loss=BoundedRange,  # log-odds are rate * score, so one person moves them within rate * range = epsilon
    draw=draw_softmax,
    log_probabilities=distributions.softmax,
    error=utility.softmax_error,
    expected_error=utility.softmax_expected_error,
    hazard=GUMBEL,
    lead=utility.gumbel_lead,
)
FIRST_HEADS = Law(
    loss=PureDP,  # its log-odds can span almost 2 epsilon: not bounded range
    draw=draw_first_heads,
    log_probabilities=distributions.first_heads,
    error=utility.softmax_error,  # permute-and-flip's error is stochastically smaller than the exponential mechanism's
    expected_error=utility.softmax_expected_error,
    hazard=EXPONENTIAL,
    lead=utility.exponential_lead,
)
NOISY_LAPLACE = Law(
    loss=PureDP,
    draw=draw_noisy_laplace,
    log_probabilities=distributions.noisy_laplace,
    error=utility.laplace_error,
    expected_error=utility.laplace_expected_error,
)
