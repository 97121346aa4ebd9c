"""The state of a running service: data sets, ledger, tables and threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from discreet.service.answering import Answering
from discreet.service.manifest import Manifest
from discreet.service.pacing import PacedLedger
from discreet.service.problems import BUSY, RefusedError
from discreet.service.published import Published, require_sources
from discreet.service.store import Store
from discreet.service.thread_pool import ThreadPool

Result = TypeVar("Result")
Called = ParamSpec("Called")

_MOST_QUESTIONS = 256
"""How many questions are answered at once: most of them only wait for their time."""
_MOST_LOOKS = 40
"""How many threads read the ledger."""


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
        """Whether this process answers the question of a promise."""
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
        return await self._looking.run(lambda: function(*args, **kwargs))

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
        return await self._asking.run(lambda: function(*args, **kwargs))
