"""What is seen of a call, and which events are found in it."""

import math
import warnings
from fractions import Fraction

import numpy as np
from tiers import loop_over

from discreet import BoundedRange, PureDP, Release
from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.event_search import best_events, count_events, side_channel
from discreet.auditing.events import Event, Outcome, data_features, features, observe, plain, read
from discreet.release import NoisyCounts


def seen(*answers):
    return [Outcome(plain(answer), type(answer).__name__) for answer in answers]


def test_errors_and_warnings_are_outcomes():
    def run(data):
        if data:
            raise ValueError("no ties")
        warnings.warn("odd", stacklevel=1)
        return np.int64(3)

    assert observe(run, 1, 2) == [Outcome(None, "NoneType", "ValueError: no ties")] * 2
    assert observe(run, 0, 1) == [Outcome(3, "int64", "", ("UserWarning: odd",))]


def test_nan_is_a_type_of_its_own():
    assert observe(lambda data: data, np.float64("nan"), 1) == [Outcome("nan", "NaN")]
    assert observe(lambda data: data, 0.5, 1) == [Outcome(0.5, "float")]


def test_a_release_is_its_value_and_its_gap():
    release = Release(value=[1, 2], loss=PureDP(1), mechanism="x", candidates=3)
    assert plain(release) == (1, 2)
    assert plain({"a": [1]}) == (("a", (1,)),)
    assert plain({1, 2}) == frozenset({1, 2})


@loop_over(
    ("event", "happens", "does_not", "words"),
    [
        (Event("answer", frozenset({3})), 3, 4, "answer is 3"),
        (Event("answer", frozenset({3}), negated=True), 4, 3, "answer is not 3"),
        (Event("answer", above=2.5), 3, 2, "answer > 2.5"),
        (Event("item 1", above=2.5, negated=True), (9, 1), (9, 3), "item 1 ≤ 2.5"),
        (Event("has 2", frozenset({True})), (1, 2), (1, 3), "has 2 is True"),
        (Event("length", frozenset({2})), (1, 2), (1,), "length is 2"),
        (Event("answer", frozenset({1, 2})), 1, 3, "answer in {1, 2}"),
        (Event("type", frozenset({"int"})), 1, 1.0, "type is 'int'"),
    ],
)
def test_events(event, happens, does_not, words):
    yes, no = seen(happens)[0], seen(does_not)[0]
    assert event.holds(yes)
    assert not event.holds(no)
    assert str(event) == words


def test_the_last_digits_of_a_float_are_a_feature():
    outcomes = seen(0.5, 0.75, 0.1)
    assert "trailing" in features(outcomes)
    assert [read(outcome, "trailing") for outcome in outcomes] == [0, 1, 51]


LOOK = {"caution": 3.3, "proof_runs": 10**6}


def test_the_best_event_is_found_and_named_from_the_likelier_side():
    first, second = seen(*[0, 0, 0, 0, 1] * 80), seen(*[1, 0, 1, 1, 1] * 80)
    found = best_events(Claim(PureDP(1)), first, second, **LOOK)
    sides = (second, first) if found.swapped else (first, second)
    counts = count_events(found.events, *sides)[0]
    assert counts.first / counts.first_runs > counts.second / counts.second_runs
    assert not side_channel(found.events)


def test_bounded_range_is_shown_by_two_events():
    first, second = seen(*[0, 0, 0, 1] * 100), seen(*[0, 1, 1, 1] * 100)
    found = best_events(Claim(BoundedRange(1)), first, second, **LOOK)
    assert [event.values for event in found.events] == [frozenset({0}), frozenset({1})]


def test_sets_of_many_rare_values_do_not_look_good_where_they_were_chosen():
    """Two samples of one law over 200 values: the halves keep the search honest."""
    source = np.random.default_rng(1)
    first, second = (seen(*source.integers(200, size=400).tolist()) for _ in range(2))
    assert best_events(Claim(PureDP(1)), first, second, **LOOK).promise < 0.2


def test_twins_are_candidates_with_the_same_scores_in_both_inputs():
    (name,) = data_features([5, 0, 0, 1], [6, 0, 0, 0])
    assert name == "twin 0*1,1*2,3*1"
    assert [read(outcome, name) for outcome in seen(0, 2, 3, "none", (2, 0))] == [
        *(0, 1, 3, "none"),
        (1, 0),
    ]
    assert str(Event(name, frozenset({1}))) == "twin of the answer is 1"
    assert data_features([0, 1], [1, 1]) == [], "no two are alike"


def test_a_float_below_a_number_of_the_data_is_on_its_grid_or_not():
    """A tenth of the number is below 2^-3 of it: a random float is on its grid one time in
    eight or less, and a product with a uniform float always.
    """
    source = np.random.default_rng(2)
    shares = source.random(400)
    shares = shares[shares < 1 / 8]
    own = [read(outcome, "grid 5.37") for outcome in seen(*(shares * 5.37).tolist())]
    other = [read(outcome, "grid 5.37") for outcome in seen(*(shares * 4.71).tolist())]
    assert all(hit for hit, _ in own)
    assert np.mean([hit for hit, _ in other]) < 0.3
    assert read(seen(9.0)[0], "grid 5.37") == "absent"


def test_the_counts_and_the_gap_of_a_release_are_part_of_what_is_seen():
    kept = {"loss": PureDP(1), "mechanism": "peel", "candidates": 3}
    counts = NoisyCounts(values=(41, 38), error=7, mechanism="discrete-laplace")
    told = plain(Release(value=[2, 0], counts=counts, **kept))
    assert told == ((2, 0), (41, 38))
    assert plain(Release(value=[2, 0], **kept)) == (2, 0)
    assert plain(Release(value=1, gap=Fraction(3), counts=counts, **kept)) == (1, 3, (41, 38))
    outcomes = seen(told)
    assert "item 1 0" in features(outcomes)
    assert read(outcomes[0], "item 1 0") == 41


def test_an_event_of_most_values_holds_for_values_that_were_never_seen():
    """One side is always NaN, the other a float that never comes again."""
    source = np.random.default_rng(3)
    first, second = seen(*source.random(60).tolist()), seen(*[math.nan] * 60)
    found = best_events(Claim(PureDP(1)), first, second, **LOOK)
    fresh = seen(*source.random(60).tolist())
    sides = (second, fresh) if found.swapped else (fresh, second)
    assert count_events(found.events, *sides)[0] == EventCounts(60, 60, 0, 60)
