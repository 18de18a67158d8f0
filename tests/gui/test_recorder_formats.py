# SPDX-License-Identifier: GPL-3.0-or-later
"""Qualities and kinds of files, read back as a player or an image viewer reads them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bacsim_gui.bootstrap import child_environment
from bacsim_gui.movie_files import frame_count, metadata, settle, unfinished_recordings
from bacsim_gui.offscreen import render
from bacsim_gui.recorder import Recorder, RecordingError, check
from bacsim_gui.view import View
from tests.gui.conftest import decoded, swarm
from tests.gui.recordings import ROOT, SIZE, info, names, travelling

pytestmark = pytest.mark.gl

TOLD = View(title="Swärm", show_time=True, parameters=("F_prop",))
ABOUT = {
    "title": "swarming, φ = 0.3",
    "seed": "17",
    "parameters": json.dumps({"params": {"length": 4.0}}),
    "note": "a;b=c\n\"quoted\" \\ 'single' #d",
}


def states(count: int):
    """Rods that move and tell of themselves."""
    for number in range(count):
        scene = swarm(200, space_size=30.0)
        rods = scene.rods.copy()
        rods[:, 0] = (rods[:, 0] + 0.2 * number) % 30
        yield replace(scene, rods=rods, time=0.1 * number, values={"F_prop": 3.0})


def recorded(path: Path, quality: str, count: int = 8) -> Recorder:
    recorder = Recorder(path, SIZE, view=TOLD, metadata=ABOUT, frames=count, quality=quality)
    for scene in states(count):
        recorder.put(scene)
    recorder.finish()
    return recorder


def error(frames: np.ndarray, supersample: int) -> float:
    """The mean difference from the pictures that were drawn, in levels."""
    wanted = [render(scene, TOLD, SIZE, supersample) for scene in states(len(frames))]
    return float(np.abs(frames.astype(int) - np.array(wanted)).mean())


def as_written(found: dict[str, str]) -> dict[str, str]:
    """The metadata without what bacsim adds to it."""
    assert found.pop("bacsim")
    assert found.pop("frames_asked") == "8"
    return found


def test_higher_quality_is_nearer_to_what_was_drawn(tmp_path: Path) -> None:
    errors = []
    for quality, supersample, pixels in (
        ("share", 2, "yuv420p(tv, bt709"),
        ("high", 1, "yuv444p(tv, bt709"),
        ("lossless", 1, "gbrp(pc, gbr"),
    ):
        recorder = recorded(tmp_path / f"{quality}.mp4", quality)
        assert pixels in info(recorder.path)
        frames = decoded(recorder.path, SIZE)
        assert len(frames) == 8
        errors.append(error(frames, supersample))
        assert as_written(metadata(recorder.path)) == ABOUT
    assert errors[0] < 5
    assert errors[1] < 0.5 * errors[0]
    # Another OpenGL draws in the process, which may differ by a level here and there.
    assert errors[2] < 0.1


LOSSLESS = """
import sys
import numpy as np
from bacsim_gui.offscreen import render, surface
surface()  # before anything here prepares for a window
from bacsim_gui.recorder import Recorder
from tests.gui.conftest import decoded
from tests.gui.test_recorder_formats import SIZE, TOLD, states
recorder = Recorder(sys.argv[1], SIZE, view=TOLD, quality="lossless")
for scene in states(6):
    recorder.put(scene)
