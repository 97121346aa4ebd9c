"""Counts in one statement are those of one step after the other; tables have turns of their own."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import duckdb
import pyarrow
import pytest

from discreet import EngineError, PublicTable, PureDP, Session
from discreet.privacy.parameters import OneRow, Person
from discreet.tables import candidates, counting, duckdb_counting
from discreet.tables.contribution_cap import Cap
from discreet.tables.counting import count_bins, count_candidates, count_items
from discreet.tables.duckdb_connection import connect
from discreet.tables.items import Items
from discreet.tables.opening import open_table

NASTY = ["it's", "''", "\\", '"', "\x1f", "a\x1fb", "a\0b", "ünï", "", " ", "null", "%s", "$1", "?"]
PERSONS = {
    "text": ["1", "1", "2", "", None, "1.0"],
    "float": [1.0, -0.0, 0.0, float("nan"), float("inf"), None],
    "whole": [1, 1, 2, 2**63 - 1, -(2**63), None],
}
NUMBERS = [0, 1, -1, 2**63 - 1, -(2**63), None]


def rows():
    """Every person with every item, some of them twice."""
    for place in range(2 * 3 * 7 * len(NASTY)):
        item = place % len(NASTY)
        yield {
            **{name: persons[place % 6] for name, persons in PERSONS.items()},
            "select": None if place % 11 == 0 else NASTY[item],
            'nu"m': NUMBERS[item % len(NUMBERS)],
            "day": place % 5,
            "price": FLOATS[place % len(FLOATS)],
            "said": str(FLOATS[(place // 3) % len(FLOATS)]),
        }


def arrow():
    return pyarrow.Table.from_pylist(list(rows()))


def handed_over():
    connection = duckdb.connect()
    connection.register("seen", arrow())
    connection.execute("create table rows as select * from seen")
    return connection.table("rows")


@pytest.fixture(
    scope="module", params=[arrow, handed_over], ids=["our connection", "their connection"]
)
def opened(request):
    table = open_table(request.param())
    import narwhals as nw

    return replace(table, where=nw.col("day") < 4)


@pytest.fixture
def table(opened):
    """A table of its own, which has made nothing of the rows yet."""
    return replace(opened)


@pytest.mark.parametrize(("column", "wanted"), [("select", NASTY), ('nu"m', NUMBERS[:-1])])
@pytest.mark.parametrize("many", [0, 1500])
def test_one_statement_counts_as_the_steps_do(table, column, wanted, many, monkeypatch):
    if column == "select":
        wanted = [each for each in wanted if "\x1f" not in each and "\0" not in each]
    wanted = [*wanted, *(f"no {n}" if column == "select" else n + 2 for n in range(many))]
    assert counting.is_plain(table, Items(column))
    assert counting.can_be_listed(wanted)
    # in a long list persons are found as in a short one
    for unit in (OneRow(), *map(Person, PERSONS)) if not many else (OneRow(), Person("float")):
        counts = count_candidates(table, unit, Items(column), wanted)
        listed = (
            count_items(table, unit, Items(column), None),
            count_items(table, unit, Items(column), 3),
        )
        with monkeypatch.context() as in_steps:
            in_steps.setattr(counting, "is_plain", lambda table, items: False)
            assert counts == count_candidates(table, unit, Items(column), wanted)
            assert listed[0] == count_items(table, unit, Items(column), None)
        assert listed[1] == listed[0][:3]
        assert sum(counts) > 0


# two of them are one number as floats
EDGES = [-(2**63), -1, 0, Fraction(1, 3), 1, 1 + Fraction(1, 10**30), 2, 2**63, 10**300]
FLOATS = [*map(float, EDGES), -0.0, 0.5, 5e-324, 1e301, -1e301, float("inf"), float("nan"), None]


@pytest.mark.parametrize("column", ["float", 'nu"m', "price", "said"])
def test_prices_are_counted_as_the_steps_do(table, column):
    """The number of edges that a person's value reaches: in one statement, and one by one."""
    by_steps = counting._place(list(map(float, EDGES)), 0)
    # where each row is protected by itself, no rule chooses between rows
    for unit, rule in ((OneRow(), "max"), (Person("float"), "max"), (Person("float"), "min")):
        counted = count_bins(table, unit, column, EDGES, rule)
        steps = counting._count_in(table, unit, column, rule, by_steps, len(EDGES) + 1)
        assert counted == steps
        assert sum(counted) > 0
        assert counted[5] == 0


