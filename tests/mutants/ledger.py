"""Mutants of the ledger: see test_mutants.py. What is wrong: (file, the true text, the mutated
text, tests that must fail).
"""

from __future__ import annotations

Mutants = dict[str, tuple[str, str, str, str]]

CONTRACT = "tests/contracts/test_ledger.py"
CLOSED = "tests/faults/test_failing_closed.py"
FILES = '-m "not postgres"'
BY_FILES = "tests/attacks/test_files.py -m 'not slow'"
BY_FORKS = "tests/attacks/test_forks.py -m 'not slow'"
PURSE = "tests/unit/tables/test_payment.py"
BY_SERVER = "tests/faults/test_failing_server.py -m postgres"

BOOK: Mutants = {
    "ledger a closed budget is charged": (
        "ledger/operations.py",
        "if owner.closed:",
        "if False:",
        f"{CONTRACT} {FILES} -k TestClosing",
    ),
    "ledger an untouched budget admits anything": (
        "accounting/spending.py",
        "alone = spent == NOTHING and loss is not None and (loss <= self.budget)",
        "alone = spent == NOTHING",
        f"{CONTRACT} {FILES} -k huge_loss",
    ),
    "ledger what gave everything has something left": (
        "ledger/budget_terms.py",
        "return None if value is None else math.ceil(value * scale)",
        "return 0 if value is None else math.ceil(value * scale)",
        f"{CONTRACT} {FILES} -k within_the_budget_fits",
    ),
    "ledger the sums of an older ledger are not compared": (
        "ledger/schema.py",
        "if known != {scope: _older_sums(balance) for scope, balance in memory.scopes.items()}:",
        "if False:",
        "tests/contracts/test_ledger_upgrade.py -m 'not postgres' -k damaged_one",
    ),
    "ledger an older charge in parts counts as plain": (
        "ledger/entries.py",
        "if isinstance(loss, ApproxDP) and loss.delta * UNITS > delta:",
        "if False:",
        "tests/contracts/test_ledger_upgrade.py -m 'not postgres' -k less_delta",
    ),
    "ledger the budget is not asked": (
        "ledger/operations.py",
        "after = terms.after(balance.spent, amount, operation.loss)",
        "after = terms.after(balance.spent, amount, operation.loss) or balance.spent",
        f"{CONTRACT} {FILES} -k ten_tenths",
    ),
    "ledger the delta of losses is not asked": (
        "ledger/budget_terms.py",
        "return (plain or squared) and self.delta <= limits.delta",
        "return plain or squared",
        f"{CONTRACT} {FILES} -k deltas_of_losses",
    ),
    "ledger delta is not charged": (
        "ledger/budget_terms.py",
        "return Sums(_sum(self.epsilon, other.epsilon), _sum(self.squares, other.squares), self.delta + other.delta)",
        "return Sums(_sum(self.epsilon, other.epsilon), _sum(self.squares, other.squares), self.delta)",
        f"{CONTRACT} {FILES} -k deltas_of_losses",
    ),
    "ledger what is left is taken for what is spent": (
        "ledger/operations.py",
        "balances[scope] = replace(balance, spent=after)",
        "balances[scope] = replace(balance, spent=amount)",
        f"{CONTRACT} {FILES} -k ten_tenths",
    ),
    "ledger a full budget takes one unit more": (
        "ledger/budget_terms.py",
        "self.epsilon <= limits.epsilon",
        "self.epsilon <= limits.epsilon + 1",
        "tests/unit/ledger/test_budget_terms.py -k whole_numbers_fit",
    ),
    "ledger limits are rounded up": (
        "ledger/budget_terms.py",
        "math.floor(rule.epsilon_limit * UNITS)",
        "math.ceil(rule.epsilon_limit * UNITS)",
        "tests/unit/ledger/test_budget_terms.py -k whole_numbers_fit",
    ),
    "ledger who is done stands behind the next leader": (
        "ledger/group_commit.py",
        "if line.leads.locked():",
        "if False:",
        "tests/unit/ledger/test_threads.py -k stand_behind",
    ),
    "ledger the analyst's budget forgotten": (
        "ledger/operations.py",
        "owners.append(analyst)",
        "pass",
        f"{CONTRACT} {FILES} -k taken_from_the_data_set_and_the_analyst",
    ),
    "ledger the data set's budget forgotten": (
        "ledger/operations.py",
        "owners.append(analyst)",
        "owners = [analyst]",
        f"{CONTRACT} {FILES} -k taken_from_the_data_set_and_the_analyst",
    ),
    "ledger only one window is charged": (
        "ledger/operations.py",
        "for window in operation.windows or ['']]",
        "for window in operation.windows[:1] or ['']]",
        f"{CONTRACT} {FILES} -k each_window_has",
    ),
    "ledger scopes are charged one after the other": (
        "ledger/operations.py",
        "balances[scope] = replace(balance, spent=after)",
        "rows.put_balance(scope, replace(balance, spent=after))",
        f"{CONTRACT} {FILES} -k all_or_nothing",
    ),
    "ledger analysts need no budget": (
        "ledger/operations.py",
        "if rows.balance(Scope(dataset, analyst)) is None:",
        "if False:",
        f"{CONTRACT} {FILES} -k once_there_are_analysts",
    ),
    "ledger a refund is a charge": (
        "ledger/budget_terms.py",
        "return self.epsilon != 0 and self.squares != 0",
        "return True",
        "tests/unit/ledger/test_budget_terms.py -k charge_takes_something",
    ),
    "ledger budgets shrink": (
        "ledger/budget_terms.py",
        "return all((before <= after for before, after in pairs))",
        "return True",
        f"{CONTRACT} {FILES} -k it_never_shrinks",
    ),
    "ledger opening again changes the budget": (
        "ledger/budget_terms.py",
        "return same and all((getattr(rule, name) == getattr(other, name) for name in stated))",
        "return True",
        f"{CONTRACT} {FILES} -k never_change_silently",
    ),
    "ledger charges are rounded down": (
        "ledger/budget_terms.py",
        "return None if value is None else math.ceil(value * scale)",
        "return None if value is None else math.floor(value * scale)",
        f"{CONTRACT} {FILES} -k charges_are_rounded_up",
    ),
    "ledger budgets are rounded up": (
        "ledger/budget_terms.py",
        "agreed = Fraction(math.floor(rule.agreed * scale), scale)",
        "agreed = Fraction(math.ceil(rule.agreed * scale), scale)",
        f"{CONTRACT} {FILES} -k budgets_are_rounded_down",
    ),
    "ledger the unit of a budget may change": (
        "ledger/budget_terms.py",
        "if type(terms.budget) is not type(budget) or not isinstance(budget, Loss):",
        "if False:",
        f"{CONTRACT} {FILES} -k its_unit_never_changes",
    ),
    "ledger a part may occur less than once": (
        "ledger/validation.py",
        "isinstance(part[0], kinds) and type(part[1]) is int and (part[1] >= 1)",
        "isinstance(part[0], kinds)",
        f"{CONTRACT} {FILES} -k whole_number_above_zero",
    ),
    "ledger what remains is the larger of two": (
        "ledger/reading.py",
        "return min(accounts, key=lambda one: (one.closed is None, one.rule.largest(one.sums)))",
        "return max(accounts, key=lambda one: (one.closed is None, one.rule.largest(one.sums)))",
        f"{CONTRACT} {FILES} -k data_set_has_too_little",
    ),
}

