"""The extra memory of a top-k, measured in a process of its own: `python top_k_memory.py
CANDIDATES K` prints JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import run
from typing import Any

from memory import _traced

Peaks = dict[str, dict[str, int]]
_PUBLISHED_UP_TO = (
    10**7
)  # pairs of candidate and rank: a hundred times as many would need tens of gigabytes


def extra_memory(size: int, k: int) -> Peaks:
    """By shape of the scores and competitor: bytes at the peak of one call (tracemalloc sees
    NumPy's arrays).
    """
    command = [sys.executable, str(Path(__file__).resolve()), str(size), str(k)]
    found: Peaks = json.loads(run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _measure(size: int, k: int) -> Peaks:
    from top_k import ONE, SELECT, mechanisms, shapes, unknown_domain_mechanism
    from top_k_peer import PublishedJoint

    made: dict[str, Any] = {
        ONE: SELECT["exponential"],
        **{name: found for (name, _), found in mechanisms([k]).items()},
    }
    if size * k <= _PUBLISHED_UP_TO:
        made["published joint"] = PublishedJoint(k, 1.0)
    peaks: Peaks = {}
    for shape, scores in shapes(size).items():
        here = made | (
            {} if scores.dtype.kind == "f" else {"unknown domain": unknown_domain_mechanism(k)}
        )
        for mechanism in here.values():  # loads what is loaded late
            mechanism.select(scores[:2000])
        peaks[shape] = _traced(scores, here)
    return peaks


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), int(sys.argv[2]))))
