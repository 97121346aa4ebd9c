"""Estimators with scikit-learn's habits: its own checks, as far as privacy allows."""

import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from tiers import loop_over

from discreet import BoundedRange, MissingExtraError, ParameterError
from discreet.sklearn import (
    NotPrivateWarning,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
)

PUBLIC_LABELS = "the two labels are public, and none is looked at before it is paid"
LEFT_OUT = "a target without a number leaves its row out, and nobody is told"
RANDOM = "two fits are two draws"
EXPECTED = {
    "check_classifiers_classes": PUBLIC_LABELS,
    "check_classifiers_regression_target": PUBLIC_LABELS,
    "check_classifier_not_supporting_multiclass": PUBLIC_LABELS,
    "check_supervised_y_2d": "a warning would come before the charge",
    "check_supervised_y_no_nan": LEFT_OUT,
    "check_estimators_empty_data_messages": "no rows are data, too",
    "check_dtype_object": "a cell that is no number makes its row one of zeros",
    "check_fit_idempotent": RANDOM,
    "check_regressor_data_not_an_array": RANDOM,
    "check_classifier_data_not_an_array": RANDOM,
    "check_regressors_int": RANDOM,
    "check_regressors_train": "its data are far outside these bounds",
}

LOGISTIC = PrivateLogisticRegression(epsilon=60, norm=4, radius=2, classes=(0, 1))
LINEAR = PrivateLinearRegression(epsilon=60, norm=4, radius=1, bounds=(-3, 3))


@pytest.mark.parametrize("estimator", [LOGISTIC, LINEAR], ids=["logistic", "linear"])
def test_scikit_learn_checks(estimator):
    results = check_estimator(
        clone(estimator), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
    )
    assert len(results) > 40
    assert [each["check_name"] for each in results if each["status"] == "failed"] == []


RNG = np.random.default_rng(3)
ROWS = RNG.uniform(-0.5, 0.5, size=(20_000, 3))
LABELS = (ROWS @ [6, -3, 2] + 1 + RNG.logistic(size=20_000) > 0).astype(int)
TARGETS = 40 + ROWS @ [20, -10, 5] + RNG.normal(size=20_000)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_classifier_predicts(intercept):
    model = PrivateLogisticRegression(
        epsilon=9, norm=1, radius=12, fit_intercept=intercept, classes=(0, 1)
    )
    assert model.fit(ROWS, LABELS) is model
    assert model.release_.loss == BoundedRange(9)
    assert model.coef_.shape == (1, 3)
    assert model.coef_[0] == pytest.approx([6, -3, 2], abs=2)
    assert float(model.intercept_[0]) == pytest.approx(1 if intercept else 0, abs=0.5)
    odds = model.predict_proba(ROWS)
    assert odds.sum(axis=1) == pytest.approx(1)
    assert (model.predict(ROWS) == (odds[:, 1] > 0.5)).all()
    assert model.score(ROWS, LABELS) > 0.7


def test_a_regression_is_in_the_units_of_its_targets():
    model = PrivateLinearRegression(epsilon=9, norm=1, radius=1, bounds=(0, 100))
    model.fit(ROWS, TARGETS)
    assert model.coef_ == pytest.approx([20, -10, 5], abs=5)
    assert float(model.intercept_) == pytest.approx(40, abs=2)
    assert model.score(ROWS, TARGETS) > 0.8


def test_pipelines_and_searches_work():
    steps = make_pipeline(FunctionTransformer(np.tanh), clone(LOGISTIC))
    search = GridSearchCV(steps, {"privatelogisticregression__radius": [1, 2]}, cv=2)
    search.fit(ROWS[:500], LABELS[:500])
    assert search.best_params_["privatelogisticregression__radius"] in (1, 2)


@pytest.mark.parametrize("model", [LOGISTIC, LINEAR], ids=["logistic", "linear"])
@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e308])
def test_no_row_decides_whether_there_is_a_model(model, odd):
    rows, targets = ROWS[:50].copy(), LABELS[:50].astype(float)
    rows[7, 1] = odd
    targets[9] = odd
    fitted = clone(model).fit(rows, targets)
    assert fitted.coef_.size == 3
    assert len(fitted.predict(rows)) == 50


