"""The measuring of time itself, on made-up times; and, by hand, the table of all public calls."""

import math
import random
import re

import pytest
from attacks.discovered_calls import ASKED, session_calls
from attacks.public_calls import (
    HEAD,
    counts_with,
    discovered,
    frame_of,
    large_pairs,
    neighbours,
    one_less,
    pairs,
    session_on,
    table,
    tables,
)
from contracts.public_mechanisms import is_mechanism
from public_names import PUBLIC

from discreet.auditing.timing import epsilon_from_time, largest_epsilon, time_calls, welch
from discreet.questions import QUESTIONS


def normal(mean, count, seed):
    source = random.Random(seed)
    return [source.gauss(mean, 1) for _ in range(count)]


class TestEpsilonFromTime:
    def test_times_that_never_meet_show_what_so_many_runs_can(self):
        # 500 of 500 against 0 of 500: (a/2)^(1/500) to 1 - (a/2)^(1/500), with a = 0.001
        least = (0.001 / 2) ** (1 / 500)
        assert epsilon_from_time(range(1000), range(2000, 3000)) == pytest.approx(
            math.log(least / (1 - least))
        )
        assert largest_epsilon(1000) == pytest.approx(math.log(least / (1 - least)))
        assert largest_epsilon(10_000) > largest_epsilon(1000) > largest_epsilon(100) > 0

    def test_it_does_not_matter_which_call_is_the_slow_one(self):
        fast, slow = normal(0, 2000, 1), normal(3, 2000, 2)
        assert epsilon_from_time(fast, slow) > 2
        assert epsilon_from_time(slow, fast) > 2

    def test_equal_times_show_nothing(self):
        assert epsilon_from_time([5] * 1000, [5] * 1000) == 0

    @pytest.mark.parametrize(
        ("runs", "bounds", "most"),
        [(60, 60, 18), pytest.param(200, 200, 40, marks=pytest.mark.audits)],
    )
    def test_times_of_one_law_show_nothing_more_often_than_stated(self, runs, bounds, most):
        """At confidence 0.9 at most a tenth of the bounds may be false: more than 40 of 200, or
        18 of 60, have a chance below 1e-5. The seeds are fixed.
        """
        false = sum(
            epsilon_from_time(normal(0, runs, 2 * n), normal(0, runs, 2 * n + 1), 0.9) > 0
            for n in range(bounds)
        )
        assert false <= most

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
    def test_the_truth_is_approached_from_below(self, epsilon):
        """Long with odds 1 : 1 + e^epsilon, or the other way round: randomized response, whose
        epsilon is known.
        """
        share, source = 1 / (1 + math.exp(epsilon)), random.Random(7)
        a = [source.random() < share for _ in range(40_000)]
        b = [source.random() < 1 - share for _ in range(40_000)]
        assert 0.8 * epsilon < epsilon_from_time(a, b) < epsilon

    def test_a_delta_is_taken_off(self):
        """An event of one in ten on one side only is no epsilon at a delta of 0.2."""
        a, b = [0] * 4000, [1 if place % 20 < 2 else 0 for place in range(4000)]
        assert epsilon_from_time(a, b) > 2
        assert epsilon_from_time(a, b, delta=0.2) == 0

    def test_the_half_that_chooses_is_not_the_half_that_proves(self):
        """Times that differ in the first half of the pairs only: what was chosen there is refuted
        by the others.
        """
        a = [0, 5] * 500
        b = [1, 5] * 500
        assert epsilon_from_time(a, b) == 0

    def test_too_few_runs_are_refused(self):
        with pytest.raises(ValueError, match="At least four runs"):
            epsilon_from_time([1, 2, 3], [1, 2, 3])


class TestTimeCalls:
    def test_calls_take_turns_and_their_times_are_their_own(self):
        now, order = [0], []

        def call(name, duration):
            order.append(name)
            now[0] += duration

        first, second = time_calls(
            lambda: call("a", 3), lambda: call("b", 8), 50, clock=lambda: now[0]
        )
        assert first == [3] * 50
        assert second == [8] * 50
        assert order[:2] == ["a", "b"], "once each to warm up"
        turns = [tuple(order[place : place + 2]) for place in range(2, len(order), 2)]
        assert set(turns) == {("a", "b"), ("b", "a")}, "in turns, of both orders"

    def test_the_garbage_collector_is_as_it_was_afterwards(self):
        import gc

        assert gc.isenabled()
        seen = []
        time_calls(lambda: seen.append(gc.isenabled()), lambda: None, 3)
        assert seen[1:] == [False] * 3
        assert gc.isenabled()


def test_welch():
    assert abs(welch([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])) == 0
    assert welch([5.0] * 3, [5.0] * 3) == 0
    assert welch([1.0] * 3, [2.0] * 3) == -math.inf
    assert welch([math.exp(2), math.exp(4)], [math.exp(1), math.exp(3)]) == pytest.approx(
        1 / math.sqrt(2)
    )


class TestPairs:
    def test_neighbours_differ_by_one_person(self):
        for first, second in neighbours(500, 40).values():
            assert sorted((first - second).tolist())[-2:] == [0, 1]
            assert (first - second).sum() == 1

    def test_one_less_takes_one_person_away(self):
        counts = counts_with((3, 1), (1, 2))
        assert sorted(counts.tolist()) == [1, 1, 1, 2]
        assert sorted(one_less(counts, 2).tolist()) == [1, 1, 1, 1]

    def test_every_pair_can_be_asked(self):
        """Both calls of each pair answer; how long they take is nobody's business here."""
        names = []
        for pair in pairs():
            names.append(pair.name)
            # tests/engines asks other engines
            if not pair.name.startswith("duckdb"):
                pair.first(), pair.second()
        assert len(set(names)) == len(names) > 50

    def test_every_question_is_asked_anew(self):
        """A question that was answered before is not asked: its time would tell nothing."""
        sessions = []

        def make(persons):
            sessions.append(session_on(frame_of("arrow", persons)))
            return sessions[-1]

        for place, (name, first, _) in enumerate(session_calls(make)):
            first(), first()
            assert len(sessions[place].history()) == 2, name

    def test_every_public_name_has_a_row(self):
        rows = {re.split(r"\W", pair.name.removeprefix("small: "))[0] for pair in discovered()}
        public = {name for name in PUBLIC if is_mechanism(name)}
        assert len(public) > 20
        assert public <= rows
        asked = {pair.name.split(", ")[1] for pair in tables()}
        assert len(list(tables())) == 2 * sum(map(len, ASKED.values()))
        assert asked == set(QUESTIONS) == set(ASKED)


@pytest.mark.audits
@pytest.mark.timeout(3600)
def test_the_table(capsys):
    """Prints the table; asserts nothing about time."""
    with capsys.disabled():
        lines = list(table(200, large=10))
        print("", *lines, sep="\n")
    assert "\n".join(lines).startswith(HEAD)
    assert len(lines) == 1 + len(list(pairs())) + len(list(large_pairs()))
