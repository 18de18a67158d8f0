# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools do to rods and obstacles: in the engine, in a timeline, in files."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bacsim_gui import presets, replay, timeline
from bacsim_gui.edits import Edit, Stroke, alike, apply, checked, edit_for, edit_of
from bacsim_gui.timeline import Head, Timeline
from engine import Driver, Obstacle, ParameterError, Params, Setup
from engine.pick import distances, nearest_rod, rods_within, row_of
from engine.snapshot import Snapshot
from engine.storage.trajectory import Trajectory, TrajectoryWriter

PARAMS = Params(space_size=40.0, tau_a=3.0)


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver(Setup(rods=64), PARAMS, seed=2)


def rods(*rows: tuple[float, float, float]) -> Snapshot:
    table = np.array([(*row, 1.0) for row in rows], np.float32)
    return Snapshot(table, 0, 0.0, Params(space_size=20.0, length=4.0, radius=0.5))


def test_distances_are_from_the_surface_and_across_the_edge() -> None:
    snapshot = rods((5, 5, 0), (19, 10, math.pi / 2), (10, 1, 0))
    found = distances(snapshot, 5.0, 8.0)
    assert found[0] == pytest.approx(2.5)
    assert distances(snapshot, 9.0, 5.0)[0] == pytest.approx(1.5)
    assert distances(snapshot, 0.5, 10.0)[1] == pytest.approx(1.0)
    assert distances(snapshot, 10.0, 19.5)[2] == pytest.approx(1.0)
    assert distances(snapshot, 5.0, 5.0)[0] == pytest.approx(-0.5)


def test_rods_are_found_by_their_names() -> None:
    snapshot = replace(rods((5, 5, 0), (15, 15, 0)), ids=np.array([3, 8], np.int32))
    assert rods_within(snapshot, 5.0, 7.0, 1.6).tolist() == [3]
    assert nearest_rod(snapshot, 15.0, 16.0, 1.0) == 8
    assert nearest_rod(snapshot, 15.0, 18.0, 1.0) is None
    assert (row_of(snapshot, 8), row_of(snapshot, 4), row_of(snapshot, 9)) == (1, None, None)


def test_a_stroke_becomes_an_edit_of_the_rods_it_touches() -> None:
    snapshot = rods((5, 5, 0), (15, 15, 0))
    assert edit_of([Stroke("remove", 5.0, 7.0, 2.0)], snapshot) == Edit("remove", [0])
    painted = edit_of([Stroke("paint", 15.0, 15.0, 1.0, activity=0.0)], snapshot)
    assert painted == Edit("paint", {"ids": [1], "activity": 0.0})
    assert edit_of([Stroke("remove", 10.0, 10.0, 1.0)], snapshot) is None
    added = edit_of([Stroke("add", 1.0, 2.0, theta=0.5)], snapshot)
    assert added == Edit("add", {"pos": [[1.0, 2.0]], "theta": [0.5], "activity": 1.0})


def test_a_stroke_touches_all_along_its_way_and_across_the_edge() -> None:
    snapshot = rods((5, 5, 0), (15, 5, 0), (10, 12, 0), (2, 18, math.pi / 2))
    touched = rods_within(snapshot, 1.0, 7.0, 1.6, (18.0, 0.0))
    assert touched.tolist() == [0, 1]
    # From the right through the edge to x = 1, thinner than the gaps between its pieces.
    assert rods_within(snapshot, 19.0, 18.0, 0.01, (2.0, 0.0)).tolist() == []
    assert rods_within(snapshot, 19.0, 18.0, 0.01, (4.0, 0.0)).tolist() == [3]
    # Many times around, as a mouse far outside may tell.
    assert rods_within(snapshot, 1.0, 7.0, 1.6, (180.0, 0.0)).tolist() == [0, 1]
    places = np.linspace((3.0, 1.0), (17.0, 19.0), 500)
    each = [rods_within(snapshot, *place, 0.7) for place in places]
    along = rods_within(snapshot, 3.0, 1.0, 0.7, (14.0, 18.0))
    assert along.tolist() == np.unique(np.concatenate(each)).tolist()


def test_strokes_that_are_alike_are_one_edit_and_one_rod_is_left() -> None:
    snapshot = rods((5, 5, 0), (15, 15, 0))
    here, there = Stroke("remove", 5.0, 5.0, 1.0), Stroke("remove", 15.0, 15.0, 1.0)
    paint, other = replace(here, kind="paint"), replace(here, kind="paint", activity=0.0)
    found = list(alike(enumerate([here, there, paint, other, here])))
    assert found == [(1, [here, there]), (2, [paint]), (3, [other]), (4, [here])]
    assert edit_of([here, there], snapshot) == Edit("remove", [1])
    assert edit_of([here], rods((5, 5, 0))) is None


