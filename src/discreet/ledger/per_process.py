"""One connection for each process: a forked child must not touch its parent's.

SQLite goes further: a child must not even have it. The library remembers in its memory which locks the process holds, a child inherits
that memory but not the locks, and so it would write without them; when the parent closed its connection, the log that the child writes
to would be deleted under it. So such a connection is closed before a fork, and both processes open their own when they need one.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Something that is made when it is first needed in a process, and used by one thread at a time.

    forget: what a forked child does with what it inherited; if not given, there is nothing, because it is closed before the fork.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], None], forget: Callable[[T], None] | None = None) -> None:
        self._make, self._close, self._forget = make, close, forget
        self._of_parents: list[T] = []  # kept, because being forgotten would close them
        self._start()
        made_anew(self)
        if forget is None:
            _closed_before.add(self)

    @contextmanager
    def hold(self) -> Iterator[T]:
        """The thing, until the end of the block."""
        with self._lock:
            if not self._things:
                self._things.append(self._make())
            holders = self._holders  # those of this process: it may be another one at the end of the block
            holders.append(None)
            try:
                yield self._things[0]
            finally:
                holders.pop()

    def drop(self) -> None:
        """When nobody uses it any more, close it; the next one who needs it makes another."""
        with self._lock:
            while self._things:
                self._close(self._things.pop())

    def before_fork(self) -> None:
        """Wait until no other thread uses it, and close it."""
        self._lock.acquire()
        if not self._holders:  # else the thread that forks is using it itself
            self.drop()

    def after_fork(self) -> None:
        """In the parent: go on."""
        self._lock.release()

    def start_anew(self) -> None:
        """In the child: the other threads of the parent are not here, nor what they were doing."""
        self._of_parents += self._things
        if self._forget is not None:
            for thing in self._things:
                self._forget(thing)
        self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._things: list[T] = []
        self._holders: list[None] = []


class Inherited(Protocol):
    """What a forked child has to make anew."""

    def start_anew(self) -> None:
        """In the child, before anything else runs there."""


_closed_before: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()
_inherited: weakref.WeakSet[Any] = weakref.WeakSet()
_one_fork = threading.Lock()
_waiting: list[PerProcess[Any]] = []  # those that are held during a fork


def made_anew(one: Inherited) -> None:
    """Have it told when it finds itself in a forked child."""
    _inherited.add(one)


def _before() -> None:
    _one_fork.acquire()
    for one in list(_closed_before):
        one.before_fork()
        _waiting.append(one)


def _in_parent() -> None:
    while _waiting:
        _waiting.pop().after_fork()
    _one_fork.release()


def _in_child() -> None:
    global _one_fork
    _one_fork = threading.Lock()
    _waiting.clear()
    for one in list(_inherited):
        one.start_anew()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
