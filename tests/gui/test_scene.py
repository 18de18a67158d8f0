# SPDX-License-Identifier: GPL-3.0-or-later
import numpy as np
import pytest

from bacsim_gui.scene import EdgeCopies, Scene
from engine.params import Params
from engine.snapshot import Snapshot
from tests.gui.conftest import one_rod, swarm


def copies_by_brute_force(scene: Scene) -> np.ndarray:
    """Every shifted rod whose disc touches the box, one rod at a time."""
    box, reach, found = scene.space_size, scene.reach, []
    for x, y, theta, activity in scene.rods.astype(float):
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                u, v = x + i * box, y + j * box
                inside = -reach < u < box + reach and -reach < v < box + reach
                if (i, j) != (0, 0) and inside:
                    found.append((u, v, theta, activity))
    return np.array(found, np.float32).reshape(-1, 4)


def in_order(rods: np.ndarray) -> np.ndarray:
    return rods[np.lexsort(rods.T)]


@pytest.mark.parametrize("rods", [0, 1, 500])
@pytest.mark.parametrize("space_size", [11.0, 40.0])
def test_copies_are_those_that_reach_into_the_box(rods: int, space_size: float) -> None:
    scene = swarm(rods, space_size=space_size)
    ours, plain = EdgeCopies().of(scene), copies_by_brute_force(scene)
    assert ours.dtype == np.float32
    assert len(ours) == len(plain)
    np.testing.assert_allclose(in_order(ours), in_order(plain), atol=1e-4)


def test_a_rod_in_a_corner_has_three_copies_and_one_in_the_middle_none() -> None:
    copies = EdgeCopies()
    assert len(copies.of(one_rod(0.5, 19.5))) == 3
    assert len(copies.of(one_rod(10.0, 10.0))) == 0
    assert len(copies.of(one_rod(10.0, 0.1))) == 1


def test_the_scratch_array_is_kept_between_frames() -> None:
    copies = EdgeCopies()
    copies.of(swarm(1000))
    kept = copies._mask
    copies.of(swarm(900, seed=2))
    assert copies._mask is kept


def test_a_scene_is_what_a_snapshot_shows() -> None:
    rods = swarm(5).rods
    params = Params(space_size=40.0, length=3.0, radius=0.25)
    scene = Scene.of(Snapshot(rods=rods, step=12, time=0.25, params=params))
    assert scene.rods is rods
    assert (scene.space_size, scene.length, scene.radius) == (40.0, 3.0, 0.25)
    assert (scene.step, scene.time) == (12, 0.25)
    assert scene.values["F_prop"] == params.F_prop
    assert scene.values["rods"] == 5
    assert Scene.of(scene) is scene
