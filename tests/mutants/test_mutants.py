"""Privacy mutants: small wrong edits of the package, each of which some test must notice.

Each mutant is a copy of the sources with one edit; the named tests run against the copy and have
to fail. That the same tests pass on the true sources is what the rest of the suite shows.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

import pytest
from faults.ledgers import NEEDS_SERVER
from mutants import edit
from mutants.accounting import MADE, READING, REPORTING, TAKING
from mutants.auditing import AUDITOR
from mutants.bounds import BOUNDS
from mutants.coins import COINS
from mutants.family import DIFFERENT_SENSITIVITIES, PRIVATE_CANDIDATES, THRESHOLDS
from mutants.files import FILES
from mutants.laws import LAWS
from mutants.ledger import AUDIT, BOOK, DURABLE, KEYS, NAMES, SUBJECTS
from mutants.ledger import ROLES as SERVER_ROLES
from mutants.lists import GAPS, JOINT, RANKINGS, TIME, UNKNOWN_DOMAINS
from mutants.local import LOCAL
from mutants.models import BALLS, DEEPEST
from mutants.numbers import BOXES, INTERVALS, LATTICE, NOISE, PATHS, PUBLIC_GRIDS
from mutants.quantiles import BOX_RATES, QUANTILES, ROWS
from mutants.runner import Runner
from mutants.said import CONVERTED, HALVES, KEPT, PROMISED
from mutants.service import SERVICE
from mutants.statements import HANDED_ON, STATEMENTS
from mutants.subspaces import SUBSPACES
from mutants.tables import DATABASES, TABLES
from mutants.vectors import VECTORS
from mutants.versions import VERSIONS

ROOT = Path(__file__).parents[2]
GRIDS = "tests/contracts/test_exact_grids.py"
TAPES = "tests/contracts/test_every_tape.py"
CONTRACT = "tests/contracts/test_mechanisms.py"
LAPLACE = "tests/contracts/test_laplace_process.py"
ACCOUNTING = "tests/contracts/test_accounting.py"

# what is wrong: (file, the true text, the mutated text, tests that must fail)
MUTANTS = {
    "the factor 2 of the sensitivity is missing": (
        "privacy/parameters.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls(value, value)",
        f"{GRIDS} -k scores",
    ),
    "the factor 2 is paid even by monotonic scores": (
        "privacy/parameters.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls(2 * value, value)",
        f"{CONTRACT} -k attained",
    ),
    "sensitivity halved": (
        "privacy/parameters.py",
        "cls(value if monotonic else 2 * value, value)",
        "cls((value if monotonic else 2 * value) / 2, value)",
        f"{GRIDS} -k scores",
    ),
    "range multiplied instead of divided": (
        "mechanisms/base.py",
        "rational(exact) / rational(span.value)",
        "rational(exact) * rational(span.value)",
        f"{CONTRACT} -k paid_for",
    ),
    "permute-and-flip claims bounded range": (
        "mechanisms/laws.py",
        "PERMUTE_AND_FLIP_LAW = Law(loss=PureDP, draw=draw_permute_and_flip, log_probabilities=probabilities.first_heads, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=permute_and_flip_ends, hazard=EXPONENTIAL, gap_loss=PureDP, lead=error_bounds.exponential_lead)",
        "PERMUTE_AND_FLIP_LAW = Law(loss=BoundedRange, draw=draw_permute_and_flip, log_probabilities=probabilities.first_heads, error=error_bounds.softmax_error, expected_error=error_bounds.softmax_expected_error, ends=permute_and_flip_ends, hazard=EXPONENTIAL, gap_loss=PureDP, lead=error_bounds.exponential_lead)",
        f"{CONTRACT} -k attained",
    ),
    "max and min exchanged": (
        "mechanisms/base.py",
        'smallest = self.objective == "min"',
        'smallest = self.objective != "min"',
        f"{CONTRACT} -k objective",
    ),
    "proposals kept without their coin (exponential)": (
        "samplers/envelope.py",
        "if envelope.keep(candidate, weight, chance):",
        "if True:",
        f"{TAPES} -k exponential",
    ),
    "the coin forgets the weight": (
        "samplers/envelope.py",
        "return chance.decay(lambda: self.behind(candidate), self.unit, weight, likely=weight > LIGHTEST)",
        "return chance.decay(lambda: self.behind(candidate), self.unit, self.unit, likely=weight > LIGHTEST)",
        f"{TAPES} -k exponential",
    ),
    "differences of 64-bit integers taken in floats": (
        "samplers/distances.py",
        "part, best = self._scores.view(np.uint64)[start:stop], np.uint64(self._best % 2**64)",
        "part, best = self._scores.view(np.uint64)[start:stop].astype(float).astype(np.uint64), np.uint64(float(self._best % 2**64))",
        "tests/unit/samplers/test_distances.py -k integers",
    ),
    "scores cast to float64": (
        "mechanisms/scores.py",
        "{int: np.int64, float: np.float64}",
        "{int: np.float64, float: np.float64}",
        "tests/unit/test_attacks.py",
    ),
    "quiet rings forgotten (permute-and-flip becomes exponential)": (
        "samplers/permute_and_flip.py",
        "silent = stays_silent(unit - weight, stretches, chance)",
        "silent = True",
        f"{TAPES} -k permute-and-flip",
    ),
    "time before a quiet ring forgotten": (
        "samplers/permute_and_flip.py",
        "stretches[place : place + 1] = [stretch + rate, stretch]",
        "stretches[place] = stretch",
        f"{TAPES} -k permute-and-flip",
    ),
    "survival of a stretch not remembered": (
        "samplers/permute_and_flip.py",
        "stretches[place] = stretch + rate",
        "pass",
        f"{TAPES} -k permute-and-flip",
    ),
    "tails get a second chance": (
        "samplers/permute_and_flip.py",
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
    "columns that stand for their worst": (
        "samplers/columns.py",
        "better.reduce(some, axis=1, out=best[start : start + len(some)])",
        "worse.reduce(some, axis=1, out=best[start : start + len(some)])",
        "tests/unit/samplers/test_columns.py -k best_of",
    ),
    "a last group that is not looked at": (
        "samplers/columns.py",
        "last[: rest.size] = rest",
        "pass",
        "tests/unit/samplers/test_columns.py -k best_of",
    ),
    "a number that is not finite hides in the last group": (
        "samplers/columns.py",
        "worst[-1] = worse.reduce(rest)",
        "worst[-1] = rest[0]",
        "tests/unit/samplers/test_columns.py -k not_finite",
    ),
    "blocks that share their weights": (
        "samplers/folded_envelope.py",
        "running = np.add.accumulate(table, axis=1)",
        "running = np.add.accumulate(table.ravel()).reshape(table.shape)",
        "tests/unit/samplers/test_folded_envelope.py -k together",
    ),
    "candidates that are not there have weights": (
        "samplers/folded_envelope.py",
        "weights[places >= scores.size] = 0",
        "pass",
        "tests/unit/samplers/test_folded_envelope.py -k odds_weight",
    ),
    "rows that follow each other too early": (
        "samplers/columns.py",
        "return (group * ROWS + row) * ROW + place",
        "return group * ROWS * ROW + row + place",
        "tests/unit/samplers/test_folded_envelope.py -k one_block",
    ),
    "a score is heard of by its underflow": (
        "mechanisms/base.py",
        "@np.errstate(all='ignore')\ndef _draw(self, candidates: Candidates, chance: Chance) -> int:",
        "def _draw(self, candidates: Candidates, chance: Chance) -> int:",
        "tests/attacks/test_hostile_scores.py -k laplace",
    ),
    "a score of a joint list is heard of by its underflow": (
        "mechanisms/joint_top_k.py",
        "@np.errstate(all='ignore')\n",
        "",
        "tests/attacks/test_hostile_scores.py -k joint",
    ),
    "a score of a peeled list is heard of by its underflow": (
        "mechanisms/peeling_top_k.py:PeelingTopK",
        "@np.errstate(all='ignore')\n",
        "",
        "tests/attacks/test_hostile_scores.py -k peeling",
    ),
    "a chunk that two threads do": (
        "samplers/threads.py",
        "pool.shutdown(cancel_futures=True)",
        "pass",
        "tests/unit/samplers/test_threads.py -k has_begun",
    ),
    "a pass that waits for nobody": (
        "samplers/threads.py",
        "begun = [future for future in asked if not future.cancel()]",
        "begun = []",
        "tests/unit/samplers/test_threads.py -k 'helper_is_told or stops_the_others'",
    ),
    "helpers of a pass start again from the beginning": (
        "samplers/threads.py",
        "asked = _ask(job, waiting, helpers, others)",
        "asked = _ask(job, deque(starts), helpers, others)",
        "tests/unit/samplers/test_threads.py -k done_once",
    ),
    "a child that uses the threads of its parent": (
        "samplers/threads.py",
        "pool = _pool(os.getpid(), others)",
        "pool = _pool(0, others)",
        "tests/unit/samplers/test_threads.py -k forked",
    ),
    "Laplace noise met as if it were exponential": (
        "samplers/laplace_max.py",
        "likelihood / (2 - reached)",
        "likelihood / (1 + reached)",
        LAPLACE,
    ),
    "Laplace noise of twice the rate": (
        "samplers/laplace_max.py",
        "(-arb(distance)).exp()",
        "(-2 * arb(distance)).exp()",
        LAPLACE,
    ),
    "half of the proposals are surely met": (
        "samplers/laplace_max.py",
        "_SURELY_MET = 15 << 59",
        "_SURELY_MET = 16 << 59",
        LAPLACE,
    ),
    "candidates out of reach are surely met": (
        "samplers/laplace_max.py",
        "weight > LIGHTEST and uniform.starts_below(_SURELY_MET)",
        "uniform.starts_below(_SURELY_MET)",
        "tests/contracts/test_laplace_process.py",
    ),
    "a first proposal that may come after the band": (
        "samplers/laplace_max.py",
        "9 << 58",
        "8 << 58",
        LAPLACE,
    ),
    "a first proposal that may come after a later band": (
        "samplers/laplace_max.py",
        "3 << 61",
        "5 << 60",
        LAPLACE,
    ),
    "bands that never lower the cap": (
        "samplers/laplace_max.py",
        "max(1, UNIT // end)",
        "UNIT // (2 * end)",
        LAPLACE,
    ),
    "coins that are slightly unfair": (
        "randomness/chance.py",
        "if result < bound:",
        "if result <= bound:",
        "tests/unit/randomness/test_chance.py",
    ),
    "many picks beyond their bound": (
        "randomness/chance.py",
        "again = np.flatnonzero(numbers >= bounds)",
        "again = np.flatnonzero(numbers > bounds)",
        "tests/unit/randomness/test_chance.py -k picks",
    ),
    "greater instead of smaller": (
        "randomness/chance.py",
        "return self.below(denominator) < numerator",
        "return self.below(denominator) > numerator",
        "tests/unit/randomness/test_chance.py",
    ),
    "rounding of the concentrated loss goes down": (
        "exact/rationals.py",
        "math.ceil(value * scale)",
        "math.floor(value * scale)",
        "tests/unit/privacy/test_loss.py",
    ),
    "the shortcut of a coin taken where it is not known to be likely": (
        "samplers/envelope.py",
        "return chance.decay(lambda: self.behind(candidate), self.unit, weight, likely=weight > LIGHTEST)",
        "return chance.decay(lambda: self.behind(candidate), self.unit, weight, likely=True)",
        "tests/unit/samplers/test_envelope.py -k likely",
    ),
    "a float epsilon read as binary": (
        "exact/rationals.py",
        "return Fraction(str(value) if isinstance(value, np.floating) else float.__repr__(value))",
        "return Fraction(str(value) if isinstance(value, np.floating) else Fraction(value))",
        "tests/unit/exact/test_rationals.py",
    ),
    "seeded releases not marked": (
        "mechanisms/base.py",
        "return Release(value=candidates.label(index), loss=self.privacy_loss() if step is None else self.loss_with_gap(), mechanism=self.name, candidates=size, seeded=chance.bits.seeded, gap=gap, accuracy=self._usual_accuracy(size))",
        "return Release(value=candidates.label(index), loss=self.privacy_loss() if step is None else self.loss_with_gap(), mechanism=self.name, candidates=size, seeded=False, gap=gap, accuracy=self._usual_accuracy(size))",
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
        "last = min(copies, math.ceil((copies * top - epsilon) / width) - 1)",
        "last = min(copies, math.ceil((copies * top - epsilon) / width) - 2)",
        "tests/unit/accounting/test_two_point.py -k published",
    ),
    "the rest of a long sum forgotten": (
        "accounting/two_point.py",
        "total, rest = _partial_sum(constants, copies, last, min(terms, last + 1))",
        "total, rest = _partial_sum(constants, copies, last, min(terms, last + 1))[0], 0.0",
        "tests/unit/accounting/test_two_point.py -k hundred_thousand",
    ),
    "the worst top of another piece": (
        "accounting/two_point.py",
        "return min(max((epsilon + (last + 1) * width) / (copies + 1), Fraction(0)), width)",
        "return min(max((epsilon + last * width) / (copies + 1), Fraction(0)), width)",
        "tests/unit/accounting/test_non_adaptive.py -k published",
    ),
    "an interval of tops bounded by its right end alone": (
        "accounting/two_point.py",
        "hockey_stick(width + right - left, right, copies, epsilon).high",
        "hockey_stick(width, right, copies, epsilon).high",
        "tests/unit/accounting/test_non_adaptive.py -k branch_and_bound",
    ),
    "no chord between grid points": (
        "accounting/adaptive_grid.py",
        "self._near * upper[1:] + self._far * upper[:-1]",
        "upper[1:]",
        "tests/unit/accounting/test_adaptive_grid.py -k nested",
    ),
    "the lower end of a chord between two epsilons": (
        "accounting/adaptive_grid.py",
        "float(self.upper[place] if on_grid else high)",
        "float(self.upper[place] if on_grid else self.upper[place + 1])",
        "tests/unit/accounting/test_adaptive_grid.py -k chord",
    ),
    "tops between grid points forgotten": (
        "accounting/adaptive_grid.py",
        "np.maximum(best, inside.max(axis=0), out=best)",
        "pass",
        "tests/unit/accounting/test_adaptive_grid.py -k nested",
    ),
    "tops between two blocks of them forgotten": (
        "accounting/adaptive_grid.py",
        "for first in range(0, cells, tops):",
        "for first in range(0, cells, tops + 1):",
        "tests/unit/accounting/test_adaptive_grid.py -k many_tops",
    ),
    "upper bounds rounded down": (
        "accounting/adaptive_grid.py",
        "_SAFE_UP, _SAFE_DOWN = (1 + 2.0 ** (-47), 1 - 2.0 ** (-47))",
        "_SAFE_UP, _SAFE_DOWN = (1 - 0.001, 1 - 2.0 ** (-47))",
        "tests/unit/accounting/test_adaptive_grid.py -k pure_stages",
    ),
    "the adversary may not choose the order": (
        "accounting/adaptive_grid.py",
        "upper = np.maximum.reduce([option[0] for option in options])",
        "upper = np.minimum.reduce([option[0] for option in options])",
        "tests/unit/accounting/test_adaptive_grid.py -k worst_order",
    ),
    "ranges rounded down to the grid": (
        "accounting/adaptive_grid.py",
        "tuple(math.ceil(epsilon / step) for epsilon in epsilons)",
        "tuple(max(1, math.floor(epsilon / step)) for epsilon in epsilons)",
        "tests/unit/accounting/test_adaptive_grid.py -k off_the_grid",
    ),
    "beyond the reach of the grid delta is taken for 0": (
        "accounting/adaptive_grid.py",
        "np.full(cells, values[0][-1])",
        "np.zeros(cells)",
        "tests/unit/accounting/test_adaptive_grid.py -k short_reach",
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
        "accounting/spending.py",
        "total = spent + spending",
        "total = spent",
        "tests/unit/accounting/test_privacy_filter.py -k exact",
    ),
    "the filter forgets what it admitted": (
        "accounting/privacy_filter.py",
        "self._spent = total",
        "pass",
        "tests/unit/accounting/test_privacy_filter.py -k exact",
    ),
    "half the concentrated loss of bounded range": (
        "privacy/loss.py",
        "return y - 1 + ball(epsilon) - ball(epsilon).log() + (-small).log1p()",
        "return (y - 1 + ball(epsilon) - ball(epsilon).log() + (-small).log1p()) / 2",
        "tests/unit/accounting/test_privacy_filter.py -k cost_their",
    ),
    "budgets rounded up": (
        "exact/rationals.py",
        "math.floor(value * scale)",
        "math.ceil(value * scale)",
        "tests/unit/accounting/test_planner.py -k rounded_down",
    ),
    "multiplicities read as one": (
        "accounting/analyses.py",
        "counts[loss] += times",
        "counts[loss] += 1",
        "tests/unit/accounting/test_losses.py -k same",
    ),
    "the deltas of losses forgotten": (
        "accounting/analyses.py",
        "delta += loss.delta * times",
        "delta += 0",
        "tests/unit/accounting/test_losses.py -k split",
    ),
    "multiplicities of Renyi divergences ignored": (
        "accounting/renyi.py",
        "return lambda order: sum((count * renyi_divergence(loss, order) for loss, count in counts.items()), arb(0))",
        "return lambda order: sum((renyi_divergence(loss, order) for loss, count in counts.items()), arb(0))",
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
    **MADE,
    **COINS,
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
    **AUDITOR,
    **DURABLE,
    **NAMES,
    **SUBJECTS,
    **FILES,
    **LOCAL,
    **BOUNDS,
    **DEEPEST,
    **BALLS,
    **SUBSPACES,
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
    **VECTORS,
    **SERVICE,
    **LAWS,
    **VERSIONS,
    **STATEMENTS,
    **HANDED_ON,
    **KEPT,
    **HALVES,
    **CONVERTED,
    **PROMISED,
}


def environment_of(source: Path) -> dict[str, str]:
    """For Python with the package from this place. What is compiled is kept: that takes longer
    than most of these tests.
    """
    return os.environ | {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source / "hypothesis"),
    }


def run_python(source: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    environment = environment_of(source)
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the sources, which all mutants of a run share, one after the other."""
    place = tmp_path_factory.mktemp("mutants") / "src"
    # with the times of the files, so that what was compiled before is good for the copy too
    shutil.copytree(ROOT / "src", place)
    return place


