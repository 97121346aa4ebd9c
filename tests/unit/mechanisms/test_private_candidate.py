"""The best of many private runs: its exact law on every tape, what it gives away, and how it
fails.
"""

import copy
import inspect
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from flint import ctx
from reference import random_stopping as reference
from reference.tapes import distribution
from tiers import loop_over

import discreet
from discreet import BoundedRange, ParameterError, PureDP
from discreet.accounting.random_stopping import private_candidate_loss, read_stopping
from discreet.errors import ParameterTypeError
from discreet.literals import STOPPING_NAMES
from discreet.mechanisms import private_candidate
from discreet.mechanisms.private_candidate import select_private_candidate
from discreet.testing import SeededBits

WORDS = {"each": PureDP(0.1), "stopping": "geometric", "mean": 3}


def select(run, **changes):
    words = WORDS | changes
    if words["stopping"] == "threshold":
        words = {"threshold": 0} | words
    return select_private_candidate(run, **words)


def with_lock(*scores):
    """A run that returns these scores one after the other, and then the last one for ever. (Not
    private: for tests.)
    """
    left = list(scores)

    def run():
        score = left.pop(0) if len(left) > 1 else left[0]
        return score, f"the output of {score}"

    return run


@pytest.fixture
def exactly(monkeypatch):
    """Fix the number of runs."""

    def fix(count):
        monkeypatch.setattr(private_candidate, "_draw", lambda law, stopping, chance: count)

    return fix


# --- the exact law ------------------------------------------------------------------------------


def on_every_tape(monkeypatch, outcomes, cutoff, **words):
    """The real function from first draw to release, with only the randomness replaced: of the
    runs and of their number.
    """
    weights = np.cumsum([weight for _, _, weight in outcomes])

    def whole(tape):
        def run():
            score, output, _ = outcomes[tape.pick(weights, int(weights[-1]))]
            return score, output

        tape.bits = SimpleNamespace(seeded=True)
        monkeypatch.setattr(private_candidate, "read_bits", lambda bits: tape)
        return select_private_candidate(run, each=PureDP(1), **words).value

    before, ctx.prec = ctx.prec, 200
    try:
        reached, rest = distribution(whole, cutoff)
    finally:
        ctx.prec = before
    return {
        key: mpmath.mpf(value.mid().str(40, radius=False)) for key, value in reached.items()
    }, float(rest.upper())


# (score, output, weight), from worst to best; two of them are tied
OUTCOMES = [(1, "a", 3), (2, "b", 2), (2, "c", 1), (5, "d", 2)]
GROUPS = [[3], [2, 1], [2]]


@pytest.mark.parametrize(
    ("stopping", "mean", "cutoff", "largest"),
    [
        ("geometric", Fraction(3, 2), 1e-5, 0.03),
        ("logarithmic", Fraction(5, 4), 1e-5, 0.3),
        ("poisson", 1, 1e-4, 0.6),
    ],
)
def test_the_best_run_has_its_law_on_every_tape(monkeypatch, stopping, mean, cutoff, largest):
    reached, rest = on_every_tape(monkeypatch, OUTCOMES, cutoff, stopping=stopping, mean=mean)
    law = read_stopping(stopping, mean)
    parameter = law.mean if stopping == "poisson" else law.stop
    groups = [[mpmath.mpf(weight) / 8 for weight in group] for group in GROUPS]
    ideal = reference.best_run(
        stopping, mpmath.mpf(parameter.numerator) / parameter.denominator, groups
    )
    assert rest < largest
    for answer, chance in zip(
        [None, *((score, output) for score, output, _ in OUTCOMES)], ideal, strict=True
    ):
        assert reached.get(answer, 0) <= chance + 1e-12
        assert chance <= reached.get(answer, 0) + rest + 1e-12


