"""The auditor finds what is wrong, and does not cry wolf."""

import json
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from tiers import more

from discreet import BoundedRange, ParameterError, PureDP
from discreet.auditing import audit, auditor
from discreet.auditing.audited_code import from_diffprivlib, from_function, from_opendp
from discreet.auditing.black_box import found_nine_times_in_ten
from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.timing import time_calls
from discreet.mechanisms import ExponentialMechanism


def softmax(scores, rng, rate=0.5):
    logits = rate * np.array(scores, dtype=float)
    ends = np.exp(logits - logits.max()).cumsum()
    return int(ends[:-1].searchsorted(rng.random() * ends[-1], side="right"))


def too_hot(scores, rng):
    return softmax(scores, rng, rate=1)


def overflowing(scores, rng):
    odds = np.exp(0.5 * np.array(scores, dtype=float))
    return int(rng.choice(len(odds), p=odds / odds.sum()))


class TestOurs:
    @pytest.mark.parametrize(
        "mechanism",
        [
            "exponential",
            more("permute-and-flip", tier="audits"),
            more("laplace-noise", tier="audits"),
        ],
    )
    def test_the_loss_is_a_number_and_it_is_tight(self, mechanism):
        from discreet.mechanisms.selection import mechanism_class

        made = mechanism_class(mechanism)(epsilon=1, sensitivity=1)
        report = audit(made, scores=4, draws=1000)
        assert not report.violated
        assert report.passed
        assert report.claim == made.privacy_loss()
        assert 0.95 < report.lower_bound < 1 + 1e-9
        assert {way.how for way in report.tried} >= {"law", "draws"}

    def test_a_claim_below_the_truth_is_violated_by_the_law_and_on_tapes(self):
        report = audit(
            ExponentialMechanism(epsilon=1, sensitivity=1), claim=PureDP(0.9), scores=4, draws=1000
        )
        assert report.violated
        assert {finding.witness.how for finding in report.findings} >= {"law", "tapes"}
        assert report.verdict == "Violated: epsilon is at least 1 where 0.9 is claimed."

    def test_the_program_on_every_tape(self):
        report = audit(ExponentialMechanism(epsilon=1, sensitivity=1), scores=4, draws=1000)
        (tapes,) = [way for way in report.tried if way.how == "tapes"]
        assert tapes.pairs == 8
        assert 0.9 < tapes.largest <= 1

    @pytest.mark.parametrize(
        "sensitivity", [Fraction(7, 3), more(0.5, tier="audits"), more(2**40, tier="audits")]
    )
    def test_what_is_rounded_on_its_way_is_no_neighbour(self, sensitivity):
        made = ExponentialMechanism(epsilon=1, sensitivity=sensitivity, monotonic=True)
        report = audit(made, scores=3, draws=1000)
        assert (report.violated, report.hazards) == (False, ())
        assert 0.9 < report.lower_bound < 1 + 1e-9

    @pytest.mark.parametrize("name", ["sensitivity", "monotonic", "objective", "extremes"])
    def test_what_a_mechanism_states_itself_is_refused(self, name):
        with pytest.raises(ParameterError, match=f"'{name}' parameter of audit must be left out"):
            audit(ExponentialMechanism(epsilon=1, sensitivity=1), **{name: True})


