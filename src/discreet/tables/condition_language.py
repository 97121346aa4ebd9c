"""Conditions as people type them, in Python, in the shell and over HTTP.

::

    condition   = conjunction ("or" conjunction)*
    conjunction = part ("and" part)*
    part        = "not" part | "(" condition ")" | comparison
    comparison  = column sign value
                | column ["not"] "in" "(" value ("," value)* ")"
                | column ["not"] "between" value "and" value
                | column "is" ["not"] "null"
    sign        = "=" | "!=" | "<" | "<=" | ">" | ">="
    column      = word | "name in double quotes"
    value       = number | 'text' | word | true | false | date 'text' | timestamp 'text'

Nothing is evaluated and no SQL text is made: what is typed becomes a tree
(conditions.py). `read_where` takes what a caller may give as `where`: text, or a condition
that is made with `discreet.column`. It is read before anything is charged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.tables.conditions import (
    DEEPEST,
    KEYWORDS,
    OPPOSITE,
    Among,
    And,
    Compare,
    Condition,
    Empty,
    Not,
    Or,
    Value,
    between,
    read_value,
    read_values,
    require_reasonable,
)

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")+")
      | (?P<sign>[(),]|!=|<=|>=|=|<|>)
      | (?P<word>[^\s(),'"=<>!]+)
    )""",
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})(?:[eE][+-]?[0-9]{1,3})?"
    r"|[+-]?[0-9]{1,300}/[0-9]{1,300}",
    re.ASCII,
)
_LONGEST = 100_000
_EXAMPLE = "such as \"country = 'DE' and age >= 18\""
_ANNOUNCED = {"date": date, "timestamp": datetime}


@public_function("parse_condition")
def parse_condition(text: str) -> Condition:
    """The condition on rows that a text means; its `columns` say what it looks at.

    text: comparisons with `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `between` and `is
        null`, joined by `and`, `or`, `not` and parentheses. Text is in single quotes,
        an odd name of a column in double ones.

    Privacy: a row counts or not because of that row alone, and no row makes the
        question fail.

    >>> parse_condition("age >= 30 and not role in ('nurse', 'pilot')").columns
    ['age', 'role']
    """
    if not isinstance(text, str):
        raise ParameterTypeError("text", "a condition as text", text)
    return condition_on(text, ())


def condition_on(text: str, columns: Collection[str]) -> Condition:
    """The condition that a text means on a table with these columns: a bare word that
    names one of them is no value, because two columns cannot be compared.
    """
    return require_reasonable(_Parser(text, columns).parse())


Where = str | Condition
"""A condition on single rows, in one of its two spellings."""

_RULE = "a condition on single rows: text, or made with discreet.column"


