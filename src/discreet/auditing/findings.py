"""Findings of an audit: what is wrong, and the witness that shows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.events import Event, Outcome, observe
from discreet.errors import public_function
from discreet.privacy.loss import Loss

# a table shows this many letters of an input
_SHOWN = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Neighbouring inputs, events and counts that show a loss, and can be tried again.

    how: "draws" if it was counted in draws, "law" if it follows from probabilities that
        the code states, "tapes" if the program was run on every random tape, "time" if
        the running time shows it.
    name: what is special about the inputs.
    first, second: the inputs. The event is likelier with the first.
    events: what to look at. For bounded range there may be a second one, which is
        likelier with the second input.
    counts: how often each event happened, in draws that were not used to find it.
    lower_bound: the loss that the counts prove.
    seed: the seed that the draws started from.
    extreme: whether the inputs are scores at which floats break, and which few data sets have.
    """

    how: str
    name: str
    first: Any
    second: Any
    events: tuple[Event, ...] = ()
    counts: tuple[EventCounts, ...] = ()
    lower_bound: float
    seed: int | None = None
    extreme: bool = False

    @public_function("replay")
    def replay(
        self, run: Callable[[Any], Any], *, claim: Loss, draws: int, confidence: float = 0.999
    ) -> float:
        """The lower bound again, from new draws and the same events.

        run: the audited code, as a function of the input alone.
        draws: how often to run it, half of them with each input.
        """
        sides = [observe(run, data, draws // 2) for data in (self.first, self.second)]
        counts = [
            EventCounts(event.count(sides[0]), draws // 2, event.count(sides[1]), draws // 2)
            for event in self.events
        ]
        return Claim.read(claim).certified(counts, 1 - confidence)

    def holds(self, outcome: Outcome) -> bool:
        """True if the first event happens in this outcome."""
        return self.events[0].holds(outcome)

    def to_dict(self) -> dict[str, Any]:
        """The witness as plain values."""
        return {
            "how": self.how,
            "name": self.name,
            "first": repr(self.first),
            "second": repr(self.second),
            "events": [event.to_dict() for event in self.events],
            "counts": [
                {"first": [each.first, each.first_runs], "second": [each.second, each.second_runs]}
                for each in self.counts
            ],
            "lower_bound": plain_number(self.lower_bound),
            "seed": self.seed,
            "extreme": self.extreme,
        }

    def lines(self) -> list[tuple[str, str]]:
        """The witness as names and values, to be printed."""
        shown = [
            ("inputs", self.name),
            ("first", _short(self.first)),
            ("second", _short(self.second)),
        ]
        for event, each in zip(self.events, self.counts, strict=True):
            shown.append(("event", str(event)))
            shown.append(
                (
                    "seen",
                    f"{each.first:,} of {each.first_runs:,} with the first, "
                    f"{each.second:,} of {each.second_runs:,} with the second",
                )
            )
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong, with the stated confidence.

    kind: "privacy" if the answers lose more than claimed, "side channel" if errors,
        warnings or types do, "time" if the running time does, "objective" if the wrong
        candidate wins.
    summary: what is wrong, in one sentence.
    witness: the inputs and counts that show it.
    """

    kind: str
    summary: str
    witness: Witness


_AGAINST_CLAIM = ("privacy", "side channel")


def is_against_claim(finding: Finding) -> bool:
    """True if a finding makes the claim false."""
    return finding.kind in _AGAINST_CLAIM


def plain_number(value: float) -> float | str:
    """A number as JSON has it: an infinite one is text."""
    return value if math.isfinite(value) else str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
