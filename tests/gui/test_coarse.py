# SPDX-License-Identifier: GPL-3.0-or-later
"""Density and vorticity on a grid, against sums over all rods in float64 and against theory."""

import numpy as np
import pytest

from bacsim_gui.coarse import cells_a_side, field_on_grid, places
from bacsim_gui.fields import FIELDS, field_range
from bacsim_gui.scene import Scene
from bacsim_gui.view import View
from engine.params import Params
from engine.snapshot import MEASURES

BOX, LENGTH, RADIUS = 60.0, 4.0, 0.5
AREA = 2 * RADIUS * LENGTH + np.pi * RADIUS**2
VALUES = {**vars(Params()), "rods": 2.0}  # a free rod has the speed 1


def moving(places: np.ndarray, velocities: np.ndarray | None = None, box: float = BOX) -> Scene:
    rods = np.zeros((len(places), 4), np.float32)
    rods[:, :2] = places
    measures = {}
    if velocities is not None:
        x, y = np.asarray(velocities, np.float32).T
        measures = {"velocity_x": x, "velocity_y": y}
    return Scene(rods, box, LENGTH, RADIUS, values=VALUES, measures=measures)


def lattice(side: int, box: float = BOX) -> np.ndarray:
    at = (np.arange(side) + 0.5) * box / side
    return np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)


def middles(scene: Scene) -> np.ndarray:
    """The middle of each cell, (n, n, 2)."""
    count = cells_a_side(scene)
    return lattice(count, scene.space_size).reshape(count, count, 2)


def kernel(scene: Scene) -> np.ndarray:
    """The weight of each rod at each middle, (n, n, rods): what a Gaussian of two cells says."""
    wide = 2 * scene.space_size / cells_a_side(scene)
    apart = middles(scene)[:, :, None] - scene.rods[:, :2].astype(float)
    images = scene.space_size * np.arange(-3, 4)
    along = np.exp(-((apart[..., None] - images) ** 2) / (2 * wide**2)).sum(axis=-1)
    return along.prod(axis=-1) / (2 * np.pi * wide**2)


def test_the_engine_measures_what_fields_need():
    assert {name for field in FIELDS.values() for name in field.measures} <= set(MEASURES)


@pytest.mark.parametrize("box", [9.0, 60.0, 2000.0])
def test_the_density_adds_up_to_the_area_of_the_rods(box):
    rng = np.random.default_rng(1)
    scene = moving(rng.random((700, 2)) * box, box=box)
    density, cell = field_on_grid(scene, "density"), (box / cells_a_side(scene)) ** 2
    assert density.sum() * cell == pytest.approx(700 * AREA, rel=1e-9)


def test_the_density_is_a_gaussian_around_each_rod_across_the_edges_too():
    rng = np.random.default_rng(2)
    scene = moving(np.concatenate([rng.random((40, 2)) * BOX, [(0.1, 30), (59.9, 0.2)]]))
    exact = AREA * kernel(scene).sum(axis=-1)
    # Places are taken to half a cell and shared out between cells, which blurs by half a cell.
    np.testing.assert_allclose(
        field_on_grid(scene, "density"), exact, atol=0.06 * exact.max(), rtol=0
    )


@pytest.mark.parametrize(("side", "within"), [(24, 1e-9), (48, 1e-9), (60, 1e-3), (41, 0.04)])
def test_a_lattice_of_rods_has_one_density(side, within):
    """But for what comes of taking places to half a cell, worst where the two nearly agree."""
    density = field_on_grid(moving(lattice(side)), "density")
    np.testing.assert_allclose(density, side**2 * AREA / BOX**2, rtol=within)


def test_what_is_drawn_of_a_rod_moves_with_it_and_does_not_jump():
    cell = BOX / cells_a_side(moving(np.zeros((1, 2))))
    found = []
    for x in 30 + cell * np.arange(0, 3, 0.5):
        density = field_on_grid(moving(np.array([(x, 30.0)])), "density")
        at = middles(moving(np.zeros((1, 2))))[..., 0]
        found.append((density * at).sum() / density.sum())
    np.testing.assert_allclose(np.diff(found), 0.5 * cell, rtol=1e-3)


