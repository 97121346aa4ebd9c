"""Scores of one's own in Narwhals: a sum is taken only if it adds up bounded terms of single
rows.

    nw.len()
    (nw.col("teacher") == "Ada").sum()
    nw.col("amount").clip(0, 100).filter(nw.col("shop") == "a").sum()
    nw.when(nw.col("shop") == "a").then(nw.col("amount").clip(0, 100)).otherwise(0).sum()

A Narwhals expression can cast, parse and divide, and on some engine each of these fails
because of one row; it can also look at other rows. So no expression reaches an engine:
it is translated into a `Total`, step by step, and a step that has no place here is
refused by its name before anything is charged.

Narwhals has no public way to look into an expression: it is a row of nodes, each with a
name and with expressions or values as arguments. Whatever does not look as expected is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from discreet.errors import ParameterError
from discreet.tables.conditions import And, Column, Condition, Flag, read_value
from discreet.tables.totals import Total, whole_steps

_SIGNS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_COMPARISONS = (*_SIGNS, "is_in", "is_between", "is_null")
_JOINED = ("__and__", "__or__", "__invert__")
_FINEST = 20
"""Values that are not whole numbers are put on a grid of a 2^20-th of their bounds."""
_KNOWN = "a sum over rows of terms that are clipped to public bounds"
_HINT = (
    "Use discreet.total or discreet.row_count; or in Narwhals "
    "nw.col('amount').clip(0, 100).filter(...).sum(), or (nw.col('shop') == 'a').sum()."
)


@dataclass(frozen=True, slots=True)
class _Term:
    """What one row adds: a column's value between two bounds, or a constant."""

    column: str | None
    low: Fraction | None
    high: Fraction | None
    where: tuple[Condition, ...] = ()

    def only(self, condition: Condition) -> _Term:
        return replace(self, where=(*self.where, condition))


def total_of(expression: Any, is_whole: Callable[[str], bool]) -> Total:
    """The total that a Narwhals expression means, or a refusal that names the step.

    is_whole: whether a column holds whole numbers only, by its type.
    """
    *nodes, last = _nodes_of(expression)
    if last.name == "len" and not nodes:
        return Total(column=None, step=Fraction(1), rows=(1, 1))
    if last.name != "sum" or not nodes:
        _refuse(last.name)
    term = _term(nodes)
    if term.low is None or term.high is None:
        _refuse("a column that is not clipped to public bounds")
    step = _step(term, is_whole)
    rows = whole_steps(term.low, term.high, step)
    where = None if not term.where else term.where[0] if len(term.where) == 1 else And(term.where)
    return Total(column=term.column, step=step, rows=rows, where=where)


def _step(term: _Term, is_whole: Callable[[str], bool]) -> Fraction:
    """Whole numbers are exact; of others a public grid is made from their bounds."""
    if term.low is None or term.high is None or term.column is None:
        return abs(term.high or Fraction(1))
    if is_whole(term.column) or term.low == term.high:
        return Fraction(1)
    width = max(abs(term.low), abs(term.high), term.high - term.low)
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - _FINEST
    return Fraction(2) ** exponent


def _term(nodes: list[Any]) -> _Term:
    term = _start(nodes)
    rest = nodes[1:] if isinstance(term, _Term) else []
    if not isinstance(term, _Term):
        # Everything up to a cast of truth values is a condition.
        cast = next((place for place, node in enumerate(nodes) if node.name == "cast"), len(nodes))
        term, rest = _Term(None, Fraction(1), Fraction(1)), nodes[cast:]
        term = term.only(_condition(nodes[:cast]))
        if rest:
            _require_whole_type(rest.pop(0))
    for node in rest:
        term = _next(term, node)
    return term


