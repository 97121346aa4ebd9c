"""Sessions are kept between questions, and not for good."""

from service.team import QUESTION

from discreet.service import published


def kept(team):
    return [each for idle in team.service.published._idle.values() for each in idle]


def test_after_many_uses_all_sessions_are_opened_anew(team, monkeypatch):
    """An engine gives back what it kept of questions when its last session is closed."""
    monkeypatch.setattr(published, "_MOST_USES", 3)
    ended = []
    monkeypatch.setattr(published.Session, "close", lambda self: ended.append(self))
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
