"""`discreet demo`: the stories, told with real draws on made-up data."""

from __future__ import annotations

from fractions import Fraction
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import PermuteAndFlip, Release
from discreet.cli.promise import factor
from discreet.cli.stories import STORIES, Story
from discreet.cli.table import Label, read_scores
from discreet.cli.terminal import bar, facts, label_text, probability_text, terminal

_COMMAND = "discreet demo"
_DATA = files("discreet.cli.data")
_SHOWN = 5  # candidates in each chart
_FAILURE_PROBABILITY = Fraction("0.01")
_WELCOME = (
    "discreet picks the best of many options, from data about people, so that nobody can tell from the answer whether any "
    "one person was in the data. It draws the answer with odds that no person can change by more than a factor e^epsilon. "
    "Everybody below is made up, so this demo may show what must stay hidden for real people: the scores, and how likely "
    "each answer was."
)
_NEXT = """\
discreet probabilities terrier=41 husky=38 corgi=12 --epsilon 1 \\
    --sensitivity 1 --monotonic --mechanism all
discreet error-bound --candidates 100 --epsilon 0.5 --sensitivity 1 \\
    --failure-probability 0.01
discreet select YOUR-FILE.csv --label NAME --score VOTES --epsilon 1 \\
    --sensitivity 1 --monotonic
discreet --help"""


def demo() -> None:
    """Tell what private selection is, on made-up data.

    The answers are real draws, so they differ from run to run. Takes a second.

    \b
    Example:
      discreet demo
    """
    console = terminal()
    console.print(Panel(_WELCOME, title="discreet", title_align="left"))
    for number, story in enumerate(STORIES, start=1):
        tell(console, number, story)
    console.print()
    console.rule("[bold]What to try next", align="left")
    console.print()
    console.print(Text(_NEXT), soft_wrap=True)  # to be copied, so without line breaks or spaces of Rich's own
    with as_file(_DATA) as folder:
        console.print(f"\nThe tables of the stories are in {folder}", style="dim", markup=False, soft_wrap=True)


def tell(console: Console, number: int, story: Story) -> None:
    """One story: the question, what was picked, how likely each answer was, what the bound promised, what it cost."""
    with as_file(_DATA / story.file) as path:
        table = read_scores(str(path), label=story.label, score=story.score, command=_COMMAND)
    scores = {label: int(score) for label, score in table.items()}
    mechanism = _mechanism(story, monotonic=True)
    release = mechanism.release(scores)
    console.print()
    console.rule(f"[bold]{number}. {story.title}", align="left")
    for part in (
        Text(story.question),
        _outcome(story, release),
        _chart(story, scores, mechanism.log_probabilities(scores), release.value),
        _account(story, scores, mechanism, release),
        Text(story.lesson, style="italic"),
    ):
        console.print()
        console.print(part)


def _mechanism(story: Story, *, monotonic: bool) -> PermuteAndFlip:
    return PermuteAndFlip(epsilon=Fraction(story.epsilon), sensitivity=Fraction(story.sensitivity), monotonic=monotonic)


def _outcome(story: Story, release: Release) -> Text:
    command = Text(
        f"$ discreet select {story.file} --label {story.label} --score {story.score} \\\n"
        f"    --epsilon {story.epsilon} --sensitivity {story.sensitivity} --monotonic\n",
        style="cyan",
    )
    return command.append("Picked: ", style="default").append(str(release.value), style="bold green")


def _chart(story: Story, scores: dict[Label, int], logs: NDArray[np.float64], picked: Label) -> Table:
    """The likeliest answers, and the picked one wherever it is."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("answer")
    table.add_column(story.score.split("_")[0], justify="right")
    table.add_column("probability", justify="right")
    table.add_column("")
    order = sorted(range(len(scores)), key=lambda index: -logs[index])
    labels = list(scores)
    shown = order[:_SHOWN] + [index for index in order[_SHOWN:] if labels[index] == picked]
    for index in shown:
        label, chosen = labels[index], labels[index] == picked
        score = story.amount(scores[label]).removesuffix(" votes")
        table.add_row(
            "►" if chosen else "", label_text(label), score, probability_text(logs[index]), bar(logs[index], 30, picked=chosen)
        )
    rest = [index for index in order if index not in shown]
    if rest:
        together = float(np.logaddexp.reduce(logs[rest]))
        table.add_row("", f"{len(rest)} others", "", probability_text(together), bar(together, 30), style="dim")
    return table


def _account(story: Story, scores: dict[Label, int], mechanism: PermuteAndFlip, release: Release) -> Table:
    """What the bound promised, what came of it, and what it cost."""
    best = max(scores.values())
    behind = np.array([float(best - score) for score in scores.values()])
    average = float(behind @ mechanism.probabilities(scores))
    promised = mechanism.error_bound(len(scores), _FAILURE_PROBABILITY)
    general = _mechanism(story, monotonic=False).error_bound(len(scores), _FAILURE_PROBABILITY)
    expected = mechanism.expected_error_bound(len(scores))
    odds = factor(Fraction(story.epsilon))
    table = facts()
    table.add_row(
        "promised",
        f"at most about {story.amount(promised)} behind the best in 99 % of draws "
        f"({story.amount(general)} without --monotonic), and {story.amount(expected)} on average",
    )
    lost = best - scores[release.value]
    outcome = f"{story.amount(lost)} behind the best" if lost else "the best"
    table.add_row("came out", f"{outcome}; on average over many draws, {story.amount(average)} behind")
    table.add_row("cost", f"{release.loss!r}: nobody changes the odds of an answer by more than a factor {odds}")
    return table
