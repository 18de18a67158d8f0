# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim run`, `movie`, `render`, `replay` and `show` as users call them."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from bacsim_gui import timeline as timelines
from bacsim_gui.movie_files import metadata
from engine.obstacle import Obstacle
from engine.storage import checkpoint
from engine.storage.trajectory import Trajectory
from tests.gui.commands import serving
from tests.gui.conftest import decoded, without_display

SMALL = ("--preset", "swarming", "--rods", "120")
SET_UP = ("--obstacle", "20,20,3")
OBSTACLES = (Obstacle(20, 20, radius=3),)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """No display, and folders of the test's own."""
    return without_display(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def bacsim(environment, folder):
    with serving(environment, folder) as commands:
        yield commands


@pytest.fixture(scope="module")
def ran(bacsim, folder):
    """A run with all that it can keep."""
    (said,) = bacsim.all_of(
        ("run", *SMALL, *SET_UP, "--steps", "200", "--every", "50", "--out", "run.gsd", "--keep",
         "40", "--observables", "run.csv", "--checkpoint", "run.bacsim"),
    )  # fmt: skip
    for name in ("run.gsd: 5 frames", "run.csv: 5 rows", "run.bacsim: step 200"):
        assert name in said
    return folder


@pytest.fixture(scope="module")
def filmed(bacsim, folder):
    """A short movie, whose timeline lies beside it."""
    bacsim.all_of(
        ("movie", *SMALL, "--seconds", "0.4", "--fps", "10", "--size", "160x120", "--out",
         "small.mp4", "--quality", "lossless", "--time-a-frame", "0.05", "--skip", "0.1",
         "--background", "black"),
    )  # fmt: skip
    return folder


def test_a_run_leaves_trajectory_table_checkpoint_and_timeline(bacsim, ran):
    with Trajectory(ran / "run.gsd") as frames:
        assert [frame.step for frame in frames] == [0, 50, 100, 150, 200]
        assert 35 <= frames[0].n <= 45
        assert frames.about["title"] == "Swarming"
        assert frames[4].obstacles == OBSTACLES
    kept = checkpoint.load(ran / "run.bacsim").checkpoint
    assert (kept.step, kept.obstacles) == (200, OBSTACLES)
    rows = (ran / "run.csv").read_text().splitlines()
    assert len(rows) == 6
    assert rows[0].startswith("step,time,rods,active_fraction")
    bacsim.all_of(("export", "run.gsd", "--out", "again.csv"))
    # A trajectory keeps all that a row tells, of all rods but the number of those in it.
    again = (ran / "again.csv").read_text().splitlines()
    assert [row.split(",")[3:] for row in again] == [row.split(",")[3:] for row in rows]
    assert [e.kind for e in timelines.load(ran / "run.gsd.timeline").events].count("frame") == 5


def test_a_run_goes_on_from_its_checkpoint_with_the_same_bits(bacsim, ran):
    *_, said = bacsim.all_of(
        ("run", "--resume", "run.bacsim", "--steps", "100", "--every", "50", "--out", "on.gsd"),
        ("run", *SMALL, *SET_UP, "--steps", "300", "--every", "50", "--out", "whole.gsd"),
        ("replay", "on.gsd"),
    )
    assert "3 recorded states, every one with the same bits" in said
    with Trajectory(ran / "on.gsd") as on, Trajectory(ran / "whole.gsd") as whole:
        assert [frame.step for frame in on] == [200, 250, 300]
        for at, frame in enumerate(on):
            np.testing.assert_array_equal(frame.rods, whole[at + 4].rods)


def test_a_resumed_run_takes_live_parameters_and_no_others(bacsim, ran):
    line = ("run", "--resume", "run.bacsim", "--steps", "10", "--every", "10")
    (taken, *_), (refused, _, said) = bacsim.many(
        (*line, "--F_prop", "3", "--out", "slow.gsd"), (*line, "--rods", "50", "--out", "x.gsd")
    )
    assert (taken, refused) == (0, 2)
    assert "--rods and --resume exclude" in said
    with Trajectory(ran / "slow.gsd") as frames:
        assert frames[0].params.F_prop == 3


def test_files_that_are_there_are_kept(bacsim, ran):
    before = {name: (ran / name).read_bytes() for name in ("run.gsd", "run.csv", "run.bacsim")}
    line = ("run", *SMALL, "--steps", "10")
    (first, *said), *others = bacsim.many(
        (*line, "--out", "run.gsd"), (*line, "--observables", "run.csv"),
        (*line, "--checkpoint", "run.bacsim"),
    )  # fmt: skip
    assert first == 0
    assert "run-2.gsd" in "".join(said)
    assert "run.gsd is taken" in "".join(said)
    for status, _, said in others:
        assert status == 2
        assert "exists already" in said
    assert before == {name: (ran / name).read_bytes() for name in before}


RESUME = ("run", "--resume", "run.bacsim", "--steps", "9", "--out", "a.gsd")
REFUSED = {
    (*RESUME, "--seed", "7"): "--seed and --resume exclude each other",
    (*RESUME, "--preset", "turbulence"): "--preset and --resume exclude each other",
    (*RESUME, "--threads", "0"): "threads",
    ("run", "--steps", "9", "--checkpoint", "nowhere/x.bacsim"): "Is there a folder nowhere",
    ("run", "--steps", "9", "--observables", "x.txt"): ".csv or .parquet",
    ("movie", "--out", "a.mp4", "--time-a-frame", "1e9"): "time-a-frame",
    ("movie", "--out", "a.mp4", "--skip", "1e9"): "skip",
    ("movie", "--out", "a.mp4", "--colormap", "nope"): "nope",
    ("movie", "--out", "a.mp4", "--color-by", "sped"): "use one of activity, heading, speed",
    ("movie", "--out", "a.mp4", "--field", "curl"): "use one of none, density, vorticity",
    ("movie", "--out", "a.mp4", "--color-range", "3"): "color-range = '3' is no pair",
    ("movie", "--out", "a.mp4", "--color-range", "3,2"): "second number must be larger",
    ("movie", "--out", "."): "no name of a file",
    ("render", "run.gsd", "--out", "a.mp4", "--center", "5"): "Give two numbers",
    ("run", "--steps", "10"): "Nothing would be kept",
    ("run", "--steps", "0", "--out", "a.gsd"): "steps",
    ("run", "--steps", "9", "--out", "a.mp4"): "must end in .gsd",
    ("movie", "--out", "a.gsd"): "bacsim run",
    ("movie", "--out", "a.mp4", "--size", "161x120"): "odd",
    ("movie", "--out", "a.mp4", "--background", "pink"): "pink",
    ("movie", "--out", "a.avi"): "a.avi",
    ("render", "run.gsd", "--out", "a.mp4", "--zoom", "0"): "zoom",
}
FAILED = {
    ("show", "/"): "is no file",
    ("show", "/dev/null"): "is no file",
    ("run", *SMALL, "--steps", "5", "--out", "/proc/x.gsd"): "/proc",
    ("render", "none.gsd", "--out", "a.mp4"): "no file none.gsd",
    ("render", "other.txt", "--out", "a.mp4"): "no other.txt.timeline",
    ("replay", "other.txt"): "other.txt.timeline cannot be read",
    ("run", "--resume", "run.gsd", "--steps", "9", "--out", "a.gsd"): "no checkpoint",
    ("show", "other.txt"): "says nothing of bacsim",
    ("show", "none.mp4"): "no file",
    ("render", "run.gsd", "--from", "900", "--out", "a.mp4"): "steps 0 to 200",
}


def test_what_a_command_line_cannot_mean_is_refused_in_one_line(bacsim, ran):
    (ran / "other.txt").write_text("of another program")
    asked = {**REFUSED, **FAILED}
    for (argv, says), (status, out, said) in zip(asked.items(), bacsim.many(*asked), strict=True):
        assert says in said, (argv, said)
        assert out == "", (argv, out)
        # A run that was begun has said so.
        assert len(said.splitlines()) == 1 + said.startswith("Swarming"), said
        assert status == (2 if argv in REFUSED else 1), argv
    assert not list(ran.glob("a.*"))


def test_show_tells_what_each_file_holds(bacsim, ran, filmed):
    trajectory, kept, _, resumed, timeline, movie = bacsim.all_of(
        ("show", "run.gsd"),
        ("show", "run.bacsim"),
        ("run", "--resume", "run.bacsim", "--steps", "10", "--F_prop", "3", "--checkpoint",
         "on.bacsim"),
        ("show", "on.bacsim"),
        ("show", "small.mp4.timeline"),
        ("show", "small.mp4", "--json"),
    )  # fmt: skip
    assert "frames             5" in trajectory
    assert "record: file = run.gsd" in trajectory
    assert "step               200" in kept
    assert "--resume run.bacsim" in kept
    assert "{'step': 200, 'set': {'F_prop': 3.0}}" in resumed
    assert "the last at step" in timeline
    movie = json.loads(movie)
    assert movie["command"] == "bacsim render small.mp4.timeline --out small.mp4"
    assert [kind for event in movie["timeline"] for kind in event if kind != "step"] == [
        "record", *["frame"] * 4,
    ]  # fmt: skip


def test_a_movie_is_rendered_again_with_the_same_pictures(bacsim, filmed):
    bacsim.all_of(
        ("render", "small.mp4", "--out", "again.mp4"),
        ("replay", "small.mp4.timeline", "--out", "small.gsd"),
        ("render", "small.gsd", "--out", "kept.mp4", "--size", "160x120", "--fps", "10",
         "--quality", "lossless", "--background", "black"),
    )  # fmt: skip
    first = decoded(filmed / "small.mp4", (160, 120))
    assert len(first) == 4
    assert first.std() > 5
    np.testing.assert_array_equal(first, decoded(filmed / "again.mp4", (160, 120)))
    # A trajectory keeps places and angles to a rounding of float32.
    kept = decoded(filmed / "kept.mp4", (160, 120)).astype(int)
    assert np.abs(first - kept).max() <= 2


def test_it_is_rendered_in_another_size_and_with_other_colours(bacsim, filmed):
    bacsim.all_of(
        ("render", "small.mp4.timeline", "--out", "large.mp4", "--size", "320x240", "--colormap",
         "viridis", "--background", "white", "--title", "Large", "--show-time"),
    )  # fmt: skip
    large, small = (
        decoded(filmed / "large.mp4", (320, 240)),
        decoded(filmed / "small.mp4", (160, 120)),
    )
    assert len(large) == len(small) == 4
    assert large.mean() > small.mean() + 60
    assert metadata(filmed / "large.mp4")["source"] == "small.mp4.timeline"


def test_a_measure_is_shown_alike_in_movie_replay_and_trajectory(bacsim, filmed):
    """Each computes it in another way: along a run, along a replay, from a state in a file."""
    look = ("--color-by", "speed", "--quality", "lossless", "--show-heads")
    where = ("--size", "160x120", "--fps", "10")
    field = (*where, "--field", "vorticity", "--no-show-rods")
    bacsim.all_of(
        ("movie", *SMALL, "--seconds", "0.2", *where, *look, "--out", "fast.mp4"),
        ("render", "fast.mp4", "--out", "fast-again.mp4"),
        ("replay", "fast.mp4", "--out", "fast.gsd"),
        ("render", "fast.gsd", "--out", "fast-kept.mp4", *where, *look),
        ("render", "fast.mp4", "--out", "plain.mp4", "--color-by", "fixed"),
        ("render", "fast.mp4", "--out", "fast.mp4.png", *field),
        ("render", "fast.gsd", "--out", "fast.gsd.png", *field),
    )
    first, again, kept = (
        decoded(filmed / name, (160, 120)).astype(int)
        for name in ("fast.mp4", "fast-again.mp4", "fast-kept.mp4")
    )
    assert len(first) == 2
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - kept).max() <= 6
    assert np.abs(first - decoded(filmed / "plain.mp4", (160, 120)).astype(int)).max() > 40
    turning, kept = (
        np.asarray(Image.open(filmed / f"fast.{kind}.png")).astype(int) for kind in ("mp4", "gsd")
    )
    assert np.ptp(turning, axis=(0, 1)).max() > 30
    assert np.abs(turning - kept).max() <= 6


