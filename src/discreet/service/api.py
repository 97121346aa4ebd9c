"""The API for analysts: data sets, budgets, prices, previews, answers, and wishes for more."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from discreet.ledger import Account
from discreet.service.answering import as_reply
from discreet.service.async_answers import promised
from discreet.service.bodies import PreviewBody, QuestionsBody, WishBody
from discreet.service.canonical import CheckedQuestion, read_body, read_question
from discreet.service.datasets import cost_in
from discreet.service.manifest import Dataset
from discreet.service.previews import curve, made_up
from discreet.service.problems import NOT_FOUND, RefusedError, invalid
from discreet.service.questions import parameters, read_number
from discreet.service.routes import Call, Endpoint, is_whole, reply
from discreet.service.state import Service
from discreet.service.store import Wish
from discreet.session import Price

_MOST_SHOWN = 1000
_MOST_KEY = 200
# seconds after which no further price of one request is begun
_LONGEST = 5.0
# of a preview: a smaller one takes numbers that are long to compute with, and shows nothing more
_SMALLEST = Fraction(1, 10**6)


def described(name: str, dataset: Dataset) -> dict[str, Any]:
    """What is public about a data set: not where its rows are."""
    columns = {
        column: {
            "ask": said.ask,
            "candidates": {
                "number": len(said.labels),
                "labels": list(said.labels[:_MOST_SHOWN]),
            }
            if said.labels
            else None,
            "filter": said.filter,
        }
        for column, said in dataset.column.items()
    }
    return {
        "name": name,
        "title": dataset.title,
        "unit": f"Each person is protected, with all rows that have the same {dataset.person}.",
        "persons": dataset.persons,
        "as_of": dataset.as_of,
        "reply_after": float(dataset.reply_after),
        "window": None if dataset.window is None else dataset.window.model_dump(),
        "ask": dataset.ask,
        "columns": columns,
        "questions": {
            what: {each.name: each.required for each in parameters(what)}
            for what in sorted(
                {what for said in dataset.column.values() for what in said.ask} | {*dataset.ask}
            )
        },
    }


def account_shown(account: Account) -> dict[str, Any]:
    """An account as the reply shows it to its analyst."""
    return {
        "window": account.window,
        "budget": account.budget.to_dict(),
        "limit": account.limit.exact,
        "spent": account.spent.exact,
        "left": account.remaining.exact,
        "closed": account.closed is not None,
    }


def priced(
    service: Service, question: CheckedQuestion, analyst: str
) -> tuple[Price, dict[str, Any]]:
    """The price of one question, and what the reply says of it: its cost, and whether
    it fits. No row is read and nothing is charged.
    """
    price = service.published.price(question, analyst)
    found = service.answering.kept(question, analyst)
    kept = found is not None
    return price, {
        "asked": dict(question.form),
        "cost": cost_in(service.published.accounts(question, analyst)[0], price.cost).exact,
        "loss": price.cost.loss.to_dict(),
        "fits": kept or service.published.fits(question, analyst, price),
        "answered": kept,
        "answered_on": None if found is None else json.loads(found.body)["time"][:10],
        "stronger": _stronger(service, question, analyst, price),
        "questions_left": service.published.left(question, analyst, price),
        "bound": None if price.accuracy is None else price.accuracy.to_dict(),
    }


def _stronger(
    service: Service, question: CheckedQuestion, analyst: str, price: Price
) -> dict[str, Any] | None:
    """A kept answer that costs nothing and is at least as accurate, if there is one."""
    found = service.answering.stronger(question, analyst, price.accuracy)
    if found is None:
        return None
    release, whole = found.release, found.charge.request["asked"]
    return {
        "id": found.number,
        "epsilon": whole["epsilon"],
        "asked": dict(whole),
        "bound": None if release.accuracy is None else release.accuracy.to_dict(),
    }


async def datasets(call: Call) -> Response:
    """List the data sets that the analyst has a share of."""
    names = await call.service.quickly(call.service.published.names, call.caller.name)
    known = call.service.published.manifest.datasets
    return reply({"datasets": [{"name": name, "title": known[name].title} for name in names]})


async def dataset(call: Call) -> Response:
    """Describe one data set: columns, candidates, filters, unit."""
    name = call.path("name")
    found = await call.service.quickly(call.service.published.dataset, name, call.caller.name)
    return reply(described(name, found))


async def budget(call: Call) -> Response:
    """Show the analyst's share: limit, spent, left, and how many questions of an
    epsilon are left.
    """
    name, service, analyst = call.path("name"), call.service, call.caller.name
    found = await service.quickly(service.published.dataset, name, analyst)
    windows: list[str | None] = list(call.request.query_params.getlist("window")) or [None]
    if found.window is None and windows != [None]:
        raise invalid("/window", "left out, because this data set has no windows")
    each = call.request.query_params.get("each")
    try:
        epsilon = None if each is None else read_number(each)
    except ValueError as error:
        raise invalid("/each", str(error)) from None
    if epsilon is not None and not 0 < epsilon <= 64:
        raise invalid("/each", "greater than 0 and at most 64")
    return reply(await service.quickly(_budget, service, name, analyst, windows[:120], epsilon))


def _budget(
    service: Service,
    name: str,
    analyst: str,
    windows: list[str | None],
    epsilon: Fraction | None,
) -> dict[str, Any]:
    found = []
    for window in windows:
        account = service.published.account(name, analyst, window)
        shown_ = account_shown(account)
        if epsilon is not None:
            shown_["questions_left"] = service.published.questions_left(account, epsilon)
        found.append(shown_)
    raised = [
        {"whose": "yours" if each.analyst else "all", "reason": each.reason, "time": each.made}
        for each in service.store.extensions([name], analyst)
    ]
    return {"share": found, "data_set": service.published.state(name), "raised": raised}


async def prices(call: Call) -> Response:
    """Show what questions would cost. Free; no row is read."""
    name, service, analyst = call.path("name"), call.service, call.caller.name
    found = await service.quickly(service.published.dataset, name, analyst)
    body = read_body(QuestionsBody, call.body)
    questions = [read_question(name, found, each) for each in body.questions]

    def look() -> dict[str, Any]:
        until, shown = time.monotonic() + _LONGEST, []
        for number, each in enumerate(questions):
            if time.monotonic() > until:
                raise invalid(
                    f"/questions/{number}", "left out, because prices of this request take long"
                )
            shown.append(priced(service, each, analyst)[1])
        return {"prices": shown}

    return reply(await service.freely(analyst, look))


async def previews(call: Call) -> Response:
    """Show answers of the real sampler to made-up data. Free; no row is read."""
    name, service = call.path("name"), call.service
    await service.quickly(service.published.dataset, name, call.caller.name)
    body: PreviewBody = read_body(PreviewBody, call.body)
    return reply(await service.freely(call.caller.name, preview, service, name, body))


def preview(service: Service, name: str, body: PreviewBody) -> dict[str, Any]:
    """The reply to a preview: how a question to this data set would be answered on made-up
    counts.
    """
    if not _SMALLEST <= body.epsilon <= 16:
        raise invalid("/epsilon", "at least 0.000001 and at most 16")
    counts = body.counts
    if counts is not None and not all(0 <= count <= 10**12 for count in counts):
        raise invalid("/counts", "counts from 0 to 10^12")
    if counts is None:
        counts = made_up(body.shape, body.persons, body.candidates)
    k = 1 if body.what == "mode" else body.k
    found = curve(
        counts,
        k=k,
        epsilon=body.epsilon,
        items_per_person=None if body.what == "mode" else body.items_per_person,
        budget=service.published.account(name, None).budget,
    )
    return {
        "simulated": True,
        "k": found[0].k,
        "curve": [
            {
                "epsilon": str(each.epsilon),
                "shown": f"{float(each.epsilon):.3g}",
                "right": str(each.right),
                "sentence": each.sentence(body.persons),
            }
            for each in found
        ],
        "examples": [list(each) for each in found[2].examples],
    }


async def ask(call: Call) -> Response:
    """Answer a question. The charge is durable before a row is read; the same question
    again is free.
    """
    name, service, analyst = call.path("name"), call.service, call.caller.name
    attempt = call.request.headers.get("idempotency-key")
    if attempt is not None and not 1 <= len(attempt) <= _MOST_KEY:
        raise invalid("/Idempotency-Key", f"1 to {_MOST_KEY} characters")
    published, answering = service.published, service.answering
    # a look into memory takes less time than the way to a thread and back
    if published.is_at_hand(name, analyst):
        found = published.dataset(name, analyst)
    else:
        found = await service.quickly(published.dataset, name, analyst)
    question = read_question(name, found, call.body)
    kept = await service.at_once(answering.at_hand, question, analyst)
    if kept is None and not question.fresh:
        kept = await service.quickly(answering.kept, question, analyst)
    if kept is not None:
        return _answered(kept.number, kept.body, True)
    if "respond-async" in call.request.headers.get("prefer", "").lower():
        return await promised(call, question, attempt)
    made = await service.patiently(answering.ask, question, analyst, attempt)
    return _answered(made.number, made.body, made.replayed)


def _answered(number: int, body: bytes, replayed: bool) -> Response:
    """The reply with an answer. Its body is the same every time; the headers say
    whether the answer is new.
    """
    headers = {
        "Location": f"/v1/answers/{number}",
        "Discreet-Replayed": "true" if replayed else "false",
    }
    return Response(body, 200 if replayed else 201, headers, "application/json")


async def answers(call: Call) -> Response:
    """List the analyst's answers, newest first."""
    before, limit = call.number("before", None, 10**18), call.number("limit", 20, 100)
    service, analyst = call.service, call.caller.name

    def look() -> tuple[list[Any], list[Any]]:
        found = [
            answer
            for name in service.published.names(analyst)
            for answer in service.ledger.answers(
                name, analyst=analyst, before=before, limit=limit or 20
            )
        ]
        found = sorted(found, key=lambda answer: -answer.number)[:limit]
        return found, [as_reply(each, service.ledger) for each in found]

    found, found_shown = await service.quickly(look)
    more = found[-1].number if len(found) == limit else None
    return reply({"answers": found_shown, "next": more})


