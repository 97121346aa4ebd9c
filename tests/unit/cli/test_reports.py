from __future__ import annotations

import csv
import json

import pytest

from discreet import PureDP
from discreet.mechanisms import RandomizedResponse, Rappor, SubsetSelection

LABELS = ["yes", "no", "maybe"]
KINDS = {"randomized-response": RandomizedResponse, "rappor": Rappor, "subset": SubsetSelection}
PRIVACY = ("--categories", "yes,no,maybe", "--epsilon", "1")


@pytest.fixture
def answers(tmp_path):
    """6,000 persons: a half, a third and a sixth."""
    rows = "".join(
        f"{person},{LABELS[place]}\n"
        for person, place in enumerate([0] * 3000 + [1] * 2000 + [2] * 1000)
    )
    (tmp_path / "answers.csv").write_text(f"person,answer\n{rows}")
    return "answers.csv"


def written(tmp_path, name="reports.csv"):
    with open(tmp_path / name, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][0].startswith("report mechanism=")
    return [text for (text,) in rows[1:]]


@pytest.mark.parametrize("mechanism", KINDS)
def test_reports_come_back_as_shares(shell, answers, tmp_path, mechanism):
    words = (*PRIVACY, "--mechanism", mechanism)
    outcome = shell("privatize", answers, "--column", "answer", *words, "-o", "reports.csv")
    assert (outcome.code, outcome.err) == (0, "")
    assert "6,000" in outcome.out
    assert "PureDP(epsilon=1) for each person" in outcome.out
    assert "The reports are in reports.csv" in outcome.out
    assert len(written(tmp_path)) == 6000
    found = json.loads(shell("estimate", "reports.csv", *words, "--json").out)
    assert (found["mechanism"], found["reports"], found["categories"]) == (mechanism, 6000, LABELS)
    assert found["loss"] == PureDP(1).to_dict()
    expected = KINDS[mechanism](LABELS, epsilon=1).standard_error(6000, found["shares"]).tolist()
    assert found["standard_errors"] == expected
    for share, error, truth in zip(found["shares"], expected, (1 / 2, 1 / 3, 1 / 6), strict=True):
        assert abs(share - truth) < 6.2 * error  # wrong once in a billion runs


def test_a_table_of_shares_with_errors(shell, tmp_path):
    (tmp_path / "reports.csv").write_text("report\n" + "yes\n" * 60 + "no\n" * 40)
    outcome = shell("estimate", "reports.csv", *PRIVACY, "--mechanism", "randomized-response")
    assert (outcome.code, outcome.err) == (0, "")
    mechanism = RandomizedResponse(LABELS, epsilon=1)
    shares = mechanism.estimate([0] * 60 + [1] * 40)
    errors = mechanism.standard_error(100, shares)
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["category", "share", "±", "error"]
    for line, label, share, error in zip(lines[1:], LABELS, shares, errors, strict=False):
        assert line.split()[:3] == [label, f"{100 * share:.2f}%", f"{100 * error:.2f}%"]
    assert "100 reports by randomized-response" in outcome.out
    assert max(map(len, lines)) <= 80


def test_the_forms_of_reports(shell, answers, tmp_path):
    for mechanism, form in (
        ("randomized-response", set(LABELS)),
        ("rappor", {f"{bits:03b}" for bits in range(8)}),
    ):
        shell(
            "privatize",
            answers,
            "--column",
            "answer",
            *PRIVACY,
            "--mechanism",
            mechanism,
            "-o",
            "reports.csv",
        )
        assert set(written(tmp_path)) == form
        # what is there is never written over
        (tmp_path / "reports.csv").unlink()
    shell("privatize", answers, "--column", "answer", *PRIVACY, "--size", "2", "-o", "reports.csv")
    assert set(written(tmp_path)) == {"110", "101", "011"}
    assert shell("estimate", "reports.csv", *PRIVACY, "--size", "2").code == 0


def test_pipes(shell, answers):
    first = shell("privatize", answers, "--column", "answer", *PRIVACY)
    assert first.err == ""
    second = shell("estimate", "-", *PRIVACY, "--json", stdin=first.out.encode())
    assert json.loads(second.out)["reports"] == 6000


def test_values_keep_their_order_and_their_spelling(shell, tmp_path):
    """With an epsilon so large that reports are the truth."""
    labels = ["a;b", "c|d", 'g"h', "0012", "1e5", " m ", "ä", "#n", "e,f"]
    for name in ("values.csv", "categories.csv"):
        with open(tmp_path / name, "w", newline="") as file:
            csv.writer(file).writerows([["column"], *([label] for label in labels)])
    words = (
        "--categories",
        "categories.csv",
        "--epsilon",
        "90",
        "--acknowledge",
        "not private in any useful sense",
    )
    shell(
        "privatize",
        "values.csv",
        "--column",
        "column",
        *words,
        "--mechanism",
        "randomized-response",
        "-o",
        "reports.csv",
    )
    assert written(tmp_path) == labels
    (tmp_path / "reports.csv").unlink()
    shell(
        "privatize",
        "values.csv",
        "--column",
        "column",
        *words,
        "--mechanism",
        "rappor",
        "-o",
        "reports.csv",
    )
    assert written(tmp_path) == ["0" * place + "1" + "0" * (8 - place) for place in range(9)]


