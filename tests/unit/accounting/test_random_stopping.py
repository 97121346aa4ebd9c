"""What the best of a random number of runs costs: published values, brute force over neighbours,
and dp_accounting.
"""

import math
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise, permutations

import mpmath
import numpy as np
import pytest
from flint import arb
from reference import random_stopping as reference
from tiers import loop_over, more

from discreet import ParameterError
from discreet.accounting import random_stopping
from discreet.accounting.random_stopping import (
    PoissonLaw,
    PowerLaw,
    private_candidate_loss,
    pure_epsilon,
    read_stopping,
)
from discreet.errors import ParameterTypeError
from discreet.exact.enclosures import at_precision
from discreet.literals import STOPPING_NAMES
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, PureDP

ORDERS = [1.5, 2, 4, 8, 16, 32, 64]
FINE = [1 + math.exp(place / 32) for place in range(-8 * 32, 10 * 32)]
TEN = Fraction(10)


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(reference.DIGITS):
        yield


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def curve_at(law, each, order):
    """The package's divergence of one order, from above."""
    return at_precision(200, lambda: float(law.curve(each)(arb(order)).upper()))


# --- pure DP ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "shape", "stop", "expected"),
    [
        (1, 1, Fraction(1, 10), 2.59134407832),
        (1, 1, Fraction(1, 100), 2.95370423426),
        (1, 0, Fraction(3, 10), 1.50833533753),
        (Fraction(1, 2), 1, Fraction(1, 10), 1.31254699913),
    ],
)
def test_published_values_of_pure_dp(epsilon, shape, stop, expected):
    found = pure_epsilon(PureDP(epsilon), PowerLaw(stop, 1 + shape, 1 / stop), False)
    assert float(found) == pytest.approx(expected, abs=2e-11)
    truth = reference.published_pure(real(Fraction(epsilon)), shape, real(stop))
    assert truth <= real(found) <= truth * (1 + mpmath.mpf(10) ** -14)


# law, its parameter in the reference, its name there
LAWS = {
    "geometric, 10 runs": ("geometric", TEN),
    "geometric, 1.25 runs": ("geometric", Fraction(5, 4)),
    "logarithmic, 10 runs": ("logarithmic", TEN),
    "poisson, 8 runs": ("poisson", Fraction(8)),
    "poisson, half a run": ("poisson", Fraction(1, 2)),
}


def answers(law, stopping, chances):
    """The law of the best of all runs, for outcomes from worst to best."""
    parameter = law.mean if stopping == "poisson" else law.stop
    return reference.best_run(stopping, real(parameter), [[chance] for chance in chances])


@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 5)), Fraction(1), more(Fraction(5, 2))], ids=str
)
@pytest.mark.parametrize(("stopping", "mean"), LAWS.values(), ids=LAWS)
def test_no_neighbours_differ_by_more_and_some_by_almost_as_much(stopping, mean, epsilon):
    law = read_stopping(stopping, mean)
    claimed = real(pure_epsilon(PureDP(epsilon), law, False))
    largest = max(
        reference.largest_loss(answers(law, stopping, here), answers(law, stopping, there))
        for here, there in reference.neighbours(2 * real(epsilon), real(epsilon), largest=4)
    )
    assert 0.999 * claimed < largest <= claimed


@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 5)), Fraction(1), more(Fraction(5, 2))], ids=str
)
@pytest.mark.parametrize(("stopping", "mean"), LAWS.values(), ids=LAWS)
def test_the_same_for_runs_of_bounded_range(stopping, mean, epsilon):
    law = read_stopping(stopping, mean)
    claimed, largest = real(pure_epsilon(BoundedRange(epsilon), law, False)), 0
    for place in (*range(1, 16, 2), 15.99):
        for here, there in reference.neighbours(real(epsilon), real(epsilon) * place / 16):
            largest = max(
                largest,
                reference.largest_loss(answers(law, stopping, here), answers(law, stopping, there)),
            )
    assert 0.98 * claimed < largest <= claimed


