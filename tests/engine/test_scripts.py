# SPDX-License-Identifier: GPL-3.0-or-later
"""What scripts use: frames of a run, and states from files, ours and others'."""

from dataclasses import replace

import gsd.hoomd
import numpy as np
import pytest

import engine
from engine import (
    Driver,
    Obstacle,
    ParameterError,
    Params,
    Setup,
    SimulationError,
    Snapshot,
    StorageError,
    Trajectory,
    TrajectoryWriter,
    load_checkpoint,
    load_snapshot,
    rollout,
    save_checkpoint,
)
from tests.engine.conftest import CROWD, CROWD_PARAMS
from tests.engine.trajectories import PARAMS, assert_same, snapshot, write


def test_every_public_name_is_there_and_says_what_it_is():
    assert dir(engine) == sorted(engine.__all__)
    for name in engine.__all__:
        public = getattr(engine, name)
        assert public.__name__ == name
        assert len(public.__doc__) > 40, name
    with pytest.raises(AttributeError, match="drive"):
        _ = engine.drive


@pytest.mark.parametrize(
    ("steps", "every", "expected"),
    [(20, 5, [0, 5, 10, 15, 20]), (12, 5, [0, 5, 10, 12]), (3, 9, [0, 3]), (0, 4, [0])],
)
def test_frames_come_at_the_steps_that_were_asked_for(crowd, steps, every, expected):
    crowd.advance(7)
    assert [frame.step - 7 for frame in crowd.frames(steps, every=every)] == expected
    assert crowd.step == 7 + steps


def test_what_a_loop_does_is_done_at_just_that_step(crowd):
    for frame in crowd.frames(30, every=10):
        assert crowd.step == frame.step
        if frame.step == 10:
            crowd.set(F_prop=3.0)
        if frame.step == 20:
            crowd.remove(crowd.ids[:5])
    crowd_bits = crowd.snapshot().rods.tobytes()
    crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    crowd.advance(10)
    crowd.set(F_prop=3.0)
    crowd.advance(10)
    crowd.remove(crowd.ids[:5])
    assert crowd.advance(10).rods.tobytes() == crowd_bits


def test_an_error_or_a_break_in_a_loop_leaves_the_driver_at_that_step(crowd):
    with pytest.raises(ZeroDivisionError):
        [1 / (16 - frame.step) for frame in crowd.frames(100, every=8)]
    assert crowd.step == 16
    for frame in crowd.frames(100, every=8):
        if frame.step == 32:
            break
    assert crowd.advance(8).step == 40
    bits = crowd.snapshot().rods.tobytes()
    crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    assert crowd.advance(40).rods.tobytes() == bits


def test_a_step_that_cannot_be_trusted_ends_the_frames(crowd):
    seen = []

    def watch() -> None:
        for frame in crowd.frames(400, every=10):
            seen.append(frame.step)
            crowd.set(dt=0.003 if frame.step < 20 else 3.0)

    with pytest.raises(SimulationError, match="dt"):
        watch()
    assert seen == [0, 10, 20]
    assert crowd.step == 20


@pytest.mark.parametrize(("steps", "every", "name"), [(-1, 5, "steps"), (10, 0, "every")])
def test_impossible_numbers_of_steps_are_refused_before_the_first(crowd, steps, every, name):
    with pytest.raises(ParameterError, match=f"{name} = "):
        crowd.frames(steps, every=every)
    with pytest.raises(TypeError):
        crowd.frames(2.5, every=5)


def test_a_run_begins_with_a_frame_or_a_checkpoint(crowd, tmp_path):
    """With its rods, their names, its parameters, its obstacles, its step and its time."""
    wall = Obstacle(4.0, 5.0, radius=1.0)
    crowd.set_obstacles([wall])
    crowd.remove(crowd.ids[10:20])
    crowd.set(F_prop=6.0)
    with TrajectoryWriter(tmp_path / "run.gsd") as file:
        for frame in crowd.frames(20, every=10):
            file.write(frame)
    save_checkpoint(tmp_path / "run.bacsim", crowd.checkpoint())
    last = crowd.snapshot()
    for name, number in (("run.gsd", -1), ("run.bacsim", -1)):
        found = load_snapshot(tmp_path / name, number)
        assert_same(found, last)
        assert found.obstacles == (wall,)
    assert load_snapshot(tmp_path / "run.gsd", 1).step == 10
    begun = Driver.from_snapshot(found, seed=3)
    assert_same(begun.snapshot(), replace(last, observables=begun.snapshot().observables))
    assert begun.setup == Setup(rods=140)
    assert begun.obstacles == (wall,)
    end = crowd.advance(5)
    np.testing.assert_allclose(begun.advance(5).rods, end.rods, atol=1e-4)
    resumed = Driver.resumed(load_checkpoint(tmp_path / "run.bacsim"))
    assert resumed.advance(5).rods.tobytes() == end.rods.tobytes()


