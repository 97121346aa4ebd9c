"""The language of conditions: its grammar, what it means on columns of each type, and what it
refuses.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import ParameterError, Person, PureDP, Session, column, row_count, total
from discreet.errors import ParameterTypeError
from discreet.questions import Condition, Mode, parse_condition
from discreet.tables.condition_matching import matching
from discreet.tables.conditions import (
    OPPOSITE,
    Among,
    And,
    Compare,
    Empty,
    Not,
    Or,
    read_value,
    read_values,
)
from discreet.tables.opening import open_table
from discreet.tables.table import with_numbers

ROWS = """
    select * from (values
        (1, 'DE', 17, 1.5,  true,  date '2025-03-01', '7',    'o''clock'),
        (2, 'DE', 18, 2.5,  false, date '2025-03-02', '70',   'two words'),
        (3, 'FR', 30, null, true,  date '2025-03-03', 'abc',  '"quoted"'),
        (4, null, 40, 'nan'::double, null, null,      '1e2',  'and')
    ) as t(id, country, age, weight, active, day, written, "odd name")
"""

MOMENTS = """
    select * from (values
        (1, timestamp '2025-03-01 00:00:00', timestamptz '2025-03-01 00:00:00+00'),
        (2, timestamp '2025-03-01 23:59:59', timestamptz '2025-03-01 23:59:59+02'),
        (3, timestamp '2025-03-02 00:00:00', timestamptz '2025-03-02 00:00:00-05'),
        (4, null, null)
    ) as t(id, local, zoned)
