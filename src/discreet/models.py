"""Models of rows of numbers: linear and logistic regression, principal components, a
covariance matrix, and a robust centre of points or of fits on disjoint parts of the
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ParameterTypeError, public_function, shown_pair
from discreet.exact.rationals import Number
from discreet.literals import DeepestUnit
from discreet.mechanisms.ball import BallExponentialMechanism
from discreet.mechanisms.covariance import CovarianceMechanism
from discreet.mechanisms.deepest_point import DeepestPoint
from discreet.mechanisms.label_types import require_classes_of_type
from discreet.mechanisms.rows import read_column, read_rows
from discreet.mechanisms.subspace import SubspaceExponentialMechanism
from discreet.randomness.chance import Bits
from discreet.release import Release

__all__ = ["fit_covariance", "fit_deepest", "fit_linear", "fit_logistic", "fit_subspace"]


@public_function("fit_linear")
def fit_linear(
    rows: Any,
    targets: Any,
    *,
    norm: Number,
    radius: Number,
    bounds: tuple[Number, Number],
    epsilon: Number | None = None,
    rho: Number | None = None,
    ridge: Number = 0,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Coefficients of a linear regression, so that nobody can tell from them whether any one
    person was in the data.

    rows: an array with a row for each person, or a data frame. There is no intercept:
        add a column of ones for one. A row with something else than finite numbers
        counts as zeros.
    targets: an array with a number for each row, or a series. A row without one is left
        out; numbers outside the bounds count as the nearest one.
    norm: what the length of a row is at most; public. Longer rows are shortened, and all
        are read in 2^16ths of it, as targets are of the larger bound.
    radius: how long the vector of coefficients can be; public.
    bounds: of the targets; public. The nearer to 0 the better: take their middle away
        before, and add it to what is predicted.
    epsilon: the privacy loss of this release, as a bounded range.
    rho, ridge: as for `fit_logistic`.
    acknowledge, bits: as for `select`.

    Privacy: `Release.loss`. Odds exp(-rate * sum of squares) on the ball, exactly, with
        epsilon / rate the most that the square of one person's error can differ.
    Utility: the sum of squares is about dimensions / (2 rate) above the least one, and
        at most twice that on average: `BallExponentialMechanism.expected_error_bound`.
    Cost: one pass over the rows, and some milliseconds.
    Proof: docs/proofs/ball.md.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> random = numpy.random.default_rng(1)
    >>> rows = random.uniform(-0.7, 0.7, size=(5000, 2))
    >>> targets = rows @ [0.8, -0.4] + random.normal(0, 0.1, size=5000)
    >>> release = fit_linear(
    ...     rows, targets, epsilon=1, norm=1, radius=1, bounds=(-1, 1), bits=SeededBits(1)
    ... )
    >>> release.value[0] > 0.4, release.value[1] < -0.1, release.loss
    (True, True, BoundedRange(epsilon=1))
    """
    mechanism = BallExponentialMechanism(
        loss="squared",
        norm=norm,
        radius=radius,
        epsilon=epsilon,
        rho=rho,
        ridge=ridge,
        bounds=bounds,
        acknowledge=acknowledge,
    )
    return mechanism.release(rows, targets, bits=bits)