class TestFunctions:
    def test_an_overflow_is_found_at_any_sensitivity(self):
        report = audit(
            overflowing, claim=PureDP(1), sensitivity=Fraction(1, 3), extremes=False, draws=4000
        )
        assert report.violated
        assert "where something changes" in report.witness.name

    def test_a_missing_factor_two_is_found_with_a_witness_that_repeats(self):
        report = audit(too_hot, claim=PureDP(1), scores=3, extremes=False, draws=6000)
        assert report.violated
        witness = report.witness
        assert witness.how == "draws"
        assert witness.lower_bound == report.lower_bound > 1
        moves = np.abs(np.array(witness.first, float) - np.array(witness.second, float))
        assert moves.max() <= 1
        rng = np.random.default_rng(99)
        again = witness.replay(lambda data: too_hot(data, rng), claim=PureDP(1), draws=6000)
        assert again > 1

    def test_the_same_seed_gives_the_same_report(self):
        reports = [
            audit(too_hot, claim=PureDP(1), extremes=False, draws=1000, seed=5) for _ in range(2)
        ]
        assert reports[0].witness == reports[1].witness

    def test_code_that_uses_the_global_generators_repeats_and_they_are_put_back(self):
        def careless(scores):
            return too_hot(scores, np.random)

        np.random.seed(3)
        before = np.random.random()
        np.random.seed(3)
        reports = [audit(careless, claim=PureDP(1), extremes=False, draws=1000) for _ in range(2)]
        assert reports[0].witness == reports[1].witness
        assert np.random.random() == before

    @pytest.mark.audits
    def test_one_row_that_decides_whether_there_is_an_answer(self):
        report = audit(overflowing, claim=PureDP(1), extremes=False, draws=4000)
        assert report.violated
        assert max(report.witness.first[0], report.witness.second[0]) == 1420
        assert "1,419 or 1,420" in report.witness.name

    @pytest.mark.audits
    def test_odds_that_become_zero_are_seen_in_a_crowd_of_losers(self):
        """One loser among few is too rare to be seen, and many together are not."""

        def cut(scores, rng):
            values = np.array(scores, dtype=float)
            odds = np.exp((values - values.max()) / 2)
            odds[odds < 1e-3] = 0
            return int(rng.choice(len(odds), p=odds / odds.sum()))

        report = audit(cut, claim=PureDP(1), draws=20_000, extremes=False)
        assert report.lower_bound > 2
        assert "200 candidates, a leader by" in report.witness.name

    def test_a_rare_error_whose_text_has_the_scores(self):
        def talkative(scores, rng):
            if rng.random() < 0.05:
                raise RuntimeError(f"try again: {list(scores)[:9]}")
            return int(rng.integers(len(scores)))

        report = audit(talkative, claim=PureDP(1), draws=16_000, extremes=False)
        assert report.lower_bound > 2
        assert report.findings[0].kind == "side channel"

    def test_scores_beyond_what_floats_can_tell_apart(self):
        report = audit(softmax, claim=PureDP(1), draws=8000)
        assert report.violated
        assert "2^60" in report.witness.name or "2^53" in report.witness.name

    @pytest.mark.audits
    def test_noise_that_is_lost_in_rounding(self):
        """The first of those that look equal always wins: the last must be moved to see it."""

        def gumbel(scores, rng):
            return int(np.argmax(np.array(scores, float) + rng.gumbel(scale=2, size=len(scores))))

        report = audit(gumbel, claim=PureDP(1), draws=10_000)
        assert report.violated
        assert "around" in report.witness.name
        assert report.lower_bound > 4

    def test_very_many_candidates_are_two_halves_in_arrays(self):
        world = from_function(softmax, scores=100_000).world
        for pair in world.pairs():
            assert np.abs(pair.first - pair.second).max() == 1
            assert len(pair.first) == 100_000
        assert "100,000 candidates" in world.describe()
        with pytest.raises(ParameterError, match="a whole number with this many candidates"):
            from_function(softmax, scores=100_000, sensitivity=0.5)

    def test_the_wrong_winner(self):
        def smallest(scores, rng):
            return softmax([-float(score) for score in scores], rng)

        report = audit(smallest, claim=PureDP(1), objective="max", extremes=False, draws=2000)
        assert not report.violated
        assert not report.passed
        (finding,) = report.findings
        assert finding.kind == "objective"
        assert "the worst candidate won 60 times in 60" in finding.summary
        assert report.verdict.startswith("The claim stands so far, but: the worst candidate")

    def test_a_nan_that_is_accepted_is_a_hazard(self):
        def greedy(scores, rng):
            return int(np.argmax(np.array(scores, float) + rng.gumbel(scale=2, size=len(scores))))

        report = audit(greedy, claim=PureDP(1), draws=2000)
        assert "NaN is accepted; its candidate won 5 times in 5" in report.hazards

    def test_lists_gaps_and_numbers(self):
        def with_raw_gap(scores, rng):
            best = sorted(map(float, scores))
            return softmax(scores, rng), best[-1] - best[-2]

        report = audit(with_raw_gap, claim=PureDP(1), scores=3, extremes=False, draws=2000)
        assert report.violated

    def test_pairs_of_anything(self):
        def mean(values, rng):
            return float(np.mean(values) + rng.laplace(scale=0.05))

        report = audit(
            mean, claim=PureDP(1), pairs=[("one more", [0.0] * 9, [0.0] * 9 + [1.0])], draws=4000
        )
        assert report.violated
        assert report.witness.name == "one more"

    def test_time(self, monkeypatch):
        now = 0

        def slow_on_ties(scores, rng):
            nonlocal now
            now += rng.integers(1000, 2000) + 2000 * (len(set(map(int, scores))) == 1)
            return softmax(scores, rng)

        monkeypatch.setattr(auditor, "time_calls", partial(time_calls, clock=lambda: now))

        pairs = [([1, 1, 1, 1], [2, 1, 1, 1])]
        report = audit(slow_on_ties, claim=PureDP(1), pairs=pairs, draws=1000, timing=300)
        (finding,) = [each for each in report.findings if each.kind == "time"]
        assert "the running time alone has epsilon" in finding.summary
        assert not report.violated

    @pytest.mark.parametrize(("claim", "draws"), [(0.25, 3000), more(1, 10_000, tier="audits")])
    def test_opendp_and_diffprivlib_are_told_by_their_adapters(self, claim, draws):
        random = np.random.default_rng(7)

        class Measurement:
            def __call__(self, scores):
                assert all(type(score) is int for score in scores)
                return int(np.argmax(np.array(scores) + random.laplace(size=len(scores))))

        class Mechanism:
            def __init__(self, scores):
                self.scores = scores

            def randomise(self):
                return int(np.argmax(np.array(self.scores, float) + random.laplace(size=8)))

        for subject in (
            from_opendp(Measurement(), claim=PureDP(claim)),
            from_diffprivlib(Mechanism, claim=PureDP(claim)),
        ):
            assert audit(subject, draws=draws).violated


