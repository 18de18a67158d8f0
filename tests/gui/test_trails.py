# SPDX-License-Identifier: GPL-3.0-or-later
"""Trails: which states they go through, across edges, as rods come and go; and what is drawn."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bacsim_gui.offscreen import render
from bacsim_gui.past import Past
from bacsim_gui.recorder import Recorder
from bacsim_gui.scene import Scene
from bacsim_gui.trails import BODIES, PIECES, Trails, trail_start, trail_time, with_trails
from bacsim_gui.view import View, camera
from engine.params import Params
from engine.snapshot import Snapshot
from tests.gui.conftest import decoded

BOX = 60.0
# A free rod has the speed 1 and a body of 5, so a trail reaches back by 20.
PARAMS = replace(Params(), space_size=BOX, length=4.0, radius=0.5, F_prop=8.0, gamma=1.0)


def state(
    step: int, places: np.ndarray, ids: np.ndarray | None = None, params: Params = PARAMS
) -> Snapshot:
    """A state at the time 0.5 · step."""
    rods = np.zeros((len(places), 4), np.float32)
    rods[:, :2] = np.mod(places, params.space_size)
    return Snapshot(rods, step, 0.5 * step, params, {}, ids)


def scenes(way: Callable[[float], np.ndarray], steps: range) -> list[Scene]:
    return [Scene.of(state(step, way(0.5 * step))) for step in steps]


def last_and_before(all_of_them: list[Scene]) -> tuple[Scene, list[Scene]]:
    return all_of_them[-1], all_of_them[:-1]


def straight(time: float) -> np.ndarray:
    """One to the right, one up, one at rest."""
    return np.array([(10 + time, 5), (20, 55 + time), (40, 30)])


def lines_of(lines: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Those within a body width of a place and its images."""
    apart = lines[:, :4].reshape(-1, 2, 2) - place
    return lines[(np.abs(apart - BOX * np.rint(apart / BOX)).max(axis=(1, 2)) < 1)]


def test_a_trail_reaches_back_by_the_time_of_four_body_lengths():
    assert trail_time(Scene.of(state(0, straight(0)))) == pytest.approx(BODIES * 5)
    found = with_trails(*last_and_before(scenes(straight, range(100)))).trails
    level = found[np.abs(found[:, 1] - 5) < 0.1]
    now = 10 + 0.5 * 99
    assert level[:, 2].max() == pytest.approx(now)
    reach = now - level[:, 0].min()
    assert 20 * (1 - 1 / PIECES) < reach <= 20
    assert len(level) == PIECES
    # What is left of the time falls evenly from the rod on, without a jump between two lines.
    np.testing.assert_allclose(level[:, 4], 1 - (now - level[:, 0]) / 20, atol=1e-5)
    np.testing.assert_allclose(level[:, 5], 1 - (now - level[:, 2]) / 20, atol=1e-5)
    assert len(lines_of(found, np.array((40, 30)))) == 0


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_a_trail_lies_on_the_way_at_any_pace(every):
    def turning(time):
        return np.array([(30 + 8 * np.cos(time / 8), 30 + 8 * np.sin(time / 8))])

    found = with_trails(*last_and_before(scenes(turning, range(0, 211, every)))).trails
    for ends in (found[:, :2], found[:, 2:4]):
        np.testing.assert_allclose(np.hypot(*(ends - 30).T), 8, atol=1e-4)
    covered = np.hypot(*(found[:, 2:4] - found[:, :2]).T).sum()
    assert covered == pytest.approx(20, rel=0.15)


def test_one_who_follows_every_state_draws_what_one_draws_who_keeps_them():
    way, rng = np.zeros((30, 2)), np.random.default_rng(1)
    trails, past = Trails(), Past()
    for step in range(150):
        way = way + rng.normal(size=way.shape) * 0.8
        snapshot = state(step, way)
        past.add(snapshot)
        followed = trails.add(Scene.of(snapshot))
        kept = with_trails(Scene.of(snapshot), past.before(step, trail_start(followed)))
        np.testing.assert_array_equal(followed.trails, kept.trails)
    assert len(followed.trails) >= 30 * (PIECES - 1)
    # An earlier state, when one looks back, has the trails that it had.
    earlier = Scene.of(past.at(90))
    again = Trails()
    for step in range(91):
        wanted = again.add(Scene.of(past.at(step)))
    kept = with_trails(earlier, past.before(90, trail_start(earlier)))
    np.testing.assert_array_equal(kept.trails, wanted.trails)


