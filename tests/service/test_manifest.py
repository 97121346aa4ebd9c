"""A bad manifest is refused with its line and its rule, and nothing starts."""

from fractions import Fraction

import pandas
import pytest
from service.team import MANIFEST, Team, write

from discreet import ZCDP, ApproxDP, PureDP
from discreet.service.manifest import Manifest, ManifestError, line_number
from discreet.service.questions import make_loss

WRONG = [
    ("persons = 100", "persons = 0", "dataset.reads.persons", "greater than 0"),
    ("persons = 100", 'persons = "100"', "dataset.reads.persons", "whole number"),
    ("persons = 100", "persons = true", "dataset.reads.persons", "whole number"),
    ('{ epsilon = "3" }', '{ epsilon = "-3" }', "dataset.reads.budget", "greater than 0"),
    ('{ epsilon = "3" }', "{ epsilon = 0.1 }", "dataset.reads.budget.epsilon", "written as text"),
    ('{ epsilon = "3" }', "{ }", "dataset.reads.budget", "either"),
    ('person = "reader"\n', "", "dataset.reads.person", "is missing"),
    ('person = "reader"', 'person = "article"', "dataset.reads.column.article", "is the person"),
    ('person = "reader"', 'person = "writer"', "dataset.reads.person", "column"),
    ('"top_k", "mode"', '"top_k", "dump"', "dataset.reads.column.article.ask", "must be among"),
    ("reply_after", "reply_soon", "dataset.reads.reply_soon", "is not a known key of a manifest"),
    ('"10ms"', '"0s"', "dataset.reads.reply_after", "10 ms"),
    ("reply_after", 'time_limit = "0s"\nreply_after', "dataset.reads.time_limit", "10 ms"),
    ('filter = "range"', "filter = [1, 1]", "dataset.reads.column.pay.filter", "different"),
    ('source = "reads.csv"', 'source = "gone.csv"', "dataset.reads.source", "must be|cannot"),
    ('source = "reads.csv"', 'source = "env:NOT_SET"', "dataset.reads.source", "NOT_SET"),
    (
        'ask = ["count"]',
        'ask = ["mode"]',
        "dataset.reads.ask",
        "must be questions that are not about a column",
    ),
    ("team-a", "Team-A", "dataset.reads.share.Team-A", "lower-case"),
    ("column.role", "column.rolle", "dataset.reads.column.rolle", "does not have"),
    ('"ant", "bee"', '"ant", 7', "dataset.reads.column.article.candidates", "of one kind"),
    ('"ant", "bee"', "true, false", "dataset.reads.column.article.candidates", "of one kind"),
    ("candidates = ", 'labels = ["ant"]\ncandidates = ', "dataset.reads.column.article.labels", ""),
    ("candidates = ", 'split = ""\ncandidates = ', "dataset.reads.column.article.split", "one of"),
    (
        '"mode", "counts"',
        '"mode", "count"',
        "dataset.reads.column.article.ask",
        "has count, which is not about a column",
    ),
    ('decimal = "."\n', "", "dataset.reads.column.pay.ask", "said to have them.* Say decimal"),
    ('decimal = "."', 'decimal = ";"', "dataset.reads.decimal", "a point"),
    ('"."', '"."\nnumbers_in_text = ["never"]', "dataset.reads.numbers_in_text", "a column"),
    ("person = ", 'separator = "||"\nperson = ', "dataset.reads.separator", "one character"),
    ('column = "day"', 'column = "dai"', "dataset.months.window.column", "does not have"),
    ('column = "day"', 'column = "reader"', "dataset.months.window.column", "is the person"),
]


@pytest.mark.parametrize(("there", "instead", "path", "rule"), WRONG)
def test_a_mistake_is_named_with_line_and_rule(tmp_path, there, instead, path, rule):
    text = MANIFEST.replace(there, instead, 1)
    assert text != MANIFEST
    with pytest.raises(ManifestError, match=rf"discreet.toml, line \d+: {path}.*({rule})") as error:
        Team(tmp_path, text)
    line = int(str(error.value).partition("line ")[2].partition(":")[0])
    word = path.rpartition(".")[2]
    # a missing word is missed where its table begins
    assert word in text.splitlines()[line - 1] or "reads" in text.splitlines()[line - 1]
    # nothing has started
    assert not list(tmp_path.glob("*.db*"))


