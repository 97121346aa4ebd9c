"""Distances: exact for one candidate, and for all of them a fast estimate that is never too
large, without tolerance.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from tiers import examples, loop_over

from discreet.exact.enclosures import lower_bound, upper_bound
from discreet.samplers.distances import (
    GRAIN,
    GRAINS_PER_SCALE,
    FloatDistances,
    LargeIntegerDistances,
    RationalDistances,
    SmallIntegerDistances,
    measure,
)

# An enclosure of ln 2 to 300 bits: the estimates keep a distance of 2^-50 or so from the truth.
LN2_LOW = lower_bound(arb.const_log2, 300)
LN2_HIGH = upper_bound(arb.const_log2, 300)
CUT_OFF = 2**40  # grains; rational estimates stop there
RELATIVE = 1 - Fraction(1, 2**45)

rates = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
    st.integers(-880, 880).map(lambda power: Fraction(2) ** power),
    st.floats(min_value=1e-250, max_value=1e250).map(Fraction),
    st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(64), Fraction(1, 3)]),
)
extreme_rates = st.sampled_from(
    [
        Fraction(5, 10**324),
        Fraction(1, 10**400),
        Fraction(10**400),
        Fraction(2) ** -900,
        Fraction(2) ** 900,
        Fraction(1, 2**899),
    ]
)
INTEGER_TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@st.composite
def integer_arrays(draw):
    kind = draw(st.sampled_from(INTEGER_TYPES))
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    number = st.one_of(
        st.integers(low, high), st.sampled_from([low, low + 1, high, high - 1, max(low, -1), 0, 1])
    )
    return np.array(draw(st.lists(number, min_size=1, max_size=12)), dtype=kind)


@st.composite
def float_arrays(draw):
    width = draw(st.sampled_from([16, 32, 64]))
    number = st.floats(allow_nan=False, allow_infinity=False, width=width)
    kind = np.dtype(f"f{width // 8}")
    # neighbours of one number cancel, numbers far apart do not
    centre = kind.type(draw(number))
    with np.errstate(over="ignore"):
        near = [float(np.nextafter(centre, kind.type(side))) for side in (-np.inf, 0, np.inf)]
    either = st.one_of(number, st.sampled_from([each for each in near if math.isfinite(each)]))
    return np.array(draw(st.lists(either, min_size=1, max_size=12)), dtype=kind)


rationals = st.lists(
    st.one_of(
        st.fractions(),
        st.integers().map(Fraction),
        st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
    ),
    min_size=1,
    max_size=12,
)


def as_fractions(scores):
    return [
        Fraction(score) for score in (scores.tolist() if isinstance(scores, np.ndarray) else scores)
    ]


def measured(scores, rate, smallest):
    listed = scores.tolist() if isinstance(scores, np.ndarray) else scores
    return measure(
        scores, min(listed), max(listed), fmpq(rate.numerator, rate.denominator), smallest=smallest
    )


def true_distances(scores, rate, smallest):
    exact = as_fractions(scores)
    best = min(exact) if smallest else max(exact)
    return [rate * abs(best - score) for score in exact]


def check(distances, truths, cut_off=None):
    """exact() is the truth, and 0 <= estimate <= truth / ln 2 * GRAIN < about estimate + 1, by
    rational arithmetic.
    """
    estimates = np.full(len(truths), np.nan)
    distances.estimate(0, len(truths), estimates)
    assert distances.size == len(truths)
    for place, truth in enumerate(truths):
        exact = distances.exact(place)
        assert Fraction(int(exact.p), int(exact.q)) == truth
        estimate = Fraction(float(estimates[place]))
        assert estimate >= 0
        assert (
            math.floor(estimate) * LN2_HIGH <= truth * GRAIN
        )  # below 1 a product may be subnormal and rounded up
        wanted = truth * GRAIN / LN2_HIGH * RELATIVE - 1
        assert estimate >= (wanted if cut_off is None else min(wanted, cut_off))


def test_grains_per_scale_is_the_float_just_below():
    assert Fraction(GRAINS_PER_SCALE) * LN2_HIGH < GRAIN
    assert Fraction(math.nextafter(GRAINS_PER_SCALE, math.inf)) * LN2_LOW > GRAIN


@examples(60, 400)
@given(integer_arrays(), rates, st.booleans())
@example(np.array([-(2**63), 2**63 - 1]), Fraction(1, 2), False)
@example(np.array([-(2**63), 2**63 - 1]), Fraction(1, 2), True)
@example(np.array([0, 2**64 - 1], dtype=np.uint64), Fraction(1, 3), False)
@example(np.array([2**60 + 128, 2**60 + 129]), Fraction(1), False)
def test_integers(scores, rate, smallest):
    distances = measured(scores, rate, smallest)
    small = bool(np.all(np.abs(scores.astype(object)) < 2**51))
    assert type(distances) is (SmallIntegerDistances if small else LargeIntegerDistances)
    check(distances, true_distances(scores, rate, smallest))


@examples(60, 400)
@given(float_arrays(), rates, st.booleans())
@example(np.array([1e308, -1e308]), Fraction(1), False)
@example(np.array([5e-324, 0.0]), Fraction(2) ** 880, False)
def test_floats(scores, rate, smallest):
    distances = measured(scores, rate, smallest)
    cut_off = (
        CUT_OFF if type(distances) is RationalDistances else None
    )  # where a difference would overflow
    check(distances, true_distances(scores, rate, smallest), cut_off)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_usual_floats_take_the_fast_way(kind):
    assert type(measured(np.array([1, 2], dtype=kind), Fraction(1, 2), False)) is FloatDistances


@examples(60, 400)
@given(rationals, st.one_of(rates, extreme_rates), st.booleans())
@example([Fraction(0), Fraction(10**400)], Fraction(1), False)
@example([Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**400)], Fraction(1), True)
def test_rationals(scores, rate, smallest):
    distances = measured(scores, rate, smallest)
    assert type(distances) is RationalDistances
    check(distances, true_distances(scores, rate, smallest), CUT_OFF)


@examples(40, 100)
@given(st.one_of(integer_arrays(), float_arrays()), extreme_rates, st.booleans())
def test_extreme_rates_stay_exact(scores, rate, smallest):
    distances = measured(scores, rate, smallest)
    check(distances, true_distances(scores, rate, smallest), CUT_OFF)


@examples(40, 100)
@given(st.one_of(integer_arrays(), float_arrays(), rationals), rates, st.booleans(), st.data())
def test_a_part_is_estimated_like_the_whole(scores, rate, smallest, data):
    distances = measured(scores, rate, smallest)
    whole = np.empty(len(scores))
    distances.estimate(0, len(scores), whole)
    start = data.draw(st.integers(0, len(scores)))
    stop = data.draw(st.integers(start, len(scores)))
    part = np.empty(stop - start)
    distances.estimate(start, stop, part)
    assert part.tolist() == whole[start:stop].tolist()


@examples(40, 100)
@given(st.one_of(integer_arrays(), float_arrays(), rationals), rates, st.booleans())
def test_approximations_are_close(scores, rate, smallest):
    approximate = measured(scores, rate, smallest).approximate()
    for found, truth in zip(
        approximate.tolist(), true_distances(scores, rate, smallest), strict=True
    ):
        if truth < 10**300:
            assert abs(Fraction(found) - truth) <= truth * Fraction(1, 2**50) + Fraction(1, 2**1070)
        else:
            assert found > 1e299


@loop_over("stride", [slice(None, None, -1), slice(None, None, 2), slice(1, None, 3)], ids=str)
@loop_over("kind", [*INTEGER_TYPES, np.float16, np.float32, np.float64])
def test_strides_do_not_matter(kind, stride):
    scores = np.arange(0, 120, 7).astype(kind)[stride]
    check(measured(scores, Fraction(1, 3), False), true_distances(scores, Fraction(1, 3), False))


@examples(40, 100)
@given(st.one_of(integer_arrays(), float_arrays(), rationals), rates, st.booleans())
def test_the_best_candidate_has_distance_and_estimate_zero(scores, rate, smallest):
    exact = as_fractions(scores)
    best = exact.index(min(exact) if smallest else max(exact))
    estimates = np.empty(len(scores))
    distances = measured(scores, rate, smallest)
    distances.estimate(0, len(scores), estimates)
    assert (distances.exact(best), estimates[best]) == (0, 0)
