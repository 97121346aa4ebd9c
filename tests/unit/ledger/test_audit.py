"""What `verify` looks at besides the chain: pages, and everything that a charge finds by an
index.
"""

from __future__ import annotations

import pytest
from faults.ledgers import File
from tiers import first

from discreet import Ledger, PureDP
from discreet.errors import LedgerDamagedError
from discreet.ledger.audit import verify
from discreet.ledger.transaction import Transaction

ASK = {"what": "mode"}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(File(tmp_path).url) as opened:
        opened.open("survey", budget=PureDP(1))
        opened.open("survey", budget=PureDP(0.5), analyst="ada")
        opened.open("clicks", budget=PureDP(1), windows=True)
        for number in range(300):
            opened.reserve(
                "clicks", PureDP(0.1), request=ASK, window=f"w{number}", key=f"k{number}"
            )
        yield opened


def test_more_than_one_lot_is_found_again(ledger):
    assert ledger.verify().entries == 303


def test_pages_that_no_row_is_on_are_looked_at(ledger, tmp_path):
    """A page that two lists of free pages share, say: harmless today, and overwritten tomorrow."""
    ledger.close()
    place = File(tmp_path)
    place.sql("create table notes (note text)")
    place.sql("insert into notes values (?)", "x" * 20_000)
    place.sql("drop table notes")
    content = bytearray(place.path.read_bytes())
    assert content[36:40] != bytes(4), "there are free pages"
    content[39] ^= 1  # their number
    place.path.write_bytes(content)
    with (
        Ledger(place.url) as again,
        pytest.raises(
            LedgerDamagedError,
            match=r"The file of the ledger is damaged: its pages are not as SQLite wrote them\. "
            r"Restore a backup",
        ),
    ):
        again.verify()


class Forgetful(Transaction):
    """Tables of which the indexes miss something."""

    __slots__ = ("missing",)

    def balance(self, scope):
        return None if self.missing == "budget" and scope.window == "w7" else super().balance(scope)

    def has_analysts(self, dataset):
        return self.missing != "analyst" and super().has_analysts(dataset)

    def request(self, place):
        return None if self.missing == "key" and place[2] == "k200" else super().request(place)


@pytest.mark.parametrize("missing", first(["budget", "key", "analyst"], 2))
def test_what_an_index_misses_is_found(ledger, missing):
    with ledger._store.reading() as rows:
        forgetful = Forgetful(rows._tables)
        forgetful.missing = missing
        with pytest.raises(
            LedgerDamagedError, match="indexes of the ledger x must match its entries and sums"
        ):
            verify(forgetful, [], "x")
        forgetful = Forgetful(rows._tables)
        forgetful.missing = ""
        assert verify(forgetful, [], "x").entries == 303
