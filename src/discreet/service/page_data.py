"""The screens as data: the same addresses with `.json`, for whoever is signed in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from discreet.service import api, steward_api
from discreet.service.analyst_pages import line_of, planned
from discreet.service.bodies import Preview
from discreet.service.canonical import read_body
from discreet.service.pages import Page, Visit
from discreet.service.routes import reply


async def datasets(visit: Visit) -> Response:
    """Screen A: the data sets, and what is left of each share."""
    service, analyst = visit.service, visit.caller.name

    def look() -> list[dict[str, Any]]:
        lines = [line_of(service, name, analyst) for name in service.published.names(analyst)]
        return [{name: line[name] for name in line if name != "bar"} for line in lines]

    return reply({"datasets": await service.quickly(look)})


async def plan(visit: Visit) -> Response:
    """Screen B: accuracy over epsilon on made-up data."""
    name, service = visit.path("name"), visit.service
    dataset = await service.quickly(service.published.dataset, name, visit.caller.name)
    body: Preview = read_body(Preview, planned(visit, dataset)[1])
    return reply(await service.quickly(api.preview, body))


async def ask(visit: Visit) -> Response:
    """Screen C: what can be asked."""
    return await api.dataset(visit.as_call())


async def history(visit: Visit) -> Response:
    """Screen E: the own answers."""
    return await api.answers(visit.as_call())


async def steward(visit: Visit) -> Response:
    """Screen F: budgets, wishes, keys, failures, the latest point of the chain."""
    service = visit.service

    def look() -> dict[str, Any]:
        keys = service.store.keys()
        return {
            "shares": steward_api.all_accounts(service),
            "wishes": [asdict(each) for each in service.store.wishes()],
            "keys": [asdict(each) for each in keys],
            "health": steward_api.state_of(service),
            "anchor": service.ledger.anchor(),
            "notes": service.published.notes,
        }

    return reply(await service.quickly(look))


PAGES = (
    Page("GET", "/datasets.json", "analyst", datasets),
    Page("GET", "/datasets/{name}.json", "analyst", ask),
    Page("GET", "/datasets/{name}/plan.json", "analyst", plan),
    Page("GET", "/history.json", "analyst", history),
    Page("GET", "/steward.json", "steward", steward),
)
