"""Questions whose answer is made of counts: lists of the most frequent values, names with
counts beside them, histograms, and the number of persons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.errors import ParameterError
from discreet.exact.rationals import Number, require_flag
from discreet.mechanisms.count_lists import (
    CountList,
    ListRequest,
    UnknownList,
    make_unknown,
    squares_of,
)
from discreet.mechanisms.count_noise import noise_name, noisy_counts, suiting_noise
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.histogram_top_k import UnknownDomainHistogram
from discreet.mechanisms.unknown_domain import Counted, UnknownDomainTopK
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ZCDP, Loss
from discreet.privacy.parameters import Person, read_delta, read_epsilon
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.contribution_cap import draw_cap, read_cap, told_cap
from discreet.tables.counting import (
    count_candidates,
    count_items,
    count_persons,
    items_query,
    require_names,
)
from discreet.tables.duckdb_counting import HELD
from discreet.tables.inquiry import Inquiry, Prepared, by_label, counted, listed
from discreet.tables.items import Items, read_items
from discreet.tables.questions import (
    labels_for,
)
from discreet.words import TopKMethod

_TOP_K = "Session.top_k"
_MOST = 10_000_000
"""The most items that come back to Python."""


def prepare_top_k(
    inquiry: Inquiry,
    *,
    column: str,
    k: int,
    epsilon: Number,
    delta: Number,
    candidates: Sequence[Any] | None,
    limit: int | None,
    items_per_person: int | None,
    method: TopKMethod,
    with_counts: bool,
    split: str | None,
) -> Prepared:
    """As `Session.top_k` says."""
    table, unit = inquiry.table, inquiry.unit
    items = read_items(table, column, split, _TOP_K)
    most = read_cap(items_per_person, table, unit, items, _TOP_K)
    require_flag(with_counts, "with_counts", _TOP_K)
    request = ListRequest(
        k=k,
        epsilon=epsilon,
        delta=delta,
        items_per_person=most,
        # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
        sensitivity=1,
        monotonic=True,
        method=method,
        with_counts=with_counts,
        squares=squares_of(inquiry.rule, epsilon, delta),
        owner=_TOP_K,
    )
    if candidates is None:
        return _prepare_unknown(inquiry, items, request, limit)
    if limit is not None:
        raise ParameterError(_TOP_K, "limit", "left out where there are candidates", limit)
    labels = labels_for(table, items, candidates, _TOP_K)
    # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
    moved = len(labels) if most is None else min(most, len(labels))
    made = replace(request, items_per_person=moved).make()
    made.require_enough(len(labels))

    def answer(bits: Bits | None) -> Release:
        cap = draw_cap(most, unit, read_bits(bits, _TOP_K))
        counts = count_candidates(table, unit, items, labels, cap)
        return by_label(made.release(counts, bits=bits), labels)

    def accuracy(failure: Fraction) -> Accuracy:
        told = made.accuracy(candidates=len(labels), failure_probability=failure)
        kept = told_cap(most, unit)
        return told.in_words(unit=counted(unit), thing=listed(column), whole=True, cap=kept)

    cost = list_cost(made, inquiry.rule)
    return Prepared(cost, answer, accuracy)


def _prepare_unknown(
    inquiry: Inquiry, items: Items, request: ListRequest, limit: int | None
) -> Prepared:
    """The same without public candidates."""
    table, unit = inquiry.table, inquiry.unit
    made, most = make_unknown(request, limit), request.items_per_person
    picks = made.picked if isinstance(made, CountedSelection) else made
    if isinstance(picks, UnknownDomainTopK) and picks.limit > _MOST:
        raise ParameterError(_TOP_K, "limit", f"at most {_MOST:,}", limit)
    require_names(table, items, _TOP_K)
    # Of the items beyond the limit a threshold above the crowd needs the most frequent one only;
    # noise is for all that occur.
    wanted = picks.limit + 1 if isinstance(picks, UnknownDomainTopK) else None
    capped = most is not None and isinstance(unit, Person)
    query = None if capped else items_query(table, unit, items, wanted)

    def answer(bits: Bits | None) -> Release:
        chance = read_bits(bits, _TOP_K)
        if query is not None and isinstance(made, UnknownDomainTopK):
            found = query.columns()
            counts = Counted(found[items.column].tolist(), found[HELD])
            return made.release_counted(counts, chance)
        cap = draw_cap(most, unit, chance)
        return made.release(dict(count_items(table, unit, items, wanted, cap)), bits=bits)

    def accuracy(failure: Fraction) -> Accuracy:
        assert isinstance(picks, (UnknownDomainTopK, UnknownDomainHistogram))
        told, kept = picks.accuracy(failure_probability=failure), told_cap(most, unit)
        return told.in_words(unit=counted(unit), thing=listed(items.column), whole=True, cap=kept)

    cost = list_cost(made, inquiry.rule)
    return Prepared(cost, answer, accuracy)


def list_cost(made: CountList | UnknownList, rule: BudgetRule) -> Cost:
    """What a list costs, in parts where the budget has a price for them."""
    delta = Fraction(0)
    if isinstance(made, (UnknownDomainTopK, UnknownDomainHistogram, CountedSelection)):
        delta = made.threshold_delta
    return _cost(made.privacy_loss(), made.losses(), delta, rule)


def _cost(loss: Loss, parts: Any, delta: Fraction, rule: BudgetRule) -> Cost:
    # coins have no price for concentrated DP
    if any(isinstance(part, ZCDP) for part in parts) and rule.counting != "rho":
        return Cost(loss)
    return Cost(loss, parts, delta)


_COUNTS = "Session.counts"


def prepare_counts(
    inquiry: Inquiry,
    *,
    column: str,
    candidates: Sequence[Any],
    epsilon: Number,
    delta: Number,
    items_per_person: int | None,
    split: str | None,
) -> Prepared:
    """As `Session.counts` says."""
    table, unit = inquiry.table, inquiry.unit
    items = read_items(table, column, split, _COUNTS)
    labels = labels_for(table, items, candidates, _COUNTS)
    most = read_cap(items_per_person, table, unit, items, _COUNTS)
    exact, small = read_epsilon(epsilon, None, _COUNTS), read_delta(delta, _COUNTS)
    # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
    moved = len(labels) if most is None else min(most, len(labels))
    noise, loss = suiting_noise(inquiry.rule.budget, exact, small, moved=moved)

    def answer(bits: Bits | None) -> Release:
        chance = read_bits(bits, _COUNTS)
        counts = count_candidates(table, unit, items, labels, draw_cap(most, unit, chance))
        return Release(
            value=list(labels),
            loss=loss,
            mechanism=noise_name(noise),
            candidates=len(labels),
            seeded=chance.bits.seeded,
            counts=noisy_counts(counts, noise, chance),
        )

    def accuracy(failure: Fraction) -> Accuracy:
        told = noise.accuracy(numbers=len(labels), failure_probability=failure)
        return told.in_words(unit=counted(unit), cap=told_cap(most, unit))

    cost = _cost(loss, {noise.privacy_loss(): 1}, Fraction(0), inquiry.rule)
    return Prepared(cost, answer, accuracy)


_COUNT = "Session.count"


def prepare_count(inquiry: Inquiry, *, epsilon: Number) -> Prepared:
    """As `Session.count` says."""
    exact = read_epsilon(epsilon, None, _COUNT)
    # One person more raises the number by 1: docs/proofs/histograms.md#privacy
    noise, loss = suiting_noise(inquiry.rule.budget, exact, Fraction(0), moved=1)

    def answer(bits: Bits | None) -> Release:
        chance = read_bits(bits, _COUNT)
        persons = count_persons(inquiry.table, inquiry.unit)
        counts = noisy_counts([persons], noise, chance)
        return Release(
            value=counts.values[0],
            loss=loss,
            mechanism=noise_name(noise),
            candidates=None,
            seeded=chance.bits.seeded,
            counts=counts,
        )

    def accuracy(failure: Fraction) -> Accuracy:
        return noise.accuracy(failure_probability=failure).in_words(unit=counted(inquiry.unit))

    cost = _cost(loss, {loss: 1}, Fraction(0), inquiry.rule)
    return Prepared(cost, answer, accuracy)
