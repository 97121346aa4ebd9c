"""No call does more work than it did when it was made fast: steps are counted, not seconds.

A limit is about a quarter above what was counted on the day that it was written. Whoever makes a
call faster lowers it; whoever raises one says why in the commit.
"""

from __future__ import annotations

import numpy as np
import pytest
from tiers import loop_over, more
from work import counted, most_memory, questions, scores, selections

import discreet

# steps with 100 candidates, and with 10,000
SELECTIONS = {
    "select from an array": (100, 145),
    "select from a mapping": (104, 140),
    "select by Laplace noise": (170, 214),
    "top_k, 10": (265, 295),
    # a round of five proposals
    "top_k, 10 of floats": (800, 800),
    "top_k, 10 by peeling": (525, 555),
}
# steps for a list of 100
LIST_OF_A_MILLION = 1820
# of floats a round of many proposals, each of which looks at a hundred places
ROUNDED_LIST_OF_A_MILLION = 11_500
PEELED_FROM_A_MILLION = {"peel": 6150, "one-shot": 5000}
QUESTIONS = {
    "select_many, 100,000 draws": 2050,
    "Session.mode": 900,
    "Session.best_price, 99 prices": 4300,
    "Ledger.reserve": 550,
}


@loop_over("name", SELECTIONS)
@loop_over(("size", "column"), [(100, 0), (10_000, 1)])
def test_a_selection_takes_few_steps(name, size, column):
    work = counted(selections(size)[name])
    assert 0 < work.steps <= SELECTIONS[name][column], work.told()


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_takes_few_steps(name):
    with questions() as asked:
        work = counted(asked[name])
    assert 0 < work.steps <= QUESTIONS[name], work.told()


@pytest.mark.parametrize(("size", "most"), [(10**6, 245), more(2**22, 300)])
def test_steps_hardly_grow_with_the_candidates_where_they_are_many(size, most):
    """One pass for the columns, one over an eighth of the scores, and the same draw: chunks of
    a pass are all that there are more of.
    """
    many = scores(size)
    work = counted(lambda: discreet.select(many, epsilon=1, sensitivity=1, monotonic=True))
    assert 0 < work.steps <= most, work.told()


@pytest.mark.parametrize("kind", [float, more(int)])
def test_a_selection_of_a_million_holds_less_than_its_scores(kind):
    many = scores(10**6).astype(kind)
    asked = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    assert 0 < most_memory(lambda: discreet.select(many, **asked)) < many.nbytes
    # the level of each, and how many there are of each level in each chunk
    assert 0 < most_memory(lambda: discreet.top_k(many, k=100, **asked)) < many.nbytes


@pytest.mark.parametrize("kind", [float, more(int)])
def test_a_list_from_a_million_takes_few_steps(kind):
    """All are in a few passes, chunk by chunk, and none is looked at by itself."""
    many = scores(10**6).astype(kind)
    work = counted(lambda: discreet.top_k(many, k=100, epsilon=1, sensitivity=1, monotonic=True))
    most = ROUNDED_LIST_OF_A_MILLION if kind is float else LIST_OF_A_MILLION
    assert 0 < work.steps <= most, work.told()


@pytest.mark.parametrize("method", PEELED_FROM_A_MILLION)
@pytest.mark.parametrize("shape", [more("Zipf"), "Zipf, floats", more("flat"), more("long tail")])
def test_a_peeled_list_from_a_million_takes_few_steps_on_all_data(shape, method):
    """Nobody is looked at again who was weighed once, whoever is gone; also where everybody is in
    reach of the last of the best.
    """
    many = {
        "Zipf": lambda: scores(10**6),
        "Zipf, floats": lambda: scores(10**6) / 7,
        "flat": lambda: np.full(10**6, 7),
        "long tail": lambda: 10**6 / 7 / np.arange(1, 10**6 + 1),
    }[shape]()
    asked = {"epsilon": 1, "sensitivity": 1, "monotonic": True, "method": method}
    work = counted(lambda: discreet.top_k(many, k=100, **asked))
    assert 0 < work.steps <= PEELED_FROM_A_MILLION[method], work.told()
