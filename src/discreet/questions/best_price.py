"""The price that earns most."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.data.counting import RULES, count_bins, require_number
from discreet.data.grid import read_amount
from discreet.data.labels import read_labels
from discreet.data.table import Table
from discreet.privacy.numbers import Number, choice
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
    rule: str,
    mechanism: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.best_price` says."""
    choice(rule, RULES, "rule", _OWNER)
    exact = {price: read_amount(price, "prices", _OWNER) for price in read_labels(prices, "prices", _OWNER)}
    ascending = sorted(exact, key=lambda price: exact[price])
    made = make_mechanism(mechanism, epsilon, max(exact.values()), True)
    require_number(table, column, _OWNER)
    amounts = [exact[price] for price in ascending]

    def answer(rows: Table) -> Release:
        bins = count_bins(rows, unit, column, amounts, rule)
        return made.release(dict(zip(ascending, revenues(amounts, bins), strict=True)), bits=bits)

    return Prepared(Question("best_price", column, made.privacy_loss()), answer)
