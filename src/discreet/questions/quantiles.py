"""Quantiles of a column of numbers, on a public grid: one, or many for one price."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.data.capping import draw_cap, read_rows
from discreet.data.cell_numbers import require_number
from discreet.data.counting import count_grid
from discreet.data.grid import read_grid, read_share
from discreet.data.table import Table
from discreet.locating import read_shares
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile
from discreet.privacy.numbers import Number
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
    rule: str | None,
    rows_per_person: int | None,
    mechanism: str,
    bits: Bits | None,
) -> Prepared:
    """As `Session.quantile` says."""
    owner = "Session.quantile"
    share, grid = read_share(q, owner), read_grid(bounds, step, owner)
    one, most = read_rows(rule, rows_per_person, table, unit, owner)
    # Several values of one person move the errors that many times: docs/proofs/quantiles.md#rows
    made = OneQuantile(q=share, epsilon=epsilon, mechanism=mechanism, rows=most or 1)
    require_number(table, column, owner)

    def answer() -> Release:
        chance = read_bits(bits, owner)
        counted = one or draw_cap(most, unit, chance)
        bins = count_grid(table, unit, column, grid.low, grid.step, grid.size, counted)
        return made.release(Cells.of_bins(bins), grid, chance)

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
    rule: str | None,
    rows_per_person: int | None,
    bits: Bits | None,
) -> Prepared:
    """As `Session.quantiles` says."""
    owner = "Session.quantiles"
    shares, grid = read_shares(q, owner), read_grid(bounds, step, owner)
    one, most = read_rows(rule, rows_per_person, table, unit, owner)
    made = ManyQuantiles(q=shares, epsilon=epsilon, delta=delta, method=method, grid_size=grid.size, rows=most or 1)
    require_number(table, column, owner)

    def answer() -> Release:
        chance = read_bits(bits, owner)
        counted = one or draw_cap(most, unit, chance)
        bins = count_grid(table, unit, column, grid.low, grid.step, grid.size, counted)
        return made.release(Cells.of_bins(bins), grid, chance)

    return Prepared(Question("quantiles", column, made.privacy_loss()), answer, made.losses())
