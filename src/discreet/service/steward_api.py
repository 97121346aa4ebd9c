"""The API for stewards: keys, shares, wishes, extensions, closings, and the chain.

The figures for a monitor are in the text format of Prometheus. They are those that the
ledger and the steward's screen show, without times: how long an answer took would tell
about the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from discreet import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    LedgerError,
    Loss,
    ParameterError,
    PureDP,
)
from discreet.errors import LedgerDamagedError
from discreet.ledger import Account
from discreet.service.bodies import (
    BudgetBody,
    DecisionBody,
    ExtensionBody,
    KeyBody,
    ReasonBody,
    RevocationBody,
    ShareBody,
)
from discreet.service.canonical import read_body
from discreet.service.problems import NOT_FOUND, RefusedError, impossible, invalid
from discreet.service.questions import make_loss, shown_number
from discreet.service.routes import Call, Endpoint, reply
from discreet.service.state import Service


def budget_of(body: BudgetBody) -> Loss:
    """Read the budget of a body."""
    try:
        return make_loss(body.epsilon, body.delta, body.rho)
    except ParameterError as error:
        raise invalid(f"/{error.name}", error.rule) from None
    except ValueError as error:
        raise invalid("", str(error)) from None


async def keys(call: Call) -> Response:
    """List all keys, without their secrets."""
    found = await call.service.quickly(call.service.store.keys)
    return reply({"keys": [asdict(each) for each in found]})


async def add_key(call: Call) -> Response:
    """Make a key. Its text is shown once."""
    body: KeyBody = read_body(KeyBody, call.body)
    made = await call.service.quickly(issue_key, call.service, body)
    return reply(made, 201)


def issue_key(service: Service, body: KeyBody) -> dict[str, str]:
    """Make a key, and note it in the chain without its secret."""
    made = service.store.add_key(body.name, body.role, days=body.days)
    service.ledger.note({"key": made.id, "made for": body.name, "role": body.role})
    return {"id": made.id, "name": body.name, "role": body.role, "key": made.text}


async def remove_key(call: Call) -> Response:
    """End a key."""
    await call.service.quickly(end_key, call.service, call.path("id"))
    return Response(None, 204)


def end_key(service: Service, name: str) -> None:
    """End a key, and note it in the chain."""
    if not service.store.remove_key(name):
        raise RefusedError(NOT_FOUND)
    service.ledger.note({"key": name, "ended": True})


async def shares(call: Call) -> Response:
    """List all budgets: of data sets, of analysts, of windows."""
    found = await call.service.quickly(all_accounts, call.service)
    more = await call.service.quickly(overbooked, call.service)
    return reply({"shares": found, "overbooked": more})


def all_accounts(service: Service) -> list[dict[str, Any]]:
    """All budgets of published data sets, with exact figures."""
    return [
        {
            "dataset": account.dataset,
            "analyst": account.analyst,
            "window": account.window,
            "budget": repr(account.budget),
            "limit": account.limit.exact,
            "spent": account.spent.exact,
            "left": account.remaining.exact,
            "used": used(account),
            "closed": bool(account.closed),
        }
        for account in service.ledger.accounts()
        if account.dataset in service.published.manifest.datasets
    ]


def used(account: Any) -> int:
    """The share of a budget that is spent, in per cent, rounded up."""
    limit = account.limit.value
    return min(100, -int(-account.spent.value * 100 // limit)) if limit > 0 else 100


async def add_share(call: Call) -> Response:
    """Give an analyst a share of a data set."""
    body: ShareBody = read_body(ShareBody, call.body)
    await call.service.quickly(open_share, call.service, body)
    return reply({"dataset": body.dataset, "analyst": body.analyst}, 201)


def open_share(service: Service, body: ShareBody) -> None:
    """Open a share in the ledger."""
    service.published.known(body.dataset)
    _publicly(service.ledger.open, body.dataset, budget=budget_of(body), analyst=body.analyst)


async def revoke(call: Call) -> Response:
    """End a share. Its kept answers stay readable."""
    body: RevocationBody = read_body(RevocationBody, call.body)
    service = call.service

    def end() -> None:
        service.published.known(body.dataset)
        _publicly(service.ledger.revoke, body.dataset, body.analyst, reason=body.reason)

    await service.quickly(end)
    return reply({"dataset": body.dataset, "analyst": body.analyst}, 201)


async def extend(call: Call) -> Response:
    """Raise a budget, with a reason that analysts see."""
    name, service = call.path("name"), call.service
    body: ExtensionBody = read_body(ExtensionBody, call.body)
    await service.quickly(raise_budget, service, name, body)
    return reply({"dataset": name, "analyst": body.analyst}, 201)


def raise_budget(service: Service, name: str, body: ExtensionBody) -> None:
    """Raise a budget in the ledger."""
    service.published.known(name)
    _publicly(
        service.ledger.extend,
        name,
        budget=budget_of(body),
        analyst=body.analyst,
        reason=body.reason,
    )
    service.store.add_extension(name, body.analyst, body.reason)


def overbooked(service: Service) -> list[str]:
    """Sentences about data sets whose shares add up to more than their budget."""
    accounts = [each for each in service.ledger.accounts() if each.window is None]
    found = []
    for name in service.published.manifest.datasets:
        mine = [each for each in accounts if each.dataset == name and each.closed is None]
        kinds = {type(each.budget) for each in mine}
        if kinds <= {PureDP, ApproxDP} or kinds == {ZCDP}:
            word = "rho" if kinds == {ZCDP} else "epsilon"
            sums = {True: Fraction(0), False: Fraction(0)}
            for each in mine:
                sums[bool(each.analyst)] += getattr(each.budget, word)
            if sums[True] > sums[False] > 0:
                booked, has = (shown_number(str(sums[each])) for each in (True, False))
                found.append(
                    f"The shares of {name} add up to {word} {booked}, but it has only {has}."
                )
    return found


async def close(call: Call) -> Response:
    """Close a data set's budget for good."""
    name, service = call.path("name"), call.service
    body: ReasonBody = read_body(ReasonBody, call.body)

    def end() -> None:
        service.published.known(name)
        _publicly(service.ledger.close_budget, name, reason=body.reason)

    await service.quickly(end)
    return reply({"dataset": name, "closed": True}, 201)


