"""The commands of questions to a table, each made from the class of its question.

`discreet mode` is made from `discreet.questions.Mode`: a new parameter of the class is a new
option, with its help. What is written here is only how an answer is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, replace
from inspect import Parameter as Argument
from inspect import cleandoc
from typing import Any

import typer

from discreet import ParameterError
from discreet.cli.ask import TABLE_NAMES, TypedTable, ask_one, table_options
from discreet.cli.files import typed_candidates
from discreet.cli.plot_option import AnswerPlotFile
from discreet.cli.stated import Typed, as_option, command_with, option_of
from discreet.cli.table_options import Fresh
from discreet.questions import QUESTIONS, Question
from discreet.questions.kinds import Listed

_EVERY_RUN = (
    "Every run is a new release and costs epsilon again, unless a ledger has the answer already."
)
_FIT = "fit_"
# as in `items_per_person`
# as in ", as `discreet.models.fit_linear`"
_IN_PYTHON = re.compile(r",\s+as\s+`discreet\.[a-z_.]+`")
_QUOTED = re.compile(r"`([a-z_]+)`")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How a question is shown: the title of its picture, and examples of its command."""

    title: str = ""
    examples: Sequence[str] = ()


_SCALED = (
    "    --person patient --rule mean --center 50,20,100 \\",
    "    --scale 20,10,80 --norm 2 --epsilon 2",
)
SHOWN = {
    "top_k": Shown(
        title="Top {k}",
        examples=(
            "top-k demo:reads --column article --person reader -k 10 \\",
            "    --epsilon 1 --candidates demo:articles",
            "top-k demo:reads --column article --person reader -k 10 \\",
            "    --epsilon 1 --delta 1e-6 --limit 1000 --where \"region = 'Berlin'\"",
            "top-k demo:reads --column article --person reader -k 3 \\",
            "    --epsilon 1 --candidates demo:articles \\",
            "    --by region --groups Berlin,London",
            "top-k demo:reads --column article --person reader -k 10 \\",
            "    --epsilon 1 --delta 1e-6 --limit 100 --items-per-person 20",
        ),
    ),
    "mode": Shown(
        title="The most frequent {column}",
        examples=(
            "mode demo:reads --column region --person reader \\",
            "    --candidates Berlin,London --epsilon 1",
            "mode demo:reads --column article --person reader \\",
            "    --candidates demo:articles --epsilon 1 --where \"region = 'Berlin'\"",
            "mode demo:visits --column ward --person patient \\",
            "    --candidates A,B,C --by back --groups yes,no --epsilon 1",
        ),
    ),
    "best_price": Shown(
        title="The price that earns most",
        examples=(
            "best-price demo:visits --column willing_to_pay \\",
            "    --person patient --rule max --prices 1:10:0.5 --epsilon 1",
            "best-price demo:visits --column willing_to_pay \\",
            "    --one-row --prices 1,2,5 --epsilon 1",
        ),
    ),
    "quantile": Shown(
        title="The {q} quantile of {column}",
        examples=(
            "quantile demo:visits --column age --person patient \\",
            "    --rule max --q 0.5 --bounds 0 120 --step 1 --epsilon 1",
            "quantile demo:visits --column minutes --person patient \\",
            "    --rows-per-person 3 --q 0.9 --bounds 0 120 --step 5 \\",
            "    --epsilon 1 --where \"ward = 'B'\"",
        ),
    ),
    "quantiles": Shown(
        title="Quantiles of {column}",
        examples=(
            "quantiles demo:visits --column age --person patient \\",
            "    --rule max --q 0.1,0.25,0.5,0.75,0.9 --bounds 0 120 --step 1 --epsilon 1",
        ),
    ),
    "counts": Shown(
        title="Counts of {column}",
        examples=(
            "counts demo:visits --column ward --one-row --candidates A,B,C --epsilon 1",
            "counts demo:reads --column article --person reader \\",
            "    --candidates demo:articles --items-per-person 3 --epsilon 1",
            "counts demo:visits --column ward --one-row --candidates A,B,C \\",
            "    --by back --groups yes,no --epsilon 1",
        ),
    ),
    "count": Shown(
        title="Count",
        examples=(
            "count demo:reads --person reader --epsilon 0.1",
            "count demo:reads --person reader --epsilon 0.1 --where \"region = 'Berlin'\"",
        ),
    ),
    "fit_subspace": Shown(
        title="Fit subspace",
        examples=(
            "fit subspace demo:visits --columns age,minutes,cost -k 2 \\",
            *_SCALED,
        ),
    ),
    "fit_covariance": Shown(
        title="Fit covariance",
        examples=(
            "fit covariance demo:visits --columns age,minutes,cost \\",
            *_SCALED,
        ),
    ),
    "fit_linear": Shown(
        title="Fit linear",
        examples=(
            "fit linear demo:visits --columns age,minutes --target cost \\",
            "    --bounds 0 500 --person patient --rule mean --center 50,20 \\",
            "    --scale 20,10 --norm 2 --radius 100 --intercept --epsilon 1",
        ),
    ),
    "fit_logistic": Shown(
        title="Fit logistic",
        examples=(
            "fit logistic demo:visits --columns age,minutes --label back \\",
            "    --classes no,yes --person patient --rule mean --center 50,20 \\",
            "    --scale 20,10 --norm 2 --radius 5 --intercept --epsilon 1",
        ),
    ),
    "fit_deepest": Shown(
        title="Fit deepest",
        examples=(
            "fit deepest demo:visits --columns age,minutes \\",
            "    --bounds 0 120 --bounds 0 600 --step 1 \\",
            "    --person patient --rule mean --epsilon 1",
        ),
    ),
}


