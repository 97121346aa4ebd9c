"""Entries of the chain, of this version and of earlier ones, read again as operations.

Amounts of earlier versions are rounded up or kept. Until the third version of the
tables a budget counted one sum: epsilon if it was pure, else rho. Such a budget goes on
counting what it counted, and the plain sum of epsilons beside it: whatever was admitted
then is admitted by the rule of today.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from discreet.ledger.budget_terms import UNITS, Sums, Terms, read_terms
from discreet.ledger.chain import canonical
from discreet.ledger.operations import (
    FIELDS,
    KINDS,
    Amounts,
    Extend,
    Open,
    Operation,
    Reserve,
)
from discreet.ledger.transaction import Request
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
        """True if what the budget counts did not shrink."""
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

    delta: what was charged beside it. Where that is less than the delta of the loss,
        the charge was for parts of which only the rho is known.
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


def read_operation(told: Mapping[str, Any]) -> Operation:
    """What `Operation.to_dict` wrote; something else raises."""
    kind = KINDS[told["do"]]
    names = FIELDS[kind.do]
    if set(told) != {"do", *names}:
        raise ValueError("other fields")
    read = {name: _READ.get(name, _text)(told[name]) for name in names}
    return kind(**read)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(map(_text, value))


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _terms(value: Any) -> str:
    read_terms(_text(value))
    return _text(value)


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("not a number of an entry")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not a mapping")
    return value


def _loss(value: Any) -> Loss:
    # many charges have the same loss
    return _known_loss(tuple(_mapping(value).items()))


@lru_cache(maxsize=1024)
def _known_loss(told: tuple[tuple[str, Any], ...]) -> Loss:
    return loss_from_dict(dict(told))


def _parts(value: Any) -> tuple[tuple[Loss, int], ...] | None:
    return None if value is None else tuple((loss_from_dict(loss), _number(n)) for loss, n in value)


def _amounts(value: Any) -> Amounts:
    return tuple((_text(tariff), Sums.read(*sums)) for tariff, sums in value)


_READ: dict[str, Any] = {
    "windows": _texts,
    "stated": _texts,
    "terms": _terms,
    "fresh": _terms,
    "loss": _loss,
    "parts": _parts,
    "amounts": _amounts,
    "request": _mapping,
    "what": _mapping,
    "of": _number,
    "after": _number,
    "answer": _optional_text,
}
"""How the fields that are not text are read."""
