"""The glossary has the words that a newcomer meets, in order, each short and with a link."""

from __future__ import annotations

import re
from pathlib import Path

text = (Path(__file__).parents[2] / "docs" / "reference" / "glossary.md").read_text(
    encoding="utf-8"
)
parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
entries = dict(zip(parts[::2], parts[1::2], strict=True))

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
    "Neighbours",
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
    words = [word.lower().replace("-", " ") for word in parts[::2]]
    assert words == sorted(set(words))


def test_an_entry_is_short_and_leads_on() -> None:
    for word, entry in entries.items():
        *sentences, link = entry.strip().splitlines()
        assert 1 <= len(sentences) <= 3, word
        assert all(len(sentence) < 250 for sentence in sentences), word
        assert re.fullmatch(r"→ \[[^]]+\]\([^)]+\)", link), word
