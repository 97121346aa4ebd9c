"""plan and queries_allowed: the published tables, rounded down, and bad input by name."""

import math
from fractions import Fraction
from functools import cache

import pytest
from reference import composition as reference
from tiers import loop_over, more

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, PureDP, compose, plan, queries_allowed
from discreet.accounting import planner, queries_by_analysis
from discreet.accounting.two_point import Bracket
from discreet.exact.rationals import readable

NON_ADAPTIVE = "bounded-range-non-adaptive"
ADAPTIVE = "bounded-range-adaptive"
PAIRS = "dominating-pairs"


# budget, queries, and the epsilon of each query by: kov, non-adaptive, adaptive, rdp, zcdp.
# The adaptive numbers come from a coarse grid: the truth is between them and the
# non-adaptive ones.
_TABLE = """
1   1e-06  1    1.000001367880 1.001591488873 1.00159149 1.00159149 -
1   1e-06  2    0.500001290471 0.508143432271 -          0.50814343 -
1   1e-06  5    0.200003979903 0.232834727663 -          0.23278965 -  sizes
1   1e-06  10   0.100062890631 0.154964975083 0.15330271 0.14980139 0.13960677
1   1e-06  20   0.056950119628 0.107401929637 0.10670247 0.10202573 0.09871021  sizes
1   1e-06  50   0.034365268961 0.067293521392 0.06705671 0.06322905 0.06242729  sizes
1   1e-06  100  0.024011080397 0.047461275317 0.04729555 0.04442159 0.04414216  sizes
0.5 1e-05  10   0.050800066301 0.090868683111 0.09040942 0.08674816 0.08249283  sizes
3   1e-09  10   0.300000025558 0.357540268384 0.35732740 0.35719561 0.31079778  sizes
3   1e-09  100  0.052942597871 0.103635422926 0.10324932 0.09932129 0.09822366  sizes
"""


def _published(line):
    epsilon, delta, queries, *epsilons, tier = (line + " everyday").split()[:9]
    found = [None if text == "-" else text for text in epsilons]
    case = ApproxDP(Fraction(epsilon), Fraction(delta)), int(queries), *found
    return more(*case) if tier == "sizes" else case


PUBLISHED = [_published(line) for line in _TABLE.strip().splitlines()]


@cache
def planned(queries, budget, kind=BoundedRange, adaptive=True):
    return plan(queries=queries, budget=budget, kind=kind, adaptive=adaptive)


@pytest.mark.parametrize(
    ("budget", "queries", "kov", "non_adaptive", "adaptive", "rdp", "zcdp"),
    PUBLISHED,
    ids=lambda value: repr(value)[:40],
)
def test_published_epsilons_of_each_query(budget, queries, kov, non_adaptive, adaptive, rdp, zcdp):
    found = planned(queries, budget)
    expected = {"kov": kov, NON_ADAPTIVE: non_adaptive, "rdp": rdp, "zcdp": zcdp}
    for name, text in expected.items():
        if text is not None:
            last_digit = Fraction(1, 10 ** len(text.split(".")[1]))
            assert abs(found.alternatives[name] - Fraction(text)) <= max(
                last_digit, Fraction(text) / 10**9
            ), name
    assert found.alternatives["basic"] == budget.epsilon / queries
    assert (
        found.alternatives[ADAPTIVE] is None
        or found.alternatives[ADAPTIVE] <= found.alternatives[NON_ADAPTIVE]
    )
    if adaptive is not None:
        assert found.alternatives[ADAPTIVE] >= Fraction(adaptive) * Fraction(998, 1000)
    assert found.epsilon == max(
        value for name, value in found.alternatives.items() if name != NON_ADAPTIVE and value
    )


@pytest.mark.parametrize(
    ("budget", "queries"),
    [case[:2] for case in PUBLISHED if len(case) == 7 and case[1] <= 50],
    ids=repr,
)
def test_epsilons_are_never_above_the_exact_optimum(budget, queries):
    found = planned(queries, budget).alternatives
    delta = reference.real(budget.delta)
    assert reference.non_adaptive_delta(found[NON_ADAPTIVE], queries, budget.epsilon) <= delta
    assert reference.kov_delta(found["kov"], queries, budget.epsilon) <= delta
    more = 1 + Fraction(1, 10**8)
    assert reference.non_adaptive_delta(found[NON_ADAPTIVE] * more, queries, budget.epsilon) > delta
    assert reference.kov_delta(found["kov"] * more, queries, budget.epsilon) > delta