@pytest.fixture(scope="module")
def runner(source):
    made = Runner(ROOT, environment_of(source))
    yield made
    made.close()


@contextmanager
def edited(source: Path, file: str, true: str, mutated: str) -> Iterator[None]:
    """The copy with one wrong edit, for as long as a mutant is tried."""
    name, scope = edit.split(file)
    target, original = source / "discreet" / name, ROOT / "src" / "discreet" / name
    wrong = edit.mutate(original.read_text(encoding="utf-8"), true, mutated, scope)
    target.write_text(wrong, encoding="utf-8")
    # Python knows what it has compiled by time and size: no other edit has this time
    moment = next(_MOMENTS)
    os.utime(target, (moment, moment))
    try:
        yield
    finally:
        shutil.copy2(original, target)


_MOMENTS = itertools.count(1)


def test_the_copy_is_what_is_tested(source):
    outcome = run_python(source, ["-c", "import discreet; print(discreet.__file__)"])
    assert outcome.stdout.startswith(str(source))


def test_an_edit_is_what_is_tested_and_the_next_one_has_nothing_of_it(source):
    """Also where both are as long and of the same second, and after what was compiled is kept."""
    seen = []
    for value in ("1", "2"):
        with edited(source, "release.py", "import math", f"import math\nX = {value}"):
            seen.append(run_python(source, ["-c", "import discreet.release as r; print(r.X)"]))
    assert [each.stdout.strip() for each in seen] == ["1", "2"]
    outcome = run_python(source, ["-c", "import discreet.release as r; print(hasattr(r, 'X'))"])
    assert outcome.stdout.strip() == "False"


