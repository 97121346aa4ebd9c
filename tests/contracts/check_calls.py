"""Ask pyright about `question_calls.py`: it must refuse the marked lines, and no other one.

    python tests/contracts/check_calls.py PYRIGHT

PYRIGHT is the command, in whatever environment it is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CALLS = Path(__file__).with_name("question_calls.py")


def marked() -> set[int]:
    """The lines that must be refused."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}


def refused(pyright: str) -> set[int]:
    """The lines that pyright refuses."""
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


if __name__ == "__main__":
    wanted, found = marked(), refused(sys.argv[1])
    for number in sorted(wanted - found):
        print(f"{CALLS.name}:{number} is accepted, and must be refused")
    for number in sorted(found - wanted):
        print(f"{CALLS.name}:{number} is refused, and must be accepted")
    print(f"{len(wanted & found)} of {len(wanted)} wrong calls are refused")
    sys.exit(wanted != found)
