"""kill -9 under load: nothing that was answered is forgotten, paid twice or drawn twice."""

import threading

import pytest
from faults import service_load
from service.team import MANIFEST, write

from discreet import Ledger

QUESTIONS = [f"0.00{number:02}" for number in range(1, 100)]
"""Many, so that a kill finds some on their way; together they cost half of a share."""


@pytest.fixture
def served(tmp_path):
    write(tmp_path, MANIFEST.replace('"10ms"', '"50ms"'))
    found = service_load.Served(tmp_path, service_load.own_port())
    yield found
    if found.process is not None and found.process.poll() is None:
        found.kill()


def test_kill_while_clients_ask(served):
    served.start()
    key = service_load.key_for(served.folder, "team-a")
    seen = service_load.storm(served, key, clients=3, kills=1, questions=QUESTIONS[:9], seed=1)
    assert service_load.require_sound(served.folder, seen, 3) >= 1


@pytest.mark.kills
@pytest.mark.timeout(1800)
def test_kill_while_64_clients_ask_several_workers(served):
    served.workers = 2
    served.start()
    key = service_load.key_for(served.folder, "team-a")
    seen = service_load.storm(served, key, clients=64, kills=10, questions=QUESTIONS, seed=2)
    assert service_load.require_sound(served.folder, seen, 3) >= 1


def test_told_to_stop_it_finishes_what_is_on_its_way(tmp_path):
    write(tmp_path, MANIFEST.replace('"10ms"', '"1500ms"'))
    served = service_load.Served(tmp_path, service_load.own_port())
    served.start()
    key, found = service_load.key_for(tmp_path, "team-a"), []
    body = {"what": "mode", "column": "article", "epsilon": "0.5"}
    thread = threading.Thread(target=lambda: found.append(service_load.ask(served.url, key, body)))
    thread.start()
    # however busy the machine is: it is on its way once it is paid for, and has to wait then
    with Ledger(f"sqlite:///{tmp_path}/discreet.db") as ledger:
        service_load.wait_until(lambda: ledger.account("reads").spent)
    # after it has finished it ends by the signal that it was sent
    assert served.stop() in (0, -15)
    thread.join()
    assert found[0][0] == 201
