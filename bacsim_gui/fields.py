# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields that may be drawn under the rods, declared once: panel, flags, bar and checks follow.

Pure.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bacsim_gui.quantities import free_speed

NO_FIELD = "none"
# What the mean velocity of rods follows from.
VELOCITIES = ("velocity_x", "velocity_y")


@dataclass(frozen=True)
class Field:
    """A quantity of the place, not of a rod.

    Attributes:
        label: its name on its colour bar.
        unit: its unit there; empty for none.
        doc: what it is.
        maps: its colours on a dark ground and on a white one: perceptually uniform, told apart with
            any one kind of cone missing, and near to the ground where the field is 0.
        share: of those, how many are taken: the last ones of some are as light as the rods.
        measures: those of `engine.snapshot.MEASURES` that it follows from.
    """

    label: str
    unit: str
    doc: str
    maps: tuple[str, str] = ("", "")
    share: float = 1.0
    measures: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


FIELDS: dict[str, Field] = {
    NO_FIELD: Field("", "", "Nothing but the rods."),
    "density": Field(
        "packing fraction", "",
        "Share of the area that rods cover, as a mean over about a body length.",
        ("oslo", "oslo_r"), 0.65,
    ),
    "vorticity": Field(
        "vorticity", "1/t",
        "How fast the rods around a place turn about it, twice the angular velocity; above 0 "
        "against the clock. Of their mean velocity over about a body length.",
        ("berlin", "vik"), measures=VELOCITIES,
    ),
}  # fmt: skip


def field_range(name: str, values: Mapping[str, float]) -> tuple[float, float]:
    """The values at the two ends of a field's colours, for a run with these parameters.

    Never those of one frame, so that colours mean the same in every frame.
    """
    body = values.get("length", 1.0) + 2 * values.get("radius", 0.5)
    if name == "vorticity":
        fast = free_speed(values) / body
        return -fast, fast
    return 0.0, max(1.0, 1.25 * _covered(values))


def rod_area(length: float, radius: float) -> float:
    """The area of a rod."""
    return 2 * radius * length + math.pi * radius**2


def _covered(values: Mapping[str, float]) -> float:
    """The packing fraction of the whole box."""
    area = rod_area(values.get("length", 1.0), values.get("radius", 0.5))
    return values.get("rods", 0.0) * area / values.get("space_size", math.inf) ** 2
