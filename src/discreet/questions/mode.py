"""The candidate that most persons have: where the candidates are in Python, and where they stay in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from discreet.data.counting import count_candidates
from discreet.data.items import Items, read_items
from discreet.data.public import PublicTable, Tally, count_public, require_same
from discreet.data.table import Table, open_table
from discreet.errors import ParameterError
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.selection import SelectionMechanism
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Unit
from discreet.questions.candidates import read_candidates
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.first_heads import draw_first_heads
from discreet.samplers.pieces import Pieces
from discreet.samplers.softmax import draw_softmax
from discreet.selecting import make_mechanism

_OWNER = "Session.mode"
_DRAWS = {
    "permute-and-flip": draw_first_heads,
    "exponential": draw_softmax,
}  # what can draw from pieces


def prepare_mode(
    table: Table,
    unit: Unit,
    column: str,
    candidates: Sequence[Any] | PublicTable,
    epsilon: Number,
    mechanism: str,
    split: str | None,
    bits: Bits | None,
) -> Prepared:
    """As `Session.mode` says."""
    # One person more raises each count by 0 or 1: docs/proofs/tables.md#ranges
    made = make_mechanism(mechanism, epsilon, sensitivity=1, monotonic=True)
    items = read_items(table, column, split, _OWNER)
    if isinstance(candidates, PublicTable):
        return _prepare_many(table, unit, items, candidates, made, bits)
    labels = read_candidates(table, items, candidates, _OWNER)

    def answer() -> Release:
        counts = count_candidates(table, unit, items, labels)
        return made.release(dict(zip(labels, counts, strict=True)), bits=bits)

    return Prepared(Question("mode", column, made.privacy_loss()), answer)


def _prepare_many(
    table: Table,
    unit: Unit,
    items: Items,
    candidates: PublicTable,
    made: SelectionMechanism,
    bits: Bits | None,
) -> Prepared:
    """The same where the candidates stay in the engine, and only how many have each count comes back."""
    draw = _DRAWS.get(made.name)
    if draw is None:
        rule = "one of " + ", ".join(map(repr, _DRAWS))
        raise ParameterError(_OWNER, "mechanism", rule, made.name)
    public = open_table(candidates.source, _OWNER, beside=table)
    public.require(candidates.column, "candidates", _OWNER)
    public = public.having([candidates.column], owner=_OWNER)
    require_same(table, items, public, candidates.column, _OWNER)
    size = count_public(public, candidates.column, _OWNER)
    chance = read_bits(bits, _OWNER)

    def answer() -> Release:
        tally = Tally(table, unit, items, public, candidates.column)
        rate = fmpq(made.rate.numerator, made.rate.denominator)
        pieces = Pieces(tally.sizes, tally.counts[0] - tally.counts, rate)  # the same count, the same distance
        winner = draw(pieces.envelope(), chance)
        return Release(
            value=tally.label(*pieces.locate(winner)),
            loss=made.privacy_loss(),
            mechanism=made.name,
            candidates=size,
            seeded=chance.bits.seeded,
        )

    return Prepared(Question("mode", items.column, made.privacy_loss()), answer)
