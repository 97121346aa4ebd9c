"""One instance of DuckDB for many tables, and another one after a while."""

import weakref

from discreet.tables import duckdb_connection
from discreet.tables.duckdb_connection import connect


def instance():
    return duckdb_connection._INSTANCE[0]


def test_an_instance_is_replaced_after_some_connections_and_ends_with_the_last_of_them(monkeypatch):
    monkeypatch.setattr(duckdb_connection, "_MOST_CONNECTIONS", 3)
    monkeypatch.setattr(duckdb_connection, "_INSTANCE", [])
    monkeypatch.setattr(duckdb_connection, "_MADE", [0])
    monkeypatch.setattr(duckdb_connection, "_USED", weakref.WeakSet())
    first = [connect("Reading files") for _ in range(5)]
    old = weakref.ref(instance())
    # those that are used at the same time are together
    assert first[4].execute("select 1").fetchall() == [(1,)]
    del first[3:]
    assert (duckdb_connection._MADE, len(duckdb_connection._USED)) == ([5], 3)
    first.pop(1).close()
    first[0].execute("create table memory.main.seen as select 7 as number")
    new = connect("Reading files")
    assert old() is None
    # those who have it keep it
    assert first[1].execute("select number from memory.main.seen").fetchall() == [(7,)]
    found = new.execute("select count(*) from duckdb_tables() where table_name = 'seen'")
    assert found.fetchall() == [(0,)]
    for connection in first:
        connection.close()
    assert new.execute("select 1").fetchall() == [(1,)]
