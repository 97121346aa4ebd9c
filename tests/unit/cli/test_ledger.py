from __future__ import annotations

import json
import os
import pwd
import re
import sqlite3
import stat
from contextlib import closing

import duckdb
import pytest
from tiers import first

from discreet import Ledger, Person, PureDP, Release, Session
from discreet.cli.table_options import FileOptions, label_of

URL = "sqlite:///budget.db"
SHARE = ("ledger", "open", URL, "--dataset", "survey")
OPEN = (*SHARE, "--person", "reader")
READS = (
    "demo:reads",
    "--column",
    "article",
    "--person",
    "reader",
    "--candidates",
    "demo:articles",
    "--epsilon",
    "0.5",
)
FROM_LEDGER = ("--ledger", URL, "--dataset", "survey")


@pytest.fixture
def opened(shell):
    assert shell(*OPEN, "--epsilon", "1", "--delta", "0").code == 0
    return shell


def words(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return " ".join(outcome.out.split())


def parsed(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def spend(times=1, **options):
    with Ledger(URL, create=False) as ledger:
        for _ in range(times):
            with ledger.reserve(
                "survey", PureDP(0.25), request={"what": "mode"}, **options
            ) as reservation:
                reservation.settle(
                    Release(
                        value="Ada", loss=PureDP(0.25), mechanism="permute-and-flip", candidates=2
                    )
                )


class TestInit:
    def test_a_file_is_for_its_owner_alone(self, shell, tmp_path):
        owner = pwd.getpwuid(os.geteuid()).pw_name
        assert f"{owner} own it: everything" in words(shell("ledger", "init", URL))
        assert stat.S_IMODE((tmp_path / "budget.db").stat().st_mode) == 0o600
        assert parsed(shell("ledger", "init", URL, "--json"))["rights"] == [
            {"role": owner, "may": "owner"}
        ]

    @pytest.mark.parametrize("option", ["--writer", "--reader"])
    def test_a_file_has_no_roles(self, shell, option):
        shell("ledger", "init", URL, option, "ada").refused(
            f"'{option}'", "left out for a ledger in a file"
        )


class TestBudgets:
    def test_opening_shows_the_budget(self, shell):
        shown = words(shell(*OPEN, "--epsilon", "1", "--delta", "1e-6"))
        assert "survey ε 1, δ 1e-06 0% 100%" in shown

    def test_another_budget_is_refused(self, opened):
        opened(*OPEN, "--epsilon", "2", "--delta", "0").refused(
            "The '--epsilon' parameter of discreet ledger open must be the one that it was opened "
            "with, "
            "PureDP(epsilon=1)",
            "To raise a budget, use discreet ledger extend.",
        )
        opened(*OPEN, "--rho", "2").refused("The '--rho' parameter of discreet ledger open")

    def test_extending_needs_a_reason_and_says_it_in_the_ledger(self, opened):
        more = ("ledger", "extend", URL, "--dataset", "survey", "--epsilon", "2", "--delta", "0")
        opened(*more).refused("--reason")
        opened(*more, "--reason", " ").refused("--reason")
        assert "survey ε 2 0 ε 2 ε" in words(opened(*more, "--reason", "decided by the board"))

    def test_show_draws_a_bar_of_what_is_spent(self, opened):
        spend(3)
        out = opened("ledger", "show", URL).out
        assert "0.75 ε  0.25 ε  ████████████" in out
        assert max(map(len, out.splitlines()[:-1])) <= 80

    def test_analysts_and_windows_have_lines_of_their_own(self, shell):
        assert shell(*OPEN, "--epsilon", "1", "--delta", "0", "--windows").code == 0
        assert shell(*SHARE, "--epsilon", "0.5", "--delta", "0", "--analyst", "team-a").code == 0
        spend(analyst="team-a", window="2026-11")
        lines = words(shell("ledger", "show", URL))
        for line in (
            "survey (each window) ε 1 0 ε",
            "survey in 2026-11 ε 1 0.25 ε",
            "survey for team-a in 2026-11 ε 0.5 0.25 ε",
        ):
            assert line in lines

    def test_json_is_exact(self, opened):
        spend()
        (account,) = parsed(opened("ledger", "show", URL, "--json"))
        assert account["spent"] == {"value": "1/4", "unit": "epsilon"}
        assert account["remaining"] == {"value": "3/4", "unit": "epsilon"}
        assert account["room"] == "one more question of epsilon 0.75, or about 3 of epsilon 0.2"
        assert account["closed"] is None
        assert account["budget"] == {"kind": "pure-dp", "epsilon": "1"}

    def test_only_one_data_set(self, opened):
        assert (
            opened("ledger", "open", URL, "--dataset", "other", "--rho", "0.1", "--one-row").code
            == 0
        )
        assert [
            account["dataset"]
            for account in parsed(opened("ledger", "show", URL, "--dataset", "other", "--json"))
        ] == ["other"]

    def test_the_url_may_be_in_the_environment(self, opened, monkeypatch):
        monkeypatch.setenv("DISCREET_LEDGER", URL)
        assert "survey ε 1" in words(opened("ledger", "show"))

    def test_a_path_is_an_address(self, opened):
        assert "survey ε 1" in words(opened("ledger", "show", "budget.db"))

    @pytest.mark.parametrize("address", ["mysql://root:secret@host/x", "sqlite://", ":memory:", ""])
    def test_other_addresses(self, shell, address):
        outcome = shell("ledger", "show", address)
        outcome.refused("LEDGER")
        assert "secret" not in outcome.err

    def test_a_url_gets_its_slashes(self, shell):
        for url in ("sqlite://budget.db", "sqlite:budget.db"):
            shell("ledger", "show", url).refused(
                "For a file, give its path, or its path after sqlite:/// (three slashes)."
            )


class TestHistory:
    def test_every_charge_is_listed(self, opened):
        spend(2)
        with Ledger(URL) as ledger:
            ledger.reserve("survey", PureDP(0.125), request={"what": "quantile", "column": "age"})
        out = opened("ledger", "history", URL, "--dataset", "survey").out
        assert out.count("what mode") == 2
        assert out.count("given") == 2
        assert out.splitlines()[1].split()[-3:] == ["0.125", "ε", "none"]

    def test_nothing_yet(self, opened):
        assert (
            "nothing was charged yet" in opened("ledger", "history", URL, "--dataset", "survey").out
        )

    def test_json(self, opened):
        spend()
        (charge,) = parsed(opened("ledger", "history", URL, "--dataset", "survey", "--json"))
        assert (charge["amount"]["value"], charge["settled"], charge["request"]) == (
            "1/4",
            True,
            {"what": "mode"},
        )

    @pytest.mark.parametrize("charges", first([3, 0, 1]))
    def test_a_picture(self, opened, tmp_path, charges):
        spend(charges)
        assert (
            opened("ledger", "history", URL, "--dataset", "survey", "--plot", "spent.png").code == 0
        )
        assert (tmp_path / "spent.png").read_bytes().startswith(b"\x89PNG")

    def test_an_unknown_data_set(self, opened):
        opened("ledger", "history", URL, "--dataset", "nope").refused(
            "The '--dataset' parameter of discreet ledger history must be one that was opened in "
            "this ledger. Got 'nope'. See discreet ledger open."
        )

    def test_an_unknown_data_set_to_pay_from(self, opened):
        opened("mode", *READS, "--ledger", URL, "--dataset", "nope").refused(
            "The '--dataset' parameter of discreet mode must be one that was opened in this "
            "ledger. Got 'nope'. See discreet ledger open."
        )

    def test_what_was_asked_comes_first_and_digests_are_short(self, opened):
        assert opened("mode", *READS, *FROM_LEDGER).code == 0
        for listed in ("history", "answers"):
            out = words(opened("ledger", listed, URL, "--dataset", "survey"))
            # cells beside it stand between the words of one that has several lines
            assert re.search(r"what mode, column .*article, .*\(digest [0-9a-f]{8}\)", out)
        request = parsed(opened("ledger", "history", URL, "--dataset", "survey", "--json"))
        assert "digest" in json.dumps(request)


class TestVerify:
    def test_it_prints_the_anchor(self, opened):
        spend()
        anchor = parsed(opened("ledger", "verify", URL, "--json"))["anchor"]
        assert anchor in opened("ledger", "verify", URL).out
        assert "all 1 hold" in words(opened("ledger", "verify", URL, "--anchor", anchor))

    def test_no_anchor_at_all(self, opened):
        opened("ledger", "verify", URL, "--anchor", "x").refused(
            "The '--anchor' parameter of discreet ledger verify", "Got 'x'."
        )


class TestDamage:
    """What somebody has changed by hand is one line that names it, with the next step."""

    @pytest.fixture
    def damaged(self, opened):
        def run(statement, *arguments):
            spend()
            with closing(sqlite3.connect("budget.db", isolation_level=None)) as connection:
                connection.execute(statement)
            return opened(*arguments)

        return run

    @pytest.mark.parametrize(
        "option",
        [
            (),
            pytest.param(("--json",), marks=pytest.mark.pairs),
            pytest.param(("--plot", "spent.png"), marks=pytest.mark.pairs),
        ],
        ids=["table", "json", "plot"],
    )
    @pytest.mark.parametrize(
        "body", ["''", "'[]'", "substr(body, 9)", "replace(body, 'mode', 'mood')", "x'ff'"]
    )
    def test_history_names_the_entry(self, damaged, body, option):
        damage = f"update discreet_entries set body = {body} where number = 2"
        damaged(damage, "ledger", "history", URL, "--dataset", "survey", *option).refused(
            f"Entry 2 of the ledger {URL} must", "Run discreet ledger verify."
        )

    @pytest.mark.parametrize(
        "option",
        [(), pytest.param(("--json",), marks=pytest.mark.pairs)],
        ids=["table", "json"],
    )
    @pytest.mark.parametrize(
        "change", ["terms = 'x'", "terms = '{}'", "squares_spent = '-1'", "epsilon_spent = x'00'"]
    )
    @pytest.mark.parametrize("what", first(["history", "show"], tier="pairs"))
    def test_a_budget_is_named(self, damaged, change, what, option):
        asked = ("--dataset", "survey") if what == "history" else ()
        damaged(
            f"update discreet_budgets set {change}", "ledger", what, URL, *asked, *option
        ).refused("budget of 'survey' must", "Run discreet ledger verify.")

    @pytest.mark.parametrize(
        "table", ["entries set body", "budgets set epsilon_spent", "charges set state"]
    )
    def test_verify_finds_it(self, damaged, table):
        outcome = damaged(f"update discreet_{table} = 'x'", "ledger", "verify", URL)
        outcome.refused("must")
        assert "Run discreet" not in outcome.err

    def test_a_question_is_not_paid_from_it(self, damaged):
        damaged("update discreet_budgets set terms = 'x'", "mode", *READS, *FROM_LEDGER).refused(
            "budget of 'survey' must", "Run discreet ledger verify."
        )


class TestQuestionsLeft:
    def test_number(self, opened):
        spend()
        for each in ("--epsilon", "--pure"):
            asked = ("ledger", "questions-left", URL, "--dataset", "survey", each, "0.1")
            assert "questions left 7" in words(opened(*asked))
            assert parsed(opened(*asked, "--json"))["questions_left"] == 7

    @pytest.mark.parametrize(
        "name", first(["[red]x[/red]", ":smile:", "[/]", "[link=file:///]x"], 2)
    )
    def test_a_name_is_neither_markup_nor_a_picture(self, shell, name):
        assert (
            shell(
                "ledger",
                "open",
                URL,
                "--dataset",
                name,
                "--one-row",
                "--epsilon",
                "1",
                "--delta",
                "0",
            ).code
            == 0
        )
        assert name in words(shell("ledger", "show", URL))
        assert f"on {name}" in words(
            shell("ledger", "questions-left", URL, "--dataset", name, "--pure", "0.1")
        )

    def test_one_loss_is_needed(self, opened):
        opened("ledger", "questions-left", URL, "--dataset", "survey").refused(
            "--epsilon", "or '--pure' in its place"
        )


class TestClosing:
    def test_a_budget_is_closed_for_good(self, opened):
        spend(key="k", replayable=True)
        close = ("ledger", "close", URL, "--dataset", "survey")
        opened(*close).refused("--reason")
        assert "survey ε 1 0.25 ε closed" in words(opened(*close, "--reason", "over"))
        opened("mode", *READS, *FROM_LEDGER).refused("was closed permanently. Kept answers")
        opened(*close, "--reason", "again").refused("closed permanently")
        assert "Ada" in words(opened("ledger", "answers", URL, "--dataset", "survey"))

    def test_a_share_is_revoked(self, opened):
        share = (*SHARE, "--epsilon", "0.5", "--delta", "0", "--analyst", "ada")
        assert opened(*share).code == 0
        revoke = ("ledger", "revoke", URL, "--dataset", "survey", "--reason", "left")
        opened(*revoke).refused("--analyst")
        opened(*revoke, "--analyst", "bob").refused("--analyst")
        assert "survey for ada ε 0.5 0 ε closed" in words(opened(*revoke, "--analyst", "ada"))
        opened("mode", *READS, *FROM_LEDGER, "--analyst", "ada").refused("'survey' for 'ada'")


class TestAnswers:
    def test_they_are_listed_with_their_questions(self, opened):
        assert opened("mode", *READS, *FROM_LEDGER).code == 0
        (kept,) = parsed(opened("ledger", "answers", URL, "--dataset", "survey", "--json"))
        assert kept["request"]["what"] == "mode"
        assert kept["request"]["epsilon"] == "1/2"
        assert kept["release"]["mechanism"]
        asked = ("ledger", "answers", URL, "--dataset", "survey", "--number", str(kept["number"]))
        assert parsed(opened(*asked, "--json")) == [kept]
        shown = words(opened(*asked))
        assert "what mode" in shown
        # the answer stands between the words of the question, which has several lines
        assert re.search(r"column .*article, candidates", shown)

    def test_nothing_yet(self, opened):
        assert "nothing was kept yet" in words(
            opened("ledger", "answers", URL, "--dataset", "survey")
        )
        for number in ("1", "x", "0"):
            opened("ledger", "answers", URL, "--dataset", "survey", "--number", number).refused(
                "--number"
            )

    def test_page_by_page(self, opened):
        spend(3)
        history = ("ledger", "history", URL, "--dataset", "survey", "--limit", "2")
        assert "earlier ones: --before 4" in words(opened(*history))
        assert [made["number"] for made in parsed(opened(*history, "--before", "4", "--json"))] == [
            2
        ]
        opened(*history[:-1], "0").refused("--limit")
        opened(*history, "--before", "x").refused("--before")


class TestDryRun:
    def test_it_says_what_it_would_cost_and_charges_nothing(self, opened):
        told = parsed(opened("mode", *READS, *FROM_LEDGER, "--dry-run", "--json"))
        assert (told["fits"], told["questions_left"]) == (True, 1)
        assert told["amount"] == {"value": "1/2", "unit": "epsilon"}
        with Ledger(URL) as ledger:
            assert ledger.history() == ()

    def test_a_kept_answer_is_free_and_a_fresh_one_is_not(self, opened):
        asked = ("mode", *READS, *FROM_LEDGER, "--json")
        first = parsed(opened(*asked))
        told = parsed(opened(*asked, "--dry-run"))
        assert (told["answered"], told["fits"], told["questions_left"]) == (True, True, 1)
        assert parsed(opened(*asked)) == first
        assert not parsed(opened(*asked, "--dry-run", "--fresh"))["answered"]
        assert parsed(opened(*asked, "--fresh"))["loss"] == first["loss"]
        with Ledger(URL, create=False) as ledger:
            assert ledger.remaining("survey") == 0
        refused = opened(*asked, "--fresh")
        assert (refused.code, refused.out) == (2, "")
        assert "but the budget of 'survey' is used up" in " ".join(refused.err.split())
        assert parsed(opened(*asked)) == first


class TestPayingFromALedger:
    @pytest.mark.parametrize("question", [("mode",), ("top-k", "-k", "1")], ids=["mode", "top-k"])
    def test_questions_are_charged(self, opened, question):
        command, *options = question
        shown = words(opened(command, *READS, *options, *FROM_LEDGER)).replace("│ ", "")
        assert "paid from survey left 0.5 epsilon" in shown
        with Ledger(URL) as ledger:
            assert ledger.remaining("survey") == 0.5
            (charge,) = ledger.history("survey")
        assert charge.settled

    def test_two_runs_share_the_budget(self, opened):
        assert opened("mode", *READS, *FROM_LEDGER).code == 0
        assert opened("top-k", "-k", "1", *READS, *FROM_LEDGER).code == 0
        # the same question is free; another one is not
        assert opened("mode", *READS, *FROM_LEDGER).code == 0
        opened("mode", *READS, *FROM_LEDGER, "--where", "day > '2026-10-01'").refused(
            "This question costs epsilon 0.5, but the budget of 'survey' is used up. "
            "Only answers that you already have are still free."
        )

    def test_the_environment_names_the_ledger(self, opened, monkeypatch):
        monkeypatch.setenv("DISCREET_LEDGER", URL)
        assert opened("mode", *READS, "--dataset", "survey").code == 0
        # Whoever has set it expects every question to be charged.
        opened("mode", *READS).refused(
            "The '--dataset' parameter of discreet mode must be given with DISCREET_LEDGER. Got "
            "nothing.",
            "Unset it to ask without a ledger.",
        )
        with Ledger(URL) as ledger:
            assert ledger.remaining("survey") == 0.5

    def test_a_ledger_needs_a_data_set_and_a_data_set_a_ledger(self, opened):
        opened("mode", *READS, "--ledger", URL).refused("--dataset")
        opened("mode", *READS, "--dataset", "survey").refused("--dataset")
        opened("mode", *READS, "--analyst", "team-a").refused("--analyst")
        opened("mode", *READS, "--window", "2026-11").refused("--window")

    def test_a_bad_request_costs_nothing(self, opened):
        opened("mode", *READS[:1], "--column", "nope", *READS[3:], *FROM_LEDGER).refused("--column")
        with Ledger(URL) as ledger:
            assert ledger.spent("survey") == 0

    def test_windows_are_named(self, shell):
        assert shell(*OPEN, "--epsilon", "1", "--delta", "0", "--windows").code == 0
        shell("mode", *READS, *FROM_LEDGER).refused("--window")
        assert (
            shell("mode", *READS, *FROM_LEDGER, "--window", "2026-10", "--window", "2026-11").code
            == 0
        )
        with Ledger(URL) as ledger:
            assert [
                ledger.remaining("survey", window=month)
                for month in ("2026-10", "2026-11", "2026-12")
            ] == [0.5, 0.5, 1]


class TestWhichTable:
    """An answer that was kept is given again for the same table, and for no other."""

    PETS = ("--column", "pet", "--person", "reader", "--candidates", "cat,dog", "--epsilon", "30")

    @pytest.fixture
    def pets(self, shell, tmp_path, monkeypatch):
        """Two folders that have a table of the same name, with another pet in each."""
        for folder, pet in (("north", "cat"), ("south", "dog")):
            (tmp_path / folder).mkdir()
            rows = "".join(f"{reader},{pet}\n" for reader in range(100))
            (tmp_path / folder / "pets.csv").write_text("reader,pet\n" + rows)
        url = f"sqlite:///{tmp_path}/budget.db"
        budget = ("--person", "reader", "--epsilon", "300", "--delta", "0")
        assert shell("ledger", "open", url, "--dataset", "pets", *budget).code == 0

        def ask(table, *options, folder=".", stdin=b""):
            monkeypatch.chdir(tmp_path / folder)
            paid = ("--ledger", url, "--dataset", "pets", "--json")
            answer = parsed(shell("mode", table, *options, *self.PETS, *paid, stdin=stdin))["value"]
            with Ledger(url) as ledger:
                return answer, float(ledger.spent("pets").value)

        return ask

    def test_the_same_name_in_another_folder_is_another_table(self, pets):
        assert pets("pets.csv", folder="north") == ("cat", 30)
        assert pets("pets.csv", folder="south") == ("dog", 60)

    def test_another_way_to_the_same_file_is_the_same_table(self, pets, tmp_path):
        assert pets("pets.csv", folder="north") == ("cat", 30)
        assert pets("north/pets.csv") == ("cat", 30)
        assert pets(str(tmp_path / "north" / "pets.csv"), folder="south") == ("cat", 30)

    def test_tables_of_one_database_file(self, pets, tmp_path):
        with closing(duckdb.connect(str(tmp_path / "pets.duckdb"))) as database:
            for folder in ("north", "south"):
                database.execute(f"create table {folder} as from '{tmp_path}/{folder}/pets.csv'")
        assert pets("pets.duckdb", "--table", "north") == ("cat", 30)
        assert pets("pets.duckdb", "--table", "south") == ("dog", 60)

    def test_the_standard_input_is_a_new_table_each_time(self, pets, tmp_path):
        for folder, expected in (("north", ("cat", 30)), ("south", ("dog", 60))):
            assert pets("-", stdin=(tmp_path / folder / "pets.csv").read_bytes()) == expected

    def test_python_and_the_shell_ask_the_same_table(self, pets, tmp_path):
        assert pets("pets.csv", folder="north") == ("cat", 30)
        with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
            session = Session("pets.csv", unit=Person("reader"), ledger=ledger, dataset="pets")
            assert session.mode("pet", candidates=["cat", "dog"], epsilon=30).value == "cat"
            assert ledger.spent("pets") == 30

    @pytest.mark.parametrize(
        ("typed", "label"),
        [
            (("demo:reads", "duckdb", None), "demo:reads"),
            (
                ("postgresql://ada:secret@db/shop", "duckdb", "reads"),
                "postgresql://db/shop b3c3447a reads",
            ),
            (
                ("reads", "postgresql://ada:secret@db/shop", None),
                "postgresql://db/shop b3c3447a reads",
            ),
            (("/data/reads.parquet", "spark", None), "/data/reads.parquet"),
            (("s3://shop/reads.parquet", "spark", None), "s3://shop/reads.parquet"),
            (("shop.reads", "spark", None), "shop.reads"),
        ],
    )
    def test_tables_elsewhere_have_a_label(self, typed, label):
        assert label_of(*typed) == label

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("postgresql:///shop?host=/run/a", "postgresql:///shop?host=/run/b"),
            ("postgresql://db/shop", "postgresql://db/shop?options=-csearch_path%3Dold"),
            ("postgresql://ada@db/shop", "postgresql://bob@db/shop"),
        ],
    )
    def test_what_tells_the_tables_of_a_server_apart(self, one, other):
        assert label_of(one, "duckdb", "reads") != label_of(other, "duckdb", "reads")

    def test_a_password_tells_nothing_apart(self):
        place = "postgresql://ada{}@db/shop?sslmode=require{}"
        typed = [place.format("", ""), place.format(":old", ""), place.format("", "&password=new")]
        assert len({label_of(url, "duckdb", "reads") for url in typed}) == 1

    @pytest.mark.parametrize(("path", "engine"), [("demo:reads", "duckdb"), ("r.csv", "spark")])
    def test_how_a_file_is_read_tells_it_apart(self, path, engine):
        options = [{}, {"separator": ";"}, {"separator": "tab"}, {"encoding": "latin-1"}]
        labels = [label_of(path, engine, None, FileOptions(**each)) for each in options]
        assert len(set(labels)) == 4
        assert label_of(path, engine, None, FileOptions(separator="\\t")) == labels[2]


