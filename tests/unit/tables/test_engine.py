"""Questions that end by a time limit or because somebody cancels them: they stay paid for,
and there is one text for all of them.
"""

import threading
from contextlib import nullcontext

import duckdb
import pandas
import polars
import pytest
from asking import ask_of

import discreet
from discreet import ParameterError, Person, PureDP, QuestionEndedError, Session
from discreet.tables.engine import Cancellation, Deadline, WatchedBits

TOLD = "The question was ended by its time limit or canceled. The budget stays charged."
VOTES = {"student": [1, 2, 3], "teacher": ["Ada", "Ada", "Bob"]}
COUNTING = "discreet.questions.mode.count_candidates"


def open_session(table, **options):
    return Session(table, unit=Person("student"), budget=PureDP(3), **options)


def ask(session, **options):
    return ask_of(session, "mode", "teacher", candidates=["Ada", "Bob"], epsilon=1, **options)


@pytest.fixture
def endless(tmp_path):
    """A view over more rows than anybody would wait for."""
    path = tmp_path / "endless.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create view votes as select a.range as student, "
            "case (a.range * b.range) % 7919 when 0 then 'Ada' else 'Bob' end as teacher "
            "from range(3000000) a, range(300000) b"
        )
    return str(path)


def test_a_long_draw_looks_up_where_it_asks_for_no_bits():
    """As a question does that ends while the table of a joint draw is made."""
    asked = []

    class NoBits:
        seeded = False

        def draw(self, count):
            asked.append(count)
            return 0

    watch = Deadline()
    watch.end()
    mechanism = discreet.mechanisms.JointTopK(k=6, epsilon=1, sensitivity=1, monotonic=True)
    with pytest.raises(QuestionEndedError):
        mechanism.select([1] * 50, bits=WatchedBits(NoBits(), watch))
    assert not asked


class TestSessions:
    def test_a_time_limit_ends_a_question_and_not_the_session(self, endless, monkeypatch):
        session = open_session(endless, table_name="votes", time_limit=0.2)
        for left in (2, 1):
            with pytest.raises(QuestionEndedError) as ended:
                ask(session)
            assert str(ended.value) == TOLD
            assert ended.value.__context__ is ended.value.__cause__ is None
            assert session.remaining() == left
        assert [question.what for question in session.history()] == ["mode", "mode"]
        # a busy machine may need longer for any question
        monkeypatch.setattr(session._runner, "_limit", None)
        assert ask(session, where="student < 0").value in ("Ada", "Bob")

    def test_another_thread_cancels(self, endless):
        session = open_session(endless, table_name="votes")
        done = threading.Event()

        def cancel():
            # before the charge there is nothing to cancel
            while not done.wait(0.01):
                session.cancel()

        cancelling = threading.Thread(target=cancel)
        cancelling.start()
        with pytest.raises(QuestionEndedError) as ended:
            ask(session)
        done.set()
        cancelling.join()
        assert str(ended.value) == TOLD
        assert session.remaining() == 2

    @pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
    def test_an_answer_that_comes_after_the_end_is_not_given(self, kind, monkeypatch):
        """Also on engines that cannot be stopped; and the next question is another one."""
        session = open_session(kind(VOTES))

        def cancelled(table, *_rest):
            session.cancel()
            return [2, 1]

        with monkeypatch.context() as late:
            late.setattr(COUNTING, cancelled)
            with pytest.raises(QuestionEndedError) as ended:
                ask(session)
        assert str(ended.value) == TOLD
        assert session.remaining() == 2
        assert ask(session).value in ("Ada", "Bob")
        assert session.remaining() == 1

    def test_a_failure_after_the_end_is_an_end(self, monkeypatch):
        session = open_session(pandas.DataFrame(VOTES))

        def failing(table, *_rest):
            session.cancel()
            raise ValueError("Ada")

        monkeypatch.setattr(COUNTING, failing)
        with pytest.raises(QuestionEndedError) as ended:
            ask(session)
        assert str(ended.value) == TOLD

    def test_whoever_answers_in_time_is_left_alone(self):
        session = open_session(pandas.DataFrame(VOTES), time_limit=1e9)
        assert ask(session).value in ("Ada", "Bob")
        session.cancel()
        assert ask(session, where="student < 3").value in ("Ada", "Bob")
        for waiting in [each for each in threading.enumerate() if type(each) is threading.Timer]:
            waiting.join(200)
            assert not waiting.is_alive()

    def test_a_limit_that_nothing_could_keep_is_refused(self):
        table = duckdb.connect().from_df(pandas.DataFrame(VOTES))
        with pytest.raises(ParameterError) as refused:
            open_session(table, time_limit=5)
        rule = "left out if the engine cannot be stopped"
        assert str(refused.value).startswith(
            f"The 'time_limit' parameter of Session must be {rule}. Got 5. Spark can be stopped"
        )


class TestWatch:
    def test_an_engine_is_told_until_it_listens(self):
        pulled, enough = [], threading.Event()

        def pull():
            pulled.append(1)
            if len(pulled) == 3:
                enough.set()

        watch = Deadline(Cancellation(nullcontext, pull))
        with watch, watch.working():
            ending = threading.Thread(target=watch.end)
            ending.start()
            assert enough.wait(200)
        ending.join()
        assert watch.ended

    def test_an_engine_that_works_for_others_is_left_alone(self):
        def pull():
            raise AssertionError

        watch = Deadline(Cancellation(nullcontext, pull))
        with watch:
            watch.end()
            with pytest.raises(QuestionEndedError, match="ended"), watch.working():
                raise AssertionError
        assert watch.ended

    def test_what_is_answered_cannot_be_ended(self):
        pulled = []
        watch = Deadline(Cancellation(nullcontext, lambda: pulled.append(1)))
        with watch, watch.working():
            pass
        watch.end()
        assert (watch.ended, pulled) == (False, [])

    def test_a_signal_in_the_thread_that_works_tells_the_engine_and_returns(self):
        pulled = []
        watch = Deadline(Cancellation(nullcontext, lambda: pulled.append(1)))
        with watch, watch.working():
            # as a handler does, which runs while the engine is asked
            watch.end()
        assert (watch.ended, pulled) == (True, [1])

    def test_an_engine_is_left_alone_after_the_question(self):
        """Also where an interrupt came before it was noted that the engine is free."""
        pulled = threading.Event()
        watch = Deadline(Cancellation(nullcontext, pulled.set))
        with watch:
            watch._at_work = -1
            ending = threading.Thread(target=watch.end, daemon=True)
            ending.start()
            assert pulled.wait(200)
        ending.join(200)
        assert not ending.is_alive()
