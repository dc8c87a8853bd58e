# make install | train | test | test-long | test-kill | lint      (ARGS='model=rnn' make train)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install train test test-long test-kill lint
install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

train: install
	$(BIN)/python scripts/train.py model=bahdanau $(ARGS)

test: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 $(ARGS)

test-long: install
	$(BIN)/pytest -m long $(ARGS)

test-kill: install
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore tests/kill.py $(ARGS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
