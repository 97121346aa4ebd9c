"""Estimators in the habits of scikit-learn: thin doors to the models of discreet.

They need the extra `sklearn`. Every `fit` is a release, and costs its epsilon: so does
every fit inside of a grid search or a cross-validation.

A step that is fitted to the same rows without noise, such as a StandardScaler before a
private model, is not private. In a pipeline it causes a `NotPrivateWarning`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet
from discreet import MissingExtraError, ParameterError
from discreet.errors import OutdatedLibraryError, ParameterTypeError, in_own_name, shown_pair
from discreet.exact.rationals import (
    Number,
    exact_decimal,
    lower_and_upper,
    nearest_float,
    positive,
    require_flag,
)
from discreet.mechanisms.grid import as_floats
from discreet.mechanisms.label_types import require_classes_of_type
from discreet.randomness.chance import Bits
from discreet.versions import require

try:
    require("sklearn")
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
    from sklearn.base import ClassNamePrefixFeaturesOutMixin as NamedFeatures
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted, validate_data
except OutdatedLibraryError:
    raise
except ImportError:
    raise MissingExtraError("discreet.sklearn", "sklearn") from None

__all__ = [
    "NotPrivateWarning",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePCA",
]

# at or above the square root of 2
_ROOT_OF_TWO = Fraction(14142136, 10**7)
# as for the norm: beyond it a single target could decide whether floats overflow
_FAR = Fraction(2) ** 200


class _Linear(BaseEstimator):  # type: ignore[misc]
    """What both regressions share: rows, an intercept, and tags."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # an error would tell that some row has no number: such rows count as zeros
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:  # noqa: N803 (scikit-learn's name)
        return _read_rows(self, X, reset=reset)

    def _with_intercept(self, rows: Any) -> tuple[Any, Any]:
        """The rows and their norm, with a public constant in one more column if there is an
        intercept.
        """
        norm = positive(exact_decimal(self.norm, "norm"), self.norm, "norm")
        if not require_flag(self.fit_intercept, "fit_intercept"):
            return rows, self.norm
        constant = np.full(len(rows), nearest_float(norm))
        return np.column_stack([rows, constant]), norm * _ROOT_OF_TWO

    def _keep(self, release: discreet.Release) -> None:
        self.release_ = release
        values = np.array(release.value)
        self.intercept_ = values[-1] * float(self.norm) if self.fit_intercept else 0.0
        self.coef_ = values[:-1] if self.fit_intercept else values

    def _scores(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        # a fit that was refused has set some of the others
        check_is_fitted(self, "coef_")
        rows = self._rows(X, reset=False)
        with np.errstate(all="ignore"):
            return np.nan_to_num(_usable(rows) @ np.ravel(self.coef_) + self.intercept_)


class PrivateLogisticRegression(ClassifierMixin, _Linear):  # type: ignore[misc]
    """Logistic regression of two public classes by the exponential mechanism.

    epsilon, rho: what one `fit` costs, as a bounded range or as zero-concentrated DP.
    norm: what the length of a row is at most; longer rows are shortened.
    radius: how long the vector of coefficients can be, the intercept's among them.
    ridge: draws coefficients to 0; needed with `rho`.
    classes: the two labels, the negative one first; public. Rows with another label are
        left out. Labels with a type that neither can have are refused, as in
        `discreet.models.fit_logistic`.
    fit_intercept: True for a constant in addition to the rows.

    Privacy: each `fit` costs `release_.loss`, also of copies that a search or a
        cross-validation makes: add them up with `discreet.compose`.

    >>> import numpy
    >>> from discreet.sklearn import PrivateLogisticRegression
    >>> random = numpy.random.default_rng(1)
    >>> rows = random.uniform(-0.7, 0.7, size=(5000, 2))
    >>> labels = (rows @ [8, -4] + random.logistic(size=5000) > 0).astype(int)
    >>> model = PrivateLogisticRegression(epsilon=4, norm=1, radius=10, classes=(0, 1))
    >>> model = model.fit(rows, labels)
    >>> model.score(rows, labels) > 0.7, model.release_.loss
    (True, BoundedRange(epsilon=4))
    """

    def __init__(
        self,
        *,
        norm: Any,
        classes: tuple[Any, Any],
        epsilon: Any = None,
        radius: Any = None,
        rho: Any = None,
        ridge: Any = 0,
        fit_intercept: bool = True,
    ) -> None:
        self.norm, self.epsilon, self.radius = norm, epsilon, radius
        self.rho, self.ridge = rho, ridge
        self.classes, self.fit_intercept = classes, fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @in_own_name
    def fit(self, X: Any, y: Any) -> PrivateLogisticRegression:  # noqa: N803 (scikit-learn's name)
        """Draw coefficients. Costs epsilon, or rho."""
        _warn_of_learning_steps(self)
        rows, norm = self._with_intercept(self._rows(X, reset=True))
        if isinstance(self.classes, (tuple, list)):
            require_classes_of_type(y, self.classes)
        release = discreet.models.fit_logistic(
            rows,
            # one odd label decides the type of an array made of a list: so it states none
            _column(y).astype(object),
            norm=norm,
            radius=self.radius,
            epsilon=self.epsilon,
            rho=self.rho,
            ridge=self.ridge,
            classes=self.classes,
        )
        self._keep(release)
        self.classes_ = _labels(self.classes)
        self.coef_ = self.coef_[None]
        self.intercept_ = np.array([self.intercept_])
        return self

    def decision_function(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        """The score of each row: above 0 is the second class."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        """The probability of each class, for each row."""
        odds = 1 / (1 + np.exp(-np.clip(self._scores(X), -500, 500)))
        return np.column_stack([1 - odds, odds])

    def predict(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        """The likelier class of each row."""
        scores = self._scores(X)
        return self.classes_[(scores > 0).astype(int)]


class PrivateLinearRegression(RegressorMixin, _Linear):  # type: ignore[misc]
    """Linear regression by the exponential mechanism.

    epsilon, rho, norm, radius, ridge, fit_intercept: as for
        `PrivateLogisticRegression`.
    bounds: of the targets; public. Their middle is taken away before, and added to what
        is predicted; the coefficients are drawn for targets from -1 to 1, so that
        `radius` does not depend on the unit of the targets.

    >>> import numpy
    >>> from discreet.sklearn import PrivateLinearRegression
    >>> random = numpy.random.default_rng(1)
    >>> rows = random.uniform(-0.7, 0.7, size=(20000, 2))
    >>> targets = 50 + rows @ [30, -20] + random.normal(size=20000)
    >>> model = PrivateLinearRegression(epsilon=4, norm=1, radius=1.5, bounds=(0, 100))
    >>> model.fit(rows, targets).score(rows, targets) > 0.8
    True
    """

    def __init__(
        self,
        *,
        norm: Any,
        radius: Any,
        bounds: tuple[Any, Any],
        epsilon: Any = None,
        rho: Any = None,
        ridge: Any = 0,
        fit_intercept: bool = True,
    ) -> None:
        self.norm, self.epsilon, self.radius, self.bounds = norm, epsilon, radius, bounds
        self.rho, self.ridge, self.fit_intercept = rho, ridge, fit_intercept

    @in_own_name
    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:  # noqa: N803 (scikit-learn's name)
        """Draw coefficients. Costs epsilon, or rho."""
        _warn_of_learning_steps(self)
        middle, half = _middle_and_half(self.bounds)
        rows, norm = self._with_intercept(self._rows(X, reset=True))
        column = _column(y)
        # a cell that is no number has no target: an error would tell of it
        numbers = as_floats(column)
        with np.errstate(all="ignore"):
            targets = (numbers - middle) / half
        release = discreet.models.fit_linear(
            rows,
            targets,
            norm=norm,
            radius=self.radius,
            bounds=(-1, 1),
            epsilon=self.epsilon,
            rho=self.rho,
            ridge=self.ridge,
        )
        self._keep(release)
        self.coef_ = self.coef_ * half
        self.intercept_ = self.intercept_ * half + middle
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803 (scikit-learn's name)
        """What is expected of each row."""
        return self._scores(X)


def _middle_and_half(bounds: Any) -> tuple[float, float]:
    """The middle of the bounds, and how far they are from it."""
    low, high = lower_and_upper(bounds)
    if max(abs(low), abs(high)) > _FAR or high - low < 1 / _FAR:
        rule = "at most 2^200 in size, and at least 2^-200 apart"
        raise ParameterError("bounds", rule, shown_pair(bounds))
    return float((low + high) / 2), float((high - low) / 2)


def _labels(classes: Any) -> Any:
    """The two labels as an array, each as it is: beside a text NumPy makes texts of numbers."""
    labels = np.array(classes)
    if labels.shape != (2,) or labels.tolist() != list(classes):
        labels = np.empty(2, dtype=object)
        labels[0], labels[1] = classes
    return labels


def _usable(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows as a fit reads them: one with something else than finite numbers is zeros."""
    return np.where(np.all(np.isfinite(rows), axis=1, keepdims=True), rows, 0.0)


def _cells(values: Any) -> Any:
    """The cells as an array, each as it is, although one text or complex number in a list
    would make the like of all. Lists of different lengths stay what they are.
    """
    try:
        array = np.asarray(values)
        plain = "biufO" if isinstance(values, (list, tuple)) else "biufOcmM"
        return array if array.dtype.kind in plain else np.array(values, dtype=object)
    except ValueError:
        return values


def _read_rows(model: Any, X: Any, *, reset: bool) -> Any:  # noqa: N803 (scikit-learn's name)
    """The rows as floats, NaN where a cell is no number.

    scikit-learn looks at the whole: the names and the number of the columns. It must not
    look at single cells, nor at how many rows there are: an error or a warning would tell
    of a row, and the text of one shows the cell.
    """
    table = X.to_numpy() if hasattr(X, "to_numpy") else X
    if isinstance(table, (list, tuple, np.ndarray)):
        table = _cells(table)
    plain = isinstance(table, np.ndarray) and table.dtype.kind in "biufO"
    if plain and table.ndim == 2 and table.shape[1]:
        validate_data(model, X, reset=reset, skip_check_array=True)
        return as_floats(table)
    return validate_data(
        model, X, reset=reset, ensure_all_finite=False, dtype=np.float64, ensure_min_samples=0
    )


def _column(values: Any) -> Any:
    """The labels or targets as an array; scikit-learn hands over lists, too."""
    if values is None:
        raise ValueError("requires y to be passed, but the target y is None")
    column = _cells(values)
    if not isinstance(column, np.ndarray):
        # somebody's target is a list, which is no reason to fail
        column = np.fromiter(values, dtype=object, count=len(values))
    return column.ravel() if column.ndim == 2 and column.shape[1] == 1 else column


class PrivatePCA(NamedFeatures, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components, as one private release.

    n_components: the number of dimensions, k.
    epsilon: the privacy loss of one `fit`.
    norm: the public length that longer rows are shortened to, after `center` is
        subtracted.
    center: public, one number for each column; if not given, nothing is subtracted. It
        must not be the mean of the data.
    bits: only in tests and simulations.

    After `fit`, `components_` has the orthonormal directions in its rows, and
    `release_` what it cost. Only the span of the directions has a meaning, not their
    order, and nothing is told about variances. Rows with something else than finite
    numbers count as the center, in `fit` and in `transform`, so that no row decides
    whether there is an answer, of a pipeline neither.

    >>> from discreet.testing import SeededBits
    >>> rows = np.random.default_rng(1).normal(size=(400, 3)) * [0.5, 0.1, 0.1]
    >>> model = PrivatePCA(n_components=1, epsilon=1, norm=1, bits=SeededBits(1)).fit(rows)
    >>> model.transform(rows).shape, model.release_.loss
    ((400, 1), BoundedRange(epsilon=1))
    """

    def __init__(
        self,
        *,
        n_components: int,
        epsilon: Number,
        norm: Number,
        center: Any = None,
        bits: Bits | None = None,
    ) -> None:
        self.n_components, self.epsilon, self.norm = n_components, epsilon, norm
        self.center, self.bits = center, bits

    @in_own_name
    def fit(self, X: Any, y: Any = None) -> PrivatePCA:  # noqa: N803 (scikit-learn's name)
        """Draw the subspace: one release. `y` is not looked at."""
        _warn_of_learning_steps(self)
        rows = _read_rows(self, X, reset=True)
        self.release_ = discreet.models.fit_subspace(
            self._centred(rows),
            k=self.n_components,
            epsilon=self.epsilon,
            norm=self.norm,
            bits=self.bits,
        )
        self.components_ = np.array(self.release_.value)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 (scikit-learn's name)
        """The coordinates of rows in the subspace. What is computed from private rows is
        private.
        """
        check_is_fitted(self, "components_")
        rows = _usable(self._centred(_read_rows(self, X, reset=False)))
        with np.errstate(all="ignore"):
            coordinates: NDArray[np.float64] = np.nan_to_num(rows @ self.components_.T)
        return coordinates

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The rows that have these coordinates in the subspace."""
        check_is_fitted(self, "components_")
        rows: NDArray[np.float64] = np.asarray(X) @ self.components_
        return rows + self._center(rows.shape[1])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # as for the regressions: an error would tell that some row has no number
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    def _centred(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        center = self._center(rows.shape[1])
        with np.errstate(all="ignore"):
            return rows - center

    def _center(self, columns: int) -> NDArray[np.float64]:
        rule = "a finite number, or one for each column"
        try:
            center = np.asarray(0 if self.center is None else self.center, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterTypeError("center", rule, self.center) from None
        if center.shape not in ((), (columns,)) or not np.isfinite(center).all():
            raise ParameterError("center", rule, self.center)
        return np.broadcast_to(center, (columns,))


_OURS = (PrivateLogisticRegression, PrivateLinearRegression, PrivatePCA)
# of a fit: a step of its caller, `fit` of the model, and this module's function
_CALLER = 3


class NotPrivateWarning(UserWarning):
    """A step of a pipeline learns from private rows without noise, and what it learned stays
    in the model.
    """


def _warn_of_learning_steps(model: Any) -> None:
    """Warn if a pipeline that fits this model learned from the rows before, such as a
    StandardScaler that took their mean.

    Only the pipeline's steps are looked at, and no row.
    """
    learning = [
        name
        for pipeline in _pipelines_that_fit()
        for step in _steps_before(pipeline, model)
        for name in _learning(step)
    ]
    if not learning:
        return
    named = ", ".join(dict.fromkeys(learning))
    warnings.warn(
        f"This pipeline fits {named} without noise on the same rows as {type(model).__name__}. "
        f"What {named} learns, such as a mean, is not private. Use public numbers instead: "
        f"FunctionTransformer(lambda rows: (rows - center) / scale).",
        NotPrivateWarning,
        stacklevel=_CALLER,
    )


def _pipelines_that_fit() -> Iterator[Pipeline]:
    """The pipelines whose methods are running, the innermost first."""
    frame, seen = inspect.currentframe(), set[int]()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline) and id(owner) not in seen:
            seen.add(id(owner))
            yield owner
        frame = frame.f_back


def _steps_before(pipeline: Pipeline, model: Any) -> Iterator[Any]:
    """The steps whose output the model is fitted to. With a cache, models are copies."""
    for _, step in pipeline.steps:
        if step is model or type(step) is type(model) or _holds(step, model):
            return
        yield step


def _holds(step: Any, model: Any) -> bool:
    return any(type(part) is type(model) for part in _parts(step))


def _learning(step: Any) -> Iterator[str]:
    """The names of the parts of a step that take something from the rows they are fitted to."""
    parts = _parts(step)
    for part in parts:
        yield from _learning(part)
    tags = getattr(step, "__sklearn_tags__", None)
    if not parts and callable(tags) and tags().requires_fit and not isinstance(step, _OURS):
        yield type(step).__name__


def _parts(step: Any) -> list[Any]:
    """The estimators that a step is made of, such as those of a ColumnTransformer."""
    if not hasattr(step, "get_params"):
        return []
    return [part for part in step.get_params(deep=True).values() if hasattr(part, "fit")]
