"""A cell of a grid with odds exp(rate * depth), where the cells of each depth and deeper
are a box.

The boxes lie inside each other: the first is the whole grid, and what one box has more
than the next is a shell, whose cells all have the same depth. So a draw is a shell,
with odds of its number of cells times exp(rate * depth), and a uniform cell of it.
Numbers of cells are whole numbers, however large; the odds of the shells are enclosed.
The proof is in docs/proofs/deepest-point.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb, fmpq

from discreet.exact.enclosures import decide, less
from discreet.randomness.chance import Chance


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes that lie inside each other, from depth 0 on.

    lows, highs: for each depth and coordinate the first and the last place of the box.
        None of them is empty.
    """

    lows: list[list[int]]
    highs: list[list[int]]

    def lengths(self, depth: int) -> list[int]:
        """How long a box is in each coordinate; nothing at all beyond the deepest."""
        if depth == len(self.lows):
            return [0] * len(self.lows[0])
        return [
            high - low + 1 for low, high in zip(self.lows[depth], self.highs[depth], strict=True)
        ]

    def shells(self) -> list[int]:
        """How many cells have each depth."""
        cells = [math.prod(self.lengths(depth)) for depth in range(len(self.lows) + 1)]
        return [here - inside for here, inside in pairwise(cells)]


def draw_nested_boxes(boxes: Boxes, rate: fmpq, chance: Chance) -> list[int]:
    """The places of one cell, with odds exp(rate * depth)."""
    depth = _draw_depth(boxes.shells(), rate, chance)
    return _draw_cell(boxes, depth, chance)


def _draw_depth(shells: list[int], rate: fmpq, chance: Chance) -> int:
    """A depth, with odds of its number of cells times exp(rate * depth)."""
    # the deepest come first, and have most of the odds
    occupied = [depth for depth in reversed(range(len(shells))) if shells[depth]]
    uniform = chance.uniform()

    def search(precision: int) -> int | None:
        reached, total = [], arb(0)
        for depth in occupied:
            total += arb(shells[depth]) * (arb(rate * (depth - occupied[0]))).exp()
            reached.append(total)
        wanted = uniform.ball(precision) * total
        first, last = 0, len(occupied) - 1
        while first < last:
            middle = (first + last) // 2
            before = less(wanted, reached[middle])
            if before is None:
                return None
            first, last = (first, middle) if before else (middle + 1, last)
        return occupied[first]

    return decide(search)


def _draw_cell(boxes: Boxes, depth: int, chance: Chance) -> list[int]:
    """A uniform cell of a box that is not in the next one: the first coordinate that is
    outside the next box splits them into parts of known sizes.
    """
    outer, inner = boxes.lengths(depth), boxes.lengths(depth + 1)
    sizes = [
        math.prod(inner[:place]) * (outer[place] - inner[place]) * math.prod(outer[place + 1 :])
        for place in range(len(outer))
    ]
    cumulative = np.cumsum(np.array(sizes, dtype=object))
    leaving = chance.pick(cumulative, int(cumulative[-1]))
    cell = []
    for place, low in enumerate(boxes.lows[depth]):
        if place < leaving:
            cell.append(boxes.lows[depth + 1][place] + chance.below(inner[place]))
            continue
        missing = inner[place] if place == leaving else 0
        found = low + chance.below(outer[place] - missing)
        if missing and found >= boxes.lows[depth + 1][place]:
            # what is in the next box is stepped over
            found += missing
        cell.append(found)
    return cell
