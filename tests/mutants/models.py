"""Mutants of models: the deepest point and fits on a ball: see test_mutants.py.

What is wrong: (file, the true text, the mutated text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

DEEPEST_TESTS = "tests/contracts/test_deepest_point.py"

DEEPEST: Mutants = {
    "deepest another fit is as cheap as one point more": (
        "mechanisms/deepest_point.py",
        "score_range = 1 if unit == 'point' else 2",
        "score_range = 1",
        f"{DEEPEST_TESTS} -k further_than_the_loss",
    ),
    "deepest one point more costs twice": (
        "mechanisms/deepest_point.py",
        "score_range = 1 if unit == 'point' else 2",
        "score_range = 2",
        f"{DEEPEST_TESTS} -k further_than_the_loss",
    ),
    "deepest the largest numbers are one place off": (
        "mechanisms/deepest_point.py",
        "highs = lows[::-1]",
        "highs = np.roll(lows[::-1], 1, axis=0)",
        f"{DEEPEST_TESTS} -k every_shell",
    ),
    "deepest shells are counted as boxes": (
        "samplers/nested_boxes.py",
        "here - inside",
        "here",
        f"{DEEPEST_TESTS} -k every_shell",
    ),
    "deepest cells of the next box are not stepped over": (
        "samplers/nested_boxes.py",
        "found += missing",
        "found += 0",
        f"{DEEPEST_TESTS} -k exactly_uniform",
    ),
    "deepest depths have the opposite odds": (
        "samplers/nested_boxes.py",
        "rate * (depth - occupied[0])",
        "rate * (occupied[0] - depth)",
        f"{DEEPEST_TESTS} -k has_its_odds",
    ),
    "deepest a point without a number counts": (
        "mechanisms/deepest_point.py",
        "points[~np.isnan(points).any(axis=1)]",
        "points[~np.isnan(points).all(axis=1)]",
        f"{DEEPEST_TESTS} -k does_not_matter",
    ),
    "deepest the bound forgets how fine the grid is": (
        "mechanisms/deepest_point.py",
        "odds = math.prod((grid.size for grid in self._grids)) / cells / failure",
        "odds = 1 / cells / failure",
        f"{DEEPEST_TESTS} -k bounds_of_the_depth",
    ),
}

BALL_TESTS = "tests/contracts/test_ball.py"
PARABOLAS = "tests/unit/samplers/test_minorants.py"
TAILS = "tests/unit/samplers/test_normals_far_out.py"
ROWS = "tests/unit/mechanisms/test_rows.py"
HOSTILE = "tests/attacks/test_hostile_rows_of_fits.py"

BALLS: Mutants = {
    "ball a logistic loss has half its range": (
        "mechanisms/ball.py",
        "if self.loss == 'logistic':\n    return reach",
        "if self.loss == 'logistic':\n    return reach / 2",
        f"{BALL_TESTS} -k 'no_neighbour_changes and logistic'",
    ),
    "ball a squared loss has the range of small targets": (
        "mechanisms/ball.py",
        "return 4 * self._largest * reach",
        "return 2 * self._largest * reach",
        f"{BALL_TESTS} -k 'no_neighbour_changes and squared'",
    ),
    "ball a squared loss is four times the product everywhere": (
        "mechanisms/ball.py",
        "if self._largest <= reach:",
        "if self._largest <= 0:",
        f"{BALL_TESTS} -k 'no_neighbour_changes and squared'",
    ),
    "ball rho without its factor 2": (
        "mechanisms/ball.py",
        "slope ** 2 / (2 * target.prior)",
        "slope ** 2 / (4 * target.prior)",
        f"{BALL_TESTS} -k both_losses",
    ),
    "ball a rate of rho that is twice as large": (
        "mechanisms/ball.py",
        "ball(2 * rho * prior).sqrt()",
        "ball(8 * rho * prior).sqrt()",
        f"{BALL_TESTS} -k renyi",
    ),
    "ball squared losses change half as fast": (
        "mechanisms/ball.py",
        "2 * (self._largest + reach)",
        "self._largest + reach / 4",
        f"{BALL_TESTS} -k 'renyi and squared'",
    ),
    "ball proposals without their own density": (
        "samplers/ball.py",
        "_squares(numbers) / 2",
        "_squares(numbers) / 4",
        f"{BALL_TESTS} -k 'at_every_point and few'",
    ),
    "ball the prior is half as strong": (
        "samplers/ball.py",
        "ball(self._target.prior) / 2 * _squares(point)",
        "ball(self._target.prior) / 4 * _squares(point)",
        f"{BALL_TESTS} -k squared_losses_is",
    ),
    "ball floats and enclosures keep differently": (
        "samplers/ball.py",
        "odds = lengths / 2 + envelope.constant - rate * losses - prior / 2 * squares",
        "odds = lengths / 2 + envelope.constant - rate * losses",
        f"{BALL_TESTS} -k decide_as_enclosures",
    ),
    "ball points outside are kept": (
        "samplers/ball.py",
        "inside, outside = self._in_ball(squares, distance)",
        "inside, outside = (np.ones(len(squares), dtype=np.bool_), np.zeros(len(squares), dtype=np.bool_))",
        f"{BALL_TESTS} -k without_rows",
    ),
    "ball the far shell forgets that it is a tail": (
        "samplers/ball.py",
        "return determinant + tail_mass(len(self.envelope.center), self.least_square).log()",
        "return determinant",
        f"{BALL_TESTS} -k 'at_every_point and many'",
    ),
    "ball the loss is not counted in the tolerance": (
        "samplers/ball.py",
        "rate * self._loss.error(distance)",
        "0.0 * self._loss.error(distance)",
        f"{BALL_TESTS} -k only_the_tolerance",
    ),
    "ball an answer is cut off instead of rounded": (
        "samplers/ball.py",
        "entry / unit + arb(0.5)",
        "entry / unit",
        f"{BALL_TESTS} -k point_rounded",
    ),
    "ball an envelope that is too narrow": (
        "samplers/gaussian_envelope.py",
        "beyond = scale - _frobenius(wide - _identity(size) * scale) - 1",
        "beyond = scale - _frobenius(wide - _identity(size) * scale) - arb(0.5)",
        f"{PARABOLAS} -k too_narrow",
    ),
    "ball an envelope that forgets its error": (
        "samplers/gaussian_envelope.py",
        "arb(bound.constant) - arb(bound.error)",
        "arb(bound.constant)",
        f"{PARABOLAS} -k nearly_the_best",
    ),
    "ball the multiplier of the ball is too small": (
        "samplers/gaussian_envelope.py",
        "arb(pull) / 2 * ball(target.radius) ** 2",
        "arb(pull) / 3 * ball(target.radius) ** 2",
        f"{PARABOLAS} -k nearly_the_best",
    ),
    "ball parabolas are not checked at their ends": (
        "samplers/minorants.py",
        "curve = np.where(below, curve, 0.0)",
        "curve = table.terms[2][knots] * _FLATTENED",
        f"{PARABOLAS} -k whatever_knots",
    ),
    "ball parabolas are not moved down": (
        "samplers/minorants.py",
        "constant = value - _LOWERED - at * lean + at * at * curve",
        "constant = value + _LOWERED - at * lean + at * at * curve",
        f"{PARABOLAS} -k whatever_knots",
    ),
    "ball margins of the ellipsoid are too narrow": (
        "samplers/two_shells.py",
        "math.sqrt(region.square) * (1 + 3 * error)",
        "math.sqrt(region.square) * 0.3",
        f"{BALL_TESTS} -k 'more_often_than_always and many'",
    ),
    "ball tails without their power": (
        "samplers/normals.py",
        "return power * (beyond / self._start).log1p() - slope",
        "return arb(0) * power - arb(0) * slope - arb(2) ** -99",
        f"{TAILS} -k chi_square",
    ),
    "ball a row with NaN counts": (
        "mechanisms/rows.py",
        "usable = np.isfinite(largest) & (largest > 0)",
        "usable = ~np.isnan(largest) & (largest > 0)",
        f"{ROWS} -k longer_than_one",
    ),
    "ball a row is heard of by its underflow": (
        "mechanisms/rows.py",
        "with np.errstate(all='ignore'):\n    whole = _shortened(rows, float(2 ** 16 / norm))",
        "whole = _shortened(rows, float(2 ** 16 / norm))",
        f"{HOSTILE} -k 'hears_of_everything and linear'",
    ),
    "ball an underflow of a draw is heard of": (
        "mechanisms/ball.py",
        "np.errstate(all='ignore')",
        "np.errstate()",
        f"{HOSTILE} -k 'become_small and logistic'",
    ),
    "ball a wider float warns": (
        "mechanisms/grid.py",
        "with np.errstate(all='ignore'):\n    return array.astype(np.float64)",
        "return array.astype(np.float64)",
        f"{HOSTILE} -k 'beyond and quantile'",
    ),
    "ball sizes are of any size": (
        "mechanisms/ball.py",
        "not 1 / _FAR <= value <= _FAR",
        "not value <= _FAR",
        f"{HOSTILE} -k leave_floats",
    ),
    "ball a rho above 64 without a word": (
        "mechanisms/ball.py",
        "read_rho(self.rho, self.acknowledge, owner)",
        "read_rho(self.rho, 'not private in any useful sense', owner)",
        f"{BALL_TESTS} -k above_64",
    ),
    "ball a grid of the answer that is too coarse for its bound": (
        "mechanisms/ball.py",
        "_DIGITS = 48",
        "_DIGITS = 24",
        f"{BALL_TESTS} -k spoils_no_bound",
    ),
    "ball odds of any rate": (
        "mechanisms/ball.py",
        "self.loss == 'logistic' and rate > _FASTEST",
        "self.loss == 'logistic' and rate > _FASTEST ** 9",
        f"{HOSTILE} -k no_digit",
    ),
    "ball other labels count as negative": (
        "mechanisms/ball.py",
        "np.where(np.abs(wanted) == 1, wanted, 0.0)",
        "np.where(wanted == 1, 1.0, -1.0)",
        f"{ROWS} -k left_out",
    ),
    "sklearn looks at single cells": (
        "sklearn.py",
        "plain = isinstance(table, np.ndarray) and table.dtype.kind in 'biufO'",
        "plain = False",
        "tests/unit/test_sklearn.py -k no_row_makes",
    ),
    "sklearn a target that is no number fails": (
        "sklearn.py",
        "numbers = as_floats(column)",
        "numbers = column.astype(np.float64)",
        "tests/unit/test_linear_estimators.py -k no_cell_makes",
    ),
    "sklearn one text makes texts of all cells": (
        "sklearn.py",
        "array if array.dtype.kind in plain else np.array(values, dtype=object)",
        "array",
        "tests/unit/test_sklearn.py -k 'a_text_among or no_cell_of_a_list'",
    ),
    "sklearn a target that is a list fails": (
        "sklearn.py",
        "column = np.fromiter(values, dtype=object, count=len(values))",
        "column = np.asarray(values)",
        "tests/unit/test_sklearn.py -k no_target_of_a_list",
    ),
    "sklearn a centre warns of a cell": (
        "sklearn.py",
        "with np.errstate(all='ignore'):\n    return rows - center",
        "return rows - center",
        "tests/unit/test_sklearn.py -k no_row_makes",
    ),
    "sklearn a row stops the step after a fit": (
        "sklearn.py",
        "rows = _usable(self._centred(_read_rows(self, X, reset=False)))",
        "rows = self._centred(validate_data(self, X, dtype=np.float64, reset=False))",
        "tests/unit/test_sklearn.py -k comes_after_a_fit",
    ),
    "sklearn a centre of NaN is paid": (
        "sklearn.py",
        "center.shape not in ((), (columns,)) or not np.isfinite(center).all()",
        "center.shape not in ((), (columns,))",
        "tests/unit/test_sklearn.py -k a_centre_is",
    ),
    "sklearn bounds of any size are paid": (
        "sklearn.py",
        "max(abs(low), abs(high)) > _FAR or high - low < 1 / _FAR",
        "False",
        "tests/unit/test_linear_estimators.py -k bounds_that_are_none",
    ),
}
