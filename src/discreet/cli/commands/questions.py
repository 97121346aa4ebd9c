"""The commands of questions to a table: their options are the parameters of the question.

`discreet mode` is made from `discreet.questions.Mode`: a new parameter of the class is a new
option, with its help. What is written here is only how an answer is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import Parameter as Argument
from inspect import cleandoc
from typing import Annotated, Any

import typer
from rich.panel import Panel

from discreet import ParameterError, Release
from discreet.cli.ask import Drawing, OpenSession, ReleasePanel, TypedQuestion
from discreet.cli.candidates import as_the_column, read_prices, typed_candidates
from discreet.cli.options import as_option
from discreet.cli.plot_option import AnswerPlotFile, draw_answer, draw_quantiles
from discreet.cli.show import quantiles_panel, selection_panel
from discreet.cli.table_command import command_with, count_panel, counts_panel, groups_panel
from discreet.questions import QUESTIONS, Question
from discreet.questions.kinds import Choice, Flag, Listed, Prices, written_number
from discreet.questions.parameter import Parameter

_SHARED = ("column", "epsilon", "delta", "where")
"""Parameters whose options all questions share: `TypedQuestion` has them."""
_EVERY_RUN = (
    "Every run is a new release and costs epsilon again, unless a ledger has the answer already."
)
_MOST_WORDS = 40


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How the answer to a question is shown.

    title: of the picture, where the answer can be drawn.
    """

    panel: ReleasePanel = selection_panel
    draw: Drawing = draw_answer
    title: str = ""
    examples: Sequence[str] = ()


def _shares(release: Release) -> list[str]:
    """The shares of quantiles, as the question that a release answers has them."""
    asked: Mapping[str, Any] = release.asked or {}
    return [written_number(Fraction(share)) for share in asked["q"]]


def _quantiles_panel(release: Release, **about: Any) -> Panel:
    return quantiles_panel(release, shares=_shares(release), **about)


def _draw_quantiles(file: str, release: Release, title: str, command: str) -> None:
    shares = [float(Fraction(share)) for share in _shares(release)]
    draw_quantiles(file, release, shares, title, command)


SHOWN = {
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
            "    --rule max --q 0.5 --bounds 0,120 --step 1 --epsilon 1",
            "quantile demo:visits --column minutes --person patient \\",
            "    --rows-per-person 3 --q 0.9 --bounds 0,120 --step 5 \\",
            "    --epsilon 1 --where \"ward = 'B'\"",
        ),
    ),
    "quantiles": Shown(
        title="Quantiles of {column}",
        panel=_quantiles_panel,
        draw=_draw_quantiles,
        examples=(
            "quantiles demo:visits --column age --person patient \\",
            "    --rule max --q 0.1,0.25,0.5,0.75,0.9 --bounds 0,120 --step 1 --epsilon 1",
        ),
    ),
    "counts": Shown(
        panel=counts_panel,
        examples=(
            "counts demo:visits --column ward --one-row --candidates A,B,C --epsilon 1",
            "counts demo:reads --column article --person reader \\",
            "    --candidates demo:articles --items-per-person 3 --epsilon 1",
            "counts demo:visits --column ward --one-row --candidates A,B,C \\",
            "    --by back --groups yes,no --epsilon 1",
        ),
    ),
    "count": Shown(
        panel=count_panel,
        examples=(
            "count demo:reads --person reader --epsilon 0.1",
            "count demo:reads --person reader --epsilon 0.1 --where \"region = 'Berlin'\"",
        ),
    ),
}


def __getattr__(name: str) -> Callable[..., None]:
    """The function of a command, by the name of its question."""
    if name not in QUESTIONS:
        raise AttributeError(name)
    return question_command(QUESTIONS[name])


