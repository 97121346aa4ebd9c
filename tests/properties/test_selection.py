"""What must hold for all scores: nothing but the differences of scores, measured in noise scales,
may matter.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.testing import SeededBits

SETTINGS = settings(max_examples=20, deadline=None, derandomize=True)
MECHANISMS = {
    "exponential": discreet.mechanisms.ExponentialMechanism,
    "permute-and-flip": discreet.mechanisms.PermuteAndFlip,
    "laplace": lambda **words: discreet.mechanisms.ReportNoisyMax(noise="laplace", **words),
}
INTEGER_TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
every_mechanism = pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
small = st.lists(st.integers(0, 100), min_size=1, max_size=12)
# quarters up to 2^20: their sums and differences are exact in a float
floats = st.lists(
    st.integers(-(2**22), 2**22).map(lambda quarters: quarters / 4), min_size=1, max_size=12
)
either = st.one_of(small, floats)
epsilons = st.sampled_from([0.01, Fraction(1, 3), 0.5, 1, 4])
seeds = st.integers(0, 10**6)


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-300)


def draws(mechanism, scores, seed):
    return mechanism.select_many(scores, draws=5, bits=SeededBits(seed)).tolist()


@every_mechanism
@SETTINGS
@given(scores=small, shift=st.integers(-(10**40), 10**40), epsilon=epsilons, seed=seeds)
def test_a_shift_of_all_integers_changes_nothing(make, scores, shift, epsilon, seed):
    mechanism, shifted = make(epsilon=epsilon, sensitivity=1), [score + shift for score in scores]
    # beyond 64 bits the distances are rounded to floats in another place, so the last digit
    # may differ; draws are exact
    close(mechanism.probabilities(shifted), mechanism.probabilities(scores), 1e-13)
    assert draws(mechanism, shifted, seed) == draws(mechanism, scores, seed)


@every_mechanism
@SETTINGS
@given(
    scores=floats,
    shift=st.integers(-(2**40), 2**40).map(lambda quarters: quarters / 4),
    epsilon=epsilons,
    seed=seeds,
)
def test_a_shift_of_all_floats_changes_nothing(make, scores, shift, epsilon, seed):
    mechanism, shifted = make(epsilon=epsilon, sensitivity=1), [score + shift for score in scores]
    assert mechanism.probabilities(shifted).tolist() == mechanism.probabilities(scores).tolist()
    assert draws(mechanism, shifted, seed) == draws(mechanism, scores, seed)


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons, data=st.data())
def test_a_permutation_of_scores_permutes_the_probabilities(make, scores, epsilon, data):
    order = data.draw(st.permutations(range(len(scores))))
    mechanism = make(epsilon=epsilon, sensitivity=1)
    close(
        mechanism.log_probabilities([scores[place] for place in order]),
        mechanism.log_probabilities(scores)[order],
    )


@every_mechanism
@SETTINGS
@given(scores=small, epsilon=epsilons, objective=st.sampled_from(["max", "min"]), seed=seeds)
def test_the_type_of_the_numbers_changes_nothing(make, scores, epsilon, objective, seed):
    mechanism = make(epsilon=epsilon, sensitivity=1, objective=objective)
    expected, drawn = mechanism.probabilities(scores).tolist(), draws(mechanism, scores, seed)
    kinds = [
        *INTEGER_TYPES,
        np.float16,
        np.float32,
        np.float64,
        np.longdouble,
        object,
        ">i4",
        ">f8",
    ]
    forms = [np.array(scores, dtype=kind) for kind in kinds]
    forms += [
        [Fraction(score) for score in scores],
        [*map(float, scores)],
        tuple(scores),
        dict(enumerate(scores)),
    ]
    for form in forms:
        close(mechanism.probabilities(form), expected, 1e-14)
        assert draws(mechanism, form, seed) == drawn


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons, step=st.sampled_from([-3, -2, -1, 2, 3]), seed=seeds)
def test_strides_change_nothing(make, scores, epsilon, step, seed):
    room = np.full(len(scores) * abs(step), 7, dtype=np.array(scores).dtype)
    strided = room[::step]
    strided[:] = scores
    mechanism = make(epsilon=epsilon, sensitivity=1)
    assert mechanism.probabilities(strided).tolist() == mechanism.probabilities(scores).tolist()
    assert draws(mechanism, strided, seed) == draws(mechanism, scores, seed)


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons, seed=seeds)
def test_the_smallest_is_the_largest_of_the_negated_scores(make, scores, epsilon, seed):
    largest, smallest = (
        make(epsilon=epsilon, sensitivity=1, objective=objective) for objective in ("max", "min")
    )
    negated = [-score for score in scores]
    assert smallest.probabilities(negated).tolist() == largest.probabilities(scores).tolist()
    assert draws(smallest, negated, seed) == draws(largest, scores, seed)


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons, factor=st.sampled_from([2, 64, Fraction(1, 8)]), seed=seeds)
def test_the_unit_of_the_scores_changes_nothing(make, scores, epsilon, factor, seed):
    scaled = [Fraction(score) * factor for score in scores]
    one, other = make(epsilon=epsilon, sensitivity=1), make(epsilon=epsilon, sensitivity=factor)
    close(other.log_probabilities(scaled), one.log_probabilities(scores))
    assert draws(other, scaled, seed) == draws(one, scores, seed)


@every_mechanism
@SETTINGS
@given(scores=either, newcomer=st.integers(-1000, 1000), epsilon=epsilons)
def test_a_new_candidate_never_raises_the_probability_of_another(make, scores, newcomer, epsilon):
    mechanism = make(epsilon=epsilon, sensitivity=1)
    before, after = (
        mechanism.log_probabilities(scores),
        mechanism.log_probabilities([*scores, newcomer])[:-1],
    )
    assert (after <= before + 1e-12 * np.maximum(1, np.abs(before))).all()


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons)
def test_probabilities_sum_to_one_and_nobody_has_none(make, scores, epsilon):
    mechanism = make(epsilon=epsilon, sensitivity=1)
    assert mechanism.probabilities(scores).sum() == pytest.approx(1, abs=1e-13)
    assert np.isfinite(mechanism.log_probabilities(scores)).all()


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons)
def test_a_higher_score_is_never_less_likely(make, scores, epsilon):
    found = make(epsilon=epsilon, sensitivity=1).log_probabilities(scores)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(found[order]) >= -1e-12 * np.maximum(1, np.abs(found[order][1:]))).all()
    for score in set(scores):  # equal scores, equal odds, to the last bit
        assert len({found[place] for place, other in enumerate(scores) if other == score}) == 1


@every_mechanism
@SETTINGS
@given(score=st.one_of(st.integers(), st.floats(-1e15, 1e15)), epsilon=epsilons, seed=seeds)
def test_one_candidate_is_always_returned(make, score, epsilon, seed):
    mechanism = make(epsilon=epsilon, sensitivity=1)
    assert mechanism.probabilities([score]).tolist() == [pytest.approx(1, abs=1e-14)]
    assert draws(mechanism, [score], seed) == [0] * 5


@every_mechanism
@SETTINGS
@given(scores=either, epsilon=epsilons, data=st.data())
def test_one_person_changes_no_probability_by_more_than_epsilon(make, scores, epsilon, data):
    # random neighbours beside the exact grids of tests/contracts: each score moves by at
    # most the sensitivity
    moves = data.draw(
        st.lists(st.sampled_from([-1, 0, 1]), min_size=len(scores), max_size=len(scores))
    )
    mechanism = make(epsilon=epsilon, sensitivity=1)
    before = mechanism.log_probabilities(scores)
    after = mechanism.log_probabilities(
        [score + move for score, move in zip(scores, moves, strict=True)]
    )
    assert np.abs(before - after).max() <= float(epsilon) + 1e-12 * max(1, np.abs(before).max())


@every_mechanism
@SETTINGS
@given(
    scores=st.dictionaries(st.text(max_size=5), st.integers(-50, 50), min_size=1, max_size=8),
    seed=seeds,
)
def test_a_release_names_the_label_that_select_points_at(make, scores, seed):
    mechanism = make(epsilon=1, sensitivity=1)
    release = mechanism.release(scores, bits=SeededBits(seed))
    assert release.value == list(scores)[mechanism.select(scores, bits=SeededBits(seed))]
