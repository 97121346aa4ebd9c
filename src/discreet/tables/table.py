"""Tables: rows behind one lazy frame (Narwhals), and what is public about them.

Nothing here reads a row; `opening` makes a table of a file, a data frame or a database
table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import Hidden, ParameterError, ParameterTypeError, shown
from discreet.tables.engine import Plans

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

    Reader = Callable[[Sequence[str], Sequence[str]], nw.LazyFrame[Any]]
    Mender = Callable[[Sequence[str], Sequence[str]], nw.LazyFrame[Any] | None]

Made = TypeVar("Made")

# more of them are not listed in an error
_MANY_COLUMNS = 20
# what columns are called that questions add to a table
_OWN = "__discreet_"
HEADER_ADVICE = " Is the first line a header?"
"""What to look at where a file has no column of some name."""
SAY_HOW = "Say how its numbers are written: "
_IN_A_FILE = "CsvFile(path, decimal='.') for 44.5, or decimal=',' for 44,5."
_IN_A_TABLE = "Session(table, numbers_in_text=True) for 44.5; or cast it to numbers first."
TURN = threading.RLock()
"""A DuckDB connection answers one question at a time. Relations do not say whose
connection they are from, so all that are handed over have one turn.
"""


class EveryName(set[str]):
    """The set of all names."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Table:
    """A lazy frame and the names and types of its columns: public knowledge, unlike its rows.

    frame: the rows, before any question.
    schema: the columns; of JSON lines, every name that there is.
    connection: where files and data frames are read, if this is one.
    where, condition: which rows count, for the engine, and as it was asked.
    plain: columns of text that are known to have no collation.
    headed: whether the names come from the first line of a file, which may be a row:
        never shown.
    reader: of text files, from columns and lists among them to the frame that has just
        these; `frame` has none of them then.
    mender: of text files with bytes that are no text, the same with U+FFFD in their place.
        Whether there are any, only a question that is paid for may ask.
    mixed: columns of Python objects, whose cells may be lists.
    index: what the index of a pandas frame is called, which is no column.
    loader: of data frames, from some of these columns to the frame that has them as
        lists, too; `frame` has no rows where the data frame is a lazy one. Of text files, to
        the frame for a question that is paid for.
    unread: columns that the engine fails to read because of a row, or cannot hold.
    listed: columns that a question asks for as lists.
    group: from the rows that count to those of one group of persons, where groups are
        asked for.
    declared: of JSON lines, whether the caller said which columns there are.
    decimal: of text, what is between the whole part of a number and the rest.
    numbers_in_text: columns that the caller says have numbers, if they are text.
    is_unchanged: of files, whether they still have the columns that they were opened with.
    lock: held while DuckDB is asked; one for each connection of ours.
    plans: of the statements that were asked on a connection of ours.
    made: what is made of the rows that count, once: relations and statements, no rows.
    """

    # some frames show their rows
    frame: nw.LazyFrame[Any] = field(repr=False)
    schema: Mapping[str, nw.dtypes.DType] = field(repr=False)
    connection: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)
    where: nw.Expr | None = None
    condition: Any = None
    plain: set[str] = field(default_factory=set, repr=False, compare=False)
    headed: bool = field(default=False, repr=False)
    reader: Reader | None = field(default=None, repr=False, compare=False)
    mender: Mender | None = field(default=None, repr=False, compare=False)
    mixed: frozenset[str] = field(default=frozenset(), repr=False)
    index: frozenset[str] = field(default=frozenset(), repr=False)
    loader: Callable[[frozenset[str]], nw.LazyFrame[Any]] | None = field(
        default=None, repr=False, compare=False
    )
    unread: frozenset[str] = field(default=frozenset(), repr=False)
    listed: frozenset[str] = field(default=frozenset(), repr=False)
    group: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]] | None = field(
        default=None, repr=False, compare=False
    )
    declared: bool = False
    decimal: str = "."
    numbers_in_text: Collection[str] = frozenset()
    is_unchanged: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    lock: AbstractContextManager[Any] = field(default=TURN, repr=False, compare=False)
    plans: Plans | None = field(default=None, repr=False, compare=False)
    made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rows(self) -> nw.LazyFrame[Any]:
        """The rows that count. A lazy data frame is collected now, and cells of Python
        objects that are asked for as lists are read now.
        """
        return self.once("rows", self._rows)

    def _rows(self) -> nw.LazyFrame[Any]:
        frame = self.frame if self.loader is None else self.loader(self.listed)
        frame = frame if self.where is None else frame.filter(self.where)
        return frame if self.group is None else self.group(frame)

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """What is made of the rows that count, at the first time; the same from then on."""
        if name not in self.made:
            self.made[name] = make()
        made: Made = self.made[name]
        return made

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """What to hold while the engine is asked."""
        return self.lock if self.frame.implementation.is_duckdb() else nullcontext()

    def having(self, columns: Sequence[str], lists: Sequence[str] = ()) -> Table:
        """Return a table with at least these columns, for a question about them. No row is read.

        lists: those of the columns whose cells may be lists, in JSON lines and in
            columns of Python objects. The table that comes back has them a second time,
            by `list_name`: as lists of text, empty where there is nothing, and of one
            where a cell holds a single value.

        Of text files the table that comes back reads just these columns. JSON lines have
        whatever is asked for.
        """
        for name in columns:
            self.require(name, "column")
        if self.reader is None:
            return replace(self, listed=self.mixed.intersection(lists))
        asked = list(dict.fromkeys(columns))
        require_different(asked, "column")
        listed = frozenset() if self.headed else frozenset(lists)
        try:
            with self.turn:
                parts = [name for name in asked if name in listed]
                frame = self.reader(asked, parts)
                schema = self.schema if self.headed else dict(frame.collect_schema())
        except Exception as error:
            # gone or moved since it was opened; the text would be the engine's own
            rule = "a file that DuckDB can still read"
            raise ParameterError("table", rule, type(error).__name__) from None
        opened = replace(self, frame=frame, schema=schema, listed=listed)
        mender = self.mender
        if mender is None:
            return opened

        def loader(lists: frozenset[str]) -> nw.LazyFrame[Any]:
            rows = mender(asked, parts)
            return frame if rows is None else rows

        return replace(opened, loader=loader)

    def require_unchanged(self) -> None:
        """Refuse files that are gone or have other columns than when they were opened, before
        a question is paid for that they cannot answer. No row is read.
        """
        if self.is_unchanged is None:
            return
        try:
            with self.turn:
                same = self.is_unchanged()
        except Exception:
            # gone, or no table any more: the text would be the engine's own
            same = False
        if not same:
            rule = "a file with the same columns as when it was opened"
            hint = "Nothing was charged. Open it again."
            raise ParameterError(
                "table", rule, Hidden("a file with other columns, or no file"), hint
            )

    def require(self, column: str, name: str) -> str:
        """Return the column's name if the table has it, and if the engine takes it for a name."""
        read_name(column, name)
        require_foreign([column], name)
        # a table of JSON lines has any column, also where it was asked for others before
        if column not in self.schema and (self.reader is None or self.headed or self.declared):
            raise self._no_column(column, name)
        if self._is_pattern(column):
            rule, hint = (
                "a column whose name the engine does not take for a pattern",
                "Rename it first.",
            )
            raise ParameterError(name, rule, column, hint)
        if column in self.unread:
            rule = "a column that DuckDB can read, whatever it contains"
            hint = "Cast it to text first, or pass the data frame that the relation reads."
            raise ParameterTypeError(name, rule, column, hint)
        return column

    @property
    def numbers_hint(self) -> str:
        """How to say that a column of text has numbers."""
        return SAY_HOW + (_IN_A_FILE if self.headed else _IN_A_TABLE)

    def _is_pattern(self, column: str) -> bool:
        """True if an engine would read the name as one of several columns, or as none."""
        # Spark takes "a.b" for a part of "a", and "`a`" for "a": each may be another column
        read = ".`" if self.frame.implementation.is_spark_like() else ""
        return column in ("*", "") or any(sign in column for sign in read)

    def _no_column(self, column: str, name: str) -> ParameterError:
        if not self.headed:
            if column in self.index:
                hint = "It is the index of the frame. Make it a column with reset_index()."
            elif len(self.schema) > _MANY_COLUMNS:
                hint = column_hint(column, self.schema)
                return ParameterError(name, "a column of the table", column, hint)
            else:
                hint = ""
            rule = "one of the columns " + ", ".join(map(repr, self.schema))
            return ParameterError(name, rule, column, hint)
        hint = column_hint(column, self.schema, HEADER_ADVICE)
        return ParameterError(name, "a column of the table", column, hint)


