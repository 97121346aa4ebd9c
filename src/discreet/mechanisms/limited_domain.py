"""The limited-domain rule of Durfee and Rogers: only the most frequent items compete, against a threshold (⊥) above the crowd."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.certified import ball, upper_bound
from discreet.errors import ScoresError
from discreet.mechanisms.candidates import Candidates, Scores, read_candidates
from discreet.privacy.loss import BoundedRange
from discreet.samplers.chance import Chance
from discreet.samplers.distances import measure
from discreet.samplers.peeling import PeelingEnvelope
from discreet.samplers.softmax import draw_softmax

_GRID = 1024  # the threshold is rounded up to 1/1024 of a person, so that all scores are whole numbers of these
_LARGEST = 2**40


@dataclass(frozen=True, slots=True)
class LimitedDomain:
    """How items compete: what one outcome costs, and how far above the crowd an item must be to be named at all.

    pick: the loss of one outcome. Nothing more (⊥) is an outcome, too.
    delta: the probability, for a whole list, that an item is named which one person alone brought in.
    limit: how many of the most frequent items take part.
    items_per_person: in how many items one person can take part, if that is bounded.
    """

    pick: BoundedRange
    delta: Fraction
    limit: int
    items_per_person: int | None

    @property
    def height(self) -> Fraction:
        """How far ⊥ stands above the first item that does not take part: 1 + ln(items / delta) / epsilon, rounded up."""
        # Not `d - limit`, which some texts allow as a third number here: items with a count of 0 are no candidates.
        items = min(self.items_per_person or self.limit, self.limit)

        def exact() -> arb:
            return 1 + (ball(items) / ball(self.delta)).log() / ball(self.pick.epsilon)

        return Fraction(math.ceil(upper_bound(exact) * _GRID), _GRID)

    def draw(self, counts: Candidates | None, k: int, chance: Chance) -> list[int]:
        """Up to k positions, most frequent first; fewer if ⊥ came up."""
        positions, next_count = _take_part(counts, self.limit, self.items_per_person is not None, chance)
        taking_part = [] if counts is None else [int(counts.scores[position]) for position in positions]
        # Places that no item has are filled with items of count 0 that do not exist: one of them winning means ⊥, too.
        nothing = [0] * (self.limit - len(positions))
        scores = [_GRID * score for score in taking_part + nothing] + [_GRID * next_count + int(self.height * _GRID)]
        rate = fmpq(self.pick.epsilon.numerator, self.pick.epsilon.denominator) / _GRID
        values = np.array(scores) if max(scores) < _LARGEST else [Fraction(score) for score in scores]
        left = PeelingEnvelope(measure(values, min(scores), max(scores), rate, smallest=False))
        result: list[int] = []
        while len(result) < k:
            winner = draw_softmax(left, chance)
            if winner >= len(positions):
                break
            result.append(int(positions[winner]))
            left.take(winner)
        return result


def _take_part(counts: Candidates | None, limit: int, by_label: bool, chance: Chance) -> tuple[list[int], int]:
    """The positions of the `limit` most frequent items, and the largest count among the others."""
    if counts is None:
        return [], 0
    values = np.asarray(counts.scores)
    seen = np.flatnonzero(values > 0)
    if seen.size <= limit:
        return seen.tolist(), 0
    boundary = np.partition(values, values.size - limit)[values.size - limit]
    above, tied = np.flatnonzero(values > boundary), np.flatnonzero(values == boundary)
    chosen = _by_label(tied, counts, chance) if by_label else _any(tied, limit - above.size, chance)
    positions = [*above.tolist(), *chosen[: limit - above.size]]
    others = tied.size > limit - above.size
    return positions, int(boundary) if others else int(values[values < boundary].max(initial=0))


def _any(tied: NDArray[np.intp], needed: int, chance: Chance) -> list[int]:
    """So many of them, uniformly."""
    moved: dict[int, int] = {}
    drawn = []
    for place in range(needed):
        other = place + chance.below(tied.size - place)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return [int(tied[place]) for place in drawn]


def _by_label(tied: NDArray[np.intp], counts: Candidates, chance: Chance) -> list[int]:
    """All of them in an order that depends on their labels and a fresh key only.

    With a bound on the items of one person the proof needs that this person alone changes who takes part, not the order of a table.
    """
    key = chance.draw(256).to_bytes(32, "little")

    def digest(position: int) -> bytes:
        label = counts.label(position)
        return hashlib.blake2b(f"{type(label).__name__} {label!r}".encode(), key=key, digest_size=16).digest()

    return sorted(tied.tolist(), key=digest)


def read_counts(counts: Scores, owner: str) -> Candidates | None:
    """Whole numbers of persons, none negative; None if nothing was seen."""
    if hasattr(counts, "__len__") and len(counts) == 0 and not isinstance(counts, (str, bytes)):
        return None
    candidates = read_candidates(counts, owner)
    whole = isinstance(candidates.scores, np.ndarray) and candidates.scores.dtype.kind in "iu" and candidates.unit == 1
    if not whole:
        raise ScoresError(f"The 'counts' of {owner} must be whole numbers of persons, below 2^63. Got others.")
    if candidates.low < 0:
        raise ScoresError(f"The 'counts' of {owner} must not be negative. Got a negative one.")
    return candidates
