"""Mutants of the ledger: see test_mutants.py. What is wrong: (file, the true text, the mutated text, tests that must fail)."""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

CONTRACT = "tests/contracts/test_ledger.py"
CLOSED = "tests/faults/test_failing_closed.py"
FILES = '-m "not postgres"'
BY_FILES = "tests/attacks/test_files.py -m 'not slow'"
BY_FORKS = "tests/attacks/test_forks.py -m 'not slow'"
PURSE = "tests/unit/test_purse.py"

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
    "ledger a copy put back is not noticed by the anchor file": (
        "ledger/anchors.py",
        "if kept.number and (found is None or found[1] != kept.hash):",
        "if False:",
        f"{CONTRACT} {FILES} -k 'AnchorFiles and put_back'",
    ),
    "ledger an anchor file that is gone is written anew": (
        "ledger/anchors.py",
        "first = not declared and self.read() is None",
        "first = self.read() is None",
        f"{CONTRACT} {FILES} -k 'AnchorFiles and gone'",
    ),
    "ledger an anchor file may begin again": (
        "ledger/anchors.py",
        "if kept is None or (kept.number == 0 and head.number > 1):",
        "if kept is None:",
        f"{CONTRACT} {FILES} -k 'AnchorFiles and gone'",
    ),
    "ledger the chain does not say that there is an anchor file": (
        "ledger/book.py",
        'rows.add_request(*ANCHORED, outcome["number"], fingerprint("anchor"))',
        "pass",
        f"{CONTRACT} {FILES} -k 'AnchorFiles and gone'",
    ),
    "ledger the draft of an anchor follows a link": (
        "ledger/anchors.py",
        'draft = self._beside(f".{secrets.token_hex(8)}.draft")\n        descriptor = os.open(draft, _NEW, 0o600)',
        'draft = self._beside(".draft")\n        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)',
        f"{BY_FILES} -k no_link_is_followed",
    ),
    "ledger the lock of an anchor follows a link": (
        "ledger/anchors.py",
        "os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW",
        "os.O_RDWR | os.O_CREAT",
        f"{BY_FILES} -k no_link_is_followed",
    ),
    "ledger indexes are not verified": (
        "ledger/audit.py",
        "    _find_again(rows, memory, head, name)\n    rows.check()\n",
        "",
        f"{BY_FILES} -k one_bit",
    ),
    "ledger pages are not verified": (
        "ledger/audit.py",
        "    rows.check()\n",
        "",
        "tests/unit/ledger/test_audit.py -k pages",
    ),
    "ledger what an index misses is new": (
        "ledger/rows.py",
        "            self._require_new(scope)\n",
        "            pass\n",
        f"{BY_FILES} -k one_bit",
    ),
    "ledger what an index misses is looked for in the index": (
        "ledger/rows.py",
        '"select terms from discreet_scopes where',
        '"select 1 from discreet_scopes where',
        f"{BY_FILES} -k one_bit",
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
        "_WRITING) as rows:\n                outcomes, others = carry_out_all(rows, mine, posted)",
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
        "ledger/place.py",
        "if _identity(found) != self.identity():",
        "if False:",
        f"{CLOSED} -k not_at_its_place",
    ),
    "ledger a replaced file is refused once": (
        "ledger/place.py",
        "        self._refused = got\n",
        "        self._file = None\n",
        f"{BY_FILES} -k for_good",
    ),
    "ledger an old copy in the same file is accepted": (
        "ledger/sqlite.py",
        "found is None or found[1] != self._seen.hash",
        "False",
        f"{BY_FILES} -k written_into_the_same_file",
    ),
    "ledger a file has several names": (
        "ledger/place.py",
        "if found.st_nlink != 1:",
        "if False:",
        f"{BY_FILES} -k second_name",
    ),
    "ledger a file is mounted by itself": (
        "ledger/place.py",
        "if _is_mounted(self.path):",
        "if False:",
        f"{BY_FILES} -k mounted_by_itself",
    ),
    "ledger a log that was removed is written to": (
        "ledger/place.py",
        "if beside is not None and beside != self._logs():",
        "if False:",
        f"{BY_FILES} -k log_that_is_removed",
    ),
    "ledger a log may be removed before the commit": (
        "ledger/sqlite.py",
        "                    self._place.require_same(connection.beside)\n                    self._seen",
        "                    self._seen",
        f"{BY_FILES} -k removed_before_the_commit",
    ),
    "ledger a log of somebody else is believed": (
        "ledger/sqlite.py",
        "        self._place.require_our_logs()\n",
        "",
        f"{BY_FILES} -k 'leads_elsewhere or log_of_somebody'",
    ),
    "ledger a file that everybody may write is used": (
        "ledger/place.py",
        "if file.st_mode & 0o002 or not _is_trusted(file):",
        "if not _is_trusted(file):",
        f"{BY_FILES} -k file_that_everybody",
    ),
    "ledger a folder that everybody may write to is used": (
        "ledger/place.py",
        "if folder.st_mode & 0o002 or not _is_trusted(folder):",
        "if not _is_trusted(folder):",
        f"{BY_FILES} -k folder_that_everybody",
    ),
    "ledger a damaged schema raises a bare error": (
        "ledger/sqlite.py",
        "(sqlite3.Error, OSError, UnicodeDecodeError)",
        "(sqlite3.Error, OSError)",
        f"{BY_FILES} -k no_text",
    ),
    "ledger triggers run with every charge": (
        "ledger/sqlite.py",
        "or type in ('trigger', 'view'))",
        "and type = 'table')",
        f"{BY_FILES} -k additions",
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
        "            if not state.holders:\n                self._empty(state)",
        "            if not state.holders:\n                pass",
        f"{BY_FORKS} -k many_forks",
    ),
    "ledger a forked child uses what was open": (
        "ledger/per_process.py",
        "one.what == what and one.process != process:",
        "False:",
        f"{BY_FORKS} -k 'deadline or knows_nothing'",
    ),
    "ledger a forked child has its parent's state": (
        "ledger/per_process.py",
        "        process = os.getpid()\n        found =",
        "        process = 0\n        found =",
        f"{BY_FORKS} -k knows_nothing",
    ),
    "ledger what is being opened is not open": (
        "ledger/per_process.py",
        "        if self._forget is None:\n            _open[one] = None\n        try:\n            one.thing = thing = self._make()",
        "        try:\n            one.thing = thing = self._make()\n            _open[one] = None",
        "tests/unit/ledger/test_per_process.py -k while_it_is_made",
    ),
    "ledger a connection is opened during a fork": (
        "ledger/per_process.py",
        "if state.usable or not _forks or",
        "if True or",
        "tests/unit/ledger/test_per_process.py -k during_a_fork",
    ),
    "ledger a forked child ends its parent's transaction": (
        "ledger/sqlite.py",
        "if os.getpid() != self._process:",
        "if False:",
        f"{BY_FORKS} -k does_not_commit",
    ),
    "ledger a forked child waits for its parent's threads": (
        "ledger/combining.py",
        "mine, line = _Waiting(operation), self._line.here()",
        "mine, line = _Waiting(operation), (self._line.inherited() or [self._line.here()])[0]",
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
        "ledger/place.py",
        "os.close(os.open(path, flags, 0o600))",
        "os.close(os.open(path, flags, 0o644))",
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
SUBJECTS: Mutants = {
    "ledger a budget pays for another unit": (
        "purse.py",
        "if account.protected is not None and account.protected != self.unit:",
        "if False:",
        f"{PURSE} -k another_unit",
    ),
    "ledger a budget pays for other files": (
        "purse.py",
        "if found != account.table:",
        "if False:",
        f"{PURSE} -k other_files",
    ),
    "ledger a budget pays for another table of a database": (
        "purse.py",
        "if self.table_name != account.table_name:",
        "if False:",
        f"{PURSE} -k in_a_database",
    ),
    "ledger a budget of files pays for a data frame": (
        "purse.py",
        "elif account.table is not None and account.table_label is None:",
        "elif False:",
        f"{PURSE} -k other_files",
    ),
    "ledger a label is not compared": (
        "purse.py",
        "account.table_label is not None and self.table_label != account.table_label:",
        "False:",
        f"{PURSE} -k a_label_is_for",
    ),
    "ledger every name is a new window": (
        "ledger/periods.py",
        "    for window in windows if every is not None else ():",
        "    for window in ():",
        f"{PURSE} -k 'another_spelling or one_wrong_name'",
    ),
    "ledger a window has a day too many": (
        "ledger/periods.py",
        "return first, first + timedelta(days=7)",
        "return first, first + timedelta(days=8)",
        "tests/unit/ledger/test_periods.py",
    ),
    "ledger a month of another spelling": (
        "ledger/periods.py",
        "if re.fullmatch(pattern, window):",
        "if re.match(pattern, window):",
        "tests/unit/ledger/test_periods.py",
    ),
    "ledger a larger budget is about anything": (
        "ledger/ledger.py",
        "said = read_subject(known).to_dict()",
        "said = {}",
        f"{PURSE} -k larger_budget",
    ),
    "ledger an older discreet charges what it does not understand": (
        "ledger/rows.py",
        "    # older discreet would not ask.\n    (),\n",
        "",
        f"{PURSE} -k 'older_ledger'",
    ),
}
