"""Words so short that all of them can be tried, and a fine working precision."""

import numpy as np
import pytest

from discreet.randomness import bulk_draws


@pytest.fixture
def narrow(monkeypatch):
    """Bytes have two bits, words of 16 bits have four, words of 32 bits have eight; each is drawn
    as one answer of the tape.
    """

    def number_of(kind):
        return 1 << (2 * kind.itemsize)

    def draw_words(count, kind, chance):
        return np.array([chance.below(number_of(kind)) for _ in range(count)], dtype=kind)

    monkeypatch.setattr(bulk_draws, "_number_of", number_of)
    monkeypatch.setattr(bulk_draws, "draw_words", draw_words)
    monkeypatch.setattr(bulk_draws, "_WIDTH", 2)
