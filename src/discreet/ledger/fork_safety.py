"""One connection for each process: a forked child must not touch its parent's.

SQLite goes further: a child must not even have it. The library remembers in its memory
which locks the process holds; a child inherits that memory but not the locks, and would
write without them; and when the parent closes its connection, the log that the child
writes to is deleted under it. So such a connection is closed before a fork, and both
processes open their own when they need one.

That is what usually happens, and nothing rests on it. What Python runs around a fork
can be cut short: a signal handler that raises there (Ctrl-C, a deadline) ends it, and
the fork goes on; a fork by another library does not run it at all. So each process
finds its own things by its number, and what was open when a child was forked stays
known to it as inherited: the child refuses to open that file again, and never uses,
closes or forgets what it inherited.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from discreet.errors import LedgerError

T = TypeVar("T")

_LONGEST_FORK = 30.0
"""Seconds that others wait for a fork before they go on: the child then refuses what they open."""
_MOMENT = 0.001


class ForkLocal(Generic[T]):
    """A value that each process has for itself, made when it is first asked for there."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[int, T] = {}

    def get(self) -> T:
        """The value of this process."""
        process = os.getpid()
        found = self._values.get(process)
        # In one step: of two threads that come at once, both get the value of the first.
        return self._values.setdefault(process, self._make()) if found is None else found

    def pop(self) -> T | None:
        """The value of this process, if it was made; the next one who asks makes another."""
        return self._values.pop(os.getpid(), None)

    def set_inherited_aside(self) -> None:
        """In a new child: what is there under its number is that of an ancestor who
        died, and had it before.
        """
        process = os.getpid()
        if process in self._values:
            self._values[-process] = self._values.pop(process)


@dataclass(slots=True, eq=False)
class _Opened:
    """Something that is open, from before it is made until after it is closed.

    thing: kept here, because being forgotten would close it, in a child too.
    """

    process: int
    what: Hashable
    thing: Any = None


@dataclass(slots=True, eq=False)
class _State(Generic[T]):
    """What one process has."""

    lock: Any = field(default_factory=threading.RLock)
    usable: list[T] = field(default_factory=list)
    opened: list[_Opened] = field(default_factory=list)
    holders: list[None] = field(default_factory=list)


class ReopenAfterFork(Generic[T]):
    """Something that is made when it is first needed in a process, and used by one
    thread at a time.

    what: of things that must not be open twice over a fork, the same value for the same
        thing. A child that has inherited one is refused another.
    """

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], None],
        what: Callable[[], Hashable] | None = None,
    ) -> None:
        self._make, self._close, self._what = make, close, what
        self._states: ForkLocal[_State[T]] = ForkLocal(_State)
        _everyone[id(self)] = weakref.ref(self)

    @contextmanager
    def use(self) -> Iterator[T]:
        """The thing, until the end of the block."""
        state = self._states.get()
        patience = time.monotonic() + _LONGEST_FORK
        while True:
            with state.lock:
                # What is opened during a fork would be inherited.
                if state.usable or not _forks or time.monotonic() > patience:
                    if not state.usable:
                        self._fill(state)
                    state.holders.append(None)
                    try:
                        yield state.usable[0]
                    finally:
                        state.holders.pop()
                    return
            time.sleep(_MOMENT)

    def drop(self) -> None:
        """When nobody uses it any more, close it; the next one who needs it makes another."""
        state = self._states.get()
        with state.lock:
            self._empty(state)

    def before_fork(self) -> None:
        """Wait until no other thread uses it, and close it."""
        state = self._states.get()
        with state.lock:
            # Else the thread that forks is using it itself, and the child inherits it.
            if not state.holders:
                self._empty(state)

    def after_fork(self) -> None:
        """In the child: let go of what is the parent's. What comes next does not rest on it."""
        self._states.set_inherited_aside()

    def _fill(self, state: _State[T]) -> None:
        self._empty(state)
        what = None if self._what is None else self._what()
        require_not_inherited(what)
        one = _Opened(os.getpid(), what)
        state.opened.append(one)
        _open[one] = None
        try:
            one.thing = thing = self._make()
        except Exception:
            self._empty(state)
            raise
        state.usable.append(thing)

    def _empty(self, state: _State[T]) -> None:
        """Close what is open. Interrupted at any point, it is done again the next time."""
        state.usable.clear()
        while state.opened:
            one = state.opened[-1]
            if one.thing is not None:
                self._close(one.thing)
            _open.pop(one, None)
            state.opened.remove(one)

    def __del__(self) -> None:
        # Where Python ends, the names in here may be gone already.
        with suppress(Exception):
            _everyone.pop(id(self), None)
            self.drop()


_everyone: dict[int, weakref.ref[ReopenAfterFork[Any]]] = {}
_open: dict[_Opened, None] = {}
"""What is open, in this process or in those that it was forked from."""
_forks: list[None] = []
"""One for each thread that is about to fork."""


def require_not_inherited(what: Hashable) -> None:
    """Refuse something that was open when this process was forked."""
    process = os.getpid()
    for one in list(_open):
        if what is not None and one.what == what and one.process != process:
            raise LedgerError(
                "A ledger in a file must not be in use at the moment of a fork. Got a process that "
                "was "
                "forked in the middle of a charge. Start it anew, or by multiprocessing's 'spawn'."
            )


def require_own(process: int) -> None:
    """Refuse to use a connection that another process has made.

    process: the number of the one that made it.
    """
    if os.getpid() != process:
        raise LedgerError(
            "A connection must stay in its process. Got one that was forked while it was in use."
        )


def _listed() -> list[ReopenAfterFork[Any]]:
    found = [reference() for reference in list(_everyone.values())]
    return [one for one in found if one is not None]


def _before() -> None:
    for one in _listed():
        one.before_fork()


def _in_child() -> None:
    for opened in list(_open):
        # no process has this number: it was that of an ancestor who died
        opened.process = 0 if opened.process == os.getpid() else opened.process
    for one in _listed():
        one.after_fork()


# Windows has no forks
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
    # These are not in Python, so that no signal handler can raise in them: the count is always
    # right. What is registered last comes first before a fork.
    os.register_at_fork(
        before=partial(_forks.append, None), after_in_parent=_forks.pop, after_in_child=_forks.clear
    )
