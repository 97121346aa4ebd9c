"""The stories of `discreet demo`: three lists from a table of article reads, and one
selection from scores. The tables have names, so that the demo's commands can be typed
in any folder.
"""

from __future__ import annotations

from dataclasses import dataclass

READS, ARTICLES = "reads.csv.gz", "articles.txt"
MANIFEST = "discreet.toml"
"""What `discreet serve --demo` publishes, beside the files in the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStory:
    """A question for a list, and what there is to learn from its answer.

    k, epsilon, delta, limit, where: as they would be typed; with a limit there is no
        list of candidates.
    """

    title: str
    question: str
    k: int
    epsilon: str
    lesson: str
    delta: str | None = None
    limit: int | None = None
    where: str | None = None


LISTS = (
    ListStory(
        title="The ten most read articles",
        question=(
            "Which articles did most people read? The list of articles is public. Who read "
            "which article is private."
        ),
        k=10,
        epsilon="1",
        lesson=(
            "A reader counts once for each article. No reader can change the chance of any list by "
            "more than a factor of 2.7 (e^1), whether they read two articles or two hundred."
        ),
    ),
    ListStory(
        title="Data scientists in the Bay Area",
        question=(
            "Which five do data scientists in the Bay Area read most? A filter is part of the "
            "question."
        ),
        k=5,
        epsilon="1",
        where="role = 'data scientist' and region = 'Bay Area'",
        lesson=(
            "With fewer people, chance matters more: the first ranks are clear, but articles with "
            "almost equal counts may swap places. The answer gives away nobody's role or region, "
            "either."
        ),
    ),
    ListStory(
        title="Without a list of articles",
        question=(
            "What if there is no public list? Without one, the names come from the table itself, "
            "and a rare name could give somebody away."
        ),
        k=10,
        epsilon="1",
        delta="1e-6",
        limit=100,
        lesson=(
            "Only articles that stand clearly above the crowd are listed, so the list may be "
            "short. An article that only one reader has read is listed with a probability of at "
            "most delta, one in a million."
        ),
    ),
)
"""The stories about lists, in the order in which they are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A question, the table with its scores, and what there is to learn from it.

    table, label, score: where the scores are, by the name of a bundled table.
    epsilon, sensitivity: as they would be typed.
    """

    title: str
    question: str
    table: str
    label: str
    score: str
    epsilon: str
    sensitivity: str
    lesson: str

    def amount(self, value: float) -> str:
        """An amount of votes as people say it.

        >>> MASCOT.amount(18.4207), MASCOT.amount(1)
        ('18.4 votes', '1 vote')
        """
        number = f"{value:.1f}".removesuffix(".0")
        return f"{number} vote{'' if number == '1' else 's'}"


MASCOT = Story(
    title="One answer, and its odds",
    question=(
        "300 students vote on 100 names for a mascot, each for as many as they like. The most "
        "popular name should win, and nobody's ballot should show. The votes are counted already."
    ),
    table="demo:mascot",
    label="name",
    score="votes",
    epsilon="0.5",
    sensitivity="1",
    lesson=(
        "One ballot moves each score by at most 1. Adding a ballot can only move scores up: if "
        "you say so with --monotonic, the error bound is half as large. Noise on all 100 counts "
        "would need a scale of 100 / 0.5 = 200 votes."
    ),
)
"""The story about one selection."""
