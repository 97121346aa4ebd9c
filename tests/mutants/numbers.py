"""Mutants of numbers: noise, boxes, the lattice, intervals and grids. See test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

_LAWS = "tests/unit/mechanisms/test_number_laws.py"
_NUMBERS = "tests/contracts/test_numbers.py"
_QUANTILES = "tests/contracts/test_quantiles.py"
_GEOMETRIC = "tests/unit/samplers/test_geometric.py"
_GRID = "tests/unit/data/test_grid.py"

NOISE: Mutants = {
    "noise of one sign": (
        "samplers/geometric.py",
        "return -size if negative else size",
        "return size",
        f"{_GEOMETRIC} -k laplace_numbers",
    ),
    "noise of the rate of 1, whatever the sensitivity": (
        "mechanisms/discrete_laplace.py",
        "return cast(Fraction, self.epsilon) / cast(Fraction, self.sensitivity)",
        "return cast(Fraction, self.epsilon)",
        f"{_LAWS} -k 'TestDiscreteLaplace and attained'",
    ),
    "noise that several numbers share": (
        "mechanisms/discrete_laplace.py",
        "noisy = [number + draw_laplace(rate, chance) for number in numbers]",
        "noisy = [number + noise for noise in [draw_laplace(rate, chance)] for number in numbers]",
        f"{_LAWS} -k 'TestDiscreteLaplace and releases_of_several'",
    ),
    "noise that costs half of what it does": (
        "mechanisms/discrete_laplace.py",
        "return PureDP(cast(Fraction, self.epsilon))",
        "return PureDP(cast(Fraction, self.epsilon) / 2)",
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
        "if chance.decay(lambda: rate * abs(noisy - center), 1, 1, likely=False):  # noqa: B023 (decided at once)",
        "if True:",
        f"{_NUMBERS} -k narrow_box",
    ),
    "boxes with all that is outside on their ends": (
        "mechanisms/bounded_laplace.py",
        "                if low <= noisy <= high:\n                    return noisy\n",
        "                return _inside(noisy, low, high)\n",
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
        "UNIT << (2 * further), self._weight",
        "UNIT, self._weight",
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
        ".upper().ceil()",
        ".lower().floor()",
        f"{_LAWS} -k proposals",
    ),
    "lattice rate without the range": (
        "mechanisms/lattice.py",
        "as_rational(epsilon / span.value)",
        "as_rational(epsilon)",
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
        "        self.watch()\n        return high\n",
        "        return high\n",
        f"{_NUMBERS} -k seen_not_to_be_concave",
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
        '    if len(edges) < 2:\n        raise ParameterTypeError(owner, "breakpoints", rule, "something else")\n',
        '    if len(edges) < 2:\n        raise ParameterTypeError(owner, "breakpoints", rule, breakpoints)\n',
        f"{_NUMBERS} -k tell_nothing",
    ),
    "intervals in steps of the smallest piece": (
        "mechanisms/interval.py",
        "length / _POINTS if step is None",
        "min(end - start for start, end in pairwise(edges) if start < end) / _POINTS if step is None",
        f"{_NUMBERS} -k does_not_depend",
    ),
    "intervals with points that start at each piece": (
        "mechanisms/interval.py",
        "point = self._point(int(marks[there[piece]]) + place)",
        "point = self._edges[there[piece]] + place * self._step",
        f"{_NUMBERS} -k not_on_the_grid",
    ),
    "intervals with a point before they begin": (
        "mechanisms/interval.py",
        "math.ceil((edge - self._edges[0]) / self._step) for edge",
        "math.floor((edge - self._edges[0]) / self._step) for edge",
        f"{_NUMBERS} -k not_on_the_grid",
    ),
    "intervals that say how many pieces there are": (
        "mechanisms/interval.py",
        "candidates=self._marks()[-1]",
        "candidates=len(self._edges) - 1",
        f"{_NUMBERS} -k does_not_depend",
    ),
    "intervals that show how many pieces there are": (
        "mechanisms/interval.py",
        "step={readable(self._step)}",
        "pieces={len(self._edges) - 1}",
        f"{_NUMBERS} -k does_not_depend",
    ),
    "intervals at a rate without the range": (
        "mechanisms/interval.py",
        '"_rate", epsilon / span.value)',
        '"_rate", epsilon)',
        f"{_LAWS} -k 'TestIntervals and attained'",
    ),
    "intervals with decimals taken for whole numbers": (
        "mechanisms/interval.py",
        "fmpq(1, scale) / as_rational(Fraction(candidates.unit))",
        "fmpq(1, scale)",
        f"{_LAWS} -k 'TestIntervals and one_point'",
    ),
    "pieces of one point": (
        "samplers/pieces.py",
        "lengths[members].cumsum() for members",
        "np.ones_like(lengths[members]).cumsum() for members",
        f"{_NUMBERS} -k TestIntervals",
    ),
    "pieces with levels that floats round up": (
        "samplers/pieces.py",
        "_SLACK = 1 - 2.0**-49",
        "_SLACK = 1.0",
        f"{_LAWS} -k pieces_are_on_a_level",
    ),
    "pieces that end one point later": (
        "samplers/pieces.py",
        'reach.searchsorted(place, side="right")',
        'reach.searchsorted(place, side="left")',
        f"{_LAWS} -k 'TestIntervals and draws'",
    ),
    "pieces with the coin of the first of their level": (
        "samplers/pieces.py",
        "self._behind[self._piece(level, place)[0]]",
        "self._behind[self._piece(level, 0)[0]]",
        f"{_LAWS} -k 'TestIntervals and draws'",
    ),
}

PATHS: Mutants = {
    "paths kept without their coin": (
        "samplers/paths.py",
        "if chance.decay(lambda: behind, weight.denominator, weight.numerator, likely=False):",
        "if True:",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with coins without weight": (
        "samplers/paths.py",
        "weight * Fraction(float(steps[drawn]))",
        "weight",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with weights below the odds": (
        "samplers/paths.py",
        "_HALVINGS_PER_SCALE = 1.4426950408889634 * (1 - 2.0**-48)",
        "_HALVINGS_PER_SCALE = 1.6",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths with bounds below their sums": (
        "samplers/paths.py",
        ".sum(axis=1) * _LARGER",
        ".sum(axis=1)",
        f"{_LAWS} -k bounds_of_paths",
    ),
    "paths that count a person as a unit": (
        "samplers/paths.py",
        "persons * scale, total * scale, wanted, rate",
        "persons, total, wanted, rate",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
    "paths that go back": (
        "samplers/paths.py",
        "first = points[-1] if points else 0",
        "first = 0",
        f"{_QUANTILES} -k 'TestJoint and lists_have_their_odds'",
    ),
}

PUBLIC_GRIDS: Mutants = {
    "grids with values at the nearest point": (
        "data/grid.py",
        "np.floor((near",
        "np.rint((near",
        f"{_GRID} -k places",
    ),
    "grids with floats below their own point": (
        "data/grid.py",
        "/ float(self.step) + slack)",
        "/ float(self.step))",
        f"{_GRID} -k places",
    ),
    "grids with a point after the last one": (
        "data/grid.py",
        ".clip(0, self.size - 1)",
        ".clip(0, self.size)",
        f"{_GRID} -k places",
    ),
}
