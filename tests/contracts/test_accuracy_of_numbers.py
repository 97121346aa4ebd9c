"""What is told about numbers, reports, runs and thresholds holds for their exact laws, in the
worst case; and a bound that is a little smaller does not.
"""

import math
from fractions import Fraction

import polars
import pytest
from flint import arb
from reference.noise import gaussian_law, laplace_law, rounded_law
from reference.random_stopping import generating_function

import discreet
from discreet import Person, Release, Session
from discreet.accuracy import Accuracy
from discreet.questions.question import QUESTIONS
from discreet.testing import SeededBits

USUAL = Fraction(1, 20)


def beyond(law, bound):
    return sum((chance for number, chance in law.items() if abs(number) > bound), arb(0))


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (
            discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=2),
            laplace_law(Fraction(1, 2)),
        ),
        (
            discreet.mechanisms.DiscreteGaussian(rho=0.5, squared_sensitivity=9),
            gaussian_law(Fraction(9)),
        ),
        (
            discreet.mechanisms.RoundedGaussian(mu=1, squared_sensitivity=9),
            rounded_law(Fraction(9)),
        ),
    ],
    ids=repr,
)
def test_noise_is_within_its_bound(mechanism, law):
    one, three = (mechanism.accuracy(numbers=numbers) for numbers in (1, 3))
    assert beyond(law, one.bound) <= arb(1) / 20 < beyond(law, one.bound - 1)
    assert 3 * beyond(law, three.bound) <= arb(1) / 20
    assert (one.statement, three.statement) == ("number", "numbers")
    assert mechanism.release(5, bits=SeededBits(1)).accuracy == one
    assert mechanism.release([5, 6, 7], bits=SeededBits(1)).accuracy == three


@pytest.mark.parametrize("bounds", [(0, 3), (0, 40)])
def test_noise_within_bounds(bounds):
    mechanism = discreet.mechanisms.BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=bounds)
    told = mechanism.release(1, bits=SeededBits(1)).accuracy
    low, high = bounds
    chances = [
        sum(
            math.exp(mechanism.log_probability(output, value=value))
            for output in range(low, high + 1)
            if abs(output - value) > told.bound
        )
        for value in range(low, high + 1)
    ]
    assert max(chances) <= USUAL
    smaller = [
        sum(
            math.exp(mechanism.log_probability(output, value=value))
            for output in range(low, high + 1)
            if abs(output - value) > told.bound - 1
        )
        for value in range(low, high + 1)
    ]
    assert max(smaller) > USUAL


@pytest.mark.parametrize("slopes", [(1, 1), (0.05, 0.05), (0.05, 40), (7.2, 7.2), (3.7, 0.6)])
def test_a_whole_number_is_within_its_bound(slopes):
    """Slow and steep sides, and one that bends: the bound has no number of candidates in it."""
    mechanism = discreet.mechanisms.LatticeExponentialMechanism(epsilon=1, score_range=1)
    told = mechanism.release(lambda y: -abs(y), bits=SeededBits(1)).accuracy
    down, up = (Fraction(str(slope)) for slope in slopes)

    def chance(score, bound):
        """By the odds themselves, which other tests compare the mechanism with."""
        reach = math.ceil(40 / min(down, up))
        distances = [-float(score(number)) for number in range(-reach, reach + 1)]
        odds = [math.exp(-distance) for distance in distances]
        far = [odd for odd, distance in zip(odds, distances, strict=True) if distance > bound]
        return sum(far) / sum(odds)

    def straight(number):
        return -(up if number > 0 else down) * abs(number)

    def bent(number):
        return straight(number) - max(0, abs(number) - 3) * Fraction(1, 2)

    assert chance(straight, told.bound) <= USUAL
    if max(slopes) > 1:
        assert chance(bent, told.bound) <= USUAL


def test_half_the_bound_of_a_whole_number_would_be_wrong():
    mechanism = discreet.mechanisms.LatticeExponentialMechanism(epsilon=1, score_range=1)
    near = mechanism.error_bound(0.05) / 2
    step = Fraction(near * 1.001)
    far = sum(
        math.exp(mechanism.log_probability(number, lambda y: -step * abs(y)))
        for number in range(-9, 10)
        if number
    )
    assert far > USUAL


