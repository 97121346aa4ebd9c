"""Each random effect, over all bit strings of a narrow word, against its exact probability."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from tiers import loop_over

from discreet.auditing.tapes import distribution
from discreet.errors import ParameterTypeError
from discreet.exact import enclosures
from discreet.exact.enclosures import at_precision, ball
from discreet.randomness import chance as chance_module
from discreet.randomness.chance import Chance, LazyUniform, SystemBits, read_bits
from discreet.testing import SeededBits


@pytest.fixture
def narrow(monkeypatch):
    """Words so short that all of them can be tried."""

    def set_margins(*, margin=0, draw=0, first_precision=4):
        monkeypatch.setattr(chance_module, "_MARGIN", margin)
        monkeypatch.setattr(chance_module, "_DRAW", draw)
        monkeypatch.setattr(enclosures, "_FIRST_BITS", first_precision)

    return set_margins


@pytest.mark.parametrize("draw", range(5))
def test_draws_are_uniform_and_independent_whatever_was_fetched_before(every_tape, narrow, draw):
    narrow(draw=draw)

    def run(bits):
        chance = Chance(bits)
        return chance.draw(2), chance.draw(1), chance.draw(3)

    outcomes, still_open = every_tape(run, 18)
    assert still_open == 0
    assert outcomes == dict.fromkeys(
        itertools.product(range(4), range(2), range(8)), Fraction(1, 64)
    )


@pytest.mark.parametrize("margin", [0, 1, 3])
@pytest.mark.parametrize("bound", range(1, 18))
def test_below_is_uniform_and_rarely_asks_again(every_tape, narrow, bound, margin):
    narrow(margin=margin)
    width = bound.bit_length() + margin
    rounds = max(1, 14 // width)
    outcomes, still_open = every_tape(lambda bits: Chance(bits).below(bound), rounds * width)
    unused = Fraction(2**width % bound, 2**width)
    assert still_open == unused**rounds
    assert outcomes == dict.fromkeys(range(bound), (1 - still_open) / bound)


def test_the_margin_makes_a_second_try_rarer_than_one_in_2_to_the_32():
    for bound in (1, 3, 2**31 + 1, 2**62 + 1):
        width = bound.bit_length() + chance_module._MARGIN
        assert Fraction(2**width % bound, 2**width) < Fraction(1, 2**32)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (5, 7), (0, 5), (7, 16)]
)
def test_a_coin_has_its_odds(every_tape, narrow, numerator, denominator):
    narrow(margin=1)
    outcomes, still_open = every_tape(lambda bits: Chance(bits).coin(numerator, denominator), 12)
    assert outcomes.get(True, 0) == (1 - still_open) * Fraction(numerator, denominator)


@pytest.mark.parametrize(
    ("weights", "total"),
    [([1], 1), ([1, 2, 3], 6), ([1, 2, 3], 8), ([3, 0, 2], 5), ([2, 0, 0, 1], 5), ([0, 1], 3)],
    ids=str,
)
def test_a_pick_follows_the_weights_and_leaves_the_rest(every_tape, narrow, weights, total):
    narrow(margin=1)
    cumulative = np.cumsum(weights)
    outcomes, still_open = every_tape(lambda bits: Chance(bits).pick(cumulative, total), 12)
    expected = {
        place: Fraction(weight, total)
        for place, weight in enumerate([*weights, total - sum(weights)])
        if weight
    }
    assert outcomes == {place: (1 - still_open) * odds for place, odds in expected.items()}


class Given(Chance):
    """A chance whose next number is known."""

    __slots__ = ("_number",)

    def __init__(self, number):
        super().__init__(SeededBits(0))
        self._number = number

    def below(self, bound):
        assert self._number < bound
        return self._number


@pytest.mark.parametrize("scale", [1, 3, 4])
def test_each_step_of_a_pick_counts_its_scale(scale):
    """Every number there is, once: also where the total is no multiple of the scale."""
    cumulative, total = np.array([2, 2, 3]), 3 * scale + 2
    found = [Given(number).pick(cumulative, total, scale) for number in range(total)]
    assert found == [0] * 2 * scale + [2] * scale + [3] * 2


@pytest.mark.parametrize("bits", [62, 63, 64, 65, 100])
def test_what_is_left_of_a_pick_may_have_any_number_of_bits(bits):
    cumulative, scale = np.array([1, 2**54 - 1]), 1 << 51
    total, weights = scale << bits, (2**54 - 1) * scale
    for number, place in ((weights - 1, 1), (weights, 2), (total // 2, 2), (total - 1, 2)):
        assert Given(number).pick(cumulative, total, scale) == place


class Searched(np.ndarray):
    """Running sums that remember what was looked for among them."""

    def searchsorted(self, number, side):
        self.number = number
        return super().searchsorted(number, side=side)


@pytest.mark.parametrize("bits", [62, 63, 64, 100])
def test_a_pick_looks_for_nothing_that_numpy_makes_objects_of(bits):
    """That took 130 microseconds among 1,024 sums, and less than one where it was not needed:
    whether it was depended on the scores.
    """
    cumulative = np.array([1, 2**54 - 1]).view(Searched)
    assert Given((1 << bits) - 1).pick(cumulative, 1 << bits, 1) == 2
    assert np.asarray(cumulative.number).dtype == np.int64


@loop_over("scale", [1, 7])
@loop_over("bits", [60, 63, 64, 200])
def test_a_pick_among_integers_of_any_length(bits, scale):
    """Sums of paths and of pieces are objects: no number among them is too long."""
    cumulative = np.array([3 << bits, 5 << bits, 9 << bits], dtype=object)
    total = (9 << bits) * scale + 5
    for place, (first, end) in enumerate(
        itertools.pairwise([0, *(cumulative * scale).tolist(), total])
    ):
        for number in (first, (first + end) // 2, end - 1):
            assert Given(number).pick(cumulative, total, scale) == place


LENGTHS = st.sampled_from([3, 31, 53, 62, 63, 64, 65, 130])


@given(st.data(), st.integers(1, 9), LENGTHS)
def test_a_tape_knows_the_odds_of_a_pick_of_any_length(data, scale, bits):
    """Tapes answer a pick themselves, so no law that is computed on tapes would notice one that
    has other odds.
    """
    weights = data.draw(st.lists(st.integers(0, 1 << bits), min_size=1, max_size=5))
    sums = list(itertools.accumulate(weights))
    cumulative = np.array(sums, dtype=np.int64 if sums[-1] < 2**63 else object)
    total = sums[-1] * scale + data.draw(st.integers(0, 1 << bits)) + 1

    def shares():
        odds, _ = distribution(lambda tape: tape.pick(cumulative, total, scale), cutoff=0)
        return {place: int((odds[place] * total).unique_fmpz()) for place in sorted(odds)}

    first = 0
    # so many of the numbers below the total as the odds say, and they stand together
    for place, share in at_precision(500, shares).items():
        for number in (first, first + share - 1):
            assert Given(number).pick(cumulative, total, scale) == place
        first += share
    assert first == total


def test_a_pick_is_exact_at_the_top_of_64_bits():
    cumulative = np.array([2**62, 2**63 - 2, 2**63 - 1], dtype=np.int64)

    class Fixed(Chance):
        __slots__ = ("result",)

        def below(self, bound):
            assert bound == 2**63 - 1
            return self.result

    chance = Fixed(SeededBits(1))
    for result, place in [(0, 0), (2**62 - 1, 0), (2**62, 1), (2**63 - 3, 1), (2**63 - 2, 2)]:
        chance.result = result
        assert chance.pick(cumulative, 2**63 - 1) == place


@pytest.mark.parametrize(
    ("distance", "numerator", "denominator"),
    [
        ("0", 3, 4),
        ("0", 1, 2),
        ("1/1000000", 1, 1),
        ("1", 1, 1),
        ("1/2", 5, 4),
        ("7/3", 8, 1),
        ("5", 1, 1),
        ("40", 1, 1),
    ],
)
def test_decay_has_its_odds_on_every_tape(every_tape, narrow, distance, numerator, denominator):
    narrow()
    exact = Fraction(distance)
    distance = fmpq(exact.numerator, exact.denominator)
    run = every_tape(
        lambda bits: Chance(bits).decay(lambda: distance, numerator, denominator, likely=False), 16
    )
    outcomes, still_open = run
    heads = outcomes.get(True, Fraction(0))
    # at most the one cell of 2^-16 that holds the probability, and a neighbour, can be open
    assert still_open <= Fraction(2, 2**16)

    def odds():
        return (-ball(exact)).exp() * numerator / denominator

    assert enclosures.lower_bound(lambda: odds() - ball(heads)) >= 0 or heads == Fraction(
        numerator, denominator
    )
    assert enclosures.upper_bound(lambda: odds() - ball(heads + still_open)) <= 0


@pytest.mark.parametrize(
    ("distance", "weight"), [("0", "1"), ("1/100", "1"), ("1/3", "3/4"), ("1", "37/100")]
)
def test_the_shortcut_of_a_likely_decay_does_not_change_its_odds(
    every_tape, narrow, monkeypatch, distance, weight
):
    """The same coin with and without the shortcut, on every tape of up to 16 bits."""
    narrow()
    monkeypatch.setattr(chance_module, "_WORD", 6)
    monkeypatch.setattr(chance_module, "_WORD_SCALE", 1 / arb(1 << 7))
    monkeypatch.setattr(chance_module, "_FIFTEEN_SIXTEENTHS", 15 << 2)
    exact, share = Fraction(distance), Fraction(weight)
    distance = fmpq(exact.numerator, exact.denominator)
    flips = [
        every_tape(
            lambda bits, likely=likely: Chance(bits).decay(
                lambda: distance, share.denominator, share.numerator, likely=likely
            ),
            16,
        )
        for likely in (False, True)
    ]
    (plain, plain_open), (quick, quick_open) = flips
    assert abs(plain[True] - quick[True]) <= plain_open + quick_open <= Fraction(1, 2**13)


@pytest.mark.parametrize("prefix", [0, 15 << 60, 2**64 - 1])
def test_a_decay_of_distance_0_always_keeps(prefix):
    chance = Chance(SeededBits(1))
    chance._pool, chance._available = prefix, 64
    assert chance.decay(lambda: fmpq(0), 5, 5, likely=True)


@pytest.mark.parametrize(("first_word", "asks"), [((15 << 60) - 1, False), (15 << 60, True)])
def test_a_likely_decay_is_decided_by_its_first_bits_below_15_16(first_word, asks):
    """Below 15/16 the exact distance is not even computed; from there on the exact comparison
    decides.
    """
    asked = []
    chance = Chance(SeededBits(1))
    chance._pool, chance._available = first_word, 64
    assert chance.decay(lambda: asked.append(1) or fmpq(1, 100), 1, 1, likely=True)
    assert bool(asked) is asks


@loop_over("seed", range(20))
def test_a_lazy_uniform_refines_consistently(seed):
    uniform = LazyUniform(Chance(SeededBits(seed)))
    balls = [
        at_precision(1000, lambda bits=bits: uniform.ball(bits))
        for bits in (1, 2, 8, 64, 65, 128, 700)
    ]
    unit = at_precision(1000, lambda: arb(0.5, 0.5))
    for earlier, later in itertools.pairwise([unit, *balls]):
        assert at_precision(
            1000, lambda earlier=earlier, later=later: earlier.contains(later.mid())
        )
    for bits, enclosure in zip((1, 2, 8, 64, 65, 128, 700), balls, strict=True):
        width = at_precision(
            1000, lambda each=enclosure, size=2**bits: (each.upper() - each.lower()) * size
        )
        assert width < 1.000001  # the radius itself is kept to 30 bits


def test_asking_a_lazy_uniform_for_less_draws_nothing():
    uniform = LazyUniform(Chance(SeededBits(1)))
    fine = at_precision(200, lambda: uniform.ball(100))
    uniform._chance = None  # any further draw would fail
    assert at_precision(200, lambda: uniform.ball(50)).contains(fine)


@pytest.mark.parametrize("precision", [2, 10, 53, 1000])
def test_balls_hold_their_interval_at_any_working_precision(precision):
    for seed in range(20):
        uniform = LazyUniform(Chance(SeededBits(seed)))
        rough = at_precision(precision, lambda uniform=uniform: uniform.ball(64))
        assert at_precision(
            1000, lambda uniform=uniform, rough=rough: rough.contains(uniform.ball(64))
        )


def test_a_lazy_uniform_is_uniform_on_every_tape(every_tape, narrow):
    narrow()

    def run(bits):
        uniform = LazyUniform(Chance(bits))
        return float(uniform.ball(2).mid()), float(uniform.ball(5).mid())

    outcomes, still_open = every_tape(run, 5)
    assert still_open == 0
    middles = [(2 * place + 1) / 64 for place in range(32)]
    assert outcomes == {
        ((2 * int(middle * 4) + 1) / 8, middle): Fraction(1, 32) for middle in middles
    }


def test_effects_of_a_caller_are_for_tests_only():
    """Bits that were fetched and not used would be shared by releases, threads and forks."""
    foreseen = Chance(SeededBits(1))
    assert read_bits(foreseen) is foreseen
    with pytest.raises(ParameterTypeError, match="'bits' parameter must be a source"):
        read_bits(Chance(SystemBits()))


class Narrow(Chance):
    """Words of three bits."""

    def _words(self, count):
        return np.array([self.draw(3) for _ in range(count)], dtype=np.uint64)


@pytest.fixture
def words_of_three_bits(narrow, monkeypatch):
    narrow()
    monkeypatch.setattr(chance_module, "_LARGEST_WORD", np.uint64(7))


@pytest.mark.usefixtures("words_of_three_bits")
@pytest.mark.parametrize("total", [1, 3, 4, 5, 7])
def test_many_picks_are_as_likely_as_one_after_the_other(every_tape, total):
    cumulative = np.array([1, 1, 3])[: 1 if total < 3 else 3]
    marks = [0, *cumulative.tolist(), total]
    single = [Fraction(high - low, total) for low, high in itertools.pairwise(marks)]
    outcomes, still_open = every_tape(
        lambda bits: tuple(Narrow(bits).pick_many(cumulative, total, 2).tolist()), 12
    )
    for one, other in itertools.product(range(len(single)), repeat=2):
        ideal, found = single[one] * single[other], outcomes.get((one, other), 0)
        assert found <= ideal <= found + still_open
    assert still_open < Fraction(1, 2)


@pytest.mark.usefixtures("words_of_three_bits")
def test_each_row_is_picked_from_by_its_own_total(every_tape):
    rows, totals = np.array([[1, 2, 2], [0, 1, 3]]), np.array([2, 5])
    outcomes, still_open = every_tape(
        lambda bits: tuple(Narrow(bits).pick_each(rows, totals).tolist()), 15
    )
    first = [Fraction(1, 2), Fraction(1, 2), 0, 0]
    second = [0, Fraction(1, 5), Fraction(2, 5), Fraction(2, 5)]
    for one, other in itertools.product(range(4), repeat=2):
        ideal, found = first[one] * second[other], outcomes.get((one, other), 0)
        assert found <= ideal <= found + still_open
    assert still_open < Fraction(1, 8)


def test_many_words_are_the_bits_of_the_source():
    chance = Chance(SeededBits(5))
    drawn = Chance(SeededBits(5)).draw(64 * 3)
    assert chance._words(3).tolist() == [drawn >> 64 * place & 2**64 - 1 for place in range(3)]
    bounds = np.array([1, 2, 3, 2**62, 2**63 - 1], dtype=np.uint64)
    assert (chance.below_each(bounds) < bounds.view(np.int64)).all()
