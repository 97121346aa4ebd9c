"""Selecting the k best candidates: beside one selection, beside OpenDP and beside the published
joint mechanism, in one run.

    python benchmarks/top_k.py [--quick] [--output FOLDER]
        [--sections one opendp joint unknown-domain memory]

A full run writes benchmarks/results/top_k.{json,md,png}; others write only where --output says.
Ratios compare medians of calls that took turns; minima stand beside them, because another process
can only ever add to a time. How good the lists are is measured by top_k_utility.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import competitors
import numpy as np
from competitors import OPENDP_TOP_K, Scores
from report import Section, Table, Target, environment, number, write
from timing import Call, Effort, Timing, interleave
from top_k_memory import extra_memory
from top_k_peer import PublishedJoint
from top_k_plot import draw

import discreet
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.count_lists import ListRequest
from discreet.mechanisms.peeling_top_k import TopKMechanism

ONE = "one selection"
PUBLISHED = "published O(d k)"
DELTA = 1e-6
_COUNTS: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}

SELECT: dict[str, SelectionMechanism] = {
    "permute-and-flip": discreet.mechanisms.PermuteAndFlip(**_COUNTS),
    "exponential": discreet.mechanisms.ExponentialMechanism(**_COUNTS),
}
LAWS = {"peel": "permute-and-flip", "one-shot": "exponential", "joint": "exponential"}
"""The methods, and the law of the one selection that each is compared with."""

MOST_SELECTIONS = {
    ("peel", 10**6): 2.0,
    ("one-shot", 10**6): 2.0,
    ("joint", 10**6): 6.0,
    ("joint", 10**4): 10.0,
}
"""What a list of 100 of so many candidates is to take at most, in selections, on all data."""

Key = tuple[str, int]  # a method, or one selection by some law, and k
Times = Mapping[Key, Timing]

_ONE = """\
k of many candidates, and one, by the same law (joint: the exponential mechanism); epsilon 1 for
the whole list, no delta, counts of persons. Near-tie scores are whole numbers from 1000 to 1019,
normal ones are floats, Zipf and flat ones integers, and once more floats. Mechanisms are made
beforehand. Of a mapping of 100 candidates, `top_k` and `select` are called as a whole."""
_OPENDP = """\
10,000 candidates, k = 100, integers, epsilon 1 for the whole list. OpenDP's noisy top-k peels:
permute-and-flip if pure, the exponential mechanism with a delta, here 1e-6; its measurements are
made beforehand and get an array. It flips coins in random order until one shows heads, so it
takes long where few candidates matter, and hardly longer than reading the scores where all are
about the same."""
_JOINT = """\
The joint exponential mechanism as published lists, sorts and counts all d k differences;
`top_k_peer.py` is written from that description with NumPy, in floating point, and is not exact.
It is left out for a million candidates, where it would need 100 million differences several times
over."""
_UNKNOWN = """\
A million items with Zipf counts, k = 100, the 1000 most frequent take part, epsilon 1, delta
1e-6. Beside it one selection, and the pass that nobody can avoid, `np.partition`. With a bound on
the items of a person, ties at the edge are broken by label."""
_MEMORY = """\
What one call adds at its peak, as a share of the scores (8 bytes each), measured in a process of
its own."""


def shapes(size: int) -> dict[str, Scores]:
    """The scores, by the name of their shape."""
    found = competitors.distributions(size, "int64")
    return {
        "Zipf": found["Zipf"],
        "near-tie": competitors.near_tie(size),
        "flat": found["flat"],
        "normal": competitors.normal(size),
        "Zipf, floats": found["Zipf"] / 7,
        "flat, floats": found["flat"] / 7,
    }


def _made(k: int, method: str, delta: float = 0) -> TopKMechanism:
    stated = ListRequest(k=k, method=method, delta=delta, items_per_person=None, **_COUNTS)
    made = stated.make()
    assert isinstance(made, TopKMechanism)
    return made


def mechanisms(counts: Iterable[int]) -> dict[Key, TopKMechanism]:
    """Every method for every k."""
    return {(method, k): _made(k, method) for method in LAWS for k in counts}


def unknown_domain_mechanism(
    k: int, items_per_person: int | None = None
) -> discreet.mechanisms.UnknownDomainTopK:
    """Ten times as many items take part as are wanted."""
    return discreet.mechanisms.UnknownDomainTopK(
        k=k, epsilon=1, delta=DELTA, limit=10 * k, items_per_person=items_per_person
    )


def one(quick: bool) -> Section:
    """Lists of 1, 10 and 100 beside one selection, for 1e4 to 1e6 candidates."""
    section = Section("one", "k candidates beside one", _ONE)
    counts, sizes = [1, 10, 100], [10**4, 10**5] if quick else [10**4, 10**5, 10**6]
    effort = (
        Effort(rounds=4, repeats=3, seconds=0.1)
        if quick
        else Effort(rounds=25, repeats=5, seconds=1.0, least=5)
    )
    made: dict[Key, Any] = {(law, 0): mechanism for law, mechanism in SELECT.items()} | mechanisms(
        counts
    )
    results: dict[tuple[int, str], Times] = {}
    for size in sizes:
        for shape, scores in shapes(size).items():
            times = interleave(
                {key: partial(mechanism.select, scores) for key, mechanism in made.items()}, effort
            )
            results[size, shape] = times
            section.records += _records(times, candidates=size, shape=shape)
    names = list(shapes(1))
    for size in sizes:
        rows = [
            [_title(key), *(_cell(results[size, shape][key], 1e3) for shape in names)]
            for key in made
        ]
        section.tables.append(
            Table(f"{_power(size)} candidates: ms, median (minimum)", ["", *names], rows)
        )
        rows = [
            [_title(key), *(_times_one(results[size, shape], key) for shape in names)]
            for key in made
            if key[1]
        ]
        title = f"{_power(size)} candidates: times as long as one selection, by medians (by minima)"
        section.tables.append(Table(title, ["", *names], rows))
    for (method, size), wanted in MOST_SELECTIONS.items():
        if size in sizes:
            found = [(*_ratios(results[size, shape], (method, 100)), shape) for shape in names]
            median, minimum, shape = max(found)
            name = f"{method}: times one selection, k = 100, {_power(size)}"
            section.targets.append(Target(name, wanted, median, minimum, where=shape, at_most=True))
    section.targets.append(_ten_of_a_hundred(section, effort))
    return section


def _ten_of_a_hundred(section: Section, effort: Effort) -> Target:
    """Ten of a hundred by the default method, beside one of them: both from a mapping."""
    scores = competitors.distributions(100, "int64")["Zipf"].tolist()
    votes = {f"candidate {place}": count for place, count in enumerate(scores)}
    calls: dict[str, Call] = {
        "top_k": partial(discreet.top_k, votes, k=10, **_COUNTS),
        ONE: partial(discreet.select, votes, **_COUNTS),
    }
    times = interleave(calls, effort)
    section.records += _records(times, candidates=100, k=10, shape="Zipf, mapping")
    rows = [[name, _cell(taken, 1e6)] for name, taken in times.items()]
    section.tables.append(Table("a mapping of 100, k = 10: us, median (minimum)", ["", ""], rows))
    name = "top_k: times one selection, 10 of a mapping of 100"
    ratios = _quotients(times["top_k"], times[ONE])
    return Target(name, 5.0, *ratios, where="Zipf", at_most=True)


def opendp(quick: bool) -> Section:
    """Beside OpenDP's noisy top-k."""
    size, k = (1000, 20) if quick else (10_000, 100)
    section = Section("opendp", f"{size:,} candidates, k = {k}, beside OpenDP", _OPENDP)
    made = {method: _made(k, method) for method in LAWS}
    made["one-shot with delta"] = _made(k, "one-shot", DELTA)
    results: dict[str, Mapping[str, Timing]] = {}
    for shape, scores in shapes(size).items():
        if scores.dtype.kind == "f":
            continue
        calls: dict[str, Call] = {
            name: partial(mechanism.select, scores) for name, mechanism in made.items()
        }
        calls |= competitors.opendp_top_k(scores, k, DELTA)
        results[shape] = times = interleave(
            calls, Effort(rounds=20, repeats=5, seconds=2.0, least=1 if quick else 5)
        )
        section.records += _records(times, candidates=size, k=k, shape=shape)
    names = [*made, *OPENDP_TOP_K]
    rows = [[name, *(_cell(times[name], 1e3) for times in results.values())] for name in names]
    section.tables.append(Table("ms, median (minimum)", ["", *results], rows))
    rows = []
    for name in made:
        peer = OPENDP_TOP_K["delta" in name]
        found = {shape: _quotients(times[peer], times[name]) for shape, times in results.items()}
        rows.append(
            [
                f"{name}, beside {peer}",
                *(f"{number(median)} ({number(least)})" for median, least in found.values()),
            ]
        )
        section.targets += [
            Target(f"{name}: times faster than {peer}", 100, median, least, where=shape)
            for shape, (median, least) in found.items()
        ]
    section.tables.append(
        Table("times faster than OpenDP, by medians (by minima)", ["", *results], rows)
    )
    return section


