# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be recorded. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bacsim_gui.movie_formats import PICTURE
from bacsim_gui.view import View
from engine.storage.trajectory import SUFFIX as TRAJECTORY


@dataclass(frozen=True)
class Order:
    """What is to be recorded.

    The ending of `path` decides the kind: .mp4, .webm, .gif, .png (one picture), .gsd (a
    trajectory), none (a folder of pictures). `size`, `fps`, `quality` and `view` are for pictures;
    `steps` pass between two frames; `rods` is about how many a trajectory keeps, None for all.
    `frames` is how many are to come, where that is known. `metadata` goes into the file.
    """

    path: Path
    size: tuple[int, int] = (1280, 720)
    fps: float = 30.0
    quality: str = "share"
    steps: int = 1
    view: View = field(default_factory=View)
    rods: int | None = None
    frames: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_trajectory(self) -> bool:
        """Whether states are kept, and not pictures of them."""
        return self.path.suffix.lower() == TRAJECTORY

    @property
    def is_picture(self) -> bool:
        """Whether it is one picture."""
        return self.path.suffix.lower() == PICTURE
