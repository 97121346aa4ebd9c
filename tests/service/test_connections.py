"""Connections that take long, that are many, or that send what two programs read in two ways."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import pickle
import socket
import ssl
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from service.team import Team
from uvicorn.server import ServerState

from discreet import ParameterError
from discreet.service.connections import SECONDS, Connection, Doors
from discreet.service.server import Running, options

TLS = Path(__file__).parent / "tls"
FILES = {"certificate": f"{TLS}/certificate.pem", "private_key": f"{TLS}/key.pem"}
HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class Transport(asyncio.Transport):
    """The other end, in memory; `unread` is what the client has not read yet."""

    def __init__(self, address="192.0.2.1"):
        super().__init__({"peername": (address, 1), "sockname": ("192.0.2.2", 2)})
        self.sent, self.unread, self.closed, self.aborted = b"", 0, False, False

    def write(self, data):
        self.sent += data

    def get_write_buffer_size(self):
        return self.unread

    def is_closing(self):
        return self.closed or self.aborted

    def close(self):
        self.closed = True

    def abort(self):
        if not self.aborted:
            self.aborted = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time goes on when it is told to."""

    now = 0.0

    def time(self):
        return self.now

    async def go_on(self, seconds=0.0):
        self.now += seconds
        for _ in range(10):
            await asyncio.sleep(0)


async def application(scope, receive, send):
    """Reply at once, or to /slow when its event is set; to /key as to somebody with a key."""
    if scope["path"] == "/key":
        scope["state"]["connection"].belongs_to("team-a")
    if scope["path"] == "/slow":
        await scope["state"]["event"].wait()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"reply"})


CONFIG = uvicorn.Config(application, log_config=None)
CONFIG.load()


def connect(clock, doors=None, *, address="192.0.2.1"):
    state = {"event": asyncio.Event()}
    doors = doors or Doors()
    connection = Connection(CONFIG, ServerState(), state, clock, doors=doors)
    transport = Transport(address)
    transport.protocol = connection
    connection.connection_made(transport)
    return connection, connection.transport


def played(scene):
    """A test in an event loop with a clock of its own."""

    def test(*args, **kwargs):
        with asyncio.Runner(loop_factory=Clock) as runner:
            runner.run(scene(runner.get_loop(), *args, **kwargs))

    test.__name__ = scene.__name__
    # pytest looks for the names of the other arguments
    signature = inspect.signature(scene)
    test.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    return test


@played
async def test_headers_must_be_there_in_time_however_they_drip(clock):
    connection, transport = connect(clock)
    for letter in HEAD[: SECONDS - 1]:
        connection.data_received(bytes([letter]))
        await clock.go_on(1)
    assert not transport.aborted
    await clock.go_on(1.1)
    assert transport.aborted


@played
async def test_a_request_that_is_being_answered_may_wait_as_long_as_it_takes(clock):
    connection, transport = connect(clock)
    connection.data_received(HEAD.replace(b"/", b"/slow", 1) + b"\r\n")
    await clock.go_on(1000)
    assert not transport.is_closing()
    connection.app_state["event"].set()
    await clock.go_on()
    assert transport.sent.endswith(b"reply\r\n0\r\n\r\n")


@played
async def test_after_a_reply_nothing_that_drips_keeps_it_open(clock):
    connection, transport = connect(clock)
    # the rest of a body that nobody wants
    connection.data_received(HEAD + b"Content-Length: 1000\r\n\r\n")
    await clock.go_on()
    assert b"reply" in transport.sent
    for _ in range(SECONDS - 1):
        connection.data_received(b"x")
        await clock.go_on(1)
    assert not transport.aborted
    await clock.go_on(1.1)
    assert transport.aborted


@pytest.mark.parametrize("ending", [b"", b"Connection: close\r\n"])
@played
async def test_who_does_not_read_a_reply_is_cut_off_and_who_reads_slowly_is_not(clock, ending):
    connection, transport = connect(clock)
    transport.unread = 10**6
    connection.data_received(HEAD + ending + b"\r\n")
    for _ in range(5):
        await clock.go_on(SECONDS + 0.1)
        transport.unread -= 20 * 1024
    assert not transport.aborted
    transport.unread += 20 * 1024 - 1
    await clock.go_on(SECONDS + 0.1)
    await clock.go_on(SECONDS + 0.1)
    assert transport.aborted


