"""A small team: two data sets, two analysts, a steward, and a client without a network."""

import atexit
import functools
from contextlib import ExitStack, contextmanager

from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient

from discreet.service.answering import Answering
from discreet.service.application import make_application
from discreet.service.datasets import Published
from discreet.service.fixed_time import PacedLedger
from discreet.service.manifest import Manifest
from discreet.service.state import Service, Settings
from discreet.service.store import Store

CANARY = "canary-7f3a"
"""In every cell of a person and in every label that no candidate names."""

MANIFEST = """
[dataset.reads]
title = "Reads <script>alert(1)</script>"
source = "reads.csv"
decimal = "."
person = "reader"
persons = 100
ask = ["count"]
budget = { epsilon = "3" }
largest_question = { epsilon = "1" }
as_of = "2026-11-01"
reply_after = "10ms"
[dataset.reads.column.article]
ask = ["top_k", "mode", "counts"]
candidates = ["ant", "bee", "cat", "=cmd|' /C calc'!A0", "<b>bold</b>"]
[dataset.reads.column.pay]
ask = ["quantile", "quantiles", "best_price"]
filter = "range"
[dataset.reads.column.role]
filter = ["nurse", "pilot"]
[dataset.reads.share]
team-a = { epsilon = "2" }
team-b = { epsilon = "2" }

[dataset.months]
title = "By month"
source = "reads.csv"
person = "reader"
persons = 100
budget = { epsilon = "1" }
as_of = "1"
reply_after = "10ms"
window = { column = "day", every = "month" }
[dataset.months.column.article]
ask = ["mode"]
candidates = ["ant", "bee", "cat"]
[dataset.months.share]
team-a = { epsilon = "1" }
"""

QUESTION = {"what": "mode", "column": "article", "epsilon": "0.5"}


def rows():
    """September reads ants, October bees; nurses and pilots alike."""
    yield "reader,article,pay,role,day"
    for number in range(60):
        role = ("nurse", "pilot")[number % 2]
        yield f"{CANARY}-{number},ant,{number},{role},2026-09-0{1 + number % 9}"
        yield f"{CANARY}-{number},{CANARY}-label,{number},{role},2026-09-15"
    for number in range(200, 240):
        yield f"{CANARY}-{number},bee,{number},{CANARY}-role,2026-10-11"


def write(folder, manifest=MANIFEST):
    """The files of the team."""
    (folder / "reads.csv").write_text("\n".join(rows()) + "\n")
    (folder / "discreet.toml").write_text(manifest)


_UNTIL_THE_END = ExitStack()


@functools.cache
def event_loop():
    """One event loop for the requests of all clients: a client would start one for each."""
    atexit.register(_UNTIL_THE_END.close)
    return _UNTIL_THE_END.enter_context(start_blocking_portal())


def open_unchecked(manifest, *, ledger, store):
    """A service whose sources were looked at before."""
    book = PacedLedger(ledger)
    published, kept = Published(manifest, book), Store(store)
    return Service(published, book, kept, Settings(), Answering(published, kept))


class Team:
    """A running service, with a key for each.

    The usual files are not looked at each time a new team starts: `Service.open` does that
    for half of the time that a test takes, and it is tested in test_manifest.py.
    """

    def __init__(self, folder, manifest=MANIFEST):
        self.folder = folder
        write(folder, manifest)
        self.open(open_unchecked if manifest == MANIFEST else Service.open)
        self.keys = {
            "team-a": self.service.store.add_key("team-a", "analyst", days=1).text,
            "team-b": self.service.store.add_key("team-b", "analyst", days=1).text,
            "nobody": self.service.store.add_key("nobody", "analyst", days=1).text,
            "steward": self.service.store.add_key("steward", "steward", days=1).text,
            "both": self.service.store.add_key("team-a", "both", days=1).text,
        }

    def open(self, how=Service.open):
        """Start, or start again on the same files."""
        self.service = how(
            Manifest.load(self.folder / "discreet.toml"),
            ledger=f"sqlite:///{self.folder}/ledger.db",
            store=f"sqlite:///{self.folder}/keys.db",
        )
        self.application = make_application(self.service)
        self.client = TestClient(
            self.application, base_url="http://localhost", follow_redirects=False
        )
        self.client.portal = event_loop()

    def restart(self):
        """Stop and start."""
        self.service.close()
        self.open()

    def headers(self, who):
        """The key of somebody."""
        return {"Authorization": f"Bearer {self.keys[who]}"}

    def get(self, path, who="team-a"):
        return self.client.get(path, headers=self.headers(who))

    def post(self, path, body, who="team-a", **headers):
        return self.client.post(path, json=body, headers=self.headers(who) | headers)

    def ask(self, body=QUESTION, who="team-a", dataset="reads", **headers):
        return self.post(f"/v1/datasets/{dataset}/answers", body, who, **headers)

    def spent(self, dataset="reads", analyst=None, window=None):
        return self.service.ledger.account(dataset, analyst=analyst, window=window).spent

    def charges(self):
        return len(self.service.ledger.history())

    @contextmanager
    def signed_in(self, who):
        """A browser of somebody, and the token of its forms."""
        from discreet.service.keys import form_token
        from discreet.service.pages import cookie_name

        cookie = self.service.store.use_key(self.keys[who])
        self.client.cookies.set(cookie_name(self.service), cookie)
        yield form_token(cookie)
        self.client.cookies.clear()

    def page(self, path):
        return self.client.get(path, headers={"Accept": "text/html"})

    def send(self, path, form, **headers):
        return self.client.post(path, data=form, headers={"Accept": "text/html"} | headers)
