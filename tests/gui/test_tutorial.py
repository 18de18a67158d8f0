# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/tutorial.md, step by step: by hand in the window, then every command and the notebook."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest

from bacsim_gui.movie_files import frame_count, metadata
from bacsim_gui.presets import load_preset
from bacsim_gui.timeline import load, sidecar
from bacsim_gui.window import Window
from engine.storage import checkpoint
from engine.storage.trajectory import Trajectory
from tests.gui.conftest import decoded
from tests.gui.events import type_into, until

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.gl, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module")
def found_by_hand(qapp, folder):
    """Step 1, with few rods: a slider, M, another slider, M, the window is closed."""
    window = Window(load_preset("swarming", rods=150), "swarming", movie_folder=folder)
    window.show()
    until(lambda: window.frame is not None)
    rows = window.parameters.rows
    rows["activity_thresh"].slider.setFocus()
    for _ in range(5):
        QTest.keyClick(rows["activity_thresh"].slider, Qt.Key.Key_Right)
    for field, text in (("width_field", "320"), ("height_field", "240")):
        type_into(getattr(window.recording, field), text)
    window.transport.record.trigger()
    until(lambda: window.engine.status.movie_frames >= 2)
    type_into(rows["F_prop"].number, "14")
    seen = window.engine.status.movie_frames
    until(lambda: window.engine.status.movie_frames >= seen + 4)
    window.transport.record.trigger()
    until(lambda: window.engine.status.saved is not None)
    window.close()
    until(lambda: not window.engine.is_alive())
    movie = window.engine.status.saved
    sidecar(movie).rename(folder / "swarm.mp4.timeline")
    movie.rename(folder / "swarm.mp4")
    return load(folder / "swarm.mp4.timeline")


def test_every_step_of_the_tutorial_works(found_by_hand, folder, capsys, monkeypatch):
    frames = frame_count(folder / "swarm.mp4")
    assert frames >= 6
    assert found_by_hand.params.F_prop == 14
    assert found_by_hand.head.K == load_preset("swarming").K
    said = {}
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        for line in block.strip().splitlines():
            program, *arguments = shlex.split(line)
            assert program == "bacsim"
            said[arguments[0], arguments[1]] = run(folder, arguments)

    assert "F_prop = 14" in said["show", "swarm.mp4"]
    assert frame_count(folder / "swarm-4k.mp4") == frames
    assert metadata(folder / "swarm-4k.mp4")["source"] == "swarm.mp4.timeline"
    assert decoded(folder / "swarm-4k.mp4", (3840, 2160))[-1].std() > 10
    assert f"{frames} recorded states, every one with the same bits" in said["replay", "swarm.mp4"]
    with Trajectory(folder / "swarm.gsd") as trajectory:
        assert len(trajectory) == frames
        last = trajectory[frames - 1].step
    assert checkpoint.load(folder / "swarm.bacsim").checkpoint.step == last
    with Trajectory(folder / "later.gsd") as trajectory:
        assert [frame.step for frame in trajectory] == [last + 100 * i for i in range(5)]
    assert frame_count(folder / "later.mp4") == 5

    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(compile(code, "tutorial.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == frames


def run(folder: Path, arguments: list[str]) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"}
    done = subprocess.run(
        [sys.executable, "-m", "bacsim_gui.cli", *arguments], cwd=folder, capture_output=True,
        text=True, check=False, env=environment | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