@pytest.mark.parametrize(("epsilon", "queries"), [(1, 2), (1, 3), (Fraction(1, 2), 2)])
@pytest.mark.parametrize("delta", [0.1, more(0.01)])
def test_adaptive_epsilons_are_never_above_nested_searches(epsilon, queries, delta):
    found = planned(queries, ApproxDP(epsilon, delta))
    assert reference.adaptive_delta((float(found.epsilon),) * queries, float(epsilon)) <= delta * (
        1 + 1e-9
    )


@loop_over("adaptive", [True, False])
@loop_over("kind", [BoundedRange, PureDP])
@pytest.mark.parametrize("queries", [1, more(2), more(5)])
@loop_over(
    "budget",
    [
        *(ApproxDP(0.1, 0.5), ApproxDP(1, 0.9), ApproxDP(1, 1e-6), ApproxDP(3, 0.01)),
        *(ApproxDP(20, 1e-9), ZCDP(0.5), PureDP(Fraction(1, 3))),
    ],
    ids=repr,
)
def test_what_was_planned_is_allowed(budget, queries, kind, adaptive):
    """At (0.1, 0.5) a single query was planned with an epsilon of which none was allowed."""
    each = planned(queries, budget, kind, adaptive).loss
    assert queries_allowed(each=each, budget=budget, adaptive=adaptive) >= queries


class _Fixed:
    """A curve that says the same delta everywhere."""

    def __init__(self, high):
        self.high = high

    def delta(self, epsilon):
        return Bracket(0.0, self.high)


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_an_adaptive_plan_is_accepted_by_an_exact_comparison(monkeypatch, steps):
    """1e-5 is below its nearest float, and the logarithm of that float over itself is 0."""
    budget, nearest = ApproxDP(1, 1e-5), 1e-5
    assert Fraction(nearest) > budget.delta
    high = nearest if not steps else math.nextafter(nearest, steps)
    monkeypatch.setattr(planner.grid, "curve_for", lambda *_asked, lower: _Fixed(high))
    found = planner._plan_adaptive(5, budget, BoundedRange)
    assert (found is not None) == (Fraction(high) <= budget.delta)


def test_a_plan_by_blocks_is_one_that_was_looked_at(monkeypatch):
    """Whatever dominating pairs say: what is planned is what they said it of."""
    budget, reached = ApproxDP(1, 1e-6), {}

    def by_pairs(each, queries, budget):
        reached[each.epsilon] = budget.delta * (each.epsilon / Fraction(26, 1000)) ** 20
        return reached[each.epsilon]

    monkeypatch.setattr(planner, "_by_pairs", by_pairs)
    found = planner._plan_by_blocks(321, budget, BoundedRange)
    assert reached[found] <= budget.delta


@pytest.mark.parametrize("kind", [BoundedRange, more(PureDP)])
@pytest.mark.parametrize(
    "budget",
    [
        ApproxDP(1, 1e-6),
        ApproxDP(Fraction(1, 3), 1e-5),
        ZCDP(Fraction(1, 7)),
        PureDP(Fraction(1, 3)),
    ],
    ids=repr,
)
def test_every_epsilon_is_a_decimal_that_prints_as_it_is(budget, kind):
    found = planned(7, budget, kind)
    for value in [found.epsilon, *(value for value in found.alternatives.values() if value)]:
        assert Fraction(repr(float(value))) == value
        assert Fraction(str(eval(readable(value)))) == value
    assert eval(repr(found.loss)) == found.loss == kind(found.epsilon)
    assert (
        repr(found)
        == f"Plan(loss={found.loss!r}, method={found.method!r}, queries=7, budget={found.budget!r})"
    )


@loop_over("kind", [BoundedRange, PureDP])
@loop_over("budget", [PureDP(1), ApproxDP(1, 0)], ids=repr)
@loop_over("queries", [1, 4, 10**6, 10**18])
def test_a_pure_budget_is_shared_out(kind, budget, queries):
    found = plan(queries=queries, budget=budget, kind=kind)
    assert (found.loss, found.method) == (kind(Fraction(1, queries)), "basic")