@pytest.mark.parametrize("kind", [PureDP, BoundedRange])
@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 5)), Fraction(1), more(Fraction(5, 2))], ids=str
)
@pytest.mark.parametrize("mean", [Fraction(5, 4), TEN, Fraction(200)], ids=str)
def test_the_same_with_a_known_threshold(kind, epsilon, mean):
    law = read_stopping("threshold", mean)
    claimed, largest = real(pure_epsilon(kind(epsilon), law, False)), 0
    width = real(epsilon) * (2 if kind is PureDP else 1)
    tops = (
        [width / 2]
        if kind is PureDP
        else [width * place / 16 for place in (0.01, *range(1, 16, 2), 15.99)]
    )
    for top in tops:
        for here, there in reference.neighbours(width, top):
            for cut in range(1, len(here)):
                pair = (
                    reference.first_good_run(1 / real(mean), each[:cut], each[cut:])
                    for each in (here, there)
                )
                largest = max(largest, reference.largest_loss(*pair))
    assert 0.98 * claimed < largest <= claimed


def test_the_worst_top_of_bounded_range_is_the_best_of_all_that_were_tried():
    for epsilon in (0.1, 1, 4):
        for law in (
            PowerLaw(Fraction(1, 10), 2, TEN),
            PowerLaw(Fraction(1, 1000), 2, TEN),
            PoissonLaw(Fraction(30)),
        ):
            found = float(pure_epsilon(BoundedRange(epsilon), law, False))
            tops = np.linspace(0, epsilon, 2001)[1:-1].tolist()
            tried = at_precision(100, partial(worths, law, epsilon, tops))
            assert max(tried) <= found <= max(tried) * (1 + 1e-4)


def worths(law, epsilon, tops):
    return [
        float(random_stopping._top_and_lift(law, arb(epsilon), (arb(top) - epsilon).exp()))
        for top in tops
    ]


@pytest.mark.parametrize("stopping", ["logarithmic", "threshold"])
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 3), Fraction(1, 10**30), Fraction(10**30)], ids=str
)
def test_bounded_range_pays_for_one_run_only(stopping, epsilon):
    each = BoundedRange(epsilon)
    found = private_candidate_loss(each, stopping=stopping, mean=100, public_choices=False)
    assert found == PureDP(epsilon)


def test_bounded_range_pays_for_one_run_only_where_there_are_few():
    def cost(stopping, mean):
        each = BoundedRange(1)
        return private_candidate_loss(each, stopping=stopping, mean=mean, public_choices=False)

    assert cost("geometric", 2) == PureDP(1)
    assert cost("poisson", 1) == PureDP(1)
    assert cost("geometric", 2.01) > PureDP(1)
    assert cost("poisson", 1.01) > PureDP(1)


# --- runs that draw a setting and show it ---

SETTINGS = {
    "logarithmic, 50 runs": ("logarithmic", 50),
    "logarithmic, 2 runs": ("logarithmic", 2),
    "geometric, 50 runs": ("geometric", 50),
    "geometric, 2 runs": ("geometric", 2),
    "poisson, 50 runs": ("poisson", 50),
    "poisson, half a run": ("poisson", Fraction(1, 2)),
    "threshold, 1000 runs": ("threshold", 1000),
    "threshold, 2 runs": ("threshold", 2),
}


def answer_pairs(stopping, law, here, there):
    """The laws of the answer on both data sets; with a threshold, for every place of it."""
    if stopping != "threshold":
        yield answers(law, stopping, here), answers(law, stopping, there)
        return
    for cut in range(1, len(here)):
        stop = real(law.stop)
        sides = here, there
        yield tuple(reference.first_good_run(stop, side[:cut], side[cut:]) for side in sides)


def largest_with_choices(stopping, law, width, tops, odds):
    """The largest loss of the answer over all orders of the outcomes of some settings."""
    return max(
        reference.largest_loss(*pair)
        for here, there in reference.publicly_chosen(width, tops, odds)
        for pair in answer_pairs(stopping, law, here, there)
    )


@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 5)), Fraction(1), more(Fraction(5, 2))], ids=str
)
@pytest.mark.parametrize(("stopping", "mean"), SETTINGS.values(), ids=SETTINGS)
def test_no_two_settings_cost_more_and_some_almost_as_much(stopping, mean, epsilon):
    """A rare setting has its top at epsilon; its rare outcome is the answer. Another decides v."""
    law, width = read_stopping(stopping, mean), real(epsilon)
    claimed, largest = real(pure_epsilon(BoundedRange(epsilon), law, True)), 0
    for rare in (mpmath.mpf("1e-6"), mpmath.mpf("0.5")):
        for place in (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5):
            tops = (width * mpmath.mpf("0.999"), width * mpmath.mpf(place))
            found = largest_with_choices(stopping, law, width, tops, (rare, 1 - rare))
            largest = max(largest, found)
    assert 0.98 * claimed < largest <= claimed


