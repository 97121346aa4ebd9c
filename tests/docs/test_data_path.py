"""The path of the data is what the page says: the same calls are made and watched."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys

import pytest
import walks

text = walks.PAGE.read_text(encoding="utf-8")
FILE = re.compile(r"`([a-z_/]+\.py)`")
SECTIONS = {
    "select": ["From scores"],
    "top_k": ["From a table"],
    # the page names what comes in addition
    "new_top_k": ["From a table", "A question is prepared"],
    "reserve": ["Into a ledger"],
}
# What was asked for and reached; of a question for the first time, what was reached. A walk may
# get shorter, never longer, unless the page says why.
MOST = {"select": 8, "top_k": 14, "new_top_k": 32, "reserve": 12}


# Of a call that nobody made before in its process: what was reached, and the goal.
MOST_AT_FIRST = {
    "select": ("`select`", 15, 8),
    "top_k": ("`Session.top_k`, candidates, a CSV file", 43, 24),
    "http": ("a question over HTTP", 70, 45),
}


@functools.cache
def walk_of(name: str) -> walks.Walk:
    """Each walk is made once, and by itself: a call that fails does not hide the others."""
    return walks.WALKS[name][1]()


def rows_of(name: str) -> str:
    """The rows of the tables in the sections about a walk."""
    rows: list[str] = []
    for title in SECTIONS[name]:
        (section,) = re.findall(rf"^## {title}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        rows += re.findall(r"^\|.*$", section, re.MULTILINE)
    return "\n".join(rows)


@pytest.mark.parametrize("name", walks.WALKS)
def test_the_page_names_exactly_the_files_that_are_entered(name: str) -> None:
    named = FILE.findall(rows_of(name))
    assert len(set(named)) == len(named)
    assert sorted(named) == sorted(walk_of(name).files)


@pytest.mark.parametrize("name", walks.WALKS)
def test_the_page_has_the_table_of_the_walks(name: str) -> None:
    assert walks.table({}) in text
    counted = re.findall(r"^\| (`.*) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    # functions and jumps differ a little between versions of Python: comprehensions were functions
    modules = {title: int(number) for title, number, _, _ in counted}
    assert list(modules) == [title for title, _ in walks.WALKS.values()]
    assert modules[walks.WALKS[name][0]] == len(walk_of(name).files)


def test_every_file_that_the_page_names_is_there() -> None:
    for file in FILE.findall(text):
        assert (walks.SOURCE / file).exists() or file == "tests/walks.py", file


@pytest.mark.parametrize("name", walks.WALKS)
def test_a_walk_is_as_short_as_it_should_be(name: str) -> None:
    assert len(walk_of(name).files) <= MOST[name], walk_of(name).files


@pytest.mark.parametrize("name", MOST_AT_FIRST)
def test_a_first_walk_gets_shorter_and_never_longer(name: str) -> None:
    title, most, goal = MOST_AT_FIRST[name]
    walk = [sys.executable, walks.__file__, name]
    done = subprocess.run(walk, capture_output=True, text=True, check=True, timeout=120)
    assert 0 < len(json.loads(done.stdout)) <= most, done.stdout
    assert f"| {title} | {most} | {goal} |" in text


# What was reached, and one for what a draw only sometimes needs; 34 was asked for, which needs a
# shorter way through a session. A command may go through so many modules of the package, and so
# many of them may be the shell's own.
MOST_OF_COMMANDS = {"mode": (49, 9), "top-k": (57, 9)}


@pytest.mark.parametrize("name", MOST_OF_COMMANDS)
def test_a_command_goes_through_few_modules(name: str) -> None:
    files = walks.walk_command(name).files
    most, most_of_the_shell = MOST_OF_COMMANDS[name]
    assert len(files) <= most, files
    own = [file for file in files if file.startswith("cli/")]
    assert len(own) <= most_of_the_shell, own


def loaded_after(code: str) -> list[str]:
    """The modules of discreet that a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return [name for name in json.loads(done.stdout) if name.startswith("discreet.")]


def test_a_first_selection_loads_no_accountant() -> None:
    loaded = loaded_after("import discreet; discreet.select([1, 2], epsilon=1, sensitivity=1)")
    assert [name for name in loaded if name.startswith("discreet.accounting")] == []


def test_a_walk_sees_every_file_that_is_entered() -> None:
    walk = walks.walked(lambda: walks.discreet.PureDP(1).to_zcdp())
    assert {"privacy/loss.py", "exact/rationals.py"} <= set(walk.files)
    assert ("privacy/loss.py", "PureDP.to_zcdp") in walk.functions
    assert walk.jumps > 0
