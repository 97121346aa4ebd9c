"""`discreet ask`: all questions of a JSON file, after showing what they cost together."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from inspect import Parameter as Argument
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from discreet import BudgetExceededError, DiscreetError, ParameterError, Release
from discreet.cli.ask import TABLE_NAMES, TypedTable, table_options
from discreet.cli.files import unbundled
from discreet.cli.options import SessionDelta, SessionEpsilon, SessionRho, read_session_budget
from discreet.cli.show import answer_panel
from discreet.cli.stated import Nothing, Typed, command_with, hint_in_options
from discreet.cli.table_options import Again
from discreet.cli.terminal import label_text, print_json, terminal
from discreet.questions import Question
from discreet.questions.prices import ListPrice
from discreet.tables.table import SAY_HOW

if TYPE_CHECKING:
    from discreet import Session

_COMMAND = "discreet ask"
_MOST_BYTES = 10_000_000
_ABOUT = """Ask all questions of a file, after showing what they cost together.

QUESTIONS is a JSON file with a list of questions, as question.to_json() writes them in Python.
First the plan is shown: the price of each question, and whether it fits. Nothing is charged until
you confirm. If it is interrupted, ask the same file again: with a ledger, what was answered costs
nothing then.

\b
Example, where demo:questions is
  [{"what": "mode", "column": "ward", "candidates": ["A", "B"],
    "epsilon": "0.5"},
   {"what": "count", "epsilon": "0.5", "where": "age >= 65"}]:
  discreet ask demo:questions demo:visits --person patient --yes
