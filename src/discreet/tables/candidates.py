"""The public candidates of a question to a table: a list of labels, or a table.

Where candidates are themselves a table, too many to bring to Python, the engine counts
how many of them have each count.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import (
    EngineError,
    Hidden,
    ParameterError,
    ParameterTypeError,
    shown,
    type_name,
)
from discreet.privacy.parameters import OneRow, Unit
from discreet.tables.counting import COUNT, counted_items, guarded, only, returnable, returned, run
from discreet.tables.duckdb_counting import (
    count_different,
    hold_public_counts,
    is_plain,
    public_counts,
    together,
)
from discreet.tables.items import ITEM, Items, Labels, kind_name, require_spelling
from discreet.tables.table import Table, as_frame

if TYPE_CHECKING:
    import narwhals as nw

_LARGEST = 2**63
_DIGITS = 400


def listed_once(labels: Any) -> Any:
    """Labels as a list of Python's own values, for all who look at them after this: an
    iterator has them once only, and a list can be changed meanwhile. What is no list of
    labels stays as it is, and is refused later.
    """
    if isinstance(labels, Labels) or not _is_iterable(labels) or _is_frame(labels):
        return labels
    listed = Labels(labels)
    if not any(issubclass(kind, np.generic) for kind in listed.kinds):
        return listed
    return Labels(label.item() if isinstance(label, np.generic) else label for label in listed)


def _is_iterable(labels: Any) -> bool:
    plain = isinstance(labels, (str, bytes, Mapping, PublicTable))
    return isinstance(labels, Iterable) and not plain


def _is_frame(labels: Any) -> bool:
    """True if it would list the names of its columns as if they were labels."""
    return hasattr(labels, "columns") or getattr(labels, "ndim", 1) != 1


def read_labels(labels: Sequence[Any], name: str) -> Labels:
    """Each label once, none of them empty, at least one."""
    if not _is_iterable(labels):
        raise ParameterTypeError(name, "a list of labels", labels)
    if _is_frame(labels):
        hint = "Pass one of its columns as a list."
        raise ParameterTypeError(name, "a list of labels", labels, hint)
    listed: Labels = listed_once(labels)
    if not listed:
        raise ParameterError(name, "at least one", Hidden("none"))
    try:
        different = len(set(listed))
    except TypeError:
        raise ParameterTypeError(name, "labels such as text and numbers", listed) from None
    # the usual case has no empty ones, and is told by its types
    if not listed.kinds <= {str, int} and any(map(_is_empty, listed)):
        raise ParameterError(name, "without empty labels", Hidden("an empty one"))
    if different != len(listed):
        raise ParameterError(name, "all different", Hidden("one twice"))
    return listed


def _is_empty(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        # pandas.NA is not even comparable with itself
        return True


def require_kind(
    labels: Labels, column: str, kind: nw.dtypes.DType, name: str = "candidates"
) -> None:
    """Refuse candidates that can never be found in a column of this type, or that an
    engine would stumble over.

    name: of the parameter that has them.
    """
    right, rule = _right_labels(column, kind)
    if (right is _is_text and _are_text(labels)) or (right is _is_number and _are_whole(labels)):
        return
    wrong = [label for label in labels if not right(label)]
    if wrong:
        # What was handed over may be a column of persons.
        raise ParameterTypeError(name, rule, Hidden(type_name(wrong[0])))


def _right_labels(column: str, kind: nw.dtypes.DType) -> tuple[Callable[[Any], bool], str]:
    import narwhals as nw

    if kind in (nw.String, nw.Enum):
        return _is_text, "text, like the column"
    if kind == nw.Decimal:
        return _is_decimal, "whole numbers or Decimals, like the column"
    if kind.is_numeric():
        return _is_number, "numbers of at most 64 bits, like the column"
    if kind == nw.Boolean:
        return lambda label: isinstance(label, bool), "True or False, like the column"
    if kind == nw.Date:
        return (
            lambda label: isinstance(label, date) and not isinstance(label, datetime),
            "dates, like the column",
        )
    rule = "a column of text, numbers, truth values or dates"
    raise ParameterTypeError("column", rule, f"{column}, of {kind_name(kind)}")


# A long list label by label takes longer than it takes to count its rows, so the usual ones
# are looked at as a whole. What is wrong with one text is wrong with all of them in a row.
def _are_text(labels: Labels) -> bool:
    return labels.kinds == {str} and _is_text("".join(labels))


def _are_whole(labels: Labels) -> bool:
    return labels.kinds == {int} and all(map(_is_number, labels.ends))


def _is_text(label: Any) -> bool:
    """True if every engine can hold it: not half of a surrogate pair, and not the character 0."""
    if not isinstance(label, str) or "\0" in label:
        return False
    try:
        return label.isascii() or bool(label.encode())
    except UnicodeEncodeError:
        return False


def _is_number(label: Any) -> bool:
    if isinstance(label, float):
        return math.isfinite(label)
    return isinstance(label, int) and not isinstance(label, bool) and -_LARGEST <= label < _LARGEST


def _is_decimal(label: Any) -> bool:
    if isinstance(label, Decimal):
        # Engines have at most some hundred digits, and 1e999999999 would fill the memory
        # with zeros.
        return (
            label.is_finite()
            and abs(label.adjusted()) <= _DIGITS
            and len(label.as_tuple().digits) <= _DIGITS
        )
    return isinstance(label, int) and _is_number(label)


_CANDIDATES, _PLACE = "__discreet_candidates", "__discreet_place"


@dataclass(frozen=True, slots=True, repr=False)
class PublicTable:
    """A public table whose column lists the candidates of a question, each of them once
    or more often.

    >>> PublicTable("articles.parquet", column="article")
    PublicTable(source='articles.parquet', column='article')
    """

    source: Any
    column: str

    def __repr__(self) -> str:
        # What a frame shows of itself are its rows.
        return f"PublicTable(source={shown(self.source)}, column={self.column!r})"


def count_public(public: Table, column: str) -> int:
    """How many different candidates the public table has; at least one."""
    import narwhals as nw

    if public.connection is not None and is_plain(public, Items(column)):
        size = guarded(public, lambda: count_different(public, column))
    else:
        listed = run(public, lambda: _listed(public, column).select(nw.len().alias(COUNT)), [COUNT])
        ((size,),) = listed
    if not size:
        raise ParameterError("candidates", "a table with at least one candidate", "none")
    return int(size)


def require_same(table: Table, items: Items, public: Table, label: str) -> None:
    """Refuse candidates that cannot be compared with the items: an engine would cast,
    and fail on some row.
    """
    mine, theirs = items.kind(table), public.schema[label]
    if mine != theirs:
        rule = f"of the type of the items, {kind_name(mine)}"
        got = f"{label}, of {kind_name(theirs)}"
        if kind_name(mine) == kind_name(theirs):
            got += " with other details"
        raise ParameterTypeError("candidates", rule, got)
    require_spelling(public, label)
    try:
        with table.turn:
            if is_plain(table, items) and is_plain(public, Items(label)):
                together(table, items.column, public, label)
                return
            # Cells of Python objects would be looked into as lists: not before the charge.
            empty = replace(table, frame=table.frame.head(0), loader=None, listed=frozenset())
            left, right = items.rows(empty, OneRow()), _listed(public, label)
            left.join(right, on=ITEM, how="left").collect_schema()
    except Exception:
        rule = "on the same connection as the table"
        raise ParameterError("candidates", rule, label) from None


def _listed(public: Table, column: str) -> nw.LazyFrame[Any]:
    """Each candidate once."""
    import narwhals as nw

    items = Items(column).rows(public, OneRow())
    return items.group_by(ITEM).agg(nw.len().alias(COUNT)).select(ITEM)


def _counted_public(
    table: Table, unit: Unit, items: Items, public: Table, label: str
) -> nw.LazyFrame[Any]:
    """Each candidate with its count, 0 where nobody has it, still in the engine."""
    import narwhals as nw

    counts = counted_items(table, unit, items)
    found = _listed(public, label).join(counts, on=ITEM, how="left")
    return found.select(ITEM, nw.col(COUNT).fill_null(0).cast(nw.Int64).alias(COUNT))


class CountHistogram:
    """How many of the candidates have each count, the largest count first: one pass.
    The winner is fetched by another one. Until the tally is closed, both look at what
    was counted once: on DuckDB in a table that only this connection has, or for a
    relation that was handed over in rows that only the tally has; on Spark in what it
    persists.
    """

    def __init__(self, table: Table, unit: Unit, items: Items, public: Table, label: str) -> None:
        import narwhals as nw

        asked = (table, unit, items, public, label)
        self._table, self._kind, self._asked = table, items.kind(table), asked
        self._name = f"__discreet_tally_{secrets.token_hex(8)}"
        self._kept: Any = None
        try:
            self._kept = guarded(table, self._keep)
            rows = run(
                table,
                lambda: self._counted().group_by(COUNT).agg(nw.len().alias(_CANDIDATES)),
                [COUNT, _CANDIDATES],
            )
        except BaseException:
            self.close()
            raise
        if not rows:
            raise EngineError
        by_count = np.array(
            sorted(((int(held), int(size)) for held, size in rows), reverse=True), dtype=np.int64
        )
        self.counts, self.sizes = by_count.T

    def _keep(self) -> Any:
        """Count once, where the engine has a place for what was counted."""
        table, _, items, public, label = self._asked
        engine = table.frame.implementation
        if engine.is_spark_like():
            # kept when it is first looked at, on the disks of the executors if need be
            return _counted_public(*self._asked).to_native().persist()
        if not engine.is_duckdb():
            return None
        plain = is_plain(table, items) and is_plain(public, Items(label))
        counted = None if plain else _counted_public(*self._asked).to_native()
        if table.connection is None:
            return hold_public_counts(*self._asked) if counted is None else counted.materialize()
        query = public_counts(*self._asked) if counted is None else counted.sql_query()
        table.connection.execute(f"create temporary table {self._name} as {query}")
        return table.connection.table(self._name)

    def _counted(self) -> nw.LazyFrame[Any]:
        """Each candidate with its count, as it was kept, or as the engine counts it again."""
        kept = self._kept
        return _counted_public(*self._asked) if kept is None else as_frame(kept)

    def __enter__(self) -> CountHistogram:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was counted."""
        kept, self._kept = self._kept, None
        connection = self._table.connection
        # what goes wrong here has no part in the answer
        with self._table.turn, suppress(Exception):
            if connection is not None:
                connection.execute(f"drop table if exists {self._name}")
            elif self._table.frame.implementation.is_spark_like():
                kept.unpersist()

    def label(self, number: int, place: int) -> Any:
        """The candidate at this place of those with one of the counts, in the order of
        the labels.
        """
        import narwhals as nw

        held = int(self.counts[number])

        def query() -> nw.LazyFrame[Any]:
            here = (
                self._counted().filter(nw.col(COUNT) == held).with_row_index(_PLACE, order_by=ITEM)
            )
            return returnable(here.filter(nw.col(_PLACE) == place), self._kind)

        item, _ = only(run(self._table, query, [ITEM, COUNT]))
        return returned([item], self._kind)[0]


def labels_for(table: Table, items: Items, candidates: Sequence[Any]) -> list[Any]:
    """Labels that the items can be compared with."""
    labels = read_labels(candidates, "candidates")
    require_kind(labels, items.column, items.kind(table))
    return labels
