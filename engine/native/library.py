# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding and loading the native code, or telling why there is none.

It is a plain shared library whose handlers XLA calls (the headers come with jaxlib); nothing in it
depends on the version of Python.
"""

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import NamedTuple

import jax

NAME = "bacsim_native"
# Counts the changes of what is called and of its arguments, as in ffi.cpp.
VERSION = 4
# No machine has as many cores.
MOST_THREADS = 4096
HANDLERS = ("bacsim_advance", "bacsim_build", "bacsim_sums")

# The parameters that the library takes, in the order of `Params` in model.h. After them come
# numbers that follow from parameters and laws: `epsilon`, the regularisation of the contact points;
# velocity over force along and across a rod, angular velocity over torque; the chance to tumble.
PARAMS = (
    "space_size", "length", "radius", "k_cc", "F_prop", "T_prop", "w_d", "w_a",
    "sensing_range", "activity_thresh", "activity_width", "tau_a", "D_r", "D_t", "push_x",
    "push_y", "push_range", "push_force", "dt",
)  # fmt: skip


class Native(NamedTuple):
    """The native code as it is here.

    `target` names the instruction set that it uses, empty where there is none; `problem` tells then
    why, and what to do.
    """

    target: str
    problem: str


@functools.cache
def native() -> Native:
    """The native code, loaded and known to JAX at the first call.

    The environment variable BACSIM_NATIVE names another library, or is `off` for none.
    """
    found = _file()
    if found is None:
        off = os.environ.get("BACSIM_NATIVE") == "off"
        return Native("", "BACSIM_NATIVE=off was set") if off else _none("it is not installed.")
    try:
        library = ctypes.CDLL(str(found))
        version = library.bacsim_native_version()
        library.bacsim_target.restype = ctypes.c_char_p
    except (OSError, AttributeError) as error:
        return _none(f"{found} cannot be loaded: {error}.", found)
    if version != VERSION:
        return _none(f"{found} belongs to another version of bacsim.", found)
    try:
        # First the backend: XLA then refuses here a library that was built with the header of a
        # newer jaxlib. Known before, that library would keep the backend from starting at all.
        jax.devices("cpu")
        for name in HANDLERS:
            handler = jax.ffi.pycapsule(getattr(library, name))
            jax.ffi.register_ffi_target(name, handler, platform="cpu")
    except (RuntimeError, AttributeError) as error:
        return _none(f"{found} does not fit JAX {jax.__version__}: {error}", found)
    return Native(library.bacsim_target(b"").decode(), "")


def targets() -> list[str]:
    """The instruction sets that the library can use on this machine, the best first."""
    if not native().target:
        return []
    library = ctypes.CDLL(str(_file()))
    library.bacsim_target.restype = ctypes.c_char_p
    names = [library.bacsim_target(name) for name in (b"avx512", b"avx2", b"plain")]
    return [name.decode() for name in names if name]


def default_threads() -> int:
    """As many threads as there are cores for this process, but one, which the window needs.

    The environment variable BACSIM_THREADS names another number.
    """
    asked = os.environ.get("BACSIM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return min(int(asked), MOST_THREADS)
    have = getattr(os, "sched_getaffinity", None)
    cores = len(have(0)) if have else os.cpu_count() or 1
    return max(1, cores - 1)


def _none(problem: str, found: Path | None = None) -> Native:
    """No native code: `problem`, and what a user does about it and the file that was `found`."""
    if os.environ.get("BACSIM_NATIVE"):
        remedy = "Unset BACSIM_NATIVE, or name another library in it"
    elif sys.platform == "win32" or not (Path(__file__).parents[2] / "Makefile").exists():
        # No checkout, or one that make does not set up.
        remedy = "With a C++ compiler (GCC or Clang) at hand, install bacsim again"
    elif found:
        remedy = "Remove that file, then run make setup"
    else:
        remedy = "Run make setup, which builds it or says what is missing"
    return Native("", f"{problem} {remedy}")


def _file() -> Path | None:
    """Where the library lies, if anywhere."""
    asked = os.environ.get("BACSIM_NATIVE", "")
    if asked:
        # Absolute, or a name without a folder would be looked for among the system's libraries.
        return None if asked == "off" else Path(asked).absolute()
    file = Path(__file__).with_name(f"{NAME}{'.dll' if sys.platform == 'win32' else '.so'}")
    return file if file.exists() else None
