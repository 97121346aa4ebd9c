"""A question is prepared once: what is remembered is public, and no two questions are confused."""

import threading
from fractions import Fraction

import duckdb
import pandas
import polars
import pytest
from asking import ask_of

from discreet import (
    ApproxDP,
    BoundedRange,
    EngineError,
    ParameterError,
    Person,
    PublicTable,
    PureDP,
    Session,
    column,
)
from discreet.questions import Mode, Quantile, TopK, runner, top_k
from discreet.tables import duckdb_connection
from discreet.tables.engine import _MOST_PLANS, Plans
from discreet.testing import SeededBits

VOTES = pandas.DataFrame({"who": [1, 2, 3, 4], "vote": ["a", "a", "a", "b"], "year": [1, 2, 3, 4]})


class Party(str):
    """A label that prints as another one."""

    __slots__ = ()

    def __str__(self):
        return "party"


def opened(table=VOTES, budget=None, **options):
    return Session(table, unit=Person("who"), budget=budget or PureDP(10**6), **options)


@pytest.fixture
def prepared(monkeypatch):
    """The names of the questions that were prepared, in order."""
    seen = []
    for module, name in ((Mode, "prepare"), (Quantile, "prepare")):
        real = getattr(module, name)

        def noted(*asked, real=real, name=name, **named):
            seen.append(name)
            return real(*asked, **named)

        monkeypatch.setattr(module, name, noted)
    return seen


def ask(session, **options):
    options = {"candidates": ["a", "b"], "epsilon": 50, "fresh": True} | options
    return ask_of(session, "mode", "vote", **options)


class TestRemembered:
    def test_the_same_question_is_prepared_once(self, prepared):
        session = opened()
        assert [ask(session).value for _ in range(3)] == ["a"] * 3
        assert len(prepared) == 1
        assert session.spent() == 150

    def test_another_one_is_not(self, prepared):
        session = opened()
        others = ({"epsilon": 49}, {"candidates": ["b", "a"]}, {"where": "year > 3"})
        for different in ({}, *others):
            ask(session, **different)
        assert len(prepared) == 4
        assert ask(session, where="year > 3").value == "b"
        assert ask(session, by="year", groups=[4]).value == {4: "b"}

    def test_neither_fresh_nor_bits_are_part_of_it(self, prepared):
        session = opened()
        first = ask(session, fresh=False)
        assert ask(session, fresh=False) == first
        assert session.spent() == 50
        assert ask(session, bits=SeededBits(1)).seeded
        assert not ask(session).seeded
        assert session.spent() == 150
        assert len(prepared) == 1

    def test_a_price_remembers_and_takes_nothing(self, prepared):
        session = opened()
        price = session.price(Mode("vote", candidates=["a", "b"], epsilon=50))
        assert (session.spent(), price.amount) == (0, 50)
        ask(session)
        assert len(prepared) == 1
        assert session.spent() == 50

    def test_a_list_that_is_changed_is_another_question(self):
        session, labels = opened(), ["b", "c"]
        assert ask(session, candidates=labels).value == "b"
        labels[0] = "a"
        assert ask(session, candidates=labels).value == "a"
        assert ask(session, candidates=["b", "c"]).value == "b"

    def test_no_list_of_the_caller_is_kept(self):
        labels, groups = ["a", "b"], [1, 2]
        question = Mode("vote", candidates=labels, by="year", groups=groups, epsilon=50)
        labels[0], groups[0] = "c", 4
        assert opened().ask(question).value == {1: "a", 2: "a"}

    def test_a_table_that_is_opened_again_is_another_one(self, prepared):
        session = opened()
        ask(session)
        duckdb_connection._stop_before_fork()
        duckdb_connection._INSTANCE_LOCK.release()
        assert ask(session).value == "a"
        assert len(prepared) == 2

    def test_a_question_to_a_table_that_was_closed_meanwhile_is_forgotten(self, monkeypatch):
        session, real = opened(), Mode.prepare

        def interrupted(*asked, **named):
            # a fork, and a question of another thread, while this one is prepared
            monkeypatch.setattr(Mode, "prepare", real)
            prepared = real(*asked, **named)
            duckdb_connection._stop_before_fork()
            duckdb_connection._INSTANCE_LOCK.release()
            ask(session, epsilon=49)
            return prepared

        monkeypatch.setattr(Mode, "prepare", interrupted)
        with pytest.raises(EngineError):
            ask(session)
        assert ask(session).value == "a"

    def test_what_a_release_says_can_be_changed_by_nobody(self):
        session = opened()
        first = ask(session)
        first.asked["candidates"].append("c")
        session.history()[0].asked["candidates"].append("d")
        again = ask(session)
        assert again.asked["candidates"] == ["a", "b"]
        assert session.history()[1].asked["candidates"] == ["a", "b"]

    def test_what_a_price_says_can_be_changed_by_nobody(self):
        """Its parts are what is paid for."""
        session = opened(budget=ApproxDP(100, 1e-3))
        asked = {"k": 2, "candidates": ["a", "b", "c"], "epsilon": 1, "method": "peel"}
        parts = session.price(TopK("vote", **asked)).cost.parts
        amount = session.price(TopK("vote", **asked)).amount
        assert len(parts) == 1
        parts.clear()
        parts[BoundedRange(1e-9)] = 1
        assert session.price(TopK("vote", **asked)).amount == amount
        ask_of(session, "top_k", "vote", **asked)
        assert session.spent() == amount

    def test_a_question_that_is_wrong_stays_wrong(self):
        session = opened()
        for _ in range(2):
            with pytest.raises(ParameterError, match="epsilon"):
                ask(session, epsilon=-1)
        assert session.spent() == 0

    def test_sessions_remember_for_themselves(self):
        turned = VOTES.assign(vote=["b", "b", "b", "a"])
        assert [ask(opened(table)).value for table in (VOTES, turned, VOTES)] == ["a", "b", "a"]

    def test_a_cap_has_a_new_key_each_time(self, monkeypatch):
        keys = []
        real = top_k.draw_cap

        def noted(*asked):
            keys.append(real(*asked))
            return keys[-1]

        monkeypatch.setattr(top_k, "draw_cap", noted)
        session = opened(budget=ApproxDP(1000, 1e-3))
        for _ in range(2):
            asked = {"epsilon": 1, "delta": 1e-6, "items_per_person": 1, "fresh": True}
            ask_of(session, "top_k", "vote", k=1, limit=5, **asked)
            ask_of(session, "top_k", "vote", k=1, candidates=["a", "b"], **asked)
        assert len({cap.key for cap in keys}) == len(keys) == 4

    def test_rows_are_counted_anew(self):
        with duckdb.connect() as connection:
            connection.execute("create table votes as select * from (values (1, 'a')) t(who, vote)")
            session = opened(connection.table("votes"))
            found = [ask(session).value]
            connection.execute("delete from votes")
            connection.execute("insert into votes values (1, 'b')")
            found.append(ask(session).value)
        assert found == ["a", "b"]

    def test_many_threads_ask_the_same(self):
        session, found = opened(), []

        def work():
            found.extend(ask(session).value for _ in range(10))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["a"] * 40
        assert session.spent() == 40 * 50

    def test_only_so_many_are_remembered(self, monkeypatch, prepared):
        monkeypatch.setattr(runner, "_MOST_PREPARED", 2)
        session = opened(polars.from_pandas(VOTES))
        for epsilon in (50, 51, 50, 52, 50, 51):
            ask(session, epsilon=epsilon)
        # 51 had to go when 52 came, as 50 was asked for later
        assert len(prepared) == 4


