"""`audit_session`: whether one row of a table decides anything but the odds of an
answer.

The rows that are tried are those that an attacker might put into a table: for each type
of column a few hostile cells.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from discreet.auditing.audited_code import AuditedCode
from discreet.auditing.auditor import audit
from discreet.auditing.events import error_text, warning_texts
from discreet.auditing.neighbours import GivenPairs, Pair
from discreet.auditing.report import AuditReport
from discreet.errors import ParameterError, public_function
from discreet.exact.rationals import count
from discreet.privacy.loss import Loss

Row = Mapping[str, Any]

_TEXTS = (
    "",
    " ",
    "1e999",
    "nan",
    "NULL",
    "\\N",
    "'; drop table t; --",
    'a "quote',
    "a,b\nc",
    "\uff17",
    "7\u2028",
    "\ufeffx",
    "x" * 10_000,
)
_FLOATS = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, -1e308, 2.0**53)
_INTEGERS = (0, -1, 2**53 + 1, 2**63 - 1, -(2**63))
_DATES = (date.min, date.max, date(1582, 10, 10))
_TIMES = (datetime.min, datetime.max, datetime(1582, 10, 10))
_DECIMALS = (Decimal(0), Decimal("-1"), Decimal("1e-9"))

MakeSession = Callable[[list[dict[str, Any]]], Any]
SessionCall = Callable[[Any], Any]

# of the rows that were tried, so many have their odds looked at
_MOST_PAIRS = 8


def hostile_rows(rows: Sequence[Row]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copies of the first row with one strange cell each, of its column's type; each
    has a name that says what is strange about it.

    >>> [name for name, row in hostile_rows([{"person": 1}])][:3]
    ['an ordinary row again', 'no person', 'person = 0']
    """
    usual = dict(rows[0])
    yield "an ordinary row again", dict(usual)
    for column in usual:
        example = next((row[column] for row in rows if row[column] is not None), None)
        yield f"no {column}", usual | {column: None}
        for value in _values_like(example):
            yield f"{column} = {_short(value)}", usual | {column: value}
    yield "nothing at all", dict.fromkeys(usual)


