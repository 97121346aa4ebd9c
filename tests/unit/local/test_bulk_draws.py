"""Digits, words and coins: each against its exact probability, on every tape."""

import itertools
from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq
from reference.tapes import distribution
from tiers import more

from discreet.randomness import bulk_draws
from discreet.randomness.bulk_draws import (
    Expansion,
    draw_below,
    draw_subsets,
    draw_words,
    flip_coins,
    flip_packed,
    whole_part,
)
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

BYTE = np.dtype(np.uint8)
TINY = 2.0**-150


def logistic(distance):
    """1 / (e^distance + 1) as the digits of a coin."""
    exact = Fraction(distance)
    return Expansion(lambda: 1 / (arb(fmpq(exact.numerator, exact.denominator)).exp() + 1))


class TestExpansion:
    @pytest.mark.parametrize("distance", ["1/2", "1", "3", "1/1000000", "40"])
    def test_digits_are_those_of_the_number(self, distance):
        with mpmath.workdps(200):
            exact = Fraction(distance)
            number = 1 / (mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator) + 1)
            expected = int(mpmath.floor(number * mpmath.mpf(2) ** 400))
        found = logistic(distance)
        assert found.digit(0, 400) == expected
        for start, width in [(0, 1), (0, 8), (3, 8), (60, 8), (64, 1), (392, 8)]:
            assert found.digit(start, width) == expected >> (400 - start - width) & (
                (1 << width) - 1
            )

    def test_asking_late_or_early_gives_the_same_digits(self):
        one, other = logistic("1"), logistic("1")
        assert [one.digit(start, 1) for start in range(300)] == [
            other.digit(start, 1) for start in reversed(range(300))
        ][::-1]

    @pytest.mark.parametrize("distance", ["1000000", "1000000000000"])
    def test_a_probability_next_to_0_or_1_needs_no_million_digits(self, distance):
        exact = Fraction(distance)
        assert logistic(distance).digit(0, 256) == 0
        near_one = Expansion(
            lambda: 1 / (1 + (-arb(fmpq(exact.numerator, exact.denominator))).exp())
        )
        assert near_one.digit(0, 256) == 2**256 - 1

    @pytest.mark.parametrize(("sign", "expected"), [(1, 77), (-1, 76)])
    def test_a_whole_part_is_never_a_guess(self, sign, expected):
        """A number beside a multiple of 2^-8, by so little that the first precisions do not show
        on which side.
        """
        assert whole_part(lambda: arb(77) / 256 + sign * arb(2) ** -900, 8) == expected


class TestWords:
    @pytest.mark.parametrize("piece", [1, 2, 4, 5, 1 << 15])
    @pytest.mark.parametrize("name", ["u1", "<u2", "<u4"])
    def test_words_are_the_bits_of_the_source(self, monkeypatch, name, piece):
        """Each byte of the source ends up in one byte of one word, so words are as independent
        and uniform as the bits.
        """
        monkeypatch.setattr(bulk_draws, "_PIECE", piece)
        source = Chance(SeededBits(5))
        found = draw_words(6, np.dtype(name), Chance(SeededBits(5)))
        sizes = [
            min(piece, 6 * found.itemsize - start) for start in range(0, 6 * found.itemsize, piece)
        ]
        assert found.tobytes() == b"".join(
            source.draw(8 * size).to_bytes(size, "little") for size in sizes
        )
        assert found.shape == (6,)

    def test_no_words_draw_nothing(self):
        assert draw_words(0, BYTE, None).size == 0
        assert draw_below(7, 0, None).size == 0

    @pytest.mark.parametrize(
        ("bound", "count"),
        [*((bound, 1) for bound in range(1, 17)), (2, 3), (3, 2), (4, 2), (5, 2)],
    )
    @pytest.mark.usefixtures("narrow", "high_precision")
    def test_whole_numbers_are_uniform_and_independent_on_every_tape(self, bound, count):
        reached, rest = distribution(
            lambda tape: tuple(draw_below(bound, count, tape).tolist()), 1e-4
        )
        assert rest < 0.1
        assert set(reached) == set(itertools.product(range(bound), repeat=count))
        for found in reached.values():
            assert found == reached[(0,) * count]  # exactly: each has the same number of tapes
            assert found <= fmpq(1, bound**count) <= found + rest

    @pytest.mark.parametrize(
        ("bound", "name"),
        [(2, "u1"), (100, "u1"), (129, "u2"), (256, "u1"), (257, "u2"), (65536, "u2")],
    )
    def test_the_size_of_words(self, bound, name):
        numbers = draw_below(bound, 3000, Chance(SeededBits(1)))
        assert numbers.dtype == np.dtype(name)
        assert 0 <= numbers.min() < max(1, bound / 100)
        assert 0.99 * (bound - 1) <= numbers.max() < bound

    def test_one_number_needs_no_bits(self):
        assert draw_below(1, 3, None).tolist() == [0, 0, 0]

    @pytest.mark.parametrize("bound", [3, 100, 129, 70_000, 2**32 + 1])
    def test_rejected_words_are_drawn_again_and_again(self, bound):
        class Stubborn:
            """Gives the largest word, which is rejected, three times."""

            def __init__(self):
                self.left = 3

            def draw(self, count):
                self.left -= 1
                return (1 << count) - 1 if self.left >= 0 else 0

        assert draw_below(bound, 1, Stubborn()).tolist() == [0]