def test_a_pure_budget_is_rounded_down():
    found = plan(queries=3, budget=PureDP(1))
    assert found.epsilon == Fraction("0.333333333333333")


@pytest.mark.parametrize("kind", [BoundedRange, PureDP])
@pytest.mark.parametrize("queries", [1, 10, 10**6])
def test_a_concentrated_budget_is_shared_out(kind, queries):
    found = plan(queries=queries, budget=ZCDP(Fraction(1, 2)), kind=kind)
    assert found.method == "zcdp"
    assert found.loss.to_zcdp().rho * queries <= Fraction(1, 2)
    assert kind(found.epsilon * Fraction(10**9 + 1, 10**9)).to_zcdp().rho * queries > Fraction(1, 2)


# Max queries at epsilon 1, delta 1e-6; weights e^(epsilon q) are pure DP of epsilon where
# scores are monotonic, else 2 epsilon
COUNTS = [
    (BoundedRange(0.2), {"basic": 5, "kov": 5, "rdp": 6, NON_ADAPTIVE: 6}),
    (
        BoundedRange(0.1),
        {"basic": 10, "kov": 10, "zcdp": 19, "rdp": 20, NON_ADAPTIVE: 22, ADAPTIVE: 22},
    ),
    (
        BoundedRange(0.05),
        {"basic": 20, "kov": 26, "zcdp": 77, "rdp": 79, NON_ADAPTIVE: 90, ADAPTIVE: 89},
    ),
    (PureDP(0.4), {"basic": 2, "kov": 2}),
    (PureDP(0.2), {"basic": 5, "kov": 5}),
    (PureDP(0.1), {"basic": 10, "kov": 10}),
    (PureDP(0.04), {"basic": 25, "kov": 37}),
    (PureDP(0.02), {"basic": 50, "kov": 142}),
    (BoundedRange(0.02), {"basic": 50, "kov": 142, "rdp": 488, NON_ADAPTIVE: 560}),
    (BoundedRange(0.01), {"basic": 100, "kov": 562, "zcdp": 1948, "rdp": 1949, NON_ADAPTIVE: 2241}),
]


@cache
def counted(each, budget):
    return queries_by_analysis(each=each, budget=budget)


@loop_over(("each", "expected"), COUNTS, usual=8)
def test_published_numbers_of_queries(each, expected):
    found = counted(each, ApproxDP(1, 1e-6))
    assert {name: found[name] for name in expected} == expected
    adaptive = found[ADAPTIVE]
    if isinstance(each, BoundedRange):
        assert adaptive is None or adaptive <= found[NON_ADAPTIVE]
    else:
        assert adaptive is None is found[NON_ADAPTIVE]


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (PureDP(0.2), {"kov": 15}),
        more(BoundedRange(0.1), {"kov": 46, NON_ADAPTIVE: 168, ADAPTIVE: 167}),
        (PureDP(0.02), {"kov": 1052}),
    ],
    ids=repr,
)
def test_published_numbers_of_queries_of_a_larger_budget(each, expected):
    found = counted(each, ApproxDP(3, 1e-6))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.sizes
def test_sixteen_times_as_many_queries_in_the_limit():
    most = queries_allowed(each=BoundedRange(0.01), budget=ApproxDP(3, 1e-6), adaptive=False)
    assert most == pytest.approx(
        16782, abs=8
    )  # the certificate of very many queries leaves 4e-4 of delta
    assert most <= 16782


@loop_over("adaptive", [True, False])
@loop_over(
    ("each", "budget", "expected"),
    [
        (PureDP(0.1), PureDP(1), 10),
        (BoundedRange(0.3), PureDP(1), 3),
        (PureDP(2), PureDP(1), 0),
        (PureDP(0.1), ApproxDP(1, 0), 10),
        (ZCDP(0.1), ZCDP(1), 10),
        (ZCDP(2), ZCDP(1), 0),
        (ZCDP(0.01), ApproxDP(1, 1e-6), 2),
        (ZCDP(1), ApproxDP(1, 1e-6), 0),
        (ApproxDP(0.1, 1e-7), ApproxDP(1, 1e-6), 10),
        (ApproxDP(0.1, 1e-6), ApproxDP(1, 1e-6), 1),
        (ApproxDP(0.1, 2e-6), ApproxDP(1, 1e-6), 0),
        (PureDP(1e-18), PureDP(1), 10**18),
    ],
    ids=repr,
)
def test_other_kinds_of_loss_and_budget(each, budget, expected, adaptive):
    assert queries_allowed(each=each, budget=budget, adaptive=adaptive) == expected


