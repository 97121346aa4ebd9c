"""A question to a table: who is protected, which rows count, what it costs; and how the session that answers it is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet import ApproxDP, Filter, Ledger, Loss, OneRow, ParameterError, Person, PureDP, Release, Session, parse_condition
from discreet.cli.engine import FileOptions, Opened, opened
from discreet.cli.numbers import number_option
from discreet.cli.panel import Fact
from discreet.cli.progress import scanning
from discreet.cli.request import Nothing, as_option
from discreet.cli.table import require_column
from discreet.cli.terminal import complain

Column = Annotated[str, typer.Option(metavar="COLUMN", help="The column that the question is about.")]
PersonColumn = Annotated[
    str | None,
    typer.Option(
        "--person", metavar="COLUMN", help="The column that says whose row it is: a person with all rows is protected."
    ),
]
EachRow = Annotated[bool, typer.Option("--one-row", help="Instead: each row is protected, because nobody has more than one.")]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Which rows count: \"role = 'analyst' and age >= 18\", with and, or, not, in, between, is null.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="Where a cell lists several items, as in 'a; b', what is between them."),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="URL",
        help="Pay from a durable budget, sqlite:///budget.db, say; or name it in DISCREET_LEDGER.",
    ),
]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="The budget in the ledger to pay from.")]
Analyst = Annotated[str | None, typer.Option(metavar="NAME", help="Who asks, where analysts have budgets of their own.")]
Window = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="The window of the data that the table is; repeatable.")
]
Rule = Annotated[
    str | None,
    typer.Option(metavar="max|min", help="With --person: which of several rows of one person counts."),
]
RowsPerPerson = Annotated[
    str | None,
    typer.Option(metavar="COUNT", help="Instead of --rule: so many rows of each person count."),
]
AnchorFile = Annotated[
    str | None,
    typer.Option(
        "--anchor-file",
        metavar="FILE",
        help="Where the ledger's latest point is kept, so that an older copy is refused; or name it in DISCREET_ANCHOR_FILE.",
    ),
]

_ROOM = 8  # more than what a session's way of counting takes beyond the loss, where delta is large
_OWN = ("epsilon", "delta", "column", "where", "table", "table_name", "dataset", "analyst", "window")
_NAMES = {
    "unit": "--person",
    "table": "TABLE",
    "url": "--ledger",
    "table_name": "--table",
    "q": "--q",
    "table_label": "TABLE",
}  # where as_option is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The options of a question to a table, as they were typed."""

    command: str
    table: str
    column: str
    person: str | None
    one_row: bool
    epsilon: str
    delta: str | None = None
    where: str | None = None
    engine: str = "duckdb"
    table_name: str | None = None
    ledger: str | None = None
    dataset: str | None = None
    analyst: str | None = None
    window: Sequence[str] | None = None
    anchor_file: str | None = None
    options: FileOptions = FileOptions()  # noqa: RUF009 (it cannot change)
    """How a CSV file is written."""
    quiet: bool = False
    """Whether the answer is for another program."""

    def ask(self, how: Callable[[Asked], Release], **typed: Any) -> Release:
        """The answer. Public mistakes are named first, then the budget is taken, then the engine reads the rows.

        how: from the open session to the answer.
        typed: the other options by their names in the library, for its complaints.
        """
        unit = read_protected(self.person, self.one_row, self.command)
        with self._in_these_words(typed):
            condition = None if self.where is None else parse_condition(self.where)
        numbers = self._numbers()
        with ExitStack() as opened_things:
            with self._in_these_words(typed):
                purse = self._purse(numbers, opened_things)
            scan = opened_things.enter_context(scanning("Asking the table", quiet=self.quiet))
            columns = [("--column", self.column), *([] if self.person is None else [("--person", self.person)])]
            columns += [("--where", name) for name in ([] if condition is None else condition.columns)]
            table = opened_things.enter_context(self._opened([name for _, name in columns]))
            for option, name in columns:
                require_column(name, table.columns, "the table", option, self.command)
            with self._in_these_words(typed):
                session = Session(table.source, unit=unit, table_name=table.table_name, **purse)
                scan.watch(session)
                asked = Asked(session, table.columns[self.column], numbers | {"where": condition})
                with _charges_told():
                    return how(asked)

    def _purse(self, numbers: dict[str, Any], opened_things: ExitStack) -> dict[str, Any]:
        """What the session is paid from: a budget for this one question, or one in a ledger."""
        url = self.ledger or os.environ.get("DISCREET_LEDGER")
        if not url:
            for option, given in (
                ("--dataset", self.dataset),
                ("--analyst", self.analyst),
                ("--window", self.window or None),
                ("--anchor-file", self.anchor_file),
            ):
                if given is not None:
                    raise ParameterError(self.command, option, "left out where there is no --ledger", given)
            return {"budget": _budget(**numbers)}
        if self.dataset is None:
            named, hint = "--ledger", ""
            if not self.ledger:
                # Somebody who has set it up expects every question to be charged.
                named, hint = "DISCREET_LEDGER", "Unset it to ask outside of any ledger."
            raise ParameterError(self.command, "--dataset", f"given with {named}", Nothing(), hint)
        _budget(**numbers)  # complains about numbers that make no sense
        ledger = opened_things.enter_context(Ledger(url, create=False, anchor_file=read_anchor_file(self.anchor_file)))
        return {
            "ledger": ledger,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "window": list(self.window or ()) or None,
            # what is not a file is known by the name that was typed
            "table_label": self.table_name if "://" in self.table else self.table,
        }

    def _opened(self, asked: Sequence[str]) -> AbstractContextManager[Opened]:
        return opened(self.table, self.engine, self.table_name, self.command, asked=asked, options=self.options)

    def facts(self) -> Sequence[Fact]:
        """Who is protected and which rows count, for people to read."""
        who = "every row by itself" if self.person is None else f"every {self.person}, with all rows"
        about = [("protected", who), *([] if self.where is None else [("where", self.where)])]
        return [*about, *([] if self.dataset is None else [("paid from", self.dataset)])]

    @property
    def who(self) -> str:
        """Whom the promise is about."""
        return "row" if self.person is None else "person"

    def _numbers(self) -> dict[str, Any]:
        return {
            name: number_option(text, as_option(name), self.command)
            for name, text in (("epsilon", self.epsilon), ("delta", self.delta))
            if text is not None
        }

    @contextmanager
    def _in_these_words(self, typed: dict[str, Any]) -> Iterator[None]:
        """Let the library's complaints about parameters name the options that were typed."""
        try:
            yield
        except ParameterError as error:
            if error.owner == self.command:
                raise
            known = typed | {name: text for name in _OWN if (text := getattr(self, name)) is not None}
            # Of several windows only the wrong one is of interest.
            got = error.got if error.name == "window" else known.get(error.name, error.got)
            option = _NAMES.get(error.name, as_option(error.name))
            # A session has no words for an epsilon that large, and lists columns: without a header line they would be a row.
            rule = error.rule.partition(" the columns ")
            hint = "" if error.name == "epsilon" else error.hint
            told = f"{rule[0]} the table's columns" if rule[1] else error.rule
            raise ParameterError(self.command, option, told, Nothing() if got is None else got, hint) from None


