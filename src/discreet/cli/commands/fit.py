"""`discreet fit ...`: a model of the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from discreet import ParameterError, Release
from discreet.cli.ask import OpenSession, TypedQuestion
from discreet.cli.candidates import as_the_column
from discreet.cli.options import as_typed, count_option, numbers_option, positive_option
from discreet.cli.plot_option import ModelPlotFile, draw_model, require_model_file
from discreet.cli.show import model_panel
from discreet.cli.table_command import table_command
from discreet.literals import VECTOR_RULES

fit = typer.Typer(
    name="fit",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Fit models to columns of a table: components, regressions, a center.",
)

ColumnList = Annotated[
    str,
    typer.Option(metavar="LIST", help="The columns of numbers, separated by commas."),
]
Norm = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        help="The largest length of a person's vector; public. A longer one is shortened to it.",
    ),
]
Center = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="A public number that is subtracted from each cell; one for all columns, or one for "
        "each.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="A public number that each cell is then divided by; one for all columns, or one for "
        "each.",
    ),
]
VectorRuleOption = Annotated[
    str | None,
    typer.Option(
        "--rule",
        metavar="|".join(VECTOR_RULES),
        help="With --person: add up or average a person's rows (sum or mean).",
    ),
]
Radius = Annotated[
    str,
    typer.Option(
        metavar="NUMBER", help="The largest length of the vector of coefficients; public."
    ),
]
Ridge = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Pulls coefficients toward 0: without data, each is about 1 / sqrt of this.",
    ),
]
Intercept = Annotated[
    bool, typer.Option("--intercept", help="Add a column of ones. It counts toward the norm.")
]


@table_command("discreet fit subspace", without=["column"], plot=ModelPlotFile)
def subspace(
    question: TypedQuestion,
    columns: ColumnList,
    k: Annotated[str, typer.Option("-k", metavar="COUNT", help="The number of dimensions.")],
    norm: Norm,
    center: Center = None,
    scale: Scale = None,
    rule: VectorRuleOption = None,
) -> None:
    """Private principal components: a subspace in which persons are long.

    One joint draw for all dimensions; only their span has a meaning.

    \b
    Example:
      discreet fit subspace demo:visits --columns age,minutes,cost -k 2 \\
          --person patient --rule mean --center 50,20,100 \\
          --scale 20,10,80 --norm 2 --epsilon 1
    """
    command = question.command
    size, longest = count_option(k, "-k", command), positive_option(norm, "--norm", command)
    read = _read_scales(center, scale, command)
    _show(
        question,
        columns,
        lambda asked, names: asked.session.fit_subspace(
            names, k=size, norm=longest, **read, **as_typed(rule=rule), **asked.options
        ),
    )


@table_command("discreet fit covariance", without=["column"], plot=ModelPlotFile)
def covariance(
    question: TypedQuestion,
    columns: ColumnList,
    norm: Norm,
    k: Annotated[
        str | None,
        typer.Option("-k", metavar="COUNT", help="How many directions; all by default."),
    ] = None,
    center: Center = None,
    scale: Scale = None,
    rule: VectorRuleOption = None,
) -> None:
    """Directions in which persons are long, and the sum of squares along each.

    Half of epsilon is for the directions, half for the sums, with noise.

    \b
    Example:
      discreet fit covariance demo:visits --columns age,minutes,cost \\
          --person patient --rule mean --center 50,20,100 \\
          --scale 20,10,80 --norm 2 --epsilon 2
    """
    command = question.command
    longest = positive_option(norm, "--norm", command)
    size = None if k is None else count_option(k, "-k", command)
    read = _read_scales(center, scale, command)
    _show(
        question,
        columns,
        lambda asked, names: asked.session.fit_covariance(
            names, k=size, norm=longest, **read, **as_typed(rule=rule), **asked.options
        ),
    )


@table_command("discreet fit linear", without=["column"], plot=ModelPlotFile)
def linear(
    question: TypedQuestion,
    columns: ColumnList,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")],
    bounds: Annotated[
        str,
        typer.Option(
            metavar="LOW,HIGH",
            help="Public bounds of the target; values outside count as the nearest bound.",
        ),
    ],
    norm: Norm,
    radius: Radius,
    ridge: Ridge = None,
    intercept: Intercept = False,
    center: Center = None,
    scale: Scale = None,
    rule: VectorRuleOption = None,
) -> None:
    """Coefficients of a linear regression.

    \b
    Example:
      discreet fit linear demo:visits --columns age,minutes --target cost \\
          --bounds 0,500 --person patient --rule mean --center 50,20 \\
          --scale 20,10 --norm 2 --radius 100 --intercept --epsilon 1
    """
    ends = _read_numbers(bounds, "--bounds", question.command, exactly=2)
    read = _read_regression(question, norm, radius, ridge, center, scale)
    _show(
        question,
        columns,
        lambda asked, names: asked.session.fit_linear(
            names,
            target,
            bounds=(ends[0], ends[1]),
            intercept=intercept,
            **read,
            **as_typed(rule=rule),
            **asked.options,
        ),
        ("--target", target),
    )


@table_command("discreet fit logistic", without=["column"], plot=ModelPlotFile)
def logistic(
    question: TypedQuestion,
    columns: ColumnList,
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column with two classes.")],
    classes: Annotated[
        str,
        typer.Option(
            metavar="NEGATIVE,POSITIVE",
            help="The two public labels; rows with another one are left out.",
        ),
    ],
    norm: Norm,
    radius: Radius,
    ridge: Ridge = None,
    intercept: Intercept = False,
    center: Center = None,
    scale: Scale = None,
    rule: VectorRuleOption = None,
) -> None:
    """Coefficients of a logistic regression.

    \b
    Example:
      discreet fit logistic demo:visits --columns age,minutes --label back \\
          --classes no,yes --person patient --rule mean --center 50,20 \\
          --scale 20,10 --norm 2 --radius 5 --intercept --epsilon 1
    """
    labels = [part.strip() for part in classes.split(",")]
    if len(labels) != 2:
        rule_text = "two labels separated by a comma"
        raise ParameterError("--classes", rule_text, classes, owner=question.command)
    read = _read_regression(question, norm, radius, ridge, center, scale)

    def ask(asked: OpenSession, names: list[str]) -> Release:
        kind = asked.columns[label]
        try:
            pair = as_the_column(labels, kind, classes, question.command)
        except ParameterError as error:
            wrong = ParameterError("--classes", error.rule, classes, owner=question.command)
        else:
            return asked.session.fit_logistic(
                names,
                label,
                classes=(pair[0], pair[1]),
                intercept=intercept,
                **read,
                **as_typed(rule=rule),
                **asked.options,
            )
        raise wrong

    _show(question, columns, ask, ("--label", label))


@table_command("discreet fit deepest", without=["column"], plot=ModelPlotFile)
def deepest(
    question: TypedQuestion,
    columns: ColumnList,
    bounds: Annotated[
        list[str],
        typer.Option(
            metavar="LOW,HIGH",
            help="Public bounds: one pair for each column, in order, or one for all.",
        ),
    ],
    step: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            help="The step of the grid of answers: one number, or one for each column.",
        ),
    ],
    rule: VectorRuleOption = None,
) -> None:
    """A point in the middle of all persons: about a median in every column.

    \b
    Example:
      discreet fit deepest demo:visits --columns age,minutes \\
          --bounds 0,120 --bounds 0,600 --step 1 \\
          --person patient --rule mean --epsilon 1
    """
    pairs = [_read_numbers(each, "--bounds", question.command, exactly=2) for each in bounds]
    sizes = _read_numbers(step, "--step", question.command)

    def ask(asked: OpenSession, names: list[str]) -> Release:
        ends = pairs * len(names) if len(pairs) == 1 else pairs
        return asked.session.fit_deepest(
            names,
            bounds=[(low, high) for low, high in ends],
            step=sizes[0] if len(sizes) == 1 else sizes,
            **as_typed(rule=rule),
            **asked.options,
        )

    _show(question, columns, ask)


for _command in (subspace, covariance, linear, logistic, deepest):
    fit.command(_command.__name__)(_command)


def _show(
    question: TypedQuestion,
    columns: str,
    how: Callable[[OpenSession, list[str]], Release],
    *others: tuple[str, str],
) -> None:
    names = [name.strip() for name in columns.split(",")]
    question.ask_and_show(
        lambda asked: how(asked, names),
        title=question.command.removeprefix("discreet ").capitalize(),
        panel=model_panel,
        draw=draw_model,
        require=require_model_file,
        columns=[*(("--columns", name) for name in names), *others],
    )


def _read_numbers(text: str, option: str, command: str, *, exactly: int | None = None) -> list[Any]:
    """Read numbers with commas between them."""
    many = "numbers" if exactly is None else f"{exactly} numbers"
    rule = f"{many} separated by commas"
    return [*numbers_option(text, option, command, rule, exactly=exactly)]


def _read_scales(center: str | None, scale: str | None, command: str) -> dict[str, Any]:
    """Read --center and --scale: one number for all columns, or one for each."""
    read: dict[str, Any] = {}
    for name, text in (("center", center), ("scale", scale)):
        if text is not None:
            numbers: Sequence[Any] = _read_numbers(text, f"--{name}", command)
            read[name] = numbers[0] if len(numbers) == 1 else numbers
    return read


def _read_regression(
    question: TypedQuestion,
    norm: str,
    radius: str,
    ridge: str | None,
    center: str | None,
    scale: str | None,
) -> dict[str, Any]:
    command = question.command
    sizes = {
        "norm": positive_option(norm, "--norm", command),
        "radius": positive_option(radius, "--radius", command),
    }
    more = (
        {} if ridge is None else {"ridge": _read_numbers(ridge, "--ridge", command, exactly=1)[0]}
    )
    return {**sizes, **more, **_read_scales(center, scale, command)}
