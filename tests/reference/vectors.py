"""The vector of each person, and the sum of products, by plain Python and exact fractions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction


def towards_zero(number: Fraction) -> int:
    return math.trunc(number)


def steps(value: float, step: Fraction, center: float, most: int) -> int:
    """A number in steps from the centre, cut towards zero; one float is taken from another."""
    whole = towards_zero(Fraction(value - center) / step)
    return max(-most, min(most, whole))


def vectors(
    rows: Sequence[tuple[Hashable, Sequence[float | None]]],
    read: Sequence[Callable[[float], int]],
    rule: str,
    most: int,
) -> dict[Hashable, list[int]]:
    """One vector for each person who has a row that is full of numbers; nobody is None."""
    own: dict[Hashable, list[list[int]]] = defaultdict(list)
    for person, cells in rows:
        if person is not None and all(cell is not None for cell in cells):
            own[person].append([one(cell) for one, cell in zip(read, cells, strict=True)])
    found = {}
    for person, lines in own.items():
        share = len(lines) if rule == "mean" else 1
        sums = [towards_zero(Fraction(sum(column), share)) for column in zip(*lines, strict=True)]
        found[person] = [max(-most, min(most, entry)) for entry in sums]
    return found


def shortened(vector: Sequence[int], longest: int) -> list[int]:
    """The vector, or one in its direction that is at most as long."""
    squares = sum(entry * entry for entry in vector)
    if squares <= longest**2:
        return list(vector)
    root = math.isqrt(squares)
    length = root if root * root == squares else root + 1
    return [int(math.copysign(abs(entry) * longest // length, entry)) for entry in vector]


def moment(vectors: Sequence[Sequence[int]], columns: int) -> list[list[int]]:
    """The sum of all products."""
    total = [[0] * columns for _ in range(columns)]
    for vector in vectors:
        for one in range(columns):
            for other in range(columns):
                total[one][other] += vector[one] * vector[other]
    return total
