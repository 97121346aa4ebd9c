"""Threads for what waits."""

import asyncio
import threading

import pytest

from discreet.service.thread_pool import ThreadPool


def test_jobs_run_side_by_side_and_threads_are_used_again():
    pool, together = ThreadPool(8), threading.Barrier(8)

    async def eight():
        return await asyncio.gather(
            *(pool.run(lambda: (together.wait(), threading.get_ident())[1]) for _ in range(8))
        )

    first = asyncio.run(eight())
    assert len(set(first)) == 8
    # another loop, the same threads
    assert set(asyncio.run(eight())) == set(first)
    pool.close()


def test_more_jobs_than_threads_stand_in_line():
    pool, gate = ThreadPool(2), threading.Event()

    async def three():
        jobs = [asyncio.create_task(pool.run(gate.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        full = pool.is_full
        gate.set()
        return full, await asyncio.gather(*jobs)

    assert asyncio.run(three()) == (True, [True] * 3)
    assert not pool.is_full
    pool.close()


def test_what_a_job_raises_is_raised_where_it_was_asked_for():
    pool = ThreadPool(1)

    def fail():
        raise LookupError("nothing there")

    async def two():
        with pytest.raises(LookupError, match="nothing there"):
            await pool.run(fail)
        return await pool.run(lambda: 7)

    assert asyncio.run(two()) == 7
    pool.close()


def test_a_job_is_carried_out_even_if_nobody_waits_for_it():
    pool, leaves, done = ThreadPool(1), threading.Event(), threading.Event()

    async def leave():
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def job():
            loop.call_soon_threadsafe(begun.set)
            leaves.wait()
            done.set()

        task = asyncio.create_task(pool.run(job))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        leaves.set()
        # the loop is told, and nobody minds
        return await pool.run(lambda: 7)

    assert asyncio.run(leave()) == 7
    assert done.is_set()
    pool.close()


def test_a_job_that_stands_in_line_is_carried_out_even_if_nobody_waits_for_it():
    pool, gate, done = ThreadPool(1), threading.Event(), threading.Event()

    async def leave():
        first = asyncio.create_task(pool.run(gate.wait))
        task = asyncio.create_task(pool.run(done.set))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        gate.set()
        await first
        return await pool.run(done.is_set)

    assert asyncio.run(leave())
    pool.close()


def test_many_jobs_that_end_at_once_are_all_told():
    pool = ThreadPool(16)

    async def many():
        return await asyncio.gather(*(pool.run(lambda n=n: n) for n in range(2000)))

    assert asyncio.run(many()) == list(range(2000))
    pool.close()


def test_threads_end_when_the_pool_is_closed():
    pool, found = ThreadPool(3), []

    async def one():
        await pool.run(lambda: found.append(threading.current_thread()))

    asyncio.run(one())
    pool.close()
    # without an end the test would hang
    found[0].join()
