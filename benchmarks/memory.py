"""The extra memory of a selection, measured in a process of its own: `python memory.py CANDIDATES
DTYPE` prints JSON.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from subprocess import run
from typing import Any

from numpy.typing import NDArray


def extra_memory(size: int, dtype: str) -> dict[str, int]:
    """Bytes at the peak of each mechanism (tracemalloc sees NumPy's arrays), and by how much the
    process grew.
    """
    command = [sys.executable, str(Path(__file__).resolve()), str(size), dtype]
    found: dict[str, int] = json.loads(
        run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


def _measure(size: int, dtype: str) -> dict[str, int]:
    from competitors import OURS, normal, whole

    scores = normal(size) if dtype == "float64" else whole(normal(size))
    for mechanism in OURS.values():  # loads what is loaded late
        mechanism.select(scores[:2000])
    return _grown(scores, OURS) | _traced(scores, OURS)


def _grown(scores: NDArray[Any], mechanisms: dict[str, Any]) -> dict[str, int]:
    before = _most_resident()
    for mechanism in mechanisms.values():
        mechanism.select(scores)
    return {"process": _most_resident() - before}


def _most_resident() -> int:
    """The most memory that this process ever had, on Linux. (getrusage would count the parent's,
    too.)
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _traced(scores: NDArray[Any], mechanisms: dict[str, Any]) -> dict[str, int]:
    peaks = {}
    tracemalloc.start()
    for name, mechanism in mechanisms.items():
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        mechanism.select(scores)
        peaks[name] = tracemalloc.get_traced_memory()[1] - before
    return peaks


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), sys.argv[2])))
