"""The durable budget: many processes share it, and it survives a crash.

The way of a charge through the files: `ledger.py` (what people call) prices it in `amounts.py`, hands it as an operation to
`combining.py`, which commits many operations of many processes at once; `book.py` decides about each of them inside one transaction,
on the tables of `rows.py`, in a file (`sqlite.py`) or on a server (`postgresql.py`, with its own connection, posts, schema and roles);
`chain.py` ties the entries together, and
`audit.py` checks them years later. What people read is in `records.py`; what nobody wrote is named by `damage.py`.
"""

from discreet.ledger.ledger import Ledger
from discreet.ledger.records import Account, Charge, Right, Verified
from discreet.ledger.reservation import Reservation

__all__ = ["Account", "Charge", "Ledger", "Reservation", "Right", "Verified"]