def test_a_loss_is_what_is_written():
    assert make_loss(Fraction(3), None, None) == PureDP(3)
    assert make_loss(Fraction(3), Fraction(1, 10**6), None) == ApproxDP(3, Fraction(1, 10**6))
    assert make_loss(None, None, Fraction(1, 8)) == ZCDP(Fraction(1, 8))


def test_a_mistake_that_was_mended_leaves_no_budget_behind(tmp_path):
    """The ledger has not heard of the person that was misspelt."""
    with pytest.raises(ManifestError, match=r"dataset.reads.person must be a column"):
        Team(tmp_path, MANIFEST.replace('person = "reader"', 'person = "raeder"', 1))
    team = Team(tmp_path)
    assert team.ask().status_code == 201
    team.service.close()


def test_days_are_windows_and_numbers_are_none(tmp_path):
    pandas.DataFrame({"reader": ["a"], "article": ["ant"], "day": [20261011]}).to_parquet(
        tmp_path / "reads.parquet"
    )
    text = MANIFEST[MANIFEST.index("[dataset.months]") :].replace("reads.csv", "reads.parquet")
    with pytest.raises(ManifestError, match=r"dataset.months.window.column must be a column of d"):
        Team(tmp_path, text)


def test_a_file_may_begin_with_a_mark(tmp_path):
    write(tmp_path, "\ufeff" + MANIFEST)
    assert list(Manifest.load(tmp_path / "discreet.toml").datasets) == ["reads", "months"]


def test_what_is_no_toml_is_named_with_its_line(tmp_path):
    write(tmp_path, "[dataset.reads]\ntitle = \n")
    with pytest.raises(ManifestError, match=r"discreet.toml, line 2: not TOML: Invalid value\."):
        Manifest.load(tmp_path / "discreet.toml")


def test_lines_are_found_in_lists_and_inline_tables():
    text = '[a.b]\nc = [\n  "x",\n]\n[a."d e"]\nf = { g = 1 }\n'
    assert [line_number(text, path) for path in (["a", "b", "c"], ["a", "d e"])] == [2, 5]
    assert line_number(text, ["a", "d e", "f", "g"]) == 6
    assert line_number(text, ["z"]) == 1


def test_a_budget_that_grew_in_the_ledger_counts(tmp_path):
    team = Team(tmp_path)
    budget = {"epsilon": "5", "reason": "a new quarter"}
    assert team.post("/v1/datasets/reads/extensions", budget, "steward").status_code == 201
    team.restart()
    assert team.service.published.account("reads", None).limit == 5
    assert "The ledger overrides the manifest." in " ".join(team.service.published.notes)
    team.service.close()


def test_a_share_that_was_revoked_does_not_keep_the_service_from_starting(tmp_path):
    team = Team(tmp_path)
    kept = team.ask()
    team.service.ledger.revoke("reads", "team-a", reason="left the team")
    team.restart()
    assert team.service.published.notes == [
        "The budget of 'team-a' on 'reads' was closed permanently in the ledger, which overrides "
        "the manifest."
    ]
    refused = team.ask({"what": "mode", "column": "article", "epsilon": "0.1"})
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/budget-closed")
    assert team.ask().content == kept.content
    assert team.ask(who="team-b").status_code == 201
    team.service.close()


def test_a_data_set_that_was_closed_does_not_keep_the_others_from_starting(tmp_path):
    team = Team(tmp_path)
    closed = team.post("/v1/datasets/reads/closings", {"reason": "done"}, "steward")
    assert closed.status_code == 201
    team.restart()
    assert team.service.published.notes == [
        "The budget of 'reads' was closed permanently in the ledger, which overrides the manifest."
    ]
    assert team.ask().json()["type"] == "/problems/budget-closed"
    question = {"what": "mode", "column": "article", "epsilon": "0.5", "windows": ["2026-10"]}
    assert team.ask(question, dataset="months").status_code == 201
    team.service.close()


def test_nothing_fits_a_closed_data_set(team):
    team.service.ledger.close_budget("reads", reason="done")
    asked = {"questions": [{"what": "mode", "column": "article", "epsilon": "0.1"}]}
    assert not team.post("/v1/datasets/reads/prices", asked).json()["prices"][0]["fits"]
    assert team.get("/v1/datasets/reads/budget").json()["data_set"] == "closed"


def test_another_person_for_the_same_budget_is_refused(tmp_path):
    Team(tmp_path).service.close()
    text = MANIFEST.replace('person = "reader"', 'person = "day"', 1)
    with pytest.raises(ManifestError, match="does not agree with the ledger"):
        Team(tmp_path, text)
