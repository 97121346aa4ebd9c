"""Losses: exact, ordered by implication, printable, and converted by theorems without ever
promising too much.
"""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over

import discreet
from discreet.privacy.loss import (
    KINDS,
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    loss_from_dict,
)

EXAMPLES = [
    PureDP(1),
    PureDP(0.1),
    PureDP(Fraction(1, 3)),
    PureDP(10**400),
    PureDP(5e-324),
    PureDP(Fraction(1, 10**400)),
    BoundedRange(0.5),
    BoundedRange(np.float32(0.1)),
    LogisticDP(0.3),
    GaussianDP(0.25),
    GaussianDP(Fraction(1, 10**400)),
    ZCDP(Decimal("0.25")),
    ZCDP(1e300),
    ApproxDP(1, 1e-6),
    ApproxDP(Fraction(2, 7), 0),
    Composed({BoundedRange(Fraction(1, 3)): 10, GaussianDP(0.1): 1}),
    Composed({BoundedRange(0.1): 2}, 1e-7),
]
epsilons = st.one_of(
    st.sampled_from(
        [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(1, 10**12), Fraction(64)]
    ),
    st.fractions(min_value=Fraction(1, 1000), max_value=64, max_denominator=1000),
)
losses = st.one_of(
    epsilons.map(PureDP),
    epsilons.map(BoundedRange),
    epsilons.map(LogisticDP),
    epsilons.map(GaussianDP),
    epsilons.map(ZCDP),
    st.builds(ApproxDP, epsilons, st.sampled_from([0, 1e-9, 1e-6, 0.5])),
    # the ends of a conversion, where a strict inequality would show
    epsilons.map(lambda epsilon: PureDP(epsilon).to_zcdp()),
    epsilons.map(lambda epsilon: BoundedRange(epsilon).to_zcdp()),
    epsilons.map(lambda epsilon: LogisticDP(epsilon).to_zcdp()),
    epsilons.map(lambda epsilon: LogisticDP(epsilon).to_gaussian_dp()),
    epsilons.map(lambda mu: GaussianDP(mu).to_approx_dp(delta=1e-6)),
)


def test_delta_zero_is_pure_dp_in_other_words():
    assert PureDP(1) <= ApproxDP(1, 0)


@loop_over("epsilon", [5e-324, Fraction(1, 10**400)], ids=["5e-324", "1e-400"])
@loop_over("scores", [[0, 1], [0.0, 1.0], {"a": 0, "b": 10**30}], ids=str)
@loop_over("mechanism", ["permute-and-flip", "exponential", "laplace-noise"])
def test_a_tiny_epsilon_works_end_to_end(epsilon, scores, mechanism):
    release = discreet.select(scores, epsilon=epsilon, sensitivity=1, mechanism=mechanism)
    assert release.value in (list(scores) if isinstance(scores, dict) else (0, 1))
    assert release.loss.epsilon == Fraction(str(epsilon))


@loop_over("epsilon", [np.nextafter(64, 65), 65, 1e300], ids=repr)
@loop_over(
    "acknowledge",
    [None, True, "yes", "Not private in any useful sense", [discreet.NOT_PRIVATE]],
    ids=repr,
)
def test_an_epsilon_above_64_is_refused_without_the_words(epsilon, acknowledge):
    with pytest.raises(
        discreet.ParameterError,
        match=r"'epsilon'.*must be at most 64\. Got .*acknowledge='not private in any",
    ):
        discreet.select([1, 2], epsilon=epsilon, sensitivity=1, acknowledge=acknowledge)


@loop_over("loss", EXAMPLES, ids=repr)
def test_a_loss_survives_repr_pickle_copy_and_dict(loss):
    names = {kind.__name__: kind for kind in KINDS.values()} | {"Fraction": Fraction}
    copies = [
        # what a composed one prints as is for people
        loss if isinstance(loss, Composed) else eval(repr(loss), names),
        pickle.loads(pickle.dumps(loss)),
        copy.deepcopy(loss),
        loss_from_dict(loss.to_dict()),
    ]
    for other in copies:
        assert type(other) is type(loss)
        assert (other, other.numbers) == (loss, loss.numbers)
        assert hash(other) == hash(loss)


def test_each_kind_has_an_example_above():
    assert {type(loss) for loss in EXAMPLES} == set(KINDS.values()) - {
        type(discreet.accounting.NO_LOSS)
    }


def test_losses_are_frozen():
    with pytest.raises(AttributeError, match="cannot assign to field 'epsilon'"):
        PureDP(1).epsilon = Fraction(0)