def test_rho_is_a_loss_too():
    model = PrivateLogisticRegression(rho=0.5, norm=1, ridge=0.1, classes=(0, 1)).fit(
        ROWS[:2000], LABELS[:2000]
    )
    assert model.release_.loss.kind == "zcdp"


BOUNDS = [(5, 5), (9, -9), (np.nan, 1), (0, np.inf), ("0", 1), (0,), None, (0, 1e-300), (0, 1e300)]


@loop_over("bounds", BOUNDS, ids=str)
def test_bounds_that_are_none_are_refused(bounds):
    """Before a row is fitted to them: the release would be paid, and say nothing."""
    model = PrivateLinearRegression(epsilon=1, norm=1, radius=1, bounds=bounds)
    with pytest.raises(ParameterError, match="'bounds' parameter of PrivateLinearRegression must"):
        model.fit(ROWS, TARGETS)


def test_bounds_are_exact_numbers_of_any_kind():
    """The difference of two small integers of NumPy's wraps around."""
    for kind in (np.int8, Decimal, Fraction):
        model = PrivateLinearRegression(
            epsilon=9, norm=1, radius=1, bounds=(kind(-100), kind(100))
        ).fit(ROWS, TARGETS)
        assert model.coef_.dtype == float
        assert float(model.intercept_) == pytest.approx(40, abs=4)


@loop_over("norm", [None, "abc", True, np.nan, np.inf, -1, 0, [1]], ids=str)
@loop_over("intercept", [True, False])
def test_a_norm_that_is_none_is_refused_as_it_was_given(norm, intercept):
    model = PrivateLogisticRegression(
        epsilon=1, norm=norm, radius=1, fit_intercept=intercept, classes=(0, 1)
    )
    with pytest.raises(ParameterError, match="'norm' parameter of PrivateLogistic") as got:
        model.fit(ROWS, LABELS)
    assert "Fraction" not in str(got.value).split("Got")[-1]


@pytest.mark.parametrize("classes", [(np.nan, 1), (0, float("nan")), (np.zeros(2), 1)], ids=str)
def test_a_class_that_no_label_equals_is_refused(classes):
    with pytest.raises(ParameterError, match="'classes' parameter of fit_logistic must be two"):
        PrivateLogisticRegression(epsilon=1, norm=1, radius=1, classes=classes).fit(ROWS, LABELS)


def test_labels_of_two_kinds_stay_what_they_are():
    model = PrivateLogisticRegression(epsilon=9, norm=1, radius=12, classes=(0, "yes"))
    model.fit(ROWS[:2000], np.array([0, "yes"], dtype=object)[LABELS[:2000]])
    assert set(model.predict(ROWS)) == {0, "yes"}


