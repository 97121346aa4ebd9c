"""Conditions as the service has them: for each column some values, or a range.

Such a filter is a mapping from columns to values, or to {"at_least": ..., "below": ...}. In a
question it is a condition like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.tables.condition_language import parse_condition
from discreet.tables.conditions import Among, And, Compare, Condition, Value, column

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_RATIO = re.compile(r"-?[0-9]{1,60}/[0-9]{1,60}")
_EDGES = {"at_least": ">=", "below": "<"}
_RULE = "made of 'is one of', 'at least' and 'below', joined by 'and', for a service"
_EXAMPLE = "Such as {'role': ['nurse', 'pilot'], 'age': {'at_least': 18}}."


def is_filter(value: object) -> bool:
    """True if a value is a filter: a mapping, or the list that a service writes."""
    return isinstance(value, Mapping) or (
        isinstance(value, (list, tuple))
        and all(isinstance(each, Mapping) and isinstance(each.get("column"), str) for each in value)
    )


def condition_of(filters: Mapping[str, Any] | Sequence[Mapping[str, Any]], name: str) -> Condition:
    """The condition that a filter means.

    >>> condition_of({"role": ["nurse"], "age": {"at_least": 18, "below": 65}}, "where")
    <condition: role in ('nurse') and age >= 18 and age < 65>
    """
    pairs = filters.items() if isinstance(filters, Mapping) else map(_pair, filters)
    parts = [part for named, said in pairs for part in _parts(named, said, name)]
    if not parts:
        raise ParameterTypeError(name, "at least one condition", None, _EXAMPLE)
    return reduce(Condition.__and__, parts)


def _pair(written: Mapping[str, Any]) -> tuple[str, Any]:
    """A column and what is said of it, from what a service writes."""
    said = {word: value for word, value in written.items() if word != "column"}
    return written["column"], said["is"] if said.keys() == {"is"} else said


def _parts(named: str, said: Any, name: str) -> Iterator[Condition]:
    if not isinstance(said, Mapping):
        yield column(named).is_in(said if isinstance(said, (list, tuple)) else [said])
        return
    if not said or not said.keys() <= _EDGES.keys():
        raise ParameterTypeError(name, "values, or at_least and below", said, _EXAMPLE)
    if "at_least" in said:
        yield column(named) >= _edge(said["at_least"], name)
    if "below" in said:
        yield column(named) < _edge(said["below"], name)


def _edge(value: Any, name: str) -> Any:
    """The end of a range: text is a day or a number."""
    if not isinstance(value, str):
        return value
    try:
        if _DAY.fullmatch(value):
            return date.fromisoformat(value)
        # a decimal with a long exponent is not written out, but refused
        return Fraction(value) if _RATIO.fullmatch(value) else Decimal(value)
    except (ValueError, ArithmeticError):
        pass
    raise ParameterTypeError(name, "a number or a day as the end of a range", value)


def filters_of(where: str | Condition, name: str) -> list[dict[str, Any]]:
    """A condition as a service takes it; refused where it has another form.

    >>> filters_of("role in ('nurse', 'pilot') and age >= 18", "where")
    [{'column': 'role', 'is': ['nurse', 'pilot']}, {'column': 'age', 'at_least': '18'}]
    """
    condition = parse_condition(where) if isinstance(where, str) else where
    parts = condition.parts if isinstance(condition, And) else (condition,)
    found = [_filter(part) for part in parts]
    if None in found:
        raise ParameterError(name, _RULE, str(condition), _EXAMPLE)
    return [each for each in found if each is not None]


def _filter(part: Condition) -> dict[str, Any] | None:
    if isinstance(part, Among):
        return {"column": part.column, "is": [_value(value) for value in part.values]}
    if isinstance(part, Compare):
        if part.sign == "=":
            return {"column": part.column, "is": [_value(part.value)]}
        edges = {sign: edge for edge, sign in _EDGES.items()}
        if part.sign in edges and not isinstance(part.value, (bool, str, datetime)):
            return {"column": part.column, edges[part.sign]: str(part.value)}
    return None


def _value(value: Value) -> str | int | bool:
    """A public value as JSON."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value if isinstance(value, (bool, str)) else str(value)
