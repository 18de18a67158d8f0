# SPDX-License-Identifier: GPL-3.0-or-later
"""The colour bar of a picture: name, unit and range of what colours tell; for angles a wheel."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from bacsim_gui.coloring import color_range, is_known
from bacsim_gui.colors import COLOR_COUNT, field_colors, view_colors
from bacsim_gui.fields import FIELDS, NO_FIELD, field_range
from bacsim_gui.quantities import FIXED
from bacsim_gui.scene import Scene
from bacsim_gui.sheet import Panel, Sheet, above, cap_height, fitting, text_mask
from bacsim_gui.view import STRIP_WIDTH, Layout, View

# Where a tick stands, from 0 at the lowest value to 1, and what is written at it.
Tick = tuple[float, str]
_MOST_TICKS = 6
# Right, up, left and down, as 0°, 90°, 180° and 270° lie.
_DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))


@dataclass(frozen=True)
class Told:
    """What a colour bar tells.

    Attributes:
        name: of the quantity, with its unit.
        ticks: values beside the bar.
        colors: the colour map, (256, 3) bytes.
        cyclic: whether it is an angle.
    """

    name: str
    ticks: tuple[Tick, ...]
    colors: bytes
    cyclic: bool

    @property
    def table(self) -> np.ndarray:
        """The colour map as (256, 3) uint8."""
        return np.frombuffer(self.colors, np.uint8).reshape(COLOR_COUNT, 3)


def told(scene: Scene, view: View) -> Told:
    """What the colour bar of a picture tells."""
    if view.field != NO_FIELD:
        ticks = ticks_between(*field_range(view.field, scene.values))
        return Told(FIELDS[view.field].title, ticks, field_colors(view).tobytes(), cyclic=False)
    quantity = view.quantity
    name = quantity.label if quantity.unit in ("", "°") else f"{quantity.label} ({quantity.unit})"
    if quantity.cyclic:
        ticks = tuple((part / 4, f"{90 * part}°") for part in range(5))
    else:
        ticks = ticks_between(*color_range(scene, view), log=quantity.log)
    if not is_known(scene, view):
        # Rods are of one colour until they have been measured, which may have to be compiled.
        ticks, view = ((0.5, "not known"),), replace(view, color_by=FIXED)
    return Told(name, ticks, view_colors(view).tobytes(), quantity.cyclic)


def ticks_between(low: float, high: float, *, log: bool = False) -> tuple[Tick, ...]:
    """A few round values from `low` to `high`, and where they stand; `log`: by their factors."""
    if log:
        values = _round_factors(low, high)
        places = [math.log(value / low) / math.log(high / low) for value in values]
    else:
        values = _round_steps(low, high)
        places = [(value - low) / (high - low) for value in values]
    return tuple(
        (min(max(place, 0.0), 1.0), _number(value))
        for place, value in zip(places, values, strict=True)
    )


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−").replace("e+0", "e").replace("e−0", "e−")


def _round_steps(low: float, high: float) -> list[float]:
    """Multiples of the largest step of 1, 2 or 5 times a power of ten of which three fit."""
    for power in range(math.floor(math.log10(high - low)), -40, -1):
        for digit in (5, 2, 1):
            step = digit * 10.0**power
            first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
            if last - first >= 2:
                return [round(number * step, 12 - power) for number in range(first, last + 1)]
    return [low, high]


def _round_factors(low: float, high: float) -> list[float]:
    """Powers of ten, or, where there are few, their double and fivefold too."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5)):
        values = [digit * 10.0**power for power in powers for digit in digits]
        values = [value for value in values if low * (1 - 1e-6) <= value <= high * (1 + 1e-6)]
        if len(values) >= 3:
            return values[:: -(-len(values) // _MOST_TICKS)]
    return [low, high]


def color_bar(
    what: Told, background: str, place: Layout, size: tuple[int, int], room: int
) -> Panel:
    """The panel; in the right strip upright, or a wheel, at most `room` pixels high."""
    if place.strip != "right":
        return _lying(what, background, place, size)
    if what.cyclic and room > 11 * place.text:
        return _wheel(what, background, place, size)
    return _upright(what, background, place, size, room)


def _corner(place: Layout, size: tuple[int, int]) -> tuple[int, int]:
    """The top left corner of what stands in the strip at the right."""
    return size[0] - place.margin - round(STRIP_WIDTH * place.text), place.margin + place.head


@lru_cache(maxsize=32)
def _upright(what: Told, background: str, place: Layout, size: tuple[int, int], room: int) -> Panel:
    """The bar under its name, the lowest value at the bottom."""
    em = place.text
    pad, thick, tick = round(0.6 * em), max(4, round(0.8 * em)), max(2, round(0.3 * em))
    long = max(2 * em, min(round(0.36 * size[1]), room - 2 * pad - round(1.7 * em)))
    ramp = what.table[np.linspace(0, COLOR_COUNT - 1, long).round().astype(int)]
    line, capital, top = max(1, round(0.07 * em)), cap_height(em), pad + round(1.7 * em)
    widest = max(text_mask(label, em).shape[1] for _, label in what.ticks)
    name = fitting(what.name, em, round(STRIP_WIDTH * em) - 2 * pad)
    width = pad + max(name.shape[1], thick + tick + em // 4 + widest)
    sheet = Sheet(width + pad, top + long + pad, background, 0.4 * em)
    sheet.cover(pad, pad - above(em), name, sheet.colors.ink)
    sheet.cover(pad, top, np.ones((long, thick)), ramp[::-1, None])
    for part, label in what.ticks:
        y = top + long - 1 - round(part * (long - 1))
        sheet.fill(pad + thick, min(y, top + long - line), tick, line)
        sheet.write(pad + thick + tick + em // 4, y - capital // 2, label, em)
    return sheet.panel(*_corner(place, size))


@lru_cache(maxsize=32)
def _lying(what: Told, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """The bar beside its name, the lowest value at the left."""
    em = place.text
    pad, thick, tick = round(0.6 * em), max(4, round(0.8 * em)), max(2, round(0.3 * em))
    long = round(min(0.36 * size[0], 14 * em))
    ramp = what.table[np.linspace(0, COLOR_COUNT - 1, long).round().astype(int)]
    line, capital = max(1, round(0.07 * em)), cap_height(em)
    name = fitting(what.name, em, max(4 * em, size[0] // 2 - long - 2 * pad))
    left = pad + name.shape[1] + em
    bottom = pad + thick + tick + em // 3 + capital
    last = text_mask(what.ticks[-1][1], em).shape[1] // 2
    sheet = Sheet(left + long + max(em, last) + pad, bottom + pad, background, 0.4 * em)
    sheet.cover(pad, pad + (thick - capital) // 2 - above(em), name, sheet.colors.ink)
    sheet.cover(left, pad, np.ones((thick, long)), ramp[None, :])
    for part, label in what.ticks:
        at = round(part * (long - 1))
        sheet.fill(left + min(at, long - line), pad + thick, line, tick)
        middle = text_mask(label, em).shape[1] // 2
        sheet.write(left + at - middle, pad + thick + tick + em // 3, label, em)
    height, width = sheet.image.shape[:2]
    return sheet.panel(size[0] - place.margin - width, size[1] - place.margin // 2 - height)


@lru_cache(maxsize=32)
def _wheel(what: Told, background: str, place: Layout, size: tuple[int, int]) -> Panel:
    """All directions as they are in the picture, 0° at the right, against the clock."""
    em, capital = place.text, cap_height(place.text)
    pad, gap = round(0.6 * em), round(0.35 * em)
    wide = round(STRIP_WIDTH * em) - 2 * pad
    top = pad + round(1.7 * em)
    sheet = Sheet(wide + 2 * pad, top + wide + pad, background, 0.4 * em)
    sheet.write(pad, pad, what.name, em)
    across, outer, inner = np.arange(wide) + 0.5 - wide / 2, wide / 2, 0.38 * wide
    dx, dy = np.meshgrid(across, -across)
    distance = np.hypot(dx, dy)
    ring = np.clip(outer - distance + 0.5, 0, 1) * np.clip(distance - inner + 0.5, 0, 1)
    part = np.mod(np.arctan2(dy, dx) / (2 * math.pi), 1)
    sheet.cover(pad, top, ring, what.table[(part * (COLOR_COUNT - 1)).round().astype(int)])
    middle_x, middle_y, reach = pad + wide / 2, top + wide / 2, inner - gap
    for number, (_, label) in enumerate(what.ticks[:4]):
        mask = text_mask(label, em)
        # Inside the ring, each label as near to it as it goes.
        right, up = _DIRECTIONS[number]
        x = middle_x + right * (reach - mask.shape[1] / 2) - mask.shape[1] / 2
        y = middle_y - up * (reach - capital / 2) - capital / 2
        sheet.cover(round(x), round(y) - above(em), mask, sheet.colors.ink)
    return sheet.panel(*_corner(place, size))
