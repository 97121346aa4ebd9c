"""Narwhals expressions as conditions: taken only if every step of them has a place in the tree.

A Narwhals expression can cast, parse, multiply and divide, and on some engine each of
these fails because of one row; it can also look at other rows. So an expression is
never handed to an engine: it is translated into the tree, whose every comparison is
total, and what has no place in the tree is refused by its name, before anything is
charged.

Narwhals has no public way to look into an expression: it is a row of nodes, each with a
name and with expressions or values as arguments. Whatever does not look as expected is
refused.

`read_where` takes all that a caller may give as `where`: text, a condition, or a
Narwhals expression. It is read before anything is charged.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.errors import ParameterError, ParameterTypeError
from discreet.tables.condition_language import condition_on
from discreet.tables.conditions import (
    MIRRORED,
    Among,
    And,
    Compare,
    Condition,
    Empty,
    Flag,
    Not,
    Or,
    Sign,
    between,
    read_value,
    read_values,
    require_reasonable,
)

_SIGNS: dict[str, Sign] = {
    "__eq__": "=",
    "__ne__": "!=",
    "__lt__": "<",
    "__le__": "<=",
    "__gt__": ">",
    "__ge__": ">=",
}
_KNOWN = "made of comparisons with public values, is_in, is_between, is_null, &, | and ~"
_HINT = (
    "Every step must be one that no row can make fail. Write it as text, "
    "\"age >= 30 and role = 'nurse'\", or with discreet.column."
)


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that was written down."""

    value: object


Term = Condition | NamedColumn | Constant


def condition_of(expression: Any, owner: str) -> Condition:
    """The condition that a Narwhals expression means, or a refusal that names the step."""
    return as_condition(translate(expression, owner), owner)


def as_condition(term: object, owner: str) -> Condition:
    """A term that is true or false; a column by itself is one of truth values."""
    if isinstance(term, NamedColumn):
        return Flag(term.name)
    if not isinstance(term, Condition):
        refuse("a constant", owner)
    return term


def translate(expression: Any, owner: str) -> Term:
    """What the nodes of an expression come to."""
    try:
        nodes = list(expression._nodes)
    except Exception:
        # not the Narwhals that we know
        nodes = []
    term: Term | None = None
    for node in nodes:
        term = _start(node, owner) if term is None else _step(term, node, owner)
    if term is None:
        refuse("an empty expression", owner)
    return term


def translate_node(node: Any, owner: str) -> NamedColumn:
    """The column that a node names."""
    term = _start(node, owner)
    if not isinstance(term, NamedColumn):
        refuse(node.name, owner)
    return term


def _start(node: Any, owner: str) -> Term:
    names: list[Any] = list(node.kwargs.get("names", ())) if node.name == "col" else []
    if len(names) == 1 and isinstance(names[0], str):
        return NamedColumn(names[0])
    if node.name == "lit" and node.kwargs.get("dtype") is None:
        return Constant(node.kwargs["value"])
    if node.name in ("all_horizontal", "any_horizontal") and not node.kwargs.get("ignore_nulls"):
        parts = tuple(
            as_condition(_argument(part, owner, text_is_column=not node.str_as_lit), owner)
            for part in node.exprs
        )
        return (And if node.name == "all_horizontal" else Or)(parts)
    return refuse(node.name, owner)


def _step(term: Term, node: Any, owner: str) -> Term:
    if node.name in _SIGNS and len(node.exprs) == 1:
        return _compared(
            term,
            _SIGNS[node.name],
            _argument(node.exprs[0], owner, text_is_column=not node.str_as_lit),
            owner,
        )
    if node.name in ("__and__", "__or__") and len(node.exprs) == 1:
        other = as_condition(
            _argument(node.exprs[0], owner, text_is_column=not node.str_as_lit), owner
        )
        first = as_condition(term, owner)
        return first & other if node.name == "__and__" else first | other
    if node.name == "__invert__":
        return Not(as_condition(term, owner))
    if isinstance(term, NamedColumn):
        return _of_column(term.name, node, owner)
    return refuse(node.name, owner)


def _of_column(name: str, node: Any, owner: str) -> Condition:
    if node.name == "is_null":
        return Empty(name)
    if node.name == "is_in":
        return Among(name, read_values(node.kwargs["other"], "where", owner))
    if node.name == "is_between" and len(node.exprs) == 2:
        low, high = (
            _constant(_argument(part, owner, text_is_column=not node.str_as_lit), owner)
            for part in node.exprs
        )
        bounds = (read_value(value, "where", owner) for value in (low, high))
        return between(name, *bounds, closed=node.kwargs.get("closed", "both"))
    return refuse(node.name, owner)


def _argument(part: Any, owner: str, *, text_is_column: bool) -> Term:
    """An argument of a node: an expression of its own, or a value."""
    if hasattr(part, "_nodes"):
        return translate(part, owner)
    return NamedColumn(part) if text_is_column and isinstance(part, str) else Constant(part)


def _constant(term: Term, owner: str) -> object:
    if not isinstance(term, Constant):
        refuse("a comparison with another column", owner)
    return term.value


def _compared(term: Term, sign: Sign, other: Term, owner: str) -> Condition:
    if isinstance(term, Constant) and isinstance(other, NamedColumn):
        term, sign, other = other, MIRRORED[sign], term
    if not isinstance(term, NamedColumn):
        refuse("a comparison with something that was computed", owner)
    return Compare(term.name, sign, read_value(_constant(other, owner), "where", owner))


def refuse(step: str, owner: str) -> NoReturn:
    """Name the step that has no place in the tree."""
    raise ParameterError(owner, "where", _KNOWN, f"{step}", _HINT)


Where = str | Condition | Any
"""A condition on single rows, in one of its three spellings."""

_RULE = "a condition on single rows: text, or made with discreet.column"


def read_where(where: Where | None, owner: str, columns: Collection[str] = ()) -> Condition | None:
    """The condition, whichever way it was written, on a table with these columns."""
    if where is None:
        return None
    if isinstance(where, str):
        return condition_on(where, columns, owner)
    if isinstance(where, Condition):
        return require_reasonable(where, owner)
    # Whoever has made an expression has loaded Narwhals.
    narwhals = sys.modules.get("narwhals")
    if narwhals is not None and isinstance(where, narwhals.Expr):
        return require_reasonable(condition_of(where, owner), owner)
    raise ParameterTypeError(owner, "where", _RULE, where, _hint(where))


def _hint(where: object) -> str:
    if callable(getattr(where, "to_list", None)) or hasattr(where, "__array__"):
        return "A column of truth values pairs rows by their position; say what must hold in a row."
    return "For example \"age >= 30 and role = 'nurse'\"."
