"""A cap on the different items of each person. Which items count is chosen by a keyed
hash: not by the order of the rows, nor by that of the items.

Which pairs of a person and an item are kept depends on the pair, on the person's other
items and on a key that is drawn anew for each release. So every item of a person has
the same chance, and nobody else's rows matter. DuckDB has a hash of its own that takes a
tenth of the time of MD5, which all other engines have: the same key keeps the same pairs on
all of these (but for fractions, which two engines may write differently; then other items
are kept, by the same chance), and others on DuckDB. `random()` would not do: what it gives
depends on the rows before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Word, choice, count
from discreet.literals import PERSON_RULES, PersonRule
from discreet.privacy.parameters import OneRow, Unit
from discreet.randomness.chance import Chance
from discreet.tables.items import Items, kind_name, require_spelling
from discreet.tables.lines import quoted
from discreet.tables.table import Table, as_frame

if TYPE_CHECKING:
    import narwhals as nw

_ROWS, _TEXT, _DIGEST, _RANK = (f"__discreet_{name}" for name in ("rows", "text", "digest", "rank"))
_KEY_BITS = 256
# up to here all whole numbers are floats
_WHOLE = 2**53


def read_cap(items: int | None, table: Table, unit: Unit, asked: Items) -> int | None:
    """How many different items of one person count, if that is bounded.

    A row that is protected by itself has one item, unless its cell is a ballot.
    """

    name = "items_per_person"
    items = None if items is None else _count(items, name)
    if isinstance(unit, OneRow) and asked.is_ballot(table):
        if items is not None:
            rule = "left out if each row is protected by itself and a cell holds several items"
            raise ParameterError(name, rule, items)
        return None
    if isinstance(unit, OneRow):
        if items not in (None, 1):
            rule = "1, or left out, if each row is protected by itself"
            raise ParameterError(name, rule, items)
        return 1
    if items is not None:
        _require_written(items, name, table, unit.column)
    return items


def _require_written(got: int, name: str, table: Table, column: str) -> None:
    """Refuse persons that an engine cannot write as text to be hashed."""
    import narwhals as nw

    kind = table.schema[column]
    written = kind in (nw.String, nw.Enum, nw.Boolean) or kind.is_numeric()
    if not written:
        # Engines cannot write every day, time or byte as text.
        rule = "left out if people are not identified by text or numbers"
        hint = f"The column {column!r} is of {kind_name(kind)}."
        raise ParameterTypeError(name, rule, got, hint)
    # Which of two spellings of one person is hashed may hang on the order of rows.
    require_spelling(table, column)


_WHICH = (
    "Say which value counts if a person has several rows: rule='max' or rule='min'. There is "
    "no default."
)


MOST = 1_000_000
"""The most rows or items of one person that can count."""


def _count(value: int, name: str) -> int:
    if count(value, name) > MOST:
        raise ParameterError(name, f"at most {MOST:,}", value)
    return int(value)


_SEVERAL = "You can also limit the rows of each person that count: rows_per_person=3."


def read_rule(rule: PersonRule | None, unit: Unit) -> PersonRule | None:
    """Which of a person's values counts. A row that is protected by itself has one."""
    return stated_rule(rule, PERSON_RULES, _WHICH, unit)


def stated_rule(rule: Word | None, allowed: tuple[Word, ...], hint: str, unit: Unit) -> Word | None:
    """What becomes of several rows of one person; there is no default."""
    if isinstance(unit, OneRow):
        if rule is not None:
            raise ParameterError("rule", "left out if each row is protected by itself", rule)
        return None
    if rule is None:
        raise ParameterTypeError("rule", "given if a person can have several rows", None, hint)
    return choice(rule, allowed, "rule")


def read_rows(
    rule: PersonRule | None, rows: int | None, table: Table, unit: Unit
) -> tuple[PersonRule | None, int | None]:
    """Read the choice for questions that can count several rows of each person: the rule,
    or how many.
    """
    if rows is None:
        return stated_rule(rule, PERSON_RULES, f"{_WHICH} {_SEVERAL}", unit), None
    name = "rows_per_person"
    if isinstance(unit, OneRow):
        rule_text = "left out if each row is protected by itself"
        raise ParameterError(name, rule_text, rows)
    if rule is not None:
        raise ParameterError(name, "left out if there is a rule", rows)
    rows = _count(rows, name)
    _require_written(rows, name, table, unit.column)
    return None, rows