def question_command(asked: type[Question]) -> Callable[..., None]:
    """The command that asks a question."""
    command = f"discreet {asked.name.replace('_', '-')}"
    shown = SHOWN.get(asked.name, Shown())
    own = [each for each in asked.parameters if each.name not in _SHARED]

    def ask(question: TypedQuestion, **typed: Any) -> None:
        by = typed.get("by")
        if by is not None and question.plot is not None:
            raise ParameterError("--plot", "left out with --by", question.plot, owner=command)
        # a refusal shows a list as it was typed
        said = {
            name: ",".join(text) if isinstance(text, list) else text for name, text in typed.items()
        }
        question = replace(question, own=said)
        read = _Typed(asked, own, typed, question)

        def how(opened: OpenSession) -> Release:
            fresh = opened.options["fresh"]
            return opened.session.ask(read.question(opened), fresh=fresh)

        question.ask_and_show(
            how,
            title=shown.title.format(column=question.column, q=typed.get("q")),
            panel=shown.panel if by is None else groups_panel,
            draw=shown.draw,
        )

    ask.__name__, ask.__doc__ = asked.name, _help(asked, shown)
    missing = [name for name in ("column",) if name not in asked.takes]
    options: dict[str, Any] = {"plot": AnswerPlotFile} if shown.title else {}
    options |= {
        each.name: _option(each).annotation for each in asked.parameters if each.name == "delta"
    }
    return command_with(
        {each.name: _option(each) for each in own}, command, ask, without=missing, **options
    )


class _Typed:
    """What was typed for a question's own parameters.

    All but labels is read at once: the types of labels are those of their column.
    """

    def __init__(
        self,
        asked: type[Question],
        own: Sequence[Parameter],
        values: Mapping[str, Any],
        question: TypedQuestion,
    ) -> None:
        self._asked, self._command = asked, question.command
        self._values: dict[str, Any] = {}
        self._labels: dict[str, tuple[Listed, list[str], str]] = {}
        for each in own:
            typed, command = values[each.name], question.command
            if typed is None or typed == []:
                continue
            if isinstance(each.kind, Listed):
                option = as_option(each.name)
                texts = [
                    label for text in typed for label in typed_candidates(text, command, option)
                ]
                self._labels[each.name] = each.kind, texts, ",".join(typed)
            elif isinstance(each.kind, Prices):
                self._values[each.name] = read_prices(typed, command)
            else:
                with question.in_these_words():
                    self._values[each.name] = (
                        typed if isinstance(each.kind, Flag) else each.parse(typed)
                    )

    def question(self, opened: OpenSession) -> Question:
        """The question, now that the types of the columns are known."""
        takes = self._asked.takes
        given = {name: value for name, value in opened.options.items() if name in takes}
        if "column" in takes:
            given["column"] = opened.column
        given |= self._values
        for name, (kind, texts, typed) in self._labels.items():
            column = given.get(kind.beside)
            if column is None:
                given[name] = texts
                continue
            option, types = as_option(name), opened.columns[column]
            given[name] = as_the_column(texts, types, typed, self._command, option)
        return self._asked(**given)


def _option(each: Parameter) -> Argument:
    """The option of a parameter, as Typer reads it."""
    help, kind = each.help_in(as_option), each.kind
    if isinstance(kind, Flag):
        flag: Any = Annotated[bool, typer.Option(as_option(each.name), help=help)]
        return Argument(each.name, Argument.KEYWORD_ONLY, annotation=flag, default=False)
    metavar = kind.metavar
    if isinstance(kind, Choice) and len(metavar) > _MOST_WORDS:
        metavar, help = "NAME", f"{help} One of {', '.join(kind.words)}."
    if isinstance(kind, Listed):
        help += (
            " A list such as a,b,c, or a file with one on each line, or a CSV file with one column."
        )
    names = dict.fromkeys([f"--{each.name.replace('_', '-')}", as_option(each.name)])
    option = typer.Option(*names, metavar=metavar, help=help)
    typed: Any = list[str] if isinstance(kind, Listed) else str
    if each.required:
        return Argument(each.name, Argument.KEYWORD_ONLY, annotation=Annotated[typed, option])
    return Argument(
        each.name, Argument.KEYWORD_ONLY, annotation=Annotated[typed | None, option], default=None
    )


def _help(asked: type[Question], shown: Shown) -> str:
    """The help of a command: what the question is, and examples."""
    about = f"{cleandoc(asked.__doc__ or '')}\n\n{_EVERY_RUN}"
    if not shown.examples:
        return about
    lines = [
        f"  {line}" if line.startswith(" ") else f"  discreet {line}" for line in shown.examples
    ]
    return "\n".join([about, "", "\b", "Examples:", *lines])
