"""The application: the table of commands, and how every error becomes one line and an
exit code.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

import discreet
from discreet.cli.commands.accounting import compose, plan, queries_allowed
from discreet.cli.commands.accuracy import choose_epsilon, error_bound, preview
from discreet.cli.commands.audit import audit
from discreet.cli.commands.counting import best_price, count, counts, mode
from discreet.cli.commands.demo import demo
from discreet.cli.commands.fit import fit
from discreet.cli.commands.ledger import ledger
from discreet.cli.commands.local_reports import estimate, privatize
from discreet.cli.commands.quantile import quantile, quantiles
from discreet.cli.commands.scores import probabilities, select
from discreet.cli.commands.serve import explore, serve
from discreet.cli.commands.top_k import top_k
from discreet.cli.terminal import complain, control_c, prepare_streams

BAD_REQUEST, INTERNAL_ERROR, INTERRUPTED = 2, 1, 130

# Plain help rather than Rich panels: it reads the same in every version of Typer, so the
# manual can quote it word for word.
application = typer.Typer(
    name="discreet",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.command("top-k")(top_k)
application.command("mode")(mode)
application.command("counts")(counts)
application.command("count")(count)
application.command("best-price")(best_price)
application.command("quantile")(quantile)
application.command("quantiles")(quantiles)
application.add_typer(fit, name="fit")
application.command("select")(select)
application.command("probabilities")(probabilities)
application.command("choose-epsilon")(choose_epsilon)
application.command("preview")(preview)
application.command("error-bound")(error_bound)
application.command("privatize")(privatize)
application.command("estimate")(estimate)
application.command("compose")(compose)
application.command("plan")(plan)
application.command("queries-allowed")(queries_allowed)
application.command("audit")(audit)
application.add_typer(ledger, name="ledger")
application.command("serve")(serve)
application.command("explore")(explore)
application.command("demo")(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"discreet {discreet.__version__}")
        raise typer.Exit


# without line breaks, because Typer wraps the help and would keep them
_ABOUT = (
    "Pick the best of many options, from data about people, so that nobody can tell from the "
    "answer whether any one person was in the data."
)
_EXAMPLES = """
\b
Examples:
  discreet demo
  discreet top-k demo:reads --column article --person reader -k 10 \\
      --epsilon 1 --candidates demo:articles
"""


@application.callback(invoke_without_command=True, help=f"{_ABOUT}\n{_EXAMPLES}")
def discreet_(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Show the help if no command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())


class _Built(threading.local):
    """All commands as Typer builds them from their signatures, which takes longer than
    most of them: once for each thread, because Typer keeps the options of a call there
    for a moment.
    """

    def __init__(self) -> None:
        self.command: Callable[..., Any] = typer.main.get_command(application)


_built = _Built()


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code. There is never a traceback,
    because the text of an unexpected error may depend on the data.
    """
    if sys.stdout is None:
        # before anything is charged: nobody would see the answer
        complain("The standard output must be open. Got one that is closed.")
        return BAD_REQUEST
    prepare_streams()
    try:
        with control_c():
            result = _built.command(list(arguments), prog_name="discreet", standalone_mode=False)
        sys.stdout.flush()
    except discreet.DiscreetError as error:
        complain(str(error))
        return BAD_REQUEST
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The program that read the output has ended (`discreet demo | head`). Without this,
        # Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERNAL_ERROR
    except Exception as error:
        return _unforeseen(error)
    return result if isinstance(result, int) else 0


def _unforeseen(error: Any) -> int:
    # Typer's own errors (an unknown option, a missing argument) are public. Their class
    # moved between versions of Typer, the method did not.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "discreet"
        message = str(error.format_message())
        complain(f"{message}{'' if message.endswith(('.', '?')) else '.'} Try '{command} --help'.")
        return BAD_REQUEST
    if isinstance(error, ArithmeticError):
        complain(
            "The numbers of this request are too large or too small, taken together, to compute "
            "with."
        )
        return BAD_REQUEST
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        complain(
            "No space is left on the device that was to be written to. If a ledger paid for an "
            "answer, the answer is kept there: discreet ledger answers shows it."
        )
        return INTERNAL_ERROR
    complain(
        f"An unexpected {type(error).__name__}. Its text is not shown, because it may depend on "
        "the data. Please report it."
    )
    return INTERNAL_ERROR