KEYS: Mutants = {
    "ledger the key is not looked up": (
        "ledger/operations.py",
        "known = rows.request(place)",
        "known = None",
        f"{CONTRACT} {FILES} -k same_bytes",
    ),
    "ledger another request with the same key gets the answer": (
        "ledger/operations.py",
        "if known.fingerprint != operation.fingerprint:",
        "if False:",
        f"{CONTRACT} {FILES} -k another_request",
    ),
    "ledger a burnt request is computed again": (
        "ledger/operations.py",
        "if known.number != operation.after:",
        "if False:",
        f"{CONTRACT} {FILES} -k without_an_answer_is_lost",
    ),
    "ledger the ticket is not looked up": (
        "ledger/group_commit.py",
        "known = rows.entry_of(operation.ticket)",
        "known = None",
        f"{CLOSED} -k outcome_got_lost",
    ),
    "ledger a charge is settled twice": (
        "ledger/transaction.py",
        "if known is None or known.number != number or known.state != RESERVED:",
        "if known is None or known.number != number:",
        f"{CONTRACT} {FILES} -k do_not_both_settle",
    ),
    "ledger keys are looked for in the whole table": (
        "ledger/transaction.py",
        "where = f'where dataset = ? and analyst = ? and request_key in ({_marks(some)})'",
        "where = f\"where dataset || '' = ? and analyst || '' = ? and request_key || '' in ({_marks(some)})\"",
        "tests/unit/ledger/test_transaction.py -k as_a_whole",
    ),
    "ledger what is looked up is not all of it": (
        "ledger/transaction.py",
        "for start in range(0, len(values), _LOT):",
        "for start in range(0, min(len(values), 1), _LOT):",
        "tests/unit/ledger/test_transaction.py -k at_once",
    ),
    "ledger answers are always kept": (
        "ledger/ledger.py",
        "kept = json.dumps(json.loads(release.to_json())) if replayable else None",
        "kept = json.dumps(json.loads(release.to_json())) if True else None",
        f"{CONTRACT} {FILES} -k nothing_of_an_answer",
    ),
    "ledger a release may cost more than its charge": (
        "ledger/ledger.py",
        "if not release.loss <= self.loss:",
        "if False:",
        f"{CONTRACT} {FILES} -k costs_no_more",
    ),
}

