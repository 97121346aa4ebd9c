"""The mailbox: posts, outcomes and the turn, between processes that may die at any moment."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time

import pytest

from discreet.ledger.sqlite_mailbox import Mailbox

ONE = [{"do": "reserve", "ticket": "1"}]
DONE = [{"number": 7}]


@pytest.fixture
def spools(tmp_path):
    made = [Mailbox(tmp_path), Mailbox(tmp_path), Mailbox(tmp_path)]
    yield made
    for mailbox in made:
        mailbox.close()


def post_and_find(mine, other):
    mine.post(ONE)
    ((name, operations),) = other.posted().items()
    assert operations == ONE
    return name


def test_what_is_posted_is_found_and_told(spools, tmp_path):
    mine, other, _ = spools
    other.tell(post_and_find(mine, other), DONE)
    assert mine.wait(5) == DONE
    assert mine.told() is None
    assert list(tmp_path.glob("*.post")) == []


def test_nobody_finds_their_own_post(spools):
    mine, _, _ = spools
    mine.post(ONE)
    assert mine.posted() == {}


def test_a_withdrawn_post_is_not_found(spools):
    mine, other, _ = spools
    mine.post(ONE)
    mine.withdraw()
    assert other.posted() == {}


def test_an_outcome_of_a_withdrawn_post_is_nobodys(spools):
    mine, other, _ = spools
    name = post_and_find(mine, other)
    mine.withdraw()
    other.tell(name, DONE)
    assert mine.told() is None


def test_an_outcome_of_an_earlier_post_is_not_that_of_the_next(spools):
    mine, other, _ = spools
    early = post_and_find(mine, other)
    mine.withdraw()
    late = post_and_find(mine, other)
    other.tell(early, DONE)
    assert mine.told() is None
    assert list(other.posted()) == [late]
    other.tell(late, [{"number": 8}])
    other.tell(early, DONE)
    assert mine.wait(5) == [{"number": 8}]


@pytest.mark.parametrize("size", [10, 4000, 4050, 4060, 4070, 4080, 4090, 4096, 5000, 200_000])
@pytest.mark.parametrize("wakes", [0, 1, 3])
def test_outcomes_of_every_length_arrive_whole(spools, tmp_path, size, wakes):
    """A pipe takes 4096 bytes at once; what is longer waits in a file."""
    mine, other, _ = spools
    name = post_and_find(mine, other)
    for _ in range(wakes):
        other.wake()
    other.tell(name, [{"number": 1, "answer": "x" * size}])
    assert mine.wait(5) == [{"number": 1, "answer": "x" * size}]
    assert list(tmp_path.glob("*.long")) == []


def test_a_long_outcome_that_got_lost_is_none(spools, tmp_path):
    mine, other, _ = spools
    other.tell(post_and_find(mine, other), [{"answer": "x" * 9000}])
    for file in tmp_path.glob("*.long"):
        file.unlink()
    assert mine.wait(5) is None


def test_somebody_who_died_is_told_nothing_and_hinders_nobody(spools):
    mine, other, _ = spools
    name = post_and_find(mine, other)
    os.close(mine._pipe)  # as if killed: the pipe stays, and nobody reads it
    mine._pipe = None
    other.tell(name, DONE)
    other.wake()
    assert other.posted() == {}


def test_the_one_who_is_woken_is_never_oneself(spools):
    mine, other, _ = spools
    mine.post(ONE)
    other.post(ONE)
    mine.wake()
    assert mine._pipe is not None
    with pytest.raises(BlockingIOError):
        os.read(mine._pipe, 1)
    assert os.read(other._pipe, 10) == b"\n"


def test_a_pipe_that_is_full_stops_nobody(spools):
    mine, other, _ = spools
    name = post_and_find(mine, other)
    for _ in range(70_000):
        other._send(name.partition("-")[0], "")
    other.tell(name, DONE)
    assert mine.told() is None  # it looks into the ledger when it has its turn


@pytest.mark.parametrize("torn", [b"", b"[{", b"\xff", b"7", b"{}", b"[" * 100_000])
def test_a_torn_post_is_removed(spools, tmp_path, torn):
    mine, other, _ = spools
    (tmp_path / "torn-1.post").write_bytes(torn)
    assert post_and_find(mine, other)
    assert not (tmp_path / "torn-1.post").exists()


def test_litter_is_removed_and_what_is_in_use_stays(spools, tmp_path):
    mine, other, third = spools
    mine.post(ONE)
    third.post(ONE)
    os.close(third._pipe)
    third._pipe = None
    for name in ("dead-1.post", "dead-1.long", "dead-2.post.draft"):
        (tmp_path / name).write_text("[]")
    (tmp_path / "new-1.post").write_text("[]")
    with other.turn():
        pass
    old = time.time() - 3600
    for file in tmp_path.iterdir():
        if file.name != "new-1.post":
            os.utime(file, (old, old))
    other.clean()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        [f"{mine._name}.pipe", "new-1.post", "turn"]
    )


def test_cleaning_waits_a_while(spools, tmp_path):
    mine, _, _ = spools
    mine.clean()
    (tmp_path / "dead-1.post").write_text("[]")
    os.utime(tmp_path / "dead-1.post", (0, 0))
    mine.clean()
    assert (tmp_path / "dead-1.post").exists()


def test_there_is_one_turn(spools):
    mine, other, _ = spools
    with mine.turn() as first, other.turn() as second:
        assert (first, second) == (True, False)
    with other.turn() as third:
        assert third


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_turn(spools):
    mine, other, _ = spools
    reading, writing = os.pipe()
    with mine.turn():
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)  # lives on, with all descriptors of its parent
            os._exit(0)
    with other.turn() as free:
        assert free
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)


def test_all_files_belong_to_us_alone(spools, tmp_path):
    mine, other, _ = spools
    with mine.turn():
        pass
    other.tell(post_and_find(mine, other), [{"answer": "x" * 9000}])
    mine.post(ONE)
    modes = {
        file.name.rpartition(".")[2]: stat.S_IMODE(file.stat().st_mode)
        for file in tmp_path.iterdir()
    }
    assert modes == {"pipe": 0o600, "post": 0o600, "long": 0o600, "turn": 0o600}


def test_a_closed_spool_leaves_no_pipe(tmp_path):
    mailbox = Mailbox(tmp_path)
    mailbox.post(ONE)
    mailbox.withdraw()
    mailbox.close()
    assert list(tmp_path.iterdir()) == []


SHORT_WRITE = """
import resource, signal, sys
from pathlib import Path
from discreet.ledger.sqlite_mailbox import Mailbox

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
# as on a disk that is full in the middle of a write
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
folder = Path(sys.argv[1])
try:
    Mailbox(folder)._write(str(folder / "post"), ["x" * 10_000])
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