def read_where(where: Any, columns: Collection[str] = ()) -> Condition | None:
    """The condition, whichever way it was written, on a table with these columns."""
    if where is None:
        return None
    if isinstance(where, str):
        return condition_on(where, columns)
    if isinstance(where, Condition):
        return require_reasonable(where)
    hint = "For example \"age >= 30 and role = 'nurse'\"."
    if type(where).__name__ == "Expr":
        hint = "Write discreet.column('age') instead of col('age')."
    elif callable(getattr(where, "to_list", None)) or hasattr(where, "__array__"):
        hint = "Give a condition on a single row, not a column of truth values."
    raise ParameterTypeError("where", _RULE, where, hint)


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of a condition: `kind` is text, name, sign or word."""

    kind: str
    text: str

    def says(self, word: str) -> bool:
        """True if this is a keyword or a sign."""
        return self.kind in ("word", "sign") and self.text.lower() == word


class _Parser:
    """One text on its way to becoming a condition."""

    def __init__(self, text: str, columns: Collection[str]) -> None:
        self._text, self._columns = text, columns
        self._place = self._depth = 0
        if len(text) > _LONGEST:
            self._refuse(f"at most {_LONGEST:,} characters")
        self._tokens = self._split()

    def parse(self) -> Condition:
        condition = self._condition()
        if self._peek() is not None:
            self._refuse(f"'and' or 'or' before {self._named(self._peek())}")
        return condition

    def _split(self) -> list[_Token]:
        tokens, place, end = [], 0, len(self._text.rstrip())
        while place < end:
            found = _TOKEN.match(self._text, place)
            if found is None:
                rest = self._text[place:].strip()
                quote = rest[0] in "'\""
                self._refuse(
                    "a closing quote" if quote else f"something else before {_short(rest)}"
                )
            kind = str(found.lastgroup)
            plain = _unquoted(found[kind]) if kind in ("text", "name") else found[kind]
            tokens.append(_Token(kind, plain))
            place = found.end()
        return tokens

    def _condition(self) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(f"at most {DEEPEST} nested conditions")
        parts = [self._conjunction()]
        while self._take("or"):
            parts.append(self._conjunction())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self) -> Condition:
        parts = [self._part()]
        while self._take("and"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _part(self) -> Condition:
        negated = 0
        while self._take("not"):
            negated += 1
        if negated > 1:
            self._refuse("'not' only once, or parentheses between")
        part = self._in_parentheses() if self._take("(") else self._comparison()
        return Not(part) if negated else part

    def _in_parentheses(self) -> Condition:
        condition = self._condition()
        self._require(")", "a closing parenthesis")
        return condition

    def _comparison(self) -> Condition:
        token = self._next()
        if token is None or token.kind not in ("name", "word") or _is_keyword(token):
            self._refuse(
                f"a column before {self._named(token)}" if token else "a column at the end"
            )
        column = token.text
        if token.kind == "word" and _NUMBER.fullmatch(column):
            self._refuse(
                f'the column first, as in age >= {_short(column)[1:-1]}; or quotes: "{column[:20]}"'
            )
        if self._take("is"):
            return self._empty(column)
        negated = self._take("not")
        if self._take("in"):
            return _negated(self._among(column), negated)
        if self._take("between"):
            return _negated(self._between(column), negated)
        sign = None if negated else self._next()
        if sign is None or sign.kind != "sign" or sign.text not in OPPOSITE:
            signs = "in or between" if negated else f"{' '.join(OPPOSITE)}, in, between or is"
            self._refuse(f"one of {signs} after {_short(column)}")
        return Compare(column, sign.text, self._value(sign.text))

    def _empty(self, column: str) -> Condition:
        negated = self._take("not")
        self._require("null", "'null' after 'is'")
        return _negated(Empty(column), negated)

    def _among(self, column: str) -> Condition:
        self._require("(", "a list such as (1, 2) after 'in'")
        values = [self._value("(")]
        while self._take(","):
            values.append(self._value(","))
        self._require(")", "a closing parenthesis")
        return Among(column, read_values(values, "where"))

    def _between(self, column: str) -> Condition:
        low = self._value("between")
        self._require("and", "'and' between the two values of 'between'")
        return between(column, low, self._value("and"))

    def _value(self, after: str) -> Value:
        token = self._next()
        if token is None or token.kind not in ("text", "word") or _is_keyword(token, but=_TRUTH):
            self._refuse(_slip(token, after) or f"a number or a 'text' after {_short(after)}")
        following = self._peek()
        announced = _ANNOUNCED.get(token.text.lower()) if token.kind == "word" else None
        if announced is not None and following is not None and following.kind == "text":
            self._place += 1
            return self._moment(announced, following.text)
        value = _plain(token)
        if token.kind == "word" and value == token.text and value in self._columns:
            self._refuse(
                f"quotes, '{token.text[:20]}', if that is text: columns cannot be compared with "
                "each other"
            )
        return read_value(value, "where")

    def _moment(self, kind: type[date], text: str) -> date:
        try:
            return kind.fromisoformat(text)
        except ValueError:
            self._refuse(
                f"a {'time' if kind is datetime else 'day'} in ISO form, not {_short(text)}"
            )

    def _peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self) -> _Token | None:
        token = self._peek()
        self._place += 1
        return token

    def _take(self, word: str) -> bool:
        token = self._peek()
        taken = token is not None and token.says(word)
        self._place += taken
        return taken

    def _require(self, word: str, missing: str) -> None:
        if not self._take(word):
            self._refuse(missing)

    def _named(self, token: _Token | None) -> str:
        return "the end" if token is None else _short(token.text)

    def _refuse(self, missing: str) -> NoReturn:
        hint = f"It needs {missing}."
        raise ParameterError("where", f"a condition {_EXAMPLE}", self._text, hint)


_TRUTH = ("true", "false")


def _slip(token: _Token | None, after: str) -> str | None:
    """The right spelling for a word or sign that other languages have in its place."""
    if token is None:
        return None
    if token.kind == "sign" and (after, token.text) in (("=", "="), ("<", ">")):
        return "= once for equal" if after == "=" else "!= for unequal"
    if token.kind == "name":
        return (
            f"single quotes around text, '{token.text[:20]}', because double ones are for columns"
        )
    return "'is null' for an empty cell" if token.says("null") else None


def _is_keyword(token: _Token, but: tuple[str, ...] = ()) -> bool:
    return token.kind == "word" and token.text.lower() in KEYWORDS.difference(but)


def _plain(token: _Token) -> object:
    """What a value is by its look: a bare word may be a number or a truth value, quotes
    make text.
    """
    if token.kind == "text":
        return token.text
    if token.text.lower() in _TRUTH:
        return token.text.lower() == "true"
    if not _NUMBER.fullmatch(token.text):
        return token.text
    top, _, bottom = token.text.partition("/")
    if not bottom:
        return Decimal(top)
    return Fraction(int(top), int(bottom)) if int(bottom) else token.text


def _negated(condition: Condition, negated: bool) -> Condition:
    return Not(condition) if negated else condition


def _unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def _short(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:17] + "...")