class TestWhatABudgetIsAbout:
    MONTHS = (
        "--table",
        "demo:reads",
        "--window-column",
        "day",
        "--every",
        "month",
        "--epsilon",
        "1",
        "--delta",
        "0",
    )

    def test_the_shell_always_says_who_is_protected(self, shell):
        shell(*SHARE, "--epsilon", "1", "--delta", "0").refused("--person", "there is no default")
        shell(*OPEN, "--one-row", "--epsilon", "1", "--delta", "0").refused(
            "--person", "in its place (exactly one of the two)"
        )

    def test_it_is_shown(self, shell):
        found = parsed(shell(*OPEN, *self.MONTHS, "--json"))[0]
        assert found["protected"] == {"person": "reader"}
        assert found["table"].endswith("reads.csv.gz")
        assert (found["window_column"], found["window_every"], found["windows"]) == (
            "day",
            "month",
            True,
        )


class TestAnchorFile:
    ANCHORED = ("--anchor-file", "elsewhere.anchor")

    def test_every_command_that_charges_keeps_it_and_refuses_a_copy(self, shell, tmp_path):
        assert shell(*OPEN, "--epsilon", "1", "--delta", "0", *self.ANCHORED).code == 0
        before = (tmp_path / "budget.db").read_bytes()
        assert shell("mode", *READS, *FROM_LEDGER, *self.ANCHORED).code == 0
        verified = parsed(shell("ledger", "verify", URL, "--json", *self.ANCHORED))
        assert (tmp_path / "elsewhere.anchor").read_text().strip() == verified["anchor"]
        assert "all 1 hold" in words(shell("ledger", "verify", URL, *self.ANCHORED))
        (tmp_path / "budget.db").write_bytes(before)
        for command in (
            ("mode", *READS, *FROM_LEDGER),
            ("ledger", "verify", URL),
            ("ledger", "show", URL),
            (
                "ledger",
                "extend",
                URL,
                "--dataset",
                "survey",
                "--epsilon",
                "2",
                "--delta",
                "0",
                "--reason",
                "x",
            ),
            (*OPEN, "--epsilon", "1", "--delta", "0"),
        ):
            shell(*command, *self.ANCHORED).refused("must contain its anchor")

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_without_it_nothing_is_verified(self, shell, options):
        assert shell(*OPEN, "--epsilon", "1", "--delta", "0", *self.ANCHORED).code == 0
        shell("ledger", "verify", URL, *options).refused(
            "must be compared with its anchor file", "--anchor-file or DISCREET_ANCHOR_FILE"
        )
        known = shell("ledger", "show", URL).out.split()[-1]
        assert "all 1 hold" in words(shell("ledger", "verify", URL, "--anchor", known))

    def test_it_can_be_named_in_the_environment(self, shell, tmp_path, monkeypatch):
        monkeypatch.setenv("DISCREET_ANCHOR_FILE", "elsewhere.anchor")
        assert shell(*OPEN, "--epsilon", "1", "--delta", "0").code == 0
        assert (tmp_path / "elsewhere.anchor").exists()
        (tmp_path / "elsewhere.anchor").unlink()
        shell("mode", *READS, *FROM_LEDGER).refused("should hold the number and hash")

    def test_without_a_ledger_it_is_refused(self, shell):
        shell("mode", *READS, *self.ANCHORED).refused(
            "--anchor-file", "left out where there is no --ledger"
        )
