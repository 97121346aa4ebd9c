"""Mechanisms over numbers together with the data that they are asked about, as one thing to
test.
"""

from __future__ import annotations

from discreet.mechanisms.interval import IntervalExponentialMechanism
from discreet.mechanisms.lattice import LatticeExponentialMechanism


class WithData:
    """A mechanism whose calls end with the same data."""

    def __init__(self, mechanism, *data):
        self.mechanism, self.data = mechanism, data

    def __repr__(self):
        return repr(self.mechanism)

    def privacy_loss(self):
        return self.mechanism.privacy_loss()

    def select(self, *first, bits=None):
        return self.mechanism.select(*first, *self.data, bits=bits)

    def release(self, *first, bits=None):
        return self.mechanism.release(*first, *self.data, bits=bits)

    def log_probability(self, output, *first):
        return self.mechanism.log_probability(output, *first, *self.data)

    def draw(self, scores, chance):
        return self.mechanism._draw(scores, *self.data, chance)


def on_lattice(score, **given):
    """All whole numbers with this score."""
    return WithData(LatticeExponentialMechanism(**given), score)


def on_pieces(edges, **given):
    """The line from the first edge to the last one, with pieces between the edges."""
    first, *inner, last = edges
    return WithData(IntervalExponentialMechanism(bounds=(first, last), **given), inner)
