"""How files are read, slowly: bytes in, rows out, one line at a time, with nothing but the
standard library.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

LONGEST = 2**20
"""Lines of more bytes are left out."""


def lines(content: bytes, encoding: str = "utf-8") -> Iterator[str | None]:
    """Each line as text, with U+FFFD for bytes that are none."""
    for line in re.split(rb"[\r\n]", content.removeprefix(b"\xef\xbb\xbf")):
        text = line.partition(b"\0")[0].decode(encoding, "replace")
        yield text if len(text.encode()) <= LONGEST else ""


def csv_rows(
    content: bytes, separator: str = ",", encoding: str = "utf-8"
) -> list[tuple[str | None, ...]]:
    """The rows of a CSV file below its header line."""
    header, *rest = lines(content, encoding)
    width = len(cells(header, separator))
    padded = [[*cells(line, separator), *[""] * width][:width] for line in rest if line]
    return [tuple(cell or None for cell in row) for row in padded]


def cells(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    csv.field_size_limit(LONGEST)
    return next(csv.reader([line], delimiter=separator))


class Number(str):
    """The digits of a number in a JSON document."""

    __slots__ = ()


def json_rows(content: bytes, columns: list[str]) -> list[tuple[str | None, ...]]:
    """The objects of a file of JSON lines; a line that Python cannot read is none."""
    found = []
    for line in lines(content):
        try:
            document = json.loads(
                line, parse_float=Number, parse_int=Number, object_pairs_hook=_first
            )
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found.append(tuple(spelling(document.get(name)) for name in columns))
    return found


def _first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def spelling(value: Any) -> str | None:
    """A scalar of JSON as text."""
    if isinstance(value, Number):
        return number(Decimal(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or value is None:  # NaN and infinities
        return None
    return value


def number(value: Decimal) -> str:
    """The one spelling of a number."""
    if value == 0 or float(value) == 0:
        return "0"
    sign, digits, power = value.as_tuple()
    text = "".join(map(str, digits))
    short = text.rstrip("0")
    power += len(text) - len(short)
    if 0 <= power <= 400:
        return "-" * sign + short + "0" * power
    if Decimal("0.0001") <= abs(value) < 10**15:
        return repr(float(value)).removesuffix(".0")
    return f"{'-' * sign}{short}e{power}"
