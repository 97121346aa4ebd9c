"""What the auditor's confidence rests on: bounds, factors, and draws that were not looked at."""

import math
import random
from fractions import Fraction
from itertools import product

import pytest
from flint import arb, ctx
from tiers import loop_over, more

from discreet import ZCDP, ApproxDP, BoundedRange, PureDP
from discreet.accounting import LogisticDP
from discreet.auditing import claims
from discreet.auditing.audited_code import AuditedCode
from discreet.auditing.black_box import Draws, SearchedPair, certify
from discreet.auditing.claims import Claim, EventCounts, lower_bound, upper_bound
from discreet.auditing.event_search import Found
from discreet.auditing.events import Event, Outcome
from discreet.auditing.joint_bound import product_level
from discreet.auditing.neighbours import GivenPairs, Pair


def binomial(hits, runs, share):
    return math.comb(runs, hits) * share**hits * (1 - share) ** (runs - hits)


@loop_over("runs", [1, 7, 40])
@loop_over("share", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10)])
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


@pytest.mark.parametrize("runs", [5, 60])
def test_closed_forms_where_floats_guess_wrong(runs, monkeypatch):
    """Then only certain answers lead to the bound."""
    alpha, certain = 0.01, lower_bound.__wrapped__
    monkeypatch.setattr(claims, "_share_with_tail", lambda *_: 1.0)
    assert certain(runs, runs, alpha) == pytest.approx(alpha ** (1 / runs), rel=1e-5)
    assert certain(1, runs, alpha) == pytest.approx(1 - (1 - alpha) ** (1 / runs), rel=1e-4)


@loop_over(("hits", "runs"), [(1, 5), (5, 5), (3, 60), (900, 1500), (1499, 1500), (40, 100_000)])
@loop_over("alpha", [1e-12, 0.001, 0.4, 0.999])
def test_bounds_by_another_road(hits, runs, alpha):
    """The tail of a binomial variable is an incomplete beta function."""
    bound = lower_bound(hits, runs, alpha)

    def tail(share):
        return float(arb(share).beta_lower(arb(hits), arb(runs - hits + 1), 1))

    assert tail(bound) <= alpha
    # a share above the number of hits is not looked for
    farther = min(bound + 2e-4 * min(bound, 1 - bound), 1.0)
    assert tail(farther) > alpha or farther * runs > hits


@pytest.mark.parametrize(
    ("hits", "runs", "alpha"),
    [(99_999, 100_000, 3.2165671218881925e-09), (1, 7, 2.2521662838008237e-96)],
)
def test_upper_bounds_that_are_close_to_1_are_rounded_up(hits, runs, alpha):
    """The tail beyond them, by an incomplete beta function with many digits."""
    bound = upper_bound(hits, runs, alpha)
    with ctx.workprec(300):
        tail = (1 - arb(bound)).beta_lower(arb(runs - hits), arb(hits + 1), 1)
        assert tail < arb(alpha)


@pytest.mark.parametrize(
    ("hits", "eighths"), [(3750, 4), (1, 1), (500, 1), (9990, 7), (10_000, 7), (2000, 1), (40, 3)]
)
def test_a_tail_is_below_its_bound(hits, eighths):
    """Added up in whole numbers, also where the bound does not add up all of it."""
    runs = 10_000
    ways, total = math.comb(runs, hits) * eighths**hits * (8 - eighths) ** (runs - hits), 0
    first = term = ways
    for later in range(hits, runs + 1):
        total += term
        term = term * eighths * (runs - later) // ((8 - eighths) * (later + 1))
    bound = claims._tail_over_first(hits, runs, eighths / 8)
    assert bound == math.inf or Fraction(total, first) <= Fraction(bound)
    # so close that one term more or less would show
    assert hits * 8 < runs * eighths or bound <= float(Fraction(total, first)) * (1 + 1e-9)


