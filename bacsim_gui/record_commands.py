# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim movie`, `run`, `render` and `replay`: what makes files of a run. See `command`."""

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bacsim_gui import picture_flags
from bacsim_gui.command import (
    Commands,
    RunError,
    add_command,
    checked,
    counted,
    prepare,
    say_run,
    source_file,
)
from bacsim_gui.flags import (
    PlainParser,
    add_run_flags,
    given_values,
    make_run,
    number,
    set_threads,
    whole,
)
from bacsim_gui.order import Order
from bacsim_gui.outputs import check_outputs
from bacsim_gui.picture_flags import add_picture_flags, fps_from, size_from, view_from
from bacsim_gui.view import View
from engine import schema
from engine.schema import ParameterError

if TYPE_CHECKING:
    from bacsim_gui.movie import Frame
    from bacsim_gui.outputs import Going, Outputs
    from bacsim_gui.presets import Run
    from bacsim_gui.progress import Progress
    from bacsim_gui.recording import Sink
    from bacsim_gui.timeline import Timeline
    from engine.driver import Driver

# Seconds of a movie; far more than anybody waits for.
LONGEST_MOVIE = 1e6
# Seconds between two checkpoints of a run that is to leave one.
AUTOSAVE_SECONDS = 300.0


def add(commands: "Commands[PlainParser]") -> None:
    """Add the commands."""
    _add_movie(commands)
    _add_run(commands)
    _add_render(commands)
    _add_replay(commands)


def _add_movie(commands: "Commands[PlainParser]") -> None:
    text = "simulate, draw and encode a movie"
    command = add_command(commands, "movie", text, movie)
    what = command.add_argument_group("movie")
    what.add_argument(
        "--out", metavar="FILE", default="swarm.mp4",
        help=f"default swarm.mp4; an existing file is kept, and the name gets a number. "
        f"{picture_flags.FORMATS}",
    )  # fmt: skip
    what.add_argument("--seconds", metavar="FLOAT", default="10", help="length; default 10")
    what.add_argument(
        "--time-a-frame", metavar="FLOAT",
        help="simulated time between two frames, instead of the preset's pace",
    )  # fmt: skip
    what.add_argument(
        "--skip", metavar="FLOAT", default="0",
        help="simulated time before the first frame; default 0",
    )  # fmt: skip
    add_picture_flags(command)
    add_run_flags(command)


def _add_run(commands: "Commands[PlainParser]") -> None:
    text = "simulate, and keep a trajectory, a table of observables or a checkpoint"
    command = add_command(commands, "run", text, run)
    what = command.add_argument_group("run")
    what.add_argument("--steps", metavar="INT", required=True, help="time steps to take")
    what.add_argument("--every", metavar="INT", default="100", help="steps a frame; default 100")
    what.add_argument("--out", metavar="FILE.gsd", help="trajectory, for OVITO, freud, notebooks")
    what.add_argument("--keep", metavar="INT", help="about how many rods of it; default all")
    what.add_argument(
        "--observables", metavar="FILE", help="table of their values, .csv or .parquet"
    )
    what.add_argument(
        "--checkpoint", metavar="FILE.bacsim",
        help="from which the run can go on with the same bits; written anew every five minutes and "
        "at the end",
    )  # fmt: skip
    what.add_argument(
        "--resume", metavar="FILE.bacsim",
        help="go on from a checkpoint; of the flags below only live parameters are taken then",
    )  # fmt: skip
    add_run_flags(command)


def _add_render(commands: "Commands[PlainParser]") -> None:
    text = "make a movie or a picture of a recorded run, in another size or with other colours"
    command = add_command(commands, "render", text, render)
    command.add_argument(
        "source", metavar="SOURCE",
        help="a trajectory (.gsd), a timeline, or a movie that has its timeline beside it",
    )  # fmt: skip
    what = command.add_argument_group("movie")
    what.add_argument("--out", metavar="FILE", required=True, help=picture_flags.FORMATS)
    what.add_argument("--from", dest="first", metavar="STEP", help="first step; default all")
    what.add_argument("--to", dest="last", metavar="STEP", help="last step; default all")
    add_picture_flags(command)


def _add_replay(commands: "Commands[PlainParser]") -> None:
    text = "run a timeline again, and see whether every recorded state has the same bits"
    command = add_command(commands, "replay", text, replay)
    command.add_argument(
        "timeline", metavar="TIMELINE", help="a .timeline file, or a movie or trajectory beside one"
    )
    command.add_argument("--until", metavar="STEP", help="default: the last that is recorded")
    command.add_argument("--out", metavar="FILE.gsd", help="keep the recorded states as trajectory")
    command.add_argument("--observables", metavar="FILE", help="table of them, .csv or .parquet")
    command.add_argument(
        "--checkpoint", metavar="FILE.bacsim", help="keep the last state, to go on from it"
    )


