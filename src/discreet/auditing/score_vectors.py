"""Pairs of score vectors that one person can turn into each other, at which selection
is known to break.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from discreet.auditing.neighbours import OFFSETS, Pair
from discreet.exact.rationals import nearest_float

# how far the leader is ahead, in sensitivities: from a tie to odds that are 0 in floats
_LEADS = (0, 1, 3, 800)
# numbers of candidates, each with how many times as many draws its pairs get. Among many
# candidates each is unlikely and loses nearly all that it can, but it takes more draws to
# see one of them.
_MANY = {24: 4, 64: 4, 200: 16}
# with this many candidates, sums of odds in floats of 16 bits lose the last ones
_VERY_MANY = 1024
# how many times as many draws a pair gets if its answers are rare
_LOOKS = 4
# common heights of all scores, in sensitivities: code may compare scores with a threshold
_HEIGHTS = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreVectors:
    """Vectors with a score for each candidate, each moved by at most its sensitivity.

    candidates: how many there are.
    sensitivity: how far one person moves one score.
    monotonic: whether one person moves all of them in the same direction.
    center: the number that the scores are near.
    sensitivities: one for each candidate, where they differ.
    extremes: whether to try scores at which floats break, and arrays of small types.
    scale: the smallest lead, in sensitivities, with which the leader nearly always wins.
    fewest: how many candidates the code needs.
    """

    candidates: int
    sensitivity: Fraction
    monotonic: bool
    center: Fraction = Fraction(0)
    sensitivities: tuple[Fraction, ...] | None = None
    extremes: bool = True
    scale: int = 16
    fewest: int = 2

    def pairs(self) -> Iterator[Pair]:
        """Ties, leaders, losers and stairs, with every kind of move; then a leader at
        every lead up to where it always wins, many candidates, and scores at which
        floats break.
        """
        for (shape, scores), (move, moved) in product(self._shapes(), self._moves()):
            yield self._pair(f"{shape}; {move}", scores, moved)
        step = max(1, self.scale // 8)
        for lead in range(step, self.scale * 3 // 2 + 1, step):
            name = f"a leader by {lead}; it moves ahead"
            yield self._pair(name, self._lead(lead), self._worst(), looks=_LOOKS)
        for height in (*_HEIGHTS, self.scale):
            tied = [self.center + height * self.sensitivity] * self.candidates
            yield self._pair(f"all at {height}; all up", tied, [1] * self.candidates, looks=_LOOKS)
        if self.sensitivities is None:
            yield from self._many()
        if self.extremes:
            yield from (replace(pair, extreme=True) for pair in self._float_breakers())

    def small_pairs(self) -> Iterator[Pair]:
        """Pairs of as few candidates as possible, and one more, with leads of 0, 1, 3 and 8, and
        every kind of move.
        """
        few = (self.fewest, self.fewest + 1)
        for candidates in few if self.sensitivities is None else (self.candidates,):
            world = replace(self, candidates=candidates)
            shapes = [(f"a lead of {lead}", world._lead(lead)) for lead in (8, 0, 3, 1)]
            for (shape, scores), (move, moved) in product(shapes, world._moves()):
                yield world._pair(f"{candidates} candidates, {shape}; {move}", scores, moved)

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """Pairs with one score changed in both, and a pair with another move."""
        first, second = ([_exactly(score) for score in side] for side in (pair.first, pair.second))
        for place in source.sample(range(len(first)), min(3, len(first))):
            shift = source.choice((-8, -3, -1, 1, 3, 8)) * self.sensitivity
            both = [list(first), list(second)]
            for scores in both:
                scores[place] += shift
            varied = _numbers(both[0]), _numbers(both[1])
            yield Pair(f"{pair.name}; varied", *varied, extreme=pair.extreme)
        size = len(first)
        signs = (0, 1) if self.monotonic else (-1, 0, 1)
        random_move = [source.choice(signs) for _ in range(size)]
        moved = [
            score + sign * span
            for score, sign, span in zip(first, random_move, self._spans(size), strict=True)
        ]
        name, other = f"{pair.name}; another move", (_numbers(first), _numbers(moved))
        yield Pair(name, *other, extreme=pair.extreme)

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        span = nearest_float(self.sensitivity)
        direction = "all in one direction" if self.monotonic else "each in any direction"
        own = " (its own for each candidate)" if self.sensitivities else ""
        return (
            f"one person moves every score by at most {span:g}{own}, {direction}; "
            f"up to {self.candidates} candidates"
        )

    def _spans(self, size: int) -> list[Fraction]:
        if self.sensitivities is None:
            return [self.sensitivity] * size
        return [self.sensitivities[place % len(self.sensitivities)] for place in range(size)]

    def _pair(
        self, name: str, scores: list[Fraction], signs: Sequence[int], *, looks: int = 1
    ) -> Pair:
        spans = self._spans(len(scores))
        moved = [
            score + sign * span for score, sign, span in zip(scores, signs, spans, strict=True)
        ]
        return Pair(name, _numbers(scores), _numbers(moved), looks)

    def _lead(self, lead: int) -> list[Fraction]:
        """Scores of which the first is this far ahead of all others."""
        best = self.center + lead * self.sensitivity
        return [best] + [self.center] * (self.candidates - 1)

    def _shapes(self) -> Iterator[tuple[str, list[Fraction]]]:
        for lead in _LEADS:
            yield ("all tied" if not lead else f"a leader by {lead}"), self._lead(lead)
        if self.candidates > 2:
            for lead in (3, self.scale):
                loser = [2 * self.center - score for score in self._lead(lead)]
                yield f"a loser by {lead}", loser
            yield (
                "stairs",
                [self.center + place * self.sensitivity for place in range(self.candidates)],
            )

    def _moves(self) -> Iterator[tuple[str, list[int]]]:
        """Named moves: which scores go up (1) and down (-1)."""
        rest = self.candidates - 1
        yield "the first up", [1] + [0] * rest
        yield "all others up", [0] + [1] * rest
        if rest > 3:
            others = 0 if self.monotonic else -1
            yield "three up", [1] * 3 + [others] * (rest - 2)
        if not self.monotonic:
            yield "the first up, all others down", [1] + [-1] * rest
            yield "the first down, all others up", [-1] + [1] * rest
        elif rest > 1:
            yield "every other one up", [place % 2 for place in range(self.candidates)]

    def _worst(self) -> list[int]:
        """The move that changes the first candidate's lead most."""
        rest = self.candidates - 1
        return [1] + [0 if self.monotonic else -1] * rest

    def _many(self) -> Iterator[Pair]:
        for size, looks in _MANY.items():
            many = replace(self, candidates=max(size, self.candidates))
            for lead in (-1, 0, 3):
                name = f"{many.candidates} candidates, a leader by {lead}; it moves ahead"
                yield many._pair(name, many._lead(lead), many._worst(), looks=looks)
        crowd = replace(self, candidates=max(*_MANY, self.candidates))
        step = max(1, self.scale // 8)
        for lead in range(2 * step, self.scale * 3 // 2 + 1, step):
            # losers are rare one by one and frequent together, until their odds become 0
            name = f"{crowd.candidates} candidates, a leader by {lead}; it moves ahead"
            yield crowd._pair(name, crowd._lead(lead), crowd._worst())
        half = max(_VERY_MANY, self.candidates) // 2
        move = [1] * half + [0 if self.monotonic else -1] * half
        for lead in (1, 3, 5):
            scores = [self.center + lead * self.sensitivity] * half + [self.center] * half
            name = f"{2 * half} candidates, one half ahead by {lead}; it moves ahead"
            yield replace(self, candidates=2 * half)._pair(name, scores, move)

    def _float_breakers(self) -> Iterator[Pair]:
        if self.sensitivity.denominator != 1:
            return
        step, rest = int(self.sensitivity), self.candidates - 1
        for name, offset in OFFSETS.items():
            # the lead is half the distance of two floats, and a little more
            half = max(1, abs(offset) >> 53)
            for lead in (0, half, half + step):
                base = [offset + lead, *[offset] * rest]
                moved = [
                    score + sign * step for score, sign in zip(base, self._worst(), strict=True)
                ]
                yield Pair(f"around {name}, the first ahead by {lead}", base, moved)
                # where rounding swallows the noise, the first of the best wins: not the last
                yield Pair(f"around {name}, the last ahead by {lead}", base[::-1], moved[::-1])
        zeros = [0.0] * (rest + 1)
        yield Pair("zero and negative zero", zeros, [-0.0, *zeros[1:]])
        yield Pair("zero and a subnormal number", zeros, [5e-324, *zeros[1:]])
        if step <= 8:
            yield from self._small_types(step, rest)

    def _small_types(self, step: int, rest: int) -> Iterator[Pair]:
        for kind, low, high in ((np.uint8, 0, 255), (np.int8, -128, 127)):
            name = np.dtype(kind).name
            for words, end, inwards in (("largest", high, -step), ("smallest", low, step)):
                tied = np.full(rest + 1, end, dtype=kind)
                first, last = tied.copy(), tied.copy()
                first[0] = last[-1] = end + inwards
                yield Pair(f"{name} at its {words}, the first apart", tied, first)
                yield Pair(f"{name} at its {words}, the last apart", tied, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreArrays:
    """Arrays of very many scores, at which sums of odds in floats lose the last ones.

    candidates: how many there are.
    sensitivity: how far one person moves one score, a whole number.
    monotonic: whether one person moves all of them in the same direction.
    """

    candidates: int
    sensitivity: int
    monotonic: bool

    def pairs(self) -> Iterator[Pair]:
        """Pairs in which one half of the scores is ahead of the other half, and moves on."""
        half = self.candidates // 2
        step = self.sensitivity if self.monotonic else 2 * self.sensitivity
        for lead in (1, 3, 5):
            base = np.zeros(self.candidates, dtype=np.int64)
            base[:half] = lead * self.sensitivity
            moved = base.copy()
            moved[:half] += self.sensitivity
            moved[half:] += self.sensitivity - step
            name = f"{self.candidates:,} candidates, one half ahead by {lead}; it moves ahead"
            yield Pair(name, base, moved)

    def small_pairs(self) -> Iterator[Pair]:
        """No pairs: with so many candidates nothing can be enumerated."""
        yield from ()

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """No pairs: each would take long."""
        yield from ()

    def describe(self) -> str:
        """Describe which inputs are neighbors."""
        direction = "all in one direction" if self.monotonic else "each in any direction"
        return (
            f"one person moves every score by at most {self.sensitivity}, {direction}; "
            f"{self.candidates:,} candidates"
        )


def _exactly(score: Any) -> Fraction:
    """A score as an exact number, because arithmetic in 8 bits would wrap around."""
    return Fraction(score.item() if isinstance(score, np.generic) else score)


def as_given(score: Fraction) -> int | float:
    """A score as users of selection code have it: a whole one as int, any other as float."""
    return int(score) if score.denominator == 1 else float(score)


def _numbers(scores: Sequence[Fraction]) -> list[Any]:
    return [as_given(score) for score in scores]
