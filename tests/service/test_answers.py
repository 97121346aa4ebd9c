"""Charge before the first row, answer at a fixed time, the same bytes for nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from service.team import CANARY, MANIFEST, QUESTION, Team
from starlette.testclient import TestClient

import discreet
from discreet.questions import mode as mode_question
from discreet.service import fixed_time
from discreet.tables.engine import WATCH


def fail(*arguments, **options):
    raise RuntimeError(f"{CANARY} in row 17")


def test_an_answer_is_charged_and_kept(team):
    reply = team.ask()
    body = reply.json()
    assert (reply.status_code, reply.headers["discreet-replayed"]) == (201, "false")
    assert body["value"] in ("ant", "bee", "cat", "=cmd|' /C calc'!A0", "<b>bold</b>")
    assert discreet.Release.from_json(json.dumps(body["release"])).value == body["value"]
    assert body["bound"]["sentence"].startswith("With 95% confidence, ")
    assert team.spent() == team.spent(analyst="team-a") == discreet.PureDP(0.5).epsilon
    assert team.spent(analyst="team-b") == 0
    assert team.get(reply.headers["location"]).content == reply.content


def test_the_charge_is_durable_before_the_first_row_is_read(team, monkeypatch):
    seen = []
    real = mode_question.count_candidates

    def reading(*arguments):
        # another process would see it
        with discreet.Ledger(f"sqlite:///{team.folder}/ledger.db") as other:
            seen.append((other.account("reads").spent, len(other.history())))
        return real(*arguments)

    monkeypatch.setattr(mode_question, "count_candidates", reading)
    assert team.ask().status_code == 201
    assert seen == [(discreet.PureDP(0.5).epsilon, 1)]


def test_the_same_question_gives_the_same_bytes_for_nothing_across_restarts(team):
    first = team.ask()
    again = team.ask(QUESTION | {"epsilon": "1/2", "where": []})
    team.restart()
    later = team.ask(QUESTION | {"epsilon": "0.50"})
    assert [each.status_code for each in (first, again, later)] == [201, 200, 200]
    assert first.content == again.content == later.content
    assert later.headers["discreet-replayed"] == "true"
    assert (team.charges(), team.spent()) == (1, discreet.PureDP(0.5).epsilon)


def test_an_answer_that_the_index_has_forgotten_is_still_not_paid_twice(team):
    first = team.ask()
    # as if the service had died between the ledger's commit and its own
    team.service.store._run("DELETE FROM discreet_answers")
    again = team.ask()
    assert (again.status_code, again.content) == (200, first.content)
    assert team.charges() == 1


def test_analysts_do_not_share_answers(team):
    mine = team.ask()
    theirs = team.ask(who="team-b")
    assert (mine.status_code, theirs.status_code, team.charges()) == (201, 201, 2)
    forbidden = team.get(mine.headers["location"], "team-b")
    unknown = team.get("/v1/answers/999999", "team-b")
    assert forbidden.status_code == 404
    assert forbidden.content == unknown.content
    assert [each["id"] for each in team.get("/v1/answers", "team-b").json()["answers"]] == [
        theirs.json()["id"]
    ]


def test_fresh_pays_again_and_a_retry_of_it_does_not(team):
    team.ask()
    body = QUESTION | {"fresh": True}
    one = team.ask(body, **{"Idempotency-Key": "first"})
    retry = team.ask(body, **{"Idempotency-Key": "first"})
    two = team.ask(body, **{"Idempotency-Key": "second"})
    assert [each.status_code for each in (one, retry, two)] == [201, 200, 201]
    assert one.content == retry.content
    assert team.charges() == 3
    other = team.ask(body | {"epsilon": "0.25"}, **{"Idempotency-Key": "first"})
    assert (other.status_code, other.json()["type"]) == (422, "/problems/key-reused")
    assert team.charges() == 3


def test_a_failure_says_nothing_keeps_the_charge_and_is_never_recomputed(team, monkeypatch):
    monkeypatch.setattr(mode_question, "count_candidates", fail)
    failed = team.ask()
    other = team.ask(QUESTION | {"where": [{"column": "role", "is": ["nurse"]}]})
    assert (failed.status_code, failed.content) == (503, other.content)
    assert CANARY not in failed.text
    assert team.spent() == 1
    monkeypatch.undo()
    lost = team.ask()
    assert (lost.status_code, lost.json()["type"]) == (409, "/problems/answer-lost")
    assert team.spent() == 1
    paid = team.ask(QUESTION | {"again": True})
    assert (paid.status_code, team.spent()) == (201, discreet.PureDP(1.5).epsilon)
    assert team.ask().content == paid.content


def test_a_question_that_ends_by_its_time_limit_has_failed_like_any_other(tmp_path, monkeypatch):
    limit = 'reply_after = "10ms"\ntime_limit = "10ms"'
    team = Team(tmp_path, MANIFEST.replace('reply_after = "10ms"', limit, 1))

    def slow(*_asked):
        while not WATCH.get().ended:
            WATCH.get()._timer.join(0.001)
        return [0] * 5

    with monkeypatch.context() as broken:
        broken.setattr(mode_question, "count_candidates", fail)
        failed = team.ask(QUESTION | {"epsilon": "0.25"})
    with monkeypatch.context() as broken:
        broken.setattr(mode_question, "count_candidates", slow)
        ended = team.ask()
    assert (ended.status_code, ended.content) == (503, failed.content)
    assert team.spent() == discreet.PureDP(0.75).epsilon
    assert team.ask().json()["type"] == "/problems/answer-lost"
    team.service.close()


def test_after_three_failures_a_data_set_is_closed_until_the_steward_has_looked(team, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(mode_question, "count_candidates", fail)
        for number in range(1, 4):
            body = QUESTION | {"epsilon": f"0.0{number}"}
            assert team.ask(body).json()["type"] == "/problems/engine-failed"
    spent = team.spent()
    closed = team.ask()
    assert (closed.status_code, closed.json()["type"]) == (503, "/problems/dataset-closed")
    assert team.spent() == spent
    assert team.get("/v1/health", "steward").json()["datasets"][0]["closed"]
    reason = {"reason": "a disk was full"}
    assert team.post("/v1/datasets/reads/openings", reason, "steward").status_code == 201
    assert team.ask().status_code == 201


def test_an_answer_and_a_failure_become_known_at_the_fixed_time_only(team, monkeypatch):
    """Reading, waiting and settling happen in this order, so that neither a reply, nor the
    same question from elsewhere, nor the list of answers tells how long reading took.
    """
    events = []

    def wait(attempt):
        visible = len(team.service.ledger.answers("reads"))
        lost = sum(charge.lost for charge in team.service.ledger.history("reads"))
        events.append(("wait", visible, lost))

    monkeypatch.setattr(fixed_time.Attempt, "wait", wait)
    assert team.ask().status_code == 201
    monkeypatch.setattr(mode_question, "count_candidates", fail)
    assert team.ask(QUESTION | {"epsilon": "0.1"}).status_code == 503
    assert events == [("wait", 0, 0), ("wait", 1, 0)]
    assert sum(charge.lost for charge in team.service.ledger.history("reads")) == 1


@pytest.mark.parametrize("idle", [False, True])
def test_a_table_that_is_gone_is_told_at_the_fixed_time_too(team, monkeypatch, idle):
    """Also where a session on it is open, after another question."""
    waited, other = [], {"questions": [{"what": "count", "epsilon": "0.1"}]}
    if idle:
        assert team.post("/v1/datasets/reads/prices", other).status_code == 200
    monkeypatch.setattr(fixed_time.Attempt, "wait", lambda attempt: waited.append(1))
    (team.folder / "reads.csv").unlink()
    reply = team.ask()
    assert (reply.status_code, waited, team.charges()) == (503, [1], 0)
    assert team.service.store.failures("reads") == 1
    assert reply.json()["type"] == "/problems/unavailable"
    assert "reads.csv" not in reply.text


def test_what_is_left_counts_its_delta(tmp_path):
    shared = '{ epsilon = "2", delta = "1e-6" }'
    manifest = MANIFEST.replace('largest_question = { epsilon = "1" }', "")
    for there in ('{ epsilon = "3" }', '{ epsilon = "2" }'):
        manifest = manifest.replace(there, shared)
    team = Team(tmp_path, manifest)
    few, many, all_of_it = (
        QUESTION | {"what": "top_k", "k": 1, "epsilon": "0.01", "limit": 3, "delta": delta}
        for delta in ("1e-7", "1e-5", "1e-6")
    )
    said = {"questions": [few, many, all_of_it]}
    prices = team.post("/v1/datasets/reads/prices", said).json()["prices"]
    found = [(each["fits"], each["questions_left"]) for each in prices]
    assert found[1:] == [(False, 0), (True, 1)]
    asked = 0
    while team.ask(few | {"fresh": True}).status_code == 201:
        asked += 1
    assert found[0] == (True, asked)
    team.service.close()


def test_late_replies_are_counted():
    attempt = fixed_time.Attempt({}, "key", False, 0.001)
    attempt.started -= 0.0015
    attempt.wait()
    assert attempt.late


def test_windows_are_enforced_on_the_rows(team):
    body = QUESTION | {"epsilon": "1"}
    answers = {}
    for window in ("2026-09", "2026-10"):
        reply = team.ask(body | {"windows": [window]}, dataset="months")
        answers[window] = reply.json()["value"]
        assert team.spent("months", window=window) == 1
    # 60 against 40 persons, epsilon 1: another answer has odds below e^-19
    assert answers == {"2026-09": "ant", "2026-10": "bee"}
    more = team.ask(body | {"windows": ["2026-10"], "epsilon": "0.1"}, dataset="months")
    assert (more.status_code, more.json()["type"]) == (403, "/problems/budget-exceeded")


@pytest.mark.parametrize("windows", [None, [], ["2026-9"], ["October"], ["2026-09", "2026-13"]])
def test_a_question_without_its_windows_is_refused_before_a_charge(shared, windows):
    body = QUESTION if windows is None else QUESTION | {"windows": windows}
    reply = shared.ask(body, dataset="months")
    assert (reply.status_code, shared.charges()) == (422, 0)


def test_two_windows_are_paid_for_in_each(team):
    body = QUESTION | {"windows": ["2026-10", "2026-09", "2026-10"]}
    assert team.ask(body, dataset="months").status_code == 201
    half = discreet.PureDP(0.5).epsilon
    assert [team.spent("months", window=each) for each in ("2026-09", "2026-10")] == [half, half]


def test_a_share_is_a_limit_and_the_data_set_another(team):
    for number in range(2):
        assert team.ask(QUESTION | {"epsilon": "1", "fresh": True}).status_code == 201, number
    refused = team.ask(QUESTION | {"epsilon": "0.1"})
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/budget-exceeded")
    assert team.ask(QUESTION | {"epsilon": "1"}, "team-b").status_code == 201
    # the data set has nothing left, the share has 1
    refused = team.ask(QUESTION | {"epsilon": "0.3"}, "team-b")
    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        "This data set has no room for this question. Ask with a smaller epsilon, or "
        "request a larger budget."
    )
    assert team.spent() == 3


def test_a_question_that_is_too_large_is_refused_before_a_charge(team):
    reply = team.ask(QUESTION | {"epsilon": "1.5"})
    assert (reply.status_code, team.charges()) == (403, 0)
    assert "PureDP(epsilon=1)" in reply.json()["detail"]


def test_prices_are_free_and_true(team):
    body = {"questions": [QUESTION, QUESTION | {"epsilon": "2"}]}
    refused = team.post("/v1/datasets/reads/prices", body)
    assert refused.status_code == 403
    price = team.post("/v1/datasets/reads/prices", {"questions": [QUESTION]}).json()["prices"][0]
    assert (price["cost"], price["fits"], price["questions_left"]) == ("0.5 epsilon", True, 4)
    assert price["bound"]["sentence"].startswith("With 95% confidence, ")
    assert team.charges() == 0
    team.ask()
    price = team.post("/v1/datasets/reads/prices", {"questions": [QUESTION]}).json()["prices"][0]
    assert (price["answered"], price["questions_left"]) == (True, 3)


def test_prices_do_not_tell_what_others_have_spent(team):
    """They are free: many of them would tell it to the last digit."""

    def priced():
        body = {"questions": [QUESTION | {"epsilon": f"0.{number}"} for number in range(1, 10)]}
        prices = team.post("/v1/datasets/reads/prices", body).json()["prices"]
        return [(price["fits"], price["questions_left"]) for price in prices]

    for epsilon in ("1", "0.99"):
        assert team.ask(QUESTION | {"epsilon": epsilon}, "team-b").status_code == 201
    assert team.ask(QUESTION | {"epsilon": "0.3"}).status_code == 201
    own = priced()
    assert team.ask(QUESTION | {"epsilon": "0.01"}, "team-b").status_code == 201
    # of 3 there are 0.7 left, of the share 1.7
    assert priced() == own
    assert [fits for fits, _ in own] == [True] * 9
    assert team.ask(QUESTION | {"epsilon": "0.7"}).status_code == 201
    # the data set has nothing left, the share 1
    assert [fits for fits, _ in priced()] == [True] * 9


@pytest.mark.parametrize(
    "body",
    [
        {"what": "top_k", "column": "article", "k": 2, "epsilon": "0.1"},
        {"what": "top_k", "column": "article", "k": 2, "epsilon": "0.2", "with_counts": True},
        {"what": "counts", "column": "article", "epsilon": "0.1"},
        {"what": "count", "epsilon": "0.1"},
        {"what": "mode", "column": "article", "epsilon": "0.1", "mechanism": "exponential"},
        {"what": "best_price", "column": "pay", "prices": ["5", "7.5"], "epsilon": "0.1"}
        | {"rule": "max"},
        {"what": "quantile", "column": "pay", "q": "0.5", "bounds": ["0", "300"], "step": "1"}
        | {"epsilon": "0.1", "rule": "max"},
        {"what": "quantile", "column": "pay", "q": "1/3", "bounds": ["0", "30"], "step": "0.1"}
        | {"epsilon": "0.1", "rows_per_person": 2},
        {"what": "quantiles", "column": "pay", "q": ["0.25", "0.75"], "bounds": ["0", "300"]}
        | {"step": "1", "epsilon": "0.1", "rule": "max"},
    ],
    ids=lambda body: body["what"],
)
def test_every_question_of_a_session_can_be_asked(team, body):
    reply = team.ask(body | {"where": [{"column": "role", "is": ["nurse"]}]})
    assert reply.status_code == 201, reply.text
    assert reply.json()["asked"]["what"] == body["what"]


def test_many_clients_with_one_question_pay_once_and_get_the_same_bytes(team):
    with TestClient(team.application, base_url="http://localhost") as client:

        def ask(_):
            path, headers = "/v1/datasets/reads/answers", team.headers("team-a")
            return client.post(path, json=QUESTION, headers=headers)

        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(ask, range(64)))
        assert {reply.status_code for reply in replies} <= {200, 201}
        assert len({reply.content for reply in replies}) == 1
        assert sum(reply.status_code == 201 for reply in replies) == 1
        assert team.charges() == 1
    team.open()


def test_answers_come_in_pages_newest_first(team):
    for number in range(1, 6):
        team.ask(QUESTION | {"epsilon": f"0.0{number}"})
    first = team.get("/v1/answers?limit=2").json()
    second = team.get(f"/v1/answers?limit=2&before={first['next']}").json()
    numbers = [each["id"] for page in (first, second) for each in page["answers"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == 4


def test_no_canary_in_any_byte_or_log(team, monkeypatch, caplog, capsys):
    caplog.set_level("DEBUG")
    said = [team.ask(), team.ask(QUESTION | {"epsilon": "0.01"}), team.get("/v1/datasets/reads")]
    monkeypatch.setattr(mode_question, "count_candidates", fail)
    said += [team.ask(QUESTION | {"epsilon": "0.02"}), team.get("/v1/answers")]
    said += [team.get("/v1/ledger/history", "steward"), team.get("/v1/shares", "steward")]
    for reply in said:
        assert CANARY not in reply.text + str(reply.headers)
    logged = "".join(record.getMessage() for record in caplog.records) + "".join(
        capsys.readouterr()
    )
    assert CANARY not in logged
    assert all(key not in logged for key in team.keys.values())
    assert "reads.csv" not in "".join(reply.text for reply in said)


def test_a_data_set_without_its_own_share_is_as_unknown(tmp_path):
    team = Team(tmp_path, MANIFEST)
    forbidden = team.ask(who="team-b", dataset="months")
    unknown = team.ask(who="team-b", dataset="nothing")
    assert (forbidden.status_code, forbidden.content) == (404, unknown.content)
    team.service.close()
