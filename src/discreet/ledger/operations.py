"""What can be asked of a ledger, and what becomes of it, as types.

Operations and outcomes travel between processes as JSON, because one process may carry
out those of another; and the JSON of an operation is its entry in the chain. What is
written there is read again for ever: fields are only added, and `older.py` reads what
earlier versions wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar, Literal

from discreet.ledger.budget_terms import Sums, Terms, read_terms
from discreet.ledger.chain import canonical, fingerprint
from discreet.privacy.loss import Loss, loss_from_dict

Why = Literal[
    "another entry",
    "another request",
    "closed",
    "does not fit",
    "no analyst",
    "no charge",
    "not reserved",
    "other terms",
    "smaller",
    "unanswered",
    "unknown analyst",
    "unknown data set",
    "unpriced",
]
"""Why an operation was refused."""
Amounts = tuple[tuple[str, Sums], ...]
"""What a charge takes, for each tariff that a budget may have; that of the data set first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that is to be written into a ledger.

    ticket: a random name, so that it is not carried out twice.
    time: when it was asked for, as text.
    """

    do: ClassVar[str]
    ticket: str
    time: str
    dataset: str

    def to_dict(self) -> dict[str, Any]:
        """The operation as JSON."""
        told = {name: _plain(getattr(self, name)) for name in _NAMES[self.do]}
        return {"do": self.do, **told}

    def entry(self) -> str:
        """The text of the entry that the operation becomes."""
        return canonical(self.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Operation):
    """Open a budget.

    terms: as `Terms.to_text` writes them.
    stated: which of the terms that have a default were named by the caller.
    """

    do = "open"
    analyst: str
    terms: str
    stated: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend(Operation):
    """Raise a budget.

    terms: those of a budget that was charged before.
    fresh: those of one that was not.
    """

    do = "extend"
    analyst: str
    terms: str
    fresh: str
    reason: str

    def is_larger(self, before: Terms, after: Terms) -> bool:
        """Whether one budget is nowhere smaller than the other."""
        return before.grows_to(after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Close(Operation):
    """Close a budget, or the share of an analyst, for good."""

    do = "close"
    analyst: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve(Operation):
    """Charge a request.

    loss, parts, delta: what the release costs, as the caller states it.
    amounts: what that takes from budgets of each tariff.
    key: the name of the request; random if the caller gave none.
    after: the entry of the same key whose answer was lost, and that is paid for again; 0
        for the first time.
    holder: who asks: so that others can find out whether it still runs.
    """

    do = "reserve"
    analyst: str
    windows: tuple[str, ...]
    loss: Loss
    parts: tuple[tuple[Loss, int], ...] | None
    delta: str
    amounts: Amounts
    request: dict[str, Any]
    key: str
    after: int
    holder: str

    @property
    def fingerprint(self) -> str:
        """What makes two requests of one analyst the same: what is asked, and its loss."""
        asked = [self.dataset, self.analyst, list(self.windows), self.loss.to_dict(), self.request]
        return fingerprint(asked)

    def amount(self, terms: Terms) -> Sums | None:
        """What it takes from a budget with these terms; None if that was not said."""
        return dict(self.amounts).get(terms.tariff)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle(Operation):
    """Note that a request was answered.

    of: the number of its entry.
    answer: the release as JSON, if it is to be kept. The chain knows the digest only.
    """

    do = "settle"
    analyst: str
    key: str
    of: int
    answer: str | None

    def entry(self) -> str:
        """The text of the entry, without the answer itself."""
        answer = None if self.answer is None else fingerprint(self.answer)
        return canonical(self.to_dict() | {"answer": answer})


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon(Operation):
    """Note that a request was charged and will never be answered."""

    do = "abandon"
    analyst: str
    key: str
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Operation):
    """Write something down that costs nothing: a publication, a key, a wish."""

    do = "note"
    what: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorNoted(Operation):
    """Note that the ledger has an anchor file."""

    do = "anchor"
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an operation: it was written, or it was refused.

    number: of its entry, or of the entry that was there before; 0 where nothing had to be
        written.
    answer: the release that was kept for the same request.
    refused: why nothing was written.
    analyst, window: whose budget refused.
    terms: of the budgets that the refusal is about.
    spent: what is spent of that budget.
    state: of the request that was there before.
    """

    number: int = 0
    answer: str | None = None
    refused: Why | None = None
    analyst: str = ""
    window: str = ""
    terms: tuple[str, ...] = ()
    spent: Sums | None = None
    state: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON."""
        told = {name: _plain(getattr(self, name)) for name in _TOLD}
        return {name: value for name, value in told.items() if value}


def read_outcome(told: Mapping[str, Any]) -> Outcome:
    """What `Outcome.to_dict` wrote; something else raises."""
    spent = told.get("spent")
    return Outcome(
        **{
            **told,
            "terms": tuple(told.get("terms", ())),
            "spent": None if spent is None else Sums.read(*spent),
        }
    )


KINDS: dict[str, type[Operation]] = {
    kind.do: kind for kind in (Open, Extend, Close, Reserve, Settle, Abandon, Note, AnchorNoted)
}
"""Every operation by its word. These words are written to disk: the list only grows."""
_NAMES = {do: tuple(field.name for field in fields(kind)) for do, kind in KINDS.items()}
_TOLD = tuple(field.name for field in fields(Outcome))


def read_operation(told: Mapping[str, Any]) -> Operation:
    """What `Operation.to_dict` wrote; something else raises."""
    kind = KINDS[told["do"]]
    names = _NAMES[kind.do]
    if set(told) != {"do", *names}:
        raise ValueError("other fields")
    read = {name: _READ.get(name, _text)(told[name]) for name in names}
    return kind(**read)


def _plain(value: Any) -> Any:
    """A field as JSON."""
    # most fields are text
    if type(value) is str:
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Sums):
        return list(value.to_texts())
    return value.to_dict() if isinstance(value, Loss) else value


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
