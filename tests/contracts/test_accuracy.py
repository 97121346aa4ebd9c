"""Bounds of accuracy hold for the exact laws, on worst cases and on all small score vectors; one
that is much smaller does not; and no bound depends on data.
"""

import itertools
import math
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pandas
import pytest
from asking import ask_of
from tiers import also

import discreet
from discreet import ParameterError, Person, PureDP, Release, Session
from discreet.accounting import LogisticDP
from discreet.accuracy import Accuracy, shown_bound, whole_bound
from discreet.mechanisms import JointTopK, PeelingTopK, UnknownDomainTopK
from discreet.mechanisms.error_bounds import split_error
from discreet.mechanisms.grid import Cells
from discreet.mechanisms.quantiles import OneQuantile, range_of_errors
from discreet.mechanisms.selection import mechanism_class
from discreet.questions import QUESTIONS as CLASSES
from discreet.questions import BestPrice, Counts, Mode, Select, TopK
from discreet.testing import SeededBits

FAILURES = [Fraction(1, 100), Fraction(1, 20), Fraction(1, 4)]


def behind(scores):
    return max(scores) - np.asarray(scores, dtype=float)


def worst_scores(candidates, bound):
    """All others just beyond the bound, and farther."""
    return [
        [0.0, *[-(bound * factor)] * (candidates - 1)] for factor in (1.0001, 1.01, 1.2, 1.5, 3)
    ]


@pytest.mark.parametrize("name", ["permute-and-flip", "exponential", "laplace-noise"])
@pytest.mark.parametrize("candidates", [2, *also(3, 10), 200])
@pytest.mark.parametrize("failure", [FAILURES[0], *also(*FAILURES[1:])])
def test_a_winner_is_within_its_bound_in_the_worst_case(name, candidates, failure):
    mechanism = mechanism_class(name)(epsilon=Fraction(1, 2), sensitivity=1, monotonic=True)
    told = mechanism.accuracy(candidates=candidates, failure_probability=failure)
    for scores in worst_scores(candidates, told.bound):
        far = mechanism.probabilities(scores)[1:].sum()
        assert far <= failure


@pytest.mark.parametrize("name", ["permute-and-flip", "exponential", "laplace-noise"])
def test_all_small_score_vectors(name):
    mechanism = mechanism_class(name)(epsilon=1, sensitivity=1, monotonic=True)
    bound = mechanism.accuracy(candidates=3).bound
    for scores in itertools.product(range(9), repeat=3):
        probabilities = mechanism.probabilities(scores)
        assert probabilities[behind(scores) > bound].sum() <= 1 / 20
        # whole numbers beyond the rounded bound are beyond the bound
        assert probabilities[behind(scores) > whole_bound(bound)].sum() <= 1 / 20


def excess_of_list(scores, ranking):
    """How far one that is left out is ahead of one that is listed."""
    left = [score for place, score in enumerate(scores) if place not in ranking]
    return max(left, default=-math.inf) - min(scores[place] for place in ranking)


def excess_of_places(scores, ranking):
    ordered = sorted(scores, reverse=True)
    return max(ordered[place] - scores[each] for place, each in enumerate(ranking))


LISTS = {"list": excess_of_list, "places": excess_of_places}


def list_mechanisms():
    words = {"k": 2, "epsilon": 3, "sensitivity": 1, "monotonic": True}
    return [
        PeelingTopK(**words),
        PeelingTopK(**words, mechanism="exponential"),
        PeelingTopK(**words, delta=0.01, mechanism="exponential"),
        JointTopK(**words),
    ]


def chance_beyond(mechanism, scores, bound, excess):
    return sum(
        math.exp(mechanism.log_probability(ranking, scores))
        for ranking in itertools.permutations(range(len(scores)), mechanism.k)
        if excess(scores, ranking) > bound
    )


@pytest.mark.parametrize("mechanism", list_mechanisms(), ids=repr)
def test_a_list_is_within_its_bound(mechanism):
    """On all scores but for the order of the candidates, of which the law knows nothing."""
    told = mechanism.accuracy(candidates=4)
    excess = LISTS[told.statement]
    step = told.bound / 4
    reached = 0.0
    for levels in itertools.combinations_with_replacement((0, 1, 3, 4.01, 5), 4):
        scores = [level * step for level in levels]
        reached = max(reached, chance_beyond(mechanism, scores, told.bound, excess))
    assert 0 < reached <= 1 / 20