@pytest.mark.parametrize("budget", [ZCDP(1), PureDP(1), ApproxDP(1, 0)], ids=repr)
def test_a_budget_without_delta_has_no_room_for_losses_with_one(budget):
    # (epsilon, delta) does not imply concentrated or pure DP, however small delta is
    with pytest.raises(
        discreet.ParameterError, match="The 'each' parameter of queries_allowed must be"
    ):
        queries_allowed(each=ApproxDP(0.1, 1e-9), budget=budget)


@loop_over(
    "budget",
    [
        ApproxDP(1e-9, 1e-6),
        ApproxDP(10, 1e-6),
        ApproxDP(10, 1e-30),
        ApproxDP(1000, 1e-6),
        ApproxDP(3000, 1e-6),
        ApproxDP(1, 0.999),
        ApproxDP(1, 1 - 1e-15),
        ApproxDP(1, 1e-300),
        ApproxDP(1, 1e-320),
        ApproxDP(1, Fraction(1, 10**400)),
        ApproxDP(1e-9, 1e-300),
        ZCDP(1e-12),
        ZCDP(1000),
        PureDP(1e-9),
        PureDP(10**400),
    ],
    usual=8,
)
@pytest.mark.parametrize("kind", [BoundedRange, more(PureDP)])
@pytest.mark.parametrize("queries", [more(1), 2, more(5)])
def test_extreme_budgets_have_a_plan(budget, kind, queries):
    for adaptive in (True, False):
        found = plan(queries=queries, budget=budget, kind=kind, adaptive=adaptive)
        if isinstance(budget, ZCDP):
            assert found.loss.to_zcdp().rho * queries <= budget.rho
        else:
            assert found.epsilon >= budget.epsilon / queries * (1 - Fraction(1, 10**14))
        if isinstance(budget, ApproxDP) and kind is BoundedRange and budget.epsilon <= 100:
            true = reference.non_adaptive_delta(found.epsilon, queries, budget.epsilon)
            assert true <= reference.real(budget.delta)


@pytest.mark.parametrize(
    ("each", "budget"),
    [
        (BoundedRange(1000), ApproxDP(1, 1e-6)),
        (BoundedRange(0.1), ApproxDP(1e-9, 1e-6)),
        (PureDP(10**400), ApproxDP(1, 1e-6)),
        (ZCDP(1000), ApproxDP(1, 1e-6)),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_too_large_fits_no_time(each, budget):
    assert queries_allowed(each=each, budget=budget) == 0


@pytest.mark.parametrize(
    "each", [more(BoundedRange(10)), more(PureDP(10)), more(ZCDP(0.5)), BoundedRange(200)], ids=repr
)
def test_a_large_budget_counts(each):
    budget = ApproxDP(1000, 1e-6)
    most = queries_allowed(each=each, budget=budget)
    assert most >= (1000 // each.epsilon if hasattr(each, "epsilon") else 1)
    assert compose({each: most}, epsilon=budget.epsilon).delta <= budget.delta


def test_what_is_remembered_cannot_be_changed_by_a_caller():
    asked = {"each": BoundedRange(0.1), "budget": ApproxDP(1, 1e-6)}
    counts, made = queries_by_analysis(**asked), planned(5, ApproxDP(1, 1e-6))
    queries_by_analysis(**asked)["basic"] = 10**9
    plan(queries=5, budget=ApproxDP(1, 1e-6)).alternatives["basic"] = Fraction(1)
    assert queries_by_analysis(**asked) == counts
    assert plan(queries=5, budget=ApproxDP(1, 1e-6)) == made


def test_a_start_that_is_far_too_small_takes_few_looks():
    looks = 0

    def good(epsilon):
        nonlocal looks
        looks += 1
        return epsilon <= Fraction(1, 10**9)

    found = planner._largest(good, Fraction(1, 10**999))
    assert Fraction(999, 10**12) < found <= Fraction(1, 10**9)
    assert looks < 100
