# Every target builds its own virtual environment in .venv; only Python 3.11 with venv and pip is needed.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

# Python compiles what is imported, when it is imported; most of what is installed never is.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

# Tests start Python hundreds of times: what was compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

# Tests go to the process that has nothing left to do, so that no long one stands alone at the end.
SPREAD := -n $(WORKERS) --dist worksteal
SUITE := -m "not slow" --ignore=tests/mutants
# Folders of tests/unit that take longest are left to `make test`.
QUICK := tests/unit $(addprefix --ignore=tests/unit/,accounting auditing cli local plots samplers tables) \
	tests/contracts/test_mechanisms.py tests/contracts/test_every_tape.py tests/contracts/test_table_questions.py \
	tests/docs/test_proofs.py

.PHONY: demo test quick lint slow sizes pairs audits kills stated mutants mutmut lowest newest engines on-spark on-postgres benchmark browser schema screens docs reference proof package clean

demo: .venv/cli.installed
	$(BIN)/discreet demo

test: lint
	$(BIN)/pytest $(SPREAD) -m "not slow and not browser and not schema"

# While one works, two minutes: what each module says, and one contract for mechanisms, tapes and tables.
quick: lint
	$(BIN)/pytest $(SPREAD) -m "not slow and not spark and not postgres" $(QUICK)

lint: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Long statistics: more draws, wider grids.
slow: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "(slow or not slow) and not browser and not schema"

# One tier of what `make test` leaves out; tests/README.md says what each of them proves.
sizes pairs audits kills: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "$@"

# Wrong edits that a test must notice: those of a stated sensitivity, range, loss or charge, and all.
stated mutants: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "$@" tests/mutants

# Every small edit of one file that mutmut knows, against some tests; what survives is listed: make mutmut FILE=privacy/loss.py TESTS=tests/unit/privacy
mutmut: .venv-mutmut/installed
	rm -rf build/mutmut && mkdir -p build/mutmut
	cp -r src tests docs README.md pyproject.toml build/mutmut
	printf '\n[tool.mutmut]\nonly_mutate = ["src/discreet/$(FILE)"]\nalso_copy = ["docs", "README.md"]\npytest_add_cli_args_test_selection = ["-m", "not slow", "$(TESTS)"]\n' >> build/mutmut/pyproject.toml
	cd build/mutmut && $(CURDIR)/.venv-mutmut/bin/mutmut run --max-children $(WORKERS)
	cd build/mutmut && $(CURDIR)/.venv-mutmut/bin/mutmut results

.venv-mutmut/installed: pyproject.toml
	$(PYTHON) -m venv .venv-mutmut
	.venv-mutmut/bin/python $(INSTALL) --editable ".[cli,test]" "mutmut>=3.8"
	touch $@

# With exactly the lowest versions that pyproject.toml allows: a bound that does not hold fails here.
lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest $(SPREAD) $(SUITE)

# With the newest of everything, each Python in an environment of its own: make newest PYTHON=python3.13
NEWEST = .venv-newest-$(shell $(PYTHON) -c "import sys; print('%d.%d' % sys.version_info[:2])")
newest:
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python $(INSTALL) --upgrade --upgrade-strategy eager --editable ".[cli,test]"
	$(NEWEST)/bin/python -m pytest $(SPREAD) $(SUITE)

.venv-lowest/installed: pyproject.toml tests/versions/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python $(INSTALL) --constraint tests/versions/lowest.txt --editable ".[cli,test]"
	touch $@

# Sessions on Spark (needs Java) and PostgreSQL (needs its programs), and ledgers on PostgreSQL, in an environment of their own: pyspark takes minutes to install.
engines: .venv-engines/installed
	.venv-engines/bin/python tests/engines/with_servers.py $(MAKE) --jobs=2 --output-sync on-spark on-postgres

# One process for each: a second Spark takes longer to start than it saves.
on-spark on-postgres: on-%: .venv-engines/installed
	.venv-engines/bin/python -m pytest -m "$* and (mutants or not slow)" \
		tests/engines tests/contracts/test_ledger.py tests/contracts/test_ledger_upgrade.py \
		tests/faults tests/attacks tests/mutants tests/service/test_store.py --durations=10

.venv-engines/installed: pyproject.toml
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python $(INSTALL) --editable ".[cli,test,spark,postgres]"
	touch $@

# The page in Debian's chromium, which is installed if it is missing.
browser: .venv/browser.installed .venv/axe/package/axe.min.js
	test -x /usr/bin/chromium || (apt-get update --quiet && apt-get install --yes --quiet chromium)
	$(BIN)/pytest -m browser tests/browser

