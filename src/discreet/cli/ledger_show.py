"""Budgets, charges and answers of a ledger: tables for people, dictionaries for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from discreet import OneRow, Person
from discreet.accounting import Amount
from discreet.cli.show import exact_text
from discreet.cli.terminal import label_text, round_down, round_up

if TYPE_CHECKING:
    from discreet.ledger import Account, Charge, KeptAnswer, Right

_SUBJECT = ("table", "table_name", "table_label", "window_column", "window_every")
_NARROWEST, _WIDEST = 10, 30
_MAY = {
    "owner": "own it: everything",
    "writer": "charge and read",
    "reader": "read and verify",
    "other": "something else: look at these rights",
}
_ANSWERED = Text("given", style="green")
_LOST = Text("lost", style="red")
_NONE = Text("none", style="yellow")
_SYMBOLS = {
    "epsilon": "\N{GREEK SMALL LETTER EPSILON}",
    "delta": "\N{GREEK SMALL LETTER DELTA}",
    "rho": "\N{GREEK SMALL LETTER RHO}",
    "coins": "coins",
}


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One budget as a line of a table."""

    whose: str
    budget: str
    spent: str
    left: str
    share: float

    @classmethod
    def of(cls, account: Account) -> AccountLine:
        """The line of this budget."""
        whose = [account.dataset, *([f"for {account.analyst}"] if account.analyst else [])]
        whose += (
            [f"in {account.window}"]
            if account.window
            else ["(each window)"]
            if account.windows
            else []
        )
        limit = account.limit.value
        share = float(account.spent.value / limit) if limit else 1.0
        return cls(
            " ".join(whose),
            ", ".join(
                f"{_SYMBOLS[name]} {exact_text(getattr(account.budget, name))}"
                for name in account.budget.__slots__
            ),
            _shown(account.spent, round_up),
            "closed" if account.closed else _shown(account.remaining, round_down),
            share,
        )


def _shown(amount: Amount, rounded: Callable[[Fraction, int], str]) -> str:
    """An amount in a narrow column: of coins, the share of the budget."""
    return amount.share or f"{rounded(amount.value, 4)} {_SYMBOLS[amount.unit]}"


def accounts_table(lines: Sequence[AccountLine], width: int) -> Table:
    """A table of all budgets, each with a bar of what is spent."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("data set", "budget"):
        table.add_column(name, overflow="fold")
    table.add_column("spent", justify="right", no_wrap=True)
    table.add_column("left", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    room = max(_NARROWEST, min(_WIDEST, width - 64))
    for line in lines:
        color = "red" if line.share > 0.9 else "yellow" if line.share > 0.6 else "green"
        bar = Bar(size=1.0, begin=0.0, end=line.share, width=room, color=color, bgcolor="grey35")
        table.add_row(label_text(line.whose, style="bold"), line.budget, line.spent, line.left, bar)
    if not lines:
        table.add_row(Text("nothing was opened yet", style="italic"), "", "", "", "")
    return table


def history_table(charges: Sequence[Charge]) -> Table:
    """A table of a page of charges, newest first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("request", overflow="fold")
    table.add_column("takes", justify="right", no_wrap=True)
    table.add_column("who", overflow="fold")
    table.add_column("answer", no_wrap=True)
    for charge in charges:
        who = " ".join([charge.analyst or "", *charge.windows]).strip()
        answer = _ANSWERED if charge.settled else _LOST if charge.lost else _NONE
        time = f"{charge.time:%Y-%m-%d %H:%M:%S}"
        table.add_row(
            str(charge.number),
            time,
            label_text(_question_of(charge)),
            _shown(charge.amount, round_up),
            label_text(who),
            answer,
        )
    if not charges:
        table.add_row("", "", Text("nothing was charged yet", style="italic"), "", "", "")
    return table


def rights_table(rights: Sequence[Right]) -> Table:
    """A table of the roles of a ledger, and what each may do."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("role", overflow="fold")
    table.add_column("may", no_wrap=True)
    for right in rights:
        style = "yellow" if right.may == "other" else ""
        table.add_row(label_text(right.role), Text(_MAY[right.may], style=style))
    return table


def account_dict(account: Account) -> dict[str, Any]:
    """A budget as JSON, with exact numbers as text."""
    return {
        "dataset": account.dataset,
        "analyst": account.analyst,
        "window": account.window,
        "windows": account.windows,
        "budget": account.budget.to_dict(),
        "limit": account.limit.to_dict(),
        "spent": account.spent.to_dict(),
        "remaining": account.remaining.to_dict(),
        "room": account.room,
        "closed": account.closed,
        "delta_limit": str(account.delta_limit),
        "delta_spent": str(account.delta_spent),
        "protected": None if account.protected is None else _unit_dict(account.protected),
        **{name: getattr(account, name) for name in _SUBJECT},
    }


def _unit_dict(unit: Person | OneRow) -> dict[str, str | None]:
    return {"person": unit.column if isinstance(unit, Person) else None}


def charge_dict(charge: Charge) -> dict[str, Any]:
    """A charge as JSON, with exact numbers as text."""
    return {
        "number": charge.number,
        "time": charge.time.isoformat(),
        "dataset": charge.dataset,
        "analyst": charge.analyst,
        "windows": list(charge.windows),
        "loss": charge.loss.to_dict(),
        "amount": charge.amount.to_dict(),
        "delta": str(charge.delta),
        "request": dict(charge.request),
        "key": charge.key,
        "settled": charge.settled,
        "lost": charge.lost,
    }


def answers_table(answers: Sequence[KeptAnswer]) -> Table:
    """A table of a page of kept answers, newest first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    for name in ("question", "answer", "who"):
        table.add_column(name, overflow="fold")
    for kept in answers:
        charge = kept.charge
        table.add_row(
            str(charge.number),
            f"{charge.time:%Y-%m-%d %H:%M:%S}",
            label_text(_question_of(charge)),
            label_text(str(kept.release.value)),
            label_text(" ".join([charge.analyst or "", *charge.windows]).strip()),
        )
    if not answers:
        table.add_row("", "", Text("nothing was kept yet", style="italic"), "", "")
    return table


def answer_dict(kept: KeptAnswer) -> dict[str, Any]:
    """A kept answer as JSON."""
    return charge_dict(kept.charge) | {"release": json.loads(kept.release.to_json())}


def _question_of(charge: Charge) -> str:
    """The question of a charge on one line: what was asked about which column comes first."""
    asked = {name: value for name, value in charge.request.items() if value is not None}
    first = {name: asked[name] for name in ("what", "column", "columns") if name in asked}
    return ", ".join(f"{name} {_part_of(value)}" for name, value in (first | asked).items())


def _part_of(value: Any) -> str:
    if isinstance(value, Mapping) and value.keys() == {"digest", "number"}:
        # of many candidates the ledger has no more; --json shows the whole digest
        return f"{value['number']} (digest {str(value['digest'])[:8]})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
