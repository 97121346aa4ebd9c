"""How far a reader has to walk: which files of the package a call goes through.

`python tests/walks.py` walks some calls and writes the tables of
docs/explanation/data-path.md anew. tests/docs/test_data_path.py compares them, and the
files that the page names, with a fresh walk.

A draw decides by chance whether it has to look closer, so each call is made with several
repeatable tapes of random bits, and what is counted is what any of them went through.
Each call is made once before: loading modules and first-time work are no part of a walk.

`python tests/walks.py NAME` makes one call for the first time in its process, as somebody with a
debugger would, and prints the files as JSON. Loading modules is no part of that either.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import os
import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import duckdb

import discreet
from discreet.questions import TopK

SOURCE = Path(discreet.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "data-path.md"
TAPES = 32


@dataclass
class Walk:
    """What a call went through.

    files: the modules of discreet that it entered, in order of first entry.
    functions: the functions of discreet that it called.
    jumps: how often a function called one in another file, in the longest of the calls.
    """

    files: list[str] = field(default_factory=list)
    functions: set[tuple[str, str]] = field(default_factory=set)
    jumps: int = 0

    def enter(self, frame: FrameType) -> bool:
        """Note a function that is entered; True if that is a jump from another file."""
        file = _file_of(frame)
        if file is None:
            return False
        if file not in self.files:
            self.files.append(file)
        self.functions.add((file, frame.f_code.co_qualname))
        return _caller_of(frame) not in (None, file)


def _file_of(frame: FrameType) -> str | None:
    """The module of discreet that a function is in, as a path under src/discreet."""
    return _module_of(frame.f_code.co_filename)


@functools.cache
def _module_of(name: str) -> str | None:
    path = Path(name)
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else None


def _caller_of(frame: FrameType) -> str | None:
    """The module of the nearest function of discreet that led here."""
    back = frame.f_back
    while back is not None:
        if (file := _file_of(back)) is not None:
            return file
        back = back.f_back
    return None


@contextlib.contextmanager
def watching(walk: Walk) -> Iterator[None]:
    """Note every function of discreet that is entered meanwhile, in this thread or a new one."""
    jumps = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal jumps
        if event == "call":
            jumps += walk.enter(frame)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        walk.jumps = max(walk.jumps, jumps)


def walked(call: Callable[[], object], tapes: int = TAPES) -> Walk:
    """What a call goes through, when it is not the first one, on any of the tapes."""
    call()
    walk = Walk()
    for tape in range(tapes):
        # SystemBits itself is walked through; only what the system gives it is made repeatable
        with mock.patch.object(os, "urandom", random.Random(tape).randbytes), watching(walk):
            call()
    return walk


def walked_first(call: Callable[[], object]) -> Walk:
    """What a call goes through that nobody made before in this process."""
    walk = _FirstWalk()
    with watching(walk):
        call()
    return walk


class _FirstWalk(Walk):
    """A walk that passes over what a module does while it is loaded."""

    def enter(self, frame: FrameType) -> bool:
        """Note a function, unless a module of discreet is being loaded."""
        return not _is_loading(frame) and super().enter(frame)


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None:
        file = _file_of(frame)
        if file == "lazy.py" or (file is not None and frame.f_code.co_name == "<module>"):
            return True
        frame = frame.f_back
    return False


def select_votes() -> object:
    """`select` among a few candidates."""
    votes = {"terrier": 41, "husky": 38, "corgi": 12, "poodle": 3}
    return discreet.select(votes, epsilon=1, sensitivity=1, monotonic=True)


def walk_select() -> Walk:
    """`select` among a few candidates."""
    return walked(select_votes)


def first_top_k() -> Walk:
    """`Session.top_k` with candidates, on a CSV file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reads.csv"
        rows = (f"{reader},{('news', 'chess', 'opera')[reader % 3]}" for reader in range(300))
        path.write_text("\n".join(["reader,article", *rows]))
        person, budget = discreet.Person("reader"), discreet.PureDP(3)
        with discreet.Session(path, unit=person, budget=budget) as session:
            labels = ["news", "chess", "opera"]
            return walked_first(lambda: session.top_k("article", k=2, candidates=labels, epsilon=1))


