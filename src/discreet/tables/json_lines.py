"""JSON lines: each line an object, read by itself; the columns are those that are asked for.

There is no header, and the keys of one line are a matter of that line. So a file of
JSON lines has every column that anybody asks for, as text, empty where a line has no
such key. Of a key that is there twice the first counts. A line that is no object, or no
JSON, is left out.

Numbers are text in one spelling (`discreet.tables.canonical_text`), so 1, 1.0 and 1e0
are one person, and the same as "1". Text is itself. Truth values are "true" and
"false"; lists and objects their JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.tables.canonical_text import MOST_ZEROS
from discreet.tables.lines import NO_COLUMN, lines, list_name, quoted, text

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,15})?$"
# Strings, numbers, and everything between them: all of a line, in its order.
_TOKEN = r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*|[^-"0-9]+|-'


class EveryColumn(Mapping[str, Any]):
    """The columns of JSON lines: any name is one of them, and none of them is listed."""

    def __getitem__(self, name: str) -> nw.dtypes.DType:
        import narwhals as nw

        return nw.String()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "every column"


def read_objects(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    columns: Sequence[str],
    lists: Sequence[str] = (),
) -> duckdb.DuckDBPyRelation:
    """Return the objects in files of JSON lines, with these columns as text.

    files: names of files, as patterns of DuckDB.
    lists: columns that are there a second time, by `list_name`, with lists of texts: of
        what is no list, of that one thing.
    """
    rows = f"select try_cast(line as json) as document from ({lines(files)})"
    found = (
        f"select document{_columns(columns, _FOUND)} from ({rows}) where json_type(document) = "
        "'OBJECT'"
    )
    numbers = f"select *{_columns(columns, _NUMBERS)} from ({found})"
    numbers = f"select *{_columns(columns, _PARTS, lists)} from ({numbers})"
    numbers = f"select *{_columns(columns, _EXACT_PARTS, lists)} from ({numbers})"
    cells = [f"{_cell(name, place)} as {quoted(name)}" for place, name in enumerate(columns)]
    cells += [
        f"{_items(name, place)} as {quoted(list_name(name))}"
        for place, name in enumerate(columns)
        if name in lists
    ]
    return connection.sql(f"select {', '.join(cells) or NO_COLUMN} from ({numbers})")


# In steps, because a long expression within itself takes an engine long to read.
_FOUND = (
    "json_type(document, {key}) as kind_{place}, json_extract_string(document, {key}) as "
    "told_{place}"
)
_NUMBERS = (
    "case when kind_{place} = 'DOUBLE' then try_cast(told_{place} as double) end as number_{place}"
)


def _columns(names: Sequence[str], form: str, only: Sequence[str] | None = None) -> str:
    """What each column adds to a step.

    only: the columns that add something, if not all of them do.
    """
    return "".join(
        ", " + form.replace("{key}", _key(name)).replace("{place}", str(place))
        for place, name in enumerate(names)
        if only is None or name in only
    )


def _key(name: str) -> str:
    return text("/" + name.replace("~", "~0").replace("/", "~1"))


def _cell(name: str, place: int) -> str:
    exact = f"json_extract_string({_EXACT}, {_key(name)})"
    return _spelling(f"kind_{place}", f"told_{place}", f"number_{place}", exact)


def _items(name: str, place: int) -> str:
    item = _spelling(_PART_KIND, _PART_TOLD, _PART_NUMBER, f"exact_{place}[place]")
    listed = f"list_transform(parts_{place}, lambda part, place: {item})"
    return (
        f"list_filter(case kind_{place} when 'ARRAY' then {listed} "
        f"else [{_cell(name, place)}] end, lambda part: part is not null)"
    )


# The document with every number in quotes: there its digits can be read, not what a float
# makes of them.
_EXACT = (
    "array_to_string(list_transform(regexp_extract_all(cast(document as varchar), "
    f"{text(_TOKEN)}), "
    "lambda token: case when regexp_matches(token, '^-?[0-9]') then concat('\"', token, '\"') "
    "else token end), '')"
)


def _usual(number: str) -> str:
    """SQL for whether the shortest decimal of a float is its text."""
    return f"({number} = 0 or abs({number}) >= 0.0001 and abs({number}) < 1e15)"


# What a list holds, and the same with exact digits where some number in it needs them: once for
# a row. For each item anew, one line of a megabyte would fill the memory.
_PART_KIND, _PART_TOLD = "json_type(part)", "json_extract_string(part, '$')"
_PART_NUMBER = f"try_cast({_PART_TOLD} as double)"
_PARTS = (
    "case kind_{place} when 'ARRAY' then json_extract(json_extract(document, {key}), '$[*]') end "
    "as parts_{place}"
)
_EXACT_PARTS = (
    "case when len(list_filter(parts_{place}, lambda part: "
    f"{_PART_KIND} = 'DOUBLE' and not coalesce({_usual(_PART_NUMBER)}, false))) > 0 then "
    f"json_extract_string(json_extract({_EXACT}, {{key}}), '$[*]') end as exact_{{place}}"
)


def _spelling(kind: str, told: str, number: str, exact: str) -> str:
    """SQL for the text of a value.

    kind: its type, as DuckDB names it.
    told: the value as text, where a number with a point or an exponent went through a
        float.
    number: that float.
    exact: the text with the digits of the number as they are in the file.
    """
    whole = f"cast(cast({number} as bigint) as varchar)"
    return (
        f"case when {kind} <> 'DOUBLE' then {told} when {_usual(number)} then "
        f"case when {number} = trunc({number}) then {whole} else cast({number} as varchar) end "
        f"else {_digits(exact)} end"
    )


def _digits(exact: str) -> str:
    """SQL for the digits of a number without superfluous zeros, and the power of ten
    that is left.
    """
    whole, fraction, exponent = (
        f"regexp_extract(number, {text(pattern)}, 1)"
        for pattern in ("^-?([0-9]+)", "[.]([0-9]+)", "[eE][+]?(-?[0-9]+)$")
    )
    digits = f"ltrim(concat({whole}, {fraction}), '0')"
    short = f"rtrim({digits}, '0')"
    power = (
        f"coalesce(try_cast({exponent} as bigint), 0) - strlen({fraction}) + strlen({digits}) - "
        f"strlen({short})"
    )
    sign = "case when starts_with(number, '-') then '-' else '' end"
    plain = f"power between 0 and {MOST_ZEROS}"
    written = (
        f"case when {short} = '' then '0' when {plain} then concat({sign}, {short}, repeat('0', "
        "power)) "
        f"else concat({sign}, {short}, 'e', power) end"
    )
    # a list of one thing is how SQL gives a name to it within an expression
    with_power = f"list_transform([{power}], lambda power: {written})[1]"
    value = f"case when regexp_matches(number, {text(_NUMBER)}) then {with_power} end"
    return f"list_transform([{exact}], lambda number: {value})[1]"
