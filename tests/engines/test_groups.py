"""Groups, capped candidates and numbers of persons: every engine counts as plain Python does, and
whatever one more person writes, one group moves, by no more than the person's items.
"""

from __future__ import annotations

import json

import pandas
import pytest
from engines.hostile import FEW, SOMEBODY, crowd_of_hostile_persons, halves_of, possible, with_each
from engines.people import HONEST, row
from engines.tables import EVERY, IN_MEMORY, open_rows

from discreet import OneRow, ParameterError, Person, PureDP, Session
from discreet.tables.contribution_cap import Cap
from discreet.tables.counting import count_candidates, count_persons
from discreet.tables.groups import read_groups
from discreet.tables.items import Items

PERSON = Person("person")
COLUMNS = ["person", "city", "item"]
KEY = f"{7:064x}"


@pytest.fixture(scope="module", params=EVERY)
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def table(engine, tmp_path_factory):
    return open_rows(engine, HONEST, tmp_path_factory.mktemp(engine.name), COLUMNS)


def values(rows, column):
    found = dict.fromkeys(row[column] for row in rows if row[column] not in (None, ""))
    return sorted(found, key=str)


ITEMS = values(HONEST, "item")
GROUPS = values(HONEST, "city")[:4]


def by_hand(rows, place):
    """How many persons of one group have each item: the group that is listed first counts."""
    groups = {}
    for each in rows:
        if each["person"] is not None and each["city"] in GROUPS:
            groups.setdefault(each["person"], set()).add(GROUPS.index(each["city"]))
    pairs = {
        (row["person"], row["item"])
        for row in rows
        if row["city"] == GROUPS[place] and min(groups.get(row["person"], {-1})) == place
    }
    return [sum(item == wanted for _, item in pairs) for wanted in ITEMS]


def counted(table, unit):
    """The counts of each group."""
    groups = read_groups(table, "city", GROUPS)
    return [
        count_candidates(groups.of(table, unit, place), unit, Items("item"), ITEMS)
        for place in range(len(GROUPS))
    ]


@pytest.fixture(scope="module")
def before(table):
    """The counts of each group of persons, and how many persons there are, without one more."""
    return counted(table, PERSON), count_persons(table, PERSON)


def test_groups_of_persons(engine, before):
    seen = engine.seen(HONEST)
    assert before[0] == [by_hand(seen, place) for place in range(len(GROUPS))]


def test_groups_of_rows(engine, table):
    seen = engine.seen(HONEST)
    for counts, group in zip(counted(table, OneRow()), GROUPS, strict=True):
        rows = [row["item"] for row in seen if row["city"] == group]
        assert counts == [rows.count(item) for item in ITEMS]


def test_so_many_candidates_of_each_person(engine, table):
    """Of each person as many candidates count as the cap says, or as the person has."""
    have = {}
    for each in engine.seen(HONEST):
        if each["person"] is not None and each["item"] in ITEMS:
            have.setdefault(each["person"], set()).add(each["item"])
    for most in (1, 2):
        counts = count_candidates(table, PERSON, Items("item"), ITEMS, Cap(most, KEY))
        assert sum(counts) == sum(min(most, len(items)) for items in have.values())


def test_persons(engine, table):
    seen = engine.seen(HONEST)
    persons = {row["person"] for row in seen if row["person"] is not None}
    assert count_persons(table, PERSON) == len(persons)
    assert count_persons(table, OneRow()) == len(seen)


def everything_of(person):
    """What one hostile person writes: a row of theirs, and a usual one of the last group."""
    return [person, row(person["person"], city=GROUPS[-1], item=ITEMS[0])]


def number_of_persons(rows):
    return len({each["person"] for each in rows} - {None})


@pytest.mark.parametrize("engine", IN_MEMORY)
def test_each_hostile_person_in_half_of_the_tables(engine, tmp_path):
    """Nothing raises, and the counts are what plain Python counts, where each of these persons
    moves one group (below). No two of them are in the same tables.
    """
    persons = crowd_of_hostile_persons(possible(engine, FEW))[len(HONEST) :]
    # as a float 2^63 is written with fewer digits
    persons = [each for each in persons if not engine.mixed or abs(each["person"] or 0) < 2**53]
    halves = [
        [each for person in half for each in everything_of(person)] for half in halves_of(persons)
    ]
    for chosen, other in zip(halves, with_each(engine, halves, tmp_path), strict=True):
        world = ["world"] if other.where is not None else []
        other, rows = other.having([*COLUMNS, *world]), [*HONEST, *chosen]
        assert counted(other, PERSON) == [by_hand(rows, place) for place in range(len(GROUPS))]
        assert count_persons(other, PERSON) == number_of_persons(rows)


def test_one_more_person_moves_one_group_of_plain_python():
    groups = [by_hand(HONEST, place) for place in range(len(GROUPS))]
    for hostile in FEW.values():
        rows = [*HONEST, *everything_of(hostile)]
        check_moves(groups, [by_hand(rows, place) for place in range(len(GROUPS))])
        assert number_of_persons(rows) - number_of_persons(HONEST) in (0, 1)


def check_moves(before, after):
    """One person more: counts of one group, each up by 0 or 1."""
    moves = [
        {new - old for old, new in zip(*counts, strict=True)}
        for counts in zip(before, after, strict=True)
    ]
    assert set().union(*moves) <= {0, 1}
    assert sum(1 in each for each in moves) <= 1


ONE_PERSON = sorted(name for name in FEW if FEW[name]["person"] == SOMEBODY)


@pytest.mark.pairs
@pytest.mark.parametrize("name", ONE_PERSON)
def test_one_more_person_moves_one_group(engine, before, name, tmp_path):
    """Whatever their rows say: nothing raises, and the other groups stay as they are."""
    rows = everything_of(FEW[name])
    if not all(map(engine.holds, rows)):
        pytest.skip("this engine cannot hold such a row")
    other = open_rows(engine, [*HONEST, *rows], tmp_path, COLUMNS)
    groups, persons = before
    check_moves(groups, counted(other, PERSON))
    assert count_persons(other, PERSON) - persons in (0, 1)


@pytest.mark.parametrize("engine", EVERY)
def test_a_session_asks_every_engine_for_groups(engine, tmp_path):
    """Columns of JSON lines and of Python objects were refused as groups of persons."""
    name = "events" if engine.name == "duckdb-file" else None
    source = engine.make(HONEST, tmp_path)
    session = Session(source, unit=PERSON, budget=PureDP(1), table_name=name)
    release = session.mode("item", candidates=ITEMS, epsilon=1, by="city", groups=GROUPS)
    assert list(release.value) == GROUPS


OWN = ["__discreet_group", "__discreet_first", "__DISCREET_Person"]


@pytest.mark.parametrize("name", OWN)
def test_names_that_questions_use_themselves_are_refused(name, tmp_path):
    """A person's column of such a name was overwritten by that of the groups: everybody in a
    group became one person, and a person in two groups counted in both.
    """
    lines = tmp_path / "rows.jsonl"
    lines.write_text(json.dumps({name: 1, "city": "A"}) + "\n")
    columns = {name: [1, 1], "city": ["A", "B"]}
    for source in (pandas.DataFrame(columns), lines):
        with pytest.raises(ParameterError, match="without names that begin with '__discreet_'"):
            Session(source, unit=Person(name), budget=PureDP(1))
    with pytest.raises(ParameterError, match="without names that begin with '__discreet_'"):
        Session(pandas.DataFrame(columns), unit=Person("city"), budget=PureDP(1))
