"""What the user asks for: the options that all commands share, and the mechanism that they describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar, cast

import typer

from discreet import NOT_PRIVATE, ExponentialMechanism, ParameterError, PermuteAndFlip, ReportNoisyMax
from discreet.cli.numbers import number_option
from discreet.selecting import MECHANISMS

Mechanism: TypeAlias = ExponentialMechanism | PermuteAndFlip | ReportNoisyMax
Made = TypeVar("Made")

_NAMES = ", ".join(MECHANISMS)

DataFile = Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet or JSON lines; or - for CSV from standard input.")]
LabelColumn = Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column with the candidates' names.")]
ScoreColumn = Annotated[str, typer.Option("--score", metavar="COLUMN", help="The column with the candidates' scores.")]
Epsilon = Annotated[str, typer.Option(metavar="NUMBER", help="The privacy loss: 0.5, 1 or 1/3 are read exactly.")]
Sensitivity = Annotated[str | None, typer.Option(metavar="NUMBER", help="The most that one person can move one score.")]
Monotonic = Annotated[
    bool,
    typer.Option("--monotonic", help="One person moves all scores in the same direction, as with votes. Halves the error."),
]
ScoreRange = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Instead of the two above: the most by which one person's moves of two scores differ.",
    ),
]
MechanismName = Annotated[str, typer.Option("--mechanism", metavar="NAME", help=f"One of {_NAMES}.")]
MechanismNameOrAll = Annotated[
    str, typer.Option("--mechanism", metavar="NAME", help=f"One of {_NAMES}; or all, to compare them.")
]
Objective = Annotated[str, typer.Option(metavar="max|min", help="Whether the largest or the smallest score is best.")]
Acknowledge = Annotated[str | None, typer.Option(metavar="TEXT", help=f"An epsilon above 64 needs the words '{NOT_PRIVATE}'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")]

_HINTS = {
    "epsilon": f"A larger one is allowed only with --acknowledge '{NOT_PRIVATE}'.",
    "score_range": "It replaces '--sensitivity' and '--monotonic'.",
    "sensitivity": "Say how far one person can move one score; there is no default.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of a command, as they were typed."""

    command: str
    epsilon: str
    sensitivity: str | None = None
    monotonic: bool = False
    score_range: str | None = None
    delta: str | None = None
    objective: str = "max"
    acknowledge: str | None = None

    def mechanism(self, name: str) -> Mechanism:
        """The mechanism of this name with these parameters, or an error that names the option to change."""
        if name not in MECHANISMS:
            raise ParameterError(self.command, "--mechanism", f"one of {_NAMES}", name)
        made = self.made(MECHANISMS[name], monotonic=self.monotonic, objective=self.objective)
        return cast(Mechanism, made)

    def made(self, make: Callable[..., Made], **others: Any) -> Made:
        """What `make` makes of the numbers that were typed and the other parameters, or an error that names the option."""
        numbers = {
            option: number_option(text, as_option(option), self.command)
            for option in ("epsilon", "delta", "sensitivity", "score_range")
            if (text := getattr(self, option)) is not None
        }
        with self.in_these_words():
            return make(acknowledge=self.acknowledge, **numbers, **others)

    @contextmanager
    def in_these_words(self) -> Iterator[None]:
        """Let the library's complaints about parameters name the options that were typed."""
        try:
            yield
        except ParameterError as error:
            got = getattr(self, error.name, error.got)
            hint = _HINTS.get(error.name, error.hint) if error.hint else ""
            option = as_option(error.name)
            raise ParameterError(self.command, option, error.rule, Nothing() if got is None else got, hint) from None


class Nothing:
    """What was got where an option was left out."""

    def __repr__(self) -> str:
        return "nothing"


def as_option(name: str) -> str:
    """A parameter's name as it is typed.

    >>> as_option("score_range"), as_option("k")
    ('--score-range', '-k')
    """
    return "--" + name.replace("_", "-") if len(name) > 1 else "-" + name
