"""The attackers: another local user, and somebody with the file.

Files are replaced, linked, removed, made beforehand by others, and flipped bit by bit. Nothing of
it gives budget back without `verify` saying so. Counts of what was tried are printed: run with
-s.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import (
    BudgetExceededError,
    DiscreetError,
    Ledger,
    LedgerError,
    PureDP,
    Release,
    platforms,
)
from discreet.errors import LedgerDamagedError
from discreet.ledger import sqlite, sqlite_file
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.chain import Anchor
from discreet.ledger.operations import Note
from discreet.ledger.sqlite import SQLiteStore, connect

ASK = {"what": "mode"}
NOBODY = 65534
FOR_GOOD = "must be the same file as at the start"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path):
    with Ledger(f"sqlite:///{path}", timeout=2) as opened:
        opened.open("d", budget=PureDP(1))
        yield opened


class Clock:
    """In the place of the module `time`: a sleep takes a second, and no time.

    each_time: what happens meanwhile.
    """

    def __init__(self, each_time=lambda: None):
        self.now, self.each_time = 0, each_time

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += 1
        self.each_time()


def charge(ledger, epsilon=0.1):
    return ledger.reserve("d", PureDP(epsilon), request=ASK)


def copy_of(path, name="old.db"):
    """A backup by SQLite itself, as it was at this moment."""
    target = path.with_name(name)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    return target


def bring_forward(path, all_but):
    """Copy what the log has into the file, as a checkpoint does, but for the last pages."""
    log = path.with_name(path.name + "-wal").read_bytes()
    size, salts = int.from_bytes(log[8:12]), log[16:24]
    frames = (log[at : at + 24 + size] for at in range(32, len(log), 24 + size))
    # the last one of each page counts; those of an earlier round have other salts
    pages = {frame[:4]: frame[24:] for frame in frames if frame[8:16] == salts}
    with path.open("r+b") as file:
        for number, page in sorted(pages.items())[: len(pages) - all_but]:
            file.seek((int.from_bytes(number) - 1) * size)
            file.write(page)


class TestReplaced:
    def test_another_file_is_refused_for_good(self, path, ledger):
        old = copy_of(path)
        charge(ledger, 0.9)
        old.replace(path)
        for use in (charge, charge, lambda ledger: ledger.spent("d"), Ledger.verify, charge):
            with pytest.raises(LedgerError, match=rf"{FOR_GOOD}.*open a new Ledger"):
                use(ledger)
        ledger.close()
        with pytest.raises(LedgerError, match=FOR_GOOD):
            charge(ledger)

    def test_what_was_moved_away_and_back_is_refused_too(self, path, ledger):
        """Meanwhile somebody may have used another file with the same log."""
        path.rename(path.with_name("away.db"))
        with pytest.raises(LedgerError, match=FOR_GOOD):
            charge(ledger)
        path.with_name("away.db").rename(path)
        with pytest.raises(LedgerError, match=FOR_GOOD):
            charge(ledger)
        with Ledger(f"sqlite:///{path}") as fresh:
            charge(fresh)
            assert fresh.verify().entries == 2

    def test_an_old_copy_written_into_the_same_file_is_refused(self, path, ledger):
        """The file is the same one to the system: what we have written is not in it."""
        old = copy_of(path)
        charge(ledger, 0.9)
        ledger.close()
        path.write_bytes(old.read_bytes())
        for _ in range(2):
            with pytest.raises(
                LedgerDamagedError,
                match=r"must contain entry 2 as it was written\. It was cut, or replaced by an "
                r"older copy",
            ):
                charge(ledger)

    @pytest.mark.parametrize("charged", [False, True])
    @pytest.mark.parametrize("older", ["copy", "empty"])
    def test_an_old_copy_written_into_the_open_file_is_refused_for_good(
        self, path, ledger, charged, older
    ):
        """What was read before the copy came would hide it, and so would the log."""
        ledger.close()
        old = path.read_bytes() if older == "copy" else b""
        with Ledger(f"sqlite:///{path}") as other:
            charge(other, 0.7)
        with Ledger(f"sqlite:///{path}") as opened:
            if charged:
                charge(opened, 0.01)
            # the same file to the system, and the same log
            with path.open("r+b") as file:
                file.write(old)
                file.truncate(len(old))
            for use in (charge, lambda ledger: ledger.spent("d"), Ledger.verify, charge):
                with pytest.raises(LedgerError, match=rf"{FOR_GOOD}.*an older copy in it"):
                    use(opened)

    def test_a_file_that_cannot_be_looked_at_is_refused_until_it_can(
        self, path, ledger, monkeypatch
    ):
        """A check that could not run is a refusal, before the charge."""
        looks = iter([None, None])
        seen = sqlite._Connection.last_in
        with Ledger(f"sqlite:///{path}") as opened, monkeypatch.context() as patched:
            # the file has changed since it was looked at
            os.utime(path)
            # a clock that goes on by a second at each look
            patched.setattr(sqlite, "time", Clock())
            patched.setattr(sqlite._Connection, "last_in", lambda *_: None)
            with pytest.raises(LedgerError, match="last entry cannot be read"):
                charge(opened)
            # in the middle of a checkpoint
            patched.setattr(sqlite._Connection, "last_in", lambda *at: next(looks, seen(*at)))
            charge(opened)
        assert ledger.spent("d") == Fraction(1, 10)

    def test_a_file_that_others_bring_forward_is_not_refused(self, path, ledger):
        with Ledger(f"sqlite:///{path}") as other, closing(sqlite3.connect(path)) as connection:
            for _ in range(4):
                charge(ledger, 0.01)
                connection.execute("pragma wal_checkpoint(truncate)").fetchall()
                charge(other, 0.01)
            assert other.verify().entries == ledger.verify().entries == 9

    def test_a_checkpoint_that_was_killed_halfway_is_finished(self, path, ledger, monkeypatch):
        """Until somebody does, nobody can look at the file, and all would wait for another."""
        for _ in range(30):
            charge(ledger, 0.01)
        monkeypatch.setattr(sqlite, "time", Clock())
        bring_forward(path, all_but=1)
        charge(ledger, 0.01)
        assert ledger.verify().entries == 32

    @pytest.mark.parametrize("change", ["shorter", "changing"])
    def test_a_file_that_no_checkpoint_would_leave_is_not_mixed_with_the_log(
        self, path, ledger, monkeypatch, change
    ):
        """Somebody who writes a copy into the file starts it anew, or has not finished."""
        for _ in range(30):
            charge(ledger, 0.01)
        bring_forward(path, all_but=0)
        for _ in range(30):
            charge(ledger, 0.01)
        bring_forward(path, all_but=1)
        if change == "shorter":
            os.truncate(path, path.stat().st_size // 2)
        clock = Clock(each_time=lambda: change == "shorter" or os.utime(path))
        monkeypatch.setattr(sqlite, "time", clock)
        left = path.read_bytes()
        with pytest.raises(LedgerError, match="last entry cannot be read"):
            charge(ledger, 0.01)
        assert path.read_bytes() == left

    def test_a_closed_ledger_goes_on_with_its_own_file(self, path, ledger):
        charge(ledger)
        ledger.close()
        charge(ledger)
        assert ledger.verify().entries == 3


class TestNames:
    def test_a_second_name_is_refused_by_both(self, path, ledger):
        charge(ledger, 0.4)
        os.link(path, path.with_name("b.db"))
        for use in (charge, lambda ledger: ledger.spent("d")):
            with pytest.raises(LedgerError, match=r"known by one name.*hard links"):
                use(ledger)
        for name in ("budget.db", "b.db"):
            with pytest.raises(LedgerError, match="known by one name"):
                Ledger(f"sqlite:///{path.with_name(name)}")
        path.with_name("b.db").unlink()
        charge(ledger, 0.6)
        assert ledger.verify().entries == 3

    def test_a_file_that_is_mounted_by_itself_is_refused(self, path, ledger, monkeypatch, tmp_path):
        """As containers mount single files: its log would be in another folder than that of the
        host.
        """
        ledger.close()
        spaced = tmp_path / "a b"
        spaced.mkdir()
        mounts = tmp_path / "mountinfo"
        line = "36 25 8:1 /x {} rw,relatime shared:1 - ext4 /dev/root rw\n"
        mounts.write_text(
            line.format("/") + line.format(str(spaced / "budget.db").replace(" ", "\\040"))
        )
        monkeypatch.setattr(sqlite_file, "_MOUNTS", mounts)
        Ledger(f"sqlite:///{path}").close()
        with pytest.raises(LedgerError, match="a file that is mounted by itself"):
            Ledger(f"sqlite:///{spaced}/budget.db")

    @pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs"])
    def test_a_file_on_another_machine_is_refused(self, path, ledger, monkeypatch, kind):
        """Two machines share neither SQLite's memory nor, often, its locks: each would spend
        the whole budget.
        """
        ledger.close()
        mounts = path.with_name("mountinfo")
        line = "36 25 8:1 /x {} rw,relatime shared:1 - {} server:/home rw\n"
        monkeypatch.setattr(sqlite_file, "_MOUNTS", mounts)
        # an unmounted name beside ours, and a mount that another one hides
        mounts.write_text(
            line.format("/", kind) + line.format(f"{path}x", kind) + line.format("/", "ext4")
        )
        Ledger(f"sqlite:///{path}").close()
        mounts.write_text(line.format("/", "ext4") + line.format(path.parent, kind))
        with pytest.raises(LedgerError, match=rf"network file system \({kind}\)\. .*on a server"):
            Ledger(f"sqlite:///{path}")
        with pytest.raises(LedgerError, match="network file system"):
            Ledger(f"sqlite:///{path.with_name('new.db')}")

    def test_locks_without_effect_are_refused(self, path, ledger, monkeypatch):
        """As on a file system that takes every lock and excludes nobody."""
        charge(ledger)
        ledger.close()
        with monkeypatch.context() as patched:
            patched.setattr(platforms.fcntl, "flock", lambda file, operation: None)
            for name in ("budget.db", "new.db"):
                with pytest.raises(LedgerError, match="a lock excludes others"):
                    Ledger(f"sqlite:///{path.with_name(name)}")
        charge(ledger)
        assert ledger.verify().entries == 3


class TestLogs:
    @pytest.mark.parametrize("ending", ["-wal", "-shm"])
    def test_a_log_that_is_removed_stops_the_ledger_for_good(self, path, ledger, ending):
        charge(ledger, 0.1)
        Path(f"{path}{ending}").unlink()
        for _ in range(3):
            with pytest.raises(LedgerError, match=f"{FOR_GOOD}.*another log"):
                charge(ledger)
        ledger.close()
        with Ledger(f"sqlite:///{path}") as fresh:
            assert fresh.spent("d") == Fraction(1, 10)
            fresh.verify()

    @pytest.mark.parametrize("ending", ["-wal", "-shm"])
    def test_a_log_that_is_removed_before_the_commit_acknowledges_nothing(self, path, ending):
        class Removing:
            def __init__(self, connection):
                self.connection, self.armed = connection, False

            def __getattr__(self, name):
                return getattr(self.connection, name)

            def execute(self, statement, values=()):
                if self.armed and statement == "commit":
                    Path(f"{path}{ending}").unlink()
                    self.armed = False
                return self.connection.execute(statement, values)

        made = []
        store = SQLiteStore(path, 1, lambda path: made.append(Removing(connect(path))) or made[-1])
        made[0].armed = True
        operation = Note(ticket="1", time="", dataset="x", what={})
        with pytest.raises(LedgerError, match="another log"):
            store.carry_out([operation])
        store.close()

    def test_a_log_that_leads_elsewhere_is_refused(self, path, ledger, tmp_path):
        ledger.close()
        (tmp_path / "elsewhere").touch()
        for ending in ("-wal", "-shm", "-journal"):
            Path(f"{path}{ending}").symlink_to(tmp_path / "elsewhere")
            with pytest.raises(LedgerError, match="a log of somebody else"):
                Ledger(f"sqlite:///{path}")
            Path(f"{path}{ending}").unlink()

    @AS_ROOT
    @pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
    def test_a_log_of_somebody_else_is_refused(self, path, ledger, ending):
        """A journal of old pages, say, which SQLite would put back."""
        ledger.close()
        Path(f"{path}{ending}").touch(mode=0o600)
        os.chown(f"{path}{ending}", NOBODY, NOBODY)
        with pytest.raises(LedgerError, match="a log of somebody else"):
            Ledger(f"sqlite:///{path}")


class TestOwners:
    """Another local user makes a file, or can put one in its sqlite_file."""

    @AS_ROOT
    def test_a_file_made_beforehand_by_somebody_else_is_refused(self, path):
        path.touch(mode=0o600)
        os.chown(path, NOBODY, NOBODY)
        with pytest.raises(LedgerError, match="must be a file that belongs to you or root"):
            Ledger(f"sqlite:///{path}")
        assert path.stat().st_size == 0

    def test_a_file_that_everybody_may_write_is_refused(self, path, ledger):
        ledger.close()
        path.chmod(0o666)
        with pytest.raises(LedgerError, match="must be a file that belongs to you or root"):
            Ledger(f"sqlite:///{path}")

    @pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
    def test_a_folder_that_everybody_may_write_to_is_refused(self, path, mode):
        path.parent.chmod(mode)
        with pytest.raises(
            LedgerError, match="in a folder that only you, root or your group can write to"
        ):
            Ledger(f"sqlite:///{path}")
        path.parent.chmod(0o700)

    @AS_ROOT
    def test_a_folder_of_somebody_else_is_refused(self, path):
        os.chown(path.parent, NOBODY, NOBODY)
        with pytest.raises(LedgerError, match="in a folder that only you"):
            Ledger(f"sqlite:///{path}")

    @AS_ROOT
    def test_the_file_of_a_team_is_accepted(self, path, ledger):
        ledger.close()
        os.chown(path, NOBODY, os.getegid())
        os.chown(f"{path}-mailbox", NOBODY, os.getegid())
        with pytest.raises(LedgerError, match="must be a file that belongs to you or root"):
            Ledger(f"sqlite:///{path}")
        path.chmod(0o660)
        with Ledger(f"sqlite:///{path}") as team:
            charge(team)

    def test_a_folder_is_no_ledger(self, path):
        path.mkdir()
        with pytest.raises(LedgerError, match="must be a file that you can read and write"):
            Ledger(f"sqlite:///{path}")


class TestTables:
    @pytest.mark.parametrize(
        "addition",
        [
            "create trigger free after update on discreet_budgets begin update discreet_budgets "
            "set epsilon_spent = '0'; end",
            "create view more as select 1",
            "create index more on discreet_budgets (slot)",
            "create table discreet_more (x text)",
        ],
    )
    def test_additions_to_the_tables_are_refused(self, path, ledger, addition):
        ledger.close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(addition)
        with pytest.raises(LedgerError, match="must contain only its own tables"):
            Ledger(f"sqlite:///{path}")

    @pytest.mark.parametrize(
        "name", [b"sqlite_autoindex_discreet_charges_1", b"sqlite_autoindex_discreet_budgets_1"]
    )
    def test_names_that_are_no_text_are_refused(self, path, ledger, name):
        """SQLite quotes them in its complaint, and Python cannot read that."""
        ledger.close()
        content = path.read_bytes()
        for letter in range(len(name)):
            changed = bytearray(content)
            changed[content.index(name) + letter] |= 0x80
            path.write_bytes(changed)
            with pytest.raises(LedgerError), Ledger(f"sqlite:///{path}") as opened:
                opened.verify()

    def test_statistics_and_tables_of_others_are_no_additions(self, path, ledger):
        ledger.close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("analyze")
            connection.execute("create table notes (note text)")
        with Ledger(f"sqlite:///{path}") as again:
            charge(again)


class TestAnchors:
    @pytest.mark.parametrize("ending", [".draft", ".lock"])
    def test_no_link_is_followed(self, tmp_path, ending):
        victim = tmp_path / "victim"
        victim.write_text("precious")
        (tmp_path / f"anchor{ending}").symlink_to(victim)
        file = AnchorFile(tmp_path / "anchor")
        if ending == ".lock":
            with pytest.raises(LedgerError, match="must be writable"):
                file.keep(Anchor(1, "a" * 64))
        else:
            file.keep(Anchor(1, "a" * 64))
            assert file.read() == Anchor(1, "a" * 64)
        assert victim.read_text() == "precious"

    def test_a_rollback_is_refused_whatever_became_of_the_file(self, path, tmp_path):
        """All that somebody can do who has the ledger and can remove the anchor, or begin it
        again.
        """
        anchor = tmp_path / "elsewhere" / "anchor"
        anchor.parent.mkdir()
        with Ledger(f"sqlite:///{path}", anchor_file=anchor) as ledger:
            ledger.open("d", budget=PureDP(1))
            old = copy_of(path)
            charge(ledger, 0.9)
        old.replace(path)
        for remove in (lambda: None, lambda: anchor.write_text(f"0:{'0' * 64}"), anchor.unlink):
            remove()
            with pytest.raises(
                LedgerError, match=r"must contain its anchor|should hold the number and hash"
            ):
                Ledger(f"sqlite:///{path}", anchor_file=anchor)

    def test_nothing_is_left_behind(self, tmp_path):
        file = AnchorFile(tmp_path / "anchor")
        for number in range(1, 5):
            file.keep(Anchor(number, "a" * 64))
        assert sorted(one.name for one in tmp_path.iterdir()) == ["anchor", "anchor.lock"]


PAGE = 512
KINDS = {2: "index, inner", 5: "table, inner", 10: "index, leaf", 13: "table, leaf"}


class Victim:
    """A ledger with pages of every kind, and everything that can be read from it."""

    def __init__(self, folder):
        self.path = folder / "victim.db"
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(f"pragma page_size = {PAGE}")
            connection.execute("pragma journal_mode = wal")
        with Ledger(self.url) as ledger:
            ledger.open("d", budget=PureDP(1))
            ledger.open("d", budget=PureDP(Fraction(1, 2)), analyst="x")
            ledger.open("w", budget=PureDP(1), windows=True)
            for number in range(12):
                self.ask(ledger, number).settle(self.answer(number))
                ledger.reserve("w", PureDP(1), request={"i": number}, window=f"2026-{number}")
            ledger.reserve("d", PureDP(Fraction(1, 100)), request={"long": "x" * 900}, analyst="x")
            self.truth, self.anchor = self.all(ledger), ledger.anchor()
            self.leave_free_pages()
            shutil.copy(self.path, folder / "log.db")
            shutil.copy(f"{self.path}-wal", folder / "log.db-wal")
        self.bytes = self.path.read_bytes()
        self.log = (folder / "log.db").read_bytes(), (folder / "log.db-wal").read_bytes()
        with closing(sqlite3.connect(self.path)) as connection:
            (self.free,) = connection.execute("pragma freelist_count").fetchone()

    def leave_free_pages(self):
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("create table notes (note text)")
            connection.execute("insert into notes values (?)", ("n" * 2000,))
            connection.execute("drop table notes")
            connection.commit()

    @property
    def url(self):
        return f"sqlite:///{self.path}"

    @staticmethod
    def answer(number):
        return Release(value=number, loss=PureDP(Fraction(1, 100)), mechanism="m", candidates=2)

    @staticmethod
    def ask(ledger, number):
        loss, name = PureDP(Fraction(1, 100)), f"k{number}"
        return ledger.reserve(
            "d", loss, request={"i": number}, analyst="x", key=name, replayable=True
        )

    def all(self, ledger):
        """What can be read, by scans and by indexes; and no spent window can be spent again."""
        answers = [self.ask(ledger, number).answer.value for number in range(6)]
        windows = [ledger.spent("w", window=f"2026-{number}") for number in range(6)]
        for number in range(6):
            with pytest.raises(BudgetExceededError):
                ledger.reserve("w", PureDP(Fraction(1, 10**6)), request={}, window=f"2026-{number}")
        return ledger.accounts(), ledger.history("d"), ledger.history("w"), answers, windows

    def pages(self):
        """Numbers of pages by their kind."""
        found = {}
        for number in range(len(self.bytes) // PAGE):
            page = self.bytes[number * PAGE : (number + 1) * PAGE]
            kind = KINDS.get(page[0], "overflow" if b"x" * 99 in page else "free")
            found.setdefault("header and schema" if number == 0 else kind, []).append(number)
        return found

    def outcome(self, content, log=None):
        """What becomes of a ledger with this content: found, or harmless. Budget back, or a bare
        error, is a failure.
        """
        for ending in ("-wal", "-shm"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        self.path.write_bytes(content)
        if log is not None:
            Path(f"{self.path}-wal").write_bytes(log)
        try:
            with Ledger(self.url, timeout=1) as ledger:
                ledger.verify(self.anchor)
                found = self.all(ledger)
        except DiscreetError as error:
            return (
                "found" if isinstance(error, LedgerError) else f"NOT FOUND: {type(error).__name__}"
            )
        return "harmless" if found == self.truth else "SILENT"

    def try_bits(self, content, bits, log=None):
        outcomes = Counter()
        target = content if log is None else log
        for bit in bits:
            changed = bytearray(target)
            changed[bit // 8] ^= 1 << bit % 8
            outcome = self.outcome(changed) if log is None else self.outcome(content, changed)
            outcomes[outcome] += 1
            assert outcome in ("found", "harmless"), f"bit {bit}: {outcome}"
        return dict(outcomes)


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    return Victim(tmp_path_factory.mktemp("victim"))


EVERY_KIND = ["header and schema", "overflow", "free", *KINDS.values()]


def test_the_victim_has_pages_of_every_kind(victim):
    assert set(victim.pages()) == set(EVERY_KIND)
    assert victim.free
    assert victim.outcome(victim.bytes) == "harmless"


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_flipped_bit_is_found_or_harmless(victim, kind):
    pages = victim.pages()[kind]
    chance = random.Random(kind)
    bits = [8 * PAGE * chance.choice(pages) + chance.randrange(8 * PAGE) for _ in range(15)]
    print(
        f"\n{kind}: {len(bits)} random bits of {len(pages)} pages: "
        f"{victim.try_bits(victim.bytes, bits)}"
    )


@pytest.mark.sizes
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_bit_of_a_page_of_each_kind(victim, kind):
    page = victim.pages()[kind][-1]
    bits = range(8 * PAGE * page, 8 * PAGE * (page + 1))
    print(
        f"\n{kind}: all {len(bits)} bits of page {page + 1}: {victim.try_bits(victim.bytes, bits)}"
    )


def test_a_flipped_bit_in_the_log_is_found_with_an_anchor(victim):
    """SQLite forgets what comes after it: that is an older copy, and only an anchor can tell."""
    content, log = victim.log
    assert victim.outcome(content, log) == "harmless"
    chance = random.Random(7)
    bits = [chance.randrange(8 * len(log)) for _ in range(30)]
    print(
        f"\nlog: {len(bits)} random bits of {len(log)} bytes: {victim.try_bits(content, bits, log)}"
    )


def test_one_bit_in_an_index_gives_no_window_back(tmp_path):
    """The bit that makes the index say 2026-10 for 2026-11, and every other bit of that name."""
    path = tmp_path / "a.db"
    with Ledger(f"sqlite:///{path}") as ledger:
        ledger.open("clicks", budget=PureDP(1), windows=True)
        for month in ("2026-10", "2026-11"):
            ledger.reserve("clicks", PureDP(1), request=ASK, window=month)
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("pragma page_size").fetchone()
        (root,) = connection.execute(
            "select rootpage from sqlite_master where name = 'sqlite_autoindex_discreet_budgets_1'"
        ).fetchone()
    content = path.read_bytes()
    at = content.index(b"clicks2026-11", (root - 1) * size)
    assert at < root * size
    # the name, and before and after it the kind and the number of the row that it leads to
    for bit in range(8 * (at - 1), 8 * (at + 14)):
        # with another kind SQLite itself may refuse to read the page
        wrong = LedgerDamagedError if at <= bit // 8 < at + 13 else LedgerError
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with Ledger(f"sqlite:///{path}") as ledger:
            with pytest.raises(wrong):
                ledger.verify()
            with pytest.raises((BudgetExceededError, wrong)):
                ledger.reserve("clicks", PureDP(1), request=ASK, window="2026-11")
            with pytest.raises((LedgerDamagedError, DiscreetError)):
                ledger.open("clicks", budget=PureDP(2), windows=True)
    print(f"\nindex of budgets: {8 * 15} bits of a window and its row: no window given back")


def test_an_index_that_leads_to_no_attempt_is_damage_and_no_surprise(tmp_path):
    """A bit that makes NULL of the number of an attempt, which the index has for its own."""
    path = tmp_path / "a.db"
    with Ledger(f"sqlite:///{path}") as ledger:
        ledger.open("clicks", budget=PureDP(1))
        for key in ("k1", "k2"):
            ledger.reserve("clicks", PureDP(0.1), request=ASK, key=key)
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("pragma page_size").fetchone()
        (root,) = connection.execute(
            "select rootpage from sqlite_master where name = 'sqlite_autoindex_discreet_charges_1'"
        ).fetchone()
    content = bytearray(path.read_bytes())
    kind = content.index(b"clicksk2", (root - 1) * size) - 2
    assert content[kind] == 8
    content[kind] = 0
    path.write_bytes(content)
    with Ledger(f"sqlite:///{path}") as ledger, pytest.raises(LedgerDamagedError):
        ledger.verify()
