# SPDX-License-Identifier: GPL-3.0-or-later
"""The legend of a picture: title, bars, time and parameters, drawn pixel for pixel with NumPy.

Text is drawn by FreeType at its final height, so it is sharp in a picture of any size, and the
font comes with the program, so a picture is the same on every machine.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache

import freetype
import numpy as np
from freetype.ft_enums import FT_LOAD_FLAGS, FT_LOAD_TARGETS

from bacsim_gui.colors import COLOR_COUNT, colors
from bacsim_gui.resources import assets_dir
from bacsim_gui.scene import Scene
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

_HINTED_UPRIGHT = FT_LOAD_FLAGS["FT_LOAD_RENDER"] | FT_LOAD_TARGETS["FT_LOAD_TARGET_LIGHT"]
_UNTURNED = freetype.Matrix(0x10000, 0, 0, 0x10000)
# Where a letter goes, column and row, and its pixels.
_Glyph = tuple[int, int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Panel:
    """One part of the legend.

    Attributes:
        image: (h, w, 4) uint8, red, green, blue with alpha multiplied in, alpha.
        left: pixels from the left edge of the picture.
        top: pixels from the top edge of the picture.
    """

    image: np.ndarray
    left: int
    top: int


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
    if view.show_color_bar:
        gap = round(0.7 * place.text) if texts else 0
        room = size[1] - top - place.margin - _texts_height(len(texts), place.text) - 2 * gap
        room -= scale.image.shape[0] if scale is not None else 0
        panels.append(_color_bar(view.colormap, view.background, place, size, room))
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


class _Sheet:
    """A small picture that is drawn on, with a translucent ground that keeps it readable."""

    def __init__(self, width: int, height: int, background: str, corner: float) -> None:
        self.colors = View(background=background).colors
        x = np.abs(np.arange(width) + 0.5 - width / 2) - width / 2 + corner
        y = np.abs(np.arange(height) + 0.5 - height / 2) - height / 2 + corner
        beyond = np.hypot(np.maximum(x, 0)[None, :], np.maximum(y, 0)[:, None])
        alpha = 0.88 * np.clip(corner + 0.5 - beyond, 0, 1)[..., None]
        self.image = np.concatenate([np.array(self.colors.outside) * alpha, 255 * alpha], axis=2)

    def cover(self, left: int, top: int, mask: np.ndarray, color: np.ndarray | tuple) -> None:
        """Lay a colour over the sheet where the mask (h, w) in 0..1 says so."""
        height, width = mask.shape
        under = self.image[top : top + height, left : left + width]
        part = mask[: under.shape[0], : under.shape[1], None]
        opaque = np.broadcast_to(np.asarray(color, float), (*mask.shape, 3))
        opaque = opaque[: under.shape[0], : under.shape[1]]
        under *= 1 - part
        under[..., :3] += opaque * part
        under[..., 3:] += 255 * part

    def fill(self, left: int, top: int, width: int, height: int) -> None:
        """A rectangle in the ink's colour."""
        self.cover(left, top, np.ones((height, width)), self.colors.ink)

    def write(self, left: int, top: int, text: str, height: int) -> None:
        """A line of text whose digits begin at `top`."""
        self.cover(left, top - _above(height), text_mask(text, height), self.colors.ink)

    def panel(self, left: int, top: int) -> Panel:
        return Panel(np.rint(self.image).astype(np.uint8), left, top)


