"""Answers and analyses in a terminal: the promise in words, panels and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import ApproxDP, BoundedRange, Loss, PureDP, Release
from discreet.accounting import LogisticDP
from discreet.cli.terminal import facts, label_text, round_down, round_up, terminal
from discreet.questions.kinds import written_number
from discreet.rendering.charts import NOTHING_MORE
from discreet.rendering.html import read_by
from discreet.rendering.models import MOSTLY, model_of


def promise(loss: Loss, who: str = "person") -> str:
    """One sentence that promises each person, or each row, their privacy.

    >>> from discreet import PureDP
    >>> print(promise(PureDP(1)))  # doctest: +NORMALIZE_WHITESPACE
    Adding or removing any one person changes the chance of any answer by a factor of at most
    2.72 (e^1).
    """
    if not isinstance(loss, (PureDP, BoundedRange, LogisticDP, ApproxDP)):
        return f"The privacy loss is at most {loss.in_short}."
    words = (
        f"Adding or removing any one {who} changes the chance of any answer by a factor of at most "
        f"{factor(loss.epsilon)}"
    )
    more = f", plus a probability of {round_up(loss.delta)}" if isinstance(loss, ApproxDP) else ""
    return f"{words}{more}."


def factor(epsilon: Fraction) -> str:
    """The factor e^epsilon; up to epsilon 64 also as a number, rounded up.

    >>> factor(Fraction(1, 2)), factor(Fraction(1)), factor(Fraction(1000))
    ('1.65 (e^0.5)', '2.72 (e^1)', 'e^1000')
    """
    power = f"e^{epsilon_text(epsilon)}"
    return f"{round_up(math.exp(epsilon), 3)} ({power})" if epsilon <= 64 else power


def epsilon_text(epsilon: Fraction) -> str:
    """An exact epsilon as people write it in an exponent."""
    text = exact_text(epsilon)
    return f"({text})" if "/" in text else text


def exact_text(value: Fraction) -> str:
    """An exact number as people write it: as a decimal if there is a short one.

    >>> exact_text(Fraction(5, 2)), exact_text(Fraction(1, 3)), exact_text(Fraction(1234567))
    ('2.5', '1/3', '1234567')
    """
    try:
        text = f"{float(value):g}"
    except OverflowError:
        return str(value)
    return text if Fraction(text) == value else str(value)


LEAD_FAILURE = Fraction("0.05")
"""How often a sentence about the winner's lead may be wrong: once in twenty, which the
sentence calls 95% confidence.
"""

LeadBound = Callable[[Fraction, Fraction], float | None]
"""The method `lead_bound` of a mechanism: from a gap and a failure probability to the
smallest possible lead, or None.
"""

Fact = tuple[str, str]
"""A name and a value, for people to read in a panel."""

# up to this many ranks are in one column; more are set in several
_SHORT = 20
# character cells that the two sides of a panel take
_SIDES = 4
# empty cells after each column of a table
_BETWEEN = 2


def answer_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of the answer to any question to a table.

    about: further facts. who: whom the promise is about.
    """
    asked = release.asked or {}
    what = str(asked.get("what"))
    if asked.get("by") is not None:
        return groups_panel(release, about=about, who=who)
    if what.startswith("fit_"):
        return model_panel(release, about=about, who=who)
    if what == "top_k":
        known = asked.get("candidates") is not None
        return list_panel(release, int(asked["k"]), known=known, about=about, who=who)
    panels: dict[str, Callable[..., Panel]] = {
        "counts": counts_panel,
        "count": count_panel,
        "quantiles": quantiles_panel,
    }
    return panels.get(what, selection_panel)(release, about=about, who=who)


def selection_panel(
    release: Release,
    lead_bound: LeadBound | None = None,
    *,
    about: Sequence[Fact] = (),
    who: str = "person",
) -> Panel:
    """The panel of one selected candidate; with `lead_bound`, also its gap and what the
    gap says about the lead.

    about: further facts.
    who: whom the promise is about.
    """
    table = facts()
    table.add_row("selected", label_text(release.value, style="bold green"))
    if release.counts is not None:
        table.add_row("count", f"{release.counts.values[0]:,}")
    if lead_bound is not None and release.gap is None:
        table.add_row("gap", "none, because there is no other candidate")
    elif lead_bound is not None and release.gap is not None:
        table.add_row("gap", exact_text(release.gap))
        table.add_row("", _lead_text(release.gap, lead_bound))
    add_cost(table, release, f"{release.candidates:,}", about, who)
    return release_panel(table)