def with_numbers(table: Table, columns: bool | Sequence[str]) -> Table:
    """The table with what the caller says of numbers in text: of all columns, or of some."""
    if isinstance(columns, bool):
        return replace(table, numbers_in_text=EveryName()) if columns else table
    if not isinstance(columns, (list, tuple)):
        rule = "True or False, or a list of columns"
        raise ParameterTypeError("numbers_in_text", rule, columns)
    for column in columns:
        table.require(column, "numbers_in_text")
    if isinstance(table.numbers_in_text, EveryName):
        return table
    return replace(table, numbers_in_text=frozenset(columns))


def as_frame(native: Any) -> nw.LazyFrame[Any]:
    """A relation of DuckDB, or a table of another engine, as Narwhals has it."""
    import narwhals as nw

    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


def column_hint(column: str, columns: Collection[str], advice: str = "") -> str:
    """Return how many columns there are, and the one that was meant if it is only
    misspelt, or advice.

    The columns are not listed: in a file without a header line they would be the first
    row of the data. A name so close to what was typed is a name.
    """
    plain = [known.strip().lower() for known in columns]
    close = get_close_matches(column.strip().lower(), plain, n=1, cutoff=0.8)
    meant = [known for known in columns if close and known.strip().lower() == close[0]]
    count = f"It has {len(columns)} column{'' if len(columns) == 1 else 's'}"
    return f"{count}; did you mean {meant[0]!r}?" if meant else f"{count}.{advice}"


def read_name(column: Any, name: str) -> str:
    """The name of a column, whether or not a table has it."""
    if not isinstance(column, str):
        hint = "Names must be text: write '2024', not 2024." if isinstance(column, int) else ""
        raise ParameterTypeError(name, "the name of a column", column, hint)
    return column


def require_foreign(names: Collection[str], name: str) -> None:
    """Refuse names that questions give to columns of their own: one would replace the other,
    and a person might become something else.
    """
    if any(each.lower().startswith(_OWN) for each in names):
        rule = f"without names that begin with {_OWN!r}, which are discreet's own"
        raise ParameterError(name, rule, "one that does", "Rename it first.")


def require_different(names: Sequence[str], name: str) -> None:
    """Refuse names that differ in capitals only: SQL takes them for one."""
    known: dict[str, str] = {}
    for each in names:
        if each.lower() in known:
            rule = "made of columns whose names differ by more than upper and lower case"
            got = Hidden(f"{shown(known[each.lower()])} and {shown(each)}")
            raise ParameterError(name, rule, got, "Rename one.")
        known[each.lower()] = each
