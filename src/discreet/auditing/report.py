"""The report of an audit: what it found, and how hard it looked."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.findings import Finding, Witness, plain_number
from discreet.auditing.verdicts import Verdict
from discreet.privacy.loss import Loss
from discreet.rendering.picture import Picture


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
    verdicts: the result for ordinary scores, then the one for extreme scores.
    confidence: the probability with which all statements of the report are true.
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
    verdicts: tuple[Verdict, Verdict]
    confidence: float
    findings: tuple[Finding, ...]
    hazards: tuple[str, ...]
    power: tuple[tuple[float, float | None], ...]
    tried: tuple[Tried, ...]
    bars: tuple[Bar, ...]
    seed: int
    seconds: float

    @property
    def passed(self) -> bool:
        """True if nothing was found."""
        return not self.findings

    @property
    def violated(self) -> bool:
        """True if the claim is false, by answers, errors, warnings or types."""
        return any(verdict.violated for verdict in self.verdicts)

    @property
    def lower_bound(self) -> float:
        """The largest loss that was shown, in the claim's own number (epsilon, or rho); at
        this confidence, or exactly where the law is known. Extreme scores count only where
        ordinary ones showed no violation, and they did.
        """
        return self._decisive.lower_bound

    @property
    def witness(self) -> Witness | None:
        """The inputs, the event and the numbers behind the lower bound."""
        return self._decisive.witness

    @property
    def verdict(self) -> str:
        """The result in one sentence; `verdicts` has both results, with what to do."""
        decisive = self._decisive
        if decisive.scores == "extreme":
            return decisive.sentence.replace("Violated:", "Violated at extreme scores only:", 1)
        return decisive.sentence

    @property
    def _decisive(self) -> Verdict:
        ordinary, extreme = self.verdicts
        return extreme if extreme.violated and not ordinary.violated else ordinary

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "subject": self.subject,
            "claim": self.claim.to_dict(),
            "neighbours": self.neighbours,
            "violated": self.violated,
            "passed": self.passed,
            "lower_bound": plain_number(self.lower_bound),
            "confidence": self.confidence,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
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
                {"event_probability": share, "found": None if loss is None else plain_number(loss)}
                for share, loss in self.power
            ],
            "tried": [
                {
                    "how": each.how,
                    "pairs": each.pairs,
                    "draws": each.draws,
                    "largest": None if each.largest is None else plain_number(each.largest),
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

    def plot(self) -> Picture:
        """The loss of each answer between the witness's two inputs, beside the claim."""
        from discreet.rendering.analyses import losses

        return losses(
            [(bar.answer, bar.counts) for bar in self.bars],
            stated=Claim(self.claim).stated if Claim(self.claim).letter == "epsilon" else None,
            title=self.verdict,
        )

    def _repr_html_(self) -> str:
        rows = [("claim", repr(self.claim)), ("neighbours", self.neighbours)]
        rows += [("confidence", f"{self.confidence:g}")]
        for verdict in self.verdicts:
            rows += [(f"{verdict.scores} scores", verdict.sentence), *verdict.lines()]
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
        told = [self.verdict]
        for verdict in self.verdicts:
            told.append(f"{verdict.scores.capitalize()} scores: {verdict.sentence}")
            told += [f"  {name}: {value}" for name, value in verdict.lines()]
        return "\n".join(told)
