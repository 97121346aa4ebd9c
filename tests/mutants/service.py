"""Mutants of the service's rules: when replies come, what is charged, who sees what."""

_ANSWERS, _OFFERS = "tests/service/test_answers.py", "tests/service/test_offers.py"
_CANONICAL = "tests/service/test_canonical.py"
_PROMISES, _PARTS = "tests/service/test_promises.py", "tests/service/test_stronger.py"
_CLIENT = "tests/service/test_client.py"

SERVICE = {
    "a budget is opened before its source is looked at": (
        "service/state.py",
        "require_sources(manifest)",
        "pass",
        "tests/service/test_manifest.py -k leaves_no_budget_behind",
    ),
    "analysts see why the budgets of others were raised": (
        "service/store.py",
        "return [Extension(*row) for row in rows if row[0] in datasets]",
        "return [Extension(*row) for row in self._run('SELECT dataset, analyst, reason, made "
        "FROM discreet_extensions')]",
        "tests/service/test_pages.py -k analysts_see_why",
    ),
    "a job of somebody who left is not carried out": (
        "service/thread_pool.py",
        "job.run()",
        "job.ended.cancelled() or job.run()",
        "tests/service/test_thread_pool.py -k nobody_waits",
    ),
    "an answer is kept before its time": (
        "service/pacing.py",
        "self._attempt.wait()",
        "pass",
        f"{_ANSWERS} -k fixed_time_only",
    ),
    "a failure is told before its time": (
        "service/pacing.py",
        "attempt.wait()\nraise",
        "raise",
        f"{_ANSWERS} -k fixed_time_only",
    ),
    "a table that is gone is told before its time": (
        "service/answering.py",
        "attempt.wait()",
        "pass",
        f"{_ANSWERS} -k that_is_gone",
    ),
    "a table that is gone is the asker's mistake": (
        "service/published.py",
        "error.name == 'window'",
        "True",
        f"{_ANSWERS} -k that_is_gone",
    ),
    "one question may cost anything": (
        "service/pacing.py",
        "require_small(loss.loss if isinstance(loss, Cost) else loss, attempt.largest)",
        "pass",
        f"{_ANSWERS} -k too_large",
    ),
    "a share is not charged": (
        "service/pacing.py",
        "{**options, 'key': attempt.key, 'replayable': True}",
        "{**options, 'key': attempt.key, 'replayable': True, 'analyst': None}",
        f"{_ANSWERS} -k share_is_a_limit",
    ),
    "windows are names without rows": (
        "service/published.py",
        "{'window_column': window.column, 'window_every': window.every} if window else {}",
        "{'windows': True} if window else {}",
        f"{_ANSWERS} -k enforced_on_the_rows",
    ),
    "a data set that fails is asked again and again": (
        "service/answering.py",
        "self._store.failures(dataset) >= MOST_FAILURES",
        "False",
        f"{_ANSWERS} -k three_failures",
    ),
    "an answer at hand is anybody's": (
        "service/answering.py",
        "known is not None and known.analyst == analyst",
        "known is not None",
        f"{_ANSWERS} -k do_not_share",
    ),
    "prices tell what colleagues have spent": (
        "service/api.py",
        "service.published.fits(question, analyst, price)",
        "price.fits",
        f"{_OFFERS} -k colleagues",
    ),
    "an answer names the column of persons": (
        "service/pacing.py",
        "replace(release, asked=self._attempt.asked)",
        "release",
        f"{_OFFERS} -k column_of_persons",
    ),
    "a weaker answer is offered": (
        "service/store.py",
        "each[0] >= question.epsilon",
        "True",
        f"{_PARTS} -k no_less_epsilon",
    ),
    "a question of a process that is gone is running for ever": (
        "service/promises.py",
        "found.holder != ledger.holder and ledger.is_alive(found.holder)",
        "True",
        f"{_PROMISES} -k could_not_note",
    ),
    "a charge for another question pays for this one": (
        "service/promises.py",
        "charge is not None and digest_of(charge.request.get('asked', {})) == found.question",
        "charge is not None",
        f"{_PROMISES} -k another_question",
    ),
    "a draw that nobody waits for has a name that nobody knows": (
        "service/promises.py",
        "name if attempt is None else attempt",
        "attempt",
        f"{_PROMISES} -k fresh_draw",
    ),
    "a part that is less accurate is offered": (
        "service/answering.py",
        "is_as_accurate(part.accuracy, wanted)",
        "True",
        f"{_PARTS} -k less_accurate",
    ),
    "a statement about all quantiles is one about some": (
        "service/answer_parts.py",
        "told.statement != 'ranks' or not set(wanted) <= set(shares)",
        "not set(wanted) <= set(shares)",
        f"{_PARTS} -k together",
    ),
    "a list from an unknown domain is cut": (
        "service/answer_parts.py",
        "'candidates' not in whole or k > whole['k']",
        "k > whole['k']",
        f"{_PARTS} -k unknown_domain",
    ),
    "the number of a question is enough": (
        "service/answering.py",
        "number is not None and known is not None and known.question == question.digest",
        "number is not None and known is not None",
        f"{_PARTS} -k put_back",
    ),
    "one and true are one value": (
        "service/canonical.py",
        "sorted({json.dumps(value) for value in where.values})",
        "[json.dumps(value) for value in sorted(set(where.values))]",
        f"{_CANONICAL} -k one_and_true",
    ),
    "the widest of two ranges counts": (
        "service/canonical.py",
        "max if name == 'at_least' else min",
        "min if name == 'at_least' else max",
        f"{_CANONICAL} -k another_spelling",
    ),
    "how a cell is split is no part of the question": (
        "service/canonical.py",
        "form['split'] = dataset.column[column].split",
        "pass",
        f"{_CANONICAL} -k split",
    ),
    "a part has counts that may be worse": (
        "service/answer_parts.py",
        "told is None or asked.get('with_counts')",
        "told is None",
        f"{_PARTS} -k no_part_has_counts",
    ),
    "a question that somebody else answers is lost": (
        "service/promises.py",
        "if ledger.is_running(charge):",
        "if False:",
        f"{_PROMISES} -k somebody_else_answers",
    ),
    "a row is read before the charge": (
        "tables/curator.py",
        """
        with self.budget.charge(cost, question.asked, kept_by, fresh=asking.fresh) as payment:
            kept = payment.answer
            if kept is None:
                self.history.append(question)
                release = self._answered(prepared, bits)
                kept = payment.settle(_telling(release, prepared, question))
        """,
        """
        release = self._answered(prepared, bits)
        with self.budget.charge(cost, question.asked, kept_by, fresh=asking.fresh) as payment:
            kept = payment.answer
            if kept is None:
                self.history.append(question)
                kept = payment.settle(_telling(release, prepared, question))
        """,
        f"{_ANSWERS} -k durable_before_the_first_row",
    ),
    "a fresh draw that is sent again pays again": (
        "client.py",
        "attempt = secrets.token_hex(16) if body.get('fresh') else None",
        "attempt = None",
        f"{_CLIENT} -k sent_twice_pays_once",
    ),
    "what pays again is sent again": (
        "client.py",
        "repeated = _AGAIN if once else (*_AGAIN, 'unreachable')",
        "repeated = (*_AGAIN, 'unreachable')",
        f"{_CLIENT} -k is_sent_once",
    ),
    "columns of JSON lines are no groups": (
        "tables/groups.py",
        "replace(table, listed=table.listed - {by})",
        "table",
        "tests/engines/test_groups.py -k 'asks_every_engine and json'",
    ),
    "a cookie outlives its key": (
        "service/store.py",
        "OR key IN (SELECT id FROM discreet_keys WHERE expires > ?))",
        "OR ? > 0)",
        "tests/service/test_store.py -k ends_with_the_key",
    ),
    "a link is used up by whoever previews it": (
        "service/pages.py",
        """
        if request.method != 'POST':
            return html('link.html')
        """,
        """
        if request.method == 'GET':
            return html('link.html')
        """,
        "tests/service/test_pages.py -k previews_a_link",
    ),
    "a key goes to a proxy in clear": (
        "client.py",
        "[http.ProxyHandler({})]",
        "[]",
        f"{_CLIENT} -k through_no_proxy",
    ),
    "what has a delta seems to fit more often": (
        "service/published.py",
        "account.rule.questions_left(account.sums, cost)",
        "account.rule.questions_left(account.sums, Cost(account.rule.question(cost.loss.epsilon)))",
        f"{_ANSWERS} -k counts_its_delta",
    ),
    "everybody on the computer reads the hashes of keys": (
        "service/store.py",
        "os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))",
        "pass",
        "tests/service/test_store.py -k owner_alone",
    ),
}
