# Everything a newcomer needs: make demo, make test. Each sets up a virtual environment in .venv first.
PYTHON ?= python3
EXTRAS ?= all
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(wildcard src/autonmf/kernels/*.c src/autonmf/kernels/*.h)

.PHONY: help demo test docs install lint format clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(VENV)/.demo ## Find the rank of two matrices and show why
	@$(BIN)/autonmf demo

test: $(VENV)/.$(EXTRAS) ## Run the tests, with every library that they work with (EXTRAS=all)
	$(BIN)/python -m pytest -n auto --timeout 900 $(ARGS)

docs: $(VENV)/.docs ## Build the site in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -n -q docs docs/_build/html

install: $(VENV)/.all ## Everything that a developer needs

lint: $(VENV)/.all ## Style, types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

format: $(VENV)/.all ## Apply the style
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean: ## Remove the environment and what was built
	rm -rf $(VENV) build docs/_build docs/examples docs/reference *.egg-info src/*.egg-info src/autonmf/kernels/_native*.so

$(VENV)/.demo: $(VENV)/.created $(SOURCES)
	@echo "Installing autonmf into $(VENV) ..."
	@$(BIN)/pip install --quiet --editable '.[plot,report,io]'
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
