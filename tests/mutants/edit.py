"""One wrong edit of a source file, found by its syntax: layout, comments and quotes do not count.

A file and a snippet are both written as Python's own `ast.unparse` writes them: one statement a
line, single quotes, only the brackets that are needed. So a mutant survives every reformatting.
A snippet that is no Python by itself (the head of an `if`, say) is spelt like that already.
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
    """The snippet at any depth: every further line is as deep as the first one, and its own depth."""
    first, *others = snippet.split("\n")
    if not others:
        return re.compile(re.escape(first))
    lines = "".join(r"\n(?P=depth)" + re.escape(line) for line in others)
    return re.compile(r"(?m)^(?P<depth> *)" + re.escape(first) + lines)


def split(file: str) -> tuple[str, str]:
    """A file, and the class or function of it in which a snippet is looked for, where several
    have the same one: `privacy/loss.py:PureDP.to_zcdp`.
    """
    name, _, scope = file.partition(":")
    return name, scope


@cache
def _extent(text: str, scope: str) -> tuple[int, int]:
    """From where to where a class or function reaches in a canonical source."""
    if not scope:
        return 0, len(text)
    node: ast.AST = ast.parse(text)
    for name in scope.split("."):
        (node,) = (each for each in node.body if getattr(each, "name", None) == name)
    lines = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    return lines[node.lineno - 1], lines[node.end_lineno]


def count(source: str, true: str) -> int:
    """How often a snippet occurs."""
    return len(_pattern(_snippet(true)).findall(canonical(source)))


@cache
def _starts(text: str) -> tuple[int, ...]:
    """Where the statements of a canonical source begin that stand in no other one, and its end."""
    lines = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    first = [
        min([statement, *getattr(statement, "decorator_list", ())], key=lambda each: each.lineno)
        for statement in ast.parse(text).body
    ]
    return (*(lines[each.lineno - 1] for each in first), len(text))


def replacement(source: str, true: str, mutated: str, scope: str = "") -> tuple[int, int, str]:
    """From where to where the canonical source is another one, and what stands there then: the
    statements around the edit that stand in no other one. The snippet must occur once, and the
    edit must matter.
    """
    text, wrong = canonical(source), _snippet(mutated)
    begin, end = _extent(text, scope)
    everywhere = _pattern(_snippet(true)).finditer(text)
    found = [each for each in everywhere if begin <= each.start() and each.end() <= end]
    assert len(found) == 1, "the mutant no longer fits the code: update it"
    start = text.rfind("\n", 0, found[0].start()) + 1
    line = text[start : found[0].end()]
    depth = line[: len(line) - len(line.lstrip())]
    if "depth" in found[0].groupdict():
        wrong = depth + wrong
    # of a long file only the statement around the edit is read once more
    begin = max(place for place in _starts(text) if place <= found[0].start())
    end = min(place for place in _starts(text) if place >= found[0].end())
    wrong = (
        text[begin : found[0].start()]
        + wrong.replace("\n", "\n" + depth)
        + text[found[0].end() : end]
    )
    assert canonical(wrong) != text[begin:end].rstrip("\n"), "the mutant changes nothing: update it"
    return begin, end, wrong


def mutate(source: str, true: str, mutated: str, scope: str = "") -> str:
    """The canonical source with the snippet replaced; it must occur once, and the edit must matter."""
    begin, end, wrong = replacement(source, true, mutated, scope)
    text = canonical(source)
    return text[:begin] + wrong + text[end:]


def parts(source: str) -> dict[int, str]:
    """The statements of a canonical source that stand in no other one, by where they begin."""
    starts = _starts(canonical(source))
    return {begin: canonical(source)[begin:end] for begin, end in itertools.pairwise(starts)}
