# SPDX-License-Identifier: GPL-3.0-or-later
# The Python to make .venv with; 3.11 or newer.
PYTHON ?= python3
ENVIRONMENT = $(PYTHON) .ci/environment.py
BIN = .venv/bin

.PHONY: setup run test lint lock sanitize gpu peers clean

setup:
	@$(ENVIRONMENT) setup

# More flags for the window: make run ARGS="--rods 500"
run:
	@$(ENVIRONMENT) run $(ARGS)

# A file of tests shares what it compiles, so whole files go to the processes.
test: lint
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

lint:
	@$(ENVIRONMENT) setup --tests --quiet
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

# Write requirements.lock anew from pyproject.toml; make lock ARGS=--upgrade takes newer versions.
lock:
	@$(ENVIRONMENT) setup --lock --quiet
	$(BIN)/python .ci/lockfile.py $(ARGS)

# The tests of the native code under the address and the undefined-behaviour sanitizer of GCC. A
# finding ends the run. Leaks do not count: Python and XLA never free all that they hold.
sanitize:
	@$(ENVIRONMENT) setup --tests --quiet
	$(BIN)/cmake -S engine/native -B build/sanitize -G Ninja -DSANITIZE=ON \
		-DCMAKE_CXX_COMPILER=g++ -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	$(BIN)/cmake --build build/sanitize
	BACSIM_NATIVE=$(CURDIR)/build/sanitize/bacsim_native.so ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
		$(BIN)/python -m pytest --no-xvfb -s $(addprefix tests/engine/test_,native.py laws.py walls.py \
		obstacles.py adaptive.py) $(ARGS)

# Try an NVIDIA card again, after its driver or anything else about it has changed.
gpu:
	@$(ENVIRONMENT) setup --retry-card

# bacsim's step beside numba, jax-md and the double vmap; make peers ARGS="--json peers.json"
peers: .venv-peers/stamp
	@$(ENVIRONMENT) setup --quiet
	$(BIN)/python -m benchmarks.peers $(ARGS)

.venv-peers/stamp: benchmarks/requirements.txt
	$(PYTHON) -m venv --clear .venv-peers
	.venv-peers/bin/python -m pip install --quiet --prefer-binary -r $<
	touch $@

clean:
	rm -rf .venv .venv-peers dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -f engine/native/bacsim_native.*
