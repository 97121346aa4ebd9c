"""Parts of answers that are there already: for nothing, with what was stated of the whole, and
only where that is no worse than what would be paid for.
"""

import json

import pytest
from service.team import QUESTION

import discreet
from discreet import Accuracy, PureDP, Release
from discreet.service.answer_parts import family_of, is_as_accurate, part_of

LIST = {"what": "top_k", "column": "article", "k": 4, "epsilon": "0.8"}
RANKS = {
    "what": "quantiles",
    "column": "pay",
    "bounds": ["0", "300"],
    "step": "1",
    "rule": "max",
    "method": "independent",
}


def taken(team, body):
    reply = team.ask(body | {"or_stronger": True})
    return reply.json(), reply.status_code == 200 and team.charges() == 1


def test_the_first_names_of_a_longer_list_cost_nothing(team):
    whole = team.ask(LIST).json()
    body = LIST | {"k": 2, "epsilon": "0.3"}
    offered = team.post("/v1/datasets/reads/prices", {"questions": [body]}).json()["prices"][0]
    found, free = taken(team, body)
    assert free
    assert found["value"] == whole["value"][:2]
    # of the answer that it is taken from: its law is not that of a shorter list
    assert (found["id"], found["entry"]) == (whole["id"], whole["entry"])
    assert (found["loss"], found["bound"]) == (whole["loss"], whole["bound"])
    assert found["asked"]["k"] == 2
    assert found["asked"]["part_of"] == whole["asked"]
    assert offered["stronger"] == {
        "id": whole["id"],
        "epsilon": "0.8",
        "asked": whole["asked"],
        "bound": whole["bound"],
    }
    assert offered["bound"]["bound"] >= whole["bound"]["bound"]
    release = Release.from_json(json.dumps(found["release"]))
    assert (release.value, release.loss) == (whole["value"][:2], PureDP(0.8))
    assert team.ask(body | {"or_stronger": True}).json() == found
    # never without being asked for, and never somebody else's
    assert team.ask(body).status_code == 201
    assert team.ask(body | {"or_stronger": True}, "team-b").status_code == 201


def test_the_first_of_a_list_is_a_winner(team):
    whole = team.ask(LIST).json()
    found, free = taken(team, QUESTION | {"epsilon": "0.05"})
    assert free
    assert found["value"] == whole["value"][0]
    assert found["bound"]["bound"] == whole["bound"]["bound"]
    assert found["bound"]["sentence"].startswith(
        "With 95% confidence, the chosen article is at most"
    )


def test_no_part_has_counts(team):
    """Nothing says how far off those would be that are paid for: perhaps less."""
    team.ask(LIST | {"with_counts": True})
    assert not taken(team, QUESTION | {"epsilon": "0.05", "with_counts": True})[1]
    assert not taken(team, LIST | {"k": 2, "epsilon": "0.05", "with_counts": True})[1]


def test_some_of_many_quantiles_cost_nothing(team):
    whole = team.ask(RANKS | {"q": ["1/4", "1/2", "3/4"], "epsilon": "0.9"}).json()
    some, free = taken(team, RANKS | {"q": ["0.25", "0.75"], "epsilon": "0.3"})
    assert free
    assert some["value"] == [whole["value"][0], whole["value"][2]]
    assert some["bound"] == whole["bound"]
    assert not taken(team, RANKS | {"q": ["0.25", "0.8"], "epsilon": "0.1"})[1]


@pytest.mark.parametrize(
    "body",
    [
        LIST | {"k": 5, "epsilon": "0.1"},
        LIST | {"k": 2, "where": [{"column": "role", "is": ["nurse"]}]},
        LIST | {"k": 2, "method": "peeling"},
        LIST | {"k": 2, "with_counts": True, "epsilon": "0.1"},
        QUESTION | {"epsilon": "0.1", "with_gap": True},
        QUESTION | {"epsilon": "0.1", "mechanism": "exponential"},
        LIST | {"k": 2, "epsilon": "0.1", "fresh": True},
    ],
    ids=str,
)
def test_what_is_not_in_a_list_is_paid_for(team, body):
    team.ask(LIST)
    assert not taken(team, body)[1]


