"""The mechanisms by the names that callers use for them, and which one is best for a list."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from discreet.errors import ParameterError
from discreet.exact.rationals import Number, choice, count
from discreet.literals import MECHANISM_NAMES, TOP_K_METHODS, MechanismName, Objective, TopKMethod
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.joint_top_k import JointTopK
from discreet.mechanisms.peeling_top_k import PeelingTopK, TopKMechanism
from discreet.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, ReportNoisyMax
from discreet.privacy.parameters import read_delta

MECHANISMS: dict[
    MechanismName, Callable[..., ExponentialMechanism | PermuteAndFlip | ReportNoisyMax]
] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
    "gumbel-noise": partial(ReportNoisyMax, noise="gumbel"),
    "exponential-noise": partial(ReportNoisyMax, noise="exponential"),
    "laplace-noise": partial(ReportNoisyMax, noise="laplace"),
}
"""The mechanisms that `select` knows, by name."""


def make_mechanism(
    mechanism: MechanismName,
    epsilon: Number,
    *,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    objective: Objective = "max",
    acknowledge: str | None = None,
) -> SelectionMechanism:
    """The mechanism of this name with these parameters."""
    # handed on unchanged: docs/proofs/exponential.md#what-the-code-states
    return MECHANISMS[choice(mechanism, MECHANISM_NAMES, "mechanism")](
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )


TOP_K_MECHANISMS: dict[str, Callable[..., TopKMechanism]] = {
    "peel": PeelingTopK,
    "one-shot": partial(PeelingTopK, mechanism="exponential"),
    "joint": JointTopK,
}

# up to this many picks a delta does not help
_VERY_FEW = 4
# up to this many picks the joint draw's factor 2 costs more than dividing epsilon
_FEW = 5
MANY = 4096
"""The longest list that is drawn jointly by default."""


def make_top_k(
    k: int,
    epsilon: Number,
    delta: Number = 0,
    *,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    method: TopKMethod = "auto",
    objective: Objective = "max",
    acknowledge: str | None = None,
) -> TopKMechanism:
    """The mechanism that `top_k` uses with these parameters."""
    if choice(method, TOP_K_METHODS, "method") == "histogram":
        rule = "another one, unless you limit how many items of each person count"
        raise ParameterError("method", rule, method, "Say items_per_person=.")
    k, exact_delta = count(k, "k"), read_delta(delta)
    # docs/proofs/top-k.md#what-the-code-states
    if method == "auto":
        method = best_method(k, exact_delta)
    return TOP_K_MECHANISMS[method](
        k=k,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )


def best_method(k: int, delta: Fraction) -> TopKMethod:
    """The method for lists that "auto" takes, by public numbers only:
    docs/explanation/which-top-k.md shows the measurements.
    """
    if delta and k > _VERY_FEW:
        return "one-shot"
    # the table of a joint draw grows with the square of k
    return "joint" if _FEW < k <= MANY else "peel"
