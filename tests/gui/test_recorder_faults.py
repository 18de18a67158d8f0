# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings that go wrong: what was complete stays, and a plain sentence says so."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from bacsim_gui import recorder as recorder_module
from bacsim_gui.encoder import ffmpeg_program, plain_reason
from bacsim_gui.movie_files import pictures, unfinished_recordings
from bacsim_gui.mp4 import frame_count
from bacsim_gui.recorder import Recorder, RecordingError
from tests.gui.conftest import decoded
from tests.gui.recordings import ROOT, SIZE, names, put_all, travelling, until_it_fails

pytestmark = pytest.mark.gl


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk]
    if os.name != "posix" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.parametrize(
    ("victim", "quality"),
    [("process", "share"), ("ffmpeg", "share"), ("process", "high"), ("process", "lossless")],
)
def test_a_killed_helper_is_said_and_what_was_written_stays(
    victim: str, quality: str, recorders, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path / "killed.mp4", SIZE, quality=quality)
    recorders.append(recorder)
    for frame in range(90):
        recorder.put(travelling(frame))
    helper = psutil.Process(recorder._process.pid)
    (helper if victim == "process" else helper.children()[0]).kill()
    said = until_it_fails(recorder)
    frames = frame_count(recorder.part)
    assert "ended" in said
    assert "signal 9" in said
    assert f"The first {frames} of " in said
    assert said.endswith(f"frames are in {recorder.part}, which can be played.")
    assert frames >= 90 - 60
    movie = decoded(recorder.part, SIZE)
    assert len(movie) == frames
    assert np.abs(movie[0].astype(int) - movie[20]).max() > 100


RECORD_FOR_EVER = """
import itertools, sys
from bacsim_gui.recorder import Recorder
from tests.gui.conftest import one_rod
recorder = Recorder(sys.argv[1], (320, 240), fps=int(sys.argv[2]), quality=sys.argv[3])
print(recorder._process.pid, flush=True)
for frame in itertools.count():
    recorder.put(one_rod((2 + 0.5 * frame) % 20, 10))
    print(frame + 1, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills process groups")
@pytest.mark.parametrize(
    ("victims", "fps", "quality"),
    [("program", 30, "share"), ("all", 30, "high"), ("program", 5, "lossless")],
)
def test_a_killed_program_leaves_all_but_two_seconds(
    victims: str, fps: int, quality: str, tmp_path: Path
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", RECORD_FOR_EVER, tmp_path / "killed.mp4", str(fps), quality],
        stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert program.stdout is not None
    with program.stdout as said:
        helper = psutil.Process(int(next(said)))
        put = next(n for n in map(int, said) if n >= 4 * fps)
        others = [helper, *helper.children(recursive=True)]
        # The group of the program, as a terminal or a batch system kills it; then, with "all",
        # everything at once, as when the machine runs out of memory.
        os.killpg(program.pid, signal.SIGKILL)
        if victims == "all":
            for process in others:
                # One may have ended by itself, once its program was gone.
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        put = max([put, *map(int, said.read().split())])
    program.wait()
    psutil.wait_procs(others)
    part = tmp_path / "killed.part.mp4"
    frames = frame_count(part)
    assert put - 2 * fps <= frames <= put + 1
    movie = decoded(part, SIZE)
    assert len(movie) == frames
    assert np.abs(movie[0].astype(int) - movie[fps]).max() > 100
    left = unfinished_recordings(tmp_path)
    assert [(one.path, one.frames, one.asked) for one in left] == [(part, frames, None)]


LIMITED = """
import resource, sys
from bacsim_gui.recorder import Recorder, RecordingError
from tests.gui.conftest import swarm
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
recorder = Recorder(sys.argv[1], (320, 240))
try:
    for frame in range(10_000):
        recorder.put(swarm(300, seed=frame))
except RecordingError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_file_that_may_not_grow_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path / "long.mp4"],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "The recording stopped: the file may not grow any further" in done.stdout
    part = tmp_path / "long.part.mp4"
    frames = frame_count(part)
    assert frames > 10
    assert f"The first {frames} of " in done.stdout
    assert len(decoded(part, SIZE)) >= frames


def test_a_full_disk_is_said_and_what_was_written_stays(recorders, small_disk: Path) -> None:
    recorder = Recorder(small_disk / "long.mp4", SIZE)
    recorders.append(recorder)
    said = until_it_fails(recorder, rods=300)
    assert "The recording stopped: the disk is full." in said
    frames = frame_count(recorder.part)
    assert frames > 10
    assert f"The first {frames} of " in said
    assert len(decoded(recorder.part, SIZE)) >= frames


