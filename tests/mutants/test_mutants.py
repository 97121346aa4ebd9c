"""Small wrong edits of the package, each of which a test must notice.

Each mutant is a copy of the sources with one edit; the test that it names runs against the copy
and has to fail. The rest of the suite shows that the same test passes on the true sources.
"""

from __future__ import annotations

import ast
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from faults.ledgers import NEEDS_SERVER
from mutants import edit
from mutants.catalogue import Mutant, mutants
from mutants.runner import Runner

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the sources, which all mutants of a run share, one after the other."""
    place = tmp_path_factory.mktemp("mutants") / "src"
    # with the times of the files, so that what was compiled before is good for the copy, too
    shutil.copytree(ROOT / "src", place)
    return place


@pytest.fixture(scope="module")
def runner(source):
    # What is compiled is kept: that takes longer than most of these tests.
    environment = {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis"),
    }
    made = Runner(ROOT, os.environ | environment)
    yield made
    made.close()


@contextmanager
def edited(source: Path, file: str, true: str, wrong: str, scope: str = "") -> Iterator[None]:
    """The copy with one wrong edit, for as long as a mutant is tried."""
    target, original = source / "discreet" / file, PACKAGE / file
    text = edit.mutate(original.read_text(encoding="utf-8"), true, wrong, scope)
    target.write_text(text, encoding="utf-8")
    # Python knows what it has compiled by time and size: no other edit has this time
    moment = next(_MOMENTS)
    os.utime(target, (moment, moment))
    try:
        yield
    finally:
        shutil.copy2(original, target)


_MOMENTS = itertools.count(1)
# `make stated` needs a test of every CI run; a test on a server is none.
_TIERS = {True: "not slow and not postgres and not spark", False: "not postgres and not spark"}


def _marks(mutant: Mutant) -> Iterator[pytest.MarkDecorator]:
    yield pytest.mark.mutants
    if mutant.stated:
        yield pytest.mark.stated
    if mutant.on_server:
        yield from NEEDS_SERVER
        if mutant.file.startswith("tables/"):
            yield pytest.mark.skipif(not find_spec("ibis"), reason="needs Ibis: make engines")


@pytest.mark.parametrize(
    "mutant", [pytest.param(each, id=each.id, marks=[*_marks(each)]) for each in mutants()]
)
def test_mutant_is_killed(mutant, source, runner):
    tier = "postgres" if mutant.on_server else _TIERS[mutant.stated]
    with edited(source, mutant.file, mutant.true, mutant.wrong, mutant.scope):
        outcome = runner.run(["-m", tier, mutant.test])
    assert outcome.killed, f"survived: {outcome.void}\n{outcome.output[-4000:]}"


def test_an_edit_is_what_is_tested_and_the_next_one_has_nothing_of_it(source, runner, tmp_path):
    """Also where both are as long and of the same second, and after what was compiled is kept."""
    file = tmp_path / "test_case.py"
    for value in ("1", "2"):
        file.write_text(f"import discreet.release as r\ndef test(): assert r.X == {value}\n")
        with edited(source, "release.py", "import math", f"import math\nX = {value}"):
            assert runner.run([str(file)]).code == 0
    here = f"r.__file__.startswith({str(source)!r})"
    file.write_text(
        f"import discreet.release as r\ndef test(): assert {here} and not hasattr(r, 'X')\n"
    )
    assert runner.run([str(file)]).code == 0


def test_without_an_edit_the_runner_finds_nothing(runner):
    """Otherwise every mutant would seem to be killed."""
    outcome = runner.run(["tests/unit/randomness/test_chance.py"])
    assert outcome.code == 0, outcome.failures
    assert not outcome.killed


NO_VERDICTS = {
    "tests that cannot be read": "import discreet.no_such_module\n",
    "no test": "def helper(): assert False\n",
    "a name that is not there": "def test(): assert no_such_name\n",
    "a test that takes too long": "@pytest.mark.timeout(0.1)\ndef test(): time.sleep(5)\n",
    "one of several that stand together": (
        "def test(): raise ExceptionGroup('', [AssertionError(), NameError()])\n"
    ),
    "a session that ends itself": "def test(): pytest.exit('enough', 1)\n",
}


@pytest.mark.parametrize("case", NO_VERDICTS)
def test_what_is_no_verdict_kills_no_mutant(runner, tmp_path, case):
    """Pytest ends with 1 in most of these cases, as if a test had found the edit wrong."""
    file = tmp_path / "test_case.py"
    file.write_text("import time\nimport pytest\n" + NO_VERDICTS[case])
    outcome = runner.run([str(file)])
    assert outcome.code != 0
    assert not outcome.killed, outcome.output


VERDICTS = {
    "an assertion": "def test(): assert 1 == 2\n",
    "an error that did not come": "def test():\n    with pytest.raises(ValueError): pass\n",
    "a fixture that does not hold": (
        "@pytest.fixture\ndef made(): assert False\ndef test(made): pass\n"
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_test_that_fails_kills_a_mutant(runner, tmp_path, case):
    file = tmp_path / "test_case.py"
    file.write_text("import pytest\n" + VERDICTS[case])
    outcome = runner.run([str(file)])
    assert outcome.killed, outcome.output
    assert [test.split("::")[-1] for test, _ in outcome.failures] == ["test"]


def test_every_mutant_names_a_test_that_exists(runner):
    """By the syntax of the files of tests; only parameters take a look by pytest."""
    named = {each.test for each in mutants()}
    by_file: dict[str, set[str]] = {}
    for test in named:
        file, _, inside = test.partition("::")
        by_file.setdefault(file, set()).add(inside.partition("[")[0])
    missing = {
        f"{file}::{inside}" for file, tests in by_file.items() for inside in tests - _tests(file)
    }
    with_parameters = {test for test in named if "[" in test and test.split("[")[0] not in missing}
    files = sorted({test.partition("::")[0] for test in with_parameters})
    collected = set(runner.run(["--collect-only", *files]).output.splitlines()) if files else set()
    missing |= with_parameters - collected
    assert not missing, "\n".join(sorted(missing))


def _tests(file: str) -> set[str]:
    """The tests of a file: their names, behind those of their classes."""
    path, found = ROOT / file, set()
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if hasattr(each, "name")}
    return found
