"""What costs nothing and what nobody waits for: stronger answers, entries of the chain, the
screens as data, replies later, figures for a monitor; and what colleagues do not learn.
"""

import json
import logging
import re

import pytest
from service.team import CANARY, QUESTION

import discreet
from discreet.service.server import show_log

WEAKER = QUESTION | {"epsilon": "0.25"}


def price_of(team, body, who="team-a"):
    reply = team.post("/v1/datasets/reads/prices", {"questions": [body]}, who)
    return reply.json()["prices"][0]


def test_a_stronger_answer_is_offered_for_nothing(team):
    strong = team.ask()
    offered = price_of(team, WEAKER)["stronger"]
    assert (offered["epsilon"], offered["id"]) == ("0.5", strong.json()["id"])
    assert (offered["asked"], offered["bound"]) == (strong.json()["asked"], strong.json()["bound"])
    again = team.ask(WEAKER | {"or_stronger": True})
    assert (again.status_code, again.content, team.charges()) == (200, strong.content, 1)
    # never without being asked for
    assert team.ask(WEAKER).status_code == 201
    assert team.charges() == 2


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": "0.75"},
        {"where": [{"column": "role", "is": ["nurse"]}]},
        {"what": "top_k", "k": 2},
        {"with_gap": True},
        {"fresh": True},
    ],
    ids=str,
)
def test_what_is_no_stronger_answer_to_the_same_question(team, other):
    team.ask()
    body = WEAKER | other | {"or_stronger": True}
    assert team.ask(body).status_code == 201
    assert team.charges() == 2


def test_a_stronger_answer_of_somebody_else_is_not_offered(team):
    team.ask(who="team-b")
    assert price_of(team, WEAKER)["stronger"] is None
    assert team.ask(WEAKER | {"or_stronger": True}).status_code == 201


def test_an_answer_says_its_entry_of_the_chain(team):
    answer = team.ask().json()
    (entry,) = team.service.ledger.entries(before=answer["id"] + 1, limit=1)
    assert answer["entry"] == {"number": answer["id"], "hash": entry.hash}
    assert (entry.kind, len(entry.hash)) == ("reserve", 64)
    listed = team.get("/v1/answers").json()["answers"]
    assert [each["entry"] for each in listed] == [answer["entry"]]


def test_an_answer_does_not_name_the_column_of_persons(team):
    answer = team.ask().json()
    assert answer["release"]["asked"] == answer["asked"]
    assert "reader" not in json.dumps(answer["release"]["asked"])


def test_prices_do_not_tell_what_colleagues_have_spent(team):
    before = price_of(team, QUESTION | {"epsilon": "1"})
    for epsilon in ("1", "0.9"):
        team.ask(QUESTION | {"epsilon": epsilon}, who="team-b")
    # 1.1 of 3 is left of the data set, 2 of the share
    after = price_of(team, QUESTION | {"epsilon": "1"})
    assert after == before
    assert after["fits"]
    for place in range(2):
        team.ask(QUESTION | {"epsilon": f"0.{place + 4}"})
    # 0.2 is left of the data set, 1.1 of the share: free prices do not say so
    assert price_of(team, QUESTION | {"epsilon": "1"})["fits"]
    refused = team.ask(QUESTION | {"epsilon": "1"})
    assert refused.status_code == 403
    assert "0.2" not in refused.text


def test_no_free_reply_depends_on_what_colleagues_have_spent(team):
    """Also where the data set has nothing left, only a question that the own share has
    room for is refused otherwise than before.
    """

    def replies():
        """Every free reply: its status, its headers and its bytes."""
        asked = [
            *(team.ask(QUESTION | {"epsilon": each}) for each in ("0.81", "0.9", "0.99")),
            *(
                team.post(f"/v1/datasets/reads/{place}", body)
                for place, body in [
                    ("prices", {"questions": [QUESTION | {"epsilon": "0.6"}]}),
                    ("prices", {"questions": [QUESTION | {"epsilon": "0.9"}]}),
                ]
            ),
            *(
                team.get(address)
                for address in ("/v1/datasets/reads/budget?each=0.1", "/v1/datasets/reads")
            ),
        ]
        with team.signed_in("team-a"):
            places = ("/", "/datasets.json", "/history", "/datasets/reads")
            asked += [team.page(address) for address in places]
        return [(each.status_code, dict(each.headers), _without_token(each.text)) for each in asked]

    for epsilon in ("1", "0.2"):
        team.ask(QUESTION | {"epsilon": epsilon})
    # 0.8 is left of the share, and 1.8 of the data set
    before = replies()
    assert [each[0] for each in before[:3]] == [403] * 3
    for epsilon in ("1", "0.3", "0.49"):
        assert team.ask(QUESTION | {"epsilon": epsilon}, who="team-b").status_code == 201
        # 0.8, 0.5 and 0.01 are left of the data set
        assert replies() == before
    refusals = {team.ask(QUESTION | {"epsilon": each}).content for each in ("0.02", "0.5", "0.8")}
    assert team.ask(QUESTION | {"epsilon": "0.01"}, who="team-b").status_code == 201
    refusals |= {team.ask(QUESTION | {"epsilon": each}).content for each in ("0.001", "0.3")}
    (body,) = refusals
    assert json.loads(body)["detail"] == (
        "This data set has no room for this question. Ask with a smaller epsilon, or "
        "request a larger budget."
    )
    assert replies() == before


