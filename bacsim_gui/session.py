# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user wants: the only mutable state of the window.

Panels call its methods, everything that shows a value listens to its one signal `changed`, and
`Session.wanted` is the frozen copy that goes to the engine.
"""

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from bacsim_gui.colors import view_colors
from bacsim_gui.edits import Stroke
from bacsim_gui.movie_files import free_paths
from bacsim_gui.movie_settings import MovieSettings
from bacsim_gui.order import Order
from bacsim_gui.presets import Run
from bacsim_gui.quantities import AUTO
from bacsim_gui.seam import DEFAULT_FPS, Build, Movie, Problem, Save, Trace, Wanted
from bacsim_gui.view import View, ViewError, checked
from engine import schema
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import Params
from engine.schema import ParameterError
from engine.snapshot import Checkpoint, Snapshot, Start

# What is put aside while the user looks back, for when that ends.
_ASIDE = (
    "run", "preset", "setup", "pending", "params", "obstacles", "seed", "running", "_start",
    "_fits",
)  # fmt: skip


# How long a refusal stays beside a field that shows its old value again.
REFUSED_SECONDS = 15.0


class Session(QObject):
    """The state of the window. Attributes are read by all and changed by the methods only.

    `pending` is the `Setup` as edited; `setup` the one that is built. `refused` maps a parameter's
    name to the plain reason why its last value was not taken. `looking` is the earlier state that
    the user looks at, None for the present: until that ends, all that is shown and edited is of a
    branch that might go on from it, and the present run keeps what it has. `edits` counts what the
    user has edited.
    """

    changed = pyqtSignal()

    def __init__(self, run: Run, movie_folder: Path, preset: str = "") -> None:
        super().__init__()
        self.view = View()
        self._looks: dict[str, tuple[str, tuple[float, float] | None]] = {}
        self.drawing = True
        self.draw_every = 1
        self.fps = DEFAULT_FPS
        self.auto = False
        self.running = False
        self.refused: dict[str, str] = {}
        self._refused_at = 0.0
        self.problem: Problem | None = None
        self.movie: Movie | None = None
        self.movie_settings = MovieSettings(movie_folder)
        self.movie_view = self.view
        self.looking: Snapshot | None = None
        self.plotted: tuple[str, ...] = ()
        self._thinned = False
        self._aside: dict[str, Any] = {}
        self._trace: Trace | None = None
        self._save: Save | None = None
        self._cancel = 0
        self._extra_steps = 0
        self.edits = 0
        self._strokes: tuple[tuple[int, Stroke], ...] = ()
        self._stroke_serial = 0
        self._failures = 0
        self._serial = 0
        self._build: Build | None = None
        self._built_failed = False
        self.adopt(run, preset)

    def adopt(self, run: Run, preset: str) -> None:
        """Take over what a preset or a file holds, without telling anybody yet."""
        self.run = run
        self.preset = preset
        self.setup = self.pending = run.setup
        self.params = run.params
        self.K = run.K
        self.fps = run.fps
        self.seed = run.seed
        self.obstacles = run.obstacles
        self._start = run.start
        # The parameters that the arrays to start from were made with.
        self._fits = run.params
        self.refused = {}

    # Parameters

    def edit(self, name: str, value: object) -> None:
        """Take a value that the user typed or dragged; an impossible one is refused."""
        try:
            if schema.field(name).live:
                params = schema.with_values(self.params, **{name: value})
                schema.check(self.setup, params)
                self._scale_obstacles(params.space_size)
                self.params = params
            else:
                self.pending = schema.with_values(self.pending, **{name: value})
            self.refused.clear()
            self.edits += 1
        except ParameterError as error:
            self.refused[name] = str(error)
            self._refused_at = time.monotonic()
        self.changed.emit()

    def _scale_obstacles(self, space_size: float) -> None:
        """Take obstacles along into a box of another size, as the engine does."""
        if space_size != self.params.space_size:
            factor = space_size / self.params.space_size
            self.obstacles = checked_obstacles(
                (one.scaled(factor) for one in self.obstacles), space_size
            )

    def set_obstacles(self, obstacles: Iterable[Obstacle]) -> None:
        """Replace all obstacles; what is none, or too many, is refused."""
        try:
            self.obstacles = checked_obstacles(obstacles, self.params.space_size)
        except ParameterError as error:
            self.show_problem(str(error))
            return
        self.edits += 1
        self.changed.emit()

    def stroke(self, stroke: Stroke) -> None:
        """Have the engine do what was done with a tool."""
        self._stroke_serial += 1
        self._strokes = (*self._strokes, (self._stroke_serial, stroke))
        self.changed.emit()

    def strokes_done(self, serial: int) -> None:
        """Forget the strokes up to that serial."""
        self._strokes = tuple(kept for kept in self._strokes if kept[0] > serial)

    def forget_refusals(self) -> None:
        """Refusals that have been in sight for long are of no use any more."""
        if self.refused and time.monotonic() - self._refused_at > REFUSED_SECONDS:
            self.refused.clear()
            self.changed.emit()

    def value(self, name: str) -> schema.Value:
        """The value of a parameter as the user sees it: edited, applied or not."""
        return getattr(self.params if schema.field(name).live else self.pending, name)

    def default(self, name: str) -> schema.Value:
        """The value of a parameter in the preset or file that was loaded."""
        return getattr(self.run.params if schema.field(name).live else self.run.setup, name)

    def restore(self, name: str) -> None:
        """Put one parameter back to its value in the preset or file that was loaded."""
        self.edit(name, self.default(name))

    def use_largest_safe_dt(self) -> None:
        """Set dt to the largest one with which contacts are stable."""
        self.edit("dt", schema.largest_safe_dt(self.params))

    @property
    def unapplied(self) -> tuple[str, ...]:
        """The parameters that were edited but not yet applied by a rebuild."""
        return tuple(f.name for f in schema.SETUP_FIELDS if self.is_pending(f.name))

    def is_pending(self, name: str) -> bool:
        """Whether a parameter was edited but not yet applied by a rebuild."""
        return not schema.field(name).live and self.value(name) != getattr(self.setup, name)

    @property
    def needs_apply(self) -> bool:
        """Whether a rebuild would change something."""
        return self.pending != self.setup or self._built_failed

    @property
    def warnings(self) -> tuple[str, ...]:
        """Plain sentences about values that run but should not be trusted."""
        return schema.warnings_for(self.setup, self.params)

    # Builds

    def apply_setup(self) -> None:
        """Rebuild with the edited `Setup`. Another number of rods keeps φ: the box follows."""
        self._forget_aside()
        run = self.current_run().with_values(**asdict(self.pending))
        self._scale_obstacles(run.params.space_size)
        self.setup, self.params, self._start = run.setup, run.params, run.start
        self._order_build("setup applied")

    def reset(self) -> None:
        """Begin again from the same start and seed, with the present parameters."""
        self._leave_the_past()
        self._order_build("reset")

    def new_seed(self) -> None:
        """Begin again from a new random start."""
        self.set_seed(str(secrets.randbelow(2**31)))

    def set_seed(self, text: str) -> None:
        """Begin again from the random start of the seed that was typed."""
        seed = self._whole("seed", text, 0)
        if seed is None:
            self.changed.emit()
            return
        self._leave_the_past()
        self.seed = seed
        self._start = None
        self._order_build("new seed")

    def begin(self) -> None:
        """Order the first build: what the session was made with."""
        self._order_build("first start")

    def load_run(self, run: Run, preset: str = "", base: Run | None = None) -> None:
        """Begin again with all that a preset (its name given) or a file holds.

        Where `run` is the preset with other values, `base` is what they are restored to.
        """
        self._leave_the_past()
        self.adopt(run, preset)
        self.run = base or run
        self._order_build("preset" if preset else "file")

    def resume(self, kept: Checkpoint, notes: Mapping[str, Any]) -> None:
        """Stand, paused, where a checkpoint was taken, to go on with the same bits.

        `notes` are those of `save_checkpoint`; title, K, frames a second and view come from them.
        """
        self._leave_the_past()
        setup, params, start = kept.began
        title = str(notes.get("title", "own run"))
        K, fps = int(notes.get("K", self.K)), float(notes.get("fps", self.fps))
        self.adopt(Run(title, "", setup, params, K, fps, kept.seed, start), "")
        self.setup = self.pending = kept.setup
        self.params = kept.params
        self.obstacles = kept.obstacles
        self.auto = self.running = False
        if "view" in notes:
            self.view = View.from_dict(notes["view"])
        self._order_build("checkpoint", kept)

    # Earlier states

    def look_back(
        self, snapshot: Snapshot, run: Run | None = None, *, thinned: bool = False
    ) -> None:
        """Pause, and show an earlier state and its parameters in place of the present.

        `run` is the one that it is a state of, where that is not this one. A `thinned` state lacks
        rods, so nothing can be measured of it. Not while recording.
        """
        if self.movie is not None:
            return
        if self.looking is None:
            self._aside = {name: getattr(self, name) for name in _ASIDE}
        if run is not None:
            self.run, self.preset, self.seed = run, "", run.seed
            self.setup = self.pending = run.setup
        self.looking, self.running, self.params = snapshot, False, snapshot.params
        self.obstacles = snapshot.obstacles
        self._thinned = thinned
        self.refused = {}
        self.changed.emit()

    def look_at_now(self) -> None:
        """Show the present again, which goes on if it ran."""
        self._leave_the_past()
        self.changed.emit()

    def go_on_from_here(self) -> None:
        """Make a branch of what is looked at, with the parameters as they are edited by now."""
        if self.looking is None:
            return
        snapshot, ran = self.looking, self._aside["running"]
        self._forget_aside()
        self._start, self._fits = Start.of(snapshot), snapshot.params
        # There may have been more rods, or fewer.
        self.setup = replace(self.setup, rods=snapshot.n)
        self.running = ran
        # The rods fit the parameters that they had; what was edited is set thereafter.
        self._order_build("earlier state", began=snapshot.params)

    def _leave_the_past(self) -> None:
        """Let the present be what is shown, edited and run."""
        for name, value in self._aside.items():
            setattr(self, name, value)
        self._forget_aside()

    def _forget_aside(self) -> None:
        self.looking, self._aside = None, {}

    def _order_build(
        self, reason: str, kept: Checkpoint | None = None, began: Params | None = None
    ) -> None:
        self._serial += 1
        self._strokes = ()
        self._built_failed = False
        placed = ("space_size", "length", "radius")
        if any(getattr(began or self.params, n) != getattr(self._fits, n) for n in placed):
            # Arrays made for another box or other rods would overlap.
            self._start = None
        self.problem = None
        # Its metadata would no longer be true of what follows.
        self.movie = None
        self._build = Build(
            self._serial, self.setup, began or self.params, self.seed, self._start, reason,
            self.run.title, kept, branch=began is not None, obstacles=self.obstacles,
        )  # fmt: skip
        self.changed.emit()

    def current_run(self) -> Run:
        """What is set now, in the form of a preset, so that it can be saved and found again."""
        return replace(
            self.run, setup=self.setup, params=self.params, K=self.K, seed=self.seed,
            start=self._start, obstacles=self.obstacles,
        )  # fmt: skip

    # Transport

    def set_running(self, running: bool) -> None:
        """Let time run, or pause."""
        self._leave_the_past()
        if running:
            self.problem = None
        self.running = running
        self.changed.emit()

    def toggle_running(self) -> None:
        """Run if paused, pause if running."""
        self.set_running(not self.running)

    def step(self, steps: int) -> None:
        """Advance by so many steps and stay paused."""
        self._leave_the_past()
        self.running = False
        self.problem = None
        self._extra_steps += steps
        self.changed.emit()

    def set_speed(self, text: str) -> None:
        """Set the steps of a frame by hand, as typed."""
        K = self._whole("K", text, 1)
        if K is not None:
            self.K = K
            self.auto = False
        self.changed.emit()

    def set_auto(self, auto: bool, K: int) -> None:
        """Let K follow the frame budget, or keep it by hand; either begins at `K`."""
        self.auto = auto
        self.K = max(1, K)
        self.changed.emit()

    def _whole(self, name: str, text: object, least: int) -> int | None:
        """A whole number that is no parameter of the model, or None when it is refused."""
        self.refused.pop(name, None)
        try:
            number = int(str(text))
        except ValueError:
            number = least - 1
        if least <= number < 2**31:
            return number
        self.refused[name] = (
            f"{name} = {text} is not possible. Give a whole number of at least {least}."
        )
        return None

    # View, movie, trace

    def set_view(self, **values: Any) -> None:
        """Change what the picture looks like; see `bacsim_gui.view.View`.

        Map and range belong to what colours tell, and come back with it.
        """
        old = self.view
        if values.get("color_by", old.color_by) != old.color_by:
            self._looks[old.color_by] = old.colormap, old.color_range
            look = self._looks.get(values["color_by"], (AUTO, None))
            values = dict(zip(("colormap", "color_range"), look, strict=True)) | values
        try:
            view = checked(replace(old, **values))
            view_colors(view)
            self.view = view
        except ViewError as error:
            self.show_problem(str(error))
            return
        self.changed.emit()

    def set_drawing(self, drawing: bool) -> None:
        """Let the picture follow the simulation, or stand still while that goes on."""
        self.drawing = drawing
        self.changed.emit()

    def set_draw_every(self, text: str) -> None:
        """Draw one frame in so many, as typed."""
        self.draw_every = self._whole("draw every", text, 1) or self.draw_every
        self.changed.emit()

    def set_movie(self, name: str, value: object) -> None:
        """Change where the next recording goes or what it is like; see `MovieSettings`."""
        try:
            self.movie_settings = self.movie_settings.with_value(name, value)
            self.refused.pop(name, None)
        except ParameterError as error:
            self.refused[name] = str(error)
        self.changed.emit()

    def movie_steps(self, K: int) -> int:
        """Steps between two frames: the window's pace of `K`, unless a time is chosen."""
        settings = self.movie_settings
        if settings.time_a_frame is not None:
            return max(1, round(settings.time_a_frame / self.params.dt))
        if settings.is_trajectory:
            return K  # it has no pace of its own: each frame of the window is one of it
        run = replace(self.current_run(), K=K, fps=self.fps)
        return run.movie_steps(settings.fps)

    def start_movie(self, view: View, K: int, step: int = 0) -> None:
        """Begin to record, in pictures what `view` shows, at the pace of `K` steps a frame.

        Refused where the run, now at `step`, has passed the step at which it is to end.
        """
        self._leave_the_past()
        settings, steps = self.movie_settings, self.movie_steps(K)
        if settings.until is not None and settings.until <= step:
            self.refused["until"] = (
                f"end at step = {settings.until:,} is past: the run is at step {step:,}. Give a "
                "later one, or none."
            )
            self.changed.emit()
            return
        self._serial += 1
        name = settings.file_name(self.run.title, datetime.now())
        order = Order(
            next(free_paths(settings.folder / name)), (settings.width, settings.height),
            settings.fps, settings.quality, steps, view, settings.keep,
        )  # fmt: skip
        self.movie_view = view
        begin_at = time.monotonic() + settings.delay if settings.delay else 0.0
        self.movie = Movie(self._serial, order, settings.until, begin_at)
        self.changed.emit()

    def follow_view(self, view: View) -> None:
        """Let what is recorded follow the picture in the window."""
        if self.movie is not None and view != self.movie_view:
            self.movie_view = view
            self.changed.emit()

    def stop_movie(self) -> None:
        """Finish the recording."""
        self.movie = None
        self.changed.emit()

    def movie_ended(self, serial: int) -> None:
        """Take note that recordings up to that serial are over."""
        if self.movie is not None and self.movie.serial <= serial:
            self.stop_movie()

    def cancel_movie(self) -> None:
        """Give up making the wanted file of what is being finished; the recording stays."""
        self._cancel = self._serial
        self.changed.emit()

    def save_checkpoint(self, path: Path, view: View) -> None:
        """Have the run written to `path`, so that it can go on with the same bits.

        What is there already is replaced. `view` is how it is looked at.
        """
        self._serial += 1
        title = self._aside.get("run", self.run).title
        notes = {"title": title, "K": self.K, "fps": self.fps, "view": view.to_dict()}
        self._save = Save(self._serial, path, notes)
        self.changed.emit()

    def trace(self, folder: Path) -> None:
        """Have a profiler trace of some frames written into `folder`; not while recording.

        Its steps would be missing in the movie, whose frames are equally far apart in time.
        """
        if self.movie is not None:
            self.show_problem("Finish the movie first: it would lack the steps of the trace.")
            return
        self._serial += 1
        self._trace = Trace(self._serial, folder)
        self.changed.emit()

    # The engine

    def engine_failed(self, problem: Problem) -> None:
        """Pause, show the problem, and take over what the engine really has.

        What was ordered after the engine had failed is not taken back; a failure of what a newer
        build has replaced by then concerns nobody, but for a movie that was lost.
        """
        self._failures = problem.failures
        order = problem.order or self.wanted
        replaced = order.build is not self._build
        if replaced and not problem.movie:
            self.changed.emit()
            return
        self._leave_the_past()
        # A file that could not be finished, or was cancelled, does not concern the run.
        if not (problem.movie and order.movie is None):
            self.running = False
        self.problem = problem
        if problem.movie and order.movie in (None, self.movie):
            self.movie = None
        if not replaced:
            self._take_over(problem, order)
        if problem.parameter is not None:
            self.refused[problem.parameter] = problem.message
            self._refused_at = time.monotonic()
        self.changed.emit()

    def _take_over(self, problem: Problem, order: Wanted) -> None:
        """Adopt what the engine has, but for live parameters that were edited since `order`."""
        if problem.setup is None:
            self._built_failed = True
        elif problem.params is not None and problem.seed is not None:
            edited = {
                f.name: getattr(self.params, f.name)
                for f in schema.PARAM_FIELDS
                if getattr(self.params, f.name) != getattr(order.params, f.name)
            }
            self.setup, self.seed, self.obstacles = problem.setup, problem.seed, problem.obstacles
            self.params = replace(problem.params, **edited)

    def show_problem(self, message: str, details: str = "") -> None:
        """Show something that went wrong outside the engine, which runs on."""
        self.problem = Problem(
            message, None, self._failures, False, None, None, None, details=details
        )
        self.changed.emit()

    def dismiss_problem(self) -> None:
        """Hide the problem that is shown."""
        self.problem = None
        self.changed.emit()

    def set_plotted(self, names: tuple[str, ...]) -> None:
        """Want these measures of each rod besides those that are seen. No panel shows them."""
        self.plotted = names

    @property
    def wanted(self) -> Wanted:
        """The frozen order for the engine."""
        measures = tuple(dict.fromkeys((*self.view.measures, *self.plotted)))
        return Wanted(
            build=self._build, params=self._aside.get("params", self.params),
            obstacles=self._aside.get("obstacles", self.obstacles), strokes=self._strokes,
            running=self.running, K=self.K, auto=self.auto, fps=self.fps,
            extra_steps=self._extra_steps, movie=self.movie, trace=self._trace, save=self._save,
            view=self.movie_view, cancel=self._cancel, failures=self._failures,
            measures=measures, looking=self.looking if measures and not self._thinned else None,
            drawing=self.drawing, draw_every=self.draw_every,
        )  # fmt: skip
