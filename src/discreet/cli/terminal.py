"""The terminal: what is written to it and how, numbers and labels as text, and a
progress bar for long scans.
"""

from __future__ import annotations

import io
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from types import FrameType
from typing import Any

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet import EngineError
from discreet.errors import escaped

# longer lines are hard to read
_WIDTH = 80
_BEST = "green"


def prepare_streams() -> None:
    """Let a terminal without Unicode show question marks rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def terminal() -> Console:
    """A console for the standard output.

    Rich leaves out colours if the output is no terminal or NO_COLOR is set. Text is
    shown as it is: a name such as [red] or :smile: is neither markup nor an emoji.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, _WIDTH)
    return console


def note_uncharged() -> None:
    """If DISCREET_LEDGER is set, say that a question to a file of scores is charged nowhere."""
    if os.environ.get("DISCREET_LEDGER"):
        print(
            "Note: questions about a file of scores are not charged to any ledger, not even to "
            "DISCREET_LEDGER.",
            file=sys.stderr,
        )


def complain(message: str) -> None:
    """Write one line to the standard error stream. Nothing in it controls the terminal."""
    print("Error:", escaped(" ".join(message.split())), file=sys.stderr)


@contextmanager
def control_c() -> Iterator[None]:
    """Raise KeyboardInterrupt after Ctrl-C, even if an engine turns it into its own error."""
    # only the main thread of Python gets signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    except EngineError:
        if pressed.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def working(words: str) -> Iterator[None]:
    """Say on a terminal what is being done, until it is done; elsewhere say nothing."""
    # the standard output may be read by another program
    console = Console(stderr=True)
    if not console.is_interactive:
        yield
        return
    with console.status(words):
        yield


def print_json(text: str) -> None:
    """Write one line of JSON, which is UTF-8 whatever the terminal prefers. It is read back as
    it was, and nothing in it controls the terminal.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(escaped(text))


def label_text(label: object, style: str = "") -> Text:
    """A label as it is; one with control characters is quoted, so that it cannot
    control the terminal.
    """
    text = str(label)
    return Text(text if text.isprintable() else repr(text), style=style)


def probability_text(log_probability: float) -> str:
    """A probability as text, from its natural logarithm: in percent, or with an
    exponent if the percentage would be shown as zero.

    >>> import math
    >>> [probability_text(math.log(p)) for p in (1, 0.25, 0.000123)], probability_text(-10000)
    (['100.00%', '25.00%', '1.2e-04'], '1.1e-4343')
    """
    if log_probability > math.log(0.0005):
        return f"{100 * math.exp(log_probability):.2f}%"
    exponent = math.floor(log_probability / math.log(10))
    mantissa = math.exp(log_probability - exponent * math.log(10))
    if f"{mantissa:.1f}" == "10.0":
        mantissa, exponent = 1.0, exponent + 1
    return f"{mantissa:.1f}e{exponent:+03d}"


def bar(log_probability: float, width: int, *, picked: bool = False) -> Bar:
    """A bar for a probability, whose full width means certainty."""
    return Bar(
        size=1.0,
        begin=0.0,
        end=math.exp(log_probability),
        width=width,
        color=_BEST if picked else "default",
    )


def round_up(value: float | Fraction, digits: int = 6) -> str:
    """A bound to this many digits, never shown smaller than it is.

    >>> (
    ...     round_up(36.841361),
    ...     round_up(0.0),
    ...     round_up(2.0),
    ...     round_up(1234567.8),
    ...     round_up(18.420680743952367, 3),
    ... )
    ('36.8414', '0', '2', '1234570', '18.5')
    """
    return _rounded(Fraction(value), digits, ROUND_CEILING)


def round_down(value: float | Fraction, digits: int = 6) -> str:
    """A budget to this many digits, never shown larger than it is.

    >>> round_down(Fraction(2, 3)), round_down(Fraction(1, 10)), round_down(Fraction(2, 3000000))
    ('0.666666', '0.1', '6.66666e-7')
    """
    return _rounded(Fraction(value), digits, ROUND_FLOOR)


def _rounded(value: Fraction, digits: int, direction: str) -> str:
    if value == 0:
        return "0"
    with localcontext(prec=digits, rounding=direction):
        rounded = Decimal(value.numerator) / Decimal(value.denominator)
    return (
        f"{rounded.normalize():f}" if -4 <= rounded.adjusted() < 15 else f"{rounded.normalize():e}"
    )


def facts() -> Table:
    """An empty table of names and values, without lines."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


# seconds; a scan that ends before needs no bar
_PATIENCE = 1.0
_INTERVAL = 0.1
# DuckDB counts its progress, but does not draw a bar of its own
_SETTINGS = "set enable_progress_bar = true; set enable_progress_bar_print = false"
Wait = Callable[[threading.Event, float], bool]
"""Wait for an event for some seconds, and say whether it was set."""


class Scan:
    """The scan of a session, which is known once the session is open."""

    def __init__(self) -> None:
        self._connection: Any = None

    def watch(self, session: Any) -> None:
        """Ask DuckDB about the progress of this session. Other engines do not tell theirs."""
        # the connection has no public name, because only this bar needs it
        connection = session._runner.table.connection
        # another engine, or an old DuckDB
        if not hasattr(connection, "query_progress"):
            return
        try:
            connection.execute(_SETTINGS)
        except Exception:
            # a bar is not worth an error
            return
        self._connection = connection

    def share(self) -> float | None:
        """The share of the scan that is done; None if it is not known."""
        if self._connection is None:
            return None
        try:
            percent = float(self._connection.query_progress())
        except Exception:
            # an error about the bar must not disturb the question
            return None
        return percent / 100 if percent >= 0 else None


@contextmanager
def scanning(
    words: str, *, quiet: bool, wait: Wait = lambda done, seconds: done.wait(seconds)
) -> Iterator[Scan]:
    """Show a progress bar if a scan takes more than a moment. There is none if the
    answer is for another program: with `quiet`, or in a pipe.

    wait: how time passes between two looks at the scan.
    """
    console, scan = Console(stderr=True), Scan()
    if quiet or not (console.is_interactive and Console().is_interactive):
        yield scan
        return
    done = threading.Event()
    viewer = threading.Thread(target=_show, args=(words, scan, done, console, wait), daemon=True)
    viewer.start()
    try:
        yield scan
    finally:
        done.set()
        viewer.join()


def _show(words: str, scan: Scan, done: threading.Event, console: Console, wait: Wait) -> None:
    """Draw the bar until the scan is done, then remove it."""
    if wait(done, _PATIENCE):
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[percent]}"),
        TimeElapsedColumn(),
    )
    # refreshed by this thread, because Rich's own thread would outlive the bar
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task, furthest = progress.add_task(words, total=None, percent=""), 0.0
        while not wait(done, _INTERVAL):
            share = scan.share()
            # an engine may correct its estimate, but the bar never goes back
            if share is not None and share > furthest:
                furthest = min(share, 1.0)
                progress.update(task, total=1.0, completed=furthest, percent=f"{furthest:.0%}")
            progress.refresh()
