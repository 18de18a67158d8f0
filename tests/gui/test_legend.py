# SPDX-License-Identifier: GPL-3.0-or-later
import numpy as np
import pytest

from bacsim_gui.colors import colors
from bacsim_gui.legend import legend, scale_bar, text_mask
from bacsim_gui.view import View, layout
from tests.gui.conftest import swarm


@pytest.mark.parametrize("height", [10, 12, 16, 24, 48, 96])
def test_text_is_sharp_at_every_height(height: int) -> None:
    mask = text_mask("10 body widths", height)
    stem = text_mask("1", height)[-round(0.6 * height)]
    # Drawn at its final size: an upright edge is at most one pixel wide, on each side.
    assert ((stem > 0.02) & (stem < 0.98)).sum() <= 2
    assert stem.sum() == pytest.approx(0.09 * height, rel=0.25)
    assert mask.shape[1] == pytest.approx(6.9 * height, rel=0.12)


@pytest.mark.parametrize("height", range(8, 49))
def test_letters_stand_on_one_line_and_are_whole(height: int) -> None:
    bottoms = [
        np.flatnonzero(text_mask(letter, height).max(axis=1) > 0.3)[-1] for letter in "hi1xlk"
    ]
    assert max(bottoms) == min(bottoms)
    for letter in "abcdefghiklmnopqrstuvwxyz0123456789.":
        ink = text_mask(letter, height).sum(axis=1)
        assert ink[0] < 0.5
        assert ink[-1] < 0.5


def test_text_scales_with_the_picture() -> None:
    small, large = layout(View(), (1280, 720)).text, layout(View(), (3840, 2160)).text
    assert large == pytest.approx(3 * small, abs=1)


@pytest.mark.parametrize(
    ("scale", "radius", "longest", "pixels", "labels"),
    [
        (10.0, 0.5, 100.0, 100, ("10 body widths",)),
        (10.0, 0.5, 99.0, 50, ("5 body widths",)),
        (10.0, 0.5, 19.0, 10, ("1 body width",)),
        (100.0, 0.5, 75.0, 50, ("0.5 body widths",)),
        (0.1, 0.5, 120.0, 100, ("1000 body widths",)),
        (10.0, 0.25, 100.0, 100, ("20 body widths", "10 length units")),
        (10.0, 0.25, 19.0, 10, ("2 body widths", "1 length unit")),
    ],
)
def test_the_scale_bar_has_a_round_length(
    scale: float, radius: float, longest: float, pixels: int, labels: tuple[str, ...]
) -> None:
    bar = scale_bar(scale, radius, longest)
    assert (bar.pixels, bar.labels) == (pixels, labels)


@pytest.mark.parametrize("size", [(1280, 720), (640, 640), (480, 900), (3840, 2160), (320, 240)])
@pytest.mark.parametrize("zoom", [0.25, 1.0, 7.0, 300.0])
def test_the_legend_lies_in_the_picture(size: tuple[int, int], zoom: float) -> None:
    panels = legend(swarm(), View(zoom=zoom), size)
    assert len(panels) == 2
    for panel in panels:
        height, width, _ = panel.image.shape
        assert panel.left >= 0
        assert panel.top >= 0
        assert panel.left + width <= size[0]
        assert panel.top + height <= size[1]


def test_the_colour_bar_shows_the_map_from_end_to_end() -> None:
    bar = legend(swarm(), View(show_scale_bar=False), (1280, 720))[0].image
    for activity in (0, 128, 255):
        rgb = colors("glow")[activity]
        assert (bar[..., :3] == rgb).all(axis=-1).sum() >= 10
    first = np.argwhere((bar[..., :3] == colors("glow")[255]).all(axis=-1))[0]
    last = np.argwhere((bar[..., :3] == colors("glow")[0]).all(axis=-1))[0]
    assert first[0] < last[0]


def test_parts_of_the_legend_can_be_left_out() -> None:
    scene, size = swarm(), (1280, 720)
    assert len(legend(scene, View(show_color_bar=False), size)) == 1
    assert legend(scene, View(show_color_bar=False, show_scale_bar=False), size) == ()


def test_an_unchanged_legend_is_not_drawn_again() -> None:
    first, second = (legend(swarm(seed=s), View(), (1280, 720)) for s in (1, 2))
    assert first[0] is second[0]
    assert first[1] is second[1]
