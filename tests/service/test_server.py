"""Where a service listens, and what people type to get there."""

from __future__ import annotations

import socket

import pytest

from discreet import ParameterError
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
