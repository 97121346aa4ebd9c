"""Clients that ask a service while its processes are killed, and what must hold afterwards."""

import contextlib
import http.client
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from discreet import Ledger
from discreet.service.store import Store

SOURCE = Path(__file__).parents[2] / "src"
PATH = "/v1/datasets/reads/answers"
PORTS = range(20_000, 32_000)
"""Below those that the system gives to clients: otherwise a client that connects to a service that
is down may be given the service's port, and reach itself.
"""


def own_port():
    """A port that nobody uses and that the system gives to nobody."""
    while True:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def wait_until(condition):
    """Look until another process has done something, however long the machine takes."""
    deadline = time.monotonic() + 200
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)
    return found


class Served:
    """`discreet serve` on a folder with a manifest, started again whenever it was killed."""

    def __init__(self, folder, port, workers=1):
        self.folder, self.port, self.workers = folder, port, workers
        self.url = f"http://127.0.0.1:{port}"
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "discreet.cli", "serve", "--port", str(self.port)]
        command += ["--workers", str(self.workers)]
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_until(self.is_up)

    def is_up(self):
        """Whether it replies; it must not have ended."""
        assert self.process.poll() is None, "the service did not start"
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz"):
            return True
        return False

    def kill(self):
        """Kill the server and all its workers, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ask it to stop; whether it did by itself."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(200)


def key_for(folder, name):
    store = Store(f"sqlite:///{folder}/discreet-keys.db")
    try:
        return store.add_key(name, "analyst", days=1).text
    finally:
        store.close()


def ask(url, key, body):
    """The reply's status and bytes; None if there was no whole reply."""
    headers = {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url + PATH, json.dumps(body).encode(), headers)
    try:
        with opened(request) as reply:
            return reply.status, reply.read()
    except (OSError, ValueError, http.client.HTTPException):
        # nobody was there, or the reply was cut in the middle
        return None


def opened(request):
    """The reply, also where it is a refusal."""
    try:
        return urllib.request.urlopen(request, timeout=250)
    except urllib.error.HTTPError as error:
        return error


class Load:
    """What the clients of a storm have seen."""

    def __init__(self, questions):
        self.seen = {epsilon: set() for epsilon in questions}
        self.serving, self.ended = threading.Event(), False
        self._replies, self._changed = 0, threading.Condition()

    def add(self, epsilon, body):
        with self._changed:
            self.seen[epsilon].add(body)
            self._replies += 1
            self._changed.notify_all()

    def wait_for(self, replies):
        """Wait for this many more answers."""
        with self._changed:
            enough = self._replies + replies
            assert self._changed.wait_for(lambda: self._replies >= enough, 200)


def storm(served, key, *, clients, kills, questions, seed):
    """Many clients ask questions of a small set, again and again, while the service is killed
    after a random number of answers. What they saw: for each question, the bytes of every answer.
    """
    load = Load(questions)

    def client(number):
        chance = random.Random(seed + number)
        while load.serving.wait() and not load.ended:
            epsilon = chance.choice(questions)
            body = {"what": "mode", "column": "article", "epsilon": epsilon}
            found = ask(served.url, key, body)
            if found is not None and b"answer-lost" in found[1]:
                # killed between charge and answer: nobody has seen one, so pay once more
                found = ask(served.url, key, body | {"again": True})
            if found is not None and found[0] in (200, 201):
                load.add(epsilon, found[1])

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    load.serving.set()
    chance = random.Random(seed)
    try:
        for _ in range(kills):
            load.wait_for(chance.randrange(1, 2 * clients))
            load.serving.clear()
            served.kill()
            served.start()
            load.serving.set()
        load.wait_for(clients)
    finally:
        load.ended = True
        load.serving.set()
        for thread in threads:
            thread.join()
    return load.seen


def require_sound(folder, seen, budget):
    """Every answer that a client saw has its entry, in the same bytes; nothing is above its
    budget; the chain is intact.
    """
    from discreet.service.answering import as_bytes

    with Ledger(f"sqlite:///{folder}/discreet.db") as ledger:
        kept = {answer.number: answer for answer in ledger.answers("reads", limit=1000)}
        for epsilon, bodies in seen.items():
            assert len(bodies) <= 1, f"epsilon {epsilon} was answered in several ways"
            for body in bodies:
                assert as_bytes(kept[json.loads(body)["id"]], ledger) == body
        for account in ledger.accounts():
            assert account.spent <= account.limit
        assert ledger.account("reads").spent <= budget
        ledger.verify()
    return sum(len(bodies) for bodies in seen.values())