@lru_cache(maxsize=32)
def _color_bar(
    colormap: str, background: str, place: Layout, size: tuple[int, int], room: int
) -> Panel:
    """The bar with its name and the ticks 0, 0.5 and 1; upright in the right strip, in `room`."""
    em, upright = place.text, place.strip == "right"
    pad, thick, tick = round(0.6 * em), max(4, round(0.8 * em)), max(2, round(0.3 * em))
    long = round(min(0.36 * size[0], 14 * em))
    if upright:
        long = max(2 * em, min(round(0.36 * size[1]), room - 2 * pad - round(1.7 * em)))
    ramp = colors(colormap)[np.linspace(0, COLOR_COUNT - 1, long).round().astype(int)]
    ticks = [(round(at * (long - 1)), f"{at:g}") for at in (0, 0.5, 1)]
    line, name = max(1, round(0.07 * em)), text_mask("activity", em)
    capital = cap_height(em)
    if upright:
        top = pad + round(1.7 * em)
        width = pad + max(name.shape[1], thick + tick + em // 4 + text_mask("0.5", em).shape[1])
        sheet = _Sheet(width + pad, top + long + pad, background, 0.4 * em)
        sheet.write(pad, pad, "activity", em)
        sheet.cover(pad, top, np.ones((long, thick)), ramp[::-1, None])
        for at, label in ticks:
            y = top + long - 1 - at
            sheet.fill(pad + thick, min(y, top + long - line), tick, line)
            sheet.write(pad + thick + tick + em // 4, y - capital // 2, label, em)
        return sheet.panel(
            size[0] - place.margin - round(STRIP_WIDTH * em), place.margin + place.head
        )
    left = pad + name.shape[1] + em
    bottom = pad + thick + tick + em // 3 + capital
    sheet = _Sheet(left + long + em + pad, bottom + pad, background, 0.4 * em)
    sheet.write(pad, pad + (thick - capital) // 2, "activity", em)
    sheet.cover(left, pad, np.ones((thick, long)), ramp[None, :])
    for at, label in ticks:
        sheet.fill(left + min(at, long - line), pad + thick, line, tick)
        middle = text_mask(label, em).shape[1] // 2
        sheet.write(left + at - middle, pad + thick + tick + em // 3, label, em)
    height, width = sheet.image.shape[:2]
    return sheet.panel(size[0] - place.margin - width, size[1] - place.margin // 2 - height)


@lru_cache(maxsize=32)
def _scale_panel(bar: ScaleBar, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """The bar over its labels, at the bottom of the picture."""
    em, pad = place.text, round(0.6 * place.text)
    thick, capital = max(2, round(0.2 * em)), cap_height(em)
    width = max(bar.pixels, *(text_mask(label, em).shape[1] for label in bar.labels))
    lines = len(bar.labels)
    height = pad + thick + round(0.55 * em) + capital + round(1.4 * em) * (lines - 1) + pad
    sheet = _Sheet(width + 2 * pad, height, background, 0.4 * em)
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
    mask = _fitting(text, em, room - 2 * pad)
    height = place.head - round(0.3 * place.text)
    sheet = _Sheet(min(room, mask.shape[1] + 2 * pad), height, background, 0.4 * place.text)
    capital = cap_height(em)
    sheet.cover(pad, (height - capital) // 2 - _above(em), mask, sheet.colors.ink)
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
    masks = [_fitting(line, em, room, symbol=True) for line in lines]
    width = max(mask.shape[1] for mask in masks) + 2 * pad
    sheet = _Sheet(width, _texts_height(len(lines), em), background, 0.4 * em)
    for number, mask in enumerate(masks):
        y = round((number + 0.5) * LINE_HEIGHT * em - cap_height(em) / 2)
        sheet.cover(pad, y - _above(em), mask, sheet.colors.ink)
    return sheet.panel(left, top)


def _fitting(text: str, height: int, room: int, symbol: bool = False) -> np.ndarray:
    """The mask of a text, smaller where it would be wider than `room`, on the same line."""
    small = height
    while (mask := _mask(text, small, symbol)).shape[1] > room and small > max(6, height // 2):
        small -= 1
    lower = _above(height) + cap_height(height) - _above(small) - cap_height(small)
    return np.pad(mask, ((lower, 0), (0, 0)))


@lru_cache(maxsize=1)
def _face() -> freetype.Face:
    return freetype.Face(str(assets_dir() / "fonts" / "Inter-Regular.otf"))


def cap_height(height: int) -> int:
    """Height of a capital letter or a digit, in pixels, at a font height in pixels."""
    return round(0.73 * height)


def _above(height: int) -> int:
    """Rows of a mask over the digits: room for letters that are taller, as b and d."""
    return math.ceil(0.1 * height) + 1


@lru_cache(maxsize=256)
def text_mask(text: str, height: int) -> np.ndarray:
    """Coverage (h, w) in 0..1 of one line of text, with some rows above and under the digits.

    Letters are placed to a fraction of a pixel and hinted upright only, which keeps the stems
    sharp and the spacing even.
    """
    mask = _mask(text, height)
    mask.flags.writeable = False
    return mask


_SUBSCRIPT = re.compile(r"_(\w+)")


def _mask(text: str, height: int, symbol: bool = False) -> np.ndarray:
    """The mask of one line; with `symbol` digits are equally wide and _x is a subscript."""
    base, below = _above(height) + cap_height(height), round(0.3 * height) + 1
    glyphs, pen = [], 0.0
    for number, part in enumerate(_SUBSCRIPT.split(text) if symbol else [text]):
        low = number % 2  # every other part is a subscript
        tall, line = (round(0.7 * height), base + round(0.16 * height)) if low else (height, base)
        pen = _set(part, max(1, tall), line, pen, symbol, glyphs)
    mask = np.zeros((base + below, max(1, math.ceil(pen) + 1)))
    for left, row, pixels in glyphs:
        _lay(mask, max(0, left), row, pixels / 255)
    return mask


def _set(text: str, height: int, base: int, pen: float, even: bool, glyphs: list[_Glyph]) -> float:
    """Add the letters of a text, from `pen` on, to the glyphs; where the pen is then."""
    face = _face()
    face.set_pixel_sizes(0, height)
    for letter in text:
        before, advance = 0.0, _advance(letter, height)
        if even and letter in "0123456789":
            widest = max(_advance(digit, height) for digit in "0123456789")
            before, advance = (widest - advance) / 2, widest
        whole = math.floor(pen + before)
        face.set_transform(_UNTURNED, freetype.Vector(round((pen + before - whole) * 64), 0))
        face.load_char(letter, _HINTED_UPRIGHT)
        bitmap = face.glyph.bitmap
        pixels = np.array(bitmap.buffer, np.uint8).reshape(bitmap.rows, bitmap.pitch)
        glyphs.append((whole + face.glyph.bitmap_left, base - face.glyph.bitmap_top, pixels))
        pen += advance
    return pen


@lru_cache(maxsize=1024)
def _advance(letter: str, height: int) -> float:
    """How far a letter moves the pen, in pixels."""
    face = _face()
    face.set_pixel_sizes(0, height)
    face.load_char(letter, _HINTED_UPRIGHT)
    return face.glyph.linearHoriAdvance / 65536


def _lay(mask: np.ndarray, left: int, top: int, pixels: np.ndarray) -> None:
    """Add a glyph to a mask, cut to it; neighbouring letters may share a column."""
    height, width = pixels.shape
    part = mask[top : top + height, left : left + width]
    np.maximum(part, pixels[: part.shape[0], : part.shape[1]], out=part)
