# Two commands for a fresh machine: `make demo` and `make test`. Both set up .venv first.
# Continuous integration runs `make ci`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# one mark for each set of extras: `make demo` first does not hide those that CI adds
READY   = $(VENV)/.ready-$(EXTRAS)

# extras of the package that are installed; continuous integration adds `logs`
EXTRAS ?= dev
# hundreds of processes are started: what one compiles the next ones load
unexport PYTHONDONTWRITEBYTECODE
# property tests in `make properties` draw so many times the examples of `make test`
FACTOR ?= 20
# `make mutants PACKAGE=laws N=60 SEED=0`
PACKAGE ?=
# the tests of `make quick` and `make test`; `make ci` also takes the slow ones
WHICH   ?= not slow and not nightly
N       ?= 60
SEED    ?= 0
RECORDS := $(patsubst src/scalinglab_papers/smoke/%.json,records-%,$(wildcard src/scalinglab_papers/smoke/*.json))
# processes of the tests; in `make ci` one more than cores, since slow tests wait a third of their time
WORKERS ?= 2
PYTEST   = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10 --durations-min=2
# plain assertions: to rewrite those of all files takes each worker 15 s on a fresh checkout. What fails runs
# again with them rewritten, which prints the values of both sides
TESTS    = $(PYTEST) -m "$(1)" --assert=plain $(2) || { $(PYTEST) -m "$(1)" --last-failed --lfnf none $(2); false; }

.PHONY: demo test ci full quick slow nightly slurm records release dist check lint types few-records docs properties mutants coverage benchmarks screenshots clean help

help:
	@echo "make demo   train, fit and report on real digits, in about two minutes -> demo/report.html"
	@echo "make test   lint, types, import rules, quick tests: about three minutes on two cores"
	@echo "make ci     the same with slow tests, docs, a wheel, and a part of the records: continuous integration"
	@echo "make full   the same with the longest tests and all records: about 25 minutes on two cores"
	@echo "make quick  the quick tests alone; make slow, make nightly: the others"
	@echo "make slurm  the tests of the engine slurm on a real Slurm of one node (root; slurm-wlm, munge)"
	@echo "make records  reproduce the papers at scale smoke and compare with their records"
	@echo "make release  what a release needs beside make full: dependencies locked by hash, their licences, a"
	@echo "              wheel that answers where nothing else is installed; make dist: the last with what is here"
	@echo "make docs   build the documentation into site/"
	@echo "make properties  property tests with new and more examples"
	@echo "make mutants     small random changes to the code that no test notices (PACKAGE=laws N=60 SEED=0)"
	@echo "make coverage    lines that no test executes"
	@echo "make screenshots  the pictures of the README and of the page \"From your logs to a decision\""
	@echo "make clean  remove the environment and everything built"

$(READY): pyproject.toml constraints.txt
	@echo "==> setting up $(VENV) (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
	@# Python compiles what is imported, which is a small part of 25,000 files
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $(READY)

demo: $(READY)
	@$(BIN)/scalinglab demo

check: lint types

release: $(READY)
	@$(BIN)/python tools/supply_chain.py check
	@$(BIN)/python tools/release.py whole

dist: $(READY)
	@echo "==> wheel and sdist"
	@$(BESIDE) $(BIN)/python tools/release.py

lint: $(READY)
	@echo "==> lint";         $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "==> import rules"; $(BIN)/lint-imports --no-cache

types: $(READY)
	@echo "==> types";        $(BESIDE) $(BIN)/mypy

# tests, lint and types side by side, the last two on one core; within make ci beside the rest
test: $(READY)
	@$(MAKE) --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j2) quick check

# of each paper the records that take least, as many as are done in 5 s.
# Quick and slow tests in one go: each worker loads the packages and collects the tests once. The rest runs
# beside them and gives way
ci: $(READY)
	@echo "==> checks, quick and slow tests, records of the papers at scale smoke, docs, wheel and sdist"
	@$(MAKE) --no-print-directory -j3 BESIDE="nice -n 5" WHICH="not nightly" WORKERS=3 test docs few-records dist

# slow tests alone: those of clusters and killed processes have limits of time
full: test slow nightly
	@echo "==> records of the papers at scale smoke, docs, wheel and sdist"
	@$(MAKE) --no-print-directory -j2 $(RECORDS) docs dist

quick: $(READY)
	@echo "==> tests that are $(WHICH)";  $(call TESTS,$(WHICH))

slow: $(READY)
	@echo "==> slow tests";   $(call TESTS,slow and not nightly,tests)

nightly: $(READY)
	@echo "==> nightly tests"; $(call TESTS,nightly,tests)

slurm: $(READY)
	@echo "==> a real Slurm of one node"
	@SLURM_HERE=1 $(BIN)/python -m pytest tests/sweep -m slow -k slurm --durations=5

records: $(READY)
	@echo "==> records of the papers at scale smoke"
	@$(MAKE) --no-print-directory -j2 $(RECORDS)

records-%: $(READY)
	@OMP_NUM_THREADS=1 $(BIN)/scalinglab reproduce check --paper $*

# in one process, which loads the packages once
few-records: $(READY)
	@OMP_NUM_THREADS=1 $(BESIDE) $(BIN)/scalinglab reproduce check --minutes 0.08

properties: $(READY)
	@PROPERTY_FACTOR=$(FACTOR) $(PYTEST) -m hypothesis

mutants: $(READY)
	@$(BIN)/python tools/mutants.py $(PACKAGE) --number $(N) --seed $(SEED)

coverage: $(READY)
	@$(PYTEST) --cov --cov-report=term

docs: $(READY)
	@$(BESIDE) $(BIN)/mkdocs build --strict && echo "documentation: site/index.html"

screenshots: $(READY)
	@$(BIN)/python tools/screenshots.py

clean:
	rm -rf $(VENV) site .mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
