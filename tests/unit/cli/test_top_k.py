from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Release, top_k_unknown_domain

# The leads are too large for chance, and nobody but the terrier's owner has brought a newt.
VOTES = "name,votes\nnewt,1\nhusky,20100\ncorgi,10100\nterrier,40100\n"
COLUMNS = ("--label", "name", "--score", "votes")
PRIVACY = ("--epsilon", "1", "--sensitivity", "1", "--monotonic")
UNKNOWN = ("--epsilon", "1", "--delta", "1e-6", "--unknown-domain", "--limit", "30")


@pytest.fixture
def votes(shell, tmp_path: Path):
    (tmp_path / "votes.csv").write_text(VOTES)
    return lambda *options: shell("scores", "top-k", "votes.csv", *COLUMNS, *options)


def ranks(outcome):
    """The lines of the ranking, as lists of words."""
    lines = [line.strip("│ ").split() for line in outcome.out.splitlines()]
    start = lines.index(["rank", "label"]) + 1
    return lines[start : lines.index([], start)]


def bare(release):
    """A release of scores without how far off it can be. No session was asked."""
    assert release.accuracy is not None
    assert release.asked is None
    return replace(release, accuracy=None)


@pytest.mark.parametrize(
    ("method", "parts"),
    [
        (
            "auto",
            (
                "PureDP(epsilon=1)",
                "peeling-permute-and-flip",
                "accuracy With 95% confidence, no unlisted candidate beats a listed one by more "
                "than "
                "12.3.",
            ),
        ),
        (
            "joint",
            (
                "BoundedRange(epsilon=1)",
                "joint-exponential",
                "accuracy With 95% confidence, each candidate is at most 12.3 behind the one that "
                "belongs in its place.",
            ),
        ),
    ],
)
def test_the_list_is_shown_with_its_promise(votes, method, parts):
    outcome = votes("-k", "3", *PRIVACY, "--method", method)
    assert (outcome.code, outcome.err) == (0, "")
    assert ranks(outcome) == [["1", "terrier"], ["2", "husky"], ["3", "corgi"]]
    words = " ".join(outcome.out.replace("│", "").split())
    for part in (
        *parts,
        "candidates 4",
        "Adding or removing any one person changes the chance of any answer",
        "by a factor of at most 2.72 (e^1).",
    ):
        assert part in words
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "100" not in outcome.out  # no score


def test_a_large_epsilon_needs_the_words(votes):
    huge = ("-k", "2", "--epsilon", "1000", "--sensitivity", "1")
    votes(*huge).refused(
        "'--epsilon'", "at most 64", "--acknowledge 'not private in any useful sense'"
    )
    assert votes(*huge, "--acknowledge", "not private in any useful sense").code == 0


class TestFewItemsOfEachPerson:
    """Public candidates of a file of scores, of which one person moves a few."""

    def test_a_histogram_needs_to_know_how_many(self, votes):
        votes("-k", "3", *PRIVACY, "--method", "histogram").refused(
            "The '--method' parameter of discreet scores top-k must be another one, unless "
            "you limit how many items of each person count. Got 'histogram'. Say "
            "--items-per-person."
        )
        options = ("--method", "histogram", "--items-per-person", "2", "--json")
        release = Release.from_json(votes("-k", "3", *PRIVACY, *options).out)
        assert release.mechanism == "histogram-laplace"

    @pytest.mark.parametrize(
        ("options", "got"), [(("--sensitivity", "2"), "'2'"), (("--score-range", "1"), "nothing")]
    )
    def test_one_person_moves_each_count_by_one(self, votes, options, got):
        votes("-k", "3", "--epsilon", "1", *options, "--items-per-person", "1").refused(
            "The '--sensitivity' parameter of discreet scores top-k must be 1 if "
            f"--items-per-person is given. Got {got}. The scores are then numbers of people."
        )


