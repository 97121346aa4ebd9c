"""An envelope with very many candidates that are alike: they are one heap, and take no memory."""

from __future__ import annotations

from flint import arb, fmpq

from discreet.exact.enclosures import upper_bound
from discreet.randomness.chance import Chance
from discreet.samplers.envelope import LIGHTEST, UNIT, Proposal
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope

PADDING = -1
"""Stands for any of the candidates that are alike."""
# noise scales from where the weight is 1: exp(-40) * UNIT is less
_FARTHEST = fmpq(40)


class PaddedEnvelope:
    """Candidates that can be taken out, and a heap of others that are alike and are not.

    left: the candidates that can be taken out.
    number: how many there are in the heap.
    known: a candidate that is never taken out.
    behind: how far those of the heap are behind that one.
    """

    __slots__ = ("_behind", "_known", "_left", "_number", "_weight")

    def __init__(self, left: ShrinkingEnvelope, number: int, known: int, behind: fmpq) -> None:
        self._left, self._number, self._known, self._behind = left, number, known, behind
        self._weight = self._weigh()

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return self._left.total + self._number * self._weight

    def rebase(self) -> int:
        """Let `unit` stand for the best candidate, and return it."""
        unit = self._left.rebase()
        self._weight = self._weigh()
        return unit

    def propose(self, chance: Chance) -> Proposal:
        """A candidate or the heap, and its weight, with odds weight / total; nothing, with
        the odds that are left.
        """
        if chance.coin(self._number * self._weight, self.total):
            return PADDING, self._weight
        return self._left.propose(chance)

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight."""
        if candidate != PADDING:
            return self._left.keep(candidate, weight, chance)
        return chance.decay(self._distance, self._left.unit, weight, likely=weight > LIGHTEST)

    def take(self, candidate: int) -> None:
        """Take out the candidate that was proposed last."""
        self._left.take(candidate)
        self._weight = self._weigh()

    def _distance(self) -> fmpq:
        return self._left.behind(self._known) + self._behind

    def _weigh(self) -> int:
        """The weight of each one of the heap: an upper bound of its odds, at least 1."""
        unit, distance = self._left.unit, min(self._distance(), _FARTHEST)
        weight = upper_bound(lambda: unit * (-arb(distance)).exp())
        return min(UNIT, int(weight) + 1)
