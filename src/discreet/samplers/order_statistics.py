"""Order statistics in a time that does not depend on the values, only on how many there are.

`np.partition` and `np.sort` compare, branch and stop early: on a million equal numbers
they are up to 45 times faster than on the same numbers with one of them changed, so the
time of one call shows that person. Here nothing branches on a value. A
threshold is found bit by bit, each time by counting *all* values at or above it; a sort
is a radix sort that can never find its work done already. Every pass touches every
value, whatever the values are.

Values are seen as *keys*: unsigned integers of 64 bits, of which the larger is the
better.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_SIGN = np.uint64(1 << 63)
# bits that are searched, or sorted by, at once: narrow words are fast to compare
_PIECE = 16
ALL_PIECES = 64 // _PIECE
"""The pieces of a whole key."""

_LARGEST_PIECE = (1 << _PIECE) - 1
_WORD = 64
# classes of fewer members, or of fewer keys, cost more than they save
_NARROWEST, _FEW = 8, 1 << 14
# entries of a mask from which on packing them into words is faster
_SHORT = 1 << 15
PAIRS = 128
"""Up to this many keys, each is compared with every other one."""

ALL_SORTED = 1 << 12
"""Up to this many keys, all are sorted where the best are asked for: that is faster than to
search for the last of them.
"""

# members of a class of values, and how many classes there have to be for each of the best
_CLASS, _CLASSES = 8, 4
_EARLIER = np.tri(PAIRS, k=-1, dtype=np.bool_).T


def best_keys(values: NDArray[Any], smallest: bool) -> Keys:
    """Keys in the order of the values, equal ones for equal values. `smallest`: the
    smallest value is the best.
    """
    if values.dtype.kind == "f":
        # Adding 0 turns -0.0 into 0.0; then floats are ordered as their bits are, those of
        # negative ones backwards.
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        keys = (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64) ^ _SIGN
    elif values.dtype.kind == "i":
        keys = values.astype(np.int64).view(np.uint64) ^ _SIGN
    else:
        keys = values.astype(np.uint64)
    return ~keys if smallest else keys


def kth_largest(keys: Keys, rank: int, most: int) -> int:
    """The rank-th largest key, where 1 <= rank <= most <= the number of keys.

    Only `most` may be known to an attacker who measures time: the rank itself may
    depend on private data.

    Many keys are cut into classes first: the `most` largest keys are all in the `most`
    classes that have the largest members.
    """
    width = isqrt(keys.size // most)
    if width < _NARROWEST or keys.size < _FEW:
        return _search(keys, rank)
    classes = keys[: keys.size // width * width].reshape(width, -1)
    leaders = classes.max(axis=0)
    chosen = _largest_places(leaders, most)
    return _search(np.concatenate([classes[:, chosen].ravel(), keys[classes.size :]]), rank)


def best_places(values: NDArray[Any], smallest: bool, count: int) -> NDArray[np.int64]:
    """The places of the `count` best values, from the best on, and then, where there are few
    values, those of all others. The order of equal values does not matter.

    Of many values only those of the best classes become keys: the `count` best are all
    in the `count` classes that have the best leaders, and these are found in the same
    way.
    """
    length = values.size // _CLASS
    if values.size <= ALL_SORTED or length < _CLASSES * count:
        return _sorted_best(best_keys(values, smallest), count)
    classes = values[: _CLASS * length].reshape(_CLASS, length)
    leaders = classes.min(axis=0) if smallest else classes.max(axis=0)
    chosen = best_places(leaders, smallest, count)[:count]
    places = np.concatenate(
        [
            np.add.outer(np.arange(_CLASS) * length, chosen).ravel(),
            np.arange(_CLASS * length, values.size),
        ]
    )
    return places[best_of(best_keys(values[places], smallest), count)]


def best_of(keys: Keys, count: int) -> NDArray[np.int64]:
    """The places of the `count` largest keys, from the largest on; of equal ones, the first."""
    return _sorted_best(keys, count)[:count]


def nth_places(mask: NDArray[np.bool_], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of the true entry of each rank, counted from 0; any place for a rank
    beyond the last.
    """
    if mask.size < _SHORT:
        return mask.cumsum().searchsorted(ranks, side="right").clip(max=mask.size - 1)
    packed = np.packbits(mask)
    words = np.zeros(-(-packed.size // 8) * 8, dtype=np.uint8)
    words[: packed.size] = packed
    reached = np.bitwise_count(words.view(np.uint64)).cumsum(dtype=np.int64)
    ranks = ranks.clip(0, max(0, int(reached[-1]) - 1))
    places = np.empty(ranks.size, dtype=np.int64)
    # by pieces: the bits of a word take far more memory than its rank
    for start in range(0, ranks.size, _SHORT):
        wanted = ranks[start : start + _SHORT]
        numbers = reached.searchsorted(wanted, side="right").clip(max=reached.size - 1)
        inside = wanted - np.where(numbers > 0, reached[numbers - 1], 0)
        bits = np.unpackbits(words.reshape(-1, 8)[numbers], axis=1).cumsum(axis=1, dtype=np.int64)
        places[start : start + _SHORT] = numbers * _WORD + (bits <= inside[:, None]).sum(axis=1)
    return places.clip(max=mask.size - 1)


def sorted_places(keys: Keys, pieces: int) -> NDArray[np.int64]:
    """The places of the keys in ascending order of their last `pieces` times 16 bits;
    at equal ones, in the order of places.
    """
    if keys.size <= PAIRS:
        return _sorted_by_pairs(keys & np.uint64((1 << _PIECE * pieces) - 1))
    order = np.arange(keys.size)
    for number in range(pieces):
        order = order[_sorted_by_piece(_piece(keys, number)[order])]
    return order


def pieces_of(largest: int) -> int:
    """How many pieces of 16 bits hold all numbers up to this one."""
    return min(ALL_PIECES, max(1, -(-largest.bit_length() // _PIECE)))


def _search(keys: Keys, rank: int) -> int:
    """The rank-th largest key: the largest number with at least `rank` keys at or
    above it, found from its first bit to its last.
    """
    if keys.size <= PAIRS:
        return _compare_all(keys, rank)
    found, above = 0, 0
    # which keys begin with the digits that are found; only these have a say in the next
    alive: NDArray[np.bool_] | None = None
    hits = np.empty(keys.size, dtype=np.bool_)
    for number in reversed(range(ALL_PIECES)):
        piece = _piece(keys, number)
        if alive is not None:
            np.multiply(piece, alive, out=piece)
        threshold = 0
        for bit in reversed(range(_PIECE)):
            tried = threshold | 1 << bit
            np.greater_equal(piece, tried, out=hits)
            count = above + int(np.count_nonzero(hits))
            # No branch: both outcomes do the same work.
            threshold = (threshold, tried)[count >= rank]
        np.greater(piece, threshold, out=hits)
        above += int(np.count_nonzero(hits))
        same = np.equal(piece, threshold)
        alive = same if alive is None else np.logical_and(same, alive, out=same)
        found = found << _PIECE | threshold
    return found


def _compare_all(keys: Keys, rank: int) -> int:
    """The rank-th largest of few keys, by comparing each with every other one."""
    larger = _counted(np.greater(keys[:, None], keys), 0)
    reached = _counted(np.greater_equal(keys[:, None], keys), 0)
    return int((keys * ((larger < rank) & (rank <= reached))).max())


def _sorted_by_pairs(keys: Keys) -> NDArray[np.int64]:
    """The places of few keys in ascending order, by counting how many are before each."""
    size = keys.size
    places, order = np.arange(size), np.empty(size, dtype=np.int64)
    # row by column: whether one that is earlier is no larger
    before = np.less_equal(keys[:, None], keys)
    before &= _EARLIER[:size, :size]
    # later ones are before it where it is larger
    later = size - 1 - places - _counted(before, 1)
    order[_counted(before, 0) + later] = places
    return order


def _counted(mask: NDArray[np.bool_], axis: int) -> NDArray[np.uint8]:
    """How many of up to 128 entries are true: narrow words are fast to add."""
    counts: NDArray[np.uint8] = np.add.reduce(mask.view(np.uint8), axis=axis, dtype=np.uint8)
    return counts


def _piece(keys: Keys, number: int) -> NDArray[np.uint16]:
    """The number-th 16 bits of each key, counted from the last ones."""
    return (keys >> np.uint64(number * _PIECE)).astype(np.uint16)


def _largest_places(keys: Keys, count: int) -> NDArray[np.int64]:
    """The places of the `count` largest keys, of equal ones the first."""
    threshold, ranks = np.uint64(_search(keys, count)), np.arange(count)
    larger = keys > threshold
    surely = int(np.count_nonzero(larger))
    return np.where(
        ranks < surely, nth_places(larger, ranks), nth_places(keys == threshold, ranks - surely)
    )


def _sorted_best(keys: Keys, count: int) -> NDArray[np.int64]:
    """The places of the `count` largest keys, from the largest on; of few keys, then
    those of all others.
    """
    if keys.size <= ALL_SORTED:
        return sorted_places(~keys, ALL_PIECES)
    found = _largest_places(keys, count)
    return found[sorted_places(~keys[found], ALL_PIECES)]


def _sorted_by_piece(piece: NDArray[np.uint16]) -> NDArray[np.int64]:
    """A stable radix sort. NumPy's leaves out what is sorted already, and each byte
    that is the same everywhere.

    So the largest and the smallest number go before all others: then nothing is sorted,
    and no byte is the same everywhere.
    """
    guarded = np.empty(piece.size + 2, dtype=np.uint16)
    guarded[:2] = _LARGEST_PIECE, 0
    guarded[2:] = piece
    order = guarded.argsort(kind="stable")
    # The guards come back first and, of all largest numbers, first among them.
    last = order.size - 1 - int(np.count_nonzero(piece == _LARGEST_PIECE))
    return np.concatenate([order[1:last], order[last + 1 :]]) - 2
