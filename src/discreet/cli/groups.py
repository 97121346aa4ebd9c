"""`--by` and `--groups`: one answer for each public group, and how answers with counts look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import ParameterError, Release
from discreet.cli.ask import OpenSession, ReleasePanel
from discreet.cli.candidates import as_the_column, typed_candidates
from discreet.cli.options import Nothing
from discreet.cli.show import Fact, add_cost, release_panel
from discreet.cli.terminal import facts, label_text

By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help=(
            "One answer for each group of this column, for the price of one: a person counts in "
            "one group."
        ),
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="LIST|FILE",
        help="With --by, the public groups: a,b,c or a file with one on each line.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedGroups:
    """The groups of a question, as they were typed."""

    by: str | None
    groups: str | None
    command: str

    @classmethod
    def read(
        cls, by: str | None, groups: str | None, plot: str | None, command: str
    ) -> TypedGroups:
        """The groups; one option without the other, and a picture of several answers, are
        refused.
        """
        for option, value, other, given in (
            ("--by", by, "--groups", groups),
            ("--groups", groups, "--by", by),
        ):
            if value is None and given is not None:
                hint = "The groups must be public." if option == "--groups" else ""
                raise ParameterError(command, option, f"given with {other}", Nothing(), hint)
        if by is not None and plot is not None:
            raise ParameterError(command, "--plot", "left out with --by", plot)
        return cls(by=by, groups=groups, command=command)

    def options(self, asked: OpenSession) -> dict[str, Any]:
        """What the session is told about the groups."""
        if self.by is None or self.groups is None:
            return {}
        labels = typed_candidates(self.groups, self.command, "--groups")
        kind = asked.columns[self.by]
        public = as_the_column(labels, kind, self.groups, self.command, "--groups")
        return {"by": self.by, "groups": public}

    def panel(self, usual: ReleasePanel) -> ReleasePanel:
        """How the answer is shown: as usual, or group by group."""
        return usual if self.by is None else _groups_panel


def _groups_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The answers of all groups below each other."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("group", overflow="fold")
    table.add_column("label", overflow="fold")
    counted = release.counts is not None
    if counted:
        table.add_column("count", justify="right", no_wrap=True)
    every = release.counts.values if release.counts is not None else [()] * len(release.value)
    for (group, value), counts in zip(release.value, every, strict=True):
        labels = value if isinstance(value, list) else [value]
        name = label_text(group)
        for place, label in enumerate(labels):
            count = (f"{counts[place]:,}",) if counted else ()
            table.add_row(name if not place else "", label_text(label, style="bold green"), *count)
        if not labels:
            table.add_row(name, Text("nothing", style="italic"), *([""] if counted else []))
    return _with_cost(table, release, about, who)


def counts_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """Public candidates, in their own order, with their counts."""
    assert release.counts is not None
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("label", overflow="fold")
    table.add_column("count", justify="right", no_wrap=True)
    for label, count in zip(release.value, release.counts.values, strict=True):
        table.add_row(label_text(label), Text(f"{count:,}", style="bold green"))
    return _with_cost(table, release, about, who)


def count_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """One number of persons."""
    table = facts()
    table.add_row("count", Text(f"{release.value:,}", style="bold green"))
    add_cost(table, release, None, about, who)
    return release_panel(table)


def _with_cost(table: Table, release: Release, about: Sequence[Fact], who: str) -> Panel:
    costs = facts()
    size = release.candidates
    candidates = "not known beforehand" if size is None else f"{size:,}"
    add_cost(costs, release, candidates, about, who)
    return release_panel(Group(table, "", costs))
