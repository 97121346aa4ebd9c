"""`discreet audit`: look for a violation in anybody's selection code."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, GaussianDP, Loss, ParameterError, PureDP
from discreet.accounting import LogisticDP
from discreet.auditing import AuditReport
from discreet.cli.options import AsJson, number_option, read_loss
from discreet.cli.plot_option import plot_option, require_picture_file, write_picture
from discreet.cli.stated import Nothing, Typed, parameters_of, stated_command
from discreet.cli.terminal import facts, label_text, print_json, terminal

_COMMAND = "discreet audit"
_TARGET = "MODULE:NAME"
FOUND = 3
"""The exit code if the audit finds something."""

_KINDS: dict[str, type[Loss]] = {
    kind.kind: kind for kind in (PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP)
}
_HALF_WIDTH = 18
_WAYS = {
    "law": "exact, by its probabilities",
    "tapes": "the program on every tape",
    "draws": "black box",
    "time": "running time",
}


_OPTIONS = parameters_of(
    discreet.auditing.audit,
    without=("claim", "sensitivity", "monotonic", "extremes", "pairs", "progress"),
)


@stated_command(_COMMAND, _OPTIONS, mechanism=_TARGET)
def audit(
    typed: Typed,
    target: Annotated[
        str,
        typer.Argument(
            metavar=_TARGET,
            help="A function from scores to an answer, or a mechanism, in a Python module.",
        ),
    ],
    claim: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:NUMBER",
            help="What it claims: pure-dp:1, bounded-range:0.5, logistic-dp:1, zcdp:0.1 or "
            "approx-dp:1,1e-6.",
        ),
    ] = None,
    sensitivity: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The most that one person can move one score."),
    ] = None,
    monotonic: Annotated[
        bool,
        typer.Option(
            "--monotonic",
            help="One person moves all scores in the same direction, as with counts. Without it, "
            "code that is right only for counts is reported as a violation.",
        ),
    ] = False,
    no_extremes: Annotated[
        bool,
        typer.Option(
            "--no-extremes",
            help="Leave out scores at which floats break: 2^53, uint8, NaN. They have their own "
            "verdict.",
        ),
    ] = False,
    plot: Annotated[str | None, plot_option("the loss of each answer")] = None,
    as_json: AsJson = False,
) -> int:
    """Look for a violation of a privacy claim in any selection code.

    The code is a function that takes a list of scores, and perhaps a NumPy generator as
    rng, and returns what it would publish. One person moves each score by up to 1, unless
    --sensitivity says otherwise. There are two verdicts: one for ordinary scores, then one
    for scores at which floats break. The exit code is 3 if anything was found, so that a
    build fails.

    \b
    Example:
      discreet audit discreet.cli.data.planted:noisy_max --claim pure-dp:1
    """
    require_picture_file(plot, _COMMAND)
    mechanism = _load(target)
    stated = typed.values()
    if sensitivity is not None:
        stated["sensitivity"] = number_option(sensitivity, "--sensitivity", _COMMAND)
    with (
        _progress(quiet=as_json) as progress,
        typed.in_these_words(claim=Nothing() if claim is None else claim, sensitivity=sensitivity),
    ):
        report = discreet.auditing.audit(
            mechanism,
            claim=_read_claim(claim),
            monotonic=monotonic or None,
            extremes=False if no_extremes else None,
            progress=progress,
            **stated,
        )
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    if plot is not None:
        write_picture(plot, report.plot(), _COMMAND, quiet=as_json)
    return 0 if report.passed else FOUND


def _load(target: str) -> Any:
    """Import what MODULE:NAME names; the current folder comes first, as for `python -m`."""
    module, colon, name = target.partition(":")
    rule = "MODULE:NAME, such as mylibrary.selection:noisy_max"
    # a relative module name would have no package to be relative to
    if not (colon and module and name) or module.startswith("."):
        raise ParameterError(_TARGET, rule, target, owner=_COMMAND)
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ParameterError(
            _TARGET, "something that can be imported", target, f"{error}.", owner=_COMMAND
        ) from None
    except (Exception, SystemExit) as error:
        # the error's text may depend on data that the module reads
        rule = "in a module that can be imported"
        hint = f"The module raised {type(error).__name__}."
        raise ParameterError(_TARGET, rule, target, hint, owner=_COMMAND) from None
    finally:
        sys.path.remove(os.getcwd())
    return found


def _read_claim(text: str | None) -> Loss | None:
    if text is None:
        return None
    kind, colon, numbers = text.partition(":")
    if not colon or kind not in _KINDS:
        raise ParameterError(
            "--claim", f"one of {', '.join(_KINDS)}, a colon and its numbers", text, owner=_COMMAND
        )
    return read_loss(_KINDS[kind], numbers, "--claim", _COMMAND)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
    """A progress bar if the output is a terminal; otherwise nothing."""
    console = Console(stderr=True)
    if quiet or not console.is_interactive:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Auditing", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _show(report: AuditReport) -> None:
    console = terminal()
    console.print(Text(report.verdict, style="bold red" if report.findings else "bold green"))
    table = facts()
    table.add_row("audited", label_text(report.subject))
    table.add_row("claim", repr(report.claim))
    table.add_row("neighbours", report.neighbours)
    table.add_row("confidence", f"{report.confidence:g}")
    for finding in report.findings:
        table.add_row("found", label_text(f"{finding.kind}: {finding.summary}"))
    for hazard in report.hazards:
        table.add_row("hazard", label_text(hazard))
    for share, loss in report.power:
        words = "no loss" if loss is None else f"{loss:.3g} or more"
        table.add_row(
            "power", f"{words} would be found 9 times in 10, by an event of probability {share:g}"
        )
    console.print(table)
    for verdict in report.verdicts:
        console.print()
        color = "red" if verdict.violated else "green"
        console.print(Text(f"{verdict.scores.capitalize()} scores", style="bold"))
        console.print(Text(verdict.sentence, style=color if verdict.tried else "dim"))
        lines = facts()
        for name, value in verdict.lines():
            lines.add_row(name, label_text(value))
        console.print(lines)
    console.print()
    console.print(_ways(report))
    if report.bars:
        console.print()
        console.print(_picture(report))
    console.print(
        "Finding nothing is no proof. What was found holds with the stated confidence."
        if report.passed
        else "To repeat it, use the seed and the inputs above, or Witness.replay.",
        style="dim",
    )


def _ways(report: AuditReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("tried", style="dim")
    for heading in ("neighbours", "draws", "largest loss", "seconds"):
        table.add_column(heading, justify="right")
    for way in report.tried:
        largest = "none" if way.largest is None else f"{way.largest:.4g}"
        words = f"{_WAYS[way.how]} ({way.note})" if way.note else _WAYS[way.how]
        table.add_row(words, f"{way.pairs:,}", f"{way.draws:,}", largest, f"{way.seconds:.1f}")
    return table


def _picture(report: AuditReport) -> Table:
    """A table of the loss of each answer as a bar from zero, with marks at the claim."""
    stated = float(report.claim.numbers[0])
    losses = [math.log((bar.counts.first + 0.5) / (bar.counts.second + 0.5)) for bar in report.bars]
    widest = max([stated, *map(abs, losses)])
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("answer", overflow="ellipsis", no_wrap=True, max_width=24)
    table.add_column(f"log of first to second, within ±{widest:.2g}", no_wrap=True)
    for bar, loss in zip(report.bars, losses, strict=True):
        table.add_row(label_text(bar.answer), _line(loss, stated, widest))
    return table


def _line(loss: float, stated: float, widest: float) -> Text:
    cells = [" "] * (2 * _HALF_WIDTH + 1)
    length = round(abs(loss) / widest * _HALF_WIDTH)
    for place in range(length + 1):
        cells[_HALF_WIDTH + (place if loss > 0 else -place)] = "█"
    cells[_HALF_WIDTH] = "│"
    claimed = round(stated / widest * _HALF_WIDTH)
    for place in (-claimed, claimed):
        if cells[_HALF_WIDTH + place] == " ":
            cells[_HALF_WIDTH + place] = "┊"
    return Text("".join(cells) + f" {loss:+.2f}", style="red" if abs(loss) > stated else "")