def test_a_joint_list_promises_places_only():
    """The i-th may be near the i-th best, and yet far behind one that was left out."""
    scores, ranking = [100, 91, 82, 73], [1, 2, 3]
    assert excess_of_places(scores, ranking) == 9
    assert excess_of_list(scores, ranking) == 27
    assert JointTopK(k=3, epsilon=1, sensitivity=1).accuracy(candidates=4).statement == "places"


@pytest.mark.parametrize(
    ("draws", "most"), [(1000, 77), pytest.param(4000, 253, marks=pytest.mark.audits)]
)
def test_a_list_from_an_unknown_domain(draws, most):
    """By the real sampler: what was left out, and what stands above the crowd."""
    mechanism = UnknownDomainTopK(k=2, epsilon=2, delta=Fraction(1, 100), limit=4)
    told = mechanism.accuracy()
    place, above = told.crowd
    assert place == 5
    assert above >= float(mechanism.height) + told.bound - 1
    far = int(told.bound) + 1
    counts = {"a": 200 + far, "b": 200, "c": 200, "d": 200, "e": 0}
    wrong, bits = 0, SeededBits(5)
    for _ in range(draws):
        listed = mechanism.release(counts, bits=bits).value
        left = [counts[label] for label in counts if label not in listed]
        wrong += bool(listed) and max(left) - min(counts[label] for label in listed) > told.bound
        wrong += len(listed) < 2 and max(left) > counts["e"] + above
    # 99.99% of all runs with exactly 5% would have no more; these have far fewer
    assert wrong <= most


def rank_errors(mechanism, cells):
    """For each point its probability and its rank error in persons, by the law itself."""
    runs = cells.rank_errors(mechanism.q)
    rate = float(mechanism._each / range_of_errors(mechanism.q)) / mechanism.q.denominator
    errors = np.repeat(runs.errors, runs.lengths).astype(float)
    law = mechanism_class(mechanism.mechanism)(epsilon=1, score_range=1)
    return law.probabilities(-errors * rate), errors / mechanism.q.denominator


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_quantile_is_within_its_bound(mechanism, q, rows):
    made = OneQuantile(q=q, epsilon=1, mechanism=mechanism, rows=rows)
    bound = made.accuracy(points=20).bound
    rng = np.random.default_rng(1)
    worst = 0.0
    for persons in (0, 1, 30, 400):
        for places in (
            rng.integers(0, 20, persons),
            np.zeros(persons, dtype=np.int64),
            rng.integers(0, 2, persons) * 19,
            np.full(persons, 7),
        ):
            probabilities, errors = rank_errors(made, Cells.of(places.astype(np.int64), 20))
            assert errors.min() == 0
            worst = max(worst, probabilities[errors > bound].sum())
    assert worst <= 1 / 20


@pytest.mark.parametrize("method", ["recursive", "independent"])
@pytest.mark.parametrize(
    "kind", [*also("even"), "few values", *also("one value", "two ends"), "nobody"]
)
def test_many_quantiles_are_within_their_bound(method, kind):
    shares = [0.1, 0.25, 0.5, 0.75, 0.9]
    rng = np.random.default_rng(2)
    persons = {
        "even": rng.integers(0, 64, 3000),
        "few values": rng.choice([3, 20, 21], 3000),
        "one value": np.full(3000, 5),
        "two ends": rng.choice([0, 63], 3000),
        "nobody": np.empty(0, dtype=np.int64),
    }[kind]
    wrong, runs = 0, 60
    for seed in range(runs):
        release = discreet.quantiles(
            persons,
            q=shares,
            bounds=(0, 63),
            step=1,
            epsilon=2,
            method=method,
            bits=SeededBits(seed),
        )
        told = release.accuracy
        sharing = np.bincount(persons, minlength=1).max() if persons.size else 0
        allowed = told.bound + told.sharing * math.sqrt(sharing)
        wrong += any(off(persons, value, share) > allowed for value, share in zip(release.value, shares, strict=True))  # fmt: skip # noqa: E501
    # 12 of 60 has probability 1e-5 where each fails with exactly 5%
    assert wrong < 12


