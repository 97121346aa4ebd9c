"""The chain of entries: each hash covers the entry's text and the hash before it, so no
entry changes without all later ones. What was not written there by discreet is named as
damage, and the next step with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from discreet.errors import LedgerDamagedError

_DOMAIN = b"discreet ledger 1"
_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":")
)


class Anchor(NamedTuple):
    """One point of the chain, to be kept outside the ledger: its number and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Anchor:
        """Read what `str` wrote."""
        number, _, digest = text.strip().partition(":")
        if not (number.isascii() and number.isdigit() and len(number) < 19 and len(digest) == 64):
            raise ValueError("not an anchor")
        return cls(int(number), digest)


START = Anchor(0, "0" * 64)
"""What comes before the first entry."""


def link(previous: Anchor, body: str) -> Anchor:
    """The point of the chain that this entry makes."""
    number = previous.number + 1
    text = b"\n".join([_DOMAIN, str(number).encode(), previous.hash.encode(), body.encode()])
    return Anchor(number, hashlib.sha256(text).hexdigest())


def canonical(value: Any) -> str:
    """The one way to write a JSON value."""
    return _ENCODER.encode(value)


def fingerprint(value: Any) -> str:
    """A digest of a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What an operation that another process posted may raise if it makes no sense here."""
UNREADABLE = (*NONSENSE, RecursionError)
"""What reading a changed entry may raise; the last one is for JSON that is nested without end."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Say of this part of a ledger that it is damaged, if it cannot be read."""
    try:
        yield
    except UNREADABLE:
        raise LedgerDamagedError(f"{what} must be as it was written. Got something else.") from None


@contextmanager
def advising() -> Iterator[None]:
    """Where a ledger turns out to be damaged, say what to do next."""
    try:
        yield
    except LedgerDamagedError as error:
        raise LedgerDamagedError(f"{error} Run discreet ledger verify.") from None