def joint(quick: bool) -> Section:
    """Beside the published algorithm of the joint mechanism."""
    section = Section("joint", "The joint mechanism beside its published algorithm", _JOINT)
    cases = [(10**4, 10), (10**4, 100)] + (
        [] if quick else [(10**5, 10), (10**5, 100), (10**6, 100)]
    )
    rows = []
    for size, k in cases:
        for shape in ("Zipf", "near-tie", "flat"):
            scores = shapes(size)[shape]
            calls: dict[str, Call] = {"joint": partial(_made(k, "joint").select, scores)}
            if size < 10**6:
                calls[PUBLISHED] = partial(PublishedJoint(k, 1.0).select, scores)
            times = interleave(
                calls, Effort(rounds=15, repeats=3, seconds=2.0, least=1 if quick else 3)
            )
            section.records += _records(times, candidates=size, k=k, shape=shape)
            ratios = _quotients(times[PUBLISHED], times["joint"]) if PUBLISHED in times else None
            cells = [
                _cell(times["joint"], 1),
                _cell(times.get(PUBLISHED), 1),
                number(ratios[0]) if ratios else "-",
            ]
            rows.append([f"{_power(size)}, k = {k}", shape, *cells])
            if ratios and (size, k) == (10**5, 100):
                name = f"joint: times faster than published, {_power(size)}, k = {k}"
                section.targets.append(Target(name, 10, *ratios, where=shape))
    columns = ["candidates", "scores", "discreet", PUBLISHED, "ratio"]
    section.tables.append(Table("seconds, median (minimum)", columns, rows))
    return section


