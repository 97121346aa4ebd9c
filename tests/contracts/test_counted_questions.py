"""Counts, histograms and groups of a table: one person moves no more than the noise was told.

The noise is caught at the moment when it is drawn, with the counts that the engine has made, for
tables with and without one more person, on every engine that needs no server.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import duckdb
import polars
import pytest
from asking import ask_of

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, GaussianDP, OneRow, Person, PureDP, Session
from discreet.accounting import Composed
from discreet.accounting.budget_rules import Spending
from discreet.accounting.privacy_filter import BudgetRule
from discreet.mechanisms import CorrelatedCounts, RoundedGaussian
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.privacy.cost import Cost
from discreet.questions import Count
from discreet.testing import SeededBits

EPSILON = Fraction(3, 4)
NAMES = ["a", "b", "c", "d"]
CROWD = [
    (person, item, region)
    for person, (item, region) in enumerate(product("abc", ("north", "south", "east")))
]
# What one more person can bring: nothing, one row, several items, several groups, odd cells.
PERSONS = [
    [],
    [("a", "north")],
    [("a", "north"), ("b", "north"), ("c", "north"), ("d", "north")],
    [("a", "south"), ("b", "north"), ("b", "south"), ("c", None)],
    [("c", "south")] * 30,
    [("a", "nowhere"), ("b", None), (None, "north"), (None, None)],
    [("a", "east"), ("a", "south"), ("b", "north"), ("", "north")],
]
ENGINES = {
    "polars": lambda frame: frame,
    "lazy polars": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas().convert_dtypes(),
    "arrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


def some(*everyday):
    """The engines that `make test` tries, and all others in the tier of pairs."""
    return pytest.mark.parametrize(
        "engine",
        [
            engine if engine in everyday else pytest.param(engine, marks=pytest.mark.pairs)
            for engine in ENGINES
        ],
    )


SCHEMA = {"person": polars.Int64, "item": polars.String, "region": polars.String}


def frame(rows):
    return polars.DataFrame(rows, schema=SCHEMA, orient="row")


def tables(engine="polars"):
    """The crowd, and the crowd with each of the persons."""
    for rows in PERSONS:
        yield ENGINES[engine](frame([*CROWD, *((1000, *row) for row in rows)]))


@pytest.fixture
def caught(monkeypatch):
    """The noise that is drawn, and the counts that it is added to."""
    seen = []
    for kind in (DiscreteLaplace, DiscreteGaussian, RoundedGaussian, CorrelatedCounts):

        def add_noise(self, numbers, *more, _true=kind.add_noise):
            # of noise that the counts share, the number of people comes after them
            seen.append((self, [*numbers, *more[:-1]]))
            return _true(self, numbers, *more)

        monkeypatch.setattr(kind, "add_noise", add_noise)
    return seen


def moved(noise):
    """What the noise was told: how many counts one person moves by 1."""
    if isinstance(noise, DiscreteLaplace):
        return noise.sensitivity
    if isinstance(noise, CorrelatedCounts):
        return noise.items + 1
    return noise.squared_sensitivity


def moves_of(noise, alone, counts):
    """How far one person has moved what the noise is added to."""
    if isinstance(noise, CorrelatedCounts):
        (*one, people), (*other, more) = alone, counts
        drawn = [
            abs(2 * new - more - 2 * old + people) for old, new in zip(one, other, strict=True)
        ]
        # with the one who came everything moves by 1, with nobody nothing does
        assert {*drawn, abs(more - people)} in ({1}, {0})
        return sum(drawn) + abs(more - people)
    if len(alone) != len(counts):
        return 1
    return sum(abs(new - old) for old, new in zip(sorted(alone), sorted(counts), strict=True))


PAID = {"budget": ApproxDP(50, 0.5), "delta_for_losses": 0.25}
ASK = {
    "counts": (5, lambda s: s.counts("item", candidates=NAMES, epsilon=EPSILON)),
    "counts of one": (
        1,
        lambda s: s.counts("item", candidates=NAMES, epsilon=EPSILON, items_per_person=1),
    ),
    "counts of two": (
        2,
        lambda s: s.counts("item", candidates=NAMES, epsilon=EPSILON, items_per_person=2),
    ),
    "counts with a delta": (
        4,
        lambda s: s.counts("item", candidates=NAMES, epsilon=EPSILON, delta=0.2),
    ),
    "count": (1, lambda s: s.count(epsilon=EPSILON)),
    "top_k by histogram": (
        2,
        lambda s: s.top_k(
            "item", k=3, candidates=NAMES, epsilon=EPSILON, items_per_person=2, method="histogram"
        ),
    ),
    "top_k of one item": (
        1,
        lambda s: s.top_k(
            "item", k=2, candidates=NAMES, epsilon=EPSILON, items_per_person=1, method="histogram"
        ),
    ),
    "unknown domain": (
        1,
        lambda s: s.top_k("item", k=2, epsilon=EPSILON, delta=0.01, items_per_person=1),
    ),
}


@some("duckdb")
@pytest.mark.parametrize("question", ASK)
def test_one_person_moves_what_the_noise_was_told(question, engine, caught):
    told, ask = ASK[question]
    losses = set()
    for table in tables(engine):
        session = Session(table, unit=Person("person"), **PAID)
        losses.add(ask(session).loss)
    assert len(losses) == 1
    (_, alone), *others = caught
    assert {moved(each) for each, _ in caught} == {told}
    assert max(moves_of(noise, alone, counts) for noise, counts in others) == told


def test_the_loss_is_that_of_the_noise(caught):
    for question, (_, ask) in ASK.items():
        session = Session(frame(CROWD), unit=Person("person"), **PAID)
        release = ask(session)
        noise, _ = caught[-1]
        if question == "counts with a delta":
            assert release.loss == ApproxDP(EPSILON, 0.2)
        elif question == "unknown domain":
            assert release.loss == Composed({noise.privacy_loss(): 1}, 0.01)
        else:
            assert release.loss == noise.privacy_loss()
            # unless a method is named, for the price of one selection
            named = question.startswith("top_k")
            assert session.spent() == session_price(PureDP if named else BoundedRange)


def session_price(kind):
    """What this much of a loss costs in the budget of these sessions."""
    rule = BudgetRule.of(PAID["budget"], delta_for_losses=PAID["delta_for_losses"])
    return rule.amount(rule.spending(Cost(kind(EPSILON))), rule.remaining(Spending()))


GROUPS = ["south", "north", "west"]


def groups_of(session, **more):
    return ask_of(
        session,
        "counts",
        "item",
        candidates=NAMES,
        epsilon=EPSILON,
        by="region",
        groups=GROUPS,
        **more,
    )


@some("polars", "duckdb")
def test_one_person_moves_the_counts_of_one_group(engine, caught):
    """Who has rows in several groups counts in the one that is listed first, and nowhere else."""
    found = []
    for table in tables(engine):
        session = Session(table, unit=Person("person"), budget=PureDP(1))
        release = groups_of(session)
        assert release.loss == PureDP(EPSILON)
        assert session.remaining() == Fraction(1, 4)
        assert list(release.value) == GROUPS
        found.append([counts for _, counts in caught[-len(GROUPS) :]])
    # the last number is that of the people
    alone = found[0]
    assert alone == [[1, 1, 1, 0, 3], [1, 1, 1, 0, 3], [0, 0, 0, 0, 0]]
    for counts in found:
        changed = [one != other for one, other in zip(alone, counts, strict=True)]
        assert sum(changed) <= 1
    # the person of several groups: south is listed first, and only what they have there counts
    assert found[3] == [[2, 2, 1, 0, 4], [1, 1, 1, 0, 3], [0, 0, 0, 0, 0]]
    assert found[6] == [[2, 1, 1, 0, 4], [1, 1, 1, 0, 3], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_protected_by_themselves_have_one_group_each(engine, caught):
    (table, *_) = tables(engine)
    release = groups_of(Session(table, unit=OneRow(), budget=PureDP(1)))
    assert [counts for _, counts in caught] == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    assert {moved(noise) for noise, _ in caught} == {1}
    assert len(release.counts.values) == 3


def test_conditions_come_before_groups(caught):
    """A row that does not count puts nobody into a group."""
    rows = [*CROWD, (1000, "a", "south"), (1000, "b", "north")]
    session = Session(frame(rows), unit=Person("person"), budget=PureDP(1))
    groups_of(session, where="item != 'a'")
    assert [counts for _, counts in caught][:2] == [[0, 1, 1, 0, 2], [0, 2, 1, 0, 3]]


@pytest.mark.parametrize("question", ["mode", "top_k", "unknown"])
def test_groups_of_names(question):
    asked = {
        "mode": {"candidates": NAMES, "with_counts": True},
        "top_k": {"k": 2, "candidates": NAMES},
        "unknown": {"k": 1, "delta": 1e-6, "items_per_person": 1},
    }[question]
    rows = [(person, "ab"[person % 2], GROUPS[person % 2]) for person in range(4000)]
    session = Session(frame(rows), unit=Person("person"), budget=ApproxDP(50, 1e-5))
    ask = session.mode if question == "mode" else session.top_k
    release = ask("item", epsilon=20, by="region", groups=GROUPS, **asked)
    best = [
        answer if question == "mode" else (answer or [None])[0] for answer in release.value.values()
    ]
    assert best[:2] == ["a", "b"]
    assert len(release.value) == 3
    assert discreet.Release.from_json(release.to_json()) == release
    again = ask("item", epsilon=20, by="region", groups=GROUPS, **asked)
    assert again == release


def test_what_is_said_of_groups_holds_for_all_of_them_together():
    rows = [(person, "ab"[person % 2], GROUPS[person % 2]) for person in range(40)]
    session = Session(frame(rows), unit=Person("person"), budget=PureDP(10))
    asked = {"candidates": NAMES, "epsilon": 1, "by": "region", "groups": GROUPS}
    told = ask_of(session, "counts", "item", **asked).accuracy
    one = CorrelatedCounts(items=len(NAMES), epsilon=1)
    assert told.failure_probability == Fraction(1, 20)
    # no count of any group: as many failures as numbers
    assert told.bound == one.error_bound(Fraction(1, 20) / len(GROUPS))
    counted = ask_of(session, "mode", "item", with_counts=True, **asked)
    assert counted.counts.grouped
    assert "With 95% confidence in each group, no count is off" in repr(counted._notes())


def test_groups_have_no_gap():
    """A release has one: of the first group, it would be said of all."""
    session = Session(frame(CROWD), unit=Person("person"), budget=PureDP(1))
    message = r"'with_gap' parameter of Session\.mode must be left out if there are groups"
    asked = {"candidates": NAMES, "epsilon": EPSILON, "with_gap": True}
    with pytest.raises(discreet.ParameterError, match=message):
        ask_of(session, "mode", "item", by="region", groups=GROUPS, **asked)
    assert session.remaining() == 1
    assert ask_of(session, "mode", "item", **asked).gap is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": "region"}, "'groups' parameter of Session.counts must be given with 'by'"),
        ({"groups": ["a"]}, "'by' parameter of Session.counts must be given with 'groups'"),
        ({"by": "region", "groups": []}, "'groups' parameter of Session.counts must be at least"),
        ({"by": "region", "groups": ["a", "a"]}, "must be all different"),
        (
            {"by": "colour", "groups": ["a"]},
            "'by' parameter of Session.counts must be one of the columns",
        ),
        ({"by": "region", "groups": [f"g{n}" for n in range(1001)]}, "at most 1,000"),
    ],
)
def test_wrong_groups_are_refused_before_anything_is_charged(given, message):
    session = Session(frame(CROWD), unit=Person("person"), budget=PureDP(1))
    with pytest.raises(discreet.ParameterError, match=message):
        ask_of(session, "counts", "item", candidates=NAMES, epsilon=EPSILON, **given)
    assert session.remaining() == 1


class TestCounts:
    def test_names_with_counts_cost_one_epsilon(self):
        rows = [(person, "aab"[person % 3], "north") for person in range(900)]
        for budget in (PureDP(1), ApproxDP(1, 1e-6), ZCDP(1)):
            session = Session(frame(rows), unit=Person("person"), budget=budget)
            release = session.mode("item", candidates=NAMES, epsilon=1, with_counts=True)
            assert release.value == "a"
            rule = BudgetRule.of(budget)
            price, paid = rule.spending(Cost(rule.question(1))), rule.spending(Cost(release.loss))
            if price.squares is None:
                assert paid.epsilon == price.epsilon
            else:
                assert paid.squares <= price.squares
            (number,) = release.counts.values
            # ten times the error of 95%: never, with e^-30
            assert abs(number - 600) <= 10 * release.counts.error
            assert session.history()[0].loss == release.loss

    def test_a_named_mechanism_and_a_public_table_get_counts_too(self):
        rows = [(person, "aab"[person % 3], "north") for person in range(900)]
        table = duckdb.from_arrow(frame(rows).to_arrow())
        for given in (
            {"candidates": NAMES, "mechanism": "exponential"},
            {"candidates": discreet.PublicTable(duckdb.sql("select 'a' item"), column="item")},
        ):
            session = Session(table, unit=Person("person"), budget=PureDP(8))
            bits = SeededBits(3)
            release = ask_of(
                session, "mode", "item", epsilon=4, with_counts=True, bits=bits, **given
            )
            assert (release.value, release.loss) == ("a", PureDP(4))
            assert abs(release.counts.values[0] - 600) <= 10 * release.counts.error > 0

    def test_persons_are_counted_once_and_nobody_is_left_out(self, caught):
        rows = [*CROWD, *CROWD, (None, "a", "north"), (77, None, None)]
        session = Session(frame(rows), unit=Person("person"), budget=PureDP(9))
        session.count(epsilon=1)
        session.count(epsilon=1, where="region = 'north'")
        Session(frame(rows), unit=OneRow(), budget=PureDP(9)).count(epsilon=1)
        assert [counts for _, counts in caught] == [[10], [3], [20]]

    def test_gaussian_noise_is_paid_in_rho(self):
        session = Session(frame(CROWD), unit=Person("person"), budget=ZCDP(1))
        many = [f"item {n}" for n in range(200)]
        release = session.counts("item", candidates=many, epsilon=1, delta=1e-6)
        assert release.mechanism == "discrete-gaussian"
        assert release.loss == ApproxDP(1, 1e-6)
        assert 0.02 < float(session.spent().value) < 0.03

    @pytest.mark.parametrize("delta", [0, 1e-9])
    @pytest.mark.parametrize("items", [None, 1])
    def test_a_budget_of_rho_takes_gaussian_noise_for_the_price_of_a_selection(self, items, delta):
        """Narrower than Laplace noise, for a quarter of its price."""
        session = Session(frame(CROWD), unit=Person("person"), budget=ZCDP(1))
        asked = {"candidates": NAMES, "epsilon": 0.5, "items_per_person": items, "delta": delta}
        release = ask_of(session, "counts", "item", **asked)
        rho = BoundedRange(0.5).to_zcdp().rho
        assert isinstance(release.loss, GaussianDP)
        assert rho * Fraction(999_999, 1_000_000) <= release.loss.to_zcdp().rho <= rho
        assert session.spent() == release.loss.to_zcdp().rho
        if items is None:
            ideal = CorrelatedCounts(items=len(NAMES), mu=release.loss.mu)
            assert release.counts.error == ideal.error_bound(0.05)
        else:
            ideal = RoundedGaussian(mu=release.loss.mu, squared_sensitivity=1)
            assert release.counts.error == ideal.error_bound(0.05, numbers=len(NAMES))
            assert release.mechanism == release.counts.mechanism == "rounded-gaussian"
        assert (release.counts.total is None) == (items == 1)
        number = session.count(epsilon=0.25)
        assert number.loss.to_zcdp().rho <= BoundedRange(0.25).to_zcdp().rho
        assert session.spent() == release.loss.to_zcdp().rho + number.loss.to_zcdp().rho

    def test_the_number_of_people_counts_who_has_a_row_that_counts(self):
        """Also who has none of the candidates; by nobody it is told where counts share nothing."""
        who = [(person, "a" if person < 200 else "other") for person in range(900)]
        rows = [(person, item, GROUPS[person % 2]) for person, item in who]
        session = Session(frame(rows), unit=Person("person"), budget=ApproxDP(50, 1e-6))
        asked = {"candidates": ["a", "b"], "epsilon": 1, "items_per_person": 1}
        release = session.counts("item", **asked)
        assert release.counts.mechanism == "rounded-gaussian"
        assert release.counts.total is None
        many = {"candidates": ["a", *map(str, range(30))], "epsilon": 5}
        everyone = session.counts("item", **many).counts
        # ten times the error of 95%: never
        assert abs(everyone.total - 900) <= 10 * everyone.total_error
        some = session.counts("item", where="item = 'a'", **many).counts
        assert abs(some.total - 200) <= 10 * some.total_error
        by = session.counts("item", by="region", groups=GROUPS, **many).counts
        pairs = zip(by.total, (450, 450, 0), strict=True)
        assert all(abs(number - true) <= 10 * by.total_error for number, true in pairs)
        again = session.counts("item", **many)
        assert discreet.Release.from_json(again.to_json()).counts == everyone

    def test_the_same_question_again_is_free(self):
        session = Session(frame(CROWD), unit=Person("person"), budget=PureDP(1))
        first = session.counts("item", candidates=NAMES, epsilon=1)
        assert session.counts("item", candidates=NAMES[::-1], epsilon=1.0) == first
        assert session.price(Count(epsilon=1)).fits is False
        with pytest.raises(discreet.BudgetExceededError):
            session.counts("item", candidates=NAMES, epsilon=1, items_per_person=1)

    def test_seeded_bits_give_the_same_on_every_engine(self):
        releases = set()
        for engine in ENGINES:
            (table, *_) = tables(engine)
            session = Session(table, unit=Person("person"), budget=PureDP(9))
            release = groups_of(session, items_per_person=1, bits=SeededBits(5))
            releases.add(release.to_json())
        assert len(releases) == 1


class TestCharge:
    def test_a_charge_is_taken_and_remembered(self):
        session = Session(frame(CROWD), unit=Person("person"), budget=ApproxDP(1, 1e-6))
        before = session.questions_left(epsilon=0.1)
        session.charge(PureDP(0.5), what="mean pay, by another library")
        assert session.questions_left(epsilon=0.1) < before
        (question,) = session.history()
        assert (question.what, question.loss) == ("charge", PureDP(0.5))
        assert question.asked["described"] == "mean pay, by another library"

    def test_what_does_not_fit_is_refused(self):
        session = Session(frame(CROWD), unit=Person("person"), budget=PureDP(1))
        with pytest.raises(
            discreet.BudgetExceededError, match="costs epsilon 2, but your budget has only 1 left"
        ):
            session.charge(PureDP(2), what="too much")
        assert session.remaining() == 1
        for wrong in ({"loss": 1, "what": "x"}, {"loss": PureDP(1), "what": ""}):
            with pytest.raises(discreet.ParameterError, match=r"parameter of Session\.charge must"):
                session.charge(**wrong)
        with pytest.raises(discreet.ParameterError, match=r"'delta' parameter of Session\.charge"):
            session.charge(ApproxDP(1, 1e-6), what="a delta in a pure budget")
        session.close()
        with pytest.raises(discreet.DiscreetError, match="The session is closed"):
            session.charge(PureDP(1), what="late")
