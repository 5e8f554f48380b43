# All commands for a clone. `make` alone lists them.

VENV := .venv
PYTHON := $(VENV)/bin/python
LOCKS := --universal --python-version 3.11 --generate-hashes --no-header --quiet

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev chat test check bench bench-peers bench-real train-builtin pictures slow format lock

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "  Arguments go through ARGS: make bench ARGS='--repeats 5 --json'"

setup: ## install into .venv (with uv if it is on the PATH, else with venv and pip)
	@scripts/setup $(VENV) requirements.lock

chat: setup ## chat with a small real model (93 MB, fetched once); from a pipe, answer the prompts on stdin
	@[ -e $(VENV)/.pulled ] || { $(VENV)/bin/mlx-spec pull smollm2-135m </dev/null && touch $(VENV)/.pulled; } || \
	    echo "The built-in pair opens instead. The real one: $(VENV)/bin/mlx-spec pull smollm2-135m" >&2
	@$(VENV)/bin/mlx-spec chat $(ARGS)

# Compile passes, as on a Mac; on Linux this needs g++.
bench bench-peers bench-real: export MLX_SPEC_COMPILE ?= 1

bench: setup ## measure decoding with and without drafting
	@$(VENV)/bin/mlx-spec bench $(ARGS)

bench-peers: ## measure against mlx-lm and transformers on the same pair (installs PyTorch if it can)
	@scripts/setup $(VENV) requirements.lock peers || scripts/setup $(VENV) requirements.lock
	@$(PYTHON) -m benchmarks.peers $(ARGS)

bench-real: setup ## measure a real model (pulled: smollm2-135m) on Spec-Bench prompts, every drafter; hours
	@$(PYTHON) -m benchmarks.real $(ARGS)

setup-dev:
	@scripts/setup $(VENV) requirements-dev.lock

test: setup-dev ## run the tests
	@$(PYTHON) -m pytest -q $(ARGS)

check: setup-dev ## formatting, lint, types, layers, tests
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m pyright
	@$(PYTHON) $(VENV)/bin/lint-imports
	@$(PYTHON) -m pytest -q $(ARGS)

pictures: setup-dev ## accept the current screens in tests/app/tui/pictured (look at the diff)
	@MLX_SPEC_ACCEPT_PICTURES=1 $(PYTHON) -m pytest -q tests/app/tui/test_pictured.py

slow: setup-dev ## the long statistical and soak tests
	@$(PYTHON) -m pytest -q -m slow $(ARGS)

format: setup-dev ## format the code and fix what the linter can
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

train-builtin: ## train the built-in pair again (hours; installs PyTorch)
	@scripts/setup $(VENV) requirements.lock train
	@$(PYTHON) -m train_builtin all $(ARGS)

lock: ## write the locks from pyproject.toml (needs uv; ARGS=--upgrade for newer versions)
	@uv pip compile pyproject.toml --group build $(LOCKS) -o requirements.lock $(ARGS)
	@uv pip compile pyproject.toml --group dev -c requirements.lock $(LOCKS) -o requirements-dev.lock $(ARGS)