class TestCoins:
    @pytest.mark.parametrize("distance", ["1/2", "1", "3", "1/1000", "9"])
    @pytest.mark.usefixtures("high_precision")
    def test_a_coin_has_its_odds_on_every_tape_of_bytes(self, distance):
        """The real code on the real words; only ties go on, so four bytes are soon tried."""
        reached, rest = distribution(
            lambda tape: bool(flip_coins(logistic(distance), 1, tape)[0]), 2.0**-33
        )
        odds = logistic(distance)._number()
        assert rest <= 2.0**-31
        assert reached[True] <= odds + TINY
        assert odds <= reached[True] + rest

    @pytest.mark.parametrize("distance", ["1/2", "3"])
    @pytest.mark.usefixtures("narrow", "high_precision")
    def test_coins_are_independent_on_every_tape(self, distance):
        reached, rest = distribution(
            lambda tape: tuple(flip_coins(logistic(distance), 3, tape).tolist()), 1e-5
        )
        odds = logistic(distance)._number()
        assert rest < 0.05
        for outcome in itertools.product((True, False), repeat=3):
            ideal = odds ** sum(outcome) * (1 - odds) ** (3 - sum(outcome))
            assert reached[outcome] <= ideal + TINY
            assert ideal <= reached[outcome] + rest + TINY

    @pytest.mark.parametrize("rounds", [0, 1, 2, 3])
    @pytest.mark.parametrize("distance", ["1/2", "3"])
    @pytest.mark.usefixtures("narrow", "high_precision")
    def test_packed_coins_have_their_odds_and_are_independent_on_every_tape(
        self, monkeypatch, distance, rounds
    ):
        """Two coins in the lowest bits, which are the bits that the short words have."""
        monkeypatch.setattr(bulk_draws, "_ROUNDS", rounds)
        both = np.array([0b11], dtype=np.uint8)
        reached, rest = distribution(
            lambda tape: int(flip_packed(logistic(distance), both, tape)[0]), 1e-6
        )
        odds = logistic(distance)._number()
        assert rest < 0.02
        assert set(reached) == {0, 1, 2, 3}
        for outcome, found in reached.items():
            heads = outcome.bit_count()
            ideal = odds**heads * (1 - odds) ** (2 - heads)
            assert found <= ideal + TINY
            assert ideal <= found + rest + TINY

    @pytest.mark.parametrize("lane", [0, *map(more, range(1, 5)), 5, more(6), 7])
    def test_each_packed_coin_follows_its_own_bits_whatever_the_others_are(self, lane):
        """All 2^9 beginnings of one coin, in the real coins, while the other seven coins follow a
        tape of their own.
        """
        probability = logistic("1/2")
        rounds, digits = bulk_draws._ROUNDS, bulk_draws._ROUNDS + 8
        limit = probability.digit(0, digits)
        for beginning in range(0, 1 << digits, 5):
            tape = iter(f"{beginning:0{digits}b}")
            found = (
                flip_packed(
                    probability, np.array([255], dtype=np.uint8), _Lane(lane, tape, rounds)
                )[0]
                >> lane
                & 1
            )
            if beginning != limit:
                assert found == (beginning < limit)

    def test_bits_that_are_no_coins_never_show_heads(self):
        mask = np.array([0, 255, 0b10100000] * 50, dtype=np.uint8)
        heads = flip_packed(logistic("1/2"), mask, Chance(SeededBits(1)))
        assert (heads & ~mask == 0).all()
        assert (heads[1::3] != heads[4]).any()

    @pytest.mark.parametrize("first", [0, 5])
    def test_ties_are_settled_however_many_there_are(self, first):
        """A source that repeats the digits of the probability for a while, and then is below
        them.
        """
        probability = logistic("1/2")

        class Tied:
            """Ties in the first 40 digits, for all coins alike."""

            def __init__(self):
                self.start = first

            def draw(self, count):
                digit = probability.digit(self.start, 8) if self.start < 40 else 0
                self.start += 8
                return int.from_bytes(bytes([digit]) * (count // 8))

        assert flip_coins(probability, 5, Tied(), start=first).all()


class _Lane:
    """Bits where one coin of eight follows a tape, and the others follow another one."""

    def __init__(self, lane, tape, rounds):
        self._lane, self._tape, self._rounds, self._others = lane, tape, rounds, SeededBits(lane)

    def draw(self, count):
        if self._rounds > 0:
            self._rounds -= 1
            others = self._others.draw(8) & ~(1 << self._lane)
            return others | int(next(self._tape)) << self._lane
        # the ties of this byte: a byte for each coin that is still open, the coins of high
        # bits first
        byte = int("".join(itertools.islice(self._tape, 8)) or "0", 2)
        return int.from_bytes(bytes([byte]) * (count // 8))


class TestSubsets:
    @pytest.mark.parametrize(
        ("categories", "size"), [(2, 1), (3, 1), (3, 2), (5, 1), (5, 2), (5, 3), (5, 4), (6, 3)]
    )
    @pytest.mark.parametrize("included", [True, False])
    @pytest.mark.usefixtures("high_precision")
    def test_sets_are_uniform_on_every_tape(self, monkeypatch, categories, size, included):
        monkeypatch.setattr("discreet.randomness.bulk_draws.draw_below", below_by_tape)
        for own in range(categories):

            def run(tape, own=own):
                marks = draw_subsets(np.array([own]), np.array([included]), categories, size, tape)
                return tuple(np.flatnonzero(marks[0]).tolist())

            reached, rest = distribution(run, 0.0)
            number = comb(categories - 1, size - 1 if included else size)
            assert abs(rest) < TINY
            assert len(reached) == number
            for report, chance in reached.items():
                assert len(report) == size
                assert (own in report) == included
                assert abs(chance - fmpq(1, number)) < TINY

    @pytest.mark.usefixtures("high_precision")
    def test_persons_are_independent_on_every_tape(self, monkeypatch):
        monkeypatch.setattr("discreet.randomness.bulk_draws.draw_below", below_by_tape)

        def run(tape):
            marks = draw_subsets(np.array([0, 3]), np.array([True, False]), 4, 2, tape)
            return tuple(tuple(np.flatnonzero(row).tolist()) for row in marks)

        reached, rest = distribution(run, 0.0)
        assert abs(rest) < TINY
        assert len(reached) == 9
        assert all(abs(chance - fmpq(1, 9)) < TINY for chance in reached.values())


def below_by_tape(bound, count, tape):
    return np.array([tape.below(bound) for _ in range(count)], dtype=np.int64)
