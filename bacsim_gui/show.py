# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim show` and `export`: what files of ours hold, in words, and as a table."""

import argparse
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bacsim_gui import movie_files
from bacsim_gui import timeline as timelines
from bacsim_gui.command import Commands, RunError, add_command, source_file
from bacsim_gui.flags import PlainParser
from bacsim_gui.timeline import Event, Timeline, TimelineError, sidecar
from bacsim_gui.view import View
from engine import schema
from engine.storage import checkpoint as checkpoints
from engine.storage import series, trajectory

# Events of a timeline that are printed one by one; frames are only counted.
_TOLD = ("set", "view", "record")


def add(commands: "Commands[PlainParser]") -> None:
    """Add the commands."""
    text = "print what a movie, a picture, a trajectory, a timeline or a checkpoint holds"
    command = add_command(commands, "show", text, show)
    command.add_argument("file", metavar="FILE")
    command.add_argument("--json", action="store_true", help="print JSON instead of text")
    text = "write the observables of a trajectory over time as a table"
    command = add_command(commands, "export", text, export)
    command.add_argument("trajectory", metavar="RUN.gsd")
    command.add_argument("--out", metavar="FILE", required=True, help=".csv or .parquet")


def export(arguments: argparse.Namespace, _command: PlainParser) -> None:
    """Write the observables of a trajectory as a table, and print where it is."""
    source, out = source_file(arguments.trajectory), Path(arguments.out)
    with trajectory.Trajectory(source) as found:
        series.export(found, out)
        print(f"{out.resolve()}: {len(found)} rows")


def show(arguments: argparse.Namespace, _command: PlainParser) -> None:
    """Print what the file says of itself, and the timeline beside it."""
    path = source_file(arguments.file)
    about, timeline = _about(path)
    if arguments.json:
        if timeline is not None:
            about["timeline"] = timeline.told()
        print(json.dumps(about, indent=1, ensure_ascii=False))
        return
    for line in _lines(about):
        print(line)
    if timeline is not None:
        print("\ntimeline")
        for line in _told(timeline):
            print(f"  {line}")


def _about(path: Path) -> tuple[dict[str, Any], Timeline | None]:
    suffix = path.suffix.lower()
    if suffix == checkpoints.SUFFIX:
        return _of_checkpoint(path), None
    if suffix == timelines.SUFFIX:
        timeline = timelines.load(path)
        return _of_timeline(timeline), timeline
    beside, timeline, problem = sidecar(path), None, ""
    try:
        timeline = timelines.load(beside) if beside.exists() else None
    except TimelineError as error:
        problem = str(error)
    if suffix == trajectory.SUFFIX:
        about = _of_trajectory(path)
    else:
        about = dict(movie_files.metadata(path))
    if problem:
        about["timeline"] = problem
    if not about and timeline is not None:
        about = _of_timeline(timeline)
    if not about:
        raise RunError(f"{path} says nothing of bacsim, and there is no {beside.name} beside it.")
    return about, timeline


def _of_checkpoint(path: Path) -> dict[str, Any]:
    kept = checkpoints.load(path)
    run, notes = kept.checkpoint, dict(kept.notes)
    # Without a step there is no speed, and JSON has no NaN.
    known = {name: v for name, v in run.observables.items() if math.isfinite(v)}
    notes["changed"] = [event for event in notes.pop("timeline", []) if "set" in event]
    return {
        "kind": "checkpoint", "bacsim": kept.version, **notes, "step": run.step,
        "time": run.time, "seed": run.seed, "kernel": run.kernel, "code": run.code,
        "device": run.device, "observables": known,
        "parameters": schema.to_mapping(run.setup, run.params),
        "command": f"bacsim run --resume {path.name} --steps 1000 --out more.gsd",
    }  # fmt: skip


def _of_timeline(timeline: Timeline) -> dict[str, Any]:
    head = timeline.head
    start = "random" if head.start is None else f"arrays at step {head.start.step}"
    return {
        "kind": "timeline", "title": head.title, "bacsim": head.version, "seed": head.seed,
        "kernel": head.kernel, "code": head.code, "device": head.device,
        "start": head.checkpoint or start,
        "frames": sum(event.kind == "frame" for event in timeline.events),
        "last_step": timeline.last_step,
        "parameters": schema.to_mapping(head.setup, head.params),
    }  # fmt: skip


def _of_trajectory(path: Path) -> dict[str, Any]:
    with trajectory.Trajectory(path) as found:
        first, last = found[0], found[len(found) - 1]
        return {
            "kind": "trajectory", **found.about, "frames": len(found), "rods": first.n,
            "first_step": first.step, "last_step": last.step, "last_time": last.time,
        }  # fmt: skip


def _lines(about: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, raw in about.items():
        value = _unpacked(raw)
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list):
            yield from (f"{indent}{name:18} {entry}" for entry in value)
        else:
            yield f"{indent}{name:18} {value}"


def _unpacked(value: Any) -> Any:
    """Tables are kept in a movie as JSON."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _plain(event: Event) -> dict[str, Any]:
    """The values of an event; of a view, what is not as it is by default."""
    values = {**event.value, **event.value.get("view", {})}
    values.pop("view", None)
    usual = View().to_dict()
    return {name: v for name, v in values.items() if name not in usual or v != usual[name]}


def _told(timeline: Timeline) -> Iterator[str]:
    frames = 0
    for event in timeline.events:
        if event.kind in _TOLD:
            if frames:
                yield f"{'':>12}  {frames} frames"
            frames = 0
            words = ", ".join(f"{name} = {value}" for name, value in _plain(event).items())
            yield f"step {event.step:>7,}  {event.kind}: {words}"
        else:
            frames += 1
    if frames:
        yield f"{'':>12}  {frames} frames, the last at step {timeline.last_step:,}"
