# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrays of a checkpoint, from the device and back to it."""

from typing import Any, NoReturn

import jax
import numpy as np

from engine.boundary import is_within
from engine.capacity import Capacity
from engine.kernels import KERNELS, is_listed
from engine.obstacle import checked_obstacles
from engine.schema import ParameterError
from engine.snapshot import Checkpoint, CheckpointError
from engine.state import NeighbourList, State, obstacle_arrays, state_shapes

# Arrays of the neighbour list are named after their fields, with this before.
LIST = "list."


def arrays_of(state: State) -> dict[str, np.ndarray]:
    """The arrays of `state` by name, copied from the device."""
    # Copies: on a CPU what `device_get` gives is the very memory that the next step writes to.
    host = jax.device_get(state)
    found = {n: np.array(a) for n, a in host._asdict().items() if n != "neighbours"}
    if host.neighbours is not None:
        found |= {LIST + n: np.array(a) for n, a in host.neighbours._asdict().items()}
    return found


def state_from(kept: Checkpoint) -> State:
    """The state that `arrays_of` made the arrays of, on the default device.

    Raises `CheckpointError` for arrays that a state cannot have: native code and JAX index by them
    without looking.
    """
    if kept.kernel not in KERNELS:
        raise CheckpointError(f"its kernel {kept.kernel!r} is not known")
    capacity, listed = Capacity(*kept.capacity), is_listed(kept.kernel)
    if capacity.chunks < 1 or capacity.rods % capacity.chunks or min(capacity) < 0:
        raise CheckpointError(f"its capacity {tuple(capacity)} is none")
    wanted = state_shapes(capacity, listed=listed)
    shapes = {n: s for n, s in wanted._asdict().items() if n != "neighbours"}
    if listed:
        assert wanted.neighbours is not None
        shapes |= {LIST + n: s for n, s in wanted.neighbours._asdict().items()}
    for name, shape in shapes.items():
        array = kept.arrays.get(name)
        if array is None or array.shape != shape.shape or array.dtype != shape.dtype:
            raise CheckpointError(f"its array {name!r} is missing or has another shape")
    _check_rods(kept)
    _check_obstacles(kept)
    if listed:
        _check_list(kept)
    own: dict[str, Any] = {name: kept.arrays[name] for name in shapes if LIST not in name}
    neighbours = None
    if listed:
        of_list: dict[str, Any] = {n: kept.arrays[LIST + n] for n in NeighbourList._fields}
        neighbours = NeighbourList(**of_list)
    return jax.device_put(State(**own, neighbours=neighbours))


def _check_rods(kept: Checkpoint) -> None:
    arrays, size, n = kept.arrays, kept.capacity[0], kept.setup.rods
    if not 1 <= n <= size or int(arrays["n"]) != n or kept.ids.shape != (n,):
        _refuse("n", f"{n} rods in arrays for {size}")
    if not np.array_equal(np.sort(arrays["row"]), np.arange(size)):
        _refuse("row", "rows that are not all there")
    alive = arrays["row"] < n
    if not np.array_equal(arrays["id"][alive], kept.ids[arrays["row"][alive]]):
        _refuse("id", "other rods than those named")
    if not (np.all(np.diff(kept.ids) > 0) and kept.ids[0] >= 0 and kept.ids[-1] < kept.next_id):
        _refuse("ids", "names out of order")
    if int(arrays["step"]) != kept.step % 2**32 or int(arrays["seed"]) != kept.seed % 2**32:
        _refuse("step", "another step or seed than the run's")
    for name in ("pos", "theta", "direction", "activity", "rest"):
        if not np.isfinite(arrays[name]).all():
            _refuse(name, "numbers that are not finite")
    if np.abs(arrays["theta"]).max() > 7 or np.abs(arrays["direction"]).max() > 1.001:
        _refuse("theta", "angles of more than a turn")
    pos, activity, box = arrays["pos"], arrays["activity"], np.float32(kept.params.space_size)
    if pos.min() < 0 or pos.max() >= box:
        _refuse("pos", f"places outside the box of {box:g}")
    if not is_within(pos[alive], float(box), kept.setup.boundary).all():
        _refuse("pos", "places outside the walls")
    if not (np.isfinite(arrays["elapsed"]).all() and arrays["elapsed"][0] >= 0):
        _refuse("elapsed", "no time")
    if activity.min() < 0 or activity.max() > 1 + 1e-6:
        _refuse("activity", "activities outside 0 to 1")


def _check_obstacles(kept: Checkpoint) -> None:
    arrays, box = kept.arrays, kept.params.space_size
    try:
        told = checked_obstacles(kept.obstacles, box, kept.setup.boundary)
    except ParameterError as problem:
        raise CheckpointError(str(problem)) from problem
    rows, count = obstacle_arrays(told)
    if int(arrays["obstacle_count"]) != count or not np.array_equal(arrays["obstacles"], rows):
        _refuse("obstacles", "other obstacles than those told")


def _check_list(kept: Checkpoint) -> None:
    table, used = kept.arrays[LIST + "table"], kept.arrays[LIST + "used"]
    capacity = Capacity(*kept.capacity)
    if used.size and not 0 <= used.min() <= used.max() <= capacity.slots:
        _refuse("list.used", "lists longer than their room")
    skin, mean = float(kept.arrays[LIST + "skin"]), float(kept.arrays[LIST + "mean"])
    if not (0 < skin < np.inf and 0 <= mean < np.inf and kept.arrays[LIST + "age"] >= 0):
        _refuse("list.skin", "a list that none of ours can be")
    if table.size and not 0 <= table.min() <= table.max() < capacity.rods:
        _refuse("list.table", "neighbours that are no rods")


def _refuse(name: str, has: str) -> NoReturn:
    raise CheckpointError(f"its array {name!r} has {has}")
