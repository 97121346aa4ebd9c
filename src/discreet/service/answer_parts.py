"""Answers that are part of others: the first names of a longer list, some of many
quantiles.

A part is computed from what was released, so it costs nothing. Its stated accuracy is
that of the whole answer, where that holds for the part too: docs/proofs/accuracy.md.
The answer to `count` with a filter on a label is no part of the answer to `counts`: in
`counts` a cell that lists several items counts for each of them, but a filter compares
the whole cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet import Accuracy, Release

_LISTS, _RANKS = ("mode", "top_k"), ("quantile", "quantiles")


def family_of(form: Mapping[str, Any]) -> dict[str, Any]:
    """What questions have in common whose answers may be part of each other: everything
    but the epsilon, how many names a list has, and which quantiles are asked for.
    """
    what = form["what"]
    kinds, varying = [what], ["epsilon"]
    if what in _LISTS:
        kinds, varying = [*_LISTS], ["epsilon", "k"]
    if what in _RANKS:
        kinds, varying = [*_RANKS], ["epsilon", "q"]
    return {name: part for name, part in form.items() if name not in varying} | {"what": kinds}


def part_of(release: Release, whole: Mapping[str, Any], asked: Mapping[str, Any]) -> Release | None:
    """The part of a release that answers another question of the same family; None if
    there is none, if the release states no accuracy, or if counts are asked for.

    whole: the question that the release answers. asked: the one that is asked.
    """
    told = release.accuracy
    # no proof says that counts beside a longer list, or at a larger epsilon, are as accurate
    if told is None or asked.get("with_counts"):
        return None
    found = _first(release, whole, asked) if whole["what"] == "top_k" else None
    if whole["what"] == "quantiles":
        found = _some(release, told, whole["q"], asked["q"])
    if found is None:
        return None
    one = asked["what"] in ("mode", "quantile")
    return replace(
        found,
        value=found.value[0] if one else found.value,
        accuracy=_of_one(told) if one else told,
        asked={**asked, "part_of": dict(whole)},
    )


def is_as_accurate(part: Accuracy | None, wanted: Accuracy | None) -> bool:
    """True if two accuracies state the same, and the first promises no less. All lists
    of public candidates are compared place by place: their bounds hold in that sense.
    """
    if part is None or wanted is None:
        return False
    listed = {part.statement, wanted.statement} <= {"list", "places"}
    statement = wanted.statement if listed else part.statement
    about = replace(part, statement=statement, bound=wanted.bound, sharing=wanted.sharing)
    same = about == wanted
    return same and part.bound <= wanted.bound and part.sharing <= wanted.sharing


def _first(release: Release, whole: Mapping[str, Any], asked: Mapping[str, Any]) -> Release | None:
    """The first names of a list of public candidates."""
    k = asked.get("k", 1)
    if "candidates" not in whole or k > whole["k"]:
        return None
    counts = release.counts
    if counts is not None:
        counts = replace(counts, values=counts.values[:k])
    return replace(release, value=release.value[:k], counts=counts)


def _some(release: Release, told: Accuracy, shares: list[str], asked: Any) -> Release | None:
    """Some of the quantiles of a release, if each is stated to be near its rank."""
    wanted = asked if isinstance(asked, list) else [asked]
    if told.statement != "ranks" or not set(wanted) <= set(shares):
        return None
    return replace(release, value=[release.value[shares.index(share)] for share in wanted])


def _of_one(told: Accuracy) -> Accuracy:
    """The accuracy of the first name of a list, or of one of many quantiles."""
    return replace(told, statement="rank" if told.statement == "ranks" else "winner")
