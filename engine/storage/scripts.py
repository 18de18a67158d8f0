# SPDX-License-Identifier: GPL-3.0-or-later
"""States in files, in one call each, for scripts and notebooks."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

import gsd.fl
import gsd.hoomd
import numpy as np

from engine import schema
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.snapshot import Checkpoint, CheckpointError, Snapshot
from engine.storage import checkpoint, trajectory
from engine.storage.errors import StorageError

# How far a rod may lie beside the plane or turn out of it, and boxes may differ, by rounding.
_ROUNDING = 1e-5


def load_snapshot(path: Path | str, frame: int = -1, *, params: Params | None = None) -> Snapshot:
    """One state from a trajectory (.gsd) or a checkpoint (.bacsim), to look at or to begin with.

    `Driver.from_snapshot` begins a run with it. A GSD file of another program will do too: of rods
    in the plane z = 0 of a square box, turned about z, of which `params` tells the rest; all are
    active there unless the file logs `particles/activity`.

    Args:
        path: the file.
        frame: of a trajectory, counted from 0, or from the end with -1; a checkpoint has one.
        params: for a file of another program only; `space_size` must be the side of its box.

    Raises:
        StorageError: a file that is missing, damaged, or holds no such rods.
        ParameterError: `params` is missing, is given for a file of bacsim, or does not fit.
        IndexError: there is no such frame.
    """
    path = Path(path)
    if path.suffix == checkpoint.SUFFIX:
        kept = load_checkpoint(path)
        if frame not in (0, -1):
            raise IndexError(f"{path} is a checkpoint, of one state, and has no frame {frame}.")
        _refuse_params(path, params)
        return _snapshot_of(path, kept)
    application = _application(path)
    if application in (None, "bacsim"):
        if application:
            _refuse_params(path, params)
        with trajectory.Trajectory(path) as frames:
            if frames.one_rod_in > 1:
                raise StorageError(
                    f"{path} keeps one rod in {frames.one_rod_in}, and no run can begin with some "
                    "of its rods. Take a trajectory of all, or read this one with Trajectory."
                )
            return frames[frame]
    return _of_another_program(path, frame, params)


def load_checkpoint(path: Path | str) -> Checkpoint:
    """What `save_checkpoint`, `bacsim run --checkpoint` or the window kept, for `Driver.resumed`.

    Raises `StorageError` for a file that is missing, damaged or of another version.
    """
    return checkpoint.load(Path(path)).checkpoint


def save_checkpoint(path: Path | str, kept: Checkpoint, *, overwrite: bool = False) -> None:
    """Keep `driver.checkpoint()` in a file ending in .bacsim, which the window opens too.

    Raises `StorageError` where that cannot be written, or exists and is not to be overwritten.
    """
    path = Path(path)
    if path.suffix != checkpoint.SUFFIX:
        raise StorageError(f"{path} is no name for a checkpoint. Let it end in .bacsim.")
    try:
        ours = version("bacsim")
    except PackageNotFoundError:  # run from a folder, not installed
        ours = "not installed"
    checkpoint.save(path, kept, ours, {}, overwrite=overwrite)


def _refuse_params(path: Path, params: Params | None) -> None:
    if params is not None:
        raise ParameterError(
            "params", params, f"cannot be set here: {path} holds its own",
            "Leave it out, begin a run, and change parameters with Driver.set.",
        )  # fmt: skip


def _snapshot_of(path: Path, kept: Checkpoint) -> Snapshot:
    from engine.checkpoint import state_from

    try:
        state_from(kept)
    except CheckpointError as problem:
        raise StorageError(f"{path} is damaged: {problem.why}.") from problem
    except ParameterError as problem:
        raise StorageError(f"{path} is damaged: {problem}") from problem
    arrays, n = kept.arrays, kept.setup.rods
    by_row = np.empty((kept.capacity[0], 4), np.float32)
    by_row[arrays["row"]] = np.column_stack([arrays["pos"], arrays["theta"], arrays["activity"]])
    ids = None if np.array_equal(kept.ids, np.arange(n)) else kept.ids
    return Snapshot(
        by_row[:n], kept.step, kept.time, kept.params, kept.observables, ids, kept.obstacles,
        laws=kept.setup.laws,
    )  # fmt: skip


def _application(path: Path) -> str | None:
    """Which program wrote a GSD file; None of what is none, which whoever reads it then tells."""
    try:
        with gsd.fl.open(path, "r") as file:
            return file.application
    except (OSError, RuntimeError):
        return None


def _of_another_program(path: Path, number: int, params: Params | None) -> Snapshot:
    if params is None:
        raise ParameterError(
            "params", None, f"is missing: {path} is of another program",
            "Give Params with the length, radius and space_size of these rods.",
        )  # fmt: skip
    try:
        with gsd.hoomd.open(path) as file:
            if not -len(file) <= number < len(file):
                raise IndexError(f"{path} has {len(file)} frames, and no frame {number}.")
            number %= len(file)
            frame: Any = file[number]
            lacks = _lacking(file.file, number, int(frame.particles.N))
    except (OSError, RuntimeError, ValueError, KeyError) as problem:
        raise StorageError(f"{path} cannot be read as GSD: {problem}.") from problem
    if lacks:
        _refuse(path, number, f"holds no {lacks[0]}s")
    return _checked(path, number, frame, params)


def _lacking(file: gsd.fl.GSDFile, number: int, n: int) -> list[str]:
    """What is told of no rod of a frame of `n`, for which readers put in a default.

    A lone rod in the middle is there by default too, and so nothing is told of its place.
    """
    given, count = [number], "particles/N"
    if file.chunk_exists(0, count) and int(file.read_chunk(0, count)[0]) == n:
        given.append(0)  # only then do later frames have what it holds
    told = ("position", "orientation") if n > 1 else ("orientation",)
    return [
        what for what in told
        if not any(file.chunk_exists(at, f"particles/{what}") for at in given)
    ]  # fmt: skip


def _checked(path: Path, number: int, frame: Any, params: Params) -> Snapshot:
    """The rods of a frame that `gsd.hoomd` has read, in the box of `params`."""
    box, n = np.array(frame.configuration.box, float), int(frame.particles.N)
    if n == 0:
        _refuse(path, number, "holds no rods")
    rods = frame.particles
    pos, turns = np.array(rods.position, float), np.array(rods.orientation, float)
    activity = np.array(frame.log.get("particles/activity", np.ones(n)), float)
    for name, array, shape in (("position", pos, (n, 3)), ("orientation", turns, (n, 4)),
                               ("activity", activity, (n,))):  # fmt: skip
        if array.shape != shape:
            _refuse(path, number, f"has {name} of shape {array.shape}, not {shape}")
        bad = ~np.isfinite(array.reshape(n, -1)).all(axis=1)
        if bad.any():
            _refuse(path, number, f"has {name} that is no number, of rod {np.argmax(bad)}")
    side = box[0]
    if not (side > 0 and abs(box[1] - side) <= _ROUNDING * side and not box[3:].any()):
        _refuse(path, number, f"has the box {box.tolist()}, which is no square")
    if abs(params.space_size - side) > _ROUNDING * side:
        raise ParameterError(
            "space_size", params.space_size, f"is not the side of the box in {path}",
            f"Give {side:.6g}.",
        )  # fmt: skip
    _check_rods(path, number, pos, turns, activity, side)
    schema.check(Setup(rods=n), params)
    theta = 2 * np.arctan2(turns[:, 3], turns[:, 0])
    places = np.mod(pos[:, :2] + side / 2, side).astype(np.float32)
    places[places >= np.float32(params.space_size)] = 0
    theta -= 2 * np.pi * np.round(theta / (2 * np.pi))
    table = np.column_stack([places, theta, activity]).astype(np.float32)
    return Snapshot(table, int(frame.configuration.step), 0.0, params)


def _check_rods(
    path: Path, number: int, pos: np.ndarray, turns: np.ndarray, activity: np.ndarray, side: float
) -> None:
    size = np.linalg.norm(turns, axis=1)
    for what, bad in (
        (f"lies outside of the box of {side:.6g}",
         (np.abs(pos[:, :2]) > (0.5 + _ROUNDING) * side).any(axis=1)),
        ("does not lie in the plane z = 0", np.abs(pos[:, 2]) > _ROUNDING * side),
        ("has an orientation that is no turn", np.abs(size - 1) > 1e-3),
        ("points out of the plane", np.abs(turns[:, 1:3]).max(axis=1) > 1e-3),
        ("has an activity outside 0 to 1", (activity < 0) | (activity > 1)),
    ):  # fmt: skip
        if bad.any():
            _refuse(path, number, f"cannot be used: rod {np.argmax(bad)} {what}")


def _refuse(path: Path, number: int, problem: str) -> NoReturn:
    raise StorageError(
        f"Frame {number} of {path} {problem}. Begin with arrays of your own instead: "
        "Start(pos, theta, activity)."
    )
