"""Functions for callers who have scores or numbers: a winner, a list, one quantile or several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from discreet.errors import InputError, ParameterError, parameters_of, public_function
from discreet.exact.rationals import Number, require_flag
from discreet.literals import (
    MechanismName,
    Neighbours,
    Objective,
    PickName,
    QuantileMethod,
    TopKMethod,
)
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.count_lists import CountList, ListRequest, make_unknown
from discreet.mechanisms.counted_selection import make_counted, require_sensitivity
from discreet.mechanisms.grid import read_cells, read_points, read_share, read_shares
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.mechanisms.scores import Scores
from discreet.mechanisms.selection import mechanism_class
from discreet.mechanisms.unknown_domain import positive_delta
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release


def _make(mechanism: MechanismName, **stated: Any) -> SelectionMechanism:
    return mechanism_class(mechanism)(**stated)


# Checking parameters takes longer than selecting among a hundred candidates, and they are
# usually the same as last time. `typed` keeps True, 1 and 1.0 apart.
_remembered = lru_cache(maxsize=128, typed=True)(_make)


def _make_list(**stated: Any) -> CountList:
    return ListRequest(**stated).make()


_remembered_list = lru_cache(maxsize=128, typed=True)(_make_list)


def select(
    scores: Scores,
    *,
    epsilon: Number,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    mechanism: MechanismName = "permute-and-flip",
    objective: Objective = "max",
    acknowledge: str | None = None,
    with_gap: bool = False,
    gap_step: Number | None = None,
    with_counts: bool = False,
    bits: Bits | None = None,
) -> Release:
    """Pick the best-scoring candidate so that nobody can tell from the answer whether
    any one person was in the data.

    scores: a mapping from label to score, a pandas or Polars Series, a NumPy array or
        any sequence.
    epsilon: the privacy loss of this release.
    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under
        adding or removing a person).
    score_range: instead of the two above, the most by which one person's moves of two
        scores differ.
    mechanism: "permute-and-flip" for a single release; "exponential" where many will be
        composed; or a kind of noise.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    with_gap: True to learn also, as `Release.gap`, by how much the winner won: the
        highest noisy score minus the second highest. The loss is then pure DP, or
        logistic DP with the exponential mechanism.
    gap_step: the public lattice on which the gap is told; if not given, the
        sensitivity.
    with_counts: True to learn also, as `Release.counts`, the winner's score with noise,
        where scores are whole numbers. Half of epsilon is for the choice, half for
        that.
    bits: only in tests and simulations.

    Privacy: `Release.loss`, exactly as stated, for any finite scores: the draw is
        exact, without a rounding error.
    Utility: the mechanism's `error_bound`.
    Cost: at most two passes over the scores.

    >>> from discreet.testing import SeededBits
    >>> votes = {"terrier": 41, "husky": 38, "corgi": 12}
    >>> release = select(votes, epsilon=1, sensitivity=1, monotonic=True, bits=SeededBits(7))
    >>> release.value, release.loss, release.seeded
    ('terrier', PureDP(epsilon=1), True)
    >>> select(
    ...     votes, epsilon=1, sensitivity=1, monotonic=True, with_gap=True, bits=SeededBits(7)
    ... ).gap
    Fraction(2, 1)
    """
    stated: dict[str, Any] = {
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "monotonic": monotonic,
        "score_range": score_range,
        "objective": objective,
        "acknowledge": acknowledge,
    }
    try:
        if with_counts is not False and require_flag(with_counts, "with_counts"):
            for name, value in (("with_gap", with_gap or None), ("gap_step", gap_step)):
                if value is not None:
                    raise ParameterError(name, "left out if you ask for counts", value)
            require_sensitivity(sensitivity)
        try:
            made = _remembered(mechanism, **stated)
        except TypeError:
            # something that cannot be a dictionary key: say what is wrong with it
            made = _make(mechanism, **stated)
        if with_counts:
            return make_counted(made).release(scores, bits=bits)
        return made._release(scores, with_gap, gap_step, bits)
    except InputError as error:
        # as `public_function` does it, but here, where a call takes microseconds
        raise error.called("select", parameters_of(select)).with_traceback(None) from None


@public_function("top_k")
def top_k(
    scores: Scores,
    k: int,
    *,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Number | None = None,
    monotonic: bool = False,
    score_range: Number | None = None,
    items_per_person: int | None = None,
    method: TopKMethod = "auto",
    objective: Objective = "max",
    with_counts: bool = False,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Pick the k best-scoring candidates, in order, so that nobody can tell from the
    list whether any one person was in the data.

    scores, sensitivity, monotonic, score_range, objective, acknowledge, bits: as for
        `select`.
    k: how many candidates, at most as many as there are.
    epsilon, delta: the privacy loss of the whole list. A small delta, such as 1e-6,
        makes long lists much better.
    items_per_person: where scores are numbers of persons (sensitivity 1): how many of
        them one person can move. Where it is small, "auto" takes "histogram".
    method: "peel" picks one after the other by permute-and-flip, "one-shot" by the
        exponential mechanism (which is the same as sorting by Gumbel noise), "joint"
        draws the whole list at once, "histogram" adds noise to all counts and sorts;
        "auto" takes what is best for this k, delta and items_per_person.
    with_counts: True to learn also, as `Release.counts`, the scores of the list with
        noise, where scores are whole numbers. They come free with "histogram"; else
        half of epsilon is for the list, half for them.

    Privacy: `Release.loss` for the whole list, `Release.value`.
    Utility: the `error_bound` of `PeelingTopK` and `JointTopK`.
    Cost: for k = 100 of a million candidates about four selections, by the joint draw
        five to seven (benchmarks/results/top_k.md).

    >>> from discreet.testing import SeededBits
    >>> reads = {"news": 900, "sports": 420, "chess": 70, "weather": 880, "opera": 12}
    >>> release = top_k(reads, k=3, epsilon=1, sensitivity=1, monotonic=True, bits=SeededBits(1))
    >>> release.value, release.loss, release.mechanism
    (['news', 'weather', 'sports'], PureDP(epsilon=1), 'peeling-permute-and-flip')
    >>> release = top_k(
    ...     reads, k=3, epsilon=1, sensitivity=1, items_per_person=1, bits=SeededBits(1)
    ... )
    >>> release.value, release.counts.values, release.mechanism
    (['news', 'weather', 'sports'], (900, 880, 419), 'histogram-laplace')
    """
    stated: dict[str, Any] = {
        "k": k,
        "epsilon": epsilon,
        "delta": delta,
        "items_per_person": items_per_person,
        "sensitivity": sensitivity,
        "monotonic": monotonic,
        "score_range": score_range,
        "method": method,
        "objective": objective,
        "acknowledge": acknowledge,
        "with_counts": require_flag(with_counts, "with_counts"),
    }
    try:
        made = _remembered_list(**stated)
    except TypeError:
        # something that cannot be a dictionary key: say what is wrong with it
        made = _make_list(**stated)
    return made.release(scores, bits=bits)


