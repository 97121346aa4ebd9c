"""Entries and sums that somebody has changed by hand: each is named, with the next step, and
nothing raises a bare error.
"""

from __future__ import annotations

import json

import pytest
from faults.ledgers import File

from discreet import ApproxDP, Ledger, PureDP, Release
from discreet.errors import LedgerDamagedError
from discreet.ledger.chain import START, Anchor, canonical, link

NEXT = r"\. Got .*\. Run discreet ledger verify\.$"
ASK = {"what": "mode"}


@pytest.fixture
def place(tmp_path):
    return File(tmp_path)


@pytest.fixture
def ledger(place):
    """Entries: 1 open, 2 reserve, 3 settle, 4 open, 5 reserve in a window."""
    with Ledger(place.url) as opened:
        opened.open("survey", budget=PureDP(1))
        answer = Release(value="Ada", loss=PureDP(0.1), mechanism="test", candidates=2)
        ask(opened).settle(answer)
        opened.open("clicks", budget=ApproxDP(1, 1e-6), windows=True)
        opened.reserve("clicks", ApproxDP(0.1, 1e-8), request=ASK, window="may")
        yield opened


def ask(ledger):
    return ledger.reserve("survey", PureDP(0.1), request=ASK, key="k-1", replayable=True)


def without_rules(place, table):
    """The same table without its rules, as a hasty repair leaves it behind: every value may be
    missing.
    """
    place.sql(f"create table hasty as select * from {table}")
    place.sql(f"drop table {table}")
    place.sql(f"alter table hasty rename to {table}")


def forge(place, number, change):
    """Change the text of an entry, and all hashes from there on."""
    head = START
    for found, body in place.sql("select number, body from discreet_entries order by number"):
        text = change(json.loads(body)) if found == number else body
        head = link(head, text)
        place.sql(
            "update discreet_entries set body = ?, hash = ? where number = ?",
            text,
            head.hash,
            found,
        )


def test_a_ledger_that_nobody_touched_is_read(ledger):
    (one,), (two,) = ledger.history("survey"), ledger.history("clicks")
    assert (one.number, one.settled, two.number, two.settled) == (2, True, 5, False)
    assert len(ledger.accounts()) == 3


ENTRIES = {
    "no JSON": "body = 'x'",
    "nothing": "body = ''",
    "half of it": "body = substr(body, 1, 40)",
    "a list": "body = '[]'",
    "a number": "body = '7'",
    "another key": "body = replace(body, 'k-1', 'k-9')",
    "a field is gone": """body = replace(body, '"dataset"', '"gone"')""",
    "another time": """body = replace(body, '"time":"2', '"time":"x')""",
    "one more space": "body = body || ' '",
    "bytes": "body = cast(body as blob)",
    "no text at all": "body = cast(x'ff00fe' as text)",
    "JSON without end": f"body = '{'[' * 100_000}'",
    "another hash": "hash = replace(hash, substr(hash, 1, 1), 'x')",
    "no hash": "hash = ''",
    "a hash of bytes": "hash = x'00'",
}


@pytest.mark.parametrize("what", ENTRIES)
@pytest.mark.parametrize("number", [2, 3])
def test_a_changed_entry_is_named(ledger, place, what, number):
    place.sql(f"update discreet_entries set {ENTRIES[what]} where number = {number}")
    named = rf"^Entry {number} of the ledger {place.url} must .*{NEXT}"
    for read in (lambda: ledger.history("survey"), ledger.history) if number == 2 else ():
        with pytest.raises(LedgerDamagedError, match=named):
            read()
    with pytest.raises(LedgerDamagedError, match=rf"^Entry [234] of the ledger .*{NEXT}"):
        ledger.entries()
    with pytest.raises(LedgerDamagedError, match=f"^Entry {number} of the ledger"):
        ledger.verify()


@pytest.mark.parametrize("column", ["body", "hash"])
def test_an_entry_with_a_missing_value_is_named(ledger, place, column):
    without_rules(place, "discreet_entries")
    place.sql(f"update discreet_entries set {column} = null where number = 2")
    with pytest.raises(LedgerDamagedError, match=r"^Entry 2 of the ledger"):
        ledger.history("survey")


@pytest.mark.parametrize(
    "missing", ["delete from discreet_entries", "update discreet_entries set number = null"]
)
def test_a_missing_entry_is_named(ledger, place, missing):
    without_rules(place, "discreet_entries")
    place.sql(f"{missing} where number = 2")
    with pytest.raises(
        LedgerDamagedError,
        match=r"^Entry 2 of the ledger .* must have its original hash",
    ):
        ledger.history("survey")


def put(**fields):
    return lambda entry: canonical({**entry, **fields})


def drop(name):
    return lambda entry: canonical(
        {other: value for other, value in entry.items() if other != name}
    )


FORGED = {
    "no JSON": lambda entry: "x",
    "a list": lambda entry: "[]",
    "JSON without end": lambda entry: "[" * 100_000,
    **{
        f"no {name}": drop(name)
        for name in (
            "do",
            "dataset",
            "analyst",
            "windows",
            "loss",
            "amounts",
            "request",
            "key",
            "time",
        )
    },
    "no such loss": put(loss={"kind": "x"}),
    "a loss that is no loss": put(loss="0.1"),
    "an amount in words": put(amounts=[["epsilon", ["much", "0", "0"]]]),
    "half an amount": put(amounts=[["epsilon", ["1"]]]),
    "no amount at all": put(amounts=[]),
    "a time in words": put(time="yesterday"),
    "a time that is a number": put(time=7),
    "windows that are no list": put(windows="may"),
    "a request that is a list": put(request=["mode"]),
    "a key that is a number": put(key=7),
}


