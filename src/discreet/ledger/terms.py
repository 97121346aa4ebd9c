"""What a budget allows, and what a loss costs in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.filter import Filter
from discreet.accounting.renyi import largest_rho
from discreet.errors import ParameterError, ParameterTypeError
from discreet.ledger.amounts import MOST, Amount, charge_of, limit_of
from discreet.ledger.chain import canonical
from discreet.ledger.subject import read_subject
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, Loss, PureDP, loss_from_dict
from discreet.privacy.numbers import Number, exact_decimal

Terms = Mapping[str, Any]
"""What was agreed about a budget.

budget: a loss as JSON. delta_for_losses: text. windows: whether each has the budget for itself.
Where it was said: unit, table, window_column and window_every, as in `Ledger.open`.
"""
Said = Mapping[str, Any]
"""The part of the terms that says what the budget is about, where it was said."""
_ROUNDING = Fraction(1, 10**12)
_RHO = canonical(ZCDP(1).to_dict())


def agree(
    budget: Loss, windows: bool, delta_for_losses: Number | None, owner: str, said: Said | None = None
) -> tuple[str, Amount]:
    """The terms of a budget as JSON, and its limit in units, rounded down."""
    if not isinstance(budget, (PureDP, ZCDP, ApproxDP)):
        raise ParameterTypeError(owner, "budget", "PureDP, ZCDP or ApproxDP", budget)
    if not isinstance(windows, bool):
        raise ParameterTypeError(owner, "windows", "True or False", windows)
    # Lists from unknown domains bring a delta of their own: half of the budget's is kept for them,
    # unless told otherwise.
    half = budget.delta / 2 if isinstance(budget, ApproxDP) else 0
    kept = half if delta_for_losses is None else exact_decimal(delta_for_losses, "delta_for_losses", owner)
    within = Filter(budget, delta_for_losses=kept)
    terms = {"budget": budget.to_dict(), "delta_for_losses": str(kept), "windows": windows}
    limit = limit_of(within.limit, within.delta_limit)
    if not 1 <= limit.main <= MOST:
        raise ParameterError(owner, "budget", "at least 1e-30 and at most 1e30", budget)
    return canonical({**terms, **(said or {})}), limit


def read_terms(text: str) -> Terms:
    """What `agree` wrote; something else raises."""
    terms: Terms = json.loads(text)
    loss_from_dict(terms["budget"])
    Fraction(terms["delta_for_losses"])
    if not isinstance(terms["windows"], bool):
        raise TypeError("another kind")
    read_subject(terms)
    return terms


def same_share(terms: Terms, budget: Loss) -> Fraction:
    """The part of a new budget's delta for losses: as large a share as it was before."""
    before = loss_from_dict(terms["budget"])
    if not isinstance(before, ApproxDP) or not isinstance(budget, ApproxDP) or not before.delta:
        return Fraction(0)
    return budget.delta * Fraction(terms["delta_for_losses"]) / before.delta


def price(terms: Terms, loss: Loss, parts: Mapping[Loss, int] | None, delta: Number) -> Amount:
    """What a loss costs in units, rounded up."""
    owner = "Ledger.reserve"
    if exact_decimal(delta, "delta", owner) < 0:
        raise ParameterError(owner, "delta", "at least 0", delta)
    if parts is not None:
        # counted and paid for as it is now, whatever becomes of it
        parts = dict(parts) if isinstance(parts, Mapping) else parts
        _require_parts(loss, parts, exact_decimal(delta, "delta", owner), owner)
    budget = canonical(terms["budget"])
    amount = _whole(budget, loss) if parts is None else charge_of(*_filter(budget).price(loss, parts, delta=delta))
    if amount.main > MOST:
        raise ParameterError(owner, "loss", "at most 1e30", loss)
    return amount


def _require_parts(loss: Loss, parts: Mapping[Loss, int], delta: Fraction, owner: str) -> None:
    """Refuse parts that do not add up to the loss: the budget would pay for less than is stated."""
    if not isinstance(parts, Mapping) or not parts or not all(map(_is_part, parts.items())):
        rule = "a mapping from losses to how often they occur"
        raise ParameterTypeError(owner, "parts", rule, type(parts).__name__)
    if not adds_up(loss, parts, delta):
        rule = f"losses that together make up the loss, {loss!r}"
        hint = "The parts are what is paid for, so they cannot be less than the whole."
        raise ParameterError(owner, "parts", rule, parts, hint)


def adds_up(loss: Loss, parts: Mapping[Loss, int], delta: Fraction) -> bool:
    """Whether parts, each so many times, amount to at least this loss.

    Epsilons are compared with the plain sum of epsilons: no way to compose gives more than that,
    so parts that make up the loss pass. The same holds for rho; and for epsilon and delta that
    come from parts with a rho, with the rho that just allows them. A delta may be larger than
    that of the parts, because composing them tightly costs one.

    >>> adds_up(PureDP(1), {PureDP(0.1): 10}, Fraction(0))
    True
    >>> adds_up(PureDP(10), {PureDP(1e-9): 1}, Fraction(0))
    False
    """
    if isinstance(loss, ZCDP):
        rho = sum((times * _rho(part) for part, times in parts.items()), Fraction(0))
        return _at_least(rho, loss.rho)
    if any(isinstance(part, ZCDP) for part in parts):
        return _adds_up_in_rho(loss, parts, delta)
    epsilon = sum((times * _epsilon(part) for part, times in parts.items()), Fraction(0))
    return _at_least(epsilon, _epsilon(loss))


def _adds_up_in_rho(loss: Loss, parts: Mapping[Loss, int], delta: Fraction) -> bool:
    """The same where some of the parts have no epsilon without a delta."""
    own = sum((times * getattr(part, "delta", 0) for part, times in parts.items()), delta)
    if not isinstance(loss, ApproxDP) or loss.delta <= own:
        return False
    rho = sum((times * _rho(part) for part, times in parts.items()), Fraction(0))
    return _at_least(rho, largest_rho(loss.epsilon, loss.delta - own))


def _at_least(sum_of_parts: Fraction, whole: Fraction) -> bool:
    """Whether a sum is as large as the whole, which is often rounded up in its 15th digit."""
    return sum_of_parts * (1 + _ROUNDING) >= whole


def _epsilon(loss: Loss) -> Fraction:
    assert isinstance(loss, (PureDP, BoundedRange, ApproxDP))
    return loss.epsilon


def _rho(loss: Loss) -> Fraction:
    return _filter(_RHO).cost(loss)[0]


def _is_part(part: tuple[Any, Any]) -> bool:
    """Whether it is a loss and a count: one below 1 would be a refund."""
    return isinstance(part[0], Loss) and type(part[1]) is int and part[1] >= 1


@lru_cache(maxsize=256)
def _whole(budget: str, loss: Loss) -> Amount:
    """The price of a loss as a whole: it is public, and the same every time."""
    return charge_of(*_filter(budget).price(loss))


@lru_cache(maxsize=64)
def _filter(budget: str) -> Filter:
    """A filter of the same kind, for its prices; they do not depend on how large the budget is."""
    return Filter(loss_from_dict(json.loads(budget)))


def is_pure(budget: Loss) -> bool:
    """Whether a budget counts in epsilon; the others count in rho."""
    return isinstance(budget, PureDP) or (isinstance(budget, ApproxDP) and not budget.delta)
