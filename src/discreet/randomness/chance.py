"""The one door to randomness: fair bits, and the few random effects made of them.

A mechanism asks for nothing but these, so a test can run the real mechanism over *all*
their outcomes with exact probabilities (auditing/tapes.py does).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.errors import ParameterTypeError
from discreet.exact.enclosures import decide, less


@runtime_checkable
class Bits(Protocol):
    """A source of independent fair bits."""

    seeded: bool
    """True if the bits can be predicted; every Release made with such bits says so."""

    def draw(self, count: int) -> int:
        """Return a uniform integer below 2**count."""


class SystemBits:
    """The operating system's cryptographic generator, asked anew for every draw.

    Nothing is buffered, so a forked worker cannot repeat its parent's bits, and threads
    share no state. A selection needs only a few words, so a buffer would save about a
    microsecond and cost that property.
    """

    __slots__ = ()
    seeded = False

    def draw(self, count: int) -> int:
        """Return a uniform integer below 2**count."""
        size = (count + 7) >> 3
        return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)

    def __repr__(self) -> str:
        return "SystemBits()"


# extra bits in `below`: a second try is then needed less than once in 2^32 draws, for
# every bound
_MARGIN = 32


_WORD = 64
_LARGEST_WORD = np.uint64(2**64 - 1)
# no running sum is above it
_LARGEST_SUM = 2**63 - 1
# exact: a power of two
_WORD_SCALE = 1 / arb(1 << 65)
_FIFTEEN_SIXTEENTHS = 15 << 60
# bits fetched at once: enough for most selections
_DRAW = 512


class Chance:
    """Random effects with exactly the stated probabilities, given fair bits.

    Lives for one call. What it has fetched and not used dies with it, so nothing is
    ever shared by two releases, threads or forked processes.
    """

    __slots__ = ("_available", "_pool", "bits")

    def __init__(self, bits: Bits) -> None:
        self.bits = bits
        self._pool = self._available = 0

    def draw(self, count: int) -> int:
        """A uniform integer below 2**count."""
        if self._available < count:
            self._pool, self._available = self.bits.draw(count + _DRAW), count + _DRAW
        self._available -= count
        result = self._pool & ((1 << count) - 1)
        self._pool >>= count
        return result

    def look_up(self) -> None:
        """To be called now and then by long work between draws: raises where the bits know
        that nobody waits for it any more.
        """
        look = getattr(self.bits, "look_up", None)
        if look is not None:
            look()

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound)."""
        width = bound.bit_length() + _MARGIN
        # how many of the 2^width words stand for each integer
        share = (1 << width) // bound
        while True:
            result = self.draw(width) // share
            if result < bound:
                return result

    def coin(self, numerator: int, denominator: int) -> bool:
        """True with probability numerator / denominator."""
        return self.below(denominator) < numerator

    def pick(self, cumulative: NDArray[Any], total: int, scale: int = 1) -> int:
        """An index, with odds given by the steps of `cumulative`, of which each counts
        `scale`; its length with the odds that are left up to `total`.

        cumulative: running sums of 63 bits, or objects that are integers of any length.
        """
        number = self.below(total) // scale
        if cumulative.dtype != object:
            # beyond sums of 63 bits NumPy would make objects of them: that takes longer, and shows
            number = min(number, _LARGEST_SUM)
        return int(cumulative.searchsorted(number, side="right"))

    def pick_many(self, cumulative: NDArray[np.int64], total: int, count: int) -> NDArray[np.int64]:
        """So many independent indices, each as `pick` gives it."""
        numbers = self.below_each(np.full(count, total, dtype=np.uint64))
        return cumulative.searchsorted(numbers, side="right")

    def pick_each(self, rows: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row of running sums an index, as `pick` gives it for the row and its total."""
        numbers = self.below_each(totals.view(np.uint64))
        found: NDArray[np.int64] = np.less_equal(rows, numbers[:, None]).sum(axis=1)
        return found

    def below_each(self, bounds: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Independent uniform integers, each below its bound of at most 2**62."""
        # how many words stand for each integer
        shares = _LARGEST_WORD // bounds
        numbers = self._words(bounds.size) // shares
        again = np.flatnonzero(numbers >= bounds)
        while again.size:
            numbers[again] = self._words(again.size) // shares[again]
            again = again[numbers[again] >= bounds[again]]
        return numbers.view(np.int64)

    def _words(self, count: int) -> NDArray[np.uint64]:
        """Independent uniform words of 64 bits."""
        return np.frombuffer(self.draw(_WORD * count).to_bytes(8 * count, "little"), dtype="<u8")

    def decay(
        self, distance: Callable[[], fmpq], numerator: int, denominator: int, *, likely: bool
    ) -> bool:
        """True with probability exp(-distance) * numerator / denominator, which must be at most 1.

        `likely` says that it is known to be at least 15/16: then most draws are decided
        by their first bits, for every distance alike, and without computing it.
        """
        uniform = LazyUniform(self)
        if likely and uniform.starts_below(_FIFTEEN_SIXTEENTHS):
            return True
        exact = distance()

        def question(precision: int) -> bool | None:
            return less(uniform.ball(precision) * denominator, (-arb(exact)).exp() * numerator)

        return decide(question)

    def uniform(self) -> LazyUniform:
        """A uniform real number in [0, 1] whose bits are drawn when they are needed."""
        return LazyUniform(self)


class LazyUniform:
    """A uniform real number in [0, 1] whose binary digits are drawn when they are needed."""

    __slots__ = ("_chance", "_known", "_prefix")

    def __init__(self, chance: Chance) -> None:
        self._chance, self._known, self._prefix = chance, 0, 0

    def starts_below(self, first_word: int) -> bool:
        """True if the number is below first_word / 2**64; draws the first 64 bits. Ask
        before anything else.
        """
        self._prefix, self._known = self._chance.draw(_WORD), _WORD
        return self._prefix < first_word

    def ball(self, precision: int) -> arb:
        """An enclosure of width 2**-precision or less."""
        if precision > self._known:
            missing = precision - self._known
            self._prefix = (self._prefix << missing) | self._chance.draw(missing)
            self._known = precision
        # the number lies in [prefix, prefix + 1] / 2^known: middle and radius of that
        # interval, in halves
        scale = _WORD_SCALE if self._known == _WORD else 1 / arb(1 << (self._known + 1))
        return arb(2 * self._prefix + 1, 1) * scale


def start_of_shuffle(choices: Sequence[int]) -> list[int]:
    """The first members of a shuffle of 0, 1, 2, ... (Fisher and Yates), without the rest.

    choices: for each place in turn, this place or a later one: its member comes here,
        and the member that was here goes there.
    """
    moved: dict[int, int] = {}
    members = []
    for place, chosen in enumerate(choices):
        members.append(moved.get(chosen, chosen))
        moved[chosen] = moved.get(place, place)
    return members


_SYSTEM_BITS = SystemBits()


def read_bits(bits: Any) -> Chance:
    """The random effects of one call.

    bits: None for the system's generator. In a test or a simulation, a source of bits,
        or a whole `Chance` that says that it can be predicted, such as one that goes
        through all outcomes in turn.
    """
    if bits is None:
        return Chance(_SYSTEM_BITS)
    # A `Chance` over the system's bits could be shared by releases, threads or forked processes.
    if isinstance(bits, Chance) and bits.bits.seeded:
        return bits
    # not `isinstance(bits, Bits)`, which would take a fifth of a small draw
    drawn = callable(getattr(bits, "draw", None)) and hasattr(bits, "seeded")
    if isinstance(bits, type) or not drawn:
        raise ParameterTypeError("bits", "a source of random bits such as SeededBits", bits)
    return Chance(bits)
