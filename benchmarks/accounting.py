"""What many selections cost together: discreet and its peers side by side, in one run, both the
time and the answer.

    python benchmarks/accounting.py [--quick] [--sections growth adaptive mixed plan]
        [--output FOLDER]

A full run writes benchmarks/results/accounting.{json,md,png}; others write only where --output
says. Times are medians of calls that took turns, minima stand beside them. Answers are epsilons
at a delta of 1e-6: the smaller one is the tighter analysis, if it is valid.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import accountants
from accountants import ADAPTIVE, DELTA, NON_ADAPTIVE, ORDER, RDP, Answer, Counts
from accounting_plot import draw
from report import Section, Table, Target, environment, number, write
from timing import Effort, Timing, interleave

from discreet import ApproxDP, BoundedRange, PureDP, compose, plan, queries_allowed

_GROWTH = """\
The epsilon of each selection falls with their number, 0.5 / sqrt(queries), so that the total
stays about the same. The non-adaptive number is the exact optimum for queries that were fixed
beforehand; all others hold for adaptive queries too. The adaptive grid gives up beyond a few
thousand selections. dp_accounting knows no selection: its PLD gets the best pair that dominates
bounded range and its RDP accountant the tight rho, both from `discreet.accounting.interop`; PLDs
have its default interval, 1e-4. OpenDP's law for one selection is a rho of range^2 / 8. “As pure
DP” is what is left without bounded range."""
_ADAPTIVE = """\
Selections of epsilon 0.1. The grid brackets the adaptive optimum; its width is what the chosen
grid leaves open. `compose` runs every analysis."""
_MIXED = """\
Several kinds of losses, adaptive and in any order."""
_PLAN = """\
A budget of epsilon 1 and delta 1e-6. dp_accounting searches with its RDP accountant
(`calibrate_dp_mechanism`)."""

MIXES: dict[str, Counts] = {
    "50 x 0.1, 10 x 0.2": {BoundedRange(0.1): 50, BoundedRange(0.2): 10},
    "20 x 0.1, 5 x 0.3, 3 x 0.5": {
        BoundedRange(0.1): 20,
        BoundedRange(0.3): 5,
        BoundedRange(0.5): 3,
    },
    "100 x 0.1, 3 x pure 0.5": {BoundedRange(0.1): 100, PureDP(0.5): 3},
    "1000 x 0.01, 100 x 0.05": {BoundedRange(0.01): 1000, BoundedRange(0.05): 100},
}
BUDGET = ApproxDP(1, DELTA)


def growth(quick: bool) -> Section:
    """Time and answer from 10 to a million selections."""
    section = Section("growth", "Growth with the number of selections", _GROWTH)
    sizes = [10**power for power in ((1, 3, 6) if quick else range(1, 7))]
    times: dict[int, dict[str, Timing]] = {}
    answers: dict[int, dict[str, float]] = {}
    for size in sizes:
        counts = {BoundedRange(Fraction(f"{0.5 / size**0.5:.2g}")): size}
        times[size], answers[size] = _measure(
            accountants.ours(counts) | accountants.peers(counts), quick
        )
        section.records += _records(
            times[size], answers[size], queries=size, each=float(next(iter(counts)).epsilon)
        )
    columns = ["", *map(_power, sizes)]
    names = [name for name in ORDER if any(name in answers[size] for size in sizes)]
    rows = [[name, *(_epsilon(answers[size], name) for size in sizes)] for name in names]
    section.tables.append(Table("Epsilon", columns, rows))
    rows = [
        [name, *(_ratio(answers[size], name, NON_ADAPTIVE) for size in sizes)] for name in names
    ]
    section.tables.append(Table(f"Epsilon, times {NON_ADAPTIVE}", columns, rows))
    rows = [[name, *(_cell(times[size], name) for size in sizes)] for name in names]
    section.tables.append(Table("ms, median (minimum)", columns, rows))
    for name in (NON_ADAPTIVE, RDP):
        timing = times[sizes[-1]][name]
        where = f"{_power(sizes[-1])} selections"
        section.targets.append(
            Target(f"{name}: seconds", 1.5, timing.median, timing.minimum, where, at_most=True)
        )
    return section


def adaptive(quick: bool) -> Section:
    """The certified grid from 10 to 1,000 selections: time and the accuracy that was reached."""
    section = Section("adaptive", "Adaptive selections", _ADAPTIVE)
    sizes = [10, 100, 300] if quick else [10, 30, 100, 300, 1000]
    rows = []
    for size in sizes:
        counts = {BoundedRange(0.1): size}
        mine: dict[str, Answer] = {ADAPTIVE: accountants.ours(counts)[ADAPTIVE]}
        mine["compose"] = partial(_composed, counts)
        rival = accountants.PLD
        times, answers = _measure(mine | {rival: accountants.peers(counts)[rival]}, quick)
        low, high, step = accountants.bracket(counts)
        width = (high - low) / low
        section.records += _records(
            times, answers, queries=size, each=0.1, low=low, high=high, step=float(step)
        )
        shown = [_cell(times, name) for name in (ADAPTIVE, "compose", rival)]
        share = f"1/{round(Fraction(1, 10) / step)}"
        rows.append(
            [
                _power(size),
                f"{low:.4f}",
                f"{high:.4f}",
                f"{100 * width:.2f} %",
                share,
                _ratio(answers, rival, ADAPTIVE),
                *shown,
            ]
        )
        target = f"bracket: relative width, {size} selections"
        section.targets.append(Target(target, 0.01, width, at_most=True))
        if size == 1000:
            for name in (ADAPTIVE, "compose"):
                section.targets.append(
                    Target(
                        f"{name}: seconds, {size} selections",
                        1.5,
                        times[name].median,
                        times[name].minimum,
                        at_most=True,
                    )
                )
    columns = ["", "at least", "at most", "width", "grid step / 0.1", "PLD / at most"]
    columns += [f"{name}, ms" for name in ("grid", "compose", "PLD")]
    section.tables.append(
        Table("Epsilon of adaptive selections of 0.1: bracket, accuracy and time", columns, rows)
    )
    return section


def mixed(quick: bool) -> Section:
    """Losses of several kinds."""
    section = Section("mixed", "Mixed losses", _MIXED)
    rows = []
    for title, counts in MIXES.items():
        methods: list[str] = []
        calls: dict[str, Answer] = {"compose": partial(_composed, counts, methods)}
        rivals = accountants.peers(counts)
        calls |= {RDP: accountants.ours(counts)[RDP]} | {
            name: rivals[name] for name in (accountants.PLD, accountants.PEER_RDP)
        }
        times, answers = _measure(calls, quick)
        section.records += _records(times, answers, losses=title, method=methods[-1])
        for name in calls:
            first = title if name == "compose" else ""
            answer = methods[-1] if name == "compose" else ""
            rows.append(
                [
                    first,
                    name,
                    _epsilon(answers, name),
                    _ratio(answers, name, "compose"),
                    _cell(times, name),
                    answer,
                ]
            )
    columns = ["", "who", "epsilon", "times compose", "ms", "method"]
    section.tables.append(Table("Epsilon and time", columns, rows))
    return section


def planning(quick: bool) -> Section:
    """The other direction: how much each may cost, and how many there can be."""
    section = Section("plan", "Planning", _PLAN)
    rows = []
    for size in (10, 100) if quick else (10, 100, 1000):
        calls: dict[str, Answer] = {
            "plan, adaptive": partial(_planned, size),
            "dp_accounting RDP": partial(accountants.calibrate, size, 1.0),
        }
        times, answers = _measure(calls, quick)
        section.records += _records(times, answers, queries=size)
        rows += [
            [f"{size} selections", name, _epsilon(answers, name), _cell(times, name)]
            for name in calls
        ]
        timing = times["plan, adaptive"]
        name = f"plan: seconds, {size} selections"
        section.targets.append(Target(name, 5.0, timing.median, timing.minimum, at_most=True))
    section.tables.append(
        Table(
            "Epsilon of each selection within (1, 1e-6)", ["", "who", "epsilon of each", "ms"], rows
        )
    )
    rows = []
    for each in ("0.1", "0.05") if quick else ("0.1", "0.05", "0.02", "0.01"):
        loss = BoundedRange(Fraction(each))
        calls = {
            "adaptive": partial(queries_allowed, each=loss, budget=BUDGET),
            "as pure DP": partial(queries_allowed, each=loss.to_pure_dp(), budget=BUDGET),
        }
        times, answers = _measure(calls, quick)
        section.records += _records(times, answers, each=float(each))
        counts = [f"{answers[name]:,.0f}" for name in calls]
        rows.append(
            [
                each,
                *counts,
                number(answers["adaptive"] / answers["as pure DP"]),
                *(_cell(times, name) for name in calls),
            ]
        )
    columns = [
        "epsilon of each",
        "adaptive",
        "as pure DP",
        "ratio",
        "adaptive, ms",
        "as pure DP, ms",
    ]
    section.tables.append(Table("queries_allowed within (1, 1e-6)", columns, rows))
    return section


def _composed(counts: Counts, methods: list[str] | None = None) -> float:
    """Our front door; the analysis that gave the answer is noted in `methods`."""
    found = compose(counts, delta=DELTA)
    if methods is not None:
        methods.append(found.method)
    return float(found.epsilon)


def _planned(queries: int) -> float:
    return float(plan(queries=queries, budget=BUDGET).epsilon)


def _measure(
    calls: Mapping[str, Answer], quick: bool
) -> tuple[dict[str, Timing], dict[str, float]]:
    """Take times and keep the answers. Who has no answer is left out."""
    answers: dict[str, float | None] = {}

    def ask(name: str) -> None:
        answers[name] = calls[name]()

    times = interleave(
        {name: partial(ask, name) for name in calls},
        Effort(1) if quick else Effort(7, seconds=2.0, least=2),
    )
    known = {name: answers[name] for name in calls if answers[name] is not None}
    return {name: times[name] for name in known}, known


def _records(
    times: Mapping[str, Timing], answers: Mapping[str, float], **about: Any
) -> list[dict[str, Any]]:
    return [
        about
        | {
            "competitor": name,
            "answer": answers[name],
            "median_s": t.median,
            "minimum_s": t.minimum,
            "calls": t.calls,
        }
        for name, t in times.items()
    ]


def _cell(times: Mapping[str, Timing], name: str) -> str:
    return (
        f"{number(times[name].median * 1e3)} ({number(times[name].minimum * 1e3)})"
        if name in times
        else "-"
    )


def _epsilon(answers: Mapping[str, float], name: str) -> str:
    return f"{answers[name]:.4f}" if name in answers else "-"


def _ratio(answers: Mapping[str, float], name: str, base: str) -> str:
    return f"{answers[name] / answers[base]:.3f}" if name in answers else "-"


def _power(size: int) -> str:
    return f"{size:.0e}".replace("e+0", "e") if size >= 10_000 else str(size)


SECTIONS = {"growth": growth, "adaptive": adaptive, "mixed": mixed, "plan": planning}


def main() -> None:
    """Run the sections that were asked for and print them as they come."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds and sizes: under half a minute"
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    options = parser.parse_args()
    about = environment(["discreet", "numpy", "dp-accounting", "opendp"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    sections = []
    for name in options.sections:
        sections.append(SECTIONS[name](options.quick))
        print(f"\n{sections[-1]}", flush=True)
    full = not options.quick and set(options.sections) == set(SECTIONS)
    folder = options.output or (Path(__file__).parent / "results" if full else None)
    if folder:
        write(folder, "accounting", about, sections)
        if "growth" in options.sections:
            draw(sections, folder / "accounting.png")


if __name__ == "__main__":
    main()
