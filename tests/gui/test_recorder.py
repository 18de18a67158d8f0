# SPDX-License-Identifier: GPL-3.0-or-later
"""Movies, written by the real process and the real ffmpeg, and read back as a player reads them."""

import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bacsim_gui.colors import colors
from bacsim_gui.movie_files import unfinished_recordings
from bacsim_gui.mp4 import frame_count, metadata
from bacsim_gui.offscreen import render
from bacsim_gui.recorder import Recorder, RecordingError
from bacsim_gui.scene import Scene
from bacsim_gui.view import View, ViewError, camera
from tests.gui.conftest import decoded, one_rod, swarm
from tests.gui.recordings import SIZE, info, travelling

pytestmark = pytest.mark.gl


def top_boxes(path: Path) -> list[bytes]:
    content, at, kinds = path.read_bytes(), 0, []
    while at < len(content):
        kinds.append(content[at + 4 : at + 8])
        at += int.from_bytes(content[at : at + 4], "big")
    return kinds


def test_the_movie_shows_every_rod_where_it_was_in_its_colour(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "one.mp4", SIZE, fps=30)
    scenes = [travelling(frame, activity=0.5) for frame in range(45)]
    for scene in scenes:
        recorder.put(scene)
    path = recorder.finish()
    assert path == tmp_path / "one.mp4"
    assert not recorder.part.exists()
    frames = decoded(path, SIZE)
    assert len(frames) == recorder.frames_written == frame_count(path) == 45
    at = camera(View(), 20.0, SIZE)
    for scene, frame in zip(scenes, frames, strict=True):
        wanted = render(scene, View(), SIZE, supersample=2).astype(int)
        assert np.abs(frame.astype(int) - wanted).mean() < 2.5
        column, row = at.to_picture(float(scene.rods[0, 0]) % 20, 10)
        if 1 < scene.rods[0, 0] < 19:
            shown = frame[int(row), int(column)].astype(int)
            assert np.abs(shown - colors("glow")[128]).max() < 30
    assert np.abs(frames[0].astype(int) - frames[20]).max() > 100


def test_the_file_plays_everywhere_and_starts_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "plays.mp4", (322, 200), fps=25)
    for frame in range(30):
        recorder.put(travelling(frame))
    path = recorder.finish()
    said = info(path)
    assert "h264 (High)" in said
    assert "yuv420p(tv, bt709, progressive), 322x200" in said
    assert "25 fps" in said
    assert "Duration: 00:00:01.20" in said
    kinds = top_boxes(path)
    assert kinds.index(b"moov") < kinds.index(b"mdat")
    assert b"moof" not in kinds


def test_what_made_the_movie_is_in_the_file(tmp_path: Path) -> None:
    about = {
        "title": "swarming, φ = 0.3",
        "seed": "17",
        "bacsim": "0.1.0",
        "parameters": json.dumps({"params": {"length": 4.0}, "setup": {"rods": 9}}),
        "note": "a;b=c\n\"quoted\" \\ 'single' %d",
    }
    recorder = Recorder(tmp_path / "about.mp4", SIZE, metadata=about, frames=3)
    for frame in range(3):
        recorder.put(travelling(frame))
    found = metadata(recorder.finish())
    assert json.loads(found.pop("parameters")) == json.loads(about.pop("parameters"))
    assert found == {**about, "frames_asked": "3"}
    # and the comment can be read by anyone
    assert '"seed": "17"' in info(recorder.path)


def test_the_view_is_that_of_the_window(tmp_path: Path) -> None:
    view = View(center=(3.0, 10.0), zoom=3.0, background="white", colormap="viridis")
    recorder = Recorder(tmp_path / "view.mp4", SIZE, view=view)
    scene = swarm(200)
    recorder.put(scene)
    frame = decoded(recorder.finish(), SIZE)[0].astype(float)
    wanted, other = (render(scene, v, SIZE, 2).astype(float) for v in (view, View()))
    assert np.abs(frame - wanted).mean() < 0.2 * np.abs(frame - other).mean()


