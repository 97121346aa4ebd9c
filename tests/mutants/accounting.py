"""Mutants of the accounting: what is read, taken, planned and reported."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

NUMBERS = "tests/unit/exact/test_rationals.py"
FILTER = "tests/unit/accounting/test_privacy_filter.py"
COMPOSITION = "tests/unit/accounting/test_composition.py"
PLANNER = "tests/unit/accounting/test_planner.py"
SETTINGS = "tests/unit/test_numpy_settings.py"

READING: Mutants = {
    "numbers of any length": (
        "exact/rationals.py",
        "if abs(value.numerator) >= _MOST or value.denominator >= _MOST:",
        "if False:",
        f"{NUMBERS} -k one_line",
    ),
    "only numerators are short": (
        "exact/rationals.py",
        "if abs(value.numerator) >= _MOST or value.denominator >= _MOST:",
        "if abs(value.numerator) >= _MOST:",
        f"{NUMBERS} -k one_line",
    ),
    "a refusal of long scores, which are private": (
        "mechanisms/private_candidate.py",
        '_finite(private_binary(score, "run", _OWNER), smallest)',
        '_finite(exact_binary(score, "run", _OWNER), smallest)',
        "tests/unit/mechanisms/test_private_candidate.py -k however_long",
    ),
    "a refusal of long breakpoints, which may be private": (
        "mechanisms/interval.py",
        "edges = [private_decimal(edge, 'breakpoints', owner) for edge in breakpoints]",
        "edges = [exact_decimal(edge, 'breakpoints', owner) for edge in breakpoints]",
        "tests/unit/mechanisms/test_number_laws.py -k however_long",
    ),
    "lengths of time are numbers": (
        "exact/rationals.py",
        "_NO_NUMBERS = (bool, np.bool_, np.timedelta64)",
        "_NO_NUMBERS = (bool, np.bool_)",
        f"{NUMBERS} -k length_of_time",
    ),
    "the rho of a tiny epsilon rounded to nothing": (
        "privacy/loss.py",
        "_LEAST_RHO = Fraction(1, 10**MOST_DIGITS)",
        "_LEAST_RHO = Fraction(1, 10 ** (9 * MOST_DIGITS))",
        f"{NUMBERS} -k rho_that_is_a_number",
    ),
}

TAKING: Mutants = {
    "counts of parts are not looked at": (
        "accounting/spending.py",
        'count(times, "losses", owner)',
        "times",
        f"{FILTER} -k whole_number_of_times",
    ),
    "a part that occurs less than never": (
        "accounting/spending.py",
        'count(times, "losses", owner)',
        'count(times, "losses", owner, least=-9)',
        f"{FILTER} -k whole_number_of_times",
    ),
    "a release without parts is free": (
        "accounting/spending.py",
        "if not isinstance(parts, Mapping) or not parts:",
        "if not isinstance(parts, Mapping):",
        f"{FILTER} -k has_parts",
    ),
    "amounts below 0 are given back": (
        "accounting/spending.py",
        "if own < 0:",
        "if False:",
        f"{FILTER} -k gives_nothing_back",
    ),
    "a copy of a filter is a second budget": (
        "accounting/privacy_filter.py",
        "        raise TypeError(_COPIED)",
        "        return super().__reduce_ex__(protocol)",
        f"{FILTER} -k one_budget",
    ),
    "a forked child spends the rest again": (
        "accounting/privacy_filter.py",
        "if os.getpid() != self._process:",
        "if False:",
        f"{FILTER} -k forked_child",
    ),
}

REPORTING: Mutants = {
    "NumPy's settings decide about a stage": (
        "accounting/adaptive_grid.py:Grid",
        "@np.errstate(all='ignore')\ndef range_stage(",
        "def range_stage(",
        f"{SETTINGS} -k stages",
    ),
    "NumPy's settings decide about a pair": (
        "accounting/two_point.py",
        "with np.errstate(all='ignore'):",
        "if True:",
        f"{SETTINGS} -k copies",
    ),
    "the lower end of delta adds the deltas up": (
        "accounting/composition.py",
        "return lower_bound(lambda: (1 - losses.quiet() * (1 - ball(delta))).max(arb(0)))",
        "return delta + losses.delta",
        f"{COMPOSITION} -k no_lower_end",
    ),
    "the lower end of epsilon takes the sum of the deltas off": (
        "accounting/composition.py",
        "return upper_bound(lambda: 1 - (1 - ball(delta)) / losses.quiet())",
        "return delta - losses.delta",
        f"{COMPOSITION} -k large_delta",
    ),
    "one loss with a delta stands for all of them": (
        "accounting/analyses.py",
        "deltas.append((loss.delta, times))",
        "deltas.append((loss.delta, 1))",
        f"{COMPOSITION} -k no_lower_end",
    ),
    "an adaptive plan accepted by a logarithm of floats": (
        "accounting/planner.py",
        "if reached <= budget.delta:",
        "if excess <= 0:",
        f"{PLANNER} -k exact_comparison",
    ),
    "a single query counted on the grid": (
        "accounting/planner.py",
        "if most <= 1:\n    return most",
        "if most == 0:\n    return 0",
        f"{PLANNER} -k planned_is_allowed",
    ),
    "the step of a grid that rounds up most": (
        "accounting/adaptive_grid.py",
        "step = min(_steps(epsilons, cheapest), key=lambda step: _widening(counts, step))",
        "step = max(_steps(epsilons, cheapest), key=lambda step: _widening(counts, step))",
        f"{COMPOSITION} -k coarse_grids",
    ),
    "no grid for losses that no step divides": (
        "accounting/adaptive_grid.py",
        "if cheapest is None:",
        "if cheapest is None or _widening(counts, cheapest * 2) > 1e-09:",
        f"{COMPOSITION} -k coarse_grids",
    ),
}

_STOPPING = "tests/unit/accounting/test_random_stopping.py"
_EVENTS = "tests/unit/accounting/test_interop.py"
_TARIFF = "tests/unit/accounting/test_coins.py"

MADE: Mutants = {
    "a budget without a delta is twice as large": (
        "accounting/spending.py",
        "budget = PureDP(budget.epsilon)",
        "budget = PureDP(2 * budget.epsilon)",
        f"{FILTER} -k without_delta_is_pure",
    ),
    "the largest range of some rho is doubled too often": (
        "accounting/renyi.py",
        "while BoundedRange(high).to_zcdp().rho <= rho and high < 2 ** 20:",
        "while BoundedRange(high / 2).to_zcdp().rho <= rho and high < 2 ** 20:",
        f"{FILTER} -k largest_question",
    ),
    "the largest range of some rho is twice what it pays for": (
        "accounting/renyi.py",
        "low, high = (middle, high) if BoundedRange(middle).to_zcdp().rho <= rho else (low, middle)",
        "low, high = (middle, high) if BoundedRange(middle / 2).to_zcdp().rho <= rho else (low, middle)",
        f"{FILTER} -k largest_question",
    ),
    "the largest range of some coins is one that costs more": (
        "accounting/tariff.py",
        "return BoundedRange(self.unit * paid_range(self.menu[place - 1])) if place else None",
        "return BoundedRange(self.unit * paid_range(self.menu[place])) if place else None",
        f"{_TARIFF} -k largest_range",
    ),
    "a total with half of its delta": (
        "accounting/composition.py",
        "return ApproxDP(self.epsilon, self.delta) if self.epsilon and self.delta < 1 else None",
        "return ApproxDP(self.epsilon, self.delta / 2) if self.epsilon and self.delta < 1 else None",
        f"{COMPOSITION} -k prints_as_it_is",
    ),
    "an event of Laplace noise for half of its epsilon": (
        "accounting/interop.py",
        "return PureDP(1 / _field(event, 'noise_multiplier'))",
        "return PureDP(1 / (2 * _field(event, 'noise_multiplier')))",
        f"{_EVENTS} -k one_event",
    ),
    "an event of discrete Laplace noise without its sensitivity": (
        "accounting/interop.py",
        "return PureDP(_field(event, 'noise_parameter') * _field(event, 'sensitivity'))",
        "return PureDP(_field(event, 'noise_parameter') * (_field(event, 'sensitivity') ** 0))",
        f"{_EVENTS} -k one_event",
    ),
    "an event of randomised response for half of its epsilon": (
        "accounting/interop.py",
        "PureDP(round_up(upper_bound(lambda: ball(odds).log1p())))",
        "PureDP(round_up(upper_bound(lambda: ball(odds).log1p() / 2)))",
        f"{_EVENTS} -k one_event",
    ),
    "an event of concentrated DP for half of its rho": (
        "accounting/interop.py",
        "return ZCDP(total) if total else None",
        "return ZCDP(total / 2) if total else None",
        f"{_EVENTS} -k one_event",
    ),
    "a plan for twice a budget without a delta": (
        "accounting/planner.py",
        "return PureDP(budget.epsilon)",
        "return PureDP(2 * budget.epsilon)",
        f"{PLANNER} -k a_pure_budget",
    ),
    "an adaptive plan looks at half of its range": (
        "accounting/planner.py",
        "counts: dict[Loss, int] = {BoundedRange(guess): queries}",
        "counts: dict[Loss, int] = {BoundedRange(guess / 2): queries}",
        f"{PLANNER} -k never_above_nested",
    ),
    "a plan by blocks looks at half of its range": (
        "accounting/planner.py",
        "_by_pairs(BoundedRange(guess), queries, budget)",
        "_by_pairs(BoundedRange(guess / 2), queries, budget)",
        f"{PLANNER} -k by_blocks",
    ),
    "the best of many runs for half of its pure epsilon": (
        "accounting/random_stopping.py",
        "return PureDP(pure_epsilon(each, law, choices))",
        "return PureDP(pure_epsilon(each, law, choices) / 2)",
        f"{_STOPPING} -k paid_by_every_run",
    ),
    "the best of many runs with a delta for half of its epsilon": (
        "accounting/random_stopping.py",
        "return ApproxDP(_best_epsilon(each, law, choices, allowed), allowed)",
        "return ApproxDP(_best_epsilon(each, law, choices, allowed) / 2, allowed)",
        f"{_STOPPING} -k paid_by_every_run",
    ),
    "the best of many concentrated runs for half of its epsilon": (
        "accounting/random_stopping.py",
        "return ApproxDP(_renyi_epsilon(each, law, allowed), allowed)",
        "return ApproxDP(_renyi_epsilon(each, law, allowed) / 2, allowed)",
        f"{_STOPPING} -k never_below_and_close",
    ),
    "the best of many approximate runs by half of their epsilon": (
        "accounting/random_stopping.py",
        "epsilon = _best_epsilon(PureDP(each.epsilon), law, choices=True, delta=whole - own)",
        "epsilon = _best_epsilon(PureDP(each.epsilon / 2), law, choices=True, delta=whole - own)",
        f"{_STOPPING} -k paid_by_every_run",
    ),
    "the best of many approximate runs with half of its delta": (
        "accounting/random_stopping.py",
        "return ApproxDP(epsilon, whole)",
        "return ApproxDP(epsilon, whole / 2)",
        f"{_STOPPING} -k paid_by_every_run",
    ),
}
"""What losses are made of, where the accountant makes one."""
