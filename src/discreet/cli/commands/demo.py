"""`discreet demo`: questions to a bundled table of article reads, with real draws about
made-up people.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from discreet import ApproxDP, BudgetExceededError, Person, Release, Session
from discreet.accounting import Amount
from discreet.cli.files import BUNDLED, typed_candidates
from discreet.cli.options import write_new
from discreet.cli.scores_file import Label, read_scores
from discreet.cli.show import factor
from discreet.cli.stories import ARTICLES, LISTS, MANIFEST, MASCOT, READS, ListStory, Story
from discreet.cli.terminal import bar, facts, label_text, probability_text, terminal, working
from discreet.mechanisms import PermuteAndFlip
from discreet.questions import TopK
from discreet.rendering.charts import NOTHING_MORE

_COMMAND = "discreet demo"
_DATA = files("discreet.cli.data")
# how many candidates the chart of the odds shows
_SHOWN = 5
_FAILURE_PROBABILITY = Fraction("0.01")
_BUDGET = ApproxDP(4, 1e-5)
_WELCOME = (
    "discreet answers questions about people. Nobody can tell from the answer whether any "
    "one of them was in the data. You say who is protected and how much privacy an answer may "
    "cost (epsilon). No person can change the chance of any answer by more than a factor of "
    "e^epsilon, which is 2.7 for epsilon 1.\n\nThe questions below are about a table of 20,000 "
    "reads of articles. Everybody in it is made up, so this demo may show what must stay hidden "
    "for real people, such as the true ranks."
)
_NEXT = """\
discreet top-k demo:visits --column ward --person patient -k 2 \\
    --epsilon 1 --delta 1e-6 --limit 100
discreet quantile demo:visits --column age --person patient --rule max \\
    --q 0.5 --bounds 0 120 --step 1 --epsilon 1
discreet scores probabilities terrier=41 husky=38 corgi=12 --epsilon 1 \\
    --sensitivity 1 --monotonic --mechanism all
discreet --help"""


def demo(
    as_files: Annotated[
        bool,
        typer.Option(
            "--files",
            help="Write the bundled tables and the manifest of a service here, and ask nothing.",
        ),
    ] = False,
) -> None:
    """Ask questions about a bundled table, and show what each answer costs.

    It has reads of articles, and the people in it are made up. The answers are real
    draws, so they differ from run to run. Takes a few seconds.

    \b
    Examples:
      discreet demo
      discreet demo --files
    """
    console = terminal()
    if as_files:
        names = sorted([*BUNDLED.values(), MANIFEST])
        for name in names:
            content = (_DATA / name).read_bytes()
            if not (os.path.isfile(name) and Path(name).read_bytes() == content):
                write_new(name, content, "--files", _COMMAND)
        console.print(f"Written: {', '.join(names)}.", highlight=False, soft_wrap=True)
        return
    console.print(Panel(_WELCOME, title="discreet", title_align="left"))
    with as_file(_DATA) as folder:
        tell_lists(console, folder)
        tell(console, len(LISTS) + 2, MASCOT)
        console.print()
        console.rule(Text("What to try next", style="bold"), align="left")
        console.print()
        console.print("Replace demo:visits, which is bundled, by a file of your own.\n")
        # for copying, so Rich must not add line breaks or spaces
        console.print(Text(_NEXT), soft_wrap=True)
        console.print(
            f"\nThe tables of the stories are in {folder}",
            style="dim",
            markup=False,
            soft_wrap=True,
        )


def tell_lists(console: Console, folder: Path) -> None:
    """Tell the stories about lists, one after the other, and what they cost together."""
    session = Session(folder / READS, unit=Person("reader"), budget=_BUDGET)
    articles = typed_candidates(str(folder / ARTICLES), _COMMAND)
    with gzip.open(folder / READS, "rt", encoding="utf-8", newline="") as lines:
        reads = list(csv.DictReader(lines))
    prices: list[Amount] = []

    def options(story: ListStory) -> dict[str, Any]:
        return {
            "k": story.k,
            "epsilon": Fraction(story.epsilon),
            "delta": Fraction(story.delta or 0),
            "candidates": None if story.limit else articles,
            "limit": story.limit,
            "where": story.where,
        }

    for number, story in enumerate(LISTS, start=1):
        with working("Asking the table"):
            prices.append(session.price(TopK("article", **options(story))).amount)
            release = session.top_k("article", **options(story))
        _show(
            console,
            number,
            story.title,
            [Text(story.question), _command(story), _list(story, release, reads), _italic(story)],
        )
    refused = ""
    try:
        session.top_k("article", **options(LISTS[0]) | {"epsilon": _BUDGET.epsilon})
    except BudgetExceededError as error:
        refused = str(error)
    _show(
        console,
        len(LISTS) + 1,
        "What was spent and what is left",
        _bill(session, prices, refused),
    )


def _show(console: Console, number: int, title: str, parts: Sequence[Text | Table]) -> None:
    console.print()
    console.rule(Text(f"{number}. {title}", style="bold"), align="left")
    for part in parts:
        console.print()
        console.print(part)


def _italic(story: ListStory | Story) -> Text:
    return Text(story.lesson, style="italic")


def _command(story: ListStory) -> Text:
    lines = [f"$ discreet top-k demo:reads --column article --person reader -k {story.k}"]
    if story.where is not None:
        lines.append(f'    --where "{story.where}"')
    if story.limit is None:
        lines.append(f"    --candidates demo:articles --epsilon {story.epsilon}")
    else:
        lines.append(f"    --limit {story.limit} --epsilon {story.epsilon} --delta {story.delta}")
    return Text(" \\\n".join(lines), style="cyan")


def _list(story: ListStory, release: Release, reads: Sequence[dict[str, str]]) -> Table:
    """The list as a table, beside the true ranks, which only a demo may show."""
    true = _true_ranks(reads, everybody=story.where is None)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rank", justify="right")
    table.add_column("article")
    table.add_column("true rank", justify="right", style="dim")
    for rank, article in enumerate(release.value, start=1):
        table.add_row(
            f"{rank}",
            label_text(article, style="bold green"),
            f"{true[article]}" if article in true else "last",
        )
    if len(release.value) < story.k:
        table.add_row("⊥", Text(NOTHING_MORE, style="italic"), "")
    return table


def _true_ranks(reads: Sequence[dict[str, str]], *, everybody: bool) -> dict[str, int]:
    """The true rank of each article by its number of readers, counted in plain Python
    without the engine.
    """
    pairs = {
        (row["reader"], row["article"])
        for row in reads
        if everybody or (row["role"] == "data scientist" and row["region"] == "Bay Area")
    }
    counts = Counter(article for _, article in pairs)
    return {
        article: 1 + sum(other > count for other in counts.values())
        for article, count in counts.items()
    }


def _bill(session: Session, prices: Sequence[Amount], refused: str) -> list[Text | Table]:
    """What each question took from the budget, and that a question that does not fit is
    refused.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("question", "privacy loss"):
        table.add_column(heading)
    table.add_column("takes", justify="right")
    for number, (question, price) in enumerate(
        zip(session.history(), prices, strict=True), start=1
    ):
        table.add_row(
            f"{number}. {question.what} of {question.column}",
            repr(question.loss),
            str(price),
        )
    table.add_row("left", "", str(session.remaining()), style="bold")
    return [
        Text(f"All of this was one session, with one budget for each reader: {_BUDGET!r}."),
        table,
        Text(
            f"Asking the first question again gives the same answer and is free. A question that "
            f"does not fit is refused before any row is read: {refused}",
            style="italic",
        ),
    ]


