"""The tables: what many operations have to know is asked at once, and never by reading a whole
table.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from discreet import BudgetExceededError, Ledger, PureDP
from discreet.ledger import transaction
from discreet.ledger.schema import DEFINITIONS
from discreet.ledger.transaction import Balance, Scope, Transaction

BOUND = transaction._MOST_REMEMBERED
ASKED = {1: 1, 2: 2, 3: 4, 64: 64, 65: 128, 128: 128, 300: 128 + 128 + 64}


class Watched:
    """The tables of a new ledger, and all questions that were asked."""

    def __init__(self, connection):
        self.connection, self.batches = connection, []

    def ask(self, questions):
        self.batches.append(questions)
        return [
            self.connection.execute(statement, values).fetchall() for statement, values in questions
        ]

    def plans(self):
        for statement, values in (question for batch in self.batches for question in batch):
            for *_, step in self.connection.execute(f"explain query plan {statement}", values):
                yield statement, step


@pytest.fixture
def tables():
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in DEFINITIONS:
            connection.execute(statement)
        for number in range(1, 401):
            key = f"k{number % 200}"
            connection.execute(
                "insert into discreet_entries values (?, ?, '')", (number, f"t{number}")
            )
            connection.execute(
                "insert into discreet_charges values (?, ?, '', ?, 0, '', 'reserved', null)",
                (number, f"d{number // 201}", key),
            )
        yield Watched(connection)


@pytest.mark.parametrize("how_many", ASKED)
def test_everything_is_asked_at_once_and_found(tables, how_many):
    rows = Transaction(tables)
    keys = [(f"d{number % 2}", "", f"k{number % 250}") for number in range(how_many)]
    rows.look_up(keys, {Scope("d0"), Scope("d1", "ada", "may")})
    for dataset, analyst, key in keys:
        found = rows.request((dataset, analyst, key))
        assert (found is not None) == (int(key[1:]) < 200), (dataset, key)
        assert found is None or found.place == (dataset, analyst, key)
    assert rows.head().number == 400
    assert not rows.has_analysts("d1")
    assert len(tables.batches) == 1
    # a budget that is not there is looked for once more, without the index
    assert (rows.balance(Scope("d0")), rows.balance(Scope("d0"))) == (None, None)
    assert len(tables.batches) == 2


@pytest.mark.parametrize("how_many", ASKED)
def test_no_table_is_read_as_a_whole(tables, how_many):
    """Else each charge would take longer the more there were before."""
    keys = [(f"d{number % 2}", "", f"k{number}") for number in range(how_many)]
    Transaction(tables).look_up(keys, {Scope("d0"), Scope("d1", "ada", "may")})
    steps = [step for _, step in tables.plans() if step.startswith(("SCAN", "SEARCH"))]
    assert steps
    # the end of the chain is the first row of a scan in its order
    assert {step for step in steps if step.startswith("SCAN")} <= {"SCAN discreet_entries"}
    requests = [step for step in steps if "discreet_charges" in step]
    assert requests
    assert all("(dataset=? AND analyst=? AND request_key=?)" in step for step in requests)


@pytest.mark.parametrize("how_many", ASKED)
def test_entries_are_found_by_their_texts(tables, how_many):
    """In few statements that differ, so that a database can keep them prepared."""
    texts = [f"t{number}" for number in range(1, how_many)] + ["unknown"]
    expected = {f"t{number}": number for number in range(1, how_many)}
    assert Transaction(tables).numbers_of(texts) == expected
    asked = [values for batch in tables.batches for _, values in batch]
    assert sum(map(len, asked)) == ASKED[how_many]
    assert all(len(values).bit_count() == 1 for values in asked)


class TestMemory:
    def test_what_was_known_is_not_asked_again(self, tables):
        rows = Transaction(tables)
        rows.look_up([("d0", "", "k1")], {Scope("d0")})
        rows.put_balance(Scope("d0"), Balance("terms"))
        tables.batches.clear()
        later = Transaction(tables, rows.memory())
        later.look_up([("d0", "", "k1")], {Scope("d0")})
        assert tables.batches == []
        assert later.balance(Scope("d0")) == Balance("terms")
        assert later.request(("d0", "", "k1")).number == 201 - 200
        assert later.head() == rows.head()

    def test_answers_and_keys_that_are_not_there_are_forgotten(self, tables):
        rows = Transaction(tables)
        kept, ended, absent = ("d0", "", "k1"), ("d0", "", "k2"), ("d0", "", "unknown")
        rows.look_up([kept, ended, absent], ())
        assert rows.end(ended, 2, "settled", "a long answer")
        assert list(rows.memory().requests) == [kept]

    def test_what_was_ended_later_is_forgotten_too(self, tables):
        first = Transaction(tables)
        first.look_up([("d0", "", "k2")], ())
        later = Transaction(tables, first.memory())
        assert later.end(("d0", "", "k2"), 2, "settled", "a long answer")
        assert later.memory().requests == {}

    def test_the_memory_has_an_end(self, tables):
        rows = Transaction(tables)
        rows.head()
        # a batch may bring many at once
        for number in range(3 * BOUND):
            rows.presume_new([("d", "", str(number))])
            rows.add_request(("d", "", str(number)), 1000 + number, "")
        kept = list(rows.memory().requests)
        assert (len(kept), kept[-1]) == (BOUND // 2, ("d", "", str(3 * BOUND - 1)))
        for number in range(BOUND + 1):
            rows.put_balance(Scope(str(number)), Balance(""))
        assert rows.memory() is None


def test_what_another_connection_wrote_into_a_file_is_not_remembered_otherwise(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("survey", budget=PureDP(1))
        for _ in range(3):
            ledger.reserve("survey", PureDP(0.1), request={"what": "mode"})
        with closing(sqlite3.connect(tmp_path / "budget.db")) as other, other:
            other.execute("update discreet_budgets set epsilon_spent = ?", (str(10**30),))
        with pytest.raises(BudgetExceededError):
            ledger.reserve("survey", PureDP(0.1), request={"what": "mode"})
