"""The service under load, as ratios to a handler that does nothing, in the same run.

One worker, its clients in a process of their own, 16 connections (64 for charges). Replay:
the same question again. Charge: a reservation and its settlement alone. Question: a new
draw from a table of 3,000 rows in Parquet or CSV, with replies after 10 ms. Beside it the
order of work of services that ask first and charge afterwards, in the same harness. At the
end the memory of the server, before and after more questions, in ten steps.

    python benchmarks/service.py [SECONDS of each row] [SECONDS of the run for memory]
    python benchmarks/service.py 0 300: the run for memory alone
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import pandas
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from discreet import Ledger, Person, PureDP, Release, Session
from discreet.questions import Mode
from discreet.service.application import make_application
from discreet.service.manifest import Manifest
from discreet.service.state import Service

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
LONG = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
_STEPS = 10
_MANIFEST = """
[dataset.NAME]
title = "Reads"
source = "NAME.ENDING"
person = "reader"
persons = 1000
budget = { epsilon = "1000" }
as_of = "1"
reply_after = "10ms"
[dataset.NAME.column.article]
ask = ["mode"]
candidates = ["ant", "bee", "cat", "dog", "eel"]
[dataset.NAME.share]
team-a = { epsilon = "1000" }
"""


async def load(port: int, request: bytes, connections: int, seconds: float) -> list[float]:
    """The time of each reply, from connections that ask one after the other."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (started := time.perf_counter()) < end:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
                raise RuntimeError(head.split(b"\r\n")[0])
            times.append(time.perf_counter() - started)
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return times


def clients(port: int, request: bytes, connections: int, seconds: float, out: object) -> None:
    out.put(asyncio.run(load(port, request, connections, seconds)))  # type: ignore[attr-defined]


def measure(
    port: int, request: bytes, connections: int, seconds: float = SECONDS
) -> tuple[float, float]:
    """Replies a second, and the 99th percentile of their times in milliseconds."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=clients, args=(port, request, connections, seconds, out))
    process.start()
    times = out.get(timeout=120 + seconds)
    process.join()
    return len(times) / seconds, statistics.quantiles(times, n=100)[98] * 1000


def http(method: str, path: str, key: str = "", body: object = None) -> bytes:
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n"
    return (head + (f"Authorization: Bearer {key}\r\n" if key else "") + "\r\n").encode() + text


def resident() -> float:
    """The memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def extra_routes(service: Service, source: Path) -> list[Route]:
    """A charge alone; and a question that is answered first and charged afterwards."""
    loss = PureDP(0.00001)
    release = Release(value="ant", loss=loss, mechanism="permute-and-flip", candidates=5)
    own = threading.local()

    def charge() -> None:
        # without the wait for a fixed time
        with Ledger.reserve(
            service.ledger, "reads", loss, request={"what": "mode"}, analyst="team-a"
        ) as reservation:
            reservation.settle(release)

    def query_first() -> None:
        if not hasattr(own, "session"):
            own.session = Session(str(source), unit=Person("reader"), budget=PureDP(10**6))
        labels = ["ant", "bee", "cat", "dog", "eel"]
        own.session.ask(Mode("article", candidates=labels, epsilon=1), fresh=True)
        charge()

    async def charging(request: Request) -> PlainTextResponse:
        await service.patiently(charge)
        return PlainTextResponse("ok")

    async def asking_first(request: Request) -> PlainTextResponse:
        await service.patiently(query_first)
        return PlainTextResponse("ok")

    return [Route("/charge", charging), Route("/query-first", asking_first)]


def watch_memory(port: int, request: bytes) -> None:
    """The memory of the server, as more and more new questions are asked."""
    asked = 0.0
    asyncio.run(load(port, request, 1, 0.2))
    print("\n| questions | MiB |\n|--:|--:|")
    for _ in range(_STEPS):
        print(f"| {asked:,.0f} | {resident():,.0f} |", flush=True)
        asked += measure(port, request, 16, LONG / _STEPS)[0] * LONG / _STEPS
    print(f"| {asked:,.0f} | {resident():,.0f} |", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f"r{number % 1000},{('ant', 'bee', 'cat')[number % 3]}" for number in range(3000)]
        (folder / "lines.csv").write_text("\n".join(["reader,article", *rows]) + "\n")
        pandas.read_csv(folder / "lines.csv").to_parquet(folder / "reads.parquet")
        named = (("reads", "parquet"), ("lines", "csv"))
        manifest = [_MANIFEST.replace("NAME", name).replace("ENDING", end) for name, end in named]
        (folder / "discreet.toml").write_text("".join(manifest))
        service = Service.open(
            Manifest.load(folder / "discreet.toml"),
            ledger=f"sqlite:///{folder}/ledger.db",
            store=f"sqlite:///{folder}/keys.db",
        )
        key = service.store.add_key("team-a", "analyst", days=1).text
        application = make_application(service)
        application._application.router.routes.extend(  # type: ignore[attr-defined]
            extra_routes(service, folder / "reads.parquet")
        )
        config = uvicorn.Config(application, port=0, log_level="warning", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        path, lines = "/v1/datasets/reads/answers", "/v1/datasets/lines/answers"
        question = {"what": "mode", "column": "article", "epsilon": "0.001"}
        asks = {
            "no-op handler": (http("GET", "/healthz"), 16),
            "replay": (http("POST", path, key, question), 16),
            "durable charge, 64 clients": (http("GET", "/charge"), 64),
            "question, Parquet": (http("POST", path, key, question | {"fresh": True}), 16),
            "question, CSV": (http("POST", lines, key, question | {"fresh": True}), 16),
            "query, then charge": (http("GET", "/query-first"), 16),
        }
        base = 0.0
        print("| what | a second | ratio | p99 ms |\n|---|--:|--:|--:|")
        for said, (request, connections) in asks.items() if SECONDS else ():
            # the first one draws, opens and connects
            asyncio.run(load(port, request, 1, 0.2))
            rate, slow = measure(port, request, connections)
            base = base or rate
            print(f"| {said} | {rate:,.0f} | {rate / base:.3f} | {slow:,.0f} |", flush=True)
        watch_memory(port, asks["question, Parquet"][0])
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