"""


@pytest.fixture(scope="module")
def connection():
    return duckdb.connect()


@pytest.fixture(scope="module")
def table(connection):
    return with_numbers(open_table(connection.sql(ROWS)), True)


@pytest.fixture(scope="module")
def moments(connection):
    return open_table(connection.sql(MOMENTS))


def rows(table, condition):
    """The ids of the rows that count."""
    tree = parse_condition(condition) if isinstance(condition, str) else condition
    counted = replace(table, where=matching(tree, table))
    return sorted(counted.rows.select("id").collect()["id"].to_list())


MEANINGS = [
    ("country = 'DE'", [1, 2]),
    ("country = DE", [1, 2]),
    ("country='DE'", [1, 2]),
    # an empty cell is not another country
    ("country != 'DE'", [3]),
    ("age = 18", [2]),
    ("age>=17.5", [2, 3, 4]),
    ("age = 17.5", []),
    ("age != 17.5", [1, 2, 3, 4]),
    ("age > -1", [1, 2, 3, 4]),
    ("age < 99999999999999999999", [1, 2, 3, 4]),
    ("age < 53/3", [1]),
    # NaN is empty: it is neither above nor below, nor different
    ("weight > 2", [2]),
    ("weight != 1.5", [2]),
    ("active = 'FALSE'", [2]),
    ("day >= '2025-03-02'", [2, 3]),
    ("day = 2025-03-01", [1]),
    ("day = date '2025-03-01'", [1]),
    ("day in ('2025-03-01', 2025-03-03)", [1, 3]),
    # as numbers, and what is none does not count
    ("written = 7.0", [1]),
    ("written != 7", [2, 4]),
    ("written = '7'", [1]),
    ("written = '7.0'", []),
    # as text
    ("written > '8'", [3]),
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
]


def test_what_it_means(table):
    for text, found in MEANINGS:
        assert rows(table, text) == found, text


WORDED = [
    # unknown stays unknown: row 4 has no country, rows 3 and 4 no weight
    ("not country = 'DE'", [3]),
    ("not country != 'DE'", [1, 2]),
    ("not (weight < 2 or weight >= 2)", []),
    ("not (country = 'DE' and age = 17)", [2, 3, 4]),
    ("not (country = 'DE' or age = 17)", [3]),
    ("not (not country = 'DE')", [1, 2]),
    ("not written = 7", [2, 4]),
    ("NOT age = 17 and NOT age = 18", [3, 4]),
    ("not weight is null", [1, 2]),
    ("not (weight is not null)", [3, 4]),
    ("country IS NULL or age = 17", [1, 4]),
    ("country in ('DE', 'US')", [1, 2]),
    ("country not in ('DE', 'US')", [3]),
    ("not country in ('DE', 'US')", [3]),
    ("age in (17, 40, 17.5)", [1, 4]),
    ("weight not in (1.5)", [2]),
    ("written in (7, 100)", [1, 4]),
    ("written not in (7, 100)", [2]),
    ("active in (true, false)", [1, 2, 3]),
    ("weight not between 2 and 3", [1]),
    ("age between 18 and 30 and country = 'FR'", [3]),
    ("day between '2025-03-02' and date '2025-03-09'", [2, 3]),
    ("country between 'A' and 'E' or age = 40", [1, 2, 4]),
]


def test_words(table):
    for text, found in WORDED:
        assert rows(table, text) == found, text


def test_what_stands_on_the_left_is_a_column():
    with pytest.raises(ParameterError, match="the column first, as in age >= 1"):
        parse_condition("country = 'x' or 1 = 1")
    assert parse_condition("country = 'x' or \"1\" = 1").columns == ["country", "1"]


def test_the_columns_that_it_looks_at():
    assert parse_condition("b = 1 and (a = 2 or not b = 3) or c is null").columns == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1.50", Compare("a", "=", Fraction(3, 2))),
        ("a = -2/6", Compare("a", "=", Fraction(-1, 3))),
        ("a = 1e3", Compare("a", "=", Fraction(1000))),
        ("a = ''", Compare("a", "=", "")),
        ("a = 'it''s'", Compare("a", "=", "it's")),
        ("a = 'true'", Compare("a", "=", "true")),
        ("date = date '2025-03-01'", Compare("date", "=", date(2025, 3, 1))),
        ("a < timestamp '2025-03-01 09:30'", Compare("a", "<", datetime(2025, 3, 1, 9, 30))),
        (
            "a < Timestamp '2025-03-01 09:30+02:00'",
            Compare("a", "<", datetime(2025, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=2)))),
        ),
        ('"and" is null', Empty("and")),
        ('"a ""b""" is null', Empty('a "b"')),
        ("a not in (1, 2)", Not(Among("a", (Fraction(1), Fraction(2))))),
        ("a in (1, 1.0, 2)", Among("a", (Fraction(1), Fraction(2)))),
        ("not a is not null", Not(Not(Empty("a")))),
        (
            "a = 1 or b = 2 and c = 3",
            Or(
                (
                    Compare("a", "=", Fraction(1)),
                    And((Compare("b", "=", Fraction(2)), Compare("c", "=", Fraction(3)))),
                )
            ),
        ),
        ("not a = 1 or b is null", Or((Not(Compare("a", "=", Fraction(1))), Empty("b")))),
    ],
)
def test_the_tree_that_a_text_means(text, tree):
    assert parse_condition(text) == tree


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", "It needs a column at the end."),
        ("age", "It needs one of = != < <= > >=, in, between or is after 'age'."),
        ("age 18", "It needs one of = != < <= > >=, in, between or is after 'age'."),
        ("age =", "It needs a number or a 'text' after '='."),
        ("age == 18", "It needs = once for equal."),
        ("age = null", "It needs 'is null' for an empty cell."),
        ("age = 18 -- x", "It needs 'and' or 'or' before '--'."),
        ("age <> 18", "It needs != for unequal."),
        ("age = and", "It needs a number or a 'text' after '='."),
        (
            'country = "DE"',
            "It needs single quotes around text, 'DE', because double ones are for columns.",
        ),
        ("'age' = 18", "It needs a column before 'age'."),
        ("age = 18)", "It needs 'and' or 'or' before ')'."),
        ("(age = 18", "It needs a closing parenthesis."),
        ("country = 'DE", "It needs a closing quote."),
        ("age ! 18", "It needs something else before '! 18'."),
        ("age = 18; drop table reads", "It needs 'and' or 'or' before 'drop'."),
        ("not not age = 18", "It needs 'not' only once, or parentheses between."),
        ("age in ()", "It needs a number or a 'text' after '('."),
        ("age in (1,)", "It needs a number or a 'text' after ','."),
        ("age in (1 2)", "It needs a closing parenthesis."),
        ("age between 1", "It needs 'and' between the two values of 'between'."),
        ("age is 3", "It needs 'null' after 'is'."),
        ("day = date '2025-13-01'", "It needs a day in ISO form, not '2025-13-01'."),
        ("day = timestamp 'noon'", "It needs a time in ISO form, not 'noon'."),
        ("(" * 51 + "age = 1" + ")" * 51, "It needs at most 50 nested conditions."),
        ("a = '" + "x" * 100_000 + "'", "It needs at most 100,000 characters."),
    ],
)
def test_what_is_refused(text, missing):
    with pytest.raises(ParameterError) as caught:
        parse_condition(text)
    assert (caught.value.owner, caught.value.name) == ("parse_condition", "where")
    assert caught.value.hint == missing


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" or ".join(["age = 1"] * 101), "of at most 100 comparisons. Got 101. For many values"),
        (f"a in ({', '.join(map(str, range(1001)))})", "1 to 1000 values. Got 1001."),
        ("a in (1, 'x')", "values of one kind. Got 'several kinds'."),
        ("a in (true, 1)", "values of one kind. Got 'several kinds'."),
        ("a = 1e301", "a number up to 1e300. Got 'another'."),
        ("a = -1e999", "a number up to 1e300. Got 'another'."),
        ("a = 'x\0y'", "text without the character 0 or half characters. Got 'another'."),
        ("a = '\ud800'", "text without the character 0 or half characters. Got 'another'."),
    ],
    ids=["comparisons", "values", "kinds", "truth", "large", "larger", "NUL", "half"],
)
def test_what_is_too_much_for_an_engine(text, rule):
    with pytest.raises(ParameterError) as caught:
        parse_condition(text)
    said = f"The 'where' parameter of parse_condition must be {rule}"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", [None, 3, b"age = 1", ["age = 1"]], ids=repr)
