"""`--where`: which rows count, as a condition that people type, turned into a Narwhals expression.

::

    condition   = conjunction ("or" conjunction)*
    conjunction = part ("and" part)*
    part        = "(" condition ")" | column operator value
    operator    = "=" | "!=" | "<" | "<=" | ">" | ">="
    value       = number | 'text' | word

Nothing is evaluated and no SQL text is made: every column, operator and value becomes a part of the expression, and the
expression looks at one row at a time, so it says nothing about other rows. A row where the column is empty does not count.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import ParameterError
from discreet.cli.numbers import parse_number

if TYPE_CHECKING:
    import narwhals as nw

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")+")
      | (?P<sign>[()]|!=|<=|>=|=|<|>)
      | (?P<word>[^\s()'"=<>!]+)
    )""",
    re.VERBOSE,
)
# What counts as a number in a column of text: short enough that no engine overflows or refuses it.
_NUMBER = r"^\s*[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?(?:[eE][+-]?[0-9]{1,2})?\s*$"
_DEEPEST = 50  # parentheses in parentheses
_MOST = 100  # comparisons
_EXAMPLE = "such as \"country = 'DE' and age >= 18\""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a condition: `kind` is text, name, sign or word."""

    kind: str
    text: str

    def says(self, word: str) -> bool:
        """Whether this is a keyword."""
        return self.kind == "word" and self.text.lower() == word


class Condition:
    """A condition on single rows, parsed before any data is touched.

    columns: the columns that it looks at, in order.
    """

    def __init__(self, text: str, command: str) -> None:
        parser = _Parser(text, command)
        self._tree = parser.parse()
        self.columns = list(dict.fromkeys(parser.columns))

    def expression(self, schema: Mapping[str, nw.dtypes.DType]) -> nw.Expr:
        """The condition as an expression on a table with these columns, all of which must be there."""
        expression: nw.Expr = self._tree(schema)
        return expression


Tree = Callable[[Mapping[str, Any]], Any]
"""From the types of the columns to an expression."""


class _Parser:
    def __init__(self, text: str, command: str) -> None:
        self._text, self._command = text, command
        self._tokens = self._split()
        self._place = self._depth = 0
        self.columns: list[str] = []

    def parse(self) -> Tree:
        tree = self._condition()
        if self._peek() is not None:
            self._refuse(f"'and' or 'or' before {self._rest()}")
        return tree

    def _split(self) -> list[Token]:
        tokens, place, end = [], 0, len(self._text.rstrip())
        while place < end:
            found = _TOKEN.match(self._text, place)
            if found is None:
                rest = self._text[place:].strip()
                self._refuse("a closing quote" if rest[0] in "'\"" else f"something else before {_short(rest)}")
            kind = str(found.lastgroup)
            tokens.append(Token(kind, _unquoted(found[kind]) if kind in ("text", "name") else found[kind]))
            place = found.end()
        return tokens

    def _condition(self) -> Tree:
        trees = [self._conjunction()]
        while self._take("or"):
            trees.append(self._conjunction())
        return _joined(operator.or_, trees)

    def _conjunction(self) -> Tree:
        trees = [self._part()]
        while self._take("and"):
            trees.append(self._part())
        return _joined(operator.and_, trees)

    def _part(self) -> Tree:
        if not self._take("("):
            return self._comparison()
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"at most {_DEEPEST} parentheses in each other")
        tree = self._condition()
        if not self._take(")"):
            self._refuse("a closing parenthesis")
        self._depth -= 1
        return tree

    def _comparison(self) -> Tree:
        column = self._next()
        if column is None or column.kind not in ("name", "word") or any(map(column.says, ("and", "or"))):
            self._refuse(f"a column before {self._rest(1)}" if column else "a column at the end")
        compared = self._next()
        if compared is None or compared.text not in _OPERATORS or compared.kind != "sign":
            self._refuse(f"one of {' '.join(_OPERATORS)} after {_short(column.text)}")
        value = self._next()
        if value is None or value.kind not in ("text", "word") or any(map(value.says, ("and", "or"))):
            self._refuse(f"a number or a 'text' after {_short(compared.text)}")
        self.columns.append(column.text)
        if len(self.columns) > _MOST:
            self._refuse(f"at most {_MOST} comparisons")
        sign = compared.text
        return lambda schema: _compare(column.text, schema[column.text], sign, value, self._command)

    def _peek(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self) -> Token | None:
        token = self._peek()
        self._place += 1
        return token

    def _take(self, text: str) -> bool:
        token = self._peek()
        taken = token is not None and (token.says(text) or (token.kind == "sign" and token.text == text))
        self._place += taken
        return taken

    def _rest(self, back: int = 0) -> str:
        return _short(self._tokens[self._place - back].text)

    def _refuse(self, missing: str) -> NoReturn:
        raise ParameterError(self._command, "--where", f"a condition {_EXAMPLE}", self._text, f"It needs {missing}.")


def _joined(how: Callable[[Any, Any], Any], trees: list[Tree]) -> Tree:
    def tree(schema: Mapping[str, Any]) -> Any:
        expression = trees[0](schema)
        for other in trees[1:]:
            expression = how(expression, other(schema))
        return expression

    return tree


def _compare(column: str, kind: nw.dtypes.DType, sign: str, value: Token, command: str) -> nw.Expr:
    """A comparison of the column's own kind: numbers with numbers, text with text, days with days."""
    import narwhals as nw

    held: nw.Expr = nw.col(column)
    wanted: Any = value.text
    if kind.is_numeric():
        wanted, rule = _number(value), "a number, without quotes,"
    elif kind == nw.Boolean:
        wanted, rule = {"true": True, "false": False}.get(value.text.lower()), "true or false"
    elif kind == nw.Date:
        wanted, rule = _moment(date, value.text), "a day such as '2025-03-01'"
    elif kind == nw.Datetime:
        wanted, rule = _moment(datetime, value.text), "a time such as '2025-03-01 09:30'"
    elif kind in (nw.String, nw.Categorical, nw.Enum):
        held, number = held.cast(nw.String), _number(value)
        if number is not None:  # text that is a number, as in every CSV file
            held = nw.when(held.str.contains(_NUMBER)).then(held).otherwise(None).cast(nw.Float64)
            wanted = float(number)
    else:
        wanted, rule = None, "left out, or have a column of numbers, text, days or true and false"
    if wanted is None:
        raise ParameterError(command, "--where", f"{rule} for the column {column!r}", value.text)
    compared: nw.Expr = _OPERATORS[sign](held, wanted)
    return compared


def _number(value: Token) -> int | float | None:
    number = parse_number(value.text) if value.kind == "word" else None
    if number is None:
        return None
    return number if isinstance(number, int) and abs(number) < 2**63 else float(number)


def _moment(kind: type[date], text: str) -> date | None:
    try:
        return kind.fromisoformat(text)
    except ValueError:
        return None


def _unquoted(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def _short(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:17] + "...")
