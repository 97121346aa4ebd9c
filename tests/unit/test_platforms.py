"""Without what Windows lacks the library works, sessions work, and so does a ledger in a file."""

import fcntl
import os
import select
import subprocess
import sys
import types

import pytest

from discreet import Ledger, LedgerError, platforms

# Modules, functions and flags that Python has on Linux and not on Windows, and those of macOS.
HIDE = """
import fcntl, os, select, shutil, sys, types

def locking(descriptor, mode, count):
    assert count == 1
    fcntl.lockf(descriptor, mode, count)

msvcrt = types.ModuleType("msvcrt")
msvcrt.locking = locking
msvcrt.LK_NBLCK = fcntl.LOCK_EX | fcntl.LOCK_NB
sys.modules["msvcrt"] = msvcrt
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fdatasync fork forkpty "
    "getegid geteuid getgid getgroups getuid mkfifo register_at_fork sched_getaffinity wait3 wait4"
).split():
    delattr(os, name)
del select.poll
# this uses the flags of Linux, where it is Linux
shutil._use_fd_functions = False
"""
SESSION = """
import discreet

def ask(**payment):
    session = discreet.Session("reads.csv", unit=discreet.Person("reader"), **payment)
    where = "article != 'opera'"
    release = session.mode("article", candidates=["news", "chess"], epsilon=1, where=where)
    assert release.value in ("news", "chess")
    return session.remaining()
"""
LIBRARY = """
assert discreet.select([3, 1], epsilon=1, sensitivity=1).value in (0, 1)
assert ask(budget=discreet.PureDP(3)) == 2
# this one is copied to the folder of the process first
source = discreet.CsvFile("latin.csv", encoding="latin-1")
session = discreet.Session(source, unit=discreet.Person("reader"), budget=discreet.PureDP(3))
assert len(session.top_k("article", k=1, candidates=["caf\\xe9"], epsilon=1).value) == 1
"""
LEDGER = """
with discreet.Ledger("sqlite:///budget.db", anchor_file="anchor") as ledger:
    ledger.open("reads", budget=discreet.PureDP(3), unit=discreet.Person("reader"))
    assert ask(ledger=ledger, dataset="reads") == 2
    assert ask(ledger=ledger, dataset="reads") == 2
with discreet.Ledger("sqlite:///budget.db", anchor_file="anchor") as ledger:
    assert ledger.remaining("reads") == 2
    assert len(ledger.history("reads")) == 1
    ledger.verify()
"""


def run_without_posix(program, folder):
    """Run a program in a fresh interpreter; what it says on the standard error."""
    (folder / "reads.csv").write_text("reader,article\na,news\nb,chess\nc,news\n", encoding="utf-8")
    (folder / "latin.csv").write_text("reader,article\na,caf\xe9\n", encoding="latin-1")
    (folder / "spill").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", HIDE + SESSION + program],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder / "spill"), "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert list((folder / "spill").iterdir()) == []
    return done.stderr


def test_the_library_and_sessions_need_nothing_of_posix(tmp_path):
    assert run_without_posix(LIBRARY, tmp_path) == ""


def test_a_ledger_in_a_file_needs_nothing_of_posix(tmp_path):
    assert run_without_posix(LEDGER, tmp_path) == ""


def test_a_ledger_on_a_server_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.delattr(select, "poll")
    with pytest.raises(LedgerError, match=r"^A ledger on a server needs Linux or macOS\. Use a"):
        Ledger("postgresql+psycopg://ada@host/database")


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_a_file_is_locked_for_one_at_a_time_and_waiting_has_a_limit(
    tmp_path, monkeypatch, has_fcntl
):
    if not has_fcntl:
        windows = types.SimpleNamespace(
            LK_NBLCK=fcntl.LOCK_EX | fcntl.LOCK_NB,
            locking=lambda descriptor, mode, _: fcntl.flock(descriptor, mode),
        )
        monkeypatch.setitem(sys.modules, "msvcrt", windows)
        monkeypatch.setattr(platforms, "fcntl", None)
    path = str(tmp_path / "lock")
    first = platforms.LockedFile(path)
    with pytest.raises(TimeoutError):
        platforms.LockedFile(path, 0.02)
    first.close()
    platforms.LockedFile(path).close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("for_process", [True, False])
def test_a_child_does_not_keep_the_lock_of_a_process_that_is_gone(tmp_path, for_process):
    with open(tmp_path / "lock", "w") as mine, open(tmp_path / "lock", "w") as other:
        assert platforms.try_lock(mine.fileno(), for_process=for_process)
        child = os.fork()
        if not child:
            os._exit(platforms.try_lock(other.fileno(), for_process=for_process))
        assert os.waitpid(child, 0)[1] == 0
        waiting, go = os.pipe()
        child = os.fork()
        if not child:
            os.read(waiting, 1)
            os._exit(0)
        mine.close()
        assert platforms.try_lock(other.fileno(), for_process=for_process) == for_process
        os.write(go, b"x")
        os.waitpid(child, 0)
        os.close(waiting)
        os.close(go)


def test_who_owns_a_file_is_known_here(tmp_path):
    found = os.stat(tmp_path)
    assert platforms.has_owners()
    assert platforms.is_owned(found)
    others = os.stat_result([*found[:4], found.st_uid + 1, *found[5:]])
    assert not platforms.is_owned(others)
    assert platforms.is_owned(others, found.st_uid + 1)


def test_where_nothing_has_an_owner_everything_is_ours(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "geteuid")
    assert not platforms.has_owners()
    assert platforms.is_owned(os.stat(tmp_path))


@pytest.mark.parametrize("lacks", ["O_DIRECTORY", None])
def test_a_folder_is_synced_where_that_can_be_asked(lacks, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    if lacks:
        monkeypatch.delattr(os, lacks)
    platforms.sync_folder(tmp_path)
    assert len(synced) == (0 if lacks else 1)
