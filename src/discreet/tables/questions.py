"""The questions to a table: what each counts, which sensitivity that has, how it is answered.

Each is checked in full before it costs anything, and answered only when it was paid:
the candidate that most persons have, the k values that most have, the price that earns
most (the digital good), and quantiles on a public grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.errors import read_each
from discreet.exact.rationals import Number
from discreet.mechanisms.catalogue import make_mechanism
from discreet.mechanisms.grid import Cells, read_amount, read_points, read_share, read_shares
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.privacy.cost import Cost
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import (
    read_labels,
    require_kind,
)
from discreet.tables.contribution_cap import draw_cap, read_rows, read_rule, told_cap
from discreet.tables.counting import (
    count_bins,
    count_ranks,
)
from discreet.tables.inquiry import Inquiry, Prepared, counted
from discreet.tables.items import Items, require_number
from discreet.tables.table import Table
from discreet.words import MechanismName, PersonRule, PickName, QuantileMethod


def suiting_pick(rule: BudgetRule) -> PickName:
    """The mechanism that suits a budget: docs/explanation/which-mechanism.md."""
    return "permute-and-flip" if rule.counting == "epsilon" else "exponential"


def labels_for(table: Table, items: Items, candidates: Sequence[Any], owner: str) -> list[Any]:
    """Labels that the items can be compared with."""
    labels = read_labels(candidates, "candidates", owner)
    require_kind(labels, items.column, items.kind(table), owner)
    return labels


def revenues(prices: Sequence[Fraction], bins: Sequence[int]) -> list[Fraction]:
    """For each price, in ascending order, the price times the number of persons who would pay it.

    bins: how many persons would pay less than the first price, then from each price up
        to the next.
    One person more raises every revenue, by at most the highest price: the range is the
    highest price.

    >>> revenues([Fraction(1), Fraction(3)], [5, 2, 4])
    [Fraction(6, 1), Fraction(12, 1)]
    """
    buyers = list(accumulate(reversed(bins[1:])))[::-1]
    return [price * count for price, count in zip(prices, buyers, strict=True)]


_BEST_PRICE = "Session.best_price"


def prepare_best_price(
    inquiry: Inquiry,
    *,
    column: str,
    prices: Sequence[Number],
    epsilon: Number,
    rule: PersonRule | None,
    mechanism: MechanismName,
) -> Prepared:
    """As `Session.best_price` says."""
    table, unit = inquiry.table, inquiry.unit
    counted = read_rule(rule, unit, _BEST_PRICE)
    labels = read_labels(prices, "prices", _BEST_PRICE)
    amounts_read = read_each(lambda price: read_amount(price, "prices", _BEST_PRICE), labels)
    exact = dict(zip(labels, amounts_read, strict=True))
    ascending = sorted(exact, key=lambda price: exact[price])
    # One person more raises each revenue by 0 up to the highest price: docs/proofs/tables.md#ranges
    made = make_mechanism(mechanism, epsilon, sensitivity=max(exact.values()), monotonic=True)
    require_number(table, column, _BEST_PRICE)
    amounts = [exact[price] for price in ascending]

    def answer(bits: Bits | None) -> Release:
        bins = count_bins(table, unit, column, amounts, counted)
        return made.release(dict(zip(ascending, revenues(amounts, bins), strict=True)), bits=bits)

    def accuracy(failure: Fraction) -> Accuracy:
        told = made.accuracy(candidates=len(amounts), failure_probability=failure)
        return told.in_words(unit="revenue", thing="price")

    loss = made.privacy_loss()
    return Prepared(Cost(loss), answer, accuracy)


Bounds = tuple[Number, Number]


def prepare_quantile(
    inquiry: Inquiry,
    *,
    column: str,
    q: Number,
    bounds: Bounds | None,
    step: Number | None,
    points: Sequence[Number] | None,
    epsilon: Number,
    rule: PersonRule | None,
    rows_per_person: int | None,
    mechanism: PickName,
) -> Prepared:
    """As `Session.quantile` says."""
    table, unit, owner = inquiry.table, inquiry.unit, inquiry.owner
    share, grid = read_share(q, owner), read_points(bounds, step, points, owner)
    one, most = read_rows(rule, rows_per_person, table, unit, owner)
    # Several values of one person move the errors that many times: docs/proofs/quantiles.md#rows
    made = OneQuantile(q=share, epsilon=epsilon, mechanism=mechanism, rows=most or 1)
    require_number(table, column, owner)

    def answer(bits: Bits | None) -> Release:
        chance = read_bits(bits, owner)
        counted = one or draw_cap(most, unit, chance)
        ranks = count_ranks(table, unit, column, grid, counted)
        return made.release(Cells.of_rank_counts(ranks), grid, chance)

    def accuracy(failure: Fraction) -> Accuracy:
        told = made.accuracy(points=grid.size, failure_probability=failure)
        return told.in_words(unit=counted(unit, rows=most is not None), cap=told_cap(most, unit))

    loss = made.privacy_loss()
    return Prepared(Cost(loss), answer, accuracy)


def prepare_quantiles(
    inquiry: Inquiry,
    *,
    column: str,
    q: Sequence[Number],
    bounds: Bounds | None,
    step: Number | None,
    points: Sequence[Number] | None,
    epsilon: Number,
    delta: Number,
    method: QuantileMethod,
    rule: PersonRule | None,
    rows_per_person: int | None,
) -> Prepared:
    """As `Session.quantiles` says."""
    table, unit, owner = inquiry.table, inquiry.unit, inquiry.owner
    shares, grid = read_shares(q, owner), read_points(bounds, step, points, owner)
    one, most = read_rows(rule, rows_per_person, table, unit, owner)
    made = ManyQuantiles(
        q=shares,
        epsilon=epsilon,
        delta=delta,
        method=method,
        grid_size=grid.size,
        mechanism=suiting_pick(inquiry.rule),
        rows=most or 1,
    )
    require_number(table, column, owner)

    def answer(bits: Bits | None) -> Release:
        chance = read_bits(bits, owner)
        counted = one or draw_cap(most, unit, chance)
        ranks = count_ranks(table, unit, column, grid, counted)
        return made.release(Cells.of_rank_counts(ranks), grid, chance)

    def accuracy(failure: Fraction) -> Accuracy:
        told = made.accuracy(failure_probability=failure)
        return told.in_words(unit=counted(unit, rows=most is not None), cap=told_cap(most, unit))

    cost = Cost(made.privacy_loss(), made.losses())
    return Prepared(cost, answer, accuracy)
