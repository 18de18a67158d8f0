# SPDX-License-Identifier: GPL-3.0-or-later
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bacsim_gui.quantities import COLORMAPS
from bacsim_gui.view import (
    BACKGROUNDS,
    SMALLEST_WITH_LEGEND,
    ZOOM_RANGE,
    View,
    ViewError,
    camera,
    checked,
    images,
    layout,
    panned,
    zoomed,
)

SIZES = st.tuples(st.integers(200, 4000), st.integers(200, 4000))


def test_a_view_survives_json() -> None:
    view = View(center=(3.0, 4.5), zoom=2.5, colormap="viridis", background="white", show_box=False)
    assert View.from_dict(json.loads(json.dumps(view.to_dict()))) == view
    told = View(title="Swärm", show_time=True, parameters=("F_prop", "rods"))
    assert View.from_dict(json.loads(json.dumps(told.to_dict()))) == told
    assert told.to_dict()["parameters"] == ["F_prop", "rods"]
    layers = View(field="vorticity", show_rods=False, show_trails=True)
    assert View.from_dict(json.loads(json.dumps(layers.to_dict()))) == layers
    assert View.from_dict({}) == View()


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"zom": 2}, "Did you mean 'zoom'"),
        ({"zoom": 0}, "zoom = 0"),
        ({"zoom": "two"}, "zoom = 'two'"),
        ({"zoom": float("nan")}, "zoom = nan"),
        ({"center": [1]}, "center = [1]"),
        ({"center": ["a", 2]}, "center"),
        ({"center": [1, float("inf")]}, "center"),
        ({"background": "green"}, "dark, black, white"),
        ({"show_box": 1}, "show_box = 1"),
        ({"colormap": 7}, "colormap = 7"),
        ({"color_by": "sped"}, "color_by = 'sped' is unknown: use one of activity, heading"),
        ({"color_by": ["speed"]}, "color_by = ['speed'] is unknown"),
        (
            {"field": "vorticty"},
            "field = 'vorticty' is unknown: use one of none, density, vorticity",
        ),
        ({"field": ["density"]}, "field = ['density'] is unknown"),
        ({"show_rods": 0}, "show_rods = 0"),
        ({"color_range": [1]}, "color_range = [1]"),
        ({"color_range": [1, "x"]}, "color_range"),
        ({"color_range": [2, 1]}, "color_range = 2 to 1 is none"),
        ({"color_range": [1, 1]}, "the second number must be larger"),
        ({"show_heads": 1}, "show_heads = 1"),
        ({"show_time": "yes"}, "show_time = 'yes'"),
        ({"title": "two\nlines"}, "title = 'two\\nlines'"),
        ({"title": "x" * 201}, "at most 200 letters"),
        ({"title": None}, "title = None"),
        ({"parameters": ["F_prp"]}, "Did you mean 'F_prop'"),
        ({"parameters": ["kernel"]}, "'kernel' cannot be written into a picture. Use some of"),
        ({"parameters": [3]}, "3 cannot be written"),
        ({"parameters": "F_prop"}, "parameters = 'F_prop' is no list"),
        ({"parameters": ["dt", "dt"]}, "twice"),
    ],
)
def test_a_view_that_cannot_be_shown_is_refused_by_name(values: dict, named: str) -> None:
    with pytest.raises(ViewError) as refused:
        View.from_dict(values)
    assert named in str(refused.value)


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_every_background_can_be_shown(background: str) -> None:
    assert checked(View(background=background)).colors is BACKGROUNDS[background]
    assert View().map_name == COLORMAPS[0]


def test_a_view_measures_only_what_it_shows() -> None:
    assert View(color_by="speed").measures == ("speed",)
    assert View(color_by="speed", show_rods=False).measures == ()
    assert View(color_by="speed", field="density").measures == ()
    moving = ("velocity_x", "velocity_y")
    assert View(field="vorticity", show_flow=True).measures == moving
    bars = [View(field=f, color_by=c, show_rods=r).has_color_bar
            for f, c, r in (("none", "fixed", True), ("none", "speed", False),
                            ("density", "fixed", False), ("none", "speed", True))]  # fmt: skip
    assert bars == [False, False, True, True]
    assert not View(field="density", show_color_bar=False).has_color_bar


