"""The connections of clients: how long each may take, how many there may be, and who makes
way for whom. Requests whose end two programs could see in different places are refused.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import Counter
from functools import cache
from ipaddress import IPv6Address, ip_address
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10
"""How long a connection may wait for its client: for a handshake, for a request with all of
its headers, and for the client to read the next part of a reply."""
_SLOWEST = 10 * 1024
"""How many bytes of a reply a client must read in this time."""
_LARGEST_HEAD = 32 * 1024
_OTHER_LINES = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""A line that does not end in CR LF, or that goes on in the next one."""


class Crowd:
    """The connections that are open, the oldest first, each with its owner.

    most: how many there may be. One more, and the owner of most of them loses one.
    most_each: how many there may be of one owner.

    Whoever has to go is the oldest of an owner that waits for its client, else the oldest.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._owners: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, connection: Connection, owner: str) -> None:
        """Take in a connection, and close another one if there are too many."""
        self.remove(connection)
        self._owners[connection] = owner
        self._counts[owner] += 1
        if self._counts[owner] > self._most_each:
            self._close_one_of(owner)
        elif len(self._owners) > self._most:
            self._close_one_of(self._counts.most_common(1)[0][0])

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed, or has another owner."""
        owner = self._owners.pop(connection, None)
        if owner is not None:
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner]

    def _close_one_of(self, owner: str) -> None:
        theirs = [each for each, whose in self._owners.items() if whose == owner]
        closed = next((each for each in theirs if each.waits_for_client), theirs[0])
        self.remove(closed)
        closed.abort()


class Doors:
    """The connections of one process: those that have shown a key, by its name, and all
    others, by their address, so that no number of the latter closes one of the former.
    """

    def __init__(self, *, most: int = 400, most_per_address: int = 100) -> None:
        self.with_key = Crowd(most, most)
        self.without_key = Crowd(most, most_per_address)


class _StrictReader(h11.Connection):
    """Reads requests as h11 does, without its patience: lines end in CR LF and are not
    folded, and a body has one length.
    """

    def next_event(self) -> Any:
        """The next event, if all of its lines are as they should be."""
        before = self.trailing_data[0]
        event = super().next_event()
        if isinstance(event, h11.Request | h11.EndOfMessage):
            used = before[: len(before) - len(self.trailing_data[0])]
            names = {name for name, _ in event.headers}
            if _OTHER_LINES.search(used) or {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("other programs may read this differently")
        return event


class Connection(H11Protocol):
    """One connection of a client.

    doors: the other connections of this process.
    certificate, private_key: the files for TLS, if it is not left to a proxy. The
        handshake is made here, so that connections that never finish it count, too.
    """

    def __init__(
        self,
        *args: Any,
        doors: Doors,
        certificate: str | None = None,
        private_key: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.conn = _StrictReader(h11.SERVER, _LARGEST_HEAD)
        # each request finds its connection there
        self.app_state = {**self.app_state, "connection": self}
        self._doors = doors
        self._tls = None if certificate is None else tls_context(certificate, private_key)
        self._plain: asyncio.Transport | None = None
        self._early = b""
        self._handshake: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0

    @property
    def waits_for_client(self) -> bool:
        """True if it is the client's turn: to write the rest of a request, or to read."""
        return self._timer is not None or self.conn.their_state is h11.SEND_BODY

    def belongs_to(self, name: str) -> None:
        """Count it among those with a key, as one of this name."""
        if self._plain is not None and not self._plain.is_closing():
            self._doors.without_key.remove(self)
            self._doors.with_key.add(self, name)

    def abort(self) -> None:
        """Close it at once, whatever is on its way."""
        self._stop_timer()
        if self._plain is not None:
            self._plain.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, after the handshake if there is one."""
        self._plain = transport
        self._start_timer()
        self._doors.without_key.add(self, _network(transport))
        if self._tls is None:
            super().connection_made(transport)
        elif not transport.is_closing():
            self._handshake = self.loop.create_task(self._shake_hands(transport, self._tls))

    async def _shake_hands(self, plain: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            transport = await self.loop.start_tls(
                plain, self, tls, server_side=True, ssl_handshake_timeout=SECONDS
            )
        except (OSError, ssl.SSLError):
            self._leave()
            plain.abort()
            return
        if transport is not None and not transport.is_closing():
            super().connection_made(transport)
            self.data_received(self._early)

    def data_received(self, data: bytes) -> None:
        """Read what the client sent; some of it may come with the end of the handshake."""
        if self.transport is None:
            self._early += data
        elif data:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._leave()
        if self.transport is not None:
            super().connection_lost(exc)

    def _leave(self) -> None:
        self._stop_timer()
        self._doors.without_key.remove(self)
        self._doors.with_key.remove(self)

    def handle_events(self) -> None:
        """Read what has come; while a request is answered, the client need not hurry."""
        super().handle_events()
        if self._is_answering and not self.flow.write_paused:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, and close."""
        self._start_timer()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            # a reply had begun
            self.abort()

    def on_response_complete(self) -> None:
        """Begin to wait for the client to read the reply, and for its next request."""
        self._start_timer()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._start_timer()

    def resume_writing(self) -> None:
        """Go on with a reply of which the client has read enough."""
        super().resume_writing()
        if self._is_answering:
            self._stop_timer()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_timer(self) -> None:
        self._stop_timer()
        self._unread = self._count_unread()
        self._timer = self.loop.call_later(SECONDS, self._close_if_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_if_slow(self) -> None:
        if 0 < self._count_unread() <= self._unread - _SLOWEST:
            self._start_timer()
        else:
            self.abort()

    def _count_unread(self) -> int:
        # with TLS there are two buffers, else one
        layers = {each for each in (self._plain, self.transport) if each is not None}
        return sum(each.get_write_buffer_size() for each in layers)


@cache
def tls_context(certificate: str, private_key: str | None) -> ssl.SSLContext:
    """What a server with this certificate needs to encrypt."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, private_key)
    return context


def _network(transport: asyncio.Transport) -> str:
    """Identify the owner of a connection by its address: with version 6 of the protocol one
    subscriber has 2^64 of them.
    """
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return ""
    address = ip_address(str(peer[0]).partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or int(address) >> 64)