def list_panel(
    release: Release,
    k: int,
    *,
    known: bool,
    about: Sequence[Fact] = (),
    who: str = "person",
) -> Panel:
    """The panel of a selected list; if it is shorter than k, the last line says so.

    known: whether the candidates are public.
    about, who: as for `selection_panel`.
    """
    table = facts()
    candidates = "not known in advance"
    if release.candidates is not None:
        number = f"{release.candidates:,}"
        candidates = number if known else f"{candidates}; the {number} most frequent are considered"
    add_cost(table, release, candidates, about, who)
    counts: list[tuple[Text, ...]] = [()] * len(release.value)
    if release.counts is not None:
        counts = [(Text(f"{count:,}"),) for count in release.counts.values]
    ranks: list[tuple[str | Text, ...]] = [
        (f"{rank}", label_text(label, style="bold green"), *count)
        for rank, (label, count) in enumerate(zip(release.value, counts, strict=True), start=1)
    ]
    if len(ranks) < k:
        more = () if release.counts is None else ("",)
        ranks.append(("⊥", Text(NOTHING_MORE, style="italic"), *more))
    return release_panel(Group(_ranking(ranks, terminal().width - _SIDES), "", table))


def quantiles_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of selected quantiles, each beside its share."""
    shares = [written_number(Fraction(share)) for share in (release.asked or {})["q"]]
    values = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    values.add_column("share", justify="right")
    values.add_column("quantile", justify="right")
    for share, value in zip(shares, release.value, strict=True):
        values.add_row(share, Text(str(value), style="bold green"))
    table = facts()
    add_cost(table, release, f"{release.candidates:,}", about, who)
    return release_panel(Group(values, "", table))


def groups_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of the answers of all groups, below each other."""
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    table.add_column("group", overflow="fold")
    table.add_column("label", overflow="fold")
    counted = release.counts is not None
    if counted:
        table.add_column("count", justify="right", no_wrap=True)
    pairs = release.value.items() if isinstance(release.value, dict) else release.value
    every = release.counts.values if release.counts is not None else [()] * len(release.value)
    for (group, value), counts in zip(pairs, every, strict=True):
        labels = value if isinstance(value, list) else [value]
        name = label_text(group)
        for place, label in enumerate(labels):
            count = (f"{counts[place]:,}",) if counted else ()
            table.add_row(name if not place else "", label_text(label, style="bold green"), *count)
        if not labels:
            table.add_row(name, Text("nothing", style="italic"), *([""] if counted else []))
    return _with_cost(table, release, about, who)


def counts_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of public candidates, in their order, with their counts."""
    assert release.counts is not None
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    table.add_column("label", overflow="fold")
    table.add_column("count", justify="right", no_wrap=True)
    for label, count in zip(release.value, release.counts.values, strict=True):
        table.add_row(label_text(label), Text(f"{count:,}", style="bold green"))
    return _with_cost(table, release, about, who)


def count_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of one number of persons."""
    table = facts()
    table.add_row("count", Text(f"{release.value:,}", style="bold green"))
    add_cost(table, release, None, about, who)
    return release_panel(table)


def _with_cost(table: Table, release: Release, about: Sequence[Fact], who: str) -> Panel:
    costs = facts()
    size = release.candidates
    candidates = "not known in advance" if size is None else f"{size:,}"
    add_cost(costs, release, candidates, about, who)
    return release_panel(Group(table, "", costs))


