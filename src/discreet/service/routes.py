"""The table of addresses: which method, for whom, with which body. OpenAPI and the
tests are made from it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from discreet.service.problems import NOT_FOUND, RefusedError, invalid
from discreet.service.questions import Strict
from discreet.service.state import Service
from discreet.service.store import Caller

Role = Literal["anybody", "analyst", "steward"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was admitted.

    caller: who asks. body: what was sent, as JSON, not checked yet.
    """

    service: Service
    request: Request
    caller: Caller
    body: Any

    def path(self, name: str) -> str:
        """A part of the address. One that no database can hold leads nowhere."""
        found = str(self.request.path_params[name])
        if "\0" in found:
            raise RefusedError(NOT_FOUND)
        return found

    def number(self, name: str, default: int | None, most: int) -> int | None:
        """A whole number from the part of the address after the question mark."""
        text = self.request.query_params.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 19 and 1 <= int(text) <= most):
            raise invalid(f"/{name}", f"a whole number from 1 to {most}")
        return int(text)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One line of the table.

    statuses: what it may reply when all is well.
    questions: whether its body is one of the questions, which have a model each.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    role: Role
    handler: Handler
    summary: str
    body: type[Strict] | None = None
    questions: bool = False
    statuses: tuple[int, ...] = (200,)
    query: tuple[str, ...] = ()

    @property
    def takes_body(self) -> bool:
        """Whether a body is read."""
        return self.body is not None or self.questions


def admits(caller: Caller, role: Role) -> bool:
    """Whether an address is for this caller. For others it is as if there were nothing."""
    if role == "steward":
        return caller.is_steward
    return caller.is_analyst if role == "analyst" else True


def reply(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A reply in JSON."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True)
    return Response(text, status, headers, "application/json")
