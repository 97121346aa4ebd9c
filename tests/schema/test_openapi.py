"""Schemathesis asks the whole API what its description allows, and what it does not.

In process, with a steward's and an analyst's key. Beside its own checks: nothing is a server
error, the ledger moves by nothing or by the price of an answer, and no byte of any reply is
from a row.
"""

from contextlib import suppress

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis.errors import Unsatisfiable  # noqa: E402
from schemathesis.checks import (  # noqa: E402
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from service.team import CANARY, MANIFEST, Team  # noqa: E402

pytestmark = pytest.mark.schema
EXAMPLES = 10
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def team(tmp_path):
    """One for each test: when Schemathesis is done it ends the application."""
    made = Team(tmp_path, MANIFEST.replace('"3"', '"60"'))
    yield made
    made.service.close()


@pytest.mark.parametrize("who", ["both", "steward", "team-b"])
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.name)
def test_every_address(team, who, mode):
    named = {"Host": "localhost"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", team.application, headers=named)
    headers, seen = team.headers(who) | named, set()
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case):
            before = team.service.ledger.account("reads").spent.value
            response = case.call(headers=headers)
            case.validate_response(response, checks=CHECKS, headers=headers)
            assert CANARY not in response.text
            moved = team.service.ledger.account("reads").spent.value - before
            assert not moved or response.status_code in (201, 202), (case.path, moved)
            seen.add(response.status_code)

        with suppress(Unsatisfiable):
            # nothing that the description forbids can be sent here
            send()
    assert {200, 422} <= seen
