# Everything runs in .venv inside the checkout; all it needs is Python 3.11 or newer and make.
# Another interpreter: make clean setup PYTHON=python3.12

.DEFAULT_GOAL := help
.ONESHELL:
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

PYTHON ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
STAMP := .venv/.setup-stamp
step = printf '==> %s\n'

.PHONY: help venv setup demo check test long services services-test cluster faults attacks peers benches stress lint format bench docs wheel lock \
	clean browser journals

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

# A moved checkout, or an interpreter that went away, gets a new .venv; otherwise the one there is kept.
venv:
	@if grep -qsF " $(CURDIR)/.venv" .venv/pyvenv.cfg && $(BIN)/python -c '' 2>/dev/null; then exit 0; fi
	for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11) none; do
		if "$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi
	done
	if [ "$$python" = none ]; then
		echo "Penstock needs Python 3.11 or newer with its venv module, and found none$(if $(PYTHON), in '$(PYTHON)')." >&2
		echo "Name one with: make setup PYTHON=python3.12 (on Debian and Ubuntu also: apt install python3-venv)" >&2
		exit 1
	fi
	$(step) "setup: creating .venv with $$("$$python" --version)"
	"$$python" -m venv --clear .venv

setup: venv  ## Create or update .venv: the packages that requirements.lock pins, and Penstock itself
	@wanted="$$(cat requirements.lock pyproject.toml | sha256sum)"
	if [ "$$wanted" = "$$(cat $(STAMP) 2>/dev/null)" ]; then exit 0; fi
	$(step) "setup: installing $$(grep -c '==' requirements.lock) pinned packages (the first time takes a minute or two)"
	$(PIP) install --require-hashes -r requirements.lock
	$(step) "setup: installing Penstock itself, editable"
	$(PIP) uninstall -y penstock  # what penstock-streams was called before
	$(PIP) install --no-deps --no-build-isolation -e .
	echo "$$wanted" > $(STAMP)

demo: setup  ## Run the demonstration
	@$(BIN)/penstock demo

check: lint  ## Formatting, lint, types, layers, and the quick tests
	@$(step) "pytest: unit, property, thread and contract tests, but for the slow ones"
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few} $(BIN)/pytest -n 2 -m "not slow" tests/unit tests/property tests/threads tests/contract tests/papers

test: lint  ## All checks, and all tests but the long ones and those of cluster, faults, stress and peers
	@$(step) "pytest: all tests but those of cluster, faults, stress and peers"
	$(BIN)/pytest -n 2 tests

services: setup  ## Fetch Kafka with Maven, and try that it starts on loopback; says what cannot be tested here
	@$(BIN)/python -m tests.services

services-test: setup  ## All tests against Kafka and PostgreSQL, which they start on loopback and kill
	@PENSTOCK_SERVICES=1 PENSTOCK_LONG=1 $(BIN)/pytest tests/services

cluster: setup  ## Tests that start a Spark cluster on this machine
	@PENSTOCK_CLUSTER=1 $(BIN)/pytest tests/spark/cluster tests/spark/benchmarks/test_state.py

faults: setup  ## Kill drivers, workers, executors and copies, fill disks: 300 times by PENSTOCK_FAULTS_SEED; goes on where it was cut
	@$(BIN)/python -m tests.faults

attacks: setup  ## Tests that kill drivers, workers and executors at exact points (an hour)
	@PENSTOCK_FAULTS=1 PENSTOCK_CLUSTER=1 $(BIN)/pytest tests/faults

peers: setup  ## Tests that run stock PySpark beside Penstock (minutes)
	@PENSTOCK_PEERS=1 $(BIN)/pytest tests/spark/benchmarks

benches: setup  ## Tests that run the benchmarks on Spark in small (minutes)
	@PENSTOCK_BENCHES=1 $(BIN)/pytest tests/spark/benchmarks

stress: setup  ## Minutes of threads under changing settings; routes that change at every batch, also between hosts
	@PENSTOCK_STRESS=1 PENSTOCK_CLUSTER=1 $(BIN)/pytest tests/stress tests/spark/cluster/test_migration.py

long: setup  ## Tests that take half a minute and more each: theory at high load, benchmarks in small (minutes)
	@PENSTOCK_LONG=1 $(BIN)/pytest -n 2 -m long tests

journals: setup  ## 10,000 damaged journals, which must never break the page (minutes)
	@PENSTOCK_DAMAGED_JOURNALS=10000 $(BIN)/pytest tests/unit/watch/test_recorded_run.py -k damaged

browser: setup  ## Tests of the dashboard in Chromium, which is installed where this user may (minutes)
	@if ! command -v chromium chromium-browser >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		$(step) "browser: installing Debian's Chromium"
		{ apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null || echo "browser: Chromium could not be installed" >&2
	fi
	PENSTOCK_BROWSER=1 $(BIN)/pytest -rs tests/browser

lint: setup  ## Formatting, lint, types and layers, no tests
	@$(step) "ruff format --check"
	$(BIN)/ruff format --check .
	$(step) "ruff check"
	$(BIN)/ruff check .
	$(step) "mypy"
	$(BIN)/mypy
	$(step) "lint-imports"
	$(BIN)/lint-imports --no-logo
	$(step) "rooms"
	$(BIN)/python tools/check_rooms.py

format: setup  ## Format the code and fix what ruff can fix
	@$(step) "ruff check --fix"
	$(BIN)/ruff check --fix .
	$(step) "ruff format"
	$(BIN)/ruff format .

bench: setup  ## List the benchmarks; run one with .venv/bin/python -m benchmarks NAME
	@$(BIN)/python -m benchmarks

docs: setup  ## Build the documentation site into build/site, strict and offline
	@$(step) "docs: mkdocs"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(step) "docs: build/site/index.html"

wheel: setup  ## Build the wheel into dist, and try it in two empty environments outside the checkout (minutes)
	@$(step) "wheel: building"
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel
	$(BIN)/python tools/try_wheel.py dist/*.whl

lock: venv  ## Pin the newest versions that pyproject.toml allows, with their hashes
	@$(step) "lock: resolving with uv, from a throw-away environment"
	scratch="$$(mktemp -d)"
	trap 'rm -rf "$$scratch"' EXIT
	$(BIN)/python -m venv "$$scratch"
	"$$scratch/bin/pip" install -qq --disable-pip-version-check uv
	"$$scratch/bin/uv" pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --upgrade \
		--fork-strategy fewest --generate-hashes --no-emit-index-url --no-annotate --quiet \
		--custom-compile-command "make lock" --output-file requirements.lock
	$(step) "lock: $$(grep -c '==' requirements.lock) packages pinned; make setup installs them"

clean:  ## Remove .venv, caches and build output
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist out
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} +