class TestSpelling:
    @pytest.mark.parametrize(
        "given",
        [
            {"candidates": list(map(str, range(1001)))},
            {"candidates": PublicTable(VOTES, "vote")},
            {"candidates": [Party("a")]},
            {"where": column("year") > 1},
        ],
        ids=["long", "table", "enumeration", "condition"],
    )
    def test_what_can_change_or_is_long_is_read_anew(self, given):
        usual = {"candidates": ["a"], "epsilon": 1, "where": "year > 1"}
        assert Mode("vote", **usual).spelling is not None
        assert Mode("vote", **usual | given).spelling is None

    def test_what_nobody_can_spell_is_refused_as_it_was(self):
        endless = ["a"]
        endless.append(endless)
        session = opened()
        for wrong in ({"candidates": endless}, {"epsilon": Fraction(10**5000 + 1, 10**5000)}):
            with pytest.raises(ParameterError):
                ask(session, **wrong)
        assert session.spent() == 0

    def test_labels_keep_their_types(self):
        numbers = pandas.DataFrame({"who": [1, 2, 3], "vote": [1.0, 1.0, 2.0]})
        session = opened(numbers)
        for label in (1, 1.0, 1):
            won = ask(session, candidates=[label, 7]).value
            assert (won, type(won)) == (label, type(label))


class TestPlans:
    def test_a_statement_gets_a_plan_at_the_second_time_and_loses_it_to_others(self):
        with duckdb.connect() as connection:
            plans = Plans(connection)
            for _ in range(3):
                for number in range(_MOST_PLANS + 5):
                    assert plans.execute(f"select {number}").fetchall() == [(number,)]
                    assert plans.execute(f"select {number}").fetchall() == [(number,)]
            for number in (*range(5), *range(5), *range(5)):
                assert plans.execute(f"select {number}").fetchall() == [(number,)]
            assert len(plans._seen) == _MOST_PLANS
            listed = connection.execute("select count(*) from duckdb_prepared_statements()")
            assert listed.fetchall()[0][0] <= _MOST_PLANS

    def test_a_plan_reads_the_rows_of_today(self):
        with duckdb.connect() as connection:
            connection.execute("create table numbers as select 1 as number")
            plans = Plans(connection)
            for expected in (1, 2, 3, 4):
                assert plans.execute("select sum(number) from numbers").fetchall() == [(expected,)]
                connection.execute("insert into numbers values (1)")

    def test_a_statement_that_fails_is_tried_again(self):
        with duckdb.connect() as connection:
            plans = Plans(connection)
            for _ in range(3):
                with pytest.raises(duckdb.Error):
                    plans.execute("select * from nothing")
            connection.execute("create table nothing as select 1 as number")
            assert plans.execute("select * from nothing").fetchall() == [(1,)]