"""

QuestionsFile = Annotated[
    str, typer.Argument(metavar="QUESTIONS", help="A JSON file with a list of questions.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Ask without waiting for a confirmation.")]


def _run(
    *,
    questions: str,
    yes: bool,
    again: bool,
    budget_epsilon: str | None,
    budget_delta: str | None,
    budget_rho: str | None,
    **shared: Any,
) -> None:
    table = TypedTable(**shared)
    asked = read_questions(questions)
    owners = [_owner(place, questions) for place in range(1, len(asked) + 1)]
    typed = replace(Typed.of(_COMMAND, {}, {}, **TABLE_NAMES), owners=owners)
    budget = read_session_budget(budget_epsilon, budget_delta, budget_rho, _COMMAND)
    if not (yes or table.dry_run or _is_interactive()):
        hint = "To see only the price, use --dry-run."
        raise ParameterError("--yes", "given without a terminal", Nothing(), hint, owner=_COMMAND)
    with table.session(asked, typed, budget, quiet=not yes) as (session, _):
        for question, owner in zip(asked, owners, strict=True):
            _check(session, question, owner)
        price = session.price(asked)
        if not table.as_json:
            _show_plan(asked, price)
        elif table.dry_run:
            print_json(json.dumps(_plan_as_json(asked, price)))
        if table.dry_run:
            return
        if not price.fits:
            raise BudgetExceededError(
                f"All of these questions together cost {price.amount}, but only "
                f"{session.remaining()} is left. Nothing was charged. Ask fewer of them, or with "
                "smaller epsilons."
            )
        if not yes and not typer.confirm(f"Ask them, and charge {price.amount}?", err=True):
            terminal().print("Nothing was charged.", style="italic")
            return
        releases = session.ask(asked, again=again)
        left = None
        # the answers are paid for, so they are shown even if the ledger cannot be read now
        with suppress(DiscreetError):
            left = None if table.dataset is None else str(session.remaining())
    _show_answers(asked, releases, table)
    if left is not None and not table.as_json:
        terminal().print(f"Left: {left}", style="dim")


def _is_interactive() -> bool:
    """Whether somebody can confirm."""
    return sys.stdin is not None and sys.stdin.isatty()


def _show_answers(
    asked: Sequence[Question], releases: Sequence[Release], table: TypedTable
) -> None:
    console = terminal()
    for place, (question, release) in enumerate(zip(asked, releases, strict=True), start=1):
        if table.as_json:
            print_json(release.to_json())
            continue
        console.print(Text(f"{place}. {_title(question)}", style="bold"))
        about = table.facts(getattr(question, "where", None))
        console.print(answer_panel(release, about=about, who=table.who))


def _title(question: Question) -> str:
    """The name of a question, with its columns."""
    columns = ", ".join(name for _, name in question.used_columns)
    return f"{question.name.replace('_', '-')}{f' of {columns}' if columns else ''}"


def _show_plan(asked: Sequence[Question], price: ListPrice) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("question", overflow="fold")
    table.add_column("takes", justify="right")
    table.add_column("fits")
    table.add_column("accuracy", overflow="fold")
    for place, (question, each) in enumerate(zip(asked, price.prices, strict=True), start=1):
        accuracy = "" if each.accuracy is None else each.accuracy.sentence
        takes = "nothing: answered before" if each.answered else str(each.amount)
        fits = "yes" if each.fits else "no"
        table.add_row(str(place), label_text(_title(question)), takes, fits, Text(accuracy))
    table.add_row("", "together", str(price.amount), "yes" if price.fits else "no", style="bold")
    console = terminal()
    console.print(table)
    console.print("Nothing was asked and nothing was charged yet.", style="italic")


def _plan_as_json(asked: Sequence[Question], price: ListPrice) -> dict[str, Any]:
    every = [
        {
            "question": question.to_json(),
            "amount": each.amount.to_dict(),
            "fits": each.fits,
            "answered": each.answered,
        }
        for question, each in zip(asked, price.prices, strict=True)
    ]
    return {"amount": price.amount.to_dict(), "fits": price.fits, "questions": every}


def read_questions(path: str) -> list[Question]:
    """Read the questions of a JSON file. A refusal says which of them is wrong."""
    rule = "a JSON file with a list of questions"
    try:
        with unbundled(path) as place, open(place, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ParameterError("QUESTIONS", "a file of at most 10 MB", path, owner=_COMMAND)
        documents = json.loads(content.decode("utf-8-sig"), parse_float=Decimal)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("QUESTIONS", rule, path, owner=_COMMAND) from None
    documents = [documents] if isinstance(documents, dict) else documents
    if not isinstance(documents, list) or not documents:
        raise ParameterError("QUESTIONS", rule, path, owner=_COMMAND)
    return [_read_question(document, place, path) for place, document in enumerate(documents, 1)]


def _read_question(document: Any, place: int, path: str) -> Question:
    try:
        return Question.from_json(document)
    except ParameterError as error:
        wrong = error
    raise _refusal(wrong, _owner(place, path))


def _check(session: Session, question: Question, owner: str) -> None:
    """Refuse a question that this table cannot answer, before any is paid for."""
    try:
        session.price(question)
        return
    except ParameterError as error:
        if error.name not in question.takes:
            raise
        wrong = error
    raise _refusal(wrong, owner)


def _owner(place: int, path: str) -> str:
    return f"question {place} in {path}"


def _refusal(error: ParameterError, owner: str) -> ParameterError:
    """The refusal of a question of a file, in the words of the file; how the table is written is
    said by options.
    """
    hint = hint_in_options(error.hint) if error.hint.startswith(SAY_HOW) else error.hint
    return ParameterError(error.name, error.rule, error.got, hint, owner=owner)


def _options() -> list[Argument]:
    shared = table_options()
    own = {
        "questions": (QuestionsFile, Argument.empty),
        "yes": (Yes, False),
        "again": (Again, False),
        "budget_epsilon": (SessionEpsilon, None),
        "budget_delta": (SessionDelta, None),
        "budget_rho": (SessionRho, None),
    }
    made = {
        name: Argument(name, Argument.KEYWORD_ONLY, annotation=hint, default=default)
        for name, (hint, default) in own.items()
    }
    first = made.pop("questions")
    return [first, shared.pop("table"), made.pop("yes"), made.pop("again"), *shared.values(),
            *made.values()]  # fmt: skip


ask = command_with(_run, _options(), name="ask", doc=_ABOUT)
