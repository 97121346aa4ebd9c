"""A question to a table, as it was typed: its session, its price and its answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

import discreet
from discreet import (
    ApproxDP,
    CsvFile,
    DiscreetError,
    Ledger,
    Loss,
    OneRow,
    ParameterError,
    Person,
    PureDP,
    Release,
)
from discreet.cli.options import (
    AsJson,
    Epsilon,
    Nothing,
    as_option,
    in_options,
    number_option,
    quoted_options,
)
from discreet.cli.plot_option import draw_answer, require_file, say_where
from discreet.cli.scores_file import require_column
from discreet.cli.show import Fact, selection_panel
from discreet.cli.table_options import (
    AnalystOption,
    AnchorFileOption,
    ColumnOption,
    Columns,
    DatasetOption,
    DecimalMark,
    DryRun,
    EachRow,
    Encoding,
    Engine,
    FileOptions,
    Fresh,
    LedgerAddress,
    Multiline,
    NumbersInText,
    Opened,
    PersonColumn,
    Separator,
    TableArgument,
    TableNameOption,
    TimeLimit,
    WhereOption,
    WindowOption,
    label_of,
    opened,
)
from discreet.cli.terminal import complain, print_json, scanning, terminal
from discreet.questions import Question, parse_condition
from discreet.tables.table import HEADER_ADVICE, SAY_HOW

if TYPE_CHECKING:
    import narwhals as nw

    from discreet import Session
    from discreet.session import Price

Told = TypeVar("Told")
ReleasePanel = Callable[..., Panel]
"""A function from a release, further facts and whom the promise is about to a panel."""
Drawing = Callable[[str, Release, str, str], None]
"""A function that draws a release into a file, with a title; errors name the command."""

# the parameters whose typed text an error shows
_SAID = (
    "epsilon",
    "delta",
    "column",
    "where",
    "table",
    "table_name",
    "dataset",
    "analyst",
    "window",
    "time_limit",
)
# the options of parameters that `as_option` would name wrongly
_NAMES = {
    "unit": "--person",
    "table": "TABLE",
    "address": "--ledger",
    "table_name": "--table",
    "q": "--q",
    "table_label": "TABLE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuestion:
    """The options of a question to a table, as they were typed.

    The fields after `own` are options of every `table_command`; delta and plot are
    options of those commands that name them.

    command: the command, as it was typed.
    own: the options that only this command has, by their names.
    """

    command: str
    own: Mapping[str, Any]
    table: TableArgument
    column: ColumnOption
    epsilon: Epsilon
    delta: str | None = None
    person: PersonColumn = None
    one_row: EachRow = False
    where: WhereOption = None
    engine: Engine = "duckdb"
    table_name: TableNameOption = None
    separator: Separator = None
    encoding: Encoding = None
    multiline: Multiline = False
    decimal: DecimalMark = None
    numbers_in_text: NumbersInText = False
    time_limit: TimeLimit = None
    ledger: LedgerAddress = None
    dataset: DatasetOption = None
    analyst: AnalystOption = None
    window: WindowOption = None
    anchor_file: AnchorFileOption = None
    plot: str | None = None
    dry_run: DryRun = False
    fresh: Fresh = False
    as_json: AsJson = False

    def ask_and_show(
        self,
        how: Callable[[OpenSession], Release],
        *,
        title: str = "",
        panel: ReleasePanel = selection_panel,
        draw: Drawing = draw_answer,
        require: Callable[[str, str], None] = require_file,
        columns: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Ask and show the answer, or only its price with --dry-run.

        how: takes the open session, asks it, and returns the answer.
        title: the title of the picture.
        panel: shows the answer in the terminal.
        draw: draws the picture.
        require: refuses a file that the picture cannot be drawn into.
        columns: further columns that the question is about, each with its option.
        """
        if self.plot is not None:
            require(self.plot, self.command)
        if self.dry_run:
            show_price(self._within(_priced(how), columns), self.dataset, as_json=self.as_json)
            return
        release, left = self._within(self._with_what_is_left(how), columns)
        self.show(release, title=title, panel=panel, draw=draw, left=left)

    def _with_what_is_left(
        self, how: Callable[[OpenSession], Release]
    ) -> Callable[[OpenSession], tuple[Release, str | None]]:
        """The answer, and what the ledger has left after it, where it is paid from one."""

        def ask(asked: OpenSession) -> tuple[Release, str | None]:
            release = how(asked)
            # the answer is paid for, so it is shown even if the ledger cannot be read now
            with suppress(DiscreetError):
                return release, None if self.dataset is None else str(asked.session.remaining())
            return release, None

        return ask

    def show(
        self,
        release: Release,
        *,
        title: str,
        panel: ReleasePanel,
        draw: Drawing,
        left: str | None = None,
    ) -> None:
        """Show an answer to people, or to programs with --json, and draw it with --plot."""
        # the answer was paid for, so it is shown before a picture can fail
        console = terminal()
        if self.as_json:
            print_json(release.to_json())
        else:
            about = [*self.facts(), *([] if left is None else [("left", left)])]
            console.print(panel(release, about=about, who=self.who))
        if self.plot is not None:
            draw(self.plot, release, title, self.command)
            if not self.as_json:
                say_where(console, self.plot)

    def _within(
        self, how: Callable[[OpenSession], Told], several: Sequence[tuple[str, str]] = ()
    ) -> Told:
        """What `how` returns for an open session. Public mistakes are named first; then
        the budget is charged, and only then the engine reads the rows.
        """
        unit = read_protected(self.person, self.one_row, self.command)
        with self.in_these_words():
            condition = None if self.where is None else parse_condition(self.where)
        numbers = self._numbers()
        typed = self.time_limit
        limit = None if typed is None else number_option(typed, "--time-limit", self.command)
        with ExitStack() as opened_things:
            with self.in_these_words():
                payment = self._paid_from(numbers, opened_things)
            scan = opened_things.enter_context(scanning("Asking the table", quiet=self.as_json))
            named = (
                ("--column", self.column),
                *several,
                ("--person", self.person),
                ("--by", self.own.get("by")),
            )
            columns = [(option, name) for option, name in named if name is not None]
            columns += [
                ("--where", name) for name in ([] if condition is None else condition.columns)
            ]
            table = opened_things.enter_context(self._opened([name for _, name in columns]))
            advice = HEADER_ADVICE if isinstance(table.source, CsvFile) else ""
            for option, name in columns:
                require_column(name, table.columns, "the table", option, self.command, advice)
            with self.in_these_words():
                session = discreet.Session(
                    table.source,
                    unit=unit,
                    table_name=table.table_name,
                    time_limit=limit,
                    numbers_in_text=self.numbers_in_text or table.numbers_in_text,
                    **payment,
                )
                scan.watch(session)
                asked = OpenSession(
                    session=session,
                    column=self.column,
                    columns=table.columns,
                    options=numbers | {"where": self.where, "fresh": self.fresh},
                )
                with _charges_told():
                    return how(asked)

    def _paid_from(self, numbers: dict[str, Any], opened_things: ExitStack) -> dict[str, Any]:
        """The session's arguments for its budget: one for this question alone, or a ledger's."""
        address = self.ledger or os.environ.get("DISCREET_LEDGER")
        if not address:
            for option, given in (
                ("--dataset", self.dataset),
                ("--analyst", self.analyst),
                ("--window", self.window or None),
                ("--anchor-file", self.anchor_file),
            ):
                if given is not None:
                    raise ParameterError(
                        self.command, option, "left out where there is no --ledger", given
                    )
            return {"budget": _budget(**numbers)}
        if self.dataset is None:
            named, hint = "--ledger", ""
            if not self.ledger:
                # whoever has set the variable expects every question to be charged
                named, hint = "DISCREET_LEDGER", "Unset it to ask outside of any ledger."
            raise ParameterError(self.command, "--dataset", f"given with {named}", Nothing(), hint)
        # only to refuse numbers that make no sense
        _budget(**numbers)
        ledger = opened_things.enter_context(
            Ledger(address, create=False, anchor_file=read_anchor_file(self.anchor_file))
        )
        return {
            "ledger": ledger,
            "dataset": self.dataset,
            "analyst": self.analyst,
            "window": list(self.window or ()) or None,
            "table_label": self._label(ledger, self.dataset),
        }

    def _label(self, ledger: Ledger, dataset: str) -> str | None:
        """What the session calls the table: what was typed, for a budget that names its
        table so. A name is not enough elsewhere: in two folders it is two tables.
        """
        if ledger.account(dataset).table_label is None:
            return label_of(self.table, self.engine, self.table_name, self._file_options())
        return self.table_name if "://" in self.table else self.table

    def _opened(self, asked: Sequence[str]) -> AbstractContextManager[Opened]:
        return opened(
            self.table,
            self.engine,
            self.table_name,
            self.command,
            asked=asked,
            person=self.person,
            options=self._file_options(),
        )

    def _file_options(self) -> FileOptions:
        return FileOptions(
            separator=self.separator,
            encoding=self.encoding,
            multiline=self.multiline,
            decimal=self.decimal,
        )

    def facts(self) -> Sequence[Fact]:
        """Who is protected and which rows count, for people to read."""
        who = (
            "every row by itself" if self.person is None else f"every {self.person}, with all rows"
        )
        about = [("protected", who), *([] if self.where is None else [("where", self.where)])]
        return [*about, *([] if self.dataset is None else [("paid from", self.dataset)])]

    @property
    def who(self) -> str:
        """Whom the promise is about: a row or a person."""
        return "row" if self.person is None else "person"

    def _numbers(self) -> dict[str, Any]:
        return {
            name: number_option(text, as_option(name), self.command)
            for name, text in (("epsilon", self.epsilon), ("delta", self.delta))
            if text is not None
        }

    @contextmanager
    def in_these_words(self) -> Iterator[None]:
        """Let the library's errors about parameters name the options that were typed."""
        try:
            yield
        except ParameterError as error:
            if error.owner == self.command:
                raise
            known = dict(self.own) | {
                name: text for name in _SAID if (text := getattr(self, name)) is not None
            }
            # of several windows only the wrong one is shown
            got = error.got if error.name == "window" else known.get(error.name, error.got)
            option = _NAMES.get(error.name, as_option(error.name))
            # The session's hint about a large epsilon names no option. Its list of columns is
            # left out: without a header line it would be a row.
            rule = error.rule.partition(" the columns ")
            hint = "" if error.name == "epsilon" else error.hint
            # what was typed as a condition is quoted in its hint
            quotes = error.name == "where" and not hint.startswith(SAY_HOW)
            hint = hint if quotes else in_options(hint)
            told = f"{rule[0]} the table's columns" if rule[1] else quoted_options(error.rule)
            raise ParameterError(
                self.command, option, told, Nothing() if got is None else got, hint
            ) from None


