"""Run the real mechanism code on every random tape.

A mechanism asks its `Chance` for a few effects. Here is a Chance that gives every answer in turn, with its exact probability, so
that running the mechanism over all of them yields its exact output distribution, except for a small rest of tapes that were
given up because they had become too unlikely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np
from flint import arb, fmpq

from discreet.samplers.chance import LazyUniform


class GivenUp(Exception):
    """The tape has become less likely than the cutoff."""


@dataclass
class Tape:
    """A Chance that replays a prefix of answers and then takes the first one each time, noting what else was possible."""

    prefix: tuple[int, ...]
    cutoff: float
    likelihood: arb = field(default_factory=lambda: arb(1))
    answers: list[int] = field(default_factory=list)
    siblings: list[int] = field(default_factory=list)

    def below(self, bound: int) -> int:
        return self._answer([(fmpq(1, bound), value) for value in range(bound)])

    def draw(self, count: int) -> int:
        return self.below(1 << count)

    def coin(self, numerator: int, denominator: int) -> bool:
        share = fmpq(numerator, denominator)
        return self._answer([(share, True), (1 - share, False)]) if share else False

    def pick(self, cumulative: np.ndarray, total: int) -> int:
        steps = np.diff(cumulative, prepend=0, append=total).tolist()
        return self._answer([(fmpq(step, total), place) for place, step in enumerate(steps) if step])

    def decay(self, distance: Callable[[], fmpq], numerator: int, denominator: int, *, likely: bool) -> bool:
        if not distance() and numerator == denominator:
            return True
        share = (-arb(distance())).exp() * numerator / denominator
        assert share < 1, "the envelope must lie above the ideal odds"
        assert not likely or share > 15 / 16, "the shortcut of the real coin rests on this"
        return self._answer([(share, True), (1 - share, False)])

    def uniform(self) -> LazyUniform:
        return LazyUniform(self)

    def _answer(self, outcomes: list[tuple[arb | fmpq, Hashable]]) -> Hashable:
        place = len(self.answers)
        choice = self.prefix[place] if place < len(self.prefix) else 0
        self.answers.append(choice)
        self.siblings.append(len(outcomes))
        share, outcome = outcomes[choice]
        self.likelihood *= share
        if self.likelihood < self.cutoff:
            raise GivenUp
        return outcome


def distribution(run: Callable[[Tape], Hashable], cutoff: float) -> tuple[dict[Hashable, arb], arb]:
    """The probability of every outcome that was reached, and the rest: true probabilities lie between p and p + rest."""
    reached: dict[Hashable, arb] = defaultdict(lambda: arb(0))
    rest = arb(1)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        tape = Tape(waiting.pop(), cutoff)
        try:
            outcome = run(tape)
            reached[outcome] += tape.likelihood
            rest -= tape.likelihood
        except GivenUp:
            pass
        for place in range(len(tape.prefix), len(tape.answers)):
            for other in range(1, tape.siblings[place]):
                waiting.append((*tape.answers[:place], other))
    return reached, rest
