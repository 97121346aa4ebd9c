"""A ledger on a server: what a lone process writes ahead."""

from __future__ import annotations

import pytest

from discreet.ledger.chain import START
from discreet.ledger.operations import Note
from discreet.ledger.postgresql import _carry_out_ahead
from discreet.ledger.transaction import Memory

psycopg = pytest.importorskip("psycopg")

NOTE = Note(ticket="t", time="", dataset="survey", what={})


class Failing:
    """A connection where one of the statements that travel together fails.

    warned: whether the server had warned before: the commit did not reach the standby.
    """

    def __init__(self, error, warned):
        self.error, self.warned, self.is_undone = error, warned, False
        self.memory = Memory(START, {}, {}, {})

    def ask(self, questions):
        raise self.error

    def rollback(self):
        self.is_undone = True


ERRORS = [psycopg.errors.UniqueViolation(), psycopg.errors.LockNotAvailable()]


@pytest.mark.parametrize("error", ERRORS)
def test_what_cannot_be_written_ahead_goes_the_usual_way(error):
    connection = Failing(error, warned=False)
    assert _carry_out_ahead(connection, [NOTE]) is None
    assert connection.is_undone
    assert connection.memory is None


@pytest.mark.parametrize("error", ERRORS)
def test_a_commit_that_missed_its_standby_does_not_go_the_usual_way(error):
    """There it would be found in the chain, and acknowledged."""
    connection = Failing(error, warned=True)
    with pytest.raises(type(error)):
        _carry_out_ahead(connection, [NOTE])
    assert connection.memory is None