AUDIT: Mutants = {
    "ledger the hash does not cover what came before": (
        "ledger/chain.py",
        "text = b'\\n'.join([_DOMAIN, str(number).encode(), previous.hash.encode(), body.encode()])",
        "text = b'\\n'.join([_DOMAIN, str(number).encode(), body.encode()])",
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
        "if not all_gone and (not terms.rule.fits(sums)):",
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
        "operation.ticket == ticket and decide(memory, operation).number == number",
        "decide(memory, operation).number == number",
        f"{CONTRACT} {FILES} -k ticket_of_another",
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
        "if wanted:",
        "if False:",
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
        "ledger/operations.py",
        "rows.add_request(ANCHORED, outcome.number, fingerprint('anchor'))",
        "pass",
        f"{CONTRACT} {FILES} -k 'AnchorFiles and gone'",
    ),
    "ledger the draft of an anchor follows a link": (
        "ledger/anchors.py",
        "draft = self._beside(f'.{secrets.token_hex(8)}.draft')\ndescriptor = os.open(draft, _NEW, 384)",
        "draft = self._beside('.draft')\ndescriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 384)",
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
        "_compare(rows, memory, name)\n_find_again(rows, memory, head, name)\nrows.check()",
        "_compare(rows, memory, name)",
        f"{BY_FILES} -k one_bit",
    ),
    "ledger pages are not verified": (
        "ledger/audit.py",
        "    rows.check()\n",
        "",
        "tests/unit/ledger/test_audit.py -k pages",
    ),
    "ledger what an index misses is new": (
        "ledger/transaction.py",
        "            self._require_new(scope)\n",
        "            pass\n",
        f"{BY_FILES} -k one_bit",
    ),
    "ledger what an index misses is looked for in the index": (
        "ledger/transaction.py",
        "_SCAN = \"select terms from discreet_budgets where dataset || '' = ? and analyst || '' = ? and slot || '' = ? limit 1\"",
        "_SCAN = 'select terms from discreet_budgets where dataset = ? and analyst = ? and slot = ? limit 1'",
        f"{BY_FILES} -k one_bit",
    ),
}

