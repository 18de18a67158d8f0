# SPDX-License-Identifier: GPL-3.0-or-later
"""What the window can open: parameters, checkpoints, timelines and trajectories. No Qt, no JAX."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bacsim_gui import movie_files
from bacsim_gui import timeline as timelines
from bacsim_gui.encoder import EncoderError
from bacsim_gui.movie_formats import MOVIES, PICTURE
from bacsim_gui.presets import Run, load_config
from bacsim_gui.view import View, ViewError
from engine import schema
from engine.params import Setup
from engine.snapshot import Checkpoint, Snapshot, Start
from engine.storage import checkpoint as checkpoints
from engine.storage import trajectory
from engine.storage.errors import StorageError
from engine.storage.trajectory import Trajectory

CONFIG = ".toml"
SUFFIXES = (CONFIG, checkpoints.SUFFIX, timelines.SUFFIX, trajectory.SUFFIX)


@dataclass(frozen=True)
class Opened:
    """What a file holds: one of the first three is there.

    `run` is one to begin, `kept` one to go on with, of which `notes` tell title, K, frames a second
    and view where the file does; `frames` are states to look at. `note` is to be told.
    """

    path: Path
    run: Run | None = None
    kept: Checkpoint | None = None
    frames: Trajectory | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def read(path: Path) -> Opened:
    """What is in a file, by its ending.

    Raises `StorageError`, `TimelineError` or `ParameterError` for a file that is missing, damaged
    or none of these.
    """
    kind = path.suffix.lower()
    if kind not in SUFFIXES and timelines.sidecar(path).exists():
        return _timeline(timelines.sidecar(path))
    if kind in (*MOVIES, PICTURE) and (opened := _filmed(path)):
        return opened
    if kind not in SUFFIXES:
        raise StorageError(
            f"{path} cannot be opened: give parameters ({CONFIG}), a checkpoint "
            f"({checkpoints.SUFFIX}), a timeline ({timelines.SUFFIX}) or a trajectory "
            f"({trajectory.SUFFIX}), or a movie or picture of bacsim's."
        )
    if kind == CONFIG:
        return Opened(path, load_config(path))
    if kind == checkpoints.SUFFIX:
        kept = checkpoints.load(path)
        return Opened(path, kept=kept.checkpoint, notes=_notes(path, kept.notes))
    return _timeline(path) if kind == timelines.SUFFIX else Opened(path, frames=Trajectory(path))


def _filmed(path: Path) -> Opened | None:
    """The run whose parameters and seed are written in a movie or picture; None where none are."""
    try:
        about = movie_files.metadata(path)
    except FileNotFoundError:
        raise StorageError(f"There is no file {path}.") from None
    except (OSError, EncoderError) as problem:
        raise StorageError(f"{path} cannot be read: {problem}.") from problem
    if "parameters" not in about:
        return None
    try:
        setup, params = schema.from_mapping(json.loads(about["parameters"]))
        seed = schema.seed_from(int(about.get("seed", 1)))
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise StorageError(f"{path} tells of a run that cannot be: {problem}") from problem
    note = (
        f"Begun anew with the parameters and the seed that are written in {path.name}, which does "
        "not hold rods or obstacles."
    )
    return Opened(path, Run(about.get("title", path.stem), "", setup, params, seed=seed), note=note)


def _timeline(path: Path) -> Opened:
    timeline = timelines.load(path)
    head = timeline.head
    note = (
        f"Opened at its first step; 'bacsim replay' and 'bacsim render' do again what was changed "
        f"later in {path.name}."
    )
    if head.checkpoint is not None:
        kept = checkpoints.load(path.parent / head.checkpoint).checkpoint
        return Opened(path, kept=kept, notes={"title": head.title}, note=note)
    run = Run(
        head.title, "", head.setup, head.params, max(1, head.K), head.fps, head.seed, head.start
    )
    return Opened(path, run, note=note)


def _notes(path: Path, notes: Any) -> dict[str, Any]:
    """What the writer of a checkpoint noted, once it is known that it can be."""
    try:
        known = {name: notes[name] for name in ("title", "K", "fps", "view") if name in notes}
        if not 1 <= int(known.get("K", 1)) < 2**31 or not 1 <= float(known.get("fps", 1)) <= 1000:
            raise ValueError(f"K = {known.get('K')}, fps = {known.get('fps')}")
        View.from_dict(known.get("view", {}))
    except (ViewError, ValueError, TypeError, AttributeError) as problem:
        raise StorageError(f"{path} is damaged: {problem} in its notes.") from problem
    return known


def run_of(frames: Trajectory, snapshot: Snapshot) -> Run | None:
    """The run that goes on from a frame of a trajectory; None where the frame lacks rods of it."""
    if frames.one_rod_in > 1:
        return None
    about = frames.about
    try:
        setup, _ = schema.from_mapping(json.loads(about["parameters"]))
        seed = schema.seed_from(int(about["seed"]))
    except (KeyError, ValueError, TypeError):  # it is not of the window or of `bacsim run`
        setup, seed = Setup(), 1
    start = Start.of(snapshot)
    title = about.get("title", frames.path.stem)
    return Run(title, "", replace(setup, rods=snapshot.n), snapshot.params, seed=seed, start=start)
