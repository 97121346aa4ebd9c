"""The deepest point's law, slow and obvious: the depth of every cell, by counting."""

from __future__ import annotations

import itertools

from flint import arb, fmpq


def cells(sizes):
    return list(itertools.product(*(range(size) for size in sizes)))


def depth(cell, points):
    return min(
        min(
            sum(point[place] <= at for point in points),
            sum(point[place] >= at for point in points),
        )
        for place, at in enumerate(cell)
    )


def law(points, sizes, rate: fmpq):
    """The probability of every cell."""
    odds = {cell: arb(rate * depth(cell, points)).exp() for cell in cells(sizes)}
    total = sum(odds.values(), arb(0))
    return {cell: odd / total for cell, odd in odds.items()}