def test_a_point_is_within_its_bound():
    """One point is best, and all others are just beyond the bound."""
    mechanism = discreet.mechanisms.IntervalExponentialMechanism(
        bounds=(0, 100), epsilon=1, sensitivity=1, step=1
    )
    told = mechanism.release([0, 1], [50], bits=SeededBits(1)).accuracy
    for factor, holds in ((Fraction(1001, 1000), True), (Fraction(4, 5), False)):
        behind = -Fraction(told.bound) * factor
        best = math.exp(mechanism.log_probability(40, [behind, 0, behind], [40, 41]))
        assert (1 - best <= USUAL) == holds


def test_a_threshold_is_told_for_streams_of_any_length():
    """The chances of all positions add up, for noise of both parts by its own law."""
    mechanism = discreet.mechanisms.AboveThreshold(
        threshold=10, epsilon=8, sensitivity=1, monotonic=True
    )
    law = laplace_law(Fraction(4))
    both = {}
    for first, chance in law.items():
        for second, other in law.items():
            if abs(first) + abs(second) < 40:
                both[first - second] = both.get(first - second, arb(0)) + chance * other
    total = arb(0)
    for position in range(40):
        told = mechanism.accuracy(position=position)
        total += beyond(both, told.bound) / 2
        allowed = arb(1) / (20 * (position + 1) * (position + 2))
        assert beyond(both, told.bound) / 2 <= allowed
        assert beyond(both, told.bound - 1) / 2 > allowed
    assert total <= arb(1) / 20
    assert told.statement == "threshold"
    found = mechanism.release([0, 100], bits=SeededBits(1))
    assert found.accuracy == mechanism.accuracy(position=found.value)
    assert mechanism.release([0, 0], bits=SeededBits(1)).accuracy is None


@pytest.mark.parametrize("stopping", ["poisson", "geometric", "logarithmic"])
def test_the_best_run_misses_the_best_share_rarely(stopping):
    release = discreet.mechanisms.select_private_candidate(
        lambda: (1, "a"), each=discreet.PureDP(1), stopping=stopping, mean=20, bits=SeededBits(1)
    )
    share, mean = release.accuracy.bound, 20
    parameter = mean if stopping == "poisson" else 1 / mean
    if stopping == "logarithmic":
        # the mean is (1 / stop - 1) / ln(1 / stop)
        low, high = 1e-9, 0.5
        for _ in range(200):
            parameter = (low + high) / 2
            much = (1 / parameter - 1) / -math.log(parameter) > mean
            low, high = (parameter, high) if much else (low, parameter)
    f = generating_function(stopping, parameter)
    assert f(1 - share) <= 0.05 * (1 + 1e-6)
    assert f(1 - 0.99 * share) > 0.05


@pytest.mark.parametrize(("stopping", "mean"), [("threshold", 20), ("poisson", 2)])
def test_few_runs_say_nothing(stopping, mean):
    release = discreet.mechanisms.select_private_candidate(
        lambda: (1, "a"),
        each=discreet.PureDP(1),
        stopping=stopping,
        mean=mean,
        threshold=0 if stopping == "threshold" else None,
        bits=SeededBits(1),
    )
    assert release.accuracy is None


LOCAL = [
    discreet.mechanisms.RandomizedResponse,
    discreet.mechanisms.Rappor,
    discreet.mechanisms.SubsetSelection,
]


@pytest.mark.parametrize("kind", LOCAL)
def test_a_report_names_the_own_category_that_often(kind):
    mechanism = kind(["a", "b", "c"], epsilon=1)
    told = mechanism.release("a", bits=SeededBits(1)).accuracy
    assert told.statement == "report"
    own = mechanism.own_probability
    assert 1 - told.failure_probability < own < 1 - told.failure_probability + Fraction(1, 9_999)


def binomial(number, chance):
    return [
        math.comb(number, k) * chance**k * (1 - chance) ** (number - k) for k in range(number + 1)
    ]


