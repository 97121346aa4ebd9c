"""Calls that type checkers must accept, and calls that they must refuse. Nothing here is run.

A line that ends in `# refused` has to be an error; no other line may be one.
"""

from fractions import Fraction
from typing import assert_type

from discreet import Accuracy, Release, Session, row_count
from discreet.client import RemoteDataset
from discreet.questions import Count, Mode, Quantile, TopK
from discreet.session import ListPrice, Price
from discreet.testing import SeededBits


def right(session: Session, remote: RemoteDataset) -> None:
    """Calls as people write them."""
    assert_type(session.top_k("article", k=3, epsilon=1), Release)
    session.top_k(column="article", k=3, epsilon=Fraction(1, 3), delta=1e-6, limit=100)
    session.mode("article", candidates=["a", "b"], epsilon=0.5, mechanism="exponential")
    session.mode("article", candidates=["a", "b"], epsilon=0.5, fresh=True, bits=SeededBits(1))
    session.select(candidates=["a"], score=lambda _: row_count(most=1), epsilon=1)
    session.fit_linear(["a"], "b", bounds=(0, 1), norm=1, radius=2, epsilon=1, center=[1, 2])
    assert_type(session.ask([Count(epsilon=1), Mode("article", epsilon=1)]), list[Release])
    assert_type(session.price([Count(epsilon=1)]), ListPrice)
    session.quantile("pay", q=0.5, bounds=(0, 100), step=1, epsilon=0.1, rule="max")
    session.best_price("pay", prices=[1, 2.5], epsilon=1)
    assert_type(session.ask(TopK("article", k=3, epsilon=1), fresh=True), Release)
    assert_type(session.price(Count(epsilon=1)), Price)
    assert_type(session.error_bound(Mode("article", epsilon=1)), Accuracy)
    assert_type(remote.mode("article", epsilon=1, where={"role": ["nurse"]}), Release)


def kept(question: TopK, other: Quantile) -> None:
    """A parameter is given as a number, and kept as a fraction."""
    assert_type(question.epsilon, Fraction)
    assert_type(question.delta, Fraction)
    assert_type(other.bounds, tuple[Fraction, Fraction] | None)
    assert_type(question.k, int)
    assert_type(TopK.from_json({}), TopK)


def wrong(session: Session, question: TopK) -> None:
    """Mistakes."""
    session.top_k("article", k=3, epsilon=1, epsilom=2)  # refused
    session.top_k("article", k="3", epsilon=1)  # refused
    session.top_k("article", k=3)  # refused
    session.top_k("article", 3, epsilon=1)  # refused
    session.top_k("article", k=3, epsilon="1")  # refused
    session.top_k("article", k=3, epsilon=1, method="best")  # refused
    session.quantile("pay", q=0.5, bounds=(0, 1, 2), step=1, epsilon=1)  # refused
    session.ask("top_k")  # refused
    question.k = 4  # refused
