"""Runs the tests that a change can affect, in every tier: `make changed BASE=<commit>`.

A test is affected if its own file, or a file it depends on, differs from the commit. A wrong edit
(a mutant) is affected if the file it edits, or the file of its test, differs. The closest tests
run first. With `--stop-after`, tests stop starting once they have used that much CPU time, in an
order that the commit decides, so that repeated runs of one commit agree.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from plugins.dependencies import PACKAGE, ROOT, SOURCE, TESTS, distances, doctests_of

EVERYTHING = {"pyproject.toml", "tests/conftest.py"}
"""Files that every test depends on, without naming them."""

FAR = 9
"""The distance of a test that reads a file, rather than importing it."""


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files(base: str) -> set[str]:
    """What differs from a commit: committed, uncommitted and new files."""
    return {
        *git("diff", "--name-only", "--no-renames", base),
        *git("ls-files", "--others", "--exclude-standard"),
    }


class Change:
    """The files that differ, and how far each test is from them."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        self._paths = {part for name in self.files for part in _standing_for(ROOT / name)}
        self._names = {Path(name).name for name in self.files if not name.endswith(".py")}
        self._known: dict[Path, int | None] = {}

    def distance(self, item: pytest.Item) -> int | None:
        """How many imports lead from a test to a changed file; None if none do."""
        if hasattr(item, "callspec") and "mutant" in item.callspec.params:
            mutant = item.callspec.params["mutant"]
            named = {f"src/discreet/{mutant.file}", mutant.test.partition("::")[0]}
            return 0 if named & self.files else None
        if self.files & EVERYTHING:
            return 0
        if item.path not in self._known:
            self._known[item.path] = self._measure(item.path)
        return self._known[item.path]

    def _measure(self, file: Path) -> int | None:
        """The distance of a file of tests, or of examples in a module or a page."""
        used = distances([file])
        if file.is_relative_to(SOURCE):
            used = distances(doctests_of(file)) | {file: 0}
        near = [steps for path, steps in used.items() if path in self._paths]
        if not near and file.is_relative_to(TESTS) and self._reads_a_changed_file(file):
            near = [FAR]
        return min(near, default=None)

    def _reads_a_changed_file(self, file: Path) -> bool:
        """Whether a test reads a file that differs: it names it. What reads pages runs their code,
        and may depend on everything.
        """
        text = file.read_text(encoding="utf-8")
        if '"docs"' in text or file.is_relative_to(TESTS / "docs"):
            return any(name.startswith(("docs/", "src/")) for name in self.files)
        return any(name in text for name in self._names)


def _standing_for(path: Path) -> set[Path]:
    """The path itself, or for data inside the package the modules next to it or above it."""
    if path.suffix == ".py" or not path.is_relative_to(PACKAGE):
        return {path}
    for folder in path.parents:
        if modules := set(folder.glob("*.py")):
            return modules
    return {path}


class Selection:
    """Keeps the affected tests, closest first."""

    def __init__(self, change: Change, seed: str) -> None:
        self._change, self._seed = change, seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[pytest.Item]) -> None:
        found = [(self._change.distance(item), item) for item in items]
        chosen = [(steps, item) for steps, item in found if steps is not None]
        random.Random(self._seed).shuffle(chosen)
        chosen.sort(key=lambda pair: pair[0])
        config.hook.pytest_deselected(items=[item for steps, item in found if steps is None])
        items[:] = [item for _, item in chosen]


class Allowance:
    """Starts no test once this process has used its share of the CPU time, collecting included."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self.left_out = seconds, 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        if _cpu_time() < self._seconds:
            return None
        self.left_out += 1
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if output := getattr(session.config, "workeroutput", None):
            output["left_out"] = self.left_out


class Report:
    """Says what was selected, and what the CPU time did not suffice for."""

    def __init__(self, base: str, files: frozenset[str], alone: Allowance | None) -> None:
        self._base, self._files, self._alone, self._left_out = base, files, alone, 0

    def pytest_report_header(self) -> str:
        return f"changed: {len(self._files)} files differ from {self._base}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._left_out += getattr(node, "workeroutput", {}).get("left_out", 0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # that nothing is affected is an answer, not a failure
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        left_out = self._left_out + (self._alone.left_out if self._alone else 0)
        if left_out:
            terminalreporter.line(
                f"changed: {left_out} affected tests were left out after the CPU time of "
                "--stop-after. `make changed` runs them all."
            )


def _cpu_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("changed")
    group.addoption("--since", metavar="COMMIT", help="Run what differs from a commit affects.")
    group.addoption("--stop-after", type=float, help="CPU seconds after which no test starts.")


def start(config: pytest.Config) -> None:
    """Take part in a run with --since, in each of its processes."""
    base, seconds = config.getoption("--since"), config.getoption("--stop-after")
    if not base:
        return
    change, seed = Change(changed_files(base)), git("rev-parse", "HEAD")[0]
    config.pluginmanager.register(Selection(change, seed))
    allowance = None
    if seconds is not None:
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        allowance = Allowance(seconds / workers)
        config.pluginmanager.register(allowance)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(base, change.files, allowance))