def test_trails_against_sums_in_float64():
    """Each piece is the sum of the small steps in it, wherever the edges are."""
    rng = np.random.default_rng(2)
    ways = np.cumsum(np.concatenate([
        rng.random((1, 25, 2)) * BOX, rng.normal(size=(60, 25, 2)) * 0.9
    ]), axis=0)  # fmt: skip
    found = with_trails(
        *last_and_before([Scene.of(state(step, way)) for step, way in enumerate(ways)])
    ).trails
    moments = [0.5 * step for step in range(61)]
    # The first moment of each eighth of the time that the trail reaches back by, and now.
    first = [m for before, m in pairwise(moments) if m // 2.5 != before // 2.5]
    bends = [m for m in first if m >= 30 - 20] + ([30.0] if first[-1] != 30 else [])
    wanted = []
    for a, b in pairwise(bends):
        for rod in range(25):
            begin = np.mod(ways[int(2 * a), rod], BOX)
            wanted.append((*begin, *(begin + ways[int(2 * b), rod] - ways[int(2 * a), rod])))
    inside = np.all((found[:, :2] >= 0) & (found[:, :2] < BOX), axis=1)
    originals = found[inside]
    for line in wanted:
        assert np.abs(originals[:, :4] - line).max(axis=1).min() < 1e-3
    crossing = sum(1 for line in wanted if not all(0 <= end < BOX for end in line[2:]))
    assert len(found) >= len(wanted) + crossing > len(wanted)


def test_a_line_across_an_edge_is_drawn_at_both_sides_and_never_across_the_box():
    for corner in ((59.5, 30.0), (30.0, 59.5), (59.5, 59.5), (0.5, 0.5)):
        way = np.array([corner])
        move = np.where(np.array(corner) > 55, 1.0, np.where(np.array(corner) < 5, -1.0, 0.0))
        found = with_trails(
            *last_and_before([Scene.of(state(step, way + 0.3 * step * move)) for step in range(12)])
        ).trails
        assert np.hypot(*(found[:, 2:4] - found[:, :2]).T).max() < 5
        beyond = (found[:, 2:4] < 0) | (found[:, 2:4] >= BOX)
        for axis in np.flatnonzero(move):
            out = found[beyond[:, axis]]
            assert len(out)
            for line in out:
                shifted = line.copy()
                shifted[[axis, 2 + axis]] -= BOX * move[axis]
                assert np.abs(found - shifted).max(axis=1).min() < 1e-4


def test_rods_keep_their_trails_as_others_come_and_go():
    trails = Trails()
    names = np.arange(6, dtype=np.int32)
    at = np.column_stack([np.full(6, 10.0), 8.0 * names + 4])
    for step in range(30):
        if step == 10:
            names, at = np.delete(names, 2), np.delete(at, 2, axis=0)
        if step == 20:
            names, at = np.append(names, np.int32(9)), np.append(at, [(40.0, 2.0)], axis=0)
        at = at + np.array((0.5, 0))
        found = trails.add(Scene.of(state(step, at, names))).trails
    reach = {
        int(name): found[np.abs(found[:, 1] - y) < 0.1][:, [0, 2]]
        for name, y in zip(names, at[:, 1], strict=True)
    }
    assert np.ptp(reach[0]) == np.ptp(reach[5]) == pytest.approx(14.5)
    assert np.ptp(reach[9]) < 5
    assert not np.any(np.abs(found[:, 1] - 20) < 0.1)  # that of the one removed


def test_another_run_another_box_and_a_gap_begin_anew():
    trails = Trails()
    for scene in scenes(straight, range(50)):
        trails.add(scene)
    assert len(trails.add(Scene.of(state(0, straight(7)))).trails) == 0
    assert len(trails.add(Scene.of(state(8, straight(11)))).trails) > 0
    wider = replace(PARAMS, space_size=70.0)
    assert len(trails.add(Scene.of(state(9, straight(11.5), params=wider))).trails) == 0
    assert len(trails.add(Scene.of(state(17, straight(15.5), params=wider))).trails) > 0
    # States that are farther apart than a trail is long are not joined by a line.
    assert len(trails.add(Scene.of(state(90, straight(60), params=wider))).trails) == 0


def test_of_many_rods_some_have_trails_the_same_ones_in_every_state():
    rng = np.random.default_rng(3)
    at, trails = rng.random((50_000, 2)) * BOX, Trails()
    for step in (0, 8, 16):
        shown = trails.add(Scene.of(state(step, at + 0.5 * step)))
    assert 2 * 3000 < len(shown.trails) < 2.3 * 4000
    held = sum(stop.places.nbytes + stop.ids.nbytes for stop in trails._stops)
    assert held < 3 * 4000 * 12
    assert all(stop.places.base is None for stop in trails._stops)  # no state is kept for them
    # Removing a rod leaves the others theirs.
    ids = np.delete(np.arange(50_000, dtype=np.int32), 7)
    fewer = trails.add(Scene.of(state(17, at[ids] + 8.5, ids)))
    assert len(fewer.trails) > 2 * 3000


def test_no_rods_have_no_trails():
    trails = Trails()
    for step in range(3):
        assert trails.add(Scene.of(state(step, np.empty((0, 2))))).trails.shape == (0, 6)


BARE = View(show_color_bar=False, show_scale_bar=False, show_trails=True)


@pytest.mark.gl
@pytest.mark.parametrize("background", ["dark", "black", "white"])
def test_trails_are_drawn_behind_rods_and_fade(background):
    view, size = replace(BARE, background=background), (600, 600)
    scene = with_trails(*last_and_before(scenes(straight, range(41))))
    bare = render(scene, replace(view, show_trails=False), size).astype(int)
    drawn = np.abs(render(scene, view, size).astype(int) - bare).max(axis=2)
    at = camera(view, BOX, size)

    def strength(x: float, y: float) -> float:
        column, row = (int(v) for v in at.to_picture(x, y))
        return drawn[row - 1 : row + 2, column - 1 : column + 2].max()

    near, middle, far = (strength(30 - back, 5) for back in (4, 8, 17))
    assert near > middle > far > 4
    assert strength(30 - 22, 5) == 0
    # The one that went up came through the upper edge; between the two edges there is nothing.
    assert strength(20, 10) > strength(20, 58) > 4
    assert strength(20, 35) == 0
    assert strength(44, 30) == 0  # one at rest
    # Under the rods: their own pixels are as they were.
    for x, y in straight(20) % BOX:
        assert strength(float(x), float(y)) == 0
    alone = render(scene, replace(view, show_rods=False), size).astype(int)
    empty = render(scene, replace(view, show_rods=False, show_trails=False), size).astype(int)
    assert np.abs(alone - empty).max() > 40
    # A picture of a state whose past is not known has none.
    np.testing.assert_array_equal(render(replace(scene, trails=None), view, size), bare)


@pytest.mark.gl
@pytest.mark.skipif(sys.platform != "linux", reason="draws without a display")
def test_a_movie_has_the_trails_that_the_window_has(tmp_path):
    size, kept, frames = (160, 120), Past(), []
    view = replace(BARE, background="white")
    recorder = Recorder(tmp_path / "trails.mp4", size, view=view, quality="lossless")
    for step in range(0, 48, 4):
        snapshot = state(step, straight(0.5 * step))
        kept.add(snapshot)
        recorder.put(snapshot)
        scene = Scene.of(snapshot)
        frames.append(render(with_trails(scene, kept.before(step, trail_start(scene))), view, size))
    for frame, wanted in zip(decoded(recorder.finish(), size), frames, strict=True):
        assert np.abs(frame.astype(int) - wanted).max() <= 2
    plain = render(scene, view, size).astype(int)
    assert np.abs(frames[-1] - plain).max() > 40
    # One picture has the trails that its scene brings along.
    one = Recorder(tmp_path / "one.png", size, view=view, quality="lossless")
    one.put(with_trails(scene, kept.before(44, trail_start(scene))))
    from PIL import Image

    assert np.abs(np.asarray(Image.open(one.finish())).astype(int) - frames[-1]).max() <= 2
