# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every test: the environment before JAX, checked array shapes, strict JAX.

Options and markers: `--validate` adds the long statistical runs (marked `validate`); `gpu` tests
are skipped where JAX sees no card; `slow` and `gl` only name a group, for `-m "not slow"`.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Before anything imports JAX.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# No test reads or writes what whoever runs it keeps: settings, compiled programs.
os.environ["BACSIM_SETTINGS"] = "off"
os.environ["BACSIM_CACHE"] = "off"
# What one process has compiled, the others and the commands that tests start find in a folder that
# is made anew for each run, so that no test depends on an earlier one.
compiled = None
if "PYTEST_XDIST_WORKER" not in os.environ:
    compiled = TemporaryDirectory(prefix="bacsim-compiled-", ignore_cleanup_errors=True)
    os.environ |= {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_COMPILATION_CACHE_DIR": compiled.name,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

from jaxtyping import install_import_hook  # noqa: E402

import tests.typecheck  # noqa: E402, F401  (the hook looks the checker up by name)

# Every annotated shape and type in the engine is checked on each call and each trace. All but
# Params, whose fields are floats outside the compiled program and tracers inside.
ENGINE = Path(__file__).parents[1] / "engine"
install_import_hook(
    [f"engine.{path.stem}" for path in ENGINE.iterdir() if path.stem not in ("params", "__init__")],
    "tests.typecheck.checked",
)

# XLA makes code for a CPU in two ways; the newer gives faster code and takes two to three times as
# long. What tests compile in their own processes is made in the older way, but for sums of pairs,
# for memory, and for drivers beside the reference (`compiled_as_for_users`). The commands that they
# start compile as they do for users, since the setting is taken back once XLA has read it.
AS_FOR_USERS = {"xla_cpu_use_fusion_emitters": True}
given = os.environ.get("XLA_FLAGS")
OLDER_WAY = f"{given or ''} --xla_cpu_use_fusion_emitters=false".strip()
# For processes whose programs run but a few steps; `quickly_compiled` is the same for this one.
QUICKLY = f"{OLDER_WAY} --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
os.environ["XLA_FLAGS"] = OLDER_WAY

import jax  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from jax.experimental.compilation_cache.compilation_cache import reset_cache  # noqa: E402

jax.devices()
del os.environ["XLA_FLAGS"]
if given is not None:
    os.environ["XLA_FLAGS"] = given

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
    if compiled is not None:
        compiled.cleanup()


@pytest.fixture
def cold_compiles() -> Iterator[None]:
    """What this process compiles meanwhile it compiles anew, which takes its time."""
    _keep_compiled(False)
    yield
    _keep_compiled(True)


def _keep_compiled(keep: bool) -> None:
    jax.config.update("jax_enable_compilation_cache", keep)
    # JAX asks for the setting only once.
    reset_cache()


@pytest.fixture
def quickly_compiled() -> Iterator[None]:
    """Programs that run but a few steps, or none, are compiled without most optimizations.

    Of the machine's code, that is: what XLA fuses and how much memory it takes stays the same.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the processes that a test starts."""
    monkeypatch.setenv("XLA_FLAGS", QUICKLY)


@pytest.fixture
def compiled_as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine compiles its programs as it does outside of tests."""
    compile_ = jax.stages.Lowered.compile

    def newer_way(lowered: jax.stages.Lowered, compiler_options: dict[str, Any]) -> Any:
        return compile_(lowered, compiler_options={**compiler_options, **AS_FOR_USERS})

    monkeypatch.setattr(jax.stages.Lowered, "compile", newer_way)


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
