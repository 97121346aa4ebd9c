"""The application: the table of commands, and how every error becomes one line and an
exit code.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import discreet
from discreet.cli.terminal import complain, control_c, prepare_streams
from discreet.versions import require

_NUMBER = re.compile(r"[+-]?[0-9.][0-9./eE+-]*")
BAD_REQUEST, INTERNAL_ERROR, INTERRUPTED = 2, 1, 130

_HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
# Plain help rather than Rich panels: it reads the same in every version of Typer, so the
# manual can quote it word for word.
application = typer.Typer(
    name="discreet",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)


# The commands in the order of the help: the module of each and the first sentence of its
# own help. Each is imported when it is called, because to import all of them takes longer
# than to run most of them.
COMMANDS = {
    "top-k": ("questions", "Pick the k values that most people have, in order."),
    "mode": ("questions", "Pick the value that most people have."),
    "counts": ("questions", "Count the people who have each value, with noise."),
    "count": (
        "questions",
        "Count the people in a table, or its rows if each is protected by itself, with noise.",
    ),
    "best-price": ("questions", "Pick the price that earns the most."),
    "quantile": (
        "questions",
        "Pick the median or another quantile, from the points of a public grid.",
    ),
    "quantiles": ("questions", "Pick several quantiles for one price, in ascending order."),
    "fit": ("questions", "Fit models to columns of a table: components, regressions, a center."),
    "ask": ("ask", "Ask all questions of a file, after showing what they cost together."),
    "scores": ("scores", "Files of scores: pick the best candidates, or see how likely each is."),
    "choose-epsilon": ("accuracy", "Show how accurate a question is at each epsilon."),
    "preview": ("accuracy", "Show what private answers look like, on made-up data."),
    "error-bound": ("accuracy", "Show how far the chosen score can be behind the best."),
    "privatize": ("local_reports", "Write a noisy report for each row, instead of its value."),
    "estimate": ("local_reports", "Show the share of each category, from many noisy reports."),
    "compose": ("accounting", "Show what many releases cost together, by every analysis."),
    "plan": ("accounting", "Show the epsilon that each of many queries may have."),
    "queries-allowed": ("accounting", "Show how many queries fit a budget, by every analysis."),
    "audit": ("audit", "Look for a violation of a privacy claim in any selection code."),
    "serve": ("serve", "Serve published data sets to a team: an API and a page."),
    "explore": ("serve", "Ask a file of your own on a page in the browser."),
    "demo": ("demo", "Ask questions about a bundled table, and show what each answer costs."),
    "ledger": ("ledger", "Open durable budgets, see what is left, and verify them."),
}
_PLAIN = (bool, str, list[str])
# modules whose commands open tables
_OPEN_TABLES = frozenset({"ask", "demo", "questions", "serve"})


class LateCommand(TyperCommand):
    """A command whose name and summary are known, and which is imported when it is called."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name=name, help=summary)
        self._function, self._module = name.replace("-", "_"), module

    @cached_property
    def command(self) -> Any:
        """The command itself, as Typer builds it from its signature."""
        if self._module in _OPEN_TABLES:
            require("duckdb")
            require("narwhals")
        with _no_collection():
            return self._built()

    def _built(self) -> Any:
        module = import_module(f"discreet.cli.commands.{self._module}")
        found = getattr(module, self._function)
        alone = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=self.name)
        else:
            alone.command(self.name)(found)
        (command,) = typer.main.get_group(alone).commands.values()
        _take_text_as_it_is(command)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], *others: Any, **extra: Any
    ) -> Any:
        """What Typer calls first to run a command, to show its help and to complete it."""
        command = self.command
        pairs = _pair_options(command)
        return command.make_context(info_name, joined(args, pairs), *others, **extra)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage while modules are loaded: there is none, and to look takes a tenth of
    the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _AsTyped:
    """Takes what was typed as it is, without Pydantic, whose import takes longer than most of
    what a command does.
    """

    @staticmethod
    def coerce(value: Any, **_: Any) -> Any:
        """The value itself; a list for an option that may be repeated."""
        return [*value] if isinstance(value, tuple) else value


