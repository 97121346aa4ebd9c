"""Clients of one ledger that are killed at random points: python kill.py URL FOLDER CLIENTS KILLS
SEED

Each client reserves, releases (appends a line to its own file, and waits for the disk) and
settles, again and again. It has to be killed to end. When a budget is used up, everybody goes on
with the next one.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from discreet import (
    BudgetExceededError,
    Ledger,
    PureDP,
    Release,
    ReservationLostError,
    ReservationRunningError,
)

EPSILON = PureDP(0.01)
BUDGET = PureDP(1)


def client(url: str, file: Path, seed: int) -> None:
    """Ask until killed."""
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


def start(url: str, file: Path, seed: int) -> int:
    """A new client, forked from this process, which has no ledger open."""
    process = os.fork()
    if not process:
        try:
            client(url, file, seed)
        except BaseException as problem:
            file.with_suffix(".problem").write_text(repr(problem))
        finally:
            os._exit(1)
    return process


def main(url: str, folder: Path, clients: int, kills: int, seed: int) -> None:
    """Kill and start clients, one at a time, and in the end all of them at once."""
    chance = random.Random(seed)
    names = (folder / f"{number}.releases" for number in range(clients + kills))
    running = [start(url, next(names), chance.getrandbits(32)) for _ in range(clients)]
    for _ in range(kills):
        time.sleep(chance.uniform(0, 3 / clients))  # so a client lives for a second or two
        place = chance.randrange(clients)
        os.kill(running[place], signal.SIGKILL)
        os.waitpid(running[place], 0)
        running[place] = start(url, next(names), chance.getrandbits(32))
    time.sleep(0.5)
    for process in running:
        os.kill(process, signal.SIGKILL)
    for process in running:
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