def _values_like(example: Any) -> Sequence[Any]:
    # in this order, because a bool is an int, and a datetime is a date
    for kind, values in (
        (bool, (True, False)),
        (str, _TEXTS),
        (int, _INTEGERS),
        (float, _FLOATS),
        (Decimal, _DECIMALS),
        (datetime, _TIMES),
        (date, _DATES),
    ):
        if isinstance(example, kind):
            return values
    return ()


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a caller sees of a question beside the answer itself.

    opened: the error when the session was made, or an empty text.
    error: the type and the text of the question's error, or an empty text.
    shape: the type of the answer, and of its parts.
    release: what the Release says beside its value.
    charged: what the session says that it has spent, and has left.
    warned: the warnings.
    """

    opened: str = ""
    error: str = ""
    shape: str = ""
    release: str = ""
    charged: str = ""
    warned: tuple[str, ...] = ()

    def differs_in(self, other: Transcript) -> list[str]:
        """The names of the fields that differ."""
        return [
            name
            for name in Transcript.__dataclass_fields__
            if getattr(self, name) != getattr(other, name)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFinding:
    """A row that decides something beside the odds of the answer.

    name: what is strange about the row.
    differs: the fields of the transcript that it changes.
    without, with_it: the two transcripts.
    """

    name: str
    row: dict[str, Any]
    differs: tuple[str, ...]
    without: Transcript
    with_it: Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    """What hostile rows did to a question.

    findings: the rows that changed anything but the answer's value.
    tried: the names of the rows.
    usual: the transcript without any hostile row.
    answers: the audit of the answers' odds with and without a row, if `draws` were
        given.
    """

    findings: tuple[RowFinding, ...]
    tried: tuple[str, ...]
    usual: Transcript
    answers: AuditReport | None
    seconds: float

    @property
    def violated(self) -> bool:
        """True if a row decides anything, or moves the odds further than was charged."""
        return bool(self.findings) or (self.answers is not None and self.answers.violated)

    def __str__(self) -> str:
        if not self.violated:
            return f"No row decides anything: {len(self.tried)} rows tried."
        lines = [
            f"  {finding.name}: changes {', '.join(finding.differs)}" for finding in self.findings
        ]
        lines += [f"  {self.answers}"] if self.answers is not None and self.answers.violated else []
        return "\n".join(["One row decides:", *lines])

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "violated": self.violated,
            "tried": list(self.tried),
            "findings": [
                {
                    "name": finding.name,
                    "row": {key: repr(value) for key, value in finding.row.items()},
                    "differs": list(finding.differs),
                }
                for finding in self.findings
            ],
            "answers": None if self.answers is None else self.answers.to_dict(),
            "seconds": round(self.seconds, 3),
        }


@public_function("audit_session")
@public_function("audit_session")
def audit_session(
    make_session: MakeSession,
    question: SessionCall,
    *,
    rows: Sequence[Row],
    hostile: Iterable[tuple[str, Row]] | None = None,
    draws: int = 0,
    confidence: float = 0.999,
) -> SessionReport:
    """Ask a question about a table with and without one hostile row, and see whether
    anything but the odds of the answer tells the two apart.

    make_session: takes rows and returns a new session on a table of them, with a budget
        that pays for the question.
    question: takes a session, asks it, and returns the release.
    rows: an ordinary table, as a list of dictionaries.
    hostile: the rows to try, each with a name; if not given, copies of the first row
        with strange cells: empty, NaN, infinite, the largest integers, text that
        engines stumble over.
    draws: how often to ask, in all, to compare the odds of the answers too; 0 for not at
        all. Each time a new session is asked, so this may take long.
    confidence: as for `audit`.

    Promise: errors, their texts, warnings, types and charges are compared; they should
        be the same every time. The answer's value is random: only `draws` test it.

    >>> import pandas
    >>> from discreet import Person, PureDP, Session
    >>> rows = [{"reader": n, "article": "ab"[n % 2]} for n in range(6)]
    >>> def make(rows):
    ...     return Session(pandas.DataFrame(rows), unit=Person("reader"), budget=PureDP(1))
    >>> print(
    ...     audit_session(
    ...         make,
    ...         lambda session: session.mode("article", candidates=["a", "b"], epsilon=1),
    ...         rows=rows,
    ...     )
    ... )
    No row decides anything: 22 rows tried.
    """
    start = time.perf_counter()
    if not rows:
        raise ParameterError("rows", "at least one row", 0)
    draws = count(draws, "draws", least=0)
    ordinary = [dict(row) for row in rows]
    usual, loss = _transcript(make_session, question, ordinary)
    tried = list(hostile_rows(rows) if hostile is None else hostile)
    findings = []
    for name, row in tried:
        seen, _ = _transcript(make_session, question, [*ordinary, dict(row)])
        if differs := usual.differs_in(seen):
            findings.append(
                RowFinding(
                    name=name,
                    row=dict(row),
                    differs=tuple(differs),
                    without=usual,
                    with_it=seen,
                )
            )
    answers = None
    if draws and loss is not None:
        answers = _odds(make_session, question, ordinary, tried, loss, draws, confidence)
    return SessionReport(
        findings=tuple(findings),
        tried=tuple(name for name, _ in tried),
        usual=usual,
        answers=answers,
        seconds=time.perf_counter() - start,
    )


def _transcript(
    make_session: MakeSession, question: SessionCall, rows: list[dict[str, Any]]
) -> tuple[Transcript, Loss | None]:
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        seen, loss = _asked(make_session, question, rows)
        warned = warning_texts(log)
    return Transcript(**{**seen, "warned": warned}), loss


def _asked(
    make_session: MakeSession, question: SessionCall, rows: list[dict[str, Any]]
) -> tuple[dict[str, Any], Loss | None]:
    try:
        session = make_session(rows)
    except Exception as error:
        return {"opened": error_text(error)}, None
    try:
        release = question(session)
    except Exception as error:
        return {"error": error_text(error), "charged": _charged(session)}, None
    beside = {
        name: repr(getattr(release, name, None))
        for name in ("loss", "mechanism", "candidates", "seeded", "accuracy", "asked")
    }
    counts = getattr(release, "counts", None)
    for name in ("error", "mechanism"):
        beside[f"counts {name}"] = repr(getattr(counts, name, None))
    return {
        "shape": _shape(getattr(release, "value", release)),
        "release": repr(beside),
        "charged": _charged(session),
    }, getattr(release, "loss", None)


def _charged(session: Any) -> str:
    """What a session says about its budget, if it has the methods to say it."""
    told = [getattr(session, name, None) for name in ("spent", "remaining")]
    return ", ".join(repr(tell()) for tell in told if callable(tell))


def _shape(value: Any) -> str:
    """The type of an answer; of a list, the types of its parts.

    A list from an unknown domain may be shorter or longer: its length is part of the
    answer, whose odds only the draws look at.
    """
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {sorted({type(part).__name__ for part in value})}"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return type(value).__name__


def _odds(
    make_session: MakeSession,
    question: SessionCall,
    rows: list[dict[str, Any]],
    tried: Sequence[tuple[str, Row]],
    loss: Loss,
    draws: int,
    confidence: float,
) -> AuditReport:
    pairs = tuple(Pair(name, rows, [*rows, dict(row)]) for name, row in tried[:_MOST_PAIRS])
    subject = AuditedCode(
        name="a question to a session",
        make_run=lambda seed: lambda data: question(make_session(data)),
        world=GivenPairs(given=pairs, words="a table without and with one row"),
        claim=loss,
    )
    report: AuditReport = audit(subject, draws=draws, confidence=confidence)
    return report
