"""Requests for more budget, with a reason: what analysts do about them."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

from discreet.service.bodies import WishBody
from discreet.service.canonical import read_body
from discreet.service.problems import invalid
from discreet.service.routes import Call, Endpoint, reply
from discreet.service.state import Service
from discreet.service.store import Wish

_MOST_WISHES = 5


async def wish(call: Call) -> Response:
    """Say that more budget is needed, and why."""
    name, service, analyst = call.path("name"), call.service, call.caller.name
    await service.quickly(service.published.dataset, name, analyst)
    body = read_body(WishBody, call.body)
    made = await service.quickly(make_wish, service, name, analyst, body.reason)
    return reply(asdict(made), 201)


def make_wish(service: Service, dataset: str, analyst: str, reason: str) -> Wish:
    """Note a wish, also in the chain. An analyst may have a few that are open: those of
    others must not drown.
    """
    if service.store.open_wishes(dataset, analyst) >= _MOST_WISHES:
        raise invalid("/reason", f"one of at most {_MOST_WISHES} wishes that are not decided yet")
    made = service.store.add_wish(dataset, analyst, reason)
    service.ledger.note({"wish": made.id, "analyst": analyst}, dataset=dataset)
    return made


async def own_wishes(call: Call) -> Response:
    """The own wishes, and what became of them; for a steward, everybody's."""
    mine = None if call.caller.is_steward else call.caller.name
    found = await call.service.quickly(call.service.store.wishes, mine)
    return reply({"wishes": [asdict(each) for each in found]})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/datasets/{name}/wishes",
        role="analyst",
        handler=wish,
        summary="Ask for more budget",
        body=WishBody,
        statuses=(201,),
    ),
    Endpoint(
        method="GET",
        path="/v1/wishes",
        role="anybody",
        handler=own_wishes,
        summary="The own wishes; for a steward, all",
    ),
)
