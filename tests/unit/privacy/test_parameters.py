"""What the caller says about one person's reach becomes an exact range."""

import enum
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from tiers import loop_over

import discreet
from discreet import ParameterError
from discreet.privacy.parameters import NOT_PRIVATE, Epsilon, ScoreRange, read_epsilon


@loop_over(
    ("given", "value", "resolution"),
    [
        ({"sensitivity": 3}, 6, 3),
        ({"sensitivity": 3, "monotonic": True}, 3, 3),
        ({"score_range": 3}, 3, 3),
        ({"sensitivity": 0.1}, 2 * Fraction(0.1), Fraction(0.1)),
        (
            {"sensitivity": np.float32(0.1), "monotonic": True},
            Fraction(13421773, 2**27),
            Fraction(13421773, 2**27),
        ),
        ({"score_range": Decimal("0.1")}, Fraction(1, 10), Fraction(1, 10)),
        ({"sensitivity": np.uint8(200)}, 400, 200),  # twice 200 does not fit a uint8
        ({"sensitivity": 5e-324}, Fraction(1, 2**1073), Fraction(1, 2**1074)),
    ],
    ids=str,
)
def test_range_is_twice_the_sensitivity_unless_all_scores_move_one_way(given, value, resolution):
    read = ScoreRange(**given)
    assert (read.value, read.resolution) == (value, resolution)


def test_there_is_no_default():
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match=r"'sensitivity' parameter must be given.*no default",
    ):
        ScoreRange()


@pytest.mark.parametrize(
    "other",
    [{"sensitivity": 1}, {"monotonic": True}, {"sensitivity": 1, "monotonic": True}],
    ids=str,
)
def test_the_range_is_given_alone(other):
    with pytest.raises(
        discreet.ParameterError,
        match=r"'score_range' parameter must be given alone\. Got 2\.",
    ):
        ScoreRange(score_range=2, **other)


@pytest.mark.parametrize(
    "reach", [10**400, Fraction(1, 10**400), Decimal("1e400")], ids=["huge", "tiny", "decimal"]
)
@pytest.mark.parametrize("name", ["sensitivity", "score_range"])
def test_a_reach_beyond_the_floats_works_end_to_end(name, reach):
    release = discreet.select([1, 2], epsilon=1, **{name: reach})
    assert release.value in (0, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"sensitivity": 1}, {"score_range": 2}),
        ({"sensitivity": 1, "monotonic": True}, {"score_range": 1}),
        ({"sensitivity": 0.5}, {"sensitivity": 1, "monotonic": True}),
    ],
    ids=str,
)
def test_ways_to_say_the_same_range_give_the_same_distribution(one, other):
    scores = [0.0, 1.0, 2.5]
    distributions = [
        discreet.mechanisms.PermuteAndFlip(epsilon=1, **words).probabilities(scores).tolist()
        for words in (one, other)
    ]
    assert distributions[0] == distributions[1]


def test_a_part_of_an_epsilon_was_acknowledged_with_it():
    half = Epsilon(read_epsilon(200, discreet.NOT_PRIVATE) / 2)
    assert discreet.mechanisms.PermuteAndFlip(epsilon=half, sensitivity=1).epsilon == 100
    with pytest.raises(discreet.ParameterError, match=r"at most 64\. Got 100"):
        discreet.mechanisms.PermuteAndFlip(epsilon=Fraction(half), sensitivity=1)
    told = {"epsilon": 200, "sensitivity": 1, "acknowledge": discreet.NOT_PRIVATE}
    scores = {"a": 900, "b": 1, "c": 2}
    assert discreet.select(scores, **told, with_counts=True).loss == discreet.PureDP(200)
    for method in ("peel", "histogram"):
        made = discreet.top_k(
            scores, k=2, **told, items_per_person=2, method=method, with_counts=True
        )
        assert made.loss.epsilon == 200


def test_an_epsilon_shows_as_the_number_that_it_is():
    assert repr(read_epsilon(Fraction(1, 3))) == "Fraction(1, 3)"


@pytest.mark.parametrize(
    "said", [{"sensitivity": 2}, {"sensitivity": 2, "monotonic": True}, {"score_range": 2}], ids=str
)
def test_a_range_that_was_read_says_what_its_caller_said(said):
    span = ScoreRange(**said)
    made = discreet.mechanisms.PermuteAndFlip(epsilon=1, score_range=span)
    stated = discreet.mechanisms.PermuteAndFlip(epsilon=1, **said)
    assert (made, repr(made)) == (stated, repr(stated))
    assert made.rate == stated.rate
    with pytest.raises(discreet.ParameterError, match=r"'score_range' parameter .* given alone"):
        discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1, score_range=span)


class TestWhatAMechanismKeeps:
    """One that was acknowledged vouches for itself alone."""

    def large(self):
        made = discreet.mechanisms.ExponentialMechanism(
            epsilon=100, sensitivity=1, acknowledge=NOT_PRIVATE
        )
        return made.epsilon

    def test_its_epsilon_is_a_plain_number(self):
        for made in (
            discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1),
            discreet.mechanisms.HistogramTopK(k=2, epsilon=1, items_per_person=1),
            discreet.mechanisms.UnknownDomainTopK(k=2, epsilon=1, delta=1e-6, limit=9),
        ):
            assert type(made.epsilon) is Fraction

    def test_another_mechanism_asks_again(self):
        with pytest.raises(ParameterError, match=r"'epsilon' .* at most 64"):
            discreet.select([1, 2], epsilon=self.large(), sensitivity=1)
        with pytest.raises(ParameterError, match=r"'epsilon' .* at most 64"):
            discreet.mechanisms.DiscreteLaplace(epsilon=self.large(), sensitivity=1)

    @pytest.mark.parametrize("epsilon", [Fraction(100), Epsilon(100)], ids=["plain", "read"])
    def test_a_session_takes_no_large_one(self, epsilon):
        rows = pandas.DataFrame({"person": [1, 2], "item": ["a", "b"], "pay": [1, 2]})
        budget = discreet.PureDP(1000)
        session = discreet.Session(rows, unit=discreet.Person("person"), budget=budget)
        for ask in (
            lambda: session.mode("item", candidates=["a", "b"], epsilon=epsilon, with_counts=True),
            lambda: session.counts("item", candidates=["a", "b"], epsilon=epsilon),
            lambda: session.quantile(
                "pay", q=0.5, bounds=(0, 9), step=1, rule="max", epsilon=epsilon
            ),
        ):
            with pytest.raises(ParameterError, match=r"'epsilon' .* at most 64"):
                ask()
        assert session.spent() == 0

    @pytest.mark.parametrize("epsilon", [Epsilon(0), Epsilon(-1)], ids=str)
    def test_what_was_read_is_positive_all_the_same(self, epsilon):
        with pytest.raises(ParameterError, match=r"'epsilon' .* greater than 0"):
            discreet.mechanisms.DiscreteLaplace(epsilon=epsilon, sensitivity=1)

    def test_noise_of_a_small_epsilon_says_nothing_about_a_large_one(self):
        made = discreet.mechanisms.HistogramTopK(k=3, epsilon=1, delta=1e-6, items_per_person=100)
        assert made.noise.acknowledge is None

    def test_a_word_is_the_plain_word(self):
        class Word(enum.StrEnum):
            LEAST = "min"

        made = discreet.mechanisms.ExponentialMechanism(
            epsilon=1, sensitivity=1, objective=Word.LEAST
        )
        assert type(made.objective) is str