def test_labels_that_no_statement_can_hold(table):
    assert not counting.can_be_listed(NASTY)
    counts = count_candidates(table, Person("text"), Items("select"), NASTY)
    found = dict(count_items(table, Person("text"), Items("select"), None))
    assert counts == [found[label] for label in NASTY]


class Printing(str):
    """Text that prints as something else, as the members of an enumeration do."""

    __slots__ = ()

    def __str__(self):
        return "nobody"


@pytest.mark.parametrize("many", [0, 1500])
@pytest.mark.parametrize("cap", [None, Cap(10**6, "key")], ids=["all", "capped"])
def test_labels_are_what_they_are_compared_as(table, many, cap):
    plain = [each for each in NASTY if "\x1f" not in each and "\0" not in each]
    plain += [f"no {number}" for number in range(many)]
    asked = Person("text"), Items("select")
    counts = count_candidates(table, *asked, plain, cap)
    # of another table, which has made nothing of its rows yet
    printing = count_candidates(replace(table), *asked, list(map(Printing, plain)), cap)
    assert printing == counts
    assert sum(counts) > 0


@pytest.mark.parametrize("many", [0, 1500])
@pytest.mark.parametrize("other", ["table", "view"])
def test_a_table_of_the_caller_with_our_name_is_not_looked_at(many, other):
    """DuckDB reads a statement about a relation as if it were about such a table."""
    connection = duckdb.connect()
    connection.execute("create table votes as select i as who, 'a' as vote from range(9) r(i)")
    connection.execute(f"create {other} __discreet_rows as select 1 as vote")
    table = open_table(connection.table("votes"))
    wanted = ["a", *map(str, range(many))]
    counts = count_candidates(table, Person("who"), Items("vote"), wanted)
    assert counts == [9, *[0] * many]


@pytest.mark.parametrize("column", ["select", 'nu"m'])
@pytest.mark.parametrize("ours", [True, False], ids=["our connection", "their connection"])
def test_a_public_table_is_counted_as_the_steps_do(column, ours, monkeypatch):
    more = ["nobody", None] if column == "select" else [77, None]
    labels = [*(NASTY[3:] if column == "select" else NUMBERS[1:]), *more]
    people, public = arrow(), pyarrow.table({column: labels * 2})
    if not ours:
        connection = duckdb.connect()
        people, public = map(connection.from_arrow, (people, public))
    table = open_table(people)
    public = open_table(public, beside=table)

    def tally(unit):
        with candidates.CountHistogram(table, unit, Items(column), public, column) as counted:
            names = [counted.label(place, 0) for place in range(len(counted.counts))]
            return counted.counts.tolist(), counted.sizes.tolist(), names

    assert counting.is_plain(public, Items(column))
    for unit in (OneRow(), Person("text"), Person("float")):
        found = tally(unit)
        with monkeypatch.context() as in_steps:
            in_steps.setattr(candidates, "is_plain", lambda table, items: False)
            assert found == tally(unit)
        assert found[0][-1] == 0
        assert sum(found[1]) == len(set(labels)) - 1


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int64", "uint64"])
def test_more_whole_numbers_than_a_column_can_hold(kind):
    numbers = pyarrow.array([1, 1, 127, None], pyarrow.type_for_alias(kind))
    table = open_table(pyarrow.table({"who": [1, 1, 2, 3], "number": numbers}))
    wanted = [*range(-40_000, 40_000), 1.5, 2**62]
    counts = count_candidates(table, Person("who"), Items("number"), wanted)
    named = zip(wanted, counts, strict=True)
    assert {number: count for number, count in named if count} == {1: 1, 127: 1}


