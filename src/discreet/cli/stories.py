"""The stories of `discreet demo`, from the lectures that introduced selection, on made-up data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A question, the table with its scores, and what there is to learn from it.

    file, label, score: where the scores are, among the bundled tables.
    epsilon, sensitivity: as they would be typed.
    unit: what a score counts, "votes" or "cents".
    """

    title: str
    question: str
    file: str
    label: str
    score: str
    epsilon: str
    sensitivity: str
    unit: str
    lesson: str

    def amount(self, value: float) -> str:
        """An amount of score as people say it.

        >>> STORIES[0].amount(18.4207), STORIES[0].amount(1), STORIES[2].amount(1053.4)
        ('18.4 votes', '1 vote', '$10.53')
        """
        if self.unit == "cents":
            return f"${value / 100:.2f}"
        number = f"{value:.1f}".removesuffix(".0")
        return f"{number} {self.unit.removesuffix('s') if number == '1' else self.unit}"


STORIES = (
    Story(
        title="A name for the mascot",
        question=(
            "300 students vote on 100 names, each for as many as they like. The most popular name should win, "
            "and nobody's ballot should show."
        ),
        file="mascot.csv",
        label="name",
        score="votes",
        epsilon="0.5",
        sensitivity="1",
        unit="votes",
        lesson=(
            "One ballot moves each score by at most 1, and a ballot that is added only moves scores up. Saying so, "
            "with --monotonic, halves the bound. Noise on all 100 counts would need a scale of 100 / 0.5 = 200 votes."
        ),
    ),
    Story(
        title="Teacher of the year",
        question="420 students name one teacher each. Three teachers are almost level: who gets the award?",
        file="teachers.csv",
        label="teacher",
        score="votes",
        epsilon="0.5",
        sensitivity="1",
        unit="votes",
        lesson=(
            "Among the three it is partly chance, and that is the point: a result that hangs on two ballots would show "
            "them. Teachers who are far behind practically never win."
        ),
    ),
    Story(
        title="The price of a song",
        question=(
            "250 listeners said what a download is worth to them. Which price from $0.01 to $1.99 earns most? "
            "The score of a price is the price times the number of people who would pay it, in whole cents."
        ),
        file="song.csv",
        label="price",
        score="revenue_in_cents",
        epsilon="1",
        sensitivity="199",
        unit="cents",
        lesson=(
            "A listener moves a score by at most the highest price, $1.99. (The lecture notes that tell this story "
            "put the average error at about $31 / epsilon, by a base-2 logarithm. With the natural one it is "
            "2 x $1.99 x ln 199 = $21.1 / epsilon, and half of that with --monotonic.)"
        ),
    ),
    Story(
        title="Apples, four buyers",
        question=(
            "One person would pay $4.01 for an apple, three would pay $1.00. At $4.01 you earn $4.01, at $1.00 you earn "
            "$4.00. One cent more and you earn $0.00 or $1.01: noise on the best price would be a disaster."
        ),
        file="apples.csv",
        label="price",
        score="revenue_from_4",
        epsilon="1",
        sensitivity="402",
        unit="cents",
        lesson=(
            "With four buyers the answer says little, as it should: each of them can move a revenue by up to $4.02, as "
            "much as all four bring in, so a sharper answer would be an answer about one person."
        ),
    ),
    Story(
        title="Apples, four hundred buyers",
        question="The same market, a hundred times over, at the same epsilon.",
        file="apples.csv",
        label="price",
        score="revenue_from_400",
        epsilon="1",
        sensitivity="402",
        unit="cents",
        lesson=(
            "Either of the two good prices, and practically never their neighbours one cent above: selection knows "
            "which mistakes are cheap. Privacy costs little where no single person matters much."
        ),
    ),
)
