"""One connection for each process: a forked child must not touch its parent's, not even to close it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Something that is made when it is first needed in a process, and used by one thread at a time."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], None]) -> None:
        self._make, self._close = make, close
        self._of_parents: list[T] = []  # kept, because being forgotten would close them
        self._start()

    @contextmanager
    def hold(self) -> Iterator[T]:
        """The thing, until the end of the block."""
        if self._process != os.getpid():
            self._of_parents += self._things
            self._start()
        with self._lock:
            if not self._things:
                self._things.append(self._make())
            yield self._things[0]

    def drop(self) -> None:
        """Close it; the next one who needs it makes another."""
        if self._process == os.getpid():
            while self._things:
                self._close(self._things.pop())

    def _start(self) -> None:
        self._process, self._lock = os.getpid(), threading.RLock()
        self._things: list[T] = []
