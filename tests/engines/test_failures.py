"""An engine that fails in the middle: one kind of error, without the engine's text, and the
charge stays.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback

import duckdb
import polars
import pytest
from asking import ask_of
from engines.people import CANDIDATES, HONEST
from engines.tables import ENGINES, MARKS, postgres, spark

from discreet import (
    ApproxDP,
    EngineError,
    ParameterError,
    Person,
    PublicTable,
    PureDP,
    QuestionEndedError,
    Session,
)

SECRET = "Zoe earns 4711"


_connections = []


def _refuse(_frame):
    raise ValueError(SECRET)


def failing_duckdb(place):
    _connections.append(duckdb.connect())  # a relation does not always keep its connection alive
    return _connections[-1].sql(
        f"select range as person, error('{SECRET}')::varchar as item, range::double as price from "
        "range(5)"
    )


def failing_polars(place):
    schema = {"person": polars.Int64, "item": polars.String, "price": polars.Float64}
    frame = polars.LazyFrame({"person": [1], "item": ["Ada"], "price": [1.0]})
    return frame.map_batches(_refuse, schema=schema)


def failing_spark(place):
    return (
        spark()
        .sql(
            f"select id as person, raise_error('{SECRET}') as item, cast(id as double) as price "
            "from range(5)"
        )
        .selectExpr("person", "cast(item as string) as item", "price")
    )


def failing_postgres(place):
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute(
            "create or replace view failing as select 1::bigint as person, "
            "cast(n / (n - n) as text) as item, cast(1 / (n - n) as double precision) as price "
            "from generate_series(1, 5) as n"
        )
    connection.con.commit()
    return connection.table("failing")


failing_spark.engine, failing_postgres.engine = "spark", "postgres"


FAILING = [
    pytest.param(failing_duckdb, id="duckdb"),
    pytest.param(failing_polars, id="polars"),
    pytest.param(failing_spark, id="spark", marks=MARKS["spark"]),
    pytest.param(failing_postgres, id="postgres", marks=MARKS["postgres"]),
]


@pytest.mark.parametrize("make", FAILING)
def test_the_charge_stays_and_the_text_does_not_show(make, tmp_path):
    session = Session(make(tmp_path), unit=Person("person"), budget=ApproxDP(100, 0.1))
    questions = [
        lambda: session.mode("item", candidates=CANDIDATES, epsilon=1),
        lambda: session.top_k("item", k=1, epsilon=1, delta=1e-3, limit=3),
    ]
    for number, question in enumerate(questions, start=1):
        before = session.remaining()
        with pytest.raises(
            EngineError,
            match=r"^The engine failed, and the budget stays charged\. The reason may reveal "
            r"data, so it is not shown here: see the log of the engine\.",
        ) as failed:
            question()
        assert session.remaining() < before
        assert len(session.history()) == number
        shown = "".join(traceback.format_exception(failed.value)) + repr(failed.value.__context__)
        assert SECRET not in shown
        assert "4711" not in shown
        assert failed.value.__cause__ is None
        assert str(failed.value) == str(EngineError())


@pytest.mark.parametrize("make", FAILING)
def test_the_engine_answers_the_next_question(make, tmp_path):
    """A failed query leaves nothing behind that stands in the way of others, such as a
    transaction that was broken off.
    """
    broken = Session(make(tmp_path), unit=Person("person"), budget=PureDP(9))
    with pytest.raises(EngineError):
        broken.mode("item", candidates=CANDIDATES, epsilon=1)
    other = ENGINES[getattr(make, "engine", "duckdb")]
    session = Session(other.make(HONEST, tmp_path), unit=Person("person"), budget=PureDP(64))
    assert session.mode("item", candidates=CANDIDATES, epsilon=64).value == "Ada"


def swap(path, content):
    """Put another file in the place of one, as an export does."""
    other = path.with_suffix(".new")
    other.write_bytes(content)
    other.replace(path)


NONE = {
    "gone": lambda path: path.unlink(),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}
OTHERS = {
    "other columns": lambda path: swap(path, b"other,columns\n1,2\n"),
    "other order": lambda path: swap(path, b"item,person\nAda,1\n"),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize(
    ("engine", "change"),
    [
        *((engine, change) for engine in ("csv", "json", "parquet") for change in NONE),
        # JSON lines have no columns that could be others
        *((engine, change) for engine in ("csv", "parquet") for change in OTHERS),
    ],
)
def test_a_file_that_is_another_one_costs_nothing(tmp_path, engine, change):
    """Also where the question was asked before, and so is prepared already."""
    made = ENGINES[engine].make(HONEST, tmp_path)
    session = Session(made, unit=Person("person"), budget=PureDP(9))
    session.mode("item", candidates=CANDIDATES, epsilon=1)
    (NONE | OTHERS)[change](made)
    for epsilon, fresh in ((2, False), (1, True)):
        with pytest.raises(ParameterError, match=r"'table' parameter of Session\.mode must"):
            ask_of(session, "mode", "item", candidates=CANDIDATES, epsilon=epsilon, fresh=fresh)
    assert session.remaining() == 8
    # what was answered needs no rows
    assert session.mode("item", candidates=CANDIDATES, epsilon=1).value is not None


@pytest.mark.parametrize("engine", ["csv", "json", "parquet"])
def test_a_file_with_other_rows_is_asked_as_before(tmp_path, engine):
    made = ENGINES[engine].make(HONEST, tmp_path)
    session = Session(made, unit=Person("person"), budget=PureDP(9))
    session.mode("item", candidates=CANDIDATES, epsilon=1)
    swap(made, made.read_bytes())
    ask_of(session, "mode", "item", candidates=CANDIDATES, epsilon=1, fresh=True)
    assert session.remaining() == 7


def test_a_pipe_is_no_table(tmp_path):
    """Whoever opens one waits for a writer."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ParameterError, match="Tables are read from plain files"):
        Session(tmp_path / "pipe.csv", unit=Person("person"), budget=PureDP(9))