async def look_after(call: Call) -> Response:
    """Answer questions again, after the steward has looked into their failures."""
    name, service = call.path("name"), call.service
    body: ReasonBody = read_body(ReasonBody, call.body)
    await service.quickly(reopen, service, name, body.reason)
    return reply({"dataset": name, "failures": 0}, 201)


def reopen(service: Service, name: str, reason: str) -> None:
    """Forget the failures of a data set, and note that in the chain."""
    service.published.known(name)
    service.ledger.note({"failures": "looked after", "reason": reason}, dataset=name)
    service.store.forget_failures(name)


async def decide(call: Call) -> Response:
    """Decide about a wish."""
    body: DecisionBody = read_body(DecisionBody, call.body)
    found = await call.service.quickly(settle_wish, call.service, call.path("id"), body.decision)
    return reply(found, 201)


def settle_wish(service: Service, name: str, decision: str) -> dict[str, Any]:
    """Note the decision about a wish, also in the chain."""
    wish = service.store.decide(name, decision)
    if wish is None:
        raise RefusedError(NOT_FOUND)
    service.ledger.note({"wish": name, "decision": decision}, dataset=wish.dataset)
    return asdict(wish)


async def health(call: Call) -> Response:
    """Show the failures and late replies of each data set."""
    return reply({"datasets": await call.service.quickly(state_of, call.service)})


def state_of(service: Service) -> list[dict[str, Any]]:
    """Failures and late replies of each data set."""
    service.answering.late.note()
    return [
        {
            "name": name,
            "failures": service.answering.breaker.failures(name),
            "closed": service.answering.breaker.is_closed(name),
            "late": service.store.late(name),
        }
        for name in service.published.manifest.datasets
    ]


async def history(call: Call) -> Response:
    """List charges, newest first, without answers."""
    before, limit = call.number("before", None, 10**18), call.number("limit", 50, 100)

    def look() -> list[Any]:
        return list(call.service.ledger.history(before=before, limit=limit or 50))

    found = await call.service.quickly(look)
    more = found[-1].number if len(found) == limit else None
    return reply({"charges": [charge_shown(each) for each in found], "next": more})


def charge_shown(charge: Any) -> dict[str, Any]:
    """A charge as the reply shows it: who, when, what was asked and what it cost."""
    return {
        "number": charge.number,
        "time": charge.time.isoformat(),
        "dataset": charge.dataset,
        "analyst": charge.analyst,
        "windows": list(charge.windows),
        "amount": charge.amount.exact,
        "asked": dict(charge.request.get("asked", {})),
        "settled": charge.settled,
    }


