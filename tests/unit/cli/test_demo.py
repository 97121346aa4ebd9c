from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from discreet.cli.data import make
from discreet.cli.stories import STORIES


@pytest.mark.parametrize("name", make.TABLES)
def test_the_bundled_data_is_what_the_script_makes(name):
    assert (files("discreet.cli.data") / name).read_text(encoding="utf-8") == make.text(name)


def table(name):
    rows = list(csv.reader(make.text(name).splitlines()))
    return [row[0] for row in rows[1:]], [int(row[1]) for row in rows[1:]]


def test_the_stories_have_the_sizes_they_tell():
    names, _ = table("mascot.csv")
    assert len(set(names)) == 100
    _, votes = table("teachers.csv")
    assert sum(votes) == 420
    prices, _ = table("song.csv")
    assert (len(prices), prices[0], prices[-1]) == (199, "$0.01", "$1.99")
    assert table("apples.csv") == (["$1.00", "$1.01", "$4.01", "$4.02"], [400, 101, 401, 0])


def test_the_demo_tells_every_story(shell):
    outcome = shell("demo")
    assert (outcome.code, outcome.err) == (0, "")
    for story in STORIES:
        assert story.title in outcome.out
    assert outcome.out.count("Picked: ") == outcome.out.count("►") == len(STORIES)
    for word in ("promised", "came out", "cost"):
        assert outcome.out.count(word) >= len(STORIES)
    text = " ".join(outcome.out.split())
    for part in ("18.4 votes", "36.8 votes", "$21.1 / epsilon", "What to try next", "PureDP(epsilon=0.5)"):
        assert part in text
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_what_to_try_next_works(shell):
    lines = shell("demo").out.split("What to try next")[1].replace("\\\n", " ").splitlines()
    commands = [line.split()[1:] for line in lines if line.startswith("discreet ")]
    assert len(commands) == 4
    votes = b"NAME,VOTES\nx,1\ny,2\n"
    for command in commands:
        typed = ["-" if word == "YOUR-FILE.csv" else word for word in command]
        assert shell(*typed, stdin=votes).code == 0, command


def test_the_commands_of_the_stories_work(shell, tmp_path):
    for name in make.TABLES:
        (tmp_path / name).write_text(make.text(name))
    out = shell("demo").out
    commands = [part.split("Picked")[0].replace("\\\n", " ").split() for part in out.split("$ discreet ")[1:]]
    assert len(commands) == len(STORIES)
    for command in commands:
        assert shell(*command).code == 0, command
