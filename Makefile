# Every target builds its own virtual environment in .venv; only Python 3.11 with venv and pip is needed.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.PHONY: demo test lint slow mutants engines benchmark proofs package clean

demo: .venv/cli.installed
	$(BIN)/discreet demo

test: lint
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

lint: .venv/test.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Long statistics: more draws, wider grids.
slow: .venv/test.installed
	$(BIN)/pytest -n $(WORKERS) -m "slow or not slow"

# Every wrong edit that some test must notice.
mutants: .venv/test.installed
	$(BIN)/pytest -n $(WORKERS) -m "slow or not slow" tests/mutants

# Sessions on Spark (needs Java) and PostgreSQL (needs its programs), and ledgers on PostgreSQL, in an environment of their own: pyspark takes minutes to install.
engines: .venv-engines/installed
	.venv-engines/bin/python tests/engines/with_servers.py \
		.venv-engines/bin/python -m pytest -m "(spark or postgres) and not slow" \
		tests/engines tests/contracts/test_ledger.py tests/faults tests/attacks tests/mutants --durations=10

.venv-engines/installed: pyproject.toml
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,test,spark,postgres]"
	touch $@

benchmark: .venv/benchmark.installed .venv-engines/installed
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/accounting.py
	$(BIN)/python benchmarks/top_k.py
	$(BIN)/python benchmarks/top_k_utility.py
	$(BIN)/python benchmarks/tables.py --spark .venv-engines/bin/python
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/quantiles.py
	$(BIN)/python benchmarks/reports.py

# The installed package, without development dependencies and without the source tree: it selects, and it says what is missing.
package:
	rm -rf .venv-package && $(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet --disable-pip-version-check .
	cd /tmp && $(CURDIR)/.venv-package/bin/python -I -c "import discreet; print(discreet.select([3, 1], epsilon=1, sensitivity=1).loss)"
	cd /tmp && ! $(CURDIR)/.venv-package/bin/discreet demo
	rm -rf .venv-package

# After a proof has been read again next to its changed code.
proofs: .venv/test.installed
	$(BIN)/python docs/proofs/seal.py

.venv/cli.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli]"
	touch $@

.venv/test.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,test]"
	touch $@

.venv/benchmark.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,test,benchmark]"
	touch $@

clean:
	rm -rf .venv .venv-engines .venv-package .mypy_cache .ruff_cache .pytest_cache .hypothesis
