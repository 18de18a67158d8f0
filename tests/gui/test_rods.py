# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture, pixel by pixel, against distances computed with NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui.colors import COLOR_COUNT, colors
from bacsim_gui.offscreen import render, surface
from bacsim_gui.scene import Scene
from bacsim_gui.view import BACKGROUNDS, View, camera
from tests.gui.conftest import one_rod, swarm

pytestmark = pytest.mark.gl

SIZE = (400, 400)
# Nothing but rods on black, so that brightness is coverage.
BARE = View(background="black", show_box=False, show_color_bar=False, show_scale_bar=False)


def distances(scene: Scene, view: View, size: tuple[int, int]) -> np.ndarray:
    """From the middle of each pixel to the nearest rod's surface, in pixels, negative inside.

    Periodic; infinite outside of the box, and unknown (nan) where the box ends inside a pixel.
    """
    at = camera(view, scene.space_size, size)
    columns, rows = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    x, y = (columns - at.left) / at.scale, (at.bottom - rows) / at.scale
    nearest = np.full(x.shape, np.inf)
    for cx, cy, theta, _ in scene.rods.astype(float):
        dx, dy = x - cx, y - cy
        dx -= scene.space_size * np.round(dx / scene.space_size)
        dy -= scene.space_size * np.round(dy / scene.space_size)
        along = np.cos(theta) * dx + np.sin(theta) * dy
        t = np.clip(along, -scene.length / 2, scene.length / 2)
        distance = np.hypot(dx - t * np.cos(theta), dy - t * np.sin(theta)) - scene.radius
        nearest = np.minimum(nearest, distance * at.scale)
    box = scene.space_size
    inward = np.minimum(np.minimum(x, box - x), np.minimum(y, box - y)) * at.scale
    nearest[inward < 0] = np.inf
    nearest[np.abs(inward) < 1] = np.nan
    return nearest


def lit(picture: np.ndarray) -> np.ndarray:
    return picture.max(axis=-1) > 0


def pixel(scene: Scene, view: View, size: tuple[int, int], x: float, y: float) -> tuple[int, int]:
    """Row and column of the pixel at a point of the model."""
    column, row = camera(view, scene.space_size, size).to_picture(x, y)
    return int(row), int(column)


@pytest.mark.parametrize("theta", [0.0, 0.4, np.pi / 2, 2.5, -1.0])
@pytest.mark.parametrize("zoom", [1.0, 2.5])
def test_a_rod_is_a_capsule_with_round_ends(theta: float, zoom: float) -> None:
    scene, view = one_rod(10, 10, theta), replace(BARE, zoom=zoom)
    picture, distance = render(scene, view, SIZE), distances(scene, view, SIZE)
    assert lit(picture)[distance < -0.75].all()
    assert not lit(picture)[distance > 0.75].any()


