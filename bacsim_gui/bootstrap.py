# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment, before anything imports Qt, VisPy, OpenGL or JAX; imports none of them.

A variable that the user has set is never changed. What can keep a window from opening is found
here too, because Qt ends the process when it meets it.
"""

import ctypes
import os
import sys
from pathlib import Path

# Shared libraries that Qt's xcb platform and OpenGL load, and the Debian package of each.
_WINDOW_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
}
_HEADLESS_LIBRARIES = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"}

# Names of the variables that this module set, in order that a child can be started without them.
_set_here: set[str] = set()


def prepare_window() -> None:
    """Set the environment of a program with a window.

    On Linux, Qt and OpenGL are both told to use X: on Wayland they would choose differently, and
    the canvas would stay blank.
    """
    if sys.platform == "linux":
        _default("QT_QPA_PLATFORM", "xcb")
        _default("PYOPENGL_PLATFORM", "glx")
    _prepare_jax()


def prepare_headless() -> None:
    """Set the environment of a program without a window: on Linux, OpenGL through EGL."""
    if sys.platform == "linux":
        _default("PYOPENGL_PLATFORM", "egl")
    _prepare_jax()


def child_environment() -> dict[str, str]:
    """The environment as the user gave it, for a process that prepares its own."""
    return {name: value for name, value in os.environ.items() if name not in _set_here}


def own_program(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours as a program beside this one."""
    # Nothing is to be taken from the current folder.
    return [sys.executable, "-P", "-m", f"bacsim_gui.{module}", *arguments]


def own_program_environment() -> dict[str, str]:
    """The environment for `own_program`: the user's, and the same bacsim as here is found."""
    environment = child_environment()
    paths = [str(Path(__file__).resolve().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def compile_cache_dir() -> Path | None:
    """Where compiled programs are kept between runs; None if `BACSIM_CACHE` is "off"."""
    chosen = os.environ.get("BACSIM_CACHE", "")
    if chosen.strip().lower() == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("bacsim", appauthor=False) / "compiled"


def window_problem() -> str | None:
    """Why no window can be opened here, in plain words with a remedy; None if nothing is known.

    Call it after `prepare_window()` and before the QApplication is made.
    """
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM") != "xcb":
        return None
    missing = missing_system_libraries()
    if missing:
        return missing_libraries_message(missing)
    display = os.environ.get("DISPLAY")
    if not display and os.environ.get("WAYLAND_DISPLAY"):
        return (
            "This Wayland session has no X server, which the window needs. Install Xwayland "
            "(Debian, Ubuntu: sudo apt-get install -y xwayland) and log in again."
        )
    if not display:
        return (
            "There is no display here (DISPLAY is not set), so no window can be opened. Over ssh, "
            "log in with 'ssh -X'; without a screen, make a movie with 'bacsim movie'."
        )
    if not _display_answers():
        return (
            f"The display '{display}' (from DISPLAY) does not answer, so no window can be opened. "
            "Log in on that screen or with 'ssh -X'; without a screen, make a movie with "
            "'bacsim movie'."
        )
    return None


def missing_system_libraries(*, headless: bool = False) -> dict[str, str]:
    """Shared libraries that cannot be loaded, each with the Debian package that has it.

    Args:
        headless: look for what pictures without a window need, instead of a window.
    """
    if sys.platform != "linux":
        return {}
    wanted = _HEADLESS_LIBRARIES if headless else _WINDOW_LIBRARIES
    return {library: package for library, package in wanted.items() if not _loads(library)}


def missing_libraries_message(missing: dict[str, str]) -> str:
    """One plain sentence on what `missing_system_libraries` found, with the line to run."""
    packages = " ".join(sorted(set(missing.values())))
    return (
        f"Missing system {'library' if len(missing) == 1 else 'libraries'}: {', '.join(missing)}. "
        f"On Debian or Ubuntu run: sudo apt-get install -y {packages}"
    )


def _prepare_jax() -> None:
    # JAX would take most of a card's memory at start, and OpenGL draws on the same card.
    _default("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # XLA's name for the size of its thread pool on a CPU. The blocks of the row sum are too small
    # to be shared: a second thread makes a step longer, and drawing needs the other core.
    _default("NPROC", "1")
    folder = compile_cache_dir()
    if folder is None:
        _default("JAX_ENABLE_COMPILATION_CACHE", "false")
        return
    _default("JAX_COMPILATION_CACHE_DIR", str(folder))
    # JAX keeps only what took long to compile; our programs are many and small.
    _default("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    _default("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def _default(name: str, value: str) -> None:
    if name not in os.environ:
        os.environ[name] = value
        _set_here.add(name)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _display_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    xcb.xcb_connection_has_error.argtypes = (ctypes.c_void_p,)
    xcb.xcb_disconnect.argtypes = (ctypes.c_void_p,)
    connection = xcb.xcb_connect(None, None)
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not failed
