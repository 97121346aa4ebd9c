"""The page on what the auditor found quotes the benchmark's results, word for word."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    try:
        import audit
    finally:
        for name in ("audit", "report"):
            sys.modules.pop(name, None)
    parts = json.loads((ROOT / "benchmarks/results/audit.json").read_text())["sections"]
    assert {"findings", "planted"} <= set(parts) <= set(audit.PARTS)
    page = audit.PAGE.read_text()
    assert audit.quoted(page, parts) == page
    for part in parts.values():
        assert part["note"] in page
        assert len(part["rows"]) > 5
