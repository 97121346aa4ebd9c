"""How discreet's own mechanisms are audited: recognized by their methods, not by a list."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

from discreet.auditing.audited_code import AuditedCode, seeded
from discreet.auditing.claims import LogProbabilities
from discreet.auditing.neighbours import (
    GivenPairs,
    ItemCounts,
    Numbers,
    Pair,
    World,
)
from discreet.auditing.score_vectors import ScoreVectors
from discreet.auditing.tapes import Tape
from discreet.errors import ParameterTypeError
from discreet.exact.rationals import nearest_float

# answers further from the true number than this are left out: their ratios are the same
_REACH = 40


def is_ours(mechanism: Any) -> bool:
    """True if an object states its loss and draws as discreet's mechanisms do."""
    return (
        not isinstance(mechanism, type)
        and callable(getattr(mechanism, "privacy_loss", None))
        and any(callable(getattr(mechanism, name, None)) for name in ("select", "release"))
    )


def from_mechanism(mechanism: Any, *, scores: int = 8) -> AuditedCode:
    """Audit a mechanism of discreet, or any object with the same methods:
    `privacy_loss`, and `select` or `release`. Its probabilities are used if it states
    them.
    """
    world = _world(mechanism, scores)
    call = _call(mechanism)
    law = _law(mechanism)
    return AuditedCode(
        name=repr(mechanism),
        make_run=seeded(call),
        world=world,
        claim=mechanism.privacy_loss(),
        law=law,
        partial_law=not hasattr(mechanism, "categories"),
        # only discreet's own samplers ask a Chance for all their randomness
        on_tape=_on_tape(call) if _is_discreets(mechanism) else None,
        objective=getattr(mechanism, "objective", None)
        if isinstance(world, ScoreVectors)
        else None,
    )


def _is_discreets(mechanism: Any) -> bool:
    return type(mechanism).__module__.partition(".")[0] == "discreet"


def _world(mechanism: Any, scores: int) -> World:
    if hasattr(mechanism, "categories"):
        labels = list(mechanism.categories)
        pairs = [Pair(f"{one} and {other}", one, other) for one, other in combinations(labels, 2)]
        return GivenPairs(given=tuple(pairs[:6]), words="two values of one person")
    if hasattr(mechanism, "limit"):
        height = int(nearest_float(Fraction(mechanism.height)))
        return ItemCounts(
            items_per_person=mechanism.items_per_person, around=(1, height, height + 2)
        )
    first = next(iter(_data_parameters(mechanism)), "")
    if first == "value" or first == "score":
        low = int(mechanism.bounds[0]) if hasattr(mechanism, "bounds") else 0
        return Numbers(sensitivity=_move(mechanism), center=low)
    if first in ("scores", "answers"):
        return _score_world(mechanism, scores, first)
    raise ParameterTypeError(
        "mechanism",
        "one that takes scores, answers, a value, counts or categories",
        type(mechanism),
        "Make a discreet.auditing.audited_code.AuditedCode of it.",
    )


def _move(mechanism: Any) -> Fraction:
    """How far one person moves the number: by the sensitivity, or by the root of the
    squared sensitivity, rounded down.
    """
    squared = getattr(mechanism, "squared_sensitivity", None)
    if squared is None:
        return Fraction(mechanism.sensitivity)
    return Fraction(math.isqrt(int(Fraction(squared))))


def _score_world(mechanism: Any, scores: int, first: str) -> ScoreVectors:
    own = "sensitivities" in _data_parameters(mechanism)
    sensitivities = tuple(Fraction(1 + place % 3) for place in range(scores)) if own else None
    stated = getattr(mechanism, "sensitivity", None)
    span = Fraction(stated) if stated is not None else _half_range(mechanism)
    k = getattr(mechanism, "k", 1)
    return ScoreVectors(
        candidates=max(scores, k + 1),
        fewest=max(k, 2),
        sensitivity=span,
        monotonic=bool(getattr(mechanism, "monotonic", False)),
        sensitivities=sensitivities,
        center=Fraction(getattr(mechanism, "threshold", 0)),
        extremes=first == "scores" and not own,
    )


def _half_range(mechanism: Any) -> Fraction:
    """Half of the score range: if scores move by that much up or down, their moves
    differ by at most the range.
    """
    given = getattr(mechanism, "score_range", None)
    return Fraction(given) / 2 if given is not None else Fraction(1)