def test_what_is_no_text(text):
    with pytest.raises(
        ParameterTypeError, match="'text' parameter of parse_condition must be a condition as text"
    ):
        parse_condition(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("age = '18'", "a number, without quotes, for the column 'age'. Got '18'."),
        ("age = old", "a number, without quotes, for the column 'age'. Got 'old'."),
        ("age = true", "a number, without quotes, for the column 'age'. Got True."),
        ("weight = date '2025-03-01'", "a number, without quotes, for the column 'weight'"),
        ("weight < 1e300 and weight = '2'", "a number, without quotes, for the column 'weight'"),
        ("active = 1", "= or != with true or false for the column 'active'. Got '1'."),
        ("active < true", "= or != with true or false for the column 'active'. Got True."),
        ("active = yes", "= or != with true or false for the column 'active'. Got 'yes'."),
        ("written < true", "= or != with true or false for the column 'written'. Got True."),
        ("day = yesterday", "a day such as '2025-03-01' for the column 'day'. Got 'yesterday'."),
        ("day = 20250301", "a day such as '2025-03-01' for the column 'day'. Got '20250301'."),
        ("day < timestamp '2025-03-01 09:30'", "a day such as '2025-03-01' for the column 'day'"),
        ("country < timestamp '2025-03-01 09:30'", "a day or text, as the column is text for the"),
        ("size = 1", "one of the columns 'id', 'country', "),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(table, text, rule):
    with pytest.raises(ParameterError) as caught:
        rows(table, text)
    assert str(caught.value).startswith(f"The 'where' parameter must be {rule}")


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("local >= '2025-03-01 23:59'", [2, 3]),
            ("local > '2025-03-01 23:59:59'", [3]),
            ("local = timestamp '2025-03-02 00:00'", [3]),
            # a day stands for all of its times
            ("local = '2025-03-01'", [1, 2]),
            ("local != '2025-03-01'", [3]),
            ("local <= date '2025-03-01'", [1, 2]),
            ("local > '2025-03-01'", [3]),
            ("local < '2025-03-01'", []),
            ("local >= '2025-03-01'", [1, 2, 3]),
            ("not local = '2025-03-01'", [3]),
            ("local in ('2025-03-02', '2024-01-01')", [3]),
            ("local between '2025-03-01' and '2025-03-01'", [1, 2]),
            ("local <= date '9999-12-31'", [1, 2, 3]),
            ("local > date '9999-12-31'", []),
            ("zoned < '2025-03-01 22:00+00:00'", [1, 2]),
            ("zoned = timestamp '2025-03-01 00:00+00:00'", [1]),
            ("zoned >= '2025-03-02 05:00+00:00'", [3]),
            ("zoned is null", [4]),
        ],
    )
    def test_what_they_mean(self, moments, text, found):
        assert rows(moments, text) == found

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("local = 'noon'", "a day or a time such as '2025-03-01 09:30' for the column 'local'"),
            ("local = 3", "a day or a time such as '2025-03-01 09:30' for the column 'local'"),
            ("local = '2025-03-01 09:30+00:00'", "a time without a zone for the column 'local'"),
            ("zoned = '2025-03-01 09:30'", "a time with its zone, such as "),
            ("zoned = '2025-03-01'", "a time with its zone, such as '2025-03-01 00:00+00:00'"),
        ],
    )
    def test_a_zone_is_there_exactly_where_the_column_has_one(self, moments, text, rule):
        with pytest.raises(ParameterError) as caught:
            rows(moments, text)
        assert str(caught.value).startswith(f"The 'where' parameter must be {rule}")

    def test_days_at_the_beginning_of_a_text(self, connection):
        texts = (
            "select * from (values (1, '2025-03-01'), (2, '2025-03-01T09:30'), (3, '2 March')) as "
            "t(id, day)"
        )
        table = open_table(connection.sql(texts))
        assert rows(table, "day = date '2025-03-01'") == [1, 2]
        assert rows(table, "day < date '2026-01-01'") == [1, 2]
        assert rows(table, "not day = date '2025-03-01'") == []
        assert rows(table, "day = '2025-03-01'") == [1]