@pytest.mark.parametrize("activity", [0.0, 0.25, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("colormap", ["glow", "viridis"])
def test_a_rod_has_the_colour_of_its_activity(activity: float, colormap: str) -> None:
    scene, view = one_rod(10, 10, 0.3, activity), replace(BARE, colormap=colormap)
    x, y = 10 + 0.5 * np.cos(0.3), 10 + 0.5 * np.sin(0.3)
    shown = render(scene, view, SIZE)[pixel(scene, view, SIZE, x, y)]
    wanted = colors(colormap)[round(activity * (COLOR_COUNT - 1))]
    np.testing.assert_allclose(shown.astype(int), wanted, atol=3)


def test_an_activity_outside_of_0_to_1_has_the_nearest_colour() -> None:
    for activity, index in ((-3.0, 0), (2.0, 255)):
        scene = one_rod(10, 10, 0.0, activity)
        shown = render(scene, BARE, SIZE)[pixel(scene, BARE, SIZE, 10.5, 10)]
        np.testing.assert_allclose(shown.astype(int), colors("glow")[index], atol=3)


@pytest.mark.parametrize(
    ("x", "y", "theta"), [(0.2, 10, 0.3), (19.9, 7, 0.0), (10, 0, 1.5), (19.8, 19.7, 0.8)]
)
def test_a_rod_across_an_edge_is_seen_on_both_sides(x: float, y: float, theta: float) -> None:
    scene = one_rod(x, y, theta)
    picture, distance = render(scene, BARE, SIZE), distances(scene, BARE, SIZE)
    assert lit(picture)[distance < -0.75].all()
    assert not lit(picture)[distance > 0.75].any()
    at = camera(BARE, scene.space_size, SIZE)
    columns = np.flatnonzero(lit(picture).any(axis=0))
    rows = np.flatnonzero(lit(picture).any(axis=1))
    wide = columns[-1] - columns[0] > 18 * at.scale
    high = rows[-1] - rows[0] > 18 * at.scale
    assert (wide, high) == (x < 1 or x > 19, y < 1 or y > 19)


def test_many_rods_are_where_they_should_be() -> None:
    scene = swarm(60)
    for size in ((300, 300), (500, 320)):
        picture, distance = render(scene, BARE, size), distances(scene, BARE, size)
        assert lit(picture)[distance < -0.75].all()
        assert not lit(picture)[distance > 0.75].any()


@pytest.mark.parametrize("pixels", [0.05, 0.2, 0.45, 0.8, 1.0])
def test_a_thin_rod_is_as_bright_as_it_is_large(pixels: float) -> None:
    """The sum of coverages is the area in pixels, however thin the rods are."""
    box, side, view = 1000.0, 400, replace(BARE, colormap="gray")
    scale = camera(view, box, (side, side)).scale
    radius, rng = pixels / scale, np.random.default_rng(5)
    # Twenty by twenty, so that none lies on another.
    grid = np.stack(np.meshgrid(*[np.linspace(30, 970, 20)] * 2), axis=-1).reshape(-1, 2)
    places = grid + rng.uniform(-5, 5, (400, 2))
    rods = np.column_stack([places, rng.uniform(0, 6.3, 400), np.ones(400)]).astype(np.float32)
    scene = Scene(rods, box, 8 * radius, radius)
    covered = render(scene, view, (side, side))[..., 0].astype(float).sum() / 255
    area = 400 * (2 * radius * scene.length + np.pi * radius**2) * scale**2
    # The faintest rods lie between two of the 256 levels of brightness.
    assert covered == pytest.approx(area, rel=0.1 if pixels < 0.1 else 0.04)


def test_touching_rods_are_told_apart() -> None:
    rods = np.array([[10, 9, 0, 1], [10, 11, 0, 1]], np.float32)
    scene = Scene(rods, 20.0, length=4.0, radius=1.0)
    picture = render(scene, BARE, SIZE).astype(int)
    middle = picture[pixel(scene, BARE, SIZE, 11, 9)].sum()
    contact = picture[pixel(scene, BARE, SIZE, 11, 10)].sum()
    assert contact < 0.7 * middle


def test_the_tail_of_a_rod_is_darker_than_its_head() -> None:
    scene = one_rod(10, 10, 0.0)
    picture = render(scene, BARE, SIZE).astype(int)
    head = picture[pixel(scene, BARE, SIZE, 12.2, 10)].sum()
    tail = picture[pixel(scene, BARE, SIZE, 7.8, 10)].sum()
    assert tail < 0.85 * head


def test_a_larger_picture_shows_the_same_larger() -> None:
    scene, view = swarm(40), replace(BARE, zoom=2)
    small = render(scene, view, (480, 400)).astype(float)
    large = render(scene, view, (1440, 1200)).astype(float)
    shrunk = large.reshape(400, 3, 480, 3, 3).mean(axis=(1, 3))
    same = np.abs(small - shrunk).mean()
    assert same < 0.5
    # One pixel off is much worse.
    assert np.abs(small - np.roll(shrunk, 1, axis=0)).mean() > 5 * same


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_around_the_box_there_is_plain_background(background: str) -> None:
    view = View(background=background, show_color_bar=False, show_scale_bar=False)
    scene, size = swarm(500), (500, 300)
    picture = render(scene, view, size)
    at = camera(view, scene.space_size, size)
    left = int(at.left) - 2
    right = int(at.left + at.scale * scene.space_size) + 3
    outside = BACKGROUNDS[background].outside
    assert (picture[:, :left] == outside).all()
    assert (picture[:, right:] == outside).all()
    edge = picture[150, left : left + 4].astype(int)
    assert np.abs(edge - outside).sum() > 60
    without = render(scene, replace(view, show_box=False), size)
    assert (without[:, : left + 1] == outside).all()


def test_a_zoomed_picture_shows_what_is_in_its_middle() -> None:
    scene = one_rod(3, 17, 0.0)
    view = replace(BARE, center=(3.0, 17.0), zoom=5.0)
    picture = render(scene, view, SIZE)
    assert lit(picture)[SIZE[1] // 2, SIZE[0] // 2]
    assert (lit(picture) == (distances(scene, view, SIZE) < 0)).mean() > 0.99


def test_the_legend_is_drawn_pixel_for_pixel() -> None:
    from bacsim_gui.legend import legend

    scene, size = swarm(0), (640, 360)
    for background in BACKGROUNDS:
        view = View(background=background)
        picture = render(scene, view, size).astype(float)
        for panel in legend(scene, view, size):
            height, width, _ = panel.image.shape
            part = picture[panel.top : panel.top + height, panel.left : panel.left + width]
            ground = np.array(BACKGROUNDS[background].outside)
            alpha = panel.image[..., 3:] / 255.0
            np.testing.assert_allclose(part, panel.image[..., :3] + (1 - alpha) * ground, atol=2)


def test_no_rods_is_an_empty_box() -> None:
    assert not lit(render(swarm(0), BARE, SIZE)).any()
    # and rods come back afterwards
    assert lit(render(swarm(5), BARE, SIZE)).any()


def test_the_buffer_grows_by_half_and_is_kept() -> None:
    from bacsim_gui.offscreen import surface

    rods = surface()._painter._rods
    render(swarm(3000), BARE, SIZE)
    capacity, buffer = rods.capacity, rods._buffer
    assert capacity >= rods.count >= 3000
    for seed in range(3):
        render(swarm(2500, seed), BARE, SIZE)
        assert rods.capacity == capacity
        assert 2500 <= rods.count <= capacity
    render(swarm(capacity), BARE, SIZE)
    assert rods.capacity >= 1.5 * capacity
    assert rods._buffer is buffer


def test_a_smaller_scene_leaves_nothing_of_a_larger_one() -> None:
    before = render(one_rod(10, 10), BARE, SIZE)
    render(swarm(2000), BARE, SIZE)
    np.testing.assert_array_equal(render(one_rod(10, 10), BARE, SIZE), before)


def test_a_rod_has_the_colour_of_its_measure() -> None:
    scene = one_rod(10, 10, 0.3, 0.0)
    measured = replace(scene, measures={"speed": np.array([0.4], np.float32)})
    view = replace(BARE, color_by="speed", color_range=(0.0, 0.5))
    at = pixel(scene, view, SIZE, 10 + 0.5 * np.cos(0.3), 10 + 0.5 * np.sin(0.3))
    shown = render(measured, view, SIZE)[at].astype(int)
    np.testing.assert_allclose(shown, colors("viridis")[round(0.8 * 255)], atol=3)
    # The same surface shows the same state in another range, and one of which nothing is known.
    wider = render(measured, replace(view, color_range=(0.0, 1.0)), SIZE)[at].astype(int)
    np.testing.assert_allclose(wider, colors("viridis")[round(0.4 * 255)], atol=3)
    plain = render(scene, view, SIZE)[at].astype(int)
    np.testing.assert_allclose(plain, view.colors.rods, atol=3)


@pytest.mark.parametrize("theta", [0.0, 2.0, -1.2])
def test_a_rod_has_the_colour_of_its_heading(theta: float) -> None:
    scene, view = one_rod(10, 10, theta), replace(BARE, color_by="heading")
    x, y = 10 + 0.5 * np.cos(theta), 10 + 0.5 * np.sin(theta)
    shown = render(scene, view, SIZE)[pixel(scene, view, SIZE, x, y)].astype(int)
    wanted = colors("infinity")[round(theta / (2 * np.pi) % 1 * 255)].astype(int)
    np.testing.assert_allclose(shown, wanted, atol=6)


def test_a_copy_across_the_edge_has_the_colour_of_its_rod() -> None:
    scene = replace(one_rod(0.2, 10), measures={"speed": np.array([0.4], np.float32)})
    view = replace(BARE, color_by="speed", color_range=(0.0, 0.5))
    picture = render(scene, view, SIZE)
    seen = [picture[pixel(scene, view, SIZE, x, 10)].astype(int) for x in (0.7, 18.6)]
    assert np.abs(seen[0] - colors("viridis")[204]).max() < 4
    assert np.abs(seen[1] / seen[0] - seen[1][1] / seen[0][1]).max() < 0.1  # its darker tail


@pytest.mark.parametrize("background", ["dark", "white"])
@pytest.mark.parametrize("zoom", [1.0, 0.25])
def test_heads_are_marked_on_demand(background: str, zoom: float) -> None:
    scene = one_rod(10, 10, 0.7)
    view = replace(BARE, color_by="fixed", background=background, zoom=zoom)
    ink, ground = np.array(view.colors.ink, int), np.array(view.colors.inside, int)

    def ends(view: View) -> tuple[np.ndarray, np.ndarray]:
        picture = render(scene, view, SIZE).astype(int)
        reach = 2.4 * np.array([np.cos(0.7), np.sin(0.7)])
        head, tail = (picture[pixel(scene, view, SIZE, *(10 + end * reach))] for end in (1, -1))
        return head, tail

    head, tail = ends(replace(view, show_heads=True))
    before, behind = ends(view)
    assert np.abs(head - ink).sum() < np.abs(before - ink).sum() - 60
    assert np.abs(tail - ground).sum() < np.abs(behind - ground).sum() - 10


@pytest.mark.parametrize("center", [(0.0, 0.0), (20.0, 7.0), (3.0, 19.5)])
def test_a_part_of_the_box_is_shown_with_the_box_again_beyond_its_edges(
    center: tuple[float, float],
) -> None:
    # The copies are the rods of a scene three times as wide, looked at in its middle part.
    scene = swarm(60, space_size=20.0)
    shifts = [(x, y) for x in (0, 20, 40) for y in (0, 20, 40)]
    rods = np.concatenate([scene.rods + np.float32([x, y, 0, 0]) for x, y in shifts])
    wide = replace(scene, rods=rods, space_size=60.0)
    view = replace(BARE, zoom=1.4, center=center)
    there = replace(view, zoom=3 * 1.4, center=(center[0] + 20, center[1] + 20))
    # Which of two rods lies over the other is not the same; a rod over the edge is two halves,
    # whose smooth ends meet.
    apart = lit(render(scene, view, SIZE)) != lit(render(wide, there, SIZE))
    at = camera(view, 20.0, SIZE)
    for edge in (0, 20):
        column, row = (int(part) for part in at.to_picture(edge, edge))
        apart[:, max(column - 1, 0) : max(column + 2, 0)] = False
        apart[max(row - 1, 0) : max(row + 2, 0)] = False
    assert apart.sum() < 5
    assert lit(render(scene, view, SIZE)).mean() > 0.3


def test_there_are_no_copies_where_nobody_wants_them_or_nothing_comes_in_again() -> None:
    scene, view = swarm(60, space_size=20.0), replace(BARE, zoom=1.4, center=(0.0, 0.0))
    left = np.s_[:, : SIZE[0] // 2 - 1]
    assert lit(render(scene, view, SIZE))[left].any()
    assert not lit(render(scene, replace(view, show_copies=False), SIZE))[left].any()
    assert not lit(render(replace(scene, boundary="walls"), view, SIZE))[left].any()
    # Nor around a box that is in sight as a whole, or smaller.
    for whole in (replace(BARE, zoom=1.0), replace(view, zoom=0.5)):
        distance = distances(scene, whole, SIZE)
        assert not lit(render(scene, whole, SIZE))[distance > 0.75].any()


def test_of_very_many_rods_those_in_sight_are_drawn_and_none_is_missing() -> None:
    scene = swarm(12_000, space_size=400.0)
    view = replace(BARE, zoom=8.0, center=(2.0, 399.0))
    at = camera(view, 400.0, SIZE)
    middle = np.array(at.to_model(SIZE[0] / 2, SIZE[1] / 2))
    apart = np.abs(scene.rods[:, :2] - middle + 200) % 400 - 200
    # As few as these are all uploaded.
    near = np.abs(apart).max(axis=1) < SIZE[0] / 2 / at.scale + 1.5 * scene.reach
    assert 200 < near.sum() < 1000
    picture = render(scene, view, SIZE)
    assert surface()._painter._rods.count < 1000
    np.testing.assert_array_equal(
        picture, render(replace(scene, rods=scene.rods[near]), view, SIZE)
    )


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """The ratio of two colours' luminances as the guidelines for the web define it."""
    bright = []
    for color in (one, other):
        part = np.asarray(color, float) / 255
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        bright.append(float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05)
    return max(bright) / min(bright)


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_obstacles_stand_out_from_the_ground_in_every_picture(background: str) -> None:
    scene = Scene(
        np.empty((0, 4), np.float32), 20.0, length=4.0, radius=1.0, obstacles=[(10, 10, 6, 6, 0)]
    )
    view, size = replace(BARE, background=background), (900, 900)
    picture, inside = render(scene, view, size), BACKGROUNDS[background].inside
    fill = picture[pixel(scene, view, size, 10, 10)]
    row, column = pixel(scene, view, size, 7, 10)
    strip = picture[row, column - 3 : column + 4]
    assert contrast(fill, inside) > 1.5
    assert max(contrast(color, inside) for color in strip) > 4.5
    assert max(contrast(color, fill) for color in strip) > 2.5
