from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.cli import main


@dataclass(frozen=True)
class Outcome:
    """What one command line did."""

    code: int
    out: str
    err: str

    def refused(self, *parts: str) -> None:
        """It was a bad request: one line, exit code 2, no traceback, nothing on standard output."""
        assert self.code == 2, self
        assert self.out == ""
        assert self.err.startswith("Error: ")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        for part in parts:
            assert part in self.err


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Outcome]:
    """Run a command line in an empty folder, in a terminal of 80 columns without colours."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
