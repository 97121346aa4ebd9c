"""A question is described once: a parameter that its class states is at every entry point."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest
import typer
from contracts.check_calls import CALLS, marked
from typer.testing import CliRunner

from discreet import Release, Session
from discreet.cli.commands.questions import question_command
from discreet.client import RemoteDataset
from discreet.privacy.loss import PureDP
from discreet.questions import QUESTIONS, Question
from discreet.questions.kinds import ColumnName, Epsilon, WholeNumber
from discreet.questions.question import asks, parameter, question
from discreet.service import pages
from discreet.service.questions import schema_of

HELP = "How many people must have it, beside epsilon."


@pytest.fixture
def rarest():
    """A question that only this test declares."""

    @question("rarest")
    class Rarest(Question):
        """Pick the value that the fewest people have."""

        column: ColumnName = parameter("The column to look at.", kw_only=False)
        epsilon: Epsilon = parameter()
        at_least: WholeNumber | None = parameter(
            "How many people must have it, beside {epsilon}.", default=None
        )

        def prepare(self, inquiry):
            raise AssertionError("it is never asked")

    yield Rarest
    del QUESTIONS["rarest"]


def test_a_new_parameter_is_written_once_and_appears_at_every_entry_point(rarest):
    # in Python
    method = type("Asking", (Session,), {"rarest": asks(rarest)}).rarest
    assert "at_least: 'WholeNumber | None' = None" in str(inspect.signature(method))
    assert f"at_least: {HELP}" in inspect.getdoc(method)
    # in the shell
    application = typer.Typer(rich_markup_mode=None)
    application.command("rarest")(question_command(rarest))
    shown = CliRunner().invoke(application, ["--help"], env={"COLUMNS": "300", "TERM": "dumb"})
    help = HELP.replace("epsilon", "--epsilon")
    assert re.search(rf"--at-least COUNT +{help}", shown.output), shown.output
    # over HTTP
    stated = schema_of("rarest")["properties"]["at_least"]
    assert stated["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert stated["description"] == HELP
    # on the page
    (control,) = (each for each in pages.controls("rarest") if each.name == "at_least")
    assert (control.label, control.kind, control.required) == ("at least", "whole", False)
    assert control.hint == HELP
    # in files
    document = {"what": "rarest", "column": "a", "epsilon": "1", "at_least": 3}
    assert Question.from_json(document) == rarest("a", epsilon=1, at_least=3)
    # in the client
    sent = []

    class Wire:
        def call(self, method, path, body, attempt=None):
            sent.append(body)
            release = Release(value="a", loss=PureDP(1), mechanism="any", candidates=None)
            return {"release": json.loads(release.to_json())}

    remote = type("Asking", (RemoteDataset,), {"rarest": asks(rarest)})(Wire(), "reads")
    assert remote.rarest("a", epsilon=1, at_least=3).value == "a"
    assert sent == [document]


def test_type_checkers_refuse_what_is_marked_and_nothing_else():
    assert len(marked()) == 9
    place, root = CALLS, CALLS.parents[2]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(place)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    found = re.findall(r"question_calls\.py:(\d+): error", done.stdout)
    assert {int(number) for number in found} == marked(), done.stdout + done.stderr
