"""What all web pages share: signing in, forms and their fields, templates and problems."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from discreet.questions.kinds import Choice, Flag, Kind, Listed, Numbers, Prices, Whole
from discreet.questions.question import Parameter
from discreet.service.bodies import read_bytes
from discreet.service.downloads import visible
from discreet.service.keys import form_token
from discreet.service.manifest import Dataset
from discreet.service.problems import (
    FORGED,
    NOT_FOUND,
    NOT_JSON,
    UNAUTHORIZED,
    Problem,
    RefusedError,
)
from discreet.service.questions import parameters, shown_number
from discreet.service.routes import Call, Role, admits, is_whole, show_key
from discreet.service.state import Service
from discreet.service.store import Caller

_COOKIE = "discreet"
_SECURE_COOKIE = "__Host-discreet"
"""The name where there is TLS: browsers take such a cookie from this very host only, so that
no other site of the same domain can sign somebody in as somebody else."""
_MOST_SECRET = 200


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a person who is signed in."""

    service: Service
    request: Request
    caller: Caller
    cookie: str
    form: Form

    def path(self, name: str) -> str:
        """The part of the address that has this name."""
        return str(self.request.path_params[name])

    def show(self, template: str, status: int = 200, **content: Any) -> Response:
        """Reply with a template, filled in for the person who is signed in."""
        said = {"caller": self.caller, "token": form_token(self.cookie), **content}
        return html(template, status, **said)

    def as_call(self) -> Call:
        """Convert the request to one that the API takes."""
        return Call(self.service, self.request, self.caller, None)


Screen = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    """One line of the table of pages: who may see which screen at which address."""

    method: str
    path: str
    role: Role
    screen: Screen


@cache
def _templates() -> Environment:
    loader = PackageLoader("discreet.service", "templates")
    # everything is escaped; a name that is not defined is an error, not an empty text
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, finalize=_shown)
    made.filters["number"] = shown_number
    # for attributes that come back with the form
    made.filters["exact"] = escape
    return made


def _shown(value: Any) -> Any:
    """Text without characters that hide or reorder what is beside it, whoever wrote it."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(visible(line) for line in value.split("\n"))


def html(template: str, status: int = 200, **content: Any) -> Response:
    """Reply with a template."""
    said = {"caller": None, "token": "", **content}
    text = _templates().get_template(template).render(**said)
    return Response(text, status, None, "text/html; charset=utf-8")


def problem_page(request: Request, problem: Problem) -> Response:
    """Reply with a problem: as JSON for programs, or as a page for people."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return problem.response()
    return html("problem.html", problem.status, problem=problem)


def see(address: str) -> Response:
    """Send the browser to another address of this server."""
    return RedirectResponse(address, 303)


def routes(service: Service) -> Sequence[BaseRoute]:
    """The routes of all web pages."""
    from discreet.service import analyst_pages, steward_pages

    own = [
        Route("/style.css", _file("style.css", "text/css; charset=utf-8")),
        Route("/icon.svg", _file("icon.svg", "image/svg+xml")),
        Route("/signin", _sign_in(service), methods=["GET", "POST"]),
        Route("/link/{secret}", _link(service), methods=["GET", "POST"]),
        Route("/signout", _sign_out(service), methods=["POST"]),
    ]
    return own + [
        Route(page.path, _screen(service, page), methods=[page.method])
        for each in (analyst_pages, steward_pages)
        for page in (*each.DATA, *each.PAGES)
    ]


