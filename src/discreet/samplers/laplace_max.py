"""Report-noisy-max's draw with Laplace noise: the candidate whose noisy score is the highest.

Only the *largest* noisy score matters, so we search for it from above. Write x for a
threshold that falls from +infinity, measured in noise scales from the best true score,
and v = exp(-x) for the time of that fall. As long as no noisy score has been met,
candidate i is met next at a rate that depends on v only through z = v * a with a =
exp(-distance_i):

    a / (2 - z)   while z <= 1   (the threshold is above the candidate's true score)
    1 / v         afterwards     (below it)

Both are at most min(a, 1/v). So in each *band* of time, from 0 to 2, from 2 to 4, from
4 to 8 and so on, it is enough to propose candidates as a Poisson process with the
envelope's weights, none above 1/v at the start of the band, and to keep a proposal with
the rate above over its weight. The first one kept is the winner. The first band ends
without one with probability at most 1/4, each other one with at most 1/2. Times are
real numbers, known to as many bits as the answer needs.

Most answers follow from the first bits alone, for every score alike, and then no
logarithm and no exponential is computed: a proposal within reach is kept with
probability at least 15/32, and the first proposal of a band comes before its end where
its uniform number is above e^-2, or e^-1 in later bands, however few the weights are.
The proof is in docs/proofs/report-noisy-max.md.
"""

from __future__ import annotations

from flint import arb, fmpq

from discreet.exact.enclosures import decide, less
from discreet.randomness.chance import Chance, LazyUniform
from discreet.samplers.envelope import LIGHTEST, UNIT, Envelope
from discreet.samplers.envelope import Clock as _Clock

_ONE = arb(1)
# 15/32 as the first word of a uniform number: every proposal within reach is kept at least as often
_SURELY_MET = 15 << 59
# just above e^-2 and e^-1: with the weight of the best candidate alone, the first proposal comes
# within a time of 2, or within the length of a later band
_SURELY_EARLY, _SURELY_IN_TIME = 9 << 58, 3 << 61


def draw_laplace_max(envelope: Envelope, chance: Chance) -> int:
    """Go from band to band until a candidate is met."""
    winner, end = _draw_in_band(envelope, 0, 2, chance), 2
    while winner is None:
        capped = envelope.capped(max(1, UNIT // end))
        winner, end = _draw_in_band(capped, end, 2 * end, chance), 2 * end
    return winner


def _draw_in_band(envelope: Envelope, start: int, end: int, chance: Chance) -> int | None:
    """The candidate that is met in the time from start to end, if there is one."""
    clock = _Clock(start, envelope.total)
    gap = chance.uniform()
    doubtful = gap.starts_below(_SURELY_IN_TIME if start else _SURELY_EARLY)
    while True:
        clock.gaps.append(gap)
        if doubtful and decide(lambda precision: less(arb(end), clock.time(precision))):
            return None
        proposal = envelope.propose(chance)
        if proposal is not None:
            candidate, weight = proposal
            uniform = chance.uniform()
            if weight > LIGHTEST and uniform.starts_below(_SURELY_MET):
                return candidate
            if _is_met(envelope.distances.exact(candidate), weight, clock, uniform):
                return candidate
        gap, doubtful = chance.uniform(), True


def _is_met(distance: fmpq, weight: int, clock: _Clock, uniform: LazyUniform) -> bool:
    """True with probability (rate at which the candidate is met now) * UNIT / weight."""

    def question(precision: int) -> bool | None:
        time = clock.time(precision)
        likelihood = (-arb(distance)).exp()
        reached = time * likelihood
        above = less(reached, _ONE)
        if above is None:
            return None
        rate = likelihood / (2 - reached) if above else 1 / time
        return less(uniform.ball(precision) * weight, rate * UNIT)

    return decide(question)
