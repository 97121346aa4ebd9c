"""Questions that nobody waits for: what becomes of them when their process is killed, without
a second charge.
"""

import subprocess
import sys
from pathlib import Path

from faults import interrupted_attempts
from service.team import QUESTION

import discreet
from discreet.service.breaker import Place
from discreet.service.canonical import digest_of
from discreet.service.fixed_time import Attempt
from discreet.service.store import Promised

SCRIPT = Path(interrupted_attempts.__file__)


def test_after_a_kill_the_ledger_says_what_became_of_a_question(team):
    found = subprocess.run(
        [sys.executable, SCRIPT, team.folder, team.keys["team-a"]],
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    told = dict(line.split() for line in found.stdout.splitlines())
    addresses = [told[each] for each in interrupted_attempts.EPSILONS]
    spent = team.spent(analyst="team-a")
    assert spent == discreet.PureDP(0.5).epsilon
    unpaid, lost, done = (team.get(address).json() for address in addresses)
    assert (unpaid["state"], unpaid["problem"]["type"]) == ("refused", "/problems/interrupted")
    assert "Nothing was charged" in unpaid["problem"]["title"]
    assert (lost["state"], lost["problem"]["type"]) == ("refused", "/problems/answer-lost")
    assert '"again": true' in lost["problem"]["title"]
    assert done["state"] == "done"
    # the same whenever somebody looks, and nobody else does
    assert [team.get(address).json() for address in addresses] == [unpaid, lost, done]
    assert [team.get(address, "team-b").status_code for address in addresses] == [404] * 3
    asked = [QUESTION | {"epsilon": each} for each in interrupted_attempts.EPSILONS]
    answer = team.get(done["answer"])
    again = team.ask(asked[2])
    assert (again.status_code, again.content) == (200, answer.content)
    assert answer.json()["asked"]["epsilon"] == "0.3"
    assert team.ask(asked[1]).json()["type"] == "/problems/answer-lost"
    (charge,) = team.service.ledger.history("reads", before=lost["problem"]["entry"] + 1, limit=1)
    assert charge.request["asked"]["epsilon"] == "0.2"
    assert team.spent(analyst="team-a") == spent
    assert team.ask(asked[0]).status_code == 201
    assert team.spent(analyst="team-a") == discreet.PureDP(0.6).epsilon


def promised(team, **changes):
    """A question that was promised by a process that is gone."""
    made = {"dataset": "reads", "question": "digest", "key": "key", "holder": "0" * 32}
    team.service.store.promises.add("name", "team-a", Promised(**made | changes))
    return "/v1/attempts/name"


def test_a_key_that_paid_for_another_question_did_not_pay_for_this_one(team):
    team.ask()
    (charge,) = team.service.ledger.history("reads", analyst="team-a", limit=1)
    found = team.get(promised(team, key=charge.key)).json()
    assert found["problem"]["type"] == "/problems/interrupted"


def test_a_question_of_a_process_that_lives_is_running(team, tmp_path):
    with discreet.Ledger(f"sqlite:///{team.folder}/ledger.db") as other:
        address = promised(team, holder=other._store.holder())
        reply = team.get(address)
        assert (reply.json(), reply.headers["retry-after"]) == ({"state": "running"}, "1")
    assert team.get(address).json()["state"] == "refused"


def test_a_question_that_somebody_else_answers_now_is_running(team):
    form = {"what": "count", "epsilon": "1/10"}
    key, ledger = digest_of(form), team.service.ledger
    address = promised(team, question=key, key=key)
    place = Place(team.service.answering.breaker, "reads")
    attempt = Attempt(form, key, False, 0.1, place=place)
    cost = discreet.accounting.Cost(discreet.PureDP(0.1))
    with ledger.charge(attempt, "reads", "team-a", (), cost, {}) as paid:
        assert team.get(address).json() == {"state": "running"}
        given = {"loss": discreet.PureDP(0.1), "mechanism": "noise", "candidates": None}
        paid.settle(discreet.Release(value=3, **given))
    assert team.get(address).json()["state"] == "done"


def test_what_a_process_could_not_note_is_not_running_for_ever(team):
    address = promised(team, holder=team.service.ledger.holder)
    assert team.get(address).json()["problem"]["type"] == "/problems/interrupted"


def test_what_a_process_says_itself_is_not_overwritten(team):
    address = promised(team)
    notes = team.service.store.promises
    notes.end("name", "done", 3)
    notes.end_for("name", "{}", 0)
    assert team.get(address).json() == {"state": "done", "answer": "/v1/answers/3"}


def test_a_fresh_draw_that_nobody_waits_for_can_be_found_in_the_ledger(team):
    team.ask()
    with team.client:
        reply = team.ask(QUESTION | {"fresh": True}, Prefer="respond-async")
    team.open()
    name = reply.headers["location"].rpartition("/")[2]
    found = team.service.store.promises.find(name, "team-a")
    charges = team.service.ledger.history("reads", analyst="team-a")
    assert found.key == charges[0].key
    assert charges[0].number == found.number
    assert len(charges) == 2
