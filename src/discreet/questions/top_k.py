"""The k values that most persons have: of public candidates, and in an unknown domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.capping import draw_cap, read_cap
from discreet.data.counting import count_candidates, count_items, require_names
from discreet.data.items import Items, read_items
from discreet.data.table import Table
from discreet.errors import ParameterError, ParameterTypeError
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Unit
from discreet.questions.candidates import read_candidates
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.selecting import make_top_k

_OWNER = "Session.top_k"
_MOST = 10_000_000
"""The most items that come back to Python."""


def prepare_top_k(
    table: Table,
    unit: Unit,
    column: str,
    k: int,
    epsilon: Number,
    delta: Number,
    candidates: Sequence[Any] | None,
    limit: int | None,
    items_per_person: int | None,
    method: str,
    split: str | None,
    bits: Bits | None,
) -> Prepared:
    """As `Session.top_k` says."""
    items = read_items(table, column, split, _OWNER)
    if candidates is None:
        return _prepare_unknown(table, unit, items, k, epsilon, delta, limit, items_per_person, bits)
    for name, value in (("limit", limit), ("items_per_person", items_per_person)):
        if value is not None:
            raise ParameterError(_OWNER, name, "left out where there are candidates", value)
    # One person more raises each count by 0 or 1: docs/proofs/tables.md#ranges
    made = make_top_k(k, epsilon, delta, sensitivity=1, monotonic=True, method=method)
    labels = read_candidates(table, items, candidates, _OWNER)
    made.require_enough(len(labels))

    def answer() -> Release:
        counts = count_candidates(table, unit, items, labels)
        return made.release(dict(zip(labels, counts, strict=True)), bits=bits)

    return Prepared(Question("top_k", column, made.privacy_loss()), answer, made.losses())


def _prepare_unknown(
    table: Table,
    unit: Unit,
    items: Items,
    k: int,
    epsilon: Number,
    delta: Number,
    limit: int | None,
    items_per_person: int | None,
    bits: Bits | None,
) -> Prepared:
    """The same without public candidates."""
    if limit is None:
        hint = "Ten times k is a good start."
        raise ParameterTypeError(_OWNER, "limit", "given where there are no candidates", None, hint)
    most = read_cap(items_per_person, table, unit, items, _OWNER)
    made = UnknownDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit, items_per_person=most)
    if made.limit > _MOST:
        raise ParameterError(_OWNER, "limit", f"at most {_MOST:,}", limit)
    require_names(table, items, _OWNER)

    def answer() -> Release:
        cap = draw_cap(most, unit, read_bits(bits, _OWNER))
        # Who is next after the limit is all that the threshold needs to know of the others.
        return made.release(dict(count_items(table, unit, items, made.limit + 1, cap)), bits=bits)

    return Prepared(
        Question("top_k", items.column, made.privacy_loss()),
        answer,
        made.losses(),
        made.threshold_delta,
    )