@pytest.mark.parametrize(("threshold", "cut"), [(0, 0), (2, 1), (2.5, 3), (5, 3), (6, 4)])
def test_the_first_good_run_has_its_law_on_every_tape(monkeypatch, threshold, cut):
    reached, rest = on_every_tape(
        monkeypatch, OUTCOMES, 1e-5, stopping="threshold", mean=1.5, threshold=threshold
    )
    chances = [mpmath.mpf(weight) / 8 for _, _, weight in OUTCOMES]
    ideal = reference.first_good_run(mpmath.mpf(2) / 3, chances[:cut], chances[cut:])
    assert rest < 0.02
    assert set(reached) <= {None, *((score, output) for score, output, _ in OUTCOMES[cut:])}
    for answer, chance in zip(
        [None, *((score, output) for score, output, _ in OUTCOMES[cut:])], ideal, strict=True
    ):
        assert reached.get(answer, 0) <= chance + 1e-12
        assert chance <= reached.get(answer, 0) + rest + 1e-12


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_keeping_the_first_of_equal_scores_is_as_good_as_a_fair_choice(count):
    """What the reference uses for ties, by writing out all sequences of runs."""
    chances = [mpmath.mpf(weight) / 8 for _, _, weight in OUTCOMES]
    written_out = reference.best_of_exactly(
        count, [(score, p) for (score, _, _), p in zip(OUTCOMES, chances, strict=True)]
    )
    low, middle, high = chances[0], chances[1] + chances[2], chances[3]
    tied = (low + middle) ** count - low**count
    expected = [
        low**count,
        tied * chances[1] / middle,
        tied * chances[2] / middle,
        1 - (1 - high) ** count,
    ]
    for found, ideal in zip(written_out, expected, strict=True):
        assert float(found) == pytest.approx(float(ideal), abs=1e-14)


# --- what comes out -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "scores", "best"),
    [
        ("max", (1, 7, 3), 7),
        ("min", (4, 1, 3), 1),
        ("max", (math.nan, -5, math.nan), -5),
        ("max", (math.nan, -math.inf), -math.inf),
        ("max", (-math.inf, -(10**400)), -(10**400)),
        ("min", (math.nan, math.inf), math.inf),
        ("max", (math.inf, 10**400), math.inf),
        ("max", (Decimal("nan"), Decimal("0.1")), Decimal("0.1")),
        ("max", (Decimal("snan"), Decimal("-Infinity")), Decimal("-Infinity")),
        ("max", (0.1, Decimal("0.1"), Fraction(1, 10)), 0.1),
        ("min", (0.1, Fraction(1, 10), Decimal("0.1")), Fraction(1, 10)),
        ("max", (2**53, 2.0**53, 2**53 + 1), 2**53 + 1),
        ("max", (np.float32(0.1), 0.1), np.float32(0.1)),
        ("max", (np.float64(2), np.int8(3), np.longdouble(1)), np.int8(3)),
        ("max", (np.float64("nan"), np.float16(1)), np.float16(1)),
    ],
    ids=str,
)
def test_the_best_score_wins_whatever_kinds_of_numbers_there_are(exactly, objective, scores, best):
    exactly(len(scores))
    value = select(with_lock(*scores), objective=objective).value
    assert value[0] == best
    assert type(value[0]) is type(best)


def test_only_nan_is_an_answer_too(exactly):
    exactly(3)
    score, output = select(with_lock(math.nan, math.nan)).value
    assert math.isnan(score)
    assert output == "the output of nan"


@pytest.mark.parametrize(
    ("objective", "threshold", "expected"),
    [("max", 3, 3), ("max", 3.5, 9), ("min", 1, 1), ("min", 0, None)],
)
def test_a_threshold_is_reached_also_by_equality(exactly, objective, threshold, expected):
    exactly(4)
    value = select(
        with_lock(2, 3, 1, 9), stopping="threshold", threshold=threshold, objective=objective
    ).value
    assert (value and value[0]) == expected


def test_nothing_after_the_threshold_is_run(exactly):
    exactly(100)
    calls = []
    select(lambda: (calls.append(1) or len(calls), None), stopping="threshold", threshold=3)
    assert len(calls) == 3


@pytest.mark.parametrize("bad", [math.nan, -math.inf, 0])
def test_a_threshold_that_nothing_reaches_gives_nothing(exactly, bad):
    exactly(5)
    assert select(lambda: (bad, "x"), stopping="threshold", threshold=1).value is None


def test_a_score_may_be_however_long_it_likes(exactly):
    """It is private: a refusal would tell something about it."""
    exactly(3)
    longer = Fraction(1, 10**2000)
    assert select(with_lock(0, longer, longer / 2)).value[0] == longer


@loop_over("stopping", STOPPING_NAMES)
@loop_over("each", [PureDP(0.1), BoundedRange(0.1), discreet.ApproxDP(0.1, 1e-9)], ids=repr)
def test_the_release_says_what_it_cost_and_how_it_was_made(stopping, each):
    release = select(lambda: (1, "x"), stopping=stopping, each=each, public_choices=True)
    words = {"stopping": stopping, "mean": 3, "public_choices": True}
    assert release.loss == private_candidate_loss(each, **words)
    assert release.mechanism == f"private-candidate-{stopping}"
    assert release.seeded is False


