# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed here and what works: to look at, or to put into a bug report."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bacsim_gui import __version__, autosaves
from bacsim_gui.bootstrap import (
    compile_cache_dir,
    missing_libraries_message,
    missing_system_libraries,
    own_program,
    own_program_environment,
    prepare_headless,
)
from bacsim_gui.device import device_note, nvidia_card
from bacsim_gui.encoder import EncoderError, ffmpeg_program
from bacsim_gui.logfile import log_path
from bacsim_gui.selftest import Advice, Graphics, judged
from bacsim_gui.settings import settings_path
from bacsim_gui.view import View
from engine.params import Params
from engine.snapshot import Snapshot

PACKAGES = (
    "jax", "jaxlib", "numpy", "PyQt6", "PyQt6-Qt6", "vispy", "PyOpenGL", "gsd",
    "imageio-ffmpeg",
)  # fmt: skip
# Starting Qt and OpenGL takes a second; a driver that hangs is not waited for any longer.
PROBE_SECONDS = 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: its name, what was found, and what may be done about it."""

    name: str
    text: str
    advice: tuple[Advice, ...] = ()


def findings() -> Iterator[Finding]:
    """What was found, one thing after the other. Imports JAX."""
    prepare_headless()
    yield Finding("bacsim", f"{__version__}, in {Path(__file__).parent}")
    yield Finding("system", f"{platform.platform()}, Python {platform.python_version()}")
    yield Finding("packages", ", ".join(f"{name} {has}" for name, has in packages().items()))
    yield _device()
    yield Finding("native code", _native())
    yield Finding("compile cache", _cache())
    yield _window()
    yield Finding("pictures", _pictures())
    yield Finding("movies", _movies())
    yield Finding("settings", str(settings_path() or "off (BACSIM_SETTINGS)"))
    yield Finding("log files", f"{log_path('bacsim-gui')}, {log_path('bacsim').name}")


def as_text(finding: Finding) -> str:
    """A finding in lines for a terminal."""
    lines = [f"{finding.name:14} {finding.text}".rstrip()]
    return "\n".join(lines + [f"{'':14} → {advice}".rstrip() for advice in finding.advice])


def as_json(found: list[Finding]) -> str:
    """All findings for a program: texts, advice, versions and places."""
    places = {
        "program": Path(__file__).parent, "compile cache": compile_cache_dir(),
        "settings": settings_path(), "log": log_path("bacsim-gui"), "autosaves": autosaves.folder(),
    }  # fmt: skip
    told: dict[str, Any] = {
        "bacsim": __version__,
        "packages": packages(),
        "paths": {name: None if path is None else str(path) for name, path in places.items()},
        "findings": {finding.name: finding.text for finding in found},
        "advice": [asdict(advice) for finding in found for advice in finding.advice],
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def packages() -> dict[str, str]:
    """The version of each package that matters, "missing" for none."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def _device() -> Finding:
    from engine.program import available_bytes, device_name

    free = f"{available_bytes() / 1e9:.1f} GB free, {os.cpu_count()} CPUs in the machine"
    advice = judged(None, "", device_name(), device_note(), nvidia_card(), os.environ)
    return Finding("device", f"{device_name()}, {free}", tuple(advice))


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


def _window() -> Finding:
    """What a window would find, looked at by a process of its own, which Qt or a driver may end."""
    missing = missing_system_libraries()
    if missing:
        return Finding("window", missing_libraries_message(missing))
    try:
        done = subprocess.run(
            own_program("graphics"), env=own_program_environment(), capture_output=True, text=True,
            check=False, timeout=PROBE_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Finding("window", f"OpenGL does not answer within {PROBE_SECONDS} s.")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no words"])[-1]
        return Finding(
            "window", f"Qt or OpenGL ends the process (status {done.returncode}): {last}"
        )
    if "problem" in found:
        return Finding("window", found["problem"])
    about = f"Qt on {found['platform']}, {', '.join(found['screens'])}"
    if found["graphics"] is None:
        return Finding(
            "window", f"{about}; OpenGL cannot be started. Install a graphics driver, or Mesa "
            "(Debian, Ubuntu: sudo apt-get install -y libgl1-mesa-dri)."
        )  # fmt: skip
    graphics = Graphics(**{**found["graphics"], "number": tuple(found["graphics"]["number"])})
    advice = judged(graphics, found["platform"], "", "", "", os.environ)
    return Finding("window", f"{about}; OpenGL {graphics}", tuple(advice))


def _pictures() -> str:
    rod = Snapshot(np.array([[10, 10, 0, 1]], np.float32), 0, 0.0, Params(space_size=20.0))
    try:
        from bacsim_gui.offscreen import render, surface

        picture = render(rod, View(), (64, 64))
    except Exception as error:
        return f"OpenGL without a window does not work: {error}"
    drawn = len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    return f"OpenGL without a window {'works' if drawn else 'draws nothing'}: {surface().renderer}"


def _movies() -> str:
    try:
        program = ffmpeg_program()
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=True)
    except (EncoderError, OSError, subprocess.CalledProcessError) as error:
        return f"ffmpeg does not work: {error}"
    return f"{said.stdout.splitlines()[0].partition(' Copyright')[0]}, {program}"
