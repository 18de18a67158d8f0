# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engine's thread does: follow the newest order, one slice of steps at a time."""

import logging
import math
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bacsim_gui import __version__
from bacsim_gui.edits import Edit, alike, apply, edit_for, edit_of
from bacsim_gui.engine_frames import Frames
from bacsim_gui.engine_recordings import MovieError, OpenRecording, Recordings
from bacsim_gui.loading import load_jaxlib
from bacsim_gui.pace import AutoSteps
from bacsim_gui.seam import Build, Movie, Problem, Save, Seam, Trace, Wanted
from bacsim_gui.timeline import Head, Timeline, TimelineError
from engine.schema import ParameterError
from engine.storage import checkpoint as checkpoints
from engine.storage.errors import StorageError

if TYPE_CHECKING:
    from engine.driver import Driver
    from engine.snapshot import Checkpoint, Snapshot

log = logging.getLogger(__name__)

# Steps are done in slices of about this many seconds, so that pausing, closing and edits act soon.
SLICE_SECONDS = 0.04
# Statistics are gathered this often; each takes medians over recent batches.
STATS_SECONDS = 0.2
# What tells how far a state is to be trusted is measured this often, and so seldom that it takes no
# more than this share of the time; the first time some seconds after a build, so that nobody waits
# for its program at the start.
TRUST_SECONDS, TRUST_SHARE, FIRST_TRUST_SECONDS = 1.0, 0.02, 3.0
# Wall time between two autosaves, unless another is given.
AUTOSAVE_SECONDS = 300.0
# A relaxation that is over sooner needs no word.
SAID_SECONDS = 0.5


