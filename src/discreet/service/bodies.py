"""The bodies of requests: JSON, read strictly, and the models of those that are no questions."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Literal, NoReturn

from pydantic import Field
from starlette.requests import Request

from discreet.service.problems import NAME, NOT_JSON, TOO_LARGE, TOO_SLOW, RefusedError
from discreet.service.questions import Exact, Strict

LARGEST = 64 * 1024
_SECONDS = 10
_NAME = f"^{NAME}$"

# PostgreSQL cannot hold text with the character 0
Reason = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*$")]


class QuestionsBody(Strict):
    """Several questions, to be priced together."""

    questions: list[dict[str, Any]] = Field(min_length=1, max_length=20)


class PreviewBody(Strict):
    """A question to made-up data.

    shape: how the made-up counts look.
    counts: in place of a shape, counts of one's own.
    items_per_person: as in the question; the counts are then those of what counts.
    """

    what: Literal["top_k", "mode"]
    k: int = Field(default=1, ge=1, le=100)
    epsilon: Exact
    persons: int = Field(ge=1, le=10**9)
    candidates: int = Field(default=100, ge=1, le=2000)
    shape: Literal["zipf", "flat", "winner"] = "zipf"
    counts: list[int] | None = Field(default=None, min_length=1, max_length=2000)
    items_per_person: int | None = Field(default=None, ge=1, le=10**6)


class WishBody(Strict):
    """Why more budget is needed."""

    reason: Reason


class KeyBody(Strict):
    """A key for a person or a program."""

    name: str = Field(pattern=_NAME)
    role: Literal["analyst", "steward", "both"] = "analyst"
    days: int = Field(default=90, ge=1, le=3660)


class BudgetBody(Strict):
    """A budget: epsilon, with or without a delta, or rho."""

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None


class ShareBody(BudgetBody):
    """A share of a data set for an analyst."""

    dataset: str = Field(pattern=_NAME)
    analyst: str = Field(pattern=_NAME)


class ExtensionBody(BudgetBody):
    """A larger budget of an analyst, or of the data set if none is named, with a reason
    that analysts see.
    """

    analyst: str | None = Field(default=None, pattern=_NAME)
    reason: Reason


class RevocationBody(Strict):
    """The end of a share, with its reason."""

    dataset: str = Field(pattern=_NAME)
    analyst: str = Field(pattern=_NAME)
    reason: Reason


class ReasonBody(Strict):
    """A reason, which is written into the ledger for those who audit it."""

    reason: Reason


class DecisionBody(Strict):
    """The decision about a wish."""

    decision: Literal["granted", "declined"]


async def read_bytes(request: Request) -> bytes:
    """The body of a request; refused if it is too large or takes too long to arrive."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > LARGEST:
                    raise RefusedError(TOO_LARGE)
                parts.append(part)
    except TimeoutError:
        raise RefusedError(TOO_SLOW) from None
    return b"".join(parts)


def read_json(text: bytes) -> Any:
    """Read JSON; duplicate names, NaN, Infinity and numbers with a point are refused.

    >>> read_json(b'{"k": 3, "epsilon": "0.1"}')
    {'k': 3, 'epsilon': '0.1'}
    """
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_each_once,
            parse_constant=_refuse,
            parse_float=_refuse,
        )
    except (ValueError, RecursionError):
        pass
    raise RefusedError(NOT_JSON)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _refuse(text: str) -> NoReturn:
    raise ValueError("not JSON for a service")