@public_function("top_k_unknown_domain")
def top_k_unknown_domain(
    counts: Scores,
    k: int,
    *,
    epsilon: Number,
    delta: Number,
    limit: int | None = None,
    items_per_person: int | None = None,
    with_counts: bool = False,
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """The k most frequent items of data whose items are not known in advance, most frequent first.

    counts: how many persons have each item, for the items that occur. A person may have
        many items, but counts once for each.
    k: how many items at most. The list is shorter where nothing more stands out (⊥);
        that is a normal answer.
    epsilon, delta: the privacy loss of the whole list; delta has to be above 0.
    limit: how many of the most frequent items take part, at least k; ten times k is a
        good start. Needed where there is no bound on the items of one person.
    items_per_person: the most items that one person can have, if there is such a bound.
        Where it is small, noise on all counts and a threshold names far more items than
        picks above the crowd; whichever has the lower threshold is taken.
    with_counts: True to learn also, as `Release.counts`, how many persons have each
        item, with noise.
    acknowledge, bits: as for `select`.

    Privacy: `Release.loss`, under adding or removing one person.
    Utility: `UnknownDomainTopK.height` and `.error_bound`.
    Cost: one pass over the counts.

    >>> from discreet.testing import SeededBits
    >>> counts = {"cats": 912, "dogs": 701, "axolotls": 2}
    >>> top_k_unknown_domain(counts, k=3, epsilon=1, delta=1e-6, limit=30, bits=SeededBits(1)).value
    ['cats', 'dogs']
    """
    request = ListRequest(
        k=k,
        epsilon=epsilon,
        delta=positive_delta(delta),
        items_per_person=items_per_person,
        # counts of persons: docs/proofs/unknown-domain.md
        sensitivity=1,
        monotonic=True,
        acknowledge=acknowledge,
        with_counts=require_flag(with_counts, "with_counts"),
    )
    return make_unknown(request, limit).release(counts, bits=bits)


MOST_POINTS = 2**40


@public_function("quantile")
def quantile(
    values: Any,
    *,
    q: Number,
    bounds: tuple[Number, Number] | None = None,
    step: Number | None = None,
    points: Sequence[Number] | None = None,
    epsilon: Number,
    neighbours: Neighbours = "add-remove",
    mechanism: PickName = "permute-and-flip",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """The point of a public grid that the share q of all values reaches: at q = 0.5 the median.

    values: one number for each person. What is no number (None, NaN, text in a list)
        has no value. A number between two points counts half at each of them, one
        outside the bounds at the nearest.
    bounds, step: the grid, up to 2^40 points; no step below a 2^39-th of the larger
        bound. They must not be taken from the data.
    points: in place of bounds and a step, up to 10,000 public points in ascending
        order, at any distances.
    epsilon: the privacy loss of this release.
    neighbours: whether one person more or less ("add-remove"), or another value of one
        person ("replace"), is what nobody can tell.
    mechanism: "permute-and-flip" for a single release; "exponential" where many will be
        composed.

    Privacy: `Release.loss`. One person moves the rank error of each point by at most
        max(q, 1 - q), or 1 for "replace".
    Utility: about 2 max(q, 1 - q) * ln(points in the grid) / epsilon ranks off; persons
        with the same value do no harm.
    Cost: one sort of the values, whatever the size of the grid.
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> ages = [23, 25, 31, 35, 36, 37, 38, 44, 51, 58, 62, 79]
    >>> release = quantile(ages, q=0.5, bounds=(0, 120), step=1, epsilon=2, bits=SeededBits(1))
    >>> release.value, release.loss
    (37, PureDP(epsilon=2))
    >>> quantile(ages, q=0.5, points=[18, 25, 40, 65], epsilon=2, bits=SeededBits(1)).value
    40
    """
    share, grid = read_share(q), read_points(bounds, step, points, most=MOST_POINTS)
    made = OneQuantile(
        q=share,
        epsilon=epsilon,
        neighbours=neighbours,
        mechanism=mechanism,
        acknowledge=acknowledge,
    )
    chance = read_bits(bits)
    return made.release(read_cells(values, grid), grid, chance)


@public_function("quantiles")
def quantiles(
    values: Any,
    *,
    q: Sequence[Number],
    bounds: tuple[Number, Number] | None = None,
    step: Number | None = None,
    points: Sequence[Number] | None = None,
    epsilon: Number,
    delta: Number = 0,
    neighbours: Neighbours = "add-remove",
    method: QuantileMethod = "auto",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Many quantiles for one price, in ascending order.

    q: the shares, ascending.
    delta: 0 for pure privacy; a small one, such as 1e-6, lets each quantile have more
        of epsilon.
    method: "recursive" finds the middle one, splits the persons there (those who have
        exactly this value at random, in the right proportion), and goes on in both
        halves, so that each person takes part in few of the searches. "joint" draws all
        of them at once, on grids of up to 1,000 points; it goes wrong where many
        persons have the same value. "independent" finds each by itself. "auto" takes
        what the benchmark found best: recursive.
    values, bounds, step, points, neighbours: as for `quantile`.

    Privacy: `Release.loss`, for all of them together.
    Utility: docs/explanation/quantiles.md shows the errors of each method.
    Cost: one sort, and one search for each quantile; "joint" takes time in the square
        of the number of grid points.
    Reference: Kaplan, Schnapp and Stemmer 2022 (recursive); Gillenwater, Joseph and
        Kulesza 2021 (joint).
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> release = quantiles(
    ...     range(1000),
    ...     q=[0.25, 0.5, 0.75],
    ...     bounds=(0, 1000),
    ...     step=1,
    ...     epsilon=1,
    ...     bits=SeededBits(1),
    ... )
    >>> len(release.value), release.value == sorted(release.value)
    (3, True)
    """
    grid = read_points(bounds, step, points, most=MOST_POINTS)
    made = ManyQuantiles(
        q=read_shares(q),
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        method=method,
        grid_size=grid.size,
        acknowledge=acknowledge,
    )
    chance = read_bits(bits)
    return made.release(read_cells(values, grid), grid, chance)
