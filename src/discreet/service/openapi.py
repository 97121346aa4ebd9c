"""The description of the API, OpenAPI 3.1, made from the table of addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import discreet
from discreet.service.questions import QUESTIONS, body_of
from discreet.service.routes import Endpoint

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
    """The whole description."""
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
        return {"oneOf": [_named(body_of(what), schemas) for what in QUESTIONS]}
    return _named(endpoint.body, schemas)


def _named(model: Any, schemas: dict[str, Any]) -> dict[str, str]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    return {"$ref": f"#/components/schemas/{model.__name__}"}
