"""What the auditor finds: in other libraries, in planted bugs, in correct code and in ours.

    python benchmarks/audit.py [--only PART] [--draws COUNT] [--many]

Each peer is installed with its version into an environment of its own, in build/audit. The parts
are findings, planted, false-alarms and ours; what is not run keeps its last numbers. Writes
benchmarks/results/audit.{json,md}, and the tables of docs/explanation/what-the-auditor-found.md
anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report import Table, environment

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "docs" / "explanation" / "what-the-auditor-found.md"
ENVIRONMENTS = ROOT / "build" / "audit"
CONFIDENCE = 0.999
_NUMPY = ("python-flint==0.9.0", "numpy==2.4.6")
_DIFFPRIVLIB = (*_NUMPY, "scikit-learn==1.6.1", "diffprivlib==0.6.6")

# finding, what is installed, the case in audit_peers.py
FINDINGS: list[tuple[str, tuple[str, ...], str]] = [
    ("diffprivlib 0.6.6: probabilities that are 0", _DIFFPRIVLIB, "diffprivlib_zeros"),
    ("diffprivlib 0.6.6: a quantile", _DIFFPRIVLIB, "diffprivlib_quantile"),
    (
        "diffprivlib 0.6.6: last digits of a quantile",
        _DIFFPRIVLIB,
        "diffprivlib_quantile_grid",
    ),
    ("OpenDP 0.14.0: noisy max", (*_NUMPY, "opendp==0.14.0"), "opendp_gumbel"),
    ("OpenDP 0.15.1: noisy max", (*_NUMPY, "opendp==0.15.1"), "opendp_gumbel"),
    ("OpenDP 0.16.0: noisy max, mended", (*_NUMPY, "opendp==0.16.0"), "opendp_gumbel"),
    (
        "PipelineDP 0.3.1: no shift",
        (*_NUMPY, "pipeline-dp==0.3.1"),
        "pipelinedp",
    ),
    ("softmax in NumPy", _NUMPY, "numpy_softmax"),
    ("cumulative sum in NumPy, 32 bits", _NUMPY, "numpy_cumsum"),
    ("Gumbel noise in NumPy", _NUMPY, "numpy_gumbel"),
    ("a missing factor 2", _NUMPY, "missing_factor_two"),
    ("sensitivity halved", _NUMPY, "sensitivity_halved"),
    ("epsilon for each of 3 picks", _NUMPY, "epsilon_for_each_pick"),
]
MANY = ("cumulative sum of 10,000,000 in 32 bits", _NUMPY, "numpy_many")

Part = dict[str, Any]


def findings(options: argparse.Namespace) -> Part:
    """Every known finding, against the version that has it."""
    rows, records = [], []
    for name, requirements, case in [*FINDINGS, *([MANY] if options.many else [])]:
        start = time.perf_counter()
        told = _audit_peer(_python(requirements), case)
        print(f"{name}: {told['verdict']}", flush=True)
        witness = _worst(told)
        for key in ("name", "first", "second", "events", "counts"):
            print(f"    {key}: {str((witness or {}).get(key))[:200]}")
        rows.append([name, _outcome(told), _words(witness), f"{time.perf_counter() - start:.0f}"])
        records.append({"finding": name, "installed": requirements, "report": told})
    return {
        "title": "Known findings",
        "note": "Each claims epsilon 1 and is run with the version that is named, from the "
        "registry, in an environment of its own. A loss by probabilities is a number; a loss by "
        f"draws is a lower bound that holds with confidence {CONFIDENCE}.",
        "columns": ["finding", "outcome", "witness", "seconds"],
        "rows": rows,
        "records": records,
    }


def _python(requirements: tuple[str, ...]) -> Path:
    """The Python of an environment with exactly this, made if it is not there."""
    folder = ENVIRONMENTS / requirements[-1].replace("==", "-")
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists() or done.read_text() != " ".join(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *requirements], check=True)
        done.write_text(" ".join(requirements))
    return python


def _audit_peer(python: Path, case: str) -> dict[str, Any]:
    path = os.pathsep.join([str(ROOT / "src"), str(Path(__file__).parent)])
    script = Path(__file__).with_name("audit_peers.py")
    done = subprocess.run(
        [python, "-W", "ignore", script, case],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _worst(told: dict[str, Any]) -> dict[str, Any] | None:
    """The witness of the first finding, or the best that there is."""
    found = told["findings"]
    chosen: dict[str, Any] | None = (
        told["witness"] if told["violated"] or not found else found[0]["witness"]
    )
    return chosen


def _outcome(told: dict[str, Any]) -> str:
    if told["violated"]:
        bound = told["lower_bound"]
        return "ε infinite" if bound == "inf" else f"ε ≥ {bound:.2f}"
    return "the wrong one wins" if told["findings"] else "nothing found"


def _words(witness: dict[str, Any] | None) -> str:
    if witness is None:
        return ""
    how = {"law": "by probabilities", "draws": "by draws", "tapes": "on tapes"}[witness["how"]]
    return f"{witness['name']} ({how})"


def planted(options: argparse.Namespace) -> Part:
    """The score on planted bugs, beside plain testers."""
    from audit_baselines import TESTERS, random_samples
    from planted_bugs import BUGS

    rows, records = [], []
    for bug in BUGS:
        start = time.process_time()
        report = _audited(bug, draws=options.draws)
        seconds = time.process_time() - start
        epsilon = float(bug.claim.numbers[0]) if bug.claim.kind == "pure-dp" else None
        others: dict[str, bool | None] = dict.fromkeys(TESTERS)
        if epsilon is not None:
            samples = random_samples(bug.function, options.draws)
            others = {
                name: test(samples, epsilon, 1 - CONFIDENCE) for name, test in TESTERS.items()
            }
        rows.append(
            [
                bug.name,
                _found(not report.passed),
                f"{report.lower_bound:.2f}" if report.violated else "",
                f"{seconds:.1f}",
                *map(_found, others.values()),
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
        records.append({"bug": bug.name, "found": not report.passed, "seconds": seconds} | others)
    mine = [record["found"] for record in records]
    score = f"The auditor finds {sum(mine)} of {len(mine)}"
    for name in TESTERS:
        told = [record[name] for record in records if record[name] is not None]
        score += f", the {name} tester {sum(told)} of {len(told)} pure claims"
    spent = sum(record["seconds"] for record in records)
    return {
        "title": "Planted bugs",
        "note": f"{score}; {options.draws:,} draws for each, {spent:.0f} seconds of processor time "
        "for all audits. The testers are our own few lines in the manner of DP-Auditorium, which "
        "is not in the registry: random neighbors, and a histogram with the hockey-stick or the "
        "Rényi divergence of its cells. They get as many draws.",
        "columns": ["bug", "found", "loss ≥", "seconds", *TESTERS],
        "rows": rows,
        "records": records,
    }


def _found(found: bool | None) -> str:
    return "" if found is None else "yes" if found else "no"


def _audited(bug: Any, *, draws: int, confidence: float = CONFIDENCE, seed: int = 0) -> Any:
    from discreet.auditing import audit

    return audit(
        bug.function,
        claim=bug.claim,
        monotonic=bug.monotonic,
        objective=bug.objective,
        extremes=bug.extremes,
        draws=draws,
        confidence=confidence,
        seed=seed,
    )


def false_alarms(options: argparse.Namespace) -> Part:
    """Audits of correct code, at a confidence at which some may be wrong."""
    from planted_bugs import CORRECT

    audits, confidence, draws = 10, 0.9, 3000
    rows = []
    for code in CORRECT:
        wrong = sum(
            _audited(code, draws=draws, confidence=confidence, seed=10**6 * seed).violated
            for seed in range(audits)
        )
        rows.append([code.name, str(audits), str(wrong)])
        print(" | ".join(rows[-1]), flush=True)
    total, wrong = audits * len(CORRECT), sum(int(row[2]) for row in rows)
    return {
        "title": "False alarms",
        "note": f"{wrong} of {total} audits of correct code, {draws:,} draws each, at confidence "
        f"{confidence}: at most {total * (1 - confidence):.0f} may be wrong on average. Scores at "
        "which floats break are left out: this code is in floats.",
        "columns": ["correct code", "audits", "false alarms"],
        "rows": rows,
        "records": [],
    }


def ours(options: argparse.Namespace) -> Part:
    """What was tried on our own mechanisms."""
    sys.path.insert(0, str(ROOT / "tests"))
    from contracts.public_mechanisms import subjects

    from discreet.auditing import audit
    from discreet.auditing.claims import Claim

    groups: dict[str, list[Any]] = defaultdict(list)
    for subject in subjects():
        report = audit(subject, draws=options.draws_of_ours)
        groups[subject.name.partition("(")[0]].append(report)
        print(subject.name, report.verdict, flush=True)
    rows = []
    for name, reports in groups.items():
        ways = [way for report in reports for way in report.tried]
        largest = max(report.lower_bound / Claim(report.claim).stated for report in reports)
        rows.append(
            [
                name,
                str(len(reports)),
                *(
                    f"{sum(way.pairs for way in ways if way.how == how):,}"
                    for how in ("law", "tapes", "draws")
                ),
                f"{sum(way.draws for way in ways):,}",
                f"{largest:.3f}",
                str(sum(len(report.findings) for report in reports)),
            ]
        )
    totals = [sum(int(row[place].replace(",", "")) for row in rows) for place in (1, 2, 3, 4, 5, 7)]
    return {
        "title": "Our own mechanisms",
        "note": f"Every public mechanism, found by its methods: {totals[0]} variants, "
        f"{totals[1]:,} neighbors by their exact probabilities, {totals[2]:,} on every random "
        f"tape, {totals[3]:,} by {totals[4]:,} draws; {totals[5]} findings. The largest loss is "
        "given as a share of what is claimed.",
        "columns": [
            "mechanism",
            "variants",
            "exact neighbors",
            "on tapes",
            "by draws",
            "draws",
            "largest loss / claim",
            "findings",
        ],
        "rows": rows,
        "records": [],
    }


PARTS: dict[str, Callable[[argparse.Namespace], Part]] = {
    "findings": findings,
    "planted": planted,
    "false-alarms": false_alarms,
    "ours": ours,
}


def write(about: dict[str, str], parts: dict[str, Part]) -> None:
    """The results, and the page of the docs that quotes them."""
    kept = {name: parts[name] for name in PARTS if name in parts}
    data = {"environment": about, "sections": kept}
    (RESULTS / "audit.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    heading = ", ".join(f"{key} {value}" for key, value in about.items())
    sections = [f"## {part['title']}\n\n{part['note']}\n\n{_table(part)}" for part in kept.values()]
    text = "\n\n".join([f"# Benchmark: audit\n\n{heading}.", *sections])
    (RESULTS / "audit.md").write_text(text + "\n")
    PAGE.write_text(quoted(PAGE.read_text(), kept))


def quoted(page: str, parts: dict[str, Part]) -> str:
    """The page with each part between its two marks written anew."""
    for name, part in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"The page has no marks for {name}.")
        page = f"{before}{start}{part['note']}\n\n{_table(part)}\n{end}{after}"
    return page


def _table(part: Part) -> str:
    table = str(Table("", part["columns"], part["rows"]))
    return table.partition("\n\n")[2]


def main() -> None:
    """Run the parts, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, help="one part; the others keep their numbers")
    parser.add_argument("--draws", type=int, default=100_000, help="for each planted bug")
    parser.add_argument("--draws-of-ours", type=int, default=5000, help="for each of ours")
    parser.add_argument("--many", action="store_true", help="with ten million candidates: minutes")
    options = parser.parse_args()
    parts = {name: run(options) for name, run in PARTS.items() if options.only in (None, name)}
    results = RESULTS / "audit.json"
    kept = json.loads(results.read_text())["sections"] if results.exists() else {}
    write(environment(["discreet", "numpy"]), kept | parts)


if __name__ == "__main__":
    main()
