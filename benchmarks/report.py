"""What a benchmark says: tables that read well both on a terminal and as Markdown, and targets
that are met or missed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a title."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        widths = [
            max(len(row[i]) for row in (self.columns, *self.rows)) for i in range(len(self.columns))
        ]
        lines = [
            _line(self.columns, widths),
            "|" + "|".join(_rule(i, width) for i, width in enumerate(widths)) + "|",
        ]
        return "\n".join(
            [f"**{self.title}**", "", *lines, *(_line(row, widths) for row in self.rows)]
        )


@dataclass(frozen=True, slots=True)
class Target:
    """A promise and what was measured; `at_most` says in which direction it is kept."""

    name: str
    bound: float
    measured: float
    measured_by_minima: float | None = None
    where: str = ""
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the promise is kept, judged by medians."""
        return self.measured <= self.bound if self.at_most else self.measured >= self.bound

    def row(self) -> list[str]:
        """The line of this target in a table."""
        minima = "" if self.measured_by_minima is None else number(self.measured_by_minima)
        bound = f"{'≤' if self.at_most else '≥'} {self.bound:g}"
        return [
            self.name,
            bound,
            number(self.measured),
            minima,
            self.where,
            "met" if self.met else "missed",
        ]


@dataclass(slots=True)
class Section:
    """One part of a benchmark: tables for people, targets, and the numbers behind them."""

    name: str
    title: str
    note: str
    tables: list[Table] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"## {self.title}", self.note, *map(str, self.tables)]
        if self.targets:
            columns = ["target", "bound", "medians", "minima", "worst at", "verdict"]
            parts.append(str(Table("Targets", columns, [target.row() for target in self.targets])))
        return "\n\n".join(parts)


def number(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def environment(packages: Iterable[str]) -> dict[str, str]:
    """What the numbers depend on, without anything that names the machine."""
    return {
        "cpu": _cpu(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def write(folder: Path, name: str, about: dict[str, str], sections: Sequence[Section]) -> None:
    """Write name.json and name.md."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "environment": about,
        "sections": {
            section.name: {
                "targets": [asdict(target) | {"met": target.met} for target in section.targets],
                "records": section.records,
            }
            for section in sections
        },
    }
    (folder / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    heading = (
        f"# Benchmark: {name}\n\n"
        + ", ".join(f"{key} {value}" for key, value in about.items())
        + "."
    )
    (folder / f"{name}.md").write_text("\n\n".join([heading, *map(str, sections)]) + "\n")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return (
        "| "
        + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])
        + " |"
    )


def _rule(column: int, width: int) -> str:
    return "-" * (width + 2) if column == 0 else "-" * (width + 1) + ":"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
