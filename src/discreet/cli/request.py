"""What the user asks for: the options that all commands share, and the mechanism that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias, cast

import typer

from discreet import NOT_PRIVATE, ExponentialMechanism, ParameterError, PermuteAndFlip, ReportNoisyMax
from discreet.cli.numbers import number_option
from discreet.selecting import MECHANISMS

Mechanism: TypeAlias = ExponentialMechanism | PermuteAndFlip | ReportNoisyMax

_NAMES = ", ".join(MECHANISMS)

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
    sensitivity: str | None
    monotonic: bool
    score_range: str | None
    objective: str = "max"
    acknowledge: str | None = None

    def mechanism(self, name: str) -> Mechanism:
        """The mechanism of this name with these parameters, or an error that names the option to change."""
        if name not in MECHANISMS:
            raise ParameterError(self.command, "--mechanism", f"one of {_NAMES}", name)
        numbers = {
            option: number_option(text, as_option(option), self.command)
            for option in ("epsilon", "sensitivity", "score_range")
            if (text := getattr(self, option)) is not None
        }
        try:
            made = MECHANISMS[name](
                monotonic=self.monotonic, objective=self.objective, acknowledge=self.acknowledge, **numbers
            )
        except ParameterError as error:
            raise self.translated(error) from None
        return cast(Mechanism, made)

    def translated(self, error: ParameterError) -> ParameterError:
        """The library's complaint about a parameter, in the words of the command line."""
        got = getattr(self, error.name, error.got)
        hint = _HINTS.get(error.name, error.hint) if error.hint else ""
        return ParameterError(self.command, as_option(error.name), error.rule, Nothing() if got is None else got, hint)


class Nothing:
    """What was got where an option was left out."""

    def __repr__(self) -> str:
        return "nothing"


def as_option(name: str) -> str:
    """A parameter's name as it is typed.

    >>> as_option("score_range")
    '--score-range'
    """
    return "--" + name.replace("_", "-")