@pytest.mark.parametrize("claim", [PureDP(1), ApproxDP(1, 0.1), LogisticDP(1), ZCDP(1)], ids=repr)
@pytest.mark.parametrize("runs", [more((12, 12)), (5, 14)])
def test_joint_coverage_by_adding_up_all_pairs_of_counts(claim, runs):
    """The chance of a number above the truth, exactly, at most alpha; and not far below it
    somewhere, so that a wrong factor would show.
    """
    alpha, claim = 0.1, Claim(claim)
    bounds = {
        (first, second): claim.certified([EventCounts(first, runs[0], second, runs[1])], alpha)
        for first in range(runs[0] + 1)
        for second in range(runs[1] + 1)
    }
    shares = (0.02, 0.1, 0.35, 0.6, 0.9, 0.99)
    worst = 0.0
    for likely, rare in product(shares, shares):
        truth = max(0.0, claim.from_bounds(likely, rare))
        worst = max(
            worst,
            sum(
                binomial(first, runs[0], likely) * binomial(second, runs[1], rare)
                for (first, second), bound in bounds.items()
                if bound > truth
            ),
        )
    assert 0.02 < worst <= alpha


def test_the_joint_bound_is_the_least_on_a_fine_grid():
    """By brute force over all ways to split the product of the two chances."""
    counts, alpha = EventCounts(400, 1000, 100, 1000), 0.02
    level = product_level(alpha)
    least = min(
        math.log(lower_bound(400, 1000, level**part) / upper_bound(100, 1000, level ** (1 - part)))
        for part in (place / 100 for place in range(1, 100))
    )
    found = Claim(PureDP(1)).certified([counts], alpha)
    assert least - 0.01 < found <= least
    # two bounds, each false half as often, are wider
    assert found > math.log(lower_bound(400, 1000, 0.01) / upper_bound(100, 1000, 0.01)) + 0.01


def test_a_product_of_two_uniform_numbers_is_small_as_often_as_stated():
    """By adding up the area under u v = c in thin strips."""
    for alpha in (0.3, 0.01, 1e-4):
        level = product_level(alpha)
        strips = 200_000
        area = sum(min(1.0, level * strips / (place + 0.5)) for place in range(strips)) / strips
        assert area == pytest.approx(alpha, rel=2e-3)


def test_two_events_of_the_same_samples_share_the_error():
    """They are not independent: each may be false half as often."""
    counts = [EventCounts(400, 1000, 100, 1000), EventCounts(100, 1000, 500, 1000)]
    claim = Claim(BoundedRange(1))
    parts = [claim.certified([each], 0.01) for each in (counts[0], counts[1].swapped())]
    assert claim.certified(counts, 0.02) == pytest.approx(sum(parts))


def test_delta_is_taken_from_the_likelier_side():
    counts = EventCounts(600, 1000, 100, 1000)
    bound = Claim(ApproxDP(1, 0.25)).certified([counts], 0.02)
    likely, rare = lower_bound(600, 1000, 0.01) - 0.25, upper_bound(100, 1000, 0.01)
    assert math.log(likely / rare) < bound < math.log((0.6 - 0.25) / 0.1)


def make_run(seed):
    source = random.Random(seed)
    return lambda data: int(source.random() < data)


PAIR = Pair("two coins", 0.8, 0.4)
SUBJECT = AuditedCode(name="a coin", make_run=make_run, world=GivenPairs(given=(PAIR,)))


def finalist():
    """One whose search saw more than there is: never 1 with the second."""
    seen = [Outcome(1, "int")] * 50, [Outcome(0, "int")] * 50
    return SearchedPair(PAIR, *seen, Found((Event("answer", frozenset({1})),), False, 1.0))


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
        Claim(PureDP(1)).certified(proof.counts, alpha)
        for proof, alpha in zip(proofs, (0.8 * 0.02, 0.2 * 0.02), strict=True)
    ]
    assert sum(proof.alpha for proof in proofs) == pytest.approx(0.02)


def test_no_draws_in_common():
    draws = Draws(SUBJECT, 3, lambda runs: None)
    coins = Pair("one coin", 0.5, 0.5)
    samples = [side for _ in range(2) for side in draws.sample(coins, 64)]
    assert len({tuple(outcome.answer for outcome in side) for side in samples}) == 4
