"""The example notebooks run, and show what their files show."""

import importlib.util
import json
from pathlib import Path

import pytest
from tiers import first

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def outputs(cells):
    """What each cell showed, as far as it is the same on every machine."""
    shown = []
    for cell in cells:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                shown.append(output["traceback"])
            else:
                shown.append("".join(output["data"].get("text/html", "picture")))
    return shown


@pytest.mark.parametrize("name", first(["groups", "accuracy"]))
def test_the_notebook_is_current(name):
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert list(make.NOTEBOOKS) == ["accuracy", "groups"]
    stored = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    shown = outputs(stored["cells"])
    assert shown == outputs(make.notebook(make.NOTEBOOKS[name]).cells)
    # only where a refusal is shown
    assert any(isinstance(each, list) for each in shown) == (name == "accuracy")


def test_a_refusal_takes_one_line():
    stored = json.loads((FOLDER / "accuracy.ipynb").read_text(encoding="utf-8"))
    (refusal,) = [each for each in outputs(stored["cells"]) if isinstance(each, list)]
    assert len(refusal) == 1
    assert refusal[0].startswith("BudgetExceededError: ")