def test_a_disk_that_is_full_at_the_end_keeps_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last copy fails, as ffmpeg fails on a full disk."""
    program = tmp_path / "ffmpeg"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *faststart*) echo "x: No space left on device" >&2; exit 1;; esac\n'
        f'exec {ffmpeg_program()} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    recorder = Recorder(tmp_path / "movie.mp4", SIZE)
    for frame in range(20):
        recorder.put(travelling(frame))
    with pytest.raises(RecordingError) as refused:
        recorder.finish()
    assert str(refused.value) == (
        "The recording stopped: the disk is full. The first 20 of 20 frames are in "
        f"{recorder.part}, which can be played."
    )
    assert frame_count(recorder.part) == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ffmpeg", "movie.part.mp4"]


def test_a_process_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module.protocol, "VERSION", 99)
    recorder = Recorder(tmp_path / "movie.mp4", SIZE)
    assert "the program and its recording process differ" in until_it_fails(recorder)
    assert list(tmp_path.iterdir()) == []


def test_a_size_beyond_the_card_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_LARGEST_SIDE", 1 << 20)
    recorder = Recorder(tmp_path / "huge.mp4", (100_000, 16))
    assert "A picture of 100000x16 is too large" in until_it_fails(recorder)


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        ("av_interleaved_write_frame(): No space left on device", 228, "the disk is full"),
        ("Disk quota exceeded", 1, "your disk quota is used up"),
        ("Unknown encoder 'libx264'", 1, "lacks an encoder"),
        ("one\nanother problem", 1, "the encoder ffmpeg failed: another problem"),
        ("", 1, "the encoder ffmpeg failed: no message"),
    ],
)
def test_the_reasons_of_ffmpeg_are_put_plainly(said: str, status: int, reason: str) -> None:
    assert reason in plain_reason(said, status)


def test_pictures_on_a_full_disk_stay(recorders, small_disk: Path) -> None:
    recorder = Recorder(small_disk / "pictures", SIZE)
    recorders.append(recorder)
    said = until_it_fails(recorder, rods=300)
    kept = len(pictures(recorder.part))
    assert kept > 2
    assert "The recording stopped: the disk is full. " in said
    assert said.endswith(f"The first {kept} of {recorder._put} pictures are in {recorder.part}.")
    assert names(recorder.part) == [f"{number:06}.png" for number in range(kept)]


def test_pictures_on_a_disk_that_becomes_read_only_stay(recorders, small_disk: Path) -> None:
    recorder = Recorder(small_disk / "pictures", SIZE)
    recorders.append(recorder)
    put_all(recorder, 3)
    while recorder.frames_written < 3:
        pass
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    said = until_it_fails(recorder)
    assert said.startswith("The recording stopped: the disk can only be read. The first 3 of ")
    assert names(recorder.part) == ["000000.png", "000001.png", "000002.png"]


@pytest.mark.parametrize("name", ["movie.mp4", "movie.webm", "pictures"])
def test_a_folder_that_vanishes_is_said(name: str, recorders, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "folder" / name, SIZE, quality="lossless")
    recorders.append(recorder)
    put_all(recorder, 5)
    while recorder.frames_written < 3:
        pass
    shutil.rmtree(tmp_path / "folder")
    with contextlib.suppress(RecordingError):
        put_all(recorder, 50)
    with pytest.raises(RecordingError) as refused:
        recorder.finish()
    assert str(refused.value) == (
        f"The recording stopped: {recorder.part} is no longer there. Nothing is left of it."
    )
    assert list(tmp_path.iterdir()) == []


def slow_ffmpeg(folder: Path, at: str) -> Path:
    """An ffmpeg that takes a minute over the job whose command says `at`."""
    program = folder / "slow-ffmpeg"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *{at}*) exec sleep 60;; esac\nexec {ffmpeg_program()} "$@"\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize(
    ("name", "at", "how"),
    [
        ("a.gif", "paletteuse", "cancel"),
        ("a.webm", "libvpx", "cancel"),
        ("a.mp4", "faststart", "cancel"),
        ("a.gif", "palettegen", "abandon"),
        ("a.gif", "paletteuse", "delete"),
    ],
)
def test_the_making_of_a_file_can_be_cancelled(
    name: str, at: str, how: str, recorders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "movies"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(slow_ffmpeg(tmp_path, at)))
    recorder = Recorder(folder / name, SIZE)
    recorders.append(recorder)
    put_all(recorder, 20)
    recorder.cancel()  # nothing is being made yet
    assert recorder.finishing is None
    said = []

    def finish() -> None:
        try:
            recorder.finish()
        except RecordingError as error:
            said.append(str(error))

    waiter = threading.Thread(target=finish)
    waiter.start()
    begun = 0.1 if at == "paletteuse" else 0.0
    while recorder.finishing is None or recorder.finishing < begun:
        waiter.join(0.01)
        assert waiter.is_alive()
    recorder.cancel() if how == "cancel" else recorder.abandon(delete=how == "delete")
    waiter.join()
    if how == "delete":
        assert list(folder.iterdir()) == []
        return
    assert names(folder) == ["a.part.mp4"]
    assert len(decoded(recorder.part, SIZE)) == frame_count(recorder.part) == 20
    if how == "cancel":
        assert said == [
            f"The recording stopped: the making of {name} was cancelled. The first 20 of 20 "
            f"frames are in {recorder.part}, which can be played."
        ]
    assert [one.frames for one in unfinished_recordings(folder)] == [20]


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_a_wrong_encoder_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho \"Unknown encoder 'libx264'\" >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    said = until_it_fails(Recorder(tmp_path / "movie.mp4", SIZE))
    assert "lacks an encoder for it" in said
    assert said.endswith("Nothing was recorded.")
    assert names(tmp_path) == ["ffmpeg"]
    # pictures need none
    pictures = Recorder(tmp_path / "pictures", SIZE)
    pictures.put(travelling(0))
    assert names(pictures.finish()) == ["000000.png"]
