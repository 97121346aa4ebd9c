"""The page: signing in, and what all screens share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from discreet.service.forms import Form, read_form
from discreet.service.keys import form_token
from discreet.service.numbers import shown_number
from discreet.service.problems import NOT_FOUND, UNAUTHORIZED, Problem, RefusedError
from discreet.service.routes import Call, Role, admits
from discreet.service.state import Service
from discreet.service.store import Caller

_COOKIE = "discreet"
_MOST_SECRET = 200


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody who is signed in."""

    service: Service
    request: Request
    caller: Caller
    cookie: str
    form: Form

    def path(self, name: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[name])

    def show(self, template: str, status: int = 200, **content: Any) -> Response:
        """A screen."""
        said = {"caller": self.caller, "token": form_token(self.cookie), **content}
        return html(template, status, **said)

    def as_call(self) -> Call:
        """The same request, as the API takes it."""
        return Call(self.service, self.request, self.caller, None)


Screen = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    """One line of the table of pages."""

    method: str
    path: str
    role: Role
    screen: Screen


@cache
def _templates() -> Environment:
    loader = PackageLoader("discreet.service", "templates")
    # everything is escaped; what is not defined is an error, not an empty place
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    made.filters["number"] = shown_number
    return made


def html(template: str, status: int = 200, **content: Any) -> Response:
    """A template as a reply."""
    said = {"caller": None, "token": "", **content}
    text = _templates().get_template(template).render(**said)
    return Response(text, status, None, "text/html; charset=utf-8")


def problem_page(request: Request, problem: Problem) -> Response:
    """A problem as programs read it, or as people do."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return problem.response()
    return html("problem.html", problem.status, problem=problem)


def see(address: str) -> Response:
    """Go on at another address of this server."""
    return RedirectResponse(address, 303)


def routes(service: Service) -> Sequence[BaseRoute]:
    """All addresses of the page."""
    from discreet.service.analyst_pages import PAGES as ANALYST
    from discreet.service.page_data import PAGES as DATA
    from discreet.service.steward_pages import PAGES as STEWARD

    own = [
        Route("/style.css", _file("style.css", "text/css; charset=utf-8")),
        Route("/icon.svg", _file("icon.svg", "image/svg+xml")),
        Route("/signin", _sign_in(service), methods=["GET", "POST"]),
        Route("/link/{secret}", _link(service), methods=["GET", "POST"]),
        Route("/signout", _sign_out(service), methods=["POST"]),
    ]
    return own + [
        Route(page.path, _screen(service, page), methods=[page.method])
        for page in (*DATA, *ANALYST, *STEWARD)
    ]


def _screen(service: Service, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        cookie = request.cookies.get(_COOKIE, "")
        caller = await service.quickly(service.store.signed_in, cookie)
        if caller is None and page.path.endswith(".json"):
            raise RefusedError(UNAUTHORIZED)
        if caller is None:
            return see("/signin")
        if not admits(caller, page.role):
            raise RefusedError(NOT_FOUND)
        if page.method == "POST":
            form = await read_form(request, cookie)
        else:
            form = Form(list(request.query_params.multi_items()))
        return await page.screen(Visit(service, request, caller, cookie, form))

    return handle


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """A file that is the same for everybody."""
    text = (files("discreet.service") / "templates" / name).read_text(encoding="utf-8")

    async def handle(request: Request) -> Response:
        return Response(text, 200, None, kind)

    return handle


def _with_cookie(service: Service, cookie: str) -> Response:
    response = see("/")
    response.set_cookie(
        _COOKIE, cookie, httponly=True, samesite="strict", secure=service.settings.secure, path="/"
    )
    return response


def _sign_in(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        if request.method == "GET":
            return html("signin.html", wrong=False)
        form = await read_form(request, None)
        cookie = await service.quickly(service.store.use_key, form.one("key")[:_MOST_SECRET])
        if cookie is None:
            return html("signin.html", 401, wrong=True)
        return _with_cookie(service, cookie)

    return handle


def _link(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        # A button first: a program that looks at links must not use it up.
        if request.method == "GET":
            return html("link.html")
        await read_form(request, None)
        secret = str(request.path_params["secret"])[:_MOST_SECRET]
        cookie = await service.quickly(service.store.use_link, secret)
        if cookie is None:
            return html("signin.html", 401, wrong=True)
        return _with_cookie(service, cookie)

    return handle


def _sign_out(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        cookie = request.cookies.get(_COOKIE, "")
        await read_form(request, cookie)
        await service.quickly(service.store.sign_out, cookie)
        response = see("/signin")
        response.delete_cookie(_COOKIE, path="/")
        return response

    return handle
