"""`discreet counts`, `count`, `mode` and `best-price`: what is found by counting persons."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.ask import TypedQuestion
from discreet.cli.candidates import (
    CandidatesOption,
    Prices,
    as_the_column,
    read_prices,
    typed_candidates,
)
from discreet.cli.options import SuitingMechanism, as_typed, count_option
from discreet.cli.plot_option import AnswerPlotFile
from discreet.cli.table_command import (
    By,
    GroupsOption,
    TypedGroups,
    count_panel,
    counts_panel,
    table_command,
)
from discreet.cli.table_options import RuleOption, Split

CountsDelta = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="A small one, such as 1e-6, makes counts better where a person has many values.",
    ),
]
ItemsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COUNT",
        help="So many different values of one person count, drawn at random; fewer, less noise.",
    ),
]


@table_command("discreet counts", delta=CountsDelta)
def counts(
    question: TypedQuestion,
    candidates: CandidatesOption,
    split: Split = None,
    items_per_person: ItemsOption = None,
    by: By = None,
    groups: GroupsOption = None,
) -> None:
    """Count the persons that have each value, with noise.

    A person counts once for each candidate, however many rows say so. Every run is a
    new release, unless a ledger has its answer; epsilon is what all counts cost
    together.

    \b
    Examples:
      discreet counts pets.csv --column pet --one-row --candidates cat,dog --epsilon 1
      discreet counts reads.csv --column article --person reader \\
          --candidates articles.txt --items-per-person 3 --epsilon 1
      discreet counts pets.csv --column pet --one-row --candidates cat,dog \\
          --by region --groups north,south --epsilon 1
    """
    command = question.command
    chosen = TypedGroups.read(by, groups, None, command)
    labels = typed_candidates(candidates, command)
    most = None
    if items_per_person is not None:
        most = count_option(items_per_person, "--items-per-person", command)
    question.ask_and_show(
        lambda asked: asked.session.counts(
            asked.column,
            candidates=as_the_column(labels, asked.kind, candidates, command),
            split=split,
            items_per_person=most,
            **chosen.options(asked),
            **asked.options,
        ),
        panel=chosen.panel(counts_panel),
    )


@table_command("discreet count", without=["column"])
def count(question: TypedQuestion) -> None:
    """Count the persons of a table, or its rows, with noise.

    With --where, those who have such a row. Every run is a new release and costs its
    own epsilon, unless a ledger has its answer.

    \b
    Examples:
      discreet count reads.csv --person reader --epsilon 0.1
      discreet count reads.csv --person reader --epsilon 0.1 --where "region = 'Berlin'"
    """
    question.ask_and_show(lambda asked: asked.session.count(**asked.options), panel=count_panel)


@table_command("discreet best-price", plot=AnswerPlotFile)
def best_price(
    question: TypedQuestion,
    prices: Prices,
    rule: RuleOption = None,
    mechanism: SuitingMechanism = None,
) -> None:
    """Pick the one price that earns most, privately.

    The column says how much each person would pay, and everybody buys who would pay the
    price. Every run is a new release and costs its own epsilon, unless a ledger has its
    answer.

    \b
    Examples:
      discreet best-price survey.csv --column willing_to_pay \\
          --person customer --rule max --prices 1:10:0.5 --epsilon 1
      discreet best-price survey.csv --column willing_to_pay \\
          --one-row --prices 1,2,5 --epsilon 1
    """
    listed = read_prices(prices, question.command)
    question.ask_and_show(
        lambda asked: asked.session.best_price(
            asked.column,
            prices=listed,
            **as_typed(rule=rule, mechanism=mechanism),
            **asked.options,
        ),
        title="The price that earns most",
    )
