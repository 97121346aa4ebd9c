"""Budgets and charges of a ledger for people to read, and for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from discreet import OneRow, Person
from discreet.cli.promise import exact_text
from discreet.cli.terminal import label_text, round_down, round_up

if TYPE_CHECKING:
    from discreet.ledger import Account, Charge, Right

_SUBJECT = ("table", "table_name", "table_label", "window_column", "window_every")
_NARROWEST, _WIDEST = 10, 30
_MAY = {
    "owner": "own it: everything",
    "writer": "charge and read",
    "reader": "read and verify",
    "other": "something else: look at these rights",
}
_SYMBOLS = {
    "epsilon": "\N{GREEK SMALL LETTER EPSILON}",
    "delta": "\N{GREEK SMALL LETTER DELTA}",
    "rho": "\N{GREEK SMALL LETTER RHO}",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One budget as a line of a table."""

    whose: str
    budget: str
    spent: str
    left: str
    share: float

    @classmethod
    def of(cls, account: Account) -> Line:
        """The line of this budget."""
        whose = [account.dataset, *([f"for {account.analyst}"] if account.analyst else [])]
        whose += [f"in {account.window}"] if account.window else ["(each window)"] if account.windows else []
        share = float(account.spent / account.limit)
        unit = _SYMBOLS[account.unit]
        return cls(
            " ".join(whose),
            ", ".join(f"{_SYMBOLS[name]} {exact_text(getattr(account.budget, name))}" for name in account.budget.__slots__),
            f"{round_up(account.spent, 4)} {unit}",
            f"{round_down(account.remaining, 4)} {unit}",
            share,
        )


def accounts_table(lines: Sequence[Line], width: int) -> Table:
    """All budgets, with a bar of what is spent."""
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


def history_table(charges: Sequence[Charge], unit: str) -> Table:
    """All charges."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("request", overflow="fold")
    table.add_column(unit, justify="right", no_wrap=True)
    table.add_column("who", overflow="fold")
    table.add_column("answer", no_wrap=True)
    for charge in charges:
        asked = ", ".join(f"{name} {value}" for name, value in charge.request.items() if value is not None)
        who = " ".join([charge.analyst or "", *charge.windows]).strip()
        answer = Text("given", style="green") if charge.settled else Text("none", style="yellow")
        time = f"{charge.time:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(charge.number), time, label_text(asked), round_up(charge.amount, 4), label_text(who), answer)
    if not charges:
        table.add_row("", "", Text("nothing was charged yet", style="italic"), "", "", "")
    return table


def rights_table(rights: Sequence[Right]) -> Table:
    """Who may do what with a ledger."""
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
        "unit": account.unit,
        "limit": str(account.limit),
        "spent": str(account.spent),
        "remaining": str(account.remaining),
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
        "amount": str(charge.amount),
        "delta": str(charge.delta),
        "request": dict(charge.request),
        "key": charge.key,
        "settled": charge.settled,
    }