@pytest.mark.parametrize("points", [*also(2), 50, *also(10**6)])
@pytest.mark.parametrize(
    "rate", [Fraction(1, 1000), *also(Fraction(1, 20)), Fraction(1, 2), *also(Fraction(4))]
)
@pytest.mark.parametrize("sharing", [1, *also(30), 10**3, *also(10**5, 10**8)])
def test_where_a_split_is_drawn_is_within_its_bound(points, rate, sharing):
    """The rank is amid those who share a point, and all other points are just beyond the bound."""
    failure = Fraction(1, 100)
    told, speed = split_error(points, rate, failure), float(rate)
    flipped = math.sqrt(math.log(2 / float(failure)) / 2)
    allowed = told.persons + (told.sharing - flipped) * math.sqrt(sharing)
    own = np.abs(np.arange(2**20) / 2**20 - 0.5) * sharing
    odds = np.exp(-speed * (own - own.min()))
    others = max(allowed, sharing / 2)
    beyond = (points - 1) * 2.0**20 * math.exp(-speed * (others - own.min()))
    bad = odds[own > allowed].sum() + beyond
    assert bad / (odds.sum() + beyond) <= failure
    # eight noise scales less would be wrong where few persons share a value
    if points > 2 and sharing * speed <= 100:
        beyond *= math.exp(speed * (others - max(0, allowed - 8 / speed)))
        assert beyond / (odds.sum() + beyond) > failure


def off(persons, value, share):
    """How many persons a value is off its rank."""
    wanted = share * persons.size
    return max((persons < value).sum() - wanted, wanted - (persons <= value).sum(), 0)


def readers(rows):
    return pandas.DataFrame(rows, columns=["reader", "article", "pays"])


QUESTIONS = {
    "mode": ("article", {"candidates": ["a", "b", "c"], "epsilon": 0.5}),
    "top_k": ("article", {"candidates": ["a", "b", "c"], "k": 2, "epsilon": 0.5}),
    "best_price": ("pays", {"prices": [1, 2, 3], "rule": "max", "epsilon": 0.5}),
    "quantile": ("pays", {"q": 0.5, "bounds": (0, 10), "step": 1, "rule": "max", "epsilon": 0.5}),
    "quantiles": (
        "pays",
        {"q": [0.5, 0.9], "bounds": (0, 10), "step": 1, "rule": "max", "epsilon": 0.5},
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_before_and_after_say_the_same_and_no_table_decides(question):
    column, options = QUESTIONS[question]
    told = []
    for rows in ([(1, "a", 1)], [(number, "abc"[number % 3], number % 4) for number in range(90)]):
        session = Session(readers(rows), unit=Person("reader"), budget=PureDP(1))
        before = session.error_bound(CLASSES[question](column, **options))
        assert session.price(CLASSES[question](column, **options)).accuracy == before
        assert session.history() == ()
        release = getattr(session, question)(column, **options)
        assert release.accuracy == before
        assert release.asked["what"] == question
        assert "table" not in release.asked
        assert Release.from_json(release.to_json()) == release
        told.append((before, release.asked))
    assert told[0] == told[1]
    assert str(before).startswith("With 95% confidence, ")


def test_select_and_unknown_domains_too():
    session = Session(
        readers([(1, "a", 1)]), unit=Person("reader"), budget=discreet.ApproxDP(9, 0.01)
    )
    list_of = session.error_bound(TopK("article", k=2, epsilon=1, delta=1e-3, limit=10))
    assert list_of.crowd[0] == 11
    assert (list_of.unit, list_of.thing) == ("readers", "article")
    asked = Select(
        candidates=["a", "b"],
        score=lambda label: discreet.row_count(most=2, where=discreet.column("article") == label),
        epsilon=1,
    )
    score = session.error_bound(asked)
    assert (score.statement, score.unit) == ("winner", "score")
    assert score.bound == pytest.approx(2 * math.log(19))


def test_a_wrong_question_or_probability_is_refused():
    session = Session(readers([(1, "a", 1)]), unit=Person("reader"), budget=PureDP(1))
    with pytest.raises(ParameterError, match=r"'question' parameter of Session.error_bou"):
        session.error_bound("modus")
    with pytest.raises(ParameterError, match=r"'failure_probability' parameter of Sess"):
        session.error_bound(Mode(*["article"], **QUESTIONS["mode"][1]), failure_probability=2)


def test_a_session_tells_the_gap():
    rows = [(number, "a", 1) for number in range(300)]
    for budget, loss in (
        (PureDP(2), PureDP(1)),
        # an epsilon that coins cannot pay for is paid in epsilon
        (discreet.ApproxDP(2, 1e-6), PureDP(1)),
        # the largest one with the rho of the selection alone, which is a BoundedRange(1)
        (discreet.ZCDP(1), LogisticDP(Fraction("0.865445319428"))),
    ):
        session = Session(readers(rows), unit=Person("reader"), budget=budget)
        options = {"candidates": ["a", "b"], "epsilon": 1, "with_gap": True}
        assert session.price(Mode("article", **options)).cost.loss == loss
        release = ask_of(session, "mode", "article", **options)
        assert (release.value, release.loss) == ("a", loss)
        assert 250 < release.gap < 350
        assert session.history()[0].loss == loss


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"with_gap": "yes"}, r"'with_gap' parameter of Session.mode must be True or False"),
        ({"with_gap": True, "mechanism": "laplace-noise"}, r"'with_gap' parameter of Session.mode"),
    ],
)
def test_a_gap_that_cannot_be_is_refused_for_nothing(bad, message):
    session = Session(readers([(1, "a", 1)]), unit=Person("reader"), budget=PureDP(2))
    with pytest.raises(ParameterError, match=message):
        ask_of(session, "mode", "article", candidates=["a", "b"], epsilon=1, **bad)
    assert session.spent() == 0


