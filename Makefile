# Needs make and Python 3.11 or later with pip, nothing else. PYTHON= chooses another interpreter for .venv.
.DEFAULT_GOAL := help
.PHONY: help run demo test fuzz schemathesis lint check coverage bench soak bench-growth bench-cache bench-down eval lock openapi env
.DELETE_ON_ERROR:
.NOTPARALLEL:

# The first that runs and is new enough: a name on PATH may be a shim of a version that is not installed.
new_enough = -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	$$python $(new_enough) && echo $$python && break; done)

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# uv reads no pip.conf, so it is told the index that this machine's pip uses.
UV = index="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(PIP) config get global.index-url 2>/dev/null)}}"; \
	$${index:+env UV_DEFAULT_INDEX="$$index"} $(BIN)/uv pip
# uv where it works, else pip, which is slower; both check every hash.
install = $(UV) install --quiet --python $(BIN)/python --require-hashes -r $(1) \
	|| $(PIP) install --quiet --require-hashes -r $(1)
install_project = $(UV) install --quiet --python $(BIN)/python --no-deps --build-constraints requirements-build.lock -e . \
	|| $(PIP) install --quiet --no-deps -e .
# What Python compiles is kept, for the workers and all that they start, where this machine keeps nothing by itself too.
pytest = env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/.venv/compiled" $(BIN)/python -m pytest
# Neighbours go to one worker, so that what a module shares is made once; who has none left takes half of another's.
workers = -n auto --dist worksteal
# AGAIN=1, for CI: who failed beside others is asked once more alone, and is named in both cases (docs/decisions/0076).
again = { [ $$? = 1 ] && echo "once more, one at a time:" && $(pytest) --last-failed --last-failed-no-failures none; }
compile = $(UV) compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" $(UPGRADE)

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: .venv/run.stamp ## set up and serve on 127.0.0.1:8000 (PORT= overrides)
	@exec $(BIN)/daybook serve $(if $(PORT),--port $(PORT))

demo: .venv/run.stamp ## replay the sample conversation and print the compiled context (PORT= or URL= of a running service)
	@exec $(BIN)/daybook demo $(or $(URL),$(if $(PORT),http://127.0.0.1:$(PORT)))

test: .venv/dev.stamp ## set up and run the whole test suite (ARGS= for pytest)
	@$(pytest) $(workers) $(ARGS)$(if $(AGAIN), || $(again))

fuzz: .venv/dev.stamp ## random histories and deaths, at length (SEEDS=2000)
	@$(BIN)/python -m tests.fuzz --seeds $(or $(SEEDS),2000)
	@LONG=1 $(BIN)/python -m pytest -q --timeout=0 tests/journeys/test_load.py tests/journeys/test_bound.py \
		tests/journeys/test_laws.py tests/journeys/test_locomo.py tests/context/test_answers.py \
		tests/context/test_real_logs.py tests/memory/test_helper_process.py

schemathesis: .venv/dev.stamp ## the running service against its OpenAPI document, at length
	@LONG=1 $(BIN)/python -m pytest -q --timeout=0 tests/fuzz/test_schema.py

bench-down: .venv/dev.stamp ## latency while the observer is down, beside that while it is not (ARGS= of benchmarks.down)
	@$(BIN)/python -m benchmarks.down $(ARGS)

lint: .venv/dev.stamp ## style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## what CI runs: lint, then the tests

coverage: .venv/dev.stamp ## the tests, and which lines and branches none of them takes
	@$(pytest) $(workers) --cov $(ARGS)

bench: .venv/bench.stamp ## throughput, latency and CPU beside a floor, into docs/benchmarks/speed.* (ARGS="--quick")
	@$(BIN)/python -m benchmarks.speed $(ARGS)

soak: .venv/bench.stamp ## load for 20 minutes with everything failing in turn, into docs/benchmarks/soak.* (ARGS="--minutes 3")
	@$(BIN)/python -m benchmarks.soak $(ARGS)

bench-growth: .venv/bench.stamp ## appends and contexts in a full database beside an empty one (ARGS="--messages 1000000")
	@$(BIN)/python -m benchmarks.growth $(ARGS)

bench-cache: .venv/bench.stamp ## what conversations cost by turn, into docs/bench-cache.* (ARGS="--all")
	@$(BIN)/python -m benchmarks.cache $(ARGS)

eval: .venv/bench.stamp ## what is found and held of what is asked later, into docs/eval.* (ARGS="--part retrieval --resume")
	@$(BIN)/python -m benchmarks.quality $(ARGS)

lock: .venv/build.stamp ## renew the locks from pyproject.toml (UPGRADE=--upgrade for newer versions)
	@$(compile) --group build -o requirements-build.lock
	@$(compile) pyproject.toml -o requirements.lock
	@$(compile) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	@$(compile) --group bench -c requirements-dev.lock -o requirements-bench.lock

openapi: .venv/run.stamp ## write openapi/openapi.json
	$(BIN)/daybook openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

env: .venv/run.stamp ## write .env.example and docs/settings.md
	$(BIN)/python -c 'from app.reference import env_example; print(env_example(), end="")' > .env.example.new
	mv .env.example.new .env.example
	$(BIN)/python -c 'from app.reference import settings_page; print(settings_page(), end="")' > docs/settings.md.new
	mv docs/settings.md.new docs/settings.md

# A stamp is written last, so that what was interrupted is done again. Without ensurepip (Debian's bare python3) the
# interpreter's own pip brings one.
.venv/build.stamp: requirements-build.lock
	@$(or $(PYTHON),false) $(new_enough) || { echo "Daybook needs Python 3.11 or later; name one with PYTHON=" >&2; exit 1; }
	@echo "Setting up .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { $(PYTHON) -m venv --without-pip .venv \
		&& $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
	@$(PIP) install --quiet --require-hashes -r $< || echo "uv is not to be had here; pip does its work"
	@touch $@

.venv/run.stamp: .venv/build.stamp requirements.lock pyproject.toml
	@$(call install,requirements.lock)
	@$(install_project)
	@touch $@

.venv/dev.stamp: .venv/run.stamp requirements-dev.lock
	@$(call install,requirements-dev.lock)
	@touch $@

.venv/bench.stamp: .venv/dev.stamp requirements-bench.lock
	@$(call install,requirements-bench.lock)
	@touch $@
