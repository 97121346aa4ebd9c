"""Mutants of subspaces: signs, exponents and envelopes: see test_mutants.py.

What is wrong: (file, the true text, the mutated text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

PROPOSALS = "tests/unit/samplers/test_subspace.py"
CONTRACTS = "tests/contracts/test_subspaces.py"
NORMALS = "tests/unit/samplers/test_normals.py"
ROWS = "tests/unit/mechanisms/test_rows_on_a_grid.py"
HOSTILE = "tests/attacks/test_hostile_rows_of_fits.py"

SUBSPACES: Mutants = {
    "subspace floats that underflow leave no rest": (
        "samplers/subspace.py",
        "_UNDERFLOW = 2.0**-500",
        "_UNDERFLOW = 0.0",
        f"{PROPOSALS} -k floats_underflow",
    ),
    "subspace an underflow of a draw is heard of": (
        "mechanisms/subspace.py",
        "np.errstate(all='ignore')",
        "np.errstate()",
        f"{HOSTILE} -k 'become_small and subspace'",
    ),
    "subspace an underflow of a covariance is heard of": (
        "mechanisms/covariance.py",
        "np.errstate(all='ignore')",
        "np.errstate()",
        f"{HOSTILE} -k 'become_small and covariance'",
    ),
    "subspace other libraries' sign of the exponent": (
        "samplers/subspace_proposal.py",
        "log_odds = -spread / 2 * (trace - size) + arb(axes) / 2 * (whole.det() / gram.det()).log() - core_peak(core)",
        "log_odds = -spread / 2 * (trace - size) - arb(axes) / 2 * (whole.det() / gram.det()).log() - core_peak(core)",
        f"{PROPOSALS} -k 'hundred_digits and usual-1'",
    ),
    "subspace half of the exponent lost": (
        "samplers/subspace_proposal.py",
        "log_odds = -spread / 2 * (trace - size) + arb(axes) / 2 * (whole.det() / gram.det()).log() - core_peak(core)",
        "log_odds = -spread / 2 * (trace - size) + arb(axes) * (whole.det() / gram.det()).log() - core_peak(core)",
        f"{PROPOSALS} -k 'hundred_digits and usual-1'",
    ),
    "subspace a row of one dimension more": (
        "samplers/subspace_proposal.py",
        "return (self.size - 2) / 2",
        "return (self.size - 1) / 2",
        f"{PROPOSALS} -k 'hundred_digits and usual-2'",
    ),
    "subspace the determinant of a step without its root": (
        "samplers/subspace_proposal.py",
        "log_odds = inner.log_odds + gain - (narrow.det() / inner.gram.det()).log() / 2",
        "log_odds = inner.log_odds + gain - (narrow.det() / inner.gram.det()).log()",
        f"{PROPOSALS} -k 'hundred_digits and usual-2'",
    ),
    "subspace the offset on the wrong side": (
        "samplers/subspace_proposal.py",
        "offset = free - weighted * narrow.solve(frame.transpose() * free)",
        "offset = free + weighted * narrow.solve(frame.transpose() * free)",
        f"{PROPOSALS} -k 'hundred_digits and usual-2'",
    ),
    "subspace an envelope that forgets its mode": (
        "samplers/subspace_proposal.py",
        "worst = max(exact[0] - weight, (axes - spread) / 2)",
        "worst = exact[0] - weight",
        f"{PROPOSALS} -k 'above_the_envelope and usual-1'",
    ),
    "subspace an envelope of a step that is too low": (
        "samplers/subspace_proposal.py",
        "return shift + (power * (power / (power + shift)).log() if step.power else 0)",
        "return shift / 2 + (power * (power / (power + shift)).log() if step.power else 0)",
        f"{PROPOSALS} -k 'above_the_envelope and flat-2'",
    ),
    "subspace weights of the inner problem too low": (
        "samplers/subspace_proposal.py",
        "return up(arb(weight) + (arb(top) - arb(weight) + arb(power) + arb(shift)).log() / 2)",
        "return up(arb(weight) - (arb(top) - arb(weight) + arb(power) + arb(shift)).log() / 2)",
        f"{PROPOSALS} -k 'above_the_envelope and rank'",
    ),
    "subspace floats that are never wrong": (
        "samplers/subspace_filter.py",
        "_SAFETY = 2.0",
        "_SAFETY = 0.0",
        f"{PROPOSALS} -k 'as_near_as_they_say and usual'",
    ),
    "subspace floats that forget how the frame leans": (
        "samplers/subspace_filter.py",
        "onto = onto + turned.lean * (math.sqrt(2) * _norm(offset) + largest * rounding)",
        "onto = onto + turned.lean * (largest * rounding)",
        f"{PROPOSALS} -k 'no_further_than_stated and long'",
    ),
    "subspace floats that forget what the frame took away": (
        "samplers/subspace_filter.py",
        "wrong = ERROR * math.sqrt(len(roots)) + 1.25 * onto + lost * along + rounding",
        "wrong = ERROR * math.sqrt(len(roots)) + 1.25 * onto + rounding",
        f"{PROPOSALS} -k 'no_further_than_stated and short'",
    ),
    "subspace a mass without the law of a row": (
        "samplers/subspace_proposal.py",
        "total += math.lgamma(axes / 2) - math.lgamma(step.size / 2)",
        "total -= math.lgamma(axes / 2) - math.lgamma(step.size / 2)",
        f"{PROPOSALS} -k 'inverse_ratio and usual'",
    ),
    "subspace a rest that nobody bounds": (
        "samplers/subspace.py",
        "self.rest = 1.25 * (wrong + _rest(scaled, self.weights, self._inner))",
        "self.rest = 0.001 * (wrong + _rest(scaled, self.weights, self._inner))",
        f"{PROPOSALS} -k 'rest_is_bounded or last_factor'",
    ),
    "subspace the rest counted twice": (
        "samplers/subspace.py",
        "return ball(self._rate) * captured - shares - arb(frame.ncols()).sqrt() * arb(self.rest)",
        "return ball(self._rate) * captured - 2 * shares - arb(frame.ncols()).sqrt() * arb(self.rest)",
        f"{PROPOSALS} -k last_factor",
    ),
    "subspace the mirror images mixed up": (
        "samplers/normals.py",
        "first, second = (smaller, larger) if image & 4 else (larger, smaller)",
        "first, second = (larger, smaller) if image & 4 else (smaller, larger)",
        f"{NORMALS} -k corners",
    ),
    "subspace the range of half a row": (
        "mechanisms/subspace.py",
        "return self.epsilon / self._grid.longest ** 2",
        "return 2 * self.epsilon / self._grid.longest ** 2",
        f"{CONTRACTS} -k 'range_is_reached or within_one_epsilon'",
    ),
    "subspace half of the loss stated": (
        "mechanisms/subspace.py",
        "return BoundedRange(self.epsilon)",
        "return BoundedRange(self.epsilon / 2)",
        f"{CONTRACTS} -k what_it_cost",
    ),
    "subspace the complement of the best one": (
        "mechanisms/subspace.py",
        "sampler = SubspaceSampler(sign * moment, rate=self.rate, size=size, batch=batch_size(columns), chance=chance)",
        "sampler = SubspaceSampler(moment, rate=self.rate, size=size, batch=batch_size(columns), chance=chance)",
        f"{CONTRACTS} -k complement",
    ),
    "covariance every direction has half of epsilon": (
        "mechanisms/covariance.py",
        "rate = self.epsilon / (2 * drawn) / self._grid.longest ** 2",
        "rate = self.epsilon / 2 / self._grid.longest ** 2",
        f"{CONTRACTS} -k share_half",
    ),
    "covariance rounding down is free": (
        "mechanisms/covariance.py",
        "noise = DiscreteLaplace(epsilon=self.epsilon / 2, sensitivity=math.floor(_FINENESS * stretch(whole)) + len(whole))",
        "noise = DiscreteLaplace(epsilon=self.epsilon / 2, sensitivity=math.floor(_FINENESS * stretch(whole)))",
        f"{CONTRACTS} -k half_of_epsilon",
    ),
    "covariance the sums have all of epsilon": (
        "mechanisms/covariance.py",
        "noise = DiscreteLaplace(epsilon=self.epsilon / 2, sensitivity=math.floor(_FINENESS * stretch(whole)) + len(whole))",
        "noise = DiscreteLaplace(epsilon=self.epsilon, sensitivity=math.floor(_FINENESS * stretch(whole)) + len(whole))",
        f"{CONTRACTS} -k half_of_epsilon",
    ),
    "rows that are no numbers stay": (
        "mechanisms/rows.py",
        "rows = np.where(finite, rows, 0.0)",
        "rows = np.nan_to_num(rows)",
        f"{ROWS} -k longer_than_the_norm",
    ),
    "rows of twice the norm": (
        "mechanisms/rows.py",
        "return np.where((squares > self.longest ** 2)[:, None], shorter, whole)",
        "return np.where((squares > 2 * self.longest ** 2)[:, None], shorter, whole)",
        f"{ROWS} -k little_too_long",
    ),
}
