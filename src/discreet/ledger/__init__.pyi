from discreet.ledger.ledger import Ledger as Ledger
from discreet.ledger.records import Account as Account
from discreet.ledger.records import Charge as Charge
from discreet.ledger.records import KeptAnswer as KeptAnswer
from discreet.ledger.records import LedgerEntry as LedgerEntry
from discreet.ledger.records import Reservation as Reservation
from discreet.ledger.records import Right as Right
from discreet.ledger.records import Verified as Verified
