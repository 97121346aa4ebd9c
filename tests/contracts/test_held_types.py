"""Every mechanism and loss is a value: it holds what its fields say, whatever kind of number was
given, is equal to its copies, and refuses wrong parameters by their name.
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import inspect
import pickle
import types
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from public_names import PUBLIC

import discreet
from discreet.accuracy import Accuracy
from discreet.mechanisms.count_lists import ListRequest
from discreet.mechanisms.covariance import CovarianceMechanism
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.mechanisms.selection import MECHANISMS
from discreet.privacy.parameters import Slot

FLAT = {"sensitivity": np.float32(1), "monotonic": True}
LIST = {"k": np.int64(2), "epsilon": Decimal("0.5"), **FLAT}
COUNTS = {"k": np.int8(2), "epsilon": 0.5, "items_per_person": np.int64(3)}
# each class with parameters that are no Fraction
MADE: dict[type, dict[str, Any]] = {
    discreet.mechanisms.PermuteAndFlip: {"epsilon": np.float64(0.5), **FLAT},
    discreet.mechanisms.ReportNoisyMax: {"noise": "laplace", "epsilon": Decimal("0.5"), **FLAT},
    discreet.mechanisms.GeneralizedExponentialMechanism: {
        "epsilon": 1,
        "failure_probability": 0.01,
    },
    discreet.mechanisms.IntervalExponentialMechanism: {"bounds": (0, 8), "epsilon": 0.5, **FLAT},
    discreet.mechanisms.LatticeExponentialMechanism: {"epsilon": 0.5, "start": np.int64(3), **FLAT},
    discreet.mechanisms.PeelingTopK: LIST | {"delta": 1e-6, "mechanism": "exponential"},
    discreet.mechanisms.JointTopK: LIST,
    discreet.mechanisms.HistogramTopK: COUNTS,
    discreet.mechanisms.UnknownDomainHistogram: COUNTS | {"delta": 1e-6},
    discreet.mechanisms.UnknownDomainTopK: COUNTS | {"delta": 1e-6, "limit": np.int64(20)},
    discreet.mechanisms.AboveThreshold: {"threshold": 8, "epsilon": 0.5, "sensitivity": 1.0},
    discreet.mechanisms.DiscreteLaplace: {"epsilon": 0.5, "sensitivity": 1.0},
    discreet.mechanisms.CorrelatedCounts: {"items": np.int64(3), "mu": 0.5},
    discreet.mechanisms.DiscreteGaussian: {"rho": 0.5, "squared_sensitivity": 2},
    discreet.mechanisms.RoundedGaussian: {"mu": 0.5, "squared_sensitivity": 2},
    discreet.mechanisms.BoundedDiscreteLaplace: {
        "epsilon": 0.5,
        "sensitivity": np.int64(1),
        "bounds": np.array([[0, 8], [0, 4]]),
    },
    discreet.mechanisms.BallExponentialMechanism: {
        "loss": "logistic",
        "norm": 1.0,
        "radius": 2.0,
        "epsilon": 0.5,
    },
    discreet.mechanisms.DeepestPoint: {
        "epsilon": 0.5,
        "bounds": [(0, 1)],
        "step": 0.25,
        "unit": "point",
    },
    discreet.mechanisms.SubspaceExponentialMechanism: {
        "k": np.int64(1),
        "epsilon": 0.5,
        "norm": 2.0,
    },
    CovarianceMechanism: {"epsilon": 0.5, "norm": 2.0},
    discreet.mechanisms.RandomizedResponse: {"categories": list("abc"), "epsilon": 0.5},
    discreet.mechanisms.Rappor: {"categories": list("abc"), "epsilon": 0.5},
    discreet.mechanisms.SubsetSelection: {"categories": list("abc"), "epsilon": 0.5},
    discreet.PureDP: {"epsilon": 0.5},
    discreet.BoundedRange: {"epsilon": np.float32(0.5)},
    discreet.accounting.LogisticDP: {"epsilon": 1},
    discreet.ZCDP: {"rho": Decimal("0.1")},
    discreet.ApproxDP: {"epsilon": 1, "delta": 1e-6},
    Accuracy: {"bound": 3, "statement": "list", "failure_probability": 0.05},
    ListRequest: LIST | {"items_per_person": np.int64(3)},
    OneQuantile: {"q": Fraction(1, 2), "epsilon": 0.5},
    ManyQuantiles: {"q": (Fraction(1, 2),), "epsilon": 0.5, "delta": 1e-6, "grid_size": 8},
}
# what `select` knows by name finds its own way here
PICKS = [kind for kind in MECHANISMS.values() if isinstance(kind, type)]
MADE |= {kind: {"epsilon": 0.5, **FLAT} for kind in PICKS if kind not in MADE}
EXPORTED = [each for each in MADE if each.__name__ in PUBLIC and each is not Accuracy]
each_class = pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that an annotation names."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Slot:
        # given as the first, and held as the second
        return fits(value, inner[1])
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        inner = (inner[0],) * len(value) if inner[-1] is ... else inner
        return type(value) is tuple and all(map(fits, value, inner))
    if origin is collections.abc.Sequence:
        return isinstance(value, collections.abc.Sequence) and all(
            fits(each, inner[0]) for each in value
        )
    kind = origin or hint
    # a float may be a whole number, and a NumPy number is none of Python's
    exactly = {int: (int,), float: (int, float), bool: (bool,)}
    return type(value) in exactly[kind] if kind in exactly else isinstance(value, kind)


def test_all_classes_are_looked_at():
    """Every public frozen class that reads parameters, and what it is made by."""
    reading = [
        PUBLIC[name]
        for name in PUBLIC
        if dataclasses.is_dataclass(PUBLIC[name]) and hasattr(PUBLIC[name], "privacy_loss")
    ]
    abstract = {each for each in reading if inspect.isabstract(each)}
    assert set(reading) - abstract <= MADE.keys()


@each_class
def test_each_field_holds_what_its_type_says(kind):
    made, hints = kind(**MADE[kind]), get_type_hints(kind)
    for field in dataclasses.fields(kind):
        held = getattr(made, field.name)
        assert fits(held, hints[field.name]), f"{field.name}: {held!r} is no {hints[field.name]}"


PRICES = {"epsilon", "rho", "mu"}
# of each parameter, by its name: what no constructor takes
WRONG: dict[str, list[Any]] = {
    "epsilon": [0, -1, "1", float("nan"), True],
    "rho": [0, -1, "1", float("nan"), True],
    "mu": [0, -1, "1", float("nan"), True],
    "delta": [-1, 1, "1", float("nan"), True],
    "sensitivity": [0, -1, "1", float("nan"), True],
    "squared_sensitivity": [0, -1, "1", True],
    "score_range": [0, -1, "1", float("nan"), True],
    "monotonic": [1, "yes", None],
    "objective": ["most", 3, None],
    "failure_probability": [0, 1, -0.1, float("nan"), "0.1", True],
    "k": [0, -1, 1.5, "1", True],
    "items": [0, -1, 1.5, "1", True],
    "items_per_person": [0, -1, 1.5, "1", True],
    "limit": [0, -1, 1.5, "1", True],
    "start": [1.5, "1", True],
    "threshold": [float("nan"), float("inf"), "1", True, None],
    "step": [0, -1, "1", float("nan"), True],
    "bounds": [3, "01", (1, 0), (0,), [0], (0, 1, 2), (0, "1"), (0, float("inf")), {}],
    "noise": ["best", 3],
    "mechanism": ["best", 3],
    "loss": ["best", 3],
    "norm": [0, -1, "1", float("nan"), True],
    "radius": [0, -1, "1", float("nan"), True],
    "ridge": [-1, "1", float("nan"), True],
    "unit": ["row", 3],
    "categories": ["ab", ("a", "a"), (), 3],
    "with_gap": [1],
    "size": [0, -1, 1.5, "1", True],
}


@pytest.mark.parametrize("kind", EXPORTED, ids=lambda kind: kind.__name__)
def test_a_wrong_parameter_is_refused_by_its_name(kind):
    names = inspect.signature(kind).parameters.keys() - {"acknowledge"}
    assert names <= WRONG.keys()
    # with "rho" an example would also need another loss and a ridge
    names -= {"rho"} if kind is discreet.mechanisms.BallExponentialMechanism else set()
    for name in names:
        # a price is said in one way
        rest = MADE[kind].keys() - (PRICES if name in PRICES else set())
        for value in WRONG[name]:
            with pytest.raises(discreet.ParameterError) as wrong:
                kind(**{other: MADE[kind][other] for other in rest} | {name: value})
            assert (wrong.value.owner, wrong.value.name) == (kind.__name__, name), value


@pytest.mark.parametrize(
    "kind",
    [
        each
        for each in EXPORTED
        if {"epsilon", "acknowledge"} <= inspect.signature(each).parameters.keys()
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_large_epsilon_needs_words(kind):
    large = {name: MADE[kind][name] for name in MADE[kind].keys() - PRICES} | {"epsilon": 65}
    with pytest.raises(discreet.ParameterError, match=r"must be at most 64\. Got 65"):
        kind(**large)
    assert kind(**large, acknowledge=discreet.NOT_PRIVATE).epsilon == 65


BOUNDS = ("error_bound", "expected_error_bound", "accuracy")
SIZES = {
    "candidates": 9,
    "columns": 3,
    "dimensions": 3,
    "failure_probability": 0.05,
    "numbers": 2,
    "position": 1,
    "queries": 3,
    "reports": 9,
    "rows": 9,
    "sensitivity": 1,
}


@pytest.mark.parametrize(
    ("kind", "call"),
    [(kind, getattr(kind, call)) for kind in EXPORTED for call in BOUNDS if hasattr(kind, call)],
    ids=lambda each: each.__name__,
)
def test_a_wrong_size_is_refused_by_its_name(kind, call):
    """What an error bound is asked about."""
    made = kind(**MADE[kind])
    _, *names = inspect.signature(call).parameters
    right = {name: SIZES[name] for name in names if name != "best"}
    call(made, **right)
    for name in names:
        for value in WRONG.get(name, [-1, 1.5, "1", True]):
            with pytest.raises(discreet.ParameterError) as wrong:
                call(made, **right | {name: value})
            assert (wrong.value.owner, wrong.value.name) == (kind.__name__, name), value


@each_class
def test_a_frozen_object_is_made_again_by_its_own_fields(kind):
    made = kind(**MADE[kind])
    assert dataclasses.replace(made) == made
    assert copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(kind)[0].name, 1)
