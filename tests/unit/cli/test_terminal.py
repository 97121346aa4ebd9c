from __future__ import annotations

import json

import pytest
from rich.table import Table

from discreet.cli.terminal import complain, facts, print_json, terminal


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


@pytest.mark.parametrize("label", ["\x1b]0;title\x07", "\u202eabc", "\x9b31m", "\U000e0001", "é"])
def test_json_and_errors_do_not_control_the_terminal(label, capsys):
    text = json.dumps({"value": label}, ensure_ascii=False)
    print_json(text)
    complain(f"no file {label}")
    shown = capsys.readouterr()
    assert json.loads(shown.out) == json.loads(text)
    assert (shown.out + shown.err).replace("\n", "").isprintable()
