"""Docstrings of discreet as Markdown, for the site.

A docstring has paragraphs, arguments (`epsilon: the privacy loss`, continued with an
indent), statements (`Privacy: ...`) and examples (`>>> ...`). In Markdown the second and
third are items of a list, and the last are blocks of code.

The site is made from source, without running it, so `mode = asks(Mode)` would be an attribute:
here it becomes the method that it is at run time.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

STATEMENTS = ("Privacy", "Utility", "Cost", "Reference", "Proof", "Promise")
# the names of one or several arguments, or the word of a statement
FIELD = re.compile(rf"(?P<name>[a-z]\w*(?:, [a-z]\w*)*|{'|'.join(STATEMENTS)}): (?P<text>\S.*)")
PAGE = re.compile(r"docs/((?:[\w-]+/)*([\w-]+)\.md(?:#[\w-]+)?)")


def to_markdown(docstring: str) -> str:
    """A docstring as Markdown.

    >>> print(to_markdown("Pick one.\\n\\nepsilon: the loss\\n    of it.\\nCost: none."))
    Pick one.
    <BLANKLINE>
    - `epsilon`: the loss of it.
    - **Cost:** none.
    """
    promise, *rest = [block for block in _blocks(docstring) if block]
    return "\n\n".join([_prose(promise), *(_block(block) for block in rest)])


def _blocks(docstring: str) -> list[list[str]]:
    """The paragraphs of a docstring, as lines. An example goes on to the next empty line."""
    blocks: list[list[str]] = [[]]
    for line in docstring.strip().splitlines():
        if not line.strip():
            blocks.append([])
        elif line.startswith(">>>") and blocks[-1] and not blocks[-1][0].startswith(">>>"):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return blocks


def _block(lines: list[str]) -> str:
    if lines[0].startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if FIELD.fullmatch(lines[0]) and (len(lines) == 1 or _is_list(lines)):
        return "\n".join(_items(lines))
    if lines[0].startswith((" ", "|", "-")):
        return "\n".join(lines)
    return _prose(lines)


def _prose(lines: list[str]) -> str:
    """A paragraph, in which pages are links: docstrings are shown one folder below docs/."""
    return PAGE.sub(r"[\2](../\1)", " ".join(line.strip() for line in lines))


def _is_list(lines: list[str]) -> bool:
    """Whether every line is an argument or a statement, or goes on with the one before."""
    return all(FIELD.fullmatch(line) or line.startswith("    ") for line in lines)


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        found = None if line.startswith(" ") else FIELD.fullmatch(line)
        if found is None:
            items[-1] += f" {line.strip()}"
        elif found["name"] in STATEMENTS:
            items.append(f"- **{found['name']}:** {found['text']}")
        else:
            names = ", ".join(f"`{name.strip()}`" for name in found["name"].split(","))
            items.append(f"- {names}: {found['text']}")
    return [_prose([item]) for item in items]


try:
    import griffe
    from griffe import Extension
except ImportError:
    # the rest of this file is tested without the tools of the site
    pass
else:

    class Docstrings(Extension):
        """Rewrites every docstring before it is shown."""

        def on_instance(self, *, obj: object, **_: object) -> None:
            """Rewrite the docstring of one object."""
            docstring = getattr(obj, "docstring", None)
            if docstring is not None and docstring.value.strip():
                docstring.value = to_markdown(docstring.value)

    class QuestionMethods(Extension):
        """Shows what `asks` makes as methods, with their parameters."""

        def on_class_members(self, *, cls: griffe.Class, **_: object) -> None:
            """Replace the attributes of one class that `asks` makes."""
            for name, member in list(cls.members.items()):
                if str(getattr(member, "value", "")).startswith("asks("):
                    cls.set_member(name, _method(name, griffe.dynamic_import(member.path)))

    def _method(name: str, method: Any) -> griffe.Function:
        parameters = inspect.signature(method).parameters.values()
        return griffe.Function(
            name,
            parameters=griffe.Parameters(*map(_parameter, parameters)),
            returns="Release",
            docstring=griffe.Docstring(to_markdown(inspect.getdoc(method) or "")),
        )

    def _parameter(each: inspect.Parameter) -> griffe.Parameter:
        empty = inspect.Parameter.empty
        return griffe.Parameter(
            each.name,
            kind=griffe.ParameterKind(each.kind.description),
            annotation=None if each.annotation is empty else str(each.annotation),
            default=None if each.default is empty else repr(each.default),
        )
