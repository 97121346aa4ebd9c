"""What callers give to a ledger, checked: names, windows, requests, and what a release costs.

Parts of a loss are what is paid for, so they cannot be less than the whole.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.renyi import largest_rho
from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.exact.rationals import exact_decimal
from discreet.ledger.chain import canonical
from discreet.privacy.cost import Cost
from discreet.privacy.loss import (
    KINDS,
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    is_loss,
)

_LONGEST = 200
_LARGEST_REQUEST = 64 * 1024
# what a request of short texts may have, with room for their marks
_SHORT = _LARGEST_REQUEST // 2
_LARGEST_PAGE = 10_000
# what an integer column of PostgreSQL holds
_LARGEST_NUMBER = 2**31 - 1
# others read it too, and Python's stack has an end
_DEEPEST = 64
# a loss is often rounded up in its 15th digit
_ROUNDING = Fraction(1, 10**12)


# Letters and marks that Python calls printable and that show as nothing, or as a space.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)


_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "COPTIC", "CHEROKEE"}
"""Alphabets that share the shapes of letters, by the first word of the letters' names."""


def read_known_name(value: str, name: str, owner: str) -> str:
    """A name that both databases can hold: one line of text.

    For what is there already, or is refused. Earlier versions took every such name.
    """
    if not isinstance(value, str):
        raise ParameterTypeError(name, "text", value, owner=owner)
    if not value or len(value) > _LONGEST or not value.isprintable():
        raise ParameterError(name, f"1 to {_LONGEST} printable characters", value, owner=owner)
    return value


def read_name(value: str, name: str, owner: str) -> str:
    """A name that can be new: no other name looks the same because of spaces or ways to write it.

    A new name is a new budget, and "2026-11 " would be a second one for November.
    """
    read_known_name(value, name, owner)
    hint = "Names that look alike could open a second budget for the same data."
    if value != " ".join(value.split()):
        rule = "without spaces at its ends or several in a row"
        raise ParameterError(name, rule, value, hint, owner=owner)
    if any(letter.isdigit() and not letter.isascii() for letter in value):
        rule = "written with the digits 0 to 9"
    elif not unicodedata.is_normalized("NFC", value) or _INVISIBLE.search(value):
        rule = "in the composed form of Unicode (NFC), without invisible characters"
    elif not value.isascii() and _resembles(value):
        rule = "made of common letters and signs, and letters of only one alphabet"
    else:
        return value
    raise ParameterError(name, rule, ascii(value), hint, owner=owner)


def _resembles(value: str) -> bool:
    """True if a name has characters that look like others: wide or bold letters, a Cyrillic a
    among Latin letters, one of the many dashes.
    """
    if not unicodedata.is_normalized("NFKC", value):
        return True
    alphabets = {unicodedata.name(letter, "").partition(" ")[0] for letter in value}
    return len(alphabets & _ALIKE) > 1 or any(map(_is_unusual, " " + value, value))


def _is_unusual(before: str, sign: str) -> bool:
    """True if it is neither of ASCII nor a letter or its mark. A mark that is a letter, as in
    Japanese, looks like a dash where no such letter is before it.
    """
    kind = unicodedata.category(sign)
    if kind == "Lm":
        return unicodedata.category(before) not in ("Lo", "Lm")
    return not sign.isascii() and kind[0] not in "LM"


def read_place(dataset: str, analyst: str | None, key: str, owner: str) -> tuple[str, str, str]:
    """The names of a request that is there already."""
    return (
        read_known_name(dataset, "dataset", owner),
        read_optional_known_name(analyst, "analyst", owner),
        read_known_name(key, "key", owner),
    )


def read_optional_name(value: str | None, name: str, owner: str) -> str:
    """A name that can be new, or empty text for None."""
    return "" if value is None else read_name(value, name, owner)


def read_optional_known_name(value: str | None, name: str, owner: str) -> str:
    """A name that is there already, or empty text for None."""
    return "" if value is None else read_known_name(value, name, owner)


