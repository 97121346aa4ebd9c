"""A question of a session takes from the budget what its release states, nothing less.

`test_a_release_and_its_charge` of `unit/tables/test_session.py` asks most questions; these are the
others.
"""

from __future__ import annotations

from fractions import Fraction

import polars
import pytest

from discreet import ApproxDP, Person, PureDP, Session
from discreet.privacy.loss import Composed

ROWS = polars.DataFrame(
    {"person": range(40), "item": ["a", "b"] * 20, "size": [0.5, -0.25] * 20, "one": [1.0] * 40}
)
MANY = ["a", "b", *map(str, range(200))]
MODEL = {"epsilon": 1, "norm": 1, "rule": "mean"}
FIT = MODEL | {"radius": 1}
ASKED = {
    "discrete-laplace": (PureDP(10), lambda session: session.count(epsilon=1)),
    "discrete-gaussian": (
        ApproxDP(1, 1e-6),
        lambda session: session.counts("item", candidates=MANY, epsilon=0.2, delta=1e-8),
    ),
    "covariance": (
        PureDP(10),
        lambda session: session.fit_covariance(["size", "one"], **MODEL),
    ),
    "squared-ball": (
        PureDP(10),
        lambda session: session.fit_linear(["size"], "one", bounds=(-1, 1), **FIT),
    ),
    "logistic-ball": (
        PureDP(10),
        lambda session: session.fit_logistic(["size"], "item", classes=("a", "b"), **FIT),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_question_is_charged_like_the_loss_of_its_release(name):
    budget, ask = ASKED[name]
    session, other = (Session(ROWS, unit=Person("person"), budget=budget) for _ in range(2))
    release = ask(session)
    assert name in release.mechanism
    other.charge(release.loss, what=name)
    assert session.spent() == other.spent()
    assert session.remaining() == other.remaining()


def test_a_list_is_charged_for_each_of_its_picks():
    session = Session(ROWS, unit=Person("person"), budget=ApproxDP(1, 1e-6))
    release = session.top_k("item", k=3, candidates=MANY, epsilon=0.2, method="peel")
    assert release.loss == Composed({PureDP(Fraction(1, 15)): 3})
