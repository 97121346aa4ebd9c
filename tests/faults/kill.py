"""Clients of one ledger that are killed at random points: python kill.py URL FOLDER CLIENTS KILLS
SEED

Each client reserves, releases (appends a line to its own file, and waits for the disk) and
settles, again and again. It has to be killed to end. When a budget is used up, everybody goes on
with the next one.

Nothing here waits for a time: a client is killed after the clients together have released a random
number of answers. The victim is any of them, at whatever point it has reached.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

from discreet import BudgetExceededError, Ledger, PureDP, Release
from discreet.errors import ReservationLostError, ReservationRunningError

EPSILON = PureDP(0.01)
BUDGET = PureDP(1)
RELEASED, FAILED = b".", b"!"
MOST_BETWEEN_KILLS = 16
"""Releases of all clients together from one kill to the next."""


def client(url: str, file: Path, seed: int, progress: int) -> None:
    """Ask until killed, and write a byte to `progress` after each release."""
    chance = random.Random(seed)
    ledger = Ledger(url, timeout=120)
    releases = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    done = 0
    while True:
        dataset = f"budget-{done}"
        ledger.open(dataset, budget=BUDGET)
        # every third request is one that others make too, and is answered once
        key = f"shared-{chance.randrange(10)}" if chance.random() < 1 / 3 else None
        try:
            reservation = ledger.reserve(
                dataset, EPSILON, request={"key": key}, key=key, replayable=True
            )
        except (ReservationLostError, ReservationRunningError):
            continue
        except BudgetExceededError:
            done += 1
            continue
        value = chance.getrandbits(64) if reservation.answer is None else reservation.answer.value
        if reservation.answer is None:
            reservation.settle(
                Release(value=value, loss=EPSILON, mechanism="test", candidates=None)
            )
        os.write(releases, f"{dataset} {reservation.number} {key} {value}\n".encode())
        os.fsync(releases)
        os.write(progress, RELEASED)


def start(url: str, file: Path, seed: int, progress: int) -> int:
    """A new client, forked from this process, which has no ledger open."""
    process = os.fork()
    if not process:
        try:
            client(url, file, seed, progress)
        except BaseException as problem:
            file.with_suffix(".problem").write_text(repr(problem))
            os.write(progress, FAILED)
        finally:
            os._exit(1)
    return process


def wait_for_releases(count: int, progress: int) -> bool:
    """Wait for this many releases; False if a client has failed."""
    return all(os.read(progress, 1) == RELEASED for _ in range(count))


def main(url: str, folder: Path, clients: int, kills: int, seed: int) -> None:
    """Kill and start clients, one at a time, and in the end all of them at once."""
    chance = random.Random(seed)
    reading, writing = os.pipe()
    names = (folder / f"{number}.releases" for number in range(clients + kills))

    def begin() -> int:
        return start(url, next(names), chance.getrandbits(32), writing)

    running = [begin() for _ in range(clients)]
    for _ in range(kills):
        if not wait_for_releases(chance.randrange(MOST_BETWEEN_KILLS), reading):
            break
        place = chance.randrange(clients)
        os.kill(running[place], signal.SIGKILL)
        os.waitpid(running[place], 0)
        running[place] = begin()
    else:
        wait_for_releases(MOST_BETWEEN_KILLS, reading)
    for process in running:
        os.kill(process, signal.SIGKILL)
    for process in running:
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
