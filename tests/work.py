"""How much work a call does: steps that are counted, not seconds.

`python tests/work.py` prints the table. tests/unit/test_work.py holds each call to a limit,
so that an optimisation that gets lost is noticed on any machine, however busy.

A step is a function of discreet that is entered, or a function of C that one of them calls.
One pass of NumPy over a million scores is one step, and so is one over ten: what is counted is
how often the interpreter is needed, and whether that grows with the candidates. Memory is the
most that a call holds at once, beyond what is there before.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest import mock

import duckdb
import numpy as np
from asking import ask_of
from walks import SOURCE

import discreet
from discreet.samplers import threads

TAPES = 8
Call = Callable[[], object]


@dataclass
class Work:
    """What a call costs, on average over the tapes.

    steps: functions of discreet entered, and functions of C called from them.
    places: how many of them each function of discreet made, the most first.
    """

    steps: float = 0
    places: Counter[str] = field(default_factory=Counter)

    def told(self, most: int = 12) -> str:
        """Where the steps are made."""
        return "\n".join(
            f"{count:9,.1f}  {place}" for place, count in self.places.most_common(most)
        )


@contextmanager
def counting(places: Counter[str]) -> Iterator[None]:
    """Count every step of this thread meanwhile."""
    here = str(SOURCE)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_call") and frame.f_code.co_filename.startswith(here):
            file = frame.f_code.co_filename[len(here) + 1 :]
            places[f"{file} {frame.f_code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def counted(call: Call) -> Work:
    """The steps of a call, when it is not the first one."""
    call()
    places: Counter[str] = Counter()
    # which of several threads does a step depends on what else the machine does
    with mock.patch.object(threads, "_cores", return_value=1):
        for tape in range(TAPES):
            # the bits are repeatable, so a count changes with the code and not by chance
            with mock.patch.object(os, "urandom", random.Random(tape).randbytes), counting(places):
                call()
    each = Counter({place: count / TAPES for place, count in places.items()})
    return Work(steps=each.total(), places=each)


def most_memory(call: Call) -> int:
    """The bytes that a call holds at once, at most."""
    call()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def scores(size: int) -> np.ndarray:
    """Counts as people have them: few large ones and many small ones."""
    return np.sort(np.random.default_rng(7).zipf(1.5, size).clip(max=10**6))[::-1].copy()


def votes(size: int) -> dict[str, int]:
    """The same, by name."""
    return {f"candidate {place}": int(count) for place, count in enumerate(scores(size))}


ASKED: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
EXPONENTIAL = discreet.mechanisms.ExponentialMechanism(**ASKED)


def selections(size: int) -> dict[str, Call]:
    """The calls on scores in memory, by their names in the table."""
    array, mapping = scores(size), votes(size)
    floats = array / 7
    return {
        "select from an array": lambda: discreet.select(array, **ASKED),
        "select from a mapping": lambda: discreet.select(mapping, **ASKED),
        "select by Laplace noise": lambda: discreet.select(
            array, mechanism="laplace-noise", **ASKED
        ),
        "top_k, 10": lambda: discreet.top_k(mapping, k=10, **ASKED),
        "top_k, 10 of floats": lambda: discreet.top_k(floats, k=10, **ASKED),
        "top_k, 10 by peeling": lambda: discreet.top_k(array, k=10, method="peel", **ASKED),
    }


@contextmanager
def questions() -> Iterator[dict[str, Call]]:
    """The calls that have one size only: on a table, of a ledger, and many draws."""
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect())
        rows = connection.sql(
            "select range as reader, ['news', 'chess', 'opera'][1 + range % 5 // 2] as article, "
            "range % 100 as price from range(3000)"
        )
        budget = discreet.PureDP(10**6)
        session = discreet.Session(rows, unit=discreet.OneRow(), budget=budget)
        named: dict[str, Any] = {"candidates": ["news", "chess", "opera"], "epsilon": 1}
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        ledger = stack.enter_context(discreet.Ledger(f"sqlite:///{folder}/budget.db"))
        ledger.open("survey", budget=budget)
        prices, hundred = range(1, 100), scores(100)
        yield {
            "select_many, 100,000 draws": lambda: EXPONENTIAL.select_many(hundred, draws=100_000),
            "Session.mode": lambda: ask_of(session, "mode", "article", fresh=True, **named),
            "Session.best_price, 99 prices": lambda: ask_of(
                session, "best_price", "price", prices=prices, epsilon=1, fresh=True
            ),
            "Ledger.reserve": lambda: ledger.reserve(
                "survey", discreet.PureDP(1), request={"what": "mode"}
            ),
        }


def all_work() -> Iterator[tuple[str, Work, Work | None]]:
    """Each call's name and its work; for scores, with 100 and with 10,000 candidates."""
    few, many = selections(100), selections(10_000)
    for name, call in few.items():
        yield name, counted(call), counted(many[name])
    with questions() as asked:
        for name, call in asked.items():
            yield name, counted(call), None


if __name__ == "__main__":
    for name, few, many in all_work():
        print(f"{name:32}{few.steps:9,.0f}{many.steps if many else float('nan'):9,.0f}")
        print(few.told(6) + "\n")
