"""The time of a Poisson process: a real number, known to as many bits as anyone asks for."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from discreet.certified import ball
from discreet.samplers.chance import LazyUniform
from discreet.samplers.envelope import UNIT


class Clock:
    """The time of the latest proposal: gaps are exponential, with total / unit proposals in a unit of time."""

    __slots__ = ("_start", "_sums", "_total", "_unit", "gaps")

    def __init__(self, start: int | Fraction, total: int, unit: int = UNIT) -> None:
        self._start, self._total, self._unit = start, total, unit
        self.gaps: list[LazyUniform] = []
        self._sums: dict[int, tuple[int, arb]] = {}  # for each precision, how many gaps are added up, and their sum

    def time(self, precision: int) -> arb:
        """An enclosure of the time; -log of a uniform variable is an exponential one."""
        done, elapsed = self._sums.get(precision, (0, arb(0)))
        for gap in self.gaps[done:]:
            elapsed -= gap.ball(precision).log()
        self._sums[precision] = len(self.gaps), elapsed
        return ball(self._start) + elapsed * self._unit / self._total
