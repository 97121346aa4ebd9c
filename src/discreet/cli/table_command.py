"""How a command that asks a table is declared: the options that all such commands share
are written once.

@table_command("discreet mode", plot=AnswerPlotFile)
def mode(question: TypedQuestion, candidates: Candidates) -> None:
    question.ask_and_show(lambda asked: asked.session.mode(asked.column, ...))

The options `--by` and `--groups`, for one answer for each public group, and the panels
of answers with counts are here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import ParameterError, Release
from discreet.cli.ask import OpenSession, ReleasePanel, TypedQuestion
from discreet.cli.candidates import as_the_column, typed_candidates
from discreet.cli.options import Nothing
from discreet.cli.show import Fact, add_cost, release_panel
from discreet.cli.terminal import facts, label_text

_IF_NAMED = ("delta", "plot")
"""Options of a question that only some commands have."""


def table_command(
    command: str, *, without: Sequence[str] = (), optional: Sequence[str] = (), **options: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a command that asks a table. Its function gets what was typed as a
    `TypedQuestion`, and the options that the function itself names.

    without: shared options that this command does not have.
    optional: shared options that this command does not require.
    options: types of shared options that are different in this command, or that only
        some commands have.
    """

    def declared(ask: Callable[..., None]) -> Callable[..., None]:
        return command_with(
            _options_of(ask), command, ask, without=without, optional=optional, **options
        )

    return declared


def command_with(
    own: dict[str, Parameter],
    command: str,
    ask: Callable[..., None],
    *,
    without: Sequence[str] = (),
    optional: Sequence[str] = (),
    **options: Any,
) -> Callable[..., None]:
    """The function of a command with these options of its own, as Typer reads it.

    ask: gets what was typed as a `TypedQuestion`, and the command's own options.
    """
    shared = _options_of(TypedQuestion)
    named = {
        name: each.replace(
            annotation=options.get(name, each.annotation),
            default=None if name in optional else each.default,
        )
        for name, each in shared.items()
        if name not in ("command", "own", *without) and (name in options or name not in _IF_NAMED)
    }

    def run(**typed: Any) -> None:
        more = {name: typed[name] for name in own}
        said = {name: typed[name] for name in named}
        missing: dict[str, Any] = dict.fromkeys(without)
        ask(TypedQuestion(command=command, own=more, **missing, **said), **more)

    parameters = _in_order(named, own)
    run.__name__, run.__doc__, run.__module__ = ask.__name__, ask.__doc__, ask.__module__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options_of(declared: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a class or a function by name, without the question itself."""
    types = get_type_hints(declared, include_extras=True)
    return {
        name: each.replace(annotation=types[name], kind=Parameter.KEYWORD_ONLY)
        for name, each in signature(declared).parameters.items()
        if types[name] is not TypedQuestion
    }


def _in_order(named: dict[str, Parameter], own: dict[str, Parameter]) -> list[Parameter]:
    """The options in the order of the help: the table and the column, the options that
    this command requires, the shared ones up to --where, this command's other options,
    and the rest of the shared ones.
    """
    needed = [each for each in own.values() if each.default is Parameter.empty]
    more = [each for each in own.values() if each.default is not Parameter.empty]
    every = list(named)
    after = every.index("where") + 1
    first = [name for name in every[:after] if name in ("table", "column")]
    others = [name for name in every[:after] if name not in first]
    return [
        *(named[name] for name in first),
        *needed,
        *(named[name] for name in others),
        *more,
        *(named[name] for name in every[after:]),
    ]


By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help=(
            "One answer for each group of this column, for the price of one. A person counts in "
            "only one group."
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
        """Read the groups. One option without the other, and a picture of several
        answers, are refused.
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
        """The session's arguments for the groups."""
        if self.by is None or self.groups is None:
            return {}
        labels = typed_candidates(self.groups, self.command, "--groups")
        kind = asked.columns[self.by]
        public = as_the_column(labels, kind, self.groups, self.command, "--groups")
        return {"by": self.by, "groups": public}

    def panel(self, usual: ReleasePanel) -> ReleasePanel:
        """The panel that shows the answer: the usual one, or one with a line for each group."""
        return usual if self.by is None else groups_panel


def groups_panel(release: Release, *, about: Sequence[Fact] = (), who: str = "person") -> Panel:
    """The panel of the answers of all groups, below each other."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
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
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
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
