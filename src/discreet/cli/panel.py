"""Releases for people to read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from rich.cells import cell_len
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import Release
from discreet.cli.promise import exact_text, promise
from discreet.cli.terminal import facts, label_text, round_down, round_up
from discreet.plots.ranking import NOTHING_MORE

LEAD_FAILURE = Fraction("0.05")
"""How often a sentence about the winner's lead may be wrong: once in twenty, which is called 95 % confidence."""

LeadBound = Callable[[Fraction, Fraction], float | None]
"""`lead_bound` of a mechanism: from a gap and a failure probability to the least lead, or to nothing."""

Fact = tuple[str, str]
"""A name and a value, for people to read."""

_SHORT = 20  # ranks that stand below each other; more are set in columns
_SIDES = 4  # cells that a panel takes on both sides together
_BETWEEN = 2  # cells after each part of a line


def selection_panel(
    release: Release, lead_bound: LeadBound | None = None, *, about: Sequence[Fact] = (), who: str = "person"
) -> Panel:
    """One candidate that was selected; with `lead_bound`, its gap and what that says about the lead.

    about: what else there is to say.
    who: whom the promise is about.
    """
    table = facts()
    table.add_row("selected", label_text(release.value, style="bold green"))
    if lead_bound is not None and release.gap is None:
        table.add_row("gap", "none, because there is no other candidate")
    elif lead_bound is not None and release.gap is not None:
        table.add_row("gap", exact_text(release.gap))
        table.add_row("", _lead_text(release.gap, lead_bound))
    _add_cost(table, release, f"{release.candidates:,}", about, who)
    return _panel(table)


def list_panel(release: Release, k: int, width: int, *, known: bool, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """A list that was selected; where it is shorter than k, the last line says so.

    width: of the terminal, in cells.
    known: whether the candidates are public.
    about, who: as for one candidate.
    """
    table = facts()
    number = f"{release.candidates:,}"
    candidates = number if known else f"not known beforehand; the {number} most frequent can take part"
    _add_cost(table, release, candidates, about, who)
    ranks = [(f"{rank}", label_text(label, style="bold green")) for rank, label in enumerate(release.value, start=1)]
    if len(ranks) < k:
        ranks.append(("⊥", Text(NOTHING_MORE, style="italic")))
    return _panel(Group(_ranking(ranks, width - _SIDES), "", table))


def quantiles_panel(release: Release, shares: Sequence[str], *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """Quantiles that were selected, each beside its share."""
    values = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    values.add_column("share", justify="right")
    values.add_column("quantile", justify="right")
    for share, value in zip(shares, release.value, strict=True):
        values.add_row(share, Text(str(value), style="bold green"))
    table = facts()
    _add_cost(table, release, f"{release.candidates:,}", about, who)
    return _panel(Group(values, "", table))


def _lead_text(gap: Fraction, lead_bound: LeadBound) -> str:
    try:
        lead = lead_bound(gap, LEAD_FAILURE)
    except OverflowError:
        lead = math.inf
    if lead is None:
        return "The gap is too small for a claim."
    if math.isinf(lead):  # the answer was drawn and is shown, whatever can be said about it
        return "The gap is too large to compute with."
    if lead < 0:
        return f"With 95 % confidence the winner is at most {round_up(-lead)} behind the best."
    return f"With 95 % confidence the winner's true lead is at least {round_down(lead)}."


def _ranking(ranks: list[tuple[str, Text]], room: int) -> Table:
    """Ranks and labels; many of them in as many columns as fit, since a list that was paid for is shown in full."""
    rank_cells = max(len("rank"), len(f"{len(ranks)}"))
    label_cells = max(len("label"), *(cell_len(label.plain) for _, label in ranks))
    columns = room // (rank_cells + label_cells + 2 * _BETWEEN) if len(ranks) > _SHORT else 1
    rows = -(-len(ranks) // max(1, columns))
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    for _ in range(-(-len(ranks) // rows)):
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("label", overflow="fold")
    for row in range(rows):
        table.add_row(*(part for rank in ranks[row::rows] for part in rank))
    return table


def _add_cost(table: Table, release: Release, candidates: str, about: Sequence[Fact], who: str) -> None:
    table.add_row("privacy loss", repr(release.loss))
    table.add_row("mechanism", release.mechanism)
    table.add_row("candidates", candidates)
    for name, value in about:
        table.add_row(name, label_text(value))
    table.add_row("promise", Text(promise(release.loss, who)))


def _panel(content: Table | Group) -> Panel:
    return Panel(content, title="release", title_align="left", expand=False)
