"""The exact loss: from known probabilities, or from running the code on every tape."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flint import arb

from discreet.auditing.audited_code import AuditedCode
from discreet.auditing.claims import Claim
from discreet.auditing.events import plain
from discreet.auditing.failures import boundary_pairs
from discreet.auditing.neighbours import Pair
from discreet.auditing.score_vectors import ScoreVectors
from discreet.auditing.tapes import Tape, distribution
from discreet.exact.enclosures import at_precision

TOLERANCE = 1e-9
"""The error that laws computed in floats may have."""

# tapes that are less likely are given up
_CUTOFF = 2e-5
_MOST_TAPES = 4000
# if these first tapes leave more of the probability open, the rest is not tried
_FIRST_TAPES, _HOPELESS = 400, 0.97
_BITS = 128
# rounds of varying the worst pair
_CLIMBS = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """A lower and an upper bound of the loss of one pair."""

    pair: Pair
    least: float
    most: float


def measure_law(subject: AuditedCode, claim: Claim, seed: int) -> Iterator[Measured]:
    """The exact loss of each pair, and of variations of the worst ordinary and extreme pair."""
    source = random.Random(seed)
    worst: dict[bool, Measured] = {}
    pairs = [*subject.world.small_pairs(), *subject.world.pairs()]
    if isinstance(subject.world, ScoreVectors):
        pairs += boundary_pairs(subject.world, lambda scores: _impossible(subject, scores))
    for pair in pairs:
        measured = _measure(subject, claim, pair)
        if measured is None:
            continue
        yield measured
        before = worst.get(pair.extreme)
        worst[pair.extreme] = measured if before is None else _larger(before, measured)
    for extreme in worst:
        for _ in range(_CLIMBS):
            for pair in subject.world.variations(worst[extreme].pair, source):
                measured = _measure(subject, claim, pair)
                if measured is not None:
                    yield measured
                    worst[extreme] = _larger(worst[extreme], measured)


def _larger(before: Measured, measured: Measured) -> Measured:
    return measured if measured.least > before.least else before


def _impossible(subject: AuditedCode, scores: Any) -> int:
    """How many answers have probability 0 by the law; -1 if the scores are refused."""
    assert subject.law is not None
    try:
        return sum(chance == -math.inf for chance in subject.law(scores).values())
    except Exception:
        # the code refuses these scores
        return -1


def _measure(subject: AuditedCode, claim: Claim, pair: Pair) -> Measured | None:
    assert subject.law is not None
    try:
        laws = subject.law(pair.first), subject.law(pair.second)
        loss = claim.of_laws(*laws, partial=subject.partial_law)
    except Exception:
        # the code refuses an input; the black box sees whether it refuses both alike
        return None
    return None if math.isnan(loss) else Measured(pair, loss, loss)


def measure_tapes(subject: AuditedCode, claim: Claim, most_pairs: int) -> Iterator[Measured]:
    """Bounds of the loss of the code itself, from every tape that is likelier than
    `_CUTOFF`. The pairs after one with too many tapes are left out.
    """
    on_tape = subject.on_tape
    assert on_tape is not None
    for pair in islice(subject.world.small_pairs(), most_pairs):
        laws = [_tape_law(on_tape, data) for data in (pair.first, pair.second)]
        if laws[0] is None or laws[1] is None:
            return
        yield _between(claim, pair, laws[0], laws[1])


TapeLaw = tuple[dict[Hashable, tuple[float, float]], float]


def _tape_law(on_tape: Callable[[Any, Tape], Any], data: Any) -> TapeLaw | None:
    def enumerate_tapes() -> TapeLaw:
        def run(tape: Tape) -> Hashable:
            return plain(on_tape(data, tape))

        # if a few hundred tapes cover hardly any probability, thousands will not either
        _, rest = distribution(run, _CUTOFF, most=_FIRST_TAPES)
        if rest > _HOPELESS:
            return {}, float(rest)
        reached, rest = distribution(run, _CUTOFF, most=_MOST_TAPES)
        return {
            answer: (float(chance.lower()), float((chance + rest).upper()))
            for answer, chance in reached.items()
        }, float(arb(rest).upper())

    law = at_precision(_BITS, enumerate_tapes)
    # with half of the probability given up, nothing can be said
    return law if law[1] < 0.5 else None


def _between(claim: Claim, pair: Pair, first: TapeLaw, second: TapeLaw) -> Measured:
    """Bounds of the loss from single answers. For pure DP they meet the true loss; for
    other kinds `least` may be far below it.
    """
    least, most = 0.0, 0.0
    for one, other in ((first, second), (second, first)):
        for answer, (low, high) in one[0].items():
            other_low, other_high = other[0].get(answer, (0.0, other[1]))
            least = max(least, claim.from_bounds(low, max(other_high, 1e-300)))
            most = max(most, math.log(high / other_low) if other_low > 0 else math.inf)
    return Measured(pair, least, most)
