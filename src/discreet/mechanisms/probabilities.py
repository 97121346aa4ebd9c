"""The exact output distributions, as numbers for people: accurate to about 1e-15, never
used for sampling.

All take distances behind the best candidate, in noise scales, and give natural
logarithms of probabilities.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ScoresError

Array = NDArray[np.float64]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
# e^-48 < 2e-21: what lies beyond does not change a sum in its 16th digit
_NEGLIGIBLE = 48.0
_LAPLACE_LIMIT = 1024
_CHUNK = 1 << 14


# a caller may have told NumPy to raise, and then an unlikely candidate would
@np.errstate(all="ignore")
def softmax(distances: Array) -> Array:
    """The exponential mechanism (and Gumbel noise): log of e^-x_i / sum e^-x_j."""
    return -distances - math.log(math.fsum(np.exp(-distances)))


# a caller may have told NumPy to raise, and then an unlikely candidate would
@np.errstate(all="ignore")
def first_heads(distances: Array) -> Array:
    """Permute-and-flip (and exponential noise): log of p_r * integral over u in [0, 1]
    of prod_{i != r} (1 - u p_i).

    All terms of the integrand are positive, unlike in the published alternating sum. It
    falls like exp(-u * sum p), so panels that double in length, beginning with 1 / sum
    p, resolve it for any number of candidates.
    """
    different, place, counts = np.unique(distances, return_inverse=True, return_counts=True)
    heads = np.exp(-different)
    total = float(heads @ counts)
    nodes, weights = _gauss(_doubling(0.0, 1 / total, min(1.0, _NEGLIGIBLE / total)))
    parts = [slice(start, start + _CHUNK) for start in range(0, heads.size, _CHUNK)]
    everyone = sum(np.log1p(-np.outer(nodes, heads[part])) @ counts[part] for part in parts)
    integrals = [
        weights @ np.exp(everyone[:, None] - np.log1p(-np.outer(nodes, heads[part])))
        for part in parts
    ]
    result: Array = -different + np.log(np.concatenate(integrals))
    return result[place]


# a caller may have told NumPy to raise, and then an unlikely candidate would
@np.errstate(all="ignore")
def noisy_laplace(distances: Array) -> Array:
    """Laplace noise: log of the integral over x of f(x + d_r) * prod_{i != r} F(x +
    d_i), by panels between the kinks.
    """
    different, place, counts = np.unique(distances, return_inverse=True, return_counts=True)
    if different.size > _LAPLACE_LIMIT:
        raise ScoresError(
            f"Exact probabilities with Laplace noise need at most {_LAPLACE_LIMIT} different "
            f"scores. Got {different.size}."
        )
    above = np.arange(0.0, math.log(distances.size) + _NEGLIGIBLE + 1)
    kinks = [*different, different[-1] + _NEGLIGIBLE]
    below = [-_doubling(near, 1.0, far) for near, far in pairwise(kinks)]
    nodes, weights = _gauss(np.unique(np.concatenate([above, *below])))
    result = np.full(different.size, -np.inf)
    for start in range(0, nodes.size, 1024):
        part = slice(start, start + 1024)
        offsets = nodes[part, None] + different
        log_density = -np.abs(offsets) - math.log(2)
        log_below = np.where(offsets > 0, np.log1p(-np.exp(log_density)), log_density)
        terms = (
            np.log(weights[part, None]) + (log_below @ counts)[:, None] - log_below + log_density
        )
        result = np.logaddexp(result, _log_sum(terms))
    return result[place]


def _doubling(start: float, step: float, stop: float) -> Array:
    """Marks from start to stop whose distance doubles from one to the next; the last
    panel may be half as long again.
    """
    marks = [start]
    while marks[-1] + 1.5 * step < stop:
        marks.append(marks[-1] + step)
        step *= 2 if len(marks) > 2 else 1
    return np.array([*marks, stop])


def _gauss(marks: Array) -> tuple[Array, Array]:
    """Nodes and weights of a 24-point Gauss-Legendre rule between each mark and the next."""
    half = np.diff(marks)[:, None] / 2
    nodes = (marks[:-1, None] + half) + half * _NODES
    return nodes.ravel(), (half * _NODE_WEIGHTS).ravel()


def _log_sum(terms: Array) -> Array:
    """log of the sum of exp(terms), down the columns."""
    largest = terms.max(axis=0)
    total: Array = largest + np.log(np.exp(terms - largest).sum(axis=0))
    return total
