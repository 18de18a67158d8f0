# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user wants: the only mutable state of the window.

Panels call its methods, everything that shows a value listens to its one signal `changed`, and
`Session.wanted` is the frozen copy that goes to the engine. It is written in three layers: values,
runs, and here time, picture, files and what comes back from the engine.
"""

import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bacsim_gui.colors import view_colors
from bacsim_gui.movie_files import free_paths
from bacsim_gui.movie_settings import MovieSettings
from bacsim_gui.order import Order
from bacsim_gui.presets import Run
from bacsim_gui.quantities import AUTO
from bacsim_gui.seam import Movie, Problem, Save, Trace, Wanted
from bacsim_gui.session_builds import SessionBuilds
from bacsim_gui.view import View, ViewError, checked
from engine import schema
from engine.schema import ParameterError


class Session(SessionBuilds):
    """The state of the window. Attributes are read by all and changed by the methods only."""

    def __init__(self, run: Run, movie_folder: Path, preset: str = "") -> None:
        super().__init__(run, preset)
        self._looks: dict[str, tuple[str, tuple[float, float] | None]] = {}
        self.drawing = True
        self.draw_every = 1
        self.movie_settings = MovieSettings(movie_folder)
        self.movie_view = self.view
        self.plotted: tuple[str, ...] = ()
        self._trace: Trace | None = None
        self._save: Save | None = None
        self._cancel = 0
        self._extra_steps = 0

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
        """Adopt what the engine has, but for what acts at once and was edited since `order`."""
        if problem.setup is None:
            self._built_failed = True
        elif problem.params is not None and problem.seed is not None:
            edited = {
                f.name: getattr(self.params, f.name)
                for f in schema.PARAM_FIELDS
                if getattr(self.params, f.name) != getattr(order.params, f.name)
            }
            self.setup, self.seed = problem.setup, problem.seed
            if self.obstacles == order.obstacles:
                self.obstacles = problem.obstacles
            self.params = replace(problem.params, **edited)

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
            measures=measures, looking=self.looking if measures and not self.thinned else None,
            drawing=self.drawing, draw_every=self.draw_every,
        )  # fmt: skip