def test_equal_numbers_of_different_kinds_are_different_losses():
    assert (
        len({PureDP(1), BoundedRange(1), LogisticDP(1), ZCDP(1), ApproxDP(1, 0), PureDP(1.0)}) == 5
    )


@loop_over(
    ("stronger", "weaker"),
    [
        (PureDP(1), PureDP(2)),
        (BoundedRange(1), PureDP(1)),
        (PureDP(1), BoundedRange(2)),
        (BoundedRange(1), LogisticDP(1)),
        (LogisticDP(1), PureDP(1)),
        (LogisticDP(1), BoundedRange(2)),
        (PureDP(1), LogisticDP(2)),
        (LogisticDP(1), ZCDP(0.164)),
        (LogisticDP(1), ApproxDP(1, 0)),
        (PureDP(1), ZCDP(0.47)),
        (BoundedRange(1), ZCDP(0.124)),
        (BoundedRange(1), ApproxDP(1, 0)),
        (PureDP(1), ApproxDP(1, 1e-9)),
        (ApproxDP(1, 1e-9), ApproxDP(1, 1e-6)),
    ],
    ids=str,
)
def test_a_stronger_promise_implies_a_weaker_one_and_not_the_other_way(stronger, weaker):
    assert stronger <= weaker
    assert stronger < weaker
    assert weaker >= stronger
    assert weaker > stronger
    assert not weaker <= stronger


@loop_over(
    ("one", "other"),
    [
        (PureDP(1), BoundedRange(1.9)),
        (PureDP(1), LogisticDP(1.9)),
        (LogisticDP(1), BoundedRange(1.9)),
        (LogisticDP(1), ZCDP(0.1639)),
        (PureDP(2), ZCDP(0.1)),
        (BoundedRange(1), ZCDP(0.1233)),
        (ApproxDP(1, 1e-6), ApproxDP(2, 1e-9)),
        (ZCDP(0.001), PureDP(50)),
        (ZCDP(0.001), ApproxDP(1, 1e-6)),
    ],
    ids=str,
)
def test_what_no_theorem_gives_is_not_claimed(one, other):
    assert not one <= other
    assert not one < other


@pytest.mark.parametrize("compare", ["__le__", "__lt__", "__ge__", "__gt__"])
def test_a_loss_is_not_compared_with_a_number(compare):
    assert getattr(PureDP(1), compare)(1) is NotImplemented
    with pytest.raises(TypeError, match="not supported between instances of 'PureDP' and 'int'"):
        PureDP(1) <= 1  # noqa: B015


@examples(30, 100)
@given(losses, losses)
def test_the_order_is_antisymmetric_and_its_signs_agree(one, other):
    assert one <= one
    assert (one <= other) == (other >= one)
    assert (one < other) == (one <= other and not other <= one) == (other > one)
    if one <= other and other <= one:
        assert one == other


@examples(60, 400)
@given(losses, losses, losses)
def test_the_order_is_transitive(one, two, three):
    if one <= two and two <= three:
        assert one <= three


@given(losses)
def test_the_order_is_transitive_along_every_chain_of_theorems(loss):
    # random triples rarely form a chain: walk each of them
    for implied in loss.implied():
        assert loss <= implied
        for second in implied.implied():
            assert loss <= second


def rho_of_bounded_range(epsilon):
    """The tight formula at 60 digits, independently of flint. Near 0 its terms cancel down to
    epsilon^2 / 8.
    """
    with mpmath.workdps(60 + 2 * max(0, int(-mpmath.log10(epsilon)))):
        epsilon = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        ratio = epsilon / mpmath.expm1(epsilon)
        return +(ratio - 1 - mpmath.log(ratio))


def rho_of_pure_dp(epsilon):
    with mpmath.workdps(60):
        epsilon = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return epsilon * mpmath.tanh(epsilon / 2)


def rho_of_logistic_dp(epsilon):
    """The same for two logistic distributions. Near 0 it is epsilon^2 / 6."""
    with mpmath.workdps(60 + 2 * max(0, int(-mpmath.log10(epsilon)))):
        epsilon = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return +(epsilon * mpmath.coth(epsilon / 2) - 2)


CONVERSIONS = {
    BoundedRange: rho_of_bounded_range,
    LogisticDP: rho_of_logistic_dp,
    PureDP: rho_of_pure_dp,
}


@loop_over("kind", CONVERSIONS)
@loop_over(
    "epsilon",
    [Fraction(10) ** power for power in range(-12, 2)]
    + [Fraction(1, 2), Fraction(2), Fraction(64)],
    ids=str,
)
def test_a_conversion_is_never_below_the_truth_and_within_1e_14(kind, epsilon):
    check_conversion(kind, epsilon)


