"""An error names what the caller called, and recommends nothing that it does not have."""

from __future__ import annotations

import inspect
import re
from functools import cache

import numpy as np
import pandas
import pytest

import discreet
from discreet import ZCDP, BoundedRange, Loss, OneRow, ParameterError, PureDP, Session

VOTES = pandas.DataFrame(
    {"teacher": ["Ada", "Bob", "Ada"], "paid": [1.0, 2.0, 3.0], "late": [0.5, 0.0, 1.0]}
)
PAIR = ["paid", "late"]
GRID = {"bounds": (0, 9), "step": 1}


@cache
def session():
    """One for all doors: what is refused charges nothing."""
    return Session(VOTES, unit=OneRow(), budget=PureDP(10**4))


def ask(question, *args, **given):
    return getattr(session(), question)(*args, **given)


LISTED = {"candidates": ["Ada", "Bob"]}
UNKNOWN = {"k": 1, "delta": 1e-6, "limit": 10}
LOSS, BUDGET = PureDP(0.1), discreet.ApproxDP(1, 1e-6)
# what is called: its own right parameters
DOORS = {
    "select": ((discreet.select, [3, 1]), {"sensitivity": 1}),
    "top_k": ((discreet.top_k, [3, 1], 1), {"sensitivity": 1}),
    "top_k_unknown_domain": (
        (discreet.top_k_unknown_domain, {"a": 3}, 1),
        {"delta": 1e-6, "limit": 3},
    ),
    "quantile": ((discreet.quantile, [1, 2, 3]), {"q": 0.5, **GRID}),
    "quantiles": ((discreet.quantiles, [1, 2, 3]), {"q": [0.5], **GRID}),
    "fit_deepest": (
        (discreet.models.fit_deepest, np.zeros((3, 1))),
        {"bounds": [(0, 9)], "step": 1, "unit": "point"},
    ),
    "fit_linear": (
        (discreet.models.fit_linear, np.zeros((3, 1)), np.zeros(3)),
        {"norm": 1, "radius": 1, "bounds": (-1, 1)},
    ),
    "fit_logistic": (
        (discreet.models.fit_logistic, np.zeros((3, 1)), np.zeros(3)),
        {"norm": 1, "radius": 1, "classes": (0, 1)},
    ),
    "fit_subspace": ((discreet.models.fit_subspace, np.zeros((3, 2))), {"k": 1, "norm": 1}),
    "fit_covariance": ((discreet.models.fit_covariance, np.zeros((3, 2))), {"norm": 1}),
    "compose": ((discreet.compose,), {"losses": [LOSS]}),
    "compose by delta": ((discreet.compose,), {"losses": [LOSS], "epsilon": None, "delta": 1e-6}),
    "plan": ((discreet.plan,), {"queries": 2, "budget": BUDGET}),
    "queries_allowed": ((discreet.queries_allowed,), {"each": LOSS, "budget": BUDGET}),
    "private_candidate_loss": (
        (discreet.accounting.private_candidate_loss,),
        {"each": LOSS, "stopping": "geometric", "mean": 2},
    ),
    "select_private_candidate": (
        (discreet.mechanisms.select_private_candidate, lambda: pytest.fail("nothing may run")),
        {"each": LOSS, "stopping": "geometric", "mean": 2},
    ),
    "Session.mode": ((ask, "mode", "teacher"), LISTED),
    "Session.top_k": ((ask, "top_k", "teacher"), {"k": 1, **LISTED}),
    "Session.top_k of an unknown domain": ((ask, "top_k", "teacher"), UNKNOWN),
    "Session.counts": ((ask, "counts", "teacher"), LISTED),
    "Session.count": ((ask, "count"), {}),
    "Session.best_price": ((ask, "best_price", "paid"), {"prices": [1, 2]}),
    "Session.quantile": ((ask, "quantile", "paid"), {"q": 0.5, **GRID}),
    "Session.quantiles": ((ask, "quantiles", "paid"), {"q": [0.5], **GRID}),
    "Session.fit_subspace": ((ask, "fit_subspace", PAIR), {"k": 1, "norm": 1}),
    "Session.fit_covariance": ((ask, "fit_covariance", PAIR), {"norm": 1}),
    "Session.fit_linear": (
        (ask, "fit_linear", ["paid"], "paid"),
        {"norm": 1, "radius": 1, "bounds": (0, 1)},
    ),
    "Session.fit_logistic": (
        (ask, "fit_logistic", ["paid"], "teacher"),
        {"norm": 1, "radius": 1, "classes": ("Ada", "Bob")},
    ),
    "Session.fit_deepest": ((ask, "fit_deepest", ["paid"]), {"bounds": [(0, 1)], "step": 1}),
    "Session.select": (
        (ask, "select"),
        {**LISTED, "score": lambda each: discreet.row_count(most=1, where=f"teacher = '{each}'")},
    ),
}
WRONG = {
    "epsilon": [-1, 0, 65, "1", None, float("nan")],
    "delta": [-1, 1, "1"],
    "mechanism": ["best", 3],
    "method": ["best", 3],
    "objective": ["most", 3],
    "neighbours": ["both"],
    "monotonic": [1],
    "sensitivity": [0, "1"],
    "score_range": [0],
    "k": [0, 1.5, "1"],
    "limit": [0, "1"],
    "items_per_person": [0, "1"],
    "q": [2, "a"],
    "bounds": [(1, 0), 3],
    "step": [0, "1"],
    "prices": [[0], "a"],
    "rule": ["mean"],
    "rows_per_person": [0],
    "gap_step": [1],
    "with_gap": [1],
    "with_counts": [1],
    "by": ["colour", 3],
    "groups": [["Ada"]],
    "bits": [3],
    "fresh": [1],
    "unit": ["row", 3],
    "norm": [0, -1, "1"],
    "radius": [0, 2000, "1"],
    "rho": [0.1, 0, "1"],
    "ridge": [-1, "1"],
    "classes": [3, (1,), ("a", "a")],
    "intercept": [1],
    "center": ["a", [1, 2, 3], [[1], [1]]],
    "scale": [0, "a", [1, 2, 3]],
    "split": ["", 3],
    "where": ["teacher =", "weight > 3"],
    "candidates": [3],
    "score": [3],
    "adaptive": [None, 1, 0, "no", np.False_],
    "queries": [0, -(10**30), 1.0, True, "1", None],
    "budget": [None, 1, "1", BoundedRange(1), PureDP, Loss()],
    "kind": [None, "pure-dp", PureDP(1), ZCDP, Loss],
    "each": [None, 0.1, "0.1", PureDP, Loss()],
    "losses": [None, 1, "ab", [0.1], {LOSS: 0}, {LOSS: 1.5}, {1: 1}, [Loss()]],
    "stopping": ["fixed", None, ["geometric"]],
    "mean": [0, -3, 1, float("nan"), True, "10", None],
    "threshold": [3, 0],
    "public_choices": [1, "no"],
}


