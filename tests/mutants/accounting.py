"""Mutants of the accounting: what is read, taken, planned and reported."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

NUMBERS = "tests/unit/privacy/test_numbers.py"
FILTER = "tests/unit/accounting/test_filter.py"
COMPOSITION = "tests/unit/accounting/test_composition.py"
PLANNER = "tests/unit/accounting/test_planner.py"

READING: Mutants = {
    "numbers of any length": (
        "privacy/numbers.py",
        "if abs(value.numerator) >= _MOST or value.denominator >= _MOST:",
        "if False:",
        f"{NUMBERS} -k one_line",
    ),
    "only numerators are short": (
        "privacy/numbers.py",
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
        'tuple(private_decimal(edge, "breakpoints", owner)',
        'tuple(exact_decimal(edge, "breakpoints", owner)',
        "tests/unit/mechanisms/test_number_laws.py -k however_long",
    ),
    "lengths of time are numbers": (
        "privacy/numbers.py",
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
        "accounting/filter.py",
        'often = {loss: count(times, "losses", "Filter") for loss, times in losses.items()}',
        "often = dict(losses)",
        f"{FILTER} -k whole_number_of_times",
    ),
    "a part that occurs less than never": (
        "accounting/filter.py",
        'count(times, "losses", "Filter")',
        'count(times, "losses", "Filter", least=-9)',
        f"{FILTER} -k whole_number_of_times",
    ),
    "a release without parts is free": (
        "accounting/filter.py",
        "if not isinstance(losses, Mapping) or not losses:",
        "if not isinstance(losses, Mapping):",
        f"{FILTER} -k has_parts",
    ),
    "amounts below 0 are given back": (
        "accounting/filter.py",
        "    if exact < 0:",
        "    if False:",
        f"{FILTER} -k gives_nothing_back",
    ),
    "a copy of a filter is a second budget": (
        "accounting/filter.py",
        "        raise TypeError(_COPIED)",
        "        return super().__reduce_ex__(protocol)",
        f"{FILTER} -k one_budget",
    ),
    "a forked child spends the rest again": (
        "accounting/filter.py",
        "if os.getpid() != self._process:",
        "if False:",
        f"{FILTER} -k forked_child",
    ),
}

REPORTING: Mutants = {
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
        "accounting/losses.py",
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
        "    if most <= 1:\n        return most",
        "    if most == 0:\n        return 0",
        f"{PLANNER} -k planned_is_allowed",
    ),
    "the step of a grid that rounds up most": (
        "accounting/adaptive.py",
        "step = min(_steps(epsilons, cheapest), key=",
        "step = max(_steps(epsilons, cheapest), key=",
        f"{COMPOSITION} -k coarse_grids",
    ),
    "no grid for losses that no step divides": (
        "accounting/adaptive.py",
        "        if cheapest is None:\n",
        "        if cheapest is None or _widening(counts, cheapest * 2) > 1e-9:\n",
        f"{COMPOSITION} -k coarse_grids",
    ),
}
