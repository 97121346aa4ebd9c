"""`discreet mode`, `best-price`, `quantile` and the table form of `top-k`: one question to a
table of persons.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from tiers import first

from discreet import ApproxDP, MissingExtraError, PureDP, Release

# The leads are too large for chance. Every third student has two rows that say the same,
# and one is counted for Ada only in May.
TEACHERS = {"Ada": 3000, "Bob": 1500, "Cy": 1}
VOTES = "student,teacher,grade,pays,month\n" + "".join(
    f"{teacher}{number},{teacher},{8 + number % 4},{5 if number % 2 else 2},"
    f"{'May' if teacher == 'Ada' else 'June'}\n" * (1 + (number % 3 == 0))
    for teacher, count in TEACHERS.items()
    for number in range(count)
)
WHO = ("--person", "student")
NUMBERS = ("--numbers-in-text",)
MODE = ("mode", "votes.csv", *NUMBERS, "--column", "teacher")
PICK = (*MODE, *WHO, "--candidates", "Ada,Bob,Cy", "--epsilon", "1")
LARGEST = ("--rule", "max")
PRICE = (
    "best-price",
    "votes.csv",
    *NUMBERS,
    "--column",
    "pays",
    *WHO,
    *LARGEST,
    "--prices",
    "1:6:1",
    "--epsilon",
    "1",
)
MEDIAN = (
    "quantile",
    "votes.csv",
    *NUMBERS,
    "--column",
    "grade",
    *WHO,
    *LARGEST,
    "--q",
    "0.5",
    "--bounds",
    "0,20",
    "--step",
    "1",
    "--epsilon",
    "1",
)
LIST = ("top-k", "votes.csv", *NUMBERS, "--column", "teacher", *WHO, "-k", "2", "--epsilon", "1")
KNOWN = ("--candidates", "Ada,Bob,Cy")
UNKNOWN = ("--delta", "1e-6", "--limit", "30")
COMMANDS = {"mode": PICK, "best-price": PRICE, "quantile": MEDIAN, "top-k": (*LIST, *KNOWN)}


@pytest.fixture
def ask(shell, tmp_path):
    (tmp_path / "votes.csv").write_text(VOTES)
    return shell


def answer(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return Release.from_json(outcome.out)


def bare(release):
    """A release without what it says of itself: how far off it can be, and what was asked."""
    assert None not in (release.accuracy, release.asked)
    return replace(release, accuracy=None, asked=None)


def words(outcome):
    return " ".join(outcome.out.replace("│", "").split())


class TestAnswers:
    def test_the_mode(self, ask):
        release = answer(ask(*PICK, "--json"))
        assert bare(release) == Release(
            value="Ada", loss=PureDP(1), mechanism="permute-and-flip", candidates=3
        )

    def test_the_list_of_an_unknown_domain(self, ask):
        release = answer(ask(*LIST[:-4], "-k", "5", "--epsilon", "1", *UNKNOWN, "--json"))
        assert bare(release) == Release(
            value=["Ada", "Bob"], loss=ApproxDP(1, 1e-6), mechanism="limited-domain", candidates=30
        )

    @pytest.mark.parametrize(
        ("epsilon", "delta"),
        first(
            [("0.01", "0.4"), ("60", "1e-30"), ("0.01", "1e-30"), ("1", "0.4"), ("60", "0.4")], 2
        ),
    )
    def test_whatever_it_costs_the_session_has_room_for_it(self, ask, epsilon, delta):
        for domain in (KNOWN, ("--limit", "30")):
            assert ask(*LIST[:-1], epsilon, "--delta", delta, *domain).code == 0

    def test_a_row_by_itself_has_one_value_and_no_rule(self, ask):
        alone = [option for option in MEDIAN if option not in (*WHO, *LARGEST)]
        assert answer(ask(*alone, "--one-row", "--json")).value in (9, 10)
        refused = ask(*alone, "--one-row", *LARGEST)
        refused.refused("'--rule'", "left out if each row is protected by itself", "Got 'max'.")

    def test_an_empty_table_is_an_answer_too(self, shell, tmp_path):
        (tmp_path / "votes.csv").write_text("student,teacher,grade,pays\n")
        for command in COMMANDS.values():
            assert shell(*command).code == 0
        assert answer(shell(*LIST, *UNKNOWN, "--json")).value == []


class TestShown:
    def test_the_answer_with_its_promise(self, ask):
        outcome = ask(*PICK, "--where", "grade >= 8")
        assert (outcome.code, outcome.err) == (0, "")
        for part in (
            "selected Ada",
            "PureDP(epsilon=1)",
            "candidates 3",
            "protects each `student`, with all of their rows",
            "where grade >= 8",
            "Adding or removing any one person changes the chance of any answer by a factor",
        ):
            assert part in words(outcome)
        assert max(map(len, outcome.out.splitlines())) <= 80
        assert "3000" not in outcome.out

    def test_the_promise_to_a_row(self, ask):
        outcome = ask(*MODE, "--one-row", *KNOWN, "--epsilon", "1")
        assert "protects each row by itself accuracy" in words(outcome)
        assert (
            "promise Adding or removing any one row changes the chance of any answer by a"
            in words(outcome)
        )

    def test_a_list(self, ask):
        outcome = ask(*LIST[:-4], "-k", "3", "--epsilon", "1", *UNKNOWN)
        assert "1 Ada 2 Bob ⊥ nothing more stands out" in words(outcome)
        assert "protects each `student`, with all of their rows" in words(outcome)
        assert "not known in advance; the 30 most frequent are considered" in words(outcome)
        assert "Cy" not in outcome.out

    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_a_terminal_is_told_what_takes_a_moment(self, ask, monkeypatch, command):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes this for a terminal
        monkeypatch.setattr("discreet.cli.terminal._PATIENCE", 0)
        outcome = ask(*COMMANDS[command])
        assert outcome.code == 0
        assert "Asking the table" in outcome.err
        outcome = ask(*COMMANDS[command], "--json")  # the answer is for another program
        assert outcome.err == ""
        assert Release.from_json(outcome.out)

    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_a_pipe_is_told_nothing(self, ask, monkeypatch, command):
        monkeypatch.setattr("discreet.cli.terminal._PATIENCE", 0)
        assert ask(*COMMANDS[command]).err == ""

    def test_a_label_cannot_play_with_the_terminal(self, ask):
        outcome = ask(
            *MODE,
            *WHO,
            "--candidates",
            "[red][31mx",
            "--epsilon",
            "1",
            "--where",
            "month = '\x1b[31m'",
        )
        assert outcome.code == 0
        assert "\x1b" not in outcome.out
        assert "[red]" in outcome.out


class TestPlot:
    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_a_picture_is_written_and_has_no_score(self, ask, tmp_path, command):
        outcome = ask(*COMMANDS[command], "--plot", "answer.svg")
        assert outcome.out.endswith("The picture is in answer.svg\n")
        drawn = (tmp_path / "answer.svg").read_text()
        for count in ("3000", "1500", "15000"):
            assert f"<!-- {count}" not in drawn

    def test_json_stays_one_line(self, ask, tmp_path):
        outcome = ask(*PICK, "--plot", "answer.png", "--json")
        assert answer(outcome).value == "Ada"
        assert (tmp_path / "answer.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_without_matplotlib_there_is_one_line_and_no_draw(self, ask, monkeypatch, command):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        ask(*COMMANDS[command], "--plot", "a.png").refused(
            str(MissingExtraError("Pictures as PNG", "plot"))
        )

    def test_an_answer_that_was_paid_for_is_shown_even_if_the_picture_fails(
        self, ask, monkeypatch, tmp_path
    ):
        # the file appears while the question is answered
        monkeypatch.setattr("discreet.cli.plot_option.require_writable", lambda *_: None)
        (tmp_path / "a.svg").write_text("")
        outcome = ask(*PICK, "--plot", "a.svg")
        assert outcome.code == 2
        assert "selected Ada" in words(outcome)
        assert outcome.err.startswith(
            "Error: The '--plot' parameter of discreet mode must be a file that you may write"
        )


class TestFiles:
    def test_standard_input_is_csv(self, shell):
        outcome = shell("mode", "-", *PICK[2:], "--json", stdin=VOTES.encode())
        assert answer(outcome).value == "Ada"

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("missing.csv",), ("'TABLE'", "an existing file", "Got 'missing.csv'.")),
            (
                ("https://example.org/votes.csv",),
                ("'TABLE'", "Download it first: discreet reads only local files."),
            ),
            (("votes.csv", "--table", "x"), ("'--table'", "given only for a database", "Got 'x'.")),
            (
                ("votes.xlsx",),
                ("'TABLE'", "a file whose name ends in one of .csv", "Got 'votes.xlsx'. Save"),
            ),
        ],
    )
    def test_what_is_no_table(self, ask, tmp_path, options, parts):
        for name in ("broken.duckdb", "broken.parquet", "votes.xlsx"):
            (tmp_path / name).write_text("canary 424242")
        for name in ("empty.csv", "empty.jsonl"):
            (tmp_path / name).touch()
        outcome = ask("mode", *options, *PICK[2:])
        outcome.refused("of discreet mode", *parts)
        assert "canary" not in outcome.err


class TestHintsInTheWordsOfTheShell:
    def test_another_encoding(self, ask, tmp_path):
        (tmp_path / "latin.csv").write_bytes("Straße,x\ncanary,1\n".encode("latin-1"))
        outcome = ask("mode", "latin.csv", *PICK[2:])
        outcome.refused(
            "'TABLE'", "Got 'latin.csv'.", "Give another one, as in --encoding latin-1."
        )
        assert "canary" not in outcome.err

    def test_which_of_several_rows(self, ask):
        place = MEDIAN.index("--rule")
        outcome = ask(*MEDIAN[:place], *MEDIAN[place + 2 :])
        outcome.refused(
            "'--rule'",
            "Got nothing.",
            "which value counts if a person has several rows: --rule max or --rule min.",
        )


class TestRefused:
    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_somebody_must_be_protected(self, ask, command):
        options = [option for option in COMMANDS[command] if option not in WHO]
        ask(*options).refused(
            f"The '--person' parameter of discreet {command} must be given, or '--one-row' in its "
            f"place",
            "Got nothing.",
        )

    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_a_file_without_a_header_shows_no_row(self, shell, tmp_path, command):
        (tmp_path / "votes.csv").write_text("canary,424242\nx,1\n")
        outcome = shell(*COMMANDS[command])
        outcome.refused("It has 2 columns. Is the first line a header?")
        assert "canary" not in outcome.err
        assert "424242" not in outcome.err

    @pytest.mark.parametrize(
        "row",
        ["canary", "canary,,,,,,,", '"canary', "canary,\x00,nan,inf,-", "canary,Ada,1e999,1e999,x"],
    )
    @pytest.mark.parametrize("command", first(COMMANDS, tier="pairs"))
    def test_no_row_raises(self, shell, tmp_path, command, row):
        (tmp_path / "votes.csv").write_text(f"{VOTES}{row}\n")
        outcome = shell(*COMMANDS[command], "--where", "grade >= 8")
        assert outcome.code == 0
        assert "canary" not in outcome.out + outcome.err

    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_command_raises_because_of_a_row(self, shell, tmp_path, command):
        row = "canary,\x00,nan,inf,-"
        self.test_no_row_raises(shell, tmp_path, command, row)
