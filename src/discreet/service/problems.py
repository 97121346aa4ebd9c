"""Problems: every refusal over HTTP, in the format of RFC 9457.

No reply has the text of an exception, a row or a value. Things that do not exist and
things of another caller are one problem, with the same bytes. A value that breaks a
rule is refused with the rule, in words that follow "must be".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal: its status, its name, and one sentence.

    more: further fields of the reply.
    retry_after: seconds after which to try again.
    """

    status: int
    name: str
    title: str
    more: dict[str, Any] = field(default_factory=dict)
    retry_after: int | None = None

    def body(self) -> bytes:
        """The problem as JSON, the same bytes every time."""
        said = {"type": f"/problems/{self.name}", "title": self.title, "status": self.status}
        return json.dumps(said | self.more, ensure_ascii=True).encode()

    def response(self) -> Response:
        """The problem as a reply."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return Response(self.body(), self.status, headers, "application/problem+json")


class RefusedError(Exception):
    """The request is refused; the application replies with the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.name)
        self.problem = problem


UNAUTHORIZED = Problem(401, "key-needed", "Send a valid key.")
NOT_FOUND = Problem(404, "not-found", "Nothing here is available to your key.")
METHOD_NOT_ALLOWED = Problem(
    405, "method-not-allowed", "This address does not support that method."
)
TOO_LARGE = Problem(413, "too-large", "The body of a request may have at most 64 KiB.")
TOO_SLOW = Problem(408, "too-slow", "The body did not arrive in time.")
NOT_JSON = Problem(
    422,
    "not-json",
    "The body must be one JSON object, each name once, without NaN or Infinity, and numbers with a "
    'point as text: "0.1".',
)
WRONG_HOST = Problem(421, "wrong-host", "This server does not use that host name.")
FORGED = Problem(
    403, "form-expired", "This form is too old, or comes from another page. Open it again."
)
FAILED = Problem(
    503,
    "engine-failed",
    "The question failed after it was paid for, and stays charged. The reason may depend on the "
    "data, so it is not shown.",
)
UNAVAILABLE = Problem(503, "unavailable", "The service cannot answer now. Try again later.")
CLOSED = Problem(503, "dataset-closed", "The data set is closed until its steward has checked it.")
BUSY = Problem(
    503,
    "busy",
    "Too many questions are waiting. Nothing was charged: try again later.",
    retry_after=2,
)
CERTIFYING = Problem(
    503,
    "being-certified",
    "The service is still computing how many questions fit this budget. Nothing was changed: try "
    "again in a minute.",
    retry_after=30,
)
LOST = Problem(
    409,
    "answer-lost",
    'This question was paid for, but its answer was lost. To pay again, ask with "again": true.',
)
INTERRUPTED = Problem(
    503,
    "interrupted",
    "The service stopped before this question was paid for. Nothing was charged: ask again.",
)
RUNNING = Problem(
    409, "still-running", "This question is still being answered. Ask again later.", retry_after=2
)
BUDGET_CLOSED = Problem(
    403,
    "budget-closed",
    "This budget was closed permanently. Kept answers can still be read.",
)
KEY_REUSED = Problem(
    422, "key-reused", "This Idempotency-Key was used for another question. Use a new one."
)


def invalid(pointer: str, rule: str) -> RefusedError:
    """The refusal of a body that breaks a rule: where, and which rule; never the value."""
    errors = [{"pointer": pointer, "rule": rule}]
    return RefusedError(Problem(422, "invalid", "The request breaks a rule.", {"errors": errors}))


def impossible(said: str) -> RefusedError:
    """The refusal of what the ledger does not let a steward do, in the ledger's words."""
    return RefusedError(Problem(422, "invalid", "The ledger refuses this.", {"detail": said}))


def too_expensive(said: str) -> RefusedError:
    """The refusal of a question that does not fit the budget."""
    return RefusedError(
        Problem(403, "budget-exceeded", "The question does not fit the budget.", {"detail": said})
    )


_RULES = {
    "bool_type": "true or false",
    "dict_type": "a group of names with values",
    "extra_forbidden": "left out",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "missing": "given",
    "model_type": "a group of names with values",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "string_type": "text",
    "string_unicode": "text without broken characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
    "tuple_type": "a list",
}


NAME = r"[a-z0-9][a-z0-9_-]{0,62}"
"""The pattern of the names of data sets and analysts."""
NAME_RULE = "lower-case letters, digits, - and _, at most 63"


def first_mistake(error: ValidationError) -> tuple[str, list[str | int], str]:
    """The first broken rule: its kind in Pydantic, its place, and the rule in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    return first["type"], list(first["loc"]), _rule(first)


def _rule(first: Mapping[str, Any]) -> str:
    if first["type"] == "value_error":
        # a message of one of our own validators
        return str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch" and NAME in first["ctx"]["pattern"]:
        return NAME_RULE
    if first["type"] not in _RULES:
        return str(first["msg"])
    return _RULES[first["type"]].format(**first.get("ctx", {}))
