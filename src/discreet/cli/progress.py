"""How far a long scan is, on a terminal; nothing for a short one, and nothing where nobody looks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_PATIENCE = 1.0  # seconds: what is done by then needs no bar
_INTERVAL = 0.1
_SETTINGS = "set enable_progress_bar = true; set enable_progress_bar_print = false"  # it counts, but does not draw by itself


class Scan:
    """What is being read, as soon as that is known."""

    def __init__(self) -> None:
        self._connection: Any = None

    def watch(self, session: Any) -> None:
        """Ask DuckDB from now on how far it is. Other engines do not tell."""
        connection = session._table.connection  # no public name: only a bar on a terminal has a use for it
        if not hasattr(connection, "query_progress"):  # another engine, or an old DuckDB
            return
        try:
            connection.execute(_SETTINGS)
        except Exception:  # a bar is not worth an error
            return
        self._connection = connection

    def share(self) -> float | None:
        """Which part of the scan is done, if anybody knows."""
        if self._connection is None:
            return None
        try:
            percent = float(self._connection.query_progress())
        except Exception:  # nothing that goes wrong with the bar may show
            return None
        return percent / 100 if percent >= 0 else None


@contextmanager
def scanning(words: str, *, quiet: bool) -> Iterator[Scan]:
    """Show after a moment how far it is, until it is done. Not where the answer is for another program: `quiet`, or a pipe."""
    console, scan = Console(stderr=True), Scan()
    if quiet or not (console.is_interactive and Console().is_interactive):
        yield scan
        return
    done = threading.Event()
    viewer = threading.Thread(target=_show, args=(words, scan, done, console), daemon=True)
    viewer.start()
    try:
        yield scan
    finally:
        done.set()
        viewer.join()


def _show(words: str, scan: Scan, done: threading.Event, console: Console) -> None:
    """Draw the bar until it is done, then take it away."""
    if done.wait(_PATIENCE):
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[percent]}"), TimeElapsedColumn())
    # refreshed by this thread: one of rich's own would outlive the bar for a moment
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task, furthest = progress.add_task(words, total=None, percent=""), 0.0
        while not done.wait(_INTERVAL):
            share = scan.share()
            if share is not None and share > furthest:  # an engine may change its mind; a bar does not go back
                furthest = min(share, 1.0)
                progress.update(task, total=1.0, completed=furthest, percent=f"{furthest:.0%}")
            progress.refresh()
