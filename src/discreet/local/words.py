"""Many random words at once, and whole numbers from them, from the one door to randomness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.chance import Chance

_PIECE = 1 << 15  # bytes fetched at once; larger integers leave the processor's cache
_KINDS = [np.dtype(name) for name in ("u1", "<u2", "<u4", "<u8")]

Words = NDArray[Any]


def draw_words(count: int, kind: np.dtype[Any], chance: Chance) -> Words:
    """Independent uniform words of an unsigned type."""
    missing, pieces = count * kind.itemsize, []
    while missing:
        size = min(missing, _PIECE)
        pieces.append(chance.draw(8 * size).to_bytes(size, "little"))
        missing -= size
    return np.frombuffer(pieces[0] if len(pieces) == 1 else b"".join(pieces), dtype=kind)


def draw_below(bound: int, count: int, chance: Chance) -> Words:
    """Independent uniform whole numbers below `bound`, by rejection: each stands for the same number of words."""
    kind = _kind_for(bound)
    if bound == 1:
        return np.zeros(count, dtype=kind)
    share = kind.type(_number_of(kind) // bound)
    numbers: Words = draw_words(count, kind, chance) // share
    again = np.flatnonzero(numbers >= bound)
    while again.size:
        tried = draw_words(again.size, kind, chance) // share
        numbers[again] = tried
        again = again[tried >= bound]
    return numbers


def _kind_for(bound: int) -> np.dtype[Any]:
    """The smallest words of which at most a quarter are rejected."""
    return next(kind for kind in _KINDS if (size := _number_of(kind)) >= bound and 4 * (size % bound) <= size)


def _number_of(kind: np.dtype[Any]) -> int:
    """How many different words there are."""
    return 1 << (8 * kind.itemsize)
