"""Files on Spark: CSV and JSON lines by the rules of `delimited` and `json_lines`.

Spark's own readers look at all rows to find columns (JSON), or refuse a file for one of
them (CSV). So Spark reads lines of text, and each line is taken apart by expressions
that have a value for every text. Where Spark and DuckDB differ, it is within one line:
see docs/reference/files.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.tables.canonical_text import MOST_ZEROS
from discreet.tables.delimited import Format, HeaderError, names_in
from discreet.tables.lines import LONGEST, NO_TEXT

_LINE, _DOCUMENT = "discreet_line", "discreet_document"
# Numbers are turned into texts that begin so, because Spark would pass them through a float.
_MARK = r"\\u0000#"
_BYTE_ORDER = "\ufeff"
# What Java needs to keep to loops where it would otherwise call itself: possessive quantifiers.
_STRING = r'"(?:[^"\\]|\\.)*+"'
_JSON_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+(?![-+.0-9eE])"
_NEXT_NUMBER = rf"\G((?:[^-\"0-9]|{_STRING})*+)({_JSON_NUMBER})"


def read_csv_on_spark(spark: Any, path: str, form: Format, person: str | None = None) -> Any:
    """Return a data frame of CSV files, each column text. All files have the header of
    the first one.

    A line that repeats the header is no row.

    person: the column whose cells say whose row it is; one that is no text says nothing.
    """
    lines = _lines(spark, path)
    first = spark.read.text(path).selectExpr("cast(value as binary)").head()
    header = _decoded(bytes(first[0]) if first is not None else b"").partition("\0")[0]
    names, separator = names_in(header.removeprefix(_BYTE_ORDER), form)
    rows = lines.where(f"{_LINE} <> {_text(header)}")
    cells = [
        f"nullif({_cell(place, separator, form)}, '') as {_name(name)}"
        for place, name in enumerate(names)
    ]
    return _of_persons(rows.selectExpr(*cells), person if person in names else None)


def read_json_on_spark(
    spark: Any, path: str, columns: Sequence[str], person: str | None = None
) -> Any:
    """Return a data frame of JSON lines with these columns as text.

    person: as in `read_csv_on_spark`.
    """
    marked = (
        f"regexp_replace({_LINE}, {_text(_NEXT_NUMBER)}, {_text(f'$1{chr(34)}{_MARK}$2{chr(34)}')})"
    )
    options = "map('allowSingleQuotes', 'false')"
    documents = _lines(spark, path).where(f"startswith(ltrim({_LINE}), '{{')")
    parsed = documents.selectExpr(
        f"from_json({marked}, 'map<string,string>', {options}) as {_DOCUMENT}"
    )
    cells = [f"{_spelling(name)} as {_name(name)}" for name in dict.fromkeys(columns)]
    return _of_persons(parsed.where(f"{_DOCUMENT} is not null").selectExpr(*cells), person)


def _lines(spark: Any, path: str) -> Any:
    """The lines of files: a line feed or a carriage return ends one, and so does the
    character 0.
    """
    lines = spark.read.text(path).selectExpr(
        f"substring_index(make_valid_utf8(value), char(0), 1) as {_LINE}"
    )
    return lines.where(f"{_LINE} <> '' and octet_length({_LINE}) <= {LONGEST}")


def _of_persons(frame: Any, person: str | None) -> Any:
    """A data frame of a file without the rows whose person is no text."""
    if person is None:
        return frame
    return frame.where(f"not coalesce(contains({_name(person)}, {_text(NO_TEXT)}), false)")


def _decoded(first: bytes) -> str:
    try:
        return first.decode()
    except UnicodeDecodeError:
        raise HeaderError("The first line is not valid UTF-8.") from None


def _cell(place: int, separator: str, form: Format) -> str:
    comma = f"\\x{{{ord(separator):x}}}"
    easy = f"get(split({_LINE}, {_text(comma)}, -1), {place})"
    if not form.quoted:
        return easy
    # as in `delimited`, but \z for the end, because $ may stand before a line break that is
    # none here
    pairs, rest = r'(?:"[^"]*+(?:"|\z))*+', f'(?:[^"{comma}][^{comma}]*+)?+'
    pattern = f'^(?:{pairs}{rest}{comma}){{{place}}}+(?:"((?:[^"]|"")*+)"?+)?+({rest})'
    if place == 0:
        pattern = f'^(?:"((?:[^"]|"")*+)"?+)?+({rest})'
    within, after = (f"regexp_extract({_LINE}, {_text(pattern)}, {group})" for group in (1, 2))
    hard = f"""concat(replace({within}, '""', '"'), {after})"""
    return f"case when contains({_LINE}, '\"') then {hard} else {easy} end"


def _spelling(name: str) -> str:
    """SQL for the text of a value: a number in the spelling of `discreet.tables.canonical_text`."""
    value = f"{_DOCUMENT}[{_text(name)}]"
    # numbers within lists and objects get their quotes and marks off again
    marked = _text(r'"\\u0000#([-+.0-9eE]+)"')
    return (
        f"case when startswith({value}, concat(char(0), '#')) then "
        f"{_digits(f'substring({value}, 3)')} "
        f"when {value} in ('\"NaN\"', '\"Infinity\"', '\"-Infinity\"') then null "
        f"else regexp_replace({value}, {marked}, '$1') end"
    )


def _digits(number: str) -> str:
    """SQL for the one spelling of a number. A transformed list of one thing gives a name to it."""
    whole, fraction, exponent = (
        f"regexp_extract(n, {_text(pattern)}, 1)"
        for pattern in ("^-?([0-9]+)", "[.]([0-9]+)", "[eE][+]?(-?[0-9]+)$")
    )
    digits = f"trim(leading '0' from concat({whole}, {fraction}))"
    short = f"trim(trailing '0' from {digits})"
    power = (
        f"coalesce(try_cast({exponent} as bigint), 0L) - length({fraction}) + length({digits}) - "
        f"length({short})"
    )
    parts = f"n -> struct(n, {short} as short, {power} as power, {_is_usual('n')} as usual)"
    return f"transform(transform(array({_rounded(number)}), {parts}), p -> {_WRITTEN})[0]"


def _is_usual(number: str) -> str:
    size = f"abs(try_cast({number} as double))"
    return f"({size} >= 0.0001 and {size} < 1e15)"


def _rounded(number: str) -> str:
    """SQL for a number whose fraction has no more digits than a float; empty where it
    is no number.
    """
    is_number = _text(r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,15})?\z")
    digits = f"length(regexp_replace({number}, '[eE].*|[^0-9]', ''))"
    shorter = f"cast(try_cast({number} as double) as string)"
    usual = f"case when {digits} > 15 and {_is_usual(number)} then {shorter} else {number} end"
    return f"case when {number} rlike {is_number} then {usual} end"


_SIGN = "if(startswith(p.n, '-'), '-', '')"
_POINT = (
    "if(length(p.short) > -p.power, "
    "concat(substring(p.short, 1, cast(length(p.short) + p.power as int)), '.', "
    "substring(p.short, cast(length(p.short) + p.power + 1 as int))), "
    "concat('0.', repeat('0', cast(-p.power - length(p.short) as int)), p.short))"
)
_WRITTEN = (
    f"case when p.n is null then null when p.short = '' then '0' "
    f"when p.power between 0 and {MOST_ZEROS} then concat({_SIGN}, p.short, repeat('0', "
    "cast(p.power as int))) "
    f"when p.usual then concat({_SIGN}, {_POINT}) else concat({_SIGN}, p.short, 'e', p.power) end"
)


def _name(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _text(value: str) -> str:
    """A text as Spark's SQL writes it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