class TestFalseAlarms:
    """The promise: among audits of correct code, at most 1 - confidence are violated."""

    @pytest.mark.audits
    def test_tight_code_is_not_called_violated(self):
        """Randomized response whose loss is exactly the claim, the worst case for a false alarm:
        at confidence 0.9 at most a tenth of 100 audits may be wrong; more than 25 have a
        chance below 1e-5.
        """
        share = math.e / (1 + math.e)

        def response(bit, rng):
            return bit if rng.random() < share else 1 - bit

        wrong = sum(
            audit(
                response, claim=PureDP(1), pairs=[(0, 1)], draws=1000, confidence=0.9, seed=seed
            ).violated
            for seed in range(100)
        )
        assert wrong <= 25

    def test_the_same_alarm_does_ring_if_the_claim_is_a_little_too_small(self):
        """Power: the audit above is not silent because it never rings."""
        share = math.e / (1 + math.e)

        def response(bit, rng):
            return bit if rng.random() < share else 1 - bit

        found = [
            audit(
                response, claim=PureDP(0.7), pairs=[(0, 1)], draws=4000, confidence=0.9, seed=seed
            ).violated
            for seed in range(10)
        ]
        assert all(found)

    @pytest.mark.parametrize("claim", [PureDP(1), more(BoundedRange(1), tier="audits")], ids=repr)
    def test_a_correct_function(self, claim):
        assert audit(softmax, claim=claim, extremes=False, draws=4000).passed


class TestPower:
    def test_what_is_promised_is_found(self):
        """The stated loss at an event of probability one half, planted: found 9 times in 10.
        Of 20 audits fewer than 13 have a chance below 1e-4.
        """
        runs, alpha = 3000, 0.01
        loss = found_nine_times_in_ten(Claim(PureDP(1)), runs, alpha, 0.5)
        assert 1 < loss < 1.6
        rare = 0.5 * math.exp(-loss)
        source, found = np.random.default_rng(1), 0
        for _ in range(20):
            counts = EventCounts(
                int(source.binomial(runs, 0.5)), runs, int(source.binomial(runs, rare)), runs
            )
            found += Claim(PureDP(1)).certified([counts], alpha) > 1
        assert found >= 13


