.DEFAULT_GOAL := help
.PHONY: docs report figures help venv demo test test-all test-cluster lint format bench bench-rolling bench-local bench-slicing bench-mta lock wheel clean bench-spark bench-flink test-spark-latest cluster-image cluster-up cluster-down cluster-submit scalability

python := .venv/bin/python
# What is passed on to the command of demo, test, the benches and lock, as in: make test ARGS="-k daba"
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'PYTHON=... chooses the interpreter (3.11 or 3.12), ARGS=... is passed on.'

venv: ## make .venv with everything in it, if it is not up to date
	@scripts/bootstrap

demo: venv ## see Sash at work: here, on an embedded Spark and on an embedded Flink
	@scripts/java
	@scripts/flink-jar
	@$(python) -m sash_experiments.demo --engines spark flink $(ARGS)

# One group of tests goes to one process, so that each engine's JVM is started once. One process more than there are
# cores, because those that wait for an engine leave theirs idle. conftest.py sorts the groups, the longest first.
pytest_parallel := -m pytest --numprocesses=$$($(python) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist=loadgroup --no-loadscope-reorder

.PHONY: test-tools
test-tools: venv
	@scripts/java
	@scripts/redis
	@scripts/flink-jar
	@scripts/chromium

test: test-tools ## run all tests, those on real local engines included
	@echo 'The tests of the core, of embedded Spark and Flink, and of the documentation, with a sample of the random examples.'
	@echo 'That takes 10 to 20 minutes on 2 cores, and longest the first time, when kernels are compiled.'
	@echo 'make test-quick: the core only. make test-all: all examples. A percentage below shows how far it is.'
	@$(python) $(pytest_parallel) $(ARGS)

test-all: test-tools ## run all tests with all random examples and all variants
	@echo 'All tests with all random examples and variants: that takes up to an hour on 2 cores.'
	@SASH_TESTS=thorough $(python) $(pytest_parallel) $(ARGS)

.PHONY: test-quick chaos
test-quick: venv ## run the tests of the core only: without those that start containers, engines or a browser
	@scripts/redis
	@$(python) -m pytest --numprocesses=auto --dist=loadgroup --no-loadscope-reorder -m "not cluster and not engine" --ignore=experiments/tests/test_report.py $(ARGS)

test-cluster: venv ## run the tests on clusters of containers; needs a Docker engine, or integration_tests/docker-engine make test-cluster
	@scripts/java
	@scripts/redis
	@scripts/flink-jar
	@SASH_NEEDS_DOCKER=1 $(python) -m pytest -n0 integration_tests/cluster $(ARGS)

chaos: venv ## break parts of clusters in random order, 64 faults or more, and count rows; as test-cluster (ARGS="--seed 7")
	@scripts/java
	@scripts/redis
	@scripts/flink-jar
	@$(python) -m integration_tests.cluster.chaos $(ARGS)

.PHONY: fuzz
fuzz: venv ## mutate saved states, query files, data files and tables for ten minutes (ARGS="--minutes 1 --target states")
	@$(python) -m integration_tests.fuzz $(ARGS)

.PHONY: soak
soak: venv ## run a day of 10^8 rows of 10^6 keys that come and go: memory and state (ARGS="--rows 1000000 --keys 10000")
	@$(python) -m integration_tests.soak $(ARGS)

.PHONY: soak-simulator
soak-simulator: venv ## run the adapters on simulated engines that crash, 1,000 seeds (ARGS="--seeds 100000 --jobs 2")
	@$(python) -m integration_tests.simulator $(ARGS)

# Clusters in containers (docs/clusters.md). ENGINE may name several: make cluster-up ENGINE="flink kafka" WORKERS=3
ENGINE ?= flink
WORKERS ?= 2
cluster-image: ## build the image of the clusters, without a registry by debootstrap (BASE=... chooses what from)
	@BASE="$(BASE)" scripts/cluster-image

cluster-up: ## bring clusters up: ENGINE=flink, spark, kafka, redis or several, with WORKERS=2
	@scripts/cluster-up $(WORKERS) $(ENGINE)

cluster-down: ## end all clusters (ARGS=--volumes: and forget their checkpoints, logs and topics)
	@scripts/cluster-down $(ARGS)

cluster-submit: ## run a query on a cluster: ENGINE=flink|spark QUERY=q.toml INPUT=data OUTPUT=results
	@scripts/cluster-submit $(ENGINE) "$(QUERY)" "$(INPUT)" "$(OUTPUT)" $(ARGS)

.PHONY: map
map: venv ## print the modules by layer, their sizes and how far each idea is in one place (ARGS=--files: and where)
	@$(python) scripts/map $(ARGS)

# Of the limits of scripts/codemap/limits.py those that hold by now are checked; the others may get no worse.
lint: venv ## check style, types, layers, the limits of the map, and what is dangerous
	@$(python) -m ruff check
	@$(python) -m ruff format --check
	@$(python) -m mypy
	@$(python) scripts/map --check
	@$(python) -m bandit --quiet --configfile pyproject.toml --recursive core/sash flink_adapter/sash_flink spark_adapter/sash_spark

.PHONY: audit
# In an environment of its own: its dependencies are many, and none of them ours.
audit: venv ## look up known vulnerabilities of the versions in constraints.txt, where PyPI can be reached
	@.venv/bin/python -m venv build/audit
	@build/audit/bin/python -m pip install --quiet pip-audit
	@build/audit/bin/pip-audit --strict --progress-spinner off --no-deps --disable-pip -r constraints.txt $(ARGS)

format: venv ## mend style where that can be done by a program
	@$(python) -m ruff check --fix
	@$(python) -m ruff format

bench: venv ## compare the merging algorithms
	@$(python) -m sash_experiments bench aggregators $(ARGS)

docs: venv ## build the documentation site into build/site; dead links fail
	@NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --quiet
	@echo 'build/site/index.html; with search: $(python) -m http.server --directory build/site'

report: venv ## re-run the papers' experiments and report them in build/report.html (ARGS="--scale smoke": in a minute)
	@mkdir -p build
	@$(python) -m sash.cli experiment run all $(ARGS)
	@$(python) -m sash.cli experiment report --output build/report.html

report-pictures: report-of-results ## take the pictures of the report that the site shows
	@scripts/chromium
	@PYTHONPATH=scripts $(python) -m docs_site.browser build/report.html docs/images

.PHONY: report-pictures report-of-results
report-of-results: venv
	@mkdir -p build
	@$(python) -m sash.cli experiment report --output build/report.html

figures: venv ## draw plots, and the tables of README and site, from the raw results that there are
	@$(python) -m sash_experiments figures

bench-rolling: venv ## compare sash.rolling with NumPy, Bottleneck, pandas, Polars and SciPy
	@$(python) -m sash_experiments bench rolling $(ARGS)

bench-local: venv ## compare sash.run, sash.rolling and first results with Polars, DuckDB, pandas, Bottleneck and numbagg
	@$(python) -m sash_experiments bench local $(ARGS)

bench-slicing: venv ## compare the operator with buckets, tuple buffers and trees on tuples
	@$(python) -m sash_experiments bench slicing $(ARGS)

bench-mta: venv ## compare Log MTA and AMTA, in memory and in each store, with DABA and recalculation
	@scripts/redis
	@$(python) -m sash_experiments bench mta $(ARGS)

bench-spark: venv ## compare the windows of Sash on Spark with Spark's own
	@scripts/java
	@$(python) -m sash_experiments bench spark $(ARGS)

bench-flink: venv ## compare the windows of Sash on Flink with Flink's own
	@scripts/java
	@scripts/flink-jar
	@$(python) -m sash_experiments bench flink $(ARGS)

scalability: venv ## compare Sash with the engines' own windows by parallelism and, with Docker, by workers of a cluster
	@scripts/java
	@scripts/flink-jar
	@! docker info >/dev/null 2>&1 || scripts/cluster-image
	@$(python) -m sash_experiments bench scalability $(ARGS)

test-python-3.13: ## run the tests of the core and of Spark on Python 3.13
	@scripts/test-python-3.13 $(ARGS)

.PHONY: test-python-3.13
test-spark-latest: ## run the Spark tests with the newest PySpark, in an environment of its own
	@scripts/test-spark-latest $(ARGS)

# In an environment of its own: .venv cannot be made while pyproject.toml and constraints.txt contradict each other.
# setuptools builds those dependencies that come as source only.
lock: ## write constraints.txt anew from pyproject.toml (ARGS=--upgrade for newer versions)
	@"$$(scripts/find-python)" -m venv build/lock
	@build/lock/bin/python -m pip install --quiet uv
	@echo setuptools | build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras \
		--custom-compile-command 'make lock' --output-file constraints.txt $(ARGS) pyproject.toml - >/dev/null

# In an environment of its own, without the engines. The compiler needs Flink's jars: those of .venv, or else it fetches them.
wheel: ## build the wheels of Sash and of its experiments, and the sdist, into dist/; needs a JDK
	@"$$(scripts/find-python)" -m venv build/wheel
	@build/wheel/bin/python -m pip install --quiet build
	@SASH_JAR=require build/wheel/bin/python -m build --outdir dist .
	@build/wheel/bin/python -m build --wheel --outdir dist experiments

clean: ## remove the environment and everything that was generated
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
