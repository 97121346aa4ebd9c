"""The exponential mechanism's draw: a candidate with odds exp(-distance)."""

from __future__ import annotations

from discreet.samplers.chance import Chance
from discreet.samplers.envelope import Proposals


def draw_softmax(envelope: Proposals, chance: Chance) -> int:
    """Propose until a proposal is kept: odds weight / UNIT, times exp(-distance) * UNIT / weight."""
    while True:
        proposal = envelope.propose(chance)
        if proposal is None:
            continue
        candidate, weight = proposal
        if envelope.keep(candidate, weight, chance):
            return candidate
