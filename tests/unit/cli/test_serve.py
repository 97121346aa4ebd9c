"""`serve` and `explore`: what is started, the link that works once, and what is refused."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
import webbrowser
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from discreet import ApproxDP, Ledger, MissingExtraError, PureDP

FILE = "name,age\nAda,36\nBob,40\n"
EXPLORE = ("explore", "people.csv", "--person", "name", "--no-browser")
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def started(monkeypatch):
    """What would be served, instead of a server that runs until it is stopped."""
    server = pytest.importorskip("discreet.service.server")
    seen = []

    def run(running, service, *, log=True):
        seen.append((running, dict(service.published.manifest.datasets)))
        service.close()

    monkeypatch.setattr(server, "run", run)
    return seen


@pytest.fixture
def people(tmp_path: Path):
    (tmp_path / "people.csv").write_text(FILE)


@pytest.fixture
def published(people, tmp_path: Path):
    (tmp_path / "discreet.toml").write_text(
        """
[dataset.people]
title = "People"
source = "people.csv"
person = "name"
persons = 10
budget = { epsilon = "1" }
as_of = "1"
reply_after = "10ms"
ask = ["count"]
[dataset.people.column.age]
ask = ["mode"]
candidates = ["36", "40"]
"""
    )


def link(outcome):
    """The one-time link, in a line of its own."""
    assert (outcome.code, outcome.err) == (0, "")
    (found,) = re.findall(r"^(http://127\.0\.0\.1:\d+)/link/\S{20,}$", outcome.out, re.MULTILINE)
    return found


TLS = Path(__file__).parents[2] / "service" / "tls"
CERTIFIED = (
    *("--host-name", "stats.example.org"),
    *("--certificate", str(TLS / "certificate.pem"), "--private-key", str(TLS / "key.pem")),
)


class TestServe:
    def test_the_demo_prints_a_link(self, shell, started):
        address = link(shell("serve", "--demo"))
        ((running, datasets),) = started
        assert running.address == address
        assert list(datasets) == ["reads"]

    def test_a_demo_leaves_nothing_behind(self, shell, started, tmp_path):
        shell("serve", "--demo")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("options", "address"),
        [
            ((*CERTIFIED, "--port", "8443"), "https://stats.example.org:8443"),
            ((*CERTIFIED, "--port", "443"), "https://stats.example.org"),
            (
                ("--behind-proxy", "stats.example.org", "--port", "8443"),
                "https://stats.example.org",
            ),
        ],
    )
    def test_the_link_has_the_port_unless_a_proxy_has_another(
        self, shell, started, options, address
    ):
        outcome = shell("serve", "--demo", *options)
        assert f"\n{address}/link/" in outcome.out
        ((running, _),) = started
        assert running.settings.secure

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("--port", "x"), ("'--port'", "a whole number", "Got 'x'.")),
            (("--port", "99999"), ("'--port'", "from 1 to 65,535", "Got 99999.")),
            (("--workers", "0"), ("'--workers'", "from 1 to 64", "Got 0.")),
            (("--host", "0.0.0.0"), ("'--host'", "this computer", "--behind-proxy")),
            (("--certificate", "a.pem"), ("'--certificate'", "together with --private-key")),
            (("--private-key", "a.pem"), ("'--certificate'", "together with --private-key")),
        ],
    )
    def test_bad_parameters_are_named(self, shell, started, options, parts):
        shell("serve", "--demo", *options).refused("of discreet serve must be", *parts)
        assert started == []

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("--ledger", "x://b.db"), ("--ledger' parameter of discreet serve", "a path")),
            (("--keys", ":memory:"), ("--keys' parameter of discreet serve", "'keys.db'")),
            (("--keys", "no/keys.db"), ("The keys no/keys.db", "No such file")),
        ],
    )
    def test_addresses_that_are_none(self, shell, started, published, options, parts):
        shell("serve", *options).refused(*parts)
        assert started == []

    def test_a_port_that_is_taken(self, shell, started, published):
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = str(other.getsockname()[1])
            shell("serve", "--port", taken).refused(
                f"The '--port' parameter of discreet serve must be free, and one that you may use. "
                f"Got '{taken}'. Is a service running there already?"
            )
        assert started == []
        assert not Path("discreet-keys.db").exists()

    def test_a_new_ledger_is_named_as_such(self, shell, started, published):
        said = "The ledger discreet.db is new, so nothing is spent yet.\n"
        assert [said in shell("serve").out for _ in range(2)] == [True, False]

    def test_a_manifest_that_cannot_be_read(self, shell, started, tmp_path):
        shell("serve").refused("discreet.toml cannot be read: No such file or directory.")
        (tmp_path / "bad.toml").write_text("x = [")
        shell("serve", "bad.toml").refused("bad.toml, line 1: not TOML")
        assert started == []

    @pytest.mark.parametrize("command", [("serve", "--demo"), EXPLORE])
    def test_without_the_extra_there_is_one_line(self, shell, people, monkeypatch, command):
        monkeypatch.setitem(sys.modules, "starlette", None)
        shell(*command).refused(str(MissingExtraError("The service", "service")))


SERVED = [
    (("serve", "discreet.toml"), "discreet.db"),
    ((*EXPLORE, *BUDGET), "people.csv.ledger.db"),
]
ANCHOR = "elsewhere.anchor"


@pytest.mark.parametrize(("command", "ledger"), SERVED, ids=["serve", "explore"])
class TestAnchorFiles:
    @pytest.fixture(autouse=True)
    def any_port(self, monkeypatch):
        """No port is used: nothing is served."""
        server = pytest.importorskip("discreet.service.server")
        monkeypatch.setattr(server.Running, "require_free", lambda running: None)

    @pytest.mark.parametrize("named", ["option", "variable"])
    def test_an_older_copy_is_not_served(
        self, shell, started, published, monkeypatch, tmp_path, command, ledger, named
    ):
        options = ("--anchor-file", ANCHOR) if named == "option" else ()
        if named == "variable":
            monkeypatch.setenv("DISCREET_ANCHOR_FILE", ANCHOR)
        assert shell(*command, *options).code == 0
        older = (tmp_path / ledger).read_bytes()
        with Ledger(f"sqlite:///{tmp_path}/{ledger}", anchor_file=tmp_path / ANCHOR) as book:
            book.note({"any": "entry"}, dataset=book.accounts()[0].dataset)
        assert shell(*command, *options).code == 0
        (tmp_path / ledger).write_bytes(older)
        shell(*command, *options).refused(
            "must contain its anchor", "It was cut, or replaced by an older copy."
        )
        (tmp_path / ANCHOR).unlink()
        shell(*command, *options).refused("should hold the number and hash")
        assert len(started) == 2

    def test_a_ledger_with_an_anchor_file_is_not_served_without_it(
        self, shell, started, published, tmp_path, command, ledger
    ):
        assert shell(*command, "--anchor-file", ANCHOR).code == 0
        shell(*command).refused("must be compared with its anchor file", "--anchor-file")
        assert len(started) == 1


def test_a_demo_does_not_touch_the_anchor_file_of_another_ledger(
    shell, started, monkeypatch, tmp_path
):
    monkeypatch.setenv("DISCREET_ANCHOR_FILE", ANCHOR)
    link(shell("serve", "--demo"))
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_that_somebody_else_may_write_is_refused(
    shell, started, published, monkeypatch, tmp_path
):
    """It says who may ask what, and with which share."""
    (tmp_path / "discreet.toml").chmod(0o666)
    shell("serve", "discreet.toml").refused(
        "The manifest discreet.toml must be a file that belongs to you or root"
    )
    with monkeypatch.context() as mounted:
        server = pytest.importorskip("discreet.service.server")
        mounted.setattr(server.Running, "require_free", lambda running: None)
        # as settings are in a container, whose files may be those of any user outside
        mounted.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
        assert shell("serve", "discreet.toml").code == 0
    (tmp_path / "discreet.toml").unlink()
    os.mkfifo(tmp_path / "discreet.toml")
    shell("serve", "discreet.toml").refused("that you can read and write. Got something else")
    assert len(started) == 1


def test_addresses_with_passwords_may_be_in_the_environment(
    shell, started, published, monkeypatch, tmp_path
):
    """Every user of a computer can read the arguments of a program."""
    server = pytest.importorskip("discreet.service.server")
    monkeypatch.setattr(server.Running, "require_free", lambda running: None)
    monkeypatch.setenv("DISCREET_LEDGER", f"sqlite:///{tmp_path}/named.db")
    monkeypatch.setenv("DISCREET_KEYS", f"sqlite:///{tmp_path}/named-keys.db")
    assert shell("serve", "discreet.toml").code == 0
    ((running, _),) = started
    assert running.ledger.endswith("named.db")
    assert running.keys.endswith("named-keys.db")


class TestExplore:
    def test_the_budget_is_kept_beside_the_file(self, shell, started, people, tmp_path):
        address = link(shell(*EXPLORE, *BUDGET))
        ((running, datasets),) = started
        assert running.address == address
        assert list(datasets) == ["file"]
        with Ledger(f"sqlite:///{tmp_path}/people.csv.ledger.db", create=False) as ledger:
            assert ledger.account("file").budget == ApproxDP(1, 1e-6)

    def test_the_link_is_no_argument_of_a_browser(self, shell, started, people, monkeypatch):
        """Everybody on a computer can read the arguments of its processes."""
        opened = []

        def open_page(address):
            place = Path(url2pathname(urlsplit(address).path))
            modes = [stat.S_IMODE(each.stat().st_mode) for each in (place, place.parent)]
            opened.append((address, place.read_text(), modes))

        monkeypatch.setattr(webbrowser, "open", open_page)
        outcome = shell(*EXPLORE[:-1], *BUDGET)
        link(outcome)
        secret = outcome.out.rpartition("/link/")[2].strip()
        ((address, page, modes),) = opened
        assert secret not in address
        assert f"/link/{secret}" in page
        assert modes == [0o600, 0o700]
        assert not Path(url2pathname(urlsplit(address).path)).exists()

    def test_the_second_time_nobody_is_asked_for_a_budget(self, shell, started, people):
        link(shell(*EXPLORE, *BUDGET))
        link(shell(*EXPLORE))
        assert len(started) == 2

    def test_there_is_no_default_budget(self, shell, started, people, tmp_path):
        outcome = shell(*EXPLORE)
        assert outcome.code == 130
        assert "How much epsilon may be spent on this file in total?" in outcome.out
        assert started == []
        assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]

    def test_a_budget_without_delta_is_pure(self, shell, started, people, tmp_path):
        link(shell(*EXPLORE, "--epsilon", "1/3", "--delta", "0"))
        with Ledger(f"sqlite:///{tmp_path}/people.csv.ledger.db", create=False) as ledger:
            assert ledger.account("file").budget == PureDP(Fraction(1, 3))

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("--epsilon", "-1"), ("'--epsilon'", "greater than 0", "Got '-1'.")),
            (("--persons", "x"), ("'--persons'", "a whole number", "Got 'x'.")),
            (("--port", "0"), ("'--port'", "from 1 to 65,535", "Got 0.")),
            (("--person", "who"), ("'--person'", "a column of the table", "Got 'who'.")),
        ],
    )
    def test_bad_parameters_are_named_before_a_ledger_is_made(
        self, shell, started, people, tmp_path, options, parts
    ):
        shell(*EXPLORE, *BUDGET, *options).refused("of discreet explore must be", *parts)
        assert started == []
        assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]

    def test_a_file_that_is_not_there(self, shell, started):
        shell(*EXPLORE, *BUDGET).refused(
            "The 'FILE' parameter of discreet explore must be a file that DuckDB can read. Got "
            "'people.csv'."
        )
        assert started == []

    @pytest.mark.parametrize(
        "column",
        [
            pytest.param("mood \U0001f600", id="emoji"),
            pytest.param("del\x7fete", id="delete"),
            pytest.param("esc\x1b]0;PWN\x07", id="escape"),
            pytest.param('quote"back\\slash', id="quote"),
        ],
    )
    def test_columns_that_are_hard_to_write_down(self, shell, started, tmp_path, column):
        """The manifest of a file is TOML, which is stricter than JSON."""
        cells = column.replace('"', '""')
        (tmp_path / "people.csv").write_text(f'name,"{cells}"\nAda,36\n', encoding="utf-8")
        link(shell(*EXPLORE, *BUDGET))
        ((_, datasets),) = started
        assert list(datasets["file"].column) == [column]