def test_edits_are_part_of_a_timeline_and_replayed_with_the_same_bits(
    driver: Driver, tmp_path: Path
) -> None:
    begun = [Obstacle(30.0, 30.0, radius=3.0)]
    driver.rebuild(Setup(rods=64), PARAMS, 2, obstacles=begun)
    kept = Timeline(Head.of(driver))
    path = tmp_path / "a.timeline"
    file = kept.keep(path)
    for edit in (
        Edit("add", {"pos": [[1.5, 2.0]], "theta": [0.25], "activity": 0.5}),
        Edit("remove", [0, 7]),
        Edit("paint", {"ids": [1, 60], "activity": 0.125}),
        edit_for([Obstacle(10.0, 10.0, 4.0, 6.0), *begun]),
    ):
        driver.advance(7)
        apply(driver, edit)
        kept.add_edit(driver.step, edit)
        kept.add(driver.step, {"push_force": 3.0})
        driver.set(push_force=3.0)
    there = driver.advance(5)
    kept.forget(file)
    again = timeline.load(path)
    assert again.head.obstacles == tuple(begun)
    fresh, _ = replay.driver_for(again.head, tmp_path)
    for _ in replay.play(again, fresh, lambda _: None, until=there.step):
        pass
    np.testing.assert_array_equal(fresh.snapshot().rods, there.rods)
    np.testing.assert_array_equal(fresh.ids, driver.ids)
    assert fresh.obstacles == driver.obstacles


def test_a_timeline_whose_edit_does_not_fit_the_run_is_told(driver: Driver) -> None:
    driver.rebuild(Setup(rods=64), PARAMS, 2, obstacles=())
    wrong = Timeline(Head.of(driver), [timeline.Event(3, "remove", [4000])])
    with pytest.raises(timeline.TimelineError, match=r"step 3.*no rods"):
        list(replay.play(wrong, driver, lambda _: None))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("add", {"pos": [[1.0]], "theta": [0.0], "activity": 1.0}),
        ("add", {"pos": [[1.0, math.inf]], "theta": [0.0], "activity": 1.0}),
        ("add", {"pos": [[1.0, 2.0]], "theta": [], "activity": 1.0}),
        ("remove", [1.5]),
        ("remove", [True]),
        ("paint", {"ids": [-1], "activity": 1.0}),
        ("paint", {"ids": [1], "activity": math.nan}),
        ("obstacles", [[1.0, 2.0]]),
    ],
)
def test_edits_that_cannot_be_are_refused(kind: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        checked(kind, value)


def test_a_trajectory_holds_obstacles(driver: Driver, tmp_path: Path) -> None:
    driver.rebuild(Setup(rods=64), PARAMS, 2, obstacles=())
    path, two = (
        tmp_path / "a.gsd",
        [Obstacle(5.0, 6.0, 7.0, 8.0, 1.0), Obstacle(1.0, 1.0, radius=2.0)],
    )
    with TrajectoryWriter(path, {}) as file:
        file.write(driver.snapshot())
        driver.set_obstacles(two)
        file.write(driver.advance(1))
        driver.set_obstacles([])
        file.write(driver.advance(1))
    with Trajectory(path) as read:
        assert [frame.obstacles for frame in read] == [(), tuple(two), ()]


def test_a_configuration_holds_obstacles(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    run = replace(presets.load_preset("swarming"), obstacles=(Obstacle(5.0, 6.0, 7.0, 8.0),))
    presets.save_config(path, run)
    assert presets.load_config(path).obstacles == run.obstacles
    path.write_text("[[obstacles]]\nx = 3\ny = 4\nradius = 2\n")
    assert presets.load_config(path).obstacles == (Obstacle(3.0, 4.0, radius=2.0),)
    for wrong, word in (
        ("[[obstacles]]\nx = 3\n", "x and y"),
        ("obstacles = 3\n", "x and y"),
        ("[[obstacles]]\nx = 3\ny = 3\n", "size"),
        ("[[obstacles]]\nx = 3\ny = 3\nwide = 3\n", "x and y"),
    ):
        path.write_text(wrong)
        with pytest.raises(ParameterError, match=word):
            presets.load_config(path)


def test_what_an_edit_holds_fits_json() -> None:
    edit = edit_for([Obstacle(1.0, 2.0, 3.0)])
    assert checked(edit.kind, json.loads(json.dumps(edit.value))) == edit.value
