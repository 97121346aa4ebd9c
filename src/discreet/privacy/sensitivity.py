"""How far one person can move the scores.

*Range* is what is paid for: the largest difference between the moves that one person can cause on two candidates,
``sup over neighbours of (max_y - min_y)[q(D', y) - q(D, y)]``. Sensitivity, the largest move of a single score, is only a way
to bound it: the range is at most twice the sensitivity, and at most the sensitivity where all moves have one sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.numbers import Number, exact_binary, positive


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The exact range of a score function, and the coarsest step at which its scores still mean something.

    Two score functions that give the same mechanism have the same range, whatever their sensitivities. The source texts'
    example: with X = Y = {0, 1}, q(x, y) = x + y has sensitivity 1 and q'(x, y) = 100 x + y has sensitivity 100, yet the two
    differ by a term that does not depend on y, so they are the same mechanism. Range sees that:

    >>> def range_of(score):
    ...     moves = [score(1, y) - score(0, y) for y in (0, 1)]
    ...     return max(moves) - min(moves)
    >>> range_of(lambda x, y: x + y), range_of(lambda x, y: 100 * x + y)
    (0, 0)

    With an interaction between x and y the range is no longer 0, but still equal for both:

    >>> range_of(lambda x, y: x + y + x * y), range_of(lambda x, y: 100 * x + y + x * y)
    (1, 1)
    """

    value: Fraction
    resolution: Fraction

    @classmethod
    def read(cls, *, sensitivity: Number | None, monotonic: bool, score_range: Number | None, owner: str) -> ScoreRange:
        """Read what the caller said: a sensitivity (with or without `monotonic`), or the range itself."""
        if not isinstance(monotonic, bool):
            raise ParameterTypeError(owner, "monotonic", "True or False", monotonic)
        if score_range is not None:
            if sensitivity is not None or monotonic:
                raise ParameterError(
                    owner, "score_range", "given alone", score_range, "It replaces 'sensitivity' and 'monotonic'."
                )
            value = positive(exact_binary(score_range, "score_range", owner), score_range, "score_range", owner)
            return cls(value, value)
        if sensitivity is None:
            raise ParameterTypeError(
                owner, "sensitivity", "given", None, "Say how far one person can move one score; there is no default."
            )
        value = positive(exact_binary(sensitivity, "sensitivity", owner), sensitivity, "sensitivity", owner)
        return cls(value if monotonic else 2 * value, value)
