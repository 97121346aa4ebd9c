"""Quantiles of a column of numbers, on a public grid: one, or many for one price."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.data.counting import RULES, count_grid, require_number
from discreet.data.grid import read_grid, read_share
from discreet.data.table import Table
from discreet.locating import read_shares
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.privacy.numbers import Number, choice
from discreet.privacy.unit import Unit
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.scores.cells import Cells

Bounds = tuple[Number, Number]


def prepare_quantile(
    table: Table,
    unit: Unit,
    column: str,
    q: Number,
    bounds: Bounds,
    step: Number,
    epsilon: Number,
    rule: str,
    mechanism: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.quantile` says."""
    owner = "Session.quantile"
    share, grid = read_share(q, owner), read_grid(bounds, step, owner)
    choice(rule, RULES, "rule", owner)
    made = OneQuantile(q=share, epsilon=epsilon, mechanism=mechanism)
    require_number(table, column, owner)

    def answer(rows: Table) -> Release:
        bins = count_grid(rows, unit, column, grid.low, grid.step, grid.size, rule)
        return made.release(Cells.of_bins(bins), grid, read_bits(bits, owner))

    return Prepared(Question("quantile", column, made.privacy_loss()), answer)


def prepare_quantiles(
    table: Table,
    unit: Unit,
    column: str,
    q: Sequence[Number],
    bounds: Bounds,
    step: Number,
    epsilon: Number,
    delta: Number,
    method: str,
    rule: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.quantiles` says."""
    owner = "Session.quantiles"
    shares, grid = read_shares(q, owner), read_grid(bounds, step, owner)
    choice(rule, RULES, "rule", owner)
    made = ManyQuantiles(q=shares, epsilon=epsilon, delta=delta, method=method, grid_size=grid.size)
    require_number(table, column, owner)

    def answer(rows: Table) -> Release:
        bins = count_grid(rows, unit, column, grid.low, grid.step, grid.size, rule)
        return made.release(Cells.of_bins(bins), grid, read_bits(bits, owner))

    return Prepared(Question("quantiles", column, made.privacy_loss()), answer, made.losses())
