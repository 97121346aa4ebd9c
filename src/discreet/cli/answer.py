"""One answer, shown: as a panel or as JSON, and as a picture where one was asked for."""

from __future__ import annotations

from collections.abc import Callable

from discreet import Release
from discreet.cli.panel import selection_panel
from discreet.cli.picture import draw_answer, require_file, say_where
from discreet.cli.question import Asked, Question
from discreet.cli.terminal import print_json, terminal


def ask_and_show(
    question: Question,
    how: Callable[[Asked], Release],
    *,
    title: str,
    plot: str | None,
    as_json: bool,
    **typed: object,
) -> None:
    """Ask a question that has one answer and show that answer.

    title: of the picture.
    typed: as for `Question.ask`.
    """
    if plot is not None:
        require_file(plot, question.command)
    release = question.ask(how, **typed)
    # What was paid for is shown before anything else can go wrong.
    console = terminal()
    if as_json:
        print_json(release.to_json())
    else:
        console.print(selection_panel(release, about=question.facts(), who=question.who))
    if plot is not None:
        draw_answer(plot, release, title, question.command)
        if not as_json:
            say_where(console, plot)
