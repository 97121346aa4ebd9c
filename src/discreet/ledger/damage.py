"""What stands in a ledger and was not written there by discreet: it is named, and the next step with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import LedgerDamaged
from discreet.ledger.combining import NONSENSE

UNREADABLE = (*NONSENSE, RecursionError)
"""What reading may raise that somebody has changed: the last one is for JSON without end."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Say of this part of a ledger that it is damaged, if it cannot be read."""
    try:
        yield
    except UNREADABLE:
        raise LedgerDamaged(f"{what} must be as it was written. Got something else.") from None


@contextmanager
def advising() -> Iterator[None]:
    """Where a ledger turns out to be damaged, say what to do next."""
    try:
        yield
    except LedgerDamaged as error:
        raise LedgerDamaged(f"{error} Run discreet ledger verify.") from None
