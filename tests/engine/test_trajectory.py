# SPDX-License-Identifier: GPL-3.0-or-later
"""A trajectory holds what the run was, opens in other programs, and no fault harms its frames."""

import dataclasses
import json
import re
from pathlib import Path

import freud
import gsd.hoomd
import numpy as np
import pytest

from engine import Driver, Snapshot
from engine.params import Laws
from engine.schema import PARAM_FIELDS, ParameterError
from engine.storage.errors import StorageError
from engine.storage.trajectory import Trajectory, TrajectoryWriter, shape
from tests.engine.trajectories import ABOUT, PARAMS, assert_same, read, snapshot, write

ROOT = Path(__file__).parents[2]


def test_what_is_read_is_what_was_written(tmp_path):
    changed = dataclasses.replace(PARAMS, F_prop=1 / 3, length=2.0, space_size=60.0, dt=1e-4)
    written = [
        snapshot(),
        snapshot(step=50),
        snapshot(step=70, params=changed),
        # Rods came and went, and a run began anew.
        snapshot(37, step=2**33, ids=np.arange(3, 40, dtype=np.int32)),
        snapshot(55, step=90, ids=np.arange(1, 56, dtype=np.int32)),
        snapshot(40, step=0),
    ]
    with Trajectory(write(tmp_path / "run.gsd", written)) as trajectory:
        assert trajectory.about == ABOUT
        assert not trajectory.cut
        assert len(trajectory) == len(written)
        for got, wrote in zip(trajectory, written, strict=True):
            assert_same(got, wrote)
        assert_same(trajectory[-2], written[-2])
        for beyond in (6, -7):
            with pytest.raises(IndexError, match="6 frames"):
                trajectory[beyond]


def test_the_laws_of_a_run_are_told_and_those_given_where_none_are(tmp_path):
    laws = Laws(drag="anisotropic", contact="hertz")
    frame = dataclasses.replace(snapshot(), laws=laws)
    with Trajectory(write(tmp_path / "run.gsd", [frame, frame])) as trajectory:
        assert trajectory.laws == trajectory[1].laws == laws
    old = (tmp_path / "run.gsd").read_bytes()
    assert b'"laws"' in old
    # As a version writes that knew none, and one that knows more.
    older, newer = tmp_path / "older.gsd", tmp_path / "newer.gsd"
    older.write_bytes(old.replace(b'"laws"', b'"lost"'))
    newer.write_bytes(old.replace(b"hertz", b"gripe"))
    with Trajectory(older) as trajectory:
        assert trajectory[0].laws == Laws()
    with pytest.raises(StorageError, match=r"another version: contact = 'gripe'"):
        Trajectory(newer)


def test_frames_that_look_like_the_defaults_of_the_format_come_back(tmp_path):
    # One passive rod in the middle, pointing along x: all of it is what gsd assumes anyway.
    side = PARAMS.space_size
    rods = np.array([[side / 2, side / 2, 0, 0]], np.float32)
    other = np.array([[1, 2, 3, 1]], np.float32)
    written = [Snapshot(r, i, 0.0, PARAMS) for i, r in enumerate((rods, other, rods))]
    for got, wrote in zip(read(write(tmp_path / "one.gsd", written)), written, strict=True):
        assert_same(got, wrote)


def test_a_share_of_the_rods_is_followed_for_life(tmp_path):
    ids = np.setdiff1d(np.arange(60, dtype=np.int32), [0, 8, 17])
    written = [snapshot(40), snapshot(57, step=1, ids=ids), snapshot(1, step=2, ids=ids[-1:])]
    with Trajectory(write(tmp_path / "run.gsd", written, rods=10)) as trajectory:
        first, later, none = trajectory
        assert trajectory.one_rod_in == 4
    np.testing.assert_array_equal(first.ids, np.arange(0, 40, 4))
    np.testing.assert_allclose(first.rods, written[0].rods[::4], atol=1e-5)
    np.testing.assert_array_equal(later.ids, ids[ids % 4 == 0])
    np.testing.assert_allclose(later.rods, written[1].rods[ids % 4 == 0], atol=1e-5)
    assert none.n == 0
    assert none.observables == written[2].observables
    with pytest.raises(ParameterError, match="rods = 0"):
        TrajectoryWriter(tmp_path / "none.gsd", ABOUT, rods=0)
    # More than there are is all of them.
    with Trajectory(write(tmp_path / "all.gsd", written[:1], rods=99)) as trajectory:
        assert trajectory.one_rod_in == 1


def test_a_run_of_the_engine_comes_back(tmp_path, crowd: Driver):
    states = [crowd.snapshot(), crowd.advance(5)]
    crowd.remove([0, 3])
    crowd.set(length=3.5)
    states.append(crowd.advance(5))
    for got, wrote in zip(read(write(tmp_path / "run.gsd", states)), states, strict=True):
        assert_same(got, wrote)


