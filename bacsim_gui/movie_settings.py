# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next recording is to be like, as the user sets it. No Qt, no JAX."""

import math
import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bacsim_gui.flags import whole
from bacsim_gui.order import Order
from engine.schema import ParameterError


@dataclass(frozen=True)
class MovieSettings:
    """Where the next recording goes and what it is like; size in pixels.

    `kind` is the ending of its name (see `bacsim_gui.order.Order`). Frames are `time_a_frame` apart
    in simulated time, or as in the window where that is None. It begins after `delay` seconds and
    ends at step `until`, if that is given. A trajectory keeps about `keep` rods, None for all.
    """

    folder: Path
    width: int = 1280
    height: int = 720
    fps: float = 30.0
    kind: str = ".mp4"
    quality: str = "share"
    time_a_frame: float | None = None
    delay: float = 0.0
    until: int | None = None
    keep: int | None = None

    @property
    def is_trajectory(self) -> bool:
        """Whether states are kept, and not pictures of them."""
        return Order(Path(f"x{self.kind}")).is_trajectory

    def with_value(self, name: str, value: object) -> "MovieSettings":
        """The same with one field changed to what was typed or chosen.

        An empty text stands for None where there may be none. Raises `ParameterError`.
        """
        return replace(self, **{name: _value(name, value)})

    def file_name(self, title: str, now: datetime) -> str:
        """A name for a recording of the run `title`."""
        # A title of the user's may hold anything; in a name a slash would be another folder.
        words = re.sub(r"\W+", "-", title.lower()).strip("-")[:60] or "run"
        return f"bacsim-{words}-{now:%Y%m%d-%H%M%S}{self.kind}"


def _value(name: str, value: object) -> object:
    """A field in its type; raises `ParameterError`."""
    if name in ("time_a_frame", "until", "keep") and value in (None, ""):
        return None
    if name in ("width", "height", "until", "keep"):
        number = whole(name, str(value), 64 if name in ("width", "height") else 1) or 0
        if name in ("width", "height") and number % 2:
            raise ParameterError(name, value, "is not possible", "Video needs even numbers.")
        return number
    if name in ("fps", "time_a_frame", "delay"):
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not (seconds > 0 or (name == "delay" and seconds == 0)) or math.isinf(seconds):
            raise ParameterError(name, value, "is not possible", "Give a number above 0.")
        return seconds
    return value
