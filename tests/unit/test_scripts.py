"""A script that a refusal ends shows one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

REFUSED = {
    "a question": (
        'session.mode("pet", candidates=["cat", "dog"], epsilon=-1)',
        "ParameterError: The 'epsilon' parameter of Session.mode must be greater than 0. Got -1.",
    ),
    "a function": (
        "discreet.select([1, 2], epsilon=0, sensitivity=1)",
        "ParameterError: The 'epsilon' parameter of select must be greater than 0. Got 0.",
    ),
    "a budget": (
        'session.mode("pet", candidates=["cat", "dog"], epsilon=2)',
        "BudgetExceededError: ",
    ),
}
START = """import pandas
import discreet
pets = pandas.DataFrame({"pet": ["cat", "dog"]})
session = discreet.Session(pets, unit=discreet.OneRow(), budget=discreet.PureDP(1))
def main():
    """


def run(tmp_path, text):
    (tmp_path / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=99
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_one_line_that_says_where(tmp_path, name):
    call, message = REFUSED[name]
    done = run(tmp_path, f"{START}{call}\nmain()\n")
    assert done.returncode == 1
    place, _, told = done.stderr.partition(": ")
    assert place.endswith("script.py:6")
    assert told.startswith(message)
    assert done.stderr.count("\n") == 1


def test_other_errors_are_shown_as_ever(tmp_path):
    done = run(tmp_path, "import discreet.errors\n1 / 0\n")
    assert done.stderr.startswith("Traceback")
    assert "ZeroDivisionError" in done.stderr
    chained = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise E('x') from error\n"
    done = run(tmp_path, f"from discreet.errors import DiscreetError as E\n{chained}")
    assert "direct cause" in done.stderr


@pytest.mark.parametrize("needed", ["", "import discreet.errors\n"], ids=["before", "after"])
def test_a_program_keeps_its_own_hook(tmp_path, needed):
    own = "import sys\nsys.excepthook = lambda *error: print('mine', file=sys.stderr)\n"
    call, _ = REFUSED["a function"]
    assert run(tmp_path, f"import discreet\n{needed}{own}{call}\n").stderr == "mine\n"