@pytest.mark.parametrize("what", FORGED)
def test_an_entry_that_was_never_written_is_named_even_with_a_right_hash(ledger, place, what):
    forge(place, 2, FORGED[what])
    with pytest.raises(
        LedgerDamagedError, match=rf"^Entry 2 of the ledger .* must be as it was written{NEXT}"
    ):
        ledger.history("survey")
    with pytest.raises(LedgerDamagedError, match=r"^Entry 2 of the ledger"):
        ledger.verify()


@pytest.mark.parametrize("of", [99, 1, None, [2], "2"])
def test_an_answer_to_nothing_is_named(ledger, place, of):
    forge(place, 3, put(of=of))
    with pytest.raises(LedgerDamagedError, match=r"^Entry 3 of the ledger"):
        ledger.verify()


def test_forging_alone_is_no_damage(ledger, place):
    before = ledger.history("survey")
    forge(place, 2, canonical)
    assert ledger.history("survey") == before
    assert Anchor.read(ledger.anchor()).number == 5


SUMS = {
    "terms that are no JSON": "terms = 'x'",
    "terms that are a list": "terms = '[]'",
    "terms without a budget": """terms = replace(terms, '"budget"', '"gone"')""",
    "terms with another kind of budget": "terms = replace(terms, 'pure-dp', 'pure')",
    "terms with a budget below nothing": (
        """terms = replace(terms, '"epsilon":"1"', '"epsilon":"-1"')"""
    ),
    "terms without windows": """terms = replace(terms, '"windows"', '"gone"')""",
    "terms with windows in words": "terms = replace(terms, 'false', '\"no\"')",
    "terms without a delta": """terms = replace(terms, '"delta_for_losses"', '"gone"')""",
    "terms of bytes": "terms = cast(terms as blob)",
    "terms without end": f"terms = '{'[' * 100_000}'",
    "an empty sum": "epsilon_spent = ''",
    "a sum of bytes": "epsilon_spent = x'00'",
    "a sum below nothing": "epsilon_spent = '-1'",
    "a sum that is no number": "squares_spent = 'much'",
    "a sum above the limit": "epsilon_spent = epsilon_spent || '00'",
    "a delta above the limit": "delta_spent = '1'",
}


@pytest.mark.parametrize("what", SUMS)
def test_a_changed_budget_is_named(ledger, place, what):
    place.sql(f"update discreet_budgets set {SUMS[what]} where dataset = 'survey'")
    for read in (
        ledger.accounts,
        lambda: ledger.account("survey"),
        lambda: ledger.remaining("survey"),
    ):
        with pytest.raises(LedgerDamagedError, match=rf"budget of 'survey' must be .*{NEXT}"):
            read()
    assert ledger.account("clicks", window="may").spent > 0
    with pytest.raises(LedgerDamagedError, match="'survey'"):
        ledger.verify()


@pytest.mark.parametrize("what", [name for name in SUMS if name.startswith("terms")])
def test_nothing_is_charged_to_terms_that_were_changed(ledger, place, what):
    place.sql(f"update discreet_budgets set {SUMS[what]} where dataset = 'survey'")
    with Ledger(place.url) as fresh:  # the other one knows the terms from before
        for use in (
            lambda: fresh.open("survey", budget=PureDP(1)),
            lambda: fresh.extend("survey", budget=PureDP(2), reason="More."),
            lambda: fresh.reserve("survey", PureDP(0.1), request=ASK),
        ):
            with pytest.raises(LedgerDamagedError, match=rf"budget of 'survey' must be .*{NEXT}"):
                use()
    assert len(place.sql("select * from discreet_charges where dataset = 'survey'")) == 1


def test_a_window_and_an_analyst_are_named_too(ledger, place):
    ledger.open("clicks", budget=ApproxDP(0.5, 1e-7), analyst="ada")
    ledger.reserve("clicks", ApproxDP(0.1, 1e-8), request=ASK, window="may", analyst="ada")
    place.sql(
        "update discreet_budgets set epsilon_spent = 'x' where analyst = 'ada' and slot = 'may'"
    )
    with pytest.raises(LedgerDamagedError, match=r"budget of 'clicks' for 'ada' in 'may' must"):
        ledger.accounts()


@pytest.mark.parametrize("column", ["dataset", "terms", "epsilon_spent"])
def test_a_budget_with_a_missing_value_is_named(ledger, place, column):
    without_rules(place, "discreet_budgets")
    place.sql(f"update discreet_budgets set {column} = null where dataset = 'survey'")
    with pytest.raises(
        LedgerDamagedError,
        match=r"budget of ('survey'|None) must be .* Run discreet ledger verify\.$",
    ):
        ledger.accounts()


@pytest.mark.parametrize("answer", ["x", "", "{}", "[]", "[" * 100_000])
def test_an_answer_that_was_changed_is_not_given(ledger, place, answer):
    place.sql("update discreet_charges set answer = ?", answer)
    with pytest.raises(
        LedgerDamagedError, match=rf"^The answer that is kept for entry 2 of the ledger .*{NEXT}"
    ) as refused:
        ask(ledger)
    assert refused.value.__cause__ is None
