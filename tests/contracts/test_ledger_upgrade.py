"""Ledgers that earlier versions wrote, as dumps of files: older/second_version.sql of commit
32212e6, the last one before budgets counted coins, and older/third_version.sql of 060250f, the
last one that had a ticket beside each entry.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from faults.ledgers import EVERY, File, a_place

from discreet import ApproxDP, BoundedRange, Ledger, LedgerError, PureDP
from discreet.errors import KeyReusedError, LedgerDamagedError, ReservationLostError
from discreet.ledger.entries import read_entry
from discreet.ledger.postgresql_schema import SERVER_THIRD, steps
from discreet.ledger.schema import GONE, SCHEMA

DUMP = Path(__file__).parents[1] / "unit" / "ledger" / "older" / "second_version.sql"
ANCHOR = "26:2814856363c6616c6c8b65d554c39a8ae599c82edd075e76e6ac098fac427f28"
ASK = {"what": "mode", "column": "teacher"}
TABLES = ("entries", "scopes", "requests")
HALF_RHO = Fraction(5734361672180545487706119847, 250000000000000000000000000000)
"""The rho of (1, 5e-7), as that version rounded it down."""


@pytest.fixture(params=EVERY)
def place(request, tmp_path):
    with a_place(request.param, tmp_path) as found:
        restore(found)
        yield found


def restore(place, file=DUMP, names=TABLES, version=3, after=()):
    """The ledger as the earlier version left it.

    version: of a server, which has one more.
    after: what it did after its steps.
    """
    with closing(sqlite3.connect(":memory:")) as dump:
        dump.executescript(file.read_text(encoding="utf-8"))
        if isinstance(place, File):
            with closing(sqlite3.connect(place.path)) as made:
                dump.backup(made)
            place.path.chmod(0o600)
            return
        rows = {name: dump.execute(f"select * from discreet_{name}").fetchall() for name in names}
    place.sql("create schema discreet")
    place.sql("create table discreet.discreet_schema (version integer not null)")
    place.sql("insert into discreet_schema values (?)", version)
    for statement in (*(each for step in steps()[:version] for each in step), *after):
        place.sql(statement)
    for name, found in rows.items():
        for row in found:
            place.sql(f"insert into discreet_{name} values ({', '.join('?' * len(row))})", *row)


@pytest.fixture
def ledger(place, tmp_path):
    """Opened with its anchor file, because the chain notes that there is one."""
    kept = tmp_path / "anchor"
    kept.write_text(f"{ANCHOR}\n")
    kept.chmod(0o600)
    with Ledger(place.url, timeout=60, create=False, anchor_file=kept) as opened:
        yield opened


def test_the_chain_is_as_it_was_and_its_anchor_holds(ledger):
    assert ledger.verify(ANCHOR).entries == 26
    assert ledger.anchor() == ANCHOR


def test_every_sum_is_at_least_what_was_charged(ledger):
    sums = {(one.dataset, one.analyst, one.window): one.sums for one in ledger.accounts()}
    tenth = BoundedRange(0.1).to_zcdp().rho
    assert sums["pure", None, None].epsilon == Fraction(int("68" + "3" * 27 + "4"), 10**30)
    approx = sums["approx", None, None]
    # 3 of 0.1, one of 0.05 with a delta, and 0.4 in four parts
    assert approx.epsilon == Fraction(3, 4)
    assert approx.squares == 7 * tenth + PureDP(0.05).to_zcdp().rho
    assert approx.delta == Fraction(11, 10**9)
    # a rho without an epsilon is more than any plain sum
    assert sums["rho", None, None].epsilon is None
    assert sums["mixed", None, None].epsilon is None
    for analyst in (None, "ada"):
        for window in ("2026-10", "2026-11"):
            assert sums["monthly", analyst, window].squares == tenth
            assert sums["monthly", analyst, window].epsilon == Fraction(1, 10)
    assert sums["fresh", None, None].squares == 0


def test_budgets_count_what_they_counted_and_never_admit_less(ledger):
    found = [one for one in ledger.accounts() if one.analyst is None]
    rules = {(one.dataset, one.window): one.rule for one in found}
    assert rules["pure", None].counting == "epsilon"
    for name, window in (("approx", None), ("fresh", None), ("monthly", "2026-10")):
        rule = rules[name, window]
        assert (rule.counting, rule.agreed, rule.delta_for_losses) == (
            "rho",
            HALF_RHO,
            Fraction(1, 2 * 10**6),
        )
    assert (
        ledger.questions_left("fresh", epsilon=0.1) == HALF_RHO // BoundedRange(0.1).to_zcdp().rho
    )
    # by the plain sum, which did not count then
    assert ledger.questions_left("fresh", loss=PureDP(0.1)) == 10


def test_keys_and_answers_are_still_there(ledger):
    again = ledger.reserve("pure", PureDP(0.1), request=ASK, key="kept")
    assert again.answer.value == "Ada"
    for key, loss in (("not kept", PureDP(Fraction(1, 3))), ("lost", BoundedRange(0.25))):
        with pytest.raises(ReservationLostError, match="charged before"):
            ledger.reserve("pure", loss, request=ASK, key=key)
    with pytest.raises(KeyReusedError, match="must be new for a new request"):
        ledger.reserve("pure", PureDP(0.2), request=ASK, key="kept")
    assert [one.release.value for one in ledger.answers()] == ["Cy", "Ada"]
    assert [made.number for made in ledger.history("pure")] == [7, 5, 3]
    assert str(ledger.history("pure")[0].amount) == "0.25 epsilon"
    assert str(ledger.history("rho")[1].amount) == "0.125 rho"
    assert ledger.entries(limit=1)[0].kind == "open"


def test_it_goes_on(ledger, place):
    ledger.open("approx", budget=ApproxDP(1, 1e-6))
    ledger.reserve("approx", BoundedRange(0.1), request=ASK)
    ledger.reserve(
        "monthly", BoundedRange(0.1), request=ASK, analyst="ada", window=["2026-11", "2026-12"]
    )
    ledger.extend("approx", budget=ApproxDP(2, 1e-6), reason="More.")
    ledger.close_budget("fresh", reason="Over.")
    with Ledger(place.url, create=False) as again:
        assert again.verify(ANCHOR).entries == 30
        assert again.account("approx").sums.epsilon == Fraction(17, 20)


def test_the_version_before_refuses_it(place):
    """It asks for the version first, and its tables are gone."""
    Ledger(place.url, create=False).close()
    if isinstance(place, File):
        assert place.sql("pragma user_version") == [(4,)]
    else:
        assert place.sql("select version from discreet_schema") == [(5,)]
    with pytest.raises(Exception, match="discreet_scopes"):
        place.sql("select * from discreet_scopes")


@pytest.mark.parametrize(
    "damage",
    [
        "update discreet_scopes set main_spent = '0' where dataset = 'pure'",
        "delete from discreet_scopes where slot = '2026-10' and analyst = ''",
        "update discreet_requests set state = 'reserved' where request_key = 'kept'",
        "update discreet_requests set answer = 'x' where request_key = 'kept'",
        "delete from discreet_requests where request_key = 'lost'",
        "update discreet_entries set body = replace(body, '1/10', '1/20') where number = 3",
        "delete from discreet_entries where number = 26",
    ],
)
def test_a_damaged_one_is_not_brought_forward(place, damage):
    place.sql(damage)
    before = place.sql("select count(*) from discreet_scopes")
    with pytest.raises((LedgerDamagedError, LedgerError), match="must"):
        Ledger(place.url, create=False)
    assert place.sql("select count(*) from discreet_scopes") == before


def test_a_charge_whose_parts_had_less_delta_has_no_plain_epsilon():
    with closing(sqlite3.connect(":memory:")) as dump:
        dump.executescript(DUMP.read_text(encoding="utf-8"))
        bodies = dict(dump.execute("select number, body from discreet_entries"))
    assert dict(read_entry(bodies[20], {}).amounts)["rho"].epsilon is None
    whole = dict(read_entry(bodies[13], {}).amounts)["rho"]
    assert whole.epsilon == 5 * 10**28
    refund = {**json.loads(bodies[13]), "amount": ["-1", "0"]}
    with pytest.raises(ValueError, match="not a whole number"):
        read_entry(json.dumps(refund), {})


THIRD = DUMP.with_name("third_version.sql")
THIRD_ANCHOR = THIRD.read_text(encoding="utf-8").partition("\n")[0].removeprefix("-- ")


class TestThirdVersion:
    @pytest.fixture(params=EVERY)
    def place(self, request, tmp_path):
        with a_place(request.param, tmp_path) as found:
            names = ("entries", "budgets", "charges")
            restore(found, THIRD, names, 4, (*SERVER_THIRD, *GONE))
            yield found

    def test_budgets_charges_answers_and_the_chain_survive(self, place):
        with Ledger(place.url, create=False) as ledger:
            assert str(ledger.verify(THIRD_ANCHOR).anchor) == THIRD_ANCHOR
            assert ledger.spent("survey") == Fraction(3, 8)
            assert ledger.spent("monthly", window="2026-11") == Fraction(1, 2)
            assert [made.number for made in ledger.history()] == [7, 5, 3]
            loss = PureDP(0.25)
            kept = ledger.reserve(
                "survey", loss, request={"what": "mode"}, analyst="ada", key="kept"
            )
            assert kept.answer.value == "Ada"
            with pytest.raises(ReservationLostError, match="charged before"):
                ledger.reserve(
                    "survey", PureDP(0.125), request={"what": "mean"}, analyst="ada", key="lost"
                )
            assert ledger.reserve("monthly", loss, request={}, window="2026-11").number == 8
            ledger.verify(THIRD_ANCHOR)

    def test_a_process_of_that_version_that_is_still_there_writes_nothing(self, place):
        """It looked at the version when it was opened; its entries have one more column."""
        Ledger(place.url, create=False).close()
        with pytest.raises(Exception, match="columns"):
            place.sql("insert into discreet_entries values (8, 'ticket', 'body', 'hash')")

    def test_a_step_that_fails_leaves_it_as_it_was(self, place, monkeypatch):
        before = place.sql("select * from discreet_entries")
        for name in ("sqlite_file.SCHEMA", "postgresql_schema.SCHEMA"):
            broken = (*SCHEMA, ("insert into discreet_nowhere values (1)",))
            monkeypatch.setattr(f"discreet.ledger.{name}", broken)
        with pytest.raises(LedgerError):
            Ledger(place.url, create=False)
        assert place.sql("select * from discreet_entries") == before
