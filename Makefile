# Every target builds its own virtual environment in .venv; only Python 3.11 with venv and pip is needed.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.PHONY: demo test lint slow benchmark proofs clean

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

benchmark: .venv/benchmark.installed
	$(BIN)/python benchmarks/selection.py

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
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
