"""The most frequent values, in order: of public candidates, or of an unknown domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

from discreet.accuracy import Accuracy
from discreet.errors import ParameterError
from discreet.literals import TopKMethod
from discreet.mechanisms.count_lists import ListRequest, list_cost, make_unknown
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.histogram_top_k import NoisyUnknownList
from discreet.mechanisms.unknown_domain import Counted, UnknownDomainTopK
from discreet.privacy.parameters import Person
from discreet.questions.kinds import (
    Candidates,
    ColumnName,
    Delta,
    Epsilon,
    GroupColumn,
    Groups,
    RowCondition,
    Separator,
    WholeNumber,
)
from discreet.questions.question import Question, parameter, question
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import labels_for
from discreet.tables.contribution_cap import draw_cap, read_cap, told_cap
from discreet.tables.counting import count_candidates, count_items, items_query, require_names
from discreet.tables.duckdb_counting import COUNT_COLUMN
from discreet.tables.inquiry import Inquiry, Prepared, by_label, counted, listed, released
from discreet.tables.items import Items, read_items

_MOST = 10_000_000
"""The most items that come back to Python."""


@question("top_k")
class TopK(Question):
    """Pick the k values that most people have, in order.

    Without public candidates, the possible values are unknown. You then need `delta`, and
    either `limit` or `items_per_person`. Only values that stand clearly above the crowd are
    named, and the list may be shorter than k.
    """

    column: ColumnName = parameter("The column whose values are compared.", kw_only=False)
    k: WholeNumber = parameter("How many values to pick.")
    epsilon: Epsilon = parameter()
    delta: Delta = parameter(
        "A small chance, such as 1e-6, that the promise of {epsilon} fails. Required "
        "without public candidates. With public candidates it is optional: if your budget has a "
        "delta, leave this out; if it has none, this can make the list more accurate.",
        default=0,
    )
    candidates: Candidates | None = parameter("The public labels to choose from.", default=None)
    limit: WholeNumber | None = parameter(
        "Without public candidates: how many of the most frequent values to consider, for "
        "example ten times the length of the list.",
        default=None,
    )
    items_per_person: WholeNumber | None = parameter(
        "Count at most this many different values for each person. If a person has more, that "
        "many are drawn at random. A small number can make the list far more accurate.",
        default=None,
    )
    method: TopKMethod = parameter(
        "How to pick: auto takes the best method for the other parameters and the budget.",
        default="auto",
    )
    with_counts: bool = parameter(
        "Also count the people who have each value, with noise; {epsilon} pays for both.",
        default=False,
    )
    by: GroupColumn | None = parameter(default=None)
    groups: Groups | None = parameter(default=None)
    where: RowCondition | None = parameter(default=None)
    split: Separator | None = parameter(default=None)

    def check(self) -> None:
        if self.candidates is not None and self.limit is not None:
            rule = "left out if there are candidates"
            raise ParameterError("limit", rule, self.limit)

    def filled(self, facts: Mapping[str, Any]) -> Self:
        known = {name: fact for name, fact in facts.items() if name != "candidates"}
        # with a limit the domain is meant to be unknown
        return super().filled(facts if self.limit is None else known)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        table, unit = inquiry.table, inquiry.unit
        items = read_items(table, self.column, self.split)
        most = read_cap(self.items_per_person, table, unit, items)
        request = ListRequest(
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
            items_per_person=most,
            # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
            sensitivity=1,
            monotonic=True,
            method=self.method,
            with_counts=self.with_counts,
            price=inquiry.price(self.epsilon),
        )
        if self.candidates is None:
            return self._unknown(inquiry, items, request)
        labels = labels_for(table, items, self.candidates)
        # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
        moved = len(labels) if most is None else min(most, len(labels))
        made = replace(request, items_per_person=moved, candidates=len(labels)).make()
        made.require_enough(len(labels))
        cost = list_cost(made, inquiry.rule)

        def answer(bits: Bits | None) -> Release:
            cap = draw_cap(most, unit, read_bits(bits))
            counts = count_candidates(table, unit, items, labels, cap)
            release = released(made, counts, inquiry, bits)
            return replace(by_label(release, labels), loss=cost.loss)

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(candidates=len(labels), failure_probability=failure)
            return self._in_words(told, inquiry, most)

        return Prepared(cost, answer, accuracy)

    def _in_words(self, told: Accuracy, inquiry: Inquiry, most: int | None) -> Accuracy:
        unit, kept = inquiry.unit, told_cap(most, inquiry.unit)
        return told.in_words(unit=counted(unit), thing=listed(self.column), whole=True, cap=kept)

    def _unknown(self, inquiry: Inquiry, items: Items, request: ListRequest) -> Prepared:
        """The list without public candidates."""
        table, unit = inquiry.table, inquiry.unit
        if self.method not in ("auto", "histogram"):
            rule = "auto or histogram where there are no candidates"
            raise ParameterError("method", rule, self.method)
        made, most = make_unknown(request, self.limit), request.items_per_person
        picks = made.picked if isinstance(made, CountedSelection) else made
        if isinstance(picks, UnknownDomainTopK) and picks.limit > _MOST:
            raise ParameterError("limit", f"at most {_MOST:,}", self.limit)
        require_names(table, items)
        # Of the items beyond the limit a threshold above the crowd needs the most frequent one
        # only; noise is for all that occur.
        wanted = picks.limit + 1 if isinstance(picks, UnknownDomainTopK) else None
        capped = most is not None and isinstance(unit, Person)
        query = None if capped else items_query(table, unit, items, wanted)

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            if query is not None and isinstance(made, UnknownDomainTopK):
                found = query.columns()
                counts = Counted(found[items.column].tolist(), found[COUNT_COLUMN])
                return made.release_counted(counts, chance)
            cap = draw_cap(most, unit, chance)
            return made.release(dict(count_items(table, unit, items, wanted, cap)), bits=bits)

        def accuracy(failure: Fraction) -> Accuracy:
            assert isinstance(picks, (UnknownDomainTopK, NoisyUnknownList))
            return self._in_words(picks.accuracy(failure_probability=failure), inquiry, most)

        return Prepared(list_cost(made, inquiry.rule), answer, accuracy)
