# All targets run in .venv, which is created with $(PYTHON) and updated when the dependencies change.
# `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Number of test processes, by default one per core; `make test WORKERS=0` uses a single process.
WORKERS ?= auto

# Each test process uses one thread, because several thread pools on the same cores are slower.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test soak oldest lint format bench docs linkcheck constraints wheel-check release-check clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

demo: $(VENV)/.ready-nn ## classify a built-in table and a built-in point cloud
	@$(BIN)/lowrankgcn demo

test: lint ## run the static checks and all tests
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

soak: $(VENV)/.ready-dev ## run thousands of damaged files, killed commands and property-based examples
	@$(BIN)/python -m tests.support.fuzz
	@HYPOTHESIS_PROFILE=thorough $(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

oldest: ## run all tests with the oldest supported dependencies (oldest.txt)
	@$(PYTHON) -m venv --clear build/oldest
	@build/oldest/bin/python -m pip install -c oldest.txt -e '.[test]' >build/oldest/pip.log 2>&1 \
	    || { tail -n 30 build/oldest/pip.log; exit 1; }
	@$(ONE_THREAD) build/oldest/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

lint: $(VENV)/.ready-dev ## run ruff, mypy and import-linter
	@$(BIN)/ruff check --output-format concise .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.ready-dev ## format the sources with ruff
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.ready-bench ## measure time, memory and accuracy next to other libraries (BENCH=--quick for small sizes)
	@$(BIN)/python -m benchmarks speed $(BENCH)
	@$(if $(BENCH),,$(BIN)/python -m benchmarks growth)

docs: $(VENV)/.ready-docs ## build the HTML documentation in docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

linkcheck: $(VENV)/.ready-docs ## check the external links of the documentation
	@$(BIN)/sphinx-build -q -W --keep-going -b linkcheck docs docs/_build/linkcheck

constraints: ## update the pinned versions in constraints.txt
	@$(PYTHON) -m venv --clear build/pins
	@build/pins/bin/python -m pip install 'torch==2.13.0' -e '.[dev]' >build/pins/pip.log 2>&1 \
	    || { tail -n 30 build/pins/pip.log; exit 1; }
	@{ sed -n '/^#/p' constraints.txt; build/pins/bin/python -m pip freeze --exclude-editable \
	    | sed 's/+cpu$$//'; } >constraints.tmp
	@mv constraints.tmp constraints.txt
	@rm -rf build/pins

wheel-check: ## build the wheel and use it in new environments, with and without each extra
	@$(PYTHON) -m venv --clear build/release
	@build/release/bin/python -m pip install -r .ci/requirements.txt >build/release/pip.log 2>&1 \
	    || { tail -n 30 build/release/pip.log; exit 1; }
	@build/release/bin/python .ci/wheel_check.py $(WHEEL_CHECK)

release-check: test docs wheel-check ## run all checks that a release needs

clean: ## remove the environment and all build products
	@rm -rf $(VENV) dist build demo-output docs/_build docs/auto_gallery \
	    docs/reference/generated docs/reference/commands \
	    .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or newer is required; select it with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# .ready-nn, .ready-dev, .ready-docs and .ready-bench install the package with the extra of that name;
# all of them include nn. The output of pip goes to a log, which is shown only if pip fails.
$(VENV)/.ready-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV) ($*), log in $(VENV)/pip.log"
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt \
	    -e '.[$*]' >$(VENV)/pip.log 2>&1 \
	    || { tail -n 30 $(VENV)/pip.log; exit 1; }
	@touch $@ $(VENV)/.ready-nn
