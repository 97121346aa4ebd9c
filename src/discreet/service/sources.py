"""Whether the sources of a manifest are there, and have what it says of them.

This is found out before a ledger is touched: a budget that was opened for a manifest with
a mistake would not agree with the right one.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from discreet import BudgetExceededError, ParameterError, Person, Session
from discreet.service.manifest import Dataset, Manifest, ManifestError
from discreet.service.questions import takes

# what a session calls the words of a manifest
_WORDS = {
    "unit": "person",
    "separator": "separator",
    "encoding": "encoding",
    "table_name": "table",
}
# files without types have days as text
_DAYS = ("Date", "Datetime", "String")


def require_sources(manifest: Manifest) -> None:
    """Refuse a manifest with a source that cannot be opened, or that lacks a column, or one
    whose public values fit no column. No row is asked about.
    """
    for name, dataset in manifest.datasets.items():
        with _opened(manifest, name, dataset) as session:
            _require_columns(manifest, name, dataset, session.columns)
            for column in dataset.column:
                _require_candidates(manifest, name, column, session)


def _opened(manifest: Manifest, name: str, dataset: Dataset) -> Session:
    here = ["dataset", name]
    try:
        return Session(
            manifest.source(name),
            unit=Person(dataset.person),
            budget=dataset.budget.loss,
            table_name=dataset.table,
        )
    except ManifestError:
        raise
    except ParameterError as error:
        word = _WORDS.get(error.name, "source")
        raise manifest.error([*here, word], f"must be {error.rule}") from None
    except Exception:
        # what an engine says may show rows
        raise manifest.error([*here, "source"], "cannot be opened") from None


def _require_columns(
    manifest: Manifest, name: str, dataset: Dataset, columns: dict[str, str]
) -> None:
    here = ["dataset", name]
    for column in dataset.column:
        if column not in columns:
            rule = f"names {column!r}, which the source does not have"
            raise manifest.error([*here, "column", column], rule)
    if dataset.window is None:
        return
    place, column = [*here, "window", "column"], dataset.window.column
    if column not in columns:
        raise manifest.error(place, f"names {column!r}, which the source does not have")
    if not columns[column].startswith(_DAYS):
        raise manifest.error(place, "must be a column of days")


def _require_candidates(manifest: Manifest, name: str, column: str, session: Session) -> None:
    """Refuse candidates that no question could be asked about: its price says so."""
    said = manifest.datasets[name].column[column]
    if not said.labels:
        return
    for what in said.ask:
        if takes(what, "candidates"):
            options = {"candidates": said.labels, "split": said.split, "epsilon": Fraction(1, 100)}
            # a budget may be smaller than what is tried here
            try:
                with suppress(BudgetExceededError):
                    session.price(what, column, **options, **({"k": 1} if takes(what, "k") else {}))
            except ParameterError as error:
                word = error.name if error.name in ("candidates", "split") else "ask"
                place = ["dataset", name, "column", column, word]
                raise manifest.error(place, f"must be {error.rule}") from None