def test_other_files_and_columns(shell, tmp_path):
    (tmp_path / "values.jsonl").write_text('{"floor": 1}\n{"floor": 2}\n')
    outcome = shell(
        "privatize", "values.jsonl", "--column", "floor", "--categories", "1,2,3", "--epsilon", "1"
    )
    assert outcome.code == 0
    assert outcome.out.splitlines()[0].startswith("report mechanism=subset epsilon=1 size=1")
    assert len(outcome.out.splitlines()) == 3
    (tmp_path / "mine.csv").write_text("when,said\n1,yes\n2,no\n")
    words = ("--mechanism", "randomized-response", "--column", "said", "--json")
    assert json.loads(shell("estimate", "mine.csv", *PRIVACY, *words).out)["reports"] == 2


def test_a_picture(shell, tmp_path):
    (tmp_path / "reports.csv").write_text("report\n" + "yes\n" * 60 + "no\n" * 40)
    for file in ("shares.png", "shares.svg"):
        outcome = shell(
            "estimate",
            "reports.csv",
            *PRIVACY,
            "--mechanism",
            "randomized-response",
            "--plot",
            file,
        )
        assert outcome.code == 0
        assert f"The picture is in {file}" in outcome.out
    assert (tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")
    quiet = shell(
        "estimate",
        "reports.csv",
        *PRIVACY,
        "--mechanism",
        "randomized-response",
        "--plot",
        "q.svg",
        "--json",
    )
    assert quiet.out.count("\n") == 1
    assert (tmp_path / "q.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--epsilon", "0"), ("'--epsilon'", "greater than 0", "'0'")),
        (("--epsilon", "100"), ("'--epsilon'", "at most 64", "--acknowledge")),
        (("--categories", "yes"), ("'--categories'", "at least two labels")),
        (
            ("--mechanism", "laplace"),
            ("'--mechanism'", "'randomized-response', 'rappor', 'subset'", "'laplace'"),
        ),
        (("--mechanism", "rappor", "--size", "2"), ("'--size'", "with --mechanism subset only")),
        (("--size", "3"), ("'--size'", "less than the number of categories, 3")),
        (("--column", "answr"), ("'--column'", "did you mean 'answer'?")),
    ],
    ids=str,
)
def test_bad_requests(shell, answers, tmp_path, arguments, parts):
    words = {"--categories": "yes,no,maybe", "--epsilon": "1", "--column": "answer"}
    words |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    flat = [part for pair in words.items() for part in pair]
    shell("privatize", answers, *flat).refused("discreet privatize", *parts)
    (tmp_path / "reports.csv").write_text("answer\n111\n")
    shell("estimate", "reports.csv", *flat).refused("discreet estimate", *parts)


def test_an_unknown_value_is_refused_and_not_shown(shell, tmp_path):
    for text in ("yes\ncanary-718281\n", "yes\n\nno\n"):
        (tmp_path / "answers.csv").write_text("answer\n" + text)
        outcome = shell(
            "privatize", "answers.csv", "--column", "answer", *PRIVACY, "-o", "reports.csv"
        )
        outcome.refused(
            "'--column'", "whose values are all among the categories. Got something else."
        )
        assert "canary" not in outcome.err
        assert not (tmp_path / "reports.csv").exists()


@pytest.mark.parametrize("output", ["nowhere/reports.csv", "."])
def test_an_output_that_cannot_be_written(shell, answers, output):
    outcome = shell("privatize", answers, "--column", "answer", *PRIVACY, "-o", output)
    outcome.refused("'--output'", "a file that you may write", output)


@pytest.mark.parametrize(
    ("reports", "mechanism", "parts"),
    [
        ("yes\nperhaps", "randomized-response", ("labels of the categories", "Got another one.")),
        ("0101", "rappor", ("texts of 3 digits",)),
        ("01x", "rappor", ("texts of 3 digits",)),
        ("011", "subset", ("texts with 1 times the digit 1",)),
        ("", "subset", ("at least one report",)),
    ],
)
def test_reports_that_do_not_fit(shell, tmp_path, reports, mechanism, parts):
    (tmp_path / "reports.csv").write_text(f"report\n{reports}\n" if reports else "report\n")
    shell("estimate", "reports.csv", *PRIVACY, "--mechanism", mechanism).refused(
        "'REPORTS'", *parts
    )


def test_files_that_cannot_be_read(shell, tmp_path):
    shell("estimate", "nowhere.csv", *PRIVACY).refused("'REPORTS'", "an existing file")
    shell("privatize", "nowhere.csv", "--column", "a", *PRIVACY).refused(
        "'FILE'", "an existing file"
    )
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing")
    shell("privatize", "broken.parquet", "--column", "a", *PRIVACY).refused(
        "'FILE'", "can be read as parquet"
    )
    (tmp_path / "reports.csv").write_text("report\n100\n")
    shell("estimate", "reports.csv", *PRIVACY, "--plot", "picture.bmp").refused("'--plot'", ".png")
    shell("estimate", "reports.csv", *PRIVACY, "--column", "reporter").refused("'--column'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "2"], "The '--epsilon' parameter of discreet estimate must be 1, as the he"),
        (["--mechanism", "rappor"], "The '--mechanism' parameter of discreet estimate must be sub"),
        (["--size", "2"], "The '--size' parameter of discreet estimate must be 1, as the header"),
        (["--categories", "no,yes,maybe"], "The '--categories' parameter of discreet estimate mus"),
    ],
)
def test_reports_of_another_mechanism_are_refused(shell, tmp_path, options, message):
    answers, reports = tmp_path / "answers.csv", str(tmp_path / "reports.csv")
    answers.write_text("answer\nyes\nno\n")
    usual = ["--categories", "yes,no,maybe", "--epsilon", "1"]
    shell("privatize", str(answers), "--column", "answer", *usual, "-o", reports)
    assert shell("estimate", reports, *usual).code == 0
    refused = shell("estimate", reports, *usual, *options)
    assert refused.code == 2
    assert message in " ".join(refused.err.split())
