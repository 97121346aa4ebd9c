"""One parameter of a question, and what every entry point has to know about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from discreet.questions.kinds import Choice, Flag, Kind

Spelling = Callable[[str], str]
"""How an entry point writes the name of a parameter: `limit` in Python, `--limit` in a shell."""

_BRACED = re.compile(r"{([a-z_]+)}")


def parameter(
    help: str = "",
    *,
    default: Any = MISSING,
    kw_only: bool = True,
    not_over_http: str = "",
) -> Any:
    """Declare a parameter of a question.

    help: what it means in this question, in one or two sentences; left out where its kind
        says it all. Other parameters stand in braces, and each entry point spells them in
        its own way.
    not_over_http: why it is kept from HTTP and the page, if it is.
    """
    metadata = {"help": help, "not_over_http": not_over_http}
    return field(default=default, kw_only=kw_only, metadata=metadata)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a question.

    default: `MISSING` if it must be given; None if it may be left out.
    not_over_http: why it is kept from HTTP and the page; empty if it is not.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    not_over_http: str

    @property
    def required(self) -> bool:
        """True if it must be given."""
        return self.default is MISSING

    @property
    def optional(self) -> bool:
        """True if None stands for a parameter that was left out."""
        return self.default is None

    def help_in(self, spell: Spelling) -> str:
        """Its help, with other parameters as an entry point spells them."""
        return _BRACED.sub(lambda found: spell(found[1]), self.help)

    def read(self, value: Any) -> Any:
        """Read a Python value."""
        return None if value is None and self.optional else self.kind.read(value, self.name)

    def parse(self, text: str) -> Any:
        """Read text that a person typed."""
        return self.kind.parse(text, self.name)

    def from_json(self, value: Any) -> Any:
        """Read a value of a JSON document."""
        return None if value is None and self.optional else self.kind.from_json(value, self.name)


def parameters_of(declared: type) -> Iterator[Parameter]:
    """The parameters of a question, in the order in which they are written."""
    types = get_type_hints(declared, include_extras=True)
    for each in fields(declared):
        kind = kind_of(types[each.name])
        yield Parameter(
            name=each.name,
            kind=kind,
            default=each.default,
            help=each.metadata.get("help") or kind.help,
            not_over_http=each.metadata.get("not_over_http") or kind.not_over_http,
        )


def kind_of(hint: Any) -> Kind:
    """The kind of a parameter, from its type."""
    for part in (hint, *get_args(hint)):
        if part is bool:
            return Flag()
        if get_origin(part) is Literal:
            words = get_args(part)
            return Choice(words=words, metavar="|".join(words))
        for mark in getattr(part, "__metadata__", ()):
            if isinstance(mark, Kind):
                return mark
    raise TypeError(f"{hint} has no kind: write Annotated[..., Kind], bool or Literal")
