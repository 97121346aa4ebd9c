"""How many questions a budget of (1, 1e-6) answers: a real session, asked until it refuses, and
what the rules of other libraries admit of the same stream.

| rule | whose |
|---|---|
| epsilons added up | OpenDP's and diffprivlib's accountants for pure DP |
| rho of pure DP, epsilon^2 / 2 | a session of Tumult Analytics that counts zCDP |
| rho of bounded range, epsilon^2 / 8 | OpenDP's zCDP filter, told the range |
| dp_accounting, RDP | the tight rho of bounded range, in its Renyi accountant |

The first three are filters. dp_accounting's accountant is not: its number holds for a stream that
was fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, cycle, repeat
from pathlib import Path

import dp_accounting
import pandas
from dp_accounting.rdp import RdpAccountant
from report import Section, Table, environment, write

import discreet
from discreet.accounting.renyi import largest_rho
from discreet.questions import Mode

BUDGET = discreet.ApproxDP(1, 1e-6)
STREAMS: dict[str, Callable[[], Iterator[str]]] = {
    "0.1": lambda: repeat("0.1"),
    "0.05": lambda: repeat("0.05"),
    "0.01": lambda: repeat("0.01"),
    "0.1, 0.02, 0.05 in turn": lambda: cycle(["0.1", "0.02", "0.05"]),
    "one of 0.3, then 0.02": lambda: chain(["0.3"], repeat("0.02")),
}


def session(stream: Iterator[str]) -> int:
    """Questions that a session with its defaults answers, each of them asked."""
    table = pandas.DataFrame({"pet": ["cat", "dog", "cat"]})
    asked = discreet.Session(table, unit=discreet.OneRow(), budget=BUDGET)
    for number, epsilon in enumerate(stream):
        try:
            question = Mode("pet", candidates=["cat", "dog"], epsilon=Fraction(epsilon))
            asked.ask(question, fresh=True)
        except discreet.BudgetExceededError:
            return number
    raise AssertionError("a budget ends")


def summed(stream: Iterator[str], cost: Callable[[Fraction], Fraction], limit: Fraction) -> int:
    """Questions whose costs add up to at most the limit."""
    total = Fraction(0)
    for number, epsilon in enumerate(stream):
        total += cost(Fraction(epsilon))
        if total > limit:
            return number
    raise AssertionError("a budget ends")


def by_renyi(stream: Iterator[str]) -> int:
    """Questions within the budget by dp_accounting's Renyi accountant."""
    accountant = RdpAccountant()
    for number, epsilon in enumerate(stream):
        rho = discreet.BoundedRange(Fraction(epsilon)).to_zcdp().rho
        accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
        if accountant.get_epsilon(float(BUDGET.delta)) > BUDGET.epsilon:
            return number
    raise AssertionError("a budget ends")


RHO = largest_rho(BUDGET.epsilon, BUDGET.delta)
RULES: dict[str, Callable[[Iterator[str]], int]] = {
    "**discreet, a session**": session,
    "epsilons added up": lambda stream: summed(stream, lambda each: each, Fraction(1)),
    "rho of pure DP": lambda stream: summed(stream, lambda each: each**2 / 2, RHO),
    "rho of bounded range": lambda stream: summed(stream, lambda each: each**2 / 8, RHO),
    "dp_accounting, RDP": by_renyi,
}


def main() -> None:
    """Ask, and write the table."""
    rows = [
        [rule, *(f"{admit(make()):,}" for make in STREAMS.values())]
        for rule, admit in RULES.items()
    ]
    columns = ["questions of epsilon", *STREAMS]
    table = Table("Questions that are answered within (1, 1e-6)", columns, rows)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    note = (__doc__ or "").partition("\n\n")[2].strip()
    section = Section(
        "questions", "A session beside the rules of others", note, [table], [], records
    )
    about = environment(["discreet", "dp-accounting"])
    write(Path(__file__).parent / "results", "questions", about, [section])
    print(section)


if __name__ == "__main__":
    main()
