"""Draw the pictures of the benchmarks again, from the numbers that are stored.

    python benchmarks/redraw.py [NAME ...]

NAME is one of selection, tables, top_k, accounting and top_k_utility; all of them if none is given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accounting_plot
import selection_plot
import tables_plot
import top_k_plot
from report import Section

RESULTS = Path(__file__).parent / "results"
EXPLANATION = Path(__file__).parents[1] / "docs" / "explanation"


def _sections(stored: dict[str, Any]) -> list[Section]:
    return [
        Section(name=name, title="", note="", records=part["records"])
        for name, part in stored["sections"].items()
    ]


DRAWN: dict[str, Callable[[dict[str, Any]], None]] = {
    "selection": lambda stored: selection_plot.draw(_sections(stored), RESULTS / "selection.png"),
    "tables": lambda stored: tables_plot.draw(_sections(stored), RESULTS / "tables.png"),
    "top_k": lambda stored: top_k_plot.draw(_sections(stored), RESULTS / "top_k.png"),
    "accounting": lambda stored: accounting_plot.draw(
        _sections(stored), RESULTS / "accounting.png"
    ),
    "top_k_utility": lambda stored: top_k_plot.draw_errors(
        stored["records"], EXPLANATION / "which-top-k.png"
    ),
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or DRAWN:
        DRAWN[wanted](json.loads((RESULTS / f"{wanted}.json").read_text(encoding="utf-8")))
