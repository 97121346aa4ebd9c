from __future__ import annotations

import pytest
from rich.table import Table

from discreet.cli.terminal import facts, terminal


@pytest.mark.parametrize("text", ["[red]x[/red]", "[/]", ":smile:", "[link=file:///]x[/link]"])
def test_text_is_shown_as_it_is(text, capsys):
    """Whoever names a data set or an item does not draw on the terminal of those who read it."""
    table: Table = facts()
    table.add_row(text, text)
    console = terminal()
    console.print(table)
    console.print(text)
    console.rule(text)
    assert capsys.readouterr().out.count(text) == 4
