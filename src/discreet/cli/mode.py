"""`discreet mode`: the value that most persons of a table have."""

from __future__ import annotations

from discreet.cli.answer import ask_and_show
from discreet.cli.candidates import Candidates, as_the_column, read_candidates
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
    Split,
    Where,
    Window,
)
from discreet.cli.request import AsJson, Epsilon, MechanismName

_COMMAND = "discreet mode"


def mode(
    table: TablePath,
    column: Column,
    candidates: Candidates,
    epsilon: Epsilon,
    person: PersonColumn = None,
    one_row: EachRow = False,
    where: Where = None,
    split: Split = None,
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
    """Pick the value that most persons have, privately.

    Each row is something about one person. A person counts once for each candidate, however many rows say so. Every run is a
    new release and costs its own epsilon.

    \b
    Examples:
      discreet mode votes.csv --column teacher --person student \\
          --candidates Ada,Bob,Cy --epsilon 1
      discreet mode votes.csv --column teacher --person student \\
          --candidates teachers.txt --epsilon 1 --where "grade >= 9"
    """
    labels = read_candidates(candidates, _COMMAND)
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
        lambda asked: asked.session.mode(
            column,
            candidates=as_the_column(labels, asked.kind, candidates, _COMMAND),
            mechanism=mechanism,
            split=split,
            **asked.options,
        ),
        title=f"The most frequent {column}",
        plot=plot,
        as_json=as_json,
        candidates=candidates,
        mechanism=mechanism,
        split=split,
    )
