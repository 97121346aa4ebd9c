"""`discreet best-price`: the one price that earns most."""

from __future__ import annotations

from discreet.cli.answer import ask_and_show
from discreet.cli.candidates import Prices, read_prices
from discreet.cli.engine import Encoding, Engine, FileOptions, Multiline, Separator, TableName, TablePath
from discreet.cli.picture import AnswerPlotFile
from discreet.cli.question import (
    Analyst,
    AnchorFile,
    Column,
    Dataset,
    EachRow,
    LedgerUrl,
    PersonColumn,
    Question,
    Rule,
    Where,
    Window,
)
from discreet.cli.request import AsJson, Epsilon, MechanismName

_COMMAND = "discreet best-price"


def best_price(
    table: TablePath,
    column: Column,
    prices: Prices,
    epsilon: Epsilon,
    person: PersonColumn = None,
    one_row: EachRow = False,
    rule: Rule = None,
    where: Where = None,
    mechanism: MechanismName = "permute-and-flip",
    engine: Engine = "duckdb",
    table_name: TableName = None,
    separator: Separator = None,
    encoding: Encoding = None,
    multiline: Multiline = False,
    ledger: LedgerUrl = None,
    dataset: Dataset = None,
    analyst: Analyst = None,
    window: Window = None,
    anchor_file: AnchorFile = None,
    plot: AnswerPlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Pick the one price that earns most, privately.

    The column says how much each person would pay, and everybody buys who would pay the price. Every run is a new release and
    costs its own epsilon.

    \b
    Examples:
      discreet best-price survey.csv --column willing_to_pay \\
          --person customer --rule max --prices 1:10:0.5 --epsilon 1
      discreet best-price survey.csv --column willing_to_pay \\
          --one-row --prices 1,2,5 --epsilon 1
    """
    listed = read_prices(prices, _COMMAND)
    question = Question(
        command=_COMMAND,
        table=table,
        column=column,
        person=person,
        one_row=one_row,
        epsilon=epsilon,
        where=where,
        engine=engine,
        table_name=table_name,
        options=FileOptions(separator=separator, encoding=encoding, multiline=multiline),
        ledger=ledger,
        dataset=dataset,
        analyst=analyst,
        window=window,
        anchor_file=anchor_file,
        quiet=as_json,
    )
    ask_and_show(
        question,
        lambda asked: asked.session.best_price(column, prices=listed, rule=rule, mechanism=mechanism, **asked.options),
        title="The price that earns most",
        plot=plot,
        as_json=as_json,
        prices=prices,
        rule=rule,
        mechanism=mechanism,
    )