@dataclass(frozen=True, slots=True)
class Cap:
    """How many different items of one person are kept, and the key that decides which."""

    items: int
    key: str = field(repr=False)

    def keep(self, rows: nw.LazyFrame[Any], person: str, item: str) -> nw.LazyFrame[Any]:
        """The pairs that are kept, each of them once. No person and no item may be empty."""
        import narwhals as nw

        pairs = rows.group_by(person, item).agg(nw.len().alias(_ROWS))
        return self.keep_rows(pairs, person, item)

    def keep_rows(self, rows: nw.LazyFrame[Any], person: str, item: str) -> nw.LazyFrame[Any]:
        """The rows that are kept: of a person's rows those with the smallest hashes.

        Rows of a person with the same item have the same hash, so it does not matter
        which of them stay.
        """
        import narwhals as nw

        if rows.implementation.is_duckdb():
            return self._keep_in_duckdb(rows.to_native(), person, item)
        kinds = rows.collect_schema()
        owner = _text(person, kinds[person])
        # The length says where the person ends and the item begins: 1 with 23 is not 12 with 3.
        length = owner.str.len_chars().cast(nw.String)
        parts = (nw.lit(self.key), length, nw.lit(":"), owner, _text(item, kinds[item]))
        digested = _digested(rows.with_columns(nw.concat_str(*parts).alias(_TEXT)))
        if self.items == 1 and not rows.implementation.is_ibis():
            # A smallest hash is found in one pass, a rank needs a sort: nobody's many items should
            # take that long.
            digested = digested.filter(nw.col(_DIGEST) == nw.col(_DIGEST).min().over(person))
        # The rank decides all the same: two items with one hash must not both be kept.
        rank = nw.col(_DIGEST).rank("ordinal").over(person).alias(_RANK)
        kept = digested.with_columns(rank).filter(nw.col(_RANK) <= self.items)
        return kept.select(person, item)

    def _keep_in_duckdb(self, rows: Any, person: str, item: str) -> nw.LazyFrame[Any]:
        """By DuckDB's own hash, mixed once more after the person's and the item's have met: by
        their exclusive or alone some items of three would be kept more often than others.
        Items whose hashes are equal, which somebody may have looked for, go by their values:
        the order of the rows hangs on the rows of others.
        """
        who, what = quoted(person), quoted(item)
        mixed = f"hash(xor(hash('{self.key}', {who}), hash({what})))"
        if self.items == 1:
            # without sorting somebody's very many items
            smallest = f"{who}, min_by({what}, row({mixed}, {what})) as {what}"
            return as_frame(rows.aggregate(smallest, who))
        rank = f"row_number() over (partition by {who} order by {mixed}, {what}) as {_RANK}"
        ranked = rows.project(f"{who}, {what}, {rank}")
        return as_frame(ranked.filter(f"{_RANK} <= {self.items}").project(f"{who}, {what}"))


def told_cap(items: int | None, unit: Unit) -> int | None:
    """The cap, where a person can have more than that: a row has one value."""
    return None if isinstance(unit, OneRow) else items


def draw_cap(items: int | None, unit: Unit, chance: Chance) -> Cap | None:
    """A cap with a fresh key, where one is needed: a row has one item anyway."""
    if items is None or isinstance(unit, OneRow):
        return None
    return Cap(items, f"{chance.draw(_KEY_BITS):0{_KEY_BITS // 4}x}")


def _text(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """A value as text; the same text for what is equal, such as 0.0 and -0.0."""
    import narwhals as nw

    if not kind.is_float():
        return nw.col(name).cast(nw.String)
    value = nw.col(name).cast(nw.Float64)
    # Whole numbers are written alike everywhere as integers, and as floats they are not: 1,
    # 1.0, 1e+20, 1.0E20.
    whole = value.clip(-float(_WHOLE), float(_WHOLE)).cast(nw.Int64)
    return (
        nw.when(whole.cast(nw.Float64) == value)
        .then(whole.cast(nw.String))
        .otherwise(value.cast(nw.String))
    )


def _digested(pairs: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """With the hash of the text. Narwhals has no such function; MD5 is the one that all
    engines have and spell the same.

    The guarantee holds for any function. Nobody can choose items by their hash, because
    the text begins with a secret key.
    """
    native, engine = pairs.to_native(), pairs.implementation
    if engine.is_ibis():
        native = native.mutate(**{_DIGEST: _in_the_database(native[_TEXT])})
    else:
        native = native.selectExpr("*", f"md5({_TEXT}) as {_DIGEST}")
    return as_frame(native)


def _in_the_database(text: Any) -> Any:
    """The database's own function by its name: Ibis has hashes for some databases, and
    PostgreSQL is not among them.
    """

    def md5(text: str) -> str:
        # never run in Python
        raise NotImplementedError

    return import_module("ibis").udf.scalar.builtin(md5)(text)