def movie(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Make a movie and print where it is."""

    def ask() -> "tuple[Run, Order, int]":
        begun, order = make_run(arguments), _order(arguments, View())
        steps = begun.movie_steps(order.fps)
        dt = begun.params.dt
        if arguments.time_a_frame is not None:
            steps = max(1, _steps_in("time-a-frame", arguments.time_a_frame, dt))
        seconds = number("seconds", arguments.seconds, 0, LONGEST_MOVIE)
        frames = 1 if order.is_picture else max(1, round(seconds * order.fps))
        skipped = 0 if arguments.skip == "0" else _steps_in("skip", arguments.skip, dt)
        return begun, replace(order, steps=steps, frames=frames), skipped

    begun, order, skipped = checked(command, ask)
    prepare(draws=True)
    from bacsim_gui.movie import run_frames
    from bacsim_gui.movie_files import unfinished_recordings
    from bacsim_gui.progress import Progress
    from bacsim_gui.recording import Recording
    from bacsim_gui.timeline import Head, Timeline

    with Progress() as progress:
        say_run(begun, progress)
        for left in unfinished_recordings(order.path.parent):
            progress.say(f"Note: {left.message}")
        pace = schema.pace(begun.setup, begun.params, order.steps * order.fps)
        progress.say(
            f"{counted(order.frames or 1, 'frame')} of {counted(order.steps, 'step')}, each "
            f"{order.steps * begun.params.dt:.4g} t: active rods pass {pace:.1f} body widths a "
            "second of movie."
        )
        progress.update(0.0, "compiling")
        driver = begun.driver()
        timeline = Timeline(Head.of(driver, begun.title, begun.K, begun.fps))
        progress.begin()
        driver.advance(skipped)
        sink = _opened(command, lambda: Recording(order, timeline, driver.step))
        _write(sink, run_frames(driver, order), order, progress)


def run(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Simulate, write what is asked for, and print what there is."""

    def ask() -> "tuple[Run | None, int, int, Order | None]":
        if not (arguments.out or arguments.observables or arguments.checkpoint):
            raise ValueError("Nothing would be kept: give --out, --observables or --checkpoint.")
        steps = whole("steps", arguments.steps, 1) or 1
        every = whole("every", arguments.every, 1) or 1
        order = None
        if arguments.out:
            order = Order(Path(arguments.out), steps=every, rods=whole("keep", arguments.keep, 1))
            if not order.is_trajectory:
                raise ValueError(f"--out {order.path} must end in .gsd; 'bacsim movie' draws.")
        check_outputs(arguments.observables, arguments.checkpoint)
        if arguments.resume is None:
            return make_run(arguments), steps, every, order
        _check_resume(arguments)
        return None, steps, every, order

    begun, steps, every, order = checked(command, ask)
    prepare()
    from bacsim_gui.outputs import Outputs, begin, resume
    from bacsim_gui.progress import Progress
    from engine.driver import SimulationError

    with Progress() as progress:
        progress.update(0.0, "compiling")
        if begun is None:
            going = resume(Path(arguments.resume), given_values(arguments))
            rods = going.driver.setup.rods
            progress.say(f"Going on from step {going.driver.step:,} with {rods:,} rods.")
        else:
            say_run(begun, progress)
            going = begin(begun)
        outputs = Outputs(going, order, arguments.observables, arguments.checkpoint)
        for note in outputs.notes:
            progress.say(f"Note: {note}")
        progress.begin()
        try:
            _advance(going.driver, outputs, steps, every, progress)
        except SimulationError as error:
            raise RunError(f"{error} {outputs.finish()}") from error
        except KeyboardInterrupt:
            raise KeyboardInterrupt(outputs.finish()) from None
        finally:
            outputs.abandon()
        print(outputs.finish())


def _advance(
    driver: "Driver", outputs: "Outputs", steps: int, every: int, progress: "Progress"
) -> None:
    """Take `steps` steps, write every so many, and save now and then."""
    first, saved = driver.step, time.monotonic()
    outputs.write()
    while (done := driver.step - first) < steps:
        driver.advance(min(every, steps - done))
        outputs.write()
        progress.update((driver.step - first) / steps, f"step {driver.step:,}")
        if time.monotonic() - saved > AUTOSAVE_SECONDS:
            saved = time.monotonic()
            outputs.save()


def _check_resume(arguments: argparse.Namespace) -> None:
    """Refuse what the checkpoint decides; `--threads` holds for all of this process."""
    set_threads(arguments)
    given = [name for name in ("preset", "config", "seed", "K") if getattr(arguments, name)]
    given += [name for name in given_values(arguments) if not schema.field(name).live]
    if given:
        raise ValueError(
            f"--{given[0]} and --resume exclude each other: the checkpoint decides it. Live "
            "parameters can be given."
        )


def render(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Draw a recorded run and print where the movie is."""
    from bacsim_gui.sources import opened

    def ask() -> "tuple[int | None, int | None, View]":
        return (
            whole("from", arguments.first, 0), whole("to", arguments.last, 0),
            view_from(arguments, View()),
        )  # fmt: skip

    first, last, _ = checked(command, ask)
    source = opened(source_file(arguments.source), first, last)
    order = checked(command, lambda: _order(arguments, source.view, source.order))
    source.check(order.view)
    if order.is_picture:
        source = source.only_last()
    prepare(draws=True)
    from bacsim_gui.progress import Progress
    from bacsim_gui.recording import picture_sink

    with Progress() as progress:
        progress.update(0.0, "drawing")
        order = replace(order, frames=source.count, metadata=source.metadata)
        sink = _opened(command, lambda: picture_sink(order))
        frames = source.frames(progress.say, lambda view: view_from(arguments, view))
        progress.begin()
        _write(sink, frames, order, progress)


def replay(arguments: argparse.Namespace, command: PlainParser) -> None:
    """Run a timeline again and say whether the bits are the same; status 1 where they are not."""
    until = checked(command, lambda: whole("until", arguments.until, 0))
    order = None if arguments.out is None else Order(Path(arguments.out))
    if order is not None and not order.is_trajectory:
        command.error(f"--out {arguments.out} must end in .gsd; 'bacsim render' draws")
    checked(command, lambda: check_outputs(arguments.observables, arguments.checkpoint))
    from bacsim_gui import timeline as timelines

    path = source_file(arguments.timeline)
    if path.suffix != timelines.SUFFIX:
        path = timelines.sidecar(path)
    line = timelines.load(path)
    prepare()
    from bacsim_gui.outputs import Going, Outputs
    from bacsim_gui.progress import Progress
    from bacsim_gui.replay import driver_for, other_bits

    with Progress() as progress:
        progress.update(0.0, "compiling")
        driver, kept = driver_for(line.head, path.parent)
        difference = other_bits(line.head, driver)
        going = Going(driver, timelines.Timeline(timelines.Head.of(driver, line.head.title)), kept)
        outputs = Outputs(going, order, arguments.observables, arguments.checkpoint)
        for note in (difference, *outputs.notes):
            if note:
                progress.say(f"Note: {note}")
        progress.begin()
        try:
            same, other = _compare(going, line, outputs, until, progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(outputs.finish()) from None
        finally:
            outputs.abandon()
        written = outputs.finish()
    if written:
        print(written)
    if other:
        raise RunError(
            f"{len(other)} of {same + len(other)} recorded states have other bits, the first at "
            f"step {other[0]:,}. {difference}".rstrip()
        )
    print(
        f"Replayed to step {driver.step:,}: {same} recorded states, every one with the same bits."
    )


def _compare(
    going: "Going", line: "Timeline", outputs: "Outputs", until: int | None, progress: "Progress"
) -> tuple[int, list[int]]:
    """Follow a timeline; how many recorded states have the same bits, and the steps of others."""
    from bacsim_gui.replay import play

    driver, same, other = going.driver, 0, []
    first, end = driver.step, line.last_step if until is None else until

    def on_step(step: int) -> None:
        progress.update((step - first) / max(1, end - first), f"step {step:,}")

    for moment in play(line, driver, on_step, until):
        if moment.event.kind == "set":
            going.timeline.add(driver.step, moment.event.value)
        elif moment.event.kind == "frame":
            outputs.write()
            same += moment.same is True
            other += [] if moment.same else [moment.event.step]
    return same, other


def _steps_in(name: str, text: str, dt: float) -> int:
    """The steps of a simulated time, as many as the compiled loop can count."""
    return round(number(name, text, 0, (2**31 - 1) * dt) / dt)


def _order(arguments: argparse.Namespace, view: View, recorded: Order | None = None) -> Order:
    """What the flags of pictures ask for; what they leave open is as it was `recorded`."""
    from bacsim_gui.recorder import RecordingError, check

    order = recorded or Order(Path())
    if not Path(arguments.out).name:
        raise ParameterError("out", arguments.out, "is no name of a file", "Give one.")
    order = replace(order, path=Path(arguments.out), view=view_from(arguments, view))
    if order.is_trajectory:
        raise ParameterError("out", arguments.out, "is a trajectory", "Use 'bacsim run' for that.")
    if arguments.size is not None:
        order = replace(order, size=size_from(arguments.size))
    if arguments.fps is not None:
        order = replace(order, fps=fps_from(arguments.fps))
    if arguments.quality is not None:
        order = replace(order, quality=arguments.quality)
    try:
        check(order.size, order.fps, order.path)
    except RecordingError as error:
        raise ValueError(str(error)) from error
    return order


def _opened(command: PlainParser, open_sink: "Callable[[], Sink]") -> "Sink":
    from bacsim_gui.recorder import RecordingError

    try:
        return open_sink()
    except RecordingError as error:
        command.error(str(error))


def _write(sink: "Sink", frames: "Iterable[Frame]", order: Order, progress: "Progress") -> None:
    """Record the frames and print where they are."""
    from bacsim_gui.movie import MovieError, write_frames

    if sink.note:
        progress.say(f"Note: {sink.note}")
    try:
        path = write_frames(
            sink, frames, order.frames or 1,
            lambda i, n: progress.update(i / n, f"{i} of {n} frames"),
        )  # fmt: skip
    except MovieError as error:
        raise RunError(str(error)) from error
    size = f", {path.stat().st_size / 1e6:.1f} MB" if path.is_file() else ""
    print(f"{path.resolve()}: {counted(order.frames or 1, 'frame')}{size}")
