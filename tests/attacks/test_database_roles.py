"""Roles on the database that want a release without a charge, or keep others from charging.

What was tried is counted and printed: run with -s, or see docs/explanation/security.md.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from fractions import Fraction
from urllib.parse import urlsplit

import pytest
from attacks.roles import some_roles
from faults.ledgers import NEEDS_SERVER

from discreet import Ledger, LedgerError, ParameterError, Person, PureDP, Release, Session
from discreet.cli import main
from discreet.errors import LedgerDamagedError
from discreet.service.keys import make_key
from discreet.service.store import Store

psycopg = pytest.importorskip("psycopg")
pytestmark = [*NEEDS_SERVER]

ADVISORY = 0x64697363726565
ONE = PureDP(1)
TABLES = ("entries", "budgets", "charges", "turn", "schema")
ANSWER = Release(value="terrier", loss=PureDP(0.1), mechanism="test", candidates=3)


@pytest.fixture(scope="module")
def made():
    with some_roles() as roles:
        yield roles


@pytest.fixture
def roles(made):
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def owner(roles):
    """The ledger as its owner has it, with a budget of 1."""
    with Ledger(roles.url("owner"), timeout=60) as ledger:
        ledger.open("survey", budget=ONE)
        ledger.grant(writers=[roles.name("writer")], readers=[roles.name("reader")])
        roles.arm("selector")
        yield ledger


@pytest.fixture
def writer(roles, owner):
    with Ledger(roles.url("writer"), timeout=60, create=False) as ledger:
        yield ledger


def charge(ledger, epsilon=0.1, **options):
    return ledger.reserve("survey", PureDP(epsilon), request={"what": "mode"}, **options)


def goes_on(ledger, spent=Fraction(0)):
    """It charges, and is as it should be."""
    assert ledger.spent("survey") == spent
    charge(ledger, 0.01)
    assert ledger.spent("survey") == spent + Fraction(1, 100)
    ledger.verify()


def many(ledger, times):
    """The numbers of so many small charges."""
    return [charge(ledger, 0.01).number for _ in range(times)]


def run_all(deeds):
    """Each in a thread, until all are done."""
    threads = [threading.Thread(target=deed) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def attacking(attack):
    """Attack again and again, in a thread, until the end of the block; how often it was done."""
    stop, done, problems = threading.Event(), [0], []

    def run():
        try:
            while not stop.is_set():
                done[0] += attack()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()
    assert problems == []


@contextmanager
def turn_taken(ledger):
    """A writer that takes its time."""
    with ledger._store._connection.use() as held:
        held.ask([("begin", ()), ("select one from discreet_turn for update", ())])
        try:
            yield held
        finally:
            held.rollback()


class TestTurns:
    def test_with_the_turn_free_no_lock_of_a_role_is_waited_for(self, roles, writer):
        with roles.connect("nobody") as connection:
            connection.execute(
                "select pg_advisory_lock(%s), pg_advisory_lock(0), pg_advisory_lock(1, 1)",
                (ADVISORY,),
            )
            with Ledger(roles.url("writer"), timeout=1) as ledger:
                goes_on(ledger)


DEEDS = {
    "read": "select * from {table}",
    "add": "insert into {table} select * from {table} where false",
    "change": "update {table} set {column} = {column}",
    "delete": "delete from {table}",
    "empty": "truncate {table}",
    "drop": "drop table {table}",
    "rename": "alter table {table} rename to gone",
    "move": "alter table {table} set schema public",
    "own": "alter table {table} owner to current_user",
    "open": "grant all on {table} to public",
    "ungrant": "revoke all on {table} from public cascade",
    "trigger": (
        "create trigger hostile before insert on {table} for each row execute function "
        "suppress_redundant_updates_trigger()"
    ),
    "untrigger": "alter table {table} disable trigger all",
    "rule": "create rule hostile as on insert to {table} do instead nothing",
    "policy": "alter table {table} enable row level security",
    "index": "create index on {table} (({column}))",
    "inherit": "create temporary table heir () inherits ({table})",
    "row lock": "select 1 from {table} for update",
    "shared row lock": "select 1 from {table} for key share",
    "table lock": "lock table {table} in access exclusive mode",
    "writers' lock": "lock table {table} in row exclusive mode",
    "vacuum": "vacuum full {table}",
    "comment": "comment on table {table} is 'hostile'",
    "replica": "set session_replication_role = replica; delete from {table}",
    "function": (
        "create or replace function {schema}.discreet_refuse() returns trigger language plpgsql as "
        "'begin return new; end'"
    ),
    "schema": "drop schema {schema} cascade",
    "in schema": "create table {schema}.discreet_more (x int)",
}
COLUMNS = dict(zip(TABLES, ("body", "epsilon_spent", "answer", "one", "version"), strict=True))
ROW_LOCKS = {"row lock", "shared row lock"}
WRITERS = {
    "entries": {"read", "add", "writers' lock"},
    "budgets": {"read", "add", "writers' lock", "change", *ROW_LOCKS},
    # the one request there is was answered, and stays so
    "charges": {"read", "add", "writers' lock", *ROW_LOCKS},
    "turn": {"read", "add", "writers' lock", "change", *ROW_LOCKS},
    "schema": {"read"},
}
READABLE = {"reader": {"entries", "budgets", "charges", "schema"}, "selector": set(TABLES)}


def may(role, table):
    """The deeds that a role is to be able to do to a table."""
    if role == "writer":
        return WRITERS[table]
    return {"read"} if table in READABLE.get(role, ()) else set()


class TestRights:
    @pytest.mark.parametrize(
        "role",
        ["nobody", "selector", "watcher", "monitor", "creator", "killer", "reader", "writer"],
    )
    def test_no_role_can_do_more_than_it_should(self, roles, owner, writer, role):
        charge(writer, key="k", replayable=True).settle(ANSWER)
        tried, done, warnings = 0, [], []
        with roles.connect(role) as connection:
            # to grant nothing and to vacuum nothing is a warning, and no error
            connection.add_notice_handler(lambda notice: warnings.append(notice.severity))
            for table in TABLES:
                for deed in DEEDS:
                    names = {
                        "table": f"discreet.discreet_{table}",
                        "schema": "discreet",
                        "column": COLUMNS[table],
                    }
                    tried += 1
                    warnings.clear()
                    try:
                        with (
                            connection.transaction(force_rollback=True)
                            if deed != "vacuum"
                            else suppress(ValueError)
                        ):
                            connection.execute(DEEDS[deed].format(**names))
                    except psycopg.Error:
                        assert deed not in may(role, table), (deed, table)
                    else:
                        done += [] if warnings else [(deed, table)]
        print(f"{role}: {tried} deeds tried, {len(done)} could be done")
        assert set(done) == {
            (deed, table) for table in TABLES for deed in DEEDS if deed in may(role, table)
        }
        goes_on(writer, Fraction(1, 10))

    @pytest.mark.parametrize(
        "statement",
        [
            "update discreet.discreet_entries set body = body",
            "delete from discreet.discreet_entries",
            "truncate discreet.discreet_entries",
            "update discreet.discreet_budgets set epsilon_spent = '0'",
            "update discreet.discreet_budgets set delta_spent = '-1'",
            "update discreet.discreet_budgets set squares_spent = '0'",
            "update discreet.discreet_budgets set dataset = 'other'",
            "delete from discreet.discreet_budgets",
            "truncate discreet.discreet_budgets",
            "update discreet.discreet_charges set answer = 'x'",
            "update discreet.discreet_charges set state = 'reserved', answer = null",
            "update discreet.discreet_charges set number = 7",
            "delete from discreet.discreet_charges",
            "truncate discreet.discreet_charges",
        ],
    )
    @pytest.mark.parametrize("role", ["writer", "owner"])
    def test_what_was_charged_is_not_taken_back(self, roles, owner, writer, statement, role):
        """Not by a writer, and not by the owner without removing a trigger first."""
        charge(writer, key="k", replayable=True).settle(ANSWER)
        tricks = (
            "create schema mine; create function mine.lt(numeric, numeric) returns bool language "
            "sql as 'select false'; "
        )
        tricks += (
            "create operator mine.< (leftarg = numeric, rightarg = numeric, function = mine.lt); "
        )
        with roles.connect(role) as connection:
            if role == "owner":
                connection.execute(tricks + "set search_path = mine, pg_catalog")
            with pytest.raises(
                (psycopg.errors.InsufficientPrivilege, psycopg.errors.IntegrityError)
            ):
                connection.execute(statement)
        assert charge(writer, key="k").answer == ANSWER
        goes_on(writer, Fraction(1, 10))

    def test_what_a_writer_can_do_to_the_chain_is_seen(self, roles, owner, writer):
        """It can add entries that are none, and raise sums: verify says so, and an anchor still
        holds.
        """
        anchor = writer.anchor()
        with roles.connect("writer") as connection:
            connection.execute("insert into discreet.discreet_entries values (2, '{}', 'x')")
        with pytest.raises(LedgerDamagedError, match="Entry 2"):
            owner.verify(anchor)

    def test_a_reader_audits_and_cannot_charge(self, roles, owner, writer):
        charge(writer)
        with Ledger(roles.url("reader"), create=False) as reader:
            assert (reader.spent("survey"), len(reader.history("survey"))) == (Fraction(1, 10), 1)
            assert reader.verify(writer.anchor()).entries == 2
            with pytest.raises(LedgerError, match="permission denied"):
                charge(reader)
            with pytest.raises(LedgerError, match="permission denied"):
                reader.open("other", budget=ONE)
        goes_on(writer, Fraction(1, 10))

    def test_who_has_nothing_is_told_who_can_help(self, roles, owner):
        for create in (True, False):
            with pytest.raises(LedgerError, match=r"permission denied .* discreet ledger init"):
                Ledger(roles.url("nobody"), create=create)

    def test_a_writer_does_not_give_rights(self, roles, owner, writer):
        with pytest.raises(LedgerError, match="permission denied"):
            writer.grant(writers=[roles.name("nobody")])


class TestInit:
    def test_the_shell_sets_up_the_roles_and_says_who_may_what(self, roles, capsys):
        names = {role: roles.name(role) for role in ("owner", "writer", "reader")}
        command = [
            "ledger",
            "init",
            roles.url("owner"),
            "--writer",
            names["writer"],
            "--reader",
            names["reader"],
        ]
        assert main(command) == 0
        shown = " ".join(capsys.readouterr().out.split())
        for role, words in (
            ("owner", "own it"),
            ("writer", "charge and read"),
            ("reader", "read and verify"),
        ):
            assert f"{names[role]} {words}" in shown
        with Ledger(roles.url("writer"), create=False) as ledger:
            ledger.open("survey", budget=ONE)
            goes_on(ledger)

    def test_what_others_may_is_said(self, roles, owner):
        roles.database.sql(f"grant update on discreet_entries to {roles.name('nobody')}")
        found = {right.role: right.may for right in owner.grant()}
        assert found == {
            roles.name("owner"): "owner",
            roles.name("writer"): "writer",
            roles.name("reader"): "reader",
            roles.name("nobody"): "other",
            roles.name("selector"): "other",
        }

    def test_it_takes_from_public_and_from_the_named_what_they_had(self, roles, owner):
        roles.database.sql("grant all on all tables in schema discreet to public")
        roles.database.sql(f"grant all on all tables in schema discreet to {roles.name('writer')}")
        found = {right.role: right.may for right in owner.grant(writers=[roles.name("writer")])}
        assert found[roles.name("writer")] == "writer"
        assert "PUBLIC" not in found

    def test_roles_that_are_not_there_and_the_owner_are_refused(self, roles, owner):
        for name in ("no such role", "public", 'x"; drop table discreet_entries; --'):
            with pytest.raises(
                ParameterError,
                match=r"^The 'writers' parameter of Ledger.grant must be roles on the server",
            ):
                owner.grant(writers=[name])
        with pytest.raises(ParameterError, match="must be roles that do not own the ledger"):
            owner.grant(readers=[roles.name("owner")])
        with pytest.raises(ParameterError, match="'readers'"):
            owner.grant(readers="reader")
        goes_on(owner)

    @pytest.mark.parametrize(
        "name", ['we"ird', "discreet_writer", "50% off", "a;b", "Größe", "x'y"]
    )
    def test_a_role_may_have_any_name(self, roles, owner, name):
        quoted = '"' + name.replace('"', '""') + '"'
        roles.database.sql(f"create role {quoted}")
        try:
            found = {right.role: right.may for right in owner.grant(writers=[name])}
            assert found[name] == "writer"
        finally:
            roles.database.sql(f"drop owned by {quoted}")
            roles.database.sql(f"drop role {quoted}")


class TestShadows:
    """A role that may create tables, functions and operators where others look for them."""

    FUNCTIONS = (
        "pg_notify(text, text)",
        "set_config(text, text, boolean)",
        "current_setting(text)",
        "count(text)",
        "now()",
        "random()",
        "pg_notify(varchar, varchar)",
        "quote_ident(name)",
        "lower(text)",
        "current_schemas(boolean)",
    )
    OPERATORS = (
        ("=", "text", "text"),
        ("=", "text", "varchar"),
        ("=", "integer", "integer"),
        ("<>", "text", "text"),
        ("<", "timestamptz", "timestamptz"),
        ("||", "text", "text"),
        ("<", "numeric", "numeric"),
    )

    def traps(self, roles, connection):
        """Put everything of these names in the way."""
        for schema in ("public", roles.name("writer"), roles.name("owner"), "discreet_trap"):
            if schema != "public":
                connection.execute(f"create schema {schema}")
                connection.execute(f"grant usage on schema {schema} to public")
            for table in TABLES:
                connection.execute(
                    f"create table {schema}.discreet_{table} (like discreet.discreet_{table})"
                )
                connection.execute(f"grant all on {schema}.discreet_{table} to public")
            for function in self.FUNCTIONS:
                connection.execute(
                    f"create function {schema}.{function} returns text language plpgsql as "
                    "'begin raise exception ''trap''; end'"
                )
            for number, (operator, left, right) in enumerate(self.OPERATORS):
                connection.execute(
                    f"create function {schema}.trap_{number}({left}, {right}) returns bool "
                    "language plpgsql as "
                    "'begin raise exception ''trap''; end'"
                )
                connection.execute(
                    f"create operator {schema}.{operator} (leftarg = {left}, rightarg = {right}, "
                    f"function = {schema}.trap_{number})"
                )
        return 4 * (len(TABLES) + len(self.FUNCTIONS) + 2 * len(self.OPERATORS))

    @pytest.mark.parametrize(
        "path", ["", '"$user", public, pg_catalog', "discreet_trap, public, pg_catalog"]
    )
    def test_nothing_that_another_role_made_is_met(self, roles, owner, writer, path):
        charge(writer)
        roles.database.sql(
            f"grant select on all tables in schema discreet to {roles.name('creator')}"
        )
        roles.database.sql(f"grant usage on schema discreet to {roles.name('creator')}")
        with roles.connect("creator") as connection:
            count = self.traps(roles, connection)
        if path:  # as careless as a role can be
            for role in ("writer", "owner"):
                roles.database.sql(f"alter role {roles.name(role)} set search_path = {path}")
        for role in ("writer", "owner"):
            with Ledger(roles.url(role), timeout=60) as ledger:
                spent = ledger.spent("survey").value
                goes_on(ledger, spent)
        owner.grant()
        with roles.connect("creator") as connection:
            for schema in ("public", roles.name("writer"), "discreet_trap"):
                for table in TABLES:
                    assert connection.execute(
                        f"select count(*) from {schema}.discreet_{table}"
                    ).fetchone() == (0,)
        print(f"{count} traps in the path {path or 'of the server'}: none was met")

    @pytest.mark.parametrize("schema", ["discreet", "public"])
    def test_a_ledger_that_another_role_put_there_is_refused(self, roles, schema):
        with roles.connect("creator") as connection:
            if schema != "public":
                connection.execute(f"create schema {schema}")
            connection.execute(f"create table {schema}.discreet_entries (number integer)")
            with suppress(psycopg.Error):  # servers up to 15 let every role make others its members
                connection.execute(
                    f"grant {roles.name('creator')} to {roles.name('writer')}, "
                    f"{roles.name('owner')}"
                )
        for role in ("writer", "owner"):
            for create in (True, False):
                with pytest.raises(LedgerError, match="belong to the owner of the database"):
                    Ledger(roles.url(role), create=create)
        with pytest.raises(LedgerError, match="belong to the owner of the database"):
            Ledger(roles.database.url)

    def test_an_empty_schema_that_another_role_made_is_refused(self, roles):
        with roles.connect("creator") as connection:
            connection.execute("create schema discreet")
            connection.execute("grant all on schema discreet to public")
        with pytest.raises(LedgerError, match="belong to the owner of the database"):
            Ledger(roles.url("owner"))

    def test_a_view_in_the_place_of_a_table_is_refused(self, roles, owner):
        roles.database.sql("alter table discreet_entries rename to real_entries")
        roles.database.sql(
            "create view discreet.discreet_entries as select * from discreet.real_entries"
        )
        with pytest.raises(LedgerError, match="belong to the owner"):
            Ledger(roles.url("owner"))


EARLIER = (
    "create table discreet_schema (version integer not null)",
    "insert into discreet_schema values (1)",
    "create unlogged table discreet_posts (name text primary key, operations text not null, "
    "outcomes text, "
    "posted timestamptz not null default now())",
)


@contextmanager
def giving_by_default(roles, role):
    """Give a role all rights on what the owner will make, until the end of the block."""
    with roles.connect("owner") as owner:
        for words in ("grant all on {} to", "revoke all on {} from"):
            for kind in ("tables", "schemas"):
                what = words.format(kind)
                owner.execute(f"alter default privileges {what} {roles.name(role)}")
            if words.startswith("grant"):
                yield


class TestDefaultPrivileges:
    """A role that an administrator gave all future tables wants to charge, or to run code."""

    def test_they_give_others_nothing(self, roles):
        with (
            giving_by_default(roles, "nobody"),
            Ledger(roles.url("owner"), timeout=60) as ledger,
        ):
            assert [(right.role, right.may) for right in ledger.grant()] == [
                (roles.name("owner"), "owner")
            ]
        with (
            roles.connect("nobody") as nobody,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="for schema discreet"),
        ):
            nobody.execute("create table discreet.mine (a integer)")

    def test_tables_that_others_may_put_triggers_on_are_refused(self, roles, owner):
        other = roles.name("nobody")
        roles.database.sql(f"grant trigger on discreet_entries to {other}")
        with pytest.raises(LedgerError, match=rf"no right to trigger\. Got {other}\."):
            Ledger(roles.url("writer"), timeout=60, create=False)


class TestEarlierLedgers:
    """Version 0.1.0 made its tables where the role's path begins, for everybody to see who was
    granted that.
    """

    @pytest.fixture
    def earlier(self, roles):
        from discreet.ledger.schema import SCHEMA

        roles.database.sql(f"grant create on schema public to {roles.name('owner')}")
        with roles.connect("owner") as connection:
            for statement in (*SCHEMA[0], *EARLIER):
                connection.execute(statement)
        return roles

    def test_its_owner_brings_it_forward_where_it_is(self, earlier, capsys):
        command = ["ledger", "init", earlier.url("owner"), "--writer", earlier.name("writer")]
        assert main(command) == 0
        capsys.readouterr()
        with Ledger(earlier.url("writer"), create=False) as ledger:
            ledger.open("survey", budget=ONE)
            goes_on(ledger)
        assert earlier.database.sql("select version from public.discreet_schema") == [(5,)]
        assert earlier.database.sql("select to_regclass('discreet.discreet_entries')") == [(None,)]

    def test_somebody_else_is_sent_to_the_owner(self, earlier):
        earlier.database.sql(
            f"grant all on all tables in schema public to {earlier.name('writer')}"
        )
        for create in (True, False):
            with pytest.raises(
                LedgerError,
                match=r"must have tables of version 5\. Got version 1\. Ask its owner to run "
                r"discreet ledger init\.",
            ):
                Ledger(earlier.url("writer"), create=create)

    def test_a_schema_of_our_name_does_not_hide_it(self, earlier):
        with Ledger(earlier.url("owner")) as ledger:
            ledger.open("survey", budget=ONE)
            with earlier.connect("creator") as connection:
                connection.execute("create schema discreet")
                connection.execute("grant all on schema discreet to public")
                for table in TABLES:
                    connection.execute(f"create table discreet.discreet_{table} (number integer)")
            with Ledger(earlier.url("owner")) as again:
                goes_on(again)


class TestLocksAndSignals:
    def test_a_reader_that_never_ends_its_transaction_stops_nobody(self, roles, owner, writer):
        with roles.connect("selector") as connection:
            connection.execute("begin isolation level serializable")
            for table in TABLES:
                connection.execute(f"lock table discreet.discreet_{table} in access share mode")
                connection.execute(f"select * from discreet.discreet_{table}").fetchall()
            goes_on(writer)

    def test_a_writer_that_is_stopped_in_its_turn_is_ended_by_the_server(self, roles, owner):
        with (
            Ledger(roles.url("writer"), timeout=1) as stopped,
            Ledger(roles.url("writer"), timeout=20) as other,
            stopped._store._connection.use() as held,
        ):
            held.ask([("begin", ()), ("select one from discreet_turn for update", ())])
            goes_on(other)
            with pytest.raises(psycopg.Error, match="idle-in-transaction timeout"):
                held.one("select 1")

    def test_a_turn_that_is_never_given_back_is_an_error_in_time(self, roles, owner):
        with (
            Ledger(roles.url("writer"), timeout=1) as ledger,
            turn_taken(owner),
            pytest.raises(LedgerError, match=r"must be free within 1 seconds. Got no turn"),
        ):
            charge(ledger)
        goes_on(owner)

    def test_after_a_crash_of_the_server_the_turn_is_there_again(self, roles, owner, writer):
        """What is not logged is empty then."""
        roles.database.sql("truncate discreet_turn")
        goes_on(writer)
        assert roles.database.sql("select * from discreet_turn") == [(1,)]

    def test_without_any_turn_the_chain_lets_one_of_two_write(self, roles, owner, writer):
        from discreet.ledger.budget_terms import Sums
        from discreet.ledger.group_commit import carry_out_all
        from discreet.ledger.operations import Outcome, Reserve
        from discreet.ledger.postgresql import _ServerTables
        from discreet.ledger.postgresql_connection import BEGIN
        from discreet.ledger.transaction import Transaction

        def operation(ticket):
            return Reserve(
                dataset="survey",
                analyst="",
                windows=(),
                loss=PureDP(0.6),
                parts=None,
                delta="0",
                amounts=(("epsilon", Sums(6 * 10**29, None, 0)),),
                request={},
                key=ticket,
                after=0,
                holder="",
                ticket=ticket,
                time="2026-11-16T00:00:00+00:00",
            )

        with owner._store._connection.use() as one, writer._store._connection.use() as two:
            works = []
            for held in (one, two):
                works.append(_ServerTables(held, [BEGIN]))
                outcomes = carry_out_all(Transaction(works[-1]), [operation(f"t{len(works)}")])
                assert outcomes == [Outcome(number=2)]
            works[0].commit()
            with pytest.raises(psycopg.errors.UniqueViolation):
                works[1].commit()
            two.rollback()
        assert owner.spent("survey") == Fraction(6, 10)
        owner.verify()

    @pytest.mark.parametrize("signal", ["pg_terminate_backend", "pg_cancel_backend"])
    def test_whoever_ends_or_cancels_sessions_gets_no_release_without_a_charge(
        self, roles, owner, signal
    ):
        ended, released, failures = [0], [], 0
        theirs = "usename = %s and datname = current_database()"
        statement = (
            f"select count({signal}(pid)) from pg_stat_activity where {theirs} and random() < 0.5"
        )
        with roles.connect("killer") as connection:

            def attack():
                time.sleep(0.01)
                (count,) = connection.execute(statement, (roles.name("writer"),)).fetchone()
                return count

            ledger = Ledger(roles.url("writer"), timeout=60, create=False)
            end = time.monotonic() + 4
            with attacking(attack) as ended:
                while time.monotonic() < end:
                    try:
                        released.append(charge(ledger, 1e-6).number)
                    except LedgerError:
                        failures += 1
            ledger.close()
        print(f"{signal}: {ended[0]} times, {failures} errors, {len(released)} releases")
        assert ended[0] > 5
        charges = {made.number for made in owner.history("survey", limit=10_000)}
        assert set(released) <= charges
        assert len(set(released)) == len(released)
        assert owner.spent("survey") == Fraction(len(charges), 10**6) <= 1
        owner.verify()


class TestTablesOfADatabase:
    """A role that may create functions wants to run code as the one who asks, and to decide
    what is counted.
    """

    @pytest.fixture
    def connect(self, roles):
        ibis = pytest.importorskip("ibis", reason="ibis-framework is not installed: make engines")
        for statement in (
            "create table public.reads (reader varchar(9), item varchar(9))",
            "insert into public.reads values ('ada', 'a'), ('bob', 'b')",
            f"grant select on public.reads to {roles.name('reader')}",
        ):
            roles.database.sql(statement)
        address = urlsplit(roles.url("reader"))
        return lambda **options: ibis.postgres.connect(
            host=address.hostname,
            port=address.port,
            user=address.username,
            password=address.password,
            database=address.path[1:],
            **options,
        )

    @pytest.mark.filterwarnings("ignore")
    def test_no_function_of_another_role_is_called(self, roles, connect):
        def ask(table):
            with Session(table, unit=Person("reader"), budget=ONE) as session:
                return session.mode("item", candidates=["a", "b"], epsilon=0.1).value

        with roles.connect("creator") as creator:
            refusal = r"search path has no schema that other roles can change\. Got 'public'\."
            with pytest.raises(ParameterError, match=refusal):
                ask(connect().table("reads"))
            # it fits the column better than the database's own for text
            creator.execute(
                "create function public.max(varchar) returns varchar language sql as 'select 1/0'"
            )
        roles.database.sql(f"revoke create on schema public from {roles.name('creator')}")
        with pytest.raises(ParameterError, match=refusal):
            ask(connect().table("reads"))
        named = connect(options="-c search_path=pg_catalog").table("reads", database="public")
        assert ask(named) in ("a", "b")
        roles.database.sql(f"drop owned by {roles.name('creator')} cascade")
        assert ask(connect().table("reads")) in ("a", "b")


PLANTED = make_key()
KEYS = "(id text primary key, hash text, name text, role text, made bigint, expires bigint)"


def plant(connection, schema, victim):
    """Put a steward's key where it may be looked for."""
    connection.execute(f"create table {schema}.discreet_keys {KEYS}")
    connection.execute(
        f"insert into {schema}.discreet_keys values (%s, %s, 'evil', 'both', 0, 9999999999)",
        (PLANTED.id, PLANTED.hash),
    )
    connection.execute(f"grant usage on schema {schema} to {victim}")
    connection.execute(f"grant all on {schema}.discreet_keys to {victim}")


