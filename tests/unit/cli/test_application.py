"""The application as a whole: help, version, exit codes, and that nothing a user can type ends in
a traceback.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys

import pytest
from public_names import NAMES

import discreet
from discreet.cli import application
from discreet.tables.engine import WATCH

COMMANDS = (
    "top-k",
    "mode",
    "best-price",
    "quantile",
    "ask",
    "error-bound",
    "compose",
    "plan",
    "queries-allowed",
    "demo",
)


def run_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,
        env=os.environ | environment,
    )


def test_without_a_command_there_is_help(shell):
    outcome = shell()
    assert outcome.code == 0
    assert all(command in outcome.out for command in COMMANDS)


def test_every_command_has_help_with_an_example_that_fits(shell):
    for command in COMMANDS:
        outcome = shell(command, "--help")
        assert outcome.code == 0
        assert "Example" in outcome.out
        assert f"discreet {command}" in outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 80
    assert shell(COMMANDS[-1], "-h") == outcome


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["selct"], "selct"),
        (["--frobnicate"], "--frobnicate"),
        (["scores", "select"], "Missing"),
        (["scores", "select", "a.csv", "b.csv"], "Try 'discreet scores select --help'."),
        (["scores", "select", "--epsilon"], "--epsilon"),
        (["demo", "now"], "Try 'discreet demo --help'."),
    ],
)
def test_bad_usage_is_one_line(shell, arguments, part):
    shell(*arguments).refused(part, "--help'.")


def test_unexpected_errors_do_not_show_their_text(shell, monkeypatch):
    def broken(*_arguments, **_options):
        raise RuntimeError("canary 424242")

    monkeypatch.setattr(application._built, "command", broken)
    outcome = shell("demo")
    assert outcome.code == 1
    assert "RuntimeError" in outcome.err
    assert "424242" not in outcome.err + outcome.out


def test_a_full_disk_is_named(shell, monkeypatch):
    def broken(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "canary 424242")

    monkeypatch.setattr(application._built, "command", broken)
    outcome = shell("demo")
    assert outcome.code == 1
    assert outcome.err == (
        "Error: No space is left on the device. If a ledger paid for the answer, it is kept "
        "there: discreet ledger answers shows it.\n"
    )


def test_a_closed_output_is_refused_before_anything_is_asked(shell, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", None)
    assert application.run(["demo"]) == 2
    assert "The standard output must be open." in capsys.readouterr().err


def test_numbers_that_overflow_together_are_a_bad_request(shell, monkeypatch):
    def broken(*_arguments, **_options):
        raise ZeroDivisionError("canary 424242")

    monkeypatch.setattr(application._built, "command", broken)
    outcome = shell("demo")
    outcome.refused("too large or too small")
    assert "424242" not in outcome.err


def test_control_c_gives_130(shell, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.cli.commands.scores._file_or_typed", interrupted)
    assert (
        shell("scores", "probabilities", "a=1", "--epsilon", "1", "--sensitivity", "1").code == 130
    )
    monkeypatch.setattr(application._built, "command", interrupted)
    assert shell("demo").code == 130


def test_an_interruption_tells_what_was_charged(shell, monkeypatch):
    """A question that was paid for stays charged, and the shell says so."""

    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.questions.top_k.count_candidates", interrupted)
    table = (
        "demo:reads",
        "--column",
        "article",
        "--person",
        "reader",
        "--candidates",
        "demo:articles",
    )
    outcome = shell("top-k", *table, "-k", "2", "--epsilon", "1")
    assert (outcome.code, outcome.out) == (130, "")
    assert (
        "interrupted after it was paid for: PureDP(epsilon=1) stays charged."
        in outcome.err.replace("\n", " ")
    )


def test_a_time_limit_ends_a_question_that_stays_paid_for(shell, monkeypatch):
    def slow(*_asked):
        while not WATCH.get().ended:
            WATCH.get()._timer.join(0.001)
        return [1, 0]

    monkeypatch.setattr("discreet.questions.mode.count_candidates", slow)
    asked = ("mode", "demo:reads", "--column", "article", "--person", "reader")
    rest = ("--candidates", "demo:articles", "--epsilon", "1")
    outcome = shell(*asked, *rest, "--time-limit", "0.01")
    outcome.refused(
        "The question was ended by its time limit or canceled. The budget stays charged."
    )
    shell(*asked, *rest, "--time-limit", "-1/2").refused(
        "The '--time-limit' parameter of discreet mode must be greater than 0. Got '-1/2'."
    )


@pytest.mark.parametrize("pressed", [True, False])
def test_control_c_gives_130_also_where_an_engine_makes_an_error_of_it(shell, monkeypatch, pressed):
    def engine(*_arguments, **_options):
        if pressed:
            with contextlib.suppress(KeyboardInterrupt):  # as DuckDB does in the middle of a scan
                signal.raise_signal(signal.SIGINT)
        raise discreet.EngineError

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(application._built, "command", engine)
    outcome = shell("demo")
    assert (outcome.code, outcome.err == "") == ((130, True) if pressed else (2, False))
    assert signal.getsignal(signal.SIGINT) is before


def loaded_by(*commands: str) -> list[set[str]]:
    """The libraries that one process has imported after each of several command lines."""
    script = (
        "import sys\nfrom discreet.cli import main\nfor line in sys.argv[1:]:\n    "
        "print(main(line.split()), *{name.partition('.')[0] for name in sys.modules}, "
        "file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *commands], capture_output=True, text=True, timeout=120
    )
    loaded = [line.split() for line in done.stderr.splitlines()]
    assert [code for code, *_ in loaded] == ["0"] * len(commands)
    return [{*names} for _, *names in loaded]


def test_a_command_imports_only_what_it_needs():
    heavy = {"numpy", "flint", "duckdb", "narwhals", "pyarrow", "matplotlib"}
    plan = "plan --queries 2 --epsilon 1 --delta 0"
    select = "scores select a=1 b=2 --epsilon=1 --sensitivity=1"
    loaded = loaded_by("--version", "--help", select, plan)
    assert [names & heavy for names in loaded] == [set(), set(), *[{"numpy", "flint"}] * 2]


@pytest.mark.parametrize("width", [45, 60, 200])
def test_the_help_has_the_first_sentence_of_each_command(width):
    for name, home in application.COMMANDS.items():
        late = application.LateCommand(name, *home)
        assert late.get_short_help_str(width) == late.command.get_short_help_str(width), name


@pytest.mark.parametrize("missing", ["typer", "rich", "duckdb", "narwhals"])
def test_without_the_extra_there_is_one_line(missing):
    script = (
        f"import sys; sys.modules[{missing!r}] = None; from discreet.cli import main; "
        "sys.exit(main(['demo']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 2
    assert result.stderr == str(discreet.MissingExtraError("The command line", "cli")) + "\n"
    assert result.stdout == ""


def test_the_console_script_exits_with_the_code():
    result = run_process("selct")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1


def test_a_terminal_without_unicode_shows_question_marks_and_json_is_utf_8():
    script = """