@pytest.mark.sizes
@pytest.mark.parametrize(("stopping", "mean"), SETTINGS.values(), ids=SETTINGS)
def test_three_settings_cost_no_more_than_public_choices(stopping, mean):
    law, width = read_stopping(stopping, mean), mpmath.mpf(1)
    claimed = real(pure_epsilon(BoundedRange(1), law, True))
    for tops in ((0.95, 0.05, 0.3), (0.999, 0.5, 0.05)):
        odds = [mpmath.mpf(share) / 10 for share in (2, 5, 3)]
        tops = [mpmath.mpf(top) for top in tops]
        pairs = [
            pair
            for here, there in islice(reference.publicly_chosen(width, tops, odds), 0, None, 7)
            for pair in answer_pairs(stopping, law, here, there)
        ]
        assert max(reference.largest_loss(*pair) for pair in pairs) <= claimed


@pytest.mark.parametrize(
    ("stopping", "mean", "claimed_once", "reached"),
    [
        ("logarithmic", 50, 1, 1.8199),
        ("threshold", 1000, 1, 1.8540),
        ("geometric", 50, 1.6440, 2.1668),
    ],
)
def test_two_settings_refute_the_law_without_choices(stopping, mean, claimed_once, reached):
    """Two settings with even odds, each an exponential mechanism of range 1 on two candidates."""
    law = read_stopping(stopping, mean)
    assert float(pure_epsilon(BoundedRange(1), law, False)) == pytest.approx(claimed_once, abs=1e-4)
    gaps = [mpmath.mpf(gap) for gap in (-6, 3)]
    outcomes = []
    for gap in gaps:
        here, there = 1 / (1 + mpmath.exp(-gap)), 1 / (1 + mpmath.exp(1 - gap))
        outcomes += [(here / 2, there / 2), ((1 - here) / 2, (1 - there) / 2)]
    largest = max(
        reference.largest_loss(*pair)
        for order in permutations(outcomes)
        for pair in answer_pairs(stopping, law, *map(list, zip(*order, strict=True)))
    )
    assert reached < largest <= real(pure_epsilon(BoundedRange(1), law, True))
    assert largest > claimed_once + 0.5


@loop_over(("stopping", "mean"), SETTINGS.values(), ids=SETTINGS)
@loop_over("epsilon", [Fraction(1, 10**300), Fraction(1, 2), Fraction(10**30)])
def test_public_choices_cost_between_no_choices_and_pure_dp(stopping, mean, epsilon):
    law = read_stopping(stopping, mean)
    without = pure_epsilon(BoundedRange(epsilon), law, False)
    with_choices = pure_epsilon(BoundedRange(epsilon), law, True)
    assert without <= with_choices <= pure_epsilon(PureDP(epsilon), law, True)
    if epsilon == Fraction(1, 2):
        assert without < with_choices


@pytest.mark.parametrize("order", [more(1.5), 2, more(8)])
@pytest.mark.parametrize(("stopping", "mean"), SETTINGS.values(), ids=SETTINGS)
def test_the_divergences_hold_for_public_choices_too(stopping, mean, order):
    law, width = read_stopping(stopping, mean), mpmath.mpf(1)
    bound = curve_at(law, BoundedRange(1), order)
    for tops in ((0.95, 0.05), (0.5, 0.2), (0.7, 0.6)):
        tops = [mpmath.mpf(top) for top in tops]
        for here, there in reference.publicly_chosen(width, tops, [mpmath.mpf(1) / 2] * 2):
            for pair in answer_pairs(stopping, law, here, there):
                assert reference.renyi(*pair, mpmath.mpf(order)) <= bound


