"""The tour of the sources is complete: every statement of the five texts has an entry, in the
order of the texts.

The entries themselves are run as doctests. This file holds the list of what the texts contain.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "tour.md"

STATEMENTS = {
    "Text 1": [
        "Example 1.1",
        "Example 1.2",
        "Section 1.1",
        "Algorithm 1",
        "Theorem 1.3",
        "Proposition 1.4",
        "Example 1.5",
        "Example 1.6",
        "Section 1.4, Laplace mechanism",
        "Section 1.4, randomized response",
        "Algorithm 2",
        "Exercise 2.1",
        "Lemma 2.2",
        "Theorem 2.3",
        "Exercise 2.4",
        "Section 2.1, permute-and-flip",
        "Exercise 2.5",
        "Additional reading of text 1",
    ],
    "Text 2": [
        "Recap",
        "Example: items for sale",
        "Definition: quality score and range of outputs",
        "Definition: sensitivity of the quality",
        "Algorithm: the exponential mechanism",
        "Theorem (privacy)",
        "Definition: OPT",
        "Theorem (utility)",
        "Corollary (utility)",
        "Corollary (mean)",
    ],
    "Text 3": [
        "Definition: the exponential mechanism",
        "Theorem 1",
        "Special case, constant normalizer",
        "Mechanism: k-subset",
        "Corollary 1",
        "Example: choose-one voting",
        "Mechanism: discrete Laplace on a bounded domain",
        "Mechanism: k-ary randomized response",
        "Mechanism: discrete Laplace",
        "Mechanism: RAPPOR",
        "Theorem 2",
        "Computational infeasibility",
    ],
    "Text 4": [
        "Equations 1 to 3",
        "Section 2",
        "Equation 4",
        "Theorem 2.1",
        "Lemma 2.2",
        "Lemma 2.3",
        "Lemma 2.4",
        "Section 3, function",
        "Section 3.1, metric",
        "Section 4.1",
        "Section 4.2, privacy guarantee",
        "Lemma 4.1",
    ],
    "Text 5": [
        "Definition: Exp",
        "Theorem 0",
        "Example: two scores, one mechanism",
        "Remark: log Pr",
        "Definition: sensitivity and range",
        "Theorem 1",
        "Proposition",
        "Two facts",
        "Application",
        "Theorem (optimal composition)",
        "Theorem (central limit)",
        "Claim",
        "Conclusion",
        "Remarks in comments of text 5",
    ],
}

MECHANISMS = [
    "ExponentialMechanism",
    "ReportNoisyMax",
    "PermuteAndFlip",
    "DiscreteLaplace",
    "BoundedDiscreteLaplace",
    "LatticeExponentialMechanism",
    "IntervalExponentialMechanism",
    "RandomizedResponse",
    "Rappor",
    "SubsetSelection",
    "mechanism_range",
    "compose",
    "plan",
    "queries_by_analysis",
    "top_k",
    "top_k_unknown_domain",
]

page = PAGE.read_text(encoding="utf-8")
prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)


def sections(text: str, mark: str) -> dict[str, str]:
    """The parts of a text under its headings."""
    parts = re.split(rf"^{mark} (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def of_text(name: str) -> dict[str, str]:
    (found,) = (
        part for heading, part in sections(page, "##").items() if heading.startswith(f"{name}:")
    )
    return sections(found, "###")


def starts_with(heading: str, statement: str) -> bool:
    return (
        heading == statement
        or heading.startswith((f"{statement}:", f"{statement} ", f"{statement},"))
        or (":" in statement and heading.startswith(statement))
    )


def anchor(heading: str) -> str:
    """The link that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    without_code = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        anchor(heading) for heading in re.findall(r"^#+ (.+)$", without_code, flags=re.MULTILINE)
    }


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_has_an_entry_in_its_order(name: str) -> None:
    headings = list(of_text(name))
    assert len(headings) == len(STATEMENTS[name])
    for heading, statement in zip(headings, STATEMENTS[name], strict=True):
        assert starts_with(heading, statement), f"{heading!r} is where {statement!r} should be"


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_entry_shows_a_call(name: str) -> None:
    for heading, entry in of_text(name).items():
        assert ">>>" in entry, f"{heading!r} computes nothing"


def test_every_mechanism_of_the_texts_is_called() -> None:
    code = "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*$", page, flags=re.MULTILINE))
    for mechanism in MECHANISMS:
        assert re.search(rf"\b{mechanism}\(", code), mechanism


def test_what_is_out_of_reach_is_said() -> None:
    assert "**Out of reach:** sampling all neural networks" in page
    assert "The continuous Laplace mechanism is left out" in page


def test_every_entry_is_in_the_contents() -> None:
    contents = sections(page, "##")["Contents"]
    for name in STATEMENTS:
        for heading in of_text(name):
            assert f"](#{anchor(heading)})" in contents, heading


def test_headings_have_links_of_their_own() -> None:
    headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    assert len({anchor(heading) for heading in headings}) == len(headings)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        file, _, place = target.partition("#")
        other = PAGE.parent / file if file else PAGE
        assert other.exists(), target
        assert not place or place in anchors(other.read_text(encoding="utf-8")), target


def test_every_erratum_is_in_the_list_at_the_end() -> None:
    rows = re.findall(
        r"^\| (\d) \|", sections(page, "##")["All errata and slips"], flags=re.MULTILINE
    )
    for name in STATEMENTS:
        marked = sum(
            len(re.findall(r"\*\*(?:\[)?(?:Erratum|erratum|Slips?)", entry))
            for entry in of_text(name).values()
        )
        assert rows.count(name.removeprefix("Text ")) >= marked
