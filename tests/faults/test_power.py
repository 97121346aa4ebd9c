"""Power cuts on SQLite, simulated: whatever was not synced may be gone, and no charge that was
acknowledged is.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from faults.power import Disk, Recorder
from tiers import more

from discreet import Ledger, PureDP, Release
from discreet.ledger.sqlite import SQLiteStore

BUDGET, EPSILON = PureDP(1), PureDP(0.03)


def record(folder, monkeypatch, syncs=True):
    """Use a ledger, and note after each acknowledged charge what the file has to remember.

    syncs: whether what we sync ourselves reaches the disk.
    """
    recorder = Recorder()

    def synced(*event):
        if syncs:
            recorder.events.append(event)

    def store(path, timeout, **more):
        def sync(log):
            synced("sync", "budget.db-wal")

        return SQLiteStore(path, timeout, recorder.connect, sync, **more)

    with monkeypatch.context() as patch:
        patch.setattr("discreet.ledger.address.SQLiteStore", store)
        patch.setattr("discreet.ledger.sqlite.sync_folder", lambda folder: synced("sync folder"))
        for part in range(3):  # with the last connection SQLite deletes its log
            with Ledger(f"sqlite:///{folder}/budget.db") as ledger:
                ledger.open("survey", budget=BUDGET)
                recorder.events.append(("acknowledged", ledger.anchor(), 0))
                for question in range(11):
                    reservation = ledger.reserve(
                        "survey", EPSILON, request={}, key=f"{part}-{question}", replayable=True
                    )
                    recorder.events.append(
                        ("acknowledged", ledger.anchor(), 11 * part + question + 1)
                    )
                    reservation.settle(
                        Release(value="x" * 99, loss=EPSILON, mechanism="test", candidates=None)
                    )
                    recorder.events.append(
                        ("acknowledged", ledger.anchor(), 11 * part + question + 1)
                    )
    return recorder.events


def cuts(events, how_many, folder, seed):
    """Ledgers after power cuts at random moments, each with what was acknowledged before."""
    chance = random.Random(seed)
    moments = sorted(chance.randrange(len(events)) for _ in range(how_many))
    disk, acknowledged, done = Disk("budget.db"), ("0:" + "0" * 64, 0), 0
    for number, moment in enumerate(moments):
        for event in events[done : moment + 1]:
            if event[0] == "acknowledged":
                acknowledged = event[1:]
            disk.do(event)
        done = max(done, moment + 1)
        place = folder / str(number)
        place.mkdir()
        disk.cut(place, chance)
        yield place, acknowledged


@pytest.mark.parametrize(
    "how_many", [120, pytest.param(6000, marks=[pytest.mark.kills, pytest.mark.timeout(1200)])]
)
def test_no_acknowledged_charge_is_ever_lost(how_many, tmp_path, monkeypatch):
    events = record(tmp_path, monkeypatch)
    assert sum(event[0] == "sync" for event in events) > 60
    unfinished = 0
    for place, (anchor, charges) in cuts(events, how_many, tmp_path, 1):
        with Ledger(f"sqlite:///{place}/budget.db") as ledger:
            found = ledger.verify(
                anchor
            )  # nothing that was acknowledged is missing, and the sums are right
            unfinished += str(found.anchor) != anchor
            spent = sum((account.spent.value for account in ledger.accounts()), Fraction(0))
            assert EPSILON.epsilon * charges <= spent <= BUDGET.epsilon
    assert unfinished, "no cut fell between a commit and its acknowledgement"


@pytest.mark.parametrize("how_many", [12, more(30, tier="kills")])
def test_after_a_cut_the_ledger_goes_on(tmp_path, monkeypatch, how_many):
    events = record(tmp_path, monkeypatch)
    for place, (anchor, _) in cuts(events, how_many, tmp_path, 2):
        with Ledger(f"sqlite:///{place}/budget.db") as ledger:
            ledger.open("survey", budget=BUDGET)
            left = ledger.questions_left("survey", loss=EPSILON)
            for _ in range(left):
                ledger.reserve("survey", EPSILON, request={})
            assert ledger.questions_left("survey", loss=EPSILON) == 0
            ledger.verify(anchor)


@pytest.mark.parametrize("how_many", [80, more(200, tier="kills")])
def test_a_weaker_setting_would_have_lost_charges(tmp_path, monkeypatch, how_many):
    """The simulation has teeth: without our own syncs acknowledged charges are gone after many
    cuts.
    """
    events = record(tmp_path, monkeypatch, syncs=False)
    lost = 0
    for place, (anchor, _) in cuts(events, how_many, tmp_path, 1):
        with Ledger(f"sqlite:///{place}/budget.db") as ledger:
            found = ledger.verify()  # SQLite does recover, but to an earlier point
            lost += found.entries < int(anchor.partition(":")[0])
    assert lost > how_many // 6