def _without_token(text):
    return re.sub(r'name="(token|attempt)" value="[^"]*"', "", text)


@pytest.mark.parametrize(
    ("address", "who"),
    [
        ("/datasets.json", "both"),
        ("/datasets/reads.json", "both"),
        ("/datasets/reads/plan.json?k=2&persons=100", "both"),
        ("/history.json", "both"),
        ("/steward.json", "steward"),
    ],
)
def test_each_screen_has_its_data_at_the_same_address(team, address, who):
    team.ask()
    assert team.page(address).status_code == 401
    with team.signed_in(who):
        reply = team.page(address)
        assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
        assert reply.json()
        assert CANARY not in reply.text
    with team.signed_in("nobody"):
        other = team.page(address)
        assert "reads" not in other.text or other.status_code == 404


def test_nobody_waits_for_a_question_that_is_asked_so(team):
    # one loop for all requests, as in a server
    with team.client:
        reply = team.ask(Prefer="respond-async")
        assert (reply.status_code, reply.json()["state"]) == (202, "running")
        address = reply.headers["location"]
        assert reply.json()["attempt"] == address
        assert team.get(address, who="team-b").status_code == 404
        found = reached(team, address)
        assert found["state"] == "done"
        assert team.get(found["answer"]).content == team.ask().content
        assert team.charges() == 1


def test_a_refusal_is_found_where_the_answer_would_be(team):
    with team.client:
        reply = team.ask(QUESTION | {"epsilon": "2"}, Prefer="respond-async")
        found = reached(team, reply.headers["location"])
        assert (found["state"], found["problem"]["status"]) == ("refused", 403)
        assert team.charges() == 0


def test_a_server_that_stops_finishes_what_it_promised(team):
    with team.client:
        address = team.ask(Prefer="respond-async").headers["location"]
    team.open()
    assert team.get(address).json()["state"] == "done"


def reached(team, address):
    """What becomes of an attempt, once the service has ended it."""
    team.client.portal.call(team.service.drain)
    return team.get(address).json()


def test_figures_for_a_monitor_are_those_of_the_ledger(team):
    assert team.get("/v1/metrics").status_code == 404
    team.ask()
    text = team.get("/v1/metrics", who="steward").text
    assert 'discreet_budget_spent{dataset="reads",unit="epsilon"} 0.5\n' in text
    assert 'discreet_failures{dataset="reads"} 0\n' in text
    named = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    assert named == {
        f"discreet_{name}"
        for name in (
            *("budget_limit", "budget_spent", "failures"),
            *("closed", "late", "keys", "open_wishes"),
        )
    }


def test_a_name_cannot_forge_a_figure(team):
    team.service.ledger.open("reads", budget=discreet.PureDP(1), analyst='x"} 7 {a="')
    lines = team.get("/v1/metrics", who="steward").text.splitlines()
    (forged,) = (line for line in lines if "budget_limit" in line and "} 7" in line)
    assert 'analyst="x\\"} 7 {a=\\""' in forged


def test_the_wishes_of_one_do_not_hide_those_of_others(team):
    path = "/v1/datasets/reads/wishes"
    replies = [team.post(path, {"reason": f"reason {number}"}) for number in range(6)]
    assert [reply.status_code for reply in replies] == [201] * 5 + [422]
    assert "open requests" in replies[-1].json()["errors"][0]["rule"]
    assert team.post(path, {"reason": "mine"}, "team-b").status_code == 201
    decided = {"decision": "declined"}
    address = f"/v1/wishes/{replies[0].json()['id']}/decisions"
    assert team.post(address, decided, "steward").status_code == 201
    assert team.post(path, {"reason": "another"}).status_code == 201


def test_questions_about_no_column_are_described(team):
    found = team.get("/v1/datasets/reads").json()
    assert found["ask"] == ["count"]
    assert found["questions"]["count"] == {"epsilon": True}


@pytest.mark.parametrize("window", ["2026", "2026-13", "october", "2026-10-01"])
def test_a_window_that_is_none_has_no_budget(shared, window):
    reply = shared.get(f"/v1/datasets/months/budget?window={window}")
    assert reply.status_code == 422
    (error,) = reply.json()["errors"]
    assert error == {"pointer": "/windows", "rule": "a month, written as '2026-10'"}
    refused = shared.ask(QUESTION | {"windows": [window]}, dataset="months")
    assert refused.json()["errors"] == [error]


def test_a_wrong_method_is_told_the_right_ones(team):
    for path, allowed in (("/v1/keys", "GET, HEAD, POST"), ("/v1/keys/x", "DELETE"), ("/", "")):
        reply = team.client.put(path, headers=team.headers("steward"))
        assert reply.status_code == 405
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers["allow"] == (allowed or "GET, HEAD")


def test_one_line_is_logged_for_each_request(team, capsys):
    log = logging.getLogger("discreet.service")
    before = log.handlers[:], log.level, log.propagate
    try:
        show_log()
        team.ask()
        team.get(f"/v1/datasets/{CANARY}")
        team.get(f"/{CANARY}")
        assert capsys.readouterr().err.splitlines() == [
            "POST /v1/datasets/{name}/answers 201",
            "GET /v1/datasets/{name} 404",
            "GET - 404",
        ]
    finally:
        log.handlers[:], log.level, log.propagate = before
