from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import shlex
from collections import Counter
from importlib.resources import files
from unittest import mock

import demo_data as make
import pytest

from discreet.cli import main
from discreet.cli.stories import LISTS, MASCOT

DATA = files("discreet.cli.data")


@pytest.fixture(scope="module")
def reads():
    return make.reads()


class TestData:
    @pytest.mark.parametrize("name", make.TABLES)
    def test_the_scores_are_what_the_script_makes(self, name):
        assert (DATA / name).read_text(encoding="utf-8") == make.text(name)

    def test_the_reads_are_what_the_script_makes(self):
        packed = (DATA / make.READS).read_bytes()
        assert gzip.decompress(packed).decode() == make.reads_text()
        assert len(packed) < 400_000
        assert (DATA / make.ARTICLES).read_text(encoding="utf-8") == make.articles_text()

    def test_articles_are_read_as_articles_are(self, reads):
        """A few by almost everybody, most by hardly anybody; some people open one twice; and the
        list has them all.
        """
        persons = Counter(article for _, article in {(row[0], row[1]) for row in reads})
        counts = sorted(persons.values(), reverse=True)
        assert counts[0] > 20 * counts[len(counts) // 2] > 20 * counts[-1]
        assert sum(counts) < len(reads)
        assert set(persons) <= set(make.articles_text().splitlines()) == set(make.articles())
        assert all("," not in article for article in persons)  # so that they can be typed as a list


@pytest.fixture(scope="module")
def told():
    """What the demo prints, once for all."""
    out, err = io.StringIO(), io.StringIO()
    terminal = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, terminal),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        assert main(["demo"]) == 0
    assert err.getvalue() == ""
    return out.getvalue()


def test_the_demo_asks_every_question(told):
    for story in (*LISTS, MASCOT):
        assert story.title in told
        assert " ".join(story.lesson.split()) in " ".join(told.split())
    assert (
        max(
            len(line.rstrip()) for line in told.splitlines() if not line.startswith("The tables of")
        )
        <= 80
    )


def test_the_first_list_is_as_good_as_it_should_be(told):
    part = told.split("1. The ten most read articles")[1].split("2. Data scientists")[0]
    ranks = [line.split() for line in part.splitlines() if line.strip()[:1].isdigit()]
    assert len(ranks) == 10
    assert int(ranks[0][-1]) == 1
    assert all(int(line[-1]) <= 40 for line in ranks)


def test_a_filter_is_part_of_the_second_question(told):
    part = told.split("2. Data scientists in the Bay Area")[1].split("3. Without")[0]
    assert "--where \"role = 'data scientist' and region = 'Bay Area'\"" in part
    first = next(line for line in part.splitlines() if line.startswith("   1  "))
    assert (
        first.split("  ")[2] == "The quiet return of A/B tests"
    )  # over all readers it is another one


def test_what_was_spent_and_what_is_left(told):
    part = told.split("4. What was spent and what is left")[1].split("5. One answer")[0]
    # lists by picks, whose squares add up
    assert part.count("10 \N{MULTIPLICATION SIGN} BoundedRange(0.2984)") == 2
    assert part.count("5 \N{MULTIPLICATION SIGN} BoundedRange(0.44)") == part.count("+ delta") == 1
    shares = [float(share) for share in re.findall(r"([0-9.]+)% of the budget", part)]
    assert len(shares) == 4
    assert sum(shares) == pytest.approx(100, abs=0.11)
    assert "is refused" in " ".join(part.split())


def test_one_selection_and_its_odds(told):
    part = told.split("5. One answer, and its odds")[1]
    assert part.count("Picked: ") == part.count("►") == 1
    text = " ".join(part.split())
    for words in (
        "promised",
        "came out",
        "cost",
        "at most about 17 votes behind the best in 99% of draws (34 votes without --monotonic)",
        "5.3 votes on average",
        "PureDP(epsilon=0.5)",
    ):
        assert words in text


def commands(text):
    """The commands of a text, as lists of words."""
    lines = text.replace("\\\n", " ").splitlines()
    return [
        shlex.split(line.removeprefix("$ "))[1:]
        for line in lines
        if line.removeprefix("$ ").startswith("discreet ")
    ]


def test_the_commands_of_the_demo_work(shell, told, tmp_path):
    shown = commands(told.split("What to try next")[0])
    assert len(shown) == len(LISTS) + 1
    for command in shown:
        assert shell(*command).code == 0, command


def test_what_to_try_next_works(shell, told, tmp_path):
    shown = commands(told.split("What to try next")[1])
    assert len(shown) == 4
    for command in shown:
        assert shell(*command).code == 0, command
