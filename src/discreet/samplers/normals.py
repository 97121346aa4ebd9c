"""Standard normal numbers that are known to as many digits as a decision needs.

Each pair of them is made of two uniform numbers (Box and Muller 1958): a radius
sqrt(-2 log U), and an angle. The first 64 random bits of each uniform number are drawn
at once, for a whole batch of rows, and give floats with a proved error; more bits are
drawn only for a row whose fate the floats leave open. The floats are computed with
+ - * / and sqrt only, which IEEE arithmetic rounds correctly, so nothing rests on the
accuracy of a library's log or cos: docs/proofs/subspaces.md#normal-numbers.

Vectors that are far out, |z|^2 above a given number, have the direction of a normal
vector. Half the square of their length has the tail of a gamma law, which is drawn by
rejection from an exponential one: docs/proofs/ball.md#tails.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import decide, less
from discreet.randomness.chance import Chance, LazyUniform

ERROR = 2.0**-45
"""How far a float of a certain row is from the number it stands for, at most."""

# a direction from a shorter vector is left to enclosures
_SHORTEST = 0.125

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

# a first word outside these bounds leaves its row open: log U would be too coarse
_FEW = np.uint64(1 << 44)
_MOST = np.uint64((1 << 64) - (1 << 40))
_HALF = np.uint64(1 << 63)
# of the second word: three bits say which of the eight mirror images of the angle
_ANGLE_BITS = 61
_ANGLE = np.uint64((1 << _ANGLE_BITS) - 1)
# words fetched at once: shifting longer integers would take more time than the bits
_BLOCK = 256
_ROOT_HALF = math.sqrt(0.5)
# 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...); ten terms leave less than 2^-54 of it
_LOG_TERMS = [2 / (2 * power + 1) for power in range(10)]
# sin and cos up to pi/4; what is left out is below 2^-53
_SIN_TERMS = [(-1) ** power / math.factorial(2 * power + 1) for power in range(9)]
_COS_TERMS = [(-1) ** power / math.factorial(2 * power) for power in range(10)]


class LazyUniforms:
    """Independent uniform numbers in [0, 1], one for each row."""

    __slots__ = ("_chance", "_rest", "words")

    def __init__(self, rows: int, chance: Chance) -> None:
        self._chance = chance
        self.words = draw_words(rows, chance)
        self._rest: dict[object, LazyUniform] = {}

    def logarithms(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The logarithms of the numbers, within 4 ERROR, and for which of them that is certain."""
        return _word_logarithm(self.words), (self.words >= _FEW) & (self.words <= _MOST)

    def ball(self, row: int, precision: int) -> arb:
        """An enclosure of width 2**-precision or less."""
        return _fraction(int(self.words[row]), 64, row, precision, self._rest, self._chance)


class LazyNormals:
    """Independent standard normal numbers: `rows` rows of `columns` each.

    values: floats within ERROR of the numbers, in the rows that are certain.
    certain: for which rows that is proved; all but one in 2^19 for each pair.
    """

    __slots__ = ("_chance", "_rest", "_words", "certain", "columns", "values")

    def __init__(self, rows: int, columns: int, chance: Chance) -> None:
        pairs = (columns + 1) // 2
        self._chance, self.columns = chance, columns
        self._words = draw_words(rows * pairs * 2, chance).reshape(rows, pairs, 2)
        self._rest: dict[object, LazyUniform] = {}
        first = self._words[:, :, 0]
        inside = (first >= _FEW) & (first <= _MOST)
        self.certain: NDArray[np.bool_] = np.all(inside, axis=1)
        both = np.stack(_pairs(first, self._words[:, :, 1]), axis=2)
        self.values: Floats = both.reshape(rows, 2 * pairs)[:, :columns]

    def balls(self, row: int, precision: int) -> list[arb]:
        """Enclosures of the numbers of one row, from uniform numbers of this many bits."""
        result: list[arb] = []
        for pair in range(self._words.shape[1]):
            radius = (-2 * self._uniform(row, pair, 0, 64, precision).log()).sqrt()
            angle = self._uniform(row, pair, 1, _ANGLE_BITS, precision) * arb.pi() / 4
            sine, cosine = angle.sin_cos()
            result += _mirrored(
                int(self._words[row, pair, 1]) >> _ANGLE_BITS, radius * cosine, radius * sine
            )
        return result[: self.columns]

    def _uniform(self, row: int, pair: int, part: int, width: int, precision: int) -> arb:
        word = int(self._words[row, pair, part]) & ((1 << width) - 1)
        return _fraction(word, width, (row, pair, part), precision, self._rest, self._chance)


def draw_words(count: int, chance: Chance) -> Words:
    """`count` independent uniform words of 64 bits."""
    sizes = [min(_BLOCK, count - start) for start in range(0, count, _BLOCK)]
    drawn = b"".join(chance.draw(64 * size).to_bytes(8 * size, "little") for size in sizes)
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64)


def _fraction(
    word: int,
    width: int,
    key: object,
    precision: int,
    rest: dict[object, LazyUniform],
    chance: Chance,
) -> arb:
    """The uniform number whose first `width` bits are `word`; later bits are drawn once."""
    if precision <= width:
        return arb(2 * word + 1, 1) / (1 << (width + 1))
    if key not in rest:
        rest[key] = chance.uniform()
    return (word + rest[key].ball(precision - width)) / (1 << width)


