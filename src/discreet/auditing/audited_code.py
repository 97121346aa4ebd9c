"""The code that is audited: it takes data and gives a random answer, whoever wrote it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.auditing.claims import LogProbabilities
from discreet.auditing.neighbours import GivenPairs, Pair, World
from discreet.auditing.score_vectors import ScoreArrays, ScoreVectors
from discreet.auditing.tapes import Tape
from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, exact_binary, positive
from discreet.literals import OBJECTIVES, Objective
from discreet.privacy.loss import Loss
from discreet.testing import SeededBits

# with this many candidates, or more, scores come as NumPy arrays
_ARRAYS_FROM = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCode:
    """Code to be audited, with what it says about itself.

    name: what to call it in a report.
    make_run: takes a seed and returns the code as a function from data to an answer,
        which draws anew at each call.
    world: which data there are, and who are neighbours.
    claim: the loss that it states.
    law: from data to the logarithms of the answers' probabilities, if they are known.
    partial_law: True if the law leaves out some answers, because there are too many.
    on_tape: the code with a `Tape` in place of its randomness, if it allows that.
    objective: which score should win, where answers are positions of scores.
    """

    name: str
    make_run: Callable[[int], Callable[[Any], Any]]
    world: World
    claim: Loss | None = None
    law: Callable[[Any], LogProbabilities] | None = None
    partial_law: bool = False
    on_tape: Callable[[Any, Tape], Any] | None = None
    objective: Objective | None = None

    def __post_init__(self) -> None:
        if self.objective is not None:
            choice(self.objective, OBJECTIVES, "objective")


def from_function(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    scores: int = 8,
    sensitivity: Number = 1,
    monotonic: bool = False,
    objective: Objective | None = None,
    claim: Loss | None = None,
    extremes: bool = True,
) -> AuditedCode:
    """Audit a plain function from scores to a position, or to any other answer.

    The function may take its randomness from the keyword `bits` (as discreet does) or
    `rng` (a NumPy generator). The generators of the modules `random` and `numpy.random`
    are seeded too, so that functions that use them repeat.

    scores: how many candidates; from 100,000 on they come as NumPy arrays, and only
        what breaks sums of many floats is tried.
    sensitivity, monotonic: what one person does to the scores; if not given, one person
        moves each score by up to 1, in any direction. That is the audit's assumption,
        not the code's: where scores are counts, say monotonic=True, or a correct
        function that relies on it is called violated.
    objective: "max" or "min", to see also whether the right candidate wins.
    extremes: whether to try scores at which floats break: 2^53, subnormal numbers,
        types of 8 bits.
    """
    span = positive(exact_binary(sensitivity, "sensitivity"), sensitivity, "sensitivity")
    world = _scores(count(scores, "scores", least=2), span, monotonic, extremes)
    if not callable(function):
        raise ParameterTypeError(
            "mechanism", "a function, a mechanism or an AuditedCode", type(function)
        )
    return AuditedCode(
        name=name or str(getattr(function, "__qualname__", type(function).__name__)),
        make_run=seeded(function),
        world=world,
        claim=claim,
        objective=objective,
    )


def _scores(candidates: int, span: Fraction, monotonic: bool, extremes: bool) -> World:
    if candidates < _ARRAYS_FROM:
        return ScoreVectors(
            candidates=candidates, sensitivity=span, monotonic=monotonic, extremes=extremes
        )
    if span.denominator != 1:
        rule = "a whole number with this many candidates"
        raise ParameterError("sensitivity", rule, span)
    return ScoreArrays(candidates=candidates, sensitivity=int(span), monotonic=monotonic)


def seeded(function: Callable[..., Any]) -> Callable[[int], Callable[[Any], Any]]:
    """Make a function repeat for the same seed, as far as the function allows."""
    try:
        keywords = inspect.signature(function).parameters.keys()
    except (TypeError, ValueError):
        keywords = {}.keys()

    def make_run(seed: int) -> Callable[[Any], Any]:
        given: dict[str, Any] = {}
        if "bits" in keywords:
            given["bits"] = SeededBits(seed)
        if "rng" in keywords:
            given["rng"] = np.random.default_rng(seed)
        random.seed(seed)
        # the audited code may use this generator; discreet does not
        np.random.seed(seed % 2**32)
        return (lambda data: function(data, **given)) if given else function

    return make_run


def from_opendp(
    measurement: Any,
    *,
    scores: int = 8,
    sensitivity: int = 1,
    monotonic: bool = False,
    claim: Loss | None = None,
    objective: Objective | None = "max",
) -> AuditedCode:
    """Audit a measurement of OpenDP that takes a vector of scores, such as
    `opendp.measurements.make_noisy_max`.

    Its scores must be whole numbers of 64 bits: smaller types cannot hold all scores
    that are tried.
    sensitivity, monotonic: what its input metric says, at the distance of the claim.
    """
    world = ScoreVectors(
        candidates=scores, sensitivity=Fraction(sensitivity), monotonic=monotonic, extremes=False
    )
    return AuditedCode(
        name="OpenDP measurement",
        make_run=seeded(lambda data: measurement([int(score) for score in data])),
        world=world,
        claim=claim,
        objective=objective,
    )


def from_diffprivlib(
    make: Callable[[list[Any]], Any],
    *,
    scores: int = 8,
    sensitivity: Number = 1,
    monotonic: bool = False,
    claim: Loss | None = None,
    objective: Objective | None = "max",
) -> AuditedCode:
    """Audit a mechanism of diffprivlib, which takes the scores in its constructor.

    make: from scores to the mechanism, such as `lambda scores: Exponential(epsilon=1,
        sensitivity=1, utility=list(scores))`.
    """

    def run(data: Any) -> Any:
        return make([score.item() if hasattr(score, "item") else score for score in data])

    def randomise(data: Any) -> Any:
        return run(data).randomise()

    return from_function(
        randomise,
        name="diffprivlib mechanism",
        scores=scores,
        sensitivity=sensitivity,
        monotonic=monotonic,
        claim=claim,
        objective=objective,
    )


def read_pairs(pairs: Iterable[Any]) -> GivenPairs:
    """Read the neighbours that a caller names: (first, second), or (name, first, second)."""
    read: list[Pair] = []
    for place, given in enumerate(pairs):
        if isinstance(given, Pair):
            read.append(given)
        elif isinstance(given, (tuple, list)) and len(given) == 2:
            read.append(Pair(f"pair {place}", *given))
        elif isinstance(given, (tuple, list)) and len(given) == 3 and isinstance(given[0], str):
            read.append(Pair(*given))
        else:
            raise ParameterTypeError(
                "pairs", "pairs of neighbouring inputs, or triples with a name", given
            )
    if not read:
        raise ParameterError("pairs", "at least one", 0)
    return GivenPairs(given=tuple(read))