frames = decoded(recorder.finish(), SIZE)
wanted = np.array([render(scene, TOLD, SIZE) for scene in states(6)])
assert "PyQt6" not in sys.modules
assert wanted.std() > 10
assert np.array_equal(frames, wanted), np.abs(frames.astype(int) - wanted).max()
print("equal")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="draws through EGL, as the recording does")
def test_a_lossless_movie_has_the_bits_of_the_pictures(tmp_path: Path) -> None:
    environment = {k: v for k, v in child_environment().items() if k != "DISPLAY"}
    done = subprocess.run(
        [sys.executable, "-c", LOSSLESS, tmp_path / "exact.mp4"],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "equal\n", done.stderr


@pytest.mark.parametrize(
    ("name", "quality", "said", "worst"),
    [
        ("a.webm", "share", "vp9 (Profile 0), yuv420p(tv, bt709", 6),
        ("a.webm", "high", "vp9 (Profile 1), yuv444p(tv, bt709", 3),
        ("a.webm", "lossless", "vp9 (Profile 1), gbrp", 0.1),
        ("a.gif", "share", "gif, bgra", 4),
    ],
)
def test_other_movies_are_made_from_exact_pictures(
    name: str, quality: str, said: str, worst: float, tmp_path: Path
) -> None:
    recorder = recorded(tmp_path / name, quality)
    assert names(tmp_path) == [name]
    assert recorder.finishing == 1.0
    assert said in info(recorder.path)
    frames = decoded(recorder.path, SIZE)
    assert len(frames) == 8
    assert error(frames, 2 if quality == "share" else 1) < worst
    assert as_written(metadata(recorder.path)) == ABOUT


def test_a_gif_runs_for_ever_and_at_its_pace(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.gif", "share").path
    with Image.open(path) as image:
        assert image.info["loop"] == 0
        assert sum(_durations(image)) == pytest.approx(8 * 1000 / 30, abs=20)


def _durations(image: Image.Image):
    for number in range(8):
        image.seek(number)
        yield image.info["duration"]


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    recorder = recorded(tmp_path / "run", "lossless")
    assert recorder.path.name == "run-2"
    assert "is taken, so the movie goes to" in recorder.note
    assert names(tmp_path) == ["run", "run-2"]
    assert names(recorder.path) == [f"{number:06}.png" for number in range(8)]
    frames = np.array([Image.open(path) for path in sorted(recorder.path.iterdir())])
    assert error(frames, 1) < 0.1
    assert frame_count(recorder.path) == recorder.frames_written == 8
    assert as_written(metadata(recorder.path)) == ABOUT
    with Image.open(recorder.path / "000003.png") as image:
        assert image.mode == "RGB"
        assert image.info["Title"] == ABOUT["title"]
        assert image.info["Software"].startswith("bacsim ")


def test_pictures_left_over_are_named(recorders, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run", SIZE, frames=9)
    recorders.append(recorder)
    for frame in range(5):
        recorder.put(travelling(frame))
    while recorder.frames_written < 3:
        pass
    assert unfinished_recordings(tmp_path) == []
    recorder.abandon()
    (one,) = unfinished_recordings(tmp_path)
    assert one.path == recorder.part == tmp_path / "run.part"
    assert f"It holds {one.frames} of 9 pictures; rename it to keep it" in one.message
    other = Recorder(tmp_path / "run", SIZE)
    other.abandon(delete=True)
    assert other.path.name == "run-2"
    assert names(tmp_path) == ["run.part"]


@pytest.mark.parametrize("size", [(640, 480), (333, 201)])
def test_a_screenshot_is_one_picture_of_any_size(size: tuple[int, int], tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "one.png", size, view=TOLD, metadata=ABOUT)
    scenes = list(states(3))
    for scene in scenes:
        recorder.put(scene)
    path = recorder.finish()
    assert names(tmp_path) == ["one.png"]
    with Image.open(path) as image:
        assert image.size == size
        shown = np.asarray(image).astype(int)
    assert np.abs(shown - render(scenes[0], TOLD, size, 2)).mean() < 0.1
    assert np.abs(shown - render(scenes[2], TOLD, size, 2)).mean() > 1
    assert metadata(path)["seed"] == "17"
    assert Recorder(tmp_path / "one.png", size).path.name == "one-2.png"


def test_two_recordings_of_one_name_get_two_names(recorders, tmp_path: Path) -> None:
    for name, wanted in (("a", ["a", "a-2"]), ("b.gif", ["b-2.gif", "b.gif"])):
        pair = [Recorder(tmp_path / name, SIZE) for _ in range(2)]
        recorders += pair
        for recorder in pair:
            recorder.put(travelling(0))
        assert sorted(recorder.finish().name for recorder in pair) == wanted


@pytest.mark.parametrize("name", ["a.webm", "a.gif", "a.png", "a"])
def test_without_a_frame_there_is_nothing(name: str, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / name, SIZE)
    with pytest.raises(RecordingError, match="No frame was recorded"):
        recorder.finish()
    assert names(tmp_path) == []


def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    for name in ("file.txt", "folder"):
        made = tmp_path / f"made-{name}"
        taken = tmp_path / name
        made.mkdir() if name == "folder" else made.write_text("ours")
        taken.mkdir() if name == "folder" else taken.write_text("theirs")
        there = settle(made, taken)
        assert there.stem == f"{taken.stem}-2"
        assert not made.exists()
        assert taken.exists()
    assert (tmp_path / "file.txt").read_text() == "theirs"
    (tmp_path / "link.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "new").write_text("ours")
    assert settle(tmp_path / "new", tmp_path / "link.txt").name == "link-2.txt"


@pytest.mark.parametrize(
    ("name", "size", "fps", "named"),
    [
        ("a.gif", (320, 240), 60, "fps = 60 is not possible in a GIF: use 2 to 50"),
        ("a.gif", (2560, 1440), 30, "width = 2560 is not possible in a GIF: use 16 to 1920"),
        ("a.webm", (321, 240), 30, "width = 321 is odd"),
        ("a.jpg", (320, 240), 30, "a.jpg does not end in .mp4, .webm, .gif or .png"),
    ],
)
def test_what_a_kind_cannot_be_is_refused(name, size, fps, named: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError) as refused:
        check(size, fps, Path(name))
    assert named in str(refused.value)
    with pytest.raises(RecordingError):
        Recorder(tmp_path / name, size, fps)
    assert names(tmp_path) == []


def test_an_unknown_quality_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="quality = 'best' is unknown: use one of share, high"):
        Recorder(tmp_path / "a.mp4", SIZE, quality="best")
    assert names(tmp_path) == []