QUIETLY = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]


def test_without_an_edit_the_runner_finds_nothing(runner):
    """Else every mutant would seem to be killed."""
    outcome = runner.run([*QUIETLY, "tests/unit/randomness/test_chance.py"])
    assert outcome.code == 0, outcome.output
    assert not outcome.killed


NO_VERDICTS = {
    "tests that cannot be read": "import discreet.no_such_module\n",
    "a marker that nobody knows": "@pytest.mark.unheard_of\ndef test(): assert False\n",
    "no test": "def helper(): assert False\n",
    "a name that is not there": "def test(): assert no_such_name\n",
    "an import that fails within": "def test(): import discreet.no_such_module\n",
    "a test that takes too long": "@pytest.mark.timeout(0.1)\ndef test(): time.sleep(5)\n",
    "one of several that stand together": (
        "def test(): raise ExceptionGroup('', [AssertionError(), NameError()])\n"
    ),
    "a session that ends itself": "def test(): pytest.exit('enough', 1)\n",
}


@pytest.mark.parametrize("case", NO_VERDICTS)
def test_what_is_no_verdict_kills_no_mutant(runner, tmp_path, case):
    """Pytest ends with 1 in most of these cases, as if a test had found the edit wrong."""
    file = tmp_path / "test_case.py"
    file.write_text("import time\nimport pytest\n" + NO_VERDICTS[case])
    outcome = runner.run([*QUIETLY, "--strict-markers", str(file)])
    assert outcome.code != 0
    assert not outcome.killed, outcome.output


