"""The durable budget: many processes share it, and it survives a crash.

The way of a charge through the files: `ledger.py` (what people call; what they read is
in `reading.py`) prices it by the terms of the budget (`budget_terms.py`, `parts.py`) and
hands it as an operation (`operations.py`) to `group_commit.py`, which commits many
operations of many processes at once; `decide.py` decides about each of them inside one
transaction (`transaction.py`), on the tables of `tables.py`, in a file (`sqlite.py`) or
on a server (`postgresql.py`, with its own connection, mailbox, schema and roles);
`chain.py` ties the entries together, and `audit.py` checks them years later, also those
of earlier versions (`older.py`, `upgrade.py`). What people read is in `records.py`; what
nobody wrote is named by `damage.py`.
"""

from discreet.ledger.ledger import Ledger
from discreet.ledger.records import Account, Charge, KeptAnswer, LedgerEntry, Right, Verified
from discreet.ledger.reservation import Reservation

__all__ = [
    "Account",
    "Charge",
    "KeptAnswer",
    "Ledger",
    "LedgerEntry",
    "Reservation",
    "Right",
    "Verified",
]
