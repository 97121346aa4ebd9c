"""Private selection among candidates that are themselves private: run many times, keep the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.random_stopping import PoissonLaw, Stopping, read_stopping, total_loss
from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up
from discreet.errors import ParameterTypeError, public_function
from discreet.exact.rationals import (
    Number,
    choice,
    exact_binary,
    is_finite,
    nearest_float,
    private_binary,
)
from discreet.literals import OBJECTIVES, Objective, StoppingName
from discreet.privacy.loss import Loss
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.randomness.whole_numbers import geometric, logarithmic, poisson
from discreet.release import Release

Rank = tuple[int, Fraction]
"""A score on a line that has a place for everything, larger is better: NaN, then one
infinity, the numbers, the other one.
"""

_NOT_A_NUMBER = (-2, Fraction(0))


@public_function("select_private_candidate")
def select_private_candidate(
    run: Callable[[], tuple[Any, Any]],
    *,
    each: Loss,
    stopping: StoppingName,
    mean: Number,
    public_choices: bool | None = None,
    threshold: Number | None = None,
    delta: Number | None = None,
    objective: Objective = "max",
    bits: Bits | None = None,
) -> Release:
    """Run a private program a random number of times and release the best result, for a
    small multiple of the loss of one run.

    run: a function without arguments that returns a pair (score, output). It is itself
        private, with loss `each`, for the pair as a whole; it draws what it tries (a
        hyperparameter, say) itself, afresh, and remembers nothing from one call to the
        next.
    each: the loss of one run, whatever its public choices are.
    stopping: the law of the number of runs. "logarithmic" costs least, and makes a
        single run quite often; "geometric" less often; "poisson" varies least, and may
        make no run at all; "threshold" stops at the first score that is good enough.
    mean: how many runs there are on average; with a threshold, if none reaches it.
    public_choices: whether a run draws anything besides its private mechanism, shown or
        not: the hyperparameter that it tries, a seed, a subset of the columns. To be
        said where `each` is BoundedRange, which such draws do not preserve; other
        losses cost the same either way.
    threshold: with "threshold" stopping, the score to reach. It is public: chosen
        without looking at the data.
    delta: where the cost may be approximate DP, its delta. Needed if `each` is ZCDP.
    objective: whether the "max" or the "min" of the scores is best. A score that is NaN
        is the worst of all.
    bits: only in tests and simulations; they decide how many runs there are, not what
        `run` draws.

    `Release.value` is the pair (score, output) as `run` returned it, and None if there
    was no run or none reached the threshold.

    Privacy: `private_candidate_loss(each, ...)`, whatever the scores. **The number of
        runs is private**: the release does not hold it, and you must not show it, nor
        how long this took, nor what the other runs returned. An exception from `run`
        ends everything and is an answer that no loss accounts for: let `run` return a
        bad score instead.
    Utility: with "poisson" the best share s of all runs is missed with probability
        e^(-mean s), with "geometric" less than 1 / (1 + (mean - 1) s).
    Cost: the runs. What they cost in privacy is computed beforehand, in milliseconds.
    Reference: Liu and Talwar 2019; Papernot and Steinke 2022. Proof:
        docs/proofs/private-candidates.md.

    >>> from discreet.mechanisms import ExponentialMechanism
    >>> from discreet.testing import SeededBits
    >>> mechanism, coins = (
    ...     ExponentialMechanism(epsilon=0.5, sensitivity=1, monotonic=True),
    ...     SeededBits(7),
    ... )
    >>> def run():  # the length of a word is public, which word was voted for is not
    ...     word = mechanism.release({"a": 41, "bb": 38, "ccc": 37}, bits=coins).value
    ...     return len(word), word
    >>> release = select_private_candidate(
    ...     run,
    ...     each=mechanism.privacy_loss(),
    ...     public_choices=False,
    ...     stopping="logarithmic",
    ...     mean=5,
    ...     bits=SeededBits(3),
    ... )
    >>> release.value, release.loss
    ((3, 'ccc'), PureDP(epsilon=0.5))
    """
    if not callable(run):
        raise ParameterTypeError("run", "a function that returns a pair (score, output)", run)
    law = read_stopping(stopping, mean)
    smallest = choice(objective, OBJECTIVES, "objective") == "min"
    goal = _read_threshold(threshold, stopping, smallest)
    loss = total_loss(each, law, public_choices, delta)
    told, chance = _accuracy(law, stopping, USUAL_FAILURE), read_bits(bits)
    return Release(
        value=_best(run, _draw(law, stopping, chance), goal, smallest),
        loss=loss,
        mechanism=f"private-candidate-{stopping}",
        # the number of runs is private
        candidates=None,
        seeded=chance.bits.seeded,
        accuracy=told,
    )


def _accuracy(
    law: Stopping, stopping: StoppingName, failure_probability: Fraction
) -> Accuracy | None:
    """Which share of all runs would be better, at most; None where nothing can be said.

    All runs miss the best share s with probability f(1 - s), where f is the generating
    function of their number: docs/proofs/accuracy.md#runs.
    """
    beta = failure_probability
    if stopping == "threshold":
        # it stops where it is good enough
        return None
    if isinstance(law, PoissonLaw):
        share = nearest_float(Fraction(-math.log(beta)) / law.mean)
    elif stopping == "geometric":
        share = nearest_float((1 - beta) / (1 + beta * (1 / law.stop - 1)))
    else:
        logarithm = math.log(law.stop.numerator) - math.log(law.stop.denominator)
        share = 1 - math.expm1(float(beta) * logarithm) / math.expm1(logarithm)
    bound = rounded_up(share)
    if not 0 < bound < 1:
        return None
    return Accuracy(bound=bound, statement="runs", failure_probability=failure_probability)


def _draw(law: Stopping, stopping: StoppingName, chance: Chance) -> int:
    """The number of runs: with a threshold, the one after which it is given up."""
    if isinstance(law, PoissonLaw):
        return poisson(law.mean, chance)
    return (
        logarithmic(law.stop, chance) if stopping == "logarithmic" else geometric(law.stop, chance)
    )


def _best(
    run: Callable[[], tuple[Any, Any]], runs: int, goal: Rank | None, smallest: bool
) -> tuple[Any, Any] | None:
    """The first of the best results; with a goal, the first that reaches it."""
    best, highest = None, None
    for _ in range(runs):
        result = run()
        rank = _rank(result, smallest, run)
        if goal is not None:
            if rank >= goal:
                return result
        elif highest is None or rank > highest:
            best, highest = result, rank
    return best


def _rank(result: Any, smallest: bool, run: object) -> Rank:
    """Where the score of a result stands. A message shows `run` itself and nothing of
    what it returned, which is private.
    """
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ParameterTypeError(
            "run", "a function that returns a pair (score, output), always", run
        )
    score = result[0]
    if isinstance(score, (bool, np.bool_)) or not isinstance(score, Number):
        hint = "An int, float, Fraction, Decimal or NumPy scalar will do."
        raise ParameterTypeError("run", "a function whose score is a number, always", run, hint)
    if isinstance(score, (float, np.floating, Decimal)) and not is_finite(score):
        if score.is_nan() if isinstance(score, Decimal) else np.isnan(score):
            return _NOT_A_NUMBER
        return (1 if (score > 0) != smallest else -1), Fraction(0)
    return _finite(private_binary(score, "run"), smallest)


def _finite(score: Fraction, smallest: bool) -> Rank:
    return 0, -score if smallest else score


def _read_threshold(
    threshold: Number | None, stopping: StoppingName, smallest: bool
) -> Rank | None:
    if stopping != "threshold":
        if threshold is not None:
            raise ParameterTypeError("threshold", "left out unless stopping='threshold'", threshold)
        return None
    if threshold is None:
        raise ParameterTypeError("threshold", "given with stopping='threshold'", None)
    return _finite(exact_binary(threshold, "threshold"), smallest)
