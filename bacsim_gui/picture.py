# SPDX-License-Identifier: GPL-3.0-or-later
"""One picture of one state, drawn as movies are: in a process of its own, at any size. No Qt."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui.order import Order
from bacsim_gui.presets import Run
from bacsim_gui.recorder import RecordingError
from bacsim_gui.recording import picture_sink
from engine import schema

if TYPE_CHECKING:
    from bacsim_gui.scene import Scene
    from engine.snapshot import Snapshot
    from engine.stats import Stats


def about(run: Run, snapshot: Snapshot, stats: Stats | None) -> dict[str, str]:
    """What a picture of `snapshot`, a state of `run`, says of itself."""
    told = {
        "title": run.title, "seed": str(run.seed), "step": str(snapshot.step),
        "time": f"{snapshot.time:.9g}",
        "parameters": json.dumps(schema.to_mapping(run.setup, snapshot.params)),
    }  # fmt: skip
    if stats is not None:
        told |= {"kernel": stats.kernel, "code": stats.code, "device": stats.device}
    return told


def save(order: Order, snapshot: Snapshot | Scene) -> Path:
    """Draw a state as `order` says, with the trails that it has; where it is. It takes seconds.

    Raises `RecordingError`.
    """
    try:
        sink = picture_sink(order)
        try:
            sink.put(snapshot)
            return sink.finish()
        finally:
            with suppress(RecordingError):
                sink.abandon(delete=True)
    except RecordingError as problem:
        raise RecordingError(f"The picture could not be saved. {problem}") from problem
