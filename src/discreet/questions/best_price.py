"""The price that earns most."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.data.capping import read_rule
from discreet.data.cell_numbers import require_number
from discreet.data.counting import count_bins
from discreet.data.grid import read_amount
from discreet.data.labels import read_labels
from discreet.data.table import Table
from discreet.errors import read_each
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Unit
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.scores.revenue import revenues
from discreet.selecting import make_mechanism

_OWNER = "Session.best_price"


def prepare_best_price(
    table: Table,
    unit: Unit,
    column: str,
    prices: Sequence[Number],
    epsilon: Number,
    rule: str | None,
    mechanism: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.best_price` says."""
    counted = read_rule(rule, unit, _OWNER)
    labels = read_labels(prices, "prices", _OWNER)
    amounts_read = read_each(lambda price: read_amount(price, "prices", _OWNER), labels)
    exact = dict(zip(labels, amounts_read, strict=True))
    ascending = sorted(exact, key=lambda price: exact[price])
    # One person more raises each revenue by 0 up to the highest price: docs/proofs/tables.md#ranges
    made = make_mechanism(mechanism, epsilon, sensitivity=max(exact.values()), monotonic=True)
    require_number(table, column, _OWNER)
    amounts = [exact[price] for price in ascending]

    def answer() -> Release:
        bins = count_bins(table, unit, column, amounts, counted)
        return made.release(dict(zip(ascending, revenues(amounts, bins), strict=True)), bits=bits)

    return Prepared(Question("best_price", column, made.privacy_loss()), answer)
