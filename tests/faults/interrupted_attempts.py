"""Processes of a service that are killed while they answer a question that nobody waits for:
before its charge, between charge and answer, and between answer and note.

python interrupted_attempts.py FOLDER KEY: prints epsilon and address of each attempt.
"""

import os
import signal
import sys
import threading

from starlette.testclient import TestClient

from discreet.questions import mode
from discreet.service import fixed_time, store
from discreet.service.application import make_application
from discreet.service.manifest import Manifest
from discreet.service.state import Service

EPSILONS = ("0.1", "0.2", "0.3")
"""Of the attempts, in the order of the places below."""

PLACES = (
    (fixed_time.PacedLedger, "reserve"),
    (mode, "count_candidates"),
    (store.PromiseNotes, "end"),
)


printed = threading.Event()


def killed(*arguments, **options):
    """Dies here, once the address is known."""
    printed.wait()
    os.kill(os.getpid(), signal.SIGKILL)


def ask(folder, key, place, epsilon):
    """One process, until it is killed."""
    setattr(*place, killed)
    service = Service.open(
        Manifest.load(folder + "/discreet.toml"),
        ledger=f"sqlite:///{folder}/ledger.db",
        store=f"sqlite:///{folder}/keys.db",
    )
    with TestClient(make_application(service), base_url="http://localhost") as client:
        reply = client.post(
            "/v1/datasets/reads/answers",
            json={"what": "mode", "column": "article", "epsilon": epsilon},
            headers={"Authorization": f"Bearer {key}", "Prefer": "respond-async"},
        )
        print(epsilon, reply.headers["location"], flush=True)
        printed.set()
        signal.pause()


if __name__ == "__main__":
    children = []
    for place, epsilon in zip(PLACES, EPSILONS, strict=True):
        children.append(os.fork())
        if not children[-1]:
            ask(sys.argv[1], sys.argv[2], place, epsilon)
            os._exit(1)
    for child in children:
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
