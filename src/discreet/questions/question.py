"""A question to a table: what is asked and what it costs, and how it is answered once it was paid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.loss import Loss
from discreet.release import Release


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a session's history: what was asked and what it cost. No answer, no row."""

    what: str
    column: str | None
    loss: Loss


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question whose parameters are checked, and of which no row was read yet.

    answer: the release, from the rows that count.
    parts, delta: what the loss is made of: a budget that counts in rho pays less for many small parts.
    """

    question: Question
    answer: Callable[[], Release]
    parts: Mapping[Loss, int] | None = None
    delta: Fraction = Fraction(0)
