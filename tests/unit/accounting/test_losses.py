"""Reading what is to be composed: sequences and mappings, exact sums, and everything else
refused.
"""

from collections import Counter, OrderedDict
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from tiers import loop_over

from discreet.accounting.analyses import Losses
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, PureDP

EACH = BoundedRange(0.1)


@loop_over(
    "given",
    [
        [EACH, EACH, PureDP(1), EACH],
        (PureDP(1), EACH, EACH, EACH),
        iter([EACH, PureDP(1), EACH, EACH]),
        (loss for loss in (EACH, EACH, EACH, PureDP(1))),
        {EACH: 3, PureDP(1): 1},
        Counter({EACH: 3, PureDP(1): 1}),
        OrderedDict([(PureDP(1), 1), (EACH, 3)]),
        MappingProxyType({EACH: np.int64(3), PureDP(1): np.uint8(1)}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sequences_and_mappings_mean_the_same(given):
    read = Losses.read(given)
    assert read.counts == {EACH: 3, PureDP(1): 1}
    assert read.total == 4
    assert read.delta == 0


def test_equal_losses_in_different_words_are_one():
    read = Losses.read(
        [BoundedRange(0.1), BoundedRange(Fraction(1, 10)), BoundedRange(np.float32(0.1))]
    )
    assert read.counts == {EACH: 3}


def test_kinds_are_kept_apart():
    assert Losses.read([BoundedRange(1), PureDP(1), ZCDP(1)]).counts == {
        BoundedRange(1): 1,
        PureDP(1): 1,
        ZCDP(1): 1,
    }


def test_approximate_losses_are_split_into_pure_and_delta():
    read = Losses.read({ApproxDP(0.5, 1e-6): 3, PureDP(0.5): 2, ApproxDP(0.5, 1e-7): 10})
    assert read.counts == {PureDP(0.5): 15}
    assert read.delta == Fraction(4, 10**6)


def test_epsilons_are_there_if_all_losses_have_one():
    assert Losses.read([EACH, PureDP(1)]).epsilons == [(Fraction(1, 10), 1), (Fraction(1), 1)]
    assert Losses.read([EACH, ZCDP(1)]).epsilons is None


def test_rho_is_the_sum_of_what_each_implies():
    read = Losses.read({EACH: 3, PureDP(1): 2, ZCDP(0.25): 4})
    assert read.rho == 3 * EACH.to_zcdp().rho + 2 * PureDP(1).to_zcdp().rho + 1
