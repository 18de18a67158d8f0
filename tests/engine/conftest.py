# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers that tests share, since building one compiles for seconds.

Each test gets them rebuilt from the same setup, parameters and seed. That a rebuilt driver gives
the bits of a fresh one is itself tested (test_advance).
"""

import dataclasses

import numpy as np
import pytest

from engine import Driver, Params, Setup, Start

CROWD = Setup(rods=150)
# phi = 0.4, so that every rod has neighbours; smooth activation; no noise.
CROWD_PARAMS = Params(
    space_size=42.0, F_prop=8.0, T_prop=0.3, activity_thresh=4.0, activity_width=0.7, dt=0.003
)
NOISY = {"D_r": 0.02, "D_t": 0.001, "tau_a": 0.5}


@pytest.fixture(scope="session")
def _crowd() -> Driver:
    return Driver(CROWD, CROWD_PARAMS, seed=1)


@pytest.fixture
def crowd(_crowd: Driver) -> Driver:
    """150 rods, relaxed, all active, seed 1, step 0."""
    _crowd.rebuild(CROWD, CROWD_PARAMS, 1)
    return _crowd


@pytest.fixture(scope="session")
def _pair() -> Driver:
    return Driver(Setup(rods=2), Params(space_size=40.0), seed=0, start=apart())


@pytest.fixture
def pair(_pair: Driver) -> Driver:
    """Two rods far apart, both active; use `rebuild` for anything else."""
    _pair.rebuild(Setup(rods=2), Params(space_size=40.0), 0, apart())
    return _pair


def apart() -> Start:
    return Start(np.array([[10.0, 10.0], [30.0, 30.0]]), np.zeros(2), np.ones(2))


def with_params(**values: float) -> Params:
    """The crowd's parameters with some changed."""
    return dataclasses.replace(CROWD_PARAMS, **values)
