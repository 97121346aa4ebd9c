"""Previews come from made-up counts, and from nothing else."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from discreet.service import previews


def test_a_preview_cannot_know_a_table():
    tree = ast.parse(Path(previews.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "collections.abc", "dataclasses", "fractions", "discreet"}
    names = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "discreet"
    }
    assert names == {"planning", "Loss"}


def test_a_preview_is_free_and_marked(team):
    body = {"what": "top_k", "k": 3, "epsilon": "1", "persons": 5000, "candidates": 20}
    reply = team.post("/v1/datasets/reads/previews", body).json()
    assert reply["simulated"] is True
    assert [Fraction(each["epsilon"]) for each in reply["curve"]] == [
        Fraction(1, 4),
        Fraction(1, 2),
        1,
        2,
        4,
    ]
    assert team.charges() == 0


def test_the_real_sampler_finds_a_clear_winner_and_not_more():
    counts = previews.made_up("winner", 10**6, 10)
    assert previews.simulate(counts, k=1, epsilon=Fraction(1)).right == 1
    # 50 equal ones: whichever is drawn is as good
    assert previews.simulate([3] * 50, k=5, epsilon=Fraction(1, 10)).right == 5


@pytest.mark.parametrize("items", [None, 1])
def test_a_preview_draws_as_an_answer_does(team, monkeypatch, items):
    """In the way that the budget of the data set has for such a list."""
    asked, real = [], discreet.planning.preview

    def preview(counts, **words):
        asked.append(words)
        return real(counts, **words)

    monkeypatch.setattr(discreet.planning, "preview", preview)
    body = {"what": "top_k", "k": 3, "epsilon": "1", "persons": 5000, "candidates": 20}
    body |= {} if items is None else {"items_per_person": items}
    assert team.post("/v1/datasets/reads/previews", body).status_code == 200
    budget = team.service.ledger.account("reads").budget
    shared = {"k": 3, "items_per_person": items, "budget": budget, "draws": previews.DRAWS}
    steps = [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)]
    assert asked == [{"epsilon": step, **shared} for step in steps]


def test_the_page_takes_how_many_values_of_a_person_count(team, monkeypatch):
    asked, real = [], discreet.planning.preview

    def preview(counts, **words):
        asked.append(words["items_per_person"])
        return real(counts, **words)

    monkeypatch.setattr(discreet.planning, "preview", preview)
    with team.signed_in("team-a"):
        assert team.page("/datasets/reads/plan").status_code == 200
        assert team.page("/datasets/reads/plan?items_per_person=2").status_code == 200
        assert asked == [None] * 5 + [2] * 5
        assert team.page("/datasets/reads/plan?items_per_person=some").status_code == 422


def test_right_names_are_counted_from_the_same_draws():
    counts = [30, 20, 20, 3]
    found = previews.simulate(counts, k=2, epsilon=Fraction(1, 5), draws=200)
    seen = discreet.planning.preview(dict(enumerate(counts, start=1)), k=2, epsilon=0.2, draws=200)
    assert found.right == Fraction(sum(seen.chosen[rank] for rank in (1, 2, 3)), 200)
    assert found.examples == tuple(tuple(each.value) for each in seen.examples[:3])


MISTAKES = [
    {"epsilon": "0"},
    {"epsilon": "1e-7"},
    {"epsilon": "1e-900", "items_per_person": 1},
    {"epsilon": "17"},
    {"counts": [-1]},
    {"counts": [10**13]},
    {"k": 0},
    {"items_per_person": 0},
    {"persons": 0},
    {"candidates": 10**6},
    {"shape": "true"},
    {"what": "quantile"},
]


@pytest.mark.parametrize("change", MISTAKES, ids=str)
def test_a_mistake_is_refused(shared, change):
    body = {"what": "top_k", "k": 3, "epsilon": "1", "persons": 5000} | change
    assert shared.post("/v1/datasets/reads/previews", body).status_code == 422
