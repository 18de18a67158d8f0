# SPDX-License-Identifier: GPL-3.0-or-later
"""The default colour map against the definitions of OKLab and of colour blindness."""

import numpy as np
import pytest

from bacsim_gui.colors import COLOR_COUNT, colors, field_colors, view_colors
from bacsim_gui.quantities import COLORMAPS, CYCLIC_MAPS, QUANTITIES
from bacsim_gui.view import BACKGROUNDS, View, ViewError

# Machado, Oliveira, Fernandes 2009, complete lack of one kind of cone; on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Ottosson 2020: linear RGB to cone responses, and those, after a cube root, to L, a, b.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def oklab(rgb: np.ndarray, sight: str = "normal") -> np.ndarray:
    c = np.asarray(rgb, float) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(SIGHT[sight]), 0, 1)
    return np.cbrt(seen @ np.transpose(CONES)) @ np.transpose(LAB)


def least_distance(name: str, sight: str) -> float:
    """Of any two of the colours of activity 0, 1/4, 1/2, 3/4, 1."""
    five = oklab(colors(name)[np.linspace(0, COLOR_COUNT - 1, 5).astype(int)], sight)
    apart = np.linalg.norm(five[:, None] - five[None], axis=-1)
    return float(apart[np.triu_indices(5, 1)].min())


@pytest.mark.parametrize("sight", SIGHT)
def test_five_levels_of_activity_are_told_apart_by_everyone(sight: str) -> None:
    assert least_distance("glow", sight) > 0.15


def test_the_default_map_serves_the_colour_blind_better_than_known_ones() -> None:
    def worst(name: str) -> float:
        return min(least_distance(name, sight) for sight in SIGHT)

    assert worst("glow") > worst("viridis") > worst("plasma")


def test_the_default_map_is_perceptually_even_and_rises_in_lightness() -> None:
    lab = oklab(colors("glow"))
    steps = np.linalg.norm(lab[16:] - lab[:-16], axis=1)
    assert steps.min() > 0.8 * steps.mean()
    assert steps.max() < 1.2 * steps.mean()
    assert (lab[8:, 0] > lab[:-8, 0]).all()


def test_the_default_map_has_distinct_hues() -> None:
    lab = oklab(colors("glow")[[0, 64, 128, 192, 255]])
    hue = np.unwrap(np.arctan2(lab[:, 2], lab[:, 1]))
    assert (np.diff(np.degrees(hue)) > 15).all()
    assert np.degrees(hue[-1] - hue[0]) > 180


@pytest.mark.parametrize("background", ["dark", "black"])
def test_every_activity_stands_out_from_the_dark_grounds(background: str) -> None:
    ground = oklab(np.array(BACKGROUNDS[background].inside))
    assert np.linalg.norm(oklab(colors("glow")) - ground, axis=1).min() > 0.2


@pytest.mark.parametrize("name", COLORMAPS)
def test_the_offered_maps_exist(name: str) -> None:
    assert colors(name).shape == (COLOR_COUNT, 3)
    assert colors(name).dtype == np.uint8


def test_an_unknown_map_is_refused_by_name() -> None:
    with pytest.raises(ViewError, match="colormap = 'glwo' is unknown: use one of glow"):
        colors("glwo")


SEQUENTIAL = [name for name, quantity in QUANTITIES.items() if quantity.has_range]


@pytest.mark.parametrize("color_by", SEQUENTIAL)
@pytest.mark.parametrize("sight", SIGHT)
def test_every_quantity_is_read_by_everyone(color_by: str, sight: str) -> None:
    name = QUANTITIES[color_by].colormap
    assert least_distance(name, sight) > 0.08
    if color_by != "activity":
        # Without the cones for red, the crimson of our own map is no lighter than its violet.
        assert (np.diff(oklab(colors(name), sight)[::8, 0]) > 0).all()


