"""What the auditor's confidence rests on: bounds, factors, and draws that were not looked at."""

import math
import random
from fractions import Fraction

import pytest

from discreet import ApproxDP, PureDP
from discreet.auditing.black_box import Candidate, Draws, certify
from discreet.auditing.claims import Claim, Counts, lower_bound, upper_bound
from discreet.auditing.event_search import Found
from discreet.auditing.events import Event, Outcome
from discreet.auditing.neighbours import GivenPairs, Pair
from discreet.auditing.subject import Subject


def binomial(hits, runs, share):
    return math.comb(runs, hits) * share**hits * (1 - share) ** (runs - hits)


@pytest.mark.parametrize("runs", [1, 7, 40])
@pytest.mark.parametrize("share", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10)])
def test_coverage_by_adding_up_all_counts(runs, share):
    """The chance of a bound on the wrong side of the truth, exactly: at most alpha."""
    alpha = 0.05
    too_high = sum(
        binomial(hits, runs, share)
        for hits in range(runs + 1)
        if lower_bound(hits, runs, alpha) > share
    )
    too_low = sum(
        binomial(hits, runs, share)
        for hits in range(runs + 1)
        if upper_bound(hits, runs, alpha) < share
    )
    assert too_high <= Fraction(alpha)
    assert too_low <= Fraction(alpha)


@pytest.mark.parametrize("runs", [5, 60, 2000])
def test_closed_forms_at_the_ends(runs):
    """All hits: alpha^(1/n). No hit: 1 - alpha^(1/n). One hit: (1 - p)^n = 1 - alpha."""
    alpha = 0.01
    assert lower_bound(runs, runs, alpha) == pytest.approx(alpha ** (1 / runs), rel=1e-5)
    assert upper_bound(0, runs, alpha) == pytest.approx(1 - alpha ** (1 / runs), rel=1e-5)
    assert lower_bound(1, runs, alpha) == pytest.approx(1 - (1 - alpha) ** (1 / runs), rel=1e-4)


def test_a_factor_for_each_of_the_two_bounds():
    counts = Counts(400, 1000, 100, 1000)
    bound = Claim(PureDP(1)).certified([counts], 0.02)
    assert bound == math.log(lower_bound(400, 1000, 0.01) / upper_bound(100, 1000, 0.01))


def test_delta_is_taken_from_the_likelier_side():
    counts = Counts(400, 1000, 100, 1000)
    bound = Claim(ApproxDP(1, 0.25)).certified([counts], 0.02)
    likely = lower_bound(400, 1000, 0.01) - 0.25
    assert bound == max(0.0, math.log(likely / upper_bound(100, 1000, 0.01)))


def make_run(seed):
    source = random.Random(seed)
    return lambda data: int(source.random() < data)


PAIR = Pair("two coins", 0.8, 0.4)
SUBJECT = Subject(name="a coin", make_run=make_run, world=GivenPairs(given=(PAIR,)))


def finalist():
    """One whose search saw more than there is: never 1 with the second."""
    seen = [Outcome(1, "int")] * 50, [Outcome(0, "int")] * 50
    return Candidate(PAIR, *seen, Found((Event("answer", frozenset({1})),), False, 1.0))


def test_the_proof_has_draws_that_the_search_has_not_seen():
    (certified,) = certify(
        Claim(PureDP(1)), [finalist()], Draws(SUBJECT, 3, lambda runs: None), 4000, 0.01
    )
    assert certified.counts[0].first_runs == 2000
    assert certified.counts[0].second > 500
    assert certified.bound < math.log(2)


def test_each_finalist_has_its_part_of_the_error():
    proofs = list(
        certify(
            Claim(PureDP(1)),
            [finalist(), finalist()],
            Draws(SUBJECT, 3, lambda runs: None),
            4000,
            0.02,
        )
    )
    assert [proof.bound for proof in proofs] == [
        Claim(PureDP(1)).certified(proof.counts, 0.01) for proof in proofs
    ]


def test_no_draws_in_common():
    draws = Draws(SUBJECT, 3, lambda runs: None)
    coins = Pair("one coin", 0.5, 0.5)
    samples = [side for _ in range(2) for side in draws.sample(coins, 64)]
    assert len({tuple(outcome.answer for outcome in side) for side in samples}) == 4
