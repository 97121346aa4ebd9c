"""Runs the everyday suite again and again in random order, every other time on a busy machine.

`make flakes` calls this. A test that fails here depends on another test, on a clock or on a
thread's turn: find the cause. The table it prints is the record of the runs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SUITE = "not slow and not browser and not schema"
OUTCOME = re.compile(r"=+ (.*\b(?:passed|failed|error).*) in [\d.]+s.* =+")


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """As many processes as the machine has cores, each of them never idle."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(seed: int, workers: int) -> tuple[int, str, str]:
    """One run: 0 if it passed and said nothing on stderr, what pytest counted, and all that it
    printed. Libraries complain there at the end of a process, after the tests.
    """
    command = [sys.executable, "-m", "pytest", "-p", "pytest_randomly", f"--randomly-seed={seed}"]
    command += ["-n", str(workers), "--dist", "worksteal", "-m", SUITE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counted = OUTCOME.findall(done.stdout)
    outcome = counted[-1] if counted else "ended early"
    if done.stderr:
        outcome += ", and something on stderr"
    return done.returncode or int(bool(done.stderr)), outcome, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    failures = 0
    print("| seed | beside it | result | wall time |\n|--:|---|---|--:|", flush=True)
    for number in range(options.runs):
        seed, hogs = options.first_seed + number, (os.cpu_count() or 1) * (number % 2)
        start = time.monotonic()
        with busy(hogs):
            code, counted, printed = run(seed, options.workers)
        beside = f"{hogs} busy processes" if hogs else "nothing"
        seconds = time.monotonic() - start
        print(f"| {seed} | {beside} | {counted} | {seconds:.0f} s |", flush=True)
        if code:
            failures += 1
            print(printed[-20_000:], file=sys.stderr, flush=True)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
