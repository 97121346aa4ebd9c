"""`discreet ledger`: open, show and verify durable budgets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from discreet import ZCDP, Ledger, Loss, ParameterError, PureDP
from discreet.cli.ask import read_anchor_file, read_protected
from discreet.cli.files import unbundled
from discreet.cli.ledger_show import (
    AccountLine,
    account_dict,
    accounts_table,
    answer_dict,
    answers_table,
    charge_dict,
    history_table,
    rights_table,
)
from discreet.cli.options import (
    AsJson,
    BudgetDelta,
    BudgetEpsilon,
    BudgetRho,
    number_option,
    read_budget,
    read_loss,
)
from discreet.cli.plot_option import plot_option, require_picture_file, write_picture
from discreet.cli.stated import Nothing, refusals_in, require_one
from discreet.cli.table_options import AnchorFileOption, EachRow, PersonColumn
from discreet.cli.terminal import facts, label_text, print_json, terminal
from discreet.rendering.analyses import spending

if TYPE_CHECKING:
    from discreet.ledger import Account, Charge

_COMMAND = "discreet ledger"
_VARIABLE = "DISCREET_LEDGER"
_LARGEST_PAGE = 10_000
_OPTIONS = {
    "address": "LEDGER",
    "anchors": "--anchor",
    "writers": "--writer",
    "readers": "--reader",
    "unit": "--person",
    "window_every": "--every",
}

ledger = typer.Typer(
    name="ledger",
    help="Open durable budgets, see what is left, and verify them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        envvar=_VARIABLE,
        help="The path of a file, or postgresql+psycopg://user@host/database.",
    ),
]
BudgetOption = Annotated[str, typer.Option(metavar="NAME", help="The data set whose budget it is.")]
AnyDataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="Only this data set.")
]
ShareOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The budget of this analyst on the data set.")
]
WindowShareOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The budget of this window of the data set.")
]
SubjectPathOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="PATH",
        help="This budget pays only for questions about this file or pattern.",
    ),
]
SubjectTableOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table, if it is a DuckDB file.")
]
TableLabel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="For anything but a file: this budget pays only for questions about data with this "
        "name.",
    ),
]
WindowColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of dates: only rows in the windows that were paid for count.",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="day|week|month|quarter|year",
        help="The length of a window. With month, 2026-10 is the name of one.",
    ),
]
ReasonOption = Annotated[
    str, typer.Option(metavar="TEXT", help="The reason. It stays in the ledger for good.")
]
Before = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Only charges before the one with this number."),
]
Limit = Annotated[str, typer.Option(metavar="COUNT", help="How many at most.")]
SpendingPlot = Annotated[str | None, plot_option("what was spent, over time,")]


@ledger.command("init")
def init(
    address: LedgerArgument,
    writer: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help="A role that may charge, on a server; repeatable."),
    ] = None,
    reader: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help="A role that may read and verify; repeatable."),
    ] = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger, or set up again who may use it.

    A file is for its owner alone. On a server run this as the owner of the database: it
    makes the tables, takes all rights on them from PUBLIC, and gives the roles named
    here just what they need. No process that answers questions should run as the owner.

    \b
    Examples:
      discreet ledger init budget.db
      discreet ledger init postgresql://owner@host/ledger --writer answers --reader audit
    """
    with _opened(address, "init", anchor_file, create=True) as book:
        rights = book.grant(writers=writer or (), readers=reader or ())
        anchor = book.anchor()
    if as_json:
        held = [{"role": right.role, "may": right.may} for right in rights]
        print_json(json.dumps({"rights": held, "anchor": anchor}))
        return
    console = terminal()
    console.print(rights_table(rights))
    console.print(f"anchor {anchor}", style="dim", soft_wrap=True)


