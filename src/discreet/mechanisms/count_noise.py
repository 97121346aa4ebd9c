"""Which noise a histogram of persons gets, and how counts with noise are stated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.accuracy import Accuracy
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.gaussian_profile import gaussian_rho
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.privacy.parameters import Epsilon, acknowledged
from discreet.randomness.chance import Chance
from discreet.release import NoisyCounts

OwnNoise = DiscreteLaplace | DiscreteGaussian | RoundedGaussian
"""Noise of its own for each count of which a person moves some, each by 1."""
CountNoise = OwnNoise | CorrelatedCounts
"""Noise for counts of which a person moves some, each by 1."""

# how likely the stated error is exceeded by any of the counts of a release
FAILURE = Fraction(1, 20)


@lru_cache(maxsize=256)
def make_noise(
    epsilon: Fraction, delta: Fraction, *, moved: int
) -> DiscreteLaplace | DiscreteGaussian:
    """The noise with the smaller deviation that makes a histogram (epsilon, delta)-DP.

    moved: how many of the counts one person can move, each by 1.
    Where a person moves one or a few that is discrete Laplace noise, which needs no
    delta.
    """
    # the moves add up to `moved`, and so do their squares: docs/proofs/histograms.md#privacy
    laplace = DiscreteLaplace(epsilon=Epsilon(epsilon), sensitivity=moved)
    rho = gaussian_rho(epsilon, delta, moved=moved) if delta else None
    if not rho:
        return laplace
    gaussian = DiscreteGaussian(rho=rho, squared_sensitivity=moved, acknowledge=acknowledged(rho))
    return gaussian if gaussian.deviation < laplace.deviation else laplace


def state_counts(
    values: Sequence[int], noise: CountNoise, numbers: int, total: int | None = None
) -> NoisyCounts:
    """NoisyCounts with their error.

    numbers: how many counts got noise, of which these may be the largest.
    total: the number of people, where the noise told it, too.
    """
    name = noise.name
    if isinstance(noise, CorrelatedCounts):
        error, off = noise.error_bound(FAILURE), noise.error_bound_of_people(FAILURE)
        return NoisyCounts(
            values=tuple(values), error=error, mechanism=name, total=total, total_error=off
        )
    error = noise.error_bound(FAILURE, numbers=max(1, numbers))
    return NoisyCounts(values=tuple(values), error=error, mechanism=name)


def noisy_counts(
    counts: Sequence[int], noise: CountNoise, chance: Chance, people: int | None = None
) -> NoisyCounts:
    """All counts with noise.

    people: how many people there are, which noise that the counts share needs.
    """
    values, total = added_noise(counts, noise, chance, people)
    return state_counts(values, noise, len(counts), total)


def added_noise(
    counts: Sequence[int], noise: CountNoise, chance: Chance, people: int | None = None
) -> tuple[list[int], int | None]:
    """All counts with noise, and the number of people where the noise tells it."""
    if isinstance(noise, CorrelatedCounts):
        assert people is not None
        *values, total = noise.add_noise(counts, people, chance)
        return values, total
    return noise.add_noise(counts, chance), None


def ranking_deviation(noise: CountNoise) -> float:
    """The standard deviation of a count beside another one, about: what decides their order."""
    return noise.ranking_deviation if isinstance(noise, CorrelatedCounts) else noise.deviation


def accuracy_of_counts(noise: CountNoise, numbers: int, failure_probability: Fraction) -> Accuracy:
    """How far off each of this many counts can be."""
    if isinstance(noise, CorrelatedCounts):
        return noise.accuracy(failure_probability=failure_probability)
    return noise.accuracy(numbers=numbers, failure_probability=failure_probability)
