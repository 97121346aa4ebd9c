"""The service's own tables, in a file and on a server: keys, links, wishes, failures."""

from __future__ import annotations

import copy
import os
import pickle
import secrets
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from discreet import LedgerError, ParameterError
from discreet.service.answering import LateReplies
from discreet.service.store import Promised, Store, make_name

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
URL = os.environ.get("DISCREET_POSTGRES_URL")


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param(
            "postgresql",
            marks=[
                pytest.mark.postgres,
                pytest.mark.skipif(URL is None, reason="needs a PostgreSQL server: make engines"),
            ],
        ),
    ]
)
def store(request, tmp_path):
    """A store, opened twice: the second time its tables are there."""
    address = f"sqlite:///{tmp_path / 'keys.db'}" if request.param == "sqlite" else URL
    Store(address).close()
    opened = Store(address)
    yield opened
    opened.close()


@pytest.fixture
def name():
    """A name that no other test has used: a server's tables outlive it."""
    return f"ada-{secrets.token_hex(8)}"


def test_a_key_is_whose_it_is_until_it_is_ended(store, name):
    key = store.add_key(name, "analyst", days=1)
    caller = store.caller(key.text)
    assert (caller.name, caller.is_analyst, caller.is_steward) == (name, True, False)
    assert store.caller(key.text[:-1] + "_") is None
    known = store.keys()
    assert key.id in [each.id for each in known]
    cookie = store.use_key(key.text)
    assert store.signed_in(cookie).name == name
    assert store.remove_key(key.id)
    assert not store.remove_key(key.id)
    assert (store.caller(key.text), store.signed_in(cookie), store.use_key(key.text)) == (None,) * 3


def test_a_new_key_and_a_store_are_not_written_down_by_accident(store):
    key = store.add_key("ada", "analyst", days=1)
    assert key.text not in repr(key)
    for keep in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="A store cannot be copied or pickled"):
            keep(store)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgres"])
def test_a_server_is_named_as_for_a_ledger(scheme, monkeypatch):
    psycopg, asked = pytest.importorskip("psycopg"), []

    def connect(address, **options):
        asked.append(address)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises((psycopg.OperationalError, LedgerError)):
        Store(f"{scheme}://ada@db/keys")
    assert asked == ["postgresql://ada@db/keys"]


def test_what_is_no_address_is_refused():
    with pytest.raises(ParameterError, match="'--keys' parameter of discreet serve must be a path"):
        Store("mysql://host/keys")


def test_the_file_is_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        kept = Store(f"sqlite:///{tmp_path / 'keys.db'}")
        kept.add_key("ada", "analyst", days=1)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        kept.close()
    finally:
        os.umask(before)
    assert modes["keys.db"] == 0o600
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_a_file_that_everybody_may_write_is_refused(tmp_path, mode):
    path = tmp_path / "keys.db"
    Store(f"sqlite:///{path}").close()
    path.chmod(mode)
    with pytest.raises(
        LedgerError, match=r"^The keys sqlite:.* must be a file that belongs to you or root"
    ):
        Store(f"sqlite:///{path}")


@AS_ROOT
def test_a_file_that_somebody_else_made_is_refused(tmp_path):
    path = tmp_path / "keys.db"
    path.touch(mode=0o600)
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(LedgerError, match="must be a file that belongs to you or root"):
        Store(f"sqlite:///{path}")


@AS_ROOT
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_log_that_somebody_else_made_is_refused(tmp_path, ending):
    path = tmp_path / "keys.db"
    Store(f"sqlite:///{path}").close()
    log = tmp_path / f"keys.db{ending}"
    log.touch(mode=0o600)
    os.chown(log, NOBODY, NOBODY)
    with pytest.raises(LedgerError, match="a log of somebody else"):
        Store(f"sqlite:///{path}")


def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    with pytest.raises(LedgerError, match="must be in a folder that only you"):
        Store(f"sqlite:///{tmp_path}/open/keys.db")


