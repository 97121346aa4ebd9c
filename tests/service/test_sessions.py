"""Sessions are kept between questions, and not for good."""

from service.team import QUESTION

from discreet.service import datasets as open_datasets
from discreet.service.canonical import read_question


def kept(team):
    return [each for idle in team.service.published._idle.values() for each in idle]


def test_after_many_uses_all_sessions_are_opened_anew(team, monkeypatch):
    """An engine gives back what it kept of questions when its last session is closed."""
    monkeypatch.setattr(open_datasets, "_MOST_USES", 3)
    ended = []
    monkeypatch.setattr(open_datasets.Session, "close", lambda self: ended.append(self))
    for who in ("team-a", "team-b"):
        assert team.ask(who=who).status_code == 201
    first = kept(team)
    assert len(first) == 2
    assert not ended
    assert team.ask(QUESTION | {"fresh": True}).status_code == 201
    assert kept(team) == []
    assert sorted(map(id, ended)) == sorted(map(id, first))
    assert team.ask(QUESTION | {"fresh": True}).status_code == 201
    assert len(kept(team)) == 1


def test_a_session_that_was_in_use_meanwhile_is_not_kept(team, monkeypatch):
    monkeypatch.setattr(open_datasets, "_MOST_USES", 1)
    datasets = team.service.published.manifest.datasets
    question = read_question("reads", datasets["reads"], QUESTION)
    with team.service.published.session(question, "team-a") as used:
        assert team.ask(who="team-b").status_code == 201
        ended = []
        monkeypatch.setattr(open_datasets.Session, "close", lambda self: ended.append(self))
    assert ended == [used]
    assert kept(team) == []
