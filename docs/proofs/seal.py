"""Tie each proof to the code that it is about.

A proof page names the files it covers, each with a hash of the code in it (comments,
docstrings, imports and layout do not count). When the code moves on, the test
tests/docs/test_proofs.py fails until somebody has read the proof next to the new code and
sealed this one page again:

    make proof PAGE=docs/proofs/tables.md

This shows the code that changed since the page was sealed, with the claims that rest on it, and
asks for the name of the page. Without a terminal it asks for READ, a hash of what it showed.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^- `(?P<file>src/[^`]+)` sealed as `(?P<hash>[0-9a-f]*)`$", re.MULTILINE)


@cache
def code_hash(source: str) -> str:
    """A hash of the syntax tree without its docstrings and imports."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _is_passed_over(part)]
            node.body = kept  # type: ignore[attr-defined]
    return hashlib.sha256(_written(tree).encode()).hexdigest()[:16]


def _written(node: object) -> str:
    """A syntax tree as text that is the same on every Python: `ast.dump` of 3.11, field by field.

    Since 3.13 `ast.dump` leaves empty lists out, and since 3.12 functions and classes have a
    field for type parameters, which code for 3.11 cannot use. Python 3.12 may end an f-string with
    an empty constant.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(_written, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):
        node.values = [part for part in node.values if getattr(part, "value", None) != ""]
    fields = [
        f"{name}={_written(value)}"
        for name, value in ast.iter_fields(node)
        if not (value is None and getattr(type(node), name, ...) is None)
        and not (name == "type_params" and value == [])
    ]
    return f"{type(node).__name__}({', '.join(fields)})"


def _is_passed_over(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom)) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def proofs() -> list[Path]:
    """All proof pages."""
    folder = Path(__file__).resolve().parent
    return sorted(page for page in folder.glob("*.md") if page.name != "README.md")


def seal(page: Path) -> str:
    """The text of the page with the hashes of today's code."""
    return LINE.sub(
        lambda match: f"- `{match['file']}` sealed as `{code_hash(_read(match['file']))}`",
        page.read_text(encoding="utf-8"),
    )


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def changed(page: Path) -> dict[str, str]:
    """The files of a page that differ from what was sealed, each as it was then.

    A version that Git does not have any more is empty, so the whole file is new.
    """
    covered = {match["file"]: match["hash"] for match in LINE.finditer(page.read_text("utf-8"))}
    return {
        file: next((text for text in _versions(file) if code_hash(text) == sealed), "")
        for file, sealed in covered.items()
        if code_hash(_read(file)) != sealed
    }


def _versions(file: str) -> Iterator[str]:
    """What Git has of a file, newest first, under its earlier names as well."""
    log = _git("log", "--follow", "--format=%H", "--name-only", "--", file).split()
    for commit, name in zip(log[::2], log[1::2], strict=True):
        yield _git("show", f"{commit}:{name}")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def difference(file: str, before: str) -> str:
    """How a file differs from what was sealed."""
    lines = difflib.unified_diff(
        before.splitlines(), _read(file).splitlines(), f"{file} (sealed)", f"{file} (today)", n=3
    )
    return "\n".join(line.rstrip("\n") for line in lines)


def edited_names(before: str, after: str) -> set[str]:
    """The functions and classes whose code is not what it was."""
    old, new = _definitions(before), _definitions(after)
    return {name for name in old | new if old.get(name) != new.get(name)}


def _definitions(source: str) -> dict[str, str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return {node.name: ast.unparse(node) for node in nodes}


def claims(page: Path, file: str, before: str) -> list[str]:
    """The sections of a page that rest on the changed code of a file.

    They name the file or something in it that changed, or the file names them. Where none does,
    all of the page may rest on it.
    """
    source = _read(file)
    names = edited_names(before, source) | {Path(file).name}
    # private names occur on pages without their underscore at times
    word = re.compile(rf"\b_?({'|'.join(re.escape(name.lstrip('_')) for name in names)})\b")
    called = set(re.findall(rf"docs/proofs/{page.name}#([\w-]+)", source))
    sections = re.split(r"(?m)^(?=## )", LINE.sub("", page.read_text(encoding="utf-8")))
    chosen = [text for text in sections if word.search(text) or anchor(text) in called]
    return [text.strip() for text in chosen or sections]


def anchor(section: str) -> str:
    """What a link calls a section."""
    title = section.partition("\n")[0].lstrip("#").strip().lower()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def reading(page: Path) -> str:
    """What somebody has to read before the page is sealed: changed code, then its claims."""
    parts = []
    for file, before in changed(page).items():
        resting = "\n\n".join(claims(page, file, before))
        parts.append(f"{difference(file, before)}\n\nResting on {file}:\n\n{resting}")
    return "\n\n".join(parts)


def reading_hash(text: str) -> str:
    """What READ has to say."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def was_read(page: Path, text: str) -> bool:
    """Whether somebody says that they have read it: at a terminal by name, elsewhere by READ."""
    if sys.stdin.isatty():
        return input(f"Do the claims still hold? Type {page.name} to seal it: ") == page.name
    if os.environ.get("READ") == reading_hash(text):
        return True
    print(f"\nWithout a terminal, say that you have read this: READ={reading_hash(text)}")
    return False


def main(arguments: list[str]) -> str | None:
    """Show what changed and seal one page; a refusal is the text that is returned."""
    if len(arguments) != 1:
        return "Seal one page at a time: make proof PAGE=docs/proofs/tables.md"
    page = Path(arguments[0])
    if page.resolve() not in proofs():
        return f"{page} is not a proof page. There are: {', '.join(p.name for p in proofs())}"
    text = reading(page)
    if not text:
        print(f"{page.name} is sealed: its code has not changed.")
        return None
    print(text)
    if not was_read(page, text):
        return f"{page.name} was not sealed."
    page.write_text(seal(page), encoding="utf-8")
    print(f"sealed {page.name}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