def test_very_many_labels_of_any_kind_of_text():
    table = open_table(pyarrow.table({"who": range(len(NASTY)), "said": NASTY}))
    wanted = [*NASTY, *map(str, range(1500))]
    counts = count_candidates(table, Person("who"), Items("said"), wanted)
    assert counts == [1] * len(NASTY) + [0] * 1500


@pytest.mark.parametrize("seen", ["true", "false"])
@pytest.mark.parametrize("column", ["{select}", "nu{}m"])
def test_a_long_list_beside_a_relation(seen, column, monkeypatch):
    """Also where the caller has switched off that DuckDB finds variables; none stays behind."""
    connection = duckdb.connect(config={"python_enable_replacements": seen})
    whole = column == "nu{}m"
    cells = [1, 2, 2, -7, None] if whole else ["it's", "b", "b", "c", None]
    connection.register("seen", pyarrow.table({"who": [1, 2, 2, 3, 4], column: cells}))
    connection.execute("create table votes as select * from seen")
    table = open_table(connection.table("votes"))
    others = range(100, 1600) if whole else map(str, range(1500))
    wanted = [*cells[:2], *others]
    in_words, real = [], duckdb_counting._listed_in_words
    monkeypatch.setattr(
        duckdb_counting,
        "_listed_in_words",
        lambda *asked: (in_words.append(1), real(*asked))[1],
    )
    before = set(vars(duckdb_counting))
    counts = count_candidates(table, Person("who"), Items(column), wanted)
    assert counts == [1, 1, *[0] * 1500]
    assert len(in_words) == (seen == "false")
    assert set(vars(duckdb_counting)) == before


