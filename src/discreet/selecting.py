"""The doors for people who have scores."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

from discreet.mechanisms.candidates import Scores
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.joint_top_k import JointTopK
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.parameters import read_delta
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection import SelectionMechanism
from discreet.mechanisms.top_k import PeelingTopK, TopKMechanism
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.privacy.numbers import Number, choice, count
from discreet.release import Release
from discreet.samplers.bits import Bits

MECHANISMS: dict[str, Callable[..., SelectionMechanism]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
    "gumbel-noise": partial(ReportNoisyMax, noise="gumbel"),
    "exponential-noise": partial(ReportNoisyMax, noise="exponential"),
    "laplace-noise": partial(ReportNoisyMax, noise="laplace"),
}
"""The mechanisms that `select` knows, by name."""


def make_mechanism(
    mechanism: str,
    epsilon: Number,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    objective: str = "max",
    acknowledge: str | None = None,
) -> SelectionMechanism:
    """The mechanism of this name with these parameters."""
    return MECHANISMS[choice(mechanism, tuple(MECHANISMS), "mechanism", "select")](
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )


# Checking parameters takes longer than selecting among a hundred candidates, and they are usually the same as last time.
# `typed` keeps True, 1 and 1.0 apart.
_remembered = lru_cache(maxsize=128, typed=True)(make_mechanism)


def select(
    scores: Scores,
    *,
    epsilon: Number,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    mechanism: str = "permute-and-flip",
    objective: str = "max",
    acknowledge: str | None = None,
    with_gap: bool = False,
    gap_step: Number | None = None,
    bits: Bits | None = None,
) -> Release:
    """Pick the best-scoring candidate so that nobody can tell from the answer whether any one person was in the data.

    scores: a mapping from label to score, a pandas or Polars Series, a NumPy array or any sequence.
    epsilon: the privacy loss of this release.
    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under adding or removing a person).
    score_range: instead of the two above, the most by which one person's moves of two scores differ.
    mechanism: "permute-and-flip" for a single release; "exponential" where many will be composed; or a kind of noise.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    with_gap: True to learn also, as `Release.gap`, by how much the winner won: the highest noisy score minus the second highest.
    gap_step: the public lattice on which the gap is told; if not given, the sensitivity.
    bits: only in tests and simulations.

    Privacy: `Release.loss`, exactly as stated, for any finite scores: the draw is exact, without a rounding error.
    Utility: the mechanism's `error_bound`.
    Cost: two passes over the scores.

    >>> from discreet.testing import SeededBits
    >>> votes = {"terrier": 41, "husky": 38, "corgi": 12}
    >>> release = select(votes, epsilon=1, sensitivity=1, monotonic=True, bits=SeededBits(7))
    >>> release.value, release.loss, release.seeded
    ('terrier', PureDP(epsilon=1), True)
    >>> select(votes, epsilon=1, sensitivity=1, monotonic=True, with_gap=True, bits=SeededBits(7)).gap
    Fraction(2, 1)
    """
    parameters = (mechanism, epsilon, sensitivity, monotonic, score_range, objective, acknowledge)
    try:
        made = _remembered(*parameters)
    except TypeError:  # something that cannot be a dictionary key: say what is wrong with it
        made = make_mechanism(*parameters)
    return made.release(scores, with_gap=with_gap, gap_step=gap_step, bits=bits)


_TOP_K: dict[str, Callable[..., TopKMechanism]] = {
    "peel": PeelingTopK,
    "one-shot": partial(PeelingTopK, mechanism="exponential"),
    "joint": JointTopK,
}
METHODS = ("auto", *_TOP_K)
"""The ways to a top-k that `top_k` knows."""

_VERY_FEW = 2  # picks, up to which the joint draw's factor 2 costs more than dividing epsilon
_FEW = 5  # picks, up to which a delta does not help


def top_k(
    scores: Scores,
    k: int,
    *,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    method: str = "auto",
    objective: str = "max",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Pick the k best-scoring candidates, in order, so that nobody can tell from the list whether any one person was in the data.

    scores, sensitivity, monotonic, score_range, objective, acknowledge, bits: as for `select`.
    k: how many candidates, at most as many as there are.
    epsilon, delta: the privacy loss of the whole list. A small delta, such as 1e-6, makes long lists much better.
    method: "peel" picks one after the other by permute-and-flip, "one-shot" by the exponential mechanism (which is the same as
        sorting by Gumbel noise), "joint" draws the whole list at once; "auto" takes what is best for this k and delta.

    Privacy: `Release.loss` for the whole list, `Release.value`.
    Utility: the `error_bound` of `PeelingTopK` and `JointTopK`.
    Cost: about twice one selection for k = 100 of a million candidates; the joint draw sorts those that can matter.

    >>> from discreet.testing import SeededBits
    >>> reads = {"news": 900, "sports": 420, "chess": 70, "weather": 880, "opera": 12}
    >>> release = top_k(reads, k=3, epsilon=1, sensitivity=1, monotonic=True, bits=SeededBits(1))
    >>> release.value, release.loss, release.mechanism
    (['news', 'weather', 'sports'], BoundedRange(epsilon=1), 'joint-exponential')
    """
    made = make_top_k(k, epsilon, delta, sensitivity, monotonic, score_range, method, objective, acknowledge)
    return made.release(scores, bits=bits)


def make_top_k(
    k: int,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    method: str = "auto",
    objective: str = "max",
    acknowledge: str | None = None,
) -> TopKMechanism:
    """The mechanism that `top_k` uses with these parameters."""
    choice(method, METHODS, "method", "top_k")
    k, exact_delta = count(k, "k", "top_k"), read_delta(delta, "top_k")
    if method == "auto":
        method = _best_method(k, exact_delta)
        delta = 0 if method == "joint" else delta  # a stronger promise than was asked for
    return _TOP_K[method](
        k=k,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )


def _best_method(k: int, delta: Fraction) -> str:
    """By public numbers only; docs/explanation/which-top-k.md shows the measurements."""
    if k <= _VERY_FEW:
        return "peel"
    return "one-shot" if delta and k > _FEW else "joint"


def top_k_unknown_domain(
    counts: Scores,
    k: int,
    *,
    epsilon: Number,
    delta: Number,
    limit: int,
    items_per_person: int | None = None,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """The k most frequent items of data whose items are not known beforehand, most frequent first.

    counts: how many persons have each item, for the items that occur. A person may have many items, but counts once for each.
    k: how many items at most. The list is shorter where nothing more stands out (⊥); that is a normal answer.
    epsilon, delta: the privacy loss of the whole list; delta has to be above 0.
    limit: how many of the most frequent items take part, at least k; ten times k is a good start.
    items_per_person: the most items that one person can have, if there is such a bound.
    acknowledge, bits: as for `select`.

    Privacy: `Release.loss`, under adding or removing one person.
    Utility: `UnknownDomainTopK.height` and `.error_bound`.
    Cost: one pass over the counts.

    >>> from discreet.testing import SeededBits
    >>> counts = {"cats": 912, "dogs": 701, "axolotls": 2}
    >>> top_k_unknown_domain(counts, k=3, epsilon=1, delta=1e-6, limit=30, bits=SeededBits(1)).value
    ['cats', 'dogs']
    """
    mechanism = UnknownDomainTopK(
        k=k, epsilon=epsilon, delta=delta, limit=limit, items_per_person=items_per_person, acknowledge=acknowledge
    )
    return mechanism.release(counts, bits=bits)
