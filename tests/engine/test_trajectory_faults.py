# SPDX-License-Identifier: GPL-3.0-or-later
"""No fault harms the frames of a trajectory, and none ends in anything but a plain message."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import gsd.hoomd
import numpy as np
import pytest

from engine import Snapshot
from engine.storage.errors import StorageError
from engine.storage.trajectory import Trajectory, TrajectoryWriter
from tests.engine.trajectories import ABOUT, assert_same, read, snapshot, write

ROOT = Path(__file__).parents[2]


def test_an_existing_file_is_not_touched(tmp_path):
    path = tmp_path / "run.gsd"
    path.write_bytes(b"mine")
    with pytest.raises(StorageError, match=r"run\.gsd exists already\. Give another name"):
        TrajectoryWriter(path, ABOUT)
    assert path.read_bytes() == b"mine"


def test_of_two_writers_to_one_name_the_second_is_refused(tmp_path):
    first = TrajectoryWriter(tmp_path / "run.gsd", ABOUT)
    with pytest.raises(StorageError, match="exists already"):
        TrajectoryWriter(tmp_path / "run.gsd", ABOUT)
    first.write(snapshot())
    first.close()
    assert len(read(tmp_path / "run.gsd")) == 1


def test_a_folder_that_is_missing_or_goes_away_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"nowhere/run\.gsd: No such file"):
        TrajectoryWriter(tmp_path / "nowhere" / "run.gsd", ABOUT)
    folder = tmp_path / "folder"
    folder.mkdir()
    trajectory = TrajectoryWriter(folder / "run.gsd", ABOUT)
    trajectory.write(snapshot())
    shutil.rmtree(folder)
    with pytest.raises(StorageError, match=r"Frame 1 .*run\.gsd cannot be written: No such file"):
        trajectory.write(snapshot())
    with pytest.raises(StorageError, match="is closed"):
        trajectory.write(snapshot())


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="a folder that even root may not")
def test_a_folder_that_may_not_be_written_is_named():
    with pytest.raises(StorageError, match=r"cannot be written to /proc/run\.gsd.*another place"):
        TrajectoryWriter("/proc/run.gsd", ABOUT)


def test_a_trajectory_without_frames_leaves_no_file(tmp_path):
    with TrajectoryWriter(tmp_path / "run.gsd", ABOUT):
        pass
    assert not list(tmp_path.iterdir())


def test_a_file_of_no_frames_is_refused(tmp_path):
    begun = TrajectoryWriter(tmp_path / "run.gsd", ABOUT)
    with pytest.raises(StorageError, match=r"run\.gsd holds no whole frame"):
        Trajectory(tmp_path / "run.gsd")
    begun.close()


FULL = """
import resource, sys
from tests.engine.trajectories import ABOUT, snapshot
from engine import Snapshot
from engine.storage.errors import StorageError
from engine.storage.trajectory import TrajectoryWriter
path, limit, rods = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with TrajectoryWriter(path, ABOUT) as trajectory:
        for step in range(100):
            trajectory.write(snapshot(rods, step))
except StorageError as problem:
    print(problem)
"""


def in_a_child(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


# A thousand bytes do not even hold a beginning. With some of the others it is the list of frames
# that has no room to grow; 70,000 rods are more than gsd buffers.
@pytest.mark.parametrize(
    ("limit", "rods", "least"),
    [(1_000, 5, 0), (73_000, 5, 1), (80_000, 5, 9), (90_000, 5, 19), (7_000_000, 70_000, 2)],
)
def test_a_full_disk_keeps_the_frames_that_were_written(tmp_path, limit, rods, least):
    path = tmp_path / "run.gsd"
    done = in_a_child(FULL, path, limit, rods)
    assert done.returncode == 0, done.stderr
    if not least:
        assert "run.gsd: File too large. Choose another place, or make room." in done.stdout
        assert not path.exists()
        return
    said = re.match(r"Frame (\d+) of .*run\.gsd cannot be written: File too large\.", done.stdout)
    assert said, done.stdout
    frames = int(said[1])
    assert frames >= least
    assert f"The {frames} before are kept in it. Make room" in done.stdout
    with gsd.hoomd.open(path) as file:
        assert len(file) == frames
    kept = read(path)
    assert len(kept) == frames
    for step, got in enumerate(kept):
        assert_same(got, snapshot(rods, step))


KILLED = """
import os, signal, sys
from tests.engine.trajectories import ABOUT, snapshot
from engine.storage.trajectory import TrajectoryWriter
trajectory = TrajectoryWriter(sys.argv[1], ABOUT)
for step in range(20):
    trajectory.write(snapshot(step=step))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_program_loses_no_frame(tmp_path):
    path = tmp_path / "run.gsd"
    assert in_a_child(KILLED, path).returncode == -signal.SIGKILL
    with Trajectory(path) as trajectory, gsd.hoomd.open(path) as file:
        assert len(trajectory) == len(file) == 20
        assert_same(trajectory[19], snapshot(step=19))