def _take_text_as_it_is(command: Any) -> None:
    """Convert neither text nor flags, in this command and those below it."""
    # made here, because it would be made later
    help = command.get_help_option(typer.Context(command, **_HELP))
    for each in (*command.params, help):
        descriptor = getattr(each, "type_descriptor", None)
        if getattr(descriptor, "annotation", None) in _PLAIN and hasattr(each, "_runtime_param"):
            each._runtime_param = _AsTyped
    for below in getattr(command, "commands", {}).values():
        _take_text_as_it_is(below)


def _pair_options(command: Any) -> set[str]:
    """The options of a command, and of those below it, that take a pair: `LOW,HIGH`."""
    found = {
        name
        for each in command.params
        if (each.metavar or "").count(",") == 1
        for name in each.opts
    }
    return found.union(*map(_pair_options, getattr(command, "commands", {}).values()))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"discreet {discreet.__version__}")
        raise typer.Exit


# without line breaks, because Typer wraps the help and would keep them
_ABOUT = (
    "Publish the winner, the top ten or the median of data about people. Nobody can tell "
    "from the answer whether any one person was in the data."
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
    """All commands, once for each thread, because Typer keeps the options of a call there
    for a moment.
    """

    def __init__(self) -> None:
        group: Any = typer.main.get_command(application)
        _take_text_as_it_is(group)
        for name, (module, summary) in COMMANDS.items():
            group.add_command(LateCommand(name, module, summary))
        self.command: Callable[..., Any] = group


_built = _Built()


def joined(words: Sequence[str], pairs: Container[str]) -> list[str]:
    """The words of a command line, with `--bounds -60 300` as `--bounds=-60,300`.

    pairs: the options that take two values.

    >>> joined(["demo:visits", "--bounds", "-60", "300", "--step", "1"], ["--bounds"])
    ['demo:visits', '--bounds=-60,300', '--step', '1']
    """
    left, result = list(words), list[str]()
    while left:
        word = left.pop(0)
        if word in pairs and len(left) > 1 and all(map(_is_half, left[:2])):
            word = f"{word}={left.pop(0)},{left.pop(0)}"
        result.append(word)
    return result


def _is_half(word: str) -> bool:
    """Whether a word can be one of two values: a pair has a comma, and an option a dash."""
    return _NUMBER.fullmatch(word) is not None or not ("," in word or word.startswith("-"))


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
            result = _built.command([*arguments], prog_name="discreet", standalone_mode=False)
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


def _with_the_nearest(error: Any) -> str:
    """The message of an error of Typer's; of an unknown option, with the one that was meant."""
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if name is None or context is None or not hasattr(error, "possibilities"):
        return str(error.format_message())
    known = [each for parameter in context.command.params for each in parameter.opts]
    near = get_close_matches(name, known, 1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    return f"No such option '{name}'.{meant}"


def _unforeseen(error: Any) -> int:
    # Typer's own errors (an unknown option, a missing argument) are public. Their class
    # moved between versions of Typer, the method did not.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "discreet"
        message = _with_the_nearest(error)
        complain(f"{message}{'' if message.endswith(('.', '?')) else '.'} Try '{command} --help'.")
        return BAD_REQUEST
    if isinstance(error, ArithmeticError):
        complain("The numbers in this request are too large or too small to compute with.")
        return BAD_REQUEST
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        complain(
            "No space is left on the device. If a ledger paid for the answer, it is kept there: "
            "discreet ledger answers shows it."
        )
        return INTERNAL_ERROR
    complain(
        f"An unexpected {type(error).__name__}. Its text is not shown, because it may depend on "
        "the data. Please report it."
    )
    return INTERNAL_ERROR
