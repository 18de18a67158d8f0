# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the window draw with software OpenGL on a display of their own (pytest-xvfb)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bacsim_gui.bootstrap import prepare_window

# Before a test module imports Qt, VisPy or OpenGL. Not as the user's own settings, where pytest's
# first process has prepared itself and hands its environment down to those that run the tests.
for name in ("QT_QPA_PLATFORM", "PYOPENGL_PLATFORM"):
    os.environ.pop(name, None)
prepare_window()

from bacsim_gui.encoder import ffmpeg_program  # noqa: E402
from bacsim_gui.recorder import Recorder  # noqa: E402
from bacsim_gui.scene import Scene  # noqa: E402

if TYPE_CHECKING:
    from bacsim_gui.window import Window


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the user's own presets, settings and lists."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("config", "state", "data"):
            patch.setenv(f"XDG_{name.upper()}_HOME", str(home / name))
        yield home


@pytest.fixture(scope="module")
def one_window(qapp: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Window"]:
    """The window that the tests of one file share; each brings it to where it begins."""
    # Not above: what draws without a window takes its helpers from here, and loads no Qt.
    from tests.gui.windows import a_window

    with a_window(qapp, tmp_path_factory.mktemp("movies")) as made:
        yield made


@pytest.fixture
def recorders() -> Iterator[list[Recorder]]:
    """Recorders put here are ended after the test, whatever happened."""
    made: list[Recorder] = []
    yield made
    for recorder in made:
        recorder.abandon()


def swarm(rods: int = 300, seed: int = 1, space_size: float = 40.0) -> Scene:
    """Rods at random; the activity rises with x."""
    values = np.random.default_rng(seed).random((rods, 4))
    values *= (space_size, space_size, 2 * np.pi, 1)
    values[:, 3] = values[:, 0] / space_size
    return Scene(values.astype(np.float32), space_size, length=4.0, radius=0.5, step=7, time=0.5)


def one_rod(
    x: float, y: float, theta: float = 0.0, activity: float = 1.0, space_size: float = 20.0
) -> Scene:
    """A single rod, core length 4 and radius 1."""
    rods = np.array([[x, y, theta, activity]], np.float32)
    return Scene(rods, space_size, length=4.0, radius=1.0)


def decoded(path: Path, size: tuple[int, int]) -> np.ndarray:
    """All frames of a movie, (frames, height, width, 3) uint8, as any player shows them."""
    command = [ffmpeg_program(), "-loglevel", "error", "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, size[1], size[0], 3)


def without_display(state: Path) -> dict[str, str]:
    """The environment of a command on a machine without a screen, with a log folder of its own."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    # Set here for the tests of the window.
    kept.pop("PYOPENGL_PLATFORM", None)
    return kept | {"PYTHONPATH": str(Path(__file__).parents[2]), "XDG_STATE_HOME": str(state)}
