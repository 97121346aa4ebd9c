"""`discreet counts` and `count`, `--by` and `--groups`, and counts beside a file of scores."""

from __future__ import annotations

from fractions import Fraction

import polars
import pytest

from discreet import PureDP, Release
from discreet.mechanisms import UnknownDomainHistogram

# The leads are too large for chance; every owner has one row, and two have one in both regions.
PETS = "owner,pet,region,year\n" + "".join(
    f"{region}{pet}{number},{pet},{region},{2020 + (region == 'south')}\n"
    for region, pets in (
        ("north", {"cat": 900, "dog": 300, "newt": 1}),
        ("south", {"cat": 200, "dog": 800, "newt": 1}),
    )
    for pet, size in pets.items()
    for number in range(size)
)
FILE = ("pets.csv", "--epsilon", "1")
COUNTS = ("counts", *FILE, "--column", "pet", "--candidates", "cat,dog")
GROUPS = ("--by", "region", "--groups", "north,south")


@pytest.fixture
def pets(shell, tmp_path):
    (tmp_path / "pets.csv").write_text(PETS)
    (tmp_path / "scores.csv").write_text("pet,owners\ncat,41100\ndog,20100\nnewt,100\n")
    return shell


def test_counts_of_candidates(pets):
    release = Release.from_json(pets(*COUNTS, "--one-row", "--json").out)
    assert release.value == ["cat", "dog"]
    assert release.loss == PureDP(1)
    assert all(abs(count - 1100) < 40 for count in release.counts.values)
    shown = pets(*COUNTS, "--person", "owner", "--items-per-person", "1").out
    assert "accuracy      With 95% confidence, each number is off by at most 4 owners." in shown
    assert "none is off" not in shown


def test_the_number_of_persons(pets):
    release = Release.from_json(
        pets("count", *FILE, "--person", "owner", "--where", "region = 'north'", "--json").out
    )
    assert abs(release.value - 1201) < 40
    shown = pets("count", *FILE, "--person", "owner").out
    assert "With 95% confidence, the answer is off by at most 3 owners." in shown
    assert "candidates" not in shown


def test_an_answer_for_each_group(pets):
    release = Release.from_json(pets(*COUNTS, "--one-row", *GROUPS, "--json").out)
    assert list(release.value) == ["north", "south"]
    (north_cats, _), (south_cats, _) = release.counts.values
    assert north_cats > 800
    assert south_cats < 300
    mode = ("mode", *FILE, "--column", "pet", "--candidates", "cat,dog,newt", "--one-row")
    found = Release.from_json(pets(*mode, *GROUPS, "--json").out)
    assert found.value == {"north": "cat", "south": "dog"}
    lists = ("top-k", *FILE, "--column", "pet", "-k", "2", "--one-row", *GROUPS)
    shown = pets(*lists, "--candidates", "cat,dog,newt").out
    rows = [line.strip("│ ").split()[:-1] for line in shown.splitlines()[2:6]]
    assert rows == [["north", "cat"], ["dog"], ["south", "dog"], ["cat"]]


def test_groups_of_an_unknown_domain_may_be_empty(pets):
    command = ("top-k", *FILE, "--column", "pet", "-k", "2", "--one-row", "--delta", "1e-6")
    shown = pets(*command, "--items-per-person", "1", "--by", "region", "--groups", "north,west")
    assert "nothing" in shown.out
    height = UnknownDomainHistogram(k=2, epsilon=1, delta=1e-6, items_per_person=1)
    # two groups: each has half of the failures
    bound = height.error_bound(Fraction(1, 40))
    words = " ".join(shown.out.replace("│", " ").split())
    assert f"a pet with {bound} rows or more is listed" in words


def test_groups_are_values_of_their_column(pets, tmp_path):
    polars.read_csv(tmp_path / "pets.csv").write_parquet(tmp_path / "pets.parquet")
    years = ("counts", "pets.parquet", *COUNTS[2:], "--one-row", "--by", "year", "--groups")
    release = Release.from_json(pets(*years, "2020,2021", "--json").out)
    assert list(release.value) == [2020, 2021]
    pets(*years, "a,b").refused("'--groups'", "numbers, like the column")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--by", "region"), ("'--groups'", "given with --by")),
        (("--groups", "a,b"), ("'--by'", "given with --groups")),
        (("--by", "town", "--groups", "a"), ("'--by'", "a column of the table")),
        (("--by", "year", "--groups", "no.txt"), ("'--groups'", "an existing file")),
        (("--items-per-person", "0"), ("'--items-per-person'", "Got '0'")),
    ],
)
def test_public_mistakes_are_named(pets, options, parts):
    pets(*COUNTS, "--one-row", *options).refused(*parts)


def test_no_picture_of_several_answers(pets):
    mode = ("mode", *FILE, "--column", "pet", "--candidates", "cat,dog", "--one-row")
    pets(*mode, *GROUPS, "--plot", "a.png").refused("'--plot'", "left out with --by")


def test_counts_beside_a_file_of_scores(pets):
    scores = (
        "scores",
        "top-k",
        "scores.csv",
        "--label",
        "pet",
        "--score",
        "owners",
        "--epsilon",
        "1",
    )
    known = (*scores, "-k", "2", "--with-counts")
    release = Release.from_json(pets(*known, "--sensitivity", "1", "--monotonic", "--json").out)
    assert release.value == ["cat", "dog"]
    assert [round(count, -3) for count in release.counts.values] == [41000, 20000]
    assert release.loss == PureDP(1)
    unknown = (*scores, "-k", "2", "--delta", "1e-6", "--unknown-domain", "--limit", "20")
    release = Release.from_json(pets(*unknown, "--with-counts", "--json").out)
    assert release.counts is not None
    pets(*known, "--score-range", "1").refused("'--sensitivity'", "given if you ask for counts")
