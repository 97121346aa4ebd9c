"""`select`: every parameter reaches the mechanism, and no request gets another one's answer."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tiers import loop_over

import discreet
from discreet.mechanisms.selection import MECHANISMS, mechanism_class
from discreet.testing import SeededBits

SCORES = [3.0, 1.0, 4.0, 1.5]


def select(scores=SCORES, **words):
    return discreet.select(scores, **({"epsilon": 1, "sensitivity": 1} | words))


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("permute-and-flip", discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1)),
        ("exponential", discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1)),
        (
            "gumbel-noise",
            discreet.mechanisms.ReportNoisyMax(noise="gumbel", epsilon=1, sensitivity=1),
        ),
        (
            "exponential-noise",
            discreet.mechanisms.ReportNoisyMax(noise="exponential", epsilon=1, sensitivity=1),
        ),
        (
            "laplace-noise",
            discreet.mechanisms.ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1),
        ),
    ],
)
def test_each_name_means_its_mechanism(name, like):
    assert mechanism_class(name)(epsilon=1, sensitivity=1) == like
    assert like.name == name
    for seed in range(30):
        release = select(mechanism=name, bits=SeededBits(seed))
        assert release.value == like.select(SCORES, bits=SeededBits(seed))
        assert (release.loss, release.mechanism, release.candidates) == (
            like.privacy_loss(),
            name,
            4,
        )


def test_the_default_is_permute_and_flip_for_the_largest():
    assert select().mechanism == "permute-and-flip"
    assert select(epsilon=64, sensitivity=0.01).value == 2


@loop_over(("objective", "best"), [("max", 2), ("min", 1)])
@loop_over("name", MECHANISMS)
def test_the_objective_says_which_end_is_best(name, objective, best):
    release = select(mechanism=name, objective=objective, epsilon=64, sensitivity=0.01)
    assert release.value == best


def test_there_are_no_defaults_for_privacy_parameters():
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'epsilon'"):
        discreet.select(SCORES, sensitivity=1)
    with pytest.raises(
        discreet.errors.ParameterTypeError, match="'sensitivity' parameter of select must be given"
    ):
        discreet.select(SCORES, epsilon=1)


# A cache that took equal keys for the same request would let True in after 1, or hand 1's
# mechanism to 0.1's neighbour.
def test_the_cache_does_not_take_true_for_one():
    select(epsilon=1, sensitivity=1, monotonic=True)
    with pytest.raises(
        discreet.errors.ParameterTypeError, match="'epsilon' parameter of select must be a number"
    ):
        select(epsilon=True)
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="'sensitivity' parameter of select must be a number",
    ):
        select(sensitivity=True)
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="'monotonic' parameter of select must be True or False",
    ):
        select(monotonic=1)
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="'monotonic' parameter of select must be True or False",
    ):
        select(monotonic=np.True_)


def test_the_cache_keeps_equal_numbers_of_different_meaning_apart():
    # Fraction(0.1) == 0.1 and both hash alike, but a float epsilon means its decimal
    binary = Fraction(0.1)
    assert binary == 0.1
    assert hash(binary) == hash(0.1)
    for _ in range(2):
        assert select(epsilon=0.1).loss == discreet.PureDP(Fraction(1, 10))
        assert select(epsilon=binary).loss.epsilon == binary
        assert (
            select(epsilon=np.float32(0.5)).loss
            == select(epsilon=Decimal("0.5")).loss
            == discreet.PureDP(0.5)
        )


def test_a_refusal_is_not_remembered_as_an_answer():
    for _ in range(2):
        with pytest.raises(discreet.ParameterError, match="must be a finite number"):
            select(epsilon=float("nan"))
        assert select(epsilon=1).loss == discreet.PureDP(1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"epsilon": [1]}, "'epsilon' parameter of select must be a number"),
        ({"epsilon": np.array([1.0])}, "'epsilon' parameter of select must be a number"),
        ({"sensitivity": {"a": 1}}, "'sensitivity' parameter of select must be a number"),
        (
            {"sensitivity": None, "score_range": [1]},
            "'score_range' parameter of select must be a number",
        ),
        ({"mechanism": ["exponential"]}, "'mechanism' parameter of select must be one of"),
        (
            {"objective": {"max"}},
            "'objective' parameter of select must be one of 'max', 'min'",
        ),
        ({"monotonic": [True]}, "'monotonic' parameter of select must be True or False"),
    ],
    ids=str,
)
def test_what_cannot_be_a_dictionary_key_is_refused_by_its_own_rule(words, message):
    with pytest.raises(discreet.errors.ParameterTypeError, match=message):
        select(**words)


class Untouchable:
    """Scores that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"looked at {name} before the parameters were checked")

    def __iter__(self):
        raise AssertionError("read before the parameters were checked")

    def __len__(self):
        raise AssertionError("measured before the parameters were checked")


@pytest.mark.parametrize(
    "words",
    [
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"sensitivity": 0},
        {"mechanism": "x"},
        {"objective": "x"},
        {"bits": 7},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_before_the_data_is_touched(words):
    with pytest.raises(discreet.ParameterError, match=r"parameter of .* must be"):
        select(Untouchable(), **words)


def test_errors_carry_their_parts():
    message = r"^The 'epsilon' parameter of select must be greater than 0\. Got -1\.$"
    with pytest.raises(discreet.ParameterError, match=message) as caught:
        select(epsilon=-1)
    error = caught.value
    assert (error.owner, error.name, error.rule, error.got) == (
        "select",
        "epsilon",
        "greater than 0",
        -1,
    )
    assert isinstance(error, ValueError)
    assert isinstance(error, discreet.DiscreetError)


def test_a_parameter_with_a_hostile_repr_gets_the_message_all_the_same():
    class Hostile:
        def __repr__(self):
            raise RuntimeError("no")

    with pytest.raises(
        discreet.errors.ParameterTypeError, match=r"must be a number.* Got a Hostile\."
    ):
        select(epsilon=Hostile())


def test_a_long_parameter_is_cut_short():
    with pytest.raises(discreet.errors.ParameterTypeError, match=r"Got '1{50,57}\.\.\.\.$"):
        select(epsilon="1" * 10_000)


def test_labels_come_back_for_mappings_and_positions_for_arrays():
    words = {"epsilon": 64, "sensitivity": 0.01}
    assert select({"a": 1.0, "b": 9.0}, **words).value == "b"
    assert type(select(np.array([1.0, 9.0]), **words).value) is int
