"""A selection with a planted bug, for `discreet audit` to find."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def noisy_max(scores: Sequence[float], rng: np.random.Generator) -> int:
    """Return the place of the largest score with Laplace noise. It claims epsilon 1, but its
    noise is half of what that needs: one person may raise one score and lower another.
    """
    noise = rng.laplace(scale=1, size=len(scores))
    return int(np.argmax(np.asarray(scores, dtype=float) + noise))
