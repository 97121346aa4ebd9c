"""Entries of the chain, of this version and of earlier ones, read again as operations.

Until the third version of the tables a budget counted one sum: epsilon if it was pure, else rho.
Such a budget goes on counting that, and the plain sum of epsilons beside it: whatever was admitted
then is admitted by the rule of today. Amounts are rounded up or kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from discreet.ledger.budget_terms import UNITS, Sums, Terms, read_terms
from discreet.ledger.chain import canonical
from discreet.ledger.operations import FIELDS, KINDS, Amounts, Extend, Open, Operation, Reserve
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
    """A budget that an earlier version raised: that compared limits, and not budgets."""

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
    entry = json.loads(body)
    if entry["do"] in ("open", "extend") and "limit" in entry:
        return _read_terms(entry)
    if entry["do"] == "reserve" and "amount" in entry:
        return _read_reserve(entry)
    if entry["do"] == "settle" and "analyst" not in entry:
        entry["analyst"] = requests[entry["of"]].analyst
    return read_operation(entry)


def _read_terms(entry: Mapping[str, Any]) -> Open | OlderExtend:
    """A budget that was opened, or raised: it counts what it counted then."""
    terms = json.loads(entry["terms"])
    main, _ = entry["limit"]
    budget = loss_from_dict(terms["budget"])
    if isinstance(budget, ZCDP) or (isinstance(budget, ApproxDP) and budget.delta):
        text = canonical({**terms, "counting": "rho", "squares": main})
    else:
        text = canonical({**terms, "counting": "epsilon"})
    read_terms(text)
    common = {name: entry[name] for name in ("ticket", "time", "dataset", "analyst")}
    if entry["do"] == "open":
        return Open(**common, terms=text, stated=())
    return OlderExtend(**common, terms=text, fresh=text, reason=entry["reason"])


def _read_reserve(entry: Mapping[str, Any]) -> Reserve:
    loss = loss_from_dict(entry["loss"])
    main, delta = (_whole(text) for text in entry["amount"])
    pure, squares = Sums(main, None, delta), Sums(_epsilon_of(loss, delta), main, delta)
    return Reserve(
        **{name: _text(entry[name]) for name in ("ticket", "time", "dataset", "analyst", "key")},
        windows=_texts(entry["windows"]),
        loss=loss,
        parts=None,
        delta="0",
        amounts=(("epsilon", pure), ("rho", squares)),
        request=_mapping(entry["request"]),
        after=0,
        holder="",
    )


def _epsilon_of(loss: Loss, delta: int) -> int | None:
    """The epsilon of a charge that was counted in rho, rounded up; None if it has none.

    delta: what was charged beside it. If that is less than the delta of the loss, the charge was
        for parts of which only the rho is known.
    """
    if isinstance(loss, ApproxDP) and loss.delta * UNITS > delta:
        return None
    if isinstance(loss, (PureDP, BoundedRange, LogisticDP, ApproxDP)):
        return math.ceil(loss.epsilon * UNITS)
    return None


def _whole(text: str) -> int:
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 4000:
        raise ValueError("not a whole number")
    return int(text)


def read_operation(entry: Mapping[str, Any]) -> Operation:
    """What `Operation.to_dict` wrote; something else raises."""
    do = entry["do"]
    if set(entry) != {"do", *FIELDS[do]}:
        raise ValueError("other fields")
    return KINDS[do](**{name: _READ.get(name, _text)(entry[name]) for name in FIELDS[do]})


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
def _known_loss(items: tuple[tuple[str, Any], ...]) -> Loss:
    return loss_from_dict(dict(items))


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