def _mirrored(image: int, larger: arb, smaller: arb) -> list[arb]:
    """The point (cos, sin) of the first eighth of a circle, in one of the eight eighths."""
    first, second = (smaller, larger) if image & 4 else (larger, smaller)
    return [-first if image & 1 else first, -second if image & 2 else second]


def _pairs(first: Words, second: Words) -> tuple[Floats, Floats]:
    radius = np.sqrt(-2 * _word_logarithm(first))
    angle = (second & _ANGLE).astype(np.float64) * (math.pi / 4 * 2.0**-_ANGLE_BITS)
    square = angle * angle
    larger = radius * _polynomial(_COS_TERMS, square)
    smaller = radius * (angle * _polynomial(_SIN_TERMS, square))
    image = second >> np.uint64(_ANGLE_BITS)
    swapped = (image & np.uint64(4)) != 0
    signs = [np.where((image & np.uint64(bit)) != 0, -1.0, 1.0) for bit in (1, 2)]
    return (
        signs[0] * np.where(swapped, smaller, larger),
        signs[1] * np.where(swapped, larger, smaller),
    )


def logarithm(values: Floats) -> Floats:
    """The logarithms of positive floats, within 2^-50 (1 + |log|), by the mantissa's
    distance from 1 and whole powers of two.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < _ROOT_HALF
    mantissa = np.where(small, 2 * mantissa, mantissa)
    shift = (exponent - small).astype(np.float64)
    slope = (mantissa - 1) / (mantissa + 1)
    result: Floats = shift * math.log(2) + slope * _polynomial(_LOG_TERMS, slope * slope)
    return result


def _word_logarithm(words: Words) -> Floats:
    """log(word / 2^64), with a small relative error also near 1."""
    # words without certainty are moved to where the arithmetic stays finite
    words = np.clip(words, _FEW, _MOST)
    far = logarithm(words.astype(np.float64) * 2.0**-64)
    # 1 - word / 2^64, where it is at most 1/2
    rest = (np.uint64(0) - np.maximum(words, _HALF)).astype(np.float64) * 2.0**-64
    slope = -rest / (2 - rest)
    near = slope * _polynomial(_LOG_TERMS, slope * slope)
    result: Floats = np.where(rest < 0.25, near, far)
    return result


def _polynomial(terms: list[float], at: Floats) -> Floats:
    total: Floats = np.full_like(at, terms[-1])
    for term in reversed(terms[:-1]):
        total = total * at + term
    return total


def tail_mass(dimensions: int, least_square: float) -> arb:
    """The probability that |z|^2 is above `least_square`."""
    shape = arb(dimensions) / 2
    return (arb(least_square) / 2).gamma_upper(shape) / shape.gamma()


class LazyTailNormals:
    """Normal vectors on the condition that |z|^2 is above `least_square`, which is at least
    1 and at least the number of dimensions.

    values: floats within `error` of the vectors, in the rows that are certain.
    certain: for which rows that is proved.
    """

    def __init__(self, rows: int, columns: int, least_square: float, chance: Chance) -> None:
        self._start, self._columns = arb(least_square) / 2, columns
        self._directions = LazyNormals(rows, columns, chance)
        self._halves = [self._draw_half(chance) for _ in range(rows)]
        found = self._directions.values
        lengths = np.sqrt((found * found).sum(axis=1))
        balls = [(2 * self._half(uniform, 64)).sqrt() for uniform in self._halves]
        sizes = np.array([float(size.mid()) for size in balls]).reshape(rows)
        narrow = np.array([float(size.rad()) < 2.0**-40 for size in balls], dtype=np.bool_)
        self.values: Floats = found * (sizes / np.maximum(lengths, _SHORTEST))[:, None]
        long = lengths > _SHORTEST * 1.01
        self.certain: NDArray[np.bool_] = self._directions.certain & narrow & long
        largest = float(sizes.max()) if rows else 0.0
        direction = 2 * math.sqrt(columns) * ERROR / _SHORTEST
        self.error = 1.01 * (largest + 1) * direction + 2.0**-39

    def balls(self, row: int, precision: int) -> list[arb]:
        """Enclosures of the numbers of one row."""
        numbers = self._directions.balls(row, precision)
        length = sum((number * number for number in numbers), arb(0)).sqrt()
        size = (2 * self._half(self._halves[row], precision)).sqrt()
        return [number / length * size for number in numbers]

    def _draw_half(self, chance: Chance) -> LazyUniform:
        """The uniform number that makes half of |z|^2, drawn until it is kept."""
        while True:
            uniform, coin = chance.uniform(), chance.uniform()
            if decide(partial(self._is_kept, uniform, coin)):
                return uniform

    def _is_kept(self, uniform: LazyUniform, coin: LazyUniform, precision: int) -> bool | None:
        return less(coin.ball(precision).log(), self._log_kept(uniform, precision))

    def _half(self, uniform: LazyUniform, precision: int) -> arb:
        return self._start - uniform.ball(precision).log() / self._rate()

    def _rate(self) -> arb:
        """The rate of the exponential law that proposals come from: the logarithm of the density
        falls at least that fast.
        """
        power = arb(self._columns) / 2 - 1
        return 1 - power / self._start if self._columns > 2 else arb(1)

    def _log_kept(self, uniform: LazyUniform, precision: int) -> arb:
        """The logarithm of the gamma density over the exponential one, at most 0."""
        beyond = -uniform.ball(precision).log() / self._rate()
        power = arb(self._columns) / 2 - 1
        slope = power * beyond / self._start if self._columns > 2 else arb(0)
        return power * (beyond / self._start).log1p() - slope