def test_a_model_whose_fit_was_refused_is_not_fitted():
    model = PrivateLogisticRegression(epsilon=-1, norm=1, radius=1, classes=(0, 1))
    with pytest.raises(ParameterError):
        model.fit(ROWS, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(ROWS)


def test_an_intercept_is_said_by_true_or_false():
    model = PrivateLogisticRegression(
        epsilon=1, norm=1, radius=1, fit_intercept="no", classes=(0, 1)
    )
    with pytest.raises(ParameterError, match=r"'fit_intercept' parameter .* True or False"):
        model.fit(ROWS, LABELS)


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "discreet.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"discreet\.sklearn needs the extra 'sklearn'"):
        import discreet.sklearn  # noqa: F401


ODD_CELLS = {"text": "secret", "nothing": None, "too large": 10**400, "a mapping": {"a": 1}}


@pytest.mark.parametrize("cell", ODD_CELLS.values(), ids=ODD_CELLS)
@pytest.mark.parametrize("estimator", [LOGISTIC, LINEAR], ids=["logistic", "linear"])
@pytest.mark.filterwarnings("error")
def test_no_cell_makes_a_fit_fail_or_warn(estimator, cell):
    """The message would show it."""
    rows, column = np.zeros((3, 2), dtype=object), np.zeros(3, dtype=object)
    rows[1, 1] = column[2] = cell
    fitted = clone(estimator).fit(rows, column)
    assert fitted.predict(rows).shape == (3,)
    assert fitted.n_features_in_ == 2


@pytest.mark.parametrize("classes", [(0, 1), ("yes", 1)], ids=str)
def test_labels_of_another_type_are_refused_before_a_draw(classes):
    model = PrivateLogisticRegression(epsilon=9, norm=1, radius=12, classes=classes)
    labels = np.array(["no", "yes"])[LABELS]
    with pytest.raises(ParameterError, match="must be two texts, because the labels are texts"):
        model.fit(ROWS, labels)
    assert not hasattr(model, "release_")


def test_objects_of_pandas_are_no_numbers():
    """What pandas up to 2 makes of texts states nothing, and numbers never equal it."""
    model = PrivateLogisticRegression(epsilon=9, norm=1, radius=12, classes=(0, 1))
    labels = pandas.Series(np.array(["no", "yes"], dtype=object)[LABELS], dtype=object)
    with pytest.raises(ParameterError, match=r"two texts, where labels are Python objects.*astype"):
        model.fit(ROWS, labels)
    assert not hasattr(model, "release_")
    assert model.set_params(classes=("no", "yes")).fit(ROWS, labels).score(ROWS, labels) > 0.5


def test_one_label_of_a_list_does_not_decide_whether_there_is_a_model():
    model = PrivateLogisticRegression(epsilon=9, norm=1, radius=12, classes=("no", "yes"))
    for odd in (1, "yes", None, 0.5):
        assert model.fit(ROWS[:20], [*LABELS[:19].tolist(), odd]).coef_.shape == (1, 3)


def test_classes_have_no_default():
    with pytest.raises(TypeError, match="classes"):
        PrivateLogisticRegression(epsilon=9, norm=1, radius=12)


class TestStepsThatLearn:
    """What a scaler learned from private rows is in the pipeline without noise."""

    @pytest.mark.parametrize(
        ("before", "named"),
        [
            (StandardScaler(), "StandardScaler"),
            (make_pipeline(FunctionTransformer(np.tanh), MinMaxScaler()), "MinMaxScaler"),
            (ColumnTransformer([("all", StandardScaler(), [0, 1, 2])]), "StandardScaler"),
        ],
        ids=["scaler", "pipeline", "columns"],
    )
    @pytest.mark.parametrize("model", [LOGISTIC, LINEAR], ids=["logistic", "linear"])
    def test_a_step_fitted_to_private_rows_is_warned_of(self, before, named, model):
        steps = make_pipeline(clone(before), clone(model))
        with pytest.warns(
            NotPrivateWarning, match=f"fits {named} without noise on the same rows as Private"
        ):
            steps.fit(ROWS[:50], LABELS[:50])

    def test_a_search_and_a_cache_and_a_private_transformer_warn_too(self, tmp_path):
        steps = make_pipeline(StandardScaler(), clone(LOGISTIC), memory=str(tmp_path))
        search = GridSearchCV(steps, {"privatelogisticregression__radius": [1, 2]}, cv=2)
        with pytest.warns(NotPrivateWarning, match="StandardScaler"):
            search.fit(ROWS[:50], LABELS[:50])
        reduced = make_pipeline(StandardScaler(), PrivatePCA(n_components=1, epsilon=1, norm=1))
        with pytest.warns(NotPrivateWarning, match="as PrivatePCA"):
            reduced.fit(ROWS[:50])

    def test_what_learns_nothing_or_with_noise_is_not_warned_of(self):
        columns = ColumnTransformer([("all", Normalizer(), [0, 1, 2])])
        reduced = PrivatePCA(n_components=2, epsilon=1, norm=1)
        steps = make_pipeline(FunctionTransformer(np.tanh), columns, reduced, clone(LOGISTIC))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            steps.fit(ROWS[:50], LABELS[:50])
            clone(LOGISTIC).fit(ROWS[:50], LABELS[:50])
