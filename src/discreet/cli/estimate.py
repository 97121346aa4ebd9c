"""`discreet estimate`: the shares of the categories, from a file of reports."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.bar import Bar
from rich.table import Table

from discreet import ParameterError
from discreet.cli.picture import require_file, say_where
from discreet.cli.reports import (
    COLUMN,
    CategoriesOption,
    LocalMechanism,
    LocalMechanismName,
    Size,
    as_reports,
    make_local,
    read_column,
)
from discreet.cli.request import Acknowledge, AsJson, Epsilon
from discreet.cli.terminal import label_text, print_json, terminal
from discreet.plots.pictures import FORMATS, save
from discreet.plots.reports import shares_figure

_COMMAND = "discreet estimate"


def estimate(
    reports: Annotated[
        str, typer.Argument(metavar="REPORTS", help="What discreet privatize has written; or - for standard input.")
    ],
    categories: CategoriesOption,
    epsilon: Epsilon,
    mechanism: LocalMechanismName = "subset",
    size: Size = None,
    column: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the reports.")] = COLUMN,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help=f"Draw the shares into a file: {', '.join(FORMATS)}."),
    ] = None,
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Show the share of each category, from many noisy reports.

    Give the same categories, in the same order, and the same epsilon, mechanism and size as for the reports. Nothing private is
    read, so this costs nothing and may be repeated. A rare category may get a share below zero: that is noise.

    \b
    Example:
      discreet estimate reports.csv --categories yes,no,maybe --epsilon 1
    """
    chosen = make_local(mechanism, categories, epsilon, size, acknowledge, _COMMAND)
    if plot is not None:
        require_file(plot, _COMMAND)
    texts = read_column(reports, column, "REPORTS", _COMMAND)
    if not texts:
        raise ParameterError(_COMMAND, "REPORTS", "a file with at least one report", reports)
    shares = chosen.estimate(as_reports(texts, chosen, _COMMAND))
    errors = chosen.standard_error(len(texts), shares)
    console = terminal()
    if as_json:
        print_json(_as_json(chosen, len(texts), shares, errors))
    else:
        console.print(_table(chosen, shares, errors))
        console.print(_footnote(chosen, len(texts)), style="dim", soft_wrap=False)
    if plot is not None:
        _draw(plot, chosen, len(texts), shares, errors)
        if not as_json:
            say_where(console, plot)


def _table(mechanism: LocalMechanism, shares: NDArray[np.float64], errors: NDArray[np.float64]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("category", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("± error", justify="right", no_wrap=True)
    table.add_column()
    for label, share, error in zip(mechanism.categories, shares, errors, strict=True):
        bar = Bar(size=1.0, begin=0.0, end=float(np.clip(share, 0, 1)), width=24)
        table.add_row(label_text(label), f"{100 * share:.2f} %", f"{100 * error:.2f} %", bar)
    return table


def _footnote(mechanism: LocalMechanism, reports: int) -> str:
    return (
        f"{reports:,} report{'' if reports == 1 else 's'} by {mechanism.name}, {mechanism.privacy_loss()!r} for each person. "
        "The error is one standard deviation of the reports' noise; two thirds of the shares are within it."
    )


def _as_json(mechanism: LocalMechanism, reports: int, shares: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    fields: dict[str, Any] = {
        "mechanism": mechanism.name,
        "loss": mechanism.privacy_loss().to_dict(),
        "reports": reports,
        "categories": list(mechanism.categories),
        "shares": shares.tolist(),
        "standard_errors": errors.tolist(),
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)


def _draw(
    file: str, mechanism: LocalMechanism, reports: int, shares: NDArray[np.float64], errors: NDArray[np.float64]
) -> None:
    note = f"{reports:,} reports, {mechanism.name}, {mechanism.privacy_loss()!r} for each person"
    try:
        save(shares_figure(mechanism.categories, shares, errors, note=note), file)
    except OSError:
        raise ParameterError(_COMMAND, "--plot", "a file that you may write, in a folder that exists", file) from None
