"""How the service is run: its address, its workers and its log."""

from __future__ import annotations

import ctypes
import errno
import logging
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from discreet import ParameterError
from discreet.ledger.address import read_address
from discreet.service.application import make_application
from discreet.service.connections import SECONDS, Connection, Doors, tls_context
from discreet.service.manifest import Manifest
from discreet.service.state import Service, Settings

_PR_SET_DUMPABLE = 4
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a service is run.

    ledger, keys: the addresses of the ledger and of the service's own tables.
    anchor_file: where the ledger's latest point is kept, if it is.
    name: the host name of its proxy or of its certificate, if it has one.
    """

    manifest: str
    # their addresses may have passwords
    ledger: str = field(repr=False)
    keys: str = field(repr=False)
    anchor_file: str | None = None
    host: str = "127.0.0.1"
    port: int = 8400
    workers: int = 1
    name: str | None = None
    certificate: str | None = None
    private_key: str | None = None

    def require_safe(self) -> None:
        """Refuse an address that others reach without encryption, or a certificate that
        cannot be used.
        """
        if self.host not in _LOOPBACK and self.name is None:
            hint = "Give the host name with --behind-proxy, or a certificate with --host-name."
            raise ParameterError("--host", "this computer", self.host, hint, owner="discreet serve")
        if self.certificate is not None:
            try:
                tls_context(self.certificate, self.private_key)
            except OSError:
                rule = "a certificate in PEM form, with the private key that belongs to it"
                raise ParameterError(
                    "--certificate", rule, self.certificate, owner="discreet serve"
                ) from None

    def ledger_is_new(self) -> bool:
        """True if the ledger is a file that is not there yet. In another folder the same name
        is another ledger, with the whole budget.
        """
        return read_address(self.ledger, owner="discreet serve", parameter="--ledger").is_new

    def require_free(self) -> None:
        """Refuse a port that is taken, before a link is made that would sign in elsewhere."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            socket.create_server((self.host, self.port), family=family).close()
        except OSError as error:
            wrong = ("--host", "an address of this computer", self.host, "")
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                taken = error.errno == errno.EADDRINUSE
                hint = "Is a service running there already?" if taken else ""
                wrong = ("--port", "free, and one that you may use", str(self.port), hint)
            name, rule, got, hint = wrong
            raise ParameterError(name, rule, got, hint, owner="discreet serve") from None

    @property
    def settings(self) -> Settings:
        """The host names that it answers under, and whether cookies need HTTPS."""
        own = Settings().hosts
        return Settings(
            hosts=own if self.name is None else own | {self.name.lower()},
            secure=self.name is not None,
        )

    @property
    def address(self) -> str:
        """The address that people type into a browser."""
        if self.name is not None:
            # a proxy has its own port
            other = self.certificate is not None and self.port != 443
            return f"https://{self.name}{f':{self.port}' if other else ''}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def connections(self) -> Callable[..., Connection]:
        """What makes each connection of a process."""
        files = {"certificate": self.certificate, "private_key": self.private_key}
        return partial(Connection, doors=Doors(), **files)

    def open(self, manifest: Manifest | None = None) -> Service:
        """Open the service for one worker.

        manifest: the one that was read at the start; if not given, it is read now.
        """
        return Service.open(
            manifest or Manifest.load(Path(self.manifest)),
            ledger=self.ledger,
            store=self.keys,
            anchor_file=self.anchor_file,
            settings=self.settings,
        )


def show_log() -> None:
    """Write one line for each request to the standard error."""
    log, lines = logging.getLogger("discreet.service"), logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    log.propagate = False


def forbid_dumps() -> None:
    """Keep this process's memory, with its rows and keys, out of files: no core is dumped
    where it crashes, and no other process of the same user may read it.
    """
    with suppress(ImportError):
        # it is not there on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # where cores are handed to a program, the limit is not heeded, but this is
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Worker:
    """Makes the application of one of several workers, in a process of its own.

    A worker that is started again must publish what the others do, so it gets the manifest
    as it was read at the start, and does not look at the file.
    """

    running: Running
    manifest: Manifest

    def __call__(self) -> ASGIApp:
        """Open the service in this process."""
        forbid_dumps()
        show_log()
        return make_application(self.running.open(self.manifest))


def options(running: Running) -> dict[str, Any]:
    """How uvicorn serves it."""
    return {
        "host": running.host,
        "port": running.port,
        # the service writes its own line for each request, without anything of the data
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "http": running.connections(),
        "ws": "none",
        # others may have uvloop, which TLS of our own was not tried with
        "loop": "asyncio",
        # who a client is, is known by its key and by nothing that it says in a header
        "proxy_headers": False,
        "timeout_keep_alive": SECONDS,
        # so many are accepted before the first of them is counted
        "backlog": 128,
    }


def run(running: Running, service: Service, *, log: bool = True) -> None:
    """Serve until told to stop; questions on their way are finished first.

    log: whether to write a line for each request.
    """
    forbid_dumps()
    if running.workers == 1:
        if log:
            show_log()
        uvicorn.run(make_application(service), **options(running))
        return
    service.close()
    # as `uvicorn.run` does, which takes the name of an application only
    config = uvicorn.Config(
        Worker(running, service.published.manifest),
        factory=True,
        workers=running.workers,
        **options(running),
    )
    Multiprocess(config, sockets=[config.bind_socket()]).run()


def free_port(host: str, wanted: int) -> int:
    """The port that was wanted, or another one if it is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    return wanted
