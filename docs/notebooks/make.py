"""Write the example notebooks anew and run them: python docs/notebooks/make.py

Their answers are drawn with repeatable bits, so that the files change only where discreet does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Cells = tuple[tuple[str, str], ...]
ACCURACY: Cells = (
    ("markdown", "# Answers in a notebook\n\nMade-up reads of articles; one reader is protected."),
    (
        "code",
        "import pandas\nimport discreet\nfrom discreet.questions import TopK\n"
        "from discreet.testing import SeededBits\n"
        "articles = [f'article {number}' for number in range(1, 9)]\n"
        "rows = [(reader, articles[min(reader % number, 7)])\n"
        "        for reader in range(900) for number in (2, 3, 5)]\n"
        "reads = pandas.DataFrame(rows, columns=['reader', 'article'])\n"
        "session = discreet.Session(\n"
        "    reads, unit=discreet.Person('reader'), budget=discreet.PureDP(2)\n)\nsession",
    ),
    ("markdown", "What would a question cost, and how good is it? No row is read."),
    ("code", "question = TopK('article', k=3, candidates=articles, epsilon=0.5)\n"
             "session.price(question)"),
    ("markdown", "The bits are seeded here, so that the page repeats itself: leave them out."),
    ("code", "release = session.ask(question, bits=SeededBits(1))\nrelease"),
    ("code", "release.plot(title='Most read')"),
    ("markdown", "A refusal is one line."),
    ("code", "session.top_k('article', k=3, candidates=articles, epsilon=5)"),
)  # fmt: skip
GROUPS: Cells = (
    ("markdown", "# Counts and groups\n\n20,000 reads of articles by 2,493 readers, the table of "
                 "`discreet demo`; a reader is protected with all rows. The bits are seeded here, "
                 "so that the page repeats itself: leave them out."),
    ("code", "from importlib.resources import files\nimport pandas\nimport discreet\n"
             "from discreet.questions import Count, Counts, TopK\n"
             "from discreet.testing import SeededBits\n"
             "folder = files('discreet.cli.data')\n"
             "reads = pandas.read_csv(folder / 'reads.csv.gz')\n"
             "session = discreet.Session(\n"
             "    reads, unit=discreet.Person('reader'), budget=discreet.PureDP(3)\n)\n"
             "reads.head(3)"),
    ("markdown", "How many readers are there? With its own error."),
    ("code", "session.ask(Count(epsilon=0.2), bits=SeededBits(1))"),
    ("markdown", "How many have each role? A reader has one, which is public knowledge: with "
                 "`items_per_person=1` the noise is as small as for one count."),
    ("code", "roles = ['data scientist', 'software engineer', 'product manager',\n"
             "         'designer', 'recruiter']\n"
             "question = Counts('role', candidates=roles, items_per_person=1, epsilon=0.4)\n"
             "histogram = session.ask(question, bits=SeededBits(2))\n"
             "histogram"),
    ("code", "histogram.plot(title='Readers by role')"),
    ("markdown", "What do they read, in each region? One answer for each public group costs what "
                 "one answer costs, because a reader counts in one group."),
    ("code", "regions = ['Bay Area', 'New York', 'London', 'Berlin', 'Bangalore']\n"
             "# the public list of all articles\n"
             "articles = (folder / 'articles.txt').read_text().splitlines()\n"
             "question = TopK('article', k=2, candidates=articles, by='region', groups=regions,\n"
             "                items_per_person=1, with_counts=True, epsilon=1)\n"
             "session.error_bound(question).sentence"),
    ("code", "lists = session.ask(question, bits=SeededBits(3))\nlists"),
    ("markdown", "The same as a table of pandas."),
    ("code", "pandas.DataFrame(\n"
             "    [(region, article, count)\n"
             "     for (region, named), counts in zip(lists.value.items(), lists.counts.values)\n"
             "     for article, count in zip(named, counts)],\n"
             "    columns=['region', 'article', 'readers'],\n)"),
    ("markdown", "What is left?"),
    ("code", "session"),
)  # fmt: skip

NOTEBOOKS = {"accuracy": ACCURACY, "groups": GROUPS}


def notebook(cells: Cells) -> Any:
    """A notebook of these cells, run."""
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook()
    for number, (kind, text) in enumerate(cells):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        made.cells.append(make(text, id=f"cell-{number}"))
    NotebookClient(made, timeout=120, allow_errors=True, record_timing=False).execute()
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return made


if __name__ == "__main__":
    import nbformat

    for name, cells in NOTEBOOKS.items():
        text = nbformat.writes(notebook(cells)) + "\n"
        (FOLDER / f"{name}.ipynb").write_text(text, encoding="utf-8")