class TestLongLists:
    @pytest.fixture
    def many(self, shell):
        rows = "".join(f"item{i},{100_000 * i}\n" for i in range(1, 131))
        return lambda *options: shell(
            "scores",
            "top-k",
            "-",
            *COLUMNS,
            *PRIVACY,
            *options,
            stdin=f"name,votes\n{rows}".encode(),
        )

    @pytest.mark.parametrize("k", [20, 21, 130])
    def test_every_rank_is_shown_and_fits(self, many, k):
        outcome = many("-k", f"{k}")
        assert max(map(len, outcome.out.splitlines())) <= 80
        words = outcome.out.split()
        for rank in range(1, k + 1):
            assert words[words.index(f"item{131 - rank}") - 1] == f"{rank}"
        assert "item" + f"{130 - k}" not in words

    def test_many_are_set_in_columns(self, many):
        assert len(many("-k", "20").out.splitlines()) > 20
        assert len(many("-k", "130").out.splitlines()) < 45
        assert many("-k", "130").out.count("rank") == 5

    def test_a_narrow_terminal_has_fewer_columns(self, many, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        outcome = many("-k", "30")
        assert max(map(len, outcome.out.splitlines())) <= 40
        assert outcome.out.count("rank") == 2

    def test_long_labels_are_folded_and_not_cut(self, shell):
        rows = "".join(f"{i:02}{'x' * 150}end,{100_000 * i}\n" for i in range(1, 31))
        outcome = shell(
            "scores",
            "top-k",
            "-",
            *COLUMNS,
            *PRIVACY,
            "-k",
            "30",
            stdin=f"name,votes\n{rows}".encode(),
        )
        assert max(map(len, outcome.out.splitlines())) <= 80
        assert outcome.out.replace("│", "").replace("\n", "").replace(" ", "").count("xend") == 30


class TestUnknownDomain:
    def test_what_does_not_stand_out_is_not_named(self, votes):
        outcome = votes("-k", "5", *UNKNOWN)
        assert (outcome.code, outcome.err) == (0, "")
        nothing = ["⊥", "nothing", "more", "stands", "out"]
        assert ranks(outcome) == [["1", "terrier"], ["2", "husky"], ["3", "corgi"], nothing]
        assert "newt" not in outcome.out
        words = " ".join(outcome.out.replace("│", "").split())
        assert (
            "limited-domain candidates not known in advance; the 30 most frequent are considered"
            in words
        )

    @pytest.mark.parametrize(
        ("items", "mechanism"),
        [(None, "limited-domain"), (3, "threshold-gaussian"), (1000, "limited-domain")],
    )
    def test_json_is_a_release(self, votes, items, mechanism):
        bound = () if items is None else ("--items-per-person", f"{items}")
        outcome = votes("-k", "5", *UNKNOWN, *bound, "--json")
        release = Release.from_json(outcome.out)
        assert outcome.out == release.to_json() + "\n"
        counts = {"newt": 1, "husky": 20100, "corgi": 10100, "terrier": 40100}
        same = top_k_unknown_domain(
            counts, 5, epsilon=1, delta=1e-6, limit=30, items_per_person=items
        )
        assert release.mechanism == mechanism
        # the noise on the counts is drawn anew
        assert (release.counts is None) == (same.counts is None)
        assert replace(release, counts=None) == replace(same, counts=None)
        if release.counts is not None:
            leads = zip(release.counts.values, (40100, 20100, 10100), strict=True)
            assert all(abs(told - true) < 1000 for told, true in leads)
            assert replace(release.counts, values=()) == replace(same.counts, values=())

    def test_no_items_at_all_are_a_normal_answer(self, shell):
        outcome = shell(
            "scores", "top-k", "-", *COLUMNS, "-k", "3", *UNKNOWN, stdin=b"name,votes\n"
        )
        assert outcome.code == 0
        assert ranks(outcome) == [["⊥", "nothing", "more", "stands", "out"]]
        outcome = shell(
            "scores", "top-k", "-", *COLUMNS, "-k", "3", *UNKNOWN, "--json", stdin=b"name,votes\n"
        )
        assert Release.from_json(outcome.out).value == []

    @pytest.mark.parametrize("missing", ["--delta"])
    def test_what_is_required(self, votes, missing):
        options = [*UNKNOWN]
        del options[options.index(missing) : options.index(missing) + 2]
        votes("-k", "3", *options).refused(
            f"The '{missing}' parameter of discreet scores top-k must be given with "
            "--unknown-domain. Got nothing. "
        )

    def test_its_limit_is_refused_without_it(self, votes):
        message = (
            "The '--limit' parameter of discreet scores top-k must be left out without "
            "--unknown-domain. Got '30'."
        )
        votes("-k", "3", *PRIVACY, "--limit", "30").refused(message)


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "0", *PRIVACY),
        ("-k", "2", *PRIVACY, "--delta", "1"),
        ("-k", "2", *PRIVACY, "--method", "best"),
        ("-k", "2", *PRIVACY, "--plot", "list.gif"),
        ("-k", "2", *PRIVACY, "--limit", "30"),
        ("-k", "31", *UNKNOWN),
        ("-k", "2", *UNKNOWN, "--monotonic"),
    ],
    ids=" ".join,
)
def test_bad_parameters_are_named_before_the_file_is_touched(shell, options):
    outcome = shell("scores", "top-k", "missing.csv", *COLUMNS, *options)
    outcome.refused("of discreet scores top-k")
    assert "FILE" not in outcome.err


class TestPlot:
    @pytest.mark.parametrize(
        ("method", "stated"),
        [
            ("auto", ("Privacy loss: epsilon 1. Drawn by peeling-permute-and-flip.",)),
            ("joint", ("Privacy loss: epsilon 1 (bounded range). Drawn by joint-exponential.",)),
        ],
    )
    def test_the_picture_has_the_list_and_no_score(self, votes, tmp_path, method, stated):
        votes("-k", "3", *PRIVACY, "--method", method, "--plot", "list.svg")
        drawn = (tmp_path / "list.svg").read_text()
        for part in ("terrier", "husky", "corgi", *stated):
            assert part in drawn
        for score in ("40100", "20100", "10100", "newt"):
            assert score not in drawn

    def test_the_help_says_that_scores_are_never_drawn(self, shell):
        assert "Scores are private and never drawn." in " ".join(
            shell("scores", "top-k", "--help").out.split()
        )
