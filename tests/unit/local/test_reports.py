"""The three local mechanisms: their law, that they are exponential mechanisms, their loss, their
estimates, and what they refuse.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from flint import arb, fmpq
from reference import local as reference
from reference.tapes import distribution
from scipy.stats import chi2
from tiers import loop_over, more

from discreet import NOT_PRIVATE, ParameterError, PureDP, Release
from discreet.errors import ParameterTypeError
from discreet.mechanisms import (
    ExponentialMechanism,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    best_local_mechanism,
    mechanism_range,
)
from discreet.testing import SeededBits

CANARY = "canary-718281"
TINY = 2.0**-150
FALSE_ALARM = 1e-9
KINDS = [RandomizedResponse, Rappor, SubsetSelection]
EPSILONS = [Fraction(1, 8), Fraction(1), Fraction(7, 2)]
# one of each kind with the law that the reference says it has, for a few categories
CASES = [
    *((RandomizedResponse, d, {}, reference.randomized_response) for d in (2, 3, 5)),
    *((Rappor, d, {}, reference.rappor) for d in (2, 3, 5)),
    *((SubsetSelection, d, {"size": k}, reference.subset) for d in (2, 3, 5) for k in range(1, d)),
]


def law_of(law, value, categories, epsilon, words):
    return law(value, categories, epsilon, *words.values())


def score(kind, report, value):
    """The score that the mechanism has as an exponential mechanism, and its rate for each
    epsilon.
    """
    if kind is Rappor:
        flipped = len(report ^ {value})
        return Fraction(-flipped, 2)
    return Fraction(int(value in report))


def as_labels(kind, report):
    """A report of the reference as `release` would give it."""
    return next(iter(report)) if kind is RandomizedResponse else sorted(report)


def as_report(kind, row):
    """A row of `privatize` as a report of the reference."""
    if kind is RandomizedResponse:
        return frozenset([int(row)])
    return frozenset(
        np.flatnonzero(np.unpackbits(row)).tolist() if kind is Rappor else row.tolist()
    )


def names(value):
    return value.__name__ if callable(value) else str(value)


@pytest.fixture
def by_tape(monkeypatch):
    """The random parts, which test_coins.py has tried on every tape, replaced by parts that give
    each outcome in turn.
    """

    def flip(probability, count, tape, start=0):
        share = probability._number()
        sides = ((share, True), (1 - share, False))
        return np.array([tape._answer(lambda: sides) for _ in range(count)], dtype=bool)

    def flip_packed(probability, used, tape):
        bits = np.unpackbits(used)
        bits[bits > 0] = flip(probability, int(bits.sum()), tape)
        return np.packbits(bits)

    def below(bound, count, tape):
        return np.array([tape.below(bound) for _ in range(count)], dtype=np.uint8)

    for module in ("randomized_response", "subset_selection"):
        monkeypatch.setattr(f"discreet.local.{module}.flip_coins", flip)
    for module in ("local.randomized_response", "randomness.bulk_draws"):
        monkeypatch.setattr(f"discreet.{module}.draw_below", below)
    monkeypatch.setattr("discreet.local.rappor.flip_packed", flip_packed)


class TestLaw:
    @pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
    @pytest.mark.parametrize(("kind", "categories", "words", "law"), CASES, ids=names)
    @pytest.mark.usefixtures("by_tape", "high_precision")
    def test_the_real_code_has_the_ideal_law_on_every_tape(
        self, kind, categories, words, law, epsilon
    ):
        mechanism = kind(range(categories), epsilon=epsilon, **words)
        for value in range(categories):

            def run(tape, value=value):
                return as_report(kind, mechanism._draw(np.array([value], dtype=np.uint8), tape)[0])

            reached, rest = distribution(run, 0.0)
            ideal = law_of(law, value, categories, epsilon, words)
            assert abs(rest) < TINY
            assert set(reached) == set(ideal)
            assert all(abs(reached[report] - chance) < TINY for report, chance in ideal.items())

    @pytest.mark.parametrize("epsilon", ["1/2", "4"])
    @pytest.mark.usefixtures("high_precision")
    def test_two_categories_on_every_tape_of_bytes(self, epsilon):
        """No part replaced: with two categories the coin is all there is."""
        mechanism = RandomizedResponse(range(2), epsilon=Fraction(epsilon))
        reached, rest = distribution(
            lambda tape: int(mechanism._draw(np.array([1], dtype=np.uint8), tape)[0]), 2.0**-33
        )
        truth = reference.randomized_response(1, 2, Fraction(epsilon))[frozenset([1])]
        assert rest < 2.0**-31
        assert reached[1] <= truth + TINY
        assert truth <= reached[1] + rest

    @pytest.mark.usefixtures("narrow", "high_precision")
    def test_three_categories_on_every_tape_of_short_words(self):
        """No part replaced but the words, which have two bits."""
        mechanism = RandomizedResponse(range(3), epsilon=2)
        reached, rest = distribution(
            lambda tape: int(mechanism._draw(np.array([1], dtype=np.uint8), tape)[0]), 1e-8
        )
        ideal = reference.randomized_response(1, 3, Fraction(2))
        assert rest < 1e-5
        for report, chance in ideal.items():
            (place,) = report
            assert reached[place] <= chance + TINY
            assert chance <= reached[place] + rest

    @pytest.mark.parametrize(("kind", "categories", "words", "law"), CASES, ids=names)
    @pytest.mark.usefixtures("high_precision")
    def test_log_probabilities_are_those_of_the_law(self, kind, categories, words, law):
        mechanism = kind(range(categories), epsilon=Fraction(3, 2), **words)
        for value in range(categories):
            ideal = law_of(law, value, categories, Fraction(3, 2), words)
            for report, chance in ideal.items():
                assert mechanism.log_probability(as_labels(kind, report), value) == pytest.approx(
                    float(chance.log()), rel=1e-14
                )
        assert mechanism.own_probability == pytest.approx(
            float(reference.pointing(ideal, value)), rel=1e-15
        )
        assert mechanism.other_probability == pytest.approx(
            float(reference.pointing(ideal, 0)), rel=1e-15
        )

    @pytest.mark.parametrize(
        ("kind", "words"), [(RandomizedResponse, {}), (Rappor, {}), (SubsetSelection, {"size": 2})]
    )
    def test_whole_reports_follow_the_law(self, kind, words):
        """A chi-square test over all reports of five categories, with power against an epsilon
        that is 10% off.
        """
        persons, value = 60_000, 3
        mechanism = kind(range(5), epsilon=1, **words)
        reports = mechanism.privatize([value] * persons, bits=SeededBits(8))
        law = {
            RandomizedResponse: reference.randomized_response,
            Rappor: reference.rappor,
            SubsetSelection: reference.subset,
        }
        found: dict = {}
        for row in reports:
            report = as_report(kind, row)
            found[report] = found.get(report, 0) + 1

        def statistic(epsilon):
            ideal = law_of(law[kind], value, 5, Fraction(epsilon), words)
            return sum(
                (found.get(report, 0) - persons * float(p)) ** 2 / (persons * float(p))
                for report, p in ideal.items()
            )

        threshold = chi2.isf(FALSE_ALARM, len(law_of(law[kind], value, 5, Fraction(1), words)) - 1)
        assert statistic(1) < threshold
        assert statistic("1.1") > threshold
        assert statistic("0.9") > threshold


class TestExponentialMechanism:
    """Each is the exponential mechanism that it is said to be, without the factor 2."""

    @pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
    @pytest.mark.parametrize(("kind", "categories", "words", "law"), CASES, ids=names)
    @pytest.mark.usefixtures("high_precision")
    def test_odds_are_exponential_in_the_score_and_sum_to_the_same(
        self, kind, categories, words, law, epsilon
    ):
        totals = []
        for value in range(categories):
            ideal = law_of(law, value, categories, epsilon, words)
            scores = {report: epsilon * score(kind, report, value) for report in ideal}
            totals.append(sum((reference.exponential(each) for each in scores.values()), arb(0)))
            again = reference.softmax(scores)
            assert all(abs(again[report] - chance) < TINY for report, chance in ideal.items())
        assert all(abs(total - totals[0]) < TINY * totals[0] for total in totals)
        mechanism = kind(range(categories), epsilon=epsilon, **words)
        assert abs(mechanism._log_total() - totals[0].log()) < TINY

    @loop_over("epsilon", EPSILONS, ids=str)
    @loop_over(("kind", "categories", "words", "law"), CASES, ids=names)
    def test_the_package_s_exponential_mechanism_has_the_same_probabilities(
        self, kind, categories, words, law, epsilon
    ):
        """It does not know that its odds always sum to the same, so it charges a range of 2
        epsilon for them.
        """
        mechanism = kind(range(categories), epsilon=epsilon, **words)
        general = ExponentialMechanism(epsilon=2 * epsilon, sensitivity=1)
        value = categories - 1
        reports = sorted(law_of(law, value, categories, epsilon, words), key=sorted)
        found = general.log_probabilities([score(kind, report, value) for report in reports])
        expected = [mechanism.log_probability(as_labels(kind, report), value) for report in reports]
        assert found == pytest.approx(expected, rel=1e-12)
        assert mechanism.privacy_loss() < general.privacy_loss()


class TestPrivacy:
    @pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
    @pytest.mark.parametrize(("kind", "categories", "words", "law"), CASES, ids=names)
    @pytest.mark.usefixtures("high_precision")
    def test_the_loss_is_epsilon_and_its_range_is_twice_that(
        self, kind, categories, words, law, epsilon
    ):
        """Exactly, not at most: neither is 2 epsilon paid nor is there a bounded range of
        epsilon.
        """
        laws = {
            value: law_of(law, value, categories, epsilon, words) for value in range(categories)
        }
        exact = arb(fmpq(epsilon.numerator, epsilon.denominator))
        for first, second in itertools.permutations(laws.values(), 2):
            ratios = [(first[report] / second[report]).log() for report in first]
            assert all(abs(ratio) <= exact + TINY for ratio in ratios)
            assert any(abs(ratio - exact) < TINY for ratio in ratios)
            assert any(abs(ratio + exact) < TINY for ratio in ratios)
        found = mechanism_range(laws, itertools.combinations(laws, 2))
        assert float(found.epsilon) == pytest.approx(epsilon, rel=1e-14)
        assert float(found.range) == pytest.approx(2 * epsilon, rel=1e-14)
        assert isinstance(found.loss, PureDP)
        assert kind(range(categories), epsilon=epsilon, **words).privacy_loss() == PureDP(epsilon)

    def test_subsets_are_in_increasing_order_which_tells_nothing(self):
        reports = SubsetSelection(range(30), epsilon=1, size=7).privatize([29] * 500)
        assert (np.diff(reports.astype(int), axis=1) > 0).all()


class TestEstimates:
    @pytest.mark.parametrize(
        ("mechanism", "own", "other", "variance"),
        [
            (RandomizedResponse(range(5), epsilon=1), 0.404609675192, 0.148847581202, 1.9367642562),
            (
                SubsetSelection(range(5), epsilon=1, size=2),
                0.644404982645,
                0.338898754339,
                2.4004784466,
            ),
            (Rappor(range(5), epsilon=1), 0.622459331202, 0.377540668798, 3.9176980890),
        ],
        ids=repr,
    )
    def test_published_numbers(self, mechanism, own, other, variance):
        assert (mechanism.own_probability, mechanism.other_probability) == pytest.approx(
            (own, other), abs=1e-12
        )
        assert mechanism.standard_error(reports=1) ** 2 == pytest.approx(variance, abs=1e-10)

    @loop_over("epsilon", [0.1, 1, 4])
    @loop_over("categories", [2, 3, 17, 100])
    def test_closed_forms_of_the_papers(self, epsilon, categories):
        e, d, half = math.exp(epsilon), categories, math.exp(epsilon / 2)
        response, rappor = (
            kind(range(d), epsilon=epsilon) for kind in (RandomizedResponse, Rappor)
        )
        assert response.standard_error(1) ** 2 == pytest.approx((d - 2 + e) / (e - 1) ** 2)
        for share in (0, 0.2, 1):
            assert rappor.standard_error(1, share) ** 2 == pytest.approx(half / (half - 1) ** 2)
        for k in {1, d // 2, d - 1}:
            subset = SubsetSelection(range(d), epsilon=epsilon, size=k)
            p = k * e / (k * e + d - k)
            assert subset.own_probability == pytest.approx(p)
            assert subset.other_probability == pytest.approx(
                p * (k - 1) / (d - 1) + (1 - p) * k / (d - 1)
            )

    @pytest.mark.parametrize("values", [(0, 0), (0, 1), (2, 0)], ids=str)
    @pytest.mark.parametrize(
        ("kind", "categories", "words", "law"), [case for case in CASES if case[1] == 3], ids=names
    )
    @pytest.mark.usefixtures("high_precision")
    def test_the_estimate_is_unbiased_and_its_variance_is_the_stated_one(
        self, kind, categories, words, law, values
    ):
        """Over all pairs of reports of two persons."""
        mechanism = kind(range(categories), epsilon=1, **words)
        own, other = mechanism._own(), mechanism._other()
        laws = [law_of(law, value, categories, Fraction(1), words) for value in values]
        for category in range(categories):
            share = Fraction(values.count(category), 2)

            def estimate(reports, category=category):
                pointing = arb(sum(category in report for report in reports)) / 2
                return (pointing - other) / (own - other)

            mean, variance = reference.moments(laws, estimate)
            assert abs(mean - fmpq(share.numerator, share.denominator)) < TINY
            assert mechanism.standard_error(2, float(share)) ** 2 == pytest.approx(
                float(variance), rel=1e-13
            )

    @loop_over("epsilon", [1e-30, 1e-9, 64])
    @loop_over("kind", KINDS)
    def test_extreme_epsilons(self, kind, epsilon):
        mechanism = kind(range(4), epsilon=epsilon)
        reports = mechanism.privatize([2] * 100)
        assert np.isfinite(mechanism.estimate(reports)).all()
        if epsilon == 64:
            assert mechanism.estimate(reports) == pytest.approx([0, 0, 1, 0])

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_epsilon_without_any_use_is_told_at_the_estimate(self, kind):
        mechanism = kind(range(4), epsilon=Fraction(1, 10**300))
        reports = mechanism.privatize([2] * 100)
        for ask in (lambda: mechanism.estimate(reports), lambda: mechanism.standard_error(100)):
            with pytest.raises(
                ParameterError,
                match=r"'epsilon' parameter of .* must be large enough for an estimate",
            ):
                ask()


class TestSizes:
    @pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 2, 3.3, 6])
    def test_the_best_size_is_the_best_of_all(self, epsilon):
        for categories in (2, 3, 4, 5, 9, 16, 33):
            variances = [
                SubsetSelection(range(categories), epsilon=epsilon, size=size).mean_variance
                for size in range(1, categories)
            ]
            best = SubsetSelection(range(categories), epsilon=epsilon)
            assert best.mean_variance == min(variances)
            assert variances[best.size - 1] == min(variances)

    def test_the_mean_variance_is_the_same_for_all_shares(self):
        for kind in KINDS:
            mechanism = kind(range(6), epsilon=1)
            for shares in (np.full(6, 1 / 6), np.array([1, 0, 0, 0, 0, 0]), np.arange(6) / 15):
                mean = (mechanism.standard_error(1, shares) ** 2).mean()
                assert mean == pytest.approx(mechanism.mean_variance)

    @loop_over("epsilon", [0.1, 0.7, 1, 2, 4, 7])
    @loop_over("categories", [2, 3, 7, 20, 150])
    def test_the_recommended_one_has_the_least_variance(self, epsilon, categories):
        best = best_local_mechanism(range(categories), epsilon=epsilon)
        all_of_them = [kind(range(categories), epsilon=epsilon).mean_variance for kind in KINDS]
        assert best.mean_variance <= min(all_of_them) * (1 + 1e-12)


def test_reports_that_all_name_nothing_are_reports():
    mechanism = Rappor(["a", "b"], epsilon=1)
    expected = mechanism.estimate(np.zeros((3, 2), dtype=np.bool_))
    assert (mechanism.estimate([[], [], []]) == expected).all()
    with pytest.raises(ParameterError, match=r"must be at least one\. Got 0"):
        mechanism.estimate([])


@pytest.mark.parametrize("kind", KINDS)
class TestReports:
    def test_one_report_in_labels(self, kind):
        labels = ["ä", "b", ("c", 1), 4]
        mechanism = kind(labels, epsilon=5)
        release = mechanism.release(("c", 1), bits=SeededBits(1))
        named = [release.value] if kind is RandomizedResponse else release.value
        assert set(named) <= set(labels)
        assert (release.loss, release.mechanism, release.candidates) == (
            PureDP(5),
            mechanism.name,
            4,
        )
        assert release.seeded
        assert not mechanism.release("b").seeded
        assert Release.from_json(release.to_json()) == release
        assert math.exp(mechanism.log_probability(release.value, ("c", 1))) > 0

    def test_an_estimate_from_labels(self, kind):
        """The same as from what privatize gives, whatever the order of the labels."""
        mechanism = kind(list("abcd"), epsilon=3)
        reports = mechanism.privatize(["a", "b", "a", "d"] * 10, bits=SeededBits(1))
        listed = [mechanism._in_labels(report) for report in reports]
        if kind is not RandomizedResponse:
            listed = [tuple(reversed(report)) for report in listed]
        assert (mechanism.estimate(listed) == mechanism.estimate(reports)).all()
        listed[3] = "e" if kind is RandomizedResponse else ["e"]
        with pytest.raises(ParameterError, match=r"'reports' parameter of .* must be"):
            mechanism.estimate(listed)

    def test_a_truth_that_is_almost_sure(self, kind):
        mechanism = kind(list("abcdefghi"), epsilon=80, acknowledge=NOT_PRIVATE)
        for label in "abcdefghi":
            assert mechanism.release(label).value == (
                label if kind is RandomizedResponse else [label]
            )

    @pytest.mark.parametrize("categories", [2, more(8), 9, more(255), 256, 257, more(258)])
    def test_every_value_is_reported_right_at_the_edges_of_types(self, kind, categories):
        """With an epsilon so large that reports are the truth, and so small that all positions
        come up.
        """
        sure = kind(range(categories), epsilon=90, acknowledge=NOT_PRIVATE)
        values = np.arange(categories)
        assert sure.estimate(sure.privatize(values)) == pytest.approx(
            np.full(categories, 1 / categories)
        )
        vague = kind(range(categories), epsilon=0.01)
        for value in (0, categories - 1):
            reports = vague.privatize(np.full(20 * categories, value), bits=SeededBits(1))
            assert (vague._count(reports) > 0).all()
        if kind is not Rappor:
            assert reports.dtype == (np.uint8 if categories <= 256 else np.uint16)

    def test_parts_join_without_a_seam(self, kind, monkeypatch):
        """Values keep their order across the steps."""
        monkeypatch.setattr("discreet.local.base._MOST_ROWS", 7)
        mechanism = kind(range(5), epsilon=90, acknowledge=NOT_PRIVATE)
        values = np.arange(100) % 5
        reports = mechanism.privatize(values)
        assert [as_report(kind, row) for row in reports] == [
            frozenset([value]) for value in values.tolist()
        ]
        assert mechanism.estimate(reports) == pytest.approx(np.full(5, 0.2))

    @loop_over(
        "make",
        [
            list,
            tuple,
            np.array,
            pd.Series,
            pl.Series,
            iter,
            lambda labels: np.array(labels, dtype=object),
            pd.Categorical,
        ],
        ids=["list", "tuple", "array", "pandas", "polars", "iterator", "objects", "categorical"],
    )
    def test_every_row_of_labels_reads_alike(self, kind, make):
        labels = ["b", "a", "c", "b"] * 5
        mechanism = kind(["a", "b", "c"], epsilon=1)
        expected = mechanism.privatize(labels, bits=SeededBits(4))
        assert (mechanism.privatize(make(labels), bits=SeededBits(4)) == expected).all()

    def test_system_bits_differ_and_seeded_bits_repeat(self, kind):
        mechanism = kind(range(10), epsilon=1)
        values = np.arange(1000) % 10
        once, again = (mechanism.privatize(values, bits=SeededBits(4)) for _ in range(2))
        assert (once == again).all()
        assert (mechanism.privatize(values) != mechanism.privatize(values)).any()


@pytest.mark.parametrize("kind", KINDS)
class TestRefusals:
    @loop_over(
        ("categories", "rule"),
        [
            ([], "at least two labels. Got 0."),
            (["a"], "at least two labels. Got 1."),
            (["a", "b", "a"], "different from each other. Got one twice."),
            (["a", None], "labels that are not empty. Got None or NaN among them."),
            (["a", math.nan], "labels that are not empty. Got None or NaN among them."),
            (
                [["a"], ["b"]],
                "labels such as text or whole numbers. Got something else among them.",
            ),
            ("ab", "labels in a row: .* Got str."),
            ({"a", "b"}, "labels in a row: .* Got set."),
            ({"a": 1, "b": 2}, "labels in a row: .* Got dict."),
            (5, "labels in a row: .* Got int."),
            (np.array([["a", "b"]]), "labels in a row: .* Got ndarray."),
        ],
        ids=lambda part: type(part).__name__ if isinstance(part, set) else repr(part),
    )
    def test_bad_categories(self, kind, categories, rule):
        with pytest.raises(
            ParameterError, match=f"The 'categories' parameter of {kind.__name__} must be {rule}"
        ):
            kind(categories, epsilon=1)

    @loop_over(
        "values",
        [
            [CANARY],
            ["a", CANARY],
            [None],
            [["a"]],
            [{}],
            np.array([CANARY]),
            pd.Series(["a", CANARY]),
            [1.5],
        ],
    )
    def test_an_unknown_value_is_refused_and_not_shown(self, kind, values):
        with pytest.raises(ParameterError) as refused:
            kind(["a", "b"], epsilon=1).privatize(values)
        assert "The 'values' parameter" in str(refused.value)
        assert (
            "must be among the categories. Got something else. Map unknown values to a category"
            in str(refused.value)
        )
        assert CANARY not in repr(refused.value) + repr(vars(refused.value))
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None

    @loop_over("number", [-1, 3, 2**40])
    def test_an_unknown_number_is_refused(self, kind, number):
        mechanism = kind(range(3), epsilon=1)
        for values in ([0, number], np.array([0, number])):
            with pytest.raises(
                ParameterError, match=r"must be among the categories\. Got something else\."
            ):
                mechanism.privatize(values)

    @loop_over(
        "values",
        ["ab", {"a"}, 3, None, {"a": 1}, np.array([["a"]]), np.array("a"), np.ma.array(["a"])],
    )
    def test_values_that_are_no_row(self, kind, values):
        with pytest.raises(
            ParameterTypeError, match=r"The 'values' parameter of .* must be labels in a row"
        ):
            kind(["a", "b"], epsilon=1).privatize(values)

    @loop_over("value", [CANARY, None, ["a"], ("a",)])
    def test_one_unknown_value(self, kind, value):
        with pytest.raises(
            ParameterError, match=r"The 'value' parameter of .* must be among the categories."
        ) as refused:
            kind(["a", "b"], epsilon=1).release(value)
        assert CANARY not in str(refused.value)
        with pytest.raises(
            ParameterError, match=r"The 'value' parameter of .* must be among the categories."
        ):
            kind(["a", "b"], epsilon=1).log_probability(
                "a" if kind is RandomizedResponse else ["a"], value
            )

    @loop_over(
        "reports",
        ["ab", [0.5], [[0.5, 1.5]], None, [None], [[0], [0, 1]], [["a"]], np.ma.array([0, 1])],
    )
    def test_reports_that_are_no_whole_numbers(self, kind, reports):
        with pytest.raises(
            ParameterTypeError,
            match=r"The 'reports' parameter of .* must be an array of whole numbers",
        ):
            kind(range(3), epsilon=1).estimate(reports)

    @loop_over("share", ["a", None, [[1], [1, 2]], math.nan, [math.inf], 1e9, -1e9])
    def test_bad_shares(self, kind, share):
        with pytest.raises(ParameterError, match="The 'share' parameter of"):
            kind(range(3), epsilon=1).standard_error(10, share)


@loop_over(
    ("mechanism", "reports", "rule"),
    [
        (RandomizedResponse(range(3), epsilon=1), [0, 3], "positions of categories, 0 to 2"),
        (RandomizedResponse(range(3), epsilon=1), [0, -1], "positions of categories, 0 to 2"),
        (RandomizedResponse(range(3), epsilon=1), [True, False], "positions of categories, 0 to 2"),
        (RandomizedResponse(range(3), epsilon=1), [[0, 1]], "an array of dimension 1"),
        (Rappor(range(3), epsilon=1), np.array([1], dtype=np.uint8), "an array of dimension 2"),
        (Rappor(range(3), epsilon=1), [[1, 0, 1]], "packed bits"),
        (
            Rappor(range(3), epsilon=1),
            np.array([[1, 0]], dtype=np.uint8),
            "rows of 1, a byte for each eight categories",
        ),
        (
            Rappor(range(3), epsilon=1),
            np.array([[1]], dtype=np.uint8),
            "without bits beyond the last category",
        ),
        (
            Rappor(range(3), epsilon=1),
            np.array([[True, False]]),
            "rows of 3, a bit for each category",
        ),
        (SubsetSelection(range(4), epsilon=1, size=2), [[0, 1, 2]], "rows of 2 positions"),
        (SubsetSelection(range(4), epsilon=1, size=2), [0, 1], "an array of dimension 2"),
        (SubsetSelection(range(4), epsilon=1, size=2), [[0, 4]], "positions of categories, 0 to 3"),
        (
            SubsetSelection(range(4), epsilon=1, size=2),
            [[1, 1]],
            "different positions in increasing order",
        ),
        (
            SubsetSelection(range(4), epsilon=1, size=2),
            [[False, True]],
            "positions of categories, 0 to 3",
        ),
        (
            SubsetSelection(range(4), epsilon=1, size=2),
            [[2, 1]],
            "different positions in increasing order",
        ),
    ],
    ids=repr,
)
def test_reports_that_no_run_gives(mechanism, reports, rule):
    with pytest.raises(ParameterError, match=rule):
        mechanism.estimate(reports)


@pytest.mark.parametrize(
    ("mechanism", "report"),
    [
        (RandomizedResponse(["a", "b"], epsilon=1), "c"),
        (RandomizedResponse(["a", "b"], epsilon=1), ["a"]),
        (Rappor(["a", "b"], epsilon=1), "a"),
        (Rappor(["a", "b"], epsilon=1), ["a", "a"]),
        (Rappor(["a", "b"], epsilon=1), 3),
        (SubsetSelection(["a", "b", "c"], epsilon=1, size=2), ["a"]),
        (SubsetSelection(["a", "b", "c"], epsilon=1, size=2), ["a", "d"]),
    ],
    ids=repr,
)
def test_reports_in_labels_that_cannot_be(mechanism, report):
    with pytest.raises(ParameterError, match="The 'output' parameter of"):
        mechanism.log_probability(report, "a")


@pytest.mark.parametrize("epsilon", [10**9, 10**30, 10**300])
def test_an_epsilon_without_bounds_is_drawn_at_once(epsilon):
    """No million digits: the enclosure is cut at 0 and 1."""
    response, rappor, subset = (
        kind(range(3), epsilon=epsilon, acknowledge=NOT_PRIVATE) for kind in KINDS
    )
    assert response.privatize([0, 1, 2]).tolist() == [0, 1, 2]
    assert rappor.privatize([0, 1, 2]).tolist() == [[128], [64], [32]]
    assert subset.privatize([0, 1, 2]).tolist() == [[0], [1], [2]]
    assert rappor.estimate(rappor.privatize([1])).tolist() == [0, 1, 0]