def test_the_view_may_change_while_recording(tmp_path: Path) -> None:
    recorder, near = Recorder(tmp_path / "turn.mp4", SIZE), View(zoom=3.0, background="white")
    scene = replace(swarm(200), values={"F_prop": 3.0})
    told = replace(near, title="Near", show_time=True, parameters=("F_prop",))
    views = [None, None, near, None, told, View()]
    for view in views:
        recorder.put(scene, view)
    with pytest.raises(ViewError, match="zoom = 0"):
        recorder.put(scene, View(zoom=0))
    seen = [View(), View(), near, near, told, View()]
    for view, frame in zip(seen, decoded(recorder.finish(), SIZE), strict=True):
        error = [np.abs(frame - render(scene, v, SIZE, 2).astype(float)).mean() for v in seen]
        assert error[seen.index(view)] == min(error)


def test_geometry_may_change_while_recording(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "grows.mp4", SIZE)
    scenes = [Scene(one_rod(10, 10).rods, 20.0, 4.0, radius) for radius in (0.5, 1.0, 2.0)]
    scenes.append(Scene(swarm(400, space_size=80.0).rods, 80.0, 4.0, 0.5))
    scenes.append(Scene(np.empty((0, 4), np.float32), 20.0, 4.0, 1.0))
    for scene in scenes:
        recorder.put(scene)
    for scene, frame in zip(scenes, decoded(recorder.finish(), SIZE), strict=True):
        assert np.abs(frame.astype(int) - render(scene, View(), SIZE, supersample=2)).mean() < 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_that_records_loads_neither_jax_nor_qt(recorders, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "light.mp4", SIZE)
    recorders.append(recorder)
    for frame in range(30):
        recorder.put(travelling(frame))
    maps = Path(f"/proc/{recorder._process.pid}/maps").read_text()
    assert "libEGL" in maps
    assert "jaxlib" not in maps
    assert "PyQt6" not in maps
    recorder.finish()


@pytest.mark.parametrize(
    ("size", "fps", "named"),
    [
        ((1281, 720), 30, "width = 1281 is odd, which movies cannot be: use 1280 or 1282"),
        ((1280, 721), 30, "height = 721 is odd"),
        ((0, 720), 30, "width = 0 is not possible"),
        ((1280, 40000), 30, "height = 40000 is not possible"),
        ((320, 240), 0, "fps = 0 is not possible"),
        ((320, 240), 1000, "fps = 1000 is not possible"),
        ((320, 240), float("nan"), "fps = nan is not possible"),
    ],
)
def test_an_impossible_movie_is_refused_by_name(
    size: tuple[int, int], fps: float, named: str, tmp_path: Path
) -> None:
    with pytest.raises(RecordingError) as refused:
        Recorder(tmp_path / "no.mp4", size, fps)
    assert named in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_other_things_that_cannot_be_recorded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RecordingError, match=r"movie\.avi does not end in \.mp4, \.webm, \.gif or \.png"
    ):
        Recorder(tmp_path / "movie.avi")
    with pytest.raises(ViewError, match="no-such-map"):
        Recorder(tmp_path / "movie.mp4", view=View(colormap="no-such-map"))
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", Path("/proc/nowhere")):
        with pytest.raises(RecordingError, match=f"cannot be written to the folder {folder}"):
            Recorder(folder / "movie.mp4")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    with pytest.raises(RecordingError, match="Permission denied"):
        Recorder(tmp_path / "locked" / "movie.mp4")


def test_a_missing_ffmpeg_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "no-ffmpeg"))
    with pytest.raises(RecordingError, match="pip install imageio-ffmpeg"):
        Recorder(tmp_path / "movie.mp4")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "new" / "folder" / "movie.mp4", SIZE)
    recorder.put(travelling(0))
    assert recorder.finish() == tmp_path / "new" / "folder" / "movie.mp4"


def test_no_file_is_ever_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("mine")
    (tmp_path / "a-2.part.mp4").write_text("left over")
    recorder = Recorder(tmp_path / "a.mp4", SIZE)
    assert recorder.path.name == "a-3.mp4"
    assert recorder.note == f"{tmp_path / 'a.mp4'} is taken, so the movie goes to {recorder.path}."
    recorder.put(travelling(0))
    # somebody else takes the name meanwhile
    recorder.path.write_text("theirs")
    path = recorder.finish()
    assert path.name == "a-3-2.mp4"
    assert frame_count(path) == 1
    assert (tmp_path / "a.mp4").read_text() == "mine"
    assert (tmp_path / "a-2.part.mp4").read_text() == "left over"
    assert recorder.path.read_text() == "theirs"


