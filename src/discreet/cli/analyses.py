"""The analyses of many releases in words, and the tables that compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from rich.table import Table


class Analysis(NamedTuple):
    """What an analysis is called, and whether it holds for queries that depend on earlier answers."""

    words: str
    adaptive: bool


ANALYSES = {
    "basic": Analysis("epsilons add up", True),
    "kov": Analysis("pure DP, optimal", True),
    "zcdp": Analysis("concentrated DP", True),
    "rdp": Analysis("Renyi DP", True),
    "bounded-range-adaptive": Analysis("bounded range, adaptive", True),
    "bounded-range-non-adaptive": Analysis("bounded range, non-adaptive", False),
}
"""Every analysis of the library by its name there."""

TEXTBOOK = {"basic": "textbook: epsilons add up", "kov": "textbook: pure DP, optimal"}
"""The same for the textbook's way, by sensitivity instead of range."""

ORDER = {True: "each may depend on earlier answers", False: "all fixed beforehand"}
"""What is said about queries whose guarantee is adaptive, or not."""

ABSENT = "—"  # where an analysis does not apply


class Row(NamedTuple):
    """One line of a comparison: the analysis, whether it is the chosen one, and its numbers as they are shown."""

    words: str
    adaptive: bool
    chosen: bool
    numbers: Sequence[str]


def comparison(rows: Sequence[Row], headings: Sequence[str]) -> Table:
    """A table with every analysis, the chosen one marked."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("analysis", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("adaptive", no_wrap=True)
    for row in rows:
        applies = any(number != ABSENT for number in row.numbers)
        adaptive = "" if not applies else "yes" if row.adaptive else "no"
        table.add_row("►" if row.chosen else "", row.words, *row.numbers, adaptive, style="green" if row.chosen else "")
    return table


def most(counts: Mapping[str, int | None], *, adaptive: bool) -> str:
    """The analysis that allows the most queries, among those that hold: the simplest of the best."""
    valid = {name: count for name, count in counts.items() if count is not None and (ANALYSES[name].adaptive or not adaptive)}
    return max(valid, key=lambda name: valid[name])


def as_numbers(value: Fraction | None) -> dict[str, str | float] | None:
    """A number for JSON: exactly, as text, and as a float.

    >>> as_numbers(Fraction(1, 10)), as_numbers(None)
    ({'exact': '1/10', 'float': 0.1}, None)
    """
    return None if value is None else {"exact": str(value), "float": float(value)}
