"""Which files a file depends on: by its imports, and by the modules and names its text mentions.

Nothing is imported to find out. Where the text cannot tell, a file depends on too much rather
than on too little.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from discreet.lazy import homes

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
PACKAGE = SOURCE / "discreet"
_STUBS = sorted(PACKAGE.glob("*/__init__.pyi"))

# a module or public name of the package, in code or in the text of a script or page
_MENTIONED = re.compile(r"\bdiscreet(?:\.\w+)+")
_FROM = re.compile(r"from (discreet[\w.]*) import \(?([\w, \n.]+)")
# names that are looked up while a test runs, and the shell in another process
_ANY_NAME = re.compile(
    r"\b(?:getattr|vars|dir)\(discreet\b|from public_names import|import discreet as"
)
_SHELL = re.compile(r'"-m",\s*"discreet"|bin/discreet')


@cache
def public_names() -> dict[str, Path]:
    """The file that defines each public name, by its full name."""
    return {
        f"{space}.{name}": file
        for space in ("discreet", *(f"discreet.{stub.parent.name}" for stub in _STUBS))
        for name, home in homes(space).items()
        if (file := module_file(f"{home}.{name}" if home == space else home))
    }


@cache
def module_file(name: str) -> Path | None:
    """The file of a module of the package or of the tests, by its dotted name."""
    for folder in (SOURCE, TESTS):
        place = folder.joinpath(*name.split("."))
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return file
    return None


def _named(name: str) -> Iterator[Path]:
    """The files behind a dotted name: its longest part that is a module, or a public name."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        file = module_file(".".join(words[:length]))
        if file is None:
            continue
        yield file
        if length < len(words):
            home = public_names().get(".".join(words[: length + 1]))
            yield from [home] if home else []
        return


@cache
def depends_on(file: Path) -> frozenset[Path]:
    """The files that a file uses by itself."""
    text = file.read_text(encoding="utf-8")
    found: set[Path] = set()
    if file.suffix == ".py":
        for name in _imported(ast.parse(text), file):
            found |= set(_named(name))
    if not file.is_relative_to(SOURCE):
        found |= _mentioned(text)
        found |= _settings(file)
    return frozenset(found - {file})


def doctests_of(file: Path) -> frozenset[Path]:
    """The files that the examples of a module use, besides those of the module."""
    return depends_on(file) | _mentioned(file.read_text(encoding="utf-8"))


def _imported(tree: ast.AST, file: Path) -> Iterator[str]:
    """The full names that a module imports, early or late, but not for type checkers alone."""
    home = next((place for place in (SOURCE, TESTS) if file.is_relative_to(place)), ROOT)
    folder = file.relative_to(home).parts[:-1]
    for node in _at_run_time(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else ()
            full = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{full}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            yield from _late(node)


def _late(call: ast.Call) -> Iterator[str]:
    """What `import_module` may import: one module, or any module of a folder."""
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and str(node.value).startswith("discreet."):
            folder = SOURCE.joinpath(*node.value.rstrip(".").split("."))
            yield node.value.rstrip(".")
            yield from (f"{node.value}{file.stem}" for file in folder.glob("*.py"))


def _at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _at_run_time(node)


def _mentioned(text: str) -> set[Path]:
    names = set(_MENTIONED.findall(text))
    for module, group in _FROM.findall(text):
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", group)}
    found = {file for name in names for file in _named(name)}
    if _ANY_NAME.search(text):
        found |= set(public_names().values())
    if _SHELL.search(text):
        found |= {PACKAGE / "__main__.py"}
    return found


def _settings(file: Path) -> set[Path]:
    """The conftest files that a test runs with."""
    places = (folder / "conftest.py" for folder in file.parents if folder.is_relative_to(TESTS))
    return {place for place in places if place.is_file()}


def distances(starts: Iterable[Path]) -> dict[Path, int]:
    """How many imports lead from some files to each file that they depend on in the end."""
    found = dict.fromkeys(starts, 0)
    waiting = deque(found)
    while waiting:
        file = waiting.popleft()
        for other in depends_on(file):
            if other not in found:
                found[other] = found[file] + 1
                # every test has this file, but few need what it imports
                waiting.extend([other] if other != TESTS / "conftest.py" else [])
    return found
