"""The analyst's screens: data sets, plan, ask, answer, history."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

from starlette.responses import Response

from discreet.ledger import Account, Charge
from discreet.questions import QUESTIONS as CLASSES
from discreet.service import api
from discreet.service.api import account_shown, described, make_wish, preview, priced
from discreet.service.bodies import PreviewBody, WishBody, read_json
from discreet.service.canonical import read_body, read_question
from discreet.service.downloads import (
    NOT_TYPED,
    as_csv,
    as_curl,
    as_python,
    as_svg,
    counts_of,
    labels_of,
    title_of,
    total_of,
)
from discreet.service.figures import accuracy_curve, budget_bar, spending_steps
from discreet.service.keys import make_secret
from discreet.service.manifest import Dataset
from discreet.service.pages import Page, Visit, controls, flat, question_body, see
from discreet.service.problems import NOT_FOUND, RefusedError
from discreet.service.routes import is_whole, reply
from discreet.service.state import Service
from discreet.service.steward_api import used

_PAGE = 100
_WINDOWS = {
    "day": "2026-10-31",
    "week": "2026-W44",
    "month": "2026-10",
    "quarter": "2026-Q4",
    "year": "2026",
}
"""For each length of a window, an example of how one is written."""


async def datasets(visit: Visit) -> Response:
    """Screen A: the analyst's data sets, and what is left of each share."""
    if not visit.caller.is_analyst:
        return see("/steward")

    def look() -> list[dict[str, Any]]:
        return [line_of(visit.service, name, visit.caller.name) for name in _names(visit)]

    store, found = visit.service.store, await visit.service.quickly(look)
    wishes = await visit.service.quickly(store.wishes, visit.caller.name)
    names = [each["name"] for each in found]
    raised = await visit.service.quickly(store.extensions, names, visit.caller.name)
    return visit.show("datasets.html", datasets=found, wishes=wishes, raised=raised)


def _names(visit: Visit) -> list[str]:
    return visit.service.published.names(visit.caller.name)


def line_of(service: Service, name: str, analyst: str) -> dict[str, Any]:
    """A data set with what is left of an analyst's share of it, as a line of screen A."""
    dataset = service.published.manifest.datasets[name]
    line: dict[str, Any] = {"name": name, "title": dataset.title, "as_of": dataset.as_of}
    if dataset.window is not None:
        return line | {"every": dataset.window.every}
    account = service.published.account(name, analyst)
    spent = f"{used(account)}% of your share"
    last = service.ledger.history(name, analyst=analyst, limit=1)
    epsilon = last[0].request.get("asked", {}).get("epsilon", "1/10") if last else "1/10"
    left = service.published.questions_left(account, Fraction(epsilon))
    return line | {
        "bar": budget_bar(used(account), f"{spent} is spent"),
        "account": account_shown(account),
        "spent": spent,
        "data_set": service.published.state(name),
        "left": left,
        "like": f"{float(Fraction(epsilon)):g}{', like your last' if last else ''}",
    }


async def plan(visit: Visit) -> Response:
    """Screen B: accuracy over epsilon on made-up data, by the real sampler."""
    name, service = visit.path("name"), visit.service
    dataset = await service.quickly(service.published.dataset, name, visit.caller.name)
    values, body = planned(visit, dataset)
    found, problem, figure, room = None, None, None, 0
    try:
        read: PreviewBody = read_body(PreviewBody, body)
        found = await service.freely(visit.caller.name, preview, service, name, read)
        points = [
            (float(Fraction(each["epsilon"])), float(Fraction(each["right"])))
            for each in found["curve"]
        ]
        figure = accuracy_curve(points, found["k"], 2)
        account = await service.quickly(service.published.account, name, visit.caller.name)
        room = service.published.questions_left(account, read.epsilon)
    except RefusedError as error:
        problem = error.problem
    content = {"name": name, "dataset": dataset, "values": values, "found": found, "room": room}
    return visit.show(
        "plan.html", 200 if problem is None else 422, figure=figure, problem=problem, **content
    )


