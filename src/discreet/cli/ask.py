"""Questions to a table from a shell: the session they are asked in, their price, their answers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import Parameter as Argument
from inspect import signature
from typing import TYPE_CHECKING, Any, get_type_hints

from rich.table import Table as RichTable
from rich.text import Text

import discreet
from discreet import (
    ZCDP,
    ApproxDP,
    CsvFile,
    DiscreetError,
    Loss,
    OneRow,
    ParameterError,
    Person,
    PureDP,
    Release,
)
from discreet.cli.files import as_the_column, require_column
from discreet.cli.options import AsJson, number_option
from discreet.cli.plot_option import require_picture_file, write_picture
from discreet.cli.show import Fact, answer_panel
from discreet.cli.stated import Nothing, Typed, as_option, require_one
from discreet.cli.table_options import (
    AnalystOption,
    AnchorFileOption,
    Columns,
    DatasetOption,
    DecimalMark,
    DryRun,
    EachRow,
    Encoding,
    Engine,
    FileOptions,
    LedgerAddress,
    Multiline,
    NumbersInText,
    PersonColumn,
    Separator,
    TableArgument,
    TableNameOption,
    TimeLimit,
    WindowOption,
    label_of,
    opened,
)
from discreet.cli.terminal import complain, print_json, scanning, terminal
from discreet.privacy.cost import more_like_this
from discreet.privacy.parameters import protects
from discreet.questions import Question, parse_condition
from discreet.questions.kinds import Listed, TwoLabels
from discreet.tables.table import HEADER_ADVICE

if TYPE_CHECKING:
    from discreet import Ledger, Session
    from discreet.questions.prices import Price

TABLE_NAMES = {
    "unit": "--person",
    "table": "TABLE",
    "address": "--ledger",
    "table_name": "--table",
    "table_label": "TABLE",
}
"""The options of parameters of a session that have other names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTable:
    """The table that is asked, who is protected in it and who pays, as they were typed.

    Its fields are the options that all commands share which ask a table.
    """

    table: TableArgument
    person: PersonColumn = None
    one_row: EachRow = False
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
    dry_run: DryRun = False
    as_json: AsJson = False

    def facts(self, where: object = None) -> Sequence[Fact]:
        """State who is protected and which rows count, for people to read."""
        unit = OneRow() if self.person is None else Person(self.person)
        about = [("protects", protects(unit))]
        about += [] if where is None else [("where", str(where))]
        return [*about, *([] if self.dataset is None else [("paid from", self.dataset)])]

    @property
    def who(self) -> str:
        """The subject of the promise: a row or a person."""
        return "row" if self.person is None else "person"

    @property
    def file_options(self) -> FileOptions:
        """How a CSV file is written."""
        return FileOptions(
            separator=self.separator,
            encoding=self.encoding,
            multiline=self.multiline,
            decimal=self.decimal,
        )

    @contextmanager
    def session(
        self,
        questions: Sequence[Question],
        typed: Typed,
        budget: Loss | None = None,
        *,
        quiet: bool = False,
    ) -> Iterator[tuple[Session, Columns]]:
        """A session for these questions, and the columns of its table. Public mistakes are
        named first; then the budget is charged, and only then the engine reads the rows.

        budget: that of the session, where no ledger pays. quiet: whether there is no bar.
        """
        command = typed.command
        unit = read_protected(self.person, self.one_row, command)
        limit = self.time_limit
        with ExitStack() as stack:
            stack.enter_context(
                typed.in_these_words(
                    table=self.table, table_name=self.table_name, dataset=self.dataset,
                    analyst=self.analyst, time_limit=limit,
                )
            )  # fmt: skip
            owners = typed.owners or [command] * len(questions)
            named = [
                (name if typed.owners else as_option(name), column, owner)
                for question, owner in zip(questions, owners, strict=True)
                for name, column in _named_columns(question)
            ]
            named += [] if self.person is None else [("--person", self.person, command)]
            limit_seconds = None if limit is None else number_option(limit, "--time-limit", command)
            payment = self._paid_from(questions, command, budget, stack)
            scan = stack.enter_context(scanning("Asking the table", quiet=quiet or self.as_json))
            table = stack.enter_context(
                opened(
                    self.table,
                    self.engine,
                    self.table_name,
                    command,
                    asked=[column for _, column, _ in named],
                    person=self.person,
                    options=self.file_options,
                )
            )
            advice = HEADER_ADVICE if isinstance(table.source, CsvFile) else ""
            for option, column, owner in named:
                require_column(column, table.columns, "the table", option, owner, advice)
            session = discreet.Session(
                table.source,
                unit=unit,
                table_name=table.table_name,
                time_limit=limit_seconds,
                numbers_in_text=self.numbers_in_text or table.numbers_in_text,
                **payment,
            )
            scan.watch(session)
            with _charges_told():
                yield session, table.columns

    def _paid_from(
        self, questions: Sequence[Question], command: str, budget: Loss | None, stack: ExitStack
    ) -> dict[str, Any]:
        """The session's arguments for its budget: one for these questions alone, or a ledger's."""
        alone = budget or _budget_of(questions)
        address = self.ledger or os.environ.get("DISCREET_LEDGER")
        if not address:
            for option, given in (
                ("--dataset", self.dataset),
                ("--analyst", self.analyst),
                ("--window", self.window or None),
                ("--anchor-file", self.anchor_file),
            ):
                if given is not None:
                    rule = "left out where there is no --ledger"
                    raise ParameterError(option, rule, given, owner=command)
            return {"budget": alone}
        if self.dataset is None:
            named, hint = "--ledger", ""
            if not self.ledger:
                # whoever has set the variable expects every question to be charged
                named, hint = "DISCREET_LEDGER", "Unset it to ask without a ledger."
            raise ParameterError("--dataset", f"given with {named}", Nothing(), hint, owner=command)
        ledger = stack.enter_context(
            discreet.Ledger(address, create=False, anchor_file=read_anchor_file(self.anchor_file))
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
            return label_of(self.table, self.engine, self.table_name, self.file_options)
        return self.table_name if "://" in self.table else self.table


def table_options() -> dict[str, Argument]:
    """The options that all commands share which ask a table, as Typer reads them."""
    types = get_type_hints(TypedTable, include_extras=True)
    return {
        name: each.replace(annotation=types[name])
        for name, each in signature(TypedTable).parameters.items()
    }


def _named_columns(question: Question) -> list[tuple[str, str]]:
    """The columns that a question names, each with its parameter."""
    named = list(question.used_columns)
    where = getattr(question, "where", None)
    if where is not None:
        condition = parse_condition(where) if isinstance(where, str) else where
        named += [("where", name) for name in condition.columns]
    return named


def with_typed_labels(question: Question, columns: Columns, typed: Typed) -> Question:
    """The question with its labels as values of the columns that they belong to."""
    changed: dict[str, Any] = {}
    for each in question.parameters:
        kind, value = each.kind, getattr(question, each.name)
        if value is None or not isinstance(kind, (Listed, TwoLabels)):
            continue
        column = getattr(question, kind.beside, None)
        if column is not None:
            labels, shown = [*value], str(typed.texts.get(each.name))
            changed[each.name] = as_the_column(
                labels, columns[column], shown, typed.command, as_option(each.name)
            )
    stays: Any = question
    return replace(stays, **changed) if changed else question


def ask_one(
    question: Question,
    table: TypedTable,
    typed: Typed,
    *,
    fresh: bool,
    plot: str | None,
    title: str = "",
) -> None:
    """Ask one question and show its answer, or only its price with --dry-run."""
    if plot is not None:
        require_picture_file(plot, typed.command)
    left = None
    with table.session([question], typed) as (session, columns):
        asked = with_typed_labels(question, columns, typed)
        if table.dry_run:
            price = session.price(asked, fresh=fresh)
        else:
            release = session.ask(asked, fresh=fresh)
            # the answer is paid for, so it is shown even if the ledger cannot be read now
            with suppress(DiscreetError):
                left = None if table.dataset is None else str(session.remaining())
    if table.dry_run:
        show_price(price, table.dataset, as_json=table.as_json)
        return
    about = [*table.facts(typed.texts.get("where")), *([] if left is None else [("left", left)])]
    show_answer(
        release,
        typed.command,
        panel=answer_panel(release, about=about, who=table.who),
        plot=plot,
        title=title,
        as_json=table.as_json,
    )


def show_answer(
    release: Release,
    command: str,
    *,
    panel: Any,
    plot: str | None = None,
    title: str = "",
    as_json: bool = False,
) -> None:
    """Show an answer to people, or to programs with --json, and draw it with --plot."""
    # the answer was paid for, so it is shown before a picture can fail
    if as_json:
        print_json(release.to_json())
    else:
        terminal().print(panel)
    if plot is not None:
        write_picture(plot, release.plot(title=title), command, quiet=as_json)


def read_anchor_file(typed: str | None) -> str | None:
    """The anchor file that was typed, or the one in the environment."""
    return typed or os.environ.get("DISCREET_ANCHOR_FILE") or None


def read_protected(person: str | None, one_row: bool, command: str) -> Person | OneRow:
    """Read who is protected: --person or --one-row, without a default."""
    hint = "Say who is protected; there is no default."
    require_one(command, {"--person": person, "--one-row": one_row}, hint)
    if person == "":
        raise ParameterError("--person", "the name of a column", "", owner=command)
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


def _budget_of(questions: Sequence[Question]) -> Loss:
    """A budget for these questions alone: the sum of what they cost by themselves."""
    epsilon, delta, rho = (
        sum((getattr(each, name, None) or 0 for each in questions), Fraction(0))
        for name in ("epsilon", "delta", "rho")
    )
    if rho and not epsilon:
        return ZCDP(rho)
    # a question without an epsilon is refused by the session, which says what it needs
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon or 1)


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
        ("takes", "nothing: you have the answer already" if price.answered else str(price.amount)),
        ("fits", "yes" if price.fits else "no"),
    ]
    if price.accuracy is not None:
        rows.append(("accuracy", price.accuracy.sentence))
    if dataset is not None:
        rows.append(("left after it", more_like_this(price.questions_left)))
    table = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    console = terminal()
    console.print("Nothing was asked, and nothing was charged.", style="italic")
    console.print(table)
