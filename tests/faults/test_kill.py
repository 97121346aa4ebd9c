"""Many clients of one ledger, killed at random points: every release is paid for, and no budget
is exceeded.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from faults.kill import BUDGET, EPSILON
from faults.ledgers import EVERY, a_place

from discreet import Ledger

LENGTHS = [
    pytest.param(4, 12, id="short"),
    pytest.param(12, 300, id="middle", marks=pytest.mark.kills),
    # with the middle ones 10,000 kills of both stores
    pytest.param(64, 4700, id="long", marks=[pytest.mark.kills, pytest.mark.timeout(3600)]),
]


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(("clients", "kills"), LENGTHS)
def test_whatever_is_killed_every_release_is_paid_for(kind, clients, kills, tmp_path):
    with a_place(kind, tmp_path) as place:
        folder = tmp_path / "clients"
        folder.mkdir()
        script = Path(__file__).with_name("kill.py")
        subprocess.run(
            [sys.executable, script, place.url, folder, str(clients), str(kills), "1"], check=True
        )
        assert [file.read_text() for file in folder.glob("*.problem")] == []
        with Ledger(place.url) as ledger:
            check(ledger, released_in(folder))


def released_in(folder):
    """All lines that clients have published; one that was being written when its client was
    killed has no end.
    """
    texts = (file.read_text() for file in folder.glob("*.releases"))
    return [line.split() for text in texts for line in text.split("\n")[:-1]]


def check(ledger, released):
    charges = {
        account.dataset: {
            charge.number: charge for charge in ledger.history(account.dataset, limit=10_000)
        }
        for account in ledger.accounts()
    }
    paid = defaultdict(set)
    values = defaultdict(set)
    for dataset, number, _, value in released:
        assert int(number) in charges[dataset], "released without a durable charge"
        paid[dataset].add(int(number))
        values[dataset, number].add(value)
    assert all(len(found) == 1 for found in values.values()), "one charge, two answers"
    for dataset, made in charges.items():
        spent = sum((charge.amount.value for charge in made.values()), Fraction(0))
        assert EPSILON.epsilon * len(paid[dataset]) <= spent <= BUDGET.epsilon
        assert (ledger.spent(dataset), ledger.remaining(dataset)) == (spent, BUDGET.epsilon - spent)
        assert max(Counter(charge.key for charge in made.values()).values(), default=1) == 1
    assert sum(map(len, paid.values())) > 20, (
        "hardly anything was released, so hardly anything was shown"
    )
    entries = ledger.verify().entries
    unused = sum(len(made) for made in charges.values()) - sum(map(len, paid.values()))
    print(
        f"{len(released)} releases of {len(charges)} budgets, {entries} entries, {unused} charges "
        "without a release"
    )
