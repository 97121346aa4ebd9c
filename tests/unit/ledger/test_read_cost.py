"""A loss is charged as what it is, also where its class says that it equals another."""

from discreet import BoundedRange, PureDP
from discreet.ledger.validation import read_cost


class Sly(PureDP):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(PureDP(1e-9))


def test_no_loss_is_taken_for_another():
    assert read_cost(PureDP(1e-9), "test").loss == PureDP(1e-9)
    for epsilon in (1e-9, 5):
        loss = Sly(epsilon)
        assert read_cost(loss, "test").loss is loss
    # both have the same hash
    assert type(read_cost(PureDP(1), "test").loss) is PureDP
    assert type(read_cost(BoundedRange(1), "test").loss) is BoundedRange
