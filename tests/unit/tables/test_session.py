"""Sessions: what is checked, what is charged and when, and what never shows. Engines have their
own tests in tests/engines.
"""

from __future__ import annotations

import copy
import datetime
import pickle
import threading
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial

import duckdb
import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from asking import ask_of, question_of
from pyarrow import parquet

import discreet
from discreet import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    BudgetExceededError,
    OneRow,
    ParameterError,
    Person,
    PublicTable,
    PureDP,
    Session,
)
from discreet.accounting.coin_table import coin_terms
from discreet.errors import ParameterTypeError
from discreet.mechanisms.histogram_top_k import NoisyUnknownList
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.questions import Mode, TopK
from discreet.tables.candidates import CountHistogram
from discreet.tables.items import Items
from discreet.tables.opening import open_table
from discreet.testing import SeededBits

VOTES = pandas.DataFrame(
    {
        "student": [1, 1, 2, 3, 4, 5, 5],
        "teacher": ["Ada", "Ada", "Ada", "Bob", "Ada", "Bob", "Cy"],
        "pays": [1.0, 2.0, 3.5, 4.0, 4.5, 0.5, 2.5],
        "age": [20, 20, 31, 42, 19, 25, 25],
        "agrees": [True, True, False, True, True, False, False],
        "born": pandas.array(
            [datetime.date(2000, 1, day) for day in (1, 1, 2, 3, 4, 5, 5)], dtype="date32[pyarrow]"
        ),
    }
)
TEACHERS = ["Ada", "Bob", "Cy"]


@pytest.fixture
def session():
    return Session(VOTES, unit=Person("student"), budget=PureDP(10))


class Watched:
    """A lazy table that notes what happens when its rows are read."""

    def __init__(self, frame=VOTES):
        self.reads = []
        self.at_read = lambda: None
        plain = polars.from_pandas(frame)
        nothing_first = dict.fromkeys(
            ["predicate_pushdown", "projection_pushdown", "slice_pushdown"], False
        )
        self.table = plain.lazy().map_batches(self._read, schema=plain.schema, **nothing_first)

    def _read(self, frame):
        if len(frame):
            self.reads.append(self.at_read())
        return frame


@pytest.fixture
def watched():
    made = Watched()
    yield made
    # it may hold the session that holds it, and Polars in between hides that from Python
    made.at_read = lambda: None


def _raiser(error):
    def fail(*_, **__):
        raise error

    return fail


QUESTIONS = {
    "mode": lambda s, **more: ask_of(
        s, "mode", "teacher", candidates=TEACHERS, **{"epsilon": 1} | more
    ),
    "top_k": lambda s, **more: ask_of(
        s, "top_k", "teacher", k=2, candidates=TEACHERS, **{"epsilon": 1} | more
    ),
    "best_price": lambda s, **more: ask_of(
        s, "best_price", "pays", prices=[1, 2.5, 4], **{"epsilon": 1, "rule": "max"} | more
    ),
    "quantile": lambda s, **more: ask_of(
        s, "quantile", "age", q=0.5, bounds=(0, 100), step=5, **{"epsilon": 1, "rule": "max"} | more
    ),
    "quantiles": lambda s, **more: ask_of(
        s,
        "quantiles",
        "age",
        q=[0.2, 0.5, 0.9],
        bounds=(0, 100),
        step=5,
        **{"epsilon": 1, "rule": "max"} | more,
    ),
    "select": lambda s, **more: s.select(
        candidates=TEACHERS,
        score=lambda name: (nw.col("teacher") == name).cast(nw.Int32).sum(),
        **{"epsilon": 1, "sensitivity": 1, "monotonic": True} | more,
    ),
    "fit_subspace": lambda s, **more: s.fit_subspace(
        ["pays", "age"], k=1, norm=50, **{"epsilon": 1, "rule": "mean"} | more
    ),
    "fit_deepest": lambda s, **more: s.fit_deepest(
        ["age"], bounds=[(0, 100)], step=5, **{"epsilon": 1, "rule": "mean"} | more
    ),
    "mode of many": lambda s, **more: ask_of(
        s, "mode", "teacher", candidates=PublicTable(VOTES, "teacher"), **{"epsilon": 1} | more
    ),
}
EACH_QUESTION = pytest.mark.parametrize("name", QUESTIONS)


def UNKNOWN(s, **more):
    return ask_of(s, "top_k", "teacher", k=2, **{"epsilon": 1, "delta": 1e-6, "limit": 10} | more)


class TestAnswers:
    @EACH_QUESTION
    def test_a_release_and_its_charge(self, session, name):
        release = QUESTIONS[name](session)
        assert release.loss.epsilon == 1
        assert session.remaining() == 9
        (question,) = session.history()
        assert (question.what, question.loss) == (name.partition(" ")[0], release.loss)
        assert not release.seeded

    @EACH_QUESTION
    def test_seeded_bits_repeat_and_are_marked(self, session, name):
        first, second = (QUESTIONS[name](session, bits=SeededBits(4)) for _ in range(2))
        assert first == second
        assert first.seeded

    def test_the_true_best_at_a_large_epsilon(self):
        session = Session(VOTES, unit=Person("student"), budget=PureDP(1000))
        assert QUESTIONS["mode"](session, epsilon=64).value == "Ada"
        assert QUESTIONS["top_k"](session, epsilon=64).value == ["Ada", "Bob"]
        assert QUESTIONS["best_price"](session, epsilon=64).value == 2.5
        assert QUESTIONS["quantile"](session, epsilon=64).value == 25
        assert QUESTIONS["mode of many"](session, epsilon=64).value == "Ada"

    def test_persons_count_once_and_rows_each(self):
        same = pandas.DataFrame({"who": [1] * 50 + [2, 3], "item": ["a"] * 50 + ["b", "b"]})
        answers = {
            unit: Session(same, unit=unit, budget=PureDP(64))
            .mode("item", candidates=["a", "b"], epsilon=64)
            .value
            for unit in (Person("who"), OneRow())
        }
        assert answers == {Person("who"): "b", OneRow(): "a"}

    def test_everybody_has_the_same_value(self):
        """The share of each person is where all of them are, and nowhere else."""
        table = pandas.DataFrame({"age": [40] * 30})
        session = Session(table, unit=OneRow(), budget=PureDP(1000))
        for q in (0.5, 0.1, 0.9):
            assert session.quantile("age", q=q, bounds=(0, 120), step=1, epsilon=64).value == 40
        assert session.quantile("age", q=0.5, bounds=(50, 120), step=1, epsilon=64).value == 50
        assert session.quantile("age", q=0.5, bounds=(0, 30), step=1, epsilon=64).value == 30

    def test_a_grid_of_one_point(self, session):
        assert (
            session.quantile("age", q=0.5, bounds=(0, 1), step=5, epsilon=1, rule="max").value == 0
        )

    def test_answers_on_a_fine_grid_are_floats(self, session):
        fine = Fraction(1, 4)
        release = session.quantile("pays", q=0.5, bounds=(0, 5), step=fine, epsilon=1, rule="max")
        assert release.value in [place / 4 for place in range(21)]

    def test_prices_keep_the_type_that_they_were_given_in(self, session):
        prices = [Decimal("1.5"), Fraction(5, 2), np.float64(3.5), 2]
        assert session.best_price("pays", prices=prices, epsilon=1, rule="max").value in prices

    @pytest.mark.parametrize(
        ("column", "candidates"),
        [
            ("age", [20, 25.0, 31]),
            ("age", np.array([19, 20])),
            ("agrees", [True, False]),
            ("born", [datetime.date(2000, 1, 1), datetime.date(2000, 1, 2)]),
            ("teacher", pandas.Series(TEACHERS)),
            ("teacher", tuple(TEACHERS)),
            ("teacher", dict.fromkeys(TEACHERS).keys()),
            ("pays", [1, 2.5]),
        ],
        ids=str,
    )
    def test_candidates_of_every_kind(self, session, column, candidates):
        assert session.mode(column, candidates=candidates, epsilon=1).loss == PureDP(1)

    def test_decimals(self):
        connection = duckdb.connect()
        table = connection.sql(
            "select range as who, (range % 3 + 0.5)::decimal(10, 2) as price from range(30)"
        )
        session = Session(table, unit=Person("who"), budget=PureDP(200))
        where = "price > 1"
        assert session.mode(
            "price", candidates=[Decimal("0.5"), Decimal("1.50"), 7], epsilon=64, where=where
        ).value == Decimal("1.50")
        assert session.best_price("price", prices=[0.5, 2.5], epsilon=64, rule="max").value == 2.5

    def test_categories(self):
        kinds = polars.Enum(["a", "b", "c"])
        table = polars.DataFrame(
            {
                "item": polars.Series(["a", "b", "b"], dtype=kinds),
                "also": polars.Series(["x", "y", "y"], dtype=polars.Categorical),
            }
        )
        session = Session(table, unit=OneRow(), budget=PureDP(200))
        assert (
            session.mode("item", candidates=["a", "b", "not a category"], epsilon=64).value == "b"
        )
        assert session.mode("also", candidates=["x", "y", "z"], epsilon=64).value == "y"


