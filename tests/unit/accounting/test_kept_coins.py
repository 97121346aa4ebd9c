"""Numbers of coins that are kept: read back as written, and nothing else is believed."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tiers import loop_over

from discreet.accounting import coin_table
from discreet.accounting.coin_prices import coin_tariff, coins_at_least, coins_at_most
from discreet.accounting.coin_table import play, read_entries

CERTIFIED = Path(__file__).parents[2] / "reference" / "coins.json"
BUDGET = Fraction(1), Fraction(1, 3 * 10**7), 100

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX files")


@pytest.fixture
def file(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return coin_table._file()


def test_what_is_remembered_is_found(file):
    assert coin_table.kept(*BUDGET) is None
    coin_table.remember(*BUDGET, 1700)
    coin_table.remember(Fraction(2), Fraction(1, 7), 50, 12)
    assert coin_table.kept(*BUDGET) == 1700
    assert coin_table.kept(Fraction(2), Fraction(1, 7), 50) == 12
    assert coin_table.kept(Fraction(2), Fraction(1, 7), 100) is None


@posix
def test_the_file_is_for_its_user_alone(file):
    coin_table.remember(*BUDGET, 1700)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["coins.json"]


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_read(file, mode):
    coin_table.remember(*BUDGET, 1700)
    file.chmod(mode)
    assert coin_table.kept(*BUDGET) is None


@posix
def test_a_file_of_somebody_else_is_not_read(file, monkeypatch):
    coin_table.remember(*BUDGET, 1700)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert coin_table.kept(*BUDGET) is None


@posix
def test_a_link_is_not_followed(file):
    coin_table.remember(*BUDGET, 1700)
    other = file.rename(file.with_name("other.json"))
    file.symlink_to(other)
    assert coin_table.kept(*BUDGET) is None


@posix
def test_a_pipe_is_not_waited_for(file):
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert coin_table.kept(*BUDGET) is None


ENTRY = ["1", "1/30000000", 100, 1700]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 5000,
        json.dumps({"budgets": [ENTRY]}),
        json.dumps({"rules": coin_table.RULES + 1, "budgets": [ENTRY]}),
        json.dumps({"rules": coin_table.RULES, "budgets": {"1": 2}}),
        json.dumps({"rules": coin_table.RULES, "budgets": [ENTRY[:3]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [[*ENTRY[:3], -1]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [[*ENTRY[:3], True]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [[*ENTRY[:3], 1700.5]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [[*ENTRY[:3], "1700"]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [["1e999999999", *ENTRY[1:]]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [["1/0", *ENTRY[1:]]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [["-1", *ENTRY[1:]]]}),
        json.dumps({"rules": coin_table.RULES, "budgets": [[1, *ENTRY[1:]]]}),
    ],
)
def test_anything_else_is_nothing(file, content):
    assert coin_table.read_entries(content) == {}
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert coin_table.kept(*BUDGET) is None
    coin_table.remember(*BUDGET, 1700)
    assert coin_table.kept(*BUDGET) == 1700


def test_bytes_that_are_no_text_are_nothing(file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xfe")
    assert coin_table.kept(*BUDGET) is None


def test_a_place_that_cannot_be_written_is_no_error(file, monkeypatch):
    file.parent.parent.joinpath("discreet").write_text("a file where the folder should be")
    coin_table.remember(*BUDGET, 1700)
    assert coin_table.kept(*BUDGET) is None


def test_the_file_does_not_grow_without_end(file, monkeypatch):
    monkeypatch.setattr(coin_table, "_MOST_ENTRIES", 3)
    for place in range(1, 6):
        coin_table.remember(Fraction(1), Fraction(1, place), 100, place)
    assert [coin_table.kept(Fraction(1), Fraction(1, place), 100) for place in range(1, 6)] == [
        None,
        None,
        3,
        4,
        5,
    ]


def test_many_budgets_are_shipped():
    assert len(coin_table._shipped()) >= 14


@loop_over("budget", coin_table._shipped(), usual=4)
def test_what_is_shipped_is_possible_and_better_than_without_the_game(budget):
    epsilon, delta, parts = budget
    assert epsilon / parts == coin_tariff(epsilon, delta).unit
    assert (
        coins_at_least(epsilon, delta)
        < coin_table._shipped()[budget]
        < coins_at_most(epsilon, delta)
    )


def test_more_delta_never_has_fewer_coins():
    entries = coin_table._shipped()
    for (epsilon, delta, parts), found in entries.items():
        larger = [n for (e, d, p), n in entries.items() if (e, p) == (epsilon, parts) and d > delta]
        assert all(n >= found for n in larger)


@pytest.mark.sizes
@pytest.mark.parametrize("epsilon", ["1", "10"])
def test_what_is_shipped_is_certified_again(epsilon):
    chosen = {key: n for key, n in coin_table._shipped().items() if key[0] == Fraction(epsilon)}
    assert chosen
    deltas = [delta for _, delta, _ in chosen]
    again = play(Fraction(epsilon), deltas, 100)
    assert all(n <= now <= n * 1.01 for n, now in zip(chosen.values(), again, strict=True))


def test_tests_take_them_from_a_cache_of_their_own():
    certified = read_entries(CERTIFIED.read_text())
    assert certified
    for (epsilon, delta, parts), found in certified.items():
        assert coin_table.kept(epsilon, delta, parts) == found
        assert coin_table.shipped(epsilon, delta, parts) is None


@pytest.mark.sizes
@pytest.mark.parametrize("key", read_entries(CERTIFIED.read_text()), ids=str)
def test_what_tests_take_for_granted_is_certified_again(key):
    epsilon, delta, parts = key
    assert play(epsilon, [delta], parts) == (read_entries(CERTIFIED.read_text())[key],)


class Terminal(io.StringIO):
    """A standard error that people look at."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "shown"),
    [
        (Terminal, ["", "fit a budget of epsilon 7: 50%", "fit a budget of epsilon 7: 100%", "\r"]),
        (io.StringIO, ["", "fit a budget of epsilon 7. The result is kept.\n", "", ""]),
    ],
)
def test_a_long_game_says_what_it_computes(monkeypatch, stream, shown):
    now, written, seen = [0.0], stream(), []

    def look():
        seen.append(written.getvalue())
        written.seek(0)
        written.truncate()

    monkeypatch.setattr(sys, "stderr", written)
    with coin_table.showing_progress("epsilon 7", 200, lambda: now[0]) as watch:
        for now[0], done in ((0.9, 50), (1.1, 100), (1.2, 100), (1.3, 200)):
            watch(done)
            if done != 100 or now[0] == 1.2:
                look()
    look()
    assert [text.endswith(end) for text, end in zip(seen, shown, strict=True)] == [True] * 4
    assert [bool(text) for text in seen] == [bool(end) for end in shown]
