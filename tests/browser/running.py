"""A real service in a process of its own, and a browser that looks at it."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = "/usr/bin/chromium"
SOURCE = Path(__file__).parents[2] / "src"


@contextmanager
def served(*arguments, cwd=None):
    """The address of a service, and its one-time link."""
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=cwd
    ) as process:
        try:
            said = ""
            for line in process.stdout:
                said += line
                found = re.search(r"(http://[^/\s]+)/link/\S+", line)
                if found:
                    wait_for(found[1])
                    yield found[1], found[0]
                    break
            else:
                raise AssertionError(f"it did not start: {said} {process.stderr.read()}")
        finally:
            process.terminate()
            process.wait(30)


def wait_for(address):
    """Wait until it answers."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
