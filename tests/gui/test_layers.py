# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers as they are drawn: pixels against the values that they stand for."""

from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui.coarse import field_on_grid
from bacsim_gui.color_bar import told
from bacsim_gui.colors import field_colors
from bacsim_gui.fields import field_range
from bacsim_gui.legend import legend
from bacsim_gui.offscreen import render, surface
from bacsim_gui.scene import Scene
from bacsim_gui.view import View, camera
from tests.gui.conftest import swarm
from tests.gui.test_coarse import BOX, LENGTH, RADIUS, VALUES, middles

SIZE = (600, 500)
BARE = View(show_color_bar=False, show_scale_bar=False, show_rods=False, show_box=False)


def turning(rods: int = 600, seed: int = 4) -> Scene:
    """A crowd in one half of the box, each half of which turns about its own middle."""
    rng = np.random.default_rng(seed)
    all_of_them = rng.random((rods, 4))
    all_of_them *= (BOX, BOX / 2, 2 * np.pi, 1)
    wave = 2 * np.pi * all_of_them[:, 0] / BOX
    measures = {
        "velocity_x": np.zeros(rods, np.float32),
        "velocity_y": np.sin(wave).astype(np.float32),
    }
    return Scene(
        all_of_them.astype(np.float32), BOX, LENGTH, RADIUS, values=VALUES, measures=measures
    )


def colour_of(scene: Scene, view: View) -> np.ndarray:
    """The colour that the field has at the middle of each cell."""
    low, high = field_range(view.field, scene.values)
    field = field_on_grid(scene, view.field)
    at = np.clip((field - low) / (high - low), 0, 1)
    return field_colors(view)[np.rint(255 * at).astype(int)].astype(int)


def at_middles(picture: np.ndarray, scene: Scene, view: View) -> np.ndarray:
    """The pixel at the middle of each cell, -1 where that is out of the picture."""
    at = camera(view, scene.space_size, (picture.shape[1], picture.shape[0]))
    found = np.full((*middles(scene).shape[:2], 3), -1)
    for where, (x, y) in zip(
        np.ndindex(found.shape[:2]), middles(scene).reshape(-1, 2), strict=True
    ):
        column, row = (int(np.floor(v)) for v in at.to_picture(x, y))
        if 0 <= row < picture.shape[0] and 0 <= column < picture.shape[1]:
            found[where] = picture[row, column]
    return found


@pytest.mark.gl
@pytest.mark.parametrize("background", ["dark", "black", "white"])
@pytest.mark.parametrize("field", ["density", "vorticity"])
def test_a_field_has_the_colours_of_its_bar_at_its_places(field, background):
    scene, view = turning(), replace(BARE, field=field, background=background)
    wanted, found = colour_of(scene, view), at_middles(render(scene, view, SIZE), scene, view)
    assert np.ptp(wanted, axis=(0, 1)).max() > 90
    assert np.abs(found - wanted).mean() < 4
    assert np.abs(found - wanted).max() < 40  # what a spline rounds off a peak


@pytest.mark.gl
def test_a_field_is_smooth_and_goes_on_across_the_edges():
    scene, view = turning(), replace(BARE, field="vorticity", background="white", zoom=0.999)
    picture = render(scene, view, (900, 900)).astype(int)
    at = camera(view, BOX, (900, 900))
    left, right = (round(at.to_picture(x, 0)[0]) for x in (0, BOX))
    top, bottom = (round(at.to_picture(0, y)[1]) for y in (BOX, 0))
    box = picture[top + 1 : bottom - 1, left + 1 : right - 1]
    inner = max(np.abs(np.diff(box, axis=axis)).max() for axis in (0, 1))
    assert inner < 12  # of 256, from one pixel to the next
    assert np.abs(box[0] - box[-1]).max() < 4 * inner
    assert np.abs(box[:, 0] - box[:, -1]).max() < 4 * inner


@pytest.mark.gl
def test_rods_over_a_field_are_translucent_in_the_inks_colour_or_left_out():
    scene = swarm(60)
    view = replace(BARE, field="density", show_rods=True)
    ground = render(scene, replace(view, show_rods=False), SIZE).astype(float)
    picture = render(scene, view, SIZE).astype(float)
    at = camera(view, scene.space_size, SIZE)
    seen = 0
    for x, y, theta, _ in scene.rods:
        # The front half of a rod has its plain colour, where no other lies over it.
        ahead = float(x) + 0.6 * np.cos(theta), float(y) + 0.6 * np.sin(theta)
        column, row = (int(v) for v in at.to_picture(*ahead))
        if 0 <= row < SIZE[1] and 0 <= column < SIZE[0]:
            mixed = 0.6 * ground[row, column] + 0.4 * np.array(view.colors.ink)
            seen += np.abs(picture[row, column] - mixed).max() < 14
    assert seen > 35
    for kind in ("speed", "activity"):
        again = render(scene, replace(view, color_by=kind), SIZE)
        np.testing.assert_array_equal(again, picture)
    bare = render(scene, BARE, SIZE)
    empty = replace(scene, rods=np.empty((0, 4), np.float32))
    np.testing.assert_array_equal(bare, render(empty, replace(BARE, show_rods=True), SIZE))


@pytest.mark.gl
def test_a_field_follows_the_state_and_is_not_computed_twice_for_one(monkeypatch):
    computed = []
    from bacsim_gui import layers

    plain = layers.places
    monkeypatch.setattr(layers, "places", lambda *of: computed.append(1) or plain(*of))
    view, first, second = replace(BARE, field="density"), turning(seed=5), turning(seed=6)
    pictures = [render(scene, view, SIZE) for scene in (first, second, first)]
    np.testing.assert_array_equal(pictures[0], pictures[2])
    assert (pictures[0] != pictures[1]).any()
    assert len(computed) == 3
    render(first, replace(view, zoom=2.0), SIZE)
    on_white = render(first, replace(view, background="white"), SIZE)
    assert len(computed) == 3
    assert on_white.mean() > 128 > pictures[0].mean()
    tiled = surface().render(first, view, SIZE, largest=256)[..., :3].astype(int)
    assert np.abs(tiled - pictures[0]).max() <= 1
    # What is not known is not drawn; nor is what was drawn before.
    unknown = render(replace(second, measures={}), replace(view, field="vorticity"), SIZE)
    np.testing.assert_array_equal(unknown, render(second, BARE, SIZE))


def test_the_colour_bar_tells_the_field_in_place_of_the_rods():
    scene, size = turning(), (1280, 720)
    vorticity = told(scene, View(field="vorticity", color_by="heading"))
    assert vorticity.name == "vorticity (1/t)"
    assert (0.5, "0") in vorticity.ticks
    assert not vorticity.cyclic
    assert told(scene, View(field="density")).name == "packing fraction"
    bars = [legend(scene, View(field=f, show_scale_bar=False), size) for f in ("none", "density")]
    assert [len(bar) for bar in bars] == [1, 1]
    shown = bars[1][0].image[..., :3].reshape(-1, 3)
    for color in field_colors(View(field="density"))[[0, 128, 255]]:
        assert (shown == color).all(axis=1).sum() >= 10
    assert legend(scene, View(show_rods=False, show_scale_bar=False), size) == ()
