"""Rows that somebody might put into a table to see what happens."""
# ruff: noqa: RUF001, E501

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import date

import narwhals as nw
from engines.people import HONEST, row
from engines.tables import Row, open_rows

SOMEBODY = 5000  # a person whom no other row has
CELLS = ("item", "price", "said", "amount", "vote", "city", "born")

# the first ones of each list are tried one by one, all of them together (and one by one in
# the long run)
_SAID = [
    "abc", "", "1e999", "0x10", " 7 ", "１２", "inf", "nan", (
        "7\n"
    ), "7\u2028", "1,5", "9" * 400, "1e99", "-5", "+5",
    " ", "-", "+", ".", "e", "-1e999", "1e", "0b1", "1_000", (
        "1 2"
    ), "1.2.3", "--5", "+-5", "5.", ".5", "-Infinity", "NaN", "NULL", "None", "null", "true",
    "٣", "½", "∞", "\n7", "7\r", "\t7", "7\x85", "\u00a07", (
        "7\u200b"
    ), "7;8", "7'8", '7"8', "7%", "$7", "1e+400", "1e-400", "7" + " " * 50 + "8", "1d", "1f",
    "7L", "\ufeff7", "-0", "-0.0", "0007", "1e2", "1E+02", (
        "-1e99"
    ), "1e-99", "9" * 25, "0." + "3" * 30, "100000", "4.0",
]  # fmt: skip
_ITEMS = [
    "", "ADA", "Ada ", '"Ada"', "'; drop table events; --", (
        "Ada,Bob"
    ), "Ada\nBob", "^A.*[a", "🦊", "x" * 100_000, "NULL", "\x01", '"', "\\N", "A\u0301da",
    " ", "ada", " Ada", "Ada\n", "Ada\t", "Ada;Bob", "# Ada", (
        "(Ada|Bob)"
    ), ".*", "$", "\\1", "a" * 30 + "!", "Аda", "Ada\u200b", (
        "\ufeffAda"
    ), "'Ada'", "'", '""', "\\", "Ada\r\nBob", "-- Ada", "%s", "%", "_",
    "{0}", "${Ada}", "None", "nan", "👩‍👩‍👧", "\u202eadA", "\U0010ffff", "\x7f", "Ada" * 1000,
]  # fmt: skip
_PRICES = [
    float("nan"), float("inf"), float("-inf"), 1e308, -1e308, -0.0, -5.0, 1e6, 1.7976931348623157e308, 5e-324, 0.0, 1e17, 0.1 + 0.2,
]  # fmt: skip
_BIRTHDAYS = [date.min, date.max, date(1582, 10, 10), date(1900, 1, 1)]
_AMOUNTS = [2**63 - 1, -(2**63), 2**53 + 1, -1, 0, 10**18]
_FIRST = {"said": 15, "item": 15, "price": 8, "amount": 4, "born": 3}


def hostile_rows(first: bool) -> dict[str, Row]:
    """Each row by what is wrong with it; each as one more person, who is otherwise like everybody
    else.
    """
    rows = {f"no {name}": row(SOMEBODY, **{name: None}) for name in CELLS}
    rows["nothing at all"] = row(SOMEBODY) | dict.fromkeys(CELLS)
    rows["nobody"] = row(None)
    rows["nothing unusual"] = row(SOMEBODY)
    rows["person -1"], rows["person -2^63"], rows["person 2^63 - 1"] = (
        row(-1),
        row(-(2**63)),
        row(2**63 - 1),
    )
    for name, values in {
        "said": _SAID,
        "item": _ITEMS,
        "price": _PRICES,
        "amount": _AMOUNTS,
        "born": _BIRTHDAYS,
    }.items():
        for value in values[: _FIRST[name]] if first else values:
            rows[f"{name} {ascii(value)[:30]}"] = row(SOMEBODY, **{name: value})
    return rows


FEW, ALL = hostile_rows(first=True), hostile_rows(first=False)

CONTROL = {
    "item: the character 0": row(SOMEBODY, item="A\0da"),
    "said: the character 0": row(SOMEBODY, said="7\0"),
}
"""Not where text cannot have it (PostgreSQL)."""
_TEXTS = ("abc", "1e999", " 7 ", "１２", "", "0x10", "2026-11-16", "'; drop table events; --", "🦊")
UNTYPED = {f"price {value!a}": row(SOMEBODY, price=value) for value in _TEXTS} | {
    "amount 'abc'": row(SOMEBODY, amount="abc")
}
"""Text in columns of numbers, where columns have no types."""

NAMES = [
    "1", "1.0", " 1", "01", "1e0", "", " ", "nan", "NaN", (
        "NULL"
    ), "None", "\\N", "É", "E\u0301", "e", "E", "🦊", "'; drop table events; --", "x" * 10_000,
]  # fmt: skip
"""Persons who are text. No two of them are the same person."""
WEIGHTS = [0.0, -0.0, 1.0, float("nan"), float("inf"), float("-inf"), 5e-324, 2.0**53, -1e308]
"""Persons who are floats. NaN is nobody, and the zeros are one person."""


def possible(engine, rows):
    """The hostile rows that can be in a table of this engine."""
    more = (CONTROL if engine.name != "postgres" else {}) | (UNTYPED if not engine.typed else {})
    return {what: each for what, each in (rows | more).items() if engine.holds(each)}


def crowd_of_hostile_persons(hostile_rows):
    """The honest rows, and each hostile one as another person."""
    rows = list(HONEST)
    for place, hostile in enumerate(hostile_rows.values()):
        rows.append(
            hostile | ({"person": SOMEBODY + place} if hostile["person"] == SOMEBODY else {})
        )
    return rows


def halves_of(rows):
    """As few lists as can be, of which each row is in half, and no two rows in the same ones."""
    size = next(size for size in range(2, 99, 2) if math.comb(size, size // 2) >= len(rows))
    places = itertools.combinations(range(size), size // 2)
    where = list(zip(rows, places, strict=False))
    return [[row for row, its in where if place in its] for place in range(size)]


def with_each(engine, worlds, place):
    """For each list of hostile rows a table of the honest rows and these; or one table of all,
    seen through a condition.
    """
    if engine.name in ("csv", "csv-multiline", "json", "duckdb", "arrow", "pandas-objects"):
        for hostile in worlds:
            yield open_rows(engine, [*HONEST[:20], *hostile, *HONEST[20:]], place)
        return
    rows = list({id(row): row for world in worlds for row in world}.values())
    numbers = {id(row): number for number, row in enumerate(rows, start=1)}
    table = open_rows(
        engine, [*HONEST, *(row | {"world": numbers[id(row)]} for row in rows)], place
    )
    for hostile in worlds:
        seen = [0, *(numbers[id(row)] for row in hostile)]
        yield replace(table, where=nw.col("world").is_in(seen))
