"""Runs pytest on an edited copy of the sources, many times, and imports libraries only once.

A server imports pytest and the libraries, but nothing of the package, and forks for every run. So
each run imports the package and the tests anew, from the copy as it is at that moment, and in
nothing else differs from `python -m pytest`. For most mutants the libraries took longer than the
tests.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, Any

# what tests and the package import; what is missing in an environment is not asked for there
_LIBRARIES = """
    _hypothesis_pytestplugin anyio._backends._asyncio anyio.pytest_plugin apsw doctest duckdb flint
    httpx2 hypothesis hypothesis.strategies jinja2 mpmath narwhals numpy numpy.testing pandas pdb
    platformdirs.pytest_plugin polars psycopg pyarrow pyarrow.pandas_compat pydantic pydantic.fields
    pydantic.functional_serializers pydantic.main pydantic.types pytest pytest_timeout rich
    scipy.optimize scipy.stats sqlite3 starlette.applications starlette.testclient tomllib typer
    typer.testing uvicorn xdist.looponfail xdist.plugin xml.etree.ElementTree
"""
SECONDS = 120
NOTHING_TESTED = 70
"""The exit code where no test has failed: pytest itself did, or a file of tests has no tests."""


class Runner:
    """The server, as its client sees it; it is started when it is needed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self._output: IO[str] | None = None
        self._server: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str]) -> tuple[int, str]:
        """The exit code of pytest, and what it printed."""
        server = self._server = self._server or self._start()
        assert server.stdin is not None
        assert server.stdout is not None
        assert self._output is not None
        self._output.seek(0)
        self._output.truncate()
        server.stdin.write(json.dumps(arguments) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], SECONDS)[0]:
            self.close()
            raise TimeoutError(f"pytest {' '.join(arguments)} takes more than {SECONDS} seconds.")
        code = int(server.stdout.readline())
        self._output.seek(0)
        return code, self._output.read()

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
        if self._server is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait()
        for stream in (self._server.stdin, self._server.stdout, self._output):
            if stream is not None:
                stream.close()
        self._server = None


def _serve() -> None:
    # as `python -m pytest` has it; the folder of this file has modules called numbers and files
    sys.path[0] = os.getcwd()
    for name in _LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        process = os.fork()
        if not process:
            # what goes wrong here is no failure of a test: it must not look like one
            code = NOTHING_TESTED
            try:
                code = _run(json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


def _run(arguments: list[str]) -> int:
    import pytest

    # pytest prints where its server prints errors, and never into the replies
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # plugins are among the libraries: their own assertions stay as they are
    imported = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    collected = _Collected()
    code = pytest.main(["-W", imported, *arguments], plugins=[collected])
    sys.stdout.flush()
    return NOTHING_TESTED if collected.failed else int(code)


class _Collected:
    """Whether a file of tests could not be read. With -x pytest calls that a failed test, and a
    mutant that nobody has looked at seemed to be killed.
    """

    failed = False

    def pytest_collectreport(self, report: Any) -> None:
        self.failed = self.failed or report.failed


if __name__ == "__main__":
    _serve()
