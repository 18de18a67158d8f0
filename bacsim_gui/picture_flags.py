# SPDX-License-Identifier: GPL-3.0-or-later
"""The flags that say what a picture looks like, derived from the fields of `View`."""

import argparse
from dataclasses import replace
from typing import Any

from bacsim_gui.colors import view_colors
from bacsim_gui.fields import FIELDS
from bacsim_gui.flags import number
from bacsim_gui.movie_formats import QUALITIES
from bacsim_gui.quantities import AUTO, COLORMAPS, CYCLIC_MAPS, QUANTITIES
from bacsim_gui.view import BACKGROUNDS, View, checked
from engine.schema import ParameterError

DEFAULT_SIZE, DEFAULT_FPS = "1280x720", "30"
FORMATS = ".mp4, .webm, .gif: a movie; .png: one picture; no ending: a folder of pictures"
_PREFIX = "view_"


def add_picture_flags(parser: argparse.ArgumentParser) -> None:
    """Add size, frame rate, quality and every field of `View`."""
    movie = parser.add_argument_group("pictures")
    movie.add_argument(
        "--size", metavar="WIDTHxHEIGHT", help=f"in pixels, even for movies; default {DEFAULT_SIZE}"
    )
    movie.add_argument("--fps", metavar="FLOAT", help=f"frames a second; default {DEFAULT_FPS}")
    movie.add_argument(
        "--quality", choices=QUALITIES,
        help="share: plays everywhere, smoothed edges; high: all of the colour; lossless: every "
        "bit of it; default share",
    )  # fmt: skip
    look = parser.add_argument_group("view")
    for name, metavar, text in (
        ("color_by", "NAME", f"what a rod's colour tells: {', '.join(QUANTITIES)}"),
        (
            "colormap",
            "NAME",
            f"{', '.join(COLORMAPS)}, for headings {', '.join(CYCLIC_MAPS)}, or another that the "
            f"cmap library knows; default {AUTO}: one for each quantity",
        ),
        ("color_range", "LOW,HIGH", f"the values at the ends of the colours, or {AUTO}"),
        ("background", "NAME", f"one of {', '.join(BACKGROUNDS)}"),
        ("field", "NAME", f"what is drawn under the rods: {', '.join(FIELDS)}"),
        ("title", "TEXT", "written over the picture"),
        ("parameters", "NAMES", "live parameters to write into the picture, commas between"),
        ("zoom", "FLOAT", "1 shows the whole box, 2 half of its side"),
        ("center", "X,Y", "the point of the box in the middle"),
    ):
        flag = f"--{name.replace('_', '-')}"
        look.add_argument(flag, dest=_PREFIX + name, metavar=metavar, help=text)
    for name, text in (
        ("show_rods", "draw the rods"),
        ("show_heads", "mark the head of each rod"),
        ("show_trails", "draw the ways that rods came, through the frames before"),
        ("show_flow", "draw arrows of the rods' mean velocity"),
        ("show_time", "write the simulated time"),
        ("show_box", "draw the outline of the box"),
        (
            "show_copies",
            "draw the box again beyond its edges, where the picture shows a part of it",
        ),
        ("show_color_bar", "draw the colour bar"),
        ("show_scale_bar", "draw the scale bar"),
    ):
        look.add_argument(
            f"--{name.replace('_', '-')}", dest=_PREFIX + name, help=text,
            action=argparse.BooleanOptionalAction, default=None,
        )  # fmt: skip


def view_from(arguments: argparse.Namespace, view: View) -> View:
    """`view`, with what the flags say. Raises `ValueError` for what cannot be shown."""
    given: dict[str, Any] = {
        name.removeprefix(_PREFIX): value
        for name, value in vars(arguments).items()
        if name.startswith(_PREFIX) and value is not None
    }
    if "parameters" in given:
        words = (word.strip() for word in given["parameters"].split(","))
        given["parameters"] = tuple(word for word in words if word)
    if "zoom" in given:
        given["zoom"] = number("zoom", given["zoom"], 0, 1e6)
    if "center" in given:
        given["center"] = _pair("center", given["center"], "20,35")
    if "color_range" in given:
        text = given["color_range"]
        given["color_range"] = None if text == AUTO else _pair("color-range", text, "0,1.5")
    if given.get("color_by", view.color_by) != view.color_by:
        # A map and a range that were chosen for another quantity say nothing here.
        given = {"colormap": AUTO, "color_range": None, **given}
    found = checked(replace(view, **given))
    view_colors(found)
    return found


def _pair(name: str, text: str, example: str) -> tuple[float, float]:
    x, comma, y = text.partition(",")
    if not comma:
        raise ParameterError(name, text, "is no pair", f"Give two numbers, as in {example}.")
    limit = 1e9
    return number(name, x, -limit, limit), number(name, y, -limit, limit)


def size_from(text: str) -> tuple[int, int]:
    """Width and height from `1280x720`; or `ParameterError`."""
    width, cross, height = text.lower().partition("x")
    if not (cross and width.strip().isdecimal() and height.strip().isdecimal()):
        raise ParameterError(
            "size", text, "is not possible", "Give width and height, as in 1280x720."
        )
    return int(width), int(height)


def fps_from(text: str) -> float:
    """Frames a second; or `ParameterError`."""
    return number("fps", text, 0, 240)