VERDICTS = {
    "an assertion": "def test(): assert 1 == 2\n",
    "an error that nobody expected": "def test(): raise ValueError\n",
    "an error that did not come": "def test():\n    with pytest.raises(ValueError): pass\n",
    "a fixture that does not hold": (
        "@pytest.fixture\ndef made(): assert False\ndef test(made): pass\n"
    ),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_test_that_fails_kills_a_mutant(runner, tmp_path, case):
    file = tmp_path / "test_case.py"
    file.write_text("import pytest\n" + VERDICTS[case])
    outcome = runner.run([*QUIETLY, "--strict-markers", str(file)])
    assert outcome.killed, outcome.output
    assert [test.split("::")[-1] for test, _ in outcome.failures] == ["test"]


# Each takes a second. `make test` tries one in sixteen, `make mutants` all of them.
SHORT = 16


def _turn(name):
    """Slow, or not: by its name, so that one that is added does not change which others are."""
    return [pytest.mark.slow] if crc32(name.encode()) % SHORT else []


EACH = [pytest.param(name, marks=_turn(name)) for name in MUTANTS]
# These need a server: `make engines` tries one in sixteen.
ON_SERVERS = SERVER_ROLES | DATABASES
EACH += [pytest.param(name, marks=[*NEEDS_SERVER, *_turn(name)]) for name in ON_SERVERS]
MUTANTS |= ON_SERVERS


def test_every_mutant_fits_the_code():
    """Also those that are not tried today: a mutant of code that is gone tests nothing."""
    for wrong, (file, true, mutated, _) in MUTANTS.items():
        name, scope = edit.split(file)
        source = (ROOT / "src" / "discreet" / name).read_text(encoding="utf-8")
        try:
            edit.mutate(source, true, mutated, scope)
        except AssertionError as error:
            pytest.fail(f"{wrong}: {error}")


def test_layout_and_quotes_do_not_count():
    source = 'def f(x):\n    # why\n    if (x["a"]\n        > 1):\n        return g(\n            x,\n        )\n'
    assert edit.count(source, "if x['a'] > 1:") == 1
    assert edit.mutate(source, "return g(x)", "pass\nreturn x").endswith(
        "        pass\n        return x"
    )


def test_a_snippet_is_looked_for_in_its_class_alone():
    source = "class A:\n    def f(self):\n        return 1\nclass B:\n    def f(self):\n        return 1\n"
    wrong = edit.mutate(source, "return 1", "return 2", "B.f")
    assert wrong == edit.canonical(source.rpartition("1")[0] + "2")
    with pytest.raises(AssertionError, match="no longer fits"):
        edit.mutate(source, "return 1", "return 2")


def test_an_edit_that_changes_nothing_is_no_mutant():
    with pytest.raises(AssertionError, match="changes nothing"):
        edit.mutate("x = (1)", "x = 1", "x = (1)")


@pytest.mark.parametrize("wrong", EACH)
def test_mutant_is_killed(wrong, source, runner):
    file, true, mutated, tests = MUTANTS[wrong]
    with edited(source, file, true, mutated):
        outcome = runner.run([*QUIETLY, *shlex.split(tests)])
    assert outcome.killed, f"survived: {outcome.void}\n{outcome.output[-4000:]}"