@pytest.mark.parametrize("epsilon", [5e-324, Fraction(1, 10**400)])
def test_a_bound_that_no_float_holds_is_a_sentence(epsilon):
    release = discreet.select([1, 2], epsilon=epsilon, sensitivity=1)
    assert release.accuracy.bound == math.inf
    assert str(release.accuracy) == (
        "With so small an epsilon, nothing limits how far off the answer can be."
    )
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    "change",
    [
        {"bound": "7"},
        {"bound": True},
        {"statement": "other"},
        {"unit": 3},
        {"failure_probability": 0.05},
        {"sentence": 7},
        {"more": 1},
    ],
    ids=str,
)
def test_json_with_another_statement_is_refused(change):
    import json

    release = discreet.select([1, 2], epsilon=1, sensitivity=1)
    fields = json.loads(release.to_json())
    fields["accuracy"] |= change
    with pytest.raises(ParameterError, match=r"what Release.to_json wrote"):
        Release.from_json(json.dumps(fields))


NINE = [f"item {number}" for number in range(9)]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("mode", {"candidates": 100}),
        ("mode", {"candidates": 100, "mechanism": "laplace-noise"}),
        ("select", {"candidates": 100, "sensitivity": 2}),
        ("top_k", {"candidates": 100, "k": 10}),
        ("top_k", {"candidates": 100, "k": 2, "method": "peel"}),
        ("top_k", {"candidates": 100, "k": 10, "items_per_person": 2}),
        ("counts", {"candidates": 100}),
        ("counts", {"candidates": 100, "items_per_person": 20, "delta": 1e-6}),
        ("count", {}),
        ("best_price", {"candidates": 10, "highest_price": 3}),
        ("quantile", {"q": 0.5, "points": 121}),
        ("quantiles", {"q": [0.25, 0.5, 0.75], "points": 121, "method": "independent"}),
    ],
)
def test_a_plan_is_accurate_enough_and_no_larger_than_needed(question, words):
    plan = discreet.planning.plan_accuracy(question, within=40, **words)
    assert plan.accuracy.bound <= 40
    assert plan.epsilon == Fraction(f"{float(plan.epsilon):.3g}")
    # the next smaller epsilon is not enough: 40 is then out of reach for it
    tighter = discreet.planning.plan_accuracy(question, within=plan.accuracy.bound * 0.9, **words)
    assert tighter.epsilon > plan.epsilon