@loop_over("stopping", STOPPING_NAMES)
@loop_over("each", [PureDP(1), ApproxDP(1, 1e-9), ZCDP(0.1)], ids=repr)
def test_only_bounded_range_has_to_say_whether_there_are_public_choices(stopping, each):
    words = {"stopping": stopping, "mean": 5} | ({"delta": 1e-6} if isinstance(each, ZCDP) else {})
    choices = (True, False, None)
    said = [private_candidate_loss(each, public_choices=word, **words) for word in choices]
    assert len(set(said)) == 1


@loop_over(
    "epsilon", [Fraction(1, 10**300), Fraction(1, 100), Fraction(64), Fraction(10**30)], ids=str
)
@loop_over("stopping", STOPPING_NAMES)
@loop_over("kind", [PureDP, BoundedRange])
def test_losses_of_any_size_have_an_answer_between_one_run_and_the_classical_bound(
    kind, stopping, epsilon
):
    words = {"stopping": stopping, "mean": 10, "public_choices": False}
    found = private_candidate_loss(kind(epsilon), **words).epsilon
    multiple = {"logarithmic": 2, "threshold": 2, "geometric": 3, "poisson": 1 + TEN}[stopping]
    assert epsilon <= found <= multiple * epsilon
    assert private_candidate_loss(kind(epsilon), delta=1e-6, **words).epsilon <= found


@pytest.mark.parametrize("stopping", STOPPING_NAMES)
@pytest.mark.parametrize("each", [PureDP(1), ZCDP(0.1)], ids=repr)
def test_more_runs_cost_more(stopping, each):
    delta = 1e-6 if isinstance(each, ZCDP) else None
    costs = [
        private_candidate_loss(each, stopping=stopping, mean=mean, delta=delta).epsilon
        for mean in (1.1, 2, 10, 100, 10**6)
    ]
    assert costs == sorted(costs)
    assert len(set(costs)) == 5


# --- the number of runs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mean",
    [Fraction(10**6 + 1, 10**6), Fraction(11, 10), 2, 10, Fraction(100, 3), 1000, 10**9],
    ids=str,
)
def test_the_logarithmic_law_has_the_mean_that_was_asked_for(mean):
    law = read_stopping("logarithmic", mean)
    with mpmath.workdps(80):
        inverse = 1 / real(law.stop)
        actual = (inverse - 1) / mpmath.log(inverse)
        assert (
            real(Fraction(mean))
            <= actual
            <= real(law.mean)
            <= real(Fraction(mean)) + mpmath.mpf(10) ** -6
        )
    assert (1 / law.stop).denominator <= 10**6


def test_the_published_stopping_probability():
    assert float(read_stopping("logarithmic", 10).stop) == pytest.approx(0.026918259600, rel=1e-7)


# --- Renyi divergences --------------------------------------------------------------------------

PUBLISHED = {
    0: [2.54626597, 2.54626597, 2.54626597, 2.60767833, 3.43224328, 5.35301455, 9.31528658],
    1: [3.16882091, 3.16882091, 3.16882091, 3.23023327, 4.05479822, 5.97556948, 9.93784152],
}
PUBLISHED_POISSON = [
    4.96773617,
    3.14343277,
    3.26163928,
    4.13774633,
    5.16294024,
    7.18402599,
    11.19645527,
]
GAUSSIAN = ZCDP(Fraction(1, 8))  # sigma = 2


@pytest.mark.parametrize(("stopping", "shape"), [("logarithmic", 0), ("geometric", 1)])
def test_published_divergences_of_a_gaussian(stopping, shape):
    law = read_stopping(stopping, 10)
    for place, order in enumerate(ORDERS):
        given = [
            reference.published_negative_binomial(0.125, shape, real(law.stop), 10, later, ORDERS)
            for later in ORDERS[place:]
        ]
        assert float(min(given)) == pytest.approx(
            PUBLISHED[shape][place], abs=1e-7
        )  # a divergence grows with the order
        found = curve_at(law, GAUSSIAN, order)
        truth = reference.published_negative_binomial(
            0.125, shape, real(law.stop), real(law.mean), order, FINE
        )
        assert found == pytest.approx(float(truth), rel=1e-4)  # the second order is searched finely
        assert found <= float(truth) + 1e-12


