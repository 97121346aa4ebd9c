"""Every public mechanism as something to audit: found by its methods, made from its signature.

Nothing is listed but what takes its data in a way of its own; `forgotten` names what is in neither.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from contracts.audited_fits import FITS
from public_names import PUBLIC

import discreet
from discreet import ApproxDP, Loss, PureDP, Release
from discreet.auditing.audited_code import AuditedCode, seeded
from discreet.auditing.discreet_mechanisms import from_mechanism
from discreet.auditing.neighbours import GivenPairs, ItemCounts, Pair, ValueLists
from discreet.auditing.score_vectors import ScoreVectors

# what constructors ask for, by the names of parameters, which are the same everywhere
_PARAMETERS: dict[str, Any] = {
    "bounds": (0, 8),
    "categories": ("a", "b", "c"),
    "delta": 0.01,
    "epsilon": 1,
    "failure_probability": 0.1,
    "k": 2,
    "limit": 5,
    "mu": 1,
    "rho": 0.5,
    "sensitivity": 1,
    "squared_sensitivity": 1,
    "threshold": 3,
}
_WORDS = {
    "noise": ("gumbel", "exponential", "laplace"),
    "mechanism": ("permute-and-flip", "exponential"),
    "monotonic": (False, True),
}
_ONE_ITEM = ItemCounts(items_per_person=1, around=(1, 12))
_VOTES = ScoreVectors(candidates=4, sensitivity=Fraction(1), monotonic=True)
_VALUES = ValueLists(bounds=(0.0, 8.0))
_GRID: dict[str, Any] = {"bounds": (0, 8), "step": 1, "epsilon": 1}
_SHARE: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
_PIECES = discreet.mechanisms.IntervalExponentialMechanism(
    bounds=(0, 8), epsilon=1, sensitivity=1, step=1
)
_SHARED = discreet.mechanisms.CorrelatedCounts(items=2, epsilon=1)
_RARE: dict[str, Any] = {"epsilon": 1, "delta": 0.01}


def _pay(counts: Any, *, bits: Any = None) -> Release:
    account = discreet.mechanisms.PayWhatYouGet(outcomes=2, calls=1, **_RARE)
    return account.top_k(counts, k=2, limit=5, items_per_person=1, bits=bits)


def _best_of_some(scores: Any, *, bits: Any = None) -> Release:
    mechanism = discreet.mechanisms.PermuteAndFlip(**_SHARE)

    def run() -> tuple[int, int]:
        place = mechanism.select(scores, bits=bits)
        return place, place

    return discreet.mechanisms.select_private_candidate(
        run, each=mechanism.privacy_loss(), stopping="geometric", mean=2, bits=bits
    )


# What takes its data otherwise than in one call with scores, answers, counts, a value or a
# category: the call, who are neighbours, and the claim, if the Release does not state it.
_BY_HAND: dict[str, tuple[Any, Any, Loss | None]] = {
    "IntervalExponentialMechanism": (
        lambda data, *, bits=None: _PIECES.select(data, [2, 5], bits=bits),
        GivenPairs(
            given=(
                Pair("tied", [0, 0, 0], [1, -1, -1]),
                Pair("a leader by 9", [0, 9, 0], [-1, 10, -1]),
                Pair("a loser by 3", [0, -3, 0], [-1, -2, -1]),
            )
        ),
        _PIECES.privacy_loss(),
    ),
    "CorrelatedCounts": (
        # the last number is that of all people
        lambda data, *, bits=None: _SHARED.release(data[:2], people=data[2], bits=bits),
        GivenPairs(
            given=(
                Pair("a person with both", [3, 1, 5], [4, 2, 6]),
                Pair("a person with one", [3, 1, 5], [4, 1, 6]),
                Pair("a person with none", [3, 1, 5], [3, 1, 6]),
            )
        ),
        _SHARED.privacy_loss(),
    ),
    "PayWhatYouGet": (_pay, _ONE_ITEM, ApproxDP(1, 0.01)),
    "quantile": (
        lambda data, *, bits=None: discreet.quantile(data, q=0.5, bits=bits, **_GRID),
        _VALUES,
        PureDP(1),
    ),
    "quantiles": (
        lambda data, *, bits=None: discreet.quantiles(data, q=[0.25, 0.75], bits=bits, **_GRID),
        _VALUES,
        PureDP(1),
    ),
    "select_private_candidate": (_best_of_some, _VOTES, None),
    "select": (
        lambda data, *, bits=None: discreet.select(data, with_gap=True, bits=bits, **_SHARE),
        _VOTES,
        PureDP(1),
    ),
    "top_k": (
        lambda data, *, bits=None: discreet.top_k(data, 3, bits=bits, **_SHARE),
        _VOTES,
        PureDP(1),
    ),
    "top_k_unknown_domain": (
        lambda data, *, bits=None: discreet.top_k_unknown_domain(
            data, k=2, limit=5, items_per_person=1, bits=bits, **_RARE
        ),
        _ONE_ITEM,
        ApproxDP(1, 0.01),
    ),
    **FITS,
}


def subjects() -> Iterator[AuditedCode]:
    """Every public mechanism, in every variant that its constructor has words for."""
    for name in PUBLIC:
        if name in _BY_HAND:
            run, world, claim = _BY_HAND[name]
            claim = claim or run([0, 1, 2, 3]).loss
            yield AuditedCode(name=name, make_run=seeded(run), world=world, claim=claim)
        elif is_mechanism(name):
            for mechanism in _made(PUBLIC[name]):
                yield from_mechanism(mechanism, scores=4)


def is_mechanism(name: str) -> bool:
    """Whether a public name is a class that states a loss, or a function that makes a Release."""
    value = PUBLIC[name]
    if isinstance(value, type):
        return hasattr(value, "privacy_loss") and not inspect.isabstract(value)
    return callable(value) and inspect.get_annotations(value).get("return") == "Release"


def _made(kind: Any) -> list[Any]:
    parameters = inspect.signature(kind).parameters
    wanted = [
        name
        for name, parameter in parameters.items()
        if (parameter.default is parameter.empty or name == "sensitivity") and name not in _WORDS
    ]
    variants = [{name: _PARAMETERS[name] for name in wanted}]
    for name, values in _WORDS.items():
        if name in parameters:
            variants = [variant | {name: value} for variant in variants for value in values]
    return [kind(**variant) for variant in variants]