def unknown_domain(quick: bool) -> Section:
    """Items that are not known beforehand."""
    size, k = (10**5 if quick else 10**6), 100
    section = Section("unknown-domain", f"Unknown domain: {size:,} items, k = {k}", _UNKNOWN)
    scores = shapes(size)["Zipf"]
    labelled = dict(zip((f"item {place}" for place in range(size)), scores.tolist(), strict=True))
    free, bounded = unknown_domain_mechanism(k), unknown_domain_mechanism(k, items_per_person=10)
    calls: dict[str, Call] = {
        "top-k, array": partial(free.select, scores),
        "top-k, array, 10 items per person": partial(bounded.select, scores),
        "top-k, mapping from labels": partial(free.release, labelled),
        ONE: partial(SELECT["exponential"].select, scores),
        "one selection, mapping from labels": partial(SELECT["exponential"].release, labelled),
        "np.partition": lambda: np.partition(scores, size - 10 * k),
    }
    times = interleave(calls, Effort(rounds=5 if quick else 20, repeats=3, seconds=2.0))
    section.records += _records(times, candidates=size, k=k, shape="Zipf")
    base = times[ONE]
    rows = [
        [name, _cell(taken, 1e3), number(taken.median / base.median)]
        for name, taken in times.items()
    ]
    section.tables.append(Table("ms, median (minimum)", ["", "time", f"times {ONE}"], rows))
    return section


def memory(quick: bool) -> Section:
    """What one call adds at its peak."""
    section = Section("memory", "Extra memory", _MEMORY)
    k = 100
    for size in [10**5] if quick else [10**5, 10**6]:
        peaks = extra_memory(size, k)
        section.records.append({"extra_memory_bytes": peaks, "candidates": size, "k": k})
        names = list(dict.fromkeys(name for found in peaks.values() for name in found))
        rows = [
            [name, *(_share(found.get(name), size) for found in peaks.values())] for name in names
        ]
        section.tables.append(Table(f"{_power(size)} candidates, k = {k}", ["", *peaks], rows))
    return section


def _times_one(times: Times, key: Key) -> str:
    median, minimum = _ratios(times, key)
    return f"{number(median)} ({number(minimum)})"


def _ratios(times: Times, key: Key) -> tuple[float, float]:
    """How many times as long as one selection, by medians and by minima."""
    return _quotients(times[key], times[LAWS[key[0]], 0])


def _quotients(slow: Timing, fast: Timing) -> tuple[float, float]:
    return slow.median / fast.median, slow.minimum / fast.minimum


def _records(times: Mapping[Any, Timing], **about: Any) -> list[dict[str, Any]]:
    records = []
    for key, taken in times.items():
        names = {"competitor": key} if isinstance(key, str) else {"competitor": key[0], "k": key[1]}
        records.append(
            about
            | names
            | {"median_s": taken.median, "minimum_s": taken.minimum, "calls": taken.calls}
        )
    return records


def _title(key: Key) -> str:
    return f"{key[0]}, k = {key[1]}" if key[1] else f"one selection, {key[0]}"


def _cell(timing: Timing | None, scale: float) -> str:
    return (
        "-"
        if timing is None
        else f"{number(timing.median * scale)} ({number(timing.minimum * scale)})"
    )


def _share(taken: int | None, size: int) -> str:
    return "-" if taken is None else f"{taken / (8 * size):.3f}"


def _power(size: int) -> str:
    return f"{size:.0e}".replace("e+0", "e")


SECTIONS = {
    "one": one,
    "opendp": opendp,
    "joint": joint,
    "unknown-domain": unknown_domain,
    "memory": memory,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections that were asked for and print them as they come."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds and candidates: under a minute"
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    options = parser.parse_args(arguments)
    about = environment(["discreet", "numpy", "opendp"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    sections = []
    for name in options.sections:
        sections.append(SECTIONS[name](options.quick))
        print(f"\n{sections[-1]}", flush=True)
    full = not options.quick and set(options.sections) == set(SECTIONS)
    folder = options.output or (Path(__file__).parent / "results" if full else None)
    if folder:
        write(folder, "top_k", about, sections)
        if {"one", "opendp", "joint"} <= set(options.sections):
            draw(sections, folder / "top_k.png")


if __name__ == "__main__":
    main()
