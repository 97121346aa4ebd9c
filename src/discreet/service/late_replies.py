"""How many replies were not ready at their first time."""

from __future__ import annotations

import threading
import time
from collections import Counter

from discreet.service.store import Store


class LateReplies:
    """Counts late replies, and notes them once a second at most: under load every reply is
    late, and a durable note of each would make the next one later.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._noted = 0.0

    def add(self, dataset: str) -> None:
        """One more."""
        with self._lock:
            self._waiting[dataset] += 1
            if time.monotonic() < self._noted + 1:
                return
            self._noted = time.monotonic()
        self.note()

    def note(self) -> None:
        """Write down those that are not noted yet."""
        with self._lock:
            found, self._waiting = self._waiting, Counter()
        for dataset, number in found.items():
            self._store.add_late(dataset, number)
