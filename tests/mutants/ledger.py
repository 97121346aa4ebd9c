"""Mutants of the ledger: see test_mutants.py. What is wrong: (file, the true text, the mutated text, tests that must fail)."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

CONTRACT = "tests/contracts/test_ledger.py"
CLOSED = "tests/faults/test_failing_closed.py"
FILES = '-m "not postgres"'

BOOK: Mutants = {
    "ledger the budget is not asked": (
        "ledger/book.py",
        "if amount.main > balance.left.main or amount.delta > balance.left.delta:",
        "if False:",
        f"{CONTRACT} {FILES} -k ten_tenths",
    ),
    "ledger the delta of losses is not asked": (
        "ledger/book.py",
        "if amount.main > balance.left.main or amount.delta > balance.left.delta:",
        "if amount.main > balance.left.main:",
        f"{CONTRACT} {FILES} -k deltas_of_losses",
    ),
    "ledger delta is not charged": (
        "ledger/amounts.py",
        "Amount(self.main + other.main, self.delta + other.delta)",
        "Amount(self.main + other.main, self.delta)",
        f"{CONTRACT} {FILES} -k deltas_of_losses",
    ),
    "ledger what is left is taken for what is spent": (
        "ledger/book.py",
        "balances[scope] = replace(balance, spent=balance.spent + amount)",
        "balances[scope] = replace(balance, spent=amount)",
        f"{CONTRACT} {FILES} -k ten_tenths",
    ),
    "ledger a full budget is one too early": (
        "ledger/book.py",
        "if amount.main > balance.left.main or",
        "if amount.main >= balance.left.main or",
        f"{CONTRACT} {FILES} -k ten_tenths",
    ),
    "ledger the analyst's budget forgotten": (
        "ledger/book.py",
        "owners.append(analyst)",
        "pass",
        f"{CONTRACT} {FILES} -k taken_from_the_data_set_and_the_analyst",
    ),
    "ledger the data set's budget forgotten": (
        "ledger/book.py",
        "owners.append(analyst)",
        "owners = [analyst]",
        f"{CONTRACT} {FILES} -k taken_from_the_data_set_and_the_analyst",
    ),
    "ledger only one window is charged": (
        "ledger/book.py",
        'for window in operation["windows"] or [""]]',
        'for window in (operation["windows"] or [""])[:1]]',
        f"{CONTRACT} {FILES} -k each_window_has",
    ),
    "ledger scopes are charged one after the other": (
        "ledger/book.py",
        "balances[scope] = replace(balance, spent=balance.spent + amount)",
        "rows.put_balance(scope, replace(balance, spent=balance.spent + amount))",
        f"{CONTRACT} {FILES} -k all_or_nothing",
    ),
    "ledger analysts need no budget": (
        "ledger/book.py",
        'if not operation["analyst"] and rows.has_analysts(dataset):',
        "if False:",
        f"{CONTRACT} {FILES} -k every_charge_names_one",
    ),
    "ledger a refund is a charge": (
        "ledger/book.py",
        "if amount.main <= 0 or amount.delta < 0:",
        "if False:",
        f"{CONTRACT} {FILES} -k never_allowed",
    ),
    "ledger budgets shrink": (
        "ledger/book.py",
        "if limit.main < known.limit.main or limit.delta < known.limit.delta:",
        "if False:",
        f"{CONTRACT} {FILES} -k never_shrinks",
    ),
    "ledger opening again changes the budget": (
        "ledger/book.py",
        'return {"number": 0} if known.terms == operation["terms"] else {"refused": "other terms", "terms": known.terms}',
        'rows.put_balance(scope, replace(known, terms=operation["terms"], limit=read_amount(operation["limit"])))',
        f"{CONTRACT} {FILES} -k never_change_silently",
    ),
    "ledger charges are rounded down": (
        "ledger/amounts.py",
        "Amount(math.ceil(main * UNITS), math.ceil(delta * UNITS))",
        "Amount(math.floor(main * UNITS), math.floor(delta * UNITS))",
        f"{CONTRACT} {FILES} -k 'rounded_up or below_one_unit'",
    ),
    "ledger budgets are rounded up": (
        "ledger/amounts.py",
        "Amount(math.floor(main * UNITS), math.floor(delta * UNITS))",
        "Amount(math.ceil(main * UNITS), math.ceil(delta * UNITS))",
        f"{CONTRACT} {FILES} -k rounded_up",
    ),
    "ledger the unit of a budget may change": (
        "ledger/ledger.py",
        "if type(before) is not type(budget) or is_pure(before) != is_pure(budget):",
        "if type(before) is not type(budget):",
        f"{CONTRACT} {FILES} -k count_as_epsilon",
    ),
    "ledger a part may occur less than once": (
        "ledger/terms.py",
        "type(part[1]) is int and part[1] >= 1",
        "type(part[1]) is int",
        f"{CONTRACT} {FILES} -k is_a_refund",
    ),
    "ledger what remains is the larger of two": (
        "ledger/ledger.py",
        "return min(account.remaining for account in",
        "return max(account.remaining for account in",
        f"{CONTRACT} {FILES} -k data_set_has_too_little",
    ),
}

KEYS: Mutants = {
    "ledger the key is not looked up": (
        "ledger/book.py",
        "known = rows.request(dataset, key)",
        "known = None",
        f"{CONTRACT} {FILES} -k same_bytes",
    ),
    "ledger another request with the same key gets the answer": (
        "ledger/book.py",
        '("dataset", "analyst", "windows", "loss", "amount", "request")',
        '("dataset", "analyst", "windows", "loss", "amount")',
        f"{CONTRACT} {FILES} -k another_request",
    ),
    "ledger a burnt request is computed again": (
        "ledger/book.py",
        'return {"refused": "burnt", "state": known.state}',
        'return {"number": known.number}',
        f"{CONTRACT} {FILES} -k 'burnt'",
    ),
    "ledger the ticket is not looked up": (
        "ledger/book.py",
        'known = rows.entry_of(operation["ticket"])',
        "known = None",
        f"{CLOSED} -k outcome_got_lost",
    ),
    "ledger a charge is settled twice": (
        "ledger/rows.py",
        "known.number != number or known.state != RESERVED:",
        "known.number != number:",
        f"{CONTRACT} {FILES} -k do_not_both_settle",
    ),
    "ledger keys are looked for in the whole table": (
        "ledger/rows.py",
        "where dataset = ? and request_key in ({_marks(some)})",
        "where dataset = ? and request_key || '' in ({_marks(some)})",
        "tests/unit/ledger/test_rows.py -k as_a_whole",
    ),
    "ledger what is looked up is not all of it": (
        "ledger/rows.py",
        "for start in range(0, len(values), _LOT):",
        "for start in range(0, min(len(values), 1), _LOT):",
        "tests/unit/ledger/test_rows.py -k at_once",
    ),
    "ledger answers are always kept": (
        "ledger/ledger.py",
        "if replayable else None",
        "if True else None",
        f"{CONTRACT} {FILES} -k nothing_of_an_answer",
    ),
    "ledger a release may cost more than its charge": (
        "ledger/reservation.py",
        "if not release.loss <= self.loss:",
        "if False:",
        f"{CONTRACT} {FILES} -k costs_no_more",
    ),
}

AUDIT: Mutants = {
    "ledger the hash does not cover what came before": (
        "ledger/chain.py",
        "previous.hash.encode(), body.encode()",
        "body.encode()",
        f"tests/unit/ledger/test_chain.py {FILES}",
    ),
    "ledger the hash is not checked": (
        "ledger/audit.py",
        "if found.hash != digest:",
        "if False:",
        f"{CONTRACT} {FILES} -k 'every_manipulation or exchanged'",
    ),
    "ledger missing entries are not noticed": (
        "ledger/audit.py",
        "if number != head.number + 1:",
        "if False:",
        f"{CONTRACT} {FILES} -k missing_entry",
    ),
    "ledger a sum that was never allowed is shown": (
        "ledger/records.py",
        "if balance.limit.main < 1 or balance.left.main < 0 or balance.left.delta < 0:",
        "if False:",
        "tests/unit/ledger/test_damage.py -k changed_budget",
    ),
    "ledger charges that cannot be shown are verified": (
        "ledger/audit.py",
        "Charge.read(number, operation)  # what was verified can be shown",
        "pass",
        "tests/unit/ledger/test_damage.py -k right_hash",
    ),
    "ledger tickets are not checked": (
        "ledger/audit.py",
        'carry_out(memory, operation) if operation["ticket"] == ticket else {}',
        "carry_out(memory, operation)",
        f"{CONTRACT} {FILES} -k every_manipulation",
    ),
    "ledger sums are not checked": (
        "ledger/audit.py",
        "if sums.get(scope) != memory.scopes.get(scope):",
        "if False:",
        f"{CONTRACT} {FILES} -k every_manipulation",
    ),
    "ledger requests are not checked": (
        "ledger/audit.py",
        "if found.get(number) != memory.answered.get(number):",
        "if False:",
        f"{CONTRACT} {FILES} -k every_manipulation",
    ),
    "ledger an anchor that is not met is forgotten": (
        "ledger/audit.py",
        "    if wanted:\n",
        "    if False:\n",
        f"{CONTRACT} {FILES} -k copy_put_back",
    ),
    "ledger an anchor of another chain is met": (
        "ledger/audit.py",
        "if here - {head}:",
        "if False:",
        f"{CONTRACT} {FILES} -k whole_new_chain",
    ),
    "ledger the anchor file goes back": (
        "ledger/anchors.py",
        "if known is None or known.number < anchor.number:",
        "if True:",
        "tests/unit/ledger/test_anchors.py -k never_goes_back",
    ),
    "ledger a cut is not noticed by the anchor file": (
        "ledger/ledger.py",
        "self._anchors.keep(self._require_anchor(self._anchors.read()))",
        "self._anchors.keep(self._require_anchor(None))",
        f"{CONTRACT} {FILES} -k cut_is_noticed",
    ),
}

DURABLE: Mutants = {
    "ledger commits do not wait for the disk": (
        "ledger/sqlite.py",
        '"synchronous = full"',
        '"synchronous = normal"',
        "tests/faults/test_power.py -m 'not slow' -k no_acknowledged",
    ),
    "ledger what is read may be old when it is written": (
        "ledger/sqlite.py",
        '"begin immediate") as rows:\n                outcomes, others = carry_out_all(rows, mine, posted)',
        '"begin") as rows:\n                outcomes, others = carry_out_all(rows, mine, posted)',
        f"{CLOSED} -k changed_by_somebody_else",
    ),
    "ledger an interrupt leaves a transaction open": (
        "ledger/sqlite.py",
        'with suppress(Exception):  # the error that led here says more\n                    connection.execute("rollback")',
        "pass",
        f"{CLOSED} -k an_interrupt",
    ),
    "ledger goes on with a file that is gone": (
        "ledger/sqlite.py",
        "if _identity(self._path) != self._file:",
        "if False:",
        f"{CLOSED} -k not_at_its_place",
    ),
    "ledger posts of which half was written": (
        "ledger/spool.py",
        'with os.fdopen(descriptor, "wb") as file:',
        'with os.fdopen(descriptor, "wb", buffering=0) as file:',
        "tests/unit/ledger/test_spool.py -k half_way",
    ),
    "ledger a late outcome is taken for the next one": (
        "ledger/spool.py",
        "if post == self._post and text:",
        "if text:",
        f"{CLOSED} -k comes_too_late",
    ),
    "ledger a forked child shares its parent's connection": (
        "ledger/per_process.py",
        "if not self._holders:  # else",
        "if False:  # else",
        f"{CONTRACT} {FILES} -k outlives",
    ),
    "ledger a forked child waits for its parent's threads": (
        "ledger/combining.py",
        "        made_anew(self)\n",
        "        made_anew\n",
        "tests/unit/ledger/test_threads.py -k forked",
    ),
    "ledger a forked child keeps the turn": (
        "ledger/spool.py",
        "fcntl.flock(descriptor, fcntl.LOCK_UN)",
        "pass",
        "tests/unit/ledger/test_spool.py -k does_not_keep_the_turn",
    ),
    "ledger those who waited for an interrupted leader are forgotten": (
        "ledger/combining.py",
        "batch = [mine]",
        "batch = []",
        "tests/unit/ledger/test_threads.py -k interrupted --timeout 10",
    ),
    "ledger the file is for everybody to read": (
        "ledger/sqlite.py",
        "os.O_EXCL | os.O_CLOEXEC, 0o600",
        "os.O_EXCL | os.O_CLOEXEC, 0o644",
        "tests/unit/ledger/test_address.py -k owner_alone",
    ),
    "ledger operations are taken from anybody's folder": (
        "ledger/sqlite.py",
        "if folder.st_mode & 0o022 & ~file.st_mode:",
        "if False:",
        "tests/unit/ledger/test_address.py -k others_may_write",
    ),
    "ledger the password is shown": (
        "ledger/address.py",
        "else f\"{found['user']}@\"",
        "else f\"{found['user']}{found['secret']}@\"",
        "tests/unit/ledger/test_address.py -k without_its_secrets",
    ),
    "ledger the address has no say in how long a dead network is waited for": (
        "ledger/postgresql_connection.py",
        "if name in free and name not in said",
        "if name in free",
        "tests/unit/ledger/test_address.py -k address_says",
    ),
    "ledger a newer schema is used": (
        "ledger/sqlite.py",
        "if version > len(SCHEMA):",
        "if False:",
        f"{CONTRACT} {FILES} -k newer_one",
    ),
}

NAMES: Mutants = {
    "ledger a space at the end is another window": (
        "ledger/reading.py",
        'if value != " ".join(value.split()):',
        "if False:",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger letters may be written in two ways": (
        "ledger/reading.py",
        'not unicodedata.is_normalized("NFC", value) or ',
        "",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger names may have characters that do not show": (
        "ledger/reading.py",
        " or _INVISIBLE.search(value)",
        "",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger parts need not make up the loss": (
        "ledger/terms.py",
        "if not adds_up(loss, parts, delta):",
        "if False:",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "ledger parts in rho make up every loss": (
        "ledger/terms.py",
        "return _at_least(rho, largest_rho(loss.epsilon, loss.delta - own))",
        "return True",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "ledger a delta of the parts is composed with": (
        "ledger/terms.py",
        "loss.delta <= own:",
        "loss.delta < 0:",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "names are markup": (
        "cli/terminal.py",
        "Console(highlight=False, markup=False, emoji=False)",
        "Console(highlight=False)",
        "tests/unit/cli/test_terminal.py -k as_it_is",
    ),
    "names are formulas": (
        "plots/spending.py",
        ", parse_math=False)",
        ")",
        "tests/unit/cli/test_ledger.py -k no_formula",
    ),
}

ATTACKS = "tests/attacks/test_database_roles.py --timeout 60"
ROLES: Mutants = {
    "ledger an entry with the ticket and another text is believed": (
        "ledger/book.py",
        'return {"number": number} if text == text_of(operation) else {"refused": "another entry"}',
        'return {"number": number}',
        f"{ATTACKS} -k another_text",
    ),
    "ledger a note is believed": (
        "ledger/postgresql.py",
        "outcomes = work.look(operations) if rung else None",
        'outcomes = [{"number": 1}] if rung else None',
        f"{ATTACKS} -k 'nobody_is_told and selector'",
    ),
    "ledger a post that is gone is believed": (
        "ledger/postgresql_posts.py",
        "return None if rows.is_changed else outcomes",
        "return outcomes",
        f"{ATTACKS} -k disappears",
    ),
    "ledger the turn is a lock that every role may take": (
        "ledger/postgresql_posts.py",
        '"(select from discreet_turn for update skip locked)"',
        f'"(select where pg_try_advisory_xact_lock({0x64697363726565}))"',
        f"{ATTACKS} -k no_lock_of_a_role",
    ),
    "ledger tables of every role are believed": (
        "ledger/postgresql_schema.py",
        "        if ours:\n",
        "        if True:\n",
        f"{ATTACKS} -k put_there",
    ),
    "ledger tables of a role that made us its member are believed": (
        "ledger/postgresql_schema.py",
        '"({0} = (select oid',
        "\"(pg_catalog.pg_has_role({0}, 'member') or {0} = (select oid",
        f"{ATTACKS} -k put_there",
    ),
    "ledger a second one is made beside another": (
        "ledger/postgresql_schema.py",
        "    if found:\n",
        "    if False:\n",
        f"{ATTACKS} -k put_there",
    ),
    "ledger a ledger is made in a schema of another role": (
        "ledger/postgresql_schema.py",
        "if ours == [(False,)]:",
        "if False:",
        f"{ATTACKS} -k empty_schema",
    ),
    "ledger functions and operators of other roles are met": (
        "ledger/postgresql_connection.py",
        "set search_path = pg_catalog, pg_temp",
        "set search_path = public, pg_catalog",
        f"{ATTACKS} -k another_role_made_is_met",
    ),
    "ledger PUBLIC keeps its rights": (
        "ledger/postgresql_roles.py",
        'everybody = ", ".join(["public", *writers, *readers])',
        'everybody = ", ".join([*writers, *readers])',
        f"{ATTACKS} -k takes_from_public",
    ),
    "ledger writers may delete entries": (
        "ledger/postgresql_roles.py",
        '"entries": "select, insert",',
        '"entries": "select, insert, delete",',
        f"{ATTACKS} -k 'more_than and writer'",
    ),
    "ledger who may not give rights is not told": (
        "ledger/postgresql_roles.py",
        "if connection.warned:",
        "if False:",
        f"{ATTACKS} -k does_not_give_rights",
    ),
    "ledger sums shrink on the server": (
        "ledger/postgresql_schema.py",
        "when ({_SHRINKS} or {_MOVES})",
        "when ({_MOVES})",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger answers are changed on the server": (
        "ledger/postgresql_schema.py",
        "when (old.state <> 'reserved' or {_CHANGES})",
        "when ({_CHANGES})",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger entries are changed on the server": (
        "ledger/postgresql_schema.py",
        "before update or delete on discreet_entries",
        "before delete on discreet_entries",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger a full queue of notes stops charges": (
        "ledger/postgresql_posts.py",
        "        except psycopg.Error:\n",
        "        except KeyError:\n",
        f"{ATTACKS} -k does_not_take",
    ),
    "ledger after a crash nobody has a turn": (
        "ledger/postgresql_posts.py",
        '"insert into discreet_turn values (1) on conflict do nothing"',
        '"select 1"',
        f"{ATTACKS} -k 'crash_of_the_server'",
    ),
    "ledger a writer that was stopped keeps the turn": (
        "ledger/postgresql_connection.py",
        "idle_in_transaction_session_timeout = {max(1000, wait)}",
        "idle_in_transaction_session_timeout = 0",
        f"{ATTACKS} -k stopped_in_its_turn",
    ),
    "ledger a wait for the standby that was cut short is a commit": (
        "ledger/postgresql_connection.py",
        "        if self.warned:\n",
        "        if False:\n",
        "tests/faults/test_failing_server.py -k cut_short",
    ),
}
"""Those that need a PostgreSQL server."""
