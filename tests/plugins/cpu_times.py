"""Reports each test that takes more CPU time than it should; `--cpu-limit` fails on them.

Counted is the test's own process: its setup, call and teardown, without child processes, imports
and fixtures that several tests share. A short loop measures how fast the machine is, so a slow
machine does not fail. Tests that `make test` leaves out may be long, and never fail for that.
"""

from __future__ import annotations

import importlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

SECONDS = 2.0
"""What a test may take on the machine that `QUICK_LOOP` was measured on."""

PAGE_SECONDS = 10.0
"""What the examples of a page may take together: they are one test, because they share names."""

OTHER = {"slow", "browser", "schema", "spark", "postgres"}
"""Marks of tests that `make test` leaves out."""

QUICK_LOOP = 0.0093
"""CPU seconds of `calibration_loop` on the machine that the limit was chosen on."""


def calibration_loop() -> float:
    """The CPU time of fixed work, the best of five."""

    def once() -> float:
        start = time.process_time()
        total, table = 0, {}
        for number in range(100_000):
            total += number * number % 7
            table[number & 1023] = total
        return time.process_time() - start

    return min(once() for _ in range(5))


class Stopwatch:
    """CPU time of this process, without what was spent while it was paused."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock, self._paused, self._depth = clock, 0.0, 0

    def read(self) -> float:
        return self._clock() - self._paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave out what happens inside; an inner pause of another one counts once."""
        start, self._depth = self._clock(), self._depth + 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._paused += self._clock() - start


class Recorder:
    """Measures the phases of each test, in the process that runs it."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch, self._seconds = stopwatch, 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Any:
        return (yield from self._measure())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Any:
        return (yield from self._measure())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Any:
        return (yield from self._measure())

    def _measure(self) -> Any:
        start = self._stopwatch.read()
        try:
            return (yield)
        finally:
            self._seconds = self._stopwatch.read() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        if fixturedef.scope == "function":
            return (yield)
        with self._stopwatch.pause():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = yield
        report.cpu_seconds = self._seconds
        report.is_everyday = not OTHER & {mark.name for mark in item.iter_markers()}
        return report


class Summary:
    """Adds up the phases of each test, and says which tests took too long."""

    def __init__(self, limit: bool) -> None:
        self._limit = limit
        self._seconds: Counter[str] = Counter()
        self._other: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] += getattr(report, "cpu_seconds", 0.0)
        if not getattr(report, "is_everyday", True):
            self._other.add(report.nodeid)

    def too_long(self) -> list[tuple[str, float]]:
        """Everyday tests above the limit, slowest first."""
        found = [
            (test, seconds)
            for test, seconds in self._seconds.most_common()
            if test not in self._other and seconds > limit(test)
        ]
        # most runs have none, and need not know how fast the machine is
        slowness = max(1.0, calibration_loop() / QUICK_LOOP) if found else 1.0
        return [(test, seconds) for test, seconds in found if seconds > limit(test) * slowness]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._limit and session.exitstatus == pytest.ExitCode.OK and self.too_long():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        found = self.too_long()
        if found:
            terminalreporter.section(f"tests above {SECONDS:g} s of CPU time")
            for test, seconds in found:
                terminalreporter.line(f"{seconds:6.1f} s  {test}")
            terminalreporter.line("Make them cheaper, or move the larger part to a tier.")


def limit(test: str) -> float:
    """The seconds that a test may take, by its id."""
    return PAGE_SECONDS if test.partition("::")[0].endswith(".md") else SECONDS


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-limit", action="store_true", help="Fail on tests that take too long.")


def start(config: pytest.Config) -> None:
    """Measure in each process, and report in the first one."""
    stopwatch = Stopwatch()
    config.pluginmanager.register(Recorder(stopwatch))
    # Every real import, early or late, goes through this function; a module that is there does not.
    bootstrap: Any = importlib._bootstrap  # type: ignore[attr-defined]
    load = bootstrap._find_and_load

    def timed(*arguments: Any) -> Any:
        with stopwatch.pause():
            return load(*arguments)

    bootstrap._find_and_load = timed
    config.add_cleanup(lambda: setattr(bootstrap, "_find_and_load", load))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(config.getoption("--cpu-limit")))
