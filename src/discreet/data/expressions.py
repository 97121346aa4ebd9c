"""Expressions of the caller: checked before anything is paid for, and without reading a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.counting import named
from discreet.data.table import Table
from discreet.errors import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import narwhals as nw


def require_condition(table: Table, where: nw.Expr | None, owner: str) -> None:
    """Refuse what is not a condition on single rows.

    If a row counted because of what is in other rows (`col > col.mean()`), one person could move the counts of all the others.
    """
    import narwhals as nw

    if where is None:
        return
    if not isinstance(where, nw.Expr):
        raise ParameterTypeError(owner, "where", "a Narwhals expression", where)
    if not _is_on_single_rows(where):
        raise ParameterError(owner, "where", "a condition on single rows", where)
    try:
        with table.turn:
            (kind,) = table.frame.head(0).select(where.alias("where")).collect_schema().values()
            table.frame.head(0).filter(where).collect_schema()
    except Exception as error:
        raise _not_computable(table, "where", owner, where, error) from None
    if kind != nw.Boolean:
        raise ParameterTypeError(owner, "where", "true or false for each row", f"{kind}")


# Narwhals knows what each step of an expression looks at, but has no public name for it: an expression is a row of nodes, each with
# a kind and with expressions of its own as arguments.


def _is_on_single_rows(expression: Any) -> bool:
    return all(node.kind.is_elementwise and all(map(_is_on_single_rows, _expressions(node))) for node in expression._nodes)


def _is_one_value(expression: Any) -> bool:
    """Whether the expression has one value for the whole table, however many rows there are."""
    one = True
    for node in expression._nodes:
        if node.kind.is_scalar_like:  # an aggregation, or a constant
            one = True
        elif node.name in _OF_SINGLE_ROWS:
            one = False
        else:
            columns = [part for part in node.exprs if isinstance(part, str) and not node.str_as_lit]
            one = one and node.kind.is_elementwise and not columns and all(map(_is_one_value, _expressions(node)))
    return one


_OF_SINGLE_ROWS = ("col", "nth", "all", "exclude", "selectors")


def _expressions(node: Any) -> list[Any]:
    return [part for part in node.exprs if hasattr(part, "_nodes")]


def require_scores(table: Table, expressions: Sequence[Any], owner: str) -> None:
    """Refuse what does not aggregate a table to one number each."""
    import narwhals as nw

    for expression in expressions:
        if not isinstance(expression, nw.Expr):
            raise ParameterTypeError(owner, "score", "a function from a candidate to a Narwhals expression", expression)
        if not _is_one_value(expression):
            raise ParameterError(owner, "score", "an aggregation of the table to one value", expression)
    try:
        with table.turn:
            kinds = list(table.frame.head(0).select(*named(expressions)).collect_schema().values())
    except Exception as error:
        raise _not_computable(table, "score", owner, expressions[0], error) from None
    for kind in kinds:
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Unknown)):
            raise ParameterTypeError(owner, "score", "an aggregation of the table to one number", f"{kind}")


def _not_computable(table: Table, name: str, owner: str, got: object, error: Exception) -> ParameterError:
    rule = "something that the engine can compute from the columns " + ", ".join(map(repr, table.schema))
    engine = table.frame.implementation.name
    return ParameterError(owner, name, rule, got, f"The engine, {engine}, says: {type(error).__name__}.")
