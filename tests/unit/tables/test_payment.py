"""A budget that knows what it is about: sessions about something else are refused, before
anything is charged.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path

import pandas
import pytest
from asking import ask_of

from discreet import Ledger, LedgerError, OneRow, ParameterError, Person, PureDP, Session
from discreet.errors import ParameterTypeError, ReservationLostError
from discreet.ledger.chain import START, canonical, link
from discreet.ledger.schema import SCHEMA
from discreet.ledger.subject import Subject, read_subject
from discreet.questions import Mode
from discreet.questions.runner import QuestionRunner
from discreet.tables.payment import Asked, LedgerBudget

VOTES = pandas.DataFrame(
    {"student": [1, 2, 3], "teacher": ["Ada", "Ada", "Bob"], "day": ["2026-10-01"] * 3}
)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as opened:
        yield opened


@pytest.fixture
def votes(tmp_path, ledger):
    VOTES.to_csv(tmp_path / "votes.csv", index=False)
    VOTES.to_csv(tmp_path / "other.csv", index=False)
    return tmp_path / "votes.csv"


def ask(table, ledger, unit=None, **options):
    session = Session(table, unit=unit or Person("student"), ledger=ledger, dataset="d", **options)
    session.mode("teacher", candidates=["Ada", "Bob"], epsilon=0.25)
    return session


def refused(ledger, match, table, **options):
    with pytest.raises(ParameterError, match=match):
        ask(table, ledger, **options)
    assert ledger.history("d") == ()


class TestUnits:
    @pytest.mark.parametrize("other", [Person("teacher"), OneRow()])
    def test_another_unit_is_refused(self, ledger, other):
        ledger.open("d", budget=PureDP(1), unit=Person("student"))
        refused(
            ledger,
            r"'unit' parameter of Session must be the one that the budget of 'd' protects",
            VOTES,
            unit=other,
        )
        ask(VOTES, ledger)
        assert ledger.spent("d") == Fraction(1, 4)

    def test_rows_are_a_unit_too(self, ledger):
        ledger.open("d", budget=PureDP(1), unit=OneRow())
        refused(ledger, r"protects, OneRow\(\)\. Got Person", VOTES)
        ask(VOTES, ledger, unit=OneRow())

    @pytest.mark.parametrize("unit", [Person("student"), OneRow()])
    def test_a_budget_without_one_accepts_any(self, ledger, unit):
        ledger.open("d", budget=PureDP(1))
        assert ledger.account("d").protected is None
        ask(VOTES, ledger, unit=unit)

    def test_what_is_no_unit_is_refused(self, ledger):
        with pytest.raises(ParameterTypeError, match=r"'unit' parameter of Ledger\.open"):
            ledger.open("d", budget=PureDP(1), unit="student")


class TestWhichBudget:
    def test_a_name_that_was_not_opened(self, ledger):
        rule = (
            r"^The 'dataset' parameter of Session must be one that was opened in this ledger\. "
            r"Got 'd'\. See Ledger\.open\.$"
        )
        with pytest.raises(ParameterError, match=rule) as error:
            ask(VOTES, ledger)
        assert error.value.__context__ is None

    def test_the_address_of_a_ledger_is_no_ledger(self):
        with pytest.raises(ParameterTypeError, match=r"Got 'sqlite:///b\.db'\. Open it first: "):
            ask(VOTES, "sqlite:///b.db")


class TestTables:
    def test_other_files_are_refused(self, ledger, votes, tmp_path):
        ledger.open("d", budget=PureDP(1), table="votes.csv")
        assert ledger.account("d").table == str(votes)
        refused(
            ledger,
            r"'table' parameter of Session must be .*votes.csv', the table of the budget",
            tmp_path / "other.csv",
        )
        refused(ledger, r"'table' parameter of Session must be .*Got 'DataFrame'", VOTES)
        refused(
            ledger,
            r"'table' parameter of Session must be .*Got 'DataFrame'",
            VOTES,
            table_label=str(votes),
        )

    def test_every_way_to_write_the_path_is_the_same_file(self, ledger, votes, tmp_path):
        ledger.open("d", budget=PureDP(1), table="votes.csv")
        (tmp_path / "link.csv").symlink_to(votes)
        for way in ("votes.csv", "./votes.csv", votes, str(votes), tmp_path / "link.csv"):
            Session(way, unit=Person("student"), ledger=ledger, dataset="d")

    def test_a_link_is_the_file_that_it_leads_to(self, ledger, votes, tmp_path):
        """The answer of one file is not paid for twice, nor given for another one."""
        (tmp_path / "other.csv").write_text(votes.read_text())
        ledger.open("d", budget=PureDP(3))
        link = tmp_path / "link.csv"
        link.symlink_to(votes)
        for way in (votes, link):
            ask(way, ledger)
            assert ledger.spent("d") == Fraction(1, 4)
        link.unlink()
        link.symlink_to(tmp_path / "other.csv")
        ask(link, ledger)
        assert ledger.spent("d") == Fraction(1, 2)

    def test_tables_of_one_file_that_has_a_label(self, ledger, tmp_path):
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(tmp_path / "all.duckdb")) as connection:
            for name in ("votes", "others"):
                connection.execute(f"create table {name} (student integer, teacher text)")
        ledger.open("d", budget=PureDP(3), table_label="all.duckdb")
        for spent, name in enumerate(("votes", "others"), start=1):
            for _ in range(2):
                ask("all.duckdb", ledger, table_name=name, table_label="all.duckdb")
            assert ledger.spent("d") == Fraction(spent, 4)

    def test_a_link_that_leads_elsewhere_later_is_another_table(self, ledger, votes, tmp_path):
        link = tmp_path / "link.csv"
        link.symlink_to(votes)
        ledger.open("d", budget=PureDP(1), table=link)
        link.unlink()
        link.symlink_to(tmp_path / "other.csv")
        refused(ledger, "'table' parameter of Session", link)

    def test_a_pattern_is_its_text(self, ledger, votes):
        ledger.open("d", budget=PureDP(1), table="v*.csv")
        refused(ledger, "'table' parameter of Session", votes)
        refused(ledger, "'table' parameter of Session", "*.csv")
        ask("v*.csv", ledger)

    def test_the_table_in_a_database_counts(self, ledger, tmp_path):
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(tmp_path / "all.duckdb")) as connection:
            for name in ("votes", "others"):
                connection.execute(f"create table {name} (student integer, teacher text)")
        ledger.open("d", budget=PureDP(1), table="all.duckdb", table_name="votes")
        refused(
            ledger,
            "'table_name' parameter of Session must be 'votes'",
            "all.duckdb",
            table_name="others",
        )
        ask("all.duckdb", ledger, table_name="votes")

    def test_a_label_is_for_what_is_no_file(self, ledger):
        ledger.open("d", budget=PureDP(1), table_label="votes")
        for label in (None, "other"):
            refused(
                ledger,
                "'table_label' parameter of Session must be 'votes'",
                VOTES,
                table_label=label,
            )
        with pytest.raises(
            ParameterTypeError, match="'table_label' parameter of Session must be text"
        ):
            ask(VOTES, ledger, table_label=VOTES)
        ask(VOTES, ledger, table_label="votes")

    def test_files_and_a_label(self, ledger, votes, tmp_path):
        """A file is compared as a file, whatever it is called."""
        ledger.open("d", budget=PureDP(1), table=votes, table_label="votes")
        refused(ledger, "'table' parameter of Session", tmp_path / "other.csv", table_label="votes")
        ask(votes, ledger)
        ask(VOTES, ledger, table_label="votes")

    def test_no_message_shows_a_password(self, ledger, votes):
        ledger.open("d", budget=PureDP(1), table=votes)
        with pytest.raises(ParameterError) as told:
            ask("postgresql://ada:s3cr3t@host/shop", ledger)
        assert "s3cr3t" not in str(told.value)

    @pytest.mark.parametrize("table", ["", 7, "a\0b", VOTES])
    def test_what_is_no_path_is_refused(self, ledger, table):
        with pytest.raises(
            ParameterError, match=r"'table' parameter of Ledger\.open must be a path"
        ):
            ledger.open("d", budget=PureDP(1), table=table)

    def test_without_a_ledger_there_is_nothing_to_compare_with(self):
        with pytest.raises(
            ParameterError, match="'table_label' parameter of Session must be left out"
        ):
            Session(VOTES, unit=OneRow(), budget=PureDP(1), table_label="votes")


class TestWindows:
    @pytest.fixture
    def monthly(self, ledger):
        ledger.open("d", budget=PureDP(1), window_column="day", window_every="month")
        return ledger

    @pytest.mark.parametrize(
        "name", ["2026-11 ", "2026-11\u200b", "2026-1", "november", "2026-11-01", "2026"]
    )
    def test_another_spelling_is_no_new_budget(self, monthly, name):
        with pytest.raises(ParameterError, match="'window' parameter"):
            monthly.reserve("d", PureDP(1), request={}, window=name)
        with pytest.raises(ParameterError, match="'window' parameter"):
            monthly.remaining("d", window=name)
        refused(monthly, "'window' parameter of Session must be", VOTES, window=name)
        assert len(monthly.accounts()) == 1

    def test_one_wrong_name_among_right_ones_is_refused(self, monthly):
        with pytest.raises(ParameterError, match="a month, written as '2026-10'"):
            monthly.reserve("d", PureDP(1), request={}, window=["2026-10", "2026-1"])
        assert monthly.remaining("d", window="2026-10") == 1

    def test_the_rows_that_are_paid_for(self, monthly):
        purse = LedgerBudget(monthly, "d", None, ["2026-12", "2026-10"], Asked(unit=OneRow()))
        october = date(2026, 10, 1), date(2026, 11, 1)
        december = date(2026, 12, 1), date(2027, 1, 1)
        assert purse.window_intervals() == ("day", [october, december])

    def test_names_of_ones_own_say_nothing_about_rows(self, ledger):
        ledger.open("d", budget=PureDP(1), windows=True)
        assert (
            LedgerBudget(ledger, "d", None, "may", Asked(unit=OneRow())).window_intervals() is None
        )

    def test_a_window_has_to_be_named(self, monthly):
        refused(monthly, "'window' parameter of Session must be given", VOTES)

    @pytest.mark.parametrize(
        ("said", "missing"),
        [({"window_column": "day"}, "window_every"), ({"window_every": "day"}, "window_column")],
    )
    def test_half_of_it_is_refused(self, ledger, said, missing):
        with pytest.raises(
            ParameterError, match=f"'{missing}' parameter of Ledger.open must be given"
        ):
            ledger.open("d", budget=PureDP(1), **said)


ALL = {
    "unit": Person("student"),
    "table": "/data/votes.csv",
    "table_name": "votes",
    "table_label": "votes",
    "window_column": "day",
    "window_every": "month",
}


class TestTerms:
    def test_they_are_kept_and_shown(self, ledger):
        ledger.open("d", budget=PureDP(1), **ALL)
        found = ledger.account("d")
        assert found.protected == Person("student")
        assert (found.table, found.table_name, found.table_label) == (
            "/data/votes.csv",
            "votes",
            "votes",
        )
        assert (found.window_column, found.window_every, found.windows) == ("day", "month", True)
        ledger.verify()

    def test_the_same_again_changes_nothing_and_others_are_refused(self, ledger):
        ledger.open("d", budget=PureDP(1), **ALL)
        ledger.open("d", budget=PureDP(1), **ALL)
        for other in (
            {**ALL, "unit": None},
            {**ALL, "unit": OneRow()},
            {**ALL, "table": "/data/x.csv"},
            {**ALL, "window_every": "day"},
        ):
            with pytest.raises(ParameterError, match="with the same terms"):
                ledger.open("d", budget=PureDP(1), **other)
        assert ledger.verify().entries == 1

    def test_a_larger_budget_is_about_the_same(self, ledger):
        ledger.open("d", budget=PureDP(1), **ALL)
        ledger.extend("d", budget=PureDP(2), reason="More.")
        assert ledger.account("d").protected == Person("student")
        assert ledger.account("d").window_every == "month"
        refused(ledger, "'unit' parameter of Session", VOTES, unit=OneRow(), window="2026-10")

    @pytest.mark.parametrize("name", ALL)
    def test_an_analyst_has_the_data_sets(self, ledger, name):
        ledger.open("d", budget=PureDP(1), **ALL)
        said = {name: ALL[name]} | ({"table": "/x"} if name == "table_name" else {})
        said |= {
            other: ALL[other] for other in ("window_column", "window_every") if "window" in name
        }
        with pytest.raises(ParameterError, match="left out for an analyst"):
            ledger.open("d", budget=PureDP(0.5), analyst="ada", **said)
        ledger.open("d", budget=PureDP(0.5), analyst="ada")
        refused(
            ledger,
            "'unit' parameter of Session",
            VOTES,
            unit=OneRow(),
            analyst="ada",
            window="2026-10",
        )

    def test_budgets_that_say_nothing_are_written_as_before(self, ledger, tmp_path):
        ledger.open("d", budget=PureDP(1))
        with ledger._store.reading() as rows:
            ((_, body, _),) = list(rows.entries())
        assert set(json.loads(json.loads(body)["terms"])) == {
            "budget",
            "delta_for_losses",
            "windows",
            "counting",
        }

    @pytest.mark.parametrize(
        "wrong",
        [
            {"unit": "student"},
            {"unit": {}},
            {"unit": {"person": ""}},
            {"unit": {"people": "x"}},
            {"unit": {"person": "x", "one-row": ""}},
            {"table": 7},
            {"window_column": "day"},
            {"window_column": "day", "window_every": "moon"},
        ],
    )
    def test_what_was_never_written_is_not_read(self, wrong):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            read_subject(wrong)

    def test_what_is_written_is_read(self):
        for subject in (Subject(), Subject(unit=OneRow()), Subject(**ALL)):
            assert read_subject(subject.to_dict()) == subject


def test_an_older_ledger_goes_on(tmp_path):
    """As 0.1.0 wrote it: version 1 of the schema, and terms that say nothing about units."""
    path = Path(tmp_path) / "budget.db"
    terms = canonical({"budget": PureDP(1).to_dict(), "delta_for_losses": "0", "windows": False})
    entry = {
        "do": "open",
        "dataset": "d",
        "analyst": "",
        "terms": terms,
        "limit": [str(10**30), "0"],
    }
    body = canonical({**entry, "ticket": "t", "time": "2026-01-01T00:00:00+00:00"})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in SCHEMA[0]:
            connection.execute(statement)
        row = (1, "t", body, link(START, body).hash)
        connection.execute("insert into discreet_entries values (?, ?, ?, ?)", row)
        sums = ("d", "", "", terms, str(10**30), "0", "0", "0")
        connection.execute("insert into discreet_scopes values (?, ?, ?, ?, ?, ?, ?, ?)", sums)
        connection.execute("pragma user_version = 1")
    path.chmod(0o600)
    with Ledger(f"sqlite:///{path}", create=False) as ledger:
        ask(VOTES, ledger)
        ledger.open("d", budget=PureDP(1))
        assert ledger.verify().entries == 3
        with ledger._store._connection.use() as connection:
            assert connection.execute("pragma user_version").fetchone() == (4,)


def test_a_ledger_of_this_version_is_refused_by_the_one_before(tmp_path, monkeypatch):
    """It would not ask about units."""
    Ledger(f"sqlite:///{tmp_path}/budget.db").close()
    monkeypatch.setattr("discreet.ledger.sqlite_file.SCHEMA", SCHEMA[:2])
    with pytest.raises(LedgerError, match="newer discreet"):
        Ledger(f"sqlite:///{tmp_path}/budget.db")


ASKED = {"candidates": ["Ada", "Bob"], "epsilon": 0.25}


class TestKeptAnswers:
    def opened(self, ledger, votes):
        return Session(votes, unit=Person("student"), ledger=ledger, dataset="d")

    def price(self, ledger, votes, fresh=False, **more):
        question = Mode("teacher", **ASKED, **more)
        return self.opened(ledger, votes).price(question, fresh=fresh)

    def test_the_price_knows_what_the_ledger_has_kept(self, ledger, votes):
        """Also in a session that has asked nothing, and where nothing else would fit."""
        ledger.open("d", budget=PureDP(0.25))
        before = self.price(ledger, votes)
        assert (before.answered, before.fits, before.questions_left) == (False, True, 0)
        ask(votes, ledger)
        after = self.price(ledger, votes)
        assert (after.answered, after.fits, after.questions_left) == (True, True, 0)
        assert not self.price(ledger, votes, fresh=True).fits
        assert not self.price(ledger, votes, where="teacher = 'Ada'").answered
        ask(votes, ledger)
        assert len(ledger.history("d")) == 1

    def test_the_price_does_not_know_what_others_asked(self, ledger, votes):
        ledger.open("d", budget=PureDP(1))
        for analyst in ("ann", "bob"):
            ledger.open("d", budget=PureDP(1), analyst=analyst)
        ask(votes, ledger, analyst="ann")
        told = {
            analyst: Session(
                votes, unit=Person("student"), ledger=ledger, dataset="d", analyst=analyst
            ).price(Mode("teacher", **ASKED))
            for analyst in ("ann", "bob")
        }
        assert told["ann"].answered
        assert not told["bob"].answered

    def test_a_lost_answer_is_paid_for_once_more_and_then_kept(self, ledger, votes, monkeypatch):
        ledger.open("d", budget=PureDP(1))
        with monkeypatch.context() as patched:
            patched.setattr(QuestionRunner, "_answered", lambda *_: _interrupt())
            with pytest.raises(KeyboardInterrupt):
                ask(votes, ledger)
        with pytest.raises(ReservationLostError, match="--fresh"):
            ask(votes, ledger)
        assert not self.price(ledger, votes).answered
        paid = ask_of(self.opened(ledger, votes), "mode", "teacher", **ASKED, fresh=True)
        again = ask_of(self.opened(ledger, votes), "mode", "teacher", **ASKED)
        assert again == paid
        assert ledger.spent("d") == Fraction(1, 2)
        # one that is there is not replaced, and a fresh one is paid for each time
        ask_of(self.opened(ledger, votes), "mode", "teacher", **ASKED, fresh=True)
        assert ask_of(self.opened(ledger, votes), "mode", "teacher", **ASKED) == paid
        assert ledger.spent("d") == Fraction(3, 4)
        ledger.verify()


def _interrupt():
    raise KeyboardInterrupt
