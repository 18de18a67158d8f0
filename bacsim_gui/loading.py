# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads the large library of JAX while the window goes on."""

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

# Its 350 MB come from the disk after a start of the computer.
LIBRARY = "libjax_common.so"


def load_jaxlib() -> None:
    """Have the system load jaxlib's library, which `import jax` then finds loaded.

    An import holds the interpreter meanwhile, and with it the window, for a quarter of a second or
    for however long the disk takes; a call of ctypes does not. What goes wrong here is told by the
    import. Only on Linux.
    """
    spec = importlib.util.find_spec("jaxlib") if sys.platform == "linux" else None
    for folder in () if spec is None else spec.submodule_search_locations or ():
        library = Path(folder) / LIBRARY
        if library.exists():
            dlopen = ctypes.CDLL(None).dlopen
            dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
            dlopen(os.fsencode(library), os.RTLD_LAZY)