@pytest.mark.parametrize("color_by", SEQUENTIAL)
@pytest.mark.parametrize("background", ["dark", "black"])
def test_no_value_vanishes_in_the_dark(color_by: str, background: str) -> None:
    ground = oklab(np.array(BACKGROUNDS[background].inside))
    shown = oklab(colors(QUANTITIES[color_by].colormap))
    assert np.linalg.norm(shown - ground, axis=1).min() > 0.12


@pytest.mark.parametrize("color_by", SEQUENTIAL)
def test_steps_of_each_quantity_are_even(color_by: str) -> None:
    lab = oklab(colors(QUANTITIES[color_by].colormap))
    steps = np.linalg.norm(lab[16:] - lab[:-16], axis=1)
    assert steps.min() > 0.7 * steps.mean()
    assert steps.max() < 1.5 * steps.mean()


@pytest.mark.parametrize("sight", SIGHT)
def test_six_headings_are_told_apart_by_everyone(sight: str) -> None:
    table = colors(QUANTITIES["heading"].colormap)
    six = oklab(table[np.arange(6) * COLOR_COUNT // 6], sight)
    apart = np.linalg.norm(six[:, None] - six[None], axis=-1)
    assert apart[np.triu_indices(6, 1)].min() > 0.13


@pytest.mark.parametrize("name", CYCLIC_MAPS)
def test_maps_of_headings_end_as_they_begin(name: str) -> None:
    lab = oklab(view_colors(View(color_by="heading", colormap=name)))
    steps = np.linalg.norm(np.diff(np.concatenate([lab, lab[:1]]), axis=0), axis=1)
    # What closes the circle is a step like the others.
    assert steps[-1] < 2 * steps[:-1].max()


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_headings_and_plain_rods_stand_out_from_every_ground(background: str) -> None:
    ground = oklab(np.array(BACKGROUNDS[background].inside))
    for color_by in ("heading", "fixed"):
        table = oklab(view_colors(View(color_by=color_by, background=background)))
        assert np.linalg.norm(table - ground, axis=1).min() > 0.2


def test_a_map_with_two_ends_is_refused_for_headings() -> None:
    with pytest.raises(ViewError, match="colormap = 'viridis' does not end as it begins"):
        view_colors(View(color_by="heading", colormap="viridis"))
    view_colors(View(color_by="heading", colormap="phase"))  # another cyclic one


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("sight", SIGHT)
def test_colours_of_fields_leave_the_ground_evenly_and_two_ways_for_two_signs(
    background: str, sight: str
) -> None:
    ground = oklab(np.array(BACKGROUNDS[background].inside), sight)
    density, vorticity = (
        oklab(field_colors(View(field=field, background=background)), sight)
        for field in ("density", "vorticity")
    )
    for none in (density[0], vorticity[127], vorticity[128]):
        assert np.linalg.norm(none - ground) < 0.2
    up = -1 if background == "white" else 1
    for side in (density, vorticity[144:], vorticity[:112][::-1]):
        assert (up * (side[16:, 0] - side[:-16, 0]) > 0).all()
    # From a quarter of the range on, no value is mistaken for its opposite.
    assert np.linalg.norm(vorticity[:96] - vorticity[:-97:-1], axis=1).min() > 0.09


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_the_ink_of_rods_stands_out_from_every_colour_of_the_density(background: str) -> None:
    view = View(field="density", background=background)
    ink = oklab(np.array(view.colors.ink))
    assert np.linalg.norm(oklab(field_colors(view)) - ink, axis=1).min() > 0.12


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("color_by", [name for name, one in QUANTITIES.items() if not one.cyclic])
def test_no_colour_of_its_own_map_vanishes_on_white(color_by: str, sight: str) -> None:
    table = view_colors(View(color_by=color_by, background="white"))
    white = oklab(np.array([[255, 255, 255]]), sight)
    assert np.linalg.norm(oklab(table, sight) - white, axis=1).min() > 0.2
    # A map that was chosen is shown as it is.
    chosen = view_colors(View(color_by="activity", background="white", colormap="viridis"))
    np.testing.assert_array_equal(chosen, colors("viridis"))
