# SPDX-License-Identifier: GPL-3.0-or-later
"""What rods may be coloured by, declared once: panel, flags, colour bar and checks follow. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.snapshot import MEASURES

# Offered by name in the window; the first, our own, is the default (see colors.py). All but turbo
# are perceptually uniform and keep their order for the colour-blind. Any other name that the cmap
# library knows is taken too.
COLORMAPS = ("glow", "plasma", "viridis", "hawaii", "batlow", "cividis", "turbo")
# For angles, the same but for that they end as they begin.
CYCLIC_MAPS = ("infinity", "romaO", "vikO", "twilight")
# The map that a quantity has by itself.
AUTO = "auto"
FIXED = "fixed"

# Overlaps above this share of a body width are all of one colour: a crowd presses rods by less.
_DEEP_OVERLAP = 0.25


@dataclass(frozen=True)
class Quantity:
    """Something that rods may be coloured by.

    Attributes:
        label: its name on the colour bar.
        unit: its unit there; empty for none.
        doc: what it is.
        colormap: the map that it has by itself.
        measure: the one of `engine.snapshot.MEASURES` that it is; empty where the rods tell it.
        log: whether colours go by factors, not by differences.
        cyclic: whether it is an angle, which has no range to choose.
    """

    label: str
    unit: str
    doc: str
    colormap: str = COLORMAPS[0]
    measure: str = ""
    log: bool = False
    cyclic: bool = False

    @property
    def has_range(self) -> bool:
        """Whether a range of values is spread over the colours."""
        return not self.cyclic and self is not QUANTITIES[FIXED]

    @property
    def maps(self) -> tuple[str, ...]:
        """The maps that are offered for it, its own first."""
        if self.cyclic:
            return CYCLIC_MAPS
        return (self.colormap, *(name for name in COLORMAPS if name != self.colormap))


def _measured(name: str, colormap: str, **more: object) -> Quantity:
    unit, doc = MEASURES[name]
    return Quantity(**{  # pyright: ignore[reportArgumentType]
        "label": name.replace("_", " "), "unit": unit, "doc": doc, "colormap": colormap,
        "measure": name, **more,
    })  # fmt: skip


QUANTITIES: dict[str, Quantity] = {
    "activity": Quantity("activity", "", "Activity of the rod, from 0 to 1."),
    "heading": Quantity(
        "heading", "°", "Where the rod's head points, counted from the right against the clock.",
        CYCLIC_MAPS[0], cyclic=True,
    ),
    "speed": _measured("speed", "viridis"),
    "local_density": _measured("local_density", "lapaz"),
    "overlap": _measured("overlap", "plasma", label="overlap / width"),
    "cluster": _measured("cluster", "haline", unit="rods", log=True),
    FIXED: Quantity("", "", "All rods alike, for where shape and place are what counts."),
}  # fmt: skip


def automatic_range(color_by: str, values: Mapping[str, float]) -> tuple[float, float]:
    """The values at the two ends of the colours, where the user has chosen none.

    They follow from the parameters alone, `values` as a scene has them, never from the rods of one
    frame: so colours do not flicker, and two runs with the same parameters can be compared.
    """
    if color_by == "heading":
        return 0.0, 360.0
    if color_by == "speed":
        return 0.0, 1.25 * free_speed(values)  # a crowd pushes
    if color_by == "local_density":
        return 0.0, _dense(values)
    if color_by == "overlap":
        return 0.0, _DEEP_OVERLAP
    if color_by == "cluster":
        return 1.0, max(2.0, values.get("rods", 2.0))
    return 0.0, 1.0


def free_speed(values: Mapping[str, float]) -> float:
    """The speed of a free active rod, the scale of all speeds; above 0 whatever the parameters."""
    drag = values.get("drag_along", values.get("gamma", 1.0) * values.get("length", 1.0))
    driven = 0.5 * abs(values.get("F_prop", 0.0)) / drag
    # Without propulsion what moves rods is contact: here an overlap of a tenth of a width.
    pushed = 0.1 * 2 * values.get("radius", 0.0) * values.get("k_cc", 0.0) / drag
    return driven or pushed or 1.0


def _dense(values: Mapping[str, float]) -> float:
    """How many a rod would sense at random angles in a plane that is full of rods."""
    length, radius = values.get("length", 1.0), values.get("radius", 0.5)
    distance = values.get("sensing_range", 0.0)
    sensed = 2 * length**2 / math.pi + 4 * length * distance + math.pi * distance**2
    return max(1.0, float(round(sensed / (2 * radius * length + math.pi * radius**2))))
