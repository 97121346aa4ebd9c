"""Report-noisy-max."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.mechanisms.laws import FIRST_HEADS, NOISY_LAPLACE, SOFTMAX, Law
from discreet.mechanisms.selection import SelectionMechanism
from discreet.privacy.numbers import choice

_LAWS = {"gumbel": SOFTMAX, "exponential": FIRST_HEADS, "laplace": NOISY_LAPLACE}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReportNoisyMax(SelectionMechanism):
    """Add independent noise of scale range / epsilon to every score and report which one is the highest.

    With Gumbel noise this *is* the exponential mechanism and with exponential noise it *is* permute-and-flip, so these share
    their samplers. Laplace noise gives a third distribution (texts that equate it with permute-and-flip are wrong); there is
    no reason to prefer it but compatibility.

    Privacy: epsilon-bounded-range with Gumbel noise, epsilon-DP with the others.
    Utility: as the exponential mechanism; with Laplace noise slightly worse.
    Cost: two passes over the scores and a few exact draws. No noise is ever added to a score: only who wins is drawn.
    Reference: Dwork and Roth 2014; Ding et al. 2021. Proof: docs/proofs/report-noisy-max.md.

    >>> from discreet.testing import SeededBits
    >>> ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1).select([41, 38, 12], bits=SeededBits(7))
    0
    >>> for noise in ("gumbel", "exponential", "laplace"):
    ...     mechanism = ReportNoisyMax(noise=noise, epsilon=1, sensitivity=1)
    ...     print(noise, mechanism.probabilities([0, 1, 2]).round(6).tolist(), mechanism.privacy_loss())
    gumbel [0.186324, 0.307196, 0.50648] BoundedRange(epsilon=1)
    exponential [0.146751, 0.266077, 0.587172] PureDP(epsilon=1)
    laplace [0.174643, 0.305706, 0.519651] PureDP(epsilon=1)
    """

    noise: str

    def __post_init__(self) -> None:
        choice(self.noise, tuple(_LAWS), "noise", "ReportNoisyMax")
        SelectionMechanism.__post_init__(self)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return f"{self.noise}-noise"

    @property
    def law(self) -> Law:
        """The distribution of the winner under this noise."""
        return _LAWS[self.noise]

    def _more_shown(self) -> list[str]:
        return [f"noise={self.noise!r}"]
