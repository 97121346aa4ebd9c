"""A manifest for one file of one's own: every column but the person can be asked for."""

from __future__ import annotations

import json
from pathlib import Path

from discreet import ApproxDP, Ledger, Loss, Person, PureDP, Session
from discreet.service.manifest import Manifest

ME = "me"
"""The one person, in both roles."""
DATASET = "file"
_NUMBERS = ("Int", "UInt", "Float", "Decimal")
_TIMES = ("Date", "Datetime")


def explored(path: Path, *, person: str, budget: Loss, persons: int, as_of: str) -> Manifest:
    """The manifest for a file. Only its columns and their types are looked at."""
    with Session(str(path), unit=Person(person), budget=budget) as session:
        columns = session.columns
    words = {
        "title": path.name,
        "source": str(path.resolve()),
        "person": person,
        "as_of": as_of,
        "reply_after": "500ms",
    }
    lines = [f"[dataset.{DATASET}]", *(f"{name} = {_text(said)}" for name, said in words.items())]
    lines += [f"persons = {persons}", f"budget = {_budget(budget)}"]
    for column, kind in columns.items():
        if column != person:
            lines += [f"[dataset.{DATASET}.column.{_text(column)}]", *_said(kind)]
    lines += [f"[dataset.{DATASET}.share]", f"{ME} = {_budget(budget)}"]
    return Manifest(path.with_name("discreet.toml"), "\n".join(lines) + "\n")


def kept_budget(address: str) -> Loss | None:
    """The budget of a file that was explored before."""
    if not Path(address.removeprefix("sqlite:///")).exists():
        return None
    with Ledger(address, create=False) as ledger:
        return next((each.budget for each in ledger.accounts() if each.dataset == DATASET), None)


def _said(kind: str) -> list[str]:
    if kind.startswith(_NUMBERS):
        return ['ask = ["quantile", "quantiles", "best_price"]', 'filter = "range"']
    if kind.startswith(_TIMES):
        return ['filter = "range"']
    if kind.startswith(("String", "Categorical", "Enum")):
        return ['ask = ["top_k"]', 'filter = "any"']
    return []


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


def _budget(budget: Loss) -> str:
    assert isinstance(budget, (PureDP, ApproxDP))
    delta = f', delta = "{budget.delta}"' if isinstance(budget, ApproxDP) else ""
    return f'{{ epsilon = "{budget.epsilon}"{delta} }}'
