"""Mutants of the auditor: its statistics, its search, what it sees. See test_mutants.py."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]


_EVENTS = "tests/unit/auditing/test_events.py"
_STATISTICS = "tests/unit/auditing/test_statistics.py"
_AUDITOR = "tests/unit/auditing/test_auditor.py"

AUDITOR: Mutants = {
    "a bound on a probability that is the share that was seen": (
        "auditing/claims.py",
        "return at_precision(_PRECISION, lambda: _boundary(is_low, hits, runs, alpha))",
        "return hits / runs",
        f"{_STATISTICS} -k coverage",
    ),
    "a bound with one run more than there were": (
        "auditing/claims.py",
        "return (misses - steps) / (hits + 1 + steps)",
        "return (misses - steps) / (hits + 2 + steps)",
        f"{_STATISTICS} -k closed_form",
    ),
    "the end of a tail that nobody adds up": (
        "auditing/claims.py",
        "total += float(terms[-1]) / fall if fall > 0 else math.inf",
        "total += float(terms[-1])",
        f"{_STATISTICS} -k tail",
    ),
    "the other bound from the same hits": (
        "auditing/claims.py",
        "math.nextafter(1.0 - lower_bound(runs - hits, runs, alpha), 2.0)",
        "math.nextafter(lower_bound(hits, runs, alpha), 2.0)",
        f"{_STATISTICS} -k closed_form",
    ),
    "an upper bound that is rounded to the nearest float": (
        "auditing/claims.py",
        "math.nextafter(1.0 - lower_bound(runs - hits, runs, alpha), 2.0)",
        "1.0 - lower_bound(runs - hits, runs, alpha)",
        f"{_STATISTICS} -k close_to_1",
    ),
    "each of two events as likely to be false as both together": (
        "auditing/claims.py",
        "return max(0.0, sum(self._of_event(each, alpha / len(counts)) for each in sides))",
        "return max(0.0, sum(self._of_event(each, alpha) for each in sides))",
        f"{_STATISTICS} -k two_events",
    ),
    "a product of chances that is as rare as one of them": (
        "auditing/joint_bound.py",
        "low, high = (middle, high) if middle * (1 - math.log(middle)) <= alpha else (low, middle)",
        "low, high = (middle, high) if middle <= alpha else (low, middle)",
        f"{_STATISTICS} -k 'joint_coverage or uniform_numbers'",
    ),
    "an interval bounded by its better ends": (
        "auditing/joint_bound.py",
        "return (number(lowest(level(end)), highest(level(_PARTS - start))), start, end)",
        "return (number(lowest(level(start)), highest(level(_PARTS - end))), start, end)",
        f"{_STATISTICS} -k 'joint_coverage or fine_grid'",
    ),
    "each finalist as likely to be false as all together": (
        "auditing/black_box.py",
        "bound = claim.certified(counts, share * alpha)",
        "bound = claim.certified(counts, alpha)",
        f"{_STATISTICS} -k finalist",
    ),
    "what was chosen is proved with the draws that chose it": (
        "auditing/black_box.py",
        "counts = count_events(found.events, *draws.sample(pair, max(_FEWEST, int(share * runs / 2))))",
        "counts = count_events(found.events, candidate.first, candidate.second)",
        f"{_STATISTICS} -k not_seen",
    ),
    "the second sample is the first one again": (
        "auditing/black_box.py",
        "self.seed += 1",
        "self.seed += 0",
        f"{_STATISTICS} -k no_draws_in_common",
    ),
    "sets of values judged where they were put in order": (
        "auditing/event_search.py",
        "seen = (first, second) if coarse else (first[1::2], second[1::2])",
        "seen = (first[0::2], second[0::2])",
        f"{_EVENTS} -k look_good",
    ),
    "an audit that forgets delta": (
        "auditing/claims.py",
        "likely -= self.delta",
        "likely -= 0",
        f"{_STATISTICS} -k delta",
    ),
    "scores that are rounded are neighbours": (
        "auditing/failures.py",
        "abs(Fraction(as_given(score)) - score) <= step * _ROUNDED",
        "True",
        f"{_AUDITOR} -k no_neighbour",
    ),
    "no change is looked at unless scores are whole numbers": (
        "auditing/failures.py",
        "abs(Fraction(as_given(score)) - score) <= step * _ROUNDED",
        "step.denominator == 1",
        f"{_AUDITOR} -k at_any_sensitivity",
    ),
    "counts of a release overlooked": (
        "auditing/events.py",
        "told = [part for part in parts[1:] if part is not None]",
        "told = [part for part in parts[1:2] if part is not None]",
        f"{_EVENTS} -k counts",
    ),
}
