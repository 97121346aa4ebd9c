"""Report-noisy-max's draw with Laplace noise: the candidate whose noisy score is the highest.

Only the *largest* noisy score matters, so we search for it from above. Write x for a
threshold that falls from +infinity, measured in noise scales from the best true score,
and v = exp(-x) for the time of that fall. As long as no noisy score has been met,
candidate i is met next at a rate that depends on v only through z = v * a with a =
exp(-distance_i):

    a / (2 - z)   while z <= 1   (the threshold is above the candidate's true score)
    1 / v         afterwards     (below it)

Both are at most min(a, 1/v). So in the time from 2^(b-1) to 2^b (the *band* b) it is
enough to propose candidates as a Poisson process with the envelope's weights, none
above 2^(1-b), and to keep a proposal with the rate above over its weight. The first one
kept is the winner. Each band ends without a winner with probability at most 1/2. Times
are real numbers, known to as many bits as the answer needs. The proof is in
docs/proofs/report-noisy-max.md.
"""

from __future__ import annotations

from flint import arb, fmpq

from discreet.exact.enclosures import decide, less
from discreet.randomness.chance import Chance, LazyUniform
from discreet.samplers.envelope import UNIT, Envelope
from discreet.samplers.envelope import Clock as _Clock


def draw_laplace_max(envelope: Envelope, chance: Chance) -> int:
    """Go from band to band until a candidate is met."""
    winner, band = _draw_in_band(envelope, 0, 1, chance), 0
    while winner is None:
        band += 1
        cap = max(1, UNIT >> (band - 1))
        capped = envelope if cap == UNIT else envelope.capped(cap)
        winner = _draw_in_band(capped, 1 << (band - 1), 1 << band, chance)
    return winner


def _draw_in_band(envelope: Envelope, start: int, end: int, chance: Chance) -> int | None:
    """The candidate that is met in the time from start to end, if there is one."""
    clock = _Clock(start, envelope.total)
    while True:
        clock.gaps.append(chance.uniform())
        if decide(lambda precision: less(arb(end), clock.time(precision))):
            return None
        proposal = envelope.propose(chance)
        if proposal is not None:
            candidate, weight = proposal
            if _is_met(envelope.distances.exact(candidate), weight, clock, chance.uniform()):
                return candidate


def _is_met(distance: fmpq, weight: int, clock: _Clock, uniform: LazyUniform) -> bool:
    """True with probability (rate at which the candidate is met now) * UNIT / weight."""

    def question(precision: int) -> bool | None:
        time = clock.time(precision)
        likelihood = (-arb(distance)).exp()
        above = less(time * likelihood, arb(1))
        if above is None:
            return None
        rate = likelihood / (2 - time * likelihood) if above else 1 / time
        return less(uniform.ball(precision) * weight, rate * UNIT)

    return decide(question)
