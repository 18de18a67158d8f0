# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of rods within walls: nothing is drawn across an edge, and a circle is one."""

import io
from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui import movie_protocol
from bacsim_gui.coarse import field_on_grid
from bacsim_gui.edits import Stroke, edit_of
from bacsim_gui.offscreen import render
from bacsim_gui.presets import Run, read_start, write_start
from bacsim_gui.scene import EdgeCopies, Scene
from bacsim_gui.shapes import obstacle_shapes
from bacsim_gui.trails import with_trails
from bacsim_gui.view import View, camera
from engine.params import Laws, Params, Setup
from engine.pick import contacts_of, nearest_rod, rods_within
from engine.snapshot import Snapshot
from engine.storage.trajectory import Trajectory, TrajectoryWriter

BOX, SIZE = 20.0, (300, 300)
BARE = View(background="black", show_box=False, show_color_bar=False, show_scale_bar=False)


def scene(rods, boundary: str, **values) -> Scene:
    return Scene(np.array(rods, np.float32), BOX, 4.0, 0.5, boundary=boundary, **values)


def snapshot(rods, boundary: str) -> Snapshot:
    params = Params(space_size=BOX)
    return Snapshot(np.array(rods, np.float32), 0, 0.0, params, laws=Laws(boundary=boundary))


@pytest.mark.gl
@pytest.mark.parametrize("boundary", ["periodic", "walls", "circle"])
def test_a_rod_at_the_edge_is_drawn_on_one_side_only_within_walls(boundary):
    picture = render(scene([[0.2, 10, 0, 1]], boundary), BARE, SIZE)[..., :3].max(axis=-1) > 0
    assert picture[:, :150].any()
    assert picture[:, 150:].any() == (boundary == "periodic")


@pytest.mark.gl
@pytest.mark.parametrize("field", ["none", "density"])
def test_a_circle_is_a_circle(field):
    """Its ground, and a field, end where it ends; the outline is a ring around it."""
    view = replace(BARE, background=View().background, show_box=True, field=field)
    shown = scene([[10, 10, 0, 1], [3, 10, 0, 1]], "circle", values=vars(Params()))
    picture = render(shown, view, SIZE).astype(int)
    at = camera(view, BOX, SIZE)
    columns, rows = np.meshgrid(np.arange(300) + 0.5, np.arange(300) + 0.5)
    out = np.hypot((columns - at.left) / at.scale - 10, (at.bottom - rows) / at.scale - 10)
    outward = (out - 10) * at.scale
    outside = np.array(view.colors.outside)
    assert np.all(picture[outward > 3][:, :3] == outside)
    ring = picture[(outward > 0.1) & (outward < 0.4)][:, :3]
    assert np.all(np.abs(ring - outside).sum(axis=1) > 0), "the ring has a gap"
    inside = picture[outward < -2][:, :3]
    assert np.all(np.abs(inside - outside).sum(axis=1) > 0)


def test_nothing_is_copied_within_walls():
    obstacles = [(0.0, 10.0, 2.0, 2.0, 0.0)]
    for boundary, copies in (("periodic", 1), ("walls", 0), ("circle", 0)):
        shown = scene([[0.2, 10, 0, 1]], boundary, obstacles=obstacles)
        assert len(EdgeCopies().of(shown)) == copies
        assert len(obstacle_shapes(shown)) == 1 + copies


def test_a_trail_goes_straight_on_within_walls():
    values = {**vars(Params()), "rods": 1.0}
    for boundary, length in (("periodic", 1.0), ("walls", 19.0)):
        before = scene([[0.5, 10, 0, 1]], boundary, values=values)
        now = replace(before, rods=np.array([[19.5, 10, 0, 1]], np.float32), time=0.5, step=1)
        lines = with_trails(now, [before]).trails
        assert lines is not None
        assert np.hypot(*(lines[0, 2:4] - lines[0, :2])) == pytest.approx(length)


def test_a_density_ends_at_the_wall():
    """An even crowd is even up to the wall, and one at a wall is not on the other side too."""
    at = (np.arange(40) + 0.5) / 2
    x, y = (part.ravel() for part in np.meshgrid(at, at))
    even = np.stack([x, y, 0 * x, 0 * x], axis=1)
    inside = np.hypot(x - 10, y - 10) < 10
    for boundary, rods in (("walls", even), ("circle", even[inside])):
        density = field_on_grid(scene(rods, boundary), "density")
        assert density is not None
        count = len(density)
        middles = (np.arange(count) + 0.5) * BOX / count - 10
        far = np.hypot(middles[:, None], middles)
        seen = density[far < 9.5] if boundary == "circle" else density
        assert np.ptp(seen) < 0.12 * seen.mean()
    lone = field_on_grid(scene([[0.3, 10, 0, 1]], "walls"), "density")
    assert lone is not None
    assert 0 < 1000 * lone[:, -1].max() < lone[:, 0].max()


def test_what_is_near_across_an_edge_is_not_near_within_walls():
    rods = [[0.3, 10, np.pi / 2, 1], [19.7, 10, np.pi / 2, 1]]
    for boundary, near in (("periodic", 1), ("walls", 0)):
        state = snapshot(rods, boundary)
        assert contacts_of(state, 0) == near
        assert len(rods_within(state, 19.9, 10, 0.3)) == 1 + near
        assert nearest_rod(state, 20.5, 10, 0.4) == (0 if near else 1)
    stroke = Stroke("remove", -0.1, 10, 0.5)
    edit = edit_of([stroke], snapshot(rods, "walls"))
    assert edit is not None
    assert edit.value == [0]


def test_files_know_the_walls(tmp_path):
    rods = [[0.0, 10, 1, 1], [np.nextafter(np.float32(BOX), np.float32(0)), 10, 2, 0]]
    state = snapshot(rods, "walls")
    with TrajectoryWriter(tmp_path / "a.gsd", {}) as writer:
        writer.write(state)
    with Trajectory(tmp_path / "a.gsd") as found:
        assert found[0].laws == state.laws
        np.testing.assert_array_equal(found[0].pos, state.pos)
    write_start(tmp_path / "start.npz", state)
    start = read_start(
        tmp_path / "start.npz", Run(setup=Setup(rods=2, boundary="walls"), params=state.params)
    )
    np.testing.assert_allclose(start.pos, state.pos, atol=1e-3)
    pipe = io.BytesIO()
    movie_protocol.send_frame(pipe, Scene.of(state))
    pipe.seek(0)
    received = movie_protocol.receive(pipe)
    assert received is not None
    assert movie_protocol.scene_of(received[1]).boundary == "walls"
