"""A pool of threads for functions that wait: for the ledger, the engine, or a fixed
time.

Every question goes to a thread and back, and with many clients that is most of the
server's work. So threads are kept, a job is one entry of a queue, and the event loop is
woken once for all jobs that have ended meanwhile, not once for each.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class ThreadPool:
    """Threads that are started when they are needed, and are then kept for the next
    job.

    most: how many there may be. Further jobs wait in a queue.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._busy = 0
        self._return: _Return | None = None

    @property
    def is_full(self) -> bool:
        """True if the next job would have to wait in the queue."""
        return self._busy >= self._most

    async def run(self, function: Callable[[], Result]) -> Result:
        """Run a function in a thread and return its result. It runs to its end even if
        nobody waits for it any more.
        """
        loop = asyncio.get_running_loop()
        if self._return is None or self._return.loop is not loop:
            self._return = _Return(loop)
        job = _Job(function, self._return)
        with self._lock:
            self._busy += 1
            new = self._threads < min(self._busy, self._most)
            self._threads += new
        if new:
            threading.Thread(target=self._work, daemon=True).start()
        self._jobs.put(job)
        await job.ended
        if job.error is not None:
            raise job.error
        result: Result = job.result
        return result

    def close(self) -> None:
        """Let the threads end after the jobs in the queue."""
        with self._lock:
            threads, self._threads = self._threads, 0
        for _ in range(threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            with self._lock:
                self._busy -= 1
            job.back.add(job)
            # otherwise this thread would keep the last answer until its next job
            del job


class _Job:
    """A function to be run, and its result or error."""

    __slots__ = ("back", "ended", "error", "function", "result")

    def __init__(self, function: Callable[[], Any], back: _Return) -> None:
        self.function, self.back = function, back
        self.ended: asyncio.Future[None] = back.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function."""
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error


class _Return:
    """The ended jobs of an event loop, and how the loop is told of them."""

    __slots__ = ("_ended", "_woken", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ended: deque[_Job] = deque()
        self._woken = False

    def add(self, job: _Job) -> None:
        """Add an ended job, and wake the loop unless it was woken already."""
        self._ended.append(job)
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._tell)
            except RuntimeError:
                # the loop has ended, so nobody waits any more
                self._ended.clear()

    def _tell(self) -> None:
        # set before the jobs are read: a job that is added later wakes the loop again
        self._woken = False
        while self._ended:
            ended = self._ended.popleft().ended
            # the waiting task may have been canceled
            if not ended.done():
                ended.set_result(None)
