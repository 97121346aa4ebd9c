"""Who takes part in the selection benchmark, and with which scores. Everything has epsilon = 1
for counts of people.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import diffprivlib.mechanisms as diffprivlib
import numpy as np
import opendp.prelude as opendp
from numpy.typing import NDArray
from timing import Call

import discreet
from discreet.mechanisms.base import SelectionMechanism

Scores = NDArray[Any]

_PARAMETERS: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
_PART = 1 << 13
_GENERATOR = np.random.default_rng(20)

OURS: dict[str, SelectionMechanism] = {
    "discreet permute-and-flip": discreet.mechanisms.PermuteAndFlip(**_PARAMETERS),
    "discreet exponential": discreet.mechanisms.ExponentialMechanism(**_PARAMETERS),
    "discreet Laplace noise": discreet.mechanisms.ReportNoisyMax(noise="laplace", **_PARAMETERS),
}
OPENDP = ("OpenDP exponential noise", "OpenDP Gumbel noise")
OPENDP_TOP_K = ("OpenDP pure", "OpenDP with delta")
GUMBEL = "NumPy argmax(scores + Gumbel)"
MAXIMUM = "NumPy scores.max()"
DIFFPRIVLIB = ("diffprivlib exponential", "diffprivlib permute-and-flip")
ORDER = (*OURS, *OPENDP, *DIFFPRIVLIB, GUMBEL, MAXIMUM)
"""All names, as tables list them."""


def ours(scores: Scores) -> dict[str, Call]:
    """Our mechanisms, made beforehand."""
    return {name: partial(mechanism.select, scores) for name, mechanism in OURS.items()}


def ours_by_label(votes: dict[str, int]) -> dict[str, Call]:
    """Our front door, which checks the parameters and gives back a Release with a label."""
    words = {"discreet permute-and-flip": "permute-and-flip", "discreet exponential": "exponential"}
    words["discreet Laplace noise"] = "laplace-noise"
    return {
        name: partial(discreet.select, votes, mechanism=word, **_PARAMETERS)
        for name, word in words.items()
    }


def opendp_noisy_max(scores: Scores | list[Any], dtype: str) -> dict[str, Call]:
    """OpenDP's exact noisy max, its measurements built beforehand. Arrays are its fastest input:
    a list is converted.
    """
    return {name: partial(_measurement(name, dtype), scores) for name in OPENDP}


def opendp_top_k(scores: Scores, k: int, delta: float) -> dict[str, Call]:
    """OpenDP's exact noisy top-k of integers, epsilon = 1 in total. It peels: permute-and-flip if
    pure, else exponential.
    """
    opendp.enable_features("contrib")
    space = (
        opendp.vector_domain(opendp.atom_domain(T="i64")),
        opendp.linf_distance(T="i64", monotonic=True),
    )

    def with_delta(scale: float) -> Any:
        return opendp.m.make_noisy_top_k(
            *space, opendp.zero_concentrated_divergence(), k=k, scale=scale
        )

    def enough(scale: float) -> bool:
        curve: Any = opendp.c.make_zCDP_to_approxDP(with_delta(scale))
        return bool(curve.map(1).epsilon(delta=delta) <= 1)

    pure = opendp.m.make_noisy_top_k(*space, opendp.max_divergence(), k=k, scale=float(k))
    scale = opendp.binary_search(enough, bounds=(1.0, float(k)))
    return dict(
        zip(OPENDP_TOP_K, (partial(pure, scores), partial(with_delta(scale), scores)), strict=True)
    )


def opendp_from_mapping(votes: dict[str, int]) -> dict[str, Call]:
    """OpenDP's noisy max of the values of a mapping; the measurement is built beforehand, the
    label is looked up.
    """

    def call(name: str) -> Callable[[], str]:
        measurement, labels = _measurement(name, "int64"), list(votes)
        return lambda: labels[measurement(list(votes.values()))]

    return {name: call(name) for name in OPENDP}


def inexact(scores: Scores, *, flips: bool) -> dict[str, Call]:
    """Floating-point samplers, which are not exact, and the maximum, which is not private.

    `flips` lets diffprivlib's permute-and-flip in, whose time is quadratic in the candidates
    unless most of them are tied.
    """
    listed = scores.tolist()  # diffprivlib takes lists only, and as a parameter of the mechanism
    calls: dict[str, Call] = {DIFFPRIVLIB[0]: lambda: _diffprivlib(diffprivlib.Exponential, listed)}
    if flips:
        calls[DIFFPRIVLIB[1]] = lambda: _diffprivlib(diffprivlib.PermuteAndFlip, listed)
    return calls | numpy_only(scores)


def numpy_only(scores: Scores) -> dict[str, Call]:
    """What a user would write by hand, and the pass over the scores that nobody can avoid."""
    return {
        GUMBEL: lambda: (scores + _GENERATOR.gumbel(size=scores.size)).argmax(),
        MAXIMUM: scores.max,
    }


def distributions(size: int, dtype: str) -> dict[str, Scores]:
    """Zipf, normal, all-equal and peaked scores."""
    return {name: make(size).astype(dtype) for name, make in _DISTRIBUTIONS.items()}


def normal(size: int) -> Scores:
    """Scores around 1000 with a standard deviation of 10 noise scales. Made in place, without a
    second array.
    """
    scores = np.random.default_rng(size).standard_normal(size)
    scores *= 10
    scores += 1000
    return scores


def whole(scores: Scores) -> Scores:
    """The scores as 64-bit integers, in the memory of the floats: 1e8 of them do not need to be
    there twice.
    """
    for start in range(0, scores.size, _PART):
        part = scores[start : start + _PART]
        part.view(np.int64)[:] = part.astype(np.int64)
    return scores.view(np.int64)


def near_tie(size: int) -> Scores:
    """Counts between 1000 and 1019."""
    scores: Scores = np.random.default_rng(size).integers(1000, 1020, size)
    return scores


def with_one_more_ballot(scores: Scores) -> Scores:
    """The neighbouring scores: one more person, who votes for a random half of the candidates."""
    ballot: Scores = np.random.default_rng(7).integers(0, 2, scores.size).astype(scores.dtype)
    return np.add(scores, ballot)


def _zipf(size: int) -> Scores:
    return size / np.random.default_rng(size).permutation(np.arange(1, size + 1))


def _flat(size: int) -> Scores:
    return np.full(size, 100.0)


def _peaked(size: int) -> Scores:
    scores = np.full(size, 100.0)
    scores[size // 2] = 1100
    return scores


_DISTRIBUTIONS = {"Zipf": _zipf, "normal": normal, "flat": _flat, "peaked": _peaked}


def _measurement(name: str, dtype: str) -> Any:
    opendp.enable_features("contrib")
    kind = {"float64": "f64", "int64": "i64"}[dtype]
    domain = opendp.atom_domain(T=kind, nan=False) if kind == "f64" else opendp.atom_domain(T=kind)
    measures = {
        OPENDP[0]: opendp.max_divergence(),
        OPENDP[1]: opendp.zero_concentrated_divergence(),
    }
    metric = opendp.linf_distance(T=kind, monotonic=True)
    return opendp.m.make_noisy_max(opendp.vector_domain(domain), metric, measures[name], scale=1.0)


def _diffprivlib(mechanism: Any, scores: list[Any]) -> int:
    return int(mechanism(epsilon=1, sensitivity=1, utility=scores, monotonic=True).randomise())
