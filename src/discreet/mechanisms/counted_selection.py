"""Names with counts beside them: a selection, and noise on the counts of what it named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterTypeError, ScoresError
from discreet.exact.rationals import Number, whole_sensitivity
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.count_noise import CountNoise, added_noise, noisy_counts, state_counts
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.mechanisms.unknown_domain import UnknownDomainTopK, read_counts
from discreet.privacy.loss import ApproxDP, Composed, Loss, PureDP
from discreet.privacy.parameters import Epsilon, ScoreRange
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import NoisyCounts, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedSelection:
    """A selection with a part of epsilon, and with the rest noise on the counts of its names.

    picked: the selection, of one or of k.
    noise: for the counts of what was picked, of which one person moves at most k.

    Privacy: the sum of both epsilons, and the delta of the selection; with Gaussian noise
        the losses of both.
    """

    picked: SelectionMechanism | TopKMechanism | UnknownDomainTopK
    noise: CountNoise

    @property
    def name(self) -> str:
        """The word for the selection in a Release."""
        if isinstance(self.picked, UnknownDomainTopK):
            return "limited-domain"
        return self.picked.name

    @property
    def threshold_delta(self) -> Fraction:
        """The delta of a threshold, where there is one; the others have it in their loss."""
        if isinstance(self.picked, UnknownDomainTopK):
            return self.picked.threshold_delta
        return Fraction(0)

    def privacy_loss(self) -> Loss:
        """What the names cost with their counts."""
        # one after the other: docs/proofs/histograms.md#counts-of-what-was-picked
        pure, stated = self.noise.privacy_loss(), self.picked.privacy_loss()
        if not isinstance(pure, PureDP) or isinstance(stated, Composed):
            return Composed(self.losses(), self.threshold_delta)
        epsilon = self.picked.epsilon + pure.epsilon
        delta = stated.delta if isinstance(stated, ApproxDP) else Fraction(0)
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)

    def losses(self) -> Mapping[Loss, int]:
        """The losses that both are made of."""
        total = Counter({self.noise.privacy_loss(): 1})
        if isinstance(self.picked, SelectionMechanism):
            total[self.picked.privacy_loss()] += 1
        else:
            total.update(self.picked.losses())
        return dict(total)

    def release(
        self, scores: Scores, *, people: int | None = None, bits: Bits | None = None
    ) -> Release:
        """The names with their counts, and what both cost.

        people: how many there are in all, for noise that the counts share.
        """
        # once: of what reads otherwise the second time, a place would have another name
        candidates = self._read(scores)
        chance = read_bits(bits)
        score_of = _whole_scores(candidates)
        places = self._places(candidates, chance)
        true = [score_of(place) for place in places]
        noisy, total = added_noise(true, self.noise, chance, people)
        labels = [] if candidates is None else [candidates.label(place) for place in places]
        return Release(
            value=labels[0] if isinstance(self.picked, SelectionMechanism) else labels,
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=self._candidates(candidates),
            seeded=chance.bits.seeded,
            counts=state_counts(noisy, self.noise, self._most, total),
            accuracy=self.accuracy(candidates=self._candidates(candidates)),
        )

    @property
    def one_picked(self) -> SelectionMechanism:
        """The selection, where it is one of a single candidate."""
        assert isinstance(self.picked, SelectionMechanism)
        return self.picked

    def count_of(self, number: int, chance: Chance, people: int | None = None) -> NoisyCounts:
        """The count of what was picked, with noise."""
        return noisy_counts([number], self.noise, chance, people)

    def accuracy(self, *, candidates: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """How far off the names can be; the counts have an error of their own."""
        if isinstance(self.picked, UnknownDomainTopK):
            return self.picked.accuracy(failure_probability=failure_probability)
        return self.picked.accuracy(candidates=candidates, failure_probability=failure_probability)

    def require_enough(self, candidates: int) -> int:
        """Return the number of candidates if as many as are wanted can be picked."""
        if isinstance(self.picked, TopKMechanism):
            return self.picked.require_enough(candidates)
        return candidates

    def _read(self, scores: Scores) -> Candidates | None:
        if isinstance(self.picked, UnknownDomainTopK):
            return read_counts(scores)
        return read_candidates(scores, objective=self.picked.objective)

    def _places(self, candidates: Candidates | None, chance: Chance) -> list[int]:
        """The places of what is picked."""
        if isinstance(self.picked, UnknownDomainTopK):
            return self.picked.select_counted(candidates, chance)
        assert candidates is not None
        return self.picked.select_counted(candidates, chance)

    @property
    def _most(self) -> int:
        """How many names there can be."""
        return 1 if isinstance(self.picked, SelectionMechanism) else self.picked.k

    def _candidates(self, candidates: Candidates | None) -> int:
        """How many candidates there were, as a public number."""
        if isinstance(self.picked, UnknownDomainTopK):
            return self.picked.limit
        assert candidates is not None
        return candidates.size


def make_counted(made: SelectionMechanism) -> CountedSelection:
    """A pick with half of the epsilon of this one, and its score with the other half."""
    half = Epsilon(made.epsilon / 2)
    # one count, and what was said: docs/proofs/histograms.md#what-the-code-states
    noise = counting_noise(half, made._range, moved=1)
    return CountedSelection(picked=replace(made, epsilon=half), noise=noise)


def counting_noise(epsilon: Epsilon, span: ScoreRange, *, moved: int) -> DiscreteLaplace:
    """Noise for counts of which one person moves this many, each by the sensitivity."""
    exact = whole_sensitivity(require_sensitivity(span.sensitivity), "sensitivity")
    # docs/proofs/histograms.md#counts-of-what-was-picked
    return DiscreteLaplace(epsilon=epsilon, sensitivity=moved * exact)


def require_sensitivity(stated: Number | None) -> Number:
    """Return the sensitivity, which noise for counts needs, if it was given."""
    if stated is None:
        rule = "given if you ask for counts"
        hint = "How far one person can move one score, at most."
        raise ParameterTypeError("sensitivity", rule, None, hint)
    return stated


def _whole_scores(candidates: Candidates | None) -> Callable[[int], int]:
    """From a place to its score as a whole number. That all are whole is checked at once,
    whichever of them will be named.
    """
    listed = np.zeros(0, dtype=np.int64) if candidates is None else candidates.scores
    whole = isinstance(listed, np.ndarray) and listed.dtype.kind in "iu"
    if not whole or (candidates is not None and candidates.unit != 1):
        raise ScoresError(
            "must be whole numbers if you ask for counts. Got other numbers.", name="scores"
        )
    return lambda place: int(listed[place])
