"""The durable budget: many processes share it, and it survives a crash.

The way of a charge through the files: `ledger.py` (what people call) has it checked
(`validation.py`), prices it by the terms of the budget (`budget_terms.py`) and hands it
as an operation to `group_commit.py`, which commits those of many threads at once;
`operations.py` decides about each of them inside one transaction (`transaction.py`), in
a file (`sqlite.py`) or on a server (`postgresql.py`), whose tables are those of
`schema.py`; `chain.py` ties the entries
together, `entries.py` reads them again, also those of earlier versions, and `audit.py`
checks them years later. What people read is in `records.py`.
"""

from discreet.lazy import attach

__getattr__, __dir__ = attach("discreet.ledger")
