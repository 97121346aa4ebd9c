"""Fits and histograms as something to audit: what each is called with, and who are neighbours.

Their answers are fine: what is looked at is how they fall into a few large cells, which is as
private as the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import discreet
from discreet import ApproxDP, BoundedRange, Loss, PureDP, Release
from discreet.auditing.neighbours import GivenPairs, ItemCounts, Pair

_POINTS: dict[str, Any] = {
    "bounds": [(0, 3), (0, 3)],
    "step": 1,
    "epsilon": 1,
    "unit": "point",
}
_MODEL: dict[str, Any] = {"norm": 1, "radius": 1, "epsilon": 1}
_SQUARED: dict[str, Any] = _MODEL | {"bounds": (-1, 1)}
_ROWS: dict[str, Any] = {"norm": 1, "epsilon": 1}
_LISTED: dict[str, Any] = {"k": 2, "epsilon": 1, "items_per_person": 1}
_UNKNOWN = discreet.mechanisms.UnknownDomainHistogram(delta=0.01, **_LISTED)


def _one_more(*given: tuple[str, list[Any], Any]) -> GivenPairs:
    return GivenPairs(
        given=tuple(Pair(name, rows, [*rows, new]) for name, rows, new in given),
        words="one person more",
    )


_SCATTERED = _one_more(
    ("nobody before", [], (3, 3)),
    ("in a corner", [(0, 0)] * 3, (3, 3)),
    ("in the middle", [(1, 1), (2, 2)], (2, 2)),
)
# a row and its target or label
_WITH_TARGETS = _one_more(
    ("nobody before", [], ((1, 0), 1)),
    ("the same again", [((1, 0), 1)] * 3, ((1, 0), 1)),
    ("the opposite", [((0.6, 0.8), 1)] * 3, ((0.6, 0.8), -1)),
)
_DIRECTIONS = _one_more(
    ("nobody before", [], (1, 0)),
    ("the same again", [(1, 0)] * 3, (1, 0)),
    ("across", [(1, 0)] * 3, (0, 1)),
    ("much too long", [(0.6, 0.8)] * 2, (-800, 600)),
)
_COUNTS = GivenPairs(
    given=(
        Pair("tied", [3, 3, 3, 3], [4, 3, 3, 3]),
        Pair("a leader by 3", [6, 3, 3, 3], [7, 3, 3, 3]),
        Pair("nobody's", [0, 3, 3, 3], [1, 3, 3, 3]),
    ),
    words="one person more",
)


def _array(rows: list[Any]) -> Any:
    return np.array(rows, dtype=float).reshape(len(rows), 2)


def _at_points(release: Callable[..., Release]) -> Callable[..., Any]:
    return lambda data, *, bits=None: tuple(release(_array(data), bits=bits).value)


def _coefficients(release: Callable[..., Release]) -> Callable[..., Any]:
    """In thirds of the radius."""

    def run(data: list[Any], *, bits: Any = None) -> tuple[int, ...]:
        rows = _array([row for row, _ in data])
        wanted = np.array([target for _, target in data], dtype=float)
        return tuple(round(3 * part) for part in release(rows, wanted, bits=bits).value)

    return run


def _cell(direction: list[float]) -> int:
    """How near a line of the plane is to the first axis, and on which side."""
    first, second = direction
    return round(4 * first * abs(first)) if second >= 0 else round(-4 * first * abs(first))


def _subspaces(release: Callable[..., Release]) -> Callable[..., Any]:
    return lambda data, *, bits=None: tuple(map(_cell, release(_array(data), bits=bits).value))


def _covariance(data: list[Any], *, bits: Any = None) -> tuple[int, ...]:
    pairs = discreet.models.fit_covariance(_array(data), bits=bits, **_ROWS).value
    return tuple(
        part for total, direction in pairs for part in (round(total / 2), _cell(direction))
    )


def _with_counts(release: Callable[..., Release]) -> Callable[..., Any]:
    """The names of a list, and the counts beside them."""

    def run(data: Any, *, bits: Any = None) -> tuple[Any, ...]:
        answer = release(data, bits=bits)
        assert answer.counts is not None
        return (*answer.value, *answer.counts.values)

    return run


FITS: dict[str, tuple[Any, Any, Loss | None]] = {
    "BallExponentialMechanism": (
        _coefficients(
            discreet.mechanisms.BallExponentialMechanism(loss="squared", **_SQUARED).release
        ),
        _WITH_TARGETS,
        BoundedRange(1),
    ),
    "DeepestPoint": (
        _at_points(discreet.mechanisms.DeepestPoint(**_POINTS).release),
        _SCATTERED,
        BoundedRange(1),
    ),
    "HistogramTopK": (
        _with_counts(discreet.mechanisms.HistogramTopK(**_LISTED).release),
        _COUNTS,
        PureDP(1),
    ),
    "SubspaceExponentialMechanism": (
        _subspaces(discreet.mechanisms.SubspaceExponentialMechanism(k=1, **_ROWS).release),
        _DIRECTIONS,
        BoundedRange(1),
    ),
    "UnknownDomainHistogram": (
        _with_counts(_UNKNOWN.release),
        ItemCounts(items_per_person=1, around=(1, 4, 6)),
        ApproxDP(1, 0.01),
    ),
    "fit_covariance": (_covariance, _DIRECTIONS, PureDP(1)),
    "fit_deepest": (
        _at_points(lambda points, bits: discreet.models.fit_deepest(points, bits=bits, **_POINTS)),
        _SCATTERED,
        BoundedRange(1),
    ),
    "fit_linear": (
        _coefficients(
            lambda rows, wanted, bits: discreet.models.fit_linear(
                rows, wanted, bits=bits, **_SQUARED
            )
        ),
        _WITH_TARGETS,
        BoundedRange(1),
    ),
    "fit_logistic": (
        _coefficients(
            lambda rows, wanted, bits: discreet.models.fit_logistic(
                rows, wanted, classes=(-1, 1), bits=bits, **_MODEL
            )
        ),
        _WITH_TARGETS,
        BoundedRange(1),
    ),
    "fit_subspace": (
        _subspaces(lambda rows, bits: discreet.models.fit_subspace(rows, k=1, bits=bits, **_ROWS)),
        _DIRECTIONS,
        BoundedRange(1),
    ),
}
"""The call, who are neighbours, and the claim, as in `public_mechanisms`."""
