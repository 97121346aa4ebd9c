"""Estimators in scikit-learn's habits."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from tiers import loop_over

from discreet import BoundedRange, ParameterError
from discreet.sklearn import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA
from discreet.testing import SeededBits

ROWS = np.random.default_rng(1).normal(size=(300, 4)) * [0.6, 0.5, 0.05, 0.05]
# What privacy does not allow: the answer is random, and a row that is not finite is a zero row.
NOT_PRIVATE = {
    "check_dtype_object": "no cell may decide whether there is an answer",
    "check_estimators_empty_data_messages": "nor may the only row there is",
    "check_fit_idempotent": "every fit is a new draw",
    "check_fit2d_1feature": "a subspace needs two columns",
}


def model(**given):
    return PrivatePCA(
        **{"n_components": 2, "epsilon": 1, "norm": 1, "bits": SeededBits(3), **given}
    )


def test_it_finds_the_plane():
    fitted = model().fit(ROWS)
    assert fitted.components_.shape == (2, 4)
    assert (fitted.components_[:, :2] ** 2).sum() > 1.9
    assert fitted.release_.loss == BoundedRange(1)
    inside = fitted.inverse_transform(fitted.transform(ROWS))
    assert np.linalg.norm(inside - ROWS) < 0.3 * np.linalg.norm(ROWS)
    assert fitted.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]


def test_a_public_centre_is_subtracted_and_put_back():
    fitted = model(center=[5, 5, 5, 5]).fit(ROWS + 5)
    plain = model().fit(ROWS)
    assert (fitted.components_ == plain.components_).all()
    assert fitted.inverse_transform(fitted.transform(ROWS + 5)).mean() == pytest.approx(5, abs=0.1)


def test_rows_that_are_not_finite_count_as_zeros():
    rows = np.concatenate([ROWS, [[np.nan] * 4], [[np.inf, 0, 0, 0]]])
    zeros = np.concatenate([ROWS, np.zeros((2, 4))])
    assert (model().fit(rows).components_ == model().fit(zeros).components_).all()


@pytest.mark.parametrize("odd", [np.nan, -np.inf, 1e308, None, "secret"], ids=str)
@pytest.mark.filterwarnings("error")
def test_no_row_stops_what_comes_after_a_fit(odd):
    """A pipeline transforms the rows that it has fitted, after the fit was paid."""
    rows = ROWS.astype(object)
    rows[7, 2] = odd
    fitted = model(center=-1e308 if odd == 1e308 else None)
    assert (fitted.fit_transform(rows)[7] == 0).all()
    assert fitted.fit_transform(ROWS[:0]).shape == (0, 2)
    labels = (ROWS[:, 0] > 0).astype(int)
    after = PrivateLogisticRegression(norm=1, epsilon=1, radius=1, classes=(0, 1))
    assert make_pipeline(model(), after).fit(rows, labels).predict(rows).shape == (300,)


CENTRES = [np.nan, [0, 0, 0, np.inf], [1, 2], [[0, 0, 0, 0]], [None] * 4, "a", {}, 10**400]


@loop_over("center", CENTRES, ids=str)
def test_a_centre_is_a_finite_number_or_one_for_each_column(center):
    """With NaN all rows would count as zeros, and the fit would be paid for nothing."""
    with pytest.raises(ParameterError, match="'center' parameter of PrivatePCA must be a finite"):
        model(center=center).fit(ROWS)


def test_pipelines_clones_and_searches_work():
    labels = (ROWS[:, 0] > 0).astype(int)
    pipeline = make_pipeline(model(bits=None), LogisticRegression())
    assert pipeline.fit(ROWS, labels).score(ROWS, labels) > 0.7
    search = GridSearchCV(pipeline, {"privatepca__n_components": [1, 2]}, cv=2).fit(ROWS, labels)
    assert set(search.best_params_) == {"privatepca__n_components"}
    assert clone(model(norm=2)).norm == 2


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_pass_as_far_as_privacy_allows():
    checked = check_estimator(
        PrivatePCA(n_components=1, epsilon=1, norm=1),
        expected_failed_checks=NOT_PRIVATE,
        on_fail=None,
    )
    failed = {each["check_name"] for each in checked if each["status"] == "failed"}
    assert failed == set()
    # whatever is on the list really fails
    assert {each["check_name"] for each in checked if each["status"] == "xfail"} == set(NOT_PRIVATE)
    assert len(checked) > 25


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((0, 3)),
        np.zeros((1, 3)),
        np.array([[1, 2, 3], [1, "secret", 3]], dtype=object),
        np.array([[1, 2, 3], [1, 10**400, 3]], dtype=object),
        np.full((2, 3), 1.7e308),
        pandas.DataFrame({"a": [1.0], "b": ["secret"], "c": [None]}),
    ],
    ids=["no row", "one row", "text", "too large", "overflow", "frame"],
)
@pytest.mark.filterwarnings("error")
def test_no_row_makes_a_fit_fail_or_warn(rows):
    fitted = model(n_components=1, center=[-1e308] * 3).fit(rows)
    assert fitted.components_.shape == (1, 3)
    assert fitted.n_features_in_ == 3


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_text_among_the_cells_stops_no_fit(kind):
    """One text makes texts of a whole list, and an error would show it."""
    rows = [[0.5, 0.1]] * 20
    for cells in (rows, [*rows, ["secret", 0.2]]):
        model = PrivatePCA(n_components=1, epsilon=1, norm=1).fit(kind(cells))
        assert model.components_.shape == (1, 2)


@loop_over(
    "odd",
    ["x", 2j, None, b"1", 10**400, object(), np.timedelta64(1, "D"), np.datetime64("2020-01-01")],
    ids=lambda odd: type(odd).__name__,
)
def test_no_cell_of_a_list_stops_a_fit(odd):
    rows = [[0.1, 0.2], [0.3, 0.1], [0.2, 0.2]]
    for cells in (rows, [*rows[:2], [0.2, odd]]):
        fitted = PrivateLinearRegression(norm=1, epsilon=1, radius=1, bounds=(0, 4)).fit(
            cells, [1.0, 2.0, 3.0]
        )
        assert fitted.coef_.shape == (2,)


@pytest.mark.parametrize("odd", ["x", 2j, None, [1.0], [1, 2], np.timedelta64(1, "D"), 10**400])
def test_no_target_of_a_list_stops_a_fit(odd):
    rows = [[0.1, 0.2], [0.3, 0.1], [0.2, 0.2]]
    linear = PrivateLinearRegression(norm=1, epsilon=1, radius=1, bounds=(0, 4))
    logistic = PrivateLogisticRegression(norm=1, epsilon=1, radius=1, classes=(0, 1))
    for fitted in (linear.fit(rows, [1.0, 2.0, odd]), logistic.fit(rows, [0, 1, odd])):
        assert np.isfinite(fitted.coef_).all()
