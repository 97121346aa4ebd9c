"""The mechanisms that pick one candidate: exponential, permute-and-flip, report-noisy-max.

Candidates may also stay in an engine, where it is known how many have each count:
candidates with the same count have the same distance behind the best, so a draw needs a
count and a place among the candidates that have it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class
from discreet.exact.enclosures import rational
from discreet.exact.rationals import choice, set_frozen
from discreet.literals import MECHANISM_NAMES, NOISES, MechanismName, Noise, Objective
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.laws import (
    EXPONENTIAL_LAW,
    GROUPED_DRAWS,
    LAPLACE_LAW,
    PERMUTE_AND_FLIP_LAW,
    Law,
)
from discreet.privacy.parameters import ScoreRange, parameterized
from discreet.randomness.chance import Chance
from discreet.samplers.grouped_candidates import GroupedCandidates


class ExponentialMechanism(SelectionMechanism):
    """Pick a candidate with odds exp(epsilon * score / range). The right choice when
    there will be many selections.

    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range, objective, acknowledge: as for `select`.

    Privacy: epsilon-bounded-range, hence epsilon-DP; many together cost far less than
        their sum.
    Utility: the selected score is within (range / epsilon) * ln(d / beta) of the best,
        except with probability beta; `error_bound` is the exact worst case.
    Cost: at most two passes over the scores and a few exact draws.
    Reference: McSherry and Talwar 2007; Dong, Durfee and Rogers 2020. Proof:
        docs/proofs/exponential.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = ExponentialMechanism(epsilon=0.5, sensitivity=1)
    >>> mechanism.select([41, 38, 12], bits=SeededBits(7))
    1
    >>> mechanism.probabilities([41, 38, 12]).round(6).tolist()
    [0.678851, 0.320667, 0.000482]
    >>> mechanism.privacy_loss()
    BoundedRange(epsilon=0.5)
    >>> round(mechanism.error_bound(candidates=100, failure_probability=0.01), 6)
    36.760959
    """

    __slots__ = ()
    name: ClassVar[str] = "exponential"
    # Candidate i has odds exp(-distance_i).
    law: ClassVar[Law] = EXPONENTIAL_LAW


class PermuteAndFlip(SelectionMechanism):
    """Go through the candidates in random order, flip a coin exp(epsilon * (score -
    best) / range), take the first heads.

    The right choice for a single selection: never worse than the exponential mechanism
    at the same epsilon, and up to twice as close to the best on average.

    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range, objective, acknowledge: as for `select`.

    Privacy: epsilon-DP. Not bounded range, so many of them cost more together than
        exponential mechanisms do.
    Utility: the selected score is within (range / epsilon) * ln(d / (2 beta)) of the
        best, except with probability beta.
    Cost: at most two passes over the scores and a few exact draws; no candidate but the
        proposed ones is touched.
    Reference: McKenna and Sheldon 2020. Proof: docs/proofs/permute-and-flip.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
    >>> mechanism.select({"terrier": 41, "husky": 38, "corgi": 12}, bits=SeededBits(7))
    0
    >>> mechanism.probabilities([2, 1]).round(6).tolist()
    [0.81606, 0.18394]
    >>> mechanism.privacy_loss()
    PureDP(epsilon=1)
    """

    __slots__ = ()
    name: ClassVar[str] = "permute-and-flip"
    # The first heads in a random order, with coins exp(-distance_i).
    law: ClassVar[Law] = PERMUTE_AND_FLIP_LAW


_LAW_OF_NOISE: dict[Noise, Law] = {
    "gumbel": EXPONENTIAL_LAW,
    "exponential": PERMUTE_AND_FLIP_LAW,
    "laplace": LAPLACE_LAW,
}


@public_class
@parameterized
class ReportNoisyMax(SelectionMechanism):
    """Add independent noise of scale range / epsilon to every score and report which
    one is the highest.

    With Gumbel noise this *is* the exponential mechanism and with exponential noise it
    *is* permute-and-flip, so these share their samplers. Laplace noise gives a third
    distribution (texts that equate it with permute-and-flip are wrong); there is no
    reason to prefer it but compatibility.

    noise: "gumbel", "exponential" or "laplace".
    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range, objective, acknowledge: as for `select`.

    Privacy: epsilon-bounded-range with Gumbel noise, epsilon-DP with the others.
    Utility: as the exponential mechanism; with Laplace noise slightly worse.
    Cost: at most two passes over the scores and a few exact draws. No noise is ever added to a
        score: only who wins is drawn.
    Reference: Dwork and Roth 2014; Ding et al. 2021. Proof:
        docs/proofs/report-noisy-max.md.

    >>> from discreet.testing import SeededBits
    >>> ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1).select(
    ...     [41, 38, 12], bits=SeededBits(7)
    ... )
    0
    >>> for noise in ("gumbel", "exponential", "laplace"):
    ...     mechanism = ReportNoisyMax(noise=noise, epsilon=1, sensitivity=1)
    ...     print(
    ...         noise,
    ...         mechanism.probabilities([0, 1, 2]).round(6).tolist(),
    ...         mechanism.privacy_loss(),
    ...     )
    gumbel [0.186324, 0.307196, 0.50648] BoundedRange(epsilon=1)
    exponential [0.146751, 0.266077, 0.587172] PureDP(epsilon=1)
    laplace [0.174643, 0.305706, 0.519651] PureDP(epsilon=1)
    """

    noise: Noise

    def __post_init__(self) -> None:
        # first, because the law is that of the noise: docs/proofs/report-noisy-max.md
        set_frozen(self, noise=choice(self.noise, NOISES, "noise"))
        SelectionMechanism.__post_init__(self)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return f"{self.noise}-noise"

    @property
    def law(self) -> Law:
        """The distribution of the winner under this noise."""
        return _LAW_OF_NOISE[self.noise]

    def _more_shown(self) -> list[str]:
        return [f"noise={self.noise!r}"]


MECHANISMS: dict[
    MechanismName, Callable[..., ExponentialMechanism | PermuteAndFlip | ReportNoisyMax]
] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
    "gumbel-noise": partial(ReportNoisyMax, noise="gumbel"),
    "exponential-noise": partial(ReportNoisyMax, noise="exponential"),
    "laplace-noise": partial(ReportNoisyMax, noise="laplace"),
}
"""The mechanisms that `select` knows, by name."""


def mechanism_class(mechanism: MechanismName) -> Callable[..., SelectionMechanism]:
    """The mechanism of this name, which takes its parameters by keyword."""
    return MECHANISMS[choice(mechanism, MECHANISM_NAMES, "mechanism")]


def make_mechanism(
    mechanism: MechanismName, epsilon: Fraction, span: ScoreRange, objective: Objective = "max"
) -> SelectionMechanism:
    """The mechanism of this name with parameters that were read."""
    # handed on unchanged: docs/proofs/exponential.md#what-the-code-states
    return mechanism_class(mechanism)(epsilon=epsilon, score_range=span, objective=objective)


def require_grouped(mechanism: SelectionMechanism) -> None:
    """Refuse a mechanism that has no draw from groups of candidates."""
    if mechanism.name not in GROUPED_DRAWS:
        rule = "one of " + ", ".join(map(repr, GROUPED_DRAWS))
        raise ParameterError("mechanism", rule, mechanism.name)


def draw_grouped(
    mechanism: SelectionMechanism,
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    chance: Chance,
) -> tuple[int, int]:
    """The winner: the number of its group, and its place there.

    counts: the different counts, the largest first.
    sizes: how many candidates have each.

    Privacy: the loss of the mechanism, whose law over all candidates this is:
        docs/proofs/tables.md#candidates-that-are-not-listed.
    """
    rate = rational(mechanism.rate)
    # the same count, the same distance
    pieces = GroupedCandidates(sizes, counts[0] - counts, rate)
    return pieces.locate(GROUPED_DRAWS[mechanism.name](pieces.envelope(), chance))
