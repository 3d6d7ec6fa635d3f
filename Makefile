.DEFAULT_GOAL := help
.PHONY: help venv demo test lint format bench bench-rolling lock wheel clean

python := .venv/bin/python
# What is passed on to the command of demo, test, both benches and lock, as in: make test ARGS="-k daba"
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'PYTHON=... chooses the interpreter (3.11 or 3.12), ARGS=... is passed on.'

venv: ## make .venv with everything in it, if it is not up to date
	@scripts/bootstrap

demo: venv ## see Sash at work
	@$(python) -m sash.demo $(ARGS)

# One group of tests goes to one process, so that each engine's JVM is started once.
test: venv ## run all tests, those on real local engines included
	@scripts/java
	@$(python) -m pytest --numprocesses=auto --dist=loadgroup $(ARGS)

lint: venv ## check style and types
	@$(python) -m ruff check
	@$(python) -m ruff format --check
	@$(python) -m mypy

format: venv ## mend style where that can be done by a program
	@$(python) -m ruff check --fix
	@$(python) -m ruff format

bench: venv ## compare the merging algorithms
	@$(python) experiments/bench_aggregators.py $(ARGS)

bench-rolling: venv ## compare sash.rolling with NumPy, Bottleneck, pandas, Polars and SciPy
	@$(python) experiments/bench_rolling.py $(ARGS)

# In an environment of its own: .venv cannot be made while pyproject.toml and constraints.txt contradict each other.
# setuptools builds those dependencies that come as source only.
lock: ## write constraints.txt anew from pyproject.toml (ARGS=--upgrade for newer versions)
	@"$$(scripts/find-python)" -m venv build/lock
	@build/lock/bin/python -m pip install --quiet uv
	@echo setuptools | build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--custom-compile-command 'make lock' --output-file constraints.txt $(ARGS) pyproject.toml - >/dev/null

wheel: venv ## build the wheel into dist/
	@$(python) -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove the environment and everything that was generated
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
