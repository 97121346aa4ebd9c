import pytest
from service.team import Team


@pytest.fixture
def team(tmp_path):
    made = Team(tmp_path)
    yield made
    made.service.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A team for tests that look only, or are not let in, so that nothing changes."""
    made = Team(tmp_path_factory.mktemp("team"))
    yield made
    made.service.close()
