# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of recordings share."""

import subprocess
from pathlib import Path

import pytest

from bacsim_gui.encoder import ffmpeg_program
from bacsim_gui.recorder import Recorder, RecordingError
from bacsim_gui.scene import Scene
from tests.gui.conftest import one_rod, swarm

SIZE = (320, 240)
ROOT = Path(__file__).parents[2]


def travelling(frame: int, activity: float = 1.0) -> Scene:
    """A rod that moves to the right by half a unit a frame, through the edge of the box."""
    return one_rod((2 + 0.5 * frame) % 20, 10, 0.0, activity)


def info(path: Path) -> str:
    """What ffmpeg says about a file."""
    command = [ffmpeg_program(), "-hide_banner", "-i", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def put_all(recorder: Recorder, frames: int = 10_000, rods: int = 0) -> None:
    for frame in range(frames):
        recorder.put(swarm(rods, seed=frame) if rods else travelling(frame))


def until_it_fails(recorder: Recorder, rods: int = 0) -> str:
    """Put frames until the recording refuses them; what it says."""
    with pytest.raises(RecordingError) as refused:
        put_all(recorder, rods=rods)
    with pytest.raises(RecordingError) as unfinished:
        recorder.finish()
    assert str(refused.value) == str(unfinished.value) == recorder.error
    return str(refused.value)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
