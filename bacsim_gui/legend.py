# SPDX-License-Identifier: GPL-3.0-or-later
"""The legend of a picture: colour bar and scale bar, drawn pixel for pixel with NumPy.

Text is drawn by FreeType at its final height, so it is sharp in a picture of any size, and the
font comes with the program, so a picture is the same on every machine.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import freetype
import numpy as np
from freetype.ft_enums import FT_LOAD_FLAGS, FT_LOAD_TARGETS

from bacsim_gui.colors import COLOR_COUNT, colors
from bacsim_gui.resources import assets_dir
from bacsim_gui.scene import Scene
from bacsim_gui.view import STRIP_WIDTH, Layout, View, camera, layout

_HINTED_UPRIGHT = FT_LOAD_FLAGS["FT_LOAD_RENDER"] | FT_LOAD_TARGETS["FT_LOAD_TARGET_LIGHT"]
_UNTURNED = freetype.Matrix(0x10000, 0, 0, 0x10000)


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
    if place.strip == "none":
        return ()
    panels = []
    if view.show_color_bar:
        panels.append(_color_bar(view.colormap, view.background, place, size))
    if view.show_scale_bar:
        longest = (STRIP_WIDTH - 1) * place.text if place.strip == "right" else 0.3 * size[0]
        bar = scale_bar(camera(view, scene.space_size, size).scale, scene.radius, longest)
        panels.append(_scale_panel(bar, view.background, place, size))
    return tuple(panels)


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
def _color_bar(colormap: str, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """The bar with its name and the ticks 0, 0.5 and 1; upright in the right strip."""
    em, upright = place.text, place.strip == "right"
    pad, thick, tick = round(0.6 * em), max(4, round(0.8 * em)), max(2, round(0.3 * em))
    long = round(0.36 * size[1]) if upright else round(min(0.36 * size[0], 14 * em))
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
        return sheet.panel(size[0] - place.margin - round(STRIP_WIDTH * em), place.margin)
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
    face = _face()
    face.set_pixel_sizes(0, height)
    base, below = _above(height) + cap_height(height), round(0.3 * height) + 1
    glyphs, pen = [], 0.0
    for letter in text:
        whole = math.floor(pen)
        face.set_transform(_UNTURNED, freetype.Vector(round((pen - whole) * 64), 0))
        face.load_char(letter, _HINTED_UPRIGHT)
        bitmap = face.glyph.bitmap
        pixels = np.array(bitmap.buffer, np.uint8).reshape(bitmap.rows, bitmap.pitch)
        glyphs.append((whole + face.glyph.bitmap_left, base - face.glyph.bitmap_top, pixels))
        pen += face.glyph.linearHoriAdvance / 65536
    mask = np.zeros((base + below, max(1, math.ceil(pen) + 1)))
    for left, row, pixels in glyphs:
        _lay(mask, max(0, left), row, pixels / 255)
    mask.flags.writeable = False
    return mask


def _lay(mask: np.ndarray, left: int, top: int, pixels: np.ndarray) -> None:
    """Add a glyph to a mask, cut to it; neighbouring letters may share a column."""
    height, width = pixels.shape
    part = mask[top : top + height, left : left + width]
    np.maximum(part, pixels[: part.shape[0], : part.shape[1]], out=part)
