"""The two highest noisy scores: who they are, and how far apart.

As in laplace_max.py, a threshold falls from +infinity and time runs as e^-threshold,
in noise scales from the best true score. With a = exp(-distance), a candidate that was
not met yet is met at the rate

    a               with Gumbel noise
    a / (1 - a t)   with exponential noise, where the best is met before t = 1 for certain.

Candidates are proposed as a Poisson process with the envelope's weights and kept with
the rate above over the proposed one. The first one kept is the winner. It is taken out,
and the first one kept after that time is the runner-up. How far apart they are is the
logarithm of the ratio of the two times: a real number that is known to as many bits as
the answer needs. The proof is in docs/proofs/gap.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from flint import arb, fmpq

from discreet.exact.enclosures import ball, decide, less
from discreet.randomness.chance import Chance, LazyUniform
from discreet.samplers.distances import OrderedDistances
from discreet.samplers.envelope import Clock
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope


@dataclass(frozen=True, slots=True)
class Hazard:
    """How candidates are met under one kind of noise.

    rate: from a = exp(-distance) and the time to the rate at which the candidate is
        met.
    bands: stretches of time (start, end, factor) in which no rate is above factor * a;
        the last end may be None.
    """

    rate: Callable[[arb, arb], arb]
    bands: Callable[[], Iterator[tuple[Fraction, Fraction | None, int]]]


def _towards_one() -> Iterator[tuple[Fraction, Fraction, int]]:
    """From 1 - 2^-n to half of the way that is left: 1 - a t is at least 2^-(n + 1) there."""
    for band in count():
        yield 1 - Fraction(1, 2**band), 1 - Fraction(1, 2 ** (band + 1)), 2 ** (band + 1)


GUMBEL = Hazard(rate=lambda likelihood, _: likelihood, bands=lambda: iter([(Fraction(0), None, 1)]))
EXPONENTIAL = Hazard(
    rate=lambda likelihood, time: likelihood / (1 - likelihood * time), bands=_towards_one
)


def draw_two(
    hazard: Hazard, distances: OrderedDistances, step: fmpq, chance: Chance
) -> tuple[int, int]:
    """The winner, and by how many whole steps (in noise scales) its noisy score is
    above the runner-up's.

    There have to be at least two candidates.
    """
    left = ShrinkingEnvelope(distances)
    winner, first = _next_arrival(hazard, left, None, chance)
    left.take(winner)
    left.rebase()
    # how far the best candidate that is left is behind; times count from there now
    lead = left.lead()

    def after(precision: int) -> arb:
        return first(precision) * (-arb(lead)).exp()

    _, second = _next_arrival(hazard, left, after, chance)

    def steps(precision: int) -> int | None:
        apart = arb(lead) + second(precision).log() - first(precision).log()
        whole = (apart / arb(step)).floor().unique_fmpz()
        return None if whole is None else int(whole)

    return winner, decide(steps)


Time = Callable[[int], arb]
"""From a precision in bits to an enclosure of a time."""


def _next_arrival(
    hazard: Hazard, left: ShrinkingEnvelope, after: Time | None, chance: Chance
) -> tuple[int, Time]:
    """The first candidate that is met after the given time, and when."""
    unit = left.rebase()
    for start, end, factor in hazard.bands():
        clock = Clock(start, factor * left.total, unit)
        while True:
            clock.gaps.append(chance.uniform())
            if end is not None and _is_before(ball(end), clock.time):
                break
            proposal = left.propose(chance)
            if proposal is None or (after is not None and _is_earlier(clock.time, after)):
                continue
            candidate, weight = proposal
            if _is_met(
                hazard,
                left.behind(candidate),
                Fraction(weight * factor, unit),
                clock,
                chance.uniform(),
            ):
                return candidate, clock.time
    raise AssertionError("the best candidate is met in one of the bands")  # pragma: no cover


def _is_before(mark: arb, time: Time) -> bool:
    return decide(lambda precision: less(mark, time(precision)))


def _is_earlier(time: Time, other: Time) -> bool:
    return decide(lambda precision: less(time(precision), other(precision)))


def _is_met(
    hazard: Hazard, distance: fmpq, proposed: Fraction, clock: Clock, uniform: LazyUniform
) -> bool:
    """True with probability (rate at which the candidate is met now) / (rate at which
    it is proposed).
    """

    def question(precision: int) -> bool | None:
        rate = hazard.rate((-arb(distance)).exp(), clock.time(precision))
        return less(uniform.ball(precision) * ball(proposed), rate)

    return decide(question)
