# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed here and what works, in plain text: to look at, or to put into a bug report."""

import os
import platform
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np

from bacsim_gui import __version__
from bacsim_gui.bootstrap import (
    compile_cache_dir,
    missing_libraries_message,
    missing_system_libraries,
    prepare_headless,
)
from bacsim_gui.device import device_note
from bacsim_gui.encoder import EncoderError, ffmpeg_program
from bacsim_gui.logfile import log_path
from bacsim_gui.settings import settings_path
from bacsim_gui.view import View
from engine.params import Params
from engine.snapshot import Snapshot

PACKAGES = ("jax", "jaxlib", "numpy", "PyQt6", "vispy", "PyOpenGL", "imageio-ffmpeg")


def findings() -> Iterator[tuple[str, str]]:
    """What was found, one thing after the other: its name and a plain text. Imports JAX."""
    prepare_headless()
    yield "bacsim", f"{__version__}, in {Path(__file__).parent}"
    yield "system", f"{platform.platform()}, Python {platform.python_version()}"
    yield "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    yield "device", _device()
    yield "native code", _native()
    yield "compile cache", _cache()
    yield "window", _window()
    yield "pictures", _pictures()
    yield "movies", _movies()
    yield "settings", str(settings_path() or "off (BACSIM_SETTINGS)")
    yield "log file", str(log_path("bacsim"))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _device() -> str:
    from engine.program import available_bytes, device_name

    free = f"{available_bytes() / 1e9:.1f} GB free, {os.cpu_count()} CPUs in the machine"
    return f"{device_name()}, {free}. {device_note()}".rstrip()


def _native() -> str:
    """The C++ code of the neighbour lists, which only a CPU uses."""
    from engine.native.library import default_threads, native, targets

    found, threads = native(), default_threads()
    if found.problem:
        return f"none: {found.problem}. Neighbour lists run on what JAX compiles, more slowly."
    return f"works: {found.target} of {', '.join(targets())}; {threads} thread{'s' * (threads > 1)}"


def _cache() -> str:
    folder = compile_cache_dir()
    if folder is None:
        return "off (BACSIM_CACHE)"
    sizes = [path.stat().st_size for path in folder.glob("*")] if folder.is_dir() else []
    return f"{folder}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB; may be deleted at any time"


def _window() -> str:
    missing = missing_system_libraries()
    if missing:
        return missing_libraries_message(missing)
    displays = [n for n in ("DISPLAY", "WAYLAND_DISPLAY") if os.environ.get(n)]
    return f"libraries found; {' and '.join(displays) + ' set' if displays else 'no display here'}"


def _pictures() -> str:
    rod = Snapshot(np.array([[10, 10, 0, 1]], np.float32), 0, 0.0, Params(space_size=20.0))
    try:
        from bacsim_gui.offscreen import render

        picture = render(rod, View(), (64, 64))
    except Exception as error:
        return f"OpenGL without a window does not work: {error}"
    drawn = len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    return "OpenGL without a window works" if drawn else "OpenGL draws nothing"


def _movies() -> str:
    try:
        program = ffmpeg_program()
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=True)
    except (EncoderError, OSError, subprocess.CalledProcessError) as error:
        return f"ffmpeg does not work: {error}"
    return f"{said.stdout.splitlines()[0].partition(' Copyright')[0]}, {program}"
