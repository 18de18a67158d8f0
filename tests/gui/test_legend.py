# SPDX-License-Identifier: GPL-3.0-or-later
from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui.colors import colors
from bacsim_gui.legend import _texts, legend, scale_bar
from bacsim_gui.scene import Scene
from bacsim_gui.sheet import _mask, text_mask
from bacsim_gui.view import SHOWABLE, View, camera, layout
from engine.params import Params
from tests.gui.conftest import swarm

FEW = ("F_prop", "D_r", "tau_a", "rods")


def told(**values: float) -> Scene:
    """Rods in a scene that knows its parameters."""
    return replace(swarm(), values={**vars(Params()), "rods": 300, **values})


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


SIZES = [(640, 480), (1280, 720), (1080, 1080), (3840, 2160), (720, 1280), (1000, 940), (320, 240)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bars", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("names", [(), FEW, SHOWABLE])
@pytest.mark.parametrize("title", ["", "Swarming", "A title that is much too long for it " * 4])
def test_nothing_overlaps(
    size, bars: tuple[bool, bool], names: tuple[str, ...], title: str
) -> None:
    view = View(title=title, show_time=True, parameters=names)
    view = replace(view, show_color_bar=bars[0], show_scale_bar=bars[1])
    scene, owner = told(), np.zeros(size[::-1], int)
    panels = legend(scene, view, size)
    for panel in panels:
        height, width, _ = panel.image.shape
        assert panel.left >= 0
        assert panel.top >= 0
        part = owner[panel.top : panel.top + height, panel.left : panel.left + width]
        assert part.shape == (height, width)
        part += 1
    assert owner.max() == 1
    at, box = camera(view, scene.space_size, size), scene.space_size
    (left, bottom), (right, top) = at.to_picture(0, 0), at.to_picture(box, box)
    assert owner[round(top) : round(bottom), round(left) : round(right)].max() == 0
    # all that was asked for is there, but in a tiny picture
    place = layout(view, size)
    assert size == (320, 240) or place.rows * place.columns >= 1 + len(names)


def test_the_texts_are_those_of_the_declaration() -> None:
    view = View(show_time=True, parameters=("F_prop", "T_prop", "D_r", "gamma", "w_a", "rods"))
    scene = told(F_prop=12.0, T_prop=-0.25, D_r=0.05, gamma=1 / 3, w_a=-1.5)
    assert _texts(replace(scene, time=12.345), view) == [
        "t = 12.3", "F = 12 f", "T = −0.25 f l", "D_r = 0.05 t⁻¹", "γ = 0.3333 f t/l²",
        "w_a = −1.5", "N = 300",
    ]  # fmt: skip
    # a short time step is seen to pass, and what a scene does not know is left out
    assert _texts(told(dt=1e-5), view)[0] == "t = 0.500"
    assert _texts(swarm(), view) == ["t = 0.5"]


def test_a_running_time_stands_still_and_is_all_that_is_drawn_anew() -> None:
    assert _mask("t = 11.1", 24, symbol=True).shape == _mask("t = 88.8", 24, symbol=True).shape
    assert text_mask("t = 11.1", 24).shape != text_mask("t = 88.8", 24).shape
    view = View(title="Swarm", show_time=True, parameters=FEW)
    first, second = (legend(replace(told(), time=t), view, (1280, 720)) for t in (1.0, 2.0))
    same = [a is b for a, b in zip(first, second, strict=True)]
    assert same.count(False) == 1
    changed = same.index(False)
    assert (first[changed].image != second[changed].image).any()
    assert first[changed].image.shape == second[changed].image.shape
    again = legend(replace(told(), time=2.0), view, (1280, 720))
    assert all(a is b for a, b in zip(second, again, strict=True))


def test_a_subscript_is_small_and_low() -> None:
    low, plain = _mask("D_r", 48, symbol=True), _mask("Dr", 48)
    assert low.shape[1] < plain.shape[1]
    letter = low[:, -12:].max(axis=1), plain[:, -12:].max(axis=1)
    assert np.flatnonzero(letter[0] > 0.5)[-1] > np.flatnonzero(letter[1] > 0.5)[-1] + 4


def test_a_long_title_is_smaller_so_that_it_fits() -> None:
    short, long = (
        legend(told(), View(title=title), (1280, 720))[0] for title in ("Swarm", "Swarm " * 20)
    )
    ink = [np.flatnonzero(panel.image[..., :3].max(axis=(1, 2)) > 150) for panel in (short, long)]
    assert len(ink[1]) < len(ink[0])
    assert long.image.shape[1] <= 1280 - 2 * layout(View(), (1280, 720)).margin