@examples(30, 100)
@given(
    st.sampled_from(list(CONVERSIONS)), st.fractions(min_value=Fraction(1, 10**12), max_value=64)
)
def test_any_conversion_is_never_below_the_truth_and_within_1e_14(kind, epsilon):
    check_conversion(kind, epsilon)


def check_conversion(kind, epsilon):
    rho, truth = kind(epsilon).to_zcdp().rho, CONVERSIONS[kind](epsilon)
    with mpmath.workdps(60):
        excess = (mpmath.mpf(rho.numerator) / rho.denominator - truth) / truth
        assert 0 <= excess <= mpmath.mpf(10) ** -14


@pytest.mark.parametrize(
    ("epsilon", "rho"),
    [
        (0.01, 1.249998263892747e-5),
        (0.1, 0.001249826427459838),
        (0.5, 0.03114209226115588),
        (1, 0.1233015614822445),
        (2, 0.4744746470705269),
    ],
)
def test_bounded_range_gives_the_published_rho(epsilon, rho):
    assert float(BoundedRange(epsilon).to_zcdp().rho) == pytest.approx(rho, rel=1e-14, abs=0)


@loop_over("kind", CONVERSIONS)
@loop_over(
    "epsilon",
    [5e-324, Fraction(1, 10**400), 1000, 10**6, 10**30, 10**400],
    ids=["5e-324", "1e-400", "1e3", "1e6", "1e30", "1e400"],
)
def test_extreme_losses_can_be_compared(kind, epsilon):
    loss = kind(epsilon)
    assert loss <= loss.to_zcdp()
    # each of these rests on a theorem of its own: rho <= epsilon^2 / 2 and rho <= epsilon
    assert loss.to_zcdp().rho <= min(loss.epsilon**2 / 2, loss.epsilon) * (1 + Fraction(1, 10**14))


def test_conversions_keep_epsilon():
    assert BoundedRange(0.1).to_pure_dp() == PureDP(0.1)
    assert BoundedRange(0.1).to_approx_dp() == PureDP(0.1).to_approx_dp() == ApproxDP(0.1, 0)
    assert BoundedRange(0.1).to_logistic_dp() == LogisticDP(0.1)
    assert LogisticDP(0.1).to_pure_dp() == PureDP(0.1)
    assert LogisticDP(0.1).to_approx_dp() == ApproxDP(0.1, 0)


def test_concentrated_dp_offers_no_way_back():
    assert ZCDP(1).implied() == ()
    assert not hasattr(ZCDP(1), "to_pure_dp")


@pytest.mark.parametrize("fields", [{}, {"kind": "renyi"}, {"kind": None}], ids=str)
def test_an_unknown_kind_is_refused(fields):
    with pytest.raises(
        discreet.ParameterError,
        match=r"'kind' parameter of loss_from_dict must be one of 'pure-dp', 'bounded",
    ):
        loss_from_dict(fields)


def test_the_dict_holds_exact_text():
    assert ApproxDP(0.1, 1e-6).to_dict() == {
        "kind": "approx-dp",
        "epsilon": "1/10",
        "delta": "1/1000000",
    }


def test_every_kind_is_a_loss_with_its_own_word():
    assert all(issubclass(kind, Loss) and kind.kind == word for word, kind in KINDS.items())
    # what is on disk must stay readable: a word may be added, never changed
    assert {"pure-dp", "bounded-range", "logistic-dp", "zcdp", "approx-dp"} <= KINDS.keys()


@pytest.mark.parametrize("halvings", [-1, True, 1.0, "1", None], ids=repr)
def test_halvings_are_a_whole_number(halvings):
    with pytest.raises(
        discreet.ParameterError, match="The 'halvings' parameter of LogisticDP must be"
    ):
        LogisticDP(1).to_bounded_ranges(halvings)