@pytest.mark.parametrize(
    ("question", "words", "asked"),
    [
        ("mode", {"candidates": 9}, {"candidates": NINE}),
        ("top_k", {"candidates": 9, "k": 3}, {"candidates": NINE, "k": 3}),
        ("top_k", {"k": 3, "items_per_person": 1}, {"candidates": NINE}),
        ("top_k", {"k": 3, "delta": 1e-6, "items_per_person": 5}, {}),
        # a person with any number of items: the plan takes a second
        pytest.param("top_k", {"k": 3, "delta": 1e-6, "limit": 30}, {}, marks=pytest.mark.sizes),
        ("counts", {}, {"candidates": NINE}),
        ("counts", {"items_per_person": 2}, {"candidates": NINE}),
        ("count", {}, {}),
    ],
)
def test_a_plan_is_for_the_question_that_a_session_asks(question, words, asked):
    """The bound that was planned is the one that the session states for that epsilon."""
    known = {"candidates": 9} if "candidates" in asked else {}
    budget = discreet.ApproxDP(64, 0.1) if "delta" in words else PureDP(64)
    plan = discreet.planning.plan_accuracy(
        question, within=500, budget=budget, **{**words, **known}
    )
    table = pandas.DataFrame({"person": [1, 2], "item": ["a", "b"]})
    paid = discreet.Session(table, unit=discreet.Person("person"), budget=budget)
    columns = [] if question == "count" else ["item"]
    options = {**words, **asked, "epsilon": plan.epsilon}
    told = paid.error_bound(CLASSES[question](*columns, **options))
    assert (told.bound, told.statement) == (plan.accuracy.bound, plan.accuracy.statement)


