# SPDX-License-Identifier: GPL-3.0-or-later
"""How a state is looked at, and where that puts things in a picture. Pure: no Qt, no OpenGL.

A `View` is what the user chose; a `Layout` and a `Camera` follow from it and the picture's size.
Picture coordinates are pixels, origin at the top left, y downward.
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

ZOOM_RANGE = (0.25, 1000.0)


class ViewError(ValueError):
    """A view that cannot be shown; the message names the value and what to do."""


@dataclass(frozen=True)
class Background:
    """Colours of a picture apart from the rods, each red, green, blue in 0..255.

    Attributes:
        outside: around the box.
        inside: the box itself.
        edge: the outline of the box.
        ink: text and scale bar.
    """

    outside: tuple[int, int, int]
    inside: tuple[int, int, int]
    edge: tuple[int, int, int]
    ink: tuple[int, int, int]


BACKGROUNDS: dict[str, Background] = {
    "dark": Background((11, 13, 18), (17, 20, 27), (70, 78, 92), (205, 212, 222)),
    "black": Background((0, 0, 0), (0, 0, 0), (72, 72, 72), (214, 214, 214)),
    "white": Background((255, 255, 255), (255, 255, 255), (150, 154, 160), (32, 36, 42)),
}

# Offered by name in the window; the first, our own, is the default (see colors.py). All but turbo
# are perceptually uniform and keep their order for the colour-blind. Any other name that the cmap
# library knows is taken too.
COLORMAPS = ("glow", "plasma", "viridis", "hawaii", "batlow", "cividis", "turbo")


@dataclass(frozen=True)
class View:
    """How a state is looked at; together with the state and the size it fixes the picture.

    Attributes:
        center: the point of the box shown in the middle, in model units; None is the box's centre.
        zoom: 1 shows the whole box; 2 shows half of its side.
        colormap: name of the map from activity to colour, as the cmap library knows it.
        background: a key of `BACKGROUNDS`.
        show_box: draw the outline of the periodic box.
        show_color_bar: draw the colour bar of the activity.
        show_scale_bar: draw the scale bar.
    """

    center: tuple[float, float] | None = None
    zoom: float = 1.0
    colormap: str = COLORMAPS[0]
    background: str = "dark"
    show_box: bool = True
    show_color_bar: bool = True
    show_scale_bar: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The view as plain values, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "View":
        """The view that `to_dict` wrote; missing keys take their defaults.

        Raises:
            ViewError: an unknown key, or a value that cannot be shown.
        """
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise ViewError(f"A view has no '{key}'.{_did_you_mean(key, known)}")
        return checked(cls(**{**values, "center": _center(values.get("center"))}))

    @property
    def colors(self) -> Background:
        """The colours of the background."""
        return BACKGROUNDS[self.background]


def checked(view: View) -> View:
    """The same view, once it is known that it can be shown.

    Raises:
        ViewError: a value has the wrong type or range, or the background's name is unknown.
    """
    low, high = ZOOM_RANGE
    if not isinstance(view.zoom, int | float) or not low <= view.zoom <= high:
        raise ViewError(
            f"zoom = {view.zoom!r} cannot be shown: use a number from {low:g} to {high:g}."
        )
    _center(view.center)
    if view.background not in BACKGROUNDS:
        raise ViewError(
            f"background = {view.background!r} is unknown: use one of {', '.join(BACKGROUNDS)}."
        )
    if not isinstance(view.colormap, str):
        raise ViewError(f"colormap = {view.colormap!r} is not the name of a colour map.")
    for name in ("show_box", "show_color_bar", "show_scale_bar"):
        if not isinstance(getattr(view, name), bool):
            raise ViewError(f"{name} = {getattr(view, name)!r}: use true or false.")
    return view


@dataclass(frozen=True)
class Layout:
    """Where a picture keeps the box at zoom 1 and where its legend goes; all in pixels.

    Attributes:
        text: height of the font; everything in the legend is a multiple of it.
        margin: distance kept from the picture's edge.
        content: left, top, right, bottom of the area into which the box is fitted. Not rounded, so
            that pictures of two sizes differ in nothing but size.
        strip: side on which the legend lies, "right" or "bottom"; "none" where there is none.
    """

    text: int
    margin: int
    content: tuple[float, float, float, float]
    strip: str


# In units of the text height: the margin, and what the legend takes at the right or the bottom.
MARGIN = 0.9
STRIP_WIDTH = 8.5
STRIP_HEIGHT = 4.0
# Pixels; a smaller picture is all box.
SMALLEST_WITH_LEGEND = 160


def layout(view: View, size: tuple[int, int]) -> Layout:
    """Divide a picture of the given width and height between the box and the legend.

    The legend goes where it costs the box least; in a wide picture it costs nothing.
    """
    width, height = size
    em = max(8.0, 0.022 * min(width, height))
    text, margin = round(em), MARGIN * em
    pixels = round(margin)
    inner = (margin, margin, width - margin, height - margin)
    if not (view.show_color_bar or view.show_scale_bar):
        return Layout(text, pixels, inner, "none")
    if min(size) < SMALLEST_WITH_LEGEND:
        return Layout(text, pixels, (0.0, 0.0, width, height), "none")
    strip = STRIP_WIDTH * em + margin
    spare = (width - (height - 2 * margin)) / 2
    beside = (inner[0], inner[1], inner[2] - (0 if spare >= strip else strip), inner[3])
    below = (inner[0], inner[1], inner[2], inner[3] - STRIP_HEIGHT * em)
    if _side(beside) >= _side(below):
        return Layout(text, pixels, beside, "right")
    return Layout(text, pixels, below, "bottom")


@dataclass(frozen=True)
class Camera:
    """The map from model units to pixels: px = left + scale·x, py = bottom − scale·y.

    Attributes:
        scale: pixels a model unit.
        left: where x = 0 lies, in pixels from the left.
        bottom: where y = 0 lies, in pixels from the top.
    """

    scale: float
    left: float
    bottom: float

    def to_picture(self, x: float, y: float) -> tuple[float, float]:
        """Pixel coordinates of a point of the model."""
        return self.left + self.scale * x, self.bottom - self.scale * y

    def to_model(self, px: float, py: float) -> tuple[float, float]:
        """The point of the model at these pixel coordinates."""
        return (px - self.left) / self.scale, (self.bottom - py) / self.scale


def camera(view: View, space_size: float, size: tuple[int, int]) -> Camera:
    """Where a box of side `space_size` lies in a picture of the given width and height."""
    content = layout(view, size).content
    scale = _side(content) / space_size * view.zoom
    x, y = view.center or (space_size / 2, space_size / 2)
    middle_x, middle_y = (content[0] + content[2]) / 2, (content[1] + content[3]) / 2
    return Camera(scale, middle_x - scale * x, middle_y + scale * y)


def zoomed(
    view: View, space_size: float, size: tuple[int, int], pixel: tuple[float, float], factor: float
) -> View:
    """The view after zooming by `factor`, the point under `pixel` staying where it is."""
    zoom = min(max(view.zoom * factor, ZOOM_RANGE[0]), ZOOM_RANGE[1])
    x, y = camera(view, space_size, size).to_model(*pixel)
    moved = camera(replace(view, zoom=zoom), space_size, size)
    px, py = moved.to_picture(x, y)
    return panned(replace(view, zoom=zoom), space_size, size, pixel[0] - px, pixel[1] - py)


def panned(view: View, space_size: float, size: tuple[int, int], dx: float, dy: float) -> View:
    """The view after the picture was dragged by (dx, dy) pixels; its middle stays in the box."""
    scale = camera(view, space_size, size).scale
    x, y = view.center or (space_size / 2, space_size / 2)
    x, y = x - dx / scale, y + dy / scale
    return replace(view, center=(min(max(x, 0.0), space_size), min(max(y, 0.0), space_size)))


def _side(rectangle: tuple[float, float, float, float]) -> float:
    """Side of the largest square in a rectangle."""
    return min(rectangle[2] - rectangle[0], rectangle[3] - rectangle[1])


def _center(value: Any) -> tuple[float, float] | None:
    """Coerce a centre, as JSON gives it, to a pair of numbers or None."""
    if value is None:
        return None
    try:
        x, y = (float(part) for part in value)
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ViewError(f"center = {value!r} is no point: use two numbers, x and y, or none.")
    return x, y


def _did_you_mean(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else f" It has {', '.join(known)}."
