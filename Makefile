# Works with GNU make 3.81 (macOS) and newer.
#
#   make run      the dashboard on http://localhost:8501    (PORT=8502, PYTHON=python3.12, ADDRESS=0.0.0.0 where a login is set up: docs/ACCESS.md)
#   make test     style, types and all tests but the slow ones    (PYTEST_ARGS="tests/sizing -k memory")
#   make test-slow   what rarely breaks alone: further journeys of each page, whole workbooks computed anew
#   make properties  what must hold for every scenario, on many more of them
#   make fuzz     a million inputs with bytes changed, to every reader of files, links and metrics    (FUZZ=100000)
#   make bench    how fast it is                            (BENCH=page_latency; without BENCH: which there are)
#   make chain    a real vLLM, its load generator, Prometheus and our collector on one run (2.3 GB the first time)
#   make prices   API offers and rents of today beside ours    (PRICES_ARGS=--keep writes them)
#   make lock     what a deployment installs, with hashes, bill of materials and licences    (docs/OPERATIONS.md)
#   make wheelhouse   everything that a machine without a network installs, into wheelhouse/
#   make calibrate, make docs, make screens: rewrite the fit and its report, the methodology, the pictures of the pages

VENV := .venv
PORT ?= 8501
# Only this machine: the dashboard shows customer data and has no login of its own unless one is configured.
ADDRESS ?= localhost
PYTEST_ARGS ?=
# Where bytecode is not kept, every process that a test starts compiles the house again.
export PYTHONDONTWRITEBYTECODE :=
# Tests run in as many processes as there are cores, and more: BLAS threads beside them would only wait for each other, busily.
IN_TESTS := OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python -m
BENCH ?=
PRICES_ARGS ?=
FUZZ ?= 1000000

ENSURE_VENV := VENV="$(VENV)" PYTHON="$(PYTHON)" .ci/ensure-venv
IN_VENV := $(VENV)/bin/python -m

.PHONY: run test test-slow properties fuzz lint format bench chain prices calibrate docs screens lock wheelhouse clean

# Streamlit opens the browser itself, and does without where there is no display.
run:
	@$(ENSURE_VENV) requirements.txt
	@$(IN_VENV) ui --server.port "$(PORT)" --server.address "$(ADDRESS)"

# All checks run, so that a complaint about style does not hide a failing test. A plan compiles the simulator first, once for all
# processes of the tests. These are one more than there are cores, since journeys in the browser mostly wait; a file is one
# process's, with what its tests share. Types are checked beside all of it. Exit status 5 (nothing selected by PYTEST_ARGS) is no failure.
test:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@tests/install_system_packages.sh
	@echo 'All but the slow ones (make test-slow); a part: make test PYTEST_ARGS="tests/sizing -k memory", PYTEST_ARGS="-m e2e", PYTEST_ARGS="-m \"not e2e\""'
	@failed=; types=$$(mktemp); \
	$(IN_VENV) mypy >"$$types" 2>&1 & mypy=$$!; \
	$(IN_VENV) sizing plan reality/data/demo_scenario.yaml >/dev/null & compiled=$$!; \
	$(IN_VENV) ruff check . || failed="$$failed ruff"; \
	$(IN_VENV) ruff format --check . || failed="$$failed format"; \
	wait "$$compiled"; \
	$(IN_TESTS) pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow" $(PYTEST_ARGS) || [ $$? -eq 5 ] || failed="$$failed pytest"; \
	wait "$$mypy" || failed="$$failed mypy"; \
	cat "$$types"; rm -f "$$types"; \
	[ -z "$$failed" ] || { echo "make test FAILED:$$failed"; exit 1; }

# What make test leaves out; CI runs both.
test-slow:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@tests/install_system_packages.sh
	@$(IN_TESTS) pytest -n auto --dist loadfile --no-loadscope-reorder -m slow $(PYTEST_ARGS)

# Properties on thirty times as many random scenarios, others each time.
properties:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@$(IN_TESTS) pytest -n auto -m hypothesis --hypothesis-profile thorough $(PYTEST_ARGS)

# The readers take an hour or so of a core together; each is a process of its own.
fuzz:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@FUZZ="$(FUZZ)" $(IN_TESTS) pytest -n auto --hypothesis-profile thorough $(PYTEST_ARGS) tests/test_mutated_files.py -k mutated_file

lint:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	$(IN_VENV) ruff check .
	$(IN_VENV) ruff format --check .
	$(IN_VENV) mypy

format:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	$(IN_VENV) ruff check --fix --select I .
	$(IN_VENV) ruff format .

# Benchmarks start the servers, databases and browsers that tests do.
bench:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@tests/install_system_packages.sh
	@$(IN_VENV) bench $(BENCH)

# Real components, outside make test: rewrites docs/CHAIN.md and the recording that a test reads again.
chain:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@tests/install_system_packages.sh
	@PYTHON="$(abspath $(VENV))/bin/python" tests/tools/chain/install.sh .chain
	@$(IN_VENV) tests.tools.chain .chain

# List prices from the packages that carry them; shown as a difference, kept when told.
prices:
	@$(ENSURE_VENV) requirements.txt requirements-prices.txt
	@$(IN_VENV) calibration.prices $(PRICES_ARGS)

# Fit the roofline, the trust in kernel tables and the intervals to the evidence library again; rewrites sizing/data and
# docs/ACCURACY.md.
# Every process has a core: BLAS threads beside it would only wait for each other.
calibrate:
	@$(ENSURE_VENV) requirements.txt requirements-calibrate.txt
	@OPENBLAS_NUM_THREADS=1 $(IN_VENV) calibration

# docs/METHODOLOGY.md for the reader and its reference, from the engine.
docs:
	@$(ENSURE_VENV) requirements.txt
	@$(IN_VENV) sizing.methodology

# Every page, light and dark, wide and narrow, into screens/; the journey of docs/STORY.md into docs/images.
screens:
	@$(ENSURE_VENV) requirements.txt requirements-test.txt
	@tests/install_system_packages.sh
	@$(IN_VENV) tests.tools.screens
	@$(IN_VENV) tests.tools.story

# Rewrites deploy/requirements.lock, sbom.cdx.json and LICENSES.md from the ranges of the requirements files.
lock:
	@deploy/lock.sh

wheelhouse:
	@deploy/wheelhouse.sh wheelhouse

clean:
	rm -rf "$(VENV)" .pytest_cache .mypy_cache .ruff_cache .hypothesis screens bench/out calibration/out .chain wheelhouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