def _found(owner, method):
    """A method of a session, or a function of the package or of its models."""
    if owner:
        return getattr(Session, method)
    homes = (discreet, discreet.models, discreet.accounting, discreet.mechanisms)
    return next(getattr(home, method) for home in homes if hasattr(home, method))


def parameters_of(door):
    name = door.split(" ")[0]
    owner, _, method = name.rpartition(".")
    return inspect.signature(_found(owner, method)).parameters


def test_every_parameter_of_every_door_is_tried():
    unchecked = {
        "scores",
        "counts",
        "values",
        "column",
        "columns",
        "target",
        "label",
        "points",
        "rows",
        "targets",
        "labels",
        "acknowledge",
        "self",
        "run",
    }
    for door in DOORS:
        assert set(parameters_of(door)) - unchecked <= WRONG.keys(), door


def test_groups_of_another_kind_are_not_called_candidates():
    with pytest.raises(ParameterError, match=r"'groups' parameter of Session\.mode must be text"):
        session().mode("paid", candidates=[1.0], epsilon=1, by="teacher", groups=[1])


@pytest.mark.parametrize("door", DOORS)
def test_an_error_names_the_door(door):
    known = parameters_of(door)
    for name, values in WRONG.items():
        for value in values if name in known else ():
            # what a list of losses adds up to may be any number, or left out
            if not (door.startswith("compose") and name == "epsilon" and value in (65, None)):
                require_the_name_of(door, name, value)
    assert session().spent() == 0


def require_the_name_of(door, name, value):
    (call, *args), given = DOORS[door]
    if name == "k" and len(args) == 2 and call is not ask:
        args = args[:1]
    known = parameters_of(door)
    wrong_words = ({"epsilon": 1} if "epsilon" in known else {}) | given | {name: value}
    with pytest.raises(ParameterError) as wrong:
        call(*args, **wrong_words)
    assert wrong.value.owner == door.split(" ")[0], (name, value)
    assert wrong.value.name in known
    assert set(re.findall(r"\b([a-z_]+)=", wrong.value.hint)) <= set(known)
    assert wrong.value.__context__ is None or wrong.value.__suppress_context__


@pytest.mark.parametrize(
    "door",
    [each for each in DOORS if "epsilon" in parameters_of(each) and not each.startswith("compose")],
)
def test_acknowledge_is_recommended_where_it_can_be_said(door):
    (call, *args), given = DOORS[door]
    with pytest.raises(ParameterError, match="at most 64") as wrong:
        call(*args, epsilon=65, **given)
    assert ("acknowledge" in wrong.value.hint) == ("acknowledge" in parameters_of(door))


def test_what_the_caller_made_speaks_for_itself():
    """A total is an object of the caller's own, although it is made while Session.select runs."""
    with pytest.raises(ParameterError, match="parameter of row_count"):
        ask("select", **LISTED, score=lambda each: discreet.row_count(most=0), epsilon=1)


def test_a_mechanism_speaks_for_itself():
    with pytest.raises(ParameterError, match=r"'epsilon' parameter of PermuteAndFlip .* -1"):
        discreet.mechanisms.PermuteAndFlip(epsilon=-1, sensitivity=1)


def test_doors_keep_their_signature_and_their_words():
    assert list(inspect.signature(discreet.select).parameters)[:2] == ["scores", "epsilon"]
    assert discreet.select.__doc__.startswith("Pick the best-scoring candidate")
