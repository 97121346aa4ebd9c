"""Which noise a histogram of persons gets, and how counts with noise are stated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.gaussian_profile import gaussian_rho
from discreet.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from discreet.randomness.chance import Chance
from discreet.release import NoisyCounts

CountNoise = DiscreteLaplace | DiscreteGaussian
"""Noise for counts of which a person moves some, each by 1."""

# how likely the stated error is exceeded by any of the counts of a release
FAILURE = Fraction(1, 20)


@lru_cache(maxsize=256)
def make_noise(
    epsilon: Fraction, delta: Fraction, *, moved: int, acknowledge: str | None = None
) -> CountNoise:
    """The noise with the smaller deviation that makes a histogram (epsilon, delta)-DP.

    moved: how many of the counts one person can move, each by 1.
    Where a person moves one or a few that is discrete Laplace noise, which needs no
    delta.
    """
    # the moves add up to `moved`, and so do their squares: docs/proofs/histograms.md#privacy
    laplace = DiscreteLaplace(epsilon=epsilon, sensitivity=moved, acknowledge=acknowledge)
    rho = gaussian_rho(epsilon, delta, moved=moved) if delta else None
    if not rho:
        return laplace
    gaussian = DiscreteGaussian(rho=rho, squared_sensitivity=moved, acknowledge=acknowledge)
    return gaussian if gaussian.deviation < laplace.deviation else laplace


def default_noise(
    budget: Loss | None, epsilon: Fraction, delta: Fraction, *, moved: int
) -> tuple[CountNoise, Loss]:
    """The noise that suits a budget, and what it costs in the words of the question.

    Where rho adds up, Gaussian noise for the rho that pure DP of epsilon has is
    narrower than Laplace noise, which would cost as much.
    """
    noise = make_noise(epsilon, delta, moved=moved)
    if isinstance(noise, DiscreteGaussian):
        # from the profile at this pair: docs/proofs/histograms.md#privacy
        return noise, ApproxDP(epsilon, delta)
    if isinstance(budget, ZCDP):
        # as many squares of moves as moves: docs/proofs/histograms.md#privacy
        rho = PureDP(epsilon).to_zcdp().rho
        noise = DiscreteGaussian(rho=rho, squared_sensitivity=moved)
    return noise, noise.privacy_loss()


def noise_name(noise: CountNoise) -> str:
    """The word for this noise in a Release."""
    return "discrete-laplace" if isinstance(noise, DiscreteLaplace) else "discrete-gaussian"


def state_counts(values: Sequence[int], noise: CountNoise, numbers: int) -> NoisyCounts:
    """Counts with their error.

    numbers: how many counts got noise, of which these may be the largest.
    """
    error = noise.error_bound(FAILURE, numbers=max(1, numbers))
    return NoisyCounts(values=tuple(values), error=error, mechanism=noise_name(noise))


def noisy_counts(counts: Sequence[int], noise: CountNoise, chance: Chance) -> NoisyCounts:
    """All counts, each with noise of its own."""
    return state_counts(noise.add_noise(counts, chance), noise, len(counts))