def test_a_part_that_is_less_accurate_is_not_taken(team):
    team.ask(LIST)
    # the same epsilon for half as many names has less noise
    assert not taken(team, LIST | {"k": 2})[1]


def test_a_part_has_no_less_epsilon_than_was_asked_for(team, monkeypatch):
    from discreet.service import answering

    monkeypatch.setattr(answering, "is_as_accurate", lambda *accuracies: True)
    team.ask(LIST)
    assert not taken(team, LIST | {"k": 2, "epsilon": "0.9"})[1]


def stated(statement, bound=5.0, **more):
    return Accuracy(bound=bound, statement=statement, unit="persons", thing="value", **more)


def test_a_top_10_has_a_top_5_in_it_also_where_they_are_drawn_otherwise():
    """From 100 candidates the one is drawn jointly, the other one by one."""
    whole, half, same = (
        discreet.planning.accuracy_at("top_k", k=k, epsilon=epsilon, candidates=100)
        for k, epsilon in ((10, 1), (5, 0.42), (5, 1))
    )
    assert (whole.statement, half.statement) == ("places", "list")
    assert (is_as_accurate(whole, half), is_as_accurate(whole, same)) == (True, False)


def released(accuracy, value):
    return Release(value=value, loss=PureDP(1), mechanism="any", candidates=9, accuracy=accuracy)


def test_what_holds_for_all_together_is_not_said_of_some():
    whole = {"what": "quantiles", "q": ["1/4", "1/2"], "epsilon": "1"}
    asked = whole | {"what": "quantile", "q": "1/2"}
    assert part_of(released(stated("parts"), [1, 2]), whole, asked) is None
    part = part_of(released(stated("ranks"), [1, 2]), whole, asked)
    assert (part.value, part.accuracy) == (2, stated("rank"))


def test_a_list_from_an_unknown_domain_is_not_cut():
    whole = {"what": "top_k", "k": 3, "limit": 20, "epsilon": "1"}
    assert part_of(released(stated("list"), ["a"]), whole, whole | {"k": 2}) is None


def test_statements_are_compared_only_where_they_are_about_the_same():
    assert is_as_accurate(stated("list", 4.0), stated("list"))
    assert is_as_accurate(stated("list"), stated("list"))
    assert is_as_accurate(stated("places"), stated("list"))
    for other in (
        stated("list", 6.0),
        stated("places", 6.0),
        stated("winner", 4.0),
        stated("list", 4.0, sharing=1.0),
        stated("list", 4.0, failure_probability=0.1),
        stated("list", 4.0, crowd=(20, 1.0)),
        None,
    ):
        assert not is_as_accurate(other, stated("list"))
    assert not is_as_accurate(stated("list"), None)


def test_a_family_differs_by_what_cannot_be_part_of_each_other():
    base = {"what": "top_k", "column": "article", "k": 4, "epsilon": "1", "as_of": "1"}
    assert family_of(base) == family_of(base | {"k": 2, "epsilon": "2", "what": "mode"})
    for change in ({"as_of": "2"}, {"what": "counts"}, {"what": "quantile"}, {"q": "1/2"}):
        assert family_of(base) != family_of(base | change)


def test_free_also_when_nothing_is_left(team):
    team.ask(LIST | {"epsilon": "1"})
    team.ask(QUESTION | {"epsilon": "1"})
    assert team.service.ledger.remaining("reads", analyst="team-a") == 0
    body = LIST | {"k": 2, "epsilon": "0.3", "or_stronger": True}
    assert team.ask(body).status_code == 200


def test_a_number_that_a_ledger_put_back_gave_to_another_question_is_no_answer(team):
    team.ask()
    number = team.ask(QUESTION | {"epsilon": "0.25"}).json()["id"]
    team.service.store._run("UPDATE discreet_answers SET number = ?", number)
    team.restart()
    found = team.ask()
    assert (found.json()["asked"]["epsilon"], team.charges()) == ("0.5", 2)
    assert team.spent() == discreet.PureDP(0.75).epsilon
