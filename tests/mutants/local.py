"""Mutants of reports and tables: see test_mutants.py. What is wrong: (file, the true text, the
mutated text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

COINS = "tests/unit/local/test_bulk_draws.py"
REPORTS = "tests/unit/local/test_reports.py"
TABLES = "tests/unit/mechanisms/test_probability_table.py"

LOCAL: Mutants = {
    "reports a tie is heads": (
        "randomness/bulk_draws.py",
        "heads, ties = words < digit, np.flatnonzero(words == digit)",
        "heads, ties = words <= digit, np.flatnonzero(words == 256)",
        f"{COINS} -k odds_on_every_tape_of_bytes",
    ),
    "reports a tie is tails": (
        "randomness/bulk_draws.py",
        "        heads[ties] = words < digit\n",
        "",
        f"{COINS} -k 'odds_on_every_tape_of_bytes or settled'",
    ),
    "reports ties compared with the first digit again": (
        "randomness/bulk_draws.py",
        "start += _WIDTH\ndigit = probability.digit(start, _WIDTH)",
        "start += _WIDTH",
        f"{COINS} -k odds_on_every_tape_of_bytes",
    ),
    "reports packed coins start anew where they were open": (
        "randomness/bulk_draws.py",
        "flip_coins(probability, ties.size, chance, start=_ROUNDS)",
        "flip_coins(probability, ties.size, chance)",
        f"{COINS} -k packed",
    ),
    "reports packed coins with their digit upside down": (
        "randomness/bulk_draws.py",
        "heads |= still_open & ~words",
        "heads |= still_open & words",
        f"{COINS} -k packed",
    ),
    "reports open coins of a byte forgotten": (
        "randomness/bulk_draws.py",
        "    heads[places] |= np.packbits(bits)\n",
        "",
        f"{COINS} -k packed",
    ),
    "reports digits of a rounded probability": (
        "randomness/bulk_draws.py",
        "return low if low == high else None",
        "return low",
        f"{COINS} -k 'Expansion'",
    ),
    "reports whole numbers by remainder (biased)": (
        "randomness/bulk_draws.py",
        "    again = np.flatnonzero(numbers >= bound)\n",
        "    numbers %= bound\n    again = np.flatnonzero(numbers >= bound)\n",
        f"{COINS} -k whole_numbers",
    ),
    "reports rejected words are not rejected the second time": (
        "randomness/bulk_draws.py",
        "again = again[tried >= bound]",
        "again = again[:0]",
        f"{COINS} -k 'again_and_again'",
    ),
    "reports the factor 2 is paid for nothing": (
        "local/randomized_response.py",
        "return (-ball(self.rate)).exp()",
        "return (-ball(self.rate / 2)).exp()",
        f"{REPORTS} -k 'Law and every_tape and RandomizedResponse'",
    ),
    "reports a lie may be the truth": (
        "local/randomized_response.py",
        "reports[lies] = places + (places >= positions[lies])",
        "reports[lies] = places",
        f"{REPORTS} -k 'Law and every_tape and RandomizedResponse'",
    ),
    "reports a position that overflows its type": (
        "local/randomized_response.py",
        "places = draw_below(self._others, lies.size, chance).astype(self._categories.kind)",
        "places = draw_below(self._others, lies.size, chance)",
        f"{REPORTS} -k 'edges_of_types'",
    ),
    "reports RAPPOR flips bits for epsilon and not for half of it": (
        "local/rappor.py",
        "return self.epsilon / 2",
        "return self.epsilon",
        f"{REPORTS} -k 'Privacy or published or (Law and every_tape)'",
    ),
    "reports RAPPOR sets the own bit instead of flipping it": (
        "local/rappor.py",
        "reports[np.arange(positions.size), positions >> 3] ^= (128 >> (positions & 7)).astype(np.uint8)",
        "reports[np.arange(positions.size), positions >> 3] |= (128 >> (positions & 7)).astype(np.uint8)",
        f"{REPORTS} -k 'Law and every_tape and Rappor'",
    ),
    "reports RAPPOR leaves bits beyond the categories": (
        "local/rappor.py",
        "np.packbits(np.ones(self._categories.size, dtype=bool))",
        "np.packbits(np.ones(8 * self._report_shape[0], dtype=bool))",
        f"{REPORTS} -k 'Law and every_tape and Rappor'",
    ),
    "reports a set has its own category as if k were 1": (
        "local/subset_selection.py",
        "return 1 / (1 + self._decay() * (self._categories.size - size) / size)",
        "return 1 / (1 + self._decay() * (self._categories.size - size))",
        f"{REPORTS} -k 'Law and every_tape and SubsetSelection'",
    ),
    "reports subsets with the own category among the others": (
        "randomness/bulk_draws.py",
        "    marks[:, others] = flat[starts + own]\n",
        "",
        f"{COINS} -k Subsets",
    ),
    "reports Floyd's method takes the drawn one twice": (
        "randomness/bulk_draws.py",
        "flat[np.where(flat[places], starts + number, places)] = True",
        "flat[places] = True",
        f"{COINS} -k Subsets",
    ),
    "reports Floyd's method draws from one number too few": (
        "randomness/bulk_draws.py",
        "draw_below(number + 1, starts.size, chance)",
        "draw_below(number, starts.size, chance)",
        f"{COINS} -k Subsets",
    ),
    "reports the next size rounded down always": (
        "local/subset_selection.py",
        "sizes = [min(max(1, size), categories - 1) for size in (int(near), int(near) + 1)]",
        "sizes = [min(max(1, size), categories - 1) for size in (int(near),)]",
        f"{REPORTS} -k 'best_of_all'",
    ),
    "reports estimates without the false ones taken off": (
        "local/categories.py",
        "(counts / reports - self.other) * self.scale",
        "counts / reports * self.scale",
        f"{REPORTS} -k 'within_their_standard_errors'",
    ),
    "reports standard errors with own and other exchanged": (
        "local/categories.py",
        "variances = (chance * (1 - chance) * scale * scale for chance in (own, other))",
        "variances = (chance * (1 - chance) * scale * scale for chance in (other, own))",
        f"{REPORTS} -k 'unbiased or published'",
    ),
    "reports an unknown value is shown": (
        "local/categories.py",
        "return ParameterError(owner, name, 'among the categories', InWords('something else'), hint)",
        "return ParameterError(owner, name, 'among the categories', 'canary-718281', hint)",
        f"{REPORTS} -k 'not_shown'",
    ),
    "tables the smallest ratio forgotten": (
        "mechanisms/probability_table.py",
        "return max(high, -low), high - low",
        "return high, high - low",
        f"{TABLES} -k 'another_library'",
    ),
    "tables the range is taken for epsilon": (
        "mechanisms/probability_table.py",
        "return max(high, -low), high - low",
        "return max(high, -low), max(high, -low)",
        f"{TABLES} -k 'another_library'",
    ),
    "tables rounded to nearest": (
        "mechanisms/probability_table.py",
        "return round_up(value) if isinstance(value, Fraction) and value else value",
        "return Fraction(f'{float(value):.14e}') if isinstance(value, Fraction) and value else value",
        f"{TABLES} -k 'another_library'",
    ),
    "tables a zero on one side is left out": (
        "mechanisms/probability_table.py",
        "return math.inf, math.inf",
        "return Fraction(0), Fraction(0)",
        f"{TABLES} -k 'one_side_only'",
    ),
    "tables randomised response claims bounded range": (
        "mechanisms/probability_table.py",
        "return bounded if bounded.to_zcdp() < pure.to_zcdp() else pure",
        "return bounded",
        f"{TABLES} -k 'pure'",
    ),
}
