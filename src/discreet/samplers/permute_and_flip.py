"""Permute-and-flip's draw: the first heads in a random order, where candidate i shows
heads with odds exp(-distance).

Flipping one candidate after the other would touch almost all of them when the scores
are peaked. Instead, let every candidate ring as an independent Poisson process of rate
1. The order of the *first* rings is a uniform permutation, and a candidate's coin is
flipped at its first ring. A ring of candidate i is loud with probability weight_i /
unit and quiet otherwise; only a loud ring can become heads (with probability
exp(-distance_i) * unit / weight_i). Loud rings together form a Poisson process that the
envelope proposes from, one after the other. For each we only have to ask: was this the
candidate's first ring, or did it ring quietly before? The time so far is a row of
*stretches* whose lengths are independent exponential variables, so the question is a
few coins with rational odds, and no time is ever computed. The proof is in
docs/proofs/permute-and-flip.md.
"""

from __future__ import annotations

from discreet.randomness.chance import Chance
from discreet.samplers.envelope import Proposals


def draw_permute_and_flip(envelope: Proposals, chance: Chance) -> int:
    """Go from loud ring to loud ring until one is a first ring and shows heads."""
    unit = envelope.rebase()
    stretches: list[int] = []
    # candidates whose first ring is over
    tails: set[int] = set()
    while True:
        stretches.append(envelope.total)
        proposal = envelope.propose(chance)
        if proposal is None or proposal[0] in tails:
            continue
        candidate, weight = proposal
        silent = stays_silent(unit - weight, stretches, chance)
        if silent and envelope.keep(candidate, weight, chance):
            return candidate
        tails.add(candidate)


def stays_silent(rate: int, stretches: list[int], chance: Chance) -> bool:
    """True if a Poisson process of this rate has no ring in the time so far; updates
    what is known about that time.

    A stretch is the rate of its exponentially distributed length. A ring comes first
    with odds rate : stretch. Either way the time up to the first of the two events is
    exponential with the sum of the rates, and what follows a ring is, since exponential
    variables have no memory, distributed as before.
    """
    for place, stretch in enumerate(stretches):
        if chance.coin(rate, stretch + rate):
            stretches[place : place + 1] = [stretch + rate, stretch]
            return False
        stretches[place] = stretch + rate
    return True