def test_a_file_is_readable_while_it_is_written(tmp_path):
    with TrajectoryWriter(tmp_path / "run.gsd", ABOUT) as writer:
        for step in range(30):
            writer.write(snapshot(step=step))
            if step % 7 == 0:
                with Trajectory(tmp_path / "run.gsd") as read:
                    assert len(read) == step + 1
                    assert not read.cut
                    assert_same(read[step], snapshot(step=step))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """Thirty frames of ten rods: long enough for an index that was moved twice."""
    path = tmp_path_factory.mktemp("whole") / "run.gsd"
    return write(path, [snapshot(10, step) for step in range(30)]).read_bytes()


def what_comes_of(path: Path) -> tuple[list[Snapshot], str]:
    """What can be read, and why no more."""
    got = []
    try:
        with Trajectory(path) as trajectory:
            for one in trajectory:
                got.append(one)  # noqa: PERF402  (what was read before an error counts)
            return got, "cut" if trajectory.cut else ""
    except StorageError as problem:
        return got, str(problem)


def test_a_file_cut_anywhere_keeps_its_whole_frames_or_is_refused(tmp_path, whole):
    path = tmp_path / "run.gsd"
    written = [snapshot(10, step) for step in range(30)]
    seen = set()
    for size in [*range(0, len(whole), 131), len(whole) - 1, len(whole)]:
        path.write_bytes(whole[:size])
        got, why = what_comes_of(path)
        assert why == "" if len(got) == 30 else why == "cut" if got else "run.gsd" in why
        for one, wrote in zip(got, written, strict=False):
            assert_same(one, wrote)
        seen.add(len(got))
    # All cuts behind the last list of frames leave those before it.
    assert seen == {0, *range(min(seen - {0}), 31)}
    assert min(seen - {0}) < 25


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path, whole):
    path = tmp_path / "run.gsd"
    path.write_bytes(whole)
    with Trajectory(path) as trajectory:
        os.truncate(path, len(whole) - 3000)
        with pytest.raises(StorageError, match=r"Frame 29 of .*run\.gsd is damaged"):
            trajectory[29]
        assert_same(trajectory[0], snapshot(10, 0))


def test_damaged_bytes_crash_nothing(tmp_path, whole):
    rng = np.random.default_rng(3)
    path = tmp_path / "run.gsd"
    index = int(np.frombuffer(whole[:256], np.uint64)[1])
    places = [(0, 256), (index, index + 32 * 300), (0, len(whole))]
    refused = 0
    for trial in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(*places[trial % 3], 4):
            damaged[at] = int(rng.choice([0, 1, 127, 255, rng.integers(256)]))
        path.write_bytes(damaged)
        got, why = what_comes_of(path)
        assert all(np.isfinite(one.rods).all() for one in got)
        assert why in ("", "cut") or "run.gsd" in why
        refused += why not in ("", "cut")
    assert refused > 30


@pytest.mark.parametrize("number", [2**22, 2**33, 2**61 // 3, 2**64 - 1])
def test_sizes_are_checked_before_anything_is_allocated(tmp_path, whole, number):
    path = tmp_path / "run.gsd"
    index = int(np.frombuffer(whole[:256], np.uint64)[1])
    for at in (16, 32, index + 8, index + 32 * 7 + 8):  # of the list, of the names, of two chunks
        damaged = bytearray(whole)
        damaged[at : at + 8] = number.to_bytes(8, "little")
        path.write_bytes(damaged)
        tracemalloc.start()
        got, why = what_comes_of(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 30e6
        assert len(got) == 30 or "run.gsd" in why or why == "cut"


def other_program(path: Path) -> None:
    with gsd.hoomd.open(path, "w") as file:
        frame = gsd.hoomd.Frame()
        frame.configuration.box = [10, 10, 0, 0, 0, 0]
        frame.particles.N = 2
        frame.particles.position = [[0, 0, 0], [1, 1, 0]]
        file.append(frame)


def test_files_of_others_are_refused(tmp_path):
    path = tmp_path / "other.gsd"
    with pytest.raises(StorageError, match=r"There is no file .*other\.gsd"):
        Trajectory(path)
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        Trajectory(tmp_path)
    for content in (b"", b"GIF89a", b"x" * 1000):
        path.write_bytes(content)
        with pytest.raises(StorageError, match=r"other\.gsd is no trajectory"):
            Trajectory(path)
    other_program(path)
    with pytest.raises(StorageError, match=r"other\.gsd is a GSD file of another program \('gsd"):
        Trajectory(path)


def test_a_newer_format_says_so(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr("engine.storage.trajectory.FORMAT", 2)
        path = write(tmp_path / "run.gsd", [snapshot()])
    with pytest.raises(StorageError, match=r"run\.gsd was written by a newer version"):
        Trajectory(path)
