# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every test: the environment before JAX, checked array shapes, strict JAX.

Options and markers: `--validate` adds the long statistical runs (marked `validate`); `gpu` tests
are skipped where JAX sees no card; `slow` and `gl` only name a group, for `-m "not slow"`.
"""

import os
from pathlib import Path

# Before anything imports JAX. A compile cache would make the tests depend on an earlier run.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("BACSIM_CACHE", "off")
# No test reads or writes the settings of whoever runs it.
os.environ["BACSIM_SETTINGS"] = "off"
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

from jaxtyping import install_import_hook

import tests.typecheck  # noqa: F401  (the hook looks the checker up by name)

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--validate"):
        long = [item for item in items if item.get_closest_marker("validate")]
        if long:
            items[:] = [item for item in items if not item.get_closest_marker("validate")]
            config.hook.pytest_deselected(items=long)
    on_card = [item for item in items if item.get_closest_marker("gpu")]
    if on_card and jax.default_backend() != "gpu":
        for item in on_card:
            item.add_marker(pytest.mark.skip(reason="JAX sees no GPU on this machine"))
