# SPDX-License-Identifier: GPL-3.0-or-later
"""The maps from what is told of a rod to its colour."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bacsim_gui.fields import FIELDS
from bacsim_gui.quantities import AUTO, COLORMAPS, CYCLIC_MAPS, FIXED
from bacsim_gui.view import View, ViewError

if TYPE_CHECKING:
    import cmap

COLOR_COUNT = 256

# Maps end in light colours, which vanish on white: of those that nobody chose so much is shown.
SHARE_ON_WHITE = 0.78

# Our own map, blue, violet, crimson, orange, pale yellow, for rods on a dark ground. Found by
# maximising, over normal sight and the three kinds of missing cones (Machado 2009), the least
# distance in OKLab between the colours of activity 0, 1/4, 1/2, 3/4 and 1: 0.158, where viridis
# has 0.141 and plasma 0.087. Steps are even in OKLab, lightness rises throughout, and the darkest
# colour still stands out from the ground.
# fmt: off
_GLOW = [
    "#343c96", "#463eb4", "#5c41d1", "#7544e9", "#9145e8", "#a348cc",
    "#b449ae", "#c34790", "#d34571", "#e35662", "#f16b5b", "#fc8257",
    "#fe985e", "#ffae6a", "#ffc378", "#ffd987", "#ffef93",
]
# fmt: on


@lru_cache(maxsize=32)
def colors(name: str, share: float = 1.0) -> np.ndarray:
    """The colour map of that name as (256, 3) uint8, from the lowest value to the highest.

    Of its colours the first are taken, that `share` of all.

    Raises:
        ViewError: neither we nor the cmap library know such a map.
    """
    # Not by a call of the map, which loads NumPy's masked arrays.
    table = _known(name).lut(COLOR_COUNT)[:, :3]
    places = (np.linspace(0.0, share, COLOR_COUNT) * len(table)).astype(int)
    rounded = np.rint(table[np.minimum(places, len(table) - 1)] * 255).astype(np.uint8)
    rounded.flags.writeable = False
    return rounded


def view_colors(view: View) -> np.ndarray:
    """The colour map of a view as (256, 3) uint8.

    Raises:
        ViewError: the map is unknown, or does not end as it begins where angles are shown.
    """
    if view.color_by == FIXED:
        return np.full((COLOR_COUNT, 3), view.colors.rods, np.uint8)
    name = view.map_name
    if view.quantity.cyclic and name not in CYCLIC_MAPS and not _is_cyclic(name):
        raise ViewError(
            f"colormap = {name!r} does not end as it begins, so it cannot show {view.color_by}: "
            f"use one of {', '.join(CYCLIC_MAPS)}."
        )
    cut = view.background == "white" and view.colormap == AUTO and not view.quantity.cyclic
    return colors(name, SHARE_ON_WHITE if cut else 1.0)


def field_colors(view: View) -> np.ndarray:
    """The colour map of the view's field as (256, 3) uint8; it suits the background."""
    field = FIELDS[view.field]
    on_dark, on_white = field.maps
    return colors(on_white if view.background == "white" else on_dark, field.share)


@lru_cache(maxsize=32)
def _known(name: str) -> "cmap.Colormap":
    import cmap

    try:
        return cmap.Colormap(_GLOW if name == "glow" else name)
    except (ValueError, TypeError) as unknown:
        raise ViewError(
            f"colormap = {name!r} is unknown: use one of {', '.join(COLORMAPS)}, or another name "
            "of the cmap catalogue."
        ) from unknown


def _is_cyclic(name: str) -> bool:
    return _known(name).category == "cyclic"
