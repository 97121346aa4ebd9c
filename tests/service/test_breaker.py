"""Three failures close a data set: never a fourth, and nobody closes it for others."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from service.team import QUESTION

import discreet
from discreet.questions import mode as mode_question
from discreet.service import breaker as breakers
from discreet.service.breaker import Breaker
from discreet.service.problems import RefusedError
from discreet.tables.engine import WATCH

FAILED, CLOSED = "/problems/engine-failed", "/problems/dataset-closed"


def fail(*arguments, **options):
    raise RuntimeError


class Failures:
    """A store of nothing but failures, which may be full."""

    def __init__(self):
        self.noted, self.full, self.gone = Counter(), False, False

    def failures(self, dataset):
        if self.gone:
            raise discreet.LedgerError("gone")
        return self.noted[dataset]

    def add_failure(self, dataset):
        if self.full or self.gone:
            raise discreet.LedgerError("full")
        self.noted[dataset] += 1


def is_refused(breaker, dataset="reads"):
    """The name of the problem, if a question is not let in."""
    try:
        with breaker.admit(dataset):
            return None
    except RefusedError as error:
        return error.problem.name


def test_of_many_questions_at_once_three_fail_and_the_others_are_not_charged(team, monkeypatch):
    monkeypatch.setattr(mode_question, "count_candidates", fail)
    bodies = [QUESTION | {"epsilon": f"0.01{number}"} for number in range(10)]
    with ThreadPoolExecutor(len(bodies)) as pool:
        types = Counter(reply.json()["type"] for reply in pool.map(team.ask, bodies))
    assert types == {FAILED: 3, CLOSED: 7}
    assert (team.charges(), team.service.store.failures("reads")) == (3, 3)


def test_questions_that_cannot_fail_any_more_make_room_before_their_reply(team, monkeypatch):
    """Replies wait for their time, and reading takes far less: nobody waits for a reply."""
    monkeypatch.setattr(breakers, "_PATIENCE", 0)
    breaker = team.service.answering.breaker
    with breaker.admit("reads") as one, breaker.admit("reads"), breaker.admit("reads"):
        assert is_refused(breaker) == "busy"
        one.leave()
        one.leave()
        assert is_refused(breaker) is None
        assert is_refused(breaker, "months") is None
    assert team.ask().status_code == 201


def test_a_question_waits_until_another_one_cannot_fail_any_more():
    breaker = Breaker(Failures())
    breaker.add_failure("reads")
    let_in = threading.Event()

    def ask(_):
        with breaker.admit("reads"):
            let_in.set()

    with ThreadPoolExecutor(2) as pool:
        with breaker.admit("reads"), breaker.admit("reads"):
            asked = pool.map(ask, range(2))
        list(asked)
    assert let_in.is_set()


def test_all_that_wait_are_refused_after_the_last_failure():
    breaker = Breaker(Failures())
    with ThreadPoolExecutor(5) as pool:
        with breaker.admit("reads"), breaker.admit("reads"), breaker.admit("reads"):
            waiting = [pool.submit(is_refused, breaker) for _ in range(5)]
            for _ in range(3):
                breaker.add_failure("reads")
        assert [each.result() for each in waiting] == ["dataset-closed"] * 5


def test_a_failure_that_cannot_be_noted_closes_the_data_set_until_it_is_noted():
    store = Failures()
    breaker, store.full = Breaker(store), True
    assert breaker.add_failure("reads")
    assert (breaker.is_closed("reads"), breaker.failures("reads")) == (True, 1)
    assert is_refused(breaker) == "dataset-closed"
    assert is_refused(breaker, "months") is None
    store.full = False
    assert is_refused(breaker) is None
    assert store.noted == {"reads": 1}


def test_where_failures_cannot_be_read_nothing_is_asked():
    store = Failures()
    breaker, store.gone = Breaker(store), True
    assert is_refused(breaker) == "dataset-closed"


def test_a_full_disk_closes_a_data_set_at_its_first_failure(team, monkeypatch):
    def full(*arguments):
        raise discreet.LedgerError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(team.service.store, "add_failure", full)
        broken.setattr(mode_question, "count_candidates", fail)
        types = [team.ask(QUESTION | {"epsilon": f"0.0{number}"}) for number in (1, 2, 3)]
        assert [each.json()["type"] for each in types] == [FAILED, CLOSED, CLOSED]
        health = team.get("/v1/health", "steward").json()["datasets"][0]
        assert (health["closed"], health["failures"]) == (True, 1)
    assert team.ask().status_code == 201


@pytest.mark.parametrize("fails", [True, False])
def test_a_failure_that_another_worker_saw_last_closes_this_one(team, monkeypatch, fails):
    """An answer and a fourth failure are the same reply, at the same time."""
    real = mode_question.count_candidates

    def reading(*arguments):
        for _ in range(3):
            team.service.store.add_failure("reads")
        return fail() if fails else real(*arguments)

    monkeypatch.setattr(mode_question, "count_candidates", reading)
    reply = team.ask()
    assert reply.json()["type"] == CLOSED
    assert [charge.lost for charge in team.service.ledger.history("reads")] == [True]


@pytest.mark.parametrize("reason", ["time", "memory"])
def test_a_draw_that_is_too_long_does_not_count(team, monkeypatch, reason):
    """The rows were read: what is left to do follows from the request."""

    real = mode_question.count_candidates

    def reading(*arguments):
        counts = real(*arguments)
        if reason == "memory":
            raise MemoryError
        WATCH.get().end()
        return counts

    with monkeypatch.context() as long:
        long.setattr(mode_question, "count_candidates", reading)
        types = [team.ask(QUESTION | {"epsilon": f"0.0{number}"}) for number in (1, 2, 3, 4)]
    assert [each.json()["type"] for each in types] == [FAILED] * 4
    assert team.service.store.failures("reads") == 0
    assert team.ask(who="team-b").status_code == 201


@pytest.mark.parametrize("reason", [MemoryError, ZeroDivisionError])
def test_a_request_that_fails_before_its_charge_does_not_count(team, monkeypatch, reason):
    """No row was read: what went wrong follows from the request."""

    def preparing(*arguments, **options):
        raise reason

    with monkeypatch.context() as broken:
        broken.setattr(discreet.Session, "_ask_charged_by", preparing)
        assert team.ask().json()["type"] == "/problems/unavailable"
    assert (team.service.store.failures("reads"), team.charges()) == (0, 0)


def test_a_question_that_its_engine_makes_too_long_counts(team, monkeypatch):
    def reading(*arguments):
        watch = WATCH.get()
        with watch.working():
            watch.end()
        fail()

    monkeypatch.setattr(mode_question, "count_candidates", reading)
    assert team.ask().json()["type"] == FAILED
    assert team.service.store.failures("reads") == 1
