"""One signature for what all mechanisms have: the same question is asked in the same way."""

from __future__ import annotations

import inspect
from typing import get_args, get_type_hints

import narwhals
import pytest
from matplotlib.figure import Figure
from public_names import NAMES, PUBLIC

import discreet
from discreet import literals
from discreet.local.base import LocalMechanism
from discreet.mechanisms.count_lists import TOP_K_MECHANISMS
from discreet.mechanisms.laws import GROUPED_DRAWS
from discreet.mechanisms.selection import MECHANISMS as MECHANISM_CATALOGUE
from discreet.questions import QUESTIONS
from discreet.tables.conditions import _CLOSED

PUBLIC = list(PUBLIC.values())
MECHANISMS = [
    each
    for each in PUBLIC
    if isinstance(each, type) and hasattr(each, "privacy_loss") and hasattr(each, "release")
]
KEYWORD, EITHER = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


def parameters(kind, call):
    """The parameters of a method, without self."""
    _, *others = inspect.signature(getattr(kind, call)).parameters.values()
    return others


def data_of(kind):
    """What a release is made from: all that can be given by its place."""
    return [each.name for each in parameters(kind, "release") if each.kind is EITHER]


def having(call):
    return pytest.mark.parametrize(
        "kind",
        [each for each in MECHANISMS if hasattr(each, call)],
        ids=lambda kind: kind.__name__,
    )


def test_all_mechanisms_are_looked_at():
    assert len(MECHANISMS) >= 14
    assert sum(hasattr(kind, "log_probability") for kind in MECHANISMS) >= 9
    assert sum(hasattr(kind, "error_bound") for kind in MECHANISMS) >= 8


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_data_come_with_the_call_and_never_with_the_constructor(kind):
    """What a mechanism is made of is public; so is its repr, and so are its errors."""
    made = inspect.signature(kind).parameters
    assert data_of(kind)
    assert not set(data_of(kind)) & set(made)
    names = [name for name in made if name != "categories"]
    assert all(made[name].kind is KEYWORD for name in names)


@having("select")
def test_select_is_asked_as_release_is(kind):
    assert [each.name for each in parameters(kind, "select") if each.kind is EITHER] == data_of(
        kind
    )


@having("log_probability")
def test_log_probability_takes_the_output_and_then_the_data(kind):
    asked = parameters(kind, "log_probability")
    assert [each.name for each in asked] == ["output", *data_of(kind)]
    assert all(each.default is inspect.Parameter.empty for each in asked)


@having("log_probabilities")
def test_log_probabilities_take_the_data(kind):
    for call in ("probabilities", "log_probabilities"):
        assert [each.name for each in parameters(kind, call)] == data_of(kind)


@having("error_bound")
def test_error_bound_takes_the_failure_probability_and_sizes_by_name(kind):
    asked = parameters(kind, "error_bound")
    own = "failure_probability" in inspect.signature(kind).parameters
    assert [each.name for each in asked if each.kind is EITHER] == (
        [] if own else ["failure_probability"]
    )
    assert all(each.kind in (EITHER, KEYWORD) for each in asked)


@having("expected_error_bound")
def test_expected_error_bound_takes_sizes_by_name(kind):
    assert all(each.kind is KEYWORD for each in parameters(kind, "expected_error_bound"))


def test_reports_of_single_persons_are_asked_alike():
    kinds = [each for each in MECHANISMS if issubclass(each, LocalMechanism)]
    assert {tuple(data_of(kind)) for kind in kinds} == {("value",)}


WORDS = {
    name: tuple(getattr(literals, name).__args__)
    for name in vars(literals)
    if hasattr(getattr(literals, name), "__args__")
}
DOORS = [discreet.select, discreet.top_k, discreet.quantile, discreet.quantiles]
DOORS += [discreet.mechanisms.select_private_candidate, discreet.accounting.private_candidate_loss]
DOORS += [getattr(discreet.Session, name) for name in QUESTIONS]
CHOSEN = {"mechanism", "method", "objective", "neighbours", "noise", "rule", "stopping"}


@pytest.mark.parametrize("called", [*MECHANISMS, *DOORS], ids=lambda each: each.__qualname__)
def test_every_word_has_its_type(called):
    """Type checkers know each word that can be chosen: a wrong one is seen before it is run."""
    asked = inspect.signature(called).parameters
    for name in CHOSEN & set(asked):
        kind = asked[name].annotation.removesuffix(" | None")
        assert kind in WORDS, (name, kind)
        default = asked[name].default
        assert default in (None, inspect.Parameter.empty, *WORDS[kind])


def test_the_catalogue_has_just_the_words_that_are_typed():
    assert tuple(MECHANISM_CATALOGUE) == literals.MECHANISM_NAMES
    assert ("auto", *TOP_K_MECHANISMS, "histogram") == literals.TOP_K_METHODS
    assert set(GROUPED_DRAWS) == set(literals.PICK_NAMES)
    assert tuple(_CLOSED) == get_args(literals.Closed)
    assert set(literals.PICK_NAMES) <= set(literals.MECHANISM_NAMES)
    assert {f"{noise}-noise" for noise in literals.NOISES} <= set(literals.MECHANISM_NAMES)


# How the package is made inside: reachable, but nobody has to name it.
INSIDE = {"Law", "Compare", "Among", "Empty", "Format", "Grid", "RowGrid"}


def classes(hint):
    """The classes in a type hint, however deep."""
    if isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from classes(part)


def returned():
    """What public functions, methods and properties give back: where, and the class."""
    for each in PUBLIC:
        # how a question is answered is between it and its session
        if getattr(each, "__module__", "").startswith("discreet.questions."):
            continue
        parts = vars(each).values() if isinstance(each, type) else [each]
        for part in parts:
            function = getattr(part, "fget", None) or getattr(part, "__func__", part)
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                elsewhere = {"nw": narwhals, "Figure": Figure}
                hints = get_type_hints(inspect.unwrap(function), localns=elsewhere)
                for found in classes(hints.get("return")):
                    yield function.__qualname__, found


def test_what_is_returned_has_a_public_name():
    """So that it can be written in a type hint, and looked up."""
    own = [(where, kind) for where, kind in returned() if kind.__module__.startswith("discreet")]
    assert len(own) > 50
    nameless = {
        (where, kind.__name__) for where, kind in own if kind.__name__ not in (*NAMES, *INSIDE)
    }
    assert nameless == set()
