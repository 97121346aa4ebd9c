"""The real code of a mechanism, run on every random tape.

A mechanism asks its `Chance` for a few random effects. A `Tape` is a Chance that gives
every possible answer in turn, with its exact probability. Running the mechanism on all
tapes yields its exact output distribution, except for tapes that were given up because
they had become too unlikely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.randomness.chance import Chance, LazyUniform
from discreet.testing import SeededBits

# a request with more possible answers than this cannot be enumerated
_MOST_ANSWERS = 1 << 16


class GivenUp(Exception):  # noqa: N818 (nobody is told about it)
    """The tape has become less likely than the cutoff."""


class Tape(Chance):
    """A Chance that replays a prefix of answers and then takes the first one each time,
    noting what else was possible.
    """

    __slots__ = ("answers", "cutoff", "likelihood", "others", "prefix")

    def __init__(self, prefix: tuple[int, ...], likelihood: arb, cutoff: float) -> None:
        # a release that is made on a tape says that it is not private
        super().__init__(SeededBits(0))
        self.prefix, self.cutoff = prefix, cutoff
        # the probability of the prefix and of the answers since
        self.likelihood = likelihood
        self.answers: list[int] = []
        # the tapes that begin like this one and are likely enough to be tried
        self.others: list[tuple[tuple[int, ...], arb]] = []

    def below(self, bound: int) -> int:
        """Every integer in [0, bound)."""
        if bound > _MOST_ANSWERS:
            raise GivenUp
        return self._answer(lambda: ((fmpq(1, bound), value) for value in range(bound)))

    def below_each(self, bounds: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Every row of such integers, one after the other."""
        return np.array([self.below(bound) for bound in bounds.tolist()])

    def draw(self, count: int) -> int:
        """Every integer below 2**count."""
        return self.below(1 << count)

    def coin(self, numerator: int, denominator: int) -> bool:
        """Both sides of a coin."""
        share = fmpq(numerator, denominator)
        return bool(share) and bool(self._answer(lambda: ((share, True), (1 - share, False))))

    def pick(self, cumulative: NDArray[np.int64], total: int, scale: int = 1) -> int:
        """Every index whose odds are above 0."""

        def answers() -> Iterator[tuple[fmpq, int]]:
            ends = [0, *(end * scale for end in cumulative.tolist()), total]
            for place, (low, high) in enumerate(pairwise(ends)):
                if low != high:
                    yield fmpq(high - low, total), place

        return self._answer(answers)

    def pick_many(self, cumulative: NDArray[np.int64], total: int, count: int) -> NDArray[np.int64]:
        """Every row of indices that have odds, one index after the other."""
        return np.array([self.pick(cumulative, total) for _ in range(count)])

    def pick_each(self, rows: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every row of indices that have odds, one index after the other."""
        pairs = zip(rows, totals.tolist(), strict=True)
        return np.array([self.pick(row, total) for row, total in pairs])

    def decay(
        self, distance: Callable[[], fmpq], numerator: int, denominator: int, *, likely: bool
    ) -> bool:
        """Both sides of a coin with probability exp(-distance) * numerator / denominator."""
        if numerator == denominator and not distance():
            return True

        def sides() -> Iterable[tuple[arb, bool]]:
            share = (-arb(distance())).exp() * numerator / denominator
            # at a tiny epsilon no precision tells a decay from 1, and it needs no other proof
            certain = numerator <= denominator
            assert certain or share < 1, "the envelope must lie above the ideal odds"
            assert not likely or share > 15 / 16, "the shortcut of the real coin rests on this"
            return (share, True), (1 - share, False)

        return bool(self._answer(sides))

    def uniform(self) -> LazyUniform:
        """A real number, whose bits are drawn from this tape."""
        return _BitByBit(self)

    def _answer(self, possible: Callable[[], Iterable[tuple[Any, int]]]) -> int:
        """The next answer of the prefix, or the first that is possible.

        possible: all answers, each with its probability.
        """
        place = len(self.answers)
        if place < len(self.prefix):
            # the likelihood of the prefix is known, so nothing is computed here
            self.answers.append(self.prefix[place])
            return self.prefix[place]
        (share, answer), *others = possible()
        for other_share, other in others:
            likelihood = self.likelihood * other_share
            if not likelihood < self.cutoff:
                self.others.append(((*self.answers, other), likelihood))
        self.answers.append(answer)
        self.likelihood *= share
        if self.likelihood < self.cutoff:
            raise GivenUp
        return answer


class _BitByBit(LazyUniform):
    """A uniform real number of which no more bits are drawn than an answer needs: all words of
    64 bits would be too many to try.
    """

    __slots__ = ()

    def starts_below(self, first_word: int) -> bool:
        """True if the number is below first_word / 2**64."""
        while True:
            lowest = self._prefix << (64 - self._known)
            if lowest >= first_word:
                return False
            if lowest + (1 << (64 - self._known)) <= first_word:
                return True
            self._prefix = self._prefix << 1 | self._chance.draw(1)
            self._known += 1


def distribution(
    run: Callable[[Tape], Hashable], cutoff: float, *, most: int | None = None
) -> tuple[dict[Hashable, arb], arb]:
    """The probability of every outcome that was reached, and the rest: true
    probabilities lie between p and p + rest.

    most: how many tapes are tried at most.
    """
    reached: dict[Hashable, arb] = defaultdict(lambda: arb(0))
    rest = arb(1)
    waiting: list[tuple[tuple[int, ...], arb]] = [((), arb(1))]
    tried = 0
    while waiting and (most is None or tried < most):
        tape, tried = Tape(*waiting.pop(), cutoff), tried + 1
        try:
            outcome = run(tape)
            reached[outcome] += tape.likelihood
            rest -= tape.likelihood
        except GivenUp:
            pass
        waiting += tape.others
    return reached, rest
