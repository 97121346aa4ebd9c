"""One connection for each process: a forked child must not touch its parent's.

With SQLite a child must not even have it. The library remembers which locks the process has; a
child inherits that memory but not the locks, and would write without them; and when the parent
closes its connection, the log that the child writes to is deleted. So such a connection is closed
before a fork, and both processes open their own when they need one.

That usually happens, and nothing rests on it. What Python runs around a fork can be cut short by a
signal handler that raises (Ctrl-C, a deadline), and a fork by another library does not run it at
all. So each process finds its own things by its number, and a child knows what it inherited: it
refuses to open that file again, and never uses, closes or forgets what it inherited.
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

_LONGEST_FORK = 30.0  # seconds to wait for a fork; after that the child refuses what is opened
_MOMENT = 0.001


class ForkLocal(Generic[T]):
    """A value that each process has for itself, made when it is first needed there."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[int, T] = {}

    def get(self) -> T:
        """The value of this process."""
        process = os.getpid()
        value = self._values.get(process)
        # in one step: of two threads that come at once, both get the value of the first
        return self._values.setdefault(process, self._make()) if value is None else value

    def pop(self) -> T | None:
        """The value of this process, if it was made; the next call of `get` makes another."""
        return self._values.pop(os.getpid(), None)

    def set_inherited_aside(self) -> None:
        """In a new child: what is there under its number is of a dead ancestor that had it."""
        process = os.getpid()
        if process in self._values:
            self._values[-process] = self._values.pop(process)


@dataclass(slots=True, eq=False)
class _Opened:
    """Something that is open, from before it is made until after it is closed. It is kept here,
    because to forget it would close it, in a child too.
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
    """Something that is made when a process first needs it, and used by one thread at a time.

    what: for things that must not be open twice over a fork, the same value for the same thing. A
        child that has inherited one is refused another.
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
        """Close it once nobody uses it; the next one who needs it makes another."""
        state = self._states.get()
        with state.lock:
            self._empty(state)

    def before_fork(self) -> None:
        """Wait until no other thread uses it, and close it."""
        state = self._states.get()
        with state.lock:
            # otherwise the thread that forks is using it itself, and the child inherits it
            if not state.holders:
                self._empty(state)

    def after_fork(self) -> None:
        """In the child: let go of what is the parent's. Nothing later rests on this."""
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
        # when Python ends, these names may be gone already
        with suppress(Exception):
            _everyone.pop(id(self), None)
            self.drop()


_everyone: dict[int, weakref.ref[ReopenAfterFork[Any]]] = {}
_open: dict[_Opened, None] = {}
"""What is open, in this process or in its ancestors."""
_forks: list[None] = []
"""One for each thread that is about to fork."""


def require_not_inherited(what: Hashable) -> None:
    """Refuse something that was open when this process was forked."""
    process = os.getpid()
    for one in list(_open):
        if what is not None and one.what == what and one.process != process:
            raise LedgerError(
                "This process was forked while a ledger in a file was being charged. Start it "
                "anew, or use multiprocessing's 'spawn'."
            )


def require_own(process: int) -> None:
    """Refuse to go on with what another process, with this number, has begun: one charge would pay
    for two releases, or one process read another one's answers.
    """
    if os.getpid() != process:
        raise LedgerError(
            "An operation of a ledger, and its connection, must stay in its process. Got a fork of "
            "that process."
        )


def _all_alive() -> list[ReopenAfterFork[Any]]:
    each = [reference() for reference in list(_everyone.values())]
    return [one for one in each if one is not None]


def _before() -> None:
    for one in _all_alive():
        one.before_fork()


def _in_child() -> None:
    for opened in list(_open):
        # 0 is the number of no process: this was that of a dead ancestor
        opened.process = 0 if opened.process == os.getpid() else opened.process
    for one in _all_alive():
        one.after_fork()


# Windows has no forks
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
    # These are not in Python, so no signal handler can raise in them and the count is always right.
    # What is registered last runs first before a fork.
    os.register_at_fork(
        before=partial(_forks.append, None), after_in_parent=_forks.pop, after_in_child=_forks.clear
    )