def test_published_divergences_of_a_gaussian_with_a_poisson_number_of_runs():
    law = PoissonLaw(TEN)
    for order, expected in zip(ORDERS, PUBLISHED_POISSON, strict=True):
        assert float(reference.published_poisson(0.125, 10, order, ORDERS)) == pytest.approx(
            expected, abs=1e-8
        )
        found, published = (
            curve_at(law, GAUSSIAN, order),
            reference.published_poisson(0.125, 10, order, FINE),
        )
        assert found <= published
        # ours also uses that both data sets have the same chance of no run: 1 + x (R - 1)
        # instead of x R
        factor = 10 * mpmath.exp(10 * (order - 1) * reference.delta_at(0.125, order, FINE))
        whole = mpmath.exp((order - 1) * mpmath.mpf(found))
        assert float(mpmath.log(whole - 1 + factor) / (order - 1)) == pytest.approx(
            float(published), rel=1e-4
        )


@pytest.mark.parametrize("shape", [0, 1, more(math.inf)])
def test_dp_accounting_is_never_below_and_close_for_many_orders(shape):
    import dp_accounting

    stopping = {0: "logarithmic", 1: "geometric", math.inf: "poisson"}[shape]
    event = dp_accounting.dp_event.RepeatAndSelectDpEvent(
        dp_accounting.GaussianDpEvent(2), 10, shape
    )
    theirs = dp_accounting.rdp.RdpAccountant(orders=FINE).compose(event).get_epsilon(1e-6)
    ours = float(private_candidate_loss(GAUSSIAN, stopping=stopping, mean=10, delta=1e-6).epsilon)
    assert ours <= theirs * (1 + 1e-6)
    assert ours == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("kind", [PureDP, BoundedRange])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), more(Fraction(2))], ids=str)
@pytest.mark.parametrize(("stopping", "mean"), LAWS.values(), ids=LAWS)
def test_no_neighbours_have_a_larger_divergence(stopping, mean, epsilon, kind):
    law = read_stopping(stopping, mean)
    width = real(epsilon) * (2 if kind is PureDP else 1)
    tops = [width / 2] if kind is PureDP else [width / 4, width / 2]
    pairs = [pair for top in tops for pair in reference.neighbours(width, top)]
    both = [(answers(law, stopping, here), answers(law, stopping, there)) for here, there in pairs]
    for order in (1.25, 2, 8, 40):
        largest = max(reference.renyi(here, there, order) for here, there in both)
        assert largest <= curve_at(law, kind(epsilon), order)


def test_no_neighbours_have_a_larger_divergence_with_a_known_threshold():
    law = read_stopping("threshold", 10)
    for order in (1.25, 2, 8, 40):
        bound = curve_at(law, PureDP(2), order)
        for here, there in reference.neighbours(mpmath.mpf(4), mpmath.mpf(2)):
            for cut in range(1, len(here)):
                pair = (
                    reference.first_good_run(mpmath.mpf(1) / 10, each[:cut], each[cut:])
                    for each in (here, there)
                )
                assert reference.renyi(*pair, order) <= bound


def test_the_published_poisson_divergence_needs_one_run_on_average():
    """It leaves out the answer 'no run': for smaller means it becomes negative, and the truth
    cannot.
    """
    assert reference.published_poisson(0.001, 0.1, 2, FINE) < 0
    assert curve_at(PoissonLaw(Fraction(1, 10)), ZCDP(0.001), 2) > 0


def test_the_poisson_divergence_is_the_same_in_both_ways_of_writing_it():
    law = PoissonLaw(TEN)
    for order in (1.5, 3, 9, 30):  # (order - 1) * divergence passes 1 in between
        delta = reference.delta_at(0.125, order, FINE)
        one = 0.125 * order * (order - 1)
        truth = mpmath.log(1 + 10 * mpmath.exp(10 * (order - 1) * delta) * mpmath.expm1(one)) / (
            order - 1
        )
        assert curve_at(law, GAUSSIAN, order) == pytest.approx(float(truth), rel=1e-4)


# --- which kind of loss comes out ---------------------------------------------------------------


@pytest.mark.parametrize("stopping", STOPPING_NAMES)
def test_a_delta_buys_a_smaller_epsilon_or_the_same(stopping):
    for each in (PureDP(4), BoundedRange(4), PureDP(0.1)):
        words = {"stopping": stopping, "mean": 3, "public_choices": True}
        pure = private_candidate_loss(each, **words)
        with_delta = private_candidate_loss(each, delta=1e-3, **words)
        assert isinstance(pure, PureDP)
        assert isinstance(with_delta, ApproxDP)
        assert with_delta.delta == Fraction(1, 1000)
        assert with_delta.epsilon <= pure.epsilon


