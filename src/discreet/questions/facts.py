"""Public facts about columns: what a steward publishes, and a user of a Session says once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.questions.kinds import CandidatesOrTable, Separator
from discreet.questions.parameter import kind_of

Facts = Mapping[str, Mapping[str, Any]]
"""For each column its public facts, by the names of the parameters that they stand for."""

FACTS = {"candidates": kind_of(CandidatesOrTable), "split": kind_of(Separator)}
"""The facts that there are, with the kinds of their values."""


def read_facts(public: Facts | None) -> Facts:
    """Read facts as the parameters are read that they stand for."""
    if public is None:
        return {}
    if not isinstance(public, Mapping) or not all(
        isinstance(facts, Mapping) for facts in public.values()
    ):
        rule = "a mapping from columns to their public facts"
        raise ParameterTypeError("public", rule, public)
    with called_as("Session", FACTS):
        return {column: _read(facts) for column, facts in public.items()}


def _read(facts: Mapping[str, Any]) -> dict[str, Any]:
    for name in facts:
        if name not in FACTS:
            raise ParameterError("public", f"made of {' and '.join(FACTS)}", name)
    return {name: FACTS[name].read(fact, name) for name, fact in facts.items() if fact is not None}
