# SPDX-License-Identifier: GPL-3.0-or-later
"""The legend of a picture: title, bars, time and parameters; where each of them goes."""

import math
from dataclasses import dataclass
from functools import lru_cache

from bacsim_gui.color_bar import color_bar, told
from bacsim_gui.scene import Scene
from bacsim_gui.sheet import Panel, Sheet, above, cap_height, fitting, text_mask
from bacsim_gui.view import (
    LINE_HEIGHT,
    STRIP_WIDTH,
    TEXT_WIDTH,
    Layout,
    View,
    camera,
    layout,
)
from engine.schema import field


@dataclass(frozen=True)
class ScaleBar:
    """A scale bar of a round length.

    Attributes:
        pixels: its length in the picture.
        labels: what is written under it, a line each.
    """

    pixels: int
    labels: tuple[str, ...]


def legend(scene: Scene, view: View, size: tuple[int, int]) -> tuple[Panel, ...]:
    """The parts of the legend of a picture of the given width and height.

    A second call with equal arguments returns the very same panels, so that a painter need not
    upload them again.
    """
    place = layout(view, size)
    panels, texts = [], _texts(scene, view)[: place.rows * place.columns]
    if place.head:
        panels.append(_title(view.title, view.background, place, size))
    if place.strip == "none":
        return tuple(panels)
    scale = None
    if view.show_scale_bar:
        longest = (STRIP_WIDTH - 1) * place.text if place.strip == "right" else 0.3 * size[0]
        bar = scale_bar(camera(view, scene.space_size, size).scale, scene.radius, longest)
        scale = _scale_panel(bar, view.background, place, size)
        panels.append(scale)
    top = place.margin + place.head
    if view.has_color_bar:
        gap = round(0.7 * place.text) if texts else 0
        room = size[1] - top - place.margin - _texts_height(len(texts), place.text) - 2 * gap
        room -= scale.image.shape[0] if scale is not None else 0
        panels.append(color_bar(told(scene, view), view.background, place, size, room))
        top += panels[-1].image.shape[0] + gap
    panels.extend(_text_panels(texts, view, place, size, top))
    return tuple(panels)


def _texts(scene: Scene, view: View) -> list[str]:
    """What is written besides the title: the time, then the parameters that the scene knows."""
    texts = [f"t = {_time(scene)}"] if view.show_time else []
    return texts + [_value(n, scene.values[n]) for n in view.parameters if n in scene.values]


def _time(scene: Scene) -> str:
    """The time, to a tenth, or as fine as a hundred steps where these are shorter."""
    dt = scene.values.get("dt", 0.0)
    digits = 1 if dt <= 0 else min(max(math.ceil(-math.log10(100 * dt)), 1), 9)
    return f"{scene.time:.{digits}f}".replace("-", "−")


def _value(name: str, value: float) -> str:
    """Symbol, value and unit of a parameter, as 'D_r = 0.05 t⁻¹'."""
    about = field(name)
    number = str(int(value)) if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"
    unit = f"{about.unit[2:]}⁻¹" if about.unit.startswith("1/") else about.unit
    return f"{about.symbol} = {number.replace('-', '−')} {unit}".rstrip()


def _text_panels(
    texts: list[str], view: View, place: Layout, size: tuple[int, int], top: int
) -> list[Panel]:
    """Time and parameters: under the colour bar at the right, or in rows over the bars."""
    em, background, panels = place.text, view.background, []
    timed = view.show_time and bool(texts)
    if place.strip == "right":
        left = size[0] - place.margin - round(STRIP_WIDTH * em)
        if timed:
            panels.append(_text_panel((texts[0],), background, place, left, top))
            top += _texts_height(1, em)
        if texts[timed:]:
            panels.append(_text_panel(tuple(texts[timed:]), background, place, left, top))
        return panels
    for number, text in enumerate(texts):
        row, column = divmod(number, place.columns)
        left = place.margin + round(column * TEXT_WIDTH * em)
        y = round(place.content[3] + 0.5 * em) + row * _texts_height(1, em)
        panels.append(_text_panel((text,), background, place, left, y))
    return panels