@pytest.mark.parametrize(
    "budget",
    [
        discreet.PureDP(64),
        discreet.ApproxDP(4, 1e-5),
        discreet.ZCDP(2),
        *also(discreet.ApproxDP(0.5, 1e-6)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("unit", [discreet.Person("person"), discreet.OneRow()], ids=repr)
@pytest.mark.parametrize(
    ("question", "words", "asked"),
    [
        ("mode", {}, {"candidates": NINE}),
        ("top_k", {"k": 3}, {"candidates": NINE}),
        ("top_k", {"k": 5, "items_per_person": 1}, {"candidates": NINE}),
        ("top_k", {"k": 3, "delta": 1e-6, "items_per_person": 1, "limit": 30}, {}),
        ("counts", {"items_per_person": 1}, {"candidates": NINE}),
        ("count", {}, {}),
    ],
)
def test_what_is_told_beforehand_is_what_a_session_of_that_budget_states(
    question, words, asked, unit, budget
):
    """A budget that counts squares has other noise for the same price."""
    if "delta" in words and not isinstance(budget, discreet.ApproxDP):
        pytest.skip("such a budget has no delta")
    # a column of objects, as pandas 2 has for text, may hold lists
    items = pandas.array(["a", "b"], dtype="string")
    table = pandas.DataFrame({"person": [1, 2], "item": items})
    session = discreet.Session(table, unit=unit, budget=budget)
    columns = [] if question == "count" else ["item"]
    stated = session.error_bound(CLASSES[question](*columns, **words, **asked, epsilon=0.5))
    if unit == discreet.OneRow() and question in ("top_k", "counts"):
        words = {**words, "items_per_person": 1}
    known = {"candidates": 9} if "candidates" in asked else {}
    told = discreet.planning.accuracy_at(question, epsilon=0.5, budget=budget, **words, **known)
    assert (told.bound, told.statement, told.crowd) == (
        stated.bound,
        stated.statement,
        stated.crowd,
    )


class TestCaps:
    """Of a person who has more, some count only, and the bound is about what counts."""

    READS = pandas.DataFrame(
        {
            "reader": [each for each in range(30) for _ in range(4)],
            "article": ["news", "chess", "opera", "sports"] * 30,
            "minutes": list(range(120)),
        }
    )
    LIST = ("news", "chess", "opera", "sports")

    def session(self, unit):
        return discreet.Session(self.READS, unit=unit, budget=discreet.ApproxDP(64, 0.1))

    @pytest.mark.parametrize(
        ("question", "columns", "words", "sentence"),
        [
            (
                "counts",
                ["article"],
                {"candidates": LIST, "items_per_person": 1},
                "At most 1 value per person counts.",
            ),
            (
                "top_k",
                ["article"],
                {"candidates": LIST, "k": 2, "items_per_person": 3},
                "At most 3 values per person count.",
            ),
            (
                "top_k",
                ["article"],
                {"k": 2, "delta": 0.01, "items_per_person": 2},
                "At most 2 values per person count.",
            ),
            (
                "quantile",
                ["minutes"],
                {"q": 0.5, "bounds": (0, 120), "step": 1, "rows_per_person": 2},
                "At most 2 rows per person count.",
            ),
            (
                "quantiles",
                ["minutes"],
                {"q": [0.5], "bounds": (0, 120), "step": 1, "rows_per_person": 1},
                "At most 1 row per person counts.",
            ),
        ],
    )
    def test_it_is_said(self, question, columns, words, sentence):
        session = self.session(discreet.Person("reader"))
        told = session.error_bound(CLASSES[question](*columns, **words, epsilon=5))
        assert told.sentence.endswith(f". {sentence}")
        release = getattr(session, question)(*columns, **words, epsilon=5)
        assert release.accuracy == told
        assert discreet.Accuracy.from_dict(told.to_dict()) == told
        if release.counts is not None:
            assert str(release).count(f". {told.capped}.") == 1

    def test_nothing_is_said_where_everything_counts(self):
        words = {"candidates": self.LIST, "epsilon": 5}
        for session in map(self.session, (discreet.Person("reader"), discreet.OneRow())):
            for told in (
                session.error_bound(Counts("article", **words)),
                session.error_bound(Mode("article", **words)),
            ):
                assert told.cap is None
                assert told.capped == ""
                assert "per person" not in told.sentence

    def test_a_plan_says_it_too(self):
        told = discreet.planning.accuracy_at("counts", epsilon=1, candidates=9, items_per_person=2)
        assert told.sentence.endswith(". At most 2 values per person count.")
        told = discreet.planning.accuracy_at(
            "quantile", epsilon=1, q=0.5, points=9, rows_per_person=5
        )
        assert told.sentence == (
            "With 95% confidence, the answer's rank on the grid is off by at most 22 rows. If at "
            "least 440 rows count, that is at most 5 percentiles. At most 5 rows per person count."
        )
        assert told.cap == 5
        assert (
            "off by at most 4.39 people."
            in discreet.planning.accuracy_at("quantile", epsilon=1, q=0.5, points=9).sentence
        )

    @pytest.mark.parametrize("cap", [0, -1, "1", 1.0, True, None])
    def test_what_is_no_cap(self, cap):
        told = discreet.planning.accuracy_at("counts", epsilon=1, candidates=9, items_per_person=2)
        with pytest.raises(ValueError, match=r"cap|sentence"):
            discreet.Accuracy.from_dict(told.to_dict() | {"cap": cap})


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (0.05, "95"),
        (Fraction(1, 3), "66.6666"),
        (1e-9, "99.9999999"),
        (Fraction(1, 10**400), "99.999999999999"),
    ],
)
def test_no_bound_holds_with_more_than_it_does(failure, said):
    told = discreet.planning.accuracy_at(
        "mode", epsilon=1, candidates=9, failure_probability=failure
    )
    assert told.sentence.startswith(f"With {said}% confidence, ")


@pytest.mark.parametrize(
    "told",
    [
        lambda beta: discreet.mechanisms.JointTopK(k=2, epsilon=1, sensitivity=1).error_bound(
            beta, candidates=9
        ),
        lambda beta: discreet.mechanisms.RandomizedResponse(
            epsilon=1, categories=["a", "b"]
        ).error_bound(beta, reports=9),
    ],
)
def test_failures_that_no_float_can_hold(told):
    assert told(Fraction(1, 10**9)) < told(Fraction(1, 10**400)) < math.inf


def test_a_plan_without_a_budget_adds_epsilons():
    plan = partial(discreet.planning.plan_accuracy, "counts", within=2000, candidates=100)
    assert plan().epsilon == plan(budget=discreet.PureDP(1)).epsilon


def test_a_plan_takes_a_sensitivity_as_it_is_said():
    plan = discreet.planning.plan_accuracy("select", within=40, candidates=9, sensitivity=3)
    made = discreet.mechanisms.PermuteAndFlip(epsilon=plan.epsilon, sensitivity=3)
    assert plan.accuracy.bound == made.accuracy(candidates=9).bound


def test_a_plan_for_prices_is_for_the_highest_one():
    """One person more raises a revenue by the price at most, and by the highest at most."""
    plan = discreet.planning.plan_accuracy("best_price", within=40, candidates=3, highest_price=7)
    table = pandas.DataFrame({"person": [1, 2], "price": [1.0, 2.0]})
    session = discreet.Session(table, unit=discreet.Person("person"), budget=discreet.PureDP(64))
    question = BestPrice("price", prices=[1, 4, 7], rule="max", epsilon=plan.epsilon)
    told = session.error_bound(question)
    assert told.bound == plan.accuracy.bound


@pytest.mark.parametrize(
    ("question", "words", "message"),
    [
        ("counts", {"within": 1}, "'candidates' parameter of plan_accuracy must be given"),
        ("top_k", {"within": 9, "k": 2, "delta": 0.1}, "'limit' parameter of plan_accuracy must"),
        ("top_k", {"within": 9, "k": 2, "candidates": 9, "items_per_person": 0}, "items_per_pers"),
        (
            "mode",
            {"within": 9, "candidates": 9, "budget": 1},
            "'budget' parameter of plan_accuracy",
        ),
        (
            "count",
            {"within": 9, "budget": "1"},
            "'budget' parameter of plan_accuracy must be PureDP",
        ),
        ("modus", {"within": 1}, "'question' parameter of plan_accuracy must be one of"),
        ("mode", {"within": 1}, "'candidates' parameter of plan_accuracy must be given"),
        ("mode", {"within": -1, "candidates": 3}, "'within' parameter of plan_accuracy must be at"),
        ("select", {"within": 0, "candidates": 3, "sensitivity": 1}, "the bound of epsilon 64"),
        ("quantile", {"within": 5, "q": 0.5}, "'points' parameter of plan_accuracy must be given"),
    ],
)
def test_a_plan_without_what_it_needs_is_refused(question, words, message):
    with pytest.raises(ParameterError, match=message):
        discreet.planning.plan_accuracy(question, **words)
    if "parameter of plan_accuracy" in message and "'within'" not in message:
        # the function that was called is the one that is named
        message = message.replace("plan_accuracy", "accuracy_at")
        with pytest.raises(ParameterError, match=message):
            discreet.planning.accuracy_at(question, epsilon=1, **_but(words, "within"))


def _but(words, left_out):
    return {name: value for name, value in words.items() if name != left_out}


def test_numbers_are_shown_rounded_up():
    for bound in np.random.default_rng(3).exponential(1e3, 2000):
        assert float(shown_bound(bound).replace(",", "")) >= bound
        assert float(shown_bound(bound).replace(",", "")) <= bound * 1.0101


@pytest.mark.parametrize(
    ("statement", "unit", "sentence"),
    [
        (
            "winner",
            "score",
            "With 95% confidence, the chosen candidate is at most 7 behind the best one.",
        ),
        (
            "winner",
            "revenue",
            "With 95% confidence, the chosen candidate earns at most 7 less than the best one.",
        ),
        (
            "list",
            "score",
            "With 95% confidence, no unlisted candidate beats a listed one by more than 7.",
        ),
        (
            "rank",
            "persons",
            "With 95% confidence, the answer's rank on the grid is off by at most 7 people.",
        ),
    ],
)
def test_sentences(statement, unit, sentence):
    assert str(Accuracy(bound=7, statement=statement, unit=unit)) == sentence


@pytest.mark.parametrize(
    "wrong",
    [
        *({"bound": bound} for bound in (-1, -0.5, float("nan"), -math.inf)),
        *({"sharing": sharing} for sharing in (-1.0, float("nan"))),
        *(
            {"failure_probability": failure}
            for failure in (0, 1, -1, 2, float("nan"), math.inf, True, "1", None)
        ),
    ],
)
def test_an_accuracy_that_is_none_is_refused(wrong):
    with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}'.* of Accuracy"):
        Accuracy(**{"bound": 1.0, "statement": "winner"} | wrong)


