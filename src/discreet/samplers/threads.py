"""One pass over very many candidates by all cores of the process: NumPy lets go of the
interpreter while it computes.

A pass is cut into chunks by the number of candidates alone, and each thread takes the
next chunk when it is done with one. So neither the result, to the last bit, nor what is
done depends on a score; only the time depends on how many threads there are. The thread
that asks is one of them. It does every chunk that no other has taken, and waits only
for those that were taken: neither a pool that is busy nor one that a forked child has
inherited keeps a caller waiting.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Job = Callable[[Iterator[int]], None]
"""Does its work for each start that it gets. What it writes for one start must not
depend on the others.
"""

WORTH_A_THREAD = 1 << 19
"""Candidates for each thread; to wake one up for fewer takes longer than it helps."""


def share(job: Job, starts: range, candidates: int) -> None:
    """Do the job for all starts: one call for each thread, which share the starts.

    candidates: how many are looked at altogether, which says how many threads pay.
    """
    cores = _cores()
    threads = min(cores, len(starts), candidates // WORTH_A_THREAD)
    if threads > 1:
        _share(job, starts, threads - 1, cores - 1)
    else:
        job(iter(starts))


def _share(job: Job, starts: range, helpers: int, others: int) -> None:
    """Do the job in this thread and in `helpers` threads of the pool, which has `others`."""
    waiting = deque(starts)
    try:
        asked = _ask(job, waiting, helpers, others)
    except RuntimeError:
        # No thread can be started any more, as at the end of the interpreter.
        job(iter(starts))
        return
    try:
        job(_taken(waiting))
    finally:
        # If it failed, no thread takes another chunk.
        waiting.clear()
        begun = [future for future in asked if not future.cancel()]
        errors = [future.exception() for future in begun]
    for error in errors:
        if error is not None:
            raise error


def _ask(job: Job, waiting: deque[int], helpers: int, others: int) -> list[Future[None]]:
    """Let `helpers` threads of the pool do what is waiting; none if not all can be had."""
    pool = _pool(os.getpid(), others)
    try:
        # in the caller's context, which has what NumPy does about floating-point errors
        return [pool.submit(copy_context().run, job, _taken(waiting)) for _ in range(helpers)]
    except BaseException:
        # Threads that have begun, also one that `submit` did not return, must have ended
        # before the caller does their chunks: NumPy writes a result more than once.
        waiting.clear()
        _pool.cache_clear()
        pool.shutdown(cancel_futures=True)
        raise


def _taken(waiting: deque[int]) -> Iterator[int]:
    """The starts that are still waiting; each goes to one thread only."""
    while True:
        try:
            start = waiting.popleft()
        except IndexError:
            return
        yield start


@lru_cache(maxsize=1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """The threads of this process: a forked child has another number, and none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix="discreet")


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
