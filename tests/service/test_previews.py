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
    assert names == {"top_k"}


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


def test_a_preview_draws_as_an_answer_does(monkeypatch):
    """Counts of persons: one person moves each by 1, and all the same way."""
    asked = []

    def top_k(counts, k, **words):
        asked.append(words)
        return discreet.Release(
            value=[0], loss=discreet.PureDP(1), mechanism="test", candidates=2, seeded=True
        )

    monkeypatch.setattr(discreet, "top_k", top_k)
    previews.simulate([2, 1], k=1, epsilon=Fraction(1), draws=1)
    assert asked == [{"epsilon": 1, "sensitivity": 1, "monotonic": True}]


MISTAKES = [
    {"epsilon": "0"},
    {"epsilon": "17"},
    {"counts": [-1]},
    {"counts": [10**13]},
    {"k": 0},
    {"persons": 0},
    {"candidates": 10**6},
    {"shape": "true"},
    {"what": "quantile"},
]


@pytest.mark.parametrize("change", MISTAKES, ids=str)
def test_a_mistake_is_refused(team, change):
    body = {"what": "top_k", "k": 3, "epsilon": "1", "persons": 5000} | change
    assert team.post("/v1/datasets/reads/previews", body).status_code == 422