def test_no_measure_is_shown_of_rods_whose_neighbours_are_not_in_the_file(bacsim, filmed):
    ran, shown, *refused = bacsim.many(
        ("run", *SMALL, "--steps", "10", "--every", "10", "--keep", "20", "--out", "thin.gsd"),
        ("render", "thin.gsd", "--out", "thin.png", "--color-by", "heading"),
        ("render", "thin.gsd", "--out", "no.png", "--color-by", "cluster"),
        ("render", "thin.gsd", "--out", "no.png", "--field", "density"),
    )
    assert [status for status, *_ in (ran, shown, *refused)] == [0, 0, 1, 1]
    assert "Only one rod in 6 is in thin.gsd" in refused[0][2]
    assert "its density, cannot be known" in refused[1][2]
    assert (filmed / "thin.png").exists()
    assert not (filmed / "no.png").exists()


def test_a_name_may_hold_what_ffmpeg_reads_as_something_else(bacsim, filmed):
    names = ("12:30 a%d.mp4", "-dash.gif", "http:x.mp4")
    bacsim.all_of(*(("render", "small.mp4", f"--out={name}", "--size", "64x48") for name in names))
    for name in names:
        assert (filmed / name).exists()


def test_files_of_one_stem_have_a_timeline_each(bacsim, filmed, ran):
    """ran and filmed share a folder; here a run and a movie share a name."""
    *_, shown = bacsim.all_of(
        ("run", *SMALL, "--seed", "9", "--steps", "20", "--every", "10", "--out", "same.gsd"),
        ("movie", *SMALL, "--seconds", "0.2", "--fps", "10", "--size", "64x48", "--out",
         "same.mp4", *SET_UP),
        ("show", "same.mp4", "--json"),
    )  # fmt: skip
    movie = json.loads(shown)
    assert movie["seed"] == "1"
    assert movie["timeline"][0]["record"]["file"] == "same.mp4"
    assert timelines.load(filmed / "same.mp4.timeline").head.obstacles == OBSTACLES
    (filmed / "same.mp4.timeline").write_text("junk")
    (shown,) = bacsim.all_of(("show", "same.mp4"))
    assert "no timeline" in shown


