"""Privacy mutants: small wrong edits of the package, each of which some test must notice.

Each mutant is a copy of the sources with one edit; the named tests run against the copy and have to fail. That the same tests
pass on the true sources is what the rest of the suite shows.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faults.ledgers import NEEDS_SERVER
from mutants.accounting import READING, REPORTING, TAKING
from mutants.family import DIFFERENT_SENSITIVITIES, PRIVATE_CANDIDATES, THRESHOLDS
from mutants.files import FILES
from mutants.ledger import AUDIT, BOOK, DURABLE, KEYS, NAMES, SUBJECTS
from mutants.ledger import ROLES as SERVER_ROLES
from mutants.lists import GAPS, JOINT, RANKINGS, TIME, UNKNOWN_DOMAINS
from mutants.local import LOCAL
from mutants.numbers import BOXES, INTERVALS, LATTICE, NOISE, PATHS, PUBLIC_GRIDS
from mutants.quantiles import BOX_RATES, QUANTILES, ROWS
from mutants.tables import TABLES

ROOT = Path(__file__).parents[2]
GRIDS = "tests/contracts/test_exact_grids.py"
TAPES = "tests/contracts/test_every_tape.py"
CONTRACT = "tests/contracts/test_mechanisms.py"
LAPLACE = "tests/contracts/test_laplace_process.py"
ACCOUNTING = "tests/contracts/test_accounting.py"

# what is wrong: (file, the true text, the mutated text, tests that must fail)
MUTANTS = {
    "the factor 2 of the sensitivity is missing": (
        "privacy/sensitivity.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls(value, value)",
        f"{GRIDS} -k scores",
    ),
    "the factor 2 is paid even by monotonic scores": (
        "privacy/sensitivity.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls(2 * value, value)",
        f"{CONTRACT} -k attained",
    ),
    "sensitivity halved": (
        "privacy/sensitivity.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls((value if monotonic else 2 * value) / 2, value)",
        f"{GRIDS} -k scores",
    ),
    "range multiplied instead of divided": (
        "mechanisms/selection.py",
        "_exact(epsilon) / _exact(span.value)",
        "_exact(epsilon) * _exact(span.value)",
        f"{CONTRACT} -k paid_for",
    ),
    "permute-and-flip claims bounded range": (
        "mechanisms/laws.py",
        "loss=PureDP,  # its log-odds",
        "loss=BoundedRange,  # its log-odds",
        f"{CONTRACT} -k attained",
    ),
    "max and min exchanged": (
        "mechanisms/selection.py",
        'smallest = self.objective == "min"',
        'smallest = self.objective != "min"',
        f"{CONTRACT} -k objective",
    ),
    "proposals kept without their coin (exponential)": (
        "samplers/softmax.py",
        "if envelope.keep(candidate, weight, chance):",
        "if True:",
        f"{TAPES} -k exponential",
    ),
    "the coin forgets the weight": (
        "samplers/envelope.py",
        "lambda: self.behind(candidate), self.unit, weight, likely=weight",
        "lambda: self.behind(candidate), self.unit, self.unit, likely=weight",
        f"{TAPES} -k exponential",
    ),
    "differences of 64-bit integers taken in floats": (
        "samplers/distances.py",
        "part, best = self._scores.view(np.uint64)[start:stop], np.uint64(self._best % 2**64)",
        "part, best = self._scores.view(np.uint64)[start:stop].astype(float).astype(np.uint64), np.uint64(float(self._best % 2**64))",
        "tests/unit/samplers/test_distances.py -k integers",
    ),
    "scores cast to float64": (
        "mechanisms/candidates.py",
        "return np.array(scores, dtype=np.int64)",
        "return np.array(scores, dtype=np.float64)",
        "tests/unit/test_attacks.py",
    ),
    "quiet rings forgotten (permute-and-flip becomes exponential)": (
        "samplers/first_heads.py",
        "silent = stays_silent(unit - weight, stretches, chance)",
        "silent = True",
        f"{TAPES} -k permute-and-flip",
    ),
    "time before a quiet ring forgotten": (
        "samplers/first_heads.py",
        "stretches[place : place + 1] = [stretch + rate, stretch]",
        "stretches[place] = stretch",
        f"{TAPES} -k permute-and-flip",
    ),
    "survival of a stretch not remembered": (
        "samplers/first_heads.py",
        "stretches[place] = stretch + rate",
        "pass",
        f"{TAPES} -k permute-and-flip",
    ),
    "tails get a second chance": (
        "samplers/first_heads.py",
        "tails.add(candidate)",
        "pass",
        f"{TAPES} -k permute-and-flip",
    ),
    "estimates above the truth": (
        "samplers/distances.py",
        "_SLACK = 1 - 2.0**-50",
        "_SLACK = 1.1",
        "tests/unit/samplers/test_distances.py",
    ),
    "block masses below their weights": (
        "samplers/envelope.py",
        "_MASS_FACTOR = (1 + 2.0**-13) * 2.0**20",
        "_MASS_FACTOR = 0.9 * 2.0**20",
        "tests/unit/samplers/test_envelope.py",
    ),
    "Laplace noise met as if it were exponential": (
        "samplers/noisy_laplace.py",
        "likelihood / (2 - time * likelihood)",
        "likelihood / (1 + time * likelihood)",
        LAPLACE,
    ),
    "Laplace noise of twice the rate": (
        "samplers/noisy_laplace.py",
        "(-arb(distance)).exp()",
        "(-2 * arb(distance)).exp()",
        LAPLACE,
    ),
    "bands that never lower the cap": (
        "samplers/noisy_laplace.py",
        "cap = max(1, UNIT >> (band - 1))",
        "cap = UNIT >> band",
        LAPLACE,
    ),
    "coins that are slightly unfair": (
        "samplers/chance.py",
        "if result < bound:",
        "if result <= bound:",
        "tests/unit/samplers/test_chance.py",
    ),
    "greater instead of smaller": (
        "samplers/chance.py",
        "return self.below(denominator) < numerator",
        "return self.below(denominator) > numerator",
        "tests/unit/samplers/test_chance.py",
    ),
    "rounding of the concentrated loss goes down": (
        "privacy/numbers.py",
        "math.ceil(value * scale)",
        "math.floor(value * scale)",
        "tests/unit/privacy/test_loss.py",
    ),
    "the shortcut of a coin taken where it is not known to be likely": (
        "samplers/envelope.py",
        "likely=weight > LIGHTEST",
        "likely=True",
        "tests/unit/samplers/test_envelope.py -k likely",
    ),
    "a float epsilon read as binary": (
        "privacy/numbers.py",
        "else float.__repr__(value))",
        "else Fraction(value))",
        "tests/unit/privacy/test_numbers.py",
    ),
    "seeded releases not marked": (
        "mechanisms/selection.py",
        "seeded=chance.bits.seeded",
        "seeded=False",
        f"{CONTRACT} -k seeded",
    ),
    "the two outcomes of the worst pair exchanged": (
        "accounting/two_point.py",
        "float(high / low)",
        "float(low / high)",
        "tests/unit/accounting/test_two_point.py -k published",
    ),
    "one outcome too few counts": (
        "accounting/two_point.py",
        "math.ceil((copies * top - epsilon) / width) - 1)",
        "math.ceil((copies * top - epsilon) / width) - 2)",
        "tests/unit/accounting/test_two_point.py -k published",
    ),
    "the rest of a long sum forgotten": (
        "accounting/two_point.py",
        "total, rest = _partial_sum(constants, copies, last, min(terms, last + 1))",
        "total, rest = _partial_sum(constants, copies, last, min(terms, last + 1))[0], 0.0",
        "tests/unit/accounting/test_two_point.py -k hundred_thousand",
    ),
    "the worst top of another piece": (
        "accounting/non_adaptive.py",
        "min(max((epsilon + (last + 1) * width)",
        "min(max((epsilon + last * width)",
        "tests/unit/accounting/test_non_adaptive.py -k published",
    ),
    "an interval of tops bounded by its right end alone": (
        "accounting/non_adaptive.py",
        "hockey_stick(width + right - left, right, copies, epsilon).high",
        "hockey_stick(width, right, copies, epsilon).high",
        "tests/unit/accounting/test_non_adaptive.py -k branch_and_bound",
    ),
    "no chord between grid points": (
        "accounting/adaptive.py",
        "self._near * upper[1:] + self._far * upper[:-1]",
        "upper[1:]",
        "tests/unit/accounting/test_adaptive.py -k nested",
    ),
    "the lower end of a chord between two epsilons": (
        "accounting/adaptive.py",
        "float(self.upper[place] if on_grid else high)",
        "float(self.upper[place] if on_grid else self.upper[place + 1])",
        "tests/unit/accounting/test_adaptive.py -k chord",
    ),
    "tops between grid points forgotten": (
        "accounting/adaptive.py",
        "np.maximum(ends.max(axis=1), (inside + np.maximum(rise, 0.0)).max(axis=1))",
        "ends.max(axis=1)",
        "tests/unit/accounting/test_adaptive.py -k nested",
    ),
    "upper bounds rounded down": (
        "accounting/adaptive.py",
        "_SAFE_UP, _SAFE_DOWN = 1 + 2.0**-47,",
        "_SAFE_UP, _SAFE_DOWN = 1 - 1e-3,",
        "tests/unit/accounting/test_adaptive.py -k pure_stages",
    ),
    "the adversary may not choose the order": (
        "accounting/adaptive.py",
        "upper = np.maximum.reduce(",
        "upper = np.minimum.reduce(",
        "tests/unit/accounting/test_adaptive.py -k worst_order",
    ),
    "ranges rounded down to the grid": (
        "accounting/adaptive.py",
        "tuple(math.ceil(epsilon / step) for epsilon in epsilons)",
        "tuple(max(1, math.floor(epsilon / step)) for epsilon in epsilons)",
        "tests/unit/accounting/test_adaptive.py -k off_the_grid",
    ),
    "beyond the reach of the grid delta is taken for 0": (
        "accounting/adaptive.py",
        "np.full(cells, values[0][-1])",
        "np.zeros(cells)",
        "tests/unit/accounting/test_adaptive.py -k short_reach",
    ),
    "the lower end of the adaptive bracket reported": (
        "accounting/analyses.py",
        "Fraction(curve.delta(epsilon).high)",
        "Fraction(curve.delta(epsilon).low)",
        f"{ACCOUNTING} -k strongest",
    ),
    "the non-adaptive number for adaptive queries": (
        "accounting/composition.py",
        "not (adaptive and name in NON_ADAPTIVE_ONLY)",
        "name",
        f"{ACCOUNTING} -k adversary_beats",
    ),
    "the filter asks about what was spent only": (
        "accounting/filter.py",
        "return self.spent + amount <= self.limit and",
        "return self.spent <= self.limit and",
        "tests/unit/accounting/test_filter.py -k exact",
    ),
    "the filter forgets what it admitted": (
        "accounting/filter.py",
        "self.spent += amount",
        "pass",
        "tests/unit/accounting/test_filter.py -k exact",
    ),
    "half the concentrated loss of bounded range": (
        "privacy/loss.py",
        "return y - 1 + ball(epsilon) - ball(epsilon).log() + (-small).log1p()",
        "return (y - 1 + ball(epsilon) - ball(epsilon).log() + (-small).log1p()) / 2",
        "tests/unit/accounting/test_filter.py -k cost_their",
    ),
    "budgets rounded up": (
        "privacy/numbers.py",
        "math.floor(value * scale)",
        "math.ceil(value * scale)",
        "tests/unit/accounting/test_planner.py -k rounded_down",
    ),
    "multiplicities read as one": (
        "accounting/losses.py",
        "counts[loss] += times",
        "counts[loss] += 1",
        "tests/unit/accounting/test_losses.py -k same",
    ),
    "the deltas of losses forgotten": (
        "accounting/losses.py",
        "delta += loss.delta * times",
        "delta += 0",
        "tests/unit/accounting/test_losses.py -k split",
    ),
    "multiplicities of Renyi divergences ignored": (
        "accounting/renyi.py",
        "(count * renyi_divergence(loss, order) for",
        "(renyi_divergence(loss, order) for",
        "tests/unit/accounting/test_renyi.py -k multiplicities",
    ),
    "a term of the conversion dropped": (
        "accounting/renyi.py",
        "order * (-1 / order).log1p() - (order - 1).log()",
        "order * (-1 / order).log1p() - order.log()",
        "tests/unit/accounting/test_renyi.py -k delta_agrees",
    ),
    **READING,
    **TAKING,
    **REPORTING,
    **DIFFERENT_SENSITIVITIES,
    **THRESHOLDS,
    **PRIVATE_CANDIDATES,
    **RANKINGS,
    **JOINT,
    **UNKNOWN_DOMAINS,
    **TIME,
    **GAPS,
    **BOOK,
    **KEYS,
    **AUDIT,
    **DURABLE,
    **NAMES,
    **SUBJECTS,
    **FILES,
    **LOCAL,
    **NOISE,
    **BOXES,
    **BOX_RATES,
    **QUANTILES,
    **ROWS,
    **LATTICE,
    **INTERVALS,
    **PATHS,
    **PUBLIC_GRIDS,
    **TABLES,
}


def run_tests(source: Path, tests: str) -> subprocess.CompletedProcess[str]:
    command = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *shlex.split(tests)]
    return run_python(source, command)


def run_python(source: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python with the package from this place."""
    environment = os.environ | {"PYTHONPATH": str(source), "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


def copy(place: Path) -> Path:
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return place / "src"


def test_the_copy_is_what_is_tested(tmp_path):
    outcome = run_python(copy(tmp_path), ["-c", "import discreet; print(discreet.__file__)"])
    assert outcome.stdout.startswith(str(tmp_path))


# Each takes seconds. `make test` tries every eighth, `make mutants` all of them.
SHORT = 8
EACH = [pytest.param(name, marks=pytest.mark.slow if place % SHORT else ()) for place, name in enumerate(MUTANTS)]
# These need a server: `make engines` tries every eighth.
EACH += [
    pytest.param(name, marks=[*NEEDS_SERVER, *([pytest.mark.slow] if place % SHORT else [])])
    for place, name in enumerate(SERVER_ROLES)
]
MUTANTS |= SERVER_ROLES


def test_every_mutant_fits_the_code():
    """Also those that are not tried today: a mutant of code that is gone tests nothing."""
    texts: dict[str, str] = {}
    for wrong, (file, true, _, _) in MUTANTS.items():
        if file not in texts:
            texts[file] = (ROOT / "src" / "discreet" / file).read_text()
        assert texts[file].count(true) == 1, f"{wrong}: the mutant no longer fits the code: update it"


@pytest.mark.parametrize("wrong", EACH)
def test_mutant_is_killed(wrong, tmp_path):
    file, true, mutated, tests = MUTANTS[wrong]
    source = copy(tmp_path)
    target = source / "discreet" / file
    text = target.read_text()
    assert text.count(true) == 1, "the mutant no longer fits the code: update it"
    target.write_text(text.replace(true, mutated))
    outcome = run_tests(source, tests)
    assert outcome.returncode == 1, f"survived:\n{outcome.stdout[-2000:]}{outcome.stderr[-2000:]}"
