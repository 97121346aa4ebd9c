"""Somebody who wants to know whether one row is in a table, for (nearly) nothing: with and
without it the outcome must be the same.

Each case is a table without and with one more row, and a question: the kind of the answer, its
loss or its refusal have to be equal. All of them succeeded once, on one engine or another.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from engines.tables import MARKS, postgres, spark
from pyarrow import parquet

import discreet
from discreet import ApproxDP, Person, PublicTable, Session, column, row_count
from discreet.tables import duckdb_connection
from discreet.tables.counting import count_bins, count_items
from discreet.tables.items import Items
from discreet.tables.json_lines import read_objects
from discreet.tables.opening import open_table

_connections = [duckdb.connect()]


@dataclass
class Outcome:
    """What somebody sees of a question, but for the draw itself."""

    kind: str
    loss: Any = None
    charged: bool = False


def outcomes(table, asks, person="p", **about):
    """What is seen of questions that one session is asked, in turn."""
    try:
        session = Session(table, unit=Person(person), budget=ApproxDP(100, 0.9), **about)
    except discreet.DiscreetError as error:
        return [Outcome(f"cannot be opened: {type(error).__name__}")]
    return [_seen(session, ask) for ask in asks]


def _seen(session, ask):
    before = session.remaining()
    try:
        release = ask(session)
    except discreet.DiscreetError as error:
        return Outcome(type(error).__name__, charged=session.remaining() < before)
    return Outcome(type(release.value).__name__, release.loss, session.remaining() < before)


def outcome(table, ask, person="p", **about):
    (seen,) = outcomes(table, [ask], person, **about)
    return seen


def check(without, with_it, *asks, person="p", **about):
    check_each(without, [with_it], *asks, person=person, **about)


def check_each(without, every, *asks, person="p", **about):
    """The same for several tables with one more row."""
    first = outcomes(without, asks, person, **about)
    for number, with_it in enumerate(every):
        assert first == outcomes(with_it, asks, person, **about), f"table {number}"
    assert not any(each.kind == "EngineError" and each.charged for each in first), (
        "a paid question fails, with and without"
    )


HIV = "p = 4 and d = 'hiv' and "
FLU, ONE = ["flu"] * 6, ["flu"] * 4 + ["hiv", "flu"]
EARLY = [
    "t >= date '1500-01-01'",
    "t = timestamp '9000-01-01 00:00'",
    "t != date '0001-01-01'",
    "not t < date '2500-01-01'",
]


def mode(where):
    return lambda session: session.mode("d", candidates=["flu", "hiv"], epsilon=1e-9, where=where)


def counted(where):
    return lambda session: session.select(
        candidates=["x"], score=lambda _: row_count(where=where), epsilon=1e-9
    )


UNITS, ZONES = ["ns", "us", "ms", "s"], [None, "UTC", "Europe/Berlin"]
FRAMES = pytest.mark.parametrize("make", ["pandas", "arrow"])


@FRAMES
def test_times_beyond_what_the_column_can_hold(make):
    """Each unit with one zone and one condition: every zone and every condition has its turn."""
    for place, (unit, late) in enumerate(zip(UNITS, EARLY, strict=True)):
        check_late_times(unit, ZONES[place % 3], late, make)


@pytest.mark.pairs
@pytest.mark.parametrize("zone", ZONES)
@FRAMES
def test_each_time_beyond_what_the_column_can_hold(make, zone):
    for unit, late in itertools.product(UNITS, EARLY):
        check_late_times(unit, zone, late, make)


def check_late_times(unit, zone, late, make):
    if zone is not None:
        late = (
            late.replace("date '", "timestamp '")
            .replace("-01-01'", "-01-01 00:00+00:00'")
            .replace(" 00:00'", " 00:00+00:00'")
        )
    kind = pyarrow.timestamp(unit, zone)

    def table(diagnoses):
        times = pyarrow.array([10**9] * 6, pyarrow.int64()).cast(pyarrow.timestamp("s")).cast(kind)
        arrow = pyarrow.table({"p": range(6), "d": diagnoses, "t": times})
        return arrow if make == "arrow" else arrow.to_pandas()

    conditions = (HIV + late, f"not ({HIV[:-5]}) or {late}")
    check(table(FLU), table(ONE), *map(mode, conditions), *map(counted, conditions))


@pytest.mark.parametrize("late", ["x = 'a'", "x in ('a', 'b')", "x = true", "x = 3"])
def test_json_that_looks_like_text(late):
    def table(name, diagnoses):
        _connections[0].execute(
            f"create or replace table {name} as select unnest(range(6)) p, unnest({diagnoses}) d, "
            "'1'::json x"
        )
        return _connections[0].table(name)

    check(table("json_1", FLU), table("json_2", ONE), mode(HIV + late))


def _json(shape, texts):
    """Cells of JSON that Arrow and DuckDB take for text, or lists of them."""
    if not hasattr(pyarrow, "json_"):
        pytest.skip("JSON of Arrow's own came with PyArrow 19")
    cells = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), texts)
    ends = pyarrow.array(range(len(texts) + 1), pyarrow.int32())
    return cells if shape == "cells" else pyarrow.ListArray.from_arrays(ends, cells)


@pytest.mark.parametrize("shape", ["cells", "lists"])
@pytest.mark.parametrize("make", ["arrow", "relation", "parquet"])
def test_items_of_json(shape, make, tmp_path):
    """Candidates would be read as JSON as soon as there is a row."""
    asks = [
        lambda s: s.mode("x", candidates=["a", "b"], epsilon=1e-9, where="d = 'hiv'"),
        lambda s: s.counts("x", candidates=["a"], epsilon=1e-9, items_per_person=1),
        lambda s: s.mode("d", candidates=["a"], by="x", groups=["a"], epsilon=1e-9),
        lambda s: s.top_k("x", k=1, limit=5, epsilon=1e-9, delta=0.01),
    ]

    def table(number, diagnoses):
        cells = _json(shape, pyarrow.array(["1"] * 6))
        arrow = pyarrow.table({"p": range(6), "d": diagnoses, "x": cells})
        if make == "parquet":
            parquet.write_table(arrow, tmp_path / f"{number}.parquet")
            return tmp_path / f"{number}.parquet"
        return arrow if make == "arrow" else _connections[0].from_arrow(arrow)

    check(table(1, FLU), table(2, ONE), *asks)


def test_json_that_is_no_text():
    def table(cell):
        bad = pyarrow.array([b"1", cell], pyarrow.binary())
        texts = pyarrow.Array.from_buffers(pyarrow.string(), 2, bad.buffers())
        return pyarrow.table({"p": [1, 2], "x": _json("cells", texts)})

    ask = lambda s: s.top_k("x", k=1, limit=5, epsilon=1e-9, delta=0.01)  # noqa: E731
    check(table(b"1"), table(b"\xff"), ask)


@pytest.mark.parametrize("kind", ["hugeint", "uhugeint"])
def test_lists_of_large_numbers(kind):
    def table(number):
        return _connections[0].sql(
            f"select range p, [if(range = 0, {number}::{kind}, 1)] x from range(9)"
        )

    asks = [
        lambda s: s.mode("x", candidates=[1, 2], epsilon=1e-9),
        lambda s: s.top_k("x", k=1, limit=5, epsilon=1e-9, delta=0.01),
    ]
    check(table(1), table(2**127 if kind == "uhugeint" else 2**127 - 1), *asks)


_POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
_GEO = (
    b'{"version": "1.0.0", "primary_column": "g", '
    b'"columns": {"g": {"encoding": "WKB", "geometry_types": []}}}'
)


@pytest.mark.parametrize("make", ["arrow", "relation", "parquet", "within"])
def test_points_that_are_none(make, tmp_path):
    """DuckDB reads every cell of such a column, whatever it is asked about it."""

    def table(name, cell):
        point = pyarrow.field(
            "g", pyarrow.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"}
        )
        cells = pyarrow.array([_POINT, None, cell], pyarrow.binary())
        if make == "within":
            point = pyarrow.field("g", pyarrow.list_(point.with_name("item")))
            cells = pyarrow.array([[_POINT], None, [cell]], pyarrow.list_(pyarrow.binary()))
        if make == "parquet":
            arrow = pyarrow.table({"p": [1, 2, 3], "d": ["flu"] * 3, "g": cells})
            path = tmp_path / f"{name}.parquet"
            parquet.write_table(arrow.replace_schema_metadata({"geo": _GEO}), path)
            return path
        fields = [("p", pyarrow.int64()), ("d", pyarrow.string()), point]
        arrow = pyarrow.table([[1, 2, 3], ["flu"] * 3, cells], schema=pyarrow.schema(fields))
        return _connections[0].from_arrow(arrow) if make == "relation" else arrow

    conditions = ("g is null", "not g is null", None)
    check(table("one", _POINT), table("other", b"?"), *map(mode, conditions))


UNFIT = [
    [10**9],
    [Decimal("0.5"), 10**20],
    [1],
    [Decimal("1e-35")],
    [Decimal("0E-100"), Decimal("1." + "0" * 60)],
]


@pytest.mark.parametrize("kind", [(38, 30), (38, 38), (38, 37), (5, 2)])
def test_candidates_that_do_not_fit_a_decimal(kind):
    def table(diagnoses):
        cells = pyarrow.array([Decimal("0.5")] * 6, pyarrow.decimal128(*kind))
        return pyarrow.table({"p": range(6), "d": diagnoses, "x": cells})

    def asking(candidates):
        return lambda s: s.mode("x", candidates=candidates, epsilon=1e-9, where=HIV[:-5])

    # more than a thousand are asked for in another way
    many = [list(range(1, 1200))] if kind == (38, 37) else []
    check(table(FLU), table(ONE), *map(asking, [*UNFIT, *many]))


@pytest.mark.parametrize("kind", ["uhugeint", "hugeint", "ubigint", "utinyint"])
def test_whole_numbers_of_every_width(kind):
    rows = "select 0 as p, try_cast('1' as {0}) as x union all select 1, try_cast('1' as {0})"
    more = rows + " union all select 2, try_cast('{1}' as {0})"
    large = [_connections[0].sql(more.format(kind, value)) for value in (2**127, 2**128 - 1, 0)]

    def asking(where):
        return lambda s: s.mode("p", candidates=[1], epsilon=1e-9, where=where)

    conditions = ("x > 3", "x > -5", "x = -1", "not x < -1.5", "x in (1, -2)")
    check_each(
        _connections[0].sql(rows.format(kind)),
        large,
        lambda s: s.mode("x", candidates=[1, 300, 2**62], epsilon=1e-9),
        *map(asking, conditions),
    )


FAR = [10**16, -(10**16), 2**62]


@pytest.mark.parametrize("kind", ["zoned", "plain", "duration"])
def test_times_that_are_far_away(kind):
    for place, unit in enumerate(UNITS):
        check_far_times(unit, kind, [FAR[place % 3]])


@pytest.mark.pairs
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["zoned", "plain", "duration"])
def test_each_time_that_is_far_away(unit, kind):
    check_far_times(unit, kind, FAR)


def check_far_times(unit, kind, far):
    types = {
        "zoned": pyarrow.timestamp(unit, "UTC"),
        "plain": pyarrow.timestamp(unit),
        "duration": pyarrow.duration(unit),
    }

    def table(*values):
        cells = pyarrow.array(values, pyarrow.int64()).cast(types[kind], safe=False)
        return pyarrow.table({"p": range(len(values)), "x": cells})

    moment = "timestamp '2020-01-01 00:00+00:00'" if kind == "zoned" else "date '2020-01-01'"

    def asking(where):
        return lambda s: s.mode("p", candidates=[0, 1], epsilon=1e-9, where=where)

    asks = [asking("x is null")]
    if kind != "duration":
        asks += [asking(f"x >= {moment}"), asking(f"not x = {moment}")]
    near, others = table(1, 2), [table(1, 2, each) for each in far]
    check_each(near, others, *asks)
    if kind == "plain":
        relation = _connections[0].from_arrow
        check_each(relation(near), map(relation, others), *asks)
    if kind != "duration":
        ask = lambda s: s.mode("p", candidates=[0], epsilon=1e-9)  # noqa: E731
        check_each(near, others, ask, person="x")


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_times_that_are_far_away_in_a_file_of_duckdb(unit, tmp_path):
    def table(*times):
        path = tmp_path / f"{times[-1]}.duckdb"
        arrow = pyarrow.table(
            {"p": range(len(times)), "x": pyarrow.array(times, pyarrow.timestamp(unit))}
        )
        with duckdb.connect(str(path)) as connection:
            connection.from_arrow(arrow).create("times")
        return path

    def counting(where):
        return lambda session: session.count(epsilon=1e-9, where=where)

    near, far, late = (
        table(1, 2),
        [table(1, 2, each) for each in FAR],
        "x > timestamp '2001-01-01 00:00'",
    )
    check_each(near, far, counting(late), counting(f"not {late}"), table_name="times")
    check_each(near, far, counting(None), person="x", table_name="times")


@pytest.mark.parametrize("make", ["arrow", "relation", "parquet", "database"])
def test_a_decimal_beyond_its_digits(make, tmp_path):
    """DuckDB makes an internal error of the lowest number of 128 bits, for all tables."""

    def table(*cells):
        bits = b"".join(cell.to_bytes(16, "little", signed=True) for cell in cells)
        buffers = [None, pyarrow.py_buffer(bits)]
        numbers = pyarrow.Array.from_buffers(pyarrow.decimal128(38, 10), len(cells), buffers)
        arrow = pyarrow.table({"p": range(len(cells)), "x": numbers})
        if make == "parquet":
            path = tmp_path / f"{len(cells)}.parquet"
            parquet.write_table(arrow, path)
            return path
        if make == "database":
            path = tmp_path / f"{len(cells)}.duckdb"
            with duckdb.connect(str(path)) as connection:
                connection.from_arrow(arrow).create("numbers")
            return path
        return arrow if make == "arrow" else duckdb.connect().from_arrow(arrow)

    tables = table(1, 10**11), table(1, 10**11, -(2**127))
    named = {"table_name": "numbers"} if make == "database" else {}
    check(*tables, lambda s: s.count(epsilon=1e-9, where="x > 1"), **named)
    check(
        *tables,
        lambda s: s.mode("x", candidates=[Decimal(10), Decimal(1)], epsilon=1e-9),
        **named,
    )
    check(*tables, lambda s: s.count(epsilon=1e-9), person="x", **named)
    check(
        *tables,
        lambda s: s.quantile("x", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rule="max"),
        **named,
    )


def _dictionary(cells):
    places = pyarrow.array(range(len(cells)), pyarrow.int32())
    return pyarrow.DictionaryArray.from_arrays(places, cells)


def _runs(cells):
    ends = pyarrow.array(range(1, len(cells) + 1), pyarrow.int32())
    return pyarrow.RunEndEncodedArray.from_arrays(ends, cells)


def _struct(cells):
    return pyarrow.StructArray.from_arrays([cells], ["at"])


def _list(cells):
    return pyarrow.ListArray.from_arrays(list(range(len(cells) + 1)), cells)


def _map(cells):
    names = pyarrow.array(["at"] * len(cells), pyarrow.string())
    return pyarrow.MapArray.from_arrays(list(range(len(cells) + 1)), names, cells)


SHAPES = {
    "dictionary": _dictionary,
    "runs": _runs,
    "struct": _struct,
    "list": _list,
    "large list": lambda cells: pyarrow.LargeListArray.from_arrays(
        list(range(len(cells) + 1)), cells
    ),
    "list of one": lambda cells: pyarrow.FixedSizeListArray.from_arrays(cells, 1),
    "map": _map,
    "list of a dictionary": lambda cells: _list(_dictionary(cells)),
    "struct of a list": lambda cells: _struct(_list(cells)),
    "dictionary of a list": lambda cells: _dictionary(_list(cells)),
    "list of a dictionary of a list": lambda cells: _list(_dictionary(_list(cells))),
    "struct of runs": lambda cells: _struct(_runs(cells)),
}
REFUSED = {"struct of runs", "list of a dictionary of a list"}


KINDS = ["zoned", "plain", "duration"]


@pytest.mark.parametrize("shape", SHAPES)
def test_times_that_are_far_away_within_a_column(shape):
    """Each shape with one unit and one kind: no two shapes have the same ones."""
    place = list(SHAPES).index(shape)
    # not nanoseconds for the first one: DuckDB has those itself
    check_far_times_within(UNITS[(place + 2) % 4], KINDS[place % 3], shape)


@pytest.mark.pairs
@pytest.mark.parametrize("shape", SHAPES)
def test_each_time_that_is_far_away_within_a_column(shape):
    for unit, kind in itertools.product(UNITS, KINDS):
        check_far_times_within(unit, kind, shape)


def check_far_times_within(unit, kind, shape):
    types = {
        "zoned": pyarrow.timestamp(unit, "UTC"),
        "plain": pyarrow.timestamp(unit),
        "duration": pyarrow.duration(unit),
    }

    def table(*values):
        cells = pyarrow.array(values, pyarrow.int64()).view(types[kind])
        persons = pyarrow.array(range(len(values)), pyarrow.int64())
        return pyarrow.table({"p": persons, "x": SHAPES[shape](cells)})

    def asking(where):
        return lambda s: s.mode("p", candidates=[0, 1], epsilon=1e-9, where=where)

    questions = ["x is null"]
    if shape in ("dictionary", "runs") and kind != "duration":
        moment = "timestamp '2020-01-01 00:00+00:00'" if kind == "zoned" else "date '2020-01-01'"
        questions += [f"x >= {moment}"]
    far = [table(1, 2, each) for each in (10**16, 2**62)]
    check_each(table(1, 2), far, *map(asking, questions))
    if shape in ("dictionary", "runs") and kind != "duration":
        check_each(table(1, 2), far, asking(None), person="x")
    # What cannot be converted is refused by its type, whatever rows there are.
    refused = shape in REFUSED and (unit in ("s", "ms") or "dictionary" in shape)
    kinds = {outcome(each, asking(None)).kind for each in (table(), table(1), table(1, 2**62))}
    assert kinds == {"cannot be opened: ParameterTypeError" if refused else "int"}


@pytest.mark.parametrize("intervals", [False, True], ids=["structs", "intervals of pandas"])
def test_how_many_nested_categories_there_are(intervals):
    def table(size):
        if intervals:
            bins = pandas.arrays.IntervalArray.from_breaks(range(size + 1))
            cells = pandas.Series(bins).astype("category")
            return pandas.DataFrame({"p": range(size), "x": cells})
        cells = _dictionary(_struct(pyarrow.array(range(size), pyarrow.int64())))
        return pyarrow.table({"p": range(size), "x": cells})

    ask = lambda s: s.mode("p", candidates=[0, 1], epsilon=1e-9, where="x is null")  # noqa: E731
    for size in (1, 2, 3, 8):
        check(table(size), table(size + 1), ask)
        # and not because all of them are refused
        assert outcome(table(size), ask).kind == "int"


def test_intervals_of_times_that_are_far_away():
    def table(*ends):
        moments = [np.datetime64(end, "s") for end in (0, *ends)]
        cells = pandas.Series(pandas.arrays.IntervalArray.from_breaks(moments))
        return pandas.DataFrame({"p": range(len(ends)), "x": cells})

    ask = lambda s: s.mode("p", candidates=[0, 1], epsilon=1e-9, where="x is null")  # noqa: E731
    check(table(1, 2), table(1, 2, 10**15), ask)


def test_an_engine_that_has_failed_for_good_serves_no_other_table():
    # Of a dictionary of one struct DuckDB makes an internal error, and answers nothing then.
    broken = pyarrow.table({"x": _dictionary(_struct(pyarrow.array([1])))})
    with pytest.raises(duckdb.Error):
        duckdb_connection.connect("test").from_arrow(broken).fetchall()
    table = pyarrow.table({"p": [1, 2]})
    assert outcome(table, lambda s: s.count(epsilon=1e-9)).kind == "int"


@pytest.mark.parametrize("kind", ["datetime64[s, UTC]", "timedelta64[s]"])
def test_categories_that_are_far_away(kind):
    def table(*values):
        cells = pandas.Series(np.array(values, dtype="int64")).astype(kind)
        return pandas.DataFrame({"p": range(len(values)), "x": cells.astype("category")})

    ask = lambda s: s.mode("p", candidates=[0, 1], epsilon=1e-9, where="x is null")  # noqa: E731
    check(table(1, 2), table(1, 2, 10**15), ask)


class Odd:
    def __str__(self):
        raise RuntimeError

    __hash__ = None


OBJECTS = [
    Decimal("sNaN"),
    Decimal("NaN"),
    Odd(),
    [1, [2]],
    {"a": 1},
    np.array([1, 2]),
    pandas.NaT,
    pandas.NA,
    b"\xff",
    "\ud800",
    object,
]


def test_objects_in_a_pandas_frame():
    def table(*more):
        cells = pandas.Series(["a", 1, *more], dtype=object)
        return pandas.DataFrame({"p": range(len(cells)), "x": cells, "y": ["a"] * len(cells)})

    each = [table(cell) for cell in OBJECTS]
    check_each(
        table(),
        each,
        lambda s: s.mode("x", candidates=["a", "1"], epsilon=1e-9),
        lambda s: s.mode("y", candidates=["a"], epsilon=1e-9, where="x = 'a' or x > 3"),
        lambda s: s.quantile("x", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rule="max"),
        lambda s: s.top_k("x", k=1, limit=3, epsilon=1, delta=0.01),
    )
    check_each(table(), each, lambda s: s.mode("y", candidates=["a"], epsilon=1e-9), person="x")


def no_text(count=1):
    """An Arrow column of text whose bytes are no text."""
    data = b"\xff\xfe" * count
    offsets = np.arange(0, 2 * count + 1, 2, dtype=np.int32)
    return pyarrow.Array.from_buffers(
        pyarrow.string(),
        count,
        [None, pyarrow.py_buffer(offsets.tobytes()), pyarrow.py_buffer(data)],
    )


@pytest.mark.parametrize("own", [False, True], ids=["arrow", "a relation of the caller's"])
@pytest.mark.parametrize("lists", [False, True], ids=["text", "lists"])
def test_bytes_that_are_no_text(own, lists):
    def table(*more):
        usual = pyarrow.array([["a"]] * 3 if lists else ["a"] * 3)
        arrow = pyarrow.table(
            {"p": range(3 + len(more)), "x": pyarrow.chunked_array([usual, *more])}
        )
        return _connections[0].from_arrow(arrow) if own else arrow

    bad = (
        pyarrow.ListArray.from_arrays(pyarrow.array([0, 1], pyarrow.int32()), no_text())
        if lists
        else no_text()
    )
    check(
        table(),
        table(bad),
        lambda s: s.top_k("x", k=1, limit=5, epsilon=1, delta=0.01),
        lambda s: s.top_k("x", k=1, limit=5, epsilon=1, delta=0.01, items_per_person=1),
        lambda s: s.mode("x", candidates=["a"], epsilon=1e-9),
    )


def test_times_of_the_day_as_persons():
    def table(*values):
        cells = pyarrow.array(values, pyarrow.int64()).view(pyarrow.time64("ns"))
        return pyarrow.table({"x": cells, "p": ["a"] * len(values)})

    ask = lambda s: s.top_k("p", k=1, limit=3, epsilon=1, delta=0.01, items_per_person=1)  # noqa: E731
    check(table(1, 2), table(1, 2, 2**63 - 1), ask, person="x")


def test_public_tables_of_types_without_a_name():
    connection = _connections[0]
    connection.execute("create or replace table bits_1 as select 1 p, 'flu' d, '1'::bit x")
    connection.execute(
        "create or replace table bits_2 as from bits_1 union all select 4, 'hiv', '1'::bit"
    )
    public = PublicTable(connection.sql("select gen_random_uuid() y"), "y")
    ask = lambda s: s.mode("x", candidates=public, epsilon=1e-9, where="d = 'hiv'")  # noqa: E731
    check(connection.table("bits_1"), connection.table("bits_2"), ask)


@pytest.mark.parametrize(
    "kind",
    [
        *("union(n int, s varchar)", "variant", "timetz", "json", "map(int, int)", "int[]"),
        "interval",
    ],
)
def test_persons_of_types_with_several_spellings_are_refused(kind):
    source = _connections[0].sql(f"select null::{kind} as who, 'a' as item")
    with pytest.raises(discreet.ParameterError, match="a column with one plain value in each row"):
        Session(source, unit=Person("who"), budget=discreet.PureDP(1))


def test_a_uuid_is_a_person():
    source = _connections[0].sql("select gen_random_uuid() as who, 'a' as item")
    Session(source, unit=Person("who"), budget=discreet.PureDP(1)).mode(
        "item", candidates=["a"], epsilon=1
    )


@pytest.mark.parametrize(
    "need", [pytest.param(words, marks=MARKS["postgres"]) for words in ("not null", "")]
)
def test_a_uuid_is_a_person_in_a_database(need):
    """Also where the database says that no cell is empty; and JSON stays none."""
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute("drop table if exists keys")
        cursor.execute(f"create table keys (who uuid {need}, item text, note json {need})")
        cursor.execute("insert into keys values (gen_random_uuid(), 'a', '1')")
    connection.con.commit()
    table = connection.table("keys")
    session = Session(table, unit=Person("who"), budget=discreet.PureDP(1))
    assert session.mode("item", candidates=["a"], epsilon=0.5).value == "a"
    with pytest.raises(discreet.ParameterError, match="a column of JSON"):
        session.mode("item", candidates=["a"], epsilon=0.5, where="note is null")
    with pytest.raises(discreet.ParameterError):
        session.mode("note", candidates=["a"], epsilon=0.5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.mode("x", candidates=[Decimal("9e999999999")], epsilon=1),
        lambda s: s.top_k("p", k=1, limit=5, epsilon=1, delta=0.01, items_per_person=2**127),
        lambda s: s.quantile("p", q=0.5, bounds=(0, 9), step=1, epsilon=1, rows_per_person=2**70),
        lambda s: s.top_k("p", k=1, limit=2**63, epsilon=1, delta=0.01),
        lambda s: s.quantile("p", q=0.5, bounds=(0, 9), step=1e308, epsilon=1, rule="max"),
    ],
)
def test_what_no_engine_can_compute_is_refused_before_the_charge(ask):
    session = Session(
        pyarrow.table({"p": [1, 2], "x": [Decimal("1.5")] * 2}),
        unit=Person("p"),
        budget=ApproxDP(9, 0.1),
    )
    before = session.remaining()
    with pytest.raises(discreet.ParameterError):
        ask(session)
    assert session.remaining() == before


def test_a_sensitivity_beyond_all_numbers_is_computed_with():
    import narwhals as nw

    table = pyarrow.table({"p": [1, 2]})
    for large in (2**63, 2**200):
        check(
            table,
            table,
            lambda s, m=large: s.select(
                candidates=["x"], score=lambda _: nw.len(), epsilon=1, sensitivity=m
            ),
        )


SECRET = -53211.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda s, f: s.mode("c", candidates=f.salary, epsilon=1),
        lambda s, f: s.mode("c", candidates=list(f.salary), epsilon=1),
        lambda s, f: s.best_price("salary", prices=f.salary, epsilon=1, rule="max"),
        lambda s, f: s.quantiles(
            "salary", q=list(f.salary), bounds=(0, 1), step=1, epsilon=1, rule="max"
        ),
        lambda s, f: s.mode("salary", candidates=f.iloc[0], epsilon=1),
        lambda s, f: s.mode("c", candidates=["x"], epsilon=1, where=list(f.salary)),
        lambda s, f: s.mode("c", candidates=["x"], epsilon=1, where=f.salary > 3),
        lambda s, f: s.select(candidates=["x"], score=lambda _: float(f.salary[0]), epsilon=1),
        lambda s, f: s.mode(f.salary, candidates=["x"], epsilon=1),
        lambda s, f: s.mode("c", candidates=f, epsilon=1),
        lambda s, f: Person(f.salary),
        lambda s, f: column("salary") == f.salary,
        lambda s, f: column("salary").is_in(f.salary),
    ],
)
def test_what_is_handed_over_by_mistake_is_not_shown(ask):
    frame = pandas.DataFrame({"p": [1, 2], "c": ["x", "y"], "salary": [SECRET, 4.0]})
    session = Session(frame, unit=Person("p"), budget=discreet.PureDP(1))
    with pytest.raises(discreet.ParameterError) as caught:
        ask(session, frame)
    assert (
        "53211"
        not in f"{caught.value} {caught.value.got!r} {caught.value.args} {caught.value.__context__}"
    )
    assert session.remaining() == 1


def test_cells_are_looked_into_after_the_charge(monkeypatch):
    """A question that is refused for its price must not take longer because of what is
    in a cell.
    """
    frame = pandas.DataFrame({"p": [1, 2], "c": [["x"] * 5, "y"]})
    session = Session(frame, unit=Person("p"), budget=discreet.PureDP(1))
    looked = []
    monkeypatch.setattr(
        "discreet.tables.data_frames.canonical_items", lambda cell: looked.append(cell) or []
    )
    with pytest.raises(discreet.BudgetExceededError):
        session.mode("c", candidates=["x"], epsilon=2)
    with pytest.raises(discreet.BudgetExceededError):
        session.mode(
            "c", candidates=PublicTable(pandas.DataFrame({"name": ["x"]}), "name"), epsilon=2
        )
    assert looked == []
    session.mode("c", candidates=["x"], epsilon=1)
    assert len(looked) == 2


@pytest.mark.parametrize("engine", [pytest.param("spark", marks=MARKS["spark"])])
def test_bytes_that_are_no_text_on_spark(engine):
    del engine
    usual = "select 0 p, 'a' x, array('a') l union all select 1, 'a', array('a')"
    more = usual + " union all select 2, cast(X'ff' as string), array(cast(X'ff' as string))"
    for name in ("x", "l"):
        ask = lambda s, name=name: s.top_k(name, k=1, limit=5, epsilon=1, delta=0.01)  # noqa: E731
        check(spark().sql(usual), spark().sql(more), ask)


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
def test_a_text_of_hundreds_of_megabytes(engine):
    del engine
    connection = postgres()
    tables = []
    for name, more in (("long_1", ""), ("long_2", ", (2, repeat('1', 300000000))")):
        with connection.con.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")
            cursor.execute(f"create table {name} (p bigint, x text)")
            cursor.execute(f"insert into {name} values (1, 'a'){more}")
        connection.con.commit()
        tables.append(connection.table(name))
    for ask in (
        lambda s: s.mode("p", candidates=[1, 2], epsilon=1e-9, where="x >= 3"),
        lambda s: s.mode("p", candidates=[1, 2], epsilon=1e-9, where="x >= date '2026-01-01'"),
        lambda s: s.quantile("x", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rule="max"),
        lambda s: s.mode("x", candidates=["a"], split=";", epsilon=1e-9),
    ):
        check(*tables, ask)


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
def test_texts_that_a_database_looks_for_no_pattern_in(engine):
    """PostgreSQL found that out when the rest of a condition was true of a row."""
    del engine
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute(
            "create collation if not exists no_pattern "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        for name, disease in (("pattern_1", "flu"), ("pattern_2", "hiv")):
            cursor.execute(f"drop table if exists {name}")
            cursor.execute(
                f"create table {name} (p bigint, d text, x text collate no_pattern, y char(3))"
            )
            cursor.execute(f"insert into {name} values (3, 'flu', '7'), (4, '{disease}', '7')")
    connection.con.commit()
    tables = [connection.table(name) for name in ("pattern_1", "pattern_2")]
    for where in ("x > 5", "x > date '2026-01-01'"):
        total = row_count(where=HIV + where)
        asks = [
            lambda s, where=where: s.count(epsilon=1e-9, where=HIV + where),
            lambda s, total=total: s.select(
                candidates=["a"], score=lambda _, total=total: total, epsilon=1e-9
            ),
        ]
        check(*tables, *asks, numbers_in_text=True)
        seen = outcomes(tables[1], asks, numbers_in_text=True)
        assert {each.kind for each in seen} == {"ParameterError"}
    # any other text takes patterns, and this one may be compared with text
    for where in ("y > 5", "d > 5", "x = '7'"):
        one = outcome(
            tables[1], lambda s, w=where: s.count(epsilon=1e-9, where=w), numbers_in_text=True
        )
        assert one.kind == "int"


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
@pytest.mark.parametrize("where", ["x = 'c'", "x in ('a', 'c')", "x > 5", "y = 1"])
def test_what_a_database_cannot_compare_is_refused_before_the_charge(engine, where):
    """An enumeration looks like text from here, and an amount of money like a decimal."""
    del engine
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute("drop table if exists feelings")
        cursor.execute("drop type if exists feeling")
        cursor.execute("create type feeling as enum ('a', 'b')")
        cursor.execute("create table feelings (p bigint, x feeling, y money)")
        cursor.execute("insert into feelings values (1, 'a', '1')")
    connection.con.commit()
    table = connection.table("feelings")
    seen = outcome(table, lambda s: s.count(epsilon=1, where=where), numbers_in_text=True)
    assert (seen.kind, seen.charged) == ("ParameterError", False)
    # by the condition alone already, and not only by the whole question
    session = Session(table, unit=Person("p"), budget=ApproxDP(1, 0.1), numbers_in_text=True)
    with pytest.raises(discreet.ParameterError, match="The 'where' parameter"):
        session.count(epsilon=1, where=where)


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
def test_one_item_and_one_row_of_each_person(engine):
    """It failed on PostgreSQL whatever was in the table, after the charge."""
    del engine
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute("drop table if exists ones")
        cursor.execute(
            "create table ones as select n % 3 as p, 'a' as x, n as y from generate_series(1, 9) "
            "as n"
        )
    connection.con.commit()
    table = connection.table("ones")
    check(
        table,
        table,
        lambda s: s.top_k("x", k=1, limit=3, epsilon=1, delta=0.01, items_per_person=1),
    )
    check(
        table,
        table,
        lambda s: s.quantile("y", q=0.5, bounds=(0, 9), step=1, epsilon=1, rows_per_person=1),
    )


@pytest.mark.parametrize("shape", ["plain", "dictionary", "runs"])
def test_a_time_that_is_far_away_is_nobody_else(shape):
    # in 64 bits of microseconds it would be 1 again
    far = 1 + 2**61
    shapes = {"plain": lambda cells: cells, **SHAPES}
    for unit, zone in itertools.product(("s", "ms"), ("UTC", None)):
        kind = pyarrow.timestamp(unit, zone)
        cells = pyarrow.array([1, 2, far], pyarrow.int64()).view(kind)
        arrow = pyarrow.table({"x": shapes[shape](cells), "v": [1, 2, 3]})
        table = open_table(arrow).having(["x", "v"])
        prices = [Fraction(1), Fraction(2), Fraction(3)]
        assert count_bins(table, Person("x"), "v", prices, "max") == [0, 1, 1, 0], kind


@pytest.mark.parametrize("kind", ["arrow", "pandas", "relation"])
def test_maps_with_a_key_twice(kind):
    """DuckDB refuses to read one from Arrow, also where it is only asked whether it is there."""
    for shape in ("plain", "dictionary", "struct", "list", "map"):
        check_maps(kind, shape)


def check_maps(kind, shape):
    def table(*keys):
        ends, values = [0, 1, len(keys)], pyarrow.array(range(len(keys)))
        cells = pyarrow.MapArray.from_arrays(ends, pyarrow.array(keys), values)
        cells = cells if shape == "plain" else SHAPES[shape](cells)
        arrow = pyarrow.table({"p": [1, 2], "x": cells})
        if kind == "pandas":
            return arrow.to_pandas(types_mapper=pandas.ArrowDtype)
        return arrow if kind == "arrow" else _connections[0].from_arrow(arrow)

    ask = lambda s: s.count(epsilon=1e-9, where="x is null")  # noqa: E731
    check(table("a", "a", "b"), table("a", "a", "a"), ask)
    refused = kind == "relation"
    assert outcome(table("a", "a"), ask).kind == ("ParameterError" if refused else "int")


@pytest.mark.parametrize(
    "kinds",
    [
        (pyarrow.int32(), pyarrow.int64(), 2**40),
        (pyarrow.int64(), pyarrow.string(), "x"),
        (pyarrow.int64(), pyarrow.float64(), 1e30),
        (pyarrow.decimal128(9, 2), pyarrow.decimal128(18, 2), Decimal(10**9)),
    ],
    ids=["wider", "text", "floats", "decimals"],
)
def test_parquet_files_whose_columns_have_several_types(kinds, tmp_path):
    """DuckDB casts the cells of all files to what the first one has."""
    first, second, odd = kinds

    def table(name, cell):
        (tmp_path / name).mkdir()
        for place, (kind, value) in enumerate(((first, 1), (second, cell))):
            cells = pyarrow.array([value], kind)
            rows = pyarrow.table({"p": [place], "d": ["flu"], "x": cells})
            parquet.write_table(rows, tmp_path / name / f"{place}.parquet")
        return tmp_path / name / "*.parquet"

    asks = [
        lambda s: s.count(epsilon=1e-9, where="x > 0"),
        lambda s: s.quantile("x", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rule="max"),
    ]
    usual = "1" if second == pyarrow.string() else 1
    tables = table("usual", usual), table("odd", odd)
    check(*tables, *asks)
    check(*tables, lambda s: s.count(epsilon=1e-9), person="x")
    with pytest.raises(
        discreet.ParameterError,
        match="All files must have the same columns, with the same types, as the first one",
    ):
        Session(tables[0], unit=Person("p"), budget=discreet.PureDP(1))


def test_parquet_files_may_have_more_columns_than_the_first(tmp_path):
    rows = pyarrow.table({"p": [1], "d": ["flu"]})
    parquet.write_table(rows, tmp_path / "1.parquet")
    parquet.write_table(rows.append_column("x", [[2]]), tmp_path / "2.parquet")
    assert outcome(tmp_path / "*.parquet", lambda s: s.count(epsilon=1)).kind == "int"
    parquet.write_table(rows.drop(["d"]), tmp_path / "3.parquet")
    seen = outcome(tmp_path / "*.parquet", lambda s: s.count(epsilon=1)).kind
    assert seen == "cannot be opened: ParameterError"


@pytest.mark.parametrize("odd", ["x", "007", "9" * 30, "2026-13-40"])
def test_folders_that_are_named_after_persons(odd, tmp_path):
    """One name must not decide which type those of all others have."""

    def table(name, *persons):
        for person in persons:
            (tmp_path / name / f"p={person}").mkdir(parents=True)
            rows = pyarrow.table({"d": ["flu"]})
            parquet.write_table(rows, tmp_path / name / f"p={person}" / "rows.parquet")
        return tmp_path / name / "*" / "rows.parquet"

    tables = table("usual", "1", "2"), table("odd", "1", "2", odd)
    asks = [
        lambda s: s.mode("p", candidates=["1", "2"], epsilon=1e-9),
        lambda s: s.mode("p", candidates=[1, 2], epsilon=1e-9),
        lambda s: s.count(epsilon=1e-9, where="p > '1'"),
    ]
    check(*tables, *asks)
    kinds = [_columns_of(each) for each in tables]
    assert kinds[0] == kinds[1]
    assert [each.kind for each in outcomes(tables[0], asks)] == ["str", "ParameterTypeError", "int"]


def test_folders_whose_names_are_no_text(tmp_path):
    """DuckDB decodes the name when it reads, and every question would fail."""
    for person in ("1", "%C3%A9", "%FF"):
        (tmp_path / f"p={person}").mkdir()
        parquet.write_table(pyarrow.table({"d": ["flu"]}), tmp_path / f"p={person}" / "r.parquet")
    pattern = tmp_path / "*" / "r.parquet"
    with pytest.raises(discreet.ParameterError, match="Values in folder names must be text"):
        Session(pattern, unit=Person("p"), budget=discreet.PureDP(1))
    (tmp_path / "p=%FF" / "r.parquet").unlink()
    assert outcome(pattern, lambda s: s.mode("p", candidates=["é"], epsilon=1)).kind == "str"


@pytest.mark.parametrize("category", ["MAP(", "GEOMETRY"])
def test_categories_that_are_called_like_a_type(category):
    """Categories can be made of rows."""
    enum = f"enum('x', 'it''s', '{category}')"
    rows = f"select range p, {{'e': 'x'::{enum}}} s, 'x'::{enum} e from range(3)"
    table = _connections[0].sql(rows)
    for where in ("s is null", "e is null"):
        assert outcome(table, lambda s, w=where: s.count(epsilon=1, where=w)).kind == "int"


def _columns_of(table):
    return Session(table, unit=Person("p"), budget=discreet.PureDP(1)).columns


def test_a_list_of_large_numbers_in_a_long_line(tmp_path):
    """The digits of all of them were looked up in the whole line, for each number anew."""
    numbers = ", ".join(["1e20"] * 200)
    line = f'{{"rest": "{"q" * 900_000}", "x": [{numbers}]}}\n'
    (tmp_path / "rows.jsonl").write_text(line)
    small = {"memory_limit": "256MB", "temp_directory": ""}
    with duckdb.connect(config=small) as connection:
        rows = read_objects(connection, [str(tmp_path / "rows.jsonl")], ["x"], ["x"])
        ((_, items),) = rows.fetchall()
    assert items == ["1" + "0" * 20] * 200


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("digits", [(9, 2), (38, 0), (38, 38)])
def test_decimals_beyond_their_digits_on_polars(lazy, digits):
    """Polars takes them from Arrow as they are, and hands them back."""

    def table(*cells):
        bits = b"".join(cell.to_bytes(16, "little", signed=True) for cell in cells)
        buffers = [None, pyarrow.py_buffer(bits)]
        numbers = pyarrow.Array.from_buffers(pyarrow.decimal128(*digits), len(cells), buffers)
        frame = polars.from_arrow(pyarrow.table({"p": range(len(cells)), "x": numbers}))
        return frame.lazy() if lazy else frame

    near, far = table(1, 2), [table(1, 2, each) for each in (2**127 - 1, -(2**127))]
    asks = [
        lambda s: s.quantile("p", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rows_per_person=2),
        lambda s: s.counts("p", candidates=[0, 1], epsilon=1e-9, items_per_person=1),
        lambda s: s.count(epsilon=1e-9),
    ]
    check_each(near, far, *asks, person="x")
    check_each(near, far, lambda s: s.count(epsilon=1e-9, where="x > 0 or x is null"))


@pytest.mark.parametrize("shape", ["text", "lists", "categories"])
def test_bytes_that_are_no_text_on_polars(shape):
    """Polars takes them from Arrow as they are, and hands them back."""
    shapes = {
        "text": lambda cells: cells,
        "lists": lambda cells: pyarrow.ListArray.from_arrays(
            pyarrow.array(range(len(cells) + 1), pyarrow.int32()), cells
        ),
        "categories": lambda cells: pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(range(len(cells)), pyarrow.int32()), cells
        ),
    }

    def table(*more):
        cells = shapes[shape](pyarrow.concat_arrays([pyarrow.array(["a", "é", "😀"]), *more]))
        return polars.from_arrow(pyarrow.table({"p": range(len(cells)), "x": cells}))

    asks = [
        lambda s: s.top_k("x", k=1, limit=3, epsilon=1e-9, delta=0.01),
        lambda s: s.top_k("x", k=1, limit=3, epsilon=1e-9, delta=0.01, items_per_person=1),
        lambda s: s.mode("x", candidates=["a"], epsilon=1e-9),
        lambda s: s.count(epsilon=1e-9, where="x = 'a' or x is null"),
    ]
    check(table(), table(no_text()), *asks)
    check(table(), table(no_text()), lambda s: s.count(epsilon=1e-9), person="x")
    found = count_items(open_table(table(no_text())), Person("p"), Items("x"), 9)
    assert dict(found) == {"a": 1, "é": 1, "😀": 1}


MULTIPLIED = {
    "duration": pyarrow.duration("s"),
    "lists of durations": pyarrow.duration("ms"),
    "time": pyarrow.timestamp("ms", "UTC"),
}


@pytest.mark.parametrize("kind", MULTIPLIED)
def test_times_that_are_far_away_in_a_relation_of_a_data_frame(kind):
    """DuckDB multiplies them when it reads them."""
    day = "x is null" if kind != "time" else "x > '2026-01-01 10:00+00:00'"

    def table(*numbers):
        cells = pyarrow.array(numbers).view(MULTIPLIED[kind])
        if kind == "lists of durations":
            places = pyarrow.array(range(len(numbers) + 1), pyarrow.int32())
            cells = pyarrow.ListArray.from_arrays(places, cells)
        return _connections[0].from_arrow(pyarrow.table({"p": range(len(numbers)), "x": cells}))

    asks = [lambda s: s.count(epsilon=1e-9, where=day)]
    check_each(table(1), [table(1, 2**62), table(1, -(2**62))], *asks)
    check_each(table(1), [table(1, 2**62)], lambda s: s.count(epsilon=1e-9), person="x")
    # other columns of the table can be asked about
    assert outcome(table(1), lambda s: s.count(epsilon=1, where="p > 0")).kind == "int"


def test_times_of_a_table_of_duckdb_can_be_asked_for():
    rows = _connections[0].sql("select 1 as p, now() as x, interval 1 day as y")
    for where in ("x > '2026-01-01 10:00+00:00'", "y is null"):
        assert outcome(rows, lambda s, w=where: s.count(epsilon=1, where=w)).kind == "int"


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
@pytest.mark.parametrize(
    ("kind", "usual", "odd"),
    [
        ("money", "'1'", "'-92233720368547758.08'"),
        ("oid", "1", "4294967295"),
        ("money[]", "'{1}'", "'{-92233720368547758.08}'"),
        ("time with time zone", "'12:00+00'", "'24:00:00-15:59'"),
    ],
)
def test_types_that_look_like_others_in_a_database(engine, kind, usual, odd):
    """Ibis takes an amount of money for a decimal, and the number of an object for any other."""
    del engine
    connection = postgres()
    tables = []
    for name, more in (("alike_1", ""), ("alike_2", f", (2, {odd})"), ("alike_3", None)):
        with connection.con.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")
            cursor.execute(f"create table {name} (p bigint, x {kind})")
            if more is not None:
                cursor.execute(f"insert into {name} values (1, {usual}){more}")
        connection.con.commit()
        tables.append(connection.table(name))
    asks = [
        lambda s: s.mode("x", candidates=[1, -1, 2**63 - 1], epsilon=1e-9),
        lambda s: s.mode("x", candidates=[Decimal("1.5")], epsilon=1e-9),
        lambda s: s.top_k("x", k=1, limit=3, epsilon=1e-9, delta=0.01),
        lambda s: s.quantile("x", q=0.5, bounds=(0, 9), step=1, epsilon=1e-9, rule="max"),
        lambda s: s.count(epsilon=1e-9, where="x = 1"),
        lambda s: s.count(epsilon=1e-9, where="x < -1"),
        lambda s: s.mode("p", candidates=[1], epsilon=1e-9, by="x", groups=[1, -1]),
    ]
    check_each(tables[0], tables[1:], *asks)
    refused = {(each.kind, each.charged) for each in outcomes(tables[1], asks)}
    assert refused <= {("ParameterTypeError", False), ("ParameterError", False)}
    persons = [lambda s: s.count(epsilon=1e-9)]
    check_each(tables[0], tables[1:], *persons, person="x")
    if kind in ("money", "oid"):
        assert "cannot be opened" in outcomes(tables[1], persons, "x")[0].kind


@pytest.mark.parametrize("engine", [pytest.param("postgres", marks=MARKS["postgres"])])
@pytest.mark.parametrize("source", ["guarded", "through_view"])
def test_a_policy_that_fails_on_a_row_in_a_database(engine, source):
    """PostgreSQL computes it for each row, also for those that it hides."""
    del engine
    connection = postgres()
    role = f"guarded_{os.getpid()}"
    with connection.con.cursor() as cursor:
        cursor.execute("drop table if exists guarded cascade")
        cursor.execute("create table guarded (p bigint, x text)")
        cursor.execute("alter table guarded enable row level security")
        cursor.execute("create policy fails on guarded using (1 / (p - 5) < 9)")
        cursor.execute("create view through_view with (security_invoker) as select * from guarded")
        cursor.execute(f"drop role if exists {role}")
        cursor.execute(f"create role {role}")
        cursor.execute(f"grant select on guarded, through_view to {role}")
    connection.con.commit()
    table = connection.table(source)
    seen = []
    try:
        for number in (4, 5):
            connection.con.execute(f"insert into guarded values ({number}, 'a')")
            connection.con.execute(f"set role {role}")
            seen.append(outcome(table, lambda s: s.count(epsilon=1e-9)))
            connection.con.execute("reset role")
        assert outcome(table, lambda s: s.count(epsilon=1)).kind == "int", "of its owner"
    finally:
        connection.con.execute("reset role")
        connection.con.execute(f"drop table guarded cascade; drop role {role}")
    assert seen == [Outcome("cannot be opened: ParameterError")] * 2
