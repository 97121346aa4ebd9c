"""Hostile bodies and headers: refused with one shape, before anything is charged."""

import json

import pytest
from service.team import QUESTION

import discreet
from discreet.service.application import ENDPOINTS, make_application
from discreet.service.bodies import read_json
from discreet.service.problems import RefusedError
from discreet.service.questions import QUESTIONS, parameters, schema_of
from discreet.service.routes import describe

PATH = "/v1/datasets/reads/answers"

NOT_JSON = [
    b"",
    b"{",
    b"[1",
    b'{"k": NaN}',
    b'{"k": Infinity}',
    b'{"k": -Infinity}',
    b'{"k": 1.5}',
    b'{"k": 1e400}',
    b'{"k": 1, "k": 2}',
    b'{"a": {"b": 1, "b": 2}}',
    b"\xff\xfe",
    b"[" * 60000,
    b'{"k": ' + b"9" * 5000 + b"}",
]


@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: str(text[:20]))
def test_what_is_not_json_is_refused(shared, text):
    reply = shared.client.post(PATH, content=text, headers=shared.headers("team-a"))
    assert (reply.status_code, reply.json()["type"]) == (422, "/problems/not-json")
    assert reply.headers["content-type"] == "application/problem+json"
    with pytest.raises(RefusedError, match="not-json"):
        read_json(text)


@pytest.mark.parametrize("body", [[], "text", 3, None, True])
def test_a_body_that_is_no_object_is_refused(shared, body):
    assert shared.post(PATH, body).status_code == 422


def test_a_body_that_is_too_large_is_refused(team):
    text = json.dumps(QUESTION | {"where": "x" * 70000}).encode()
    reply = team.client.post(PATH, content=text, headers=team.headers("team-a"))
    assert (reply.status_code, reply.json()["type"]) == (413, "/problems/too-large")


@pytest.mark.parametrize(
    "change",
    [{"epsilon": "0"}, {"epsilon": "-1"}, {"epsilon": "65"}, {"k": 10**9}]
    + [{"what": "top_k", "k": k} for k in (0, -1, 6, 10**9, 10**30)]
    + [{"what": "top_k", "k": 1, "limit": 10**12, "delta": "1e-6"}]
    + [{"what": "top_k", "k": 1, "limit": 10}, {"mechanism": "oracle"}],
    ids=str,
)
def test_a_number_that_breaks_a_rule_is_named_before_a_charge(shared, change):
    reply = shared.ask(QUESTION | change)
    assert reply.status_code in (403, 422), reply.text
    assert shared.charges() == 0
    assert shared.spent() == 0


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.2:8400"])
def test_another_host_name_is_refused(shared, host):
    reply = shared.client.get("/healthz", headers={"Host": host})
    assert (reply.status_code, reply.json()["type"]) == (421, "/problems/wrong-host")


def test_every_reply_has_the_headers_that_browsers_obey(team):
    for path in ("/healthz", "/v1/datasets", "/nothing", "/signin", "/style.css"):
        headers = team.client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "script-src" not in policy
        assert "unsafe" not in policy


def test_what_nobody_foresaw_is_one_constant_reply(team, monkeypatch, caplog):
    def broken(*arguments, **options):
        raise RuntimeError("secret-4711")

    monkeypatch.setattr(team.service.published, "names", broken)
    reply = team.get("/v1/datasets")
    assert (reply.status_code, reply.json()["type"]) == (503, "/problems/unavailable")
    assert "secret-4711" not in reply.text + caplog.text


# --- OpenAPI


def test_the_description_has_every_address_and_no_other(team):
    said = team.client.get("/openapi.json").json()
    assert said == json.loads(json.dumps(describe(ENDPOINTS)))
    described = {(method.upper(), path) for path, each in said["paths"].items() for method in each}
    guard = make_application(team.service)
    routes = {
        (method, route.path)
        for route in guard._application.routes
        if route.path.startswith("/v1/")
        for method in route.methods - {"HEAD"}
    }
    assert described == routes
    assert said["openapi"].startswith("3.1")


def test_every_reference_of_the_description_is_there(team):
    text = team.client.get("/openapi.json").text
    said = json.loads(text)
    names = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= said["components"]["schemas"].keys()
    assert {schema_of(what)["title"] for what in QUESTIONS} <= names


def test_the_questions_are_those_of_a_session():
    for what in QUESTIONS:
        assert callable(getattr(discreet.Session, what))
        assert "epsilon" in [each.name for each in parameters(what)]
        hidden = {"bits", "where", "fresh", "column", "by", "groups"}
        assert not hidden & {each.name for each in parameters(what)}


def test_what_no_database_can_hold_is_refused(team, monkeypatch):
    def touched(*arguments):
        raise AssertionError(arguments)

    reply = team.post("/v1/datasets/reads/wishes", {"reason": "a\0b"})
    assert reply.json()["errors"][0]["pointer"] == "/reason"
    nothing = team.get("/v1/nothing").content
    monkeypatch.setattr(team.service.store.promises, "find", touched)
    assert team.get("/v1/attempts/a%00b").content == nothing


def test_an_unknown_name_is_not_repeated_and_the_known_ones_are(team):
    refused = team.ask({"what": "mode", "column": "article", "epsilon": "0.1", "canary": 1})
    (error,) = refused.json()["errors"]
    assert error["pointer"] == ""
    assert error["rule"] == (
        "an object with documented names only: what, column, candidates, epsilon, mechanism, "
        "with_counts, split, with_gap, where, windows, fresh, again, or_stronger"
    )
    assert "canary" not in refused.text