def planned(visit: Visit, dataset: Dataset) -> tuple[dict[str, str], dict[str, Any]]:
    """The values of the plan's fields, and the preview that they ask for."""
    most = max([len(column.labels) for column in dataset.column.values()] or [0])
    values = {
        # half of the names at most, because a list of all of them is always right
        "k": str(max(1, min(10, (most or 100) // 2))),
        "epsilon": "0.1",
        "persons": str(dataset.persons),
        "candidates": str(min(most or 100, 2000)),
        "shape": "zipf",
        "items_per_person": "",
    } | {name: text for name, text in visit.form.values().items() if text}
    whole = ["k", "persons", "candidates"]
    whole += ["items_per_person"] if values["items_per_person"] else []
    body: dict[str, Any] = {
        each: int(values[each]) if is_whole(values[each]) else values[each] for each in whole
    }
    body |= {"what": "top_k", "epsilon": values["epsilon"], "shape": values["shape"]}
    return values, body


async def ask(visit: Visit) -> Response:
    """Screen C: the form of a question."""
    name, service = visit.path("name"), visit.service
    dataset = await service.quickly(service.published.dataset, name, visit.caller.name)
    return _ask(visit, name, dataset, visit.form.values(), None)


def _ask(visit: Visit, name: str, dataset: Any, values: dict[str, str], problem: Any) -> Response:
    offered = sorted(
        {what for column in dataset.column.values() for what in column.ask} | set(dataset.ask)
    )
    what = values.get("what", offered[0] if offered else "")
    if what not in offered:
        raise RefusedError(NOT_FOUND)
    columns = [column for column, said in dataset.column.items() if what in said.ask]
    return visit.show(
        "ask.html",
        200 if problem is None else problem.status,
        name=name,
        dataset=dataset,
        described=described(name, dataset),
        offered=offered,
        what=what,
        columns=columns if "column" in CLASSES[what].takes else [],
        controls=controls(what),
        values=values,
        form=visit.form,
        example=None if dataset.window is None else _WINDOWS[dataset.window.every],
        problem=problem,
    )


async def price(visit: Visit) -> Response:
    """Screen C, continued: what the question costs, what is left after it, and whether
    it was answered before.
    """
    name, service, form = visit.path("name"), visit.service, visit.form
    dataset = await service.quickly(service.published.dataset, name, visit.caller.name)
    body: dict[str, Any] = question_body(dataset, form.one("what"), form)
    if form.one("change"):
        return _ask(visit, name, dataset, form.values(), None)
    try:
        question = read_question(name, dataset, body)
        analyst = visit.caller.name
        _, said = await service.freely(analyst, priced, service, question, analyst)
    except RefusedError as error:
        values = {**form.values(), "what": form.one("what")}
        return _ask(visit, name, dataset, values, error.problem)
    return visit.show(
        "price.html",
        name=name,
        dataset=dataset,
        price=said,
        question=json.dumps(body),
        body=flat(body),
        where=body.get("where", []),
        windows=len(body.get("windows", [])),
        fields=form.pairs(),
        attempt=make_secret(),
    )


async def send(visit: Visit) -> Response:
    """Ask the question of the form, and go on to its answer."""
    name, service, analyst = visit.path("name"), visit.service, visit.caller.name
    dataset = await service.quickly(service.published.dataset, name, analyst)
    question = read_question(name, dataset, read_json(visit.form.one("question").encode()))
    # the form itself is one attempt: sent twice, it pays once
    attempt = visit.form.one("attempt")[:200] or None
    made = await service.patiently(service.answering.ask, question, analyst, attempt)
    return see(f"/answers/{made.number}")


async def answer(visit: Visit) -> Response:
    """Screen D: one answer."""
    number, _, kind = visit.path("number").partition(".")
    if not is_whole(number):
        raise RefusedError(NOT_FOUND)
    service, analyst = visit.service, visit.caller.name
    body = await service.quickly(service.answering.body, int(number), analyst)
    found = json.loads(body)
    if kind:
        return _download(found, body, number, kind)
    address = str(visit.request.base_url).rstrip("/")
    if service.settings.secure:
        # headers of a proxy are not trusted, so the scheme comes from the settings
        address = f"https://{visit.request.url.netloc}"
    return visit.show(
        "answer.html",
        answer=found,
        title=title_of(found),
        is_list=isinstance(found["value"], list),
        labels=labels_of(found),
        left=await service.freely(analyst, _left, service, found, analyst),
        counts=counts_of(found),
        error=(found["release"].get("counts") or {}).get("error"),
        total=total_of(found),
        python=as_python(found, address),
        curl=as_curl(found, address),
    )


def _left(service: Service, found: dict[str, Any], analyst: str) -> int | None:
    """How many questions like this one fit what is left of the share; None if the
    manifest no longer allows it.
    """
    name, published = found["dataset"], service.published
    body = {word: said for word, said in found["asked"].items() if word not in NOT_TYPED}
    with suppress(RefusedError):
        question = read_question(name, published.known(name), body)
        return published.left(question, analyst, published.price(question, analyst))
    return None


def _download(found: dict[str, Any], body: bytes, number: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="answer-{number}.{kind}"'}
    if kind == "json":
        return Response(body, 200, headers, "application/json")
    if kind == "csv":
        return Response(as_csv(found), 200, headers, "text/csv; charset=utf-8")
    if kind == "svg":
        return Response(as_svg(found), 200, headers, "image/svg+xml")
    raise RefusedError(NOT_FOUND)


async def history(visit: Visit) -> Response:
    """Screen E: the analyst's answers, and the spending as steps below the limit."""
    service, analyst = visit.service, visit.caller.name

    def look() -> list[dict[str, Any]]:
        return [_spending(service, name, analyst) for name in service.published.names(analyst)]

    return visit.show("history.html", datasets=await service.quickly(look))


def _spending(service: Service, name: str, analyst: str) -> dict[str, Any]:
    dataset = service.published.manifest.datasets[name]
    charges = list(service.ledger.history(name, analyst=analyst, limit=_PAGE))
    line: dict[str, Any] = {
        "name": name,
        "title": dataset.title,
        "charges": charges,
        "figure": None,
    }
    if dataset.window is None and charges:
        account = service.published.account(name, analyst)
        total, steps = float(account.spent), list[float]()
        for charge in charges:
            steps.append(total)
            total = max(0.0, total - _in_unit(charge, account))
        line["figure"] = spending_steps(steps[::-1], float(account.limit))
    return line


def _in_unit(charge: Charge, account: Account) -> float:
    """About what a charge took from a share, in the unit that the share counts now. For a
    picture only: the coins of the two budgets may have different sizes, and a share whose
    coins are gone counts epsilon, also of the charges before.
    """
    amount, like = charge.amount, account.limit
    if amount.coin is not None and like.coin is not None:
        return float(amount.value * (amount.coin / like.coin) ** 2)
    if amount.unit == like.unit:
        return float(amount)
    taken = account.rule.of_parts({charge.loss: 1}, 0)
    return float((taken.epsilon if like.unit == "epsilon" else taken.squares) or 0)


async def wish(visit: Visit) -> Response:
    """Ask the steward for more budget."""
    name, service, analyst = visit.path("name"), visit.service, visit.caller.name
    await service.quickly(service.published.dataset, name, analyst)
    body = read_body(WishBody, {"reason": visit.form.one("reason")})
    await service.quickly(make_wish, service, name, analyst, body.reason)
    return see("/")


async def datasets_as_data(visit: Visit) -> Response:
    """Screen A as data: the analyst's data sets, and what is left of each share."""
    service, analyst = visit.service, visit.caller.name

    def look() -> list[dict[str, Any]]:
        lines = [line_of(service, name, analyst) for name in service.published.names(analyst)]
        return [{name: line[name] for name in line if name != "bar"} for line in lines]

    return reply({"datasets": await service.quickly(look)})


async def plan_as_data(visit: Visit) -> Response:
    """Screen B as data: accuracy over epsilon on made-up data."""
    name, service = visit.path("name"), visit.service
    dataset = await service.quickly(service.published.dataset, name, visit.caller.name)
    body: PreviewBody = read_body(PreviewBody, planned(visit, dataset)[1])
    return reply(await service.freely(visit.caller.name, api.preview, service, name, body))


async def ask_as_data(visit: Visit) -> Response:
    """Screen C as data: what can be asked."""
    return await api.dataset(visit.as_call())


async def history_as_data(visit: Visit) -> Response:
    """Screen E as data: the analyst's answers."""
    return await api.answers(visit.as_call())


DATA = (
    Page("GET", "/datasets.json", "analyst", datasets_as_data),
    Page("GET", "/datasets/{name}.json", "analyst", ask_as_data),
    Page("GET", "/datasets/{name}/plan.json", "analyst", plan_as_data),
    Page("GET", "/history.json", "analyst", history_as_data),
)
"""The screens as data: the same addresses with `.json`, for whoever is signed in."""
PAGES = (
    Page("GET", "/", "anybody", datasets),
    Page("GET", "/datasets/{name}/plan", "analyst", plan),
    Page("GET", "/datasets/{name}", "analyst", ask),
    Page("POST", "/datasets/{name}/price", "analyst", price),
    Page("POST", "/datasets/{name}/answers", "analyst", send),
    Page("POST", "/datasets/{name}/wishes", "analyst", wish),
    Page("GET", "/answers/{number}", "analyst", answer),
    Page("GET", "/history", "analyst", history),
)
