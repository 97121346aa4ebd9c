"""The mailbox: posts, outcomes and the turn, between processes that may die at any moment."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time

import pytest
from faults.ledgers import busy

from discreet import Ledger, PureDP
from discreet.ledger.group_commit import MOST_AT_ONCE
from discreet.ledger.sqlite_mailbox import Mailbox

ONE = [{"do": "reserve", "ticket": "1"}]
DONE = [{"number": 7}]


@pytest.fixture
def mailboxes(tmp_path):
    made = [Mailbox(tmp_path), Mailbox(tmp_path), Mailbox(tmp_path)]
    yield made
    for mailbox in made:
        mailbox.close()


def post_and_find(mine, other):
    mine.post(json.dumps(ONE))
    ((name, operations),) = other.posted().items()
    assert operations == ONE
    return name


def test_what_is_posted_is_found_and_told(mailboxes, tmp_path):
    mine, other, _ = mailboxes
    other.tell(post_and_find(mine, other), DONE)
    assert mine.wait(5) == DONE
    assert mine.told() is None
    assert list(tmp_path.glob("*.post")) == []


def test_nobody_finds_their_own_post(mailboxes):
    mine, other, _ = mailboxes
    mine.post(json.dumps(ONE))
    assert mine.posted() == {}
    assert other.posted() == {}


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_withdrawn_post_is_not_found_and_others_are(mailboxes, tmp_path, size):
    mine, other, third = mailboxes
    mine.post(json.dumps([{"ticket": "x" * size}]))
    third.post(json.dumps(ONE))
    mine.withdraw()
    assert list(other.posted().values()) == [ONE]
    assert list(tmp_path.glob("*.post")) == []


def test_a_post_that_is_made_again_has_the_same_name(mailboxes):
    """Whoever had read it may have died; if not, the outcome comes twice, and counts once."""
    mine, other, third = mailboxes
    mine.post(json.dumps(ONE))
    (taken,) = other.posted()
    mine.post(json.dumps(ONE))
    (again,) = third.posted()
    assert taken == again
    third.tell(again, DONE)
    assert mine.wait(5) == DONE
    other.tell(taken, DONE)
    assert mine.told() is None


def test_what_was_posted_again_is_gone_once_its_outcome_is_known(mailboxes):
    """If it was refused, nobody carries it out later."""
    mine, other, third = mailboxes
    mine.post(json.dumps(ONE))
    (taken,) = other.posted()
    mine.post(json.dumps(ONE))
    other.tell(taken, [{"refused": "does not fit"}])
    assert mine.wait(5) == [{"refused": "does not fit"}]
    assert third.posted() == {}


def test_where_there_are_no_pipes_nobody_has_posted(mailboxes, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "mkfifo", refuse)
    mine, *_ = mailboxes
    assert mine.posted() == {}
    mine.wake()
    mine.withdraw()


@pytest.mark.parametrize("is_link", [False, True])
def test_nothing_is_posted_into_what_is_no_pipe(mailboxes, tmp_path, is_link):
    """In a folder of a group somebody else may have made it."""
    precious = tmp_path / "precious" if is_link else tmp_path / "posts"
    precious.write_text("mine")
    if is_link:
        (tmp_path / "posts").symlink_to(precious)
    mine, other, _ = mailboxes
    with pytest.raises(OSError, match=r"pipe|symbolic"):
        mine.post(json.dumps(ONE))
    assert other.posted() == {}
    assert precious.read_text() == "mine"


def test_a_batch_has_an_end_and_the_rest_stays(tmp_path):
    made = [Mailbox(tmp_path) for _ in range(MOST_AT_ONCE + 4)]
    for mailbox in made[1:]:
        mailbox.post(json.dumps(ONE))
    assert [len(made[0].posted()) for _ in range(3)] == [MOST_AT_ONCE, 3, 0]
    for mailbox in made:
        mailbox.close()


def test_what_a_full_pipe_has_no_room_for_is_posted_later(mailboxes):
    mine, other, _ = mailboxes
    for _ in range(100):
        other._put([b"x" * 4095 + b"\n"])
    mine.post(json.dumps(ONE))
    assert other.posted() == {}
    while other.posted():
        pass
    assert post_and_find(mine, other)


def test_operations_of_every_length_are_found_whole(mailboxes, tmp_path):
    mine, other, _ = mailboxes
    for size in [*range(4000, 4100), 200_000]:
        mine.post(json.dumps([{"ticket": "x" * size}]))
        assert list(other.posted().values()) == [[{"ticket": "x" * size}]]
        mine.withdraw()
    assert list(tmp_path.glob("*.post*")) == []


def test_an_outcome_of_a_withdrawn_post_is_nobodys(mailboxes):
    mine, other, _ = mailboxes
    name = post_and_find(mine, other)
    mine.withdraw()
    other.tell(name, DONE)
    assert mine.told() is None


def test_an_outcome_of_an_earlier_post_is_not_that_of_the_next(mailboxes):
    mine, other, _ = mailboxes
    early = post_and_find(mine, other)
    mine.withdraw()
    late = post_and_find(mine, other)
    other.tell(early, DONE)
    assert mine.told() is None
    other.tell(late, [{"number": 8}])
    other.tell(early, DONE)
    assert mine.wait(5) == [{"number": 8}]


@pytest.mark.parametrize("size", [10, 4000, 4050, 4060, 4070, 4080, 4090, 4096, 5000, 200_000])
@pytest.mark.parametrize("wakes", [0, 1, 3])
def test_outcomes_of_every_length_arrive_whole(mailboxes, tmp_path, size, wakes):
    """A pipe takes 4096 bytes at once; what is longer waits in a file."""
    mine, other, _ = mailboxes
    name = post_and_find(mine, other)
    for _ in range(wakes):
        other.wake()
    other.tell(name, [{"number": 1, "answer": "x" * size}])
    assert mine.wait(5) == [{"number": 1, "answer": "x" * size}]
    assert list(tmp_path.glob("*.long")) == []


def test_a_long_outcome_that_got_lost_is_none(mailboxes, tmp_path):
    mine, other, _ = mailboxes
    other.tell(post_and_find(mine, other), [{"answer": "x" * 9000}])
    for file in tmp_path.glob("*.long"):
        file.unlink()
    assert mine.wait(5) is None


@pytest.mark.parametrize("torn", ['[{"number": 7', '[{"number": 712', '[{"number": 7}}', "[7}]"])
def test_an_outcome_that_is_torn_is_none(mailboxes, torn):
    """The number of an entry is read by hand, and only where it is the whole text."""
    mine, other, _ = mailboxes
    name = post_and_find(mine, other)
    other._send(name.partition("-")[0], f"{name} {torn}\n".encode())
    with pytest.raises(json.JSONDecodeError):
        mine.wait(5)


def test_somebody_who_died_is_told_nothing_and_hinders_nobody(mailboxes):
    mine, other, _ = mailboxes
    name = post_and_find(mine, other)
    os.close(mine._pipe)  # as if killed: the pipe stays, and nobody reads it
    mine._pipe = None
    other.tell(name, DONE)
    other.wake()
    assert other.posted() == {}


def test_the_one_who_is_woken_is_never_oneself(mailboxes):
    mine, other, _ = mailboxes
    mine.post(json.dumps(ONE))
    other.post(json.dumps(ONE))
    mine.wake()
    assert mine._pipe is not None
    with pytest.raises(BlockingIOError):
        os.read(mine._pipe, 1)
    assert os.read(other._pipe, 10) == b"\n"


def test_a_pipe_that_is_full_stops_nobody(mailboxes):
    mine, other, _ = mailboxes
    name = post_and_find(mine, other)
    for _ in range(70_000):
        other._send(name.partition("-")[0], b"\n")
    other.tell(name, DONE)
    assert mine.told() is None  # it looks into the ledger when it has its turn


@pytest.mark.parametrize("torn", [b"", b"[{", b"\xff", b"7", b"{}", b"[" * 100_000])
def test_a_torn_post_is_nobodys(mailboxes, tmp_path, torn):
    mine, other, _ = mailboxes
    (tmp_path / "torn-1.post").write_bytes(torn)
    os.write(mine._all_posts(), b"torn-1 long\n" + b"torn-2 " + torn[:100] + b"\n\n")
    assert post_and_find(mine, other)
    assert not (tmp_path / "torn-1.post").exists()


def test_a_post_names_no_file_elsewhere(mailboxes, tmp_path):
    mine, other, _ = mailboxes
    elsewhere = tmp_path.with_name("elsewhere.post")
    elsewhere.write_text("[]")
    os.write(mine._all_posts(), b"../elsewhere long\n")
    assert other.posted() == {}
    assert elsewhere.exists()


@pytest.mark.parametrize(
    "name", [b"../elsewhere-1", b"a\0b-1", b"\xff-1", b"-", b"a" * 300 + b"-1"]
)
@pytest.mark.parametrize("text", [b"long", b"[]"])
def test_a_post_has_a_name_of_ours(mailboxes, name, text):
    """Whoever carries it out tells by that name."""
    mine, other, _ = mailboxes
    os.write(mine._all_posts(), name + b" " + text + b"\n")
    other.wake()
    assert other.posted() == {}


def test_litter_is_removed_and_what_is_in_use_stays(mailboxes, tmp_path):
    mine, other, third = mailboxes
    mine.post(json.dumps(ONE))
    third.post(json.dumps(ONE))
    os.close(third._pipe)
    third._pipe = None
    for name in ("dead-1.post", "dead-1.long", "dead-2.post.draft"):
        (tmp_path / name).write_text("[]")
    (tmp_path / "new-1.post").write_text("[]")
    assert other.in_turn(lambda: True)
    old = time.time() - 3600
    for file in tmp_path.iterdir():
        if file.name != "new-1.post":
            os.utime(file, (old, old))
    other.clean()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [f"{mine._name}.pipe", "new-1.post", "posts", "turn"]
    )


def test_cleaning_waits_a_while(mailboxes, tmp_path):
    mine, _, _ = mailboxes
    mine.clean()
    (tmp_path / "dead-1.post").write_text("[]")
    os.utime(tmp_path / "dead-1.post", (0, 0))
    mine.clean()
    assert (tmp_path / "dead-1.post").exists()


def test_there_is_one_turn(mailboxes):
    mine, other, _ = mailboxes
    assert mine.in_turn(lambda: [other.in_turn(lambda: True)]) == [None]
    assert other.in_turn(lambda: True)


def test_the_turn_ends_with_an_error_that_is_not_taken_for_a_turn_of_others(mailboxes):
    mine, other, _ = mailboxes

    def fail():
        raise BlockingIOError

    with pytest.raises(BlockingIOError):
        mine.in_turn(fail)
    assert other.in_turn(lambda: True)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_turn(mailboxes):
    mine, other, _ = mailboxes
    reading, writing = os.pipe()

    def fork():
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)  # lives on, with all descriptors of its parent
            os._exit(0)
        return child

    child = mine.in_turn(fork)
    assert other.in_turn(lambda: True)
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)


def test_all_files_belong_to_us_alone(mailboxes, tmp_path):
    mine, other, _ = mailboxes
    assert mine.in_turn(lambda: True)
    other.tell(post_and_find(mine, other), [{"answer": "x" * 9000}])
    mine.post(json.dumps([{"ticket": "x" * 9000}]))
    modes = {
        file.name.rpartition(".")[2]: stat.S_IMODE(file.stat().st_mode)
        for file in tmp_path.iterdir()
    }
    assert modes == {"pipe": 0o600, "post": 0o600, "long": 0o600, "turn": 0o600, "posts": 0o600}


def test_a_closed_spool_leaves_no_pipe(tmp_path):
    mailbox = Mailbox(tmp_path)
    mailbox.post(json.dumps(ONE))
    mailbox.withdraw()
    mailbox.close()
    assert [file.name for file in tmp_path.iterdir()] == ["posts"]


SHORT_WRITE = """
import resource, signal, sys
from pathlib import Path
from discreet.ledger.sqlite_mailbox import Mailbox

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
# as on a disk that is full in the middle of a write
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
folder = Path(sys.argv[1])
try:
    Mailbox(folder)._write(str(folder / "post"), "x" * 10_000)
