"""Where a service listens, and what people type to get there."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from service.team import MANIFEST, write

from discreet import ParameterError
from discreet.service import server
from discreet.service.manifest import Manifest
from discreet.service.server import Running, Worker


def running(**where):
    return Running(manifest="manifest.toml", ledger="sqlite:///x.db", keys="", **where)


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:8000"), ("::1", "http://[::1]:8000")],
)
def test_the_address_is_one_that_a_browser_reads(host, address):
    assert running(host=host, port=8000).address == address


def test_no_password_of_an_address_is_shown():
    secret = "postgresql://ada:swordfish@db/keys"
    assert "swordfish" not in repr(replace(running(), ledger=secret, keys=secret))


def test_a_port_that_is_taken_is_refused_and_a_free_one_is_not():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ParameterError, match="Is a service running there already"):
            running(host="127.0.0.1", port=port).require_free()
    running(host="127.0.0.1", port=port).require_free()


@pytest.mark.skipif(sys.platform != "linux", reason="cores are forbidden by a call of Linux")
def test_a_process_that_crashes_leaves_no_memory_behind():
    code = (
        "import ctypes, resource; from discreet.service.server import forbid_dumps; "
        "forbid_dumps(); "
        "print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "(0, 0) 0\n"


def test_every_process_of_a_service_forbids_dumps(monkeypatch):
    done = []
    monkeypatch.setattr(server, "forbid_dumps", lambda: done.append("forbidden"))
    monkeypatch.setattr(server, "show_log", lambda: None)
    monkeypatch.setattr(server, "make_application", lambda service: service)
    monkeypatch.setattr(Running, "open", lambda self, manifest: None)
    monkeypatch.setattr(server.uvicorn, "run", lambda application, **options: done.append("run"))
    server.run(running(), SimpleNamespace(close=lambda: None))
    assert done == ["forbidden", "run"]
    Worker(running(workers=2), None)()
    assert done == ["forbidden", "run", "forbidden"]


def test_a_worker_that_is_started_again_publishes_the_manifest_of_the_start(tmp_path, monkeypatch):
    """Also its list of candidates, and also if the file is broken by then."""
    listed = 'candidates = ["ant", "bee", "cat", "=cmd|\' /C calc\'!A0", "<b>bold</b>"]'
    write(tmp_path, MANIFEST.replace(listed, 'candidates = "articles.txt"'))
    (tmp_path / "articles.txt").write_text("ant\nbee\n")
    where = running(workers=2, host="127.0.0.1", port=0)
    where = replace(
        where,
        manifest=str(tmp_path / "discreet.toml"),
        ledger=f"sqlite:///{tmp_path}/ledger.db",
        keys=f"sqlite:///{tmp_path}/keys.db",
    )
    started = []

    class Supervisor:
        def __init__(self, config, sockets):
            for each in sockets:
                each.close()
            # uvicorn hands over the application to each worker like this
            started.append(pickle.dumps(config.app))

        def run(self):
            pass

    monkeypatch.setattr(server, "Multiprocess", Supervisor)
    server.run(where, where.open())
    before = Manifest.load(tmp_path / "discreet.toml").datasets["reads"]
    (tmp_path / "articles.txt").write_text("cat\n")
    (tmp_path / "discreet.toml").write_text("broken")
    opened = []
    monkeypatch.setattr(server, "make_application", opened.append)
    monkeypatch.setattr(server, "show_log", lambda: None)
    worker = pickle.loads(started[0])
    assert isinstance(worker, Worker)
    worker()
    (service,) = opened
    published = service.published.manifest.datasets["reads"]
    service.close()
    assert published == before
    assert published.column["article"].labels == ("ant", "bee")
