"""The glossary has the words that a newcomer meets, in order, each in one line with a link."""

from __future__ import annotations

import re
from pathlib import Path

text = (Path(__file__).parents[2] / "docs" / "reference" / "glossary.md").read_text(
    encoding="utf-8"
)
ROW = re.compile(r"^\| \[([^]]+)\]\([^)]+\) \| (.+) \|$", re.MULTILINE)
rows = ROW.findall(text)
entries = dict(rows)
TWO_SCREENS = 60

WORDS = [
    "Anchor",
    "Approximate DP",
    "Bounded range",
    "Budget",
    "Candidates",
    "Coin",
    "Concentrated DP",
    "Delta",
    "Epsilon",
    "Gap",
    "Ledger",
    "Loss",
    "Mechanism",
    "Monotonic",
    "Neighbors",
    "Pure DP",
    "Range",
    "Release",
    "Reservation",
    "Score",
    "Sensitivity",
    "Session",
    "Unit",
    "Unknown domain",
    "Window",
]


def test_every_word_is_explained() -> None:
    assert [word for word in WORDS if word not in entries] == []


def test_words_are_in_order_and_there_once() -> None:
    words = [word.lower().replace("-", " ") for word, _ in rows]
    assert words == sorted(set(words))


def test_it_fits_two_screens_and_every_line_is_an_entry() -> None:
    lines = text.splitlines()
    assert len(lines) <= TWO_SCREENS
    heading = lines.index("| word | what it means |")
    assert len(lines[heading + 2 :]) == len(rows)
    assert all(len(meaning) < 200 for meaning in entries.values())
