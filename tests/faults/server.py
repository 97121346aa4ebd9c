"""A PostgreSQL server that a test may stop and start."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines.with_servers import _free_port, _other_user, _run, find_programs


class Server:
    """The server, in its own directory and on its own port."""

    def __init__(self, home: Path, settings: str) -> None:
        self._home, self._user, self._programs = home, _other_user(), find_programs()
        self.port, self.password = _free_port(), secrets.token_hex(16)
        self._options = f"-p {self.port} -k '{home}' -c listen_addresses=localhost {settings}"
        self.url = f"postgresql+psycopg://discreet:{self.password}@localhost:{self.port}/postgres"
        (home / "password").write_text(self.password)
        if self._user:
            for path in (home, home / "password"):
                shutil.chown(path, self._user)
        secret = f"--pwfile={home / 'password'}"
        self._do(
            "initdb",
            "-U",
            "discreet",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            secret,
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._do("pg_ctl", "-l", self._home / "log", "-w", "-o", self._options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: "fast" says goodbye to all clients, "immediate" is a crash."""
        self._do("pg_ctl", "-m", mode, "-w", "stop")

    def _do(self, program: str, *arguments: object) -> None:
        assert self._programs is not None
        _run(self._user, self._programs / program, "-D", self._home / "data", *arguments)


@contextmanager
def a_server(settings: str = "") -> Iterator[Server]:
    """A running server, gone with its data in the end."""
    home = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    try:
        server = Server(home, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