@played
async def test_who_stops_reading_in_the_middle_of_a_reply_is_cut_off(clock):
    connection, transport = connect(clock)
    connection.data_received(HEAD.replace(b"/", b"/slow", 1) + b"\r\n")
    connection.pause_writing()
    await clock.go_on(SECONDS - 1)
    connection.resume_writing()
    await clock.go_on(SECONDS - 1)
    assert not transport.aborted
    connection.pause_writing()
    await clock.go_on(SECONDS + 0.1)
    assert transport.aborted


LOOSE = {
    "both lengths": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "the other way": HEAD + b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a length of two": HEAD + b"Content-Length: 3, 4\r\n\r\nabcd",
    "a signed length": HEAD + b"Content-Length: +3\r\n\r\nabc",
    "another coding": HEAD + b"Transfer-Encoding: identity\r\n\r\n",
    "chunked twice": HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "a line that ends in LF": b"GET / HTTP/1.1\nHost: localhost\r\n\r\n",
    "a header that ends in LF": HEAD + b"A: b\nC: d\r\n\r\n",
    "an end of LF": HEAD + b"\n",
    "only LF": HEAD.replace(b"\r", b"") + b"\n",
    "a folded header": HEAD + b"A: b\r\n c\r\n\r\n",
    "folded by a tab": HEAD + b"A: b\r\n\tc\r\n\r\n",
    "a fold before any header": b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "a CR alone": HEAD + b"A: b\rC: d\r\n\r\n",
    "a space before the colon": HEAD + b"Content-Length : 3\r\n\r\nabc",
    "a zero byte": HEAD + b"A: \0\r\n\r\n",
    "a trailer that ends in LF": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n",
    "trailers that end in LF": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\n",
    "a folded trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n",
    "a chunk that ends in LF": HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("text", LOOSE.values(), ids=LOOSE)
@pytest.mark.parametrize("before", [b"", HEAD + b"\r\n"], ids=["first", "second"])
@played
async def test_what_two_programs_read_in_two_ways_is_refused_and_closed(clock, text, before):
    connection, transport = connect(clock)
    connection.data_received(before + text)
    await clock.go_on()
    assert transport.sent.count(b"HTTP/1.1 200") == (1 if before else 0)
    assert transport.sent.count(b"HTTP/1.1 400") == 1
    assert transport.is_closing()


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 3\r\n\r\na\nb",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\na\n \r\n0\r\n\r\n",
    ],
)
@played
async def test_bodies_may_have_any_lines_and_lengths_of_one_kind(clock, body):
    connection, transport = connect(clock)
    connection.data_received((HEAD + body) * 2)
    await clock.go_on()
    assert transport.sent.count(b"HTTP/1.1 200") == 2
    assert not transport.is_closing()


@played
async def test_one_address_has_so_many_and_loses_the_oldest_that_waits(clock):
    doors = Doors(most=100, most_per_address=3)
    busy, _ = connect(clock, doors)
    busy.data_received(HEAD.replace(b"/", b"/slow", 1) + b"\r\n")
    await clock.go_on()
    idle = [connect(clock, doors)[1] for _ in range(4)]
    other = connect(clock, doors, address="198.51.100.1")[1]
    assert [each.aborted for each in idle] == [True, True, False, False]
    assert not busy.transport.aborted
    assert not other.aborted


@played
async def test_one_subscriber_of_ipv6_is_one_address(clock):
    doors = Doors(most=100, most_per_address=1)
    first = connect(clock, doors, address="2001:db8::1")[1]
    second = connect(clock, doors, address="2001:db8::2:1")[1]
    other = connect(clock, doors, address="2001:db8:1::1")[1]
    assert [each.aborted for each in (first, second, other)] == [True, False, False]
    mapped = [connect(clock, doors, address=f"::ffff:192.0.2.{each}")[1] for each in (1, 2)]
    assert [each.aborted for each in mapped] == [False, False]


