"""The k best candidates as one draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import Statement
from discreet.errors import ParameterError, ScoresError, public_class
from discreet.mechanisms.error_bounds import joint_list_error
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.mechanisms.scores import Candidates
from discreet.privacy.loss import BoundedRange, Loss, PureDP
from discreet.randomness.chance import Chance
from discreet.samplers.joint_ranking import draw_joint
from discreet.samplers.ranked_levels import WHOLE

_MANY_PROBABILITIES = 10**7
# a list of that many takes seconds
_LONGEST = 10_000


@public_class
class JointTopK(TopKMechanism):
    """Draw the whole list at once: odds exp(-epsilon / (2 range) * the largest amount
    by which a member is behind its rank).

    Much better than picking one by one with pure epsilon / k each where the scores have
    gaps, such as counts of a few favorites and a long tail. Scores of any exact type;
    the draw is exact.

    k: how many candidates, at most 10,000.
    epsilon: the privacy loss of the whole list; delta must be 0.
    sensitivity, monotonic, score_range, objective, acknowledge: as for `select`.

    Privacy: epsilon-bounded-range, hence epsilon-DP; no delta.
    Utility: `error_bound`.
    Cost: a pass that counts the candidates by level, for scores of every machine type, and a
        table of about 2 k^2 ln(d) cells.
    Reference: Gillenwater, Joseph, Munoz and Ribero 2022. Proof: docs/proofs/top-k.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = JointTopK(k=2, epsilon=2, sensitivity=1, monotonic=True)
    >>> mechanism.select([41, 3, 38, 12], bits=SeededBits(1))
    [0, 2]
    >>> mechanism.privacy_loss()
    BoundedRange(epsilon=2)
    """

    __slots__ = ()

    def _calibrate(self) -> BoundedRange | PureDP:
        if self.delta:
            raise ParameterError("delta", "0", self.delta, "It is a pure mechanism.")
        if self.k > _LONGEST:
            hint = '"peel" has no such limit.'
            raise ParameterError("k", f"at most {_LONGEST:,}", self.k, hint)
        # docs/proofs/top-k.md#the-joint-mechanism-privacy
        return BoundedRange(self.epsilon)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return "joint-exponential"

    @property
    def rate(self) -> Fraction:
        """epsilon / (2 range): i-th best and member may both move, in opposite directions."""
        return self.epsilon / (2 * self._range.value)

    def privacy_loss(self) -> Loss:
        """What the whole list costs."""
        return self._pick_loss

    def losses(self) -> Mapping[Loss, int]:
        """The loss of the whole list, as its only part."""
        return {self._pick_loss: 1}

    @property
    def _statement(self) -> Statement:
        # place by place only: docs/proofs/accuracy.md#lists
        return "places"

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def _draw(self, candidates: Candidates, chance: Chance) -> list[int]:
        distances = self._distances(candidates)
        # the unit of other scores is made of their denominators, and private
        public = candidates.native and isinstance(distances, WHOLE)
        step = self._rate if public else None
        return draw_joint(distances, self.k, chance, step=step, columns=candidates.columns)

    def _log_probability(self, distances: NDArray[np.float64], ranking: list[int]) -> float:
        if distances.size * self.k > _MANY_PROBABILITIES:
            raise ScoresError(
                f"Exact probabilities of a joint top-k need at most {_MANY_PROBABILITIES} pairs of "
                "candidate and rank."
            )
        ascending = np.sort(distances)
        behind = float((distances[ranking] - ascending[: self.k]).max())
        margins = np.unique(np.maximum(np.subtract.outer(ascending, ascending[: self.k]), 0.0))
        reaches = ascending.searchsorted(
            np.add.outer(margins, ascending[: self.k]) * (1 + 1e-14), side="right"
        )
        lists = np.log(reaches - np.arange(self.k)).sum(axis=1)
        # sum over margins of N(margin) * (e^-margin - e^-next)
        upper = np.append(margins[1:], np.inf)
        terms = lists - margins + np.log(-np.expm1(margins - upper))
        return -behind - float(terms.max() + math.log(math.fsum(np.exp(terms - terms.max()))))

    def _error(self, candidates: int, failure_probability: Fraction) -> float:
        return joint_list_error(candidates, self.k, failure_probability)
