"""Where a service listens, and what people type to get there."""

from __future__ import annotations

import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from discreet import ParameterError
from discreet.service import server
from discreet.service.server import Running


def running(**where):
    return Running(manifest="manifest.toml", ledger="sqlite:///x.db", keys="", **where)


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:8000"), ("::1", "http://[::1]:8000")],
)
def test_the_address_is_one_that_a_browser_reads(host, address):
    assert running(host=host, port=8000).address == address


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


@pytest.mark.parametrize("workers", [1, 2])
def test_every_process_of_a_service_forbids_dumps(monkeypatch, workers):
    done = []
    monkeypatch.setattr(server, "forbid_dumps", lambda: done.append("forbidden"))
    monkeypatch.setattr(server, "show_log", lambda: None)
    monkeypatch.setattr(server, "make_application", lambda service: service)
    monkeypatch.setattr(Running, "open", lambda self: None)
    monkeypatch.setattr(server.uvicorn, "run", lambda application, **options: done.append("run"))
    monkeypatch.setenv("DISCREET_SERVICE", "")
    server.run(running(workers=workers), SimpleNamespace(close=lambda: None))
    assert done == ["forbidden", "run"]
    if workers > 1:
        # what each of them calls
        server.worker()
        assert done == ["forbidden", "run", "forbidden"]
