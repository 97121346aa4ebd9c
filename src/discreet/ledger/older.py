"""Entries of earlier versions, read as operations of this one. Amounts are rounded up or kept.

Until the third version of the tables a budget counted one sum: epsilon if it was pure,
else rho. Such a budget goes on counting what it counted, and the plain sum of epsilons
beside it: whatever was admitted then is admitted by the rule of today.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from discreet.ledger.budget_terms import UNITS, Sums, Terms, read_terms
from discreet.ledger.chain import canonical
from discreet.ledger.operations import Extend, Open, Operation, Reserve, read_operation
from discreet.ledger.tables import Request
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    LogisticDP,
    Loss,
    PureDP,
    loss_from_dict,
)


class OlderExtend(Extend):
    """A budget that an earlier version raised: it compared limits, and not budgets."""

    __slots__ = ()

    def is_larger(self, before: Terms, after: Terms) -> bool:
        """Whether what the budget counts did not shrink."""
        rule, other = before.rule, after.rule
        if rule.counting != other.counting or rule.delta_for_losses > other.delta_for_losses:
            return False
        if rule.agreed is None or other.agreed is None:
            return rule.epsilon_limit <= other.epsilon_limit
        return rule.agreed <= other.agreed


def read_entry(body: str, requests: Mapping[int, Request]) -> Operation:
    """The operation of an entry, whichever version wrote it; what none of them wrote raises.

    requests: those of earlier entries, by the number of their entry.
    """
    told = json.loads(body)
    if told["do"] in ("open", "extend") and "limit" in told:
        return _read_terms(told)
    if told["do"] == "reserve" and "amount" in told:
        return _read_reserve(told)
    if told["do"] == "settle" and "analyst" not in told:
        return read_operation({**told, "analyst": requests[told["of"]].analyst})
    return read_operation(told)


def _read_terms(told: Mapping[str, Any]) -> Open | OlderExtend:
    """A budget that was opened, or raised: it counts what it counted then."""
    terms = json.loads(told["terms"])
    main, _ = told["limit"]
    if _is_pure(loss_from_dict(terms["budget"])):
        counted = {"counting": "epsilon"}
    else:
        counted = {"counting": "rho", "squares": main}
    text = canonical({**terms, **counted})
    read_terms(text)
    common = {name: told[name] for name in ("ticket", "time", "dataset", "analyst")}
    if told["do"] == "open":
        return Open(**common, terms=text, stated=())
    return OlderExtend(**common, terms=text, fresh=text, reason=told["reason"])


def _read_reserve(told: Mapping[str, Any]) -> Reserve:
    loss = loss_from_dict(told["loss"])
    main, delta = (_whole(text) for text in told["amount"])
    pure = Sums(main, None, delta)
    squares = Sums(_epsilon_of(loss, delta), main, delta)
    common = {name: told[name] for name in ("ticket", "time", "dataset", "analyst", "key")}
    if not all(isinstance(text, str) for text in common.values()):
        raise TypeError("not text")
    if not isinstance(told["windows"], list) or not isinstance(told["request"], dict):
        raise TypeError("another kind")
    return Reserve(
        **common,
        windows=tuple(told["windows"]),
        loss=loss,
        parts=None,
        delta="0",
        amounts=(("epsilon", pure), ("rho", squares)),
        request=told["request"],
        after=0,
        holder="",
    )


def _epsilon_of(loss: Loss, delta: int) -> int | None:
    """The epsilon of a charge that was counted in rho, rounded up; None where it has none.

    delta: what was charged beside it. Where that is less than the delta of the loss, the
        charge was for parts of which only the rho is known.
    """
    if isinstance(loss, ApproxDP) and loss.delta * UNITS > delta:
        return None
    if isinstance(loss, (PureDP, BoundedRange, LogisticDP, ApproxDP)):
        return math.ceil(loss.epsilon * UNITS)
    return None


def _is_pure(budget: Loss) -> bool:
    return not isinstance(budget, ZCDP) and not (isinstance(budget, ApproxDP) and budget.delta)


def _whole(text: str) -> int:
    # less than nothing would be a refund
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 4000:
        raise ValueError("not a whole number")
    return int(text)
