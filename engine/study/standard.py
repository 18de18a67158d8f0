# SPDX-License-Identifier: GPL-3.0-or-later
"""The standard benchmark: one set of parameters, and the relaxed state that all kernels start from.

Nothing here imports JAX before a state has to be relaxed.
"""

import math
import zlib
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.snapshot import Start

PACKING_FRACTION = 0.4

# The parameters that the benchmark is defined by; all others have their declared defaults, so that
# activity and sensing are at work and noise is off.
PARAMS = Params(
    length=2.0, radius=0.25, sensing_range=0.6, k_cc=50.0, F_prop=2.0, dt=1e-3, gamma=1.0
)

# Above this a state is made of copies of a smaller one: relaxing takes hundreds of steps.
MOST_RELAXED = 1024
LEAST_COPIED = 256
SEED = 1


def standard_params(rods: int) -> Params:
    """The benchmark's parameters for `rods` rods, in the box that gives φ = 0.4."""
    return replace(PARAMS, space_size=schema.space_size_for(rods, PACKING_FRACTION, PARAMS))


def copies_for(rods: int) -> int:
    """The m of the m × m copies that a state of `rods` rods is made of; 1 where it is relaxed."""
    if rods <= MOST_RELAXED:
        return 1
    for m in range(2, math.isqrt(rods // LEAST_COPIED) + 1):
        if rods % m**2 == 0 and rods // m**2 <= MOST_RELAXED:
            return m
    return 1


def copied(start: Start, space_size: float, m: int) -> Start:
    """`start` repeated m × m times: a state of a box of side m `space_size`, as relaxed as it was.

    The copies are periodic images, so no rod meets anything that it did not meet before.
    """
    shifts = space_size * np.stack(np.meshgrid(np.arange(m), np.arange(m)), axis=-1).reshape(-1, 2)
    pos = np.asarray(start.pos, np.float64)[None] + shifts[:, None]
    return Start(pos.reshape(-1, 2), np.tile(start.theta, m * m), np.tile(start.activity, m * m))


def relaxed_start(rods: int) -> Start:
    """The benchmark's state: random, relaxed, all rods active; always the same on one machine.

    Takes seconds, compiling included. Raises `ParameterError` where so few rods fill a box that is
    too small for them.
    """
    from engine.driver import Driver

    m = copies_for(rods)
    base = rods // m**2
    params = standard_params(base)
    last = Driver(Setup(rods=base), params, seed=SEED).snapshot()
    return copied(Start(last.pos, last.theta, last.activity), params.space_size, m)


def save_state(path: Path, start: Start, params: Params) -> None:
    """Write a state as `load_state` reads it."""
    np.savez(
        path, pos=start.pos, theta=start.theta, activity=start.activity,
        space_size=params.space_size,
    )  # fmt: skip


def load_state(path: Path) -> tuple[Start, Params]:
    """A state from an `.npz` file with `pos` (N, 2), `theta`, `activity` (N,) and `space_size`.

    The other parameters are the benchmark's. Raises `ParameterError` for a file without them, and
    `OSError` for a missing one.
    """
    try:
        # Opened here, since numpy leaves a spoilt file open.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            missing = {"pos", "theta", "activity", "space_size"} - set(file.files)
            if missing:
                raise ParameterError(
                    "state", str(path), f"lacks {', '.join(sorted(missing))}",
                    "Give an .npz file with pos (N, 2), theta (N,), activity (N,), space_size.",
                )  # fmt: skip
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (ValueError, BadZipFile, zlib.error, EOFError, AttributeError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            "state", str(path), "is not an .npz file", "Write one with numpy.savez."
        ) from error
    space_size = _side(path, arrays["space_size"])
    start = _start_of(path, [arrays["pos"], arrays["theta"], arrays["activity"]])
    params = replace(PARAMS, space_size=space_size)
    schema.check(Setup(rods=len(start.pos)), params)
    return start, params


def _side(path: Path, value: np.ndarray) -> float:
    if value.size != 1 or value.dtype.kind not in "fiu":
        raise ParameterError(
            "state", str(path), "has a space_size that is not one number", "Write the box's side."
        )
    return float(schema.coerce("space_size", value.item()))


def _start_of(path: Path, arrays: list[np.ndarray]) -> Start:
    shapes, n = [a.shape for a in arrays], arrays[1].size
    if n < 1 or shapes != [(n, 2), (n,), (n,)]:
        raise ParameterError(
            "state", str(path), f"has pos, theta, activity of shapes {shapes}",
            "Give (N, 2), (N,) and (N,).",
        )  # fmt: skip
    if not all(a.dtype.kind in "fiu" and np.isfinite(a).all() for a in arrays):
        raise ParameterError(
            "state", str(path), "holds values that are no finite numbers", "Give finite numbers."
        )
    pos, theta, activity = (a.astype(np.float64) for a in arrays)
    return Start(pos, theta, activity)