def test_two_movies_at_once_do_not_meet(tmp_path: Path) -> None:
    first, second = (Recorder(tmp_path / "a.mp4", SIZE) for _ in range(2))
    for frame in range(10):
        first.put(travelling(frame))
        second.put(travelling(2 * frame))
    assert (first.finish().name, second.finish().name) == ("a.mp4", "a-2.mp4")
    one, two = decoded(first.path, SIZE), decoded(second.path, SIZE)
    assert len(one) == len(two) == 10
    assert np.abs(one[8].astype(int) - two[4]).mean() < 1
    assert np.abs(one[8].astype(int) - two[8]).mean() > 1


def test_no_frame_is_no_movie(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "empty.mp4", SIZE)
    with pytest.raises(RecordingError, match="No frame was recorded"):
        recorder.finish()
    assert list(tmp_path.iterdir()) == []
    assert recorder.error == "No frame was recorded, so there is no movie."


def test_a_finished_movie_takes_no_more(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "done.mp4", SIZE)
    recorder.put(travelling(0))
    path = recorder.finish()
    assert recorder.finish() == path
    recorder.abandon()
    assert path.exists()
    with pytest.raises(RecordingError, match="is finished already"):
        recorder.put(travelling(1))


@pytest.mark.parametrize("delete", [True, False])
def test_an_abandoned_movie_stays_unfinished_or_goes(delete: bool, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "half.mp4", SIZE, frames=100)
    for frame in range(60):
        recorder.put(travelling(frame))
    recorder.abandon(delete=delete)
    with pytest.raises(RecordingError, match="The recording was stopped"):
        recorder.put(travelling(60))
    with pytest.raises(RecordingError):
        recorder.finish()
    left = unfinished_recordings(tmp_path)
    if delete:
        assert list(tmp_path.iterdir()) == []
        return
    assert [recorder.part] == [one.path for one in left]
    assert 30 <= left[0].frames <= 60
    assert f"It holds {left[0].frames} of 100 frames and plays as it is" in left[0].message
    assert len(decoded(recorder.part, SIZE)) == left[0].frames


def test_a_recording_in_progress_is_not_left_over(recorders, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "now.mp4", SIZE)
    recorders.append(recorder)
    for frame in range(60):
        recorder.put(travelling(frame))
    assert recorder.part.exists()
    assert unfinished_recordings(tmp_path) == []
    recorder.finish()
    assert unfinished_recordings(tmp_path) == []
    assert unfinished_recordings(tmp_path / "nowhere") == []


@pytest.mark.skipif(os.name != "posix", reason="stops a process by a signal")
def test_a_slow_recording_holds_the_engine_back_and_drops_nothing(
    recorders, tmp_path: Path
) -> None:
    recorder, done = Recorder(tmp_path / "slow.mp4", SIZE, fps=20), []
    recorders.append(recorder)
    recorder._process.send_signal(signal.SIGSTOP)

    def feed() -> None:
        for frame in range(60):
            recorder.put(travelling(frame))
            done.append(frame)

    feeder = threading.Thread(target=feed)
    feeder.start()
    ahead = 15  # three quarters of a second
    while len(done) < ahead:
        feeder.join(0.01)
    feeder.join(0.5)
    assert feeder.is_alive()
    assert len(done) == ahead
    recorder._process.send_signal(signal.SIGCONT)
    feeder.join()
    assert frame_count(recorder.finish()) == 60


@pytest.mark.skipif(os.name != "posix", reason="stops a process by a signal")
def test_abandoning_frees_who_waits_in_put(recorders, tmp_path: Path) -> None:
    recorder, said = Recorder(tmp_path / "stuck.mp4", SIZE), []
    recorders.append(recorder)
    recorder._process.send_signal(signal.SIGSTOP)

    def feed() -> None:
        try:
            while True:
                recorder.put(travelling(0))
        except RecordingError as error:
            said.append(str(error))

    feeder = threading.Thread(target=feed)
    feeder.start()
    feeder.join(0.5)
    assert feeder.is_alive()
    recorder.abandon()
    feeder.join()
    assert said[0].startswith("The recording was stopped.")