from discreet.cli import main
asked = ["scores", "probabilities", "\u00e9=1", "b=0", "--epsilon", "1", "--sensitivity", "1"]
assert main(asked) == main([*asked, "--json"]) == 0
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding="utf-8",
        timeout=250,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (result.returncode, result.stderr) == (0, "")
    shown, _, told = result.stdout.partition("{")
    assert "?" in shown
    assert "é" not in shown
    assert '"é"' in told


def test_a_closed_pipe_is_no_traceback():
    """Whoever was to read is gone before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    asked = ("scores", "probabilities", "a=1", "b=2", "--epsilon", "1", "--sensitivity", "1")
    try:
        result = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *asked],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=250,
        )
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (1, "")


def test_the_command_line_uses_public_names_only():
    """Whatever it imports from discreet is a public name, a module of its own, a picture, the
    service that it starts, how mechanisms are made by name and amounts are written, or the one
    reader of files, which it shares with sessions.
    """
    import ast
    from pathlib import Path

    allowed = {("discreet.mechanisms.selection", name) for name in ("mechanism_class",)}
    allowed |= {
        ("discreet.accuracy", "shown_bound"),
        ("discreet.mechanisms.count_lists", "ListRequest"),
        ("discreet.mechanisms.count_lists", "make_unknown"),
        ("discreet.errors", "escaped"),
        ("discreet", "literals"),
        ("discreet.mechanisms.base", "SelectionMechanism"),
        ("discreet.errors", "escaped"),
        ("discreet.privacy.cost", "more_like_this"),
        ("discreet.privacy.parameters", "protects"),
        ("discreet.trusted_files", "require_trusted"),
    }
    allowed |= {("discreet.ledger", name) for name in ("Account", "Charge", "KeptAnswer", "Right")}
    allowed |= {("discreet.versions", name) for name in ("require", "require_version")}
    allowed |= {tuple(path.rsplit(".", 1)) for path in NAMES.values()}
    readers = (
        "files",
        "delimited",
        "lines",
        "duckdb_connection",
        "opening",
        "spark_files",
        "table",
    )
    own = ("discreet.cli", "discreet.rendering", "discreet.service")
    own += ("discreet.questions",)
    own += tuple(f"discreet.tables.{name}" for name in readers)
    for path in Path(application.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] == "discreet"
            ):
                names = {(node.module, alias.name) for alias in node.names}
                assert node.module.startswith(own) or names <= allowed, (
                    f"{path.name}: {names - allowed}"
                )
