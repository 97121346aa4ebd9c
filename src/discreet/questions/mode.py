"""The candidate that most people have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.errors import ParameterError
from discreet.literals import MechanismName
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.count_lists import CountList, ListRequest, list_cost
from discreet.mechanisms.counted_selection import CountedSelection, make_counted
from discreet.mechanisms.prices import Price
from discreet.mechanisms.selection import draw_grouped, make_mechanism, require_grouped
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import ScoreRange, Unit
from discreet.questions.kinds import (
    CandidatesOrTable,
    ColumnName,
    Epsilon,
    GroupColumn,
    Groups,
    RowCondition,
    Separator,
)
from discreet.questions.question import Question, left_out, parameter, question
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import (
    CountHistogram,
    PublicTable,
    count_public,
    labels_for,
    require_same,
)
from discreet.tables.contribution_cap import read_cap
from discreet.tables.counting import count_candidates
from discreet.tables.inquiry import (
    Inquiry,
    Prepared,
    by_label,
    counted,
    listed,
    people_for,
    released,
)
from discreet.tables.items import Items, read_items
from discreet.tables.opening import open_table


@question("mode")
class Mode(Question):
    """Pick the value that most people have. A person counts once for each candidate,
    however many rows say so.
    """

    needs_candidates = True

    column: ColumnName = parameter("The column whose values are compared.", kw_only=False)
    candidates: CandidatesOrTable | None = parameter(
        "The public labels to choose from. Other values of the column do not count.",
        default=None,
    )
    epsilon: Epsilon = parameter()
    mechanism: MechanismName | None = parameter(
        "How to choose. By default: permute-and-flip if epsilons add up in the budget, else "
        "exponential.",
        default=None,
    )
    with_counts: bool = parameter(
        "Also count the people who have the value, with noise; {epsilon} pays for both.",
        default=False,
    )
    by: GroupColumn | None = parameter(default=None)
    groups: Groups | None = parameter(default=None)
    where: RowCondition | None = parameter(default=None)
    split: Separator | None = parameter(default=None)
    with_gap: bool = parameter(
        "Also show by how many people the winner won, with noise. Not possible with groups.",
        default=False,
    )

    def check(self) -> None:
        if not self.with_gap:
            return
        if self.with_counts:
            rule = "left out if you ask for counts"
            raise ParameterError("with_gap", rule, self.with_gap)
        if self.by is not None:
            # a release has one gap, which would be that of the first group
            rule = "left out if there are groups"
            raise ParameterError("with_gap", rule, self.with_gap)
        if isinstance(self.candidates, PublicTable):
            raise ParameterError("with_gap", "False for a PublicTable", self.with_gap)

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        parts = super().stated(rule)
        if self.with_counts:
            return parts
        return parts | {"mechanism": self.mechanism or Price(rule, self.epsilon).mechanism}

    def prepare(self, inquiry: Inquiry) -> Prepared:
        if self.candidates is None:
            raise left_out("candidates")
        items = read_items(inquiry.table, self.column, self.split)
        if isinstance(self.candidates, PublicTable):
            return self._of_table(inquiry, items, self.candidates)
        labels = labels_for(inquiry.table, items, self.candidates)
        if self.with_counts:
            return self._with_count(inquiry, items, labels)
        return self._plain(inquiry, items, labels)

    def _made(self, price: Price) -> SelectionMechanism:
        """The mechanism that was named, or the one that the price buys."""
        epsilon = self.epsilon * price.share
        if self.mechanism is None:
            # docs/proofs/prices.md#claim
            epsilon = (price.gap() if self.with_gap else price.selection).epsilon
        name = self.mechanism or price.mechanism
        # One person more raises each count by 0 or 1: docs/proofs/tables.md#ranges
        return make_mechanism(name, epsilon, ScoreRange(sensitivity=1, monotonic=True))

    def _counted(self, price: Price) -> CountedSelection:
        """One name with its count: half of the price for each."""
        if self.mechanism is not None:
            # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
            span = ScoreRange(sensitivity=1, monotonic=True)
            return make_counted(make_mechanism(self.mechanism, self.epsilon, span))
        half = price.part(Fraction(1, 2))
        # docs/proofs/histograms.md#counts-of-what-was-picked
        noise = half.noise_for_counts(1, items_per_person=1)
        if noise is None:
            raise ParameterError("epsilon", "larger, to also pay for a count", self.epsilon)
        return CountedSelection(picked=self._made(half), noise=noise)

    def _plain(self, inquiry: Inquiry, items: Items, labels: Sequence[Any]) -> Prepared:
        """The name alone, or with its gap."""
        table, unit, made = inquiry.table, inquiry.unit, self._made(inquiry.price(self.epsilon))
        loss = made.loss_with_gap() if self.with_gap else made.privacy_loss()

        def answer(bits: Bits | None) -> Release:
            counts = count_candidates(table, unit, items, labels)
            return by_label(made.release(counts, with_gap=self.with_gap, bits=bits), labels)

        def accuracy(failure: Fraction) -> Accuracy:
            return self._accuracy(made, len(labels), unit, failure)

        return Prepared(Cost(loss), answer, accuracy)

    def _accuracy(
        self, made: SelectionMechanism, size: int, unit: Unit, failure: Fraction
    ) -> Accuracy:
        """How far behind the best a winner by counts can be."""
        told = made.accuracy(candidates=size, failure_probability=failure)
        return told.in_words(unit=counted(unit), thing=listed(self.column), whole=True)

    def _with_count(self, inquiry: Inquiry, items: Items, labels: Sequence[Any]) -> Prepared:
        """The name with its count beside it."""
        table, unit = inquiry.table, inquiry.unit
        made = self._list(inquiry, items, len(labels))
        cost = list_cost(made, inquiry.rule)

        def answer(bits: Bits | None) -> Release:
            counts = count_candidates(table, unit, items, labels)
            release = by_label(released(made, counts, inquiry, bits), labels)
            is_list = isinstance(release.value, list)
            value = release.value[0] if is_list else release.value
            return replace(release, value=value, loss=cost.loss)

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(candidates=len(labels), failure_probability=failure)
            # of a list of one it is the same: nobody left out is further ahead of it
            winner = replace(told, statement="winner")
            return winner.in_words(unit=counted(unit), thing=listed(self.column), whole=True)

        return Prepared(cost, answer, accuracy)

    def _list(self, inquiry: Inquiry, items: Items, candidates: int) -> CountList:
        """The way to one name with its count: the one that was named, or the best."""
        if self.mechanism is not None:
            return self._counted(inquiry.price(self.epsilon))
        most = read_cap(None, inquiry.table, inquiry.unit, items)
        return ListRequest(
            k=1,
            epsilon=self.epsilon,
            # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
            items_per_person=candidates if most is None else min(most, candidates),
            # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
            sensitivity=1,
            monotonic=True,
            with_counts=True,
            price=inquiry.price(self.epsilon),
            candidates=candidates,
        ).make()

    def _of_table(self, inquiry: Inquiry, items: Items, candidates: PublicTable) -> Prepared:
        """Candidates that stay in the engine: only how many have each count comes back."""
        table, unit = inquiry.table, inquiry.unit
        price = inquiry.price(self.epsilon)
        with_count = self._counted(price) if self.with_counts else None
        made = with_count or self._made(price)
        picked = self._made(price) if with_count is None else with_count.one_picked
        require_grouped(picked)
        public = open_table(candidates.source, beside=table)
        public.require(candidates.column, "candidates")
        public = public.having([candidates.column])
        require_same(table, items, public, candidates.column)
        size = count_public(public, candidates.column)
        one = Cost(made.privacy_loss())
        cost = one if with_count is None else list_cost(with_count, inquiry.rule)

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            people = None if with_count is None else people_for(with_count.noise, inquiry)
            with CountHistogram(table, unit, items, public, candidates.column) as tally:
                group, place = draw_grouped(picked, tally.counts, tally.sizes, chance)
                count, label = int(tally.counts[group]), tally.label(group, place)
            return Release(
                value=label,
                loss=cost.loss,
                mechanism=made.name,
                candidates=size,
                seeded=chance.bits.seeded,
                counts=None if with_count is None else with_count.count_of(count, chance, people),
            )

        def accuracy(failure: Fraction) -> Accuracy:
            return self._accuracy(picked, size, unit, failure)

        return Prepared(cost, answer, accuracy)
