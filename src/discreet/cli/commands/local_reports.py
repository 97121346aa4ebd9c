"""`discreet privatize` makes reports of values, and `discreet estimate` shares of reports."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from numpy.typing import NDArray
from rich.bar import Bar
from rich.table import Table

from discreet import ParameterError
from discreet.cli.options import AsJson, DataFile, require_writable, write_new
from discreet.cli.plot_option import plot_option, require_picture_file, write_picture
from discreet.cli.reports import (
    LOCAL,
    CategoriesOption,
    ReportMechanism,
    as_reports,
    as_texts,
    header,
    make_local,
    read_column,
    read_reports,
)
from discreet.cli.show import factor
from discreet.cli.stated import Typed, stated_command
from discreet.cli.terminal import facts, label_text, print_json, terminal
from discreet.rendering import analyses
from discreet.rendering.picture import Picture

_PRIVATIZE = "discreet privatize"

_ESTIMATE = "discreet estimate"


@stated_command(_PRIVATIZE, LOCAL)
def privatize(
    typed: Typed,
    file: DataFile,
    column: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with each person's category.")
    ],
    categories: CategoriesOption,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the reports to this CSV file."),
    ] = None,
) -> None:
    """Write a noisy report for each row, instead of its value.

    Each row is one person. Whoever sees the reports learns the shares of the
    categories, and next to nothing about a person. Every report costs its person
    epsilon, so run it once: a second report of the same value costs epsilon again.

    \b
    Examples:
      discreet privatize demo:answers --column answer \\
          --categories yes,no,maybe --epsilon 1 -o noisy-reports.csv
      discreet privatize demo:answers --column answer \\
          --categories yes,no,maybe --epsilon 2 --mechanism rappor -o rappor.csv
    """
    chosen = make_local(typed, categories)
    if output is not None:
        require_writable(output, "--output", _PRIVATIZE)
    values = read_column(file, column, "FILE", _PRIVATIZE)
    try:
        reports = chosen.privatize(values)
    except ParameterError as error:
        rule = f"a column whose values are all {error.rule}"
        raise ParameterError("--column", rule, error.got, error.hint, owner=_PRIVATIZE) from None
    _write(header(chosen), as_texts(reports, chosen), output)
    if output is not None:
        _show(chosen, len(reports), output)


def _write(head: str, texts: Iterable[str], output: str | None) -> None:
    if output is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        _write_rows(head, texts, sys.stdout)
        return
    written = io.StringIO(newline="")
    _write_rows(head, texts, written)
    write_new(output, written.getvalue().encode(), "--output", _PRIVATIZE)


def _write_rows(head: str, texts: Iterable[str], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([head])
    writer.writerows([text] for text in texts)


def _show(mechanism: ReportMechanism, reports: int, output: str) -> None:
    loss = mechanism.privacy_loss()
    table = facts()
    table.add_row("reports", f"{reports:,}")
    table.add_row("privacy loss", f"{loss!r} for each person")
    table.add_row("mechanism", mechanism.name)
    table.add_row("categories", f"{len(mechanism.categories):,}")
    (epsilon,) = loss.numbers
    table.add_row(
        "promise",
        f"Changing the value of a person changes the chance of any report by a factor of at most "
        f"{factor(epsilon)}.",
    )
    console = terminal()
    console.print(table)
    console.print(f"The reports are in {output}", style="dim", markup=False, soft_wrap=True)


@stated_command(_ESTIMATE, LOCAL)
def estimate(
    typed: Typed,
    reports: Annotated[
        str,
        typer.Argument(
            metavar="REPORTS", help="The output of discreet privatize, or - for standard input."
        ),
    ],
    categories: CategoriesOption,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the reports; by default, the one that privatize writes.",
        ),
    ] = None,
    plot: Annotated[str | None, plot_option("the shares")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the share of each category, from many noisy reports.

    Give the same categories, in the same order, and the same epsilon, mechanism and
    size as for the reports; where their header says otherwise, they are refused.
    Nothing private is read, so this costs nothing and may be repeated. A rare category
    may get a share below zero: that is noise.

    \b
    Example:
      discreet estimate demo:reports --categories yes,no,maybe --epsilon 1
    """
    chosen = make_local(typed, categories)
    require_picture_file(plot, _ESTIMATE)
    texts = read_reports(reports, column, chosen, _ESTIMATE)
    if not texts:
        raise ParameterError("REPORTS", "a file with at least one report", reports, owner=_ESTIMATE)
    shares = chosen.estimate(as_reports(texts, chosen, _ESTIMATE))
    errors = chosen.standard_error(len(texts), shares)
    if as_json:
        print_json(_as_json(chosen, len(texts), shares, errors))
    else:
        console = terminal()
        console.print(_table(chosen, shares, errors))
        console.print(_footnote(chosen, len(texts)), style="dim", soft_wrap=False)
    if plot is not None:
        picture = _picture(chosen, len(texts), shares, errors)
        write_picture(plot, picture, _ESTIMATE, quiet=as_json)


def _table(
    mechanism: ReportMechanism, shares: NDArray[np.float64], errors: NDArray[np.float64]
) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("category", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("± error", justify="right", no_wrap=True)
    table.add_column()
    for label, share, error in zip(mechanism.categories, shares, errors, strict=True):
        bar = Bar(size=1.0, begin=0.0, end=float(np.clip(share, 0, 1)), width=24)
        table.add_row(label_text(label), f"{100 * share:.2f}%", f"{100 * error:.2f}%", bar)
    return table


def _footnote(mechanism: ReportMechanism, reports: int) -> str:
    return (
        f"{reports:,} report{'' if reports == 1 else 's'} by {mechanism.name}, "
        f"{mechanism.privacy_loss()!r} for each person. The error is one standard deviation of "
        f"the noise; about two thirds of the shares are within it."
    )


def _as_json(
    mechanism: ReportMechanism,
    reports: int,
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> str:
    fields: dict[str, Any] = {
        "mechanism": mechanism.name,
        "loss": mechanism.privacy_loss().to_dict(),
        "reports": reports,
        "categories": list(mechanism.categories),
        "shares": shares.tolist(),
        "standard_errors": errors.tolist(),
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)


def _picture(
    mechanism: ReportMechanism,
    reports: int,
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> Picture:
    note = f"{reports:,} reports, {mechanism.name}, {mechanism.privacy_loss()!r} for each person"
    return analyses.shares(mechanism.categories, shares.tolist(), errors.tolist(), note=note)