def test_a_link_in_a_folder_of_everybody_is_refused(tmp_path):
    """Whoever can put another link there decides which keys are right."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "keys.db").symlink_to(tmp_path / "keys.db")
    Store(f"sqlite:///{tmp_path}/open/keys.db").close()
    (tmp_path / "open").chmod(0o1777)
    with pytest.raises(LedgerError, match="must be in a folder that only you"):
        Store(f"sqlite:///{tmp_path}/open/keys.db")


def test_a_link_that_leads_through_a_folder_of_everybody_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "keys.db").symlink_to(tmp_path / "kept.db")
    (tmp_path / "keys.db").symlink_to(tmp_path / "open" / "keys.db")
    Store(f"sqlite:///{tmp_path}/keys.db").close()
    (tmp_path / "open").chmod(0o1777)
    with pytest.raises(LedgerError, match="must be in a folder that only you"):
        Store(f"sqlite:///{tmp_path}/keys.db")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_plain_file_is_refused(tmp_path, make):
    make(tmp_path / "keys.db")
    with pytest.raises(
        LedgerError, match=r"must be (a file that you can read and write|in a folder)"
    ):
        Store(f"sqlite:///{tmp_path}/keys.db")


def test_a_file_with_two_names_is_refused(tmp_path):
    """Each name would have a log: a key that was ended under one is good under the other."""
    Store(f"sqlite:///{tmp_path}/keys.db").close()
    os.link(tmp_path / "keys.db", tmp_path / "others.db")
    with pytest.raises(LedgerError, match="must be known by one name"):
        Store(f"sqlite:///{tmp_path}/others.db")


def test_a_key_that_has_expired_is_none(store, name):
    assert store.caller(store.add_key(name, "steward", days=0).text) is None


def test_a_cookie_ends_with_the_key_that_it_was_made_for(store, name, monkeypatch):
    key, now = store.add_key(name, "steward", days=1), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 23 * 3600)
    cookie = store.use_key(key.text)
    assert store.signed_in(cookie).is_steward
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    assert store.caller(key.text) is None
    assert store.signed_in(cookie) is None


def test_a_link_works_once(store, name):
    secret = store.add_link(name, "both")
    cookie = store.use_link(secret)
    assert store.signed_in(cookie).is_steward
    assert store.use_link(secret) is None
    store.sign_out(cookie)
    assert store.signed_in(cookie) is None


def test_a_wish_is_decided_once(store, name):
    wish = store.add_wish("reads", name, "the board meets")
    assert [each.reason for each in store.wishes(name)] == ["the board meets"]
    assert store.decide(wish.id, "granted").decision == "granted"
    assert store.decide(wish.id, "declined") is None


@dataclass(frozen=True)
class Asked:
    """What the store needs to know of a question."""

    dataset: str
    digest: str
    epsilon: Fraction
    family: str = "family"


def test_what_is_counted_and_kept(store, name):
    asked = Asked(name, "digest", Fraction(1, 3))
    assert (store.find(asked, "ada"), store.failures(name), store.late(name)) == (None, 0, 0)
    for number in (3, 5):
        store.keep(asked, "ada", number)
        store.add_failure(name)
        store.add_late(name, 2)
    assert (store.find(asked, "ada"), store.find(asked, "bob")) == (5, None)
    assert (store.failures(name), store.late(name)) == (2, 4)
    store.forget_failures(name)
    assert store.failures(name) == 0


def test_the_answers_of_a_family_are_found_the_strongest_first(store, name):
    for number, epsilon in enumerate((Fraction(1, 3), Fraction(2), Fraction(1, 20))):
        store.keep(Asked(name, f"digest {number}", epsilon), "ada", number)
    store.keep(Asked(name, "digest", Fraction(9), "another family"), "ada", 7)
    weak, strong = (Asked(name, "new", Fraction(epsilon)) for epsilon in (Fraction(1, 3), 3))
    assert store.family(weak, "ada") == [(2, 1), (Fraction(1, 3), 0)]
    assert store.family(strong, "ada") == store.family(weak, "bob") == []


def test_what_becomes_of_an_attempt_is_for_its_analyst(store, name):
    notes, made = store.promises, make_name()
    running = Promised(dataset="reads", question="digest", key="key", holder="process")
    notes.add(made, name, running)
    assert (notes.find(made, name), notes.find(made, "somebody")) == (running, None)
    notes.end_for(made, "done", 3)
    assert notes.find(made, name) == replace(running, state="done", number=3)
    # its own process knows better
    notes.end(made, "{}", 0)
    notes.end_for(made, "done", 3)
    assert notes.find(made, name) == replace(running, state="{}")


def test_late_replies_are_noted_once_a_second_at_most(store, name):
    late = LateReplies(store)
    for _ in range(3):
        late.add(name)
    assert store.late(name) == 1
    late.note()
    assert store.late(name) == 3


def test_an_error_says_nothing_of_what_was_asked(store):
    with pytest.raises(LedgerError, match=r"^The service cannot use its own tables: \w+\.$"):
        store._run("SELECT canary FROM nowhere")