@pytest.mark.parametrize("question", ["quantile", "quantiles"])
def test_ranks_are_those_on_the_grid(question):
    """Of a hundred persons of 35, on a grid in tens, half count at 30 and half at 40."""
    table = pandas.DataFrame({"person": range(100), "age": [35] * 100})
    session = discreet.Session(table, unit=discreet.Person("person"), budget=discreet.PureDP(64))
    share = 0.5 if question == "quantile" else [0.5]
    words = {"q": share, "bounds": (0, 100), "step": 10, "rule": "max", "epsilon": 8}
    release = getattr(session, question)("age", **words)
    (answer,) = [release.value] if question == "quantile" else release.value
    ages = np.array(table["age"])
    assert off(ages, answer, 0.5) > release.accuracy.bound
    assert answer in (30, 40)
    assert off(np.concatenate([ages // 10 * 10, -(-ages // 10) * 10]), answer, 0.5) == 0
    assert "rank" in release.accuracy.sentence
    assert " on the grid is off by at most" in release.accuracy.sentence


@pytest.mark.parametrize("bound", [0.4, 7, 448.3, 123456.0])
@pytest.mark.parametrize("sharing", [0.0, 1.5, 30.0])
def test_a_bound_in_rows_is_told_in_percentiles(bound, sharing):
    """From the stated number of rows on it is a twentieth of them, whoever shares a value."""
    told = Accuracy(bound=bound, statement="ranks", unit="rows", sharing=sharing)
    (digits,) = re.findall(r"If at least ([0-9,]+) rows count, that is at most 5 perc", str(told))
    rows = int(digits.replace(",", ""))

    def share(number):
        return (bound + sharing * math.sqrt(number)) / number

    assert share(rows) <= 1 / 20 < share((rows - 1) / 1.12)
    assert Accuracy.from_dict(told.to_dict()) == told
    before = told.sentence.replace(f" {told.percentiles}.", "")
    assert Accuracy.from_dict(told.to_dict() | {"sentence": before}) == told
    assert not Accuracy(bound=bound, statement="rank", unit="persons").percentiles


def test_a_bound_that_was_kept_with_another_sentence_has_today_s():
    told = discreet.planning.accuracy_at("quantile", epsilon=1, q=0.5, points=9)
    fields = told.to_dict() | {"sentence": "It is exact."}
    assert discreet.Accuracy.from_dict(fields) == told
    assert discreet.Accuracy.from_dict(fields).sentence == told.sentence


@pytest.mark.sizes
def test_a_plan_may_take_the_whole_budget():
    """Then one question is all that is paid."""
    budget = discreet.ApproxDP(1, 1e-6)
    words = {"k": 3, "candidates": 9, "items_per_person": 1, "delta": 1e-6, "budget": budget}
    whole = discreet.planning.accuracy_at("top_k", epsilon=1, **words)
    plan = discreet.planning.plan_accuracy("top_k", within=whole.bound, **words)
    assert plan.epsilon <= 1
    assert plan.accuracy.bound == whole.bound
    table = pandas.DataFrame({"person": [1, 2], "item": ["a", "b"]})
    session = discreet.Session(table, unit=discreet.Person("person"), budget=budget)
    asked = {"k": 3, "candidates": NINE, "items_per_person": 1, "delta": 1e-6, "epsilon": 1}
    assert session.price(TopK("item", **asked)).fits
    assert ask_of(session, "top_k", "item", **asked).accuracy.bound == whole.bound
