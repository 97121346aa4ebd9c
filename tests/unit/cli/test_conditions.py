"""`--where`: the grammar, what it means on columns of each type, and what it refuses."""

from __future__ import annotations

import duckdb
import narwhals as nw
import pytest
from discreet.cli.conditions import Condition

from discreet import ParameterError

ROWS = """
    select * from (values
        (1, 'DE', 17, 1.5,  true,  date '2025-03-01', '7',    'o''clock'),
        (2, 'DE', 18, 2.5,  false, date '2025-03-02', '70',   'two words'),
        (3, 'FR', 30, null, true,  date '2025-03-03', 'abc',  '"quoted"'),
        (4, null, 40, 'nan'::double, null, null,      '1e2',  'and')
    ) as t(id, country, age, weight, active, day, written, "odd name")
"""


@pytest.fixture(scope="module")
def table():
    return nw.from_native(duckdb.sql(ROWS)).lazy()


def rows(table, text):
    expression = Condition(text, "discreet mode").expression(dict(table.collect_schema()))
    return sorted(table.filter(expression).select("id").collect()["id"].to_list())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("country = 'DE'", [1, 2]),
        ("country = DE", [1, 2]),
        ("country='DE'", [1, 2]),
        ("country != 'DE'", [3]),  # an empty cell is not another country
        ("country < 'E'", [1, 2]),
        ("age = 18", [2]),
        ("age != 18", [1, 3, 4]),
        ("age < 18", [1]),
        ("age <= 18", [1, 2]),
        ("age > 18", [3, 4]),
        ("age >= 18", [2, 3, 4]),
        ("age>=17.5", [2, 3, 4]),
        ("age > -1", [1, 2, 3, 4]),
        ("age < 99999999999999999999", [1, 2, 3, 4]),
        ("weight < 2", [1]),
        ("active = true", [1, 3]),
        ("active = 'FALSE'", [2]),
        ("day >= '2025-03-02'", [2, 3]),
        ("day = 2025-03-01", [1]),
        ("written > 8", [2, 4]),  # as numbers, and what is none does not count
        ("written = 7", [1]),
        ("written = 7.0", [1]),
        ("written = '7'", [1]),
        ("written = '7.0'", []),
        ("written > '8'", [3]),  # as text
        ("\"odd name\" = 'o''clock'", [1]),
        ("\"odd name\" = 'two words'", [2]),
        ('"odd name" = \'"quoted"\'', [3]),
        ("\"odd name\" = 'and'", [4]),
        ("age = 17 or age = 30 and country = 'DE'", [1]),
        ("(age = 17 or age = 30) and country = 'DE'", [1]),
        ("(age = 17 or age = 30) and (country = 'FR')", [3]),
        ("age = 17 OR (age = 40) or country = 'FR'", [1, 3, 4]),
        ("age > 17 AND age < 40 and country = 'FR'", [3]),
        ("((age = 17))", [1]),
        ("  age\n=\t17  ", [1]),
        ("country = 'x' or 1 = 1", None),
    ],
)
def test_what_it_means(table, text, found):
    if found is None:
        assert Condition(text, "discreet mode").columns == ["country", "1"]  # a column, not a truth
    else:
        assert rows(table, text) == found


def test_the_columns_that_it_looks_at():
    assert Condition("b = 1 and (a = 2 or b = 3)", "discreet mode").columns == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", "It needs a column at the end."),
        ("   ", "It needs a column at the end."),
        ("age", "It needs one of = != < <= > >= after 'age'."),
        ("age 18", "It needs one of = != < <= > >= after 'age'."),
        ("age =", "It needs a number or a 'text' after '='."),
        ("age == 18", "It needs a number or a 'text' after '='."),
        ("age <> 18", "It needs a number or a 'text' after '<'."),
        ("age = and", "It needs a number or a 'text' after '='."),
        ('country = "DE"', "It needs a number or a 'text' after '='."),
        ("age = 18 and", "It needs a column at the end."),
        ("and age = 18", "It needs a column before 'and'."),
        ("'age' = 18", "It needs a column before 'age'."),
        ("age = 18 country = 'DE'", "It needs 'and' or 'or' before 'country'."),
        ("age = 18)", "It needs 'and' or 'or' before ')'."),
        ("(age = 18", "It needs a closing parenthesis."),
        ("country = 'DE", "It needs a closing quote."),
        ("age ! 18", "It needs something else before '! 18'."),
        ("age = 18; drop table reads", "It needs 'and' or 'or' before 'drop'."),
        ("age = 18 -- x", "It needs 'and' or 'or' before '--'."),
        ("(" * 51 + "age = 1" + ")" * 51, "It needs at most 50 parentheses in each other."),
        (" or ".join(["age = 1"] * 101), "It needs at most 100 comparisons."),
    ],
)
def test_what_is_refused(text, missing):
    with pytest.raises(ParameterError) as caught:
        Condition(text, "discreet mode")
    assert caught.value.owner == "discreet mode"
    assert caught.value.name == "--where"
    assert caught.value.hint == missing


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("age = '18'", "a number, without quotes, for the column 'age'"),
        ("age = old", "a number, without quotes, for the column 'age'"),
        ("active = 1", "true or false for the column 'active'"),
        ("day = yesterday", "a day such as '2025-03-01' for the column 'day'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(table, text, rule):
    with pytest.raises(ParameterError, match=rule):
        rows(table, text)


def test_a_time_is_compared_with_a_time():
    frame = nw.from_native(duckdb.sql("select 1 as id, timestamp '2025-03-01 09:30:00' as moment")).lazy()
    assert rows(frame, "moment >= '2025-03-01 09:30'") == [1]
    assert rows(frame, "moment > '2025-03-01 09:30'") == []
    with pytest.raises(ParameterError, match="a time such as"):
        rows(frame, "moment = 'noon'")


def test_a_list_cannot_be_compared():
    frame = nw.from_native(duckdb.sql("select 1 as id, [1, 2] as numbers")).lazy()
    with pytest.raises(ParameterError, match="a column of numbers, text, days"):
        rows(frame, "numbers = 1")


def test_as_long_as_it_may_be(table):
    assert rows(table, " or ".join(["written = 7"] * 100)) == [1]
    assert rows(table, "(" * 50 + "age = 17" + ")" * 50) == [1]


def test_no_text_can_reach_the_engine_as_a_query(table):
    for text in ("country = 'x'' or 1 = 1 --'", "country = '%'", "country = 'x;drop table t'"):
        assert rows(table, text) == []