def _condition(nodes: list[Any]) -> Condition:
    """The condition that is made as `discreet.column` makes it; a column by itself is one of
    truth values.
    """
    first, *rest = nodes
    made: Condition
    if first.name == "all_horizontal" and not first.kwargs.get("ignore_nulls"):
        # what `filter` makes of several conditions
        made = And(tuple(_condition_of(part) for part in first.exprs))
    elif rest and rest[0].name in _COMPARISONS:
        made = _compared(Column(_column(first)), rest.pop(0))
    else:
        made = Flag(_column(first))
    for node in rest:
        if node.name not in _JOINED:
            _refuse(node.name)
        made = getattr(made, node.name)(*(_condition_of(part) for part in node.exprs))
    return made


def _condition_of(part: Any) -> Condition:
    return _condition(_nodes_of(part))


def _compared(column: Column, node: Any) -> Condition:
    """A column compared with public values."""
    if any(hasattr(part, "_nodes") for part in node.exprs):
        _refuse("a comparison with another column")
    values = [node.kwargs["other"]] if node.name == "is_in" else node.exprs
    closed = {"closed": node.kwargs["closed"]} if node.name == "is_between" else {}
    compared: Condition = getattr(column, node.name)(*values, **closed)
    return compared


def _column(node: Any) -> str:
    """The column that a node names."""
    names = list(node.kwargs.get("names", ())) if node.name == "col" else []
    if len(names) != 1 or not isinstance(names[0], str):
        _refuse(node.name)
    return str(names[0])


def _nodes_of(expression: Any) -> list[Any]:
    try:
        first, *others = expression._nodes
    except Exception:
        # not the Narwhals that we know
        _refuse("something else")
    return [first, *others]


def _start(nodes: list[Any]) -> _Term | None:
    """A column that is clipped or filtered, or a choice; None where it is a condition."""
    first = nodes[0]
    if first.name == "when_then":
        return _choice(first)
    clipped = len(nodes) > 1 and nodes[1].name in ("clip", "filter")
    if first.name == "col" and (clipped or len(nodes) == 1):
        return _Term(_column(first), None, None)
    return None


def _next(term: _Term, node: Any) -> _Term:
    if node.name == "filter" and node.exprs:
        for part in node.exprs:
            term = term.only(_condition_of(part))
        return term
    if node.name == "clip" and len(node.exprs) == 2 and term.column is not None:
        low, high = (_number(part) for part in node.exprs)
        if term.low is not None and term.high is not None:
            low, high = max(low, term.low), min(high, term.high)
        if low > high:
            _refuse("a lower bound above the upper one")
        return replace(term, low=low, high=high)
    return _refuse(node.name)


def _choice(node: Any) -> _Term:
    """`when(...).then(...)`, with 0 or nothing otherwise."""
    condition, then, *otherwise = node.exprs
    if otherwise and otherwise[0] is not None and _constant(otherwise[0]) != 0:
        _refuse("otherwise with something other than 0")
    value = _constant(then)
    if value is not None:
        return _Term(None, value, value, (_condition_of(condition),))
    if not hasattr(then, "_nodes"):
        _refuse("then with something other than a number or a clipped column")
    return _term(list(then._nodes)).only(_condition_of(condition))


def _constant(part: Any) -> Fraction | None:
    """A number that was written down, as it is or as a literal."""
    nodes = getattr(part, "_nodes", None)
    if nodes is not None and len(nodes) == 1 and nodes[0].name == "lit":
        part = nodes[0].kwargs.get("value")
    if isinstance(part, (int, float)) and math.isfinite(part):
        return Fraction(str(part)) if isinstance(part, float) else Fraction(int(part))
    return None


def _number(part: Any) -> Fraction:
    if part is None or hasattr(part, "_nodes"):
        _refuse("a bound that is not a number")
    value = read_value(part, "score")
    if not isinstance(value, Fraction):
        _refuse("a bound that is not a number")
    return value


def _require_whole_type(node: Any) -> None:
    """A truth value is 0 or 1 in every type of numbers."""
    kind = node.kwargs.get("dtype")
    if not getattr(kind, "is_numeric", lambda: False)():
        _refuse("a cast to something that is no number")


def _refuse(step: str) -> NoReturn:
    raise ParameterError("score", _KNOWN, step, _HINT)
