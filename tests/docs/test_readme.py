"""README is one screen, and its two sessions go as it shows them."""

from __future__ import annotations

import csv
import gzip
import math
import sys
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import front_page
import pytest

PROGRAMS = Path(sys.executable).parent
LONGEST, WIDEST = 70, 160


def test_it_is_one_screen() -> None:
    lines = front_page.README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= WIDEST


@pytest.mark.parametrize("kind", ["console", "python"])
def test_a_session_goes_as_shown(kind: str) -> None:
    shown = front_page.sessions()[kind]
    now = front_page.printed(kind, shown, PROGRAMS)
    assert front_page.masked(now) == front_page.masked(shown), "run: make reference"


def test_the_top_three_hardly_ever_change() -> None:
    """Both sessions count at epsilon 1, one region for each reader: each count gets discrete
    Laplace noise of scale 1, as "histogram-laplace" says. The top 3 can only change if two counts
    next to each other get noise that differs by as much as they do, so one of two noises is at
    least half of that: 2 / (1 + e) * e^-(half - 1) <= 2 e^-half for each count.
    """
    assert "histogram-laplace" in front_page.sessions()["console"]
    assert all("items" in session for session in front_page.sessions().values())
    with gzip.open(
        str(files("discreet.cli.data") / "reads.csv.gz"), "rt", encoding="utf-8"
    ) as rows:
        lived = {(row["reader"], row["region"]) for row in csv.DictReader(rows)}
    assert len({reader for reader, _ in lived}) == len(lived)
    counts = sorted(Counter(region for _, region in lived).values(), reverse=True)
    smallest = min(high - low for high, low in pairwise(counts[:4]))
    assert len(counts) * 2 * math.exp(-smallest / 2) < 1e-9


def test_noise_is_masked_and_nothing_else() -> None:
    shown = (
        "1  Bay Area  1,192\n2 London 340 ± 4, left 2 epsilon, e^1 = 2.719\nanchor 3:" + "a" * 64
    )
    left = "1 Bay Area NOISY 2 London NOISY ± 4, left 2 epsilon, e^1 = 2.719 anchor NOISY"
    assert " ".join(front_page.masked(shown)) == left