def tell(console: Console, number: int, story: Story) -> None:
    """Tell the story of one selection: the question, what was picked, how likely each
    answer was, what the bound promised, and what it cost.
    """
    table = read_scores(story.table, label=story.label, score=story.score, command=_COMMAND)
    scores = {label: int(score) for label, score in table.items()}
    mechanism = _mechanism(story, monotonic=True)
    release = mechanism.release(scores)
    parts: list[Text | Table] = [
        Text(story.question),
        _outcome(story, release),
        _chart(scores, mechanism.log_probabilities(scores), release.value),
        _account(story, scores, mechanism, release),
        _italic(story),
    ]
    _show(console, number, story.title, parts)


def _mechanism(story: Story, *, monotonic: bool) -> PermuteAndFlip:
    return PermuteAndFlip(
        epsilon=Fraction(story.epsilon),
        sensitivity=Fraction(story.sensitivity),
        monotonic=monotonic,
    )


def _outcome(story: Story, release: Release) -> Text:
    command = Text(
        f"$ discreet scores select {story.table} --label {story.label} --score {story.score} \\\n"
        f"    --epsilon {story.epsilon} --sensitivity {story.sensitivity} --monotonic\n",
        style="cyan",
    )
    return command.append("Picked: ", style="default").append(
        str(release.value), style="bold green"
    )


def _chart(scores: dict[Label, int], logs: NDArray[np.float64], picked: Label) -> Table:
    """A chart of the likeliest answers, and of the picked one."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("answer")
    table.add_column("votes", justify="right")
    table.add_column("probability", justify="right")
    table.add_column("")
    order = sorted(range(len(scores)), key=lambda index: -logs[index])
    labels = list(scores)
    shown = order[:_SHOWN] + [index for index in order[_SHOWN:] if labels[index] == picked]
    for index in shown:
        label, chosen = labels[index], labels[index] == picked
        probability = probability_text(logs[index])
        table.add_row(
            "►" if chosen else "",
            label_text(label),
            f"{scores[label]}",
            probability,
            bar(logs[index], 30, picked=chosen),
        )
    rest = [index for index in order if index not in shown]
    if rest:
        together = float(np.logaddexp.reduce(logs[rest]))
        table.add_row(
            "",
            f"{len(rest)} others",
            "",
            probability_text(together),
            bar(together, 30),
            style="dim",
        )
    return table


def _account(
    story: Story, scores: dict[Label, int], mechanism: PermuteAndFlip, release: Release
) -> Table:
    """A table of what the bound promised, what came out, and what it cost."""
    best = max(scores.values())
    behind = np.array([float(best - score) for score in scores.values()])
    average = float(behind @ mechanism.probabilities(scores))
    promised = mechanism.error_bound(_FAILURE_PROBABILITY, candidates=len(scores))
    general = _mechanism(story, monotonic=False).error_bound(
        _FAILURE_PROBABILITY, candidates=len(scores)
    )
    expected = mechanism.expected_error_bound(candidates=len(scores))
    odds = factor(Fraction(story.epsilon))
    table = facts()
    table.add_row(
        "promised",
        f"at most about {story.amount(promised)} behind the best in 99% of draws "
        f"({story.amount(general)} without --monotonic), and {story.amount(expected)} on average",
    )
    lost = best - scores[release.value]
    outcome = f"{story.amount(lost)} behind the best" if lost else "the best"
    table.add_row(
        "came out", f"{outcome} ({story.amount(average)} behind, on average over many draws)"
    )
    table.add_row(
        "cost",
        f"{release.loss!r}: no ballot changes the chance of an answer by more than {odds}",
    )
    return table
