"""`discreet.connect` against a real server in a thread: the session's words over a socket."""

import copy
import io
import json
import pickle
import socket
import threading
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from urllib.error import HTTPError

import pytest
import uvicorn
from asking import ask_of
from service.team import QUESTION, Team

import discreet
from discreet import BudgetExceededError, ParameterError
from discreet import client as client_module
from discreet.errors import ReservationLostError
from discreet.questions import Mode
from discreet.questions import mode as mode_question
from discreet.service.questions import QUESTIONS


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A team behind a socket."""
    team = Team(tmp_path_factory.mktemp("client"))
    config = uvicorn.Config(team.application, port=0, log_config=None, access_log=False)
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    started.wait()
    team.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield team
    server.should_exit = True
    thread.join()


@pytest.fixture
def team(running):
    return discreet.connect(running.url, key=running.keys["team-a"])


def test_a_question_in_the_words_of_a_session(running, team):
    reads = team.dataset("reads")
    assert set(team.datasets()) == {"reads", "months"}
    where = {"role": ["nurse"], "pay": {"below": Fraction(500)}}
    before = running.charges()
    release = reads.top_k("article", k=2, epsilon=0.1, where=where)
    again = reads.top_k("article", k=2, epsilon=Fraction(1, 10), where=where)
    assert isinstance(release, discreet.Release)
    assert release == again
    assert running.charges() == before + 1
    assert next(team.answers())["value"] == release.value


def test_every_question_has_its_method(team):
    reads = team.dataset("reads")
    grid = {"bounds": (0, 300), "step": 1, "rule": "max"}
    assert reads.mode("article", epsilon=0.01).value is not None
    assert reads.best_price("pay", prices=[5, 7.5], epsilon=0.01, rule="max").value in (5, 7.5)
    assert 0 <= ask_of(reads, "quantile", "pay", q=0.5, epsilon=0.01, **grid).value <= 300
    assert len(ask_of(reads, "quantiles", "pay", q=[0.25, 0.75], epsilon=0.01, **grid).value) == 2
    assert len(reads.counts("article", epsilon=0.01).counts.values) == 5
    assert isinstance(reads.count(epsilon=0.01).value, int)
    assert all(hasattr(reads, question) for question in QUESTIONS)


def test_describing_pricing_and_wishing(team):
    reads = team.dataset("reads")
    assert reads.describe()["as_of"] == "2026-11-01"
    assert reads.price(Mode("article", epsilon=0.25))["cost"] == "0.25 epsilon"
    assert reads.budget(each=0.1)["share"][0]["questions_left"] > 0
    months = team.dataset("months").budget(each=0.25, windows=["2026-09", "2026-10"])["share"]
    assert [(each["window"], each["questions_left"]) for each in months] == [
        ("2026-09", 4),
        ("2026-10", 4),
    ]
    reads.wish("a paper")


def test_a_fresh_draw_that_is_sent_twice_pays_once(running, team, monkeypatch):
    """The reply of the first attempt is lost on the way."""
    real, sent = client_module.Connection._send, []

    def losing(self, asked):
        found = real(self, asked)
        sent.append(asked.get_header("Idempotency-key"))
        if len(sent) == 1:
            raise discreet.ServiceError("unreachable", 0, "The service did not answer.")
        return found

    monkeypatch.setattr(client_module.Connection, "_send", losing)
    before = running.charges()
    ask_of(team.dataset("reads"), "mode", "article", epsilon=0.01, fresh=True)
    assert len(sent) == 2
    assert sent[0] == sent[1] is not None
    assert running.charges() == before + 1


def test_what_pays_again_is_sent_once(team, monkeypatch):
    """A reply that was lost on its way does not say whether it was paid for."""
    sent = []

    def losing(self, asked):
        sent.append(asked.data)
        raise discreet.ServiceError("unreachable", 0, "The service did not answer.")

    monkeypatch.setattr(client_module.Connection, "_send", losing)
    monkeypatch.setattr(client_module.time, "sleep", lambda seconds: None)
    with pytest.raises(discreet.ServiceError, match="did not answer"):
        ask_of(team.dataset("reads"), "mode", "article", epsilon=0.01, again=True)
    assert len(sent) == 1
    with pytest.raises(discreet.ServiceError, match="did not answer"):
        team.dataset("reads").mode("article", epsilon=0.01)
    assert len(sent) == 5


@pytest.mark.parametrize(
    ("method", "path", "body", "attempt", "times"),
    [
        ("POST", "/v1/datasets/reads/answers", QUESTION, None, 4),
        ("POST", "/v1/datasets/reads/answers", QUESTION | {"fresh": True}, None, 1),
        ("POST", "/v1/datasets/reads/answers", QUESTION | {"fresh": True}, "one", 4),
        ("POST", "/v1/datasets/reads/answers", QUESTION | {"again": True}, "one", 1),
        ("POST", "/v1/datasets/reads/prices", {"questions": [QUESTION]}, None, 4),
        ("POST", "/v1/datasets/reads/wishes", {"reason": "a paper"}, None, 1),
        ("POST", "/v1/keys", {"name": "team-a"}, None, 1),
        ("POST", "/v1/shares", {"dataset": "reads"}, None, 1),
        ("DELETE", "/v1/keys/abc", None, None, 1),
        ("GET", "/v1/keys", None, None, 4),
    ],
)
def test_only_what_cannot_happen_twice_is_sent_again(
    method, path, body, attempt, times, team, monkeypatch
):
    sent = []

    def losing(self, asked):
        sent.append(asked.get_method())
        raise discreet.ServiceError("unreachable", 0, "The service did not answer.")

    monkeypatch.setattr(client_module.Connection, "_send", losing)
    monkeypatch.setattr(client_module.time, "sleep", lambda seconds: None)
    with pytest.raises(discreet.ServiceError, match="did not answer"):
        team.call(method, path, body, attempt=attempt)
    assert sent == [method] * times


@pytest.mark.parametrize(
    "store", [copy.copy, copy.deepcopy, *(partial(pickle.dumps, protocol=n) for n in range(6))]
)
def test_a_key_is_neither_stored_nor_shown(store):
    team = discreet.connect("https://example.org", key="dsc_secret")
    for each in (team, team.dataset("reads"), {"connection": team}, [team.dataset("reads")]):
        if isinstance(each, (dict, list)) and store is copy.copy:
            continue
        with pytest.raises(TypeError, match="A connection holds your key"):
            store(each)
    assert "dsc_secret" not in f"{team!r} {vars(team)} {team.dataset('reads')!r}"


def test_what_the_service_refuses_is_the_error_that_a_session_raises(running, team, monkeypatch):
    reads = team.dataset("reads")
    with pytest.raises(BudgetExceededError, match="at most PureDP"):
        reads.mode("article", epsilon=1.5)
    with pytest.raises(ParameterError, match=r"RemoteDataset\.mode must be greater than 0"):
        reads.mode("article", epsilon=-1)
    with pytest.raises(
        discreet.ServiceError, match="Nothing here is available to your key"
    ) as error:
        team.dataset("other").mode("article", epsilon=1)
    assert (error.value.name, error.value.status) == ("not-found", 404)
    with pytest.raises(discreet.ServiceError, match="Send a valid key"):
        discreet.connect(running.url, key="dsc_wrong").datasets()

    def fail(*arguments):
        raise RuntimeError

    monkeypatch.setattr(mode_question, "count_candidates", fail)
    with pytest.raises(
        discreet.EngineError, match=r"^The engine failed, and the budget stays charged"
    ):
        reads.mode("article", epsilon=0.02)
    with pytest.raises(ReservationLostError, match='"again": true'):
        reads.mode("article", epsilon=0.02)


def test_a_share_that_was_revoked_is_closed_as_for_a_session(running):
    running.service.ledger.revoke("reads", "team-b", reason="left the team")
    other = discreet.connect(running.url, key=running.keys["team-b"])
    with pytest.raises(discreet.BudgetClosedError, match="closed permanently"):
        other.dataset("reads").mode("article", epsilon=0.03)


@pytest.mark.parametrize(
    "where",
    [{"role": ["nurse"]}, "role = 'nurse'", discreet.column("role") == "nurse", {"role": "nurse"}],
)
def test_a_condition_is_sent_as_the_service_takes_it(where, team):
    asked = team.dataset("reads").price(Mode("article", epsilon=0.1, where=where))["asked"]
    assert asked["where"] == [{"column": "role", "is": ["nurse"]}]


@pytest.mark.parametrize("where", ["role = 'nurse' or pay < 3", "not role = 'nurse'", "pay > 3"])
def test_conditions_that_only_sessions_take_are_refused_with_the_way_here(where):
    reads = discreet.connect("https://example.org", key="dsc_x").dataset("reads")
    with pytest.raises(ParameterError, match=r"\{'role': \['nurse', 'pilot'\]"):
        reads.mode("article", epsilon=0.1, where=where)


def test_groups_are_refused_with_the_reason():
    reads = discreet.connect("https://example.org", key="dsc_x").dataset("reads")
    with pytest.raises(ParameterError, match="Only the manifest may name columns"):
        reads.mode("article", epsilon=0.1, by="role", groups=["nurse"])


def test_some_of_the_candidates(team):
    reads = team.dataset("reads")
    assert reads.mode("article", epsilon=0.01, candidates=["bee"]).value == "bee"
    with pytest.raises(discreet.ServiceError, match="some of those that the data set declares"):
        reads.mode("article", epsilon=0.01, candidates=["bee", "cow"])
    with pytest.raises(discreet.ServiceError, match="split must be left out, or what"):
        reads.mode("article", epsilon=0.01, split=";")


def test_a_service_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(client_module.time, "sleep", lambda seconds: None)
    away = discreet.connect("http://127.0.0.1:9", key="dsc_x")
    with pytest.raises(discreet.ServiceError, match=r"^The service at http://127\.0\.0\.1:9 did "):
        away.datasets()


def test_a_proxy_that_did_not_wait_does_not_pay_twice(running, team, monkeypatch):
    """It speaks in words of its own, and the question is answered all the same."""
    real, sent = client_module.http.OpenerDirector.open, []

    def impatient(self, asked, timeout):
        sent.append(asked)
        reply = real(self, asked, timeout=timeout)
        if len(sent) == 1:
            raise HTTPError(asked.full_url, 504, "Gateway Time-out", {}, io.BytesIO(b"<html>"))
        return reply

    monkeypatch.setattr(client_module.http.OpenerDirector, "open", impatient)
    monkeypatch.setattr(client_module.time, "sleep", lambda seconds: None)
    before = team.dataset("reads").budget()["share"][0]["spent"]
    sent.clear()
    release = ask_of(team.dataset("reads"), "mode", "article", epsilon=0.03, fresh=True)
    assert (release.loss.epsilon, len(sent)) == (Fraction("0.03"), 2)
    after = team.dataset("reads").budget()["share"][0]["spent"]
    paid = Fraction(after.split()[0]) - Fraction(before.split()[0])
    assert paid == Fraction("0.03")


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.org", "ftp://localhost", "localhost:8400", "", None, "https://a/?b=1"),
        *("https://", "http://[::1", "http://localhost:x", "https://me:secret@example.org"),
    ],
)
def test_a_key_does_not_travel_in_clear(url):
    with pytest.raises(ParameterError, match="'url' parameter of connect must be https"):
        discreet.connect(url, key="dsc_x")


def test_a_user_in_an_address_is_not_shown_and_has_no_place_there():
    with pytest.raises(ParameterError, match="Leave the user and the password") as caught:
        discreet.connect("https://me:secret@example.org", key="dsc_x")
    assert "secret" not in str(caught.value)


@contextmanager
def replying(text):
    """A server on this computer that gives every request the same reply: its port, and the
    requests.
    """
    heard = []

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(text)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)


def test_a_key_goes_in_clear_through_no_proxy(running, monkeypatch):
    with replying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as (port, heard):
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        team = discreet.connect(running.url, key=running.keys["team-a"])
        assert set(team.datasets()) == {"reads", "months"}
    assert heard == []


@pytest.mark.parametrize(
    ("text", "name", "times"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "unreachable", 4),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "unreadable", 1),
        (
            b'HTTP/1.1 422 No\r\n\r\n{"type": "a", "title": "b", "errors": {"c": ["d"]}}',
            "unreadable",
            1,
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "unreadable", 1),
        (b'HTTP/1.1 200 OK\r\n\r\n{"datasets": ["a"]}', "unreadable", 1),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 200_000, "unreachable", 4),
        (b"HTTP/1.1 400 No\r\n\r\n" + b"[" * 200_000, "unreadable", 1),
    ],
)
def test_a_reply_that_breaks_off_or_is_none_is_a_sentence(text, name, times, monkeypatch):
    monkeypatch.setattr(client_module.time, "sleep", lambda seconds: None)
    with replying(text) as (port, heard):
        team = discreet.connect(f"http://127.0.0.1:{port}", key="dsc_x")
        with pytest.raises(discreet.ServiceError) as error:
            team.datasets()
    assert (error.value.name, len(heard)) == (name, times)


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        (b"{}", lambda team: team.dataset("reads").mode("article", epsilon=1)),
        (b'{"release": null}', lambda team: team.dataset("reads").mode("article", epsilon=1)),
        (b'{"prices": []}', lambda team: team.dataset("reads").price(Mode("article", epsilon=1))),
        (b"{}", lambda team: list(team.answers())),
        (b'{"answers": [], "next": 7}', lambda team: list(team.answers())),
        (b'{"answers": [], "next": "7"}', lambda team: list(team.answers())),
        (b" " * 2000, lambda team: team.datasets()),
    ],
)
def test_a_reply_without_what_was_asked_for_is_a_sentence(text, ask, monkeypatch):
    monkeypatch.setattr(client_module, "_LARGEST", 1000)
    with replying(b"HTTP/1.1 200 OK\r\n\r\n" + text) as (port, _):
        team = discreet.connect(f"http://127.0.0.1:{port}", key="dsc_x")
        with pytest.raises(
            discreet.ServiceError,
            match="The reply does not come from a discreet service, or from one of another version",
        ) as error:
            ask(team)
    assert error.value.name == "unreadable"


@pytest.mark.parametrize("name", ["x", "budget-exceeded", "budget-closed", "answer-lost"])
def test_what_a_service_says_does_not_control_a_terminal(name):
    said = "\x1b]0;title\x07\u202e" + "x" * 10_000
    problem = {"type": f"/problems/{name}", "title": said, "detail": said}
    told = str(client_module._refusal(403, json.dumps(problem).encode()))
    assert told.isprintable()
    assert len(told) < 5000


@pytest.mark.parametrize("key", ["dsc_x\n", "dsc_x\r\nX: y", "dsc_x y", "dsc_\x00", "dsc_\u0663"])
def test_a_key_read_with_the_end_of_its_line_is_refused_without_being_shown(key):
    with pytest.raises(ParameterError, match="ends of lines") as refused:
        discreet.connect("https://example.org", key=key)
    assert key not in str(refused.value)


@pytest.mark.parametrize("url", ["https://a\nb", "https://a b", "http://127.0.0.1/\x1b[31m"])
def test_an_address_is_one_word(url):
    with pytest.raises(discreet.ParameterError):
        discreet.connect(url, key="dsc_x")


@pytest.mark.parametrize("path", ["@example.org/v1", ".example.org/v1", "9/v1", ""])
def test_no_path_sends_a_key_to_another_host(path):
    team = discreet.connect("http://127.0.0.1:80", key="dsc_x")
    with pytest.raises(ParameterError, match="begins with a slash"):
        team.call("GET", path)


def test_a_key_that_is_none_is_refused_without_being_shown():
    with pytest.raises(ParameterError, match="'key' parameter of connect") as error:
        discreet.connect("https://example.org", key="secret")
    assert "secret" not in str(error.value)
    assert "dsc_" not in repr(discreet.connect("https://example.org", key="dsc_x"))


def test_a_redirect_is_not_followed(running, team):
    assert QUESTION
    with pytest.raises(
        discreet.ServiceError,
        match="The reply does not come from a discreet service, or from one of another version",
    ):
        team.call("GET", "/")
