"""Draw the pictures of choose-epsilon.md: python docs/how-to/choose_epsilon_pictures.py"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import discreet
from discreet.rendering.charts import Curve, lines

FOLDER = Path(__file__).parent
EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5")
QUESTIONS = (
    ("mode of 1,000", "mode", {"candidates": 1000}),
    ("top 10 of 1,000", "top_k", {"candidates": 1000, "k": 10}),
    ("median, 121 points", "quantile", {"q": "1/2", "points": 121}),
    ("quartiles, 121 points", "quantiles", {"q": ["1/4", "1/2", "3/4"], "points": 121}),
)


def main() -> None:
    """Write both pictures."""
    curves, shares = [], []
    for name, question, words in QUESTIONS:
        exact = {
            key: [Fraction(part) for part in value]
            if isinstance(value, list)
            else Fraction(value)
            if isinstance(value, str)
            else value
            for key, value in words.items()
        }
        bounds = [
            (
                float(each),
                discreet.planning.accuracy_at(question, epsilon=Fraction(each), **exact).bound,
            )
            for each in EPSILONS
        ]
        curves.append(Curve(name=name, points=bounds))
    mode = dict(curves[0].points)
    for people in (300, 3_000, 30_000, 300_000):
        points = [(each, 100 * bound / people) for each, bound in mode.items() if bound]
        shares.append(Curve(name=f"{people:,} people", points=points))
    lines(
        curves,
        title="How far off each question can be",
        across="epsilon of the question",
        up="people, with 95% confidence",
        notes=["Bounds for every table. Doubling epsilon halves them."],
    ).save(str(FOLDER / "accuracy-over-epsilon.svg"))
    lines(
        shares,
        title="A mode of 1,000 candidates, by number of people",
        across="epsilon of the question",
        up="percent of all people, with 95% confidence",
        notes=["The error is a number of people: it matters less in large tables."],
    ).save(str(FOLDER / "accuracy-over-persons.svg"))


if __name__ == "__main__":
    main()
