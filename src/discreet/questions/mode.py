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
from discreet.mechanisms.catalogue import make_mechanism
from discreet.mechanisms.count_lists import CountList, ListRequest, squares_of
from discreet.mechanisms.counted_selection import CountedSelection, make_counted
from discreet.mechanisms.selection import draw_grouped, require_grouped
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import Unit
from discreet.questions.kinds import (
    ASKED,
    CandidatesOrTable,
    ColumnName,
    Epsilon,
    GroupColumn,
    Groups,
    RowCondition,
    Separator,
)
from discreet.questions.parameter import parameter
from discreet.questions.question import Question, left_out, question
from discreet.questions.top_k import list_cost
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import CountHistogram, PublicTable, count_public, require_same
from discreet.tables.contribution_cap import read_cap
from discreet.tables.counting import count_candidates
from discreet.tables.groups import require_both
from discreet.tables.inquiry import Inquiry, Prepared, by_label, counted, listed
from discreet.tables.items import Items, read_items
from discreet.tables.opening import open_table
from discreet.tables.questions import default_mechanism, labels_for


@question("mode")
class Mode(Question):
    """Pick the value that most people have. A person counts once for each candidate,
    however many rows say so.
    """

    needs_candidates = True

    column: ColumnName = parameter("The column whose values are compared.", kw_only=False)
    candidates: CandidatesOrTable | None = parameter(
        "The public labels to choose from; other values of the column do not count.",
        default=None,
    )
    epsilon: Epsilon = parameter()
    mechanism: MechanismName | None = parameter(
        "How to choose; left out, what suits the budget: permute-and-flip where epsilons add up, "
        "exponential where squares do.",
        default=None,
    )
    with_counts: bool = parameter(
        "Also say how many people have the value, with noise; {epsilon} pays for both.",
        default=False,
    )
    by: GroupColumn | None = parameter(default=None)
    groups: Groups | None = parameter(default=None)
    where: RowCondition | None = parameter(default=None)
    split: Separator | None = parameter(default=None)
    with_gap: bool = parameter(
        "Also say by how many people the winner won, with noise. Not with groups: it is one "
        "number.",
        default=False,
    )

    def check(self) -> None:
        require_both(self.by, self.groups, ASKED)
        if not self.with_gap:
            return
        if self.with_counts:
            rule = "left out where counts are asked for"
            raise ParameterError(ASKED, "with_gap", rule, self.with_gap)
        if self.by is not None:
            # a release has one gap, which would be that of the first group
            rule = "left out where there are groups"
            raise ParameterError(ASKED, "with_gap", rule, self.with_gap)
        if isinstance(self.candidates, PublicTable):
            raise ParameterError(ASKED, "with_gap", "False for a PublicTable", self.with_gap)

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        parts = super().stated(rule)
        return parts if self.with_counts else parts | {"mechanism": self._pick(rule)}

    def prepare(self, inquiry: Inquiry) -> Prepared:
        if self.candidates is None:
            raise left_out("candidates")
        items = read_items(inquiry.table, self.column, self.split, inquiry.owner)
        if isinstance(self.candidates, PublicTable):
            return self._of_table(inquiry, items, self.candidates)
        labels = labels_for(inquiry.table, items, self.candidates, inquiry.owner)
        if self.with_counts:
            return self._with_count(inquiry, items, labels)
        return self._plain(inquiry, items, labels)

    def _pick(self, rule: BudgetRule) -> MechanismName:
        """The mechanism that was named, or the one that suits the budget."""
        return self.mechanism or default_mechanism(rule)

    def _made(self, rule: BudgetRule) -> SelectionMechanism:
        # One person more raises each count by 0 or 1: docs/proofs/tables.md#ranges
        return make_mechanism(self._pick(rule), self.epsilon, sensitivity=1, monotonic=True)

    def _counted(self, mechanism: MechanismName) -> CountedSelection:
        # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
        return make_counted(mechanism, self.epsilon, ASKED, sensitivity=1, monotonic=True)

    def _plain(self, inquiry: Inquiry, items: Items, labels: Sequence[Any]) -> Prepared:
        """The name alone, or with its gap."""
        table, unit, made = inquiry.table, inquiry.unit, self._made(inquiry.rule)
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

        def answer(bits: Bits | None) -> Release:
            counts = count_candidates(table, unit, items, labels)
            release = by_label(made.release(counts, bits=bits), labels)
            is_list = isinstance(release.value, list)
            return replace(release, value=release.value[0]) if is_list else release

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(candidates=len(labels), failure_probability=failure)
            # of a list of one it is the same: nobody left out is further ahead of it
            winner = replace(told, statement="winner")
            return winner.in_words(unit=counted(unit), thing=listed(self.column), whole=True)

        return Prepared(list_cost(made, inquiry.rule), answer, accuracy)

    def _list(self, inquiry: Inquiry, items: Items, candidates: int) -> CountList:
        """The way to one name with its count: the one that was named, or the best."""
        if self.mechanism is not None:
            return self._counted(self.mechanism)
        most = read_cap(None, inquiry.table, inquiry.unit, items, inquiry.owner)
        return ListRequest(
            k=1,
            epsilon=self.epsilon,
            # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
            items_per_person=candidates if most is None else min(most, candidates),
            # One person more raises each by 0 or 1: docs/proofs/histograms.md#what-the-code-states
            sensitivity=1,
            monotonic=True,
            with_counts=True,
            squares=squares_of(inquiry.rule, self.epsilon),
            owner=inquiry.owner,
        ).make()

    def _of_table(self, inquiry: Inquiry, items: Items, candidates: PublicTable) -> Prepared:
        """Candidates that stay in the engine: only how many have each count comes back."""
        table, unit, owner = inquiry.table, inquiry.unit, inquiry.owner
        with_count = self._counted(self._pick(inquiry.rule)) if self.with_counts else None
        made = with_count or self._made(inquiry.rule)
        picked = self._made(inquiry.rule) if with_count is None else with_count.one_picked
        require_grouped(picked, owner)
        public = open_table(candidates.source, owner, beside=table)
        public.require(candidates.column, "candidates", owner)
        public = public.having([candidates.column], owner=owner)
        require_same(table, items, public, candidates.column, owner)
        size = count_public(public, candidates.column, owner)

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits, owner)
            with CountHistogram(table, unit, items, public, candidates.column) as tally:
                group, place = draw_grouped(picked, tally.counts, tally.sizes, chance)
                count, label = int(tally.counts[group]), tally.label(group, place)
            return Release(
                value=label,
                loss=made.privacy_loss(),
                mechanism=made.name,
                candidates=size,
                seeded=chance.bits.seeded,
                counts=None if with_count is None else with_count.count_of(count, chance),
            )

        def accuracy(failure: Fraction) -> Accuracy:
            return self._accuracy(picked, size, unit, failure)

        cost = Cost(made.privacy_loss(), None if with_count is None else with_count.losses())
        return Prepared(cost, answer, accuracy)
