# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of bacsim and its compiled steps: no window, no threads.

>>> from engine import Driver, Params, Setup
>>> driver = Driver(Setup(rods=200), Params(space_size=60), seed=1)
>>> driver.advance(100).observables["polar_order"]  # doctest: +SKIP
"""

from engine.driver import Driver, SimulationError, Stats
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.state import Snapshot, Start

__all__ = [
    "Driver",
    "ParameterError",
    "Params",
    "Setup",
    "SimulationError",
    "Snapshot",
    "Start",
    "Stats",
]