DURABLE: Mutants = {
    "ledger commits do not wait for the disk": (
        "ledger/sqlite.py",
        "_PRAGMAS = ('synchronous = full', 'fullfsync = 1', 'checkpoint_fullfsync = 1', 'cell_size_check = 1')",
        "_PRAGMAS = ('synchronous = normal', 'fullfsync = 1', 'checkpoint_fullfsync = 1', 'cell_size_check = 1')",
        "tests/faults/test_power.py -m 'not slow' -k no_acknowledged",
    ),
    "ledger a new file that others open is refused": (
        "ledger/sqlite.py",
        "if code != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:",
        "if True:",
        f"{CLOSED} -k a_new_file_that_is_busy",
    ),
    "ledger what is read may be old when it is written": (
        "ledger/sqlite.py",
        "with self._transaction(WRITING) as rows:\n    return carry_out_all(",
        "with self._transaction('begin') as rows:\n    return carry_out_all(",
        f"{CLOSED} -k changed_by_somebody_else",
    ),
    "ledger an interrupt leaves a transaction open": (
        "ledger/sqlite.py",
        "with suppress(Exception):\n    connection.execute('rollback')",
        "pass",
        f"{CLOSED} -k an_interrupt",
    ),
    "ledger a question from inside of a charge ends it": (
        "ledger/sqlite.py",
        "if connection.is_busy:",
        "if False:",
        f"{CLOSED} -k signal_handler_that_asks",
    ),
    "ledger goes on with a file that is gone": (
        "ledger/sqlite.py",
        "if _identity(found) != self.identity():",
        "if False:",
        f"{CLOSED} -k not_at_its_place",
    ),
    "ledger a replaced file is refused once": (
        "ledger/sqlite.py",
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
    "ledger whoever ends the chain has written it": (
        "ledger/sqlite.py",
        "if rows.head() == self._seen:",
        "if rows.head().number <= self._seen.number:",
        f"{BY_FILES} -k written_into_the_same_file",
    ),
    "ledger a file has several names": (
        "ledger/sqlite.py",
        "if found.st_nlink != 1:",
        "if False:",
        f"{BY_FILES} -k second_name",
    ),
    "ledger a file is mounted by itself": (
        "ledger/sqlite_file.py",
        "if _is_mounted(path):",
        "if False:",
        f"{BY_FILES} -k mounted_by_itself",
    ),
    "ledger a log that was removed is written to": (
        "ledger/sqlite.py",
        "if beside is not None and beside != self._logs():",
        "if False:",
        f"{BY_FILES} -k log_that_is_removed",
    ),
    "ledger a log may be removed before the commit": (
        "ledger/sqlite.py",
        "if writes:\n    self._place.require_same(connection.beside)",
        "if writes:",
        f"{BY_FILES} -k removed_before_the_commit",
    ),
    "ledger a log of somebody else is believed": (
        "ledger/sqlite.py",
        "        require_our_logs(self._path, self._name)\n",
        "",
        f"{BY_FILES} -k 'leads_elsewhere or log_of_somebody'",
    ),
    "ledger a file that everybody may write is used": (
        "ledger/sqlite_file.py",
        "if file.st_mode & 2 or not _is_trusted(file):",
        "if not _is_trusted(file):",
        f"{BY_FILES} -k file_that_everybody",
    ),
    "ledger a folder that everybody may write to is used": (
        "ledger/sqlite_file.py",
        "if folder.st_mode & 2 or not _is_trusted(folder):",
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
        "ledger/sqlite_file.py",
        "_DEFINITIONS = \"select sql from sqlite_master where sql is not null and (tbl_name like 'discreet%' or type in ('trigger', 'view'))\"",
        "_DEFINITIONS = \"select sql from sqlite_master where sql is not null and (tbl_name like 'discreet%' and type in ('table', 'index'))\"",
        f"{BY_FILES} -k additions",
    ),
    "ledger posts of which half was written": (
        "ledger/sqlite_mailbox.py",
        "with os.fdopen(descriptor, 'wb') as file:",
        "with os.fdopen(descriptor, 'wb', buffering=0) as file:",
        "tests/unit/ledger/test_sqlite_mailbox.py -k half_way",
    ),
    "ledger a file that another wrote is remembered as it was": (
        "ledger/sqlite.py",
        "return memory if before == self._version else None",
        "return memory",
        "tests/unit/ledger/test_transaction.py -k another_connection",
    ),
    "ledger what writes nothing is presumed new in a file": (
        "ledger/group_commit.py",
        "        if outcome.refused or outcome.number <= began_at:\n            raise DoubtfulError\n",
        "        pass\n",
        f"{CONTRACT} {FILES} -k when_nothing_is_left",
    ),
    "ledger a text is cut off on its way to the server": (
        "ledger/postgresql_pipeline.py",
        "if b'\\x00' in text:",
        "if False:",
        "tests/unit/ledger/test_postgresql_pipeline.py -k cut_off",
    ),
    "ledger processes meet in anybody's folder": (
        "ledger/sqlite_mailbox.py",
        "if not ours or found.st_mode & 63:",
        "if not ours:",
        "tests/unit/ledger/test_processes.py -k others_may_write",
    ),
    "ledger processes meet where others may put another folder": (
        "ledger/sqlite_mailbox.py",
        "loose = found.st_mode & 18 and (not found.st_mode & stat.S_ISVTX)",
        "loose = False",
        "tests/unit/ledger/test_processes.py -k could_put_another",
    ),
    "ledger one charge is acknowledged to a parent and its child": (
        "ledger/group_commit.py",
        "_require_same(process)\nreturn mine.outcome",
        "return mine.outcome",
        f"{BY_FORKS} -k two_processes",
    ),
    "ledger statements of two connections have the same names": (
        "ledger/postgresql_pipeline.py",
        "name = f'discreet_{self._name}_{self._count}'.encode()",
        "name = f'discreet_{self._count}'.encode()",
        "tests/unit/ledger/test_postgresql_pipeline.py -k different_names",
    ),
    "ledger what a later round fails with is ours": (
        "ledger/group_commit.py",
        "with suppress(Exception):\n    rounds = 1",
        "if True:\n    rounds = 1",
        "tests/unit/ledger/test_processes.py -k is_not_ours",
    ),
    "ledger what is remembered has no end": (
        "ledger/transaction.py",
        "if len(self._keys) > _MOST_REMEMBERED:",
        "if False:",
        "tests/unit/ledger/test_transaction.py -k has_an_end",
    ),
    "ledger a withdrawn post is carried out": (
        "ledger/sqlite_mailbox.py",
        "self._put([line for line in self._take() if _name_of(line) != gone])",
        "pass",
        "tests/unit/ledger/test_sqlite_mailbox.py -k withdrawn",
    ),
    "ledger the outcome of an interrupted charge is that of the next": (
        "ledger/group_commit.py",
        "mailbox.withdraw()\noutcomes = self._try(mailbox, operations)",
        "outcomes = self._try(mailbox, operations)",
        "tests/unit/ledger/test_sqlite_mailbox.py -k interrupted",
    ),
    "ledger a refused charge that was posted again is carried out": (
        "ledger/sqlite_mailbox.py",
        "if found is not None and self._is_repeated:",
        "if False:",
        "tests/unit/ledger/test_sqlite_mailbox.py -k posted_again",
    ),
    "ledger a post leads to another file": (
        "ledger/sqlite_mailbox.py",
        "return name if _POST_NAME.fullmatch(name) else ''",
        "return name",
        "tests/unit/ledger/test_sqlite_mailbox.py -k name_of_ours",
    ),
    "ledger a late outcome is taken for the next one": (
        "ledger/sqlite_mailbox.py",
        "if post == self._post and text:",
        "if text:",
        f"{CLOSED} -k comes_too_late",
    ),
    "ledger a forked child shares its parent's connection": (
        "ledger/fork_safety.py",
        "if not state.holders:\n    self._empty(state)",
        "if not state.holders:\n    pass",
        f"{BY_FORKS} -k many_forks",
    ),
    "ledger a forked child uses what was open": (
        "ledger/fork_safety.py",
        "if what is not None and one.what == what and (one.process != process):",
        "if what is not None and False:",
        f"{BY_FORKS} -k 'deadline or knows_nothing'",
    ),
    "ledger a forked child has its parent's state": (
        "ledger/fork_safety.py",
        '"""The value of this process."""\nprocess = os.getpid()',
        '"""The value of this process."""\nprocess = 0',
        f"{BY_FORKS} -k knows_nothing",
    ),
    "ledger what is being opened is not open": (
        "ledger/fork_safety.py",
        "if self._forget is None:\n    _open[one] = None\ntry:\n    one.thing = thing = self._make()",
        "try:\n    one.thing = thing = self._make()\n    _open[one] = None",
        "tests/unit/ledger/test_fork_safety.py -k while_it_is_made",
    ),
    "ledger a connection is opened during a fork": (
        "ledger/fork_safety.py",
        "if state.usable or not _forks or time.monotonic() > patience:",
        "if True or time.monotonic() > patience:",
        "tests/unit/ledger/test_fork_safety.py -k during_a_fork",
    ),
    "ledger a forked child ends its parent's transaction": (
        "ledger/sqlite.py",
        "require_own(self._process)",
        "pass",
        f"{BY_FORKS} -k does_not_commit",
    ),
    "ledger a forked child waits for its parent's threads": (
        "ledger/group_commit.py",
        "process, mine, line = (os.getpid(), _Waiting(operation), self._line.here())",
        "process, mine, line = (os.getpid(), _Waiting(operation), (self._line.inherited() or [self._line.here()])[0])",
        "tests/unit/ledger/test_threads.py -k forked",
    ),
    "ledger a forked child keeps the turn": (
        "ledger/sqlite_mailbox.py",
        "fcntl.flock(descriptor, fcntl.LOCK_UN)",
        "pass",
        "tests/unit/ledger/test_sqlite_mailbox.py -k does_not_keep_the_turn",
    ),
    "ledger those who waited for an interrupted leader are forgotten": (
        "ledger/group_commit.py",
        "batch = [mine]",
        "batch = []",
        "tests/unit/ledger/test_threads.py -k leader_is_interrupted",
    ),
    "ledger the file is for everybody to read": (
        "ledger/sqlite_file.py",
        "os.close(os.open(path, flags, 0o600))",
        "os.close(os.open(path, flags, 0o644))",
        "tests/unit/ledger/test_address.py -k owner_alone",
    ),
    "ledger operations are taken from anybody's folder": (
        "ledger/sqlite_file.py",
        "if found.st_mode & 18 & ~owner.st_mode:",
        "if False:",
        "tests/unit/ledger/test_address.py -k others_may_write",
    ),
    "ledger the password is shown": (
        "ledger/address.py",
        "user = '' if found['user'] is None else f\"{found['user']}@\"",
        "user = '' if found['user'] is None else f\"{found['user']}{found['secret']}@\"",
        "tests/unit/ledger/test_address.py -k without_its_secrets",
    ),
    "ledger the address has no say in how long a dead network is waited for": (
        "ledger/postgresql_connection.py",
        "return {name: value for name, value in wanted.items() if name in free and name not in said}",
        "return {name: value for name, value in wanted.items() if name in free}",
        "tests/unit/ledger/test_address.py -k address_says",
    ),
    "ledger a newer schema is used": (
        "ledger/sqlite_file.py",
        "if version > len(SCHEMA):",
        "if False:",
        f"{CONTRACT} {FILES} -k newer_one",
    ),
}

NAMES: Mutants = {
    "ledger a space at the end is another window": (
        "ledger/validation.py",
        "if value != ' '.join(value.split()):",
        "if False:",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger letters may be written in two ways": (
        "ledger/validation.py",
        "if not unicodedata.is_normalized('NFC', value) or _INVISIBLE.search(value):",
        "if _INVISIBLE.search(value):",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger names may have characters that do not show": (
        "ledger/validation.py",
        "if not unicodedata.is_normalized('NFC', value) or _INVISIBLE.search(value):",
        "if not unicodedata.is_normalized('NFC', value):",
        f"{CONTRACT} {FILES} -k looks_like_another",
    ),
    "ledger parts need not make up the loss": (
        "ledger/validation.py",
        "if not adds_up(loss, parts, cost.delta):",
        "if False:",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "ledger parts in rho make up every loss": (
        "ledger/validation.py",
        "return _at_least(_sum_of_rho(parts), largest_rho(loss.epsilon, loss.delta - own))",
        "return True",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "ledger a delta of the parts is composed with": (
        "ledger/validation.py",
        "if not isinstance(loss, ApproxDP) or loss.delta <= own:\n    return False",
        "if not isinstance(loss, ApproxDP):\n    return False\nif loss.delta <= own:\n    return True",
        f"{CONTRACT} {FILES} -k less_than_the_loss",
    ),
    "names are markup": (
        "cli/terminal.py",
        "Console(highlight=False, markup=False, emoji=False)",
        "Console(highlight=False)",
        "tests/unit/cli/test_terminal.py -k as_it_is",
    ),
    "names are formulas": (
        "plots/figures.py",
        "axes.set_title(title, fontsize=size, loc='left', weight='bold', parse_math=False)",
        "axes.set_title(title, fontsize=size, loc='left', weight='bold')",
        "tests/unit/cli/test_ledger.py -k no_formula",
    ),
}

ATTACKS = "tests/attacks/test_database_roles.py --timeout 60"
ROLES: Mutants = {
    "ledger a refusal is as of two moments": (
        "ledger/postgresql_mailbox.py",
        "begin, self._begin = (self._begin, [])",
        "begin = [COMMIT, SNAPSHOT]",
        f"{BY_SERVER} -k as_of_one_moment",
    ),
    "ledger a neighbour with more rights carries out what a role may not": (
        "ledger/postgresql_connection.py",
        "repr((info.host, info.port, info.dbname, info.user, role, self.schema, started))",
        "repr((info.host, info.port, info.dbname, info.user, self.schema, started))",
        f"{BY_SERVER} -k folder_of_its_own",
    ),
    "ledger a forked child takes the answers of its parent": (
        "ledger/postgresql_pipeline.py",
        "self._ready.poll()\nrequire_own(self._process)",
        "self._ready.poll()",
        f"{BY_SERVER} -k leaves_its_parent",
    ),
    "ledger an entry with the ticket and another text is believed": (
        "ledger/group_commit.py",
        "if text == operation.entry():",
        "if True:",
        f"{ATTACKS} -k another_text",
    ),
    "ledger a note is believed": (
        "ledger/postgresql.py",
        "outcomes = work.look(operations) if rung else None",
        'outcomes = [{"number": 1}] if rung else None',
        f"{ATTACKS} -k 'nobody_is_told and selector'",
    ),
    "ledger what a neighbour tells is believed": (
        "ledger/postgresql.py",
        "return work.decide(operations) if outcomes is None else outcomes",
        "return told if outcomes is None else outcomes",
        "tests/faults/test_failing_server.py -k neighbour_tells",
    ),
    "ledger a refusal is from memory": (
        "ledger/group_commit.py",
        "        if outcome.refused or outcome.number <= began_at:\n            raise DoubtfulError\n",
        "        pass\n",
        f"{CONTRACT} -k 'from_memory and postgresql'",
    ),
    "ledger a refusal beside a charge is from memory": (
        "ledger/group_commit.py",
        "if outcome.refused or outcome.number <= began_at:",
        "if not rows.is_changed:",
        f"{CONTRACT} -k 'beside_a_new_charge and postgresql'",
    ),
    "ledger a charge ahead that missed its standby is looked up": (
        "ledger/postgresql_mailbox.py",
        "except (psycopg.IntegrityError, psycopg.errors.LockNotAvailable):\n    if self._connection.warned:",
        "except (psycopg.IntegrityError, psycopg.errors.LockNotAvailable):\n    if False:",
        "tests/unit/ledger/test_postgresql_mailbox.py -k standby",
    ),
    "ledger a charge that could not be written ahead counts": (
        "ledger/postgresql_mailbox.py",
        "self._changes.clear()\nself._connection.rollback()\nreturn None",
        "self._changes.clear()\nself._connection.rollback()\nreturn outcomes",
        f"{CONTRACT} -k 'TestRemembering and postgresql'",
    ),
    "ledger a post that is gone is believed": (
        "ledger/postgresql_mailbox.py",
        "return None if rows.is_changed else outcomes",
        "return outcomes",
        f"{ATTACKS} -k disappears",
    ),
    "ledger the turn is a lock that every role may take": (
        "ledger/postgresql_mailbox.py",
        '"(select from discreet_turn for update skip locked)"',
        f'"(select where pg_try_advisory_xact_lock({0x64697363726565}))"',
        f"{ATTACKS} -k no_lock_of_a_role",
    ),
    "ledger tables of every role are believed": (
        "ledger/postgresql_schema.py",
        "if ours:",
        "if True:",
        f"{ATTACKS} -k put_there",
    ),
    "ledger tables of a role that made us its member are believed": (
        "ledger/postgresql_schema.py",
        "_TRUSTED = \"({0} = (select oid from pg_catalog.pg_roles where rolname = current_user) or {0} = (select datdba from pg_catalog.pg_database where datname = current_database()) or {0} in (select oid from pg_catalog.pg_roles where rolsuper or rolname = 'pg_database_owner'))\"",
        "_TRUSTED = \"(pg_catalog.pg_has_role({0}, 'member') or {0} = (select oid from pg_catalog.pg_roles where rolname = current_user) or {0} = (select datdba from pg_catalog.pg_database where datname = current_database()) or {0} in (select oid from pg_catalog.pg_roles where rolsuper or rolname = 'pg_database_owner'))\"",
        f"{ATTACKS} -k put_there",
    ),
    "ledger a second one is made beside another": (
        "ledger/postgresql_schema.py",
        "if found:",
        "if False:",
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
        "_SETTINGS: tuple[Statement, ...] = (('set search_path = pg_catalog, pg_temp', ()), ('set synchronous_commit = on', ()), (\"set default_transaction_isolation = 'read committed'\", ()))",
        "_SETTINGS: tuple[Statement, ...] = (('set search_path = public, pg_catalog', ()), ('set synchronous_commit = on', ()), (\"set default_transaction_isolation = 'read committed'\", ()))",
        f"{ATTACKS} -k another_role_made_is_met",
    ),
    "ledger PUBLIC keeps its rights": (
        "ledger/postgresql_schema.py",
        'everybody = ", ".join(["public", *writers, *readers])',
        'everybody = ", ".join([*writers, *readers])',
        f"{ATTACKS} -k takes_from_public",
    ),
    "ledger writers may delete entries": (
        "ledger/postgresql_schema.py",
        "'entries': 'select, insert',",
        "'entries': 'select, insert, delete, update (body)',",
        f"{ATTACKS} -k 'more_than and writer'",
    ),
    "ledger who may not give rights is not told": (
        "ledger/postgresql_schema.py",
        "if connection.warned:",
        "if False:",
        f"{ATTACKS} -k does_not_give_rights",
    ),
    "ledger sums shrink on the server": (
        "ledger/postgresql_schema.py",
        "_SPENT = ('epsilon_spent', 'squares_spent', 'delta_spent')",
        "_SPENT = ('delta_spent',)",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger answers are changed on the server": (
        "ledger/postgresql_schema.py",
        "connection.ask([(statement, ()) for statement in SERVER_THIRD])",
        "connection.ask([(statement, ()) for statement in SERVER_THIRD[:3]])",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger entries are changed on the server": (
        "ledger/postgresql_schema.py",
        "return (SCHEMA[0], SERVER_STEP, *SCHEMA[1:])",
        "return (SCHEMA[0], tuple((each for each in SERVER_STEP if 'trigger only_grows before update or delete' not in each)), *SCHEMA[1:])",
        f"{ATTACKS} -k taken_back",
    ),
    "ledger a full queue of notes stops charges": (
        "ledger/postgresql_mailbox.py",
        "except psycopg.Error:",
        "except KeyError:",
        f"{ATTACKS} -k does_not_take",
    ),
    "ledger after a crash nobody has a turn": (
        "ledger/postgresql_mailbox.py",
        "_SEAT: Statement = ('insert into discreet_turn values (1) on conflict do nothing', ())",
        "_SEAT: Statement = ('select 1', ())",
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
        "if self.warned:",
        "if False:",
        "tests/faults/test_failing_server.py -k cut_short",
    ),
}
"""Those that need a PostgreSQL server."""
SUBJECTS: Mutants = {
    "ledger a budget pays for another unit": (
        "tables/payment.py",
        "if account.protected is not None and account.protected != self.unit:",
        "if False:",
        f"{PURSE} -k another_unit",
    ),
    "ledger a budget pays for other files": (
        "tables/payment.py",
        "if found != account.table:",
        "if False:",
        f"{PURSE} -k other_files",
    ),
    "ledger a budget pays for another table of a database": (
        "tables/payment.py",
        "if self.table_name != account.table_name:",
        "if False:",
        f"{PURSE} -k in_a_database",
    ),
    "ledger a budget of files pays for a data frame": (
        "tables/payment.py",
        "elif account.table is not None and account.table_label is None:",
        "elif False:",
        f"{PURSE} -k other_files",
    ),
    "ledger a label is not compared": (
        "tables/payment.py",
        "elif account.table_label is not None and self.table_label != account.table_label:",
        "elif False:",
        f"{PURSE} -k a_label_is_for",
    ),
    "ledger windows stay in the hands of the caller": (
        "tables/payment.py",
        "self.windows = read_windows(window, account.windows, 'Session')",
        "self.windows = window if isinstance(window, list) else [window]",
        "tests/unit/tables/test_session_windows.py -k changed_later",
    ),
    "ledger every name is a new window": (
        "ledger/subject.py",
        "for window in windows:",
        "for window in ():",
        f"{PURSE} -k 'another_spelling or one_wrong_name'",
    ),
    "ledger a window has a day too many": (
        "ledger/subject.py",
        "return first, first + timedelta(days=7)",
        "return first, first + timedelta(days=8)",
        "tests/unit/ledger/test_windows.py",
    ),
    "ledger a month of another spelling": (
        "ledger/subject.py",
        "if re.fullmatch(pattern, window):",
        "if re.match(pattern, window):",
        "tests/unit/ledger/test_windows.py",
    ),
    "ledger a larger budget is about anything": (
        "ledger/budget_terms.py",
        "return read_said(budget, terms.windows, terms.subject, owner, _same_share(terms, budget), rule.counting)",
        "return read_said(budget, terms.windows, Subject(), owner, _same_share(terms, budget), rule.counting)",
        f"{PURSE} -k larger_budget",
    ),
    "ledger an older discreet charges what it does not understand": (
        "ledger/schema.py",
        "SCHEMA: tuple[tuple[str, ...], ...] = (FIRST, SECOND, THIRD)",
        "SCHEMA: tuple[tuple[str, ...], ...] = (FIRST, THIRD)",
        f"{PURSE} -k 'older_ledger'",
    ),
}
