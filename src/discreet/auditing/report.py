"""The report of an audit: what it found, and how hard it looked."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.events import Event, Outcome, observe
from discreet.privacy.loss import Loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """

    how: str
    name: str
    first: Any
    second: Any
    events: tuple[Event, ...] = ()
    counts: tuple[EventCounts, ...] = ()
    lower_bound: float
    seed: int | None = None

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
        return Claim.read(claim, "replay").certified(counts, 1 - confidence)

    def holds(self, outcome: Outcome) -> bool:
        """Whether the first event happens in this outcome."""
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
            "lower_bound": _number(self.lower_bound),
            "seed": self.seed,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One way of looking: how many neighbours and draws it tried, and the largest loss.

    note: Welch's t of the running times of each pair, where time was looked at.
    """

    how: str
    pairs: int
    draws: int
    largest: float | None
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An answer, and how often it was seen with each of the witness's inputs."""

    answer: str
    counts: EventCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found, and how hard it looked.

    subject: the name of the code that was audited.
    claim: the loss that it claims.
    neighbours: who are neighbours, in words.
    violated: whether the claim is false, by answers, errors, warnings or types.
    lower_bound: the largest loss that was shown, in the claim's own number (epsilon, or
        rho); at this confidence, or exactly where the law is known.
    confidence: the probability with which all statements of the report are true.
    witness: the inputs, the event and the numbers behind the lower bound.
    findings: everything that is wrong.
    hazards: dangers that do not break the claim, such as a NaN that is accepted.
    power: for events of several probabilities, the loss that would have been found with
        probability 0.9; None where no loss would.
    tried: the ways in which the audit looked.
    bars: how often each answer came up with the witness's two inputs.
    """

    subject: str
    claim: Loss
    neighbours: str
    violated: bool
    lower_bound: float
    confidence: float
    witness: Witness | None
    findings: tuple[Finding, ...]
    hazards: tuple[str, ...]
    power: tuple[tuple[float, float | None], ...]
    tried: tuple[Tried, ...]
    bars: tuple[Bar, ...]
    seed: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        claim = Claim(self.claim)
        number = "infinite" if math.isinf(self.lower_bound) else f"at least {self.lower_bound:.4g}"
        if self.violated:
            return f"Violated: {claim.letter} is {number} where {claim.stated:g} is claimed."
        others = [finding for finding in self.findings if finding.kind not in _AGAINST_CLAIM]
        if others:
            return f"The claim stands so far, but: {others[0].summary}"
        return f"Nothing found: {claim.letter} is {number}, and {claim.stated:g} is claimed."

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "subject": self.subject,
            "claim": self.claim.to_dict(),
            "neighbours": self.neighbours,
            "violated": self.violated,
            "passed": self.passed,
            "lower_bound": _number(self.lower_bound),
            "confidence": self.confidence,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "findings": [
                {
                    "kind": finding.kind,
                    "summary": finding.summary,
                    "witness": finding.witness.to_dict(),
                }
                for finding in self.findings
            ],
            "hazards": list(self.hazards),
            "power": [
                {"event_probability": share, "found": None if loss is None else _number(loss)}
                for share, loss in self.power
            ],
            "tried": [
                {
                    "how": each.how,
                    "pairs": each.pairs,
                    "draws": each.draws,
                    "largest": None if each.largest is None else _number(each.largest),
                    "seconds": round(each.seconds, 3),
                    **({"note": each.note} if each.note else {}),
                }
                for each in self.tried
            ],
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
        }

    def to_json(self) -> str:
        """The report as one line of JSON. An infinite number is the text "inf"."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def plot(self) -> Figure:
        """The loss of each answer between the witness's two inputs, beside the claim."""
        from discreet.plots.figures import losses_figure

        return losses_figure(
            [(bar.answer, bar.counts) for bar in self.bars],
            stated=Claim(self.claim).stated if Claim(self.claim).letter == "epsilon" else None,
            title=self.verdict,
        )

    def _repr_html_(self) -> str:
        rows = [("claim", repr(self.claim)), ("neighbours", self.neighbours)]
        rows += [("confidence", f"{self.confidence:g}")]
        rows += self.witness.lines() if self.witness is not None else []
        rows += [("found", finding.summary) for finding in self.findings]
        rows += [("hazard", hazard) for hazard in self.hazards]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in rows
        )
        color = "#a40000" if self.findings else "#006400"
        return (
            f"<p><b>{html.escape(self.subject)}</b><br>"
            f"<span style='color:{color}'>{html.escape(self.verdict)}</span></p>"
            f"<table>{cells}</table>"
        )

    def __str__(self) -> str:
        rows: Sequence[tuple[str, str]] = self.witness.lines() if self.witness is not None else []
        return "\n".join([self.verdict, *(f"  {name}: {value}" for name, value in rows)])


_AGAINST_CLAIM = ("privacy", "side channel")


def is_against_claim(finding: Finding) -> bool:
    """Whether a finding makes the claim false."""
    return finding.kind in _AGAINST_CLAIM


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