class TestBudget:
    @pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "mode of many"])
    def test_nothing_is_read_beyond_it(self, watched, name):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(Fraction(3, 2)))
        text = r"^This question costs epsilon 2, but your budget has only 1\.5 left\."
        with pytest.raises(BudgetExceededError, match=text):
            QUESTIONS[name](session, epsilon=2)
        assert watched.reads == []
        assert (session.remaining(), session.history()) == (Fraction(3, 2), ())

    @pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "mode of many"])
    def test_it_is_taken_before_a_row_is_read(self, watched, name):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(10))
        watched.at_read = lambda: (session.remaining(), len(session.history()))
        QUESTIONS[name](session, epsilon=2)
        assert watched.reads == [(8, 1)]

    def test_many_candidates_are_read_before_and_the_table_after(self, watched):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(10))
        watched.at_read = session.remaining
        public = PublicTable(polars.DataFrame({"teacher": TEACHERS}), "teacher")
        with pytest.raises(BudgetExceededError):
            session.mode("teacher", candidates=public, epsilon=11)
        assert watched.reads == []
        session.mode("teacher", candidates=public, epsilon=1)
        assert set(watched.reads) == {9}

    @pytest.mark.parametrize(
        "kind", [polars.Categorical, polars.Enum(TEACHERS), polars.String], ids=str
    )
    def test_candidates_of_a_public_table_that_are_categories(self, kind):
        """Categories of two tables are compared as text; otherwise the question would be charged,
        and fail.
        """
        votes, listed = (
            polars.DataFrame({"teacher": part})
            for part in ([TEACHERS[1]] * 60 + [TEACHERS[0]], TEACHERS)
        )
        votes = votes.with_columns(polars.col("teacher").cast(kind), student=polars.arange(61))
        public = PublicTable(listed.with_columns(polars.col("teacher").cast(kind)), "teacher")
        session = Session(votes, unit=Person("student"), budget=PureDP(10))
        assert session.mode("teacher", candidates=public, epsilon=5).value == TEACHERS[1]

    def test_a_public_table_that_is_empty_by_now(self):
        """It was counted before the charge; nothing is left to draw from."""
        empty = open_table(polars.DataFrame({"teacher": []}, schema={"teacher": polars.String}))
        with pytest.raises(discreet.EngineError, match=r"^The engine failed"):
            CountHistogram(
                open_table(polars.from_pandas(VOTES)),
                Person("student"),
                Items("teacher"),
                empty,
                "teacher",
            )

    @pytest.mark.parametrize("source", [VOTES, polars.from_pandas(VOTES)], ids=["duckdb", "polars"])
    def test_many_threads_never_overspend(self, source):
        session = Session(source, unit=Person("student"), budget=PureDP(1))
        outcomes, start = Counter(), threading.Barrier(32)

        def ask():
            start.wait()
            try:
                QUESTIONS["mode"](session, epsilon=0.1, fresh=True)
                outcomes["answer"] += 1
            except BudgetExceededError:
                outcomes["refusal"] += 1

        threads = [threading.Thread(target=ask) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes == {"answer": 10, "refusal": 22}
        assert session.remaining() == 0
        assert len(session.history()) == 10

    def test_a_budget_in_rho(self):
        session = Session(VOTES, unit=Person("student"), budget=ZCDP(1))
        QUESTIONS["mode"](session, mechanism="permute-and-flip")
        assert session.remaining() == 1 - PureDP(1).to_zcdp().rho
        QUESTIONS["mode"](session, mechanism="exponential", epsilon=0.5)
        assert session.remaining() == 1 - PureDP(1).to_zcdp().rho - BoundedRange(0.5).to_zcdp().rho

    def test_an_approximate_budget_keeps_a_tenth_of_its_delta_for_lists(self):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        limit = coin_terms(Fraction(1), Fraction(9, 10**7)).coins
        assert session.remaining() == limit
        release = UNKNOWN(session, epsilon=0.5, delta=3e-8)
        assert release.loss == ApproxDP(0.5, 3e-8)
        assert 0 < session.remaining() < limit

    def test_the_delta_of_lists_runs_out(self):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        UNKNOWN(session, epsilon=0.1, delta=1e-8)
        before = session.remaining()
        text = r"costs a delta of 9\.5e-08, but your budget has only 9e-08 left"
        with pytest.raises(BudgetExceededError, match=text):
            UNKNOWN(session, epsilon=0.1, delta=9.5e-8)
        assert len(session.history()) == 1
        assert session.remaining() == before

    def test_the_share_of_lists_is_chosen_by_the_caller(self):
        session = Session(
            VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6), delta_for_losses=5e-7
        )
        UNKNOWN(session, epsilon=0.1, delta=1e-7)
        UNKNOWN(session, epsilon=0.1, delta=4e-7)
        with pytest.raises(BudgetExceededError, match="your budget has no delta left"):
            UNKNOWN(session, epsilon=0.1, delta=1e-9)

    @pytest.mark.parametrize("budget", [PureDP(3), ZCDP(1), ApproxDP(3, 0)], ids=repr)
    def test_without_a_delta_a_list_from_an_unknown_domain_is_refused_before_reading(
        self, watched, budget
    ):
        session = Session(watched.table, unit=Person("student"), budget=budget)
        rule = (
            r"The 'delta' parameter of Session.top_k must be 0 for the budget .*\. Got 1e-06\. "
            r"Open the session with an ApproxDP"
        )
        with pytest.raises(ParameterError, match=rule):
            UNKNOWN(session)
        assert watched.reads == []
        assert session.history() == ()

    def test_a_pure_budget_refuses_a_delta_for_known_candidates_too(self, watched):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(3))
        with pytest.raises(
            ParameterError,
            match=(
                r"The 'delta' parameter of Session.top_k must be 0 for the budget "
                r"PureDP\(epsilon=3\)\. Got 1e-06"
            ),
        ):
            QUESTIONS["top_k"](session, delta=1e-6, method="one-shot")
        assert watched.reads == []
        assert session.remaining() == 3

    @pytest.mark.parametrize("budget", [ZCDP(1)], ids=repr)
    def test_budgets_in_rho_pay_for_the_parts_of_a_list(self, budget):
        session = Session(VOTES, unit=Person("student"), budget=budget)
        before = session.remaining()
        release = QUESTIONS["top_k"](session, delta=1e-6, method="one-shot")
        assert release.loss == ApproxDP(1, 1e-6)
        assert 0 < before - session.remaining() < PureDP(1).to_zcdp().rho

    def test_a_failure_keeps_the_charge_and_its_secret(self, watched):
        """One text for every failure after the charge: its kind may depend on the data, too."""
        session = Session(watched.table, unit=Person("student"), budget=PureDP(10))
        for place, error in enumerate((ValueError("Ada"), OverflowError("Ada"), MemoryError())):
            watched.at_read = _raiser(error)
            with pytest.raises(
                discreet.EngineError,
                match=r"^The engine failed, and the budget stays charged\. The reason may reveal "
                r"data, so it is not shown here: see the log of the engine\.",
            ) as failed:
                QUESTIONS["mode"](session)
            assert str(failed.value) == str(discreet.EngineError())
            assert failed.value.__context__ is failed.value.__cause__ is None
            assert session.remaining() == 9 - place

    def test_an_interruption_says_what_was_charged(self, session, monkeypatch):
        monkeypatch.setattr(
            "discreet.questions.mode.count_candidates", _raiser(KeyboardInterrupt())
        )
        with pytest.raises(KeyboardInterrupt) as interrupted:
            QUESTIONS["mode"](session)
        told = (
            "The question was interrupted after it was paid for: PureDP(epsilon=1) stays charged."
        )
        assert str(interrupted.value) == told
        assert session.remaining() == 9