@played
async def test_of_many_addresses_the_one_with_most_makes_way(clock):
    doors = Doors(most=4, most_per_address=100)
    few = connect(clock, doors, address="198.51.100.1")[1]
    many = [connect(clock, doors)[1] for _ in range(9)]
    assert not few.aborted
    assert sum(each.aborted for each in many) == 6


@played
async def test_no_number_without_a_key_closes_one_with_a_key(clock):
    doors = Doors(most=2, most_per_address=2)
    known, transport = connect(clock, doors)
    known.data_received(HEAD.replace(b"/", b"/key", 1) + b"\r\n")
    await clock.go_on()
    for number in range(20):
        connect(clock, doors, address=f"192.0.2.{number}")
    assert not transport.aborted
    # and those with a key make way for each other
    for _ in range(2):
        other, _ = connect(clock, doors)
        other.data_received(HEAD.replace(b"/", b"/key", 1) + b"\r\n")
        await clock.go_on()
    assert transport.aborted


@played
async def test_what_is_closed_is_not_counted(clock):
    doors = Doors(most=2, most_per_address=2)
    first, transport = connect(clock, doors)
    for _ in range(9):
        connection, _ = connect(clock, doors)
        connection.connection_lost(None)
    assert not transport.aborted
    # a key that was looked up while the client went away
    transport.close()
    first.connection_lost(None)
    first.belongs_to("team-a")
    for crowd in (doors.with_key, doors.without_key):
        assert not crowd._owners
        assert not crowd._counts


@contextmanager
def served(team, doors, **files):
    """A team behind a socket, with connections of its own."""
    running = Running(manifest="", ledger="", keys="", port=0, **files)
    made = options(running) | {"log_config": None}
    made["http"].keywords["doors"] = doors
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(team.application, **made))
    thread = threading.Thread(target=server.run)
    thread.start()
    started.wait()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("files", [{}, FILES], ids=["plain", "TLS"])
def test_idle_connections_stop_neither_those_with_a_key_nor_new_ones(tmp_path, files):
    team = Team(tmp_path)
    doors = Doors(most=4, most_per_address=4)
    with served(team, doors, **files) as port, ExitStack() as stack:
        trusted = ssl.create_default_context(cafile=files["certificate"]) if files else None

        def client():
            kind = http.client.HTTPSConnection if files else http.client.HTTPConnection
            made = kind("127.0.0.1", port, **({"context": trusted} if files else {}))
            return stack.enter_context(closing(made))

        def status(one, path, **headers):
            one.request("GET", path, headers=headers)
            reply = one.getresponse()
            reply.read()
            return reply.status

        with_key, with_cookie = client(), client()
        key = team.headers("team-a")
        cookie = {"Cookie": f"discreet={team.service.store.use_key(team.keys['team-b'])}"}
        assert status(with_key, "/v1/datasets", **key) == 200
        assert status(with_cookie, "/", **cookie) == 200
        sockets = with_key.sock, with_cookie.sock
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(20)
        ]
        # the oldest of them are closed by the server, without a word
        for each in idle[:16]:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert status(client(), "/healthz") == 200
        assert status(with_key, "/v1/datasets", **key) == 200
        assert status(with_cookie, "/", **cookie) == 200
        assert sockets == (with_key.sock, with_cookie.sock)


def test_workers_can_be_handed_their_connections():
    running = Running(manifest="", ledger="", keys="", **FILES)
    assert pickle.loads(pickle.dumps(running.connections())).keywords["certificate"]


@pytest.mark.parametrize("name", ["nowhere.pem", "key.pem"])
def test_a_certificate_that_is_none_is_refused(name):
    wrong = Running(
        manifest="", ledger="", keys="", name="x", certificate=f"{TLS}/{name}", private_key=None
    )
    with pytest.raises(ParameterError, match="--certificate"):
        wrong.require_safe()
