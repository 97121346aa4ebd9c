"""The steward's screen: budgets, shares, wishes, keys, failures, the chain, the manifest."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from discreet.service import steward_api
from discreet.service.bodies import ExtensionBody, KeyBody, ShareBody
from discreet.service.canonical import read_body
from discreet.service.figures import budget_bar
from discreet.service.pages import Page, Visit, see
from discreet.service.problems import Problem, RefusedError, invalid
from discreet.service.routes import is_whole, reply
from discreet.service.state import Service


async def steward(visit: Visit) -> Response:
    """Screen F: everything that a steward looks after."""
    return await _show(visit, None)


async def _show(visit: Visit, problem: Problem | None, **more: Any) -> Response:
    content = await visit.service.quickly(_look, visit.service)
    status = 200 if problem is None else problem.status
    said: dict[str, Any] = {"problem": problem, "new_key": None, "checked": None, **more}
    return visit.show("steward.html", status, **content, **said)


def _look(service: Service) -> dict[str, Any]:
    accounts = steward_api.all_accounts(service)
    for account in accounts:
        account["bar"] = budget_bar(account["used"], f"{account['used']}% of it is spent")
    return {
        "accounts": accounts,
        "wishes": service.store.wishes(),
        "keys": service.store.keys(),
        "health": steward_api.state_of(service),
        "charges": list(service.ledger.history(limit=20)),
        "anchor": service.ledger.anchor(),
        "manifest": service.published.manifest.text,
        "notes": service.published.notes,
        "overbooked": steward_api.overbooked(service),
        "datasets": list(service.published.manifest.datasets),
    }


async def add_key(visit: Visit) -> Response:
    """Make a key, and show it once."""
    form = visit.form
    days = form.one("days")
    said = {
        "name": form.one("name"),
        "role": form.one("role"),
        "days": int(days) if is_whole(days, digits=8) else days,
    }
    try:
        body: KeyBody = read_body(KeyBody, said)
    except RefusedError as error:
        return await _show(visit, error.problem)
    made = await visit.service.quickly(steward_api.issue_key, visit.service, body)
    return await _show(visit, None, new_key=made)


async def end_key(visit: Visit) -> Response:
    """End a key."""
    await visit.service.quickly(steward_api.end_key, visit.service, visit.form.one("id"))
    return see("/steward")


async def add_share(visit: Visit) -> Response:
    """Give an analyst a share of a data set."""

    def work() -> None:
        said = {"dataset": visit.form.one("dataset"), "analyst": visit.form.one("analyst")}
        steward_api.open_share(visit.service, read_body(ShareBody, said | _budget(visit)))

    return await _carried_out(visit, work)


async def extend(visit: Visit) -> Response:
    """Raise a budget."""

    def work() -> None:
        said = {"reason": visit.form.one("reason")} | _budget(visit)
        if visit.form.one("analyst"):
            said["analyst"] = visit.form.one("analyst")
        body: ExtensionBody = read_body(ExtensionBody, said)
        steward_api.raise_budget(visit.service, visit.form.one("dataset"), body)

    return await _carried_out(visit, work)


async def decide(visit: Visit) -> Response:
    """Decide about a wish."""

    def work() -> None:
        decision = visit.form.one("decision")
        if decision not in ("granted", "declined"):
            raise invalid("/decision", "granted or declined")
        steward_api.settle_wish(visit.service, visit.form.one("id"), decision)

    return await _carried_out(visit, work)


async def reopen(visit: Visit) -> Response:
    """Answer questions again, after the steward has looked into their failures."""

    def work() -> None:
        reason = visit.form.one("reason")
        if not reason:
            raise invalid("/reason", "a sentence for auditors")
        steward_api.reopen(visit.service, visit.form.one("dataset"), reason)

    return await _carried_out(visit, work)


async def verify(visit: Visit) -> Response:
    """Check the whole chain, and show what was found."""
    found = await visit.service.quickly(steward_api.verify, visit.service)
    return await _show(visit, None, checked=found)


def _budget(visit: Visit) -> dict[str, Any]:
    names = ("epsilon", "delta", "rho")
    return {name: visit.form.one(name) for name in names if visit.form.one(name)}


async def _carried_out(visit: Visit, work: Any) -> Response:
    try:
        await visit.service.quickly(work)
    except RefusedError as error:
        return await _show(visit, error.problem)
    return see("/steward")


async def steward_as_data(visit: Visit) -> Response:
    """Screen F as data: budgets, wishes, keys, failures, the latest point of the chain."""
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


DATA = (Page("GET", "/steward.json", "steward", steward_as_data),)
"""The screen as data: the same address with `.json`."""
PAGES = (
    Page("GET", "/steward", "steward", steward),
    Page("POST", "/steward/keys", "steward", add_key),
    Page("POST", "/steward/keys/endings", "steward", end_key),
    Page("POST", "/steward/shares", "steward", add_share),
    Page("POST", "/steward/extensions", "steward", extend),
    Page("POST", "/steward/decisions", "steward", decide),
    Page("POST", "/steward/openings", "steward", reopen),
    Page("POST", "/steward/verifications", "steward", verify),
)