def model_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of a model: its numbers beside the names of columns."""
    model = model_of(release.mechanism, release.value, release.asked, None)
    assert model is not None
    headings, rows = model.table()
    values = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    for place, heading in enumerate(headings):
        number = place > 0 and heading != MOSTLY
        values.add_column(heading, justify="right" if number else "left", overflow="fold")
    for name, *parts in rows:
        values.add_row(label_text(name), *(Text(part, style="bold green") for part in parts))
    table = facts()
    add_cost(table, release, "every such model", about, who)
    return release_panel(Group(values, "", table))


def _lead_text(gap: Fraction, lead_bound: LeadBound) -> str:
    try:
        lead = lead_bound(gap, LEAD_FAILURE)
    except OverflowError:
        lead = math.inf
    if lead is None:
        return "The gap is too small to say how far ahead the winner really is."
    # the answer was paid for, so it is shown even without a sentence about its lead
    if math.isinf(lead):
        return "The gap is too large for a bound on the lead."
    if lead < 0:
        return f"With 95% confidence, the winner is at most {round_up(-lead)} behind the best."
    return f"With 95% confidence, the winner's true lead is at least {round_down(lead)}."


def _ranking(ranks: list[tuple[str | Text, ...]], room: int) -> Table:
    """A table of ranks, labels and perhaps counts. A long list is set in as many columns as
    fit: all of it was paid for, so all of it is shown.
    """
    rank_cells = max(len("rank"), len(f"{len(ranks)}"))
    label_cells = max(len("label"), *(cell_len(str(rank[1])) for rank in ranks))
    counted = len(ranks[0]) > 2
    count_cells = max(len("count"), *(len(str(rank[-1])) for rank in ranks)) if counted else 0
    cells = rank_cells + label_cells + count_cells + (3 if counted else 2) * _BETWEEN
    columns = room // cells if len(ranks) > _SHORT else 1
    rows = -(-len(ranks) // max(1, columns))
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    for _ in range(-(-len(ranks) // rows)):
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("label", overflow="fold")
        if counted:
            table.add_column("count", justify="right", no_wrap=True)
    for row in range(rows):
        table.add_row(*(part for rank in ranks[row::rows] for part in rank))
    return table


def add_cost(
    table: Table, release: Release, candidates: str | None, about: Sequence[Fact], who: str
) -> None:
    """Add the price of an answer, its accuracy and its promise to a table.

    candidates: how many there were, in words; None if nothing was selected.
    """
    table.add_row("privacy loss", repr(release.loss))
    table.add_row("mechanism", release.mechanism)
    if candidates is not None:
        table.add_row("candidates", candidates)
    accuracy = release.accuracy
    numbers_only = accuracy is not None and accuracy.statement.startswith("number")
    # for an answer that is only numbers, the accuracy says it already
    if release.counts is not None and not numbers_only:
        sentence = release.counts.sentence(accuracy)
        table.add_row("counts", f"{sentence} ({release.counts.mechanism})")
    if release.counts is not None and release.counts.total is not None:
        table.add_row("people", release.counts.total_sentence)
    for name, value in about:
        table.add_row(name, label_text(value))
    for name, rule in read_by(release.asked).items():
        table.add_row(name, rule)
    if accuracy is not None:
        table.add_row("accuracy", Text(accuracy.sentence))
    table.add_row("promise", Text(promise(release.loss, who)))


def release_panel(content: Table | Group) -> Panel:
    """The frame around an answer."""
    return Panel(content, title="release", title_align="left", expand=False)


class Analysis(NamedTuple):
    """The name of an analysis in words, and whether it holds for queries that depend on
    earlier answers.
    """

    words: str
    adaptive: bool


ANALYSIS_WORDS = {
    "basic": Analysis("epsilons add up", True),
    "kov": Analysis("pure DP, optimal", True),
    "zcdp": Analysis("concentrated DP", True),
    "rdp": Analysis("Renyi DP", True),
    "bounded-range-adaptive": Analysis("bounded range, adaptive", True),
    "gaussian-noise": Analysis("Gaussian noise together", True),
    "dominating-pairs": Analysis("dominating pairs", True),
    "bounded-range-non-adaptive": Analysis("bounded range, non-adaptive", False),
}
"""Every analysis of the library, by its name there."""

TEXTBOOK = {"basic": "textbook: epsilons add up", "kov": "textbook: pure DP, optimal"}
"""The textbook's analyses, by sensitivity instead of range, in words."""

ORDER = {True: "each may depend on earlier answers", False: "all fixed in advance"}
"""How queries are described whose guarantee is adaptive, or not."""


def comparison(
    chosen: str,
    columns: Mapping[str, Mapping[str, str]],
    textbook: Mapping[str, str] | None = None,
) -> Table:
    """A table with every analysis, the chosen one marked.

    columns: for each heading the numbers of the analyses that apply. textbook: the numbers of
        those of the textbook, which stand first.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("analysis", no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("adaptive", no_wrap=True)
    for name, number in (textbook or {}).items():
        table.add_row("", TEXTBOOK[name], number, "yes")
    for name, analysis in ANALYSIS_WORDS.items():
        numbers = [column.get(name, "—") for column in columns.values()]
        applies = any(name in column for column in columns.values())
        adaptive = "" if not applies else "yes" if analysis.adaptive else "no"
        mark, style = ("►", "green") if name == chosen else ("", "")
        table.add_row(mark, analysis.words, *numbers, adaptive, style=style)
    return table


def by_analysis(**parts: Mapping[str, object]) -> list[dict[str, object]]:
    """What every analysis says, for JSON; None where it does not apply."""
    return [
        {
            "name": name,
            **{part: said.get(name) for part, said in parts.items()},
            "adaptive": analysis.adaptive,
        }
        for name, analysis in ANALYSIS_WORDS.items()
    ]


def most(counts: Mapping[str, int | None], *, adaptive: bool) -> str:
    """The name of the analysis that allows the most queries, among those that hold; of
    several, the simplest.
    """
    valid = {
        name: count
        for name, count in counts.items()
        if count is not None and (ANALYSIS_WORDS[name].adaptive or not adaptive)
    }
    return max(valid, key=lambda name: valid[name])


def as_numbers(value: Fraction | None) -> dict[str, str | float] | None:
    """A number for JSON, both as exact text and as a float.

    >>> as_numbers(Fraction(1, 10)), as_numbers(None)
    ({'exact': '1/10', 'float': 0.1}, None)
    """
    return None if value is None else {"exact": str(value), "float": float(value)}
