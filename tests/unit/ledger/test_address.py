"""Where a ledger is: paths of every kind, rights, and URLs that never show a password."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import traceback
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import Ledger, LedgerError, ParameterError, PureDP
from discreet.errors import ParameterTypeError
from discreet.ledger.address import read_address, without_secrets
from discreet.ledger.postgresql_connection import network_options

SECRET = "s3cr3t"


def use(url, **options):
    with Ledger(url, **options) as ledger:
        ledger.open("survey", budget=PureDP(1))
        ledger.reserve("survey", PureDP(0.25), request={})
        return ledger.spent("survey")


class TestFiles:
    @pytest.mark.parametrize(
        "name",
        [
            "a b.db",
            "what?.db",
            "x?mode=memory",
            "50%.db",
            "%41.db",
            "a#b.db",
            "ü.db",
            "'; drop.db",
            "-",
        ],
    )
    def test_every_name_is_a_name(self, tmp_path, name):
        assert use(f"sqlite:///{tmp_path}/{name}") == Fraction(1, 4)
        assert (tmp_path / name).stat().st_size
        assert use(f"{tmp_path}/{name}") == Fraction(1, 2)
        assert use(tmp_path / name) == Fraction(3, 4)

    @pytest.mark.parametrize("name", ["budget.db", "a@b.db", "x=1.db", "a:b.db", "./file:x.db"])
    def test_text_without_a_scheme_is_a_path(self, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        with Ledger(name) as ledger:
            assert repr(ledger) == f"Ledger({name!r})"
        assert (tmp_path / name).exists()

    def test_a_path_object_is_a_path_whatever_its_name(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert use(Path("sqlite:budget.db")) == Fraction(1, 4)
        assert (tmp_path / "sqlite:budget.db").stat().st_size

    @pytest.mark.parametrize("path", [r"C:\Users\ada@home\budget.db", "C:/ada@home/budget.db"])
    def test_a_drive_is_no_scheme(self, path):
        assert read_address(path).path == Path(path)

    def test_long_paths_work_or_are_refused(self, tmp_path):
        deep = tmp_path / Path(*["x" * 50] * 6)
        deep.mkdir(parents=True)
        assert use(f"sqlite:///{deep}/budget.db") == Fraction(1, 4)
        with pytest.raises(LedgerError, match="must be readable and writable"):
            use(f"sqlite:///{tmp_path}/{'x' * 260}.db")

    def test_a_relative_path_is_the_same_file_after_the_folder_was_changed(
        self, tmp_path, monkeypatch
    ):
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / "two")
        use("sqlite:///budget.db")
        monkeypatch.chdir(tmp_path / "one")
        with Ledger("sqlite:///budget.db") as ledger:
            ledger.open("survey", budget=PureDP(1))
            monkeypatch.chdir(tmp_path / "two")
            ledger.close()  # the next connection is a new one
            ledger.reserve("survey", PureDP(0.5), request={})
            assert ledger.spent("survey") == Fraction(1, 2)

    def test_a_link_to_a_ledger_is_the_ledger(self, tmp_path):
        use(f"sqlite:///{tmp_path}/budget.db")
        (tmp_path / "link.db").symlink_to(tmp_path / "budget.db")
        assert use(f"sqlite:///{tmp_path}/link.db") == Fraction(1, 2)
        assert not (tmp_path / "link.db-mailbox").exists()

    @pytest.mark.parametrize(
        "url",
        [
            *("", ":memory:", Path(":memory:"), "a\0b"),
            *("sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://budget.db"),
            *("sqlite:///a\0b", "sqlite:budget.db", "file:budget.db?mode=memory", "file:///x.db"),
        ],
    )
    def test_what_would_not_survive_is_refused(self, tmp_path, monkeypatch, url):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ParameterError, match="'address' parameter of Ledger must be a path"):
            Ledger(url)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("what", ["folder", "/dev/null", "missing/budget.db"])
    def test_what_cannot_be_a_ledger_is_refused(self, tmp_path, what):
        (tmp_path / "folder").mkdir()
        with pytest.raises(
            LedgerError, match=r"must be (a file that you can read and write|readable and writable)"
        ):
            use(f"sqlite:///{tmp_path / what}")

    def test_all_files_belong_to_their_owner_alone(self, tmp_path):
        before = os.umask(0)
        try:
            with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
                ledger.open("survey", budget=PureDP(1))
                modes = {
                    path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()
                }
        finally:
            os.umask(before)
        files = dict.fromkeys(("budget.db", "budget.db-wal", "budget.db-shm"), 0o600)
        assert modes == {**files, "budget.db-mailbox": 0o700}

    def test_a_spool_that_others_may_write_to_is_refused(self, tmp_path):
        """Operations are taken from there: who can write to it could extend the budget."""
        use(f"sqlite:///{tmp_path}/budget.db")
        (tmp_path / "budget.db-mailbox").chmod(0o777)
        with pytest.raises(LedgerError, match="only by those who may write the ledger"):
            Ledger(f"sqlite:///{tmp_path}/budget.db")
        (tmp_path / "budget.db").chmod(0o660)
        (tmp_path / "budget.db-mailbox").chmod(0o770)
        assert use(f"sqlite:///{tmp_path}/budget.db") == Fraction(1, 2)

    def test_a_spool_that_is_a_link_is_refused(self, tmp_path):
        use(f"sqlite:///{tmp_path}/budget.db")
        shutil.rmtree(tmp_path / "budget.db-mailbox")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "budget.db-mailbox").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(LedgerError, match="must belong to the owner"):
            Ledger(f"sqlite:///{tmp_path}/budget.db")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
    def test_a_spool_of_somebody_else_is_refused(self, tmp_path):
        use(f"sqlite:///{tmp_path}/budget.db")
        os.chown(tmp_path / "budget.db-mailbox", 65534, 65534)
        with pytest.raises(LedgerError, match="must belong to the owner"):
            Ledger(f"sqlite:///{tmp_path}/budget.db")

    def test_a_lost_spool_is_made_again(self, tmp_path):
        use(f"sqlite:///{tmp_path}/budget.db")
        shutil.rmtree(tmp_path / "budget.db-mailbox")
        assert use(f"sqlite:///{tmp_path}/budget.db") == Fraction(1, 2)


class TestServers:
    @pytest.mark.parametrize(
        ("url", "text"),
        [
            (f"postgresql://ada:{SECRET}@host:5432/db", "postgresql://ada@host:5432/db"),
            (
                f"postgresql+psycopg://ada:{SECRET}@[::1]:5432/db?password={SECRET}",
                "postgresql+psycopg://ada@[::1]:5432/db",
            ),
            ("postgresql://host/db", "postgresql://host/db"),
            ("postgres://ada@one:1,two:2/db", "postgres://ada@one:1,two:2/db"),
            ("postgresql:///db?host=/run", "postgresql:///db"),
        ],
    )
    def test_a_url_is_shown_without_its_secrets(self, url, text):
        assert without_secrets(url) == text

    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://ada:{SECRET}/x@host/db",
            f"postgresql://ada:x/{SECRET}@host/db",
            f"postgresql://ada:x@{SECRET}@host/db",
            f"postgresql://ada:x#{SECRET}@host/db",
            f"postgresql://ada:x?{SECRET}@host/db",
            f"postgresql://ada:{SECRET}",
            f"postgresql://host/db?password=x@{SECRET}",
            f"host=localhost password={SECRET}",
            f"ada:{SECRET}@host/db",
            f"mysql://ada:{SECRET}@host/db",
            f"postgresql//ada:{SECRET}@host/db",
            f"postgresql://ada:{SECRET}@[::1/db",
            f"POSTGRESQL://ada:{SECRET}@host/db",
            f"postgresql:ada:{SECRET}",
        ],
    )
    def test_a_url_that_is_not_understood_is_refused_and_shows_nothing(
        self, tmp_path, monkeypatch, url
    ):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(
            ParameterError, match="'address' parameter of Ledger must be a path"
        ) as refused:
            Ledger(url)
        assert not list(tmp_path.iterdir())
        assert SECRET not in "".join(traceback.format_exception_only(refused.value)) + repr(
            refused.value.__dict__
        )

    def test_a_server_that_is_away_is_an_error_without_the_password(self):
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            url = f"postgresql+psycopg://ada:{SECRET}@localhost:{probe.getsockname()[1]}/db"
            with pytest.raises(
                LedgerError, match=r"postgresql\+psycopg://ada@localhost:\d+/db must be readable"
            ) as refused:
                Ledger(url, timeout=2)
        assert SECRET not in "".join(traceback.format_exception(refused.value)) + repr(
            refused.value.__dict__
        )
        assert "psycopg.OperationalError" not in "".join(traceback.format_exception(refused.value))

    @pytest.mark.parametrize("address", [None, 7, b"sqlite:///x", ["budget.db"]])
    def test_an_address_is_text_or_a_path(self, address):
        with pytest.raises(ParameterTypeError, match="'address' parameter of Ledger"):
            Ledger(address)

    def test_a_ledger_is_shown_by_its_place(self, tmp_path):
        with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
            assert repr(ledger) == str(ledger) == f"Ledger('sqlite:///{tmp_path}/budget.db')"


class TestNetworks:
    """A network that died without a word must not hold a charge for hours."""

    @pytest.fixture
    def connected(self, monkeypatch):
        """What psycopg is asked to connect with: a function of the URL and the timeout."""
        psycopg = pytest.importorskip("psycopg")
        monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
        asked = {}

        def connect(conninfo, **options):
            asked.update(psycopg.conninfo.conninfo_to_dict(conninfo, **options))
            raise psycopg.OperationalError("nobody there")

        monkeypatch.setattr(psycopg, "connect", connect)

        def of(url, timeout=30):
            asked.clear()
            with pytest.raises(LedgerError, match="nobody there"):
                Ledger(url, timeout=timeout)
            return {
                name: int(value)
                for name, value in asked.items()
                if "timeout" in name or "keepalives" in name
            }

        return of

    def test_it_is_given_up_after_the_timeout(self, connected):
        assert connected("postgresql://host/db") == {
            "connect_timeout": 30,
            "tcp_user_timeout": 30_000,
            "keepalives": 1,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 4,
        }

    @pytest.mark.parametrize("timeout", [0.001, 1, 2, 3, 7.5, 60, 3600])
    def test_silence_is_as_long_as_the_timeout(self, connected, timeout):
        options = connected("postgresql+psycopg://host/db", timeout)
        silence = (
            options["keepalives_idle"]
            + options["keepalives_interval"] * options["keepalives_count"]
        )
        assert (
            options["connect_timeout"] * 1000
            == options["tcp_user_timeout"]
            == max(2, round(timeout)) * 1000
        )
        assert min(options.values()) >= 1
        assert silence <= max(5, timeout + 1)

    @pytest.mark.parametrize(
        "name",
        [
            "connect_timeout",
            "tcp_user_timeout",
            "keepalives",
            "keepalives_idle",
            "keepalives_interval",
            "keepalives_count",
        ],
    )
    def test_what_the_address_says_wins(self, connected, name):
        others = connected("postgresql://host/db")
        assert connected(f"postgresql://host/db?{name}=0") == {**others, name: 0}

    def test_what_the_environment_says_wins(self, connected, monkeypatch):
        monkeypatch.setenv("PGCONNECT_TIMEOUT", "77")
        assert "connect_timeout" not in connected("postgresql://host/db")
        assert connected("postgresql://host/db?connect_timeout=5")["connect_timeout"] == 5

    def test_an_old_library_is_not_asked_for_what_it_does_not_know(self, monkeypatch):
        pq = pytest.importorskip("psycopg").pq
        known = [
            option for option in pq.Conninfo.get_defaults() if option.keyword != b"tcp_user_timeout"
        ]
        monkeypatch.setattr(pq.Conninfo, "get_defaults", lambda: known)
        assert "tcp_user_timeout" not in network_options("postgresql://host/db", 30)
        assert "keepalives" in network_options("postgresql://host/db", 30)
