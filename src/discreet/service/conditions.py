"""Which rows count: conditions on declared columns with public values, all of which hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from functools import reduce
from typing import Any

import discreet
from discreet import ParameterError
from discreet.service.manifest import Column
from discreet.service.problems import invalid
from discreet.service.questions import Where


def canonical_where(
    conditions: Sequence[Where], columns: Mapping[str, Column]
) -> list[dict[str, Any]]:
    """The conditions as JSON, one spelling for each meaning: sorted, one for each column.

    A column that is unknown and one that may not be filtered by are refused alike.
    """
    read = [_read(place, each, columns) for place, each in enumerate(conditions)]
    found = [
        part
        for column in {each["column"] for each in read}
        for part in _merged([each for each in read if each["column"] == column])
    ]
    texts = sorted({json.dumps(each, sort_keys=True) for each in found})
    return [json.loads(text) for text in texts]


def _merged(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions on one column, all of which hold, as one; as they are where no value can
    satisfy them, or where a number meets a day.
    """
    column = {"column": read[0]["column"]}
    if "is" in read[0]:
        # as text: 1 and true are not the same here
        texts = [{json.dumps(value) for value in each["is"]} for each in read]
        shared = [json.loads(text) for text in sorted(set.intersection(*texts))]
        return [{**column, "is": shared}] if shared else read
    edges = {
        name: [_edge(each[name]) for each in read if name in each] for name in ("at_least", "below")
    }
    if len({type(edge) for some in edges.values() for edge in some}) > 1:
        return read
    nearest = {name: max if name == "at_least" else min for name in edges}
    said = {name: str(nearest[name](some)) for name, some in edges.items() if some}
    return [{**column, **said}]


def _read(place: int, where: Where, columns: Mapping[str, Column]) -> dict[str, Any]:
    here = f"/where/{place}"
    allowed = columns[where.column].filter if where.column in columns else None
    if allowed is None:
        raise invalid(f"{here}/column", "a column of this data set that can be filtered by")
    edges = {"at_least": where.at_least, "below": where.below}
    if allowed == "range":
        said = {name: str(edge) for name, edge in edges.items() if edge is not None}
        if where.values is not None or not said:
            raise invalid(here, "at_least or below, or both, for this column")
        if len({type(edge) for edge in edges.values() if edge is not None}) > 1:
            raise invalid(here, "two numbers or two days")
        return {"column": where.column, **said}
    if where.values is None or any(edge is not None for edge in edges.values()):
        raise invalid(here, "a list of public values, as 'is', for this column")
    if allowed == "any":
        allowed = [value for value in where.values if isinstance(value, str)]
    for value in where.values:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise invalid(f"{here}/is", "values that the data set declares for this column")
    texts = sorted({json.dumps(value) for value in where.values})
    return {"column": where.column, "is": [json.loads(text) for text in texts]}


def condition(where: Sequence[Mapping[str, Any]]) -> discreet.Condition | None:
    """Canonical conditions as a session takes them; None if there are none. What no condition
    can hold, such as half a character, is a public mistake.
    """
    try:
        parts = [part for each in where for part in _parts(each)]
        return reduce(lambda one, other: one & other, parts) if parts else None
    except ParameterError as error:
        raise invalid("/where", error.rule) from None


def _parts(each: Mapping[str, Any]) -> list[discreet.Condition]:
    column = discreet.column(each["column"])
    if "is" in each:
        return [column.is_in(each["is"])]
    parts = []
    if "at_least" in each:
        parts.append(column >= _edge(each["at_least"]))
    if "below" in each:
        parts.append(column < _edge(each["below"]))
    return parts


def _edge(text: str) -> Any:
    """The end of a range as the canonical form has it, however many digits it needs."""
    try:
        return Fraction(text)
    except ValueError:
        return date.fromisoformat(text)
