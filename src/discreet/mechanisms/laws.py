"""The three output distributions of noisy selection, each with its sampler, its numbers
and its privacy loss in one place.

| law | noise on the scores | also known as | loss |
|---|---|---|---|
| EXPONENTIAL_LAW | Gumbel | exponential mechanism | bounded range |
| PERMUTE_AND_FLIP_LAW | exponential | permute-and-flip | pure DP |
| LAPLACE_LAW | Laplace | report-noisy-max of the textbooks | pure DP |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import error_bounds, probabilities
from discreet.privacy.loss import BoundedRange, LogisticDP, Loss, PureDP
from discreet.randomness.chance import Chance
from discreet.samplers.bulk import Cumulative, exponential_ends, permute_and_flip_ends
from discreet.samplers.envelope import Envelope, Proposals, draw_exponential
from discreet.samplers.laplace_max import draw_laplace_max
from discreet.samplers.permute_and_flip import draw_permute_and_flip
from discreet.samplers.winner_and_gap import EXPONENTIAL, GUMBEL, Hazard


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """An output distribution over candidates at known distances behind the best,
    counted in noise scales.
    """

    loss: Callable[[Fraction], Loss]
    """What a draw costs if the scale is range / epsilon."""
    draw: Callable[[Envelope, Chance], int]
    log_probabilities: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    error: Callable[[int, int, Fraction], float]
    """(candidates, tied best, failure probability) to the error that is exceeded no
    more often than that.
    """
    expected_error: Callable[[int, int], float]
    """(candidates, tied best) to a bound on the mean error."""
    ends: Cumulative | None = None
    """The running sums of the probabilities, certified, where many draws can be made at once."""
    hazard: Hazard | None = None
    """How the noisy scores are met from above, where the gap between the two highest
    can be drawn.
    """
    gap_loss: Callable[[Fraction], Loss] | None = None
    """What a draw of the winner together with this gap costs."""
    lead: Callable[[float, Fraction], float | None] | None = None
    """(noisy gap, failure probability) to a lower bound of the winner's true lead,
    where there is a theorem.
    """


EXPONENTIAL_LAW = Law(
    # log-odds are rate * score, so one person moves them within rate * range = epsilon:
    # docs/proofs/exponential.md#privacy
    loss=BoundedRange,
    draw=draw_exponential,
    log_probabilities=probabilities.softmax,
    error=error_bounds.softmax_error,
    expected_error=error_bounds.softmax_expected_error,
    ends=exponential_ends,
    hazard=GUMBEL,
    # the log-odds of every event about winner and gap move by at most epsilon:
    # docs/proofs/gap.md#gumbel-noise-the-odds-of-every-event
    gap_loss=LogisticDP,
    lead=error_bounds.gumbel_lead,
)
PERMUTE_AND_FLIP_LAW = Law(
    # its log-odds can span almost 2 epsilon: docs/proofs/permute-and-flip.md#privacy
    loss=PureDP,
    draw=draw_permute_and_flip,
    log_probabilities=probabilities.first_heads,
    error=error_bounds.first_heads_error,
    # permute-and-flip's error is stochastically smaller than the exponential
    # mechanism's
    expected_error=error_bounds.softmax_expected_error,
    ends=permute_and_flip_ends,
    hazard=EXPONENTIAL,
    # docs/proofs/gap.md#privacy
    gap_loss=PureDP,
    lead=error_bounds.exponential_lead,
)
LAPLACE_LAW = Law(
    # docs/proofs/report-noisy-max.md#laplace-noise-privacy
    loss=PureDP,
    draw=draw_laplace_max,
    log_probabilities=probabilities.noisy_laplace,
    error=error_bounds.laplace_error,
    expected_error=error_bounds.laplace_expected_error,
)

GROUPED_DRAWS: dict[str, Callable[[Proposals, Chance], int]] = {
    "permute-and-flip": draw_permute_and_flip,
    "exponential": draw_exponential,
}
"""Draws from any proposals, by the name of the mechanism: also from groups of candidates."""