def test_public_candidates_are_read_before_the_budget_is_taken():
    """They are public: a failure there costs nothing."""
    connection = duckdb.connect()
    private = connection.sql("select range as person, 'a' as item from range(5)")
    public = connection.sql("select error('no') as item from range(5)").select(
        "item::varchar as item"
    )
    session = Session(private, unit=Person("person"), budget=PureDP(3))
    with pytest.raises(EngineError):
        session.mode("item", candidates=PublicTable(public, column="item"), epsilon=1)
    assert session.remaining() == 3


def test_a_panic_of_an_engine_is_no_exception_to_the_rule():
    """What Rust calls a panic reaches Python as something that is not an Exception."""

    class PanicException(BaseException):
        pass

    def panic(_frame):
        raise PanicException(SECRET)

    frame = polars.LazyFrame({"person": [1], "item": ["Ada"]})
    source = frame.map_batches(panic, schema={"person": polars.Int64, "item": polars.String})
    session = Session(source, unit=Person("person"), budget=PureDP(3))
    with pytest.raises(EngineError) as failed:
        session.mode("item", candidates=["Ada"], epsilon=1)
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    assert session.remaining() == 2


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_stays_one(interruption):
    def interrupt(_frame):
        raise interruption

    source = polars.LazyFrame({"item": ["Ada"], "person": [1]}).map_batches(
        interrupt, schema={"item": polars.String, "person": polars.Int64}
    )
    session = Session(source, unit=Person("person"), budget=PureDP(3))
    with pytest.raises((interruption, EngineError)):  # as the engine passes it on
        session.mode("item", candidates=["Ada"], epsilon=1)
    assert session.remaining() == 2


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_stops_at_a_time_limit():
    many = spark().range(10**13).selectExpr("id as person", "cast(id % 7919 as string) as item")
    session = Session(many, unit=Person("person"), budget=PureDP(3), time_limit=2)
    with pytest.raises(QuestionEndedError, match=r"^The question was ended.*stays charged\.$"):
        session.mode("item", candidates=["1", "2"], epsilon=1)
    assert session.remaining() == 2
    # nothing of it goes on
    assert not spark().sparkContext.statusTracker().getActiveJobsIds()
    other = Session(ENGINES["spark"].make(HONEST, None), unit=Person("person"), budget=PureDP(64))
    assert other.mode("item", candidates=CANDIDATES, epsilon=64).value == "Ada"


def test_control_c_says_what_stays_charged():
    """DuckDB makes an error of its own of the signal, and somebody must be told what was paid."""
    at_work, answered, connection = threading.Event(), threading.Event(), duckdb.connect()

    def tell(number):
        at_work.set()
        return number

    def interrupt():
        at_work.wait()
        if not answered.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    connection.execute("set enable_progress_bar = false")
    # The query runs in this thread, which looks for signals between two parts of it.
    connection.execute("set threads = 1")
    connection.create_function("tell", tell, ["bigint"], "bigint", side_effects=True)
    endless = connection.sql(
        "select a.person, (a.person + b.range) % 7919 as item "
        "from (select tell(range) as person from range(1)) a, range(1000000000000) b"
    )
    session = Session(endless, unit=Person("person"), budget=PureDP(3))
    sender = threading.Thread(target=interrupt, daemon=True)
    interval, handler = sys.getswitchinterval(), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The signal cannot come while `tell` runs: no other thread has a turn before DuckDB goes on.
    sys.setswitchinterval(1000)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt) as interrupted:
            session.mode("item", candidates=[1, 2, 3], epsilon=1)
    finally:
        answered.set()
        at_work.set()
        sys.setswitchinterval(interval)
        sender.join()
        signal.signal(signal.SIGINT, handler)
        connection.remove_function("tell")
    charged = "The question was interrupted after it was paid for: PureDP(epsilon=1) stays charged."
    assert str(interrupted.value) == charged
    assert session.remaining() == 2
