"""The door for people who have scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from discreet.mechanisms.candidates import Scores
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection import SelectionMechanism
from discreet.privacy.numbers import Number, choice
from discreet.release import Release
from discreet.samplers.bits import Bits

MECHANISMS: dict[str, Callable[..., SelectionMechanism]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
    "gumbel-noise": partial(ReportNoisyMax, noise="gumbel"),
    "exponential-noise": partial(ReportNoisyMax, noise="exponential"),
    "laplace-noise": partial(ReportNoisyMax, noise="laplace"),
}
"""The mechanisms that `select` knows, by name."""


def make_mechanism(
    mechanism: str,
    epsilon: Number,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    objective: str = "max",
    acknowledge: str | None = None,
) -> SelectionMechanism:
    """The mechanism of this name with these parameters."""
    return MECHANISMS[choice(mechanism, tuple(MECHANISMS), "mechanism", "select")](
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )


# Checking parameters takes longer than selecting among a hundred candidates, and they are usually the same as last time.
# `typed` keeps True, 1 and 1.0 apart.
_remembered = lru_cache(maxsize=128, typed=True)(make_mechanism)


def select(
    scores: Scores,
    *,
    epsilon: Number,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    mechanism: str = "permute-and-flip",
    objective: str = "max",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Pick the best-scoring candidate so that nobody can tell from the answer whether any one person was in the data.

    scores: a mapping from label to score, a pandas or Polars Series, a NumPy array or any sequence.
    epsilon: the privacy loss of this release.
    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under adding or removing a person).
    score_range: instead of the two above, the most by which one person's moves of two scores differ.
    mechanism: "permute-and-flip" for a single release; "exponential" where many will be composed; or a kind of noise.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    bits: only in tests and simulations.

    Privacy: `Release.loss`, exactly as stated, for any finite scores: the draw is exact, without a rounding error.
    Utility: the mechanism's `error_bound`.
    Cost: two passes over the scores.

    >>> from discreet.testing import SeededBits
    >>> votes = {"terrier": 41, "husky": 38, "corgi": 12}
    >>> release = select(votes, epsilon=1, sensitivity=1, monotonic=True, bits=SeededBits(7))
    >>> release.value, release.loss, release.seeded
    ('terrier', PureDP(epsilon=1), True)
    """
    parameters = (mechanism, epsilon, sensitivity, monotonic, score_range, objective, acknowledge)
    try:
        made = _remembered(*parameters)
    except TypeError:  # something that cannot be a dictionary key: say what is wrong with it
        made = make_mechanism(*parameters)
    return made.release(scores, bits=bits)
