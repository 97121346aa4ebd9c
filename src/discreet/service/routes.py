"""The table of addresses: which method, for which role, with which body. The
description of the API (OpenAPI 3.1) and tests are made from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

import discreet
from discreet.service.problems import NOT_FOUND, RefusedError, invalid
from discreet.service.questions import QUESTIONS, Strict, schema_of
from discreet.service.state import Service
from discreet.service.store import Caller

Role = Literal["anybody", "analyst", "steward"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was admitted.

    caller: whose key it has.
    body: the JSON that was sent, not checked yet.
    """

    service: Service
    request: Request
    caller: Caller
    body: Any

    def path(self, name: str) -> str:
        """The part of the address that has this name; text that no database can hold is
        not found.
        """
        found = str(self.request.path_params[name])
        if "\0" in found:
            raise RefusedError(NOT_FOUND)
        return found

    def number(self, name: str, default: int | None, most: int) -> int | None:
        """A whole number from the query part of the address."""
        text = self.request.query_params.get(name)
        if text is None:
            return default
        if not (is_whole(text) and 1 <= int(text) <= most):
            raise invalid(f"/{name}", f"a whole number from 1 to {most}")
        return int(text)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One line of the table of addresses.

    statuses: the statuses of its replies without a problem.
    questions: whether its body is one of the questions, which have a model each.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    role: Role
    handler: Handler
    summary: str
    _: KW_ONLY
    body: type[Strict] | None = None
    questions: bool = False
    statuses: tuple[int, ...] = (200,)
    query: tuple[str, ...] = ()

    @property
    def takes_body(self) -> bool:
        """True if a body is read."""
        return self.body is not None or self.questions


def admits(caller: Caller, role: Role) -> bool:
    """True if an address is for this caller. For others it does not exist."""
    if role == "steward":
        return caller.is_steward
    return caller.is_analyst if role == "analyst" else True


def show_key(request: Request, caller: Caller) -> None:
    """Tell the connection of a request whose key it has shown: those with a key do not make
    way for those without.
    """
    connection = request.scope.get("state", {}).get("connection")
    if connection is not None:
        connection.belongs_to(caller.name)


def is_whole(text: str, *, digits: int = 18) -> bool:
    """True if a text is a whole number of at most this many digits, as databases hold it."""
    return text.isascii() and text.isdigit() and len(text) <= digits


def reply(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Reply with JSON."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True)
    return Response(text, status, headers, "application/json")


_REFUSALS = {
    "401": "No valid key",
    "404": "Nothing here for this key",
    "408": "The body is too slow",
    "413": "The body is too large",
    "421": "Not a name of this server",
    "422": "The request breaks a rule",
    "503": "Not now",
}
_ASK_REFUSALS = {"403": "Does not fit the budget", "409": "Running, or lost"}


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The description of the API, as OpenAPI 3.1."""
    schemas: dict[str, Any] = {"Problem": _PROBLEM}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "discreet", "version": discreet.__version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "rule": {"type": "string"}},
            },
        },
    },
}


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refusals = _REFUSALS | (_ASK_REFUSALS if endpoint.questions else {})
    responses: dict[str, Any] = {
        str(status): {"description": "Done"} for status in endpoint.statuses
    }
    responses |= {
        status: {"description": said, "content": problem} for status, said in refusals.items()
    }
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "x-role": endpoint.role,
        "responses": responses,
        "parameters": _parameters(endpoint),
    }
    if endpoint.takes_body:
        content = {"application/json": {"schema": _schema(endpoint, schemas)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    text = {"type": "string"}
    inside = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    after = [{"name": name, "in": "query", "schema": text} for name in endpoint.query]
    names = ("Idempotency-Key", "Prefer") if endpoint.questions else ()
    return inside + after + [{"name": name, "in": "header", "schema": text} for name in names]


def _schema(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    if endpoint.questions:
        return {"oneOf": [_named(dict(schema_of(what)), schemas) for what in QUESTIONS]}
    assert endpoint.body is not None
    schema = endpoint.body.model_json_schema(ref_template="#/components/schemas/{model}")
    return _named(schema, schemas)


def _named(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, str]:
    """Note a schema by its title, and refer to it."""
    schemas.update(schema.pop("$defs", {}))
    schemas[schema["title"]] = schema
    return {"$ref": f"#/components/schemas/{schema['title']}"}
