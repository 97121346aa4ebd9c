"""The chain of entries: each hash covers the entry's text and the hash before it, so no entry
changes without all later ones. And what errors say about a chain that cannot be read.
"""

from __future__ import annotations

import hashlib
import json
from types import TracebackType
from typing import Any, NamedTuple

from discreet.errors import LedgerDamagedError

_DOMAIN = "discreet ledger 1"
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
    return Anchor(number, digest(f"{_DOMAIN}\n{number}\n{previous.hash}\n{body}"))


def canonical(value: Any) -> str:
    """The one way to write a JSON value."""
    return _ENCODER.encode(value)


def fingerprint(value: Any) -> str:
    """A digest of a JSON value."""
    return digest(canonical(value))


def digest(text: str) -> str:
    """A digest of text."""
    return hashlib.sha256(text.encode()).hexdigest()


UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,  # JSON that is nested without end
)
"""What reading a changed entry may raise."""


class Guard:
    """A block whose errors are replaced. It is a class, because every charge passes some of these,
    and a generator takes five times as long.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.translate(error)

    def translate(self, error: BaseException) -> None:
        """Raise what replaces an error; without that the error goes on."""


class NamedPart(Guard):
    """While a part of a ledger is read: if it cannot be read, it is damaged, and is named."""

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def translate(self, error: BaseException) -> None:
        """Name the part."""
        if isinstance(error, UNREADABLE):
            problem = f"{self._what} must be as it was written. Got something else."
            raise LedgerDamagedError(problem) from None


class DamageAdvice(Guard):
    """While a ledger is read: an error about damage also says what to do next."""

    __slots__ = ()

    def translate(self, error: BaseException) -> None:
        """Add the next step."""
        if isinstance(error, LedgerDamagedError):
            raise LedgerDamagedError(f"{error} Run discreet ledger verify.") from None
