"""The limited-domain rule of Durfee and Rogers: only the most frequent items compete,
against a threshold (⊥) above the crowd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ScoresError
from discreet.exact.enclosures import ball, rational, upper_bound
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.privacy.loss import BoundedRange
from discreet.randomness.chance import Chance
from discreet.samplers.distances import measure
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.order_statistics import kth_largest, nth_places
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope

# the threshold is rounded up to 1/1024 of a person, so that all scores are whole
# numbers of these
_GRID = 1024
# of a score as an integer of the machine: more persons than there can be
_LARGEST = 2**62
_DIE_BITS = 64
_HIGHEST_BIT = np.uint64(1 << 63)
_MIXER = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class LimitedDomain:
    """How items compete: what one outcome costs, and how far above the crowd an item
    must be to be named at all.

    pick: the loss of one outcome. Nothing more (⊥) is an outcome, too.
    delta: the probability, for a whole list, that an item is named which one person
        alone brought in.
    limit: how many of the most frequent items take part.
    items_per_person: in how many items one person can take part, if that is bounded.
    """

    pick: BoundedRange
    delta: Fraction
    limit: int
    items_per_person: int | None

    @property
    def height(self) -> Fraction:
        """How far ⊥ stands above the first item that does not take part: 1 + ln(items /
        delta) / epsilon, rounded up.
        """
        # Not `d - limit`, which some texts allow as a third number here: items with a count
        # of 0 are no candidates.
        items = min(self.items_per_person or self.limit, self.limit)
        return _height(items, self.delta, self.pick.epsilon)

    def draw(self, counts: Candidates | None, k: int, chance: Chance) -> list[int]:
        """Up to k positions, most frequent first; fewer if ⊥ came up.

        The time depends on how many counts there are, on the length of the list and, as
        in every draw, a little on the odds.
        """
        by_label = self.items_per_person is not None
        positions, scores, next_count = _take_part(counts, self.limit, by_label, chance)
        # Places that no item has are filled with items of count 0 that do not exist: one of
        # them winning means ⊥, too.
        listed = [*scores, _GRID * next_count + int(self.height * _GRID)]
        rate = rational(self.pick.epsilon) / _GRID
        small = max(listed) < _LARGEST
        values = np.array(listed) if small else [Fraction(score) for score in listed]
        left = ShrinkingEnvelope(measure(values, min(listed), max(listed), rate, smallest=False))
        result: list[int] = []
        while len(result) < k:
            winner = draw_exponential(left, chance)
            if winner == self.limit or not scores[winner]:
                break
            result.append(positions[winner])
            left.take(winner)
        return result


@lru_cache(maxsize=256)
def _height(items: int, delta: Fraction, epsilon: Fraction) -> Fraction:
    """Remembered, because enclosures of logarithms take as long as a draw."""

    def exact() -> arb:
        return 1 + (ball(items) / ball(delta)).log() / ball(epsilon)

    return Fraction(math.ceil(upper_bound(exact) * _GRID), _GRID)


def _take_part(
    counts: Candidates | None, limit: int, by_label: bool, chance: Chance
) -> tuple[list[int], list[int], int]:
    """The positions of the `limit` most frequent items, their scores, and the largest
    count among the others.

    There are always `limit` of them, those without a name have the score 0. Everything
    is done for every item and every place, whether it is needed or not, so that the
    time does not tell how many items are tied, or whether there are enough of them.
    """
    values = _filled_up(counts, limit + 1)
    next_count = kth_largest(values, limit + 1, limit + 1)
    above, tied = values > np.uint64(next_count), values == np.uint64(next_count)
    surely = int(np.count_nonzero(above))
    missing, ranks = limit - surely, np.arange(limit)
    chosen = (
        _by_label(tied, missing, limit, counts, chance)
        if by_label
        else _any(tied, missing, limit, chance)
    )
    positions = np.where(ranks < surely, nth_places(above, ranks), chosen[ranks - surely])
    return positions.tolist(), [_GRID * count for count in values[positions].tolist()], next_count


def _filled_up(counts: Candidates | None, size: int) -> NDArray[np.uint64]:
    """The counts, followed by zeros if there are fewer than `size` of them."""
    found = 0 if counts is None else counts.size
    values = np.zeros(max(size, found), dtype=np.uint64)
    if counts is not None:
        values[:found] = counts.scores
    return values


def _any(tied: NDArray[np.bool_], missing: int, limit: int, chance: Chance) -> NDArray[np.int64]:
    """Places of which the first `missing` are a uniform choice of those that are tied;
    `limit` places in all.
    """
    others = int(np.count_nonzero(tied))
    moved: dict[int, int] = {}
    drawn = []
    for place in range(limit):
        # Where nothing is missing any more, a die with one side: it takes as long, and
        # changes nothing.
        other = place + _die(others - place if place < missing else 1, chance)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return nth_places(tied, np.array(drawn))


def _die(sides: int, chance: Chance) -> int:
    """A uniform number below `sides`, made of as many bits whatever that is: each has
    the same number of larger ones.
    """
    spare = _DIE_BITS - sides.bit_length()
    return chance.below(sides << spare) >> spare


def _by_label(
    tied: NDArray[np.bool_], missing: int, limit: int, counts: Candidates | None, chance: Chance
) -> NDArray[np.int64]:
    """The same, chosen by an order that depends on the labels and a fresh key only.

    With a bound on the items of one person the proof needs that this person alone
    changes who takes part, not the order of a table.
    """
    digests = _mixed(_label_numbers(counts, tied.size), chance)
    # 0 for those that are not tied
    keys = (digests >> np.uint64(1) | _HIGHEST_BIT) * tied
    # Where none is missing, one is found that nobody asks for.
    last = np.uint64(kth_largest(keys, max(1, missing), limit))
    before, equal = keys > last, keys == last
    surely = int(np.count_nonzero(before))
    # One, unless two labels have the same digest: that must not let the order of a table decide.
    alike = nth_places(equal, np.arange(np.count_nonzero(equal))).tolist()
    listed = sorted(alike, key=lambda place: _text(_label(counts, place)))
    # As many as there are places, whether they are needed or not.
    rest = np.array(listed)[np.arange(limit) % len(listed)]
    ranks = np.arange(limit)
    return np.where(ranks < surely, nth_places(before, ranks), rest[ranks - surely])


def _label_numbers(counts: Candidates | None, size: int) -> NDArray[np.uint64]:
    """A number for each item that depends on its label only, and is the same tomorrow."""
    numbers = np.arange(size, dtype=np.uint64)
    if counts is not None and counts.labels is not None:
        labels = counts.labels.tolist() if hasattr(counts.labels, "tolist") else counts.labels
        numbers[: counts.size] = np.fromiter(
            map(_label_number, labels), dtype=np.uint64, count=counts.size
        )
    return numbers


def _label_number(label: Any) -> int:
    if type(label) is int:
        # as a position without a label
        return label % 2**64
    return crc32(
        label.encode(errors="surrogatepass") if type(label) is str else _text(label).encode()
    )


def _label(counts: Candidates | None, place: int) -> Any:
    """The label of an item; its place, for one of those that fill up."""
    return place if counts is None or place >= counts.size else counts.label(place)


def _text(label: Any) -> str:
    return f"{type(label).__name__} {label!r}"


def _mixed(numbers: NDArray[np.uint64], chance: Chance) -> NDArray[np.uint64]:
    """Different numbers become different ones again, in an order that a fresh key
    decides (the mixer is splitmix64's).
    """
    for shift, factor in _MIXER:
        numbers = numbers ^ np.uint64(chance.draw(64))
        numbers = (numbers ^ numbers >> np.uint64(shift)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(31)


def read_counts(counts: Scores, owner: str) -> Candidates | None:
    """Whole numbers of persons, none negative; None if nothing was seen."""
    if hasattr(counts, "__len__") and len(counts) == 0 and not isinstance(counts, (str, bytes)):
        return None
    candidates = read_candidates(counts, owner)
    whole = (
        isinstance(candidates.scores, np.ndarray)
        and candidates.scores.dtype.kind in "iu"
        and candidates.unit == 1
    )
    if not whole:
        raise ScoresError(
            f"The 'counts' of {owner} must be whole numbers of persons, below 2^63. Got others."
        )
    if candidates.low < 0:
        raise ScoresError(f"The 'counts' of {owner} must not be negative. Got a negative one.")
    return candidates