def test_a_run_and_a_rollout_that_begin_with_a_state_follow_its_laws(tmp_path, quickly_compiled):
    setup = Setup(rods=70, kernel="neighbours", drag="anisotropic", boundary="walls")
    driver = Driver(setup, Params(space_size=30.0, dt=0.002), seed=2)
    begin = driver.advance(50)
    save_checkpoint(tmp_path / "run.bacsim", driver.checkpoint())
    with TrajectoryWriter(tmp_path / "run.gsd") as file:
        file.write(begin)
    end = driver.advance(20)
    for name in ("run.gsd", "run.bacsim"):
        found = load_snapshot(tmp_path / name)
        assert found.laws == setup.laws
        got = rollout(found, found.params, 20)
        np.testing.assert_allclose(got.pos, end.pos, atol=3e-5)
    begun = Driver.from_snapshot(begin)
    assert begun.setup == replace(setup, kernel="auto")
    np.testing.assert_allclose(begun.advance(20).pos, end.pos, atol=3e-5)


def test_another_number_of_rods_is_refused(crowd):
    with pytest.raises(ParameterError, match="rods = 7 does not match a start of 150 rods"):
        Driver.from_snapshot(crowd.snapshot(), Setup(rods=7))


def test_a_trajectory_that_keeps_some_of_the_rods_begins_no_run(tmp_path):
    path = write(tmp_path / "some.gsd", [snapshot(40)], rods=10)
    with pytest.raises(StorageError, match="one rod in 4"):
        load_snapshot(path)
    with Trajectory(path) as frames:
        assert frames[0].n == 10


def test_files_that_are_none_are_refused(crowd, tmp_path):
    (tmp_path / "text.gsd").write_text("hello")
    (tmp_path / "text.bacsim").write_text("hello")
    for name in ("text.gsd", "text.bacsim", "missing.gsd", "missing.bacsim"):
        for params in (None, PARAMS):
            with pytest.raises(StorageError, match=name):
                load_snapshot(tmp_path / name, params=params)
    with pytest.raises(StorageError, match=r"end in \.bacsim"):
        save_checkpoint(tmp_path / "kept.npz", crowd.checkpoint())
    path = write(tmp_path / "run.gsd", [snapshot()])
    with pytest.raises(IndexError, match="1 frames, and no frame 1"):
        load_snapshot(path, 1)
    save_checkpoint(tmp_path / "kept.bacsim", crowd.checkpoint())
    with pytest.raises(IndexError, match=r"one state, and has no frame 1"):
        load_snapshot(tmp_path / "kept.bacsim", 1)
    with pytest.raises(ParameterError, match="holds its own"):
        load_snapshot(path, params=PARAMS)


OTHERS = Params(space_size=20.0, length=3.0)


def other_frame(**particles: object) -> gsd.hoomd.Frame:
    """Three rods, as another program writes them: at the edge, in the middle, upside down."""
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [20, 20, 0, 0, 0, 0]
    frame.configuration.step = 12
    frame.particles.N = 3
    frame.particles.position = np.array([[-10, 0, 0], [0, 0, 0], [9, 3, 0]], np.float32)
    half = np.array([0.0, 0.7, -1.5]) / 2
    zero = np.zeros(3)
    frame.particles.orientation = np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1)
    for name, value in particles.items():
        setattr(frame.particles, name, value)
    return frame


def written(path, *frames: gsd.hoomd.Frame):
    with gsd.hoomd.open(path, "w") as file:
        for frame in frames:
            file.append(frame)
    return path


