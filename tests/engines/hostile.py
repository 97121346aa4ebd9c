"""Rows that somebody might put into a table to see what happens."""
# ruff: noqa: RUF001 (characters that look like others are the point)

from __future__ import annotations

from engines.people import row
from engines.tables import Row

SOMEBODY = 5000  # a person whom no other row has

_TEXTS_THAT_ARE_NO_NUMBERS = [
    "abc", "", " ", "-", "+", ".", "e", "1e999", "-1e999", "1e", "0x10", "0b1", "1_000", "1,5", "1 2", "1.2.3", "--5", "+-5", "5.",
    ".5", "inf", "-Infinity", "nan", "NaN", "NULL", "None", "null", "true", "１２", "٣", "½", "∞", "7\n", "\n7", "7\r", "\t7", "7\u2028", "7\x85",
    "\u00a07", "7\u200b", "7;8", "7'8", '7"8', "7%", "$7", "1e+400", "1e-400", "9" * 400, "7" + " " * 50 + "8", "1d", "1f", "7L", "\ufeff7",
]  # fmt: skip
_TEXTS_THAT_ARE_NUMBERS = [
    " 7 ", "+5", "-5", "-0", "-0.0", "0007", "1e2", "1E+02", "1e99", "-1e99", "1e-99", "9" * 25, "0." + "3" * 30, "100000", "4.0",
]  # fmt: skip
_LABELS = [
    "", " ", "ADA", "ada", " Ada", "Ada ", "Ada\n", "Ada\t", "A\u0301da", "Аda", "Ada\u200b", "\ufeffAda", "'Ada'", '"Ada"', '"', "'", '""', "\\", "\\N",
    "Ada,Bob", "Ada;Bob", "Ada\nBob", "Ada\r\nBob", "# Ada", "-- Ada", "'; drop table events; --", "%s", "%", "_", "{0}", "${Ada}", "NULL", "nan",
    "🦊", "👩‍👩‍👧", "\u202eadA", "\U0010ffff", "\x01", "\x7f", "x" * 100_000, "Ada" * 1000,
]  # fmt: skip
_PRICES = [
    float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1.7976931348623157e308, 5e-324, -0.0, 0.0, -5.0, 1e6, 1e17, 0.1 + 0.2,
]  # fmt: skip
_AMOUNTS = [2**63 - 1, -(2**63), 2**53 + 1, 0, -1, 10**18]


def hostile_rows() -> dict[str, Row]:
    """Each row by what is wrong with it; each as one more person, who is otherwise like everybody else."""
    rows = {f"no {name}": row(SOMEBODY, **{name: None}) for name in ("item", "price", "said", "amount", "vote", "city")}
    rows["nothing at all"] = row(SOMEBODY) | dict.fromkeys(["item", "price", "said", "amount", "vote", "city"])
    rows["nobody"] = row(None)
    rows["person -1"], rows["person -2^63"], rows["person 2^63 - 1"] = row(-1), row(-(2**63)), row(2**63 - 1)
    for name, values in {
        "said": _TEXTS_THAT_ARE_NO_NUMBERS + _TEXTS_THAT_ARE_NUMBERS,
        "item": _LABELS,
        "price": _PRICES,
        "amount": _AMOUNTS,
    }.items():
        rows |= {f"{name} {place}: {ascii(value)[:20]}": row(SOMEBODY, **{name: value}) for place, value in enumerate(values)}
    return rows


HOSTILE = hostile_rows()

CONTROL = {"item: the character 0": row(SOMEBODY, item="A\0da"), "said: the character 0": row(SOMEBODY, said="7\0")}
"""Not where text cannot have it (PostgreSQL)."""
UNTYPED = {
    f"{name}: {ascii(value)[:20]}": row(SOMEBODY, **{name: value})
    for name in ("price", "amount", "vote")
    for value in ("abc", "1e999", " 7 ", "１２", "", "0x10", "2026-11-16", "'; drop table events; --", "🦊")
}
"""Text in columns of numbers, where columns have no types."""