def _texts_height(lines: int, em: int) -> int:
    """Height of a panel of so many lines, in pixels."""
    return round(lines * LINE_HEIGHT * em)


def scale_bar(scale: float, radius: float, longest: float) -> ScaleBar:
    """The longest bar of 1, 2 or 5 times a power of ten body widths that fits `longest` pixels.

    Args:
        scale: pixels a model unit.
        radius: of a rod, in model units; a body is two radii wide.
        longest: the room there is, in pixels.
    """
    width = 2 * radius
    room = longest / (scale * width)
    decade = 10.0 ** math.floor(math.log10(room))
    widths = max(step * decade for step in (1, 2, 5) if step * decade <= room * (1 + 1e-9))
    labels = [_quantity(widths, "body width")]
    if not math.isclose(width, 1.0, rel_tol=1e-9):
        labels.append(_quantity(widths * width, "length unit"))
    return ScaleBar(max(1, round(widths * width * scale)), tuple(labels))


def _quantity(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}{'' if value == 1 else 's'}"


@lru_cache(maxsize=32)
def _scale_panel(bar: ScaleBar, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """The bar over its labels, at the bottom of the picture."""
    em, pad = place.text, round(0.6 * place.text)
    thick, capital = max(2, round(0.2 * em)), cap_height(em)
    width = max(bar.pixels, *(text_mask(label, em).shape[1] for label in bar.labels))
    lines = len(bar.labels)
    height = pad + thick + round(0.55 * em) + capital + round(1.4 * em) * (lines - 1) + pad
    sheet = Sheet(width + 2 * pad, height, background, 0.4 * em)
    sheet.fill(pad, pad, bar.pixels, thick)
    for number, label in enumerate(bar.labels):
        top = pad + thick + round(0.55 * em) + number * round(1.4 * em)
        sheet.write(pad, top, label, em)
    if place.strip == "right":
        left = size[0] - place.margin - round(STRIP_WIDTH * em)
        left = min(left, size[0] - sheet.image.shape[1])
        return sheet.panel(left, size[1] - place.margin - height)
    return sheet.panel(place.margin, size[1] - place.margin // 2 - height)


@lru_cache(maxsize=32)
def _title(text: str, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """The title over the middle of the box, as large as fits."""
    middle = (place.content[0] + place.content[2]) / 2
    room = round(2 * min(middle, size[0] - middle)) - 2 * place.margin
    em, pad = round(1.25 * place.text), round(0.5 * place.text)
    mask = fitting(text, em, room - 2 * pad)
    height = place.head - round(0.3 * place.text)
    sheet = Sheet(min(room, mask.shape[1] + 2 * pad), height, background, 0.4 * place.text)
    capital = cap_height(em)
    sheet.cover(pad, (height - capital) // 2 - above(em), mask, sheet.colors.ink)
    left = round(middle - sheet.image.shape[1] / 2)
    return sheet.panel(left, place.margin - round(0.2 * place.text))


# The time is another one in each frame; what is painted again is the newest.
@lru_cache(maxsize=64)
def _text_panel(
    lines: tuple[str, ...], background: str, place: Layout, left: int, top: int
) -> Panel:
    """Lines under one another; digits are equally wide, so that a running number stands still."""
    em, pad = place.text, round(0.6 * place.text)
    room = round(TEXT_WIDTH * em) - 2 * pad
    masks = [fitting(line, em, room, symbol=True) for line in lines]
    width = max(mask.shape[1] for mask in masks) + 2 * pad
    sheet = Sheet(width, _texts_height(len(lines), em), background, 0.4 * em)
    for number, mask in enumerate(masks):
        y = round((number + 0.5) * LINE_HEIGHT * em - cap_height(em) / 2)
        sheet.cover(pad, y - above(em), mask, sheet.colors.ink)
    return sheet.panel(left, top)
