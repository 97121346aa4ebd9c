"""Frames of Polars, which DuckDB reads through Arrow: the answers are those of the same Arrow
table, and a lazy frame is collected by the first question that is paid for.
"""

from __future__ import annotations

import polars
import pyarrow
import pytest
from engines.people import CANDIDATES, HONEST
from engines.tables import TYPES, arrow

from discreet import (
    BudgetExceededError,
    EngineError,
    OneRow,
    ParameterError,
    Person,
    PublicTable,
    PureDP,
    Session,
    column,
)
from discreet.tables.counting import count_items
from discreet.tables.data_frames import _as_arrow
from discreet.tables.items import Items
from discreet.tables.opening import open_table

PERSON = Person("person")
LAZY = pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])


def frame_of(lazy):
    frame = polars.from_arrow(arrow(HONEST))
    return frame.lazy() if lazy else frame


@LAZY
def test_each_column_is_that_of_the_arrow_table(lazy):
    table, same = open_table(frame_of(lazy)), open_table(arrow(HONEST))
    assert table.schema == same.schema
    for name in TYPES:
        found = count_items(table, PERSON, Items(name), 99)
        assert found == count_items(same, PERSON, Items(name), 99), name


@LAZY
def test_a_session_answers_and_can_be_stopped(lazy):
    session = Session(frame_of(lazy), unit=PERSON, budget=PureDP(200), time_limit=60)
    assert session.mode("item", candidates=CANDIDATES, epsilon=64).value == "Ada"
    where = (column("price") >= 0) & (column("born") > "1900-01-01")
    assert session.mode("item", candidates=CANDIDATES, epsilon=64, where=where).value == "Ada"


def test_text_is_not_copied():
    import narwhals as nw

    frame = nw.from_native(polars.DataFrame({"item": ["a", "b"]}))
    assert _as_arrow(frame).schema.field("item").type == pyarrow.string_view()


def watched(frame, **schema):
    """A lazy frame of the same columns, and how often its rows were made."""
    made = []
    schema = schema or frame.collect_schema()
    return frame.lazy().map_batches(lambda rows: made.append(1) or rows, schema=schema), made


def test_a_lazy_frame_is_collected_once_after_the_charge():
    source, made = watched(frame_of(False))
    session = Session(source, unit=PERSON, budget=PureDP(3))
    asked = {"candidates": CANDIDATES, "where": column("price") > 1}
    with pytest.raises(BudgetExceededError):
        session.mode("item", epsilon=4, **asked)
    with pytest.raises(ParameterError):
        session.mode("item", epsilon=1, candidates=CANDIDATES, where="item > 1 or nothing = 2")
    public = PublicTable(pyarrow.table({"item": CANDIDATES}), "item")
    for column_name in ("item", "price"):
        with pytest.raises((BudgetExceededError, ParameterError)):
            session.mode(column_name, epsilon=4, candidates=public)
    # a kind of which no plain statement counts the rows
    numbers = PublicTable(pyarrow.table({"price": [1.0, 2.0]}), "price")
    with pytest.raises(BudgetExceededError):
        session.mode("price", epsilon=4, candidates=numbers)
    assert made == []
    session.mode("item", epsilon=1, **asked)
    session.counts("item", candidates=CANDIDATES, epsilon=1)
    assert made == [1]


def test_a_lazy_frame_of_other_columns_than_it_states_fails_after_the_charge():
    frame = polars.DataFrame({"item": [1]})
    source, _ = watched(frame, item=polars.String)
    session = Session(source, unit=OneRow(), budget=PureDP(3))
    with pytest.raises(EngineError):
        session.mode("item", candidates=["1"], epsilon=1)
    assert session.remaining() == 2


@LAZY
@pytest.mark.parametrize(
    "cells",
    [
        polars.Series([1, "1"], dtype=polars.Object),
        polars.Series([1, 2], dtype=polars.Int128),
        polars.Series([[1], [2]], dtype=polars.List(polars.Int128)),
    ],
    ids=["objects", "128 bits", "lists of 128 bits"],
)
def test_columns_that_arrow_cannot_hold_are_refused_by_their_type(lazy, cells):
    frame = polars.DataFrame({"item": ["a", "b"], "odd": cells, "who": [1, 2]})
    source = frame.lazy() if lazy else frame
    session = Session(source, unit=Person("who"), budget=PureDP(99))
    assert "odd" in session.columns
    rule = "'column' parameter of Session.mode must be a column that DuckDB can read"
    with pytest.raises(ParameterError, match=rule):
        session.mode("odd", candidates=[1], epsilon=1)
    with pytest.raises(ParameterError, match="'unit' parameter of Session must be a column that"):
        Session(source, unit=Person("odd"), budget=PureDP(1))
    assert session.remaining() == 99
    assert session.mode("item", candidates=["a", "b"], epsilon=1).value in ("a", "b")


def test_frames_of_two_libraries_are_one_engine():
    import pandas

    session = Session(frame_of(True), unit=PERSON, budget=PureDP(64))
    public = PublicTable(pandas.DataFrame({"item": CANDIDATES}), "item")
    assert session.mode("item", candidates=public, epsilon=64).value == "Ada"
