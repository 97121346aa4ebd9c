"""Every example of every page runs as it is pasted, in order, in an empty folder.

`$ discreet ...`, `discreet ...` in a block of its own, and the examples of a command's help are
shell examples. Python blocks are doctests, which run in an empty folder, too
(docs/conftest.py); here they only run where a shell example of the page follows them.
"""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(
    r"^```([a-z]*)\n(.*?)^```$|(?<!`)`(discreet [^`\n]*)`(?!`)", re.DOTALL | re.MULTILINE
)
NOT_HERE = (
    # they serve until they are stopped; tests/service and tests/browser start them
    *("discreet serve", "discreet explore"),
    # needs the ledger of a running service; tests/unit/cli/test_ledger.py has one
    "discreet ledger revoke",
)
NEEDS_SERVER = "postgresql://"
"""`make engines` has a server, and tests that type these commands."""
WORTH_A_LOOK = 3
"""The exit code of an audit that found something."""


def shell_examples(text: str) -> list[tuple[str, str]]:
    """The commands of a block, each on one line, with the output that is shown. Where commands
    begin with "$ ", what is between them is output; elsewhere none is shown.
    """
    lines = text.replace("\\\n", " ").splitlines()
    if not any(line.startswith("$ discreet ") for line in lines):
        commands = [line.strip() for line in lines]
        return [(command, "") for command in commands if command.startswith("discreet ")]
    found: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith(("$ ", "    discreet ")):
            found.append((line.strip().removeprefix("$ "), ""))
        elif found:
            command, output = found.pop()
            found.append((command, f"{output} {line}"))
    return [(command, output) for command, output in found if command.startswith("discreet ")]


def examples(page: Path) -> Iterator[tuple[str, str, str]]:
    """What is pasted from a page, in order: ("python", a block) and ("shell", a command), with
    the output that is shown below a command.
    """
    for kind, block, inline in EXAMPLE.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            yield "python", block, ""
        elif block:
            yield from (("shell", *example) for example in shell_examples(block))
        elif _is_whole(inline):
            yield "shell", inline, ""


def _is_whole(command: str) -> bool:
    """Whether a command in a sentence has all that it needs; others only name it."""
    return " --" in command and "…" not in command and "..." not in command


def can_run(command: str) -> bool:
    return not command.startswith(NOT_HERE) and NEEDS_SERVER not in command


COMPARED = (ROOT / "README.md", ROOT / "docs" / "reference" / "command-line.md")
"""Tests of their own compare what these show, which has noise."""
WITH_SHELL = [page for page in PAGES if any(kind == "shell" for kind, *_ in examples(page))]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", WITH_SHELL, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run_as_pasted(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    names: dict[str, object] = {}
    failed = []
    for kind, example, output in examples(page):
        if kind == "python":
            # its output is compared where pages run as doctests
            code_of = parser.get_doctest(example, names, page.name, None, 0)
            runner.run(code_of, out=lambda text: None, clear_globs=False)
            names = code_of.globs
        elif can_run(example):
            code = main(shlex.split(example, comments=True)[1:])
            out = capsys.readouterr()
            if code not in (0, WORTH_A_LOOK) or out.err:
                failed.append(f"{example}\n  exit code {code}: {out.err}")
            elif page not in COMPARED and output and out.out.split() != output.split():
                failed.append(f"{example}\n  prints {out.out}")
    assert not failed, "\n".join(failed)


BROUGHT = {
    "tables": {"duckdb", "narwhals", "numpy", "polars", "pyarrow"},
    "cli": {"duckdb", "narwhals", "numpy", "pyarrow"},
    "sklearn": {"numpy", "sklearn"},
    "spark": {"narwhals", "pandas", "pyarrow", "pyspark"},
    "postgres": {"ibis", "narwhals", "psycopg"},
    "interop": {"dp_accounting"},
}
"""What can be imported after an extra of discreet is installed."""


def imported(page: Path) -> set[str]:
    """The packages, besides Python's own, that the doctests of a page import."""
    names = set()
    for kind, block, _ in examples(page):
        if kind == "python" and ">>>" in block:
            tree = ast.parse(doctest.script_from_examples(block))
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    names |= {each.name for each in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names.add(node.module)
    packages = {name.partition(".")[0] for name in names}
    return packages - sys.stdlib_module_names - {"discreet", "numpy"}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if imported(page)], ids=lambda page: page.stem
)
def test_a_page_says_what_to_install(page: Path) -> None:
    """Each imported package is named by a `pip install` of the page, or comes with an extra."""
    lines = re.findall(r"pip install ([^\n`]*)", page.read_text(encoding="utf-8"))
    installed = {word.strip("\"'") for line in lines for word in line.split()}
    for extras in re.findall(r"\[([a-z,]+)\]", " ".join(lines)):
        for extra in extras.split(","):
            installed |= BROUGHT.get(extra, set())
    installed = {name.replace("scikit-learn", "sklearn") for name in installed}
    assert imported(page) <= installed