def read_anchor_file(typed: str | None) -> str | None:
    """The anchor file that was typed, or the one in the environment."""
    return typed or os.environ.get("DISCREET_ANCHOR_FILE") or None


def read_protected(person: str | None, one_row: bool, command: str) -> Person | OneRow:
    """Who is protected: there is no default."""
    if one_row == (person is not None):
        hint = "Say who is protected; there is no default."
        got = Nothing() if person is None else person
        raise ParameterError(command, "--person", "given, or --one-row, but not both", got, hint)
    if person == "":
        raise ParameterError(command, "--person", "the name of a column", "")
    return OneRow() if person is None else Person(person)


@contextmanager
def _charges_told() -> Iterator[None]:
    """Say what an interrupted question was charged. Typer makes a bare exit code of Ctrl-C further out."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        if str(interruption):
            complain(str(interruption))
        raise


@dataclass(frozen=True, slots=True)
class Asked:
    """An open session, the type of its column, and what every question to it is told."""

    session: Session
    kind: Any
    options: dict[str, Any]


def _budget(epsilon: Any, delta: Any = 0) -> Loss:
    """A budget for this one question.

    A pure one is the question's own loss. A session counts an (epsilon, delta) budget in rho, where one loss with a delta takes
    more than it is, so the session's budget is then one that is large enough. What was spent is the loss of the answer.
    """
    if not delta:
        return PureDP(epsilon)
    loss = ApproxDP(epsilon, delta)
    most = loss.epsilon + _ROOM
    while not Filter(ApproxDP(most, 2 * loss.delta), delta_for_losses=loss.delta).allows(loss):
        most *= 2
    return ApproxDP(most, 2 * loss.delta)