class Worker:
    """The engine's side of the seam: follows the newest order, slice by slice."""

    def __init__(
        self,
        seam: Seam,
        open_recording: OpenRecording,
        autosave: Path | None = None,
        autosave_seconds: float = AUTOSAVE_SECONDS,
    ) -> None:
        self._seam = seam
        self._recordings = Recordings(open_recording, self._tell_recordings)
        self._autosave = autosave
        self._autosave_seconds = autosave_seconds
        self._stroked = self._began_with = 0
        self._driver: Driver | None = None
        self._build_tried = 0
        self._failures = 0
        self._wanted = seam.order
        self._extra_done = 0
        self._frames = Frames(seam)
        self._snapshot: Snapshot | None = None
        self._step_seconds = 0.0
        self._stats_at = 0.0
        self._trust_due = 0.0
        self._relaxes_since = 0.0
        # The frame in progress: its K, steps to go and done, seconds spent computing them.
        self._K = 1
        self._to_go = 0
        self._done = 0
        self._computing = 0.0
        self._extra = False
        self._was_auto = False
        self._auto = AutoSteps(1 / 60)
        self._timeline: Timeline | None = None
        self._kept: Checkpoint | None = None
        self._awaits_movie = False
        self._traced = 0
        self._saved = 0
        self._autosaved_at = time.monotonic()
        self._autosaved_step = -1

    def run(self) -> None:
        """Follow orders until the end."""
        # A failure belongs to the order that was there when it happened.
        self._wanted = self._seam.order
        self._attempt(self._start_jax)
        while not self._seam.stopping:
            wanted = self._seam.order
            if not self._attempt(lambda: self._turn(wanted)):  # noqa: B023
                # While a movie is written its count of frames grows even when time stands still.
                waits = self._recordings.busy or self._awaits_movie
                self._seam.rest(wanted, STATS_SECONDS if waits else None)
        self._attempt(self._save_at_last)
        self._attempt(self._finish_all)

    def _attempt(self, action: Callable[[], bool | None]) -> bool:
        """Do `action`; a failure is reported, and the engine then waits until it was shown."""
        try:
            return bool(action())
        except Exception as error:
            if is_plain(error):
                log.info("refused: %s", error)
            else:
                log.exception("the engine failed")
            self._fail(error)
            return True

    def _turn(self, wanted: Wanted) -> bool:
        """Do one piece of what is wanted; False when there is nothing to do."""
        self._wanted = wanted
        if wanted.failures != self._failures:
            return False
        self._recordings.cancel(wanted.cancel)
        self._recordings.poll()
        if wanted.build is not None and wanted.build.serial != self._build_tried:
            self._recordings.end()
            self._build(wanted.build, wanted)
            return True
        if self._driver is None:
            return False
        self._set_live(self._driver, wanted)
        self._follow_tools(self._driver, wanted)
        if wanted.trace is not None and wanted.trace.serial != self._traced:
            self._trace(wanted.trace, self._driver)
            return True
        if wanted.save is not None and wanted.save.serial != self._saved:
            self._save(wanted.save, self._driver)
        self._follow_movie(wanted.movie)
        if self._frame_goes_on(wanted):
            self._slice(self._driver, wanted)
            return True
        if self._frames.look(self._driver, wanted):
            return True
        if self._snapshot is not None and self._frames.lacks(self._snapshot, wanted):
            self._show(running=False)
            return True
        known = self._seam.status.trust
        if known is not None and known.step != self._driver.step:
            self._tell_trust(self._driver)
        self._report("paused", at_once=self._seam.status.phase != "paused")
        return False

    def _start_jax(self) -> None:
        load_jaxlib()
        import jax

        device = jax.devices()[0]
        self._seam.tell(device="CPU" if device.platform == "cpu" else device.device_kind)

    def _build(self, order: Build, wanted: Wanted) -> None:
        self._build_tried = order.serial
        self._relaxes_since = time.monotonic()
        from engine.driver import Driver

        self._seam.tell(phase="placing", reason=order.reason)
        if self._driver is None and order.kept is not None:
            self._driver = Driver.resumed(
                order.kept, while_relaxing=self._while_relaxing, on_compile=self._on_compile
            )
        elif self._driver is None:
            self._driver = Driver(
                order.setup, order.params, seed=order.seed, start=order.start,
                while_relaxing=self._while_relaxing, on_compile=self._on_compile,
                obstacles=order.obstacles,
            )  # fmt: skip
        elif order.kept is not None:
            self._driver.resume(order.kept)
        else:
            self._driver.rebuild(
                setup=order.setup, params=order.params, seed=order.seed, start=order.start,
                obstacles=order.obstacles,
            )  # fmt: skip
        self._kept, self._began_with = order.kept, order.began_with or self._driver.setup.rods
        self._timeline = Timeline(Head.of(self._driver, order.title, wanted.K, wanted.fps))
        # A start that can be had again is not worth the autosave of the run before.
        self._autosaved_step = self._driver.step
        self._to_go = 0
        self._extra = False
        self._extra_done = wanted.extra_steps
        self._step_seconds = 0.0
        self._trust_due = time.monotonic() + FIRST_TRUST_SECONDS
        self._seam.tell(trust=None)
        self._auto.restart(wanted.K)
        self._snapshot = self._driver.snapshot()
        self._show(running=False)
        self._report("running" if wanted.running else "paused", at_once=True)

    def _on_compile(self, reason: str) -> None:
        """Say why the picture stands still: lists may be outgrown in the midst of a run."""
        self._seam.tell(phase="compiling", reason=reason, since=time.monotonic())

    def _while_relaxing(self) -> bool:
        """Say that rods are being pushed apart where that takes long; true at the end of all."""
        if time.monotonic() - self._relaxes_since > SAID_SECONDS:
            self._seam.tell(phase="relaxing")
        return self._seam.stopping

    def _set_live(self, driver: "Driver", wanted: Wanted) -> None:
        """Upload the parameters that changed, and show what they did to a paused picture."""
        if wanted.params == driver.params:
            return
        changed = {
            f.name: getattr(wanted.params, f.name)
            for f in fields(wanted.params)
            if getattr(wanted.params, f.name) != getattr(driver.params, f.name)
        }
        dt, self._relaxes_since = driver.params.dt, time.monotonic()
        driver.set(**changed)
        if "dt" in changed:
            self._recordings.scale(dt / driver.params.dt)
        self._note(driver.step, changed)
        if not wanted.running:
            self._snapshot = driver.snapshot()
            self._show(running=False)

    def _follow_tools(self, driver: "Driver", wanted: Wanted) -> None:
        """Do what tools were used for, each stroke once, and show it in a paused picture."""
        before = driver.snapshot(), self._stroked
        if wanted.obstacles != driver.obstacles:
            self._do(driver, edit_for(wanted.obstacles))
        todo = [stroke for stroke in wanted.strokes if stroke[0] > self._stroked]
        # Together: each edit uploads all rods, and a drag makes many strokes.
        for serial, strokes in alike(todo):
            # First, so that those which are refused are not tried again.
            self._stroked = serial
            edit = edit_of(strokes, driver.snapshot())
            if edit is not None:
                self._do(driver, edit)
        if driver.snapshot() is not before[0] or self._stroked != before[1]:
            self._snapshot = driver.snapshot()
            if not wanted.running:
                self._show(running=False)

    def _do(self, driver: "Driver", edit: Edit) -> None:
        apply(driver, edit)
        self._noting(lambda timeline: timeline.add_edit(driver.step, edit))

    def _frame_goes_on(self, wanted: Wanted) -> bool:
        """Whether there are steps to do now; a frame that is begun ends early when paused."""
        extra = wanted.extra_steps - self._extra_done
        self._extra_done = wanted.extra_steps
        if extra and not wanted.running:
            self._begin_frame(self._to_go + extra if self._extra else extra)
            self._extra = True
        elif wanted.running:
            self._extra = False
            if wanted.auto and not self._was_auto:
                self._auto.restart(wanted.K)
            if not self._to_go:
                self._begin_frame(self._auto.K if wanted.auto else wanted.K)
        elif self._to_go and not self._extra:
            self._to_go = 0
            self._show(running=False)
        self._was_auto = wanted.auto
        return self._to_go > 0

    def _begin_frame(self, K: int) -> None:
        self._K = self._to_go = K
        self._done = 0
        self._computing = 0.0

    def _slice(self, driver: "Driver", wanted: Wanted) -> None:
        """Do a part of the frame in progress, and show the frame when it is whole."""
        steps = max(1, int(SLICE_SECONDS / self._step_seconds)) if self._step_seconds else 1
        steps = min(steps, self._to_go)
        steps = min(steps, self._recordings.steps_to_frame or steps)
        self._seam.tell(phase="running")
        began = time.perf_counter()
        self._snapshot = driver.advance(steps)
        took = time.perf_counter() - began
        self._step_seconds = (self._step_seconds + took / steps) / 2
        self._to_go -= steps
        self._done += steps
        self._computing += took
        if self._recordings.steps_to_frame is not None and self._recordings.steps_to_frame <= steps:
            self._measure(driver, wanted)
        self._recordings.took(self._snapshot, steps, wanted.view)
        self._auto.budget = 1 / wanted.fps
        long = self._auto.cut(self._computing)
        if wanted.running and wanted.auto and long:
            self._to_go = 0
        if not self._to_go:
            shown = not wanted.running or self._frames.is_due(wanted)
            if shown:
                self._measure(driver, wanted)
            if wanted.running and wanted.auto:
                self._auto.after_frame(self._done, self._computing)
            if shown:
                self._show(running=wanted.running)
        elif self._extra and long:
            self._computing = 0.0
            self._show(running=False)
        if time.monotonic() >= self._trust_due:
            self._tell_trust(driver)
        self._report("running", at_once=False)

    def _tell_trust(self, driver: "Driver") -> None:
        """Measure the deepest overlap and the crossed pairs; where that fails, not again."""
        began, found = time.monotonic(), None
        try:
            found = driver.trust()
        except ParameterError as problem:
            log.warning("%s", problem)
            self._trust_due = math.inf
        else:
            now = time.monotonic()
            self._trust_due = now + max(TRUST_SECONDS, (now - began) / TRUST_SHARE)
        self._seam.tell(trust=found)

    def _measure(self, driver: "Driver", wanted: Wanted) -> None:
        """Add what is wanted of each rod to the state; its time belongs to the frame."""
        assert self._snapshot is not None
        began = time.perf_counter()
        self._snapshot = self._frames.measured(driver, self._snapshot, wanted)
        self._computing += time.perf_counter() - began

    def _show(self, *, running: bool) -> None:
        if self._snapshot is None:
            return
        if self._driver is not None:
            self._measure(self._driver, self._wanted)
        self._offer(running=running)

    def _offer(self, *, running: bool) -> None:
        assert self._snapshot is not None
        self._frames.show(
            self._snapshot, self._wanted, self._K, self._build_tried, self._stroked, running=running
        )

    def _report(self, phase: str, *, at_once: bool) -> None:
        """Replace the status: at once, or when the last one is old enough."""
        now = time.monotonic()
        if self._driver is None or not (at_once or now - self._stats_at >= STATS_SECONDS):
            return
        self._stats_at = now
        self._seam.tell(
            phase=phase, stats=self._driver.stats, warnings=self._driver.warnings,
            build=self._build_tried, **self._recordings.status(),
        )  # fmt: skip
        self._autosave_when_due(self._driver)

    # Recordings, checkpoints and traces

    def _follow_movie(self, wanted: Movie | None) -> None:
        """Begin, end or wait for what is to be recorded."""
        assert self._timeline is not None
        assert self._driver is not None
        assert self._snapshot is not None
        if self._recordings.begins(wanted):
            self._measure(self._driver, self._wanted)
        wait = self._recordings.follow(wanted, self._timeline, self._kept, self._snapshot)
        self._awaits_movie = wait is not None

    def _tell_recordings(self) -> None:
        self._seam.tell(**self._recordings.status())

    def _note(self, step: int, changed: dict[str, Any]) -> None:
        """Write down what was set; where that fails, what is recorded cannot be replayed."""
        self._noting(lambda timeline: timeline.add(step, changed))

    def _noting(self, note: "Callable[[Timeline], None]") -> None:
        assert self._timeline is not None
        try:
            note(self._timeline)
        except TimelineError as error:
            self._recordings.end()
            raise MovieError(str(error)) from error

    def _save_at_last(self) -> None:
        """Write the checkpoint that was asked for just before the end."""
        wanted, driver = self._seam.order, self._driver
        if driver is None or wanted.save is None or wanted.save.serial == self._saved:
            return
        if wanted.build is None or wanted.build.serial != self._build_tried:
            return  # it was of a run that was never begun
        self._set_live(driver, wanted)
        self._follow_tools(driver, wanted)
        self._save(wanted.save, driver)

    def _finish_all(self) -> None:
        if self._recordings.busy:
            self._seam.tell(phase="finishing", reason="movie")
        self._recordings.wait()

    def _save(self, order: Save, driver: "Driver") -> None:
        self._saved = order.serial
        checkpoints.save(
            order.path, driver.checkpoint(), __version__, self._noted(order.notes), overwrite=True
        )
        self._seam.tell(kept=order.path)

    def _noted(self, notes: Mapping[str, Any]) -> dict[str, Any]:
        """`notes` and what was changed in the run until now."""
        assert self._timeline is not None
        return {**notes, "timeline": self._timeline.told()}

    def _autosave_when_due(self, driver: "Driver") -> None:
        """Keep the run now and then, so that little is lost whatever ends the program."""
        due = time.monotonic() - self._autosaved_at >= self._autosave_seconds
        if self._autosave is None or not due or driver.step == self._autosaved_step:
            return
        self._autosaved_at, self._autosaved_step = time.monotonic(), driver.step
        problem, wanted = "", self._wanted
        title = wanted.build.title if wanted.build is not None else ""
        notes = self._noted({"title": title, "K": wanted.K, "fps": wanted.fps})
        try:
            self._autosave.parent.mkdir(parents=True, exist_ok=True)
            checkpoints.save(
                self._autosave, driver.checkpoint(), __version__, notes, overwrite=True
            )
        except (StorageError, OSError) as error:
            problem = str(error)
            log.warning("autosave: %s", problem)
        self._seam.tell(autosave_problem=problem)

    def _trace(self, order: Trace, driver: "Driver") -> None:
        self._traced = order.serial
        self._seam.tell(phase="tracing", reason=str(order.folder))
        from engine.study.trace import TraceError, trace

        try:
            files = trace(driver, order.folder)
        except OSError as error:
            raise TraceError(
                f"The trace cannot be written to {order.folder}: {error.strerror}. Choose another "
                "folder for movies."
            ) from error
        self._snapshot = driver.snapshot()
        self._seam.tell(traced=files.text)
        self._show(running=False)

    def _fail(self, error: Exception) -> None:
        """Report a failure, show the last good state and stand still until it was seen."""
        self._failures += 1
        self._to_go = 0
        self._extra = False
        self._extra_done = self._seam.order.extra_steps
        movie = isinstance(error, MovieError)
        driver = self._driver
        self._seam.tell(phase="paused", reason="")
        self._seam.report(
            Problem(
                plain_message(error),
                error.name if isinstance(error, ParameterError) else None,
                self._failures,
                movie,
                # A reset begins with the rods of the start, whatever was added and removed.
                setup=None if driver is None else replace(driver.setup, rods=self._began_with),
                params=None if driver is None else driver.params,
                seed=None if driver is None else driver.seed,
                order=self._wanted,
                obstacles=() if driver is None else driver.obstacles,
                details="".join(traceback.format_exception(error)),
            )
        )
        if driver is not None:
            self._snapshot = getattr(error, "snapshot", None) or driver.snapshot()
            # What it lacks is measured once the failure has been seen.
            self._offer(running=False)


def is_plain(error: Exception) -> bool:
    """Whether it is one of ours, whose words are already meant for the user."""
    return type(error).__module__.split(".")[0] in ("engine", "bacsim_gui")


def plain_message(error: Exception) -> str:
    """One plain sentence about `error`, with a remedy."""
    if is_plain(error):
        return str(error)
    first = str(error).strip().split("\n")[0] or "no details"
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in first:
        return "There is not enough memory for this many rods with this kernel. Take fewer rods."
    return (
        f"The engine met an unexpected error ({type(error).__name__}: {first}). The last good "
        "state is kept: press Run to go on, or Reset to begin again; the log file has the details."
    )
