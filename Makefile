# Every target works on a fresh clone with nothing but Python 3.11 or later.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Files are spread over the processors; a file's tests stay together.
PYTEST_ARGS ?= -n auto --dist loadfile
PIP    := $(BIN)/python -m pip --disable-pip-version-check

# The install compiles these where there is a compiler.
SCANNER := $(wildcard scanner/*.c scanner/*.h)

.PHONY: demo test check lint types imports docs site fuzz clean

## demo: set up, profile attention on whatever device is here, then replay the H200 recordings
demo: $(VENV)/.torch
	$(BIN)/foretrace attention
	$(BIN)/foretrace attention --replay h200

## test: set up and pass the tests
test: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

## check: what CI runs: format, lint, types, layers, tests, docs
check: lint types imports docs test

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports

docs: $(VENV)/.test
	$(BIN)/python tools/docs.py --check
	$(BIN)/python tools/site.py

## site: the documentation as a site, in build/site
site: $(VENV)/.test
	$(BIN)/python tools/site.py build/site

## fuzz: damaged recordings through both readers, then all that is in C under sanitizers (FUZZ_COUNT traces, FUZZ_SECONDS)
FUZZ_COUNT   ?= 20000
FUZZ_SECONDS ?= 1800
fuzz: $(VENV)/.test
	$(BIN)/python fuzz/compare_readers.py --count $(FUZZ_COUNT)
	$(BIN)/python fuzz/scanner.py --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# An editable install compiles no bytecode by itself, as an ordinary one does; start-up times are measured with it.
$(VENV)/.torch: $(VENV)/.made pyproject.toml setup.py constraints.txt $(SCANNER)
	$(PIP) install -q -c constraints.txt -e '.[torch]'
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml setup.py constraints.txt $(SCANNER)
	$(PIP) install -q -c constraints.txt -e '.[torch,test,check,docs]'
	$(BIN)/python -m compileall -q src
	touch $@