def _screen(service: Service, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        cookie = request.cookies.get(cookie_name(service), "")
        caller = await service.quickly(service.store.signed_in, cookie)
        if caller is None and page.path.endswith(".json"):
            raise RefusedError(UNAUTHORIZED)
        if caller is None:
            return see("/signin")
        show_key(request, caller)
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


def cookie_name(service: Service) -> str:
    """The name of the cookie of those who are signed in."""
    return _SECURE_COOKIE if service.settings.secure else _COOKIE


def _cookie_words(service: Service) -> dict[str, Any]:
    secure = service.settings.secure
    return {"httponly": True, "samesite": "strict", "secure": secure, "path": "/"}


def _with_cookie(service: Service, cookie: str) -> Response:
    response = see("/")
    response.set_cookie(cookie_name(service), cookie, **_cookie_words(service))
    return response


def _sign_in(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        if request.method != "POST":
            return html("signin.html", wrong=False)
        form = await read_form(request, None)
        cookie = await service.quickly(service.store.use_key, form.one("key")[:_MOST_SECRET])
        if cookie is None:
            return html("signin.html", 401, wrong=True)
        return _with_cookie(service, cookie)

    return handle


def _link(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        # a button comes first: a program that previews links, by GET or HEAD, must not use
        # the link up
        if request.method != "POST":
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
        name = cookie_name(service)
        cookie = request.cookies.get(name, "")
        await read_form(request, cookie)
        await service.quickly(service.store.sign_out, cookie)
        response = see("/signin")
        # a browser removes a secure cookie only where the words are those that made it
        response.delete_cookie(name, **_cookie_words(service))
        return response

    return handle


class Form:
    """What a browser sent: each name with its values."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def one(self, name: str) -> str:
        """The value of a name; empty if there is none."""
        return self._values.get(name, [""])[0].strip()

    def all(self, name: str) -> list[str]:
        """All values of a name."""
        return self._values.get(name, [])

    def pairs(self) -> list[tuple[str, str]]:
        """All names with their values, to send the form again; without its token."""
        return [
            (name, value)
            for name, values in self._values.items()
            for value in values
            if name != "token"
        ]

    def values(self) -> dict[str, str]:
        """The first value of each name, to fill the form in again."""
        return {name: values[0] for name, values in self._values.items()}


async def read_form(request: Request, cookie: str | None) -> Form:
    """Read a form of this site; one from another site is refused.

    cookie: that of a person who is signed in, whose forms carry a token; None for forms
        before signing in.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise RefusedError(FORGED)
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise RefusedError(FORGED)
    text = (await read_bytes(request)).decode("utf-8", "replace")
    try:
        form = Form(parse_qsl(text, keep_blank_values=True, max_num_fields=2000))
    except ValueError:
        raise RefusedError(NOT_JSON) from None
    if cookie is not None:
        # as bytes, because compare_digest takes no text beyond ASCII
        shown = form.one("token").encode()
        if not hmac.compare_digest(shown, form_token(cookie).encode()):
            raise RefusedError(FORGED)
    return form


@dataclass(frozen=True, slots=True)
class Control:
    """One field of a form."""

    name: str
    label: str
    hint: str
    required: bool
    choices: tuple[str, ...]
    kind: str


def controls(what: str) -> list[Control]:
    """The fields of a question's form, required ones first."""
    found = [_control(each) for each in parameters(what)]
    return sorted(found, key=lambda each: not each.required)


def _control(parameter: Parameter) -> Control:
    choices, kind = _control_of(parameter.kind)
    return Control(
        name=parameter.name,
        label=_with_spaces(parameter.name),
        hint=parameter.help_in(_with_spaces),
        required=parameter.required,
        choices=choices,
        kind=kind,
    )


def _with_spaces(name: str) -> str:
    return name.replace("_", " ")


def _control_of(kind: Kind) -> tuple[tuple[str, ...], str]:
    """The words to choose from, and how a control for this kind is filled in."""
    match kind:
        case Choice():
            return kind.words, "text"
        case Flag():
            return (), "yes"
        case Whole():
            return (), "whole"
        case Listed() | Numbers() | Prices():
            return (), "list"
        case _:
            return (), "text"


def question_body(dataset: Dataset, what: str, form: Form) -> dict[str, Any]:
    """The body of the API's request for the question of a form."""
    body: dict[str, Any] = {"what": what}
    if form.one("column"):
        body["column"] = form.one("column")
    for each in controls(what):
        text = form.one(each.name)
        if text:
            body[each.name] = _value(each, text)
    where = _where(dataset, form)
    if where:
        body["where"] = where
    if form.one("windows"):
        body["windows"] = _listed(form.one("windows"))
    if form.one("fresh") == "yes":
        body["fresh"] = True
    if form.one("again") == "yes":
        body["again"] = True
    return body


def _value(control: Control, text: str) -> Any:
    if control.kind == "list":
        return _listed(text)
    if control.kind == "yes":
        return text == "yes"
    if control.kind == "whole" and is_whole(text):
        return int(text)
    return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _where(dataset: Dataset, form: Form) -> list[dict[str, Any]]:
    where: list[dict[str, Any]] = []
    for name, column in dataset.column.items():
        if column.filter == "range":
            edges = {edge: form.one(f"{edge}.{name}") for edge in ("at_least", "below")}
            said = {edge: text for edge, text in edges.items() if text}
            where += [{"column": name, **said}] if said else []
        elif column.filter == "any":
            typed = _listed(form.one(f"is.{name}"))
            where += [{"column": name, "is": typed}] if typed else []
        elif column.filter:
            chosen = form.all(f"is.{name}")
            values = [value for value in column.filter if str(value) in chosen]
            where += [{"column": name, "is": values}] if values else []
    return where


def flat(body: Mapping[str, Any]) -> dict[str, str]:
    """A question as the values of its form's fields, without conditions."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in body.items()
        if name != "where"
    }
