# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pictures with text, of which a legend is made, drawn pixel for pixel with NumPy.

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

from bacsim_gui.resources import assets_dir
from bacsim_gui.view import View

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


class Sheet:
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
        self.cover(left, top - above(height), text_mask(text, height), self.colors.ink)

    def panel(self, left: int, top: int) -> Panel:
        """What was drawn, its top left corner at this pixel of the picture."""
        return Panel(np.rint(self.image).astype(np.uint8), left, top)


def fitting(text: str, height: int, room: int, symbol: bool = False) -> np.ndarray:
    """The mask of a text, smaller where it would be wider than `room`, on the same line."""
    small = height
    while (mask := _mask(text, small, symbol)).shape[1] > room and small > max(6, height // 2):
        small -= 1
    lower = above(height) + cap_height(height) - above(small) - cap_height(small)
    return np.pad(mask, ((lower, 0), (0, 0)))


@lru_cache(maxsize=1)
def _face() -> freetype.Face:
    return freetype.Face(str(assets_dir() / "fonts" / "Inter-Regular.otf"))


def cap_height(height: int) -> int:
    """Height of a capital letter or a digit, in pixels, at a font height in pixels."""
    return round(0.73 * height)


def above(height: int) -> int:
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
    base, below = above(height) + cap_height(height), round(0.3 * height) + 1
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