def test_a_list_is_null_or_not_and_nothing_else(connection):
    table = open_table(connection.sql("select 1 as id, [1, 2] as numbers"))
    assert rows(table, "numbers is not null") == [1]
    with pytest.raises(
        ParameterError, match="a column of numbers, text, days, times or truth values"
    ):
        rows(table, "numbers = 1")


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["DE", "FR", "7"])], ids=str)
def test_categories_are_text(kind):
    frame = polars.DataFrame(
        {"id": [1, 2, 3, 4], "made": ["DE", "FR", "7", None]}, schema_overrides={"made": kind}
    )
    table = with_numbers(open_table(frame), True)
    assert rows(table, "made = 'DE' or made > 'F'") == [1, 2]
    assert rows(table, "made not in ('DE', 'never')") == [2, 3]
    assert rows(table, "made = 7") == [3]


@pytest.mark.parametrize(
    "kind",
    [
        "int8",
        "uint64",
        *(
            pytest.param(kind, marks=pytest.mark.sizes)
            for kind in ("uint8", "int16", "uint32", "int64")
        ),
    ],
)
def test_whole_numbers_at_their_limits(kind):
    """A value that the type cannot hold is above or below every cell; no engine is asked to cast
    it.
    """
    limits = np.iinfo(kind)
    cells = [int(limits.min), 1, int(limits.max)]
    table = open_table(polars.DataFrame({"id": [1, 2, 3], "cell": np.array(cells, dtype=kind)}))
    values = [edge + move for edge in cells for move in (-1, Fraction(-1, 2), 0, Fraction(1, 2), 1)]
    for value in [*values, Fraction(10) ** 300, -(Fraction(10) ** 300)]:
        for sign in OPPOSITE:
            expected = [place for place, cell in enumerate(cells, 1) if _holds(cell, sign, value)]
            assert rows(table, Compare("cell", sign, Fraction(value))) == expected, (sign, value)


def _holds(cell, sign, value):
    return {
        "=": cell == value,
        "!=": cell != value,
        "<": cell < value,
        "<=": cell <= value,
        ">": cell > value,
        ">=": cell >= value,
    }[sign]


