"""Conditions are planned before the charge, on an engine that must not read a row for that."""

import polars
import pytest

from discreet import BudgetExceeded, OneRow, PureDP, Session, column


@pytest.fixture
def plans(monkeypatch):
    """The plans that Polars was asked to run, as they were before it looked at them."""
    asked = []
    true = polars.LazyFrame.collect

    def collect(frame, *arguments, **options):
        asked.append(frame.explain(optimized=False))
        return true(frame, *arguments, **options)

    monkeypatch.setattr(polars.LazyFrame, "collect", collect)
    # As older versions do it: the first rows of what the frame is made of.
    monkeypatch.setattr(polars.LazyFrame, "head", lambda frame, n=5: frame.filter(n > 0))
    return asked


def test_what_a_lazy_frame_is_made_of_is_no_part_of_the_plan_before_the_charge(plans):
    """Whether Polars leaves it out of `head(0)` is a matter of its version."""
    made = polars.LazyFrame({"hidden": ["a", "b"]}).rename({"hidden": "item"})
    session = Session(made, unit=OneRow(), budget=PureDP(1))
    before = len(plans)
    with pytest.raises(BudgetExceeded, match=r"or one of 1\. Requested epsilon 2"):
        session.mode("item", candidates=["a", "b"], epsilon=2, where=column("item") == "a")
    planned = plans[before:]
    assert planned, "the condition was planned"
    assert not any("hidden" in plan for plan in planned)
    session.mode("item", candidates=["a", "b"], epsilon=1, where=column("item") == "a")
    assert any("hidden" in plan for plan in plans), "the watch would have seen it"
