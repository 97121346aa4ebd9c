"""A small service in a thread, for the tutorials that talk to one."""

import threading
import time
from pathlib import Path

import pytest

PAGES = ("steward.md", "analyst.md")


@pytest.fixture(autouse=True)
def served(request, doctest_namespace, tmp_path):
    """Publish the manifest of the steward's tutorial, word for word."""
    if request.node.path.name not in PAGES:
        yield
        return
    import uvicorn

    from discreet.service.application import make_application
    from discreet.service.manifest import Manifest
    from discreet.service.state import Service

    page = Path(__file__).with_name("steward.md").read_text(encoding="utf-8")
    manifest = page.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "discreet.toml").write_text(manifest)
    labels = ["A field guide", "A year of queues", "We were wrong"]
    rows = [f"r{number},{labels[number % 3]},nurse" for number in range(300)]
    (tmp_path / "reads.csv").write_text("\n".join(["reader,article,role", *rows]) + "\n")
    service = Service.open(
        Manifest.load(tmp_path / "discreet.toml"),
        ledger=f"{tmp_path}/ledger.db",
        store=f"{tmp_path}/keys.db",
    )
    doctest_namespace["key"] = service.store.add_key("team-a", "analyst", days=1).text
    doctest_namespace["steward_key"] = service.store.add_key("ada", "steward", days=1).text
    # a log of its own would close the handlers that exist, and absl's closes what pytest captures
    config = uvicorn.Config(make_application(service), port=0, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    doctest_namespace["address"] = f"http://127.0.0.1:{port}"
    yield
    server.should_exit = True
    thread.join(30)
