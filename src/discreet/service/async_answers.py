"""Questions that no client waits for: the reply is at once, with an address to look at
later.

The state at that address changes at the fixed times of the data set, like any reply. If
the process that answers is killed, the ledger says what became of the question; it is
never computed again by itself.
"""

from __future__ import annotations

import json
from dataclasses import replace

from starlette.responses import Response

from discreet.service.answering import ledger_key
from discreet.service.canonical import CheckedQuestion, digest_of
from discreet.service.problems import INTERRUPTED, LOST, NOT_FOUND, UNAVAILABLE, RefusedError
from discreet.service.routes import Call, Endpoint, reply
from discreet.service.state import Service
from discreet.service.store import RUNNING, Promised, make_name


async def promised(call: Call, question: CheckedQuestion, attempt: str | None) -> Response:
    """Note the question, start to answer it, and reply with the address to look at."""
    service, analyst, name = call.service, call.caller.name, make_name()
    # an attempt without a key gets this one, so that the ledger can be asked about it
    attempt = name if attempt is None else attempt

    def note() -> None:
        made = Promised(
            dataset=question.dataset,
            question=question.digest,
            key=ledger_key(question, attempt),
            holder=service.ledger.holder,
        )
        service.store.promises.add(name, analyst, made)

    await service.quickly(note)
    service.later(name, _attempted(service, question, analyst, attempt, name))
    address = f"/v1/attempts/{name}"
    headers = {"Location": address, "Preference-Applied": "respond-async"}
    return reply({"attempt": address, "state": RUNNING}, 202, headers)


async def _attempted(
    service: Service, question: CheckedQuestion, analyst: str, attempt: str, name: str
) -> None:
    state, number = UNAVAILABLE.body().decode(), 0
    try:
        made = await service.patiently(service.answering.ask, question, analyst, attempt)
        state, number = "done", made.number
    except RefusedError as error:
        state = error.problem.body().decode()
    except Exception:
        # the error may depend on the rows: the state stays the constant text
        pass
    await service.quickly(service.store.promises.end, name, state, number)


async def attempt(call: Call) -> Response:
    """Say what became of a question that no client waited for."""
    service, name, analyst = call.service, call.path("id"), call.caller.name
    found = await service.quickly(service.store.promises.find, name, analyst)
    if found is None:
        raise RefusedError(NOT_FOUND)
    if found.state == RUNNING and not service.carries_out(name):
        found = await service.quickly(_looked_after, service, name, analyst, found)
    if found.state == "done":
        return reply({"state": found.state, "answer": f"/v1/answers/{found.number}"})
    if found.state == RUNNING:
        return reply({"state": found.state}, headers={"Retry-After": "1"})
    return reply({"state": "refused", "problem": json.loads(found.state)})


def _looked_after(service: Service, name: str, analyst: str, found: Promised) -> Promised:
    """What became of a question that another process answers. If that process is gone,
    the ledger says what became of it, and that is noted.
    """
    ledger = service.ledger
    # if it was this process, it could not note the end of the question
    if found.holder != ledger.holder and ledger.is_alive(found.holder):
        return found
    charge = ledger.left_behind(found.dataset, analyst, found.key)
    state, number = INTERRUPTED.body().decode(), 0
    if charge is not None and digest_of(charge.request.get("asked", {})) == found.question:
        # another request asks the same question now, and its charge pays for both
        if ledger.is_running(charge):
            return found
        lost = replace(LOST, more={"entry": charge.number})
        state = "done" if charge.settled else lost.body().decode()
        number = charge.number if charge.settled else 0
    service.store.promises.end_for(name, state, number)
    return service.store.promises.find(name, analyst) or found


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/attempts/{id}",
        "analyst",
        attempt,
        "Show the state of a question that was sent with Prefer: respond-async",
    ),
)
