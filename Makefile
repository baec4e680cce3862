# Everything runs in .venv, made from $(PYTHON) on first use and refreshed when the dependencies change.
# make help lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Test processes: one per core; make test WORKERS=0 runs the tests in one.
WORKERS ?= auto

# Each test process computes with one thread: thread pools that fight for the cores are slower.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test oldest lint format bench docs constraints clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18

demo: $(VENV)/.ready-core ## a tour on an embedded table and an embedded point cloud
	@$(BIN)/lowrankgcn demo

test: lint ## lint, types, import order and all tests
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

oldest: ## all tests with the oldest supported dependencies (oldest.txt), in an environment of its own
	@$(PYTHON) -m venv --clear build/oldest
	@build/oldest/bin/python -m pip install -c oldest.txt -e '.[dev]' >build/oldest/pip.log 2>&1 \
	    || { tail -n 30 build/oldest/pip.log; exit 1; }
	@$(ONE_THREAD) build/oldest/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

lint: $(VENV)/.ready-dev ## ruff, mypy and the import order
	@$(BIN)/ruff check --output-format concise .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.ready-dev ## let ruff rewrite the sources
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.ready-bench ## time, memory and accuracy beside the peers (BENCH=--quick for the small sizes)
	@$(BIN)/python -m benchmarks $(BENCH)

docs: $(VENV)/.ready-docs ## HTML documentation in docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

constraints: ## pin what a fresh environment resolves to today
	@$(PYTHON) -m venv --clear build/pins
	@build/pins/bin/python -m pip install 'torch==2.13.0' -e '.[dev]' >build/pins/pip.log 2>&1 \
	    || { tail -n 30 build/pins/pip.log; exit 1; }
	@{ sed -n '/^#/p' constraints.txt; build/pins/bin/python -m pip freeze --exclude-editable \
	    | sed 's/+cpu$$//'; } >constraints.tmp
	@mv constraints.tmp constraints.txt
	@rm -rf build/pins

clean: ## remove the environment and everything built
	@rm -rf $(VENV) dist build docs/_build demo-output \
	    .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or newer is needed; choose one with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# .ready-core has the package alone, .ready-dev, .ready-docs, .ready-bench add that extra.
# pip is talkative even when all is well: it writes to a log that is shown only when it fails.
$(VENV)/.ready-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV) ($*), log in $(VENV)/pip.log"
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt \
	    -e '.$(if $(filter core,$*),,[$*])' >$(VENV)/pip.log 2>&1 \
	    || { tail -n 30 $(VENV)/pip.log; exit 1; }
	@touch $@ $(VENV)/.ready-core
