# Two commands for a fresh machine: `make demo` and `make test`. Both make .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint clean

demo: $(VENV)/.core
	$(BIN)/vgpa demo -o demo

test: $(VENV)/.dev lint
	$(BIN)/pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt torch
	$(BIN)/pip install -q -c constraints.txt -e .
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
