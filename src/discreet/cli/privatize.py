"""`discreet privatize`: a noisy report for each row, to hand out instead of the value."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable
from typing import Annotated, TextIO

import typer

from discreet import ParameterError
from discreet.cli.promise import factor
from discreet.cli.reports import (
    COLUMN,
    CategoriesOption,
    LocalMechanism,
    LocalMechanismName,
    Size,
    as_texts,
    make_local,
    read_column,
)
from discreet.cli.request import Acknowledge, DataFile, Epsilon
from discreet.cli.terminal import facts, terminal

_COMMAND = "discreet privatize"


def privatize(
    file: DataFile,
    column: Annotated[str, typer.Option(metavar="COLUMN", help="The column with each person's category.")],
    categories: CategoriesOption,
    epsilon: Epsilon,
    mechanism: LocalMechanismName = "subset",
    size: Size = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the reports to this CSV file.")
    ] = None,
    acknowledge: Acknowledge = None,
) -> None:
    """Write a noisy report for each row, instead of its value.

    Each row is one person. Whoever sees the reports learns the shares of the categories, and next to nothing about a person. Every
    report costs its person epsilon, so run it once: a second report of the same value costs epsilon again.

    \b
    Examples:
      discreet privatize answers.csv --column answer \\
          --categories yes,no,maybe --epsilon 1 -o reports.csv
      discreet privatize visits.csv --column page --categories pages.txt \\
          --epsilon 2 --mechanism rappor -o reports.csv
    """
    chosen = make_local(mechanism, categories, epsilon, size, acknowledge, _COMMAND)
    if output is not None:
        _require_writable(output)
    values = read_column(file, column, "FILE", _COMMAND)
    try:
        reports = chosen.privatize(values)
    except ParameterError as error:
        rule = f"a column whose values are all {error.rule}"
        raise ParameterError(_COMMAND, "--column", rule, error.got, error.hint) from None
    _write(as_texts(reports, chosen), output)
    if output is not None:
        _show(chosen, len(reports), output)


def _require_writable(file: str) -> None:
    folder = os.path.dirname(file) or os.curdir
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise _unwritable(file)


def _write(texts: Iterable[str], output: str | None) -> None:
    if output is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        _write_rows(texts, sys.stdout)
        return
    try:
        with open(output, "w", encoding="utf-8", newline="") as file:
            _write_rows(texts, file)
    except OSError:
        raise _unwritable(output) from None


def _write_rows(texts: Iterable[str], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([COLUMN])
    writer.writerows([text] for text in texts)


def _unwritable(file: str) -> ParameterError:
    return ParameterError(_COMMAND, "--output", "a file that you may write, in a folder that exists", file)


def _show(mechanism: LocalMechanism, reports: int, output: str) -> None:
    loss = mechanism.privacy_loss()
    table = facts()
    table.add_row("reports", f"{reports:,}")
    table.add_row("privacy loss", f"{loss!r} for each person")
    table.add_row("mechanism", mechanism.name)
    table.add_row("categories", f"{len(mechanism.categories):,}")
    (epsilon,) = loss.numbers
    table.add_row("promise", f"No value makes any report more than {factor(epsilon)} times as likely as another value.")
    console = terminal()
    console.print(table)
    console.print(f"The reports are in {output}", style="dim", markup=False, soft_wrap=True)
