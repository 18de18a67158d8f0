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

from bacsim_gui.fields import FIELDS, NO_FIELD, VELOCITIES
from bacsim_gui.quantities import AUTO, FIXED, QUANTITIES, Quantity
from engine.schema import PARAM_FIELDS

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
        rods: rods that are all of one colour.
    """

    outside: tuple[int, int, int]
    inside: tuple[int, int, int]
    edge: tuple[int, int, int]
    ink: tuple[int, int, int]
    rods: tuple[int, int, int]


BACKGROUNDS: dict[str, Background] = {
    "dark": Background((11, 13, 18), (17, 20, 27), (70, 78, 92), (205, 212, 222), (112, 168, 214)),
    "black": Background((0, 0, 0), (0, 0, 0), (72, 72, 72), (214, 214, 214), (112, 168, 214)),
    "white": Background(
        (255, 255, 255), (255, 255, 255), (150, 154, 160), (32, 36, 42), (64, 120, 176)
    ),
}


@dataclass(frozen=True)
class View:
    """How a state is looked at; together with the state and the size it fixes the picture.

    Attributes:
        center: the point of the box shown in the middle, in model units; None is the box's centre.
        zoom: 1 shows the whole box; 2 shows half of its side.
        color_by: a key of `QUANTITIES`, what the colour of a rod tells.
        colormap: name of the map from that to colour, as the cmap library knows it; "auto" is the
            quantity's own.
        color_range: the values at the two ends of the map; None is the quantity's own range. An
            angle has none.
        background: a key of `BACKGROUNDS`.
        show_box: draw the outline of the periodic box.
        show_copies: draw the box again beyond its edges, where the picture shows a part of it.
        field: a key of `FIELDS`, what is drawn under the rods. Colours then tell of it, and rods
            are in the ink's colour, translucent.
        show_rods: draw the rods.
        show_heads: mark the head of each rod.
        show_trails: draw the ways that rods came, as lines.
        show_flow: draw arrows of the rods' mean velocity over them.
        show_color_bar: draw the colour bar.
        show_scale_bar: draw the scale bar.
        title: one line over the box; empty for none.
        show_time: write the simulated time.
        parameters: names of the live parameters, and `rods`, whose values are written. Those for
            which a small picture has no room are left out.
    """

    center: tuple[float, float] | None = None
    zoom: float = 1.0
    color_by: str = "activity"
    colormap: str = AUTO
    color_range: tuple[float, float] | None = None
    background: str = "dark"
    field: str = NO_FIELD
    show_rods: bool = True
    show_heads: bool = False
    show_trails: bool = False
    show_flow: bool = False
    show_box: bool = True
    show_copies: bool = True
    show_color_bar: bool = True
    show_scale_bar: bool = True
    title: str = ""
    show_time: bool = False
    parameters: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The view as plain values, as JSON has them: its tuples are lists."""
        values = asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

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
        shown = dict(values)
        if isinstance(shown.get("parameters"), list):
            shown["parameters"] = tuple(shown["parameters"])
        pairs = {name: _pair(name, shown.get(name)) for name in ("center", "color_range")}
        return checked(cls(**{**shown, **pairs}))

    @property
    def colors(self) -> Background:
        """The colours of the background."""
        return BACKGROUNDS[self.background]

    @property
    def quantity(self) -> Quantity:
        """What the colour of a rod tells."""
        return QUANTITIES[self.color_by]

    @property
    def map_name(self) -> str:
        """The name of the colour map in use."""
        return self.quantity.colormap if self.colormap == AUTO else self.colormap

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of `engine.snapshot.MEASURES` that a picture needs."""
        colors = (self.quantity.measure,) if self.quantity.measure and self.colors_rods else ()
        flow = VELOCITIES if self.show_flow else ()
        return tuple(dict.fromkeys((*colors, *flow, *FIELDS[self.field].measures)))

    @property
    def colors_rods(self) -> bool:
        """Whether colours tell of rods; there is one set of colours, since two would mix."""
        return self.show_rods and self.field == NO_FIELD

    @property
    def has_color_bar(self) -> bool:
        """Whether there is a colour bar to draw."""
        told = self.field != NO_FIELD or (self.colors_rods and self.color_by != FIXED)
        return self.show_color_bar and told


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
    _pair("center", view.center)
    if not isinstance(view.color_by, str) or view.color_by not in QUANTITIES:
        raise ViewError(
            f"color_by = {view.color_by!r} is unknown: use one of {', '.join(QUANTITIES)}."
        )
    if not isinstance(view.field, str) or view.field not in FIELDS:
        raise ViewError(f"field = {view.field!r} is unknown: use one of {', '.join(FIELDS)}.")
    ends = _pair("color_range", view.color_range)
    if ends is not None and not ends[0] < ends[1]:
        raise ViewError(
            f"color_range = {ends[0]:g} to {ends[1]:g} is none: the second number must be larger."
        )
    if view.background not in BACKGROUNDS:
        raise ViewError(
            f"background = {view.background!r} is unknown: use one of {', '.join(BACKGROUNDS)}."
        )
    if not isinstance(view.colormap, str):
        raise ViewError(f"colormap = {view.colormap!r} is not the name of a colour map.")
    for name in (field.name for field in fields(View) if field.name.startswith("show_")):
        if not isinstance(getattr(view, name), bool):
            raise ViewError(f"{name} = {getattr(view, name)!r}: use true or false.")
    _check_texts(view)
    return view


# What can be written into a picture, in the order of the declaration: all but where a hand is.
SHOWABLE = (*(field.name for field in PARAM_FIELDS if field.group != "hand"), "rods")
LONGEST_TITLE = 200


def _check_texts(view: View) -> None:
    title = view.title
    if not isinstance(title, str) or len(title) > LONGEST_TITLE or not title.isprintable():
        raise ViewError(
            f"title = {title!r} cannot be written: use one line of at most {LONGEST_TITLE} letters."
        )
    if not isinstance(view.parameters, tuple):
        raise ViewError(f"parameters = {view.parameters!r} is no list of names.")
    for name in view.parameters:
        if name not in SHOWABLE:
            near = difflib.get_close_matches(str(name), SHOWABLE, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"Use some of {', '.join(SHOWABLE)}."
            raise ViewError(f"parameters: {name!r} cannot be written into a picture. {hint}")
    if len(set(view.parameters)) < len(view.parameters):
        raise ViewError("parameters: a name is there twice; give each of them once.")


@dataclass(frozen=True)
class Layout:
    """Where a picture keeps the box at zoom 1 and where its legend goes; all in pixels.

    Attributes:
        text: height of the font; everything in the legend is a multiple of it.
        margin: distance kept from the picture's edge.
        content: left, top, right, bottom of the area into which the box is fitted. Not rounded, so
            that pictures of two sizes differ in nothing but size.
        strip: side on which the legend lies, "right" or "bottom"; "none" where there is none.
        head: height kept for the title, at the top.
        columns: how many texts stand beside one another at the bottom.
        rows: how many rows of them there are; so many at the most in the strip at the right.
    """

    text: int
    margin: int
    content: tuple[float, float, float, float]
    strip: str
    head: int = 0
    columns: int = 1
    rows: int = 0


# In units of the text height: the margin, and what the legend takes at the right or the bottom.
MARGIN = 0.9
STRIP_WIDTH = 8.5
STRIP_HEIGHT = 4.0
# The same of the title, of a line of text, and of the gap under the texts at the bottom.
HEAD_HEIGHT = 2.2
LINE_HEIGHT = 1.5
TEXT_GAP = 0.4
TEXT_WIDTH = 8.5
# What the strip at the right keeps for the bars at the least, with the space around them.
_SHORTEST_COLOR_BAR = 5.5
_SCALE_BAR_ROOM = 5.0
# A box that sticks out by so many pixels is in sight all the same.
_EDGE = 0.5
# Zoomed out farther, copies would be many, and the whole box is in sight or nearly so.
_LEAST_REPEATED = 0.999
# Pixels; a smaller picture is all box.
SMALLEST_WITH_LEGEND = 160


def layout(view: View, size: tuple[int, int]) -> Layout:
    """Divide a picture of the given width and height between the box and the legend.

    The legend goes where it costs the box least; in a wide picture it costs nothing.
    """
    width, height = size
    em = max(8.0, 0.022 * min(width, height))
    margin = MARGIN * em
    texts = int(view.show_time) + len(view.parameters)
    bars = view.has_color_bar or view.show_scale_bar
    if min(size) < SMALLEST_WITH_LEGEND and (bars or texts or view.title):
        return Layout(round(em), round(margin), (0.0, 0.0, width, height), "none")
    head = HEAD_HEIGHT * em if view.title else 0.0
    inner = (margin, margin + head, width - margin, height - margin)
    if not (bars or texts):
        return Layout(round(em), round(margin), inner, "none", round(head))
    strip = STRIP_WIDTH * em + margin
    spare = (width - (height - 2 * margin - head)) / 2
    beside = (inner[0], inner[1], inner[2] - (0 if spare >= strip + 0.6 * em else strip), inner[3])
    columns = max(1, int((width - 2 * margin) / (TEXT_WIDTH * em)))
    rows = min(-(-texts // columns), int(height / (4 * LINE_HEIGHT * em)))
    under = (STRIP_HEIGHT * bars + (rows * LINE_HEIGHT + TEXT_GAP) * (rows > 0)) * em
    below = (inner[0], inner[1], inner[2], inner[3] - under)
    if _side(beside) < _side(below):
        return Layout(round(em), round(margin), below, "bottom", round(head), columns, rows)
    taken = _SHORTEST_COLOR_BAR * view.has_color_bar + _SCALE_BAR_ROOM * view.show_scale_bar
    room = (inner[3] - inner[1]) / em - taken - 2
    rows = min(texts, max(0, int(room / LINE_HEIGHT)))
    return Layout(round(em), round(margin), beside, "right", round(head), 1, rows)


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

    def moved(self, x: float, y: float) -> "Camera":
        """The camera that puts the origin where this one has (x, y)."""
        return Camera(self.scale, *self.to_picture(x, y))

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


def images(
    view: View, space_size: float, size: tuple[int, int], periodic: bool = True
) -> tuple[tuple[int, int], ...]:
    """Which copies of the box a picture shows, in boxes to the right and upwards; (0, 0) is last.

    There are others than that where the view wants them and the whole box is not in sight anyway.
    """
    at, (left, top, right, bottom) = camera(view, space_size, size), layout(view, size).content
    x0, y0 = at.to_picture(0.0, space_size)
    x1, y1 = at.to_picture(space_size, 0.0)
    whole = min(x0 - left, right - x1, y0 - top, bottom - y1) > -_EDGE
    if whole or not (periodic and view.show_copies) or view.zoom < _LEAST_REPEATED:
        return ((0, 0),)
    (low_x, high_y), (high_x, low_y) = at.to_model(0, 0), at.to_model(*size)
    columns, rows = (
        range(math.floor(low / space_size), math.floor(high / space_size) + 1)
        for low, high in ((low_x, high_x), (low_y, high_y))
    )
    copies = [(across, up) for up in rows for across in columns if (across, up) != (0, 0)]
    return (*copies, (0, 0))


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


def _pair(name: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        x, y = (float(part) for part in value)
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ViewError(f"{name} = {value!r} is not possible: use two numbers, or none.")
    return x, y


def _did_you_mean(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else f" It has {', '.join(known)}."
