"""Pairs of neighbouring inputs at which privacy is known to break, and variations of them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Protocol

from discreet.exact.rationals import nearest_float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs that differ by what one person can do.

    name: what is special about them.
    looks: how many times as many draws as other pairs this one needs: more where every
        answer is rare.
    extreme: whether the inputs are scores at which floats break, and which few data sets have.
    """

    name: str
    first: Any
    second: Any
    looks: int = 1
    extreme: bool = False


class World(Protocol):
    """Which inputs there are, and which of them are neighbours."""

    def pairs(self) -> Iterator[Pair]:
        """Pairs of every kind that is known to matter, the simple ones first."""

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """Pairs that are like this one."""

    def small_pairs(self) -> Iterator[Pair]:
        """Pairs with few candidates, for which everything can be enumerated."""

    def describe(self) -> str:
        """Describe which inputs are neighbors."""


OFFSETS = {"2^53": 2**53, "2^60": 2**60, "-2^60": -(2**60)}
"""Numbers at which floats are known to break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLists:
    """Lists with a number for each person, within public bounds.

    bounds: the smallest and the largest value.
    replace: whether neighbours have one other value, rather than one value more.
    """

    bounds: tuple[float, float]
    replace: bool = False

    def pairs(self) -> Iterator[Pair]:
        """Few persons and many, with equal values or spread; one more, or another, is
        at either end, or in between, or has a value that is no number.
        """
        low, high = self.bounds
        width = high - low
        shapes = {
            "nobody": [],
            "one person": [low + width / 3],
            "all equal": [low + width / 2] * 5,
            "spread": [low + width * place / 10 for place in range(1, 10)],
            "two camps": [low] * 3 + [high] * 3,
            "one low": [low + width * part for part in (0.0537, 0.5, 0.6, 0.7, 0.8)],
            "close together": [low + width * (0.5 + place * 1e-3) for place in range(6)],
        }
        for (shape, values), new in product(shapes.items(), (low, low + width / 7, high, math.nan)):
            if self.replace and values:
                yield Pair(f"{shape}; one other", values, [new, *values[1:]])
            elif not self.replace:
                yield Pair(f"{shape}; one more", values, [*values, new])

    def small_pairs(self) -> Iterator[Pair]:
        """The first few."""
        yield from list(self.pairs())[:6]

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """Pairs in which all values moved a little, and the newcomer has another value."""
        low, high = self.bounds
        for _ in range(3):
            values = [
                min(high, max(low, value + (high - low) * source.uniform(-0.1, 0.1)))
                for value in pair.first
            ]
            new = source.choice([low, high, source.uniform(low, high)])
            other = [new, *values[1:]] if self.replace else [*values, new]
            yield Pair(f"{pair.name}; varied", values, other)

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        change = "has another value" if self.replace else "is added or removed"
        return f"one person {change}; values from {self.bounds[0]:g} to {self.bounds[1]:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCounts:
    """The number of persons who have each item, where the items themselves are private.

    items_per_person: how many counts one person moves, or None for all of them.
    around: counts near which the code may change its behavior.
    """

    items_per_person: int | None
    around: tuple[int, ...]

    def pairs(self) -> Iterator[Pair]:
        """Pairs with one person more, whose items are new, rare or frequent."""
        most = self.items_per_person or 4
        for height, size in product((0, *self.around), (1, 3, 6)):
            counts = {f"item {place}": height + place % 2 for place in range(size)}
            counts = {item: count for item, count in counts.items() if count}
            for moved in {1, most}:
                more = dict(counts)
                for place in range(moved):
                    item = f"item {size - 1 - place}"
                    more[item] = more.get(item, 0) + 1
                yield Pair(f"{size} counts near {height}; {moved} one more", counts, more)

    def small_pairs(self) -> Iterator[Pair]:
        """The first few."""
        yield from list(self.pairs())[:6]

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """Pairs with the same newcomer beside other counts."""
        added = {
            item: count - pair.first.get(item, 0)
            for item, count in pair.second.items()
            if count != pair.first.get(item, 0)
        }
        for _ in range(3):
            counts = {
                item: max(1, count + source.randint(-3, 3)) for item, count in pair.first.items()
            }
            more = dict(counts)
            for item in added:
                more[item] = more.get(item, 0) + 1
            yield Pair(f"{pair.name}; varied", counts, more)

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        many = "all counts" if self.items_per_person is None else f"{self.items_per_person} counts"
        return f"one person more or less, who moves {many} by 1 at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One whole number, moved by at most its sensitivity."""

    sensitivity: Fraction
    center: int = 0

    def pairs(self) -> Iterator[Pair]:
        """Small numbers, and neighbours that floats cannot tell apart."""
        step = int(self.sensitivity)
        for value in (self.center, self.center + 7, *OFFSETS.values()):
            extreme = value in OFFSETS.values()
            yield Pair(f"{value}, or {step} more", value, value + step, extreme=extreme)

    def small_pairs(self) -> Iterator[Pair]:
        """One pair of small numbers."""
        yield Pair("a small number", self.center + 1, self.center + 1 + int(self.sensitivity))

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """Move the pair by a random number."""
        shift = source.randint(-50, 50)
        moved = pair.first + shift, pair.second + shift
        yield Pair(f"{pair.name}; varied", *moved, extreme=pair.extreme)

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        return f"one person moves the number by at most {nearest_float(self.sensitivity):g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPairs:
    """The pairs that a caller names."""

    given: tuple[Pair, ...]
    words: str = "as given"

    def pairs(self) -> Iterator[Pair]:
        """The given ones."""
        yield from self.given

    def small_pairs(self) -> Iterator[Pair]:
        """The given ones."""
        yield from self.given

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """No pairs: only the caller knows who are neighbours."""
        yield from ()

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        return f"{len(self.given)} pairs, {self.words}"
