"""`discreet fit ...`: models of a table from the shell."""

from __future__ import annotations

import json

import pytest
from tiers import first

from discreet import BoundedRange, PureDP, Release

# people along one line: age and cost go together, and who is above 50 comes back
VISITS = "patient,age,cost,back\n" + "".join(
    f"{number},{20 + number % 61},{2 * (20 + number % 61)},{'yes' if number % 61 > 30 else 'no'}\n"
    * (1 + number % 2)
    for number in range(1500)
)
WHO = ("--person", "patient", "--decimal", ".", "--rule", "mean", "--epsilon", "4")
PUBLIC = ("--columns", "age,cost", "--center", "50,100", "--scale", "30,60", "--norm", "2")
MODEL = ("--radius", "4", "--intercept")
FITS = {
    "subspace": ("-k", "1", *PUBLIC),
    "covariance": PUBLIC,
    "linear": ("--target", "cost", "--bounds", "0,200", *PUBLIC, "--radius", "200", "--intercept"),
    "logistic": ("--label", "back", "--classes", "no,yes", *PUBLIC, *MODEL, "--ridge", "0.1"),
    "deepest": ("--columns", "age,cost", "--bounds", "0,120", "--bounds", "0,240", "--step", "2,4"),
}
EACH = pytest.mark.parametrize("what", FITS)


@pytest.fixture(autouse=True)
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)


def typed(what, *more):
    return ("fit", what, "visits.csv", *FITS[what], *WHO, *more)


@pytest.mark.parametrize("what", first(FITS, 2, tier="pairs"))
def test_a_table_a_picture_and_what_is_promised(shell, what, tmp_path):
    outcome = shell(*typed(what, "--plot", "model.svg"))
    assert outcome.code == 0
    for told in ("age", "each `patient`, with all of their", "every such model", "With 95%"):
        assert told in outcome.out
    assert "The picture is in model.svg" in outcome.out
    drawn = (tmp_path / "model.svg").read_text()
    assert f"Fit {what}" in drawn
    assert "age" in drawn


@EACH
def test_json_is_the_release_that_sessions_give(shell, what):
    release = Release.from_json(shell(*typed(what, "--json")).out)
    kind = PureDP if what == "covariance" else BoundedRange
    assert (release.loss, release.seeded) == (kind(4), False)
    assert release.asked["what"] == f"fit_{what}"
    assert release.asked["columns"] == ["age", "cost"]
    # not chance: about 1500 persons at this epsilon
    if what == "subspace":
        ((age, cost),) = release.value
        assert age * cost > 0.3
    if what == "logistic":
        assert sum(release.value[:2]) > 0.5
    if what == "deepest":
        assert 40 <= release.value[0] <= 60


@EACH
def test_a_price_costs_nothing(shell, what):
    price = json.loads(shell(*typed(what, "--dry-run", "--json")).out)
    assert (price["fits"], price["answered"]) == (True, False)
    assert price["accuracy"]["sentence"].startswith("With 95% confidence, ")
