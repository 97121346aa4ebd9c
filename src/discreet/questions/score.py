"""The candidate with the best score of the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.counting import collect_scores
from discreet.data.expressions import require_scores
from discreet.data.labels import read_labels
from discreet.data.table import Table
from discreet.errors import ParameterTypeError
from discreet.mechanisms.selection import SelectionMechanism
from discreet.questions.question import Prepared, Question
from discreet.release import Release
from discreet.samplers.bits import Bits

if TYPE_CHECKING:
    import narwhals as nw

_OWNER = "Session.select"


def prepare_select(
    table: Table,
    candidates: Sequence[Any],
    score: Callable[[Any], nw.Expr],
    made: SelectionMechanism,
    bits: Bits | None,
) -> Prepared:
    """As `Session.select` says. How far one protected unit can move a score is the caller's word, so no unit is needed here."""
    labels = read_labels(candidates, "candidates", _OWNER)
    if not callable(score):
        raise ParameterTypeError(_OWNER, "score", "a function from a candidate to a Narwhals expression", score)
    expressions = [score(label) for label in labels]
    require_scores(table, expressions, _OWNER)

    def answer(rows: Table) -> Release:
        return made.release(dict(zip(labels, collect_scores(rows, expressions), strict=True)), bits=bits)

    return Prepared(Question("select", None, made.privacy_loss()), answer)
