"""One wrong edit of a source file, found by its syntax: layout, comments and quotes do not count.

A file and a snippet are both written as Python's own `ast.unparse` writes them: one statement a
line, single quotes, only the parentheses that are needed. So a mutant survives every reformatting.
A snippet that is no Python by itself (the head of an `if`, say) has to be spelled like that.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from contextlib import suppress
from functools import cache


@cache
def canonical(source: str) -> str:
    """Python code in the one spelling in which mutants are looked for."""
    return ast.unparse(ast.parse(source))


def _snippet(text: str) -> str:
    for mode in ("eval", "exec"):
        with suppress(SyntaxError):
            return ast.unparse(ast.parse(textwrap.dedent(text).strip(), mode=mode))
    return text


def _pattern(snippet: str) -> re.Pattern[str]:
    """The snippet at any depth: further lines are as deep as the first one and their own depth."""
    first, *others = snippet.split("\n")
    if not others:
        return re.compile(re.escape(first))
    lines = "".join(r"\n(?P=depth)" + re.escape(line) for line in others)
    return re.compile(r"(?m)^(?P<depth> *)" + re.escape(first) + lines)


def _places(text: str) -> list[int]:
    """Where each line of a text begins, and where the text ends."""
    return [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]


@cache
def _extent(text: str, scope: str) -> tuple[int, int]:
    """From where to where a class or function reaches in a canonical source."""
    if not scope:
        return 0, len(text)
    node: ast.AST = ast.parse(text)
    for name in scope.split("."):
        (node,) = (each for each in node.body if getattr(each, "name", None) == name)
    return _places(text)[node.lineno - 1], _places(text)[node.end_lineno]


@cache
def _starts(text: str) -> tuple[int, ...]:
    """Where the statements at the top of a canonical source begin, and its end."""
    lines = [
        min(each.lineno for each in [statement, *getattr(statement, "decorator_list", ())])
        for statement in ast.parse(text).body
    ]
    return (*(_places(text)[line - 1] for line in lines), len(text))


def parts(source: str) -> dict[int, str]:
    """The statements at the top of a canonical source, by where they begin."""
    return {begin: source[begin:end] for begin, end in itertools.pairwise(_starts(source))}


def replacement(source: str, true: str, wrong: str, scope: str = "") -> tuple[int, int, str]:
    """From where to where the canonical source changes, and to what: whole statements at its top.

    The snippet must occur once, and the edit must matter.
    """
    text, wrong = canonical(source), _snippet(wrong)
    begin, end = _extent(text, scope)
    everywhere = _pattern(_snippet(true)).finditer(text)
    found = [each for each in everywhere if begin <= each.start() and each.end() <= end]
    assert len(found) == 1, "the mutant no longer fits the code: update it"
    start = text.rfind("\n", 0, found[0].start()) + 1
    line = text[start : found[0].end()]
    depth = line[: len(line) - len(line.lstrip())]
    if "depth" in found[0].groupdict():
        wrong = depth + wrong
    # of a long file only the statement around the edit is parsed again
    begin = max(place for place in _starts(text) if place <= found[0].start())
    end = min(place for place in _starts(text) if place >= found[0].end())
    before, after = text[begin : found[0].start()], text[found[0].end() : end]
    wrong = before + wrong.replace("\n", "\n" + depth) + after
    ast.parse(wrong)
    assert wrong != text[begin:end], "the mutant changes nothing: update it"
    return begin, end, wrong


def mutate(source: str, true: str, wrong: str, scope: str = "") -> str:
    """The canonical source with the snippet replaced."""
    begin, end, edited = replacement(source, true, wrong, scope)
    return canonical(source)[:begin] + edited + canonical(source)[end:]
