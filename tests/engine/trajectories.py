# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots to write and how to compare them; imports no JAX, since programs that die need them."""

import math
from pathlib import Path

import numpy as np

from engine.params import Params
from engine.snapshot import Snapshot
from engine.storage.trajectory import Trajectory, TrajectoryWriter

ABOUT = {"title": "Schwärme", "seed": "7", "parameters": '{"params": {"length": 4.0}}'}
PARAMS = Params(space_size=53.7, length=3.3, radius=0.4)


def snapshot(
    n: int = 40, step: int = 0, params: Params = PARAMS, ids: np.ndarray | None = None
) -> Snapshot:
    rng = np.random.default_rng(step)
    side = np.float32(params.space_size)
    rods = np.stack([
        *rng.uniform(0, np.nextafter(side, np.float32(0)), (2, n)),
        rng.uniform(-math.pi, math.pi, n), rng.uniform(0, 1, n),
    ], axis=1).astype(np.float32)  # fmt: skip
    rods[0, :3] = 0, np.nextafter(side, np.float32(0)), math.pi
    observables = {"polar_order": 0.1 * step, "mean_speed": 1 / 3}
    return Snapshot(rods, step, step * params.dt, params, observables, ids)


def write(path: Path, snapshots: list[Snapshot], **options: int) -> Path:
    with TrajectoryWriter(path, ABOUT, **options) as trajectory:
        for one in snapshots:
            trajectory.write(one)
    return path


def assert_same(read: Snapshot, written: Snapshot) -> None:
    side = written.params.space_size
    apart = np.abs(read.pos - written.pos)
    # One rounding on the way to the centred box and one on the way back.
    assert np.max(np.minimum(apart, side - apart)) <= np.spacing(np.float32(side))
    assert read.pos.min() >= 0
    assert read.pos.max() < np.float32(side)
    assert np.max(np.abs(read.theta - written.theta)) < 1e-6
    np.testing.assert_array_equal(read.activity, written.activity)
    assert (read.step, read.time, read.params) == (written.step, written.time, written.params)
    assert list(read.observables) == list(written.observables)
    # NaN, which a speed is before the first step, is equal to itself here.
    values = (list(one.observables.values()) for one in (read, written))
    np.testing.assert_array_equal(*values)
    if written.ids is None:
        assert read.ids is None
    else:
        np.testing.assert_array_equal(read.ids, written.ids)


def read(path: Path) -> list[Snapshot]:
    with Trajectory(path) as trajectory:
        return list(trajectory)
