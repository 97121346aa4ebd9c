"""The application: who is admitted to which address, and how every error becomes a reply."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service import api, async_answers, pages, steward_api
from discreet.service.bodies import read_bytes, read_json
from discreet.service.problems import (
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    UNAUTHORIZED,
    UNAVAILABLE,
    WRONG_HOST,
    RefusedError,
)
from discreet.service.routes import Call, Endpoint, admits, describe, reply, show_key
from discreet.service.state import Service

ENDPOINTS: tuple[Endpoint, ...] = (
    *api.ENDPOINTS,
    *async_answers.ENDPOINTS,
    *api.WISHES,
    *steward_api.ENDPOINTS,
    *steward_api.FIGURES,
)
"""Every address of the API that needs a key."""

# One line has the method, the address as in the table, and the status; never a name, a
# time, a question or an answer.
_LOG = logging.getLogger("discreet.service")

_HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": (
        b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        b"base-uri 'none'; frame-ancestors 'none'"
    ),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}


def make_application(service: Service) -> ASGIApp:
    """The whole application for one service."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await service.drain()
        service.close()

    application = Starlette(
        routes=[*_api_routes(service), *pages.routes(service)],
        lifespan=lifespan,
        exception_handlers={
            404: _not_found,
            405: _wrong_method,
            RefusedError: _refused,
            Exception: _unforeseen,
        },
    )
    # a redirect would name http behind a proxy that brings TLS, and the key would follow it
    application.router.redirect_slashes = False
    return _Guard(application, service)


def _api_routes(service: Service) -> Sequence[BaseRoute]:
    open_to_all = [
        Route("/openapi.json", _constant(_description())),
        Route("/healthz", _healthy),
        Route("/readyz", _ready(service)),
    ]
    return open_to_all + [
        Route(each.path, _endpoint(service, each), methods=[each.method]) for each in ENDPOINTS
    ]


def _endpoint(service: Service, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        shown = text if scheme.lower() == "bearer" else ""
        caller = await service.at_once(service.store.caller, shown)
        if caller is None:
            raise RefusedError(UNAUTHORIZED)
        show_key(request, caller)
        if not admits(caller, endpoint.role):
            raise RefusedError(NOT_FOUND)
        body = read_json(await read_bytes(request)) if endpoint.takes_body else None
        return await endpoint.handler(Call(service, request, caller, body))

    return handle


# it follows from the table of addresses, the same for every service
@cache
def _description() -> bytes:
    return bytes(reply(describe(ENDPOINTS)).body)


def _constant(body: bytes) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        return Response(body, 200, None, "application/json")

    return handle


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok")


def _ready(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        await service.quickly(service.ledger.anchor)
        await service.quickly(service.store.require_ready)
        return PlainTextResponse("ok")

    return handle


async def _not_found(request: Request, error: Exception) -> Response:
    return pages.problem_page(request, NOT_FOUND)


async def _wrong_method(request: Request, error: Exception) -> Response:
    response = pages.problem_page(request, METHOD_NOT_ALLOWED)
    # an address may have a route for each of its methods
    found = {
        method
        for route in request.app.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods
    }
    response.headers["Allow"] = ", ".join(sorted(found))
    return response


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return pages.problem_page(request, error.problem)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return pages.problem_page(request, UNAVAILABLE)


class _Guard:
    """The outermost layer: it checks the host name, adds headers, makes one constant
    reply to any error that nobody foresaw, and writes one line to the log.
    """

    def __init__(self, application: ASGIApp, service: Service) -> None:
        self._application, self._service = application, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message["headers"])
            await send(message)

        try:
            if not self._is_host(scope):
                await WRONG_HOST.response()(scope, receive, sending)
            else:
                await self._application(scope, receive, sending)
        except Exception as error:
            # neither the reply nor the log has the error's text: it may depend on the rows
            kind = type(error).__name__
            if not status:
                await UNAVAILABLE.response()(scope, receive, sending)
            _LOG.error("unforeseen %s", kind)
        route = scope.get("route")
        _LOG.info("%s %s %s", scope["method"], getattr(route, "path", "-"), status)

    def _is_host(self, scope: Scope) -> bool:
        names = [value for name, value in scope["headers"] if name == b"host"]
        if len(names) != 1:
            return False
        host = names[0].decode("latin-1").lower()
        name, _, port = host.rpartition(":")
        plain = name if port.isdigit() and name else host
        return plain in self._service.settings.hosts


def _with_headers(headers: Any) -> list[tuple[bytes, bytes]]:
    said = [(name, value) for name, value in headers if name.lower() not in _HEADERS]
    return [*said, *_HEADERS.items()]