def read_windows(window: str | Sequence[str] | None, needed: bool, owner: str) -> list[str]:
    """The windows that a charge is for, each once."""
    if window is None:
        names: list[str] = []
    elif isinstance(window, str):
        names = [read_name(window, "window", owner)]
    elif isinstance(window, Sequence):
        names = sorted({read_name(name, "window", owner) for name in window})
    else:
        raise ParameterTypeError("window", "a name or a list of names", window, owner=owner)
    if bool(names) != needed:
        rule = "given for a data set with" if needed else "left out for a data set without"
        raise ParameterError("window", f"{rule} windows", window, owner=owner)
    return names


def read_page(before: int | None, limit: int, owner: str) -> tuple[int, int]:
    """A page of what is numbered, newest first: up to which number, and how many."""
    if before is not None and (type(before) is not int or not 0 < before <= _LARGEST_NUMBER):
        raise ParameterTypeError("before", "the number of a charge", before, owner=owner)
    if type(limit) is not int or not 1 <= limit <= _LARGEST_PAGE:
        rule = f"a whole number from 1 to {_LARGEST_PAGE}"
        raise ParameterTypeError("limit", rule, limit, owner=owner)
    return _LARGEST_NUMBER if before is None else before, limit


def read_seconds(value: float, name: str, owner: str, *, may_be_zero: bool = True) -> float:
    """How long to wait for others, or for an answer that another process computes."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 3600 or not (value or may_be_zero):
        least = "from 0 to" if may_be_zero else "above 0 and at most"
        raise ParameterError(name, f"a number of seconds, {least} 3600", value, owner=owner)
    return value


def read_reason(reason: str, owner: str) -> str:
    """Why something is done to a budget, for those who audit it."""
    if not isinstance(reason, str) or not reason.strip():
        raise ParameterTypeError("reason", "a sentence for auditors", reason, owner=owner)
    return reason


def read_request(request: Mapping[str, Any], owner: str, name: str = "request") -> dict[str, Any]:
    """A request as JSON, as it will be read back."""
    rule = (
        f"a mapping that JSON can hold, of at most {_LARGEST_REQUEST} characters and {_DEEPEST} "
        "levels"
    )
    if not isinstance(request, Mapping):
        raise ParameterTypeError(name, rule, type(request).__name__, owner=owner)
    try:
        plain: dict[str, Any] = dict(request)
        if _is_plain(plain):
            return plain
        text = canonical(plain)
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ParameterTypeError(name, rule, request, owner=owner) from None
    if len(text) > _LARGEST_REQUEST or not _is_flat(plain):
        raise ParameterError(name, rule, f"{len(text)} characters", owner=owner)
    return plain


def _is_plain(request: dict[str, Any]) -> bool:
    """True if it is surely read back from JSON as it is, and short: names, and one text each."""
    texts = [*request, *request.values()]
    # A character takes up to 6 in JSON. Elsewhere two halves of one become a whole one, and two
    # names may become the same.
    return (
        all(type(text) is str and text.isascii() for text in texts)
        and 6 * sum(map(len, texts)) < _SHORT
    )


def _is_flat(value: Any) -> bool:
    """True if it is nested no deeper than allowed."""
    level = [value]
    for _ in range(_DEEPEST):
        nested = [list(part.values()) if isinstance(part, dict) else part for part in level]
        level = [each for part in nested if isinstance(part, list) for each in part]
    return not level


_KINDS = (PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP)
_LOSSES = frozenset(KINDS.values())
_cost_of = lru_cache(maxsize=1024)(Cost)
"""The cost of a loss as a whole: many charges have the same one."""


def read_cost(cost: Loss | Cost, owner: str) -> Cost:
    """A loss, or a cost, as it is now, whatever becomes of the parts that were handed over."""
    if isinstance(cost, Loss) and type(cost) in _LOSSES:
        return _cost_of(cost)
    # a class of somebody else's is no loss, and no cost
    if type(cost) is not Cost:
        raise ParameterTypeError("loss", "a loss such as PureDP(0.1), or a Cost", cost, owner=owner)
    parts = dict(cost.parts) if isinstance(cost.parts, Mapping) else cost.parts
    with called_as(owner):
        delta = exact_decimal(cost.delta, "delta")
    if delta < 0:
        raise ParameterError("delta", "at least 0", cost.delta, owner=owner)
    if delta and parts is None:
        raise ParameterError("delta", "0 for a loss as a whole", cost.delta, owner=owner)
    read = Cost(cost.loss, parts, delta)
    if parts is not None:
        _require_parts(read, owner)
    return read


def _require_parts(cost: Cost, owner: str) -> None:
    """Refuse parts that do not add up to the loss: the budget would pay for less than is stated."""
    loss, parts = cost.loss, cost.parts
    if (
        not isinstance(parts, Mapping)
        or not parts
        or not all(is_loss(part, *_KINDS) for part in parts)
    ):
        rule = "a mapping from losses to how often they occur"
        raise ParameterTypeError("parts", rule, type(parts).__name__, owner=owner)
    if not adds_up(loss, parts, cost.delta):
        rule = f"losses that together make up the loss, {loss!r}"
        hint = "The parts are what the budget pays for, so they cannot cost less than the whole."
        raise ParameterError("parts", rule, parts, hint, owner=owner)


def adds_up(loss: Loss, parts: Mapping[Loss, int], delta: Fraction) -> bool:
    """True if parts, each with how often it occurs, amount to at least this loss.

    Epsilons are compared with the plain sum of epsilons: no way to compose gives more
    than that, so parts that make up the loss pass. The same holds for rho; and for
    epsilon and delta that come from parts with a rho, with the rho that just allows
    them. A delta may be larger than that of the parts, because composing them tightly
    costs one.

    >>> adds_up(PureDP(1), {PureDP(0.1): 10}, Fraction(0))
    True
    >>> adds_up(PureDP(10), {PureDP(1e-9): 1}, Fraction(0))
    False
    """
    if isinstance(loss, Composed):
        return dict(parts) == loss.losses and delta == loss.delta
    if isinstance(loss, (ZCDP, GaussianDP)):
        return _at_least(_sum_of_rho(parts), _rho(loss))
    if any(isinstance(part, (ZCDP, GaussianDP)) for part in parts):
        return _adds_up_in_rho(loss, parts, delta)
    epsilon = sum((times * _epsilon(part) for part, times in parts.items()), Fraction(0))
    return _at_least(epsilon, _epsilon(loss))


def _adds_up_in_rho(loss: Loss, parts: Mapping[Loss, int], delta: Fraction) -> bool:
    """Compare in rho, if some of the parts have no epsilon without a delta."""
    own = sum((times * getattr(part, "delta", 0) for part, times in parts.items()), delta)
    if not isinstance(loss, ApproxDP) or loss.delta <= own:
        return False
    return _at_least(_sum_of_rho(parts), largest_rho(loss.epsilon, loss.delta - own))


def _at_least(sum_of_parts: Fraction, whole: Fraction) -> bool:
    """True if a sum is as large as the whole, which is often rounded up in its 15th digit."""
    return sum_of_parts * (1 + _ROUNDING) >= whole


def _sum_of_rho(parts: Mapping[Loss, int]) -> Fraction:
    return sum((times * _rho(part) for part, times in parts.items()), Fraction(0))


def _epsilon(loss: Loss) -> Fraction:
    assert isinstance(loss, (PureDP, BoundedRange, LogisticDP, ApproxDP))
    return loss.epsilon


def _rho(loss: Loss) -> Fraction:
    pure = PureDP(loss.epsilon) if isinstance(loss, ApproxDP) else loss
    return min(each.rho for each in (pure, *pure.implied()) if isinstance(each, ZCDP))
