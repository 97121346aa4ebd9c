"""Random bits that repeat, for tests and simulations only."""

from __future__ import annotations

import hashlib

from discreet.errors import ParameterTypeError, public_class


@public_class
class SeededBits:
    """Bits that are the same for the same seed, on every machine and in every version.
    **Never use them for a real release.**

    Whoever knows or guesses the seed knows the noise. A Release made with these bits
    has ``seeded=True``.

    >>> SeededBits(7).draw(16), SeededBits(7).draw(16)
    (23703, 23703)
    """

    __slots__ = ("_available", "_block", "_key", "_pool")
    seeded = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ParameterTypeError("seed", "a whole number", seed)
        self._key = hashlib.blake2b(str(seed).encode()).digest()
        self._block, self._pool, self._available = 0, 0, 0

    def draw(self, count: int) -> int:
        """Return an integer below 2**count."""
        while self._available < count:
            block = hashlib.blake2b(self._block.to_bytes(16, "little"), key=self._key).digest()
            self._pool |= int.from_bytes(block, "little") << self._available
            self._block += 1
            self._available += 512
        result = self._pool & ((1 << count) - 1)
        self._pool >>= count
        self._available -= count
        return result

    def __repr__(self) -> str:
        return "SeededBits(...)"