# Rules for accessible pages, which the tests hand to the browser: nothing is fetched then.
.venv/axe/package/axe.min.js:
	mkdir -p .venv/axe
	cd .venv/axe && npm pack --silent axe-core@4.14.0 && tar -xzf axe-core-4.14.0.tgz
	touch $@

# Schemathesis against the description of the API, with an environment of its own.
schema: .venv-schema/installed
	.venv-schema/bin/pytest -m schema tests/schema

.venv-schema/installed: pyproject.toml
	$(PYTHON) -m venv .venv-schema
	.venv-schema/bin/python $(INSTALL) --editable ".[cli,test,schema]"
	touch $@

# The pictures of the page in docs/how-to/service, drawn anew.
screens: .venv/browser.installed
	test -x /usr/bin/chromium || (apt-get update --quiet && apt-get install --yes --quiet chromium)
	PYTHONPATH=tests $(BIN)/python tests/browser/screens.py

.venv/browser.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable ".[cli,test,browser]"
	touch $@

# Beside the peers, whose bounds on others must not reach the tests: an environment for most of them, and one for each that goes with no other. The machine should have nothing else to do.
BENCHMARK := .venv-benchmark/bin/python
PEERS := opendp tumult pipelinedp
peer = --$(1) .venv-peer-$(1)/bin/python
benchmark: .venv-benchmark/installed .venv-engines/installed $(PEERS:%=.venv-peer-%/installed)
	$(BENCHMARK) benchmarks/selection.py
	$(BENCHMARK) benchmarks/accounting.py
	$(BENCHMARK) benchmarks/questions.py
	$(BENCHMARK) benchmarks/small_questions.py
	$(BENCHMARK) benchmarks/top_k.py
	$(BENCHMARK) benchmarks/top_k_utility.py
	$(BENCHMARK) benchmarks/counted_lists.py $(foreach each,$(PEERS),$(call peer,$(each)))
	$(BENCHMARK) benchmarks/tables.py --spark .venv-engines/bin/python $(call peer,opendp) $(call peer,tumult)
	$(BENCHMARK) tests/engines/with_servers.py $(BENCHMARK) benchmarks/ledger.py
	$(BENCHMARK) benchmarks/quantiles.py $(call peer,tumult)
	$(BENCHMARK) benchmarks/reports.py
	$(BENCHMARK) benchmarks/models.py
	$(BENCHMARK) benchmarks/linear_models.py
	$(BENCHMARK) benchmarks/service.py
	$(BENCHMARK) benchmarks/audit.py
	$(BENCHMARK) benchmarks/scale.py --rows 1e6 1e7 1e8 --write benchmarks/results

.venv-benchmark/installed: pyproject.toml
	$(PYTHON) -m venv .venv-benchmark
	$(BENCHMARK) $(INSTALL) --editable ".[cli,test,benchmark]"
	touch $@

.venv-peer-%/installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv .venv-peer-$*
	.venv-peer-$*/bin/python $(INSTALL) --requirement $<
	touch $@

# The site, searchable, in build/site; a broken link or a page that loads from another host fails.
# To look at it: python3 -m http.server --directory build/site
# Not with --quiet: MkDocs counts the warnings that it prints, and then strict fails on none.
docs: .venv-docs/installed
	.venv-docs/bin/mkdocs build --strict

.venv-docs/installed: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python $(INSTALL) --editable ".[docs]"
	touch $@

# The pages that quote the code, written anew: public names, command line, walks.
reference: .venv/test.installed
	$(BIN)/python docs/reference/public_names.py
	$(BIN)/python tests/docs/test_command_line_page.py
	$(BIN)/python tests/walks.py

# The installed package, without development dependencies and without the source tree: it selects, and it says what is missing.
package:
	rm -rf .venv-package && $(PYTHON) -m venv .venv-package
	.venv-package/bin/python $(INSTALL) .
	cd /tmp && $(CURDIR)/.venv-package/bin/python -I -c "import discreet; print(discreet.select([3, 1], epsilon=1, sensitivity=1).loss)"
	cd /tmp && ! $(CURDIR)/.venv-package/bin/discreet demo
	rm -rf .venv-package

# One page, after it has been read next to its changed code: make proof PAGE=docs/proofs/tables.md
proof: .venv/test.installed
	$(BIN)/python docs/proofs/seal.py $(PAGE)

.venv/cli.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable ".[cli]"
	touch $@

.venv/test.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable ".[cli,test]"
	touch $@

clean:
	rm -rf .venv .venv-benchmark .venv-mutmut .venv-peer-* .venv-docs .venv-engines .venv-schema .venv-package .venv-lowest .venv-newest-* build .mypy_cache .ruff_cache .pytest_cache .hypothesis