def test_a_turning_disc_has_twice_its_angular_velocity():
    at = lattice(96)
    x, y = (at - BOX / 2).T
    turning = np.where((x**2 + y**2 < 26**2)[:, None], 0.3 * np.column_stack([-y, x]), 0)
    scene = moving(at, turning)
    found, away = field_on_grid(scene, "vorticity"), middles(scene) - BOX / 2
    inner = np.hypot(*np.moveaxis(away, -1, 0)) < 6
    np.testing.assert_allclose(found[inner], 0.6, rtol=0.01)
    # Turned the other way it is below 0; what turns within rest has as much against it around it.
    np.testing.assert_allclose(field_on_grid(moving(at, -turning), "vorticity"), -found)
    assert abs(found.mean()) < 1e-9


def test_shear_and_a_common_motion_have_the_vorticity_of_their_gradient():
    at = lattice(80)
    wave = 2 * np.pi / BOX
    scene = moving(at, np.column_stack([np.full(len(at), 0.7), np.sin(wave * at[:, 0])]))
    found = field_on_grid(scene, "vorticity")
    blurred = np.exp(-((wave * 2 * BOX / cells_a_side(scene)) ** 2) / 2)
    exact = wave * np.cos(wave * middles(scene)[..., 0]) * blurred
    np.testing.assert_allclose(found, exact, atol=0.02 * wave)


def test_rods_at_random_have_the_curl_of_their_weighted_mean():
    rng = np.random.default_rng(3)
    scene = moving(rng.random((2500, 2)) * BOX, rng.normal(size=(2500, 2)))
    weights, cell = kernel(scene), BOX / cells_a_side(scene)
    x, y = (
        weights @ scene.measures[name].astype(float) / weights.sum(axis=-1)
        for name in ("velocity_x", "velocity_y")
    )
    across, up = (np.roll(v, -1, a) - np.roll(v, 1, a) for v, a in ((y, 1), (x, 0)))
    exact = (across - up) / (2 * cell)
    found = field_on_grid(scene, "vorticity")
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.995
    assert found.std() == pytest.approx(exact.std(), rel=0.1)


def test_between_two_lonely_rods_nothing_turns():
    apart = moving(np.array([(20, 30), (40, 30)]), np.array([(0, -1), (0, 1)]))
    near = moving(np.array([(25, 30), (35, 30)]), np.array([(0, -1), (0, 1)]))
    assert np.abs(field_on_grid(apart, "vorticity")).max() < 0.02
    assert field_on_grid(near, "vorticity").max() > 0.15


def test_no_rods_and_unknown_velocities_are_no_error():
    empty = moving(np.empty((0, 2)), np.empty((0, 2)))
    assert np.all(field_on_grid(empty, "density") == 0)
    assert np.all(field_on_grid(empty, "vorticity") == 0)
    assert field_on_grid(moving(lattice(4)), "vorticity") is None
    assert places(moving(lattice(4)), View(field="vorticity")) is None


def test_places_on_the_map_go_from_end_to_end_and_nothing_is_in_the_middle():
    still = moving(lattice(30), np.zeros((900, 2)))
    assert set(np.unique(places(still, View(field="vorticity")))) <= {127, 128}
    crowd = moving(np.full((500, 2), 30.0))
    drawn = places(crowd, View(field="density"))
    assert (drawn.min(), drawn.max()) == (0, 255)
    assert drawn.shape == (2 * cells_a_side(crowd),) * 2


def test_a_range_follows_from_the_parameters_and_holds_what_a_dense_run_has():
    body = VALUES["length"] + 2 * VALUES["radius"]
    assert field_range("vorticity", VALUES) == pytest.approx((-1 / body, 1 / body))
    assert field_range("density", {**VALUES, "rods": 100.0}) == (0, 1)
    packed = {**VALUES, "rods": 1.2 * VALUES["space_size"] ** 2}
    area = 2 * packed["radius"] * packed["length"] + np.pi * packed["radius"] ** 2
    assert field_range("density", packed)[1] == pytest.approx(1.25 * 1.2 * area)


def test_cells_follow_the_body_length_within_limits():
    counts = [cells_a_side(moving(np.zeros((1, 2)), box=box)) for box in (5.0, 100.0, 1e5)]
    assert counts == [16, 40, 256]