def test_as_long_as_it_may_be(table):
    assert rows(table, " or ".join(["written = 7", *["age = 99"] * 99])) == [1]
    assert rows(table, "(" * 49 + "age = 17" + ")" * 49) == [1]


def test_no_text_can_reach_the_engine_as_a_query(table):
    for text in ("country = 'x'' or 1 = 1 --'", "country = '%'", "country = 'x;drop table t'"):
        assert rows(table, text) == []


class TestBuilder:
    @pytest.mark.parametrize(
        ("made", "text"),
        [
            (column("age") == 3, "age = 3"),
            (column("age") != np.int64(3), "age != 3"),
            (column("age") < 0.1, "age < 1/10"),
            (column("age") <= Decimal("1.5"), "age <= 3/2"),
            (column("age") > Fraction(1, 3), "age > 1/3"),
            (column("a b") >= "x'y", "\"a b\" >= 'x''y'"),
            (column("not") == True, '"not" = true'),  # noqa: E712
            (column("age") > 3, "age > 3"),
            (column("age").is_in([3, 1, 3]), "age in (3, 1)"),
            (column("age").is_in({"b", "a"}), "age in ('a', 'b')"),
            (column("age").is_in(range(3)), "age in (0, 1, 2)"),
            (column("age").is_between(1, 2), "age >= 1 and age <= 2"),
            (column("age").is_between(1, 2, closed="left"), "age >= 1 and age < 2"),
            (column("age").is_between(1, 2, closed="right"), "age > 1 and age <= 2"),
            (column("age").is_between(1, 2, closed="none"), "age > 1 and age < 2"),
            (~column("age").is_null(), "not age is null"),
            (
                (column("a") == 1) & (column("b") == 2) | ~(column("c") == date(2025, 3, 1)),
                "a = 1 and b = 2 or not c = date '2025-03-01'",
            ),
            (
                (column("a") == 1) & ((column("b") == 2) | (column("c") == 3)),
                "a = 1 and (b = 2 or c = 3)",
            ),
        ],
        ids=str,
    )
    def test_it_writes_the_language(self, made, text):
        assert str(made) == text
        assert repr(made) == f"<condition: {text}>"
        assert isinstance(made, Condition)

    def test_mistakes_are_named(self):
        age = column("age")
        with pytest.raises(ParameterTypeError, match=r"must be written as & \(or: \|, not: ~\)"):
            assert 30 <= age < 50
        with pytest.raises(
            ParameterTypeError,
            match=r"'other' parameter of a condition must be a condition\. Got True",
        ):
            (age == 3) & True
        with pytest.raises(
            ParameterTypeError, match=r"Got None\. For empty cells, use is_null\(\)"
        ):
            assert (age == None) is None  # noqa: E711
        with pytest.raises(ParameterTypeError, match="not with other columns or rows"):
            age == column("size")  # noqa: B015
        with pytest.raises(ParameterTypeError, match=r"must be a public value: .*\. Got a list\."):
            age == [41, 38, 12]  # noqa: B015
        with pytest.raises(ParameterTypeError, match=r"must be a list of public values\. Got 'ab'"):
            age.is_in("ab")
        with pytest.raises(ParameterError, match=r"must be 1 to 1000 values\. Got 0"):
            age.is_in([])
        for number in (
            float("nan"),
            float("-inf"),
            Decimal("NaN"),
            Decimal("sNaN"),
            Decimal("inf"),
        ):
            with pytest.raises(ParameterError, match=r"must be a finite number\. Got "):
                age == number  # noqa: B015
        for number in (
            Decimal("1e999999999"),
            Decimal("1e-999999999"),
            10**400,
            Fraction(1, 7**9999),
        ):
            with pytest.raises(
                ParameterError, match=r"must be a number up to 1e300\. Got 'another'"
            ):
                age == number  # noqa: B015
        with pytest.raises(
            ParameterError, match=r"must be one of 'both', 'left', 'right', 'none'\. Got 'all'"
        ):
            age.is_between(1, 2, closed="all")
        for name in (None, "", 3):
            with pytest.raises(ParameterTypeError, match="must be the name of a column"):
                column(name)
        with pytest.raises(TypeError, match="unhashable"):
            hash(age)


