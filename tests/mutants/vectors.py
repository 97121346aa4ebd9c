"""Mutants of fits of a table: what one person's vector is, how long, and how vectors are added.

What is wrong: (file, the true text, the mutated text, tests that must fail).
"""

from __future__ import annotations

FITS = "tests/contracts/test_fit_questions.py"
ENGINES = "tests/engines/test_fits.py"
ON_POLARS = "-k 'python and polars and not lazy'"

VECTORS = {
    "intercepts that wrap around": (
        "tables/vectors.py",
        "nw.lit(min(self.most, math.floor(1 / self.step))).cast(nw.Int64)",
        "nw.lit(min(self.most, math.floor(1 / self.step)))",
        f"{ENGINES} -k 'large_intercept and polars'",
    ),
    "vectors that nobody shortens": (
        "tables/vectors.py",
        "nw.when(nw.col(_SQUARES) > longest ** 2).then(shorter).otherwise(entry)",
        "nw.when(nw.col(_SQUARES) > longest ** 4).then(shorter).otherwise(entry)",
        f"{ENGINES} {ON_POLARS}",
    ),
    "vectors twice as long as the norm": (
        "tables/vectors.py",
        "rows = shortened(vectors.frame(), names, longest)",
        "rows = shortened(vectors.frame(), names, 2 * longest)",
        f"{FITS} -k longer_than_the_norm",
    ),
    "vectors shortened without a look at what came out": (
        "tables/vectors.py",
        "right = _squared(names) <= longest ** 2",
        "right = _squared(names) <= 0",
        f"{ENGINES} {ON_POLARS}",
    ),
    "many columns without a norm": (
        "tables/vectors.py",
        "return second_moment(grid.shortened(whole))",
        "return second_moment(whole)",
        f"{ENGINES} -k many_columns",
    ),
    "a vector of length 0 divides": (
        "tables/vectors.py",
        "root = squares.cast(nw.Float64).sqrt().floor().clip(1.0, 2.0 ** 31).cast(nw.Int64)",
        "root = squares.cast(nw.Float64).sqrt().floor().cast(nw.Int64)",
        f"{ENGINES} {ON_POLARS}",
    ),
    "products in halves that lose the low one": (
        "tables/vectors.py",
        "row = [_HALF * high + low for high, low in zip(row[::2], row[1::2], strict=True)]",
        "row = [_HALF * high for high, low in zip(row[::2], row[1::2], strict=True)]",
        f"{ENGINES} {ON_POLARS}",
    ),
    "cells that nobody clips": (
        "tables/vectors.py",
        "whole = (large.abs() / size).floor().clip(0.0, float(self.most))",
        "whole = (large.abs() / size).floor()",
        f"{ENGINES} {ON_POLARS}",
    ),
    "cells that are rounded away from zero": (
        "tables/vectors.py",
        "nw.when(large < 0).then(whole * -1.0).otherwise(whole).cast(nw.Int64)",
        "nw.when(large < 0).then(whole * -1.0 - 1.0).otherwise(whole).cast(nw.Int64)",
        f"{ENGINES} {ON_POLARS}",
    ),
    "each row of a person is a vector": (
        "tables/vectors.py",
        "self._of_rows() if isinstance(self.unit, OneRow) else self._of_persons()",
        "self._of_rows()",
        f"{ENGINES} {ON_POLARS}",
    ),
    "an average is a sum": (
        "tables/vectors.py",
        "whole = (size.abs() / nw.col(_COUNT).cast(nw.Float64)).floor()",
        "whole = size.abs()",
        f"{ENGINES} {ON_POLARS}",
    ),
    "sums of a person without a bound": (
        "tables/vectors.py",
        "(_mean(nw.col(name)) if self.rule == 'mean' else nw.col(name)).clip(-axis.most, axis.most)",
        "(_mean(nw.col(name)) if self.rule == 'mean' else nw.col(name))",
        f"{ENGINES} {ON_POLARS}",
    ),
    "rows without a number count": (
        "tables/vectors.py",
        "rows = rows if axis.column is None else rows.filter(~nw.col(name).is_null())",
        "rows = rows",
        f"{ENGINES} {ON_POLARS}",
    ),
    "rows of nobody count": (
        "tables/vectors.py",
        "rows = with_person(rows, self.table, self.unit)",
        "rows = rows",
        f"{FITS} -k rows_of_nobody",
    ),
    "persons with as many of one label as of the other are positive": (
        "tables/vectors.py",
        "persons.filter(nw.col(_SIGN) != 0)",
        "persons.filter(nw.col(_SIGN).abs() >= 0)",
        f"{FITS} -k label_of_most",
    ),
    "a fit of points pays as if they were somebody's fits": (
        "tables/fit_questions.py",
        "DeepestPoint(epsilon=epsilon, bounds=bounds, step=step, unit='point')",
        "DeepestPoint(epsilon=epsilon, bounds=bounds, step=step, unit='fit')",
        f"{FITS} -k 'function_gives and fit_deepest'",
    ),
    "a covariance says that its directions are free": (
        "mechanisms/covariance.py",
        "return {BoundedRange(half / drawn): drawn, PureDP(half): 1}",
        "return {BoundedRange(half / drawn): 1, PureDP(half): 1}",
        f"{FITS} -k parts_of_a_covariance",
    ),
}