class TestKeysOfAService:
    """A role that may create tables wants to be the steward of a service."""

    @pytest.mark.parametrize("when", ["before", "while it runs"])
    @pytest.mark.parametrize("place", ["public", "named after the role"])
    def test_planted_keys_are_not_met(self, roles, place, when):
        victim = roles.name("owner")
        with roles.connect("creator") as creator, ExitStack() as stack:
            if when != "before":
                store = stack.enter_context(closing(Store(roles.url("owner"))))
            schema = "public" if place == "public" else victim
            if schema == victim:
                creator.execute(f"create schema {victim}")
            plant(creator, schema, victim)
            if when == "before":
                store = stack.enter_context(closing(Store(roles.url("owner"))))
            assert store.caller(PLANTED.text) is None
            own, known = store.add_key("ada", "analyst", days=1), store.keys()
            assert [each.id for each in known] == [own.id]

    def test_a_schema_of_somebody_else_is_refused(self, roles):
        with roles.connect("creator") as creator:
            creator.execute("create schema discreet_service")
            plant(creator, "discreet_service", roles.name("owner"))
            with pytest.raises(LedgerError, match=r"^The tables of the keys .* Got others"):
                Store(roles.url("owner"))

    def test_a_table_of_somebody_else_in_our_schema_is_refused(self, roles):
        with roles.connect("owner") as owner, roles.connect("creator") as creator:
            owner.execute("create schema discreet_service")
            owner.execute(f"grant all on schema discreet_service to {roles.name('creator')}")
            plant(creator, "discreet_service", roles.name("owner"))
            with pytest.raises(LedgerError, match=r"^The tables of the keys .* Got others"):
                Store(roles.url("owner"))

    @pytest.mark.parametrize("right", ["insert", "update (hash)", "trigger"])
    def test_keys_that_another_role_may_change_are_refused(self, roles, right):
        Store(roles.url("owner")).close()
        other = roles.name("nobody")
        roles.database.sql(f"grant {right} on discreet_service.discreet_keys to {other}")
        with pytest.raises(LedgerError, match=rf"give other roles no right .* Got {other}\."):
            Store(roles.url("owner"))

    def test_default_privileges_give_others_nothing(self, roles):
        """Administrators often give all new tables to a role that reports from them."""
        with giving_by_default(roles, "nobody"):
            Store(roles.url("owner")).close()
        with roles.connect("nobody") as nobody:
            # where the schema was there before, the rights on the tables are what counts
            roles.database.sql(f"grant usage on schema discreet_service to {roles.name('nobody')}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="discreet_keys"):
                nobody.execute("select * from discreet_service.discreet_keys")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="for schema"):
                nobody.execute("create table discreet_service.mine (a integer)")

    def test_functions_of_others_are_not_called(self, roles):
        with roles.connect("creator") as creator, closing(Store(roles.url("owner"))) as store:
            creator.execute(
                "create function public.count(bigint) returns bigint language sql as 'select 1/0'"
            )
            creator.execute(
                "create function public.gt(bigint, bigint) returns boolean language sql as "
                "'select true'"
            )
            creator.execute(
                "create operator public.> (leftarg=bigint, rightarg=bigint, function=public.gt)"
            )
            expired = store.add_key("ada", "steward", days=-1)
            assert store.keys() == []
            assert store.caller(expired.text) is None

    def test_a_role_without_a_schema_is_told_what_to_do(self, roles):
        with pytest.raises(LedgerError, match=r"grant create on database NAME to ROLE"):
            Store(roles.url("nobody"))
        with closing(Store(roles.url("creator"))) as store:
            key = store.add_key("ada", "analyst", days=1)
            assert store.caller(key.text).name == "ada"

    def test_lost_sessions_are_made_again(self, roles):
        with closing(Store(roles.url("owner"))) as store:
            key = store.add_key("ada", "analyst", days=1)
            for use in (
                lambda: store.caller(key.text).name == "ada",
                lambda: store.add_link("ada", "both"),
                lambda: store.require_ready() is None,
            ):
                ended = roles.database.sql(
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                    f"where usename = '{roles.name('owner')}'"
                )
                assert ended
                assert use()