def first_http() -> Walk:
    """A question over HTTP, from the request to the reply, in a service without a network."""
    from service.team import Team

    walk = _FirstWalk()
    # the thread of the event loop is watched, too, and it is there before the first request
    with tempfile.TemporaryDirectory() as folder, watching(walk):
        team = Team(Path(folder))
        walk.files.clear()
        team.ask()
        team.service.close()
    return walk


FIRST = {
    "select": lambda: walked_first(select_votes),
    "top_k": first_top_k,
    "http": first_http,
}


def _readers() -> discreet.Session:
    """A session over a relation of DuckDB."""
    connection = duckdb.connect()
    rows = connection.sql(
        "select range as reader, ['news', 'chess', 'opera'][1 + range % 5 // 2] as article "
        "from range(3000)"
    )
    budget = discreet.ApproxDP(1000, 1e-3)
    return discreet.Session(rows, unit=discreet.Person("reader"), budget=budget)


def walk_top_k() -> Walk:
    """`Session.top_k` of an unknown domain, from a table in DuckDB: the same question, asked
    anew.
    """
    ask, question = _readers().ask, TopK("article", k=3, epsilon=1, delta=1e-6, limit=30)
    return walked(lambda: ask(question, fresh=True))


def walk_new_top_k() -> Walk:
    """The same, but each time another question."""
    asked, limits = _readers().top_k, itertools.count(30)
    return walked(lambda: asked("article", k=3, epsilon=1, delta=1e-6, limit=next(limits)))


def walk_reserve() -> Walk:
    """`Ledger.reserve` in a file."""
    loss = discreet.PureDP(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        discreet.Ledger(f"sqlite:///{folder}/budget.db") as ledger,
    ):
        ledger.open("survey", budget=discreet.PureDP(1000))
        return walked(lambda: ledger.reserve("survey", loss, request={"what": "mode"}))


ASKED = {
    "mode": ("--candidates", "chess,news,opera"),
    "top-k": ("--candidates", "chess,news,opera", "-k", "2"),
}
"""Shell commands that are walked, and the options that only they have."""


def walk_command(name: str) -> Walk:
    """A shell command that asks a CSV file. Every run opens the file and a session anew."""
    from discreet.cli import main

    with tempfile.TemporaryDirectory() as folder:
        rows = (f"{reader},{['news', 'chess', 'opera'][reader % 3]}\n" for reader in range(300))
        table = Path(folder) / "reads.csv"
        table.write_text("reader,article\n" + "".join(rows))
        who = ("--column", "article", "--person", "reader", "--epsilon", "1")
        words = (name, str(table), *who, *ASKED[name])

        def call() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(words) == 0

        return walked(call, tapes=10)


WALKS = {
    "select": ("`select`", walk_select),
    "top_k": ("`Session.top_k`, unknown domain", walk_top_k),
    "new_top_k": ("`Session.top_k`, another question each time", walk_new_top_k),
    "reserve": ("`Ledger.reserve`", walk_reserve),
}


def all_walks() -> dict[str, Walk]:
    """All walks by their short names."""
    return {name: walk() for name, (_, walk) in WALKS.items()}


def table(walks: dict[str, Walk]) -> str:
    """The walks as a table for the page."""
    lines = ["| walk | modules | functions | jumps between files |", "|---|--:|--:|--:|"]
    for name, walk in walks.items():
        title = WALKS[name][0]
        lines.append(f"| {title} | {len(walk.files)} | {len(walk.functions)} | {walk.jumps} |")
    return "\n".join(lines)


BLOCK = re.compile(r"(<!-- walks -->\n).*?(\n<!-- end -->)", re.DOTALL)


def written(text: str, walks: dict[str, Walk]) -> str:
    """The page with the table of these walks."""
    return BLOCK.sub(lambda found: f"{found[1]}{table(walks)}{found[2]}", text)


if __name__ == "__main__" and sys.argv[1:]:
    with mock.patch.object(os, "urandom", random.Random(1).randbytes):
        print(json.dumps(FIRST[sys.argv[1]]().files))
elif __name__ == "__main__":
    found = all_walks()
    print(table(found))
    for name, walk in found.items():
        print(f"\n{WALKS[name][0]}\n  " + "\n  ".join(walk.files))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