@pytest.mark.parametrize("stopping", STOPPING_NAMES)
def test_the_delta_of_a_run_is_paid_by_every_run(stopping):
    pure = private_candidate_loss(PureDP(1), stopping=stopping, mean=8)
    found = private_candidate_loss(ApproxDP(1, 1e-8), stopping=stopping, mean=8)
    assert found.epsilon == pure.epsilon
    assert Fraction(8, 10**8) <= found.delta <= Fraction(8, 10**8) * (1 + Fraction(1, 10**6))
    assert private_candidate_loss(ApproxDP(1, 0), stopping=stopping, mean=8) == ApproxDP(
        pure.epsilon, 0
    )
    rest = Fraction(1, 10**6) - found.delta
    pure_with_delta = private_candidate_loss(PureDP(1), stopping=stopping, mean=8, delta=rest)
    found = private_candidate_loss(ApproxDP(1, 1e-8), stopping=stopping, mean=8, delta=1e-6)
    assert found == ApproxDP(pure_with_delta.epsilon, 1e-6)


@pytest.mark.parametrize("stopping", ["geometric", "logarithmic", "poisson"])
def test_approximate_runs_by_brute_force(stopping):
    """With probability delta a run tells everything: the whole is (epsilon, delta) as claimed,
    and its delta is used up.
    """
    law, small = read_stopping(stopping, 5), mpmath.mpf("0.01")
    claimed = private_candidate_loss(ApproxDP(1, 0.01), stopping=stopping, mean=5)
    used = 0
    for here, there in reference.neighbours(mpmath.mpf(2), mpmath.mpf(1)):
        # "this is D" and "this is D'" are the best outcomes of all
        sides = [
            [*((1 - small) * p for p in here), 0, small],
            [*((1 - small) * p for p in there), small, 0],
        ]
        parameter = real(law.mean if stopping == "poisson" else law.stop)
        f = reference.generating_function(stopping, parameter)
        out = []
        for chances in sides:
            sums = [mpmath.fsum(chances[:place]) for place in range(len(chances) + 1)]
            out.append([f(mpmath.mpf(0)), *(f(high) - f(low) for low, high in pairwise(sums))])
        delta = mpmath.fsum(
            max(p - mpmath.exp(real(claimed.epsilon)) * q, 0) for p, q in zip(*out, strict=True)
        )
        assert delta <= real(claimed.delta)
        used = max(used, delta)
    assert used > 0.8 * real(claimed.delta)


# --- bad requests -------------------------------------------------------------------------------

GOOD = {"each": PureDP(0.1), "stopping": "geometric", "mean": 10}


@loop_over(
    ("change", "error", "rule"),
    [
        (
            {"each": ZCDP(0.1)},
            ParameterTypeError,
            "'delta' parameter .* must be given where 'each' is ZCDP",
        ),
        ({"each": ApproxDP(1, 0.1)}, ParameterError, "times the mean number of runs, is below 1"),
        (
            {"each": ApproxDP(1, 1e-6), "delta": 1e-6},
            ParameterError,
            "times the mean number of runs, 1e-05",
        ),
        ({"mean": 1}, ParameterError, "greater than 1 for 'geometric' stopping. Got 1"),
        ({"mean": 1, "stopping": "logarithmic"}, ParameterError, "greater than 1"),
        ({"mean": 0.5, "stopping": "threshold"}, ParameterError, "greater than 1"),
        ({"mean": math.inf}, ParameterError, "a finite number"),
        ({"mean": 0, "stopping": "poisson"}, ParameterError, "greater than 0. Got 0"),
        ({"each": BoundedRange(1)}, ParameterTypeError, "where 'each' is BoundedRange"),
        ({"delta": 0}, ParameterError, "between 0 and 1"),
    ],
    ids=str,
)
def test_a_bad_request_is_named(change, error, rule):
    words = GOOD | change
    with pytest.raises(error, match=rule) as caught:
        private_candidate_loss(words.pop("each"), **words)
    assert type(caught.value) is error
    assert "of private_candidate_loss must be" in str(caught.value)