class TestNoLoss:
    @pytest.mark.parametrize(
        "loss",
        [
            PureDP(1e-9),
            BoundedRange(1),
            LogisticDP(1),
            ZCDP(1),
            ApproxDP(1, 0),
            discreet.accounting.NO_LOSS,
        ],
        ids=repr,
    )
    def test_it_is_within_every_other(self, loss):
        assert loss >= discreet.accounting.NO_LOSS
        assert (loss <= discreet.accounting.NO_LOSS) == (loss is discreet.accounting.NO_LOSS)

    def test_composing_with_it_changes_nothing(self):
        losses = [BoundedRange(0.1)] * 3
        alone = discreet.compose(losses, delta=1e-6)
        assert (
            discreet.compose([*losses, discreet.accounting.NO_LOSS], delta=1e-6).epsilon
            == alone.epsilon
        )
        assert discreet.compose([discreet.accounting.NO_LOSS], delta=1e-6).epsilon == 0

    def test_a_budget_pays_nothing_for_it(self):
        for budget in (PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)):
            within = discreet.accounting.PrivacyFilter(budget)
            within.admit(discreet.accounting.NO_LOSS)
            assert within.spent() == 0

    def test_it_is_written_and_read(self):
        assert loss_from_dict(discreet.accounting.NO_LOSS.to_dict()) == discreet.accounting.NO_LOSS
        assert hash(discreet.accounting.NO_LOSS) == hash(loss_from_dict({"kind": "none"}))


# Gaussian DP


def normal_tail(deviations):
    return mpmath.erfc(deviations / mpmath.sqrt(2)) / 2


@loop_over("mu", [Fraction(1, 100), Fraction(1, 4), 1, 6])
@loop_over("epsilon", [Fraction(1, 10), 1, 5])
def test_gaussian_dp_has_the_delta_of_two_normal_distributions(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(float(epsilon))
        true = normal_tail(e / m - m / 2) - mpmath.exp(e) * normal_tail(e / m + m / 2)
        found = GaussianDP(mu).delta(epsilon)
        assert true <= mpmath.mpf(found.numerator) / found.denominator
        if true > mpmath.mpf(10) ** -400:
            assert found <= Fraction(str(true)) * (1 + Fraction(1, 10**12))


@loop_over("delta", [1e-9, 1e-3])
def test_gaussian_dp_as_epsilon_and_delta_is_tight(delta):
    loss = GaussianDP(0.5)
    pair = loss.to_approx_dp(delta=delta)
    assert loss <= pair
    assert not loss <= ApproxDP(pair.epsilon * Fraction(999, 1000), delta)
    assert loss.delta(pair.epsilon) <= pair.delta


@loop_over("epsilon", [Fraction(1, 1000), Fraction(1, 2), 3, 20, 5000])
def test_the_gaussian_pair_of_a_logistic_one_is_nowhere_below_it(epsilon):
    """The trade-off curves, at many false-positive probabilities."""
    loss = LogisticDP(epsilon).to_gaussian_dp()
    assert LogisticDP(epsilon) <= loss
    assert not LogisticDP(epsilon) <= GaussianDP(loss.mu * Fraction(999, 1000))
    assert PureDP(Fraction(epsilon) / 2).to_gaussian_dp() == loss
    assert BoundedRange(epsilon).to_gaussian_dp() == loss
    with mpmath.workdps(40):
        mu, width = mpmath.mpf(loss.mu.numerator) / loss.mu.denominator, float(epsilon)
        for z in (-6, -2, -0.5, 0, 0.3, 1, 4):
            # where the power of one is p, that of the other at the same place
            a = normal_tail(mpmath.mpf(z) + mu / 2)
            power = normal_tail(mpmath.mpf(z) - mu / 2)
            logistic = a / (a + mpmath.exp(-width) * (1 - a))
            assert power >= logistic * (1 - mpmath.mpf(10) ** -14)


def test_gaussian_dp_implies_concentrated_dp_exactly():
    assert GaussianDP(Fraction(1, 3)).to_zcdp() == ZCDP(Fraction(1, 18))
    assert GaussianDP(1) <= ZCDP(0.5)
    assert not ZCDP(0.5) <= GaussianDP(10)
    assert not ApproxDP(1, 1e-6) <= GaussianDP(10)
    assert not GaussianDP(1) <= PureDP(100)
    assert not GaussianDP(1) <= ApproxDP(100, 0)


def test_parts_promise_their_sums():
    several = Composed({BoundedRange(0.1): 4, PureDP(0.5): 1})
    epsilons, pure, concentrated = several.implied()
    assert (epsilons, pure) == (ApproxDP(0.9, 0), PureDP(0.9))
    assert concentrated.rho == 4 * BoundedRange(0.1).to_zcdp().rho + PureDP(0.5).to_zcdp().rho
    assert Composed({PureDP(0.5): 2}, 1e-7).implied() == (ApproxDP(1, 1e-7),)


def test_gaussian_parts_add_up_in_squares():
    together = Composed({GaussianDP(3): 1, GaussianDP(2): 4}).to_gaussian_dp()
    assert 5 <= together.mu <= 5 + Fraction(1, 10**9)
    assert Composed({GaussianDP(3): 1}, 1e-7).to_gaussian_dp() is None
