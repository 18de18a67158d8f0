# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints in files: safetensors, named arrays behind a head of JSON; nothing in it is run."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from engine import schema
from engine.obstacle import Obstacle
from engine.schema import ParameterError
from engine.snapshot import Checkpoint, Start
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

SUFFIX = ".bacsim"

# Goes up when an older program could no longer read what is written.
FORMAT = 1

_STATE, _START, _IDS = "state.", "start.", "ids"
_START_ARRAYS = ("pos", "theta", "activity")


@dataclass(frozen=True)
class Kept:
    """What a file holds: the checkpoint, the version that wrote it, and `notes` of the writer."""

    checkpoint: Checkpoint
    version: str
    notes: Mapping[str, Any]


def save(
    path: Path, kept: Checkpoint, version: str, notes: Mapping[str, Any], *, overwrite: bool = False
) -> None:
    """Write `kept` and `notes`, which must fit JSON, to `path`.

    Raises `StorageError` where that cannot be written, or exists and is not to be overwritten.
    """
    setup, params, start = kept.began
    about = {
        "format": FORMAT, "version": version, "notes": notes,
        **schema.to_mapping(kept.setup, kept.params),
        "began": {**schema.to_mapping(setup, params), "start": None},
        **{name: getattr(kept, name) for name in _PLAIN},
        "observables": dict(kept.observables), "capacity": list(kept.capacity),
        "obstacles": [one.values for one in kept.obstacles],
    }  # fmt: skip
    arrays = {_STATE + name: array for name, array in kept.arrays.items()}
    arrays[_IDS] = kept.ids
    if start is not None:
        about["began"]["start"] = {"step": start.step, "time": start.time}
        arrays |= {_START + name: np.asarray(getattr(start, name)) for name in _START_ARRAYS}
        if start.ids is not None:
            arrays[_START + _IDS] = start.ids
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with whole_file(path, "checkpoint", overwrite=overwrite) as part:
        try:
            text = json.dumps(about)
            save_file(arrays, part, {"bacsim checkpoint": text, "digest": digest(text, arrays)})
        except SafetensorError as problem:
            raise OSError(str(problem)) from problem


def load(path: Path) -> Kept:
    """What `save` wrote. The arrays are as long as the file is, whatever is written in it.

    Raises `StorageError` for a file that is none of ours, damaged, or of a newer version. Whether
    the arrays can be a state is seen when they are used (`engine.checkpoint.state_from`).
    """
    if not path.is_file() and path.exists():
        raise StorageError(f"{path} is no file.")
    try:
        with safe_open(path, framework="numpy") as file:
            head = file.metadata() or {}
            about = _about(path, head)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if head.get("digest") != digest(head["bacsim checkpoint"], arrays):
            raise StorageError(
                f"{path} is damaged: what it holds has changed since it was written. Give another "
                "one, an earlier autosave for example."
            )
        return Kept(_checkpoint(about, arrays), str(about["version"]), dict(about["notes"]))
    except FileNotFoundError:
        raise StorageError(f"There is no file {path}.") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise StorageError(f"{path} cannot be read: {why}.") from problem
    except SafetensorError as problem:
        raise StorageError(
            f"{path} is no checkpoint of bacsim, or it is damaged ({problem}). Give a file that "
            f"bacsim has written, ending in {SUFFIX}."
        ) from problem
    except ParameterError as problem:
        raise StorageError(f"{path} was written by another version: {problem}") from problem
    except _IMPOSSIBLE as problem:
        raise StorageError(f"{path} is damaged: {problem!r} in its head.") from problem


def digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of a head and its arrays, by which a bit that has changed is seen."""
    found = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


# What comes of values that no program of ours has written.
_IMPOSSIBLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
# An array that is longer would not fit any machine.
_MOST = 2**40
_PLAIN = (
    "seed", "kernel", "reason", "code", "device", "step", "time", "origin", "next_id",
)  # fmt: skip


def _about(path: Path, head: Mapping[str, str]) -> dict[str, Any]:
    if "bacsim checkpoint" not in head:
        raise StorageError(f"{path} is no checkpoint of bacsim. Give a file ending in {SUFFIX}.")
    about = json.loads(head["bacsim checkpoint"])
    if about["format"] > FORMAT:
        raise StorageError(
            f"{path} was written by bacsim {about['version']}, which is newer than this one. "
            "Install that version to go on with it."
        )
    return about


def _checkpoint(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Checkpoint:
    setup, params = schema.from_mapping(about)
    first_setup, first_params = schema.from_mapping(about["began"])
    start, at = None, about["began"]["start"]
    if at is not None:
        pos, theta, activity = (arrays[_START + name] for name in _START_ARRAYS)
        ids = arrays.get(_START + _IDS)
        start = Start(pos, theta, activity, at["step"], at["time"], ids)
    step, time = about["origin"]
    return Checkpoint(
        setup=setup, params=params, seed=_whole(about["seed"]), kernel=_text(about["kernel"]),
        reason=_text(about["reason"]), code=_text(about["code"]), device=_text(about["device"]),
        capacity=_capacity(about["capacity"]), step=_whole(about["step"]),
        time=_time(about["time"]), origin=(_whole(step), _time(time)),
        next_id=_whole(about["next_id"]), ids=arrays[_IDS],
        observables={str(n): float(v) for n, v in about["observables"].items()},
        arrays={n.removeprefix(_STATE): a for n, a in arrays.items() if n.startswith(_STATE)},
        began=(first_setup, first_params, start),
        obstacles=tuple(Obstacle.from_values(one) for one in about["obstacles"]),
    )  # fmt: skip


def _capacity(numbers: Any) -> tuple[int, int, int, int]:
    rods, chunks, slots, candidates = (_whole(number, _MOST) for number in numbers)
    return rods, chunks, slots, candidates


def _whole(value: Any, most: int = 2**63) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < most:
        raise ValueError(f"{value!r} is no whole number that it can be")
    return value


def _time(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{value!r} is no time")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