def test_gsd_reads_each_frame_as_it_was(tmp_path):
    long = dataclasses.replace(PARAMS, length=5.0, space_size=60.0)
    ids = np.arange(1, 39, dtype=np.int32)
    written = [snapshot(), snapshot(38, 30, long, ids), snapshot(40, 60)]
    path = write(tmp_path / "run.gsd", written)
    with gsd.hoomd.open(path) as file:
        frames = list(file)
    for frame, wrote in zip(frames, written, strict=True):
        side = np.float32(wrote.params.space_size)
        assert frame.configuration.step == wrote.step
        assert frame.configuration.dimensions == 2
        np.testing.assert_array_equal(frame.configuration.box, [side, side, 0, 0, 0, 0])
        assert wrote.n == frame.particles.N
        assert frame.particles.types == ["rod"]
        assert not frame.particles.typeid.any()
        assert frame.particles.type_shapes == [shape(wrote.params)]
        place = frame.particles.position
        np.testing.assert_allclose(place[:, :2] + side / 2, wrote.pos, atol=1e-5)
        assert place.min() >= -side / 2
        assert place[:, :2].max() < side / 2
        assert not place[:, 2].any()
        np.testing.assert_array_equal(frame.log["particles/activity"], wrote.activity)
        given = np.arange(wrote.n) if wrote.ids is None else wrote.ids
        np.testing.assert_array_equal(frame.log["particles/id"], given)
        assert frame.log["bacsim/time"].tolist() == [wrote.time]
        assert frame.log["bacsim/step"].tolist() == [wrote.step]
        assert frame.log["bacsim/polar_order"].tolist() == [wrote.observables["polar_order"]]
        head = json.loads(frame.log["bacsim/about"].tobytes())
        assert head["about"] == ABOUT
        values = dict(zip(head["params"], frame.log["bacsim/params"].tolist(), strict=True))
        assert values == dataclasses.asdict(wrote.params)
        assert list(values) == [f.name for f in PARAM_FIELDS]
    series = gsd.hoomd.read_log(path, scalar_only=True)
    assert series["log/bacsim/time"].tolist() == [one.time for one in written]


def test_the_shape_is_the_rod():
    spec = shape(PARAMS)
    corners, rounding = np.array(spec["vertices"]), spec["rounding_radius"]
    least, most = corners.min(0) - rounding, corners.max(0) + rounding
    np.testing.assert_allclose(most, [PARAMS.length / 2 + PARAMS.radius, PARAMS.radius], rtol=1e-4)
    np.testing.assert_allclose(least, -most)
    # Counter-clockwise, as the schema asks.
    x, y = corners.T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0


def test_freud_sees_the_same_box_neighbours_and_directions(tmp_path, crowd: Driver):
    state = crowd.advance(20)
    with gsd.hoomd.open(write(tmp_path / "run.gsd", [state])) as file:
        frame = file[0]
    box = freud.box.Box.from_box(frame.configuration.box)
    side = state.params.space_size
    assert box.is2D
    assert box.Lx == box.Ly == pytest.approx(side)
    place = frame.particles.position
    np.testing.assert_allclose(box.wrap(place), place, atol=1e-5)  # all within
    near = freud.locality.AABBQuery.from_system(frame).query(
        place, {"r_max": 3.0, "exclude_ii": True}
    )
    found = {(int(i), int(j)) for i, j in near.toNeighborList()[:]}
    apart = state.pos[:, None] - state.pos[None]
    apart -= side * np.round(apart / side)
    pairs = np.argwhere(np.hypot(*apart.T) < 3.0)
    assert len(found) > 100
    assert found == {(int(i), int(j)) for i, j in pairs if i != j}
    # freud's order in three dimensions of vectors in a plane: S = 1/4 + 3/4 of ours.
    turned = freud.order.Nematic().compute(directions(frame.particles.orientation))
    ours = state.observables["nematic_order"]
    assert turned.order == pytest.approx(0.25 + 0.75 * ours, abs=1e-4)


def directions(orientation: np.ndarray) -> np.ndarray:
    """The x axis, turned by quaternions (N, 4) w, x, y, z."""
    w, x, y, z = orientation.T.astype(np.float64)
    turned = [w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)]
    return np.stack(turned, axis=1)


def test_a_rod_points_where_its_angle_says(tmp_path):
    one = snapshot(3)
    one.rods[:, 2] = 0.3, 2.5, -3.0
    with gsd.hoomd.open(write(tmp_path / "run.gsd", [one])) as file:
        turned = directions(file[0].particles.orientation)
    axis = np.stack([np.cos(one.theta), np.sin(one.theta), np.zeros(3)], axis=1)
    np.testing.assert_allclose(turned, axis, atol=1e-6)


def test_the_notebook_example_of_the_docs_runs(tmp_path, crowd: Driver, monkeypatch, capsys):
    states = [crowd.snapshot(), *(crowd.advance(10) for _ in range(3))]
    write(tmp_path / "run.gsd", states)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "files.md", "exec"), {})
    out = capsys.readouterr().out
    assert f"{states[-1].observables['nematic_order']:.3f}" in out