def __getattr__(name: str) -> Any:
    """The function of a command, or the group of them, by the name of its question."""
    if name == "fit":
        return _fits()
    if name not in QUESTIONS:
        raise AttributeError(name)
    return question_command(QUESTIONS[name])


def _fits() -> typer.Typer:
    """The group of the questions that fit a model."""
    group = typer.Typer(
        name="fit",
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Fit models to columns of a table: components, regressions, a center.",
    )
    for name, asked in QUESTIONS.items():
        if name.startswith(_FIT):
            group.command(name.removeprefix(_FIT))(question_command(asked))
    return group


def _command_of(asked: type[Question]) -> str:
    """The words of a question's command."""
    group, fit, name = asked.name.rpartition(_FIT)
    return f"discreet {group}{fit.replace('_', ' ')}{name.replace('_', '-')}"


def question_command(asked: type[Question]) -> Callable[..., None]:
    """The command that asks a question."""
    command, shown = _command_of(asked), SHOWN.get(asked.name, Shown())
    parameters = {each.name: each for each in asked.parameters}

    def run(*, fresh: bool, plot: str | None = None, **values: Any) -> None:
        table = TypedTable(**{name: values[name] for name in shared})
        typed = Typed.of(command, parameters, values, **TABLE_NAMES)
        if plot is not None and "by" in typed.texts:
            raise ParameterError("--plot", "left out with --by", plot, owner=command)
        ask_one(
            _question(asked, typed),
            table,
            typed,
            fresh=fresh,
            plot=plot,
            title=shown.title.format_map(typed.texts) if plot is not None else "",
        )

    shared = table_options()
    # a shell has no public facts that would stand in their place
    required = "candidates" if asked.needs_candidates else ""
    own = [
        option_of(replace(each, default=MISSING) if each.name == required else each)
        for each in asked.parameters
    ]
    needed = [each for each in own if each.default is Argument.empty]
    first = [shared[name] for name in ("table", "person", "one_row")]
    rest = [each for name, each in shared.items() if name not in ("table", "person", "one_row")]
    how = [("fresh", Fresh, False), *([("plot", AnswerPlotFile, None)] if shown.title else [])]
    options = [
        first[0],
        *needed,
        *first[1:],
        *(each for each in own if each.default is not Argument.empty),
        *rest[:-2],
        *(Argument(name, Argument.KEYWORD_ONLY, annotation=a, default=d) for name, a, d in how),
        *rest[-2:],
    ]
    return command_with(run, options, name=asked.name, doc=_help(asked, shown))


def _question(asked: type[Question], typed: Typed) -> Question:
    """The question as it was typed. Labels are text until the types of their columns are known."""
    labels = {
        name: [
            label
            for part in typed.parts[name]
            for label in typed_candidates(part, typed.command, f"--{name}")
        ]
        for name, each in typed.parameters.items()
        if isinstance(each.kind, Listed) and name in typed.parts
    }
    values = typed.values(without=tuple(labels)) | labels
    with typed.in_these_words():
        return asked(**values)


def _help(asked: type[Question], shown: Shown) -> str:
    """The help of a command: what the question is, and examples."""
    # what is about Python stays in Python
    told = [part for part in cleandoc(asked.__doc__ or "").split("\n\n") if ">>>" not in part]

    def spelled(found: re.Match[str]) -> str:
        name = found[1]
        return _command_of(QUESTIONS[name]) if name in QUESTIONS else as_option(name)

    about = _QUOTED.sub(spelled, _IN_PYTHON.sub("", "\n\n".join([*told, _EVERY_RUN])))
    if not shown.examples:
        return about
    lines = [
        f"  {line}" if line.startswith(" ") else f"  discreet {line}" for line in shown.examples
    ]
    return "\n".join([about, "", "\b", "Examples:", *lines])