def test_bounded_range_is_charged_by_what_is_said_about_public_choices():
    """Without the word nothing runs: a run that draws its setting has no bounded range."""
    each = BoundedRange(1)
    words = {"stopping": "logarithmic", "mean": 50, "each": each}
    with pytest.raises(ParameterTypeError, match=r"'public_choices' .* is BoundedRange"):
        select(lambda: pytest.fail("nothing may run"), **words)
    drawn = select(lambda: (1, "x"), public_choices=True, **words).loss
    fixed = select(lambda: (1, "x"), public_choices=False, **words).loss
    assert fixed == PureDP(1)
    assert 1.88 < drawn.epsilon < 1.89


def test_delta_and_objective_reach_their_place():
    release = select(lambda: (1, "x"), each=discreet.ZCDP(0.01), delta=1e-6)
    assert release.loss == private_candidate_loss(
        discreet.ZCDP(0.01), stopping="geometric", mean=3, delta=1e-6
    )


@pytest.mark.parametrize("stopping", STOPPING_NAMES)
def test_the_laws_of_the_number_of_runs_are_not_mixed_up(stopping, monkeypatch):
    asked = []
    for name in ("geometric", "logarithmic", "poisson"):
        monkeypatch.setattr(
            private_candidate,
            name,
            lambda given, chance, name=name: asked.append((name, given)) or 1,
        )
    select(lambda: (1, "x"), stopping=stopping, mean=4)
    law = read_stopping(stopping, 4)
    expected = {"threshold": ("geometric", Fraction(1, 4)), "poisson": ("poisson", Fraction(4))}
    assert asked == [expected.get(stopping, (stopping, getattr(law, "stop", None)))]


def test_seeded_bits_leave_their_mark_and_repeat_the_number_of_runs():
    def runs(seed):
        calls = []
        release = select(lambda: (calls.append(1) or 0, "x"), bits=SeededBits(seed), mean=20)
        assert release.seeded is True
        return len(calls)

    assert [runs(seed) for seed in range(5)] == [runs(seed) for seed in range(5)]
    assert len({runs(seed) for seed in range(5)}) > 1


# --- the number of runs is private --------------------------------------------------------------


@pytest.mark.parametrize("stopping", STOPPING_NAMES)
def test_no_release_shows_how_many_runs_there_were(exactly, stopping):
    pictures = []
    for count in (7777, 8888):
        exactly(count)
        release = select(lambda: (-1, "x"), stopping=stopping)
        assert release.candidates is None
        pictures.append(
            (repr(release), release.to_json(), pickle.dumps(release), copy.deepcopy(release))
        )
        assert str(count) not in repr(release) + release.to_json()
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("bad", [None, (1,), (1, 2, 3), "ab", (True, "x"), ("1", "x"), (1j, "x")])
def test_a_bad_result_is_named_without_showing_it_or_when_it_came(exactly, bad):
    messages = []
    for good_runs in (0, 3):
        exactly(9)
        results = [(1, "x")] * good_runs + [bad]

        def run(results=results):
            return results.pop(0)

        run.__qualname__ = "run"
        with pytest.raises(
            ParameterTypeError, match=r"'run' parameter of select_private_candidate must be"
        ) as caught:
            select(run)
        assert repr(caught.value.got) == "a function"
        messages.append(caught.value.rule)
    assert messages[0] == messages[1]


def test_an_exception_of_the_run_comes_through_untouched():
    class MineError(Exception):
        pass

    def run():
        raise MineError("as it was")

    with pytest.raises(MineError, match=r"^as it was$") as caught:
        select(run)
    assert not getattr(caught.value, "__notes__", None)


# --- bad requests -------------------------------------------------------------------------------


@loop_over(
    ("change", "error", "rule"),
    [
        ({"threshold": 3}, ParameterTypeError, "left out unless stopping='threshold'. Got 3"),
        (
            {"stopping": "threshold", "threshold": None},
            ParameterTypeError,
            "given with stopping='threshold'",
        ),
        (
            {"stopping": "threshold", "threshold": math.nan},
            ParameterError,
            "'threshold' parameter .* finite",
        ),
        (
            {"stopping": "threshold", "threshold": "3"},
            ParameterTypeError,
            "'threshold' parameter .* a number",
        ),
        ({"bits": SeededBits}, ParameterTypeError, "'bits' parameter"),
    ],
    ids=str,
)
def test_a_bad_request_is_named_before_anything_runs(change, error, rule):
    with pytest.raises(error, match=rule) as caught:
        select(lambda: pytest.fail("nothing may run"), **change)
    assert type(caught.value) is error
    assert "of select_private_candidate must be" in str(caught.value)


def test_there_are_no_defaults_for_what_decides_the_cost():
    parameters = inspect.signature(select_private_candidate).parameters
    empty = inspect.Parameter.empty
    needed = [name for name, each in parameters.items() if each.default is empty]
    assert needed == ["run", "each", "stopping", "mean"]
