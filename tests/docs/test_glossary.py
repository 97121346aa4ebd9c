"""The glossary has the words that a newcomer meets, in order, each short and with a link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("word", WORDS)
def test_the_word_is_explained(word: str) -> None:
    assert word in entries


def test_words_are_in_order_and_there_once() -> None:
    words = [word.lower().replace("-", " ") for word in parts[::2]]
    assert words == sorted(set(words))


@pytest.mark.parametrize("word", entries)
def test_an_entry_is_short_and_leads_on(word: str) -> None:
    *sentences, link = entries[word].strip().splitlines()
    assert 1 <= len(sentences) <= 3
    assert all(len(sentence) < 250 for sentence in sentences)
    assert re.fullmatch(r"→ \[[^]]+\]\([^)]+\)", link)
