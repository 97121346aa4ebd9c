"""What costs nothing takes no time of others: prices, previews, and the coins of a new budget."""

import asyncio
import threading

import pytest
from service.team import QUESTION

from discreet.accounting import coin_table
from discreet.service import api, state
from discreet.service.problems import RefusedError


def test_coins_are_never_computed_while_a_request_waits(team, monkeypatch):
    """A budget whose coins are not at hand is opened once they are, and not before."""
    played, done = [], threading.Event()

    def play(epsilon, deltas, parts):
        played.append((epsilon, threading.current_thread().name))
        done.set()
        return (coin_table.coins_at_least(epsilon, deltas[0]),)

    monkeypatch.setattr(coin_table, "play", play)
    monkeypatch.setattr(coin_table, "kept", lambda *budget: None)
    monkeypatch.setattr(coin_table, "remember", lambda *budget: None)
    certify, threads = team.service._certify, []
    monkeypatch.setattr(
        type(team.service),
        "_certify",
        lambda service, *budget: (threads.append(threading.current_thread()), certify(*budget)),
    )
    share = {"dataset": "reads", "analyst": "team-c", "epsilon": "1.0625", "delta": "0.00071"}
    first = team.post("/v1/shares", share, "steward")
    assert (first.status_code, first.json()["type"]) == (503, "/problems/being-certified")
    assert done.wait(200)
    threads[0].join()
    assert [name for _, name in played] == [threads[0].name]
    assert team.post("/v1/shares", share, "steward").status_code == 201
    assert len(played) == 1
    assert team.service.ledger.account("reads", analyst="team-c").budget.delta > 0


def test_prices_of_one_analyst_are_computed_one_after_the_other(team, monkeypatch):
    monkeypatch.setattr(state, "_MOST_WAITING", 2)
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert go_on.wait(200)
        return "slow"

    async def main():
        service = team.service
        slowly = [asyncio.create_task(service.freely("team-a", slow)) for _ in range(2)]
        await asyncio.to_thread(begun.wait, 200)
        with pytest.raises(RefusedError, match="busy"):
            await service.freely("team-a", slow)
        others = await service.freely("team-b", lambda: "at once")
        go_on.set()
        return others, await asyncio.gather(*slowly), service._turns

    assert asyncio.run(main()) == ("at once", ["slow", "slow"], {})


def test_a_request_for_many_prices_ends(team, monkeypatch):
    monkeypatch.setattr(api, "_LONGEST", -1)
    reply = team.post("/v1/datasets/reads/prices", {"questions": [QUESTION, QUESTION]})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (422, "/questions/0")
