# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of bacsim and its compiled steps: no window, no threads.

>>> from engine import Driver, Params, Setup
>>> driver = Driver(Setup(rods=200), Params(space_size=60), seed=1)
>>> driver.advance(100).observables["polar_order"]  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.differentiable import Rods, rollout
    from engine.driver import Driver, SimulationError, Stats
    from engine.obstacle import Obstacle
    from engine.params import Params, Setup
    from engine.schema import ParameterError
    from engine.snapshot import Checkpoint, Snapshot, Start
    from engine.storage.errors import StorageError
    from engine.storage.scripts import load_checkpoint, load_snapshot, save_checkpoint
    from engine.storage.series import SeriesWriter
    from engine.storage.trajectory import Trajectory, TrajectoryWriter

__all__ = [
    "Checkpoint",
    "Driver",
    "Obstacle",
    "ParameterError",
    "Params",
    "Rods",
    "SeriesWriter",
    "Setup",
    "SimulationError",
    "Snapshot",
    "Start",
    "Stats",
    "StorageError",
    "Trajectory",
    "TrajectoryWriter",
    "load_checkpoint",
    "load_snapshot",
    "rollout",
    "save_checkpoint",
]

_HOME = {
    "Checkpoint": "snapshot",
    "Driver": "driver",
    "Obstacle": "obstacle",
    "ParameterError": "schema",
    "Params": "params",
    "Rods": "differentiable",
    "SeriesWriter": "storage.series",
    "Setup": "params",
    "SimulationError": "driver",
    "Snapshot": "snapshot",
    "Start": "snapshot",
    "Stats": "stats",
    "StorageError": "storage.errors",
    "Trajectory": "storage.trajectory",
    "TrajectoryWriter": "storage.trajectory",
    "load_checkpoint": "storage.scripts",
    "load_snapshot": "storage.scripts",
    "rollout": "differentiable",
    "save_checkpoint": "storage.scripts",
}


def __getattr__(name: str) -> Any:
    # JAX takes a second to import; a command that only reads the declaration must not wait for it.
    if name in _HOME:
        return getattr(importlib.import_module(f"engine.{_HOME[name]}"), name)
    raise AttributeError(f"module 'engine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