@pytest.fixture(scope="module")
def report():
    return audit(too_hot, claim=PureDP(1), extremes=False, draws=6000)


class TestReport:
    def test_json(self, report):
        fields = json.loads(report.to_json())
        assert fields["violated"] is True
        assert fields["claim"] == {"kind": "pure-dp", "epsilon": "1"}
        assert fields["witness"]["counts"][0]["first"][1] > 1000
        assert [way["how"] for way in fields["tried"]] == ["draws"]
        assert len(fields["power"]) == 3

    def test_html_escapes_what_it_shows(self, report):
        from dataclasses import replace

        shown = replace(report, subject="<script>")._repr_html_()
        assert "&lt;script&gt;" in shown
        assert "<script>" not in shown
        assert "Violated: epsilon is at least" in shown


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "value", "rule"),
        [
            ("draws", 10, "at least 1000"),
            ("scores", 1, "at least 2"),
            ("confidence", 1, "between 0 and 1"),
            ("pairs", [], "at least one"),
            ("pairs", [(1,)], "pairs of neighbouring inputs"),
            ("sensitivity", 0, "greater than 0"),
        ],
    )
    def test_public_mistakes(self, name, value, rule):
        with pytest.raises(ParameterError, match=f"'{name}' parameter of audit must be .*{rule}"):
            audit(softmax, claim=PureDP(1), **{name: value})


class TestVerdicts:
    """Correct code in floats and code that is wrong everywhere read differently."""

    @staticmethod
    def _report(code):
        report = audit(code, claim=PureDP(1), scores=3, draws=8000, seed=3)
        assert [verdict.scores for verdict in report.verdicts] == ["ordinary", "extreme"]
        return report

    def test_a_correct_softmax_fails_at_extreme_scores_only(self):
        report = self._report(softmax)
        ordinary, extreme = report.verdicts
        assert (ordinary.violated, extreme.violated) == (False, True)
        assert ordinary.lower_bound <= 1 < extreme.lower_bound == report.lower_bound
        assert ordinary.sentence.startswith("Nothing found: epsilon is at least")
        assert report.verdict.startswith("Violated at extreme scores only: epsilon is at least")
        assert not ordinary.witness.extreme
        assert extreme.witness.extreme
        assert "extremes=False" in extreme.advice

    def test_a_missing_factor_two_fails_at_ordinary_scores(self):
        report = self._report(too_hot)
        ordinary, extreme = report.verdicts
        assert (ordinary.violated, extreme.violated) == (True, True)
        assert report.witness is ordinary.witness
        assert report.lower_bound < extreme.lower_bound
        assert report.verdict == ordinary.sentence
        assert "2 * sensitivity / epsilon" in ordinary.advice
        text = str(report)
        assert text.index("Ordinary scores: ") < text.index("Extreme scores: ")
        assert all(each.meaning in text and each.advice in text for each in report.verdicts)

    def test_what_was_not_tried_says_so(self, report):
        extreme = report.verdicts[1]
        assert (extreme.tried, extreme.violated, extreme.witness) == (False, False, None)
        assert extreme.sentence == "Not tried."

    def test_json_has_both(self, report):
        told = json.loads(report.to_json())["verdicts"]
        assert [verdict["scores"] for verdict in told] == ["ordinary", "extreme"]
        assert all({"sentence", "meaning", "advice"} <= verdict.keys() for verdict in told)

    def test_all_statements_share_the_error(self):
        """Two searches have twice as many finalists, so each may be wrong half as often."""
        task = auditor.Task(
            subject=from_function(softmax),
            claim=Claim(PureDP(1)),
            draws=1000,
            alpha=0.001,
            timing=0,
            seed=0,
            progress=lambda share: None,
        )
        alone = task._each
        task.searches = 2
        assert task._each == alone / 2
