"""`discreet counts`, `count`, `mode` and `best-price`: what is found by counting persons."""

from __future__ import annotations

from discreet.cli.ask import TypedQuestion
from discreet.cli.candidates import (
    Prices,
    read_prices,
)
from discreet.cli.options import SuitingMechanism, as_typed
from discreet.cli.plot_option import AnswerPlotFile
from discreet.cli.table_command import (
    table_command,
)
from discreet.cli.table_options import RuleOption


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
