"""Rows as an engine sees them: with types, or all as text."""

from __future__ import annotations

KINDS = {
    "world": "whole",
    "person": "whole",
    "item": "text",
    "price": "float",
    "said": "text",
    "amount": "whole",
    "vote": "truth",
    "city": "text",
    "born": "day",
    "name": "text",
    "weight": "float",
}


def seen(engine, rows):
    """The rows and kinds as this engine sees them."""
    if engine.typed:
        return rows, KINDS
    empty = {"csv": ("",), "csv-multiline": ("",), "pandas-objects": ("nan",)}.get(engine.name, ())
    texts = []
    for row, written in zip(rows, engine.seen(rows), strict=True):
        cells = {name: None if value is None else _text(value) for name, value in written.items()}
        gone = [
            name
            for name in cells
            if cells[name] in empty and not (isinstance(row[name], str) and row[name])
        ]
        texts.append(cells | dict.fromkeys(gone))
    return texts, dict.fromkeys(KINDS, "text")


def _text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)