async def answer(call: Call) -> Response:
    """Give one of the analyst's answers again, in the same bytes."""
    text = call.path("number")
    if not is_whole(text):
        raise RefusedError(NOT_FOUND)
    body = await call.service.quickly(call.service.answering.body, int(text), call.caller.name)
    return Response(body, 200, None, "application/json")


_ONE = "/v1/datasets/{name}"
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/datasets", "analyst", datasets, "List the data sets in which you have a share"
    ),
    Endpoint("GET", _ONE, "analyst", dataset, "Describe one data set"),
    Endpoint(
        "GET", f"{_ONE}/budget", "analyst", budget, "Show your own share", query=("each", "window")
    ),
    Endpoint(
        "POST",
        f"{_ONE}/prices",
        "analyst",
        prices,
        "Show what questions would cost (free)",
        body=QuestionsBody,
    ),
    Endpoint(
        "POST",
        f"{_ONE}/previews",
        "analyst",
        previews,
        "Simulate answers on made-up data (free)",
        body=PreviewBody,
    ),
    Endpoint(
        "POST", f"{_ONE}/answers", "analyst", ask, "Ask", questions=True, statuses=(200, 201, 202)
    ),
    Endpoint(
        "GET",
        "/v1/answers",
        "analyst",
        answers,
        "List your own answers, newest first",
        query=("before", "limit"),
    ),
    Endpoint("GET", "/v1/answers/{number}", "analyst", answer, "Show one of your own answers"),
)


