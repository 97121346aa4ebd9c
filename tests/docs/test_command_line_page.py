"""The command-line page quotes what the commands print. Run this file as a script to write the
quotes anew.

A block marked `run` must be current. One marked `sample` is drawn at random, so only its command
is checked.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from discreet.cli import main
from discreet.cli.application import COMMANDS, LateCommand

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
BLOCK = re.compile(r"<!-- (run|sample): (discreet[^\n]*) -->\n(.*?)<!-- end -->", re.DOTALL)
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def printed(command: str) -> str:
    """What a command prints in an empty folder, in a terminal of 80 columns without colours."""
    stdout = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, TERMINAL),
        contextlib.redirect_stdout(stdout),
    ):
        assert main(shlex.split(command)[1:]) == 0, command
    # Where the package is installed is nobody's business but this machine's.
    lines = [
        line.rstrip()
        for line in stdout.getvalue().splitlines()
        if not line.startswith("The tables of the stories")
    ]
    return "\n".join(lines).strip("\n")


def block(kind: str, command: str) -> str:
    return (
        f"<!-- {kind}: {command} -->\n```text\n$ {command}\n{printed(command)}\n```\n<!-- end -->"
    )


def words(text: str) -> list[str]:
    """A text without its layout and without the marks that Typer puts around a parameter: they
    change with its version.
    """
    return re.sub(r"<[a-z\[\]]+>|\\?[][{}]|[.]{3}", " ", text).split()


def blocks() -> list[tuple[str, str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kind", "command", "quoted"), blocks(), ids=lambda part: part[:60])
def test_the_page_is_current(kind: str, command: str, quoted: str) -> None:
    expected = (
        block(kind, command)
        .removeprefix(f"<!-- {kind}: {command} -->\n")
        .removesuffix("<!-- end -->")
    )
    assert quoted.startswith(f"```text\n$ {command}\n")
    if kind == "run":
        assert words(quoted) == words(expected), f"run: python {Path(__file__).name}"


def test_every_command_has_its_help_on_the_page() -> None:
    commands = [command for _, command, _ in blocks()]
    for name, home in COMMANDS.items():
        assert f"discreet {name} --help" in commands
        for inner in getattr(LateCommand(name, *home).command, "commands", ()):
            assert f"discreet {name} {inner} --help" in commands
    assert {"discreet fit linear --help", "discreet ledger show --help"} <= {*commands}


def test_every_option_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        for option in re.findall(r"--[a-z-]+", printed(f"discreet {name} --help")):
            assert option in page


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda found: block(found[1], found[2]), text), encoding="utf-8")
