"""Mutants of numbers: noise, boxes, the lattice, intervals and grids. See test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LAWS = "tests/unit/mechanisms/test_number_laws.py"
_NUMBERS = "tests/contracts/test_numbers.py"
_QUANTILES = "tests/contracts/test_quantiles.py"
_GEOMETRIC = "tests/unit/randomness/test_geometric.py"
_HISTOGRAMS = "tests/contracts/test_histograms.py"
_GRID = "tests/unit/mechanisms/test_grid.py"

NOISE: Mutants = {
    "noise of one sign": (
        "randomness/whole_numbers.py",
        "return -size if negative else size",
        "return size",
        f"{_GEOMETRIC} -k laplace_numbers",
    ),
    "noise of the rate of 1, whatever the sensitivity": (
        "mechanisms/discrete_laplace.py",
        "return self.epsilon / self.sensitivity",
        "return self.epsilon",
        f"{_LAWS} -k 'TestDiscreteLaplace and attained'",
    ),
    "noise that several numbers share": (
        "mechanisms/discrete_laplace.py",
        "return added(numbers, laplace_noise(self.rate, len(numbers), chance))",
        "return added(numbers, list(laplace_noise(self.rate, 1, chance)) * len(numbers))",
        f"{_LAWS} -k 'TestDiscreteLaplace and releases_of_several'",
    ),
    "bulk noise of one sign": (
        "randomness/bulk_draws.py",
        "noise[missing] = np.where(negative, -sizes, sizes)",
        "noise[missing] = sizes",
        f"{_HISTOGRAMS} -k laplace_numbers_in_bulk",
    ),
    "bulk noise with two zeros": (
        "randomness/bulk_draws.py",
        "missing = missing[negative & (sizes == 0)]",
        "missing = missing[:0]",
        f"{_HISTOGRAMS} -k laplace_numbers_in_bulk",
    ),
    "bulk noise whose digits all have the odds of the first": (
        "randomness/bulk_draws.py",
        "coin = Expansion(partial(_odd, rate * 2 ** place))",
        "coin = Expansion(partial(_odd, rate))",
        f"{_HISTOGRAMS} -k geometric_numbers_in_bulk",
    ),
    "bulk Gaussian noise that is Laplace's": (
        "randomness/bulk_draws.py",
        "kept[members] = flip_coins(coin, members.size, chance)",
        "kept[members] = True",
        f"{_HISTOGRAMS} -k gaussian_numbers_in_bulk",
    ),
    "Gaussian noise that is Laplace's": (
        "randomness/whole_numbers.py",
        "if _survives(rational(gaussian_distance(abs(noise), width, variance)), chance):",
        "if True:",
        f"{_HISTOGRAMS} -k gaussian_numbers_have",
    ),
    "Gaussian noise kept around 0": (
        "randomness/whole_numbers.py",
        "return (size - variance / width) ** 2 / (2 * variance)",
        "return size ** 2 / (2 * variance)",
        f"{_HISTOGRAMS} -k gaussian_numbers_have",
    ),
    "Gaussian noise of half the variance": (
        "mechanisms/discrete_gaussian.py",
        "return self.squared_sensitivity / (2 * self.rho)",
        "return self.squared_sensitivity / (4 * self.rho)",
        f"{_HISTOGRAMS} -k stated_loss_is_never",
    ),
    "Gaussian noise for half of its price": (
        "mechanisms/discrete_gaussian.py",
        "return ZCDP(self.rho)",
        "return ZCDP(self.rho / 2)",
        f"{_HISTOGRAMS} -k stated_loss_is_never",
    ),
    "noise that costs half of what it does": (
        "mechanisms/discrete_laplace.py",
        "return PureDP(self.epsilon)",
        "return PureDP(self.epsilon / 2)",
        f"{_LAWS} -k 'TestDiscreteLaplace and attained'",
    ),
}

BOXES: Mutants = {
    "boxes in which a person moves by 1": (
        "mechanisms/bounded_laplace.py",
        "return min(self.sensitivity, sum(high - low for low, high in self._boxes))",
        "return 1",
        f"{_LAWS} -k 'TestBounds and attained'",
    ),
    "boxes without their last number": (
        "mechanisms/bounded_laplace.py",
        "if low <= noisy <= high:",
        "if low <= noisy < high:",
        f"{_LAWS} -k 'TestBounds and releases'",
    ),
    "boxes narrower than the noise with all numbers alike": (
        "mechanisms/bounded_laplace.py",
        "if chance.decay(lambda: rate * abs(noisy - center), 1, 1, likely=False):",
        "if True:",
        f"{_NUMBERS} -k narrow_box",
    ),
    "boxes with all that is outside on their ends": (
        "mechanisms/bounded_laplace.py",
        "if low <= noisy <= high:\n    return noisy",
        "return _inside(noisy, low, high)",
        f"{_LAWS} -k 'TestBounds and releases'",
    ),
}

LATTICE: Mutants = {
    "lattice proposals kept without their coin": (
        "samplers/lattice.py",
        "if chance.decay(lambda: half.distance(number), numerator, denominator, likely=False):",
        "if True:",
        f"{_LAWS} -k 'TestLattice and draws'",
    ),
    "lattice zero on both sides": (
        "samplers/lattice.py",
        "_Half(sides[1], 1)",
        "_Half(sides[1], 0)",
        f"{_LAWS} -k 'TestLattice and draws'",
    ),
    "lattice sides by a fair coin": (
        "samplers/lattice.py",
        "chance.coin(halves[0].total, total)",
        "chance.coin(1, 2)",
        f"{_LAWS} -k 'TestLattice and draws'",
    ),
    "lattice blocks with the weight of one number": (
        "samplers/lattice.py",
        "sizes = [weight << block for block, weight in enumerate(self._weights)]",
        "sizes = list(self._weights)",
        f"{_LAWS} -k proposals",
    ),
    "lattice tail without its tail": (
        "samplers/lattice.py",
        "self._weight << (self._tail + 1)",
        "self._weight << self._tail",
        f"{_LAWS} -k proposals",
    ),
    "lattice tail with coins that forget how far it is": (
        "samplers/lattice.py",
        "return (self._start(block) + chance.below(1 << block), UNIT << 2 * further, self._weight)",
        "return (self._start(block) + chance.below(1 << block), UNIT, self._weight)",
        f"{_LAWS} -k proposals",
    ),
    "lattice tail that starts too near": (
        "samplers/lattice.py",
        "_FAR = 4 ",
        "_FAR = 1 ",
        f"{_LAWS} -k proposals",
    ),
    "lattice weights below the odds": (
        "samplers/lattice.py",
        "whole = ((-arb(distance)).exp() * UNIT).upper().ceil().unique_fmpz()",
        "whole = ((-arb(distance)).exp() * UNIT).lower().floor().unique_fmpz()",
        f"{_LAWS} -k proposals",
    ),
    "lattice rate without the range": (
        "mechanisms/lattice.py",
        "rational(exact / span.value)",
        "rational(exact)",
        f"{_LAWS} -k 'TestLattice and attained'",
    ),
    "lattice left side that is the right one": (
        "mechanisms/lattice.py",
        "scores.at(best + direction * steps)",
        "scores.at(best + steps)",
        f"{_LAWS} -k 'TestLattice and one_number'",
    ),
    "lattice scores in floats": (
        "mechanisms/lattice.py",
        "self._known[number] = _exact(self._score(number))",
        "self._known[number] = _exact(float(self._score(number)))",
        f"{_LAWS} -k 'TestLattice and large_scores'",
    ),
    "lattice scores that are not watched": (
        "mechanisms/lattice.py",
        "self.watch()\nreturn high",
        "return high",
        f"{_NUMBERS} -k seen_not_to_be_concave",
    ),
    "lattice scores watched with a part forgotten": (
        "mechanisms/lattice.py",
        "if score * below * above * (high - low) < line * part:",
        "if score * below * above * (high - low) < line:",
        f"{_LAWS} -k line_is_met",
    ),
    "lattice scores watched with ends exchanged": (
        "mechanisms/lattice.py",
        "line = first * above * (high - number) + last * below * (number - low)",
        "line = first * above * (number - low) + last * below * (high - number)",
        f"{_LAWS} -k line_is_met",
    ),
    "lattice law without what is beyond": (
        "mechanisms/lattice.py",
        "return total + arb(0).union(beyond)",
        "return total",
        f"{_LAWS} -k sums_are_enclosed",
    ),
}

INTERVALS: Mutants = {
    "intervals that show breakpoints in a message": (
        "mechanisms/interval.py",
        "raise ParameterError(owner, 'breakpoints', 'ascending', Hidden('others'))",
        "raise ParameterError(owner, 'breakpoints', 'ascending', edges[0])",
        f"{_NUMBERS} -k tell_nothing",
    ),
    "intervals that refuse what is outside": (
        "mechanisms/interval.py",
        "(min(max(edge, self._low), self._high) for edge in _read_edges(breakpoints, owner))",
        "_read_edges(breakpoints, owner)",
        f"{_NUMBERS} -k outside_of_the_bounds",
    ),
    "intervals with points that start at each piece": (
        "mechanisms/interval.py",
        "return plain_number(self._point(int(marks[there[piece]]) + place))",
        "return plain_number([self._low, *_read_edges(breakpoints, owner)][there[piece]] + place * self._step)",
        f"{_NUMBERS} -k not_on_the_grid",
    ),
    "intervals with a point before they begin": (
        "mechanisms/interval.py",
        "inner = [math.ceil((edge - self._low) / self._step) for edge in edges]",
        "inner = [math.floor((edge - self._low) / self._step) for edge in edges]",
        f"{_NUMBERS} -k not_on_the_grid",
    ),
    "intervals that say how many pieces there are": (
        "mechanisms/interval.py",
        "return Release(value=self._draw(scores, breakpoints, chance), loss=self._loss, mechanism='interval-exponential', candidates=self._size, seeded=chance.bits.seeded, accuracy=self.accuracy())",
        "return Release(value=self._draw(scores, breakpoints, chance), loss=self._loss, mechanism='interval-exponential', candidates=len(breakpoints) + 1, seeded=chance.bits.seeded, accuracy=self.accuracy())",
        f"{_NUMBERS} -k does_not_depend",
    ),
    "intervals at a rate without the range": (
        "mechanisms/interval.py",
        "hold(self, _rate=exact / span.value, _loss=BoundedRange(exact))",
        "hold(self, _rate=exact, _loss=BoundedRange(exact))",
        f"{_LAWS} -k 'TestIntervals and attained'",
    ),
    "intervals with decimals taken for whole numbers": (
        "mechanisms/interval.py",
        "fmpq(1, scale) / rational(Fraction(candidates.unit))",
        "fmpq(1, scale)",
        f"{_LAWS} -k 'TestIntervals and one_point'",
    ),
    "pieces of one point": (
        "samplers/grouped_candidates.py",
        "self._reach = [lengths[members].cumsum() for members in self._members]",
        "self._reach = [np.ones_like(lengths[members]).cumsum() for members in self._members]",
        f"{_NUMBERS} -k TestIntervals",
    ),
    "pieces with levels that floats round up": (
        "samplers/grouped_candidates.py",
        "_SLACK = 1 - 2.0**-49",
        "_SLACK = 1.0",
        f"{_LAWS} -k pieces_are_on_a_level",
    ),
    "pieces that end one point later": (
        "samplers/grouped_candidates.py",
        'reach.searchsorted(place, side="right")',
        'reach.searchsorted(place, side="left")',
        f"{_LAWS} -k 'TestIntervals and draws'",
    ),
    "pieces with the coin of the first of their level": (
        "samplers/grouped_candidates.py",
        "self._behind[self._piece(level, place)[0]]",
        "self._behind[self._piece(level, 0)[0]]",
        f"{_LAWS} -k 'TestIntervals and draws'",
    ),
}

PATHS: Mutants = {
    "paths kept without their coin": (
        "samplers/grid_paths.py",
        "if chance.decay(lambda: behind, weight.denominator, weight.numerator, likely=False):",
        "if True:",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with coins without weight": (
        "samplers/grid_paths.py",
        "weight * Fraction(float(steps[drawn]))",
        "weight",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with weights below the odds": (
        "samplers/grid_paths.py",
        "_HALVINGS_PER_SCALE = 1.4426950408889634 * (1 - 2.0**-48)",
        "_HALVINGS_PER_SCALE = 1.6",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with bounds below their sums": (
        "samplers/grid_paths.py",
        "ahead.insert(0, np.triu(self._weights(lost) * ahead[0]).sum(axis=1) * _LARGER)",
        "ahead.insert(0, np.triu(self._weights(lost) * ahead[0]).sum(axis=1))",
        f"{_LAWS} -k bounds_of_paths",
    ),
    "paths that count a person as a unit": (
        "samplers/grid_paths.py",
        "persons * scale, total * scale, wanted, rate",
        "persons, total, wanted, rate",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths that go back": (
        "samplers/grid_paths.py",
        "first = points[-1] if points else 0",
        "first = 0",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
}

PUBLIC_GRIDS: Mutants = {
    "grids with values at the nearest point": (
        "mechanisms/grid.py",
        "return np.floor((near - float(self.low)) / float(self.step) + slack).clip(0, self.size - 1).astype(np.int64)",
        "return np.rint((near - float(self.low)) / float(self.step) + slack).clip(0, self.size - 1).astype(np.int64)",
        f"{_GRID} -k places",
    ),
    "lists whose entries decide what the others are": (
        "mechanisms/grid.py",
        "_PLAIN.issuperset(map(type, values))",
        "True",
        "tests/unit/test_quantile_functions.py -k no_single_value_decides",
    ),
    "a length of time is the number of its units": (
        "mechanisms/grid.py",
        "isinstance(value, np.timedelta64)",
        "False",
        "tests/unit/test_quantile_functions.py -k a_length_of_time",
    ),
    "grids with floats below their own point": (
        "mechanisms/grid.py",
        "return np.floor((near - float(self.low)) / float(self.step) + slack).clip(0, self.size - 1).astype(np.int64)",
        "return np.floor((near - float(self.low)) / float(self.step)).clip(0, self.size - 1).astype(np.int64)",
        f"{_GRID} -k places",
    ),
    "grids with a point after the last one": (
        "mechanisms/grid.py",
        "return np.floor((near - float(self.low)) / float(self.step) + slack).clip(0, self.size - 1).astype(np.int64)",
        "return np.floor((near - float(self.low)) / float(self.step) + slack).clip(0, self.size).astype(np.int64)",
        f"{_GRID} -k places",
    ),
}