_MOST_WISHES = 5


async def wish(call: Call) -> Response:
    """Take a wish for more budget, with its reason."""
    name, service, analyst = call.path("name"), call.service, call.caller.name
    await service.quickly(service.published.dataset, name, analyst)
    body = read_body(WishBody, call.body)
    made = await service.quickly(make_wish, service, name, analyst, body.reason)
    return reply(asdict(made), 201)


def make_wish(service: Service, dataset: str, analyst: str, reason: str) -> Wish:
    """Note a wish, also in the chain. An analyst may have a few open wishes at a time,
    so that those of others are seen.
    """
    if service.store.open_wishes(dataset, analyst) >= _MOST_WISHES:
        raise invalid("/reason", f"one of at most {_MOST_WISHES} open requests")
    made = service.store.add_wish(dataset, analyst, reason)
    service.ledger.note({"wish": made.id, "analyst": analyst}, dataset=dataset)
    return made


async def own_wishes(call: Call) -> Response:
    """List the caller's wishes, and what became of them; for a steward, everybody's."""
    mine = None if call.caller.is_steward else call.caller.name
    found = await call.service.quickly(call.service.store.wishes, mine)
    return reply({"wishes": [asdict(each) for each in found]})


WISHES = (
    Endpoint(
        "POST",
        "/v1/datasets/{name}/wishes",
        "analyst",
        wish,
        "Ask for more budget",
        body=WishBody,
        statuses=(201,),
    ),
    Endpoint(
        "GET", "/v1/wishes", "anybody", own_wishes, "List your own requests; a steward sees all"
    ),
)
