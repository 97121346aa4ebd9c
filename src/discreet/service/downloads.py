"""Downloads of an answer: CSV, SVG, and the same question as Python code and for curl."""

from __future__ import annotations

import csv
import io
import json
import shlex
import unicodedata
from collections.abc import Mapping
from typing import Any

from discreet import Release
from discreet.service.figures import answer_picture

NOT_TYPED = {"rules", "dataset", "as_of", "candidates", "split", "part_of"}
"""The words of a kept question that nobody typed: the service added them."""
_NOT_OPTIONS = NOT_TYPED | {"what", "column", "windows", "where"}
# a spreadsheet takes text that begins like this for a formula
_FORMULA = ("=", "+", "-", "@")
# letters of some languages and emoji are joined by these
_JOINERS = "\u200c\u200d"
_IGNORED = f" \ufffd{_JOINERS}"


def labels_of(answer: Mapping[str, Any]) -> list[Any]:
    """The labels of an answer, in order: one for a mode, k for a list. Text is visible."""
    value = answer["value"]
    found = value if isinstance(value, list) else [value]
    return ["nothing stands out" if label is None else visible(_plain(label)) for label in found]


def visible(label: Any) -> Any:
    """A label without characters that control a terminal, turn the direction of writing
    around, or are not allowed in XML; the JSON of an answer has it as it is.

    >>> visible("a\\tb"), visible("abc\\u202etxt"), visible(7)
    ('a b', 'abc\ufffdtxt', 7)
    """
    if not isinstance(label, str):
        return label
    return "".join(" " if letter.isspace() else _visible(letter) for letter in label)


def _visible(letter: str) -> str:
    # the categories that begin with C: control, format, surrogate, private, unassigned
    hidden = unicodedata.category(letter)[0] == "C" and letter not in _JOINERS
    return "\ufffd" if hidden else letter


def counts_of(answer: Mapping[str, Any]) -> list[Any]:
    """The noisy counts beside the labels; none if they were not asked for, or if the
    answer itself is a count.
    """
    counts: list[Any] = (answer["release"].get("counts") or {}).get("values", [])
    return [] if answer["asked"].get("what") == "count" else counts


def total_of(answer: Mapping[str, Any]) -> str:
    """How many people there are in all, in words; empty where the answer has no total."""
    counts = Release.from_json(json.dumps(answer["release"])).counts
    return "" if counts is None else counts.total_sentence


def _plain(label: Any) -> Any:
    """A label as text: one that is a tuple, as JSON writes it, or a list is written
    with commas.
    """
    if isinstance(label, dict) and set(label) == {"tuple"}:
        return ", ".join(str(part) for part in label["tuple"])
    return ", ".join(map(str, label)) if isinstance(label, list) else label


def as_csv(answer: Mapping[str, Any]) -> str:
    """The answer as CSV, with ranks and labels; no label becomes a formula."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    counts = counts_of(answer)
    rows.writerow(["rank", "label", *(["count"] if counts else [])])
    for rank, label in enumerate(labels_of(answer), start=1):
        rows.writerow([rank, harmless(label), *counts[rank - 1 : rank]])
    return written.getvalue()


def harmless(label: Any) -> str:
    """A label as text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("husky")
    ("'=1+1", 'husky')
    """
    text = str(visible(label))
    # wide letters count as the usual ones, and what does not show does not count
    first = unicodedata.normalize("NFKC", text).lstrip(_IGNORED)
    return f"'{text}" if isinstance(label, str) and first.startswith(_FORMULA) else text


def as_svg(answer: Mapping[str, Any]) -> str:
    """The answer as a picture."""
    notes = [f"charged {answer['charged']}", f"ledger entry {answer['id']}"]
    if answer["bound"]:
        notes.insert(0, str(answer["bound"].get("sentence", "")))
    return answer_picture(title_of(answer), labels_of(answer), notes)


def title_of(answer: Mapping[str, Any]) -> str:
    """The question in a few words."""
    asked = answer["asked"]
    what = str(asked.get("what", "answer")).replace("_", "-")
    column = f" of {asked['column']}" if "column" in asked else ""
    size = f" {asked['k']}" if "k" in asked else ""
    name = "top" if what == "top-k" else what
    return str(visible(f"{name}{size}{column}"))


def as_python(answer: Mapping[str, Any], address: str) -> str:
    """Python code that asks the same question again, which is free."""
    asked = answer["asked"]
    said = [repr(asked["column"])] if "column" in asked else []
    said += [f"{name}={asked[name]!r}" for name in asked if name not in _NOT_OPTIONS]
    said += [f"{name}={asked[name]!r}" for name in ("where", "windows") if name in asked]
    return (
        "import discreet\n"
        f"team = discreet.connect({address!r}, key=KEY)\n"
        f"team.dataset({answer['dataset']!r}).{asked.get('what')}({', '.join(said)})\n"
    )


def as_curl(answer: Mapping[str, Any], address: str) -> str:
    """A shell command that asks the same question again."""
    asked = answer["asked"]
    body = json.dumps({name: asked[name] for name in asked if name not in NOT_TYPED})
    return (
        f"curl {address}/v1/datasets/{answer['dataset']}/answers \\\n"
        '  -H "Authorization: Bearer $KEY" \\\n'
        f"  -d {shlex.quote(body)}\n"
    )