def _data_parameters(mechanism: Any) -> list[str]:
    method = getattr(mechanism, "select", None) or mechanism.release
    return [
        name
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]


def _call(mechanism: Any) -> Callable[..., Any]:
    """The mechanism's public method as a function from data and bits to an answer."""
    parameters = _data_parameters(mechanism)
    if "sensitivities" in parameters:
        return lambda scores, *, bits=None: mechanism.select(
            list(scores), [1 + place % 3 for place in range(len(scores))], bits=bits
        )
    if parameters[:1] == ["score"]:
        # this mechanism takes a score function, not scores
        return lambda value, *, bits=None: mechanism.select(_score(mechanism, value), bits=bits)
    if parameters[:1] == ["answers"] or not hasattr(mechanism, "select"):
        return lambda data, *, bits=None: mechanism.release(data, bits=bits)
    return lambda data, *, bits=None: mechanism.select(data, bits=bits)


def _score(mechanism: Any, value: int) -> Callable[[int], int]:
    """A score for every whole number, which changes by at most 1 if the value does: how
    near the number is to the value; for monotonic scores, how far it is beyond.
    """
    if not mechanism.monotonic:
        return lambda number: -abs(number - value)
    # rounded, so that both values of a pair have the same middle, with rare exceptions
    middle = (value + 512) // 1024 * 1024
    return lambda number: -abs(number - middle) - max(0, number - value)


def _on_tape(call: Callable[..., Any]) -> Callable[[Any, Tape], Any]:
    return lambda data, tape: call(data, bits=tape)


def _law(mechanism: Any) -> Callable[[Any], LogProbabilities] | None:
    """The mechanism's law, by whichever method states its probabilities; None if none does."""
    parameters = _data_parameters(mechanism)
    if hasattr(mechanism, "log_probabilities"):
        if "sensitivities" in parameters:
            return lambda scores: dict(
                enumerate(
                    mechanism.log_probabilities(
                        list(scores), [1 + place % 3 for place in range(len(scores))]
                    ).tolist()
                )
            )
        return lambda scores: dict(enumerate(mechanism.log_probabilities(scores).tolist()))
    if not hasattr(mechanism, "log_probability"):
        return _law_of_probabilities(mechanism)
    outputs = _outputs(mechanism, parameters)
    if outputs is None:
        return None
    if parameters[:1] == ["score"]:
        return lambda value: {
            output: mechanism.log_probability(output, _score(mechanism, value))
            for output in outputs(value)
        }
    return lambda data: {
        _hashable(output): mechanism.log_probability(output, data) for output in outputs(data)
    }


def _law_of_probabilities(mechanism: Any) -> Callable[[Any], LogProbabilities] | None:
    import numpy as np

    if not hasattr(mechanism, "probabilities"):
        return None

    def law(data: Any) -> LogProbabilities:
        with np.errstate(divide="ignore"):
            return dict(enumerate(np.log(np.asarray(mechanism.probabilities(data))).tolist()))

    return law


def _outputs(mechanism: Any, parameters: list[str]) -> Callable[[Any], Iterable[Any]] | None:
    """A function from data to all possible answers, or to those that matter."""
    if hasattr(mechanism, "categories"):
        return lambda _: _reports(mechanism)
    if hasattr(mechanism, "k") and parameters[:1] == ["scores"]:
        return lambda scores: permutations(range(min(len(scores), 5)), mechanism.k)
    if parameters[:1] in (["value"], ["score"]):
        low, high = getattr(mechanism, "bounds", (-(10**30), 10**30))
        return lambda value: [
            number
            for number in range(int(value) - _REACH, int(value) + _REACH)
            if low <= number <= high
        ]
    return None


def _reports(mechanism: Any) -> list[Any]:
    """Every possible report of a local mechanism: a category, or a set of categories."""
    labels = list(mechanism.categories)
    example = mechanism.release(labels[0]).value
    if not isinstance(example, list):
        return labels
    sizes = {len(mechanism.release(label).value) for label in labels * 8}
    return [
        [label for label, taken in zip(labels, chosen, strict=True) if taken]
        for chosen in product((False, True), repeat=len(labels))
        if len(sizes) > 1 or sum(chosen) in sizes
    ]


def _hashable(output: Any) -> Any:
    return tuple(output) if isinstance(output, (list, tuple)) else output
