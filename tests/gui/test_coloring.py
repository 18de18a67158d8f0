# SPDX-License-Identifier: GPL-3.0-or-later
"""What the colour of a rod tells: from values to places on the map, ranges, and the colour bar."""

from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui.color_bar import ticks_between, told
from bacsim_gui.coloring import colored_rods
from bacsim_gui.legend import legend
from bacsim_gui.quantities import QUANTITIES, automatic_range
from bacsim_gui.scene import Scene
from bacsim_gui.view import View
from engine.params import Params
from engine.snapshot import MEASURES, Snapshot
from tests.gui.conftest import swarm

VALUES = {**vars(Params()), "rods": 5000}


def scene(**measures: list[float]) -> Scene:
    """As many rods as there are values, headings a quarter turn apart."""
    count = len(next(iter(measures.values()))) if measures else 4
    rods = np.zeros((count, 4), np.float32)
    rods[:, 2] = np.arange(count) * np.pi / 2
    arrays = {name: np.array(values, np.float32) for name, values in measures.items()}
    return Scene(rods, 40.0, 4.0, 0.5, values=VALUES, measures=arrays)


def places(shown: Scene, **view: object) -> list[float]:
    return colored_rods(shown, View(**view))[:, 3].tolist()  # pyright: ignore[reportArgumentType]


def test_the_activity_is_shown_as_it_is_and_copies_nothing():
    rods = swarm(20)
    assert colored_rods(rods, View()) is rods.rods


def test_headings_go_once_round_the_map():
    assert places(scene(), color_by="heading") == pytest.approx([0, 0.25, 0.5, 0.75], abs=1e-6)
    turned = scene()
    turned.rods[:, 2] -= 2 * np.pi  # as the engine holds them, in [-π, π], or beyond
    assert places(turned, color_by="heading")[1:] == pytest.approx([0.25, 0.5, 0.75], abs=1e-6)


@pytest.mark.parametrize("name", ["speed", "local_density", "overlap"])
def test_measures_are_spread_over_their_range(name):
    low, high = automatic_range(name, VALUES)
    shown = scene(**{name: [low - 1, low, (low + high) / 2, high, high + 1]})
    assert places(shown, color_by=name) == pytest.approx([0, 0, 0.5, 1, 1])
    chosen = places(shown, color_by=name, color_range=(low, 2 * high - low))
    assert chosen[1:4] == pytest.approx([0, 0.25, 0.5])


def test_clusters_go_by_factors():
    shown = scene(cluster=[1, 10, 100, 1000, 5000])
    found = places(shown, color_by="cluster")
    assert found[0] == 0
    assert found[-1] == pytest.approx(1)
    assert np.diff(found[:4]) == pytest.approx([found[1]] * 3)
    assert places(shown, color_by="cluster", color_range=(-5, 100))[2] == pytest.approx(1)


def test_the_range_of_the_activity_can_be_chosen():
    rods = swarm(3)
    rods.rods[:, 3] = [0, 0.25, 1]
    assert places(rods, color_range=(0, 0.5)) == pytest.approx([0, 0.5, 1])
    assert rods.rods[1, 3] == 0.25


@pytest.mark.parametrize("color_by", QUANTITIES)
def test_what_is_not_known_yet_is_no_error(color_by):
    assert len(colored_rods(swarm(5), View(color_by=color_by))) == 5
    assert len(colored_rods(swarm(0), View(color_by=color_by))) == 0


@pytest.mark.parametrize("color_by", QUANTITIES)
def test_ranges_follow_from_parameters_that_may_be_extreme(color_by):
    """And never from the rods of a frame, so colours do not flicker."""
    for changes in ({}, {"F_prop": 0.0}, {"F_prop": -3.0}, {"F_prop": 0.0, "k_cc": 0.0},
                    {"sensing_range": 0.0}, {"rods": 1}):  # fmt: skip
        low, high = automatic_range(color_by, {**VALUES, **changes})
        assert np.isfinite([low, high]).all()
        assert low < high
    assert automatic_range(color_by, {})[0] < automatic_range(color_by, {})[1]


def test_the_speed_of_a_free_rod_is_inside_its_range():
    free = 0.5 * VALUES["F_prop"] / (VALUES["gamma"] * VALUES["length"])
    low, high = automatic_range("speed", VALUES)
    assert low < free < high < 2 * free


def test_every_measure_of_the_engine_that_is_offered_exists():
    for quantity in QUANTITIES.values():
        assert not quantity.measure or quantity.measure in MEASURES


