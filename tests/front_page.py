"""The two sessions on the front page, run as they are pasted.

    python tests/front_page.py FOLDER        run both with the programs in this folder, and compare
    python tests/front_page.py FOLDER write  write what they print into README.md

FOLDER is the bin folder (Scripts on Windows) of an environment with `discreet[cli]`. Nothing but
the standard library is needed here, so that `make release` can check a wheel with it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SESSION = re.compile(r"```(console|python)\n(.*?)```\n", re.DOTALL)
PROMPTS = {"console": ("$ ", "> "), "python": (">>> ", "... ")}
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
# counts have noise, and the anchor of a ledger depends on the time
NOISY = re.compile(r"(?<![\w.])\d[\d,]{2,}(?![\w.])|\b\d+:[0-9a-f]{64}\b")


def sessions() -> dict[str, str]:
    """The sessions of README.md, by their kind."""
    return dict(SESSION.findall(README.read_text(encoding="utf-8")))


def commands(kind: str, session: str) -> list[str]:
    """What is typed, each with the lines that it goes on in."""
    prompt, _ = PROMPTS[kind]
    typed: list[str] = []
    goes_on = False
    for line in session.splitlines():
        if line.startswith(prompt):
            typed.append(line)
        elif goes_on:
            typed[-1] += f"\n{line}"
        goes_on = (line.startswith(prompt) or goes_on) and line.endswith("\\")
    return typed


def printed(kind: str, session: str, programs: Path) -> str:
    """The session as it goes with these programs: what is typed, and what is printed."""
    with tempfile.TemporaryDirectory() as folder:
        run = _run_console if kind == "console" else _run_python
        return run(commands(kind, session), programs.absolute(), folder)


def _run_console(typed: list[str], programs: Path, folder: str) -> str:
    shown = []
    for command in typed:
        words = command.removeprefix("$ ").replace("\\\n", " ")
        shown += [command, _printed(words, programs, folder, shell=True)]
    return "".join(f"{part}\n" for part in shown if part)


def _run_python(typed: list[str], programs: Path, folder: str) -> str:
    """All statements in one process; only its last one prints."""
    program = "\n".join(command.removeprefix(">>> ") for command in typed)
    python = str(programs / ("python.exe" if os.name == "nt" else "python"))
    shown = _printed([python, "-P", "-c", program], programs, folder, shell=False)
    return "\n".join([*typed, shown, ""])


def _printed(command: str | list[str], programs: Path, folder: str, *, shell: bool) -> str:
    paths = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    done = subprocess.run(
        command,
        shell=shell,
        cwd=folder,
        env=os.environ | TERMINAL | {"PATH": paths},
        capture_output=True,
        encoding="utf-8",
        timeout=250,
    )
    if done.returncode or done.stderr:
        raise SystemExit(f"{command} failed: {done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def masked(text: str) -> list[str]:
    """The words of a session, without its noisy numbers."""
    return NOISY.sub("NOISY", text).split()


def differences(programs: Path) -> list[str]:
    """The sessions that go otherwise than README.md says."""
    return [
        f"README says\n{session}\nand now it is\n{now}"
        for kind, session in sessions().items()
        if masked(now := printed(kind, session, programs)) != masked(session)
    ]


def write(programs: Path) -> None:
    """Write the sessions anew into README.md."""

    def renewed(found: re.Match[str]) -> str:
        return f"```{found[1]}\n{printed(found[1], found[2], programs)}```\n"

    text = README.read_text(encoding="utf-8")
    README.write_text(SESSION.sub(renewed, text), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[2:] == ["write"]:
        write(Path(sys.argv[1]))
    elif failed := differences(Path(sys.argv[1])):
        raise SystemExit("\n".join(failed))
    else:
        print(f"README: both sessions go as it says, with {sys.argv[1]}")
