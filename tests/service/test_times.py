"""What the time of a reply tells: a certified bound from below, as an epsilon, and Welch's
statistic. No time is compared with a number of seconds.
"""

import time

import duckdb
import pytest
from service.team import MANIFEST, Team

from discreet.auditing.timing import epsilon_from_time, welch
from discreet.questions import mode as mode_question
from discreet.service import fixed_time

pytestmark = [pytest.mark.audits, pytest.mark.timeout(600)]
RUNS = 40
CONFIDENCE = 0.999
QUESTION = {"what": "mode", "column": "article", "epsilon": "0.0001", "fresh": True}
NOBODY = QUESTION | {"where": [{"column": "pay", "at_least": "1000001"}]}


@pytest.fixture
def team(tmp_path):
    """Many rows, so that a filter saves much time."""
    manifest = MANIFEST.replace("reads.csv", "reads.parquet").replace('"10ms"', '"1s"')
    manifest = manifest.replace('decimal = "."\n', "")
    rows = (
        "select 'r' || i as reader, ['ant', 'bee', 'cat'][1 + i % 3] as article, i % 1000 as pay, "
        "'nurse' as role, date '2026-09-01' as day from range(300000) t(i)"
    )
    duckdb.connect().execute(f"copy ({rows}) to '{tmp_path}/reads.parquet'")
    made = Team(tmp_path, manifest)
    yield made
    made.service.close()


def times(*calls):
    """Each call in turn, RUNS times."""
    found = [[] for _ in calls]
    for _ in range(RUNS):
        for place, call in enumerate(calls):
            started = time.perf_counter_ns()
            call()
            found[place].append(time.perf_counter_ns() - started)
    return found


def told(what, one, other):
    bound = epsilon_from_time(one, other, CONFIDENCE)
    print(f"{what}: epsilon of at least {bound:.2f} by time, Welch's t {welch(one, other):.1f}")
    return bound


def asking(team, body):
    def ask():
        reply = team.ask(body)
        assert reply.status_code == 201, reply.text

    return ask


def test_the_size_of_an_audience(team, monkeypatch):
    """With its fixed times the service shows nothing; without, the same runs would."""
    calls = asking(team, QUESTION), asking(team, NOBODY)
    # a false alarm has a chance of 1 in 1,000
    assert told("everybody or nobody", *times(*calls)) == 0
    monkeypatch.setattr(fixed_time.Attempt, "wait", lambda attempt: None)
    assert told("the same without waiting", *times(*calls)) > 0


def test_an_answer_or_a_failure(team, monkeypatch):
    """The status tells them apart anyway; the time should tell no more to a neighbour."""

    def fail(*arguments):
        raise RuntimeError

    def failing():
        with monkeypatch.context() as broken:
            broken.setattr(mode_question, "count_candidates", fail)
            assert team.ask(QUESTION).status_code == 503
        team.service.store.forget_failures("reads")

    told("an answer or a failure", *times(asking(team, QUESTION), failing))
    assert team.charges() == 2 * RUNS


def test_a_key_or_none(team):
    def showing(headers):
        return lambda: team.client.get("/v1/datasets", headers=headers)

    known = team.headers("nobody")
    half = {"Authorization": known["Authorization"][:-1] + "!"}
    other = {"Authorization": "Bearer dsc_" + "0" * 12 + "_" + "0" * 43}
    found = times(*(showing(headers) for headers in (half, other)))
    assert told("half a key or an unknown one", *found) == 0
