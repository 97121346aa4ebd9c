"""How many people have each candidate, and how many there are, with noise."""

from __future__ import annotations

from fractions import Fraction

from discreet.accuracy import Accuracy
from discreet.mechanisms.count_noise import accuracy_of_counts, noisy_counts
from discreet.mechanisms.prices import cost_in_parts, default_noise
from discreet.privacy.cost import Cost
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
from discreet.questions.question import Question, left_out, parameter, question
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.tables.candidates import labels_for
from discreet.tables.contribution_cap import draw_cap, read_cap, told_cap
from discreet.tables.counting import count_candidates, count_persons
from discreet.tables.inquiry import Inquiry, Prepared, counted, people_for
from discreet.tables.items import read_items


@question("counts")
class Counts(Question):
    """Count the people who have each value, with noise.

    `Release.value` are the candidates, `Release.counts` the numbers beside them. A person
    counts once for each candidate, however many rows say so. Where people may have several
    of them, the counts share their noise, and `Release.counts.total` says how many people
    there are.
    """

    needs_candidates = True

    column: ColumnName = parameter("The column whose values are counted.", kw_only=False)
    candidates: Candidates | None = parameter(
        "The public labels to count. Other values of the column do not count.", default=None
    )
    epsilon: Epsilon = parameter()
    delta: Delta = parameter(
        "A small delta, such as 1e-6, makes the counts ({epsilon}, {delta})-private by "
        "themselves, with Gaussian noise. A budget with a delta, or in rho, pays for such noise "
        "without it.",
        default=0,
    )
    items_per_person: WholeNumber | None = parameter(
        "How many of the candidates count for one person; if a person has more, they are drawn at "
        "random. The fewer, the less noise.",
        default=None,
    )
    by: GroupColumn | None = parameter(default=None)
    groups: Groups | None = parameter(default=None)
    where: RowCondition | None = parameter(default=None)
    split: Separator | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        if self.candidates is None:
            raise left_out("candidates")
        table, unit = inquiry.table, inquiry.unit
        items = read_items(table, self.column, self.split)
        labels = labels_for(table, items, self.candidates)
        most = read_cap(self.items_per_person, table, unit, items)
        noise, loss = default_noise(
            inquiry.price(self.epsilon), self.delta, items=len(labels), items_per_person=most
        )

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            counts = count_candidates(table, unit, items, labels, draw_cap(most, unit, chance))
            people = people_for(noise, inquiry)
            return Release(
                value=list(labels),
                loss=loss,
                mechanism=noise.name,
                candidates=len(labels),
                seeded=chance.bits.seeded,
                counts=noisy_counts(counts, noise, chance, people),
            )

        def accuracy(failure: Fraction) -> Accuracy:
            told = accuracy_of_counts(noise, len(labels), failure)
            return told.in_words(unit=counted(unit), cap=told_cap(most, unit))

        cost = cost_in_parts(loss, {noise.privacy_loss(): 1}, inquiry.rule)
        return Prepared(cost, answer, accuracy)


@question("count")
class Count(Question):
    """Count the people in a table, or its rows if each is protected by itself, with noise.

    With a condition, those who have such a row.
    """

    epsilon: Epsilon = parameter()
    where: RowCondition | None = parameter(default=None)

    def prepare(self, inquiry: Inquiry) -> Prepared:
        # One person more raises the number by 1: docs/proofs/histograms.md#privacy
        noise, loss = default_noise(
            inquiry.price(self.epsilon), Fraction(0), items=1, items_per_person=1
        )

        def answer(bits: Bits | None) -> Release:
            chance = read_bits(bits)
            persons = count_persons(inquiry.table, inquiry.unit)
            counts = noisy_counts([persons], noise, chance, persons)
            return Release(
                value=counts.values[0],
                loss=loss,
                mechanism=noise.name,
                candidates=None,
                seeded=chance.bits.seeded,
                counts=counts,
            )

        def accuracy(failure: Fraction) -> Accuracy:
            told = accuracy_of_counts(noise, 1, failure)
            return told.in_words(unit=counted(inquiry.unit))

        return Prepared(Cost(loss), answer, accuracy)
