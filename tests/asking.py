"""Questions to a session by their names, with the words of `Session.ask` among the others."""

from __future__ import annotations

from typing import Any

from discreet.questions import QUESTIONS


def ask_of(session: Any, what: str, *args: Any, **given: Any) -> Any:
    """Ask a session, or a remote data set, a question; `fresh` and `bits` say how."""
    if what not in QUESTIONS:
        return getattr(session, what)(*args, **given)
    how = {word: given.pop(word) for word in ("fresh", "bits", "windows", "again") if word in given}
    if how:
        return session.ask(QUESTIONS[what](*args, **given), **how)
    return getattr(session, what)(*args, **given)