def test_one_picture_is_the_last_state(bacsim, filmed):
    _, said = bacsim.all_of(
        ("render", "small.mp4.timeline", "--out", "last.png", "--size", "200x100"),
        ("render", "small.mp4.timeline", "--out", "frames", "--to", "60"),
    )
    about = metadata(filmed / "last.png")
    assert about["title"] == "Swarming"
    assert "frames: 3 frames" in said


def test_a_run_that_is_killed_keeps_all_but_its_last_moment(environment, tmp_path, bacsim):
    command = [
        sys.executable, "-m", "bacsim_gui.cli", "run", *SMALL, "--steps", "1000000", "--every",
        "20", "--out", "run.gsd", "--observables", "run.csv",
    ]  # fmt: skip
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        timeline, end = tmp_path / "run.gsd.timeline", time.monotonic() + 60
        while not timeline.exists() or timeline.read_text().count("frame") < 20:
            assert time.monotonic() < end
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    with Trajectory(tmp_path / "run.gsd") as frames:
        kept = len(frames)
    rows = (tmp_path / "run.csv").read_text().splitlines()
    events = timelines.load(timeline).events
    assert min(kept, len(rows) - 1, [e.kind for e in events].count("frame")) >= 19
    (said,) = bacsim.all_of(("replay", str(timeline), "--until", "200"))
    assert "11 recorded states, every one with the same bits" in said


def test_ctrl_c_ends_a_run_in_order(environment, tmp_path):
    command = [
        sys.executable, "-m", "bacsim_gui.cli", "run", *SMALL, "--steps", "1000000", "--every",
        "20", "--out", "run.gsd", "--checkpoint", "run.bacsim",
    ]  # fmt: skip
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        timeline, end = tmp_path / "run.gsd.timeline", time.monotonic() + 60
        while not timeline.exists() or timeline.read_text().count("frame") < 5:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "run.gsd" in said
    last = checkpoint.load(tmp_path / "run.bacsim").checkpoint.step
    with Trajectory(tmp_path / "run.gsd") as frames:
        assert frames[len(frames) - 1].step <= last
