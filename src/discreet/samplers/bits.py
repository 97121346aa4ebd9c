"""The one door to randomness."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable


@runtime_checkable
class Bits(Protocol):
    """A source of independent fair bits."""

    seeded: bool
    """True if the bits can be predicted; every Release made with such bits says so."""

    def draw(self, count: int) -> int:
        """Return a uniform integer below 2**count."""


class SystemBits:
    """The operating system's cryptographic generator, asked anew for every draw.

    Nothing is buffered, so a forked worker cannot repeat its parent's bits, and threads share no state. A selection needs
    only a few words, so a buffer would save about a microsecond and cost that property.
    """

    __slots__ = ()
    seeded = False

    def draw(self, count: int) -> int:
        """Return a uniform integer below 2**count."""
        size = (count + 7) >> 3
        return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)

    def __repr__(self) -> str:
        return "SystemBits()"
