# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrows of the mean velocity: what they stand for, and that they are drawn so."""

from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui.flow import arrows, cells_a_side
from bacsim_gui.offscreen import render
from bacsim_gui.scene import Scene
from bacsim_gui.view import View, camera
from engine.params import Params
from engine.snapshot import MEASURES
from tests.gui.conftest import swarm

BOX = 60.0
VALUES = {**vars(Params()), "rods": 2.0}  # a free rod has the speed 1


def moving(places, velocities) -> Scene:
    places, velocities = np.asarray(places, float), np.asarray(velocities, np.float32)
    rods = np.zeros((len(places), 4), np.float32)
    rods[:, :2] = places
    measures = {"velocity_x": velocities[:, 0], "velocity_y": velocities[:, 1]}
    return Scene(rods, BOX, 4.0, 0.5, values=VALUES, measures=measures)


def test_the_engine_measures_what_arrows_need():
    assert set(View(show_flow=True, color_by="speed").measures) <= set(MEASURES)
    assert View().measures == ()


def test_an_arrow_is_the_mean_over_its_cell():
    scene = moving([(1, 1), (2, 3), (40, 40)], [(1, 0), (0, 1), (0, -0.5)])
    found, side = arrows(scene), BOX / cells_a_side(scene)
    assert len(found) == 2
    np.testing.assert_allclose(
        found[0], [side / 2, side / 2, np.pi / 4, side * 0.5**0.5], rtol=1e-5
    )
    assert found[1, 2:] == pytest.approx([-np.pi / 2, side / 2])
    assert np.all(np.abs(found[1, :2] - 40) <= side / 2)


def test_motions_that_cancel_and_empty_cells_have_none():
    assert len(arrows(moving([(1, 1), (2, 2)], [(1, 1), (-1, -1)]))) == 0
    assert len(arrows(moving(np.empty((0, 2)), np.empty((0, 2))))) == 0
    assert len(arrows(swarm(20))) == 0  # of which nothing is known


def test_none_is_longer_than_two_cells():
    scene = moving([(30, 30)], [(50, 0)])
    assert arrows(scene)[0, 3] == pytest.approx(2 * BOX / cells_a_side(scene))


def test_a_rod_at_the_far_edge_is_in_the_last_cell():
    edge = np.nextafter(np.float32(BOX), np.float32(0))
    (arrow,) = arrows(moving([(edge, edge)], [(1, 0)]))
    assert BOX - BOX / cells_a_side(swarm()) < arrow[0] < BOX


@pytest.mark.gl
@pytest.mark.parametrize("background", ["dark", "white"])
def test_arrows_are_drawn_with_their_heads_in_front(background):
    scene = moving([(30, 30)], [(1.5, 0)])
    view = View(background=background, show_flow=True, show_color_bar=False, show_scale_bar=False)
    size = (600, 600)
    with_them = render(scene, view, size).astype(int)
    without = render(scene, replace(view, show_flow=False), size).astype(int)
    ink = np.abs(with_them - np.array(view.colors.ink)).max(axis=2) < 12
    assert not (np.abs(without - np.array(view.colors.ink)).max(axis=2) < 12).any()
    (arrow,) = arrows(scene)
    at = camera(view, BOX, size)
    rows, columns = np.nonzero(ink)
    x, y = at.to_picture(float(arrow[0]), float(arrow[1]))
    assert abs(rows.mean() - y) < 2
    assert np.ptp(columns) == pytest.approx(arrow[3] * at.scale, abs=8)
    wide = [np.ptp(rows[np.abs(columns - (x + part * arrow[3] * at.scale)) < 3])
            for part in (-0.3, 0.3)]  # fmt: skip
    assert wide[1] > 1.5 * wide[0]
    # With the state of another moment the arrows are others.
    turned = render(moving([(30, 30)], [(0, 1.5)]), view, size).astype(int)
    assert np.ptp(np.nonzero(np.abs(turned - view.colors.ink).max(axis=2) < 12)[0]) > 40