@ledger.command("open")
def open_(
    address: LedgerArgument,
    dataset: BudgetOption,
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    rho: BudgetRho = None,
    person: PersonColumn = None,
    one_row: EachRow = False,
    analyst: ShareOption = None,
    windows: Annotated[
        bool,
        typer.Option(
            "--windows",
            help="Each window of the data, such as a month, has its own budget.",
        ),
    ] = False,
    table: SubjectPathOption = None,
    table_name: SubjectTableOption = None,
    table_label: TableLabel = None,
    window_column: WindowColumn = None,
    every: Every = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Open the budget of a data set, or of an analyst on it. A ledger that is not there is made.

    A budget is about one unit, --person or --one-row: questions about another one are
    refused.

    \b
    Examples:
      discreet ledger open budget.db --dataset survey --person student \\
          --epsilon 1 --delta 1e-6
      discreet ledger open budget.db --dataset reads --person reader \\
          --table demo:reads --window-column day --every month --epsilon 1 --delta 1e-6
      discreet ledger open budget.db --dataset survey --epsilon 0.5 --delta 1e-7 \\
          --analyst team-a
    """
    command = f"{_COMMAND} open"
    if every is None and window_column is not None:
        raise ParameterError("--every", "given with --window-column", Nothing(), owner=command)
    if window_column is None and every is not None:
        raise ParameterError("--window-column", "given with --every", Nothing(), owner=command)
    budget = read_budget(epsilon, delta, rho, command)
    unit = (
        None
        if analyst is not None and person is None and not one_row
        else read_protected(person, one_row, command)
    )
    with (
        _opened(address, "open", anchor_file, create=True, budget=budget) as book,
        unbundled(table or "") as file,
    ):
        book.open(
            dataset,
            budget=budget,
            analyst=analyst,
            windows=windows,
            unit=unit,
            table=file or None,
            table_name=table_name,
            table_label=table_label,
            window_column=window_column,
            window_every=every,
        )
        _show([book.account(dataset, analyst=analyst)], book, as_json)


@ledger.command("extend")
def extend(
    address: LedgerArgument,
    dataset: BudgetOption,
    reason: ReasonOption,
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    rho: BudgetRho = None,
    analyst: ShareOption = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Raise a budget, for everybody to see."""
    budget = read_budget(epsilon, delta, rho, f"{_COMMAND} extend")
    with _opened(address, "extend", anchor_file, budget=budget) as book:
        book.extend(dataset, budget=budget, reason=reason, analyst=analyst)
        _show([book.account(dataset, analyst=analyst)], book, as_json)


@ledger.command("show")
def show(
    address: LedgerArgument,
    dataset: AnyDataset = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Show every budget with what is spent and what is left.

    \b
    Example:
      discreet ledger show budget.db
    """
    with _opened(address, "show", anchor_file) as book:
        if dataset is not None:
            # refuses a data set that the ledger does not have
            book.account(dataset)
        _show(
            [account for account in book.accounts() if dataset in (None, account.dataset)],
            book,
            as_json,
        )


@ledger.command("history")
def history(
    address: LedgerArgument,
    dataset: BudgetOption,
    analyst: ShareOption = None,
    before: Before = None,
    limit: Limit = "100",
    plot: SpendingPlot = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the charges of a data set, newest first: when, for what, how much, and whether
    an answer was given.

    \b
    Example:
      discreet ledger history budget.db --dataset survey --plot spent.png
    """
    command = f"{_COMMAND} history"
    require_picture_file(plot, command)
    page = _read_page(before, limit, command)
    with _opened(address, "history", anchor_file) as book:
        account = book.account(dataset)
        charges = book.history(dataset, analyst=analyst, **page)
        if plot is not None:
            everything = _all_charges(book, dataset)
    if as_json:
        print_json(json.dumps([charge_dict(charge) for charge in charges]))
    else:
        console = terminal()
        console.print(history_table(charges))
        _say_more(console, charges, page["limit"])
    if plot is not None:
        unit, whole = account.limit.unit, account.limit.whole
        # people read coins as a share of the budget
        each, shown = (1, str(unit)) if whole is None else (whole / 100, "% of the budget")
        spent = [
            (charge.time, charge.amount.value / each, charge.settled)
            for charge in everything
            if charge.amount.unit == unit
        ]
        limit_ = account.limit.value / each
        picture = spending(spent, limit=limit_, unit=shown, title=f"Spent of {dataset}")
        write_picture(plot, picture, command, quiet=as_json)


@ledger.command("answers")
def answers(
    address: LedgerArgument,
    dataset: BudgetOption,
    analyst: ShareOption = None,
    number: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Only the answer that this charge paid for."),
    ] = None,
    before: Before = None,
    limit: Limit = "100",
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the answers that were kept, newest first, each with its whole question. Free.

    \b
    Example:
      discreet ledger answers budget.db --dataset survey
    """
    command = f"{_COMMAND} answers"
    page = _read_page(before, limit, command)
    with _opened(address, "answers", anchor_file) as book:
        # refuses a data set that the ledger does not have
        book.account(dataset)
        if number is not None:
            kept = [book.answer(_read_number(number, "--number", command))]
        else:
            kept = list(book.answers(dataset, analyst=analyst, **page))
    if as_json:
        print_json(json.dumps([answer_dict(one) for one in kept]))
        return
    console = terminal()
    console.print(answers_table(kept))
    _say_more(console, [one.charge for one in kept], page["limit"])


@ledger.command("close")
def close(
    address: LedgerArgument,
    dataset: BudgetOption,
    reason: ReasonOption,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Close the budget of a data set for good. Kept answers can still be read."""
    with _opened(address, "close", anchor_file) as book:
        book.close_budget(dataset, reason=reason)
        _show([book.account(dataset)], book, as_json)


@ledger.command("revoke")
def revoke(
    address: LedgerArgument,
    dataset: BudgetOption,
    analyst: Annotated[str, typer.Option(metavar="NAME", help="The analyst whose share it is.")],
    reason: ReasonOption,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Close the share of an analyst for good."""
    with _opened(address, "revoke", anchor_file) as book:
        book.revoke(dataset, analyst, reason=reason)
        _show([book.account(dataset, analyst=analyst)], book, as_json)


@ledger.command("verify")
def verify(
    address: LedgerArgument,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ANCHOR", help="A point of the chain that you kept elsewhere; repeatable."
        ),
    ] = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Check that no entry was edited, deleted, reordered or cut off, and that the sums are right.

    The last line is today's anchor. Keep it elsewhere and give it with --anchor, so that
    an older copy of the ledger is noticed.

    \b
    Example:
      discreet ledger verify budget.db
    """
    with _opened(address, "verify", anchor_file) as book:
        found = book.verify(*(anchor or ()))
    if as_json:
        print_json(json.dumps({"entries": found.entries, "anchor": str(found.anchor)}))
        return
    table = facts()
    table.add_row("verified", Text(f"{found.entries:,} entries, nothing wrong", style="bold green"))
    held = len(anchor or ()) + (read_anchor_file(anchor_file) is not None)
    table.add_row(
        "anchors", f"all {held} hold" if held else "none given: an older copy would go unnoticed"
    )
    console = terminal()
    console.print(table)
    console.print(f"anchor {found.anchor}", style="dim", soft_wrap=True)


@ledger.command("questions-left")
def questions_left(
    address: LedgerArgument,
    dataset: BudgetOption,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The epsilon of each question, with the default mechanism for the budget.",
        ),
    ] = None,
    pure: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The epsilon of each question instead, for permute-and-flip and other pure "
            "mechanisms.",
        ),
    ] = None,
    analyst: ShareOption = None,
    window: WindowShareOption = None,
    anchor_file: AnchorFileOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how many more questions of a given epsilon the rest of the budget allows.

    \b
    Example:
      discreet ledger questions-left budget.db --dataset survey --epsilon 0.1
    """
    command = f"{_COMMAND} questions-left"
    require_one(command, {"--epsilon": epsilon, "--pure": pure})
    with _opened(address, "questions-left", anchor_file) as book:
        rule = book.account(dataset).rule
        if epsilon is not None:
            each = rule.question(number_option(epsilon, "--epsilon", command))
        else:
            each = read_loss(PureDP, pure or "", "--pure", command)
        left = book.questions_left(dataset, loss=each, analyst=analyst, window=window)
    if as_json:
        told = {"questions_left": left, "each": each.to_dict(), "dataset": dataset}
        print_json(json.dumps(told))
        return
    table = facts()
    table.add_row("questions left", Text(f"{left:,}", style="bold green"))
    table.add_row("", label_text(f"of {each!r} on {dataset}"))
    terminal().print(table)


def _read_page(before: str | None, limit: str, command: str) -> dict[str, Any]:
    return {
        "before": None if before is None else _read_number(before, "--before", command),
        "limit": _read_number(limit, "--limit", command),
    }


def _read_number(text: str, option: str, command: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise ParameterError(option, "a whole number above 0", text, owner=command)
    return int(text)


def _say_more(console: Any, charges: Sequence[Charge], limit: int) -> None:
    """Say how to see earlier charges."""
    if len(charges) == limit:
        told = f"earlier ones: --before {charges[-1].number}"
        console.print(told, style="dim", soft_wrap=True)


def _all_charges(book: Ledger, dataset: str) -> list[Charge]:
    """All charges of a data set, oldest first, read page by page."""
    found: list[Charge] = []
    while page := book.history(
        dataset, before=found[-1].number if found else None, limit=_LARGEST_PAGE
    ):
        found += page
    return found[::-1]


def _show(accounts: list[Account], book: Any, as_json: bool) -> None:
    if as_json:
        print_json(json.dumps([account_dict(account) for account in accounts]))
        return
    console = terminal()
    console.print(accounts_table([AccountLine.of(account) for account in accounts], console.width))
    console.print(f"anchor {book.anchor()}", style="dim", soft_wrap=True)


@contextmanager
def _opened(
    address: str,
    what: str,
    anchor_file: str | None,
    *,
    create: bool = False,
    budget: Loss | None = None,
) -> Iterator[Ledger]:
    """Open a ledger; its errors about parameters name the options that were typed."""
    names = _OPTIONS | {"budget": "--rho" if isinstance(budget, ZCDP) else "--epsilon"}
    with (
        refusals_in(f"{_COMMAND} {what}", names),
        Ledger(address, create=create, anchor_file=read_anchor_file(anchor_file)) as book,
    ):
        yield book