class TestNothingShows:
    def test_the_history_has_no_answers(self, session):
        QUESTIONS["mode"](session)
        QUESTIONS["select"](session)
        shown = repr(session.history())
        assert "Ada" not in shown
        assert "Bob" not in shown
        assert shown.startswith(
            "(ChargedQuestion(what='mode', column='teacher', loss=PureDP(epsilon=1)), "
            "ChargedQuestion(what='select'"
        )

    def test_the_history_cannot_be_changed(self, session):
        QUESTIONS["mode"](session)
        assert isinstance(session.history(), tuple)
        with pytest.raises(AttributeError):
            session.history()[0].what = "other"

    @pytest.mark.parametrize(
        "source",
        [VOTES, polars.from_pandas(VOTES), polars.from_pandas(VOTES).lazy()],
        ids=["pandas", "polars", "lazy"],
    )
    def test_its_repr(self, source):
        session = Session(source, unit=Person("student"), budget=PureDP(10))
        QUESTIONS["mode"](session)
        assert (
            repr(session)
            == str(session)
            == "Session(unit=Person(column='student'), budget=PureDP(epsilon=10), questions=1)"
        )
        assert "Ada" not in repr(session._runner.table)
        assert "Ada" not in repr(PublicTable("articles.csv", "article"))


class TestWrongParameters:
    """Named by the formula, before a row is read, and for free."""

    def refuse(self, session, ask, match, error=ParameterError):
        with pytest.raises(error, match=match):
            ask(session)
        assert session.history() == ()
        assert session.remaining() == 10

    def refuse_each(self, session, name, parameter, values, match, error=ParameterError):
        for value in values:
            ask = partial(QUESTIONS[name], **{parameter: value})
            self.refuse(session, ask, match, error)

    def test_a_mechanism_that_cannot_draw_from_levels(self, session):
        rule = (
            "The 'mechanism' parameter of Session.mode must be one of 'permute-and-flip', "
            "'exponential'. Got 'laplace-noise'"
        )
        self.refuse(
            session, lambda s: QUESTIONS["mode of many"](s, mechanism="laplace-noise"), rule
        )

    @EACH_QUESTION
    def test_where(self, session, name):
        """Above all no column of truth values: it pairs rows by their position."""
        rule = (
            r"The 'where' parameter of Session\.\w+ must be a condition on single rows: text, "
            r"or made with discreet\.column\. Got (True|3|an? \w+)\. "
        )
        truths = [True] * 7
        series = VOTES["agrees"], polars.Series(truths), np.array(truths)
        wrong = [True, truths, *series, 3, nw.col("agrees")]
        self.refuse_each(session, name, "where", wrong, rule, ParameterTypeError)

    @pytest.mark.parametrize(
        ("where", "rule"),
        [
            ("age = 'old'", "a number, without quotes, for the column 'age'. Got 'old'."),
            ("agrees > true", "= or != with true or false for the column 'agrees'. Got True."),
            ("born = 'soon'", "a day such as '2025-03-01' for the column 'born'. Got 'soon'."),
            ("age >", "a condition such as .* It needs a number or a 'text' after '>'."),
        ],
        ids=str,
    )
    def test_where_with_a_public_mistake(self, session, where, rule):
        rule = f"The 'where' parameter of Session.mode must be {rule}"
        self.refuse(session, lambda s: QUESTIONS["mode"](s, where=where), rule)

    def test_a_column_whose_name_is_a_number(self):
        table = pandas.DataFrame({"student": [1], 2024: ["Ada"]})
        session = Session(table, unit=Person("student"), budget=PureDP(2))
        with pytest.raises(
            ParameterTypeError, match=r"Got 2024\. Names must be text: write '2024', not 2024"
        ):
            session.mode(2024, candidates=["Ada"], epsilon=1)
        assert session.mode("2024", candidates=["Ada"], epsilon=1).value == "Ada"

    @pytest.mark.parametrize("name", ["best_price", "quantile"])
    def test_a_column_without_numbers(self, session, name):
        ask = {
            "best_price": lambda s: s.best_price("agrees", prices=[1], epsilon=1, rule="max"),
            "quantile": lambda s: s.quantile(
                "born", q=0.5, bounds=(0, 1), step=1, epsilon=1, rule="max"
            ),
        }[name]
        rule = (
            rf"The 'column' parameter of Session.{name} must be a column of numbers or of text. "
            r"Got '\w+, of \w+'"
        )
        self.refuse(session, ask, rule, ParameterTypeError)

    def test_candidates(self, session):
        for candidates, rule in {
            (): "at least one",
            ("Ada", "Ada"): "all different",
            ("Ada", None): "without empty labels",
            ("Ada", float("nan")): "without empty labels",
            ("Ada", 3): "text, like the column",
            ("Ada", "\ud800"): "text, like the column",
            ("Ada", "B\0b"): "text, like the column",
            ("Ada", pandas.NA): "without empty labels",
        }.items():
            ask = lambda s, c=candidates: s.mode("teacher", candidates=list(c), epsilon=1)  # noqa: E731
            self.refuse(
                session, ask, f"The 'candidates' parameter of Session.mode must be {rule}. Got "
            )

    @pytest.mark.parametrize(
        ("column", "label", "rule"),
        [
            ("age", "20", "numbers of at most 64 bits, like the column"),
            ("age", True, "numbers of at most 64 bits, like the column"),
            ("age", 2**63, "numbers of at most 64 bits, like the column"),
            ("age", float("inf"), "numbers of at most 64 bits, like the column"),
            ("pays", 10**30, "numbers of at most 64 bits, like the column"),
            ("agrees", 1, "True or False, like the column"),
            ("born", "2000-01-01", "dates, like the column"),
            ("born", datetime.datetime(2000, 1, 1), "dates, like the column"),
        ],
        ids=str,
    )
    def test_candidates_that_the_column_cannot_have(self, session, column, label, rule):
        rule = f"The 'candidates' parameter of Session.mode must be {rule}. Got "
        self.refuse(
            session,
            lambda s: s.mode(column, candidates=[label], epsilon=1),
            rule,
            ParameterTypeError,
        )

    def test_columns_of_other_types(self):
        table = duckdb.connect().sql(
            "select 1 as who, timestamp '2000-01-01' as moment, {'a': 1} as struct"
        )
        for column in ("moment", "struct"):
            session = Session(table, unit=Person("who"), budget=ApproxDP(10, 0.1))
            with pytest.raises(
                ParameterTypeError,
                match=r"The 'column' parameter of Session.mode must be a column of text, numbers",
            ):
                session.mode(column, candidates=[1], epsilon=1)
            with pytest.raises(
                ParameterTypeError,
                match=r"The 'column' parameter of Session.top_k must be a column of text, numbers",
            ):
                session.top_k(column, k=1, epsilon=1, delta=0.01, limit=2)
            assert session.history() == ()

    @pytest.mark.parametrize("items", ["[1.5]", "[timestamp '2000-01-01']", "[[1]]", "[{'a': 1}]"])
    def test_lists_whose_items_engines_compare_in_different_ways(self, items):
        table = duckdb.connect().sql(f"select 1 as who, {items} as ballot")
        session = Session(table, unit=Person("who"), budget=ApproxDP(10, 0.1))
        rule = (
            "must be lists of text, whole numbers, days or truth values, if it has lists. Got "
            "'ballot"
        )
        for ask in (
            lambda: session.mode("ballot", candidates=[1], epsilon=1),
            lambda: session.top_k("ballot", k=1, epsilon=1, delta=0.01, limit=2),
        ):
            with pytest.raises(ParameterTypeError, match=rule):
                ask()
        assert session.history() == ()

    def test_split(self, session):
        def ask(split, column="teacher"):
            return lambda s: s.mode(column, candidates=TEACHERS, epsilon=1, split=split)

        rule = "The 'split' parameter of Session.mode must be"
        for split in ("", ";;", "a", "1", " ", "\n", "\u037e", 3, [";"]):
            self.refuse(
                session, ask(split), f"{rule} one character such as ';' or '|'", ParameterTypeError
            )
        left_out = f"{rule} left out if the column is not text. Got \"';' for a column of Int64\"."
        self.refuse(session, ask(";", "age"), left_out)

    def test_dates_have_no_unknown_domain(self):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(10, 0.1))
        with pytest.raises(
            ParameterTypeError,
            match=(
                r"if there are no candidates. Got 'born, of Date'. Give candidates, or "
                r"convert the column to text"
            ),
        ):
            session.top_k("born", k=1, epsilon=1, delta=0.01, limit=2)
        assert session.history() == ()

    @pytest.mark.parametrize("k", [4], ids=repr)
    def test_k(self, session, k):
        ask = lambda s: s.top_k("teacher", k=k, candidates=TEACHERS, epsilon=1)  # noqa: E731
        self.refuse(
            session,
            ask,
            r"The 'k' parameter of Session\.\w+ must be (at least 1|a whole number|at most the "
            r"number of candidates, 3)\. Got ",
        )

    def test_limit(self, session):
        rule = (
            "The 'limit' parameter of Session.top_k must be given if there are no candidates. "
            "Got None. Ten times k"
        )
        self.refuse(
            session,
            lambda s: s.top_k("teacher", k=1, epsilon=1, delta=0.1),
            rule,
            ParameterTypeError,
        )
        rule = (
            "The 'limit' parameter of Session.top_k must be left out if there are candidates. "
            "Got 5."
        )
        self.refuse(
            session,
            lambda s: s.top_k("teacher", k=1, candidates=TEACHERS, epsilon=1, limit=5),
            rule,
        )
        rule = "The 'limit' parameter of Session.top_k must be at least k, 3. Got 2."
        self.refuse(session, lambda s: s.top_k("teacher", k=3, epsilon=1, delta=0.1, limit=2), rule)

    @pytest.mark.parametrize("name", ["best_price", "quantile", "quantiles"])
    def test_a_rule_has_no_default(self, session, name):
        match = (
            rf"The 'rule' parameter of Session.{name} must be given if a person can have "
            rf"several rows\. Got None\. Say which value counts if a person has several rows"
        )
        ask = lambda s: QUESTIONS[name](s, rule=None)  # noqa: E731
        self.refuse(session, ask, match, ParameterTypeError)

    @pytest.mark.parametrize("name", ["best_price", "quantile", "quantiles"])
    def test_a_rule_where_each_row_is_protected_by_itself(self, name):
        session = Session(VOTES, unit=OneRow(), budget=PureDP(10))
        match = (
            f"'rule' parameter of Session.{name} must be left out if each row is protected by "
            f"itself"
        )
        self.refuse(session, lambda s: QUESTIONS[name](s), match)
        assert QUESTIONS[name](session, rule=None).loss == PureDP(1)

    @pytest.mark.parametrize("name", ["quantile", "quantiles"])
    def test_rows_per_person(self, session, name):
        rule = f"The 'rows_per_person' parameter of Session.{name} must be"
        both = lambda s: QUESTIONS[name](s, rows_per_person=2)  # noqa: E731
        self.refuse(session, both, f"{rule} left out if there is a rule. Got 2.")
        for rows in (0, -1, True, 1.5, "2"):
            ask = lambda s, rows=rows: QUESTIONS[name](s, rule=None, rows_per_person=rows)  # noqa: E731
            self.refuse(session, ask, f"{rule} (at least 1|a whole number). Got ")
        alone = Session(VOTES, unit=OneRow(), budget=PureDP(10))
        ask = lambda s: QUESTIONS[name](s, rule=None, rows_per_person=2)  # noqa: E731
        self.refuse(alone, ask, f"{rule} left out if each row is protected by itself. Got 2.")
        days = Session(VOTES, unit=Person("born"), budget=PureDP(10))
        self.refuse(
            days,
            ask,
            f"{rule} left out if people are not identified by text or numbers",
            ParameterTypeError,
        )

    @pytest.mark.parametrize(
        "bounds", [None, "01", {0: 1}, (1, 0), (0, float("nan")), (0, 10**301)], ids=repr
    )
    def test_bounds(self, session, bounds):
        ask = lambda s: s.quantile(  # noqa: E731
            "age", q=0.5, bounds=bounds, step=1, epsilon=1, rule="max"
        )
        self.refuse(session, ask, "The 'bounds' parameter of Session.quantile must be ")

    @pytest.mark.parametrize("step", [-1, 1e-6, 1e-300, Fraction(1, 10**400)], ids=str)
    def test_step(self, session, step):
        ask = lambda s: s.quantile(  # noqa: E731
            "age", q=0.5, bounds=(0, 100), step=step, epsilon=1, rule="max"
        )
        self.refuse(session, ask, "The 'step' parameter of Session.quantile must be ")

    @pytest.mark.parametrize(
        "score", [None, lambda label: label, 3, "sum"], ids=["None", "label", "3", "text"]
    )
    def test_score_that_is_no_total(self, session, score):
        ask = lambda s: s.select(candidates=[1, 2], score=score, epsilon=1, sensitivity=1)  # noqa: E731
        rule = (
            "The 'score' parameter of Session.select must be a function from a candidate to "
            "discreet.total"
        )
        self.refuse(session, ask, rule, ParameterTypeError)

    @pytest.mark.parametrize(
        ("score", "step"),
        [
            (nw.col("age"), "col"),
            (nw.col("age").max(), "max"),
            (nw.col("age").mean(), "mean"),
            (nw.col("age").sum(), "a column that is not clipped to public bounds"),
            (nw.col("age").clip(0).sum(), "clip_lower"),
            (nw.col("age").clip(0, nw.col("pays")).sum(), "a bound that is not a number"),
            (nw.col("age").clip(0, "9").sum(), "a bound that is not a number"),
            (nw.col("age").clip(0, 9).sum() + 1, "__add__"),
            (nw.col("age").clip(0, 9).cum_sum().sum(), "cum_sum"),
            ((nw.col("age") * 2).sum(), "__mul__"),
            ((nw.col("age") > 3).cast(nw.String).sum(), "a cast to something that is no number"),
            (
                nw.when(nw.col("age") > 3).then(2).otherwise(1).sum(),
                "otherwise with something other than 0",
            ),
        ],
        ids=str,
    )
    def test_score_with_a_step_that_a_row_could_fail(self, session, score, step):
        ask = lambda s: s.select(candidates=[1], score=lambda _: score, epsilon=1, sensitivity=1)  # noqa: E731
        with pytest.raises(ParameterError) as refused:
            ask(session)
        assert refused.value.name in ("score", "where")
        assert refused.value.got == step
        assert (session.history(), session.remaining()) == ((), 10)

    @pytest.mark.parametrize(
        ("condition", "step"),
        [
            (nw.col("age") > nw.col("age").mean(), "a comparison with another column"),
            (nw.col("age").mean() > 3, "mean"),
            (nw.col("age").rank() > 2, "rank"),
            (nw.col("age").is_duplicated(), "is_duplicated"),
            (nw.col("age").is_unique(), "is_unique"),
            (nw.col("age").max().over("teacher") > 30, "max"),
            ((nw.col("age") > 3) & (nw.col("pays").sum() > 3), "sum"),
            (~(nw.col("age").is_in([1]) | (nw.len() > 5)), "len"),
            (nw.all_horizontal(nw.col("agrees"), ignore_nulls=True), "all_horizontal"),
            (nw.col("teacher").cast(nw.Int64) > 3, "(cast|__gt__)"),
            (
                nw.col("teacher").str.to_datetime() > datetime.datetime(2020, 1, 1),
                "str.to_datetime",
            ),
            (nw.col("teacher").str.starts_with("A"), "str.starts_with"),
            (nw.col("age") * nw.col("pays") > 3, "__mul__"),
            (10 % nw.col("age") > 3, "__rmod__"),
            (nw.col("age") > nw.col("pays"), "a comparison with another column"),
            (nw.col("age") + 1, "__add__"),
            (nw.col("age", "pays") > 1, "col"),
            (nw.lit(True), "lit"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_score_with_a_condition_that_a_row_could_fail(self, session, condition, step):
        """Or that looks at other rows: one person could decide whether those of others count."""
        for score in (condition.sum(), nw.col("age").clip(0, 9).filter(condition).sum()):
            ask = lambda s, of=score: s.select(  # noqa: E731
                candidates=[1], score=lambda _: of, epsilon=1, sensitivity=1
            )
            rule = (
                rf"The 'score' parameter of Session.select must be a sum over rows of terms "
                rf"that are clipped to public bounds\. Got '{step}'\."
            )
            self.refuse(session, ask, rule)

    def test_score_of_a_column_that_is_not_there_or_has_no_numbers(self, session):
        def select(score):
            return lambda s: s.select(candidates=[1], score=lambda _: score, epsilon=1)

        columns = "must be one of the columns 'student'"
        there = discreet.total("weight", bounds=(0, 1), step=1)
        self.refuse(session, select(there), f"The 'score' parameter of Session.select {columns}")
        there = discreet.row_count(where="weight > 3")
        self.refuse(session, select(there), f"The 'score' parameter of Session.select {columns}")
        days = discreet.total("born", bounds=(0, 1), step=1)
        self.refuse(
            session, select(days), "must be a column of numbers or of text", ParameterTypeError
        )

    def test_how_far_one_person_can_move_a_score(self, session):
        """Said by the bounds of a total, or by the caller; never by nobody, and not twice."""
        flag, ones = (nw.col("teacher") == "Ada").sum(), discreet.row_count(where="teacher = 'Ada'")
        signed = nw.col("pays").clip(-1, 1).sum()

        def select(score, **more):
            return lambda s: s.select(candidates=[1], score=lambda _: score, epsilon=1, **more)

        rule = (
            "The 'sensitivity' parameter of Session.select must be given. Got None. You can also "
            "use discreet.total"
        )
        self.refuse(session, select(flag), rule, ParameterTypeError)
        rule = (
            "The 'monotonic' parameter of Session.select must be left out if the scores have "
            "their own bounds"
        )
        self.refuse(session, select(ones, monotonic=True), rule)
        rule = "The 'score_range' parameter of Session.select must be given alone. Got 2."
        self.refuse(session, select(flag, score_range=2, sensitivity=1), rule)
        rule = (
            "The 'monotonic' parameter of Session.select must be True only where all terms have "
            "one sign"
        )
        self.refuse(session, select(signed, sensitivity=1, monotonic=True), rule)
        rule = (
            "The 'sensitivity' parameter of Session.select must be at least one step of the score. "
            "Got 0.5."
        )
        self.refuse(session, select(flag, sensitivity=0.5), rule)

    def test_public_tables(self, session):
        def ask(source, column="teacher"):
            return lambda s: s.mode("teacher", candidates=PublicTable(source, column), epsilon=1)

        owner = "The 'candidates' parameter of Session.mode must be"
        self.refuse(session, ask(VOTES, "name"), f"{owner} one of the columns 'student', ")
        self.refuse(
            session,
            ask(VOTES, "age"),
            f"{owner} of the type of the items, String. Got 'age, of Int64'",
        )
        self.refuse(
            session, ask(VOTES.head(0)), f"{owner} a table with at least one candidate. Got 'none'"
        )
        self.refuse(
            session,
            ask(duckdb.connect().from_df(VOTES)),
            f"{owner} on the same connection as the table. Got 'teacher'",
        )
        self.refuse(
            session,
            ask("nothing.csv"),
            "The 'table' parameter of Session.mode must be a file that DuckDB can read",
        )
        self.refuse(
            session,
            ask([1, 2]),
            "The 'table' parameter of Session.mode must be a path, a CsvFile, a pandas",
        )

    def test_a_relation_and_candidates_on_its_connection(self):
        connection = duckdb.connect()
        votes, teachers = (
            connection.from_df(VOTES),
            connection.sql("select unnest(['Ada', 'Zoe']) as name"),
        )
        session = Session(votes, unit=Person("student"), budget=PureDP(64))
        assert (
            session.mode("teacher", candidates=PublicTable(teachers, "name"), epsilon=64).value
            == "Ada"
        )


class TestOpening:
    @pytest.mark.parametrize("unit", [None, "student", 3, Person, OneRow, {"student"}], ids=repr)
    def test_unit(self, unit):
        with pytest.raises(
            ParameterTypeError,
            match=(
                r"The 'unit' parameter of Session must be Person\(column\) or OneRow\(\)\. Got "
                r".*no default"
            ),
        ):
            Session(VOTES, unit=unit, budget=PureDP(1))

    @pytest.mark.parametrize("column", [None, "", 3, ["student"]], ids=repr)
    def test_person(self, column):
        with pytest.raises(
            ParameterTypeError,
            match=r"The 'column' parameter of Person must be the name of a column. Got ",
        ):
            Person(column)

    def test_an_unknown_person(self):
        with pytest.raises(
            ParameterError,
            match=(
                r"The 'unit' parameter of Session must be one of the columns 'student', .*Got "
                r"'pupil'"
            ),
        ):
            Session(VOTES, unit=Person("pupil"), budget=PureDP(1))

    def test_a_person_must_be_one_value(self):
        table = duckdb.connect().sql("select [1, 2] as who, 'a' as item")
        with pytest.raises(
            ParameterTypeError,
            match=(
                r"The 'unit' parameter of Session must be a column with one plain value in each row"
            ),
        ):
            Session(table, unit=Person("who"), budget=PureDP(1))

    def test_there_are_no_defaults(self):
        with pytest.raises(TypeError, match="unit"):
            Session(VOTES, budget=PureDP(1))
        with pytest.raises(TypeError, match="budget"):
            Session(VOTES, unit=OneRow())
        session = Session(VOTES, unit=OneRow(), budget=PureDP(1))
        with pytest.raises(TypeError, match="epsilon"):
            session.mode("teacher", candidates=TEACHERS)
        with pytest.raises(ParameterError, match=r"'bounds' .* given"):
            session.quantile("age", q=0.5, step=1, epsilon=1)

    def test_opening_reads_no_row_of_a_lazy_table(self, watched):
        Session(watched.table, unit=Person("student"), budget=PureDP(1))
        assert watched.reads == []


def reads(persons=30, items=40):
    """Everybody has read the same many articles."""
    pairs = [(who, f"article {item}") for who in range(persons) for item in range(items)]
    return pandas.DataFrame(pairs, columns=["reader", "article"])


class TestItemsPerPerson:
    ASK = staticmethod(
        lambda s, **more: ask_of(
            s,
            "top_k",
            "article",
            k=5,
            **{"epsilon": 8, "delta": 1e-3, "limit": 100, "items_per_person": 2} | more,
        )
    )

    @pytest.fixture
    def counted(self, monkeypatch):
        """The counts that the mechanism was given."""
        seen, release = [], UnknownDomainTopK.release_counted

        def watch(mechanism, items, chance):
            seen.append((mechanism, dict(zip(items.labels, items.scores.tolist(), strict=True))))
            return release(mechanism, items, chance)

        def watch_noise(mechanism, counts, *, _release=NoisyUnknownList.release, **more):
            seen.append((mechanism, dict(counts)))
            return _release(mechanism, counts, **more)

        monkeypatch.setattr(UnknownDomainTopK, "release_counted", watch)
        monkeypatch.setattr(NoisyUnknownList, "release", watch_noise)
        return seen

    def test_so_many_of_each_person_count(self, counted):
        session = Session(reads(), unit=Person("reader"), budget=ApproxDP(1000, 0.1))
        self.ASK(session)
        self.ASK(session, items_per_person=None)
        (few, counts), (all_of_them, others) = counted
        assert all_of_them.items_per_person is None
        assert few.height < all_of_them.height
        assert sum(counts.values()) == 60
        assert sum(others.values()) == 1200

    def test_they_are_chosen_anew_for_each_question(self, counted):
        session = Session(reads(), unit=Person("reader"), budget=ApproxDP(1000, 0.1))
        for _ in range(3):
            self.ASK(session, fresh=True)
        assert len({tuple(sorted(counts.items())) for _, counts in counted}) == 3

    @pytest.mark.parametrize(
        "make", [pandas.DataFrame, polars.from_pandas], ids=["duckdb", "polars"]
    )
    def test_seeded_bits_choose_the_same_in_any_order_of_rows(self, counted, make):
        releases = []
        for seed in (1, 2, 3):
            table = make(reads().sample(frac=1, random_state=seed))
            session = Session(table, unit=Person("reader"), budget=ApproxDP(1000, 0.1))
            releases.append(self.ASK(session, bits=SeededBits(4)))
        assert releases[0] == releases[1] == releases[2]
        assert counted[0][1] == counted[1][1] == counted[2][1]
        assert releases[0].seeded

    def test_a_list_costs_what_one_selection_costs(self):
        """Its delta besides. The bound changes how high the threshold is, not the price."""
        names = {None: "limited-domain", 1: "threshold-gaussian", 3: "threshold-gaussian"}
        for items, name in names.items():
            session = Session(reads(), unit=Person("reader"), budget=ApproxDP(1, 1e-5))
            before = session.remaining()
            release = self.ASK(session, epsilon=0.2, delta=1e-6, items_per_person=items)
            assert release.mechanism == name
            assert release.loss == session.history()[0].loss
            assert release.loss.delta == Fraction(1, 10**6)
            assert 350 <= before - session.remaining() <= 400

    def test_an_epsilon_beyond_coins_is_paid_in_epsilon(self):
        session = Session(reads(), unit=Person("reader"), budget=ApproxDP(1, 1e-5))
        release = self.ASK(session, epsilon=0.5, delta=1e-6, items_per_person=1)
        assert release.mechanism == "threshold-laplace"
        assert release.loss == ApproxDP(0.5, 1e-6)
        assert str(session.remaining()) == "0.5 epsilon"

    def test_a_row_has_one_item_and_needs_no_cap(self, counted):
        # Text by its type: a column of objects, as older versions of pandas make, can hold lists.
        session = Session(reads().convert_dtypes(), unit=OneRow(), budget=ApproxDP(1000, 0.1))
        for items in (None, 1):
            self.ASK(session, items_per_person=items)
        assert [sum(counts.values()) for _, counts in counted] == [1200, 1200]

    @pytest.mark.parametrize(
        ("unit", "more", "rule"),
        [
            (
                OneRow(),
                {"items_per_person": 2},
                r"1, or left out, if each row is protected by itself\. Got 2",
            )
        ],
    )
    def test_what_is_refused_before_a_row_is_read(self, unit, more, rule):
        watched = Watched(reads())
        session = Session(watched.table, unit=unit, budget=ApproxDP(3, 1e-2))
        before = session.remaining()
        with pytest.raises(
            ParameterError,
            match=rf"The 'items_per_person' parameter of Session\.top_k must be {rule}\.",
        ):
            self.ASK(session, **more)
        assert watched.reads == []
        assert (session.remaining(), session.history()) == (before, ())

    def test_nothing_is_read_beyond_the_budget_and_the_charge_comes_first(self):
        watched = Watched(reads())
        session = Session(watched.table, unit=Person("reader"), budget=ApproxDP(3, 1e-5))
        watched.at_read = lambda: len(session.history())
        with pytest.raises(BudgetExceededError):
            self.ASK(session, epsilon=60, delta=1e-6)
        assert watched.reads == []
        self.ASK(session, epsilon=0.5, delta=1e-6)
        assert set(watched.reads) == {1}
        # as the fixture does: it holds the session
        watched.at_read = lambda: None


class TestTheSameQuestionAgain:
    """It has one canonical form, is answered once, and costs nothing after that."""

    @EACH_QUESTION
    def test_costs_nothing(self, session, name):
        first = QUESTIONS[name](session)
        spent, asked = session.spent(), session.history()
        for _ in range(3):
            assert QUESTIONS[name](session) == first
        assert (session.spent(), session.history()) == (spent, asked)

    @EACH_QUESTION
    def test_unless_it_is_asked_afresh(self, session, name):
        QUESTIONS[name](session)
        QUESTIONS[name](session, fresh=True)
        assert session.remaining() == 8
        assert len(session.history()) == 2

    def test_however_it_is_spelt(self, session):
        mode = session.mode
        first = mode("teacher", candidates=TEACHERS, epsilon=0.5, where="student >= 2")
        same = [
            mode(
                "teacher", candidates=TEACHERS[::-1], epsilon=Fraction(1, 2), where="student >= 2"
            ),
            mode("teacher", candidates=tuple(TEACHERS), epsilon=0.5, where="student>=2.0"),
            mode(
                "teacher",
                candidates=TEACHERS,
                epsilon=0.5,
                where=discreet.column("student") >= 2,
                mechanism="permute-and-flip",
            ),
        ]
        assert same == [first] * 3
        assert session.remaining() == Fraction(19, 2)

    @pytest.mark.parametrize(
        "other",
        [
            {"epsilon": 0.25},
            {"where": "student >= 3"},
            {"where": None},
            {"candidates": [*TEACHERS, "Dee"]},
            {"mechanism": "exponential"},
        ],
        ids=repr,
    )
    def test_another_question_is_another_one(self, session, other):
        asked = {"candidates": TEACHERS, "epsilon": 0.5, "where": "student >= 2"}
        ask_of(session, "mode", "teacher", **asked)
        ask_of(session, "mode", "teacher", **asked | other)
        assert len(session.history()) == 2

    def test_a_list_that_was_changed_by_its_caller_is_kept_as_it_was(self, session):
        first = QUESTIONS["top_k"](session)
        kept = list(first.value)
        first.value.clear()
        assert QUESTIONS["top_k"](session).value == kept

    def test_simulations_are_drawn_each_time(self, session):
        QUESTIONS["mode"](session, bits=SeededBits(1))
        QUESTIONS["mode"](session, bits=SeededBits(1))
        assert session.remaining() == 8
        assert not QUESTIONS["mode"](session).seeded

    def test_a_question_that_failed_is_asked_again(self, watched):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(10))
        watched.at_read = _raiser(ValueError("Ada"))
        with pytest.raises(discreet.EngineError):
            QUESTIONS["mode"](session)
        watched.at_read = lambda: None
        QUESTIONS["mode"](session)
        assert session.remaining() == 8


class TestPrices:
    @pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "mode of many"])
    def test_nothing_is_charged_and_no_row_read(self, watched, name):
        session = Session(watched.table, unit=Person("student"), budget=PureDP(10))
        price = session.price(question_of(lambda preview: QUESTIONS[name](preview)))
        assert (price.fits, price.answered, price.amount) == (True, False, 1)
        assert price.questions_left == 9
        assert session.would_fit(question_of(lambda preview: QUESTIONS[name](preview, epsilon=10)))
        assert not session.would_fit(
            question_of(lambda preview: QUESTIONS[name](preview, epsilon=10.1))
        )
        assert watched.reads == []
        assert (session.remaining(), session.history()) == (10, ())

    def test_by_name(self, session):
        asked = {"candidates": TEACHERS, "epsilon": 0.5}
        price = session.price(Mode("teacher", **asked))
        assert price.cost.loss == PureDP(0.5)
        assert str(price.amount) == "0.5 epsilon"

    def test_an_answer_that_is_there_costs_nothing(self, session):
        asked = {"candidates": TEACHERS, "epsilon": 10}
        ask_of(session, "mode", "teacher", **asked)
        assert session.price(Mode("teacher", **asked)).answered
        assert session.would_fit(Mode("teacher", **asked))
        assert not session.would_fit(Mode("teacher", **asked), fresh=True)

    def test_what_is_wrong_is_said_as_for_the_question(self, session):
        with pytest.raises(ParameterError, match=r"'column' parameter of Session.mode"):
            session.price(Mode("techer", candidates=TEACHERS, epsilon=1))

    @pytest.mark.parametrize("question", ["history", "close", "_ask", "", 3, None], ids=repr)
    def test_of_questions_only(self, session, question):
        with pytest.raises(ParameterError, match=r"'question' parameter of Session.price"):
            session.price(question)

    def test_of_a_list_in_coins(self):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        price = session.price(TopK("teacher", k=2, limit=20, epsilon=0.2, delta=1e-8))
        # two picks of 196 coins each, for the price of one of 0.2
        assert price.amount.exact == "392 coins of 0.01"
        release = session.top_k("teacher", k=2, limit=20, epsilon=0.2, delta=1e-8)
        assert session.spent() == price.amount
        assert release.loss == price.cost.loss