async def anchor(call: Call) -> Response:
    """Show the latest point of the chain, to be kept elsewhere."""
    return reply({"anchor": await call.service.quickly(call.service.ledger.anchor)})


async def verification(call: Call) -> Response:
    """Check the whole chain."""
    return reply(await call.service.quickly(verify, call.service))


def verify(service: Service) -> dict[str, Any]:
    """Check the whole chain, and say what was found."""
    try:
        found = service.ledger.verify()
    except LedgerDamagedError as error:
        return {"intact": False, "found": str(error)}
    return {"intact": True, "entries": found.entries, "anchor": str(found.anchor)}


def _publicly(function: Any, *arguments: Any, **options: Any) -> None:
    """Call a method of the ledger. A steward may read why it refuses."""
    try:
        function(*arguments, **options)
    except ParameterError as error:
        raise invalid(f"/{error.name}", error.rule) from None
    except (BudgetExceededError, LedgerError) as error:
        raise impossible(str(error)) from None


_ONE = "/v1/datasets/{name}"


def _post(path: str, handler: Any, summary: str, body: Any) -> Endpoint:
    return Endpoint("POST", path, "steward", handler, summary, body=body, statuses=(201,))


def _get(path: str, handler: Any, summary: str, *query: str) -> Endpoint:
    return Endpoint("GET", path, "steward", handler, summary, query=query)


ENDPOINTS = (
    _get("/v1/keys", keys, "List all keys, without their secrets"),
    _post("/v1/keys", add_key, "Make a new key, which is shown only once", KeyBody),
    Endpoint("DELETE", "/v1/keys/{id}", "steward", remove_key, "End a key", statuses=(204,)),
    _get("/v1/shares", shares, "All budgets"),
    _post("/v1/shares", add_share, "Give an analyst a share", ShareBody),
    _post("/v1/revocations", revoke, "End a share", RevocationBody),
    _post(f"{_ONE}/extensions", extend, "Raise a budget", ExtensionBody),
    _post(f"{_ONE}/closings", close, "Close a budget for good", ReasonBody),
    _post(f"{_ONE}/openings", look_after, "Answer again after failures", ReasonBody),
    _post("/v1/wishes/{id}/decisions", decide, "Decide a request for more budget", DecisionBody),
    _get("/v1/health", health, "Show failures and late replies"),
    _get("/v1/ledger/history", history, "List charges, newest first", "before", "limit"),
    _get("/v1/ledger/anchor", anchor, "Show the latest point of the chain"),
    _get("/v1/ledger/verification", verification, "Check the chain"),
)


_KIND = "text/plain; version=0.0.4; charset=utf-8"


async def metrics(call: Call) -> Response:
    """Give the figures for a monitor: budgets, failures, late replies, keys, open wishes."""
    lines = await call.service.quickly(lambda: list(_lines(call.service)))
    return Response("\n".join(lines) + "\n", 200, None, _KIND)


def _lines(service: Service) -> Iterator[str]:
    accounts = [
        account
        for account in service.ledger.accounts()
        if account.dataset in service.published.manifest.datasets
    ]
    for name in ("limit", "spent"):
        yield f"# TYPE discreet_budget_{name} gauge"
        for account in accounts:
            amount = getattr(account, name)
            yield _line(f"budget_{name}", float(amount), **_labels(account), unit=amount.unit)
    states = state_of(service)
    for name, kind in (("failures", "gauge"), ("closed", "gauge"), ("late", "counter")):
        yield f"# TYPE discreet_{name} {kind}"
        for state in states:
            yield _line(name, int(state[name]), dataset=state["name"])
    opened = [wish for wish in service.store.wishes() if not wish.decision]
    for name, number in (("keys", len(service.store.keys())), ("open_wishes", len(opened))):
        yield f"# TYPE discreet_{name} gauge"
        yield _line(name, number)


def _labels(account: Account) -> dict[str, str]:
    return {
        "dataset": account.dataset,
        "analyst": account.analyst or "",
        "window": account.window or "",
    }


def _line(name: str, value: float, **labels: Any) -> str:
    """One figure. Its labels are quoted, because a ledger may have names of analysts
    that no manifest would allow.
    """
    written = {
        label: json.dumps(text, ensure_ascii=False) for label, text in labels.items() if text
    }
    inside = ",".join(f"{label}={text}" for label, text in written.items())
    return f"discreet_{name}{'{' + inside + '}' if inside else ''} {value:g}"


FIGURES = (
    Endpoint("GET", "/v1/metrics", "steward", metrics, "Show figures for a monitor, as text"),
)