def read_anchor_file(typed: str | None) -> str | None:
    """The anchor file that was typed, or the one in the environment."""
    return typed or os.environ.get("DISCREET_ANCHOR_FILE") or None


def read_protected(person: str | None, one_row: bool, command: str) -> Person | OneRow:
    """Read who is protected: --person or --one-row, without a default."""
    if one_row == (person is not None):
        hint = "Say who is protected; there is no default."
        got = Nothing() if person is None else person
        raise ParameterError(command, "--person", "given, or --one-row, but not both", got, hint)
    if person == "":
        raise ParameterError(command, "--person", "the name of a column", "")
    return OneRow() if person is None else Person(person)


@contextmanager
def _charges_told() -> Iterator[None]:
    """If Ctrl-C interrupts a question, say what it was charged: further out Typer turns
    Ctrl-C into a bare exit code.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        if str(interruption):
            complain(str(interruption))
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """An open session, the column that the question is about, and the options that
    every question to it gets.
    """

    session: Session
    column: Any
    columns: Columns
    options: dict[str, Any]

    @property
    def kind(self) -> nw.dtypes.DType:
        """The type of the column that the question is about."""
        return self.columns[self.column]


def _budget(epsilon: Any, delta: Any = 0) -> Loss:
    """A budget for one question: its own loss, which an unused budget always admits."""
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def show_price(price: Price, dataset: str | None, *, as_json: bool) -> None:
    """Show what a question would cost, to people or programs."""
    if as_json:
        loss = price.cost.loss
        told = {"loss": loss.to_dict(), "amount": price.amount.to_dict(), "fits": price.fits}
        more = {"answered": price.answered, "questions_left": price.questions_left}
        sure = {} if price.accuracy is None else {"accuracy": price.accuracy.to_dict()}
        print_json(json.dumps(told | more | sure))
        return
    rows = [
        ("loss", repr(price.cost.loss)),
        ("takes", "nothing: it was answered before" if price.answered else str(price.amount)),
        ("fits", "yes" if price.fits else "no"),
    ]
    if price.accuracy is not None:
        rows.append(("accuracy", price.accuracy.sentence))
    if dataset is not None:
        rows.append(("left after it", f"{price.questions_left} more like it"))
    table = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console = terminal()
    console.print("Nothing was asked and nothing was charged.", style="italic")
    console.print(table)


class _Pricing:
    """Tells the prices of questions that it is asked."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, question: Question, *, fresh: bool = False) -> Price:
        return self._session.price(question, fresh=fresh)

    def __getattr__(self, name: str) -> Any:
        method: Any = vars(discreet.Session)[name]
        return method.__get__(self)


def _priced(how: Callable[[OpenSession], Release]) -> Callable[[OpenSession], Price]:
    """The function that gives the price of an answer instead of the answer."""

    def priced(asked: OpenSession) -> Price:
        pricing: Any = _Pricing(asked.session)
        found: Any = how(replace(asked, session=pricing))
        price: Price = found
        return price

    return priced