class TestTheMechanismFollowsTheBudget:
    @pytest.mark.parametrize(
        ("budget", "mechanism"),
        [
            (PureDP(3), "permute-and-flip"),
            (ApproxDP(3, 0), "permute-and-flip"),
            (ZCDP(3), "exponential"),
            (ApproxDP(3, 1e-6), "exponential"),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("name", ["mode", "best_price", "quantile", "select"])
    def test_where_none_is_named(self, budget, mechanism, name):
        session = Session(VOTES, unit=Person("student"), budget=budget)
        assert QUESTIONS[name](session, epsilon=0.5).mechanism == mechanism
        named = QUESTIONS[name](session, epsilon=0.5, mechanism="permute-and-flip")
        assert named.mechanism == "permute-and-flip"

    @pytest.mark.parametrize(
        ("budget", "quantiles", "gaps"),
        # two layers of 0.07 each; and 0.084 with the halves of a logistic loss
        [(PureDP(1), 10, 10), (ApproxDP(1, 1e-6), 2129 // 98, 2129 // 100), (ZCDP(0.1), 80, 80)],
        ids=repr,
    )
    def test_quantiles_and_gaps_cost_what_one_selection_does(self, budget, quantiles, gaps):
        session = Session(VOTES, unit=Person("student"), budget=budget)
        price = session.price(question_of(lambda s: QUESTIONS["quantiles"](s, epsilon=0.1)))
        assert 1 + price.questions_left == quantiles
        price = session.price(
            question_of(lambda s: QUESTIONS["mode"](s, epsilon=0.1, with_gap=True))
        )
        assert 1 + price.questions_left == gaps

    @pytest.mark.parametrize("k", [1, 2])
    def test_short_lists(self, k):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        session.top_k("teacher", k=k, candidates=TEACHERS, epsilon=0.1)
        assert session.spent() <= 100


class TestWhatASessionIs:
    @pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
    @pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame], ids=["DuckDB", "Polars"])
    def test_a_session_is_one_budget(self, copied, make):
        """In whatever order its parts would be copied."""
        table = make({"p": [1], "x": ["a"]})
        session = Session(table, unit=Person("p"), budget=PureDP(1))
        with pytest.raises(
            TypeError,
            match=r"^A Session cannot be copied or pickled: a copy would be a second budget\. "
            r"Open a session in each process, with a Ledger that they share\.",
        ):
            copied(session)
        # a second name for the same one
        other = copy.copy(session)
        other.count(epsilon=1)
        assert session.remaining() == 0

    def test_a_column_of_times_has_a_next_step(self):
        times = pandas.DataFrame({"p": [1], "t": pandas.to_datetime(["2025-01-01"])})
        session = Session(times, unit=Person("p"), budget=PureDP(1))
        with pytest.raises(ParameterTypeError, match=r"of Datetime'\. Convert it to days "):
            session.mode("t", candidates=[datetime.date(2025, 1, 1)], epsilon=1)
        assert session.remaining() == 1

    def test_columns_and_types_are_public(self, session):
        assert session.columns["teacher"] == "String"
        assert list(session.columns) == list(VOTES.columns)

    def test_categories_are_not_shown(self):
        """Somebody may have made them of the rows."""
        flu = "'flu'::enum('a rare disease', 'flu')"
        table = duckdb.sql(
            f"select 1::bigint as p, {flu} as x, [{flu}] as y, {{'x': {flu}, 'n': 1::bigint}} as z"
        )
        session = Session(table, unit=Person("p"), budget=PureDP(1))
        shown = {"x": "Enum", "y": "List(Enum)", "z": "Struct({'x': Enum, 'n': Int64})"}
        assert session.columns == {"p": "Int64"} | shown
        assert "disease" not in repr(session.describe())

    def test_nanoseconds_with_a_zone_are_moments(self, tmp_path):
        """What pandas made of most times until its version 3."""
        times = pandas.date_range("2025-01-01", periods=3, tz="UTC", unit="ns")
        frame = pandas.DataFrame({"p": range(3), "t": times})
        arrow = pyarrow.Table.from_pandas(frame)
        parquet.write_table(arrow, tmp_path / "times.parquet")
        later = "t > timestamp '2025-01-01 12:00+00:00'"
        for source in (frame, arrow, tmp_path / "times.parquet", polars.from_arrow(arrow)):
            session = Session(source, unit=Person("p"), budget=PureDP(64))
            assert session.count(epsilon=60, where=later).value == 2
        view = Session(duckdb.from_arrow(arrow), unit=Person("p"), budget=PureDP(64))
        with pytest.raises(
            ParameterTypeError,
            match="Cast it to text first, or pass the data frame that the relation reads",
        ):
            view.count(epsilon=60, where=later)
        assert view.spent() == 0

    def test_names_of_128_bits_are_whole_numbers(self):
        source = duckdb.sql(f"select range p, {2**70}::hugeint x from range(99)")
        session = Session(source, unit=Person("p"), budget=ApproxDP(9, 0.1))
        found = session.top_k("x", k=1, limit=5, epsilon=5, delta=0.01).value
        assert found == [2**70]
        assert type(found[0]) is int

    def test_a_description(self, session):
        QUESTIONS["mode"](session)
        text = repr(session.describe())
        for part in (
            "each `student`, with all of their rows",
            "epsilon 10",
            "1 question (1 epsilon)",
        ):
            assert part in text
        assert "one more question of epsilon 9, or about " in text
        assert session.describe().questions == 1

    def test_with(self):
        with Session(VOTES, unit=Person("student"), budget=PureDP(3)) as session:
            QUESTIONS["mode"](session)
        with pytest.raises(discreet.DiscreetError, match=r"^The session is closed\."):
            QUESTIONS["mode"](session, fresh=True)
        assert session.remaining() == 2
        session.close()

    def test_questions_left(self):
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        assert [session.questions_left(epsilon=each) for each in (0.1, 0.05, 0.01, 1, 2)] == [
            *(21, 85, 2129),
            *(1, 0),
        ]
        with pytest.raises(ParameterError, match="'epsilon'"):
            session.questions_left(epsilon=-1)

    def test_a_mixed_sequence_uses_the_budget(self):
        """0.1, 0.02, 0.3, lists, prices and quantiles: at least 90% of the capacity."""
        session = Session(VOTES, unit=Person("student"), budget=ApproxDP(1, 1e-6))
        asked = ["mode", "best_price", "quantile", "top_k"]
        squares = Fraction(0)
        for place in range(300):
            epsilon = Fraction((10, 2, 30, 5)[place % 4], 100)
            ask = partial(QUESTIONS[asked[place % 4]], epsilon=epsilon)
            if session.would_fit(question_of(ask), fresh=True):
                ask(session, fresh=True)
                squares += epsilon**2
        assert squares >= Fraction(9, 10) * Fraction("0.2175")


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, 1e-6), ZCDP(1)], ids=str)
def test_a_list_of_few_items_works_at_the_smallest_epsilon(budget):
    table = pandas.DataFrame({"who": [1, 2, 3], "item": ["a", "b", "c"]})
    session = Session(table, unit=Person("who"), budget=budget)
    asked = {"candidates": ["a", "b", "c"], "items_per_person": 1, "epsilon": 5e-324}
    assert len(ask_of(session, "top_k", "item", k=2, **asked).value) == 2
