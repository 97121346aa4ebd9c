"""The state of a running service: data sets, ledger, tables and threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar

from discreet.accounting.coin_table import NotCertifiedError, coin_terms, without_playing
from discreet.service.answering import Answering
from discreet.service.datasets import Published, require_sources
from discreet.service.fixed_time import PacedLedger
from discreet.service.manifest import Manifest
from discreet.service.problems import BUSY, CERTIFYING, RefusedError
from discreet.service.store import Store
from discreet.service.thread_pool import ThreadPool

Result = TypeVar("Result")
Called = ParamSpec("Called")

_MOST_QUESTIONS = 256
"""How many questions are answered at once: most of them only wait for their time."""
_MOST_LOOKS = 40
"""How many threads read the ledger."""
_MOST_WAITING = 8
"""How many requests of one analyst wait for what is computed for nothing, such as prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a service is reached.

    hosts: the host names that it answers under; any other is refused, against DNS
        rebinding.
    secure: whether browsers reach it by HTTPS only.
    """

    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost", "[::1]"})
    secure: bool = False


@dataclass(slots=True)
class _Turn:
    """The free requests of one analyst: one is computed, and so many are there."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    requests: int = 0


@dataclass(slots=True)
class Service:
    """A running service: the published data sets, the ledger, and the service's own tables."""

    published: Published
    ledger: PacedLedger
    store: Store
    settings: Settings
    answering: Answering
    _looking: ThreadPool = field(default_factory=lambda: ThreadPool(_MOST_LOOKS), repr=False)
    _asking: ThreadPool = field(default_factory=lambda: ThreadPool(_MOST_QUESTIONS), repr=False)
    _promises: dict[str, asyncio.Task[None]] = field(default_factory=dict, repr=False)
    _turns: dict[str, _Turn] = field(default_factory=dict, repr=False)
    _certifying: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def open(
        cls,
        manifest: Manifest,
        *,
        ledger: str,
        store: str,
        anchor_file: str | None = None,
        settings: Settings | None = None,
    ) -> Service:
        """Open a service. The manifest is checked before the ledger is touched."""
        require_sources(manifest)
        book = PacedLedger(ledger, anchor_file=anchor_file)
        published = Published(manifest, book)
        kept = Store(store)
        return cls(published, book, kept, settings or Settings(), Answering(published, kept))

    def later(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start to answer a question that no client waits for.

        name: the name of the promise.
        """
        # the event loop keeps no strong reference to a task
        task = self._promises[name] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._promises.pop(name))

    def carries_out(self, name: str) -> bool:
        """True if this process answers the question of a promise."""
        return name in self._promises

    async def drain(self) -> None:
        """Wait for the questions that no client waits for."""
        await asyncio.gather(*self._promises.values(), return_exceptions=True)

    def close(self) -> None:
        """Close everything."""
        self._looking.close()
        self._asking.close()
        self.published.close()
        self.ledger.close()
        self.store.close()

    async def quickly(
        self, function: Callable[Called, Result], *args: Called.args, **kwargs: Called.kwargs
    ) -> Result:
        """Run a function that reads the ledger, in a thread."""
        return await self._looking.run(lambda: self._asked(lambda: function(*args, **kwargs)))

    async def freely(
        self,
        analyst: str,
        function: Callable[Called, Result],
        *args: Called.args,
        **kwargs: Called.kwargs,
    ) -> Result:
        """Run a function whose result costs nothing and takes seconds, in a thread: one at a
        time for each analyst, so that nobody takes the time of others with it.
        """
        turn = self._turns.setdefault(analyst, _Turn())
        if turn.requests >= _MOST_WAITING:
            raise RefusedError(BUSY)
        turn.requests += 1
        try:
            async with turn.lock:
                return await self.quickly(function, *args, **kwargs)
        finally:
            turn.requests -= 1
            if not turn.requests:
                del self._turns[analyst]

    def _asked(self, function: Callable[[], Result]) -> Result:
        """The result of a function that a request waits for. The coins of a budget are not
        computed meanwhile, but by themselves: that can take a minute.
        """
        try:
            with without_playing():
                return function()
        except NotCertifiedError as error:
            budget = error.budget
        if self._certifying.acquire(blocking=False):
            threading.Thread(target=self._certify, args=budget, daemon=True).start()
        raise RefusedError(CERTIFYING)

    def _certify(self, epsilon: Fraction, delta: Fraction) -> None:
        """Compute the coins of a budget. They are remembered."""
        try:
            coin_terms(epsilon, delta)
        finally:
            self._certifying.release()

    async def at_once(
        self, function: Callable[Called, Result], *args: Called.args, **kwargs: Called.kwargs
    ) -> Result:
        """Run a function that reads the service's own tables, and nothing else. If they
        are a file, it runs here: that takes less time than the way to a thread and
        back, and readers do not wait for writers.
        """
        if self.store.is_near:
            return function(*args, **kwargs)
        return await self.quickly(function, *args, **kwargs)

    async def patiently(
        self, function: Callable[Called, Result], *args: Called.args, **kwargs: Called.kwargs
    ) -> Result:
        """Run a function that waits for its time, in a thread. It is carried out even
        if the client has gone.
        """
        if self._asking.is_full:
            raise RefusedError(BUSY)
        return await self._asking.run(lambda: self._asked(lambda: function(*args, **kwargs)))
