"""Prices of questions, and the description of a session."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.accuracy import Accuracy
from discreet.privacy.cost import Amount, Cost, in_words, more_like_this
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Unit, protects
from discreet.questions.runner import QuestionRunner
from discreet.rendering.picture import Picture
from discreet.tables.inquiry import Prepared
from discreet.tables.payment import amount_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a question. Nothing was charged, and no row was read.

    cost: its loss, and the parts that it is made of.
    amount: what it takes from the budget, in the unit of what is left.
    fits: True if it would be answered now.
    answered: True if it was answered before, so that it costs nothing.
    questions_left: how many more like it would fit after it.
    accuracy: how far off the answer can be, with 95% confidence; the same for every table.
    """

    cost: Cost
    amount: Amount
    fits: bool
    answered: bool
    questions_left: int
    accuracy: Accuracy | None = None

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, facts

        rows = [
            (
                "costs",
                f"{self.amount}" if not self.answered else "nothing: you have the answer already",
            ),
            ("fits", "yes" if self.fits else "no"),
            ("left after it", more_like_this(self.questions_left)),
            ("accuracy", "" if self.accuracy is None else self.accuracy.sentence),
        ]
        return card("Price of a question", facts(rows))


def price_of(runner: QuestionRunner, prepared: Prepared, fresh: bool = False) -> Price:
    """The price of a question, and whether it fits."""
    cost, budget = prepared.cost, runner.budget
    left = budget.questions_left_of(cost)
    answered = not fresh and runner.is_kept(prepared)
    return Price(
        # A question that is remembered is nobody's to change: its parts are what is paid for.
        cost=replace(cost, parts=None if cost.parts is None else dict(cost.parts)),
        amount=amount_of(budget, cost),
        fits=answered or budget.allows(cost),
        answered=answered,
        questions_left=left if answered else max(left - 1, 0),
        accuracy=prepared.told,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPrice:
    """The price of a list of questions. Nothing was charged, and no row was read.

    amount: what they take from the budget together, in the unit of what is left.
    fits: True if all of them would be answered now.
    prices: the price of each question. It fits if it does after those before it.
    """

    amount: Amount
    fits: bool
    prices: tuple[Price, ...]


def price_of_list(
    runner: QuestionRunner, every: Sequence[Prepared], fresh: bool = False
) -> ListPrice:
    """The price of questions that are asked as one list, and which of them fit."""
    once = {prepared.name: prepared for prepared in every}
    unpaid = [each for each in once.values() if fresh or not runner.is_kept(each)]
    costs = [prepared.cost for prepared in unpaid]
    # those before a question that fits all fit, too
    fitting = bisect(
        range(len(costs)), 0, key=lambda last: not runner.budget.allows(*costs[: last + 1])
    )
    too_late = {prepared.name for prepared in unpaid[fitting:]}
    prices = tuple(
        replace(price_of(runner, prepared, fresh), fits=prepared.name not in too_late)
        for prepared in every
    )
    return ListPrice(amount=amount_of(runner.budget, *costs), fits=not too_late, prices=prices)


_OF_TEXT = "'Yes', 'yes' and 'yes ' differ; days are written 2024-12-31, truth values true or false"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionDescription:
    """Facts about a session: whom it protects, what was spent and what is left. Prints as text.

    decimal: how numbers in text are written.
    """

    unit: Unit
    budget: Loss
    spent: Amount
    remaining: Amount
    room: str
    questions: int
    columns: Mapping[str, str]
    decimal: str = "."

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10} {value}" for name, value in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        asked = f"{self.questions} question{'' if self.questions == 1 else 's'}"
        return [
            ("protects", protects(self.unit)),
            ("budget", in_words(self.budget)),
            ("spent", f"{asked} ({self.spent})"),
            ("remaining", f"{self.room} ({self.remaining})"),
            ("columns", self._named_columns()),
            ("numbers", f"cells that are not numbers count as empty, such as {self._no_number}"),
            *([("text", _OF_TEXT)] if self._has_text else []),
            (
                "groups",
                "with by=, a person counts in the first listed group only",
            ),
        ]

    @property
    def _no_number(self) -> str:
        return "1.234,5 or 5%" if self.decimal == "," else "1,234 or 5%"

    @property
    def _has_text(self) -> bool:
        return not self.columns or "String" in self.columns.values()

    def _named_columns(self) -> str:
        if not self.columns:
            return "any key of the JSON lines; JsonFile(columns=[...]) declares them"
        return ", ".join(f"{name} ({kind})" for name, kind in self.columns.items())

    def plot(self) -> Picture:
        """A picture of how much of the budget is spent."""
        from discreet.rendering.charts import meter

        spent, left = float(self.spent), float(self.remaining)
        notes = [f"Spent: {self.spent}. Left: {self.room}."]
        return meter(spent, spent + left, title=f"Budget: {in_words(self.budget)}", notes=notes)

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, facts

        return card("Session", facts(self._rows()))
