"""Questions to a session by their names, with the words of `Session.ask` among the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet import Session
from discreet.questions import QUESTIONS, Question


def ask_of(session: Any, what: str, *args: Any, **given: Any) -> Any:
    """Ask a session, or a remote data set, a question; `fresh` and `bits` say how."""
    if what not in QUESTIONS:
        return getattr(session, what)(*args, **given)
    how = {word: given.pop(word) for word in ("fresh", "bits", "windows", "again") if word in given}
    if how:
        return session.ask(QUESTIONS[what](*args, **given), **how)
    return getattr(session, what)(*args, **given)


class _Caught:
    """Takes a question and does not answer it."""

    def ask(self, question: Question, **how: Any) -> None:
        self.question = question

    def __getattr__(self, name: str) -> Any:
        return vars(Session)[name].__get__(self)


def question_of(ask: Callable[[Any], Any]) -> Question:
    """The question that a function asks a session."""
    caught = _Caught()
    ask(caught)
    return caught.question
