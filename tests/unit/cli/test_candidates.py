"""`--candidates` and `--prices`: typed lists, files and ranges."""

from __future__ import annotations

import gzip
from datetime import date

import narwhals as nw
import pytest

from discreet import ParameterError
from discreet.cli.files import as_the_column, typed_candidates
from discreet.questions.kinds import MOST_PRICES, Prices


@pytest.fixture(autouse=True)
def files(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_bytes("\ufeffAda\r\nBob, Jr\n\n Cy \n".encode())
    (tmp_path / "names").write_text("Ada\nBob")
    (tmp_path / "names.csv").write_text('teacher\nAda\n"Bob, Jr"\n\n')
    (tmp_path / "two.csv").write_text("teacher,votes\nAda,3\n")
    (tmp_path / "names.txt.gz").write_bytes(gzip.compress(b"Ada\nBob\n"))
    (tmp_path / "broken.txt.gz").write_bytes(b"Ada\nBob\n")
    (tmp_path / "latin.txt").write_bytes("Zoë".encode("latin-1"))
    (tmp_path / "empty.txt").write_bytes(b"")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Ada,Bob", ["Ada", "Bob"]),
        ("Ada, Bob ,Cy", ["Ada", "Bob", "Cy"]),
        ('"Bob, Jr",Ada', ["Bob, Jr", "Ada"]),
        ("Ada", ["Ada"]),
        ("names.txt", ["Ada", "Bob, Jr", " Cy "]),
        ("@names.txt", ["Ada", "Bob, Jr", " Cy "]),
        ("names", ["Ada", "Bob"]),
        ("./names", ["Ada", "Bob"]),
        ("names.csv", ["Ada", "Bob, Jr"]),
        ("names.txt.gz", ["Ada", "Bob"]),
        ("empty.txt", []),
        ("", []),
    ],
)
def test_lists_and_files(text, labels):
    assert typed_candidates(text, "discreet mode") == labels


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("missing.txt", "an existing file that you may read"),  # not a candidate of that name
        ("@missing", "an existing file that you may read"),
        ("folder/missing", "an existing file that you may read"),
        ("two.csv", "a CSV file with one column"),
        ("latin.txt", "a text file in UTF-8"),
        ("broken.txt.gz", "a text file in UTF-8"),
        ('"Ada', "a list such as a,b,c or an existing file"),
    ],
)
def test_what_is_no_list(text, rule):
    with pytest.raises(ParameterError, match=rule) as caught:
        typed_candidates(text, "discreet mode")
    assert (caught.value.owner, caught.value.name, caught.value.got) == (
        "discreet mode",
        "--candidates",
        text,
    )


@pytest.mark.parametrize(
    ("kind", "labels", "values"),
    [
        (nw.String(), ["1", "a"], ["1", "a"]),
        (nw.Int64(), ["1", "02"], [1, 2]),
        (nw.Float64(), ["1", "0.5"], [1, 0.5]),
        (nw.Boolean(), ["true", "False"], [True, False]),
        (nw.Date(), ["2025-03-01"], [date(2025, 3, 1)]),
    ],
)
def test_labels_become_values_of_the_column(kind, labels, values):
    found = as_the_column(labels, kind, "typed", "discreet mode")
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize("kind", [nw.Int64(), nw.Boolean(), nw.Date()])
def test_labels_that_the_column_cannot_hold(kind):
    with pytest.raises(ParameterError, match=r"like the column\. Got 'typed'"):
        as_the_column(["Ada"], kind, "typed", "discreet mode")


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("1,2,5", [1, 2, 5]),
        ("5, 1", [5, 1]),
        ("0.99,1/2", [0.99, 0.5]),
        ("1:3:1", [1, 2, 3]),
        ("1:10:0.5", [1 + place / 2 for place in range(19)]),
        ("0.1:0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),  # no float adds up
        ("1:2:0.7", [1, 1.7]),
        ("2:2:1", [2]),
    ],
)
def test_prices(text, prices):
    assert list(Prices().parse(text, "prices")) == prices


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "numbers such as"),
        ("1:10:1:1", "numbers such as"),
        ("1:10:0", "First the lowest"),
        ("10:1:1", "First the lowest"),
        ("1:1000000:0.001", f"at most {MOST_PRICES:,} prices"),
        (",".join(map(str, range(1, MOST_PRICES + 2))), f"at most {MOST_PRICES:,}"),
        ("0,1", "greater than 0"),
        ("1,1.0", "all different"),
    ],
)
def test_what_is_no_list_of_prices(text, part):
    with pytest.raises(ParameterError, match=part) as caught:
        Prices().parse(text, "prices")
    assert caught.value.name == "prices"


def test_as_many_prices_as_there_may_be(shell):
    options = ("--column", "pays", "--one-row", "--prices", f"1:{MOST_PRICES}:1", "--epsilon", "1")
    options += ("--decimal", ".")
    assert shell("best-price", "-", *options, stdin=b"pays\n7\n").code == 0