@pytest.mark.parametrize("kind", LOCAL)
@pytest.mark.parametrize("epsilon", [1, 5])
def test_shares_are_within_their_bound(kind, epsilon):
    """For every true share, all reports by their exact law."""
    mechanism, reports = kind(["a", "b", "c"], epsilon=epsilon), 60
    told = mechanism.accuracy(reports=reports)
    own, other = mechanism.own_probability, mechanism.other_probability

    def failing(bound):
        worst = 0.0
        for mine in range(0, reports + 1, 10):
            points, others = binomial(mine, own), binomial(reports - mine, other)
            worst = max(
                worst,
                sum(
                    x * y
                    for i, x in enumerate(points)
                    for j, y in enumerate(others)
                    if abs(((i + j) / reports - other) / (own - other) - mine / reports) > bound
                ),
            )
        return worst

    # three categories share the failures
    assert 3 * failing(told.bound) <= USUAL
    assert 3 * failing(told.bound / 2) > USUAL
    assert told.statement == "shares"


def test_sensitive_candidates_are_within_the_bound_of_the_largest():
    mechanism = discreet.mechanisms.GeneralizedExponentialMechanism(
        epsilon=2, failure_probability=0.05
    )
    sensitivities = [1, 1, 3]
    told = mechanism.release([5, 4, 3], sensitivities, bits=SeededBits(1)).accuracy
    assert told.failure_probability == USUAL
    step = int(told.bound) // 2 + 1
    for scores in ([0, 2 * step, 0], [0, 0, 2 * step], [step, 0, 2 * step], [2 * step, 0, 0]):
        chances = mechanism.probabilities(scores, sensitivities)
        far = [max(scores) - score > told.bound for score in scores]
        assert chances[far].sum() <= USUAL


@pytest.mark.parametrize(
    ("items", "law"), [(1, laplace_law(Fraction(1))), (2, laplace_law(Fraction(1, 2)))]
)
def test_an_item_of_so_many_persons_is_named(items, law):
    mechanism = discreet.mechanisms.UnknownDomainHistogram(
        k=3, epsilon=1, delta=1e-6, items_per_person=items
    )
    told = mechanism.release({"a": 900}, bits=SeededBits(1)).accuracy

    def left_out(count):
        return sum((p for n, p in law.items() if count + n < mechanism.height), arb(0))

    assert left_out(told.bound) <= arb(1) / 20 < left_out(told.bound - 1)
    # without a half of the failures on each side there is only the plain bound
    assert mechanism.error_bound(Fraction(3, 5)) >= mechanism.height


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("counts", {"column": "article", "candidates": ["a", "b"]}),
        ("count", {}),
        ("mode", {"column": "article", "candidates": ["a", "b"], "with_counts": True}),
        ("top_k", {"column": "article", "k": 2, "delta": 1e-3, "items_per_person": 1}),
        ("top_k", {"column": "article", "k": 2, "delta": 1e-3, "limit": 9, "with_counts": True}),
    ],
)
def test_sessions_tell_it_before_and_after(question, words):
    table = polars.DataFrame({"reader": [1, 2, 3], "article": ["a", "b", "a"]})
    session = Session(table, unit=Person("reader"), budget=discreet.ApproxDP(9, 0.01))
    asked = QUESTIONS[question](epsilon=1, **words)
    before = session.error_bound(asked)
    release = session.ask(asked)
    assert release.accuracy == before
    assert before.unit == "readers"
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    ("statement", "unit", "bound", "sentence"),
    [
        ("number", "score", 7, "With 95% confidence, the answer is off by at most 7."),
        ("numbers", "readers", 7, "With 95% confidence, each number is off by at most 7 readers."),
        ("named", "readers", 17, "With 95% confidence, a candidate with 17 readers or more is listed, unless the list is full."),  # noqa: E501
        ("threshold", "score", 7, "With 95% confidence, the answer found is at most 7 below the threshold, and none before it is more than 7 above."),  # noqa: E501
        ("runs", "score", 0.1234, "With 95% confidence, at most 12.4% of all runs would be "
            "better."),
        ("report", "score", 0, "With a probability of 95%, the report names the person's own "
            "candidate."),
        ("shares", "score", 0.0625, "With 95% confidence, each share is off by at most 0.0625."),
    ],
)  # fmt: skip
def test_sentences(statement, unit, bound, sentence):
    assert str(Accuracy(bound=bound, statement=statement, unit=unit)) == sentence
