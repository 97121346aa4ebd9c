"""What every mechanism says that it costs, beside what it really costs on exact probabilities."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
from tiers import also, only

import discreet
from discreet import ApproxDP, BoundedRange, PureDP
from discreet.accounting import LogisticDP
from discreet.mechanisms.count_lists import make_top_k
from discreet.mechanisms.covariance import CovarianceMechanism
from discreet.mechanisms.grid import read_shares
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.mechanisms.selection import mechanism_class
from discreet.privacy.parameters import ScoreRange
from discreet.testing import SeededBits

EPSILON = Fraction(3, 2)
ONE = {"epsilon": EPSILON, "sensitivity": 1}
COUNTS = {**ONE, "monotonic": True}
LOCAL = {"epsilon": EPSILON}
ROWS = read_shares([0.25, 0.5, 0.75])

STATED = {
    "exponential": (discreet.mechanisms.ExponentialMechanism(**ONE), BoundedRange),
    "permute-and-flip": (discreet.mechanisms.PermuteAndFlip(**ONE), PureDP),
    "gumbel noise": (discreet.mechanisms.ReportNoisyMax(noise="gumbel", **ONE), BoundedRange),
    "exponential noise": (discreet.mechanisms.ReportNoisyMax(noise="exponential", **ONE), PureDP),
    "Laplace noise": (discreet.mechanisms.ReportNoisyMax(noise="laplace", **ONE), PureDP),
    "peeling": (discreet.mechanisms.PeelingTopK(k=2, **COUNTS), PureDP),
    "one-shot": (discreet.mechanisms.PeelingTopK(k=2, mechanism="exponential", **COUNTS), PureDP),
    "joint": (discreet.mechanisms.JointTopK(k=2, **COUNTS), BoundedRange),
    "generalized": (
        discreet.mechanisms.GeneralizedExponentialMechanism(epsilon=EPSILON),
        BoundedRange,
    ),
    "interval": (
        discreet.mechanisms.IntervalExponentialMechanism(bounds=(0, 3), step=1, **ONE),
        BoundedRange,
    ),
    "lattice": (discreet.mechanisms.LatticeExponentialMechanism(**ONE), BoundedRange),
    "discrete Laplace": (discreet.mechanisms.DiscreteLaplace(**ONE), PureDP),
    "bounded": (discreet.mechanisms.BoundedDiscreteLaplace(bounds=(0, 6), **ONE), PureDP),
    "above threshold": (discreet.mechanisms.AboveThreshold(threshold=0, **ONE), PureDP),
    "randomised response": (discreet.mechanisms.RandomizedResponse(list("abc"), **LOCAL), PureDP),
    "RAPPOR": (discreet.mechanisms.Rappor(list("abc"), **LOCAL), PureDP),
    "subsets": (discreet.mechanisms.SubsetSelection(list("abcd"), **LOCAL), PureDP),
    "subspace": (
        discreet.mechanisms.SubspaceExponentialMechanism(k=1, norm=1, **LOCAL),
        BoundedRange,
    ),
    "covariance": (CovarianceMechanism(norm=1, **LOCAL), PureDP),
    "one quantile": (OneQuantile(q=Fraction(1, 2), **LOCAL), PureDP),
    "one quantile by exponential": (
        OneQuantile(q=Fraction(1, 2), mechanism="exponential", **LOCAL),
        BoundedRange,
    ),
    "many quantiles": (ManyQuantiles(q=ROWS, grid_size=9, **LOCAL), PureDP),
    "joint quantiles": (ManyQuantiles(q=ROWS, grid_size=9, method="joint", **LOCAL), BoundedRange),
}
each = pytest.mark.parametrize("case", STATED)


@each
def test_the_loss_is_what_was_asked_for(case):
    mechanism, kind = STATED[case]
    assert mechanism.privacy_loss() == kind(EPSILON)


TOLD = [case for case, (made, _) in STATED.items() if hasattr(made, "sensitivity")]


@pytest.mark.parametrize("case", TOLD)
def test_a_mechanism_keeps_what_it_was_told(case):
    """Whoever reads what a mechanism is for, as auditors and `repr` do, reads what was said."""
    mechanism, _ = STATED[case]
    counts = case in ("peeling", "one-shot", "joint")
    assert mechanism.sensitivity == 1
    assert getattr(mechanism, "monotonic", counts) is counts
    assert getattr(mechanism, "score_range", None) is None


def test_mechanisms_that_are_told_a_sensitivity_are_found():
    assert len(TOLD) == 13


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), *also(Fraction(1, 10**9))], ids=str)
def test_lists_with_a_delta_cost_the_pair_that_was_asked_for(delta):
    given = {"epsilon": EPSILON, "delta": delta}
    for mechanism in (
        discreet.mechanisms.PeelingTopK(k=20, mechanism="exponential", sensitivity=1, **given),
        discreet.mechanisms.UnknownDomainTopK(k=3, limit=30, **given),
        discreet.mechanisms.PayWhatYouGet(outcomes=20, calls=5, **given),
        ManyQuantiles(q=ROWS, grid_size=9, **given),
    ):
        assert mechanism.privacy_loss() == ApproxDP(EPSILON, delta)


@pytest.mark.parametrize(
    ("name", "kind"), [("permute-and-flip", PureDP), ("exponential", LogisticDP)], ids=str
)
def test_a_release_with_a_gap_has_no_bounded_range(name, kind):
    """Winner and gap together have no bounded range: docs/proofs/gap.md."""
    made = mechanism_class(name)(epsilon=EPSILON, sensitivity=1)
    assert made.release([3, 1], with_gap=True).loss == kind(EPSILON)


def test_what_auto_takes_keeps_what_was_asked_for():
    """The promise that is stated is never weaker, and a delta that is not used is not claimed."""
    for k, delta in product((1, 2, 3, 5, 6, 50), (0, 1e-6)):
        made = make_top_k(k, EPSILON, delta, ScoreRange(sensitivity=1))
        stated = made.privacy_loss()
        assert stated <= ApproxDP(EPSILON, delta)
        assert (made.name == "joint-exponential") == (stated == BoundedRange(EPSILON))


@pytest.mark.parametrize("name", ["gumbel-noise", "exponential-noise", "laplace-noise"])
def test_a_name_stands_for_its_noise(name):
    assert mechanism_class(name)(epsilon=1, sensitivity=1).name == name


def lists(mechanism, scores):
    return [
        mechanism.log_probability(ranking, scores)
        for ranking in permutations(range(len(scores)), 2)
    ]


def numbers(outputs):
    return lambda mechanism, *data: [mechanism.log_probability(each, *data) for each in outputs]


def subsets(size):
    marks = product((False, True), repeat=3)
    sets = [["abc"[place] for place in range(3) if chosen[place]] for chosen in marks]
    return [each for each in sets if size is None or len(each) == size]


def distances(center):
    return lambda y: -abs(y - center)


TWO = [(left, right) for left in "abcd" for right in "abcd" if left < right]
# the law of each, and neighbours on which its loss is (almost) attained
ATTAINED = {
    "peeling": (lists, [([0, 0, 40, 40],), ([1, 1, 40, 40],)]),
    "one-shot": (lists, [([0, 0, 40, 40],), ([1, 1, 40, 40],)]),
    "joint": (lists, [([0, 40, 40],), ([1, 40, 41],)]),
    "generalized": (
        lambda mechanism, scores: mechanism.log_probabilities(scores, 1).tolist(),
        [([0, 60, 60],), ([1, 59, 60],)],
    ),
    "interval": (numbers(range(3)), [([0, 0, 7], [1, 2]), ([1, -1, 7], [1, 2])]),
    "lattice": (numbers(range(-9, 10)), [(distances(0),), (distances(1),)]),
    "discrete Laplace": (numbers(range(-9, 10)), [(0,), (1,)]),
    "bounded": (numbers(range(7)), [(0,), (1,)]),
    "randomised response": (numbers("abc"), [("a",), ("b",)]),
    "RAPPOR": (numbers(subsets(None)), [("a",), ("b",)]),
    "subsets": (
        lambda mechanism, value: [
            mechanism.log_probability(list(report), value)
            for report in (TWO if mechanism.size == 2 else "abcd")
        ],
        [("a",), ("b",)],
    ),
}

# Equal sensitivities move only one of two normalized scores: half of the range.
SHARE = {"generalized": 0.45}


@pytest.mark.parametrize("case", ATTAINED)
def test_the_loss_holds_and_is_attained(case):
    """On a pair of neighbours the log-odds move by at most the stated loss, and by almost all
    of it: whoever pays for less is caught, and so is whoever asks for more.
    """
    mechanism, kind = STATED[case]
    law, (before, after) = ATTAINED[case]
    moves = [
        one - other
        for one, other in zip(law(mechanism, *before), law(mechanism, *after), strict=True)
    ]
    stated = float(mechanism.privacy_loss().epsilon)
    reached = max(moves) - min(moves) if kind is BoundedRange else max(map(abs, moves))
    assert reached <= stated + 1e-9
    assert max(map(abs, moves)) <= stated + 1e-9
    assert reached >= SHARE.get(case, 0.9) * stated


DELTA = Fraction(1, 10**6)
WITH_DELTA = {"epsilon": EPSILON, "delta": DELTA}
# made by their tests: plans take seconds, and every process that collects tests would make them
IN_PARTS = {
    "peeling": lambda: discreet.mechanisms.PeelingTopK(k=7, **COUNTS),
    "one-shot": lambda: discreet.mechanisms.PeelingTopK(
        k=20, mechanism="exponential", sensitivity=1, monotonic=True, **WITH_DELTA
    ),
    "unknown domain": lambda: discreet.mechanisms.UnknownDomainTopK(k=3, limit=30, **WITH_DELTA),
    "a long unknown domain": lambda: discreet.mechanisms.UnknownDomainTopK(
        k=40, limit=400, **WITH_DELTA
    ),
    "many quantiles": lambda: ManyQuantiles(q=ROWS, grid_size=9, **LOCAL),
    "many quantiles by exponential": lambda: ManyQuantiles(
        q=ROWS, grid_size=9, mechanism="exponential", **LOCAL
    ),
    "many quantiles with a delta": lambda: ManyQuantiles(q=ROWS, grid_size=9, **WITH_DELTA),
    "independent quantiles": lambda: ManyQuantiles(
        q=ROWS, grid_size=9, method="independent", **WITH_DELTA
    ),
}


@pytest.mark.parametrize("case", only(tuple(set(IN_PARTS) - {"a long unknown domain"}), IN_PARTS))
def test_the_parts_of_a_list_cost_no_more_than_the_whole(case):
    made = IN_PARTS[case]()
    left = getattr(made, "delta", 0) - getattr(made, "threshold_delta", 0)
    if left:
        adaptive = case != "independent quantiles"
        assert discreet.compose(made.losses(), delta=left, adaptive=adaptive).epsilon <= EPSILON
    else:
        assert sum(loss.epsilon * often for loss, often in made.losses().items()) <= EPSILON


def test_independent_quantiles_with_a_delta_are_ranges():
    """As pure ones, each could cost half as much."""
    (each,) = IN_PARTS["independent quantiles"]().losses()
    assert isinstance(each, BoundedRange)


def test_all_outcomes_of_an_account_cost_no_more_than_the_account():
    account = discreet.mechanisms.PayWhatYouGet(outcomes=30, calls=5, **WITH_DELTA)
    together = discreet.compose({account._pick: 30}, delta=DELTA / 2)
    assert together.epsilon <= EPSILON


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("method", ["peel", "one-shot", "joint"])
def test_the_door_for_lists_hands_on_what_was_said(method, monotonic):
    """With the same bits the same list, as from a mechanism that was told the range itself."""
    scores = [float(place) / 2 for place in range(12)]
    name = {"peel": "permute-and-flip", "one-shot": "exponential"}.get(method)
    given = {"k": 3, "epsilon": EPSILON, "score_range": 1 if monotonic else 2}
    told = (
        discreet.mechanisms.JointTopK(**given)
        if name is None
        else discreet.mechanisms.PeelingTopK(mechanism=name, **given)
    )
    for seed in range(8):
        asked = discreet.top_k(
            scores,
            method=method,
            k=3,
            epsilon=EPSILON,
            sensitivity=1,
            monotonic=monotonic,
            bits=SeededBits(seed),
        )
        assert asked.value == told.select(scores, bits=SeededBits(seed))