def test_a_scene_has_the_measures_of_its_snapshot():
    speed = np.ones(3, np.float32)
    snapshot = Snapshot(np.zeros((3, 4), np.float32), 0, 0.0, Params(), measures={"speed": speed})
    assert Scene.of(snapshot).measures["speed"] is speed


# The colour bar


@pytest.mark.parametrize(
    ("ends", "log", "texts"),
    [
        ((0, 1), False, ["0", "0.5", "1"]),
        ((0, 1.25), False, ["0", "0.5", "1"]),
        ((0, 11), False, ["0", "5", "10"]),
        ((0, 0.25), False, ["0", "0.1", "0.2"]),
        ((-0.3, 0.3), False, ["−0.2", "0", "0.2"]),
        ((0, 3000), False, ["0", "1000", "2000", "3000"]),
        ((1e-9, 3e-9), False, ["1e−9", "2e−9", "3e−9"]),
        ((1, 5000), True, ["1", "10", "100", "1000"]),
        ((1, 20), True, ["1", "2", "5", "10", "20"]),
        ((1, 2), True, ["1", "2"]),
        ((1, 1e6), True, ["1", "100", "10000", "1e6"]),
    ],
)
def test_ticks_are_few_and_round(ends, log, texts):
    found = ticks_between(*ends, log=log)
    assert [text for _, text in found] == texts
    assert all(0 <= place <= 1 for place, _ in found)
    assert [place for place, _ in found] == sorted(place for place, _ in found)


def test_a_tick_stands_where_its_value_has_its_colour():
    shown = scene(speed=[0.5])
    view = View(color_by="speed")
    place = {text: at for at, text in told(shown, view).ticks}["0.5"]
    assert place == pytest.approx(places(shown, color_by="speed")[0])


@pytest.mark.parametrize(
    ("color_by", "name"),
    [("activity", "activity"), ("heading", "heading"), ("speed", "speed (l/t)"),
     ("local_density", "local density"), ("cluster", "cluster (rods)")],
)  # fmt: skip
def test_the_bar_names_what_it_tells(color_by, name):
    assert told(scene(), View(color_by=color_by)).name == name


def test_the_bar_of_what_is_not_known_yet_has_the_one_colour_of_the_rods():
    view = View(color_by="local_density")
    bar = told(swarm(5), view)
    assert bar.ticks == ((0.5, "not known"),)
    assert np.unique(bar.table, axis=0).tolist() == [list(view.colors.rods)]
    known = replace(swarm(5), measures={"local_density": np.ones(5, np.float32)})
    assert len(told(known, view).ticks) > 1
    assert len(np.unique(told(known, view).table, axis=0)) > 100


def test_plain_rods_have_no_bar_and_leave_its_room():
    view = View(color_by="fixed", show_scale_bar=False)
    assert legend(swarm(), view, (1280, 720)) == ()


@pytest.mark.parametrize("size", [(1280, 720), (640, 640), (480, 900), (3840, 2160), (320, 240)])
@pytest.mark.parametrize("color_by", [name for name in QUANTITIES if name != "fixed"])
@pytest.mark.parametrize("known", [True, False])
def test_every_bar_lies_in_the_picture(color_by, size, known):
    rods = swarm()
    measures = {name: np.ones(len(rods.rods), np.float32) for name in MEASURES} if known else {}
    shown = replace(rods, values=VALUES, measures=measures)
    bar, *_ = reversed(legend(shown, View(color_by=color_by), size))
    height, width, _ = bar.image.shape
    assert bar.left >= 0
    assert bar.top >= 0
    assert bar.left + width <= size[0]
    assert bar.top + height <= size[1]


def test_the_wheel_shows_headings_as_they_lie_in_the_picture():
    view = View(color_by="heading", show_scale_bar=False)
    (wheel,) = legend(swarm(), view, (1280, 720))
    image = wheel.image[..., :3].astype(int)
    table = np.frombuffer(told(swarm(), view).colors, np.uint8).reshape(-1, 3).astype(int)
    middles = []
    for quarter in range(4):  # right, up, left, down
        near = np.abs(image - table[quarter * 64]).max(axis=2) < 4
        middles.append(np.argwhere(near).mean(axis=0))
    right, up, left, down = middles
    assert up[0] < min(right[0], left[0]) <= max(right[0], left[0]) < down[0]
    assert left[1] < min(up[1], down[1]) <= max(up[1], down[1]) < right[1]