except OSError as error:
    print("refused", (folder / "post").exists())
"""


def test_a_write_that_stops_half_way_is_an_error(tmp_path):
    """Otherwise others would find half of it, and take it for all."""
    command = [sys.executable, "-c", SHORT_WRITE, str(tmp_path)]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        == "refused False\n"
    )


def test_an_operation_nested_almost_without_end_hinders_nobody(tmp_path):
    """There are some that can just be read, and not be written."""
    note = '{"do":"note","ticket":"t","time":"","dataset":"survey","what":{"a":%s}}'
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("survey", budget=PureDP(1))
        hostile = Mailbox(tmp_path / "budget.db-mailbox")
        for depth in range(800, 1000, 2):
            deep = note % ("[" * depth + "]" * depth)
            os.write(hostile._all_posts(), f"a-1 [{deep}]\n".encode())
            ledger.reserve("survey", PureDP(0.001), request={"what": "mode"})
        hostile.close()


@pytest.mark.parametrize("told_first", [False, True])
def test_the_outcome_of_an_interrupted_charge_is_not_that_of_the_next(
    tmp_path, monkeypatch, told_first
):
    post = Mailbox.post

    def interrupted(self, text):
        post(self, text)
        raise KeyboardInterrupt

    def interrupted_again(self):
        if self._post != self._name:
            raise KeyboardInterrupt

    url = f"sqlite:///{tmp_path}/budget.db"
    with Ledger(url) as mine, Ledger(url) as other:
        mine.open("survey", budget=PureDP(1))
        with busy(tmp_path / "budget.db-mailbox"), monkeypatch.context() as patched:
            patched.setattr(Mailbox, "post", interrupted)
            patched.setattr(Mailbox, "withdraw", interrupted_again)
            with pytest.raises(KeyboardInterrupt):
                mine.reserve("survey", PureDP(0.01), request={"what": "cheap"})
        if told_first:
            # who has the turn sees what was posted, and carries it out the next time, and tells
            for _ in range(2):
                other.reserve("survey", PureDP(0.01), request={"what": "other"})
            assert [charge.request["what"] for charge in mine.history("survey")].count("cheap") == 1
        reservation = mine.reserve("survey", PureDP(0.5), request={"what": "dear"})
        charges = {charge.number: charge.request["what"] for charge in mine.history("survey")}
        assert charges[reservation.number] == "dear"
