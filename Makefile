# Everything a newcomer needs: make demo, make test. Each sets up a virtual environment in .venv first.
PYTHON ?= python3
EXTRAS ?= all
MARKED ?= not slow
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(wildcard src/autonmf/kernels/*.c src/autonmf/kernels/*.h)

.PHONY: help demo test test-all test-core test-numpy test-oldest coverage reproduce bench docs install lint format clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 13

demo: $(VENV)/.demo ## Find the rank of two matrices and show why
	@$(BIN)/autonmf demo

test: $(VENV)/.$(EXTRAS) ## Run the tests but for the slow ones (ARGS="tests/theory -k prox" for a part)
	$(BIN)/python -m pytest -n auto --timeout 900 -m '$(MARKED)' $(ARGS)

test-all: ## Run all tests
	@$(MAKE) test MARKED=

test-core: ## Run the tests with the required libraries only
	@$(MAKE) test VENV=.venv-core EXTRAS=test

test-numpy: ## Run the tests on the NumPy kernels
	@AUTONMF_KERNELS=numpy $(MAKE) test

test-oldest: ## Run the tests with the oldest versions that are supported (Python 3.11)
	@PIP_CONSTRAINT=tools/oldest.txt $(MAKE) test VENV=.venv-oldest EXTRAS=test,cli,io,plot,data,report

coverage: $(VENV)/.$(EXTRAS) ## Run all tests and show which lines of the package did not run
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --timeout 900 $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --show-missing --skip-covered

reproduce: $(VENV)/.$(EXTRAS) ## Run the paper's experiments again (ARGS="synthetic --full"; ARGS=--help for all)
	$(BIN)/python -m experiments.paper $(ARGS)

bench: $(VENV)/.$(EXTRAS) ## Run a benchmark (ARGS="order --quick", ARGS=speed; without ARGS: list them)
	$(BIN)/python -m experiments $(ARGS)

docs: $(VENV)/.docs ## Build the site in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -n -q docs docs/_build/html

install: $(VENV)/.all ## Everything that a developer needs

lint: $(VENV)/.all ## Style, types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/.all ## Apply the style
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean: ## Remove the environment and what was built
	rm -rf $(VENV) .venv-core .venv-oldest build docs/_build docs/examples docs/reference *.egg-info src/*.egg-info src/autonmf/kernels/_native*.so

$(VENV)/.demo: $(VENV)/.created $(SOURCES)
	@echo "Installing autonmf into $(VENV) ..."
	@$(BIN)/pip install --quiet --editable '.[cli,plot,report,io]'
	@touch $@

$(VENV)/.%: $(VENV)/.created $(SOURCES)
	@echo "Installing autonmf[$*] into $(VENV) ..."
	@$(BIN)/pip install --quiet --editable '.[$*]'
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "autonmf needs Python 3.11 or newer as '$(PYTHON)' (try: make PYTHON=python3.12)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
		|| { echo "Python's venv module is missing: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@touch $@
