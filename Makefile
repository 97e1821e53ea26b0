# Two commands for a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check docs benchmarks clean help

help:
	@echo "make demo   train, fit and report on real digits, in about two minutes -> demo/report.html"
	@echo "make test   lint, types, import rules, tests, examples, docs"
	@echo "make docs   build the documentation into site/"
	@echo "make clean  remove the environment and everything built"

$(READY): pyproject.toml constraints.txt
	@echo "==> setting up $(VENV) (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

demo: $(READY)
	@$(BIN)/scalinglab demo

check: $(READY)
	@echo "==> lint";         $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "==> types";        $(BIN)/mypy
	@echo "==> import rules"; $(BIN)/lint-imports --no-cache

test: check
	@echo "==> tests";        OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term
	@echo "==> docs";         $(MAKE) --no-print-directory docs

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "documentation: site/index.html"

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .coverage*