WORDS = st.sampled_from(["and", "not", "date", "null", "it's", '"', "", "1", "-", " ", "true"])
TEXTS = WORDS | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
)
TIMES = st.datetimes() | st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5))])
)
KINDS = [
    st.fractions(max_denominator=10**9) | st.integers(-(10**300), 10**300),
    TEXTS,
    st.booleans(),
    st.dates(),
    TIMES,
]
NAMES = TEXTS.filter(bool)
COMPARISONS = (
    st.builds(
        Compare,
        NAMES,
        st.sampled_from(list(OPPOSITE)),
        st.one_of(KINDS).map(lambda v: read_value(v, "v")),
    )
    | st.builds(
        Among,
        NAMES,
        st.one_of([st.lists(kind, min_size=1, max_size=4) for kind in KINDS]).map(
            lambda values: read_values(values, "v")
        ),
    )
    | st.builds(Empty, NAMES)
)
TREES = st.recursive(
    COMPARISONS,
    lambda tree: (
        st.builds(Not, tree)
        | st.builds(lambda a, b: a & b, tree, tree)
        | st.builds(lambda a, b: a | b, tree, tree)
    ),
    max_leaves=12,
)


class TestWrittenAndRead:
    @given(TREES)
    @settings(max_examples=100, deadline=None)
    def test_what_a_tree_writes_means_the_same_tree(self, tree):
        assert parse_condition(str(tree)) == tree

    @given(
        st.text(max_size=40)
        | st.text("abc01'\"()=<>!,. andornti", max_size=40)
        | st.lists(WORDS | st.sampled_from(["(", ")", "=", "<", ",", "in", "is", "a"])).map(
            " ".join
        )
    )
    @settings(max_examples=100, deadline=None)
    def test_any_text_is_a_condition_or_refused(self, text):
        try:
            tree = parse_condition(text)
        except ParameterError:
            return
        assert parse_condition(str(tree)) == tree


class TestBareWords:
    """A word without quotes is text, unless it is the name of a column."""

    STAYS = polars.DataFrame(
        {"who": [1, 2], "start": ["a", "b"], "end": ["b", "a"], "2020": ["x", "y"]}
    )

    def bound(self, where, table=STAYS):
        session = Session(table, unit=Person("who"), budget=PureDP(1))
        return session.price(Mode("start", candidates=["a"], epsilon=1, where=where))

    @pytest.mark.parametrize(
        "where", ["start = end", "start in (a, end)", "start between a and end", "not start != end"]
    )
    def test_two_columns_are_not_compared(self, where):
        with pytest.raises(ParameterError, match=r"It needs quotes, 'end', if that is"):
            self.bound(where)

    @pytest.mark.parametrize(
        "where",
        [
            "start = 'end'",
            "start = a",
            "start = End",
            "start = '2020'",
            "start = date '2020-01-01'",
        ],
    )
    def test_everything_else_is_a_value(self, where):
        assert self.bound(where).fits

    @pytest.mark.parametrize(
        "score",
        [
            lambda where: row_count(where=where),
            lambda where: total("who", bounds=(0, 9), step=1, where=where),
        ],
    )
    def test_nor_are_they_in_totals(self, score):
        session = Session(self.STAYS, unit=Person("who"), budget=PureDP(1))
        asked = {"candidates": ["a"], "epsilon": 1}
        with pytest.raises(ParameterError, match=r"It needs quotes, 'end', if that is"):
            session.select(score=lambda _: score("start < end"), **asked)
        assert session.spent().value == 0
        assert session.select(score=lambda _: score("start < 'end'"), **asked).value == "a"

    def test_json_lines_have_every_column_and_words_are_text_there(self, tmp_path):
        (tmp_path / "stays.jsonl").write_text('{"who": 1, "start": "a", "end": "a"}\n')
        assert self.bound("start = end", str(tmp_path / "stays.jsonl")).fits
