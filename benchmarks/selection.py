"""Selecting one candidate: discreet and its peers side by side, in one run, as ratios.

    python benchmarks/selection.py [--quick] [--output FOLDER]
        [--sections million hundred growth side-channel]

A full run writes benchmarks/results/selection.{json,md,png}; others write only where --output
says. Ratios compare medians of calls that took turns; minima stand beside them, because another
process can only ever add to a time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import competitors
from competitors import GUMBEL, MAXIMUM, OPENDP, ORDER, OURS
from memory import extra_memory
from report import Section, Table, Target, environment, number, write
from selection_plot import draw
from timing import Effort, Timing, interleave, one_core

DTYPES = ("float64", "int64")
# what the others are compared with in the tables; targets are checked for all of ours
MAIN = "discreet permute-and-flip"

Case = tuple[str, str]  # how the scores come, and their distribution
Times = Mapping[str, Timing]


_MILLION = """\
Zipf, normal, all-equal (flat) and peaked scores (one clear winner); epsilon 1, sensitivity 1,
monotonic. Only discreet and OpenDP are exact. OpenDP gets an array, its fastest input; its time
is itself random, so that its medians vary from run to run. diffprivlib's permute-and-flip takes
quadratic time unless most candidates are tied. “One core” is the same with a process that may use
no other."""
_HUNDRED = """\
The overhead of a call is all there is. Mechanisms and measurements are made beforehand, except
that with the mapping `discreet.select` gets its parameters anew and OpenDP gets
`list(mapping.values())`."""
_GROWTH = """\
Normal scores. The extra memory is what one selection adds at its peak, measured in a process of
its own."""
_SIDE_CHANNEL = """\
Medians for scores of the same length that could hardly differ more, and for their neighbours: “+
1” has one more person, who votes for a random half of the candidates."""


def million(quick: bool) -> Section:
    """One million scores of four shapes, as floats and as integers."""
    size = 200_000 if quick else 1_000_000
    section = Section("million", f"{size:,} candidates", _MILLION)
    effort = (
        Effort(rounds=5, repeats=5, seconds=0.1, least=1)
        if quick
        else Effort(rounds=20, repeats=5, seconds=2.0)
    )
    results: dict[Case, Times] = {}
    alone: dict[Case, Times] = {}
    for dtype in DTYPES:
        for name, scores in competitors.distributions(size, dtype).items():
            peers = competitors.opendp_noisy_max(scores, dtype)
            calls = (
                competitors.ours(scores) | peers | competitors.inexact(scores, flips=name == "flat")
            )
            results[dtype, name] = interleave(calls, effort)
            with one_core():
                alone[f"{dtype}, one core", name] = interleave(
                    {kept: calls[kept] for kept in (*OURS, MAXIMUM)}, effort
                )
    _report_cases(section, results | alone, size, 1e9 / size, "ns per candidate")
    section.tables.append(_list_input(size, quick))
    slow = {case: times for case, times in results.items() if case[1] in ("normal", "peaked")}
    for mechanism in OURS:
        section.targets += [
            _times_faster(mechanism, "OpenDP's faster one", OPENDP, results, 60),
            _times_faster(mechanism, "OpenDP's faster one, normal and peaked", OPENDP, slow, 100),
            _times_faster(mechanism, GUMBEL, [GUMBEL], results, 3),
            _times_slower(mechanism, MAXIMUM, results, 6),
            _times_slower(mechanism, MAXIMUM, alone, 9),
        ]
    return section


def hundred(quick: bool) -> Section:
    """One hundred scores, where the overhead of a call is all there is."""
    size = 100
    section = Section("hundred", "100 candidates", _HUNDRED)
    effort = Effort(rounds=10 if quick else 50, repeats=10)
    results: dict[Case, Times] = {}
    for dtype in DTYPES:
        for name, scores in competitors.distributions(size, dtype).items():
            peers = competitors.opendp_noisy_max(scores, dtype)
            calls = competitors.ours(scores) | peers | competitors.inexact(scores, flips=True)
            results[f"{dtype} array", name] = interleave(calls, effort)
    for name, scores in competitors.distributions(size, "int64").items():
        votes = {f"candidate {number}": score for number, score in enumerate(scores.tolist())}
        calls = competitors.ours_by_label(votes) | competitors.opendp_from_mapping(votes)
        results["mapping of labels", name] = interleave(calls, effort)
    _report_cases(section, results, size, 1e6, "µs per selection")
    for way in dict.fromkeys(case[0] for case in results):
        chosen = {case: times for case, times in results.items() if case[0] == way}
        section.targets += [
            _times_faster(mechanism, f"OpenDP, {way}", OPENDP, chosen, 3) for mechanism in OURS
        ]
    return section


def growth(quick: bool) -> Section:
    """Time per candidate and extra memory from 1e5 to 1e8 candidates, with normal scores."""
    sizes = [10**5, 10**6, 10**7] + ([] if quick else [10**8])
    section = Section("growth", "Growth with the number of candidates", _GROWTH)
    results = {
        (dtype, size): _growth_times(size, dtype, quick) for dtype in DTYPES for size in sizes
    }
    for (dtype, size), times in results.items():
        section.records += _records(times, dtype=dtype, candidates=size)
    for dtype in DTYPES:
        names = [name for name in ORDER if name in results[dtype, sizes[0]]]
        rows = [
            [name, *(_cell(results[dtype, size].get(name), 1e9 / size) for size in sizes)]
            for name in names
        ]
        section.tables.append(
            Table(f"{dtype}: ns per candidate, median (minimum)", ["", *map(_power, sizes)], rows)
        )
    for mechanism in OURS:
        for dtype in DTYPES:
            first, last = results[dtype, sizes[0]][mechanism], results[dtype, sizes[-1]][mechanism]
            name = f"{mechanism}: time per candidate, {_power(sizes[-1])} over {_power(sizes[0])}"
            median, minimum = [
                after / before * sizes[0] / sizes[-1] for after, before in _pairs(last, first)
            ]
            section.targets.append(Target(name, 1.0, median, minimum, where=dtype, at_most=True))
    _add_memory(section, sizes)
    return section


def side_channel(quick: bool) -> Section:
    """Whether the time tells about the scores: medians for scores of the same length that could
    hardly differ more.
    """
    section = Section("side-channel", "What the time tells", _SIDE_CHANNEL)
    sizes = (100, 10_000, 1_000_000)
    found = []
    for size in sizes:
        for dtype in DTYPES:
            results = _side_channel_times(size, dtype, quick)
            section.records += [
                record | {"scores": scores}
                for scores, times in results.items()
                for record in _records(times, candidates=size)
            ]
            names = next(iter(results.values()))
            found += [
                (size, dtype, name, {scores: times[name] for scores, times in results.items()})
                for name in names
            ]
    vectors = list(found[0][3])
    rows = [
        [
            name,
            dtype,
            _power(size),
            *(number(t[scores].median * 1e6) for scores in vectors),
            f"{_spread(t.values())[0]:.2f}",
        ]
        for size, dtype, name, t in found
    ]
    columns = ["", "scores", "candidates", *vectors, "max / min"]
    section.tables.append(Table("Median time in µs", columns, rows))
    for mechanism in OURS:
        for size in sizes:
            spreads = [
                (*_spread(t.values()), dtype)
                for n, dtype, name, t in found
                if name == mechanism and n == size
            ]
            name = f"{mechanism}: slowest over fastest median, {_power(size)}"
            median, minimum, dtype = max(spreads)
            section.targets.append(Target(name, 1.5, median, minimum, where=dtype, at_most=True))
    return section


def _report_cases(
    section: Section, results: Mapping[Case, Times], size: int, scale: float, unit: str
) -> None:
    """Tables of times, of ratios to ours and of ratios to the maximum, for each way in which the
    scores come.
    """
    for (way, distribution), times in results.items():
        section.records += _records(times, scores=way, distribution=distribution, candidates=size)
    for way in dict.fromkeys(case[0] for case in results):
        cases = {case[1]: times for case, times in results.items() if case[0] == way}
        names = [name for name in ORDER if any(name in times for times in cases.values())]
        columns = ["", *cases]
        rows = [
            [name, *(_cell(times.get(name), scale) for times in cases.values())] for name in names
        ]
        section.tables.append(Table(f"{way}: {unit}, median (minimum)", columns, rows))
        for base in (MAIN, MAXIMUM):
            if base in names:
                rows = [
                    [name, *(_ratio_cell(times, name, base) for times in cases.values())]
                    for name in names
                ]
                section.tables.append(Table(f"{way}: times as long as {base}", columns, rows))


def _list_input(size: int, quick: bool) -> Table:
    """Why OpenDP gets arrays: with equal scores, where it draws least, a list costs it more than
    the draw.
    """
    rows = []
    for dtype in DTYPES:
        scores = competitors.distributions(size, dtype)["flat"]
        ways = {"array": scores, "list": scores.tolist()}
        calls = {
            way: competitors.opendp_noisy_max(given, dtype)[OPENDP[0]]
            for way, given in ways.items()
        }
        times = interleave(calls, Effort(rounds=1 if quick else 3))
        rows.append([dtype, *(_cell(times[way], 1e9 / size) for way in ways)])
    return Table(
        f"{OPENDP[0]}, flat scores: ns per candidate, by kind of input", ["", "array", "list"], rows
    )


def _growth_times(size: int, dtype: str, quick: bool) -> Times:
    scores = (
        competitors.normal(size)
        if dtype == "float64"
        else competitors.whole(competitors.normal(size))
    )
    calls = competitors.ours(scores) | competitors.numpy_only(scores)
    if size > 10**7:
        del calls[GUMBEL]  # its noise would need as much memory again as the scores
    if size <= 10**6 and not quick:
        calls[OPENDP[0]] = competitors.opendp_noisy_max(scores, dtype)[OPENDP[0]]
    return interleave(calls, Effort(rounds=20, repeats=5, seconds=0.2 if quick else 1.5))


def _add_memory(section: Section, sizes: Sequence[int]) -> None:
    rows = []
    for dtype in DTYPES:
        for size in sizes:
            found = extra_memory(size, dtype)
            shares = {name: taken / (8 * size) for name, taken in found.items()}
            section.records.append(
                {"extra_memory_bytes": found, "dtype": dtype, "candidates": size}
            )
            rows.append([dtype, _power(size), *(f"{share:.4f}" for share in shares.values())])
            name = f"extra memory / float64 scores, {_power(size)}"
            section.targets.append(
                Target(name, 0.5, max(shares.values()), where=dtype, at_most=True)
            )
    columns = ["", "candidates", "growth of the process", *OURS]
    section.tables.append(
        Table("Extra memory at the peak, as a share of the float64 scores", columns, rows)
    )


def _side_channel_times(size: int, dtype: str, quick: bool) -> dict[str, Times]:
    """By kind of scores. All kinds of scores take turns, for each competitor."""
    vectors = competitors.distributions(size, dtype)
    del vectors["Zipf"]
    vectors |= {
        f"{name} + 1": competitors.with_one_more_ballot(scores) for name, scores in vectors.items()
    }
    calls = {
        (kind, name): call
        for kind, scores in vectors.items()
        for name, call in competitors.ours(scores).items()
    }
    rounds = {100: 60, 10_000: 40, 1_000_000: 12}[size]
    times = interleave(calls, Effort(rounds=rounds // 4 if quick else rounds, repeats=5))
    if size <= 10_000:
        peers = {
            (kind, name): call
            for kind, scores in vectors.items()
            for name, call in competitors.opendp_noisy_max(scores, dtype).items()
        }
        times |= interleave(peers, Effort(rounds=rounds, repeats=5, seconds=0.05 if quick else 1.0))
    return {
        kind: {name: timing for (at, name), timing in times.items() if at == kind}
        for kind in vectors
    }


def _times_faster(
    mechanism: str, title: str, peers: Iterable[str], results: Mapping[Case, Times], bound: float
) -> Target:
    """How many times as long the fastest of the peers takes, where that is least."""

    def ratios(times: Times) -> tuple[float, float]:
        those = [times[peer] for peer in peers if peer in times]
        mine = times[mechanism]
        return min(t.median for t in those) / mine.median, min(
            t.minimum for t in those
        ) / mine.minimum

    peers = list(peers)
    (median, minimum), case = min((ratios(times), case) for case, times in results.items())
    return Target(
        f"{mechanism}: times faster than {title}", bound, median, minimum, where=" ".join(case)
    )


def _times_slower(mechanism: str, peer: str, results: Mapping[Case, Times], bound: float) -> Target:
    """How many times as long as the peer, where that is most."""
    ratios = [
        ([mine / other for mine, other in _pairs(t[mechanism], t[peer])], case)
        for case, t in results.items()
    ]
    (median, minimum), case = max(ratios)
    return Target(
        f"{mechanism}: times {peer}", bound, median, minimum, where=" ".join(case), at_most=True
    )


def _spread(timings: Iterable[Timing]) -> tuple[float, float]:
    timings = list(timings)
    medians, minima = [t.median for t in timings], [t.minimum for t in timings]
    return max(medians) / min(medians), max(minima) / min(minima)


def _pairs(one: Timing, other: Timing) -> tuple[tuple[float, float], tuple[float, float]]:
    return (one.median, other.median), (one.minimum, other.minimum)


def _records(times: Times, **about: Any) -> list[dict[str, Any]]:
    return [
        about | {"competitor": name, "median_s": t.median, "minimum_s": t.minimum, "calls": t.calls}
        for name, t in times.items()
    ]


def _cell(timing: Timing | None, scale: float) -> str:
    return (
        "-"
        if timing is None
        else f"{number(timing.median * scale)} ({number(timing.minimum * scale)})"
    )


def _ratio_cell(times: Times, name: str, base: str) -> str:
    return number(times[name].median / times[base].median) if name in times else "-"


def _power(size: int) -> str:
    return f"{size:.0e}".replace("e+0", "e") if size >= 10_000 else str(size)


SECTIONS = {"million": million, "hundred": hundred, "growth": growth, "side-channel": side_channel}


def main() -> None:
    """Run the sections that were asked for and print them as they come."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, at most 1e7 candidates: under a minute"
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    options = parser.parse_args()
    about = environment(["discreet", "numpy", "opendp", "diffprivlib"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    sections = []
    for name in options.sections:
        sections.append(SECTIONS[name](options.quick))
        print(f"\n{sections[-1]}", flush=True)
    full = not options.quick and set(options.sections) == set(SECTIONS)
    folder = options.output or (Path(__file__).parent / "results" if full else None)
    if folder:
        write(folder, "selection", about, sections)
        if {"million", "growth"} <= set(options.sections):
            draw(sections, folder / "selection.png")


if __name__ == "__main__":
    main()