@pytest.mark.parametrize("many", [0, 1500])
@pytest.mark.parametrize("collation", ["", "collate nocase"])
def test_persons_are_those_of_their_column(tmp_path, many, collation):
    """One person more or less by a collation, however many labels there are."""
    path = str(tmp_path / "votes.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"create table votes (who varchar {collation}, vote integer)")
        connection.execute("insert into votes values ('Ada', 1), ('ADA', 1), ('ada', 2)")
    table = open_table(path, table="votes")
    counts = count_candidates(table, Person("who"), Items("vote"), [1, 2, *range(9, 9 + many)])
    assert counts == [1 if collation else 2, 1, *[0] * many]


@pytest.mark.parametrize("fails", [False, True])
def test_a_long_list_of_labels_is_gone_after_the_question(monkeypatch, fails):
    table = open_table(pyarrow.table({"who": ["a", "b"]}))
    seen = []
    real = duckdb_counting._listed_on

    @contextmanager
    def listed_on(*asked):
        with real(*asked) as name:
            seen.append(len(_tables(table.connection)))
            yield "no such table" if fails else name

    monkeypatch.setattr(duckdb_counting, "_listed_on", listed_on)
    wanted = ["a", *map(str, range(1500))]
    if fails:
        with pytest.raises(EngineError, match=r"^The engine failed"):
            count_candidates(table, Person("who"), Items("who"), wanted)
    else:
        assert sum(count_candidates(table, Person("who"), Items("who"), wanted)) == 1
    assert seen == [1]
    assert _tables(table.connection) == []
    views = "select view_name from duckdb_views() where not internal"
    assert not [name for (name,) in table.connection.execute(views).fetchall() if "listed" in name]


def test_a_person_who_is_the_item():
    table = open_table(pyarrow.table({"who": ["a", "a", "b", None]}))
    assert count_candidates(table, Person("who"), Items("who"), ["a", "b", "c"]) == [1, 1, 0]


def test_a_question_on_one_table_does_not_wait_for_another():
    first, second = (open_table(pyarrow.table({"label": ["a"]})) for _ in range(2))
    assert first.lock is not second.lock
    done = threading.Event()

    def ask():
        count_candidates(second, OneRow(), Items("label"), ["a"])
        done.set()

    with first.turn:
        thread = threading.Thread(target=ask)
        thread.start()
        assert done.wait(200)
    thread.join()


def test_relations_of_one_connection_wait_for_each_other():
    relation = handed_over()
    assert open_table(relation).turn is open_table(relation).turn


def test_tables_share_an_instance_and_no_connection():
    one, other = connect("Testing"), connect("Testing")
    one.execute("create temp table mine as select 1")
    with pytest.raises(duckdb.CatalogException, match="mine"):
        other.execute("select * from mine")
    one.close()
    assert other.execute("select 1").fetchall() == [(1,)]


FORKING = """
import json, os, sys
from pathlib import Path
import pyarrow
from discreet import CsvFile, OneRow, PureDP, Session
from discreet.questions import Mode
from discreet.tables import duckdb_connection

TABLE, ASKED = pyarrow.table({"a": ["x"]}), Mode("a", candidates=["x", "y"], epsilon=60)

def ask_anew():
    with Session(TABLE, unit=OneRow(), budget=PureDP(60)) as session:
        return session.ask(ASKED, fresh=True).value

def open_all(*sources):
    return [Session(each, unit=OneRow(), budget=PureDP(180)) for each in sources]

def ask_all(sessions):
    return [session.ask(ASKED, fresh=True).value for session in sessions]

elsewhere = open_all("votes.csv", "vote*.csv", Path("votes.csv"), CsvFile("votes.csv"))
anew = [ask_anew()]
duckdb_connection._MOST_CONNECTIONS = 1
opened = open_all(*[TABLE] * 3, *["votes.csv"] * 3)
before = ask_all(opened)
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, ask_anew().encode())
    sys.exit(0)
code = os.waitstatus_to_exitcode(os.wait()[1])
anew += [os.read(reading, 9).decode(), ask_anew()]
fits = opened[0].would_fit(ASKED, fresh=True)
after = ask_all(opened)
left = [session.remaining().value for session in opened]
os.chdir("../there")
print(json.dumps([anew, [before, code, fits, after, list(map(int, left))], ask_all(elsewhere)]))
"""


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """What a process sees that forks while sessions are open; then it goes to another folder."""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    place = tmp_path_factory.mktemp("forked")
    # the name of the first folder looks like a pattern
    for folder, item in (("[h]ere", "x"), ("there", "y")):
        (place / folder).mkdir()
        (place / folder / "votes.csv").write_text("a\n" + f"{item}\n" * 3)
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        cwd=place / "[h]ere",
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_forked_child_can_ask_and_end(forked):
    """Its parent can ask before and after that."""
    assert forked[0] == ["x", "x", "x"]


def test_a_session_that_is_open_while_its_process_forks_goes_on(forked):
    """Also one whose instance was replaced meanwhile; the child ends as children do."""
    assert forked[1] == [["x"] * 6, 0, True, ["x"] * 6, [60] * 6]


def test_after_a_fork_another_working_folder_has_no_other_table(forked):
    """For a name, a pattern, a path and a file with options."""
    assert forked[2] == ["x"] * 4


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_counted_of_a_public_table_is_gone_after_the_question(
    tmp_path, monkeypatch, fails
):
    """Also in a database that may only be read, and where the question fails."""
    path = str(tmp_path / "reads.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(
            "create table reads as select range as person, range % 3 as item from range(9)"
        )
    session = Session(path, table_name="reads", unit=Person("person"), budget=PureDP(99))
    public = PublicTable(pyarrow.table({"item": [0, 1, 2, 3]}), column="item")
    seen = []
    real = candidates.CountHistogram.label

    def label(tally, *place):
        seen.append(_tables(tally._table.connection))
        if fails:
            raise ValueError
        return real(tally, *place)

    monkeypatch.setattr(candidates.CountHistogram, "label", label)
    if fails:
        with pytest.raises(EngineError, match=r"^The engine failed"):
            session.mode("item", candidates=public, epsilon=64)
    else:
        assert session.mode("item", candidates=public, epsilon=64).value in (0, 1, 2)
    assert [len(each) for each in seen] == [1]
    assert _tables(session._runner.table.connection) == []


def _tables(connection):
    query = "select table_name from duckdb_tables() where temporary"
    return connection.execute(query).fetchall()
