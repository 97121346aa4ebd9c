"""Figures for a monitor, in the text format of Prometheus: for the steward, and only what the
ledger and the steward's screen show anyway. No times: how long an answer took tells about
the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starlette.responses import Response

from discreet import Account
from discreet.service.routes import Call, Endpoint
from discreet.service.state import Service
from discreet.service.steward_api import state_of

_KIND = "text/plain; version=0.0.4; charset=utf-8"


async def metrics(call: Call) -> Response:
    """Budgets, failures, late replies, keys and open wishes."""
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
    """One figure. A ledger may have names of analysts that no manifest would allow."""
    written = {
        label: json.dumps(text, ensure_ascii=False) for label, text in labels.items() if text
    }
    inside = ",".join(f"{label}={text}" for label, text in written.items())
    return f"discreet_{name}{'{' + inside + '}' if inside else ''} {value:g}"


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/metrics",
        role="steward",
        handler=metrics,
        summary="Figures for a monitor, as text",
    ),
)
