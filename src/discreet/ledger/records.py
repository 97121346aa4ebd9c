"""What people read from a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.ledger.chain import Anchor
from discreet.ledger.terms import is_pure
from discreet.privacy.loss import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of one budget: of a data set, of an analyst on it, or of one window of it.

    windows: whether each window has this budget for itself.
    limit, spent: epsilon for a pure budget, else rho.
    delta_limit, delta_spent: the part of delta that is kept for losses with a delta of their own.
    """

    dataset: str
    analyst: str | None
    window: str | None
    windows: bool
    budget: Loss
    limit: Fraction
    spent: Fraction
    delta_limit: Fraction
    delta_spent: Fraction

    @property
    def remaining(self) -> Fraction:
        """What is left of the limit."""
        return self.limit - self.spent

    @property
    def unit(self) -> str:
        """What `limit`, `spent` and `remaining` count: "epsilon" or "rho"."""
        return "epsilon" if is_pure(self.budget) else "rho"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One charge in a ledger's history. It stays, settled or not.

    settled: whether an answer was given for it; if not, the request is running or was interrupted.
    """

    number: int
    time: datetime
    dataset: str
    analyst: str | None
    windows: tuple[str, ...]
    loss: Loss
    amount: Fraction
    delta: Fraction
    request: Mapping[str, Any]
    key: str
    settled: bool


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found: nothing wrong up to this point of the chain."""

    entries: int
    anchor: Anchor