@given(SIZES, st.floats(1.0, 1e4), st.booleans(), st.booleans())
def test_at_zoom_1_the_whole_box_is_in_the_picture(
    size: tuple[int, int], box: float, bar: bool, scale: bool
) -> None:
    view = View(show_color_bar=bar, show_scale_bar=scale)
    at = camera(view, box, size)
    left, bottom = at.to_picture(0, 0)
    right, top = at.to_picture(box, box)
    assert 0 <= left < right <= size[0]
    assert 0 <= top < bottom <= size[1]
    content = layout(view, size).content
    room = min(content[2] - content[0], content[3] - content[1])
    assert right - left == pytest.approx(room)


@pytest.mark.parametrize("size", [(1280, 720), (720, 720), (720, 1280), (800, 600)])
def test_the_legend_takes_no_more_than_a_tenth_of_the_box(size: tuple[int, int]) -> None:
    with_legend = camera(View(), 1.0, size).scale
    without = camera(View(show_color_bar=False, show_scale_bar=False), 1.0, size).scale
    assert with_legend >= 0.9 * without
    if size == (1280, 720):
        assert with_legend == without


def test_a_tiny_picture_is_all_box() -> None:
    size = (SMALLEST_WITH_LEGEND - 1, 200)
    assert layout(View(), size).strip == "none"
    assert camera(View(), 1.0, size).scale == size[0]


@pytest.mark.parametrize("size", [(640, 480), (700, 700), (1280, 720)])
def test_a_larger_picture_shows_the_same_larger(size: tuple[int, int]) -> None:
    view = View(center=(3, 8), zoom=1.7)
    small = camera(view, 20.0, size)
    large = camera(view, 20.0, (3 * size[0], 3 * size[1]))
    for x, y in ((0, 0), (20, 3), (7, 20)):
        px, py = small.to_picture(x, y)
        assert large.to_picture(x, y) == pytest.approx((3 * px, 3 * py))


@given(SIZES, st.floats(0.2, 0.8), st.floats(0.2, 0.8), st.floats(1.0, 20.0))
def test_zooming_keeps_the_point_under_the_mouse(
    size: tuple[int, int], x: float, y: float, factor: float
) -> None:
    view, box = View(), 50.0
    pixel = camera(view, box, size).to_picture(x * box, y * box)
    closer = zoomed(view, box, size, pixel, factor)
    assert closer.zoom == pytest.approx(factor)
    assert camera(closer, box, size).to_model(*pixel) == pytest.approx((x * box, y * box))
    back = zoomed(closer, box, size, pixel, 1 / factor)
    assert back.zoom == pytest.approx(1.0)
    assert back.center == pytest.approx((box / 2, box / 2))


def test_zoom_stays_in_its_range() -> None:
    size, pixel = (800, 600), (400.0, 300.0)
    low, high = ZOOM_RANGE
    assert zoomed(View(), 10.0, size, pixel, 1e9).zoom == high
    assert zoomed(View(), 10.0, size, pixel, 1e-9).zoom == low
    assert checked(zoomed(View(), 10.0, size, pixel, 1e9))


def test_panning_moves_the_picture_with_the_mouse_but_not_out_of_the_box() -> None:
    size, box, view = (800, 600), 10.0, View(zoom=4.0)
    before, after = camera(view, box, size), camera(panned(view, box, size, 30, -20), box, size)
    px, py = before.to_picture(5, 5)
    assert after.to_picture(5, 5) == pytest.approx((px + 30, py - 20))
    far = panned(view, box, size, 1e6, 1e6)
    assert far.center == (0.0, box)


def test_copies_of_the_box_are_in_sight_where_it_is_not_there_as_a_whole() -> None:
    box, size = 20.0, (600, 400)
    assert images(View(), box, size) == ((0, 0),)
    assert images(View(zoom=0.5, center=(0.0, 0.0)), box, size) == ((0, 0),)
    assert images(View(zoom=6.0, center=(10.0, 10.0)), box, size) == ((0, 0),)
    corner = View(zoom=6.0, center=(0.0, 20.0))
    assert set(images(corner, box, size)) == {(0, 0), (-1, 0), (0, 1), (-1, 1)}
    assert images(corner, box, size)[-1] == (0, 0)
    assert images(replace(corner, show_copies=False), box, size) == ((0, 0),)
    assert images(corner, box, size, periodic=False) == ((0, 0),)