def test_rods_of_another_program_begin_a_run(tmp_path):
    frame = other_frame()
    logged = other_frame()
    logged.log["particles/activity"] = np.array([0.0, 0.5, 1.0])
    path = written(tmp_path / "other.gsd", frame, logged)
    found = load_snapshot(path, 0, params=OTHERS)
    np.testing.assert_allclose(found.pos, [[0, 10], [10, 10], [19, 13]], atol=1e-5)
    np.testing.assert_allclose(found.theta, [0, 0.7, -1.5], atol=1e-6)
    assert found.activity.tolist() == [1, 1, 1]
    assert load_snapshot(path, params=OTHERS).activity.tolist() == [0, 0.5, 1]
    assert (found.step, found.params) == (12, OTHERS)
    assert isinstance(found, Snapshot)
    with pytest.raises(IndexError, match="2 frames"):
        load_snapshot(path, 2, params=OTHERS)


def test_a_lone_rod_of_another_program_may_lie_in_the_middle(tmp_path):
    frame = other_frame(N=1, position=[[0, 0, 0]], orientation=[[0, 0, 0, 1]])
    found = load_snapshot(written(tmp_path / "other.gsd", frame), params=OTHERS)
    np.testing.assert_allclose(found.rods, [[10, 10, np.pi, 1]], atol=1e-6)


def moved(*by: float) -> np.ndarray:
    return np.zeros((3, 3), np.float32) + np.array(by)


FAULTS = {
    "outside": ({"position": moved(0, 11, 0)}, "rod 0 lies outside of the box of 20"),
    "no number": ({"position": moved(np.nan, 0, 0)}, "position that is no number, of rod 0"),
    "above the plane": ({"position": moved(0, 0, 2)}, "rod 0 does not lie in the plane"),
    "out of the plane": (
        {"orientation": [[1, 0, 0, 0], [0.8, 0.6, 0, 0], [1, 0, 0, 0]]},
        "rod 1 points out of the plane",
    ),
    "no turn": ({"orientation": np.full((3, 4), 0.1)}, "rod 0 has an orientation that is no turn"),
    "no orientation": ({"orientation": None}, "holds no orientations"),
    "no place": ({"position": None}, "holds no positions"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_no_run_can_begin_with_is_told(tmp_path, fault):
    particles, words = FAULTS[fault]
    path = written(tmp_path / "other.gsd", other_frame(**particles))
    with pytest.raises(StorageError, match=words) as told:
        load_snapshot(path, params=OTHERS)
    assert "Start(pos, theta, activity)" in str(told.value)


@pytest.mark.parametrize("what", ["position", "orientation"])
def test_a_frame_of_another_number_of_rods_takes_nothing_from_the_first(tmp_path, what):
    fewer = other_frame(N=2, position=moved(0, 1, 0)[:2], orientation=[[0, 0, 0, 1]] * 2)
    setattr(fewer.particles, what, None)
    path = written(tmp_path / "other.gsd", other_frame(), fewer)
    assert load_snapshot(path, 0, params=OTHERS).n == 3
    with pytest.raises(StorageError, match=f"Frame 1 of .* holds no {what}s"):
        load_snapshot(path, params=OTHERS)
    same = other_frame(**{what: None})
    same.configuration.step = 13  # gsd drops a frame in which nothing is new
    path = written(tmp_path / "same.gsd", other_frame(), same)
    first, last = (load_snapshot(path, k, params=OTHERS) for k in (0, 1))
    np.testing.assert_array_equal(first.rods, last.rods)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (None, "params = None is missing"),
        (replace(OTHERS, space_size=25.0), "space_size = 25.0 is not the side.*Give 20"),
        (replace(OTHERS, length=9.0), "space_size = 20.0 is too small for these rods"),
    ],
)
def test_parameters_that_do_not_fit_the_file_are_told(tmp_path, params, words):
    path = written(tmp_path / "other.gsd", other_frame())
    with pytest.raises(ParameterError, match=words):
        load_snapshot(path, params=params)


def test_a_box_that_is_no_square_is_told(tmp_path):
    frame = other_frame()
    frame.configuration.box = [20, 30, 0, 0, 0, 0]
    with pytest.raises(StorageError, match="no square"):
        load_snapshot(written(tmp_path / "other.gsd", frame), params=OTHERS)