@public_function("fit_logistic")
@public_function("fit_logistic")
def fit_logistic(
    rows: Any,
    labels: Any,
    *,
    norm: Number,
    classes: tuple[Any, Any],
    radius: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    ridge: Number = 0,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Coefficients of a logistic regression, so that nobody can tell from them whether any
    one person was in the data.

    rows: as for `fit_linear`.
    labels: an array with a label for each row, or a series. A row with another label
        than the two classes is left out.
    norm: as for `fit_linear`.
    radius: how long the vector of coefficients can be; public. With `rho` it follows
        from the ridge if it is not given.
    epsilon: the privacy loss of this release, as a bounded range.
    rho: the privacy loss instead, as zero-concentrated DP. Where a small delta is
        allowed this is better by about sqrt(dimensions) / 2. It needs a ridge.
    ridge: draws coefficients to 0: without data each would be about 1 / sqrt(ridge).
    classes: the label that a negative score stands for, and the one of a positive
        score; public. Labels with a type that neither can have are refused: texts are no
        numbers. An array of objects has no type, so there wrong labels are left out.
    acknowledge, bits: as for `select`.

    Privacy: `Release.loss`. Odds exp(-rate * losses) on the ball, exactly: no chain
        that has to converge, and no noise on gradients.
    Utility: the sum of losses is at most dimensions * norm * radius / epsilon above the
        least one on average. For very many rows other methods are better: see
        docs/explanation/limitations.md.
    Cost: proposals until one is kept, each with a pass over the rows.
    Reference: Bassily, Smith and Thakurta 2014; Gopi, Lee and Liu 2022 (rho).
    Proof: docs/proofs/ball.md.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> random = numpy.random.default_rng(1)
    >>> rows = random.uniform(-0.7, 0.7, size=(2000, 2))
    >>> labels = (rows @ [8, -4] + random.logistic(size=2000) > 0).astype(int)
    >>> release = fit_logistic(
    ...     rows, labels, epsilon=1, norm=1, radius=10, classes=(0, 1), bits=SeededBits(1)
    ... )
    >>> release.value[0] > 4, release.value[1] < -1, release.loss
    (True, True, BoundedRange(epsilon=1))
    >>> fit_logistic(
    ...     rows, labels, rho=0.02, norm=1, ridge=0.04, classes=(0, 1), bits=SeededBits(1)
    ... ).loss
    ZCDP(rho=0.02)
    """
    mechanism = BallExponentialMechanism(
        loss="logistic",
        norm=norm,
        radius=radius,
        epsilon=epsilon,
        rho=rho,
        ridge=ridge,
        acknowledge=acknowledge,
    )
    if not isinstance(classes, (tuple, list)) or len(classes) != 2:
        raise ParameterTypeError("classes", "a pair of labels", classes)
    if not all(map(_is_label, classes)):
        rule = "two labels that rows can be compared with, so not NaN"
        raise ParameterError("classes", rule, shown_pair(classes))
    if classes[0] == classes[1]:
        raise ParameterError("classes", "two different labels", classes[0])
    require_classes_of_type(labels, classes)
    size = len(read_rows(rows, "rows"))
    column = read_column(labels, size, "labels")
    return mechanism.release(rows, _signs(column, classes), bits=bits)


def _is_label(label: Any) -> bool:
    """True if something is equal to itself, which NaN, a missing value and an array are not."""
    try:
        return bool(label == label)
    except Exception:
        return False


def _signs(labels: NDArray[Any], classes: Any) -> NDArray[np.float64]:
    """1 for the second class, -1 for the first, 0 for other labels."""
    negative, positive = classes
    return np.array([_sign(label, negative, positive) for label in labels.tolist()], dtype=float)


def _sign(label: Any, negative: Any, positive: Any) -> float:
    try:
        return 1.0 if bool(label == positive) else -1.0 if bool(label == negative) else 0.0
    except Exception:
        # something in the place of a label that cannot be compared
        return 0.0


@public_function("fit_subspace")
def fit_subspace(
    rows: Any, *, k: int, epsilon: Number, norm: Number, bits: Bits | None = None
) -> Release:
    """The k-dimensional subspace in which the rows are longest, so that nobody can tell
    from it whether any one row was in the data: private principal components.

    rows: an array or a data frame, with one row for each person; its columns are
        public, 2 to 128 of them. What is longer than `norm` is shortened to it. A row
        with something in it that is no finite number counts as zeros. Subtract a public
        centre first.
    k: the number of dimensions: up to 10, or at most 10 below the number of columns.
    epsilon: the privacy loss of this release, for all dimensions together.
    norm: a public length. It must not be taken from the data.
    bits: only in tests and simulations.

    Privacy: `Release.loss`, bounded range, when a row is added or removed. The draw is
        exact: one joint draw from all subspaces, without a Markov chain.
    Utility: `SubspaceExponentialMechanism.error_bound`.
    Cost: one pass over the rows, and milliseconds.
    Proof: docs/proofs/subspaces.md.

    `Release.value` has k orthonormal directions, each a list with one number for each
    column. Only their span has a meaning, not their order.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> along = numpy.random.default_rng(1).normal(size=(500, 1))
    >>> rows = along * [0.5, 0.5, 0.0] + numpy.random.default_rng(2).normal(size=(500, 3)) / 9
    >>> release = fit_subspace(rows, k=1, epsilon=1, norm=1, bits=SeededBits(1))
    >>> [[round(part, 1) for part in direction] for direction in release.value], release.loss
    ([[0.7, 0.8, 0.0]], BoundedRange(epsilon=1))
    """
    return SubspaceExponentialMechanism(k=k, epsilon=epsilon, norm=norm).release(rows, bits=bits)


@public_function("fit_covariance")
def fit_covariance(
    rows: Any, *, epsilon: Number, norm: Number, k: int | None = None, bits: Bits | None = None
) -> Release:
    """Orthogonal directions in which the rows are long, and the sum of squares along each,
    so that nobody can tell from them whether any one row was in the data.

    rows, norm, bits: as for `fit_subspace`.
    epsilon: the privacy loss of everything together: half for the directions, half for
        the sums.
    k: how many directions; if not given, as many as there are columns.

    Privacy: `Release.loss`, pure DP, when a row is added or removed.
    Utility: the directions are found one after the other. For their span alone
        `fit_subspace` is much better, because it pays once for all of them.
    Cost: one pass over the rows, and k draws.
    Reference: Amin, Dick, Kulesza, Muñoz and Vassilvitskii 2019.
    Proof: docs/proofs/subspaces.md#covariance.

    `Release.value` has a pair (sum of squares, direction) for each direction, in the
    order of discovery. A sum can be below 0 by its noise. The matrix of second moments
    is about the sum of sum * direction * direction'.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> rows = numpy.random.default_rng(1).normal(size=(900, 2)) * [0.5, 0.1]
    >>> for total, direction in fit_covariance(rows, epsilon=2, norm=1, bits=SeededBits(1)).value:
    ...     print(round(total), [round(abs(part), 1) for part in direction])
    203 [1.0, 0.0]
    10 [0.0, 1.0]
    """
    return CovarianceMechanism(k=k, epsilon=epsilon, norm=norm).release(rows, bits=bits)


@public_function("fit_deepest")
def fit_deepest(
    points: Any,
    *,
    bounds: Sequence[tuple[Number, Number]],
    step: Number | Sequence[Number],
    epsilon: Number,
    unit: DeepestUnit,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """A point in the middle of many, so that nobody can tell from it whether any one person
    was in the data.

    points: an array with a row for each point, or a data frame. A point with something
        else than numbers is left out; numbers outside the bounds count as the nearest.
    bounds: for each coordinate its lower and its upper bound; public.
    step: of the grid that the answer is on, for all coordinates or for each; public.
    epsilon: the privacy loss of this release.
    unit: "point" if a person has at most one of the points. "fit" if each point was
        fitted, by any code, to another part of the persons: the parts must not
        overlap, and which part a person is in must not depend on others.
    acknowledge, bits: as for `select`.

    Privacy: `Release.loss`, bounded range.
    Utility: ask `DeepestPoint.points_needed` first: below that number the answer is
        about anywhere within the bounds, above it about a median in every coordinate.
    Cost: one sort for each coordinate.
    Proof: docs/proofs/deepest-point.md.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> fits = numpy.random.default_rng(5).normal([1.5, -0.5], 0.1, size=(100, 2))
    >>> fit_deepest(
    ...     fits, bounds=[(-8, 8)] * 2, step=0.125, epsilon=2, unit="fit", bits=SeededBits(2)
    ... ).value
    [1.5, -0.5]
    """
    mechanism = DeepestPoint(
        epsilon=epsilon, bounds=bounds, step=step, unit=unit, acknowledge=acknowledge
    )
    return mechanism.release(points, bits=bits)
