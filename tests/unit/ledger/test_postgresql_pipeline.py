"""Values as they travel to a PostgreSQL server, and back."""

from __future__ import annotations

import pytest

from discreet.errors import LedgerError
from discreet.ledger.postgresql_connection import Pipeline, _qualified, _written, rows

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("é", "é".encode()),
        (17, b"17"),
        ([], b"{}"),
        ([1, 2], b'{"1","2"}'),
        (['a"b', "c\\d", "e,f", "NULL", None, ""], b'{"a\\"b","c\\\\d","e,f","NULL",NULL,""}'),
    ],
)
def test_values_are_written_as_the_server_reads_them(value, text):
    assert _written(value) == text


@pytest.mark.parametrize("value", ["a\0b", ["a", "b\0"]])
def test_a_text_that_would_be_cut_off_is_refused(value):
    with pytest.raises(psycopg.DataError, match="NUL"):
        _written(value)


def test_marks_are_numbered_and_tables_are_in_their_schema():
    statement = "select 1 from discreet_posts where name = ? limit ?"
    expected = 'select 1 from "my %s".discreet_posts where name = $1 limit $2'
    assert _qualified(statement, '"my %s"') == expected


class Server:
    """What libpq is asked for."""

    def __init__(self):
        self.socket, self.names = 0, []

    def send_query_params(self, text, values):
        pass

    def send_prepare(self, name, text):
        self.names.append(name)

    def send_query_prepared(self, name, values):
        pass


def test_statements_of_two_connections_have_different_names():
    """Where something in between gives two of them the same session, the statement of another
    one would be run.
    """
    servers = [Server(), Server()]
    for server in servers:
        pipeline = Pipeline(server)
        for _ in range(2):
            pipeline._send("select 1", [])
    one, other = (server.names for server in servers)
    assert len(one) == len(other) == 1
    assert one != other


class FullServer(Server):
    """A server that does not take everything at once."""

    def __init__(self):
        super().__init__()
        self.flushed = 0

    def flush(self):
        self.flushed += 1
        return self.flushed < 3

    def consume_input(self):
        pass


class Ready:
    """A wait that ends at once."""

    def modify(self, socket, events):
        pass

    def poll(self):
        pass


def test_a_forked_child_sends_nothing_of_its_parent_s():
    """A signal handler may fork while a process waits until the server takes more."""
    server = FullServer()
    pipeline = Pipeline(server)
    pipeline._ready = Ready()
    pipeline._flush()
    assert server.flushed == 3
    server.flushed = 0
    # as in a child
    pipeline._process -= 1
    with pytest.raises(LedgerError, match="must stay in its process"):
        pipeline._flush()
    assert server.flushed == 1


class Result:
    """What libpq has: text, and the number of each column's type."""

    ntuples, nfields = 2, 3
    table = (("1", "t", "x"), ("2", "f", None))

    def ftype(self, column):
        return (23, 16, 25)[column]

    def get_value(self, row, column):
        value = self.table[row][column]
        return None if value is None else value.encode()


def test_values_are_read_by_their_type():
    assert rows(Result()) == [(1, True, "x"), (2, False, None)]
