"""Runs pytest on an edited copy of the sources, many times, and says which tests have failed.

A server imports pytest and the libraries, but nothing of the package, and forks for every run. So
each run imports the package and the tests anew, from the copy as it is at that moment. For most
mutants the libraries took longer than the tests.

An exit code says too little: it is also 1 where a file of tests cannot be read, where a test takes
too long, or where the edit is no Python that can run. So each run tells the tests that failed, and
with which error.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

# what the tests and the package import, where it is installed
_LIBRARIES = """
    _hypothesis_pytestplugin anyio._backends._asyncio anyio.pytest_plugin apsw doctest duckdb flint
    httpx2 hypothesis hypothesis.strategies jinja2 mpmath narwhals numpy numpy.testing pandas pdb
    platformdirs.pytest_plugin polars psycopg pyarrow pyarrow.pandas_compat pydantic pydantic.fields
    pydantic.functional_serializers pydantic.main pydantic.types pytest pytest_timeout rich
    scipy.optimize scipy.stats sqlite3 starlette.applications starlette.testclient tomllib typer
    typer.testing uvicorn xdist.looponfail xdist.plugin xml.etree.ElementTree
"""
SECONDS = 120
# a plugin that only other tests need takes longer than many of these
_WITHOUT = ["cacheprovider", "xdist", "schemathesis"]
_QUIETLY = ["-q", "-x", "--tb=no", *(part for name in _WITHOUT for part in ("-p", f"no:{name}"))]
# An edit that cannot run has shown nothing about the tests, and a slow machine kills no mutant.
_NO_VERDICT = (NameError, ImportError, SyntaxError)
_NO_VERDICT_NAMES = {"DeadlineExceeded", "FailedHealthCheck", "Flaky", "FlakyFailure"}


@dataclass(frozen=True)
class Outcome:
    """What became of a run: the exit code, what was printed, the tests that failed (each with
    its error), and why none of that counts, where it does not.
    """

    code: int
    output: str
    failures: list[list[str]]
    void: str

    @property
    def killed(self) -> bool:
        """Whether a test has judged the edit, and found it wrong."""
        return self.code == 1 and bool(self.failures) and not self.void


class Runner:
    """The server, as its client sees it; it is started when it is needed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self._server: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str]) -> Outcome:
        """Pytest with these arguments, up to the first failure."""
        self._server = self._server or self._start()
        self._output.seek(0)
        self._output.truncate()
        # Pytest tidies a folder that all of its runs share, and trips over one that does the same.
        own = Path(tempfile.mkdtemp())
        try:
            return self._ask(self._server, [f"--basetemp={own / 'pytest'}", *_QUIETLY, *arguments])
        finally:
            # what a test has left running may still write there
            shutil.rmtree(own, ignore_errors=True)

    def _ask(self, server: subprocess.Popen[str], arguments: list[str]) -> Outcome:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(arguments) + "\n")
        server.stdin.flush()
        in_time = select.select([server.stdout], [], [], SECONDS)[0]
        reply = server.stdout.readline() if in_time else ""
        self._output.seek(0)
        output = self._output.read()
        if not reply:
            self.close()
            problem = "ended its server" if in_time else f"takes more than {SECONDS} seconds"
            raise ChildProcessError(f"pytest {' '.join(arguments)} {problem}:\n{output}")
        code, seen = json.loads(reply)
        return Outcome(code, output, seen["failures"], seen["void"])

    def _start(self) -> subprocess.Popen[str]:
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # a group of its own: what hangs is ended together with what it has started
        return subprocess.Popen(
            [sys.executable, __file__],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the server, and whatever a run has left behind."""
        if self._server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._server.pid, signal.SIGKILL)
            self._server.communicate()
            self._output.close()
            self._server = None


def _serve() -> None:
    # as `python -m pytest` has it
    sys.path[0] = os.getcwd()
    for name in _LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        # a file, not a pipe: what a test leaves running may hold it open
        with tempfile.TemporaryFile("w+") as notes:
            process = os.fork()
            if not process:
                try:
                    _run(json.loads(line), notes)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(os.EX_SOFTWARE)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            notes.seek(0)
            seen = json.loads(notes.read() or '{"failures": [], "void": "pytest itself failed"}')
        print(json.dumps([code, seen]), flush=True)


def _run(arguments: list[str], notes: IO[str]) -> NoReturn:
    import pytest

    # pytest prints where its server prints errors, and never into the replies
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # plugins are among the libraries: their own assertions stay as they are
    imported = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    seen, started = _Seen(), os.getpid()
    code = pytest.main(["-W", imported, *arguments], plugins=[seen])
    sys.stdout.flush()
    if os.getpid() != started:
        # a child of a test that came back from it: its parent will say what has failed
        os._exit(os.EX_SOFTWARE)
    json.dump({"failures": seen.failures, "void": seen.void}, notes)
    notes.flush()
    os._exit(int(code))


class _Seen:
    """The tests that failed, and what makes their failures worth nothing.

    A file of tests that cannot be read is such a thing: with -x pytest calls that a failed test,
    and mutants that nobody had looked at seemed to be killed.
    """

    def __init__(self) -> None:
        self.failures: list[tuple[str, str]] = []
        self.void = ""

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.void = f"{report.nodeid} cannot be read"

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is None or call.excinfo.typename in ("Skipped", "XFailed"):
            return
        self.failures.append((item.nodeid, f"{call.when}: {call.excinfo.exconly()[:1000]}"))
        for each in _leaves(call.excinfo.value):
            timeout = type(each).__name__ == "Failed" and str(each).startswith("Timeout")
            if timeout or isinstance(each, _NO_VERDICT) or type(each).__name__ in _NO_VERDICT_NAMES:
                self.void = f"{item.nodeid}: {type(each).__name__}: {each}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


if __name__ == "__main__":
    _serve()
