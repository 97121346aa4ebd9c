"""Mutants of quantiles, of rows of candidates and of rates within boxes: see test_mutants.py.

What is wrong: (file, the true text, the mutated text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

CONTRACT = "tests/contracts/test_quantiles.py"
RAMP = "tests/unit/samplers/test_grouped_candidates.py"
BINOMIAL = "tests/unit/randomness/test_binomial.py"
LEVELS = "tests/engines/test_levels.py"
SAME = "tests/engines/test_same_releases.py"
BOXES = "tests/unit/mechanisms/test_bounded_laplace_rate.py"

QUANTILES: Mutants = {
    "quantiles one search without the factor 2": (
        "mechanisms/quantiles.py",
        "rate = epsilon / range_of_errors(q, replace=replace) / q.denominator",
        "rate = 2 * epsilon / range_of_errors(q, replace=replace) / q.denominator",
        f"{CONTRACT} -k 'TestOneQuantile and points_have_their_odds'",
    ),
    "quantiles a replaced value moves as little as one person more": (
        "mechanisms/quantiles.py",
        "return Fraction(2) if replace else 2 * max(q, 1 - q)",
        "return 2 * max(q, 1 - q)",
        f"{CONTRACT} -k where_values_are_replaced",
    ),
    "quantiles every share moves like the median": (
        "mechanisms/quantiles.py",
        "return Fraction(2) if replace else 2 * max(q, 1 - q)",
        "return Fraction(2) if replace else Fraction(1)",
        f"{CONTRACT} -k 'TestOneQuantile and points_have_their_odds'",
    ),
    "quantiles all shares are as cheap as the lowest": (
        "mechanisms/quantiles.py",
        "if q in (0, 1):",
        "if q <= Fraction(1, 2):",
        f"{CONTRACT} -k 'TestOneQuantile and points_have_their_odds'",
    ),
    "quantiles a split without the factor 2": (
        "mechanisms/quantiles.py",
        "rate = epsilon / range_of_errors(q) / (q.denominator << PART_DIGITS)",
        "rate = 2 * epsilon / range_of_errors(q) / (q.denominator << PART_DIGITS)",
        f"{CONTRACT} -k 'TestSplit and odds'",
    ),
    "quantiles a split forgets that its errors count in parts": (
        "mechanisms/quantiles.py",
        "rate = epsilon / range_of_errors(q) / (q.denominator << PART_DIGITS)",
        "rate = epsilon / range_of_errors(q) / q.denominator",
        f"{CONTRACT} -k 'TestSplit and odds'",
    ),
    "quantiles all persons at a split go above": (
        "mechanisms/quantiles.py",
        "lower = draw_binomial(cells.at(place), part, PART_DIGITS, chance)",
        "lower = 0",
        f"{CONTRACT} -k 'TestSplit and odds'",
    ),
    "quantiles persons at a split are in both halves": (
        "mechanisms/grid.py",
        "upper = self.at(point) - lower",
        "upper = self.at(point)",
        f"{CONTRACT} -k nobody_is_in_both",
    ),
    "quantiles every search may cost all of epsilon": (
        "mechanisms/quantiles.py",
        "return _LOSSES[self.mechanism](self.epsilon / self._layers)",
        "return _LOSSES[self.mechanism](self.epsilon)",
        f"{CONTRACT} -k one_person_is_in_one_search",
    ),
    "quantiles searches that are paid for as ranges are permute-and-flip": (
        "mechanisms/quantiles.py:ManyQuantiles._search",
        "return 'permute-and-flip' if isinstance(self._layer, PureDP) else 'exponential'",
        "return 'permute-and-flip'",
        f"{CONTRACT} -k 'TestRecursion and have_their_odds'",
    ),
    "quantiles a layer too few": (
        "mechanisms/quantiles.py",
        "return len(self.q) if self.method == 'independent' else len(self.q).bit_length()",
        "return len(self.q) if self.method == 'independent' else max(1, len(self.q).bit_length() - 1)",
        f"{CONTRACT} -k layers",
    ),
    "quantiles a replaced value is in one search of each layer": (
        "mechanisms/quantiles.py",
        "(2 if twice else 1)",
        "1",
        f"{CONTRACT} -k keeps_epsilon_and_delta",
    ),
    "quantiles independent searches count as one": (
        "mechanisms/quantiles.py",
        "return len(self.q) if self.method == 'independent' else len(self.q).bit_length()",
        "return 1 if self.method == 'independent' else len(self.q).bit_length()",
        f"{CONTRACT} -k independent_searches",
    ),
    "quantiles joint without the factor 2": (
        "mechanisms/quantiles.py",
        "return self.epsilon / self.rows / (2 * move)",
        "return self.epsilon / self.rows / move",
        f"{CONTRACT} -k 'TestJoint and odds'",
    ),
    "quantiles joint moves by the largest share": (
        "mechanisms/quantiles.py",
        "smallest = min(after - before for before, after in pairwise(edges))",
        "smallest = max(after - before for before, after in pairwise(edges))",
        f"{CONTRACT} -k 'TestJoint and odds'",
    ),
    "quantiles persons with the point itself do not count": (
        "mechanisms/grid.py",
        "np.maximum(np.maximum(lower - share, share - upper), 0)",
        "np.maximum(np.maximum(lower - share, share - lower), 0)",
        f"{CONTRACT} -k runs_are_the_definition",
    ),
    "quantiles errors of parts rise too slowly": (
        "mechanisms/grid.py",
        "slopes[1::2] = counts * q.denominator",
        "slopes[1::2] = counts",
        f"{CONTRACT} -k rows_are_the_definition",
    ),
}

ROWS: Mutants = {
    "rows with levels rounded up": (
        "samplers/grouped_candidates.py",
        "return [-(-level * denominator // numerator) for level in range(last + 1)]",
        "return [level * denominator // numerator for level in range(last + 1)]",
        f"{RAMP} -k every_candidate",
    ),
    "rows whose zeros are on both sides": (
        "samplers/grouped_candidates.py",
        "np.minimum(self._reach([1 - height for height in heights]), middle)",
        "self._reach([1 - height for height in heights])",
        f"{RAMP} -k every_candidate",
    ),
    "rows whose best is taken for a zero": (
        "samplers/grouped_candidates.py",
        "self._least = min(abs(self._error(place)) for place in (middle - 1, middle) if 0 <= place < self._size)",
        "self._least = 0",
        f"{RAMP} -k every_candidate",
    ),
    "rows with divisions rounded down": (
        "samplers/grouped_candidates.py",
        "steps = -(-missing // np.maximum(self._slopes[stretch], 1))",
        "steps = missing // np.maximum(self._slopes[stretch], 1)",
        f"{RAMP} -k every_candidate",
    ),
    "rows without the far ends of the last level": (
        "samplers/grouped_candidates.py",
        "next_above = self._size if last else int(self._above[level + 1])",
        "next_above = self._size - 1 if last else int(self._above[level + 1])",
        f"{RAMP} -k every_candidate",
    ),
    "a binomial that keeps the wrong ones": (
        "randomness/whole_numbers.py",
        "passed, persons = passed + zeros, persons - zeros",
        "passed, persons = passed + zeros, zeros",
        f"{BINOMIAL} -k odds",
    ),
    "a binomial that stops a digit early": (
        "randomness/whole_numbers.py",
        "not part % (2 << digit)",
        "not part % (1 << digit)",
        f"{BINOMIAL} -k odds",
    ),
    "levels with weights below the odds": (
        "samplers/grouped_candidates.py",
        "whole = at_precision(_PRECISION, lambda: ((-arb(level) / LEVELS_PER_SCALE).exp() * LEVEL_UNIT).upper().ceil().unique_fmpz())",
        "whole = at_precision(_PRECISION, lambda: ((-arb(level) / LEVELS_PER_SCALE).exp() * LEVEL_UNIT).lower().floor().unique_fmpz())",
        f"{LEVELS} -k just_above",
    ),
    "a public table drawn at twice the rate": (
        "mechanisms/selection.py",
        "rate = rational(mechanism.rate)",
        "rate = 2 * rational(mechanism.rate)",
        f"{SAME} -k polars",
    ),
}

BOX_RATES: Mutants = {
    "boxes at the rate of no box": (
        "mechanisms/bounded_laplace.py",
        "epsilon * (_FINE + place) / (2 * sensitivity * _FINE)",
        "epsilon * (_FINE + place) / (sensitivity * _FINE)",
        f"{BOXES} -k spends_all",
    ),
    "boxes whose sum of odds does not grow": (
        "mechanisms/bounded_laplace.py",
        "return growth + beyond.max(0).max(before)",
        "return beyond.max(0).max(before)",
        f"{BOXES} -k worst_neighbours",
    ),
    "boxes with the log ratio of the wrong side": (
        "mechanisms/bounded_laplace.py",
        "growth = _growth(rate, width, move)",
        "growth = -_growth(rate, width, move)",
        f"{BOXES} -k worst_neighbours",
    ),
    "boxes one number narrower than they are": (
        "mechanisms/bounded_laplace.py",
        "(rise / -(-rate * (width + 1)).expm1()).log1p()",
        "(rise / -(-rate * width).expm1()).log1p()",
        f"{BOXES} -k worst_neighbours",
    ),
    "boxes of which only different ones grow": (
        "mechanisms/bounded_laplace.py",
        "growth = sum((number * _most(decay, width, moves[width], common) for width, number in boxes.items()), arb(0))",
        "growth = sum((_most(decay, width, moves[width], common) for width, number in boxes.items()), arb(0))",
        f"{BOXES} -k worst_neighbours",
    ),
    "boxes whose last moves cost nothing": (
        "mechanisms/bounded_laplace.py",
        "return decay * sensitivity + growth + left * common",
        "return decay * sensitivity + growth",
        f"{BOXES} -k worst_neighbours",
    ),
    "boxes that trust the slope that floats found": (
        "mechanisms/bounded_laplace.py",
        "return growth + beyond.max(0).max(before)",
        "return growth",
        f"{BOXES} -k wrong_slope",
    ),
}
