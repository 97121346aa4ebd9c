"""Somebody who writes a row of a table that a model is fitted to: the auditor's hostile rows,
one by one, change nothing that can be seen but the draw.
"""

from __future__ import annotations

import numpy as np
import polars
import pytest

from discreet import Person, PureDP, Session
from discreet.auditing import audit_session

SCHEMA = {
    "patient": polars.Int64,
    "age": polars.Float64,
    "cost": polars.Float64,
    "back": polars.String,
}
ROWS = [
    {
        "patient": number % 4,
        "age": 20.0 + 3 * number,
        "cost": float(7 * number % 11),
        "back": ("no", "yes")[number % 2],
    }
    for number in range(8)
]
COLUMNS = ["age", "cost"]
FITS = {
    "subspace": lambda session: session.fit_subspace(
        COLUMNS, k=1, epsilon=1, norm=2, center=30, scale=20, rule="sum"
    ),
    "covariance": lambda session: session.fit_covariance(COLUMNS, epsilon=1, norm=2, rule="mean"),
    "linear": lambda session: session.fit_linear(
        COLUMNS, "cost", bounds=(0, 10), epsilon=1, norm=2, radius=1, intercept=True, rule="mean"
    ),
    "logistic": lambda session: session.fit_logistic(
        COLUMNS, "back", classes=("no", "yes"), epsilon=1, norm=2, radius=1, rule="sum"
    ),
    "deepest": lambda session: session.fit_deepest(
        COLUMNS, bounds=[(0, 100), (0, 10)], step=1, epsilon=1, rule="mean"
    ),
}


def opened(rows):
    table = polars.DataFrame(rows, schema=SCHEMA, strict=False)
    return Session(table, unit=Person("patient"), budget=PureDP(9))


# a covariance is made of the same vectors and products as a subspace
MORE = {"covariance": pytest.mark.pairs}


@pytest.mark.parametrize("fit", [pytest.param(fit, marks=MORE.get(fit, ())) for fit in FITS])
def test_no_row_of_a_table_decides_anything_about_a_fit(fit):
    # a caller who has told NumPy to raise must not hear of a row either
    with np.errstate(all="raise"):
        report = audit_session(opened, FITS[fit], rows=ROWS)
    assert str(report) == "No row decides anything: 40 rows tried."
