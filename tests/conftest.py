# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every test: the environment before JAX, checked array shapes, strict JAX.

Options and markers: `--validate` adds the long statistical runs (marked `validate`); `gpu` tests
are skipped where JAX sees no card; `slow` and `gl` only name a group, for `-m "not slow"`.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

# Before anything imports JAX. What one test compiled another takes from a cache, also in another
# process. It is made anew for each run, so that no test depends on an earlier one.
FRESH = "BACSIM_TESTS_COMPILED"
MADE_HERE = None if FRESH in os.environ else tempfile.mkdtemp(prefix="bacsim-tests-")
os.environ.setdefault(FRESH, str(MADE_HERE))
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "true"
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.environ[FRESH]
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# The user's own.
os.environ.setdefault("BACSIM_CACHE", "off")
# No test reads or writes the settings of whoever runs it.
os.environ["BACSIM_SETTINGS"] = "off"

from jaxtyping import install_import_hook  # noqa: E402

import tests.typecheck  # noqa: E402, F401  (the hook looks the checker up by name)

# Every annotated shape and type in the engine is checked on each call and each trace. All but
# Params, whose fields are floats outside the compiled program and tracers inside.
ENGINE = Path(__file__).parents[1] / "engine"
install_import_hook(
    [f"engine.{path.stem}" for path in ENGINE.iterdir() if path.stem not in ("params", "__init__")],
    "tests.typecheck.checked",
)

import jax  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# An implicit rank or type promotion inside the engine is an error here.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The same examples in every run, and no deadline: the first call of each compiles.
settings.register_profile("bacsim", derandomize=True, deadline=None, database=None)
settings.load_profile("bacsim")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--validate",
        action="store_true",
        help="also run the long statistical checks of the physics (minutes)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "validate: long statistical check; runs with --validate")


def pytest_unconfigure() -> None:
    if MADE_HERE is not None:
        shutil.rmtree(MADE_HERE, ignore_errors=True)


@pytest.fixture(scope="session")
def display() -> None:
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        pytest.fail("No display for tests that draw: install Xvfb (apt-get install -y xvfb xauth).")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # A test that draws asks for a display, and with it for the one application of Qt.
        if item.get_closest_marker("gl") is not None and isinstance(item, pytest.Function):
            for name in ("qapp", "display"):
                item.fixturenames.insert(0, name)
    if not config.getoption("--validate"):
        long = [item for item in items if item.get_closest_marker("validate")]
        if long:
            items[:] = [item for item in items if not item.get_closest_marker("validate")]
            config.hook.pytest_deselected(items=long)
    on_card = [item for item in items if item.get_closest_marker("gpu")]
    if on_card and jax.default_backend() != "gpu":
        for item in on_card:
            item.add_marker(pytest.mark.skip(reason="JAX sees no GPU on this machine"))
