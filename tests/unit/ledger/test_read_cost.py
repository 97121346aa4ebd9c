"""A loss is charged as what it is: one whose class is somebody else's is refused, wherever it
comes from outside, because such a class may say that it equals another loss.
"""

from collections.abc import Mapping

import pandas
import pytest

from discreet import (
    ApproxDP,
    BoundedRange,
    Ledger,
    OneRow,
    ParameterError,
    PureDP,
    Session,
    compose,
    plan,
    queries_allowed,
)
from discreet.accounting import NO_LOSS, Cost, PrivacyFilter
from discreet.errors import ParameterTypeError
from discreet.ledger.validation import read_cost


class Sly(PureDP):
    """Equals every loss, no loss among them, and is within every budget."""

    def __eq__(self, other):
        return True

    def __le__(self, other):
        return True

    def __hash__(self):
        return hash(NO_LOSS)


class SlyCost(Cost):
    @property
    def parts_or_whole(self):
        return {PureDP(1e-9): 1}


class Shifting(Mapping):
    """Parts that are smaller each time they are looked at."""

    def __init__(self):
        self.looks = 0

    def __iter__(self):
        self.looks += 1
        return iter([PureDP(1)])

    def __len__(self):
        return 1

    def __getitem__(self, loss):
        return 1 if self.looks <= 1 else -1


def filters():
    return PrivacyFilter(PureDP(1)), PrivacyFilter(ApproxDP(1, 1e-6))


@pytest.mark.parametrize("loss", [Sly(5), SlyCost(PureDP(5))], ids=["a loss", "a cost"])
def test_a_filter_takes_no_class_of_others(loss):
    for within in filters():
        for ask in (within.admit, within.allows, within.questions_left_of):
            with pytest.raises(ParameterTypeError):
                ask(loss)
        if isinstance(loss, Sly):
            with pytest.raises(ParameterTypeError):
                within.admit_parts({loss: 1})
        assert within.spent() == 0


def test_a_cost_is_made_of_known_losses_and_keeps_its_parts():
    with pytest.raises(ParameterTypeError):
        Cost(Sly(5))
    with pytest.raises(ParameterTypeError):
        Cost(PureDP(5), {Sly(5): 1})
    assert Cost(PureDP(1), Shifting()).parts == {PureDP(1): 1}


def test_a_ledger_reads_known_losses_only(tmp_path):
    assert read_cost(PureDP(1e-9), "test").loss == PureDP(1e-9)
    # both have the same hash
    assert type(read_cost(PureDP(1), "test").loss) is PureDP
    assert type(read_cost(BoundedRange(1), "test").loss) is BoundedRange
    with Ledger(f"sqlite:///{tmp_path}/book.db") as ledger:
        with pytest.raises(ParameterTypeError):
            ledger.open("polls", budget=Sly(5))
        ledger.open("polls", budget=PureDP(1))
        for loss in (Sly(5), Sly(1e-9), SlyCost(PureDP(5))):
            with pytest.raises(ParameterTypeError), ledger.reserve("polls", loss, request={}):
                pass
        with pytest.raises(ParameterError):
            ledger.extend("polls", budget=Sly(5), reason="more")
        assert not ledger.account("polls").spent


def test_nothing_that_computes_with_losses_takes_a_class_of_others():
    data = pandas.DataFrame({"pay": [1]})
    session = Session(data, unit=OneRow(), budget=PureDP(1))
    for refused in (
        lambda: compose([Sly(5)], delta=1e-6),
        lambda: plan(queries=3, budget=Sly(5)),
        lambda: queries_allowed(each=Sly(5), budget=PureDP(1)),
        lambda: PrivacyFilter(Sly(5)),
        lambda: session.charge(Sly(5), what="mean pay"),
        lambda: Session(data, unit=OneRow(), budget=Sly(5)),
    ):
        with pytest.raises(ParameterTypeError):
            refused()
    assert not session.spent()
