"""The verdicts of an audit: one about ordinary scores, one about scores that break floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.auditing.claims import Claim
from discreet.auditing.findings import Finding, Witness, is_against_claim, plain_number

Scores = Literal["ordinary", "extreme"]
"""The kinds of scores that have a verdict each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result for one kind of scores, and what it means for the author of the code.

    scores: "ordinary" for scores that real data have and for pairs that the caller gave;
        "extreme" for scores at which floats break: around 2^53 and 2^60, subnormal numbers,
        arrays of 8 bits.
    tried: whether the audit looked at such scores.
    violated: whether the claim is false for them.
    lower_bound: the largest loss that was shown for them.
    witness: the inputs, the event and the numbers behind the lower bound.
    sentence: the result in one sentence.
    meaning: what the result means.
    advice: what to do about it.
    """

    scores: Scores
    tried: bool
    violated: bool
    lower_bound: float
    witness: Witness | None
    sentence: str
    meaning: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values."""
        return {
            "scores": self.scores,
            "tried": self.tried,
            "violated": self.violated,
            "lower_bound": plain_number(self.lower_bound),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "sentence": self.sentence,
            "meaning": self.meaning,
            "advice": self.advice,
        }

    def lines(self) -> list[tuple[str, str]]:
        """The verdict as names and values, to be printed."""
        found = [] if self.witness is None else self.witness.lines()
        return [("means", self.meaning), ("do", self.advice), *found]


_ORDINARY_BREAKS = (
    "With ordinary scores, an answer can reveal more about one person than is claimed.",
    "Do not publish answers of this code. Check its noise first: if one score may rise while "
    "another falls, scale it to 2 * sensitivity / epsilon. If all scores move in the same "
    "direction, audit with monotonic=True (--monotonic).",
)
_ORDINARY_HOLDS = (
    "With ordinary scores, no violation was found. This is no proof.",
    "Keep this audit among your tests. More draws find smaller violations; 'power' says which.",
)
_ORDINARY_ERRS = (
    "The privacy claim stands so far, but the code does something else wrong.",
    "Correct what was found, then audit again.",
)
_EXTREME_BREAKS = (
    "Scores that floats cannot hold exactly, or arrays of small types, reveal one person. "
    "Ordinary scores are judged separately.",
    "If such scores can occur, refuse them by type and public bounds, or compute with whole "
    "numbers or fractions. If not, audit with extremes=False (--no-extremes).",
)
_EXTREME_HOLDS = (
    "Scores at which floats break showed no violation. This is no proof.",
    "Nothing.",
)
_EXTREME_UNTRIED = (
    "The audit tried no scores at which floats break.",
    "If somebody else chooses the scores, audit with extremes=True.",
)


def judge(
    claim: Claim, scores: Scores, witnesses: Sequence[Witness], findings: Sequence[Finding]
) -> Verdict:
    """The verdict on one kind of scores, from all that an audit saw."""
    extreme = scores == "extreme"
    seen = [witness for witness in witnesses if witness.extreme == extreme]
    found = [finding for finding in findings if finding.witness.extreme == extreme]
    witness = max(seen, key=lambda each: each.lower_bound, default=None)
    bound = 0.0 if witness is None else witness.lower_bound
    violated = any(map(is_against_claim, found))
    meaning, advice = _explain(extreme, bool(seen), violated, bool(found))
    return Verdict(
        scores=scores,
        tried=bool(seen),
        violated=violated,
        lower_bound=bound,
        witness=witness,
        sentence=_sentence(claim, bound, violated, found) if seen else "Not tried.",
        meaning=meaning,
        advice=advice,
    )


def _sentence(claim: Claim, bound: float, violated: bool, found: Sequence[Finding]) -> str:
    number = "infinite" if math.isinf(bound) else f"at least {bound:.4g}"
    if violated:
        return f"Violated: {claim.letter} is {number} where {claim.stated:g} is claimed."
    if found:
        return f"The claim stands so far, but: {found[0].summary}"
    return f"Nothing found: {claim.letter} is {number}, and {claim.stated:g} is claimed."


def _explain(extreme: bool, tried: bool, violated: bool, found: bool) -> tuple[str, str]:
    if extreme:
        broken_or_not = _EXTREME_BREAKS if violated else _EXTREME_HOLDS
        return broken_or_not if tried else _EXTREME_UNTRIED
    if violated:
        return _ORDINARY_BREAKS
    return _ORDINARY_ERRS if found else _ORDINARY_HOLDS
