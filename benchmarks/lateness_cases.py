# SPDX-License-Identifier: GPL-3.0-or-later
"""What `benchmarks.lateness` has the real window do."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from PyQt6.QtWidgets import QApplication

from bacsim_gui import theme
from bacsim_gui.panels.plots import DISTRIBUTIONS, TIME
from bacsim_gui.presets import load_preset
from benchmarks.hands import Hands
from benchmarks.watch import Seen, TimedWindow, Watch

PRESET = "swarming"
PARTS = 10


@dataclass(frozen=True)
class Plan:
    """How large the cases are, and how many seconds each is watched.

    `sizes` are numbers of rods to run. `applied` are numbers that are typed one after the other,
    each of another capacity: by name of the case, whose code, and which.
    """

    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    plotted: int = 10_000
    recorded: int = 2_000
    applied: tuple[tuple[str, str, tuple[int, ...]], ...] = (
        ("rods applied (compile)", "auto", (1_250, 1_500, 1_750, 2_000, 10_000)),
        ("100,000 rods applied (compile)", "auto", (100_000,)),
        ("rods applied, JAX's code (compile)", "off", (1_250, 1_500)),
    )
    seconds: float = 8.0


SMALL = Plan(
    sizes=(64,), plotted=64, recorded=64, seconds=0.25,
    applied=(("rods applied (compile)", "auto", (80,)),),
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of a long run; bytes of memory at its end, and of them those of earlier states."""

    seen: Seen
    memory: int
    past: int

    def figures(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


class Bench:
    """Takes a window through the cases. `seen` has, for each, what was seen of it and at rest."""

    def __init__(self, window: TimedWindow, watch: Watch, hands: Hands, plan: Plan) -> None:
        self._window, self._watch, self._hands, self._plan = window, watch, hands, plan
        self._session, self._engine = window.session, window.engine
        self.seen: dict[str, tuple[list[Seen], list[Seen]]] = {}

    def take_rounds(self, cases: Sequence[str], rounds: int) -> None:
        """Take the window through the cases so often; it starts only once."""
        for number in range(rounds):
            for case in cases:
                if case != "start" or number == 0:
                    getattr(self, case)()

    def figures(self) -> dict[str, Any]:
        """All that was seen as plain values."""
        return {
            name: {"seen": [asdict(one) for one in seen], "idle": [asdict(one) for one in idle]}
            for name, (seen, idle) in self.seen.items()
        }

    def long_run(self, minutes: float) -> list[Part]:
        """Run for so long, with the live plots in sight; before the first part and last, a rest."""
        self._load(self._plan.plotted)
        self._window.arrangement.show_panel(self._window.plots)
        found = [self._part(self._rest())]
        self._run()
        found += [self._part(self._watch.look(60 * minutes / PARTS)) for _ in range(PARTS)]
        return [*found, self._part(self._rest())]

    def _part(self, seen: Seen) -> Part:
        past = self._window.scrubber.past.bytes
        return Part(seen, psutil.Process().memory_info().rss, past)

    def start(self) -> None:
        """The first seconds: JAX is loaded, the first program compiled."""
        first = self._watch.until(lambda: self._steps() > 0)
        self.seen["starting: JAX loaded, compiled"] = [first], [self._rest()]

    def running(self) -> None:
        """Nothing but a run, of each size."""
        for rods in self._plan.sizes:
            self._load(rods)
            self._case(f"running, {rods:,} rods", self._run)

    def plots(self) -> None:
        """A run with the live plots in sight."""
        window = self._window
        self._load(self._plan.plotted)
        window.arrangement.show_panel(window.plots)
        for page, name in ((TIME, "over time"), (DISTRIBUTIONS, "distributions")):
            self._hands.click((window.plots.over_time, window.plots.spread)[page])
            self._watch.look(self._plan.seconds / 2)  # loads, and compiles what measures rods
            self._case(f"running, {self._plan.plotted:,} rods, plots: {name}", self._run)
        window.arrangement.show_panel(window.statistics)

    def drag(self) -> None:
        """A slider is dragged to and fro by the mouse."""
        for rods in self._plan.sizes:
            self._load(rods)

            def dragged() -> Seen:
                self._session.set_running(True)
                with self._hands.dragging(self._window.parameters.rows["activity_thresh"].slider):
                    return self._watch.look(self._plan.seconds)

            self._case(f"dragging a slider, {rods:,} rods", dragged)

    def rods(self) -> None:
        """The number of rods is typed and applied; each is of another capacity, and compiled."""
        for name, native, numbers in self._plan.applied:
            self._load(self._plan.sizes[0], native)
            for rods in numbers:
                self._case(name, lambda rods=rods: self._apply(rods))

    def record(self) -> None:
        """A run is recorded; of the first recording a GIF is made afterwards, while it goes on."""
        self._load(self._plan.recorded)
        self._set_movie(".gif", 640, 360)
        self._case("recording 640 × 360", self._record)
        self._case("making a GIF of it", self._finish, rests=False)
        self._set_movie(".mp4", 1280, 720)
        self._case("recording 1280 × 720, share", self._record)
        self._finish()

    # What the cases share

    def _case(self, name: str, work: Callable[[], Seen], *, rests: bool = True) -> None:
        seen, idle = self.seen.setdefault(name, ([], []))
        if rests:
            idle.append(self._rest())
        seen.append(work())
        if self._session.problem is not None:
            raise RuntimeError(self._session.problem.message)
        print(f"  {name}", file=sys.stderr)

    def _rest(self) -> Seen:
        """The idle control: the same window with nothing to do."""
        self._session.set_running(False)
        self._watch.until(lambda: self._engine.status.phase == "paused")
        self._watch.look(0.1)  # the last frame may still be on its way
        return self._watch.look(self._plan.seconds / 2)

    def _run(self) -> Seen:
        """What comes after the first steps, for which a list may grow."""
        self._session.set_running(True)
        first = self._steps()
        self._watch.until(lambda: self._steps() > first)
        return self._watch.look(self._plan.seconds)

    def _load(self, rods: int, native: str = "auto") -> None:
        self._session.load_run(load_preset(PRESET, rods=rods).with_values(native=native))
        self._watch.until(self._built)
        self._run()

    def _apply(self, rods: int) -> Seen:
        self._session.set_running(True)
        self._hands.type_into(self._window.parameters.rows["rods"].number, str(rods))
        self._watch.until(self._window.parameters.apply.isVisible)
        self._hands.click(self._window.parameters.apply)
        return self._watch.until(lambda: self._built() and self._steps() > 0)

    def _set_movie(self, kind: str, width: int, height: int) -> None:
        for name, value in (("kind", kind), ("width", str(width)), ("height", str(height))):
            self._session.set_movie(name, value)

    def _record(self) -> Seen:
        self._session.set_running(True)
        self._session.start_movie(self._window.canvas.view, self._window.showing.K)
        self._watch.until(lambda: self._engine.status.movie_frames > 0)
        return self._watch.look(self._plan.seconds)

    def _finish(self) -> Seen:
        saved = self._engine.status.saved
        self._session.stop_movie()
        return self._watch.until(lambda: self._engine.status.saved != saved)

    def _built(self) -> bool:
        frame, build = self._window.frame, self._session.wanted.build
        return frame is not None and build is not None and frame.build == build.serial

    def _steps(self) -> int:
        return 0 if self._window.frame is None else self._window.frame.snapshot.step


@contextmanager
def a_bench(plan: Plan, folder: Path) -> Iterator[Bench]:
    """A window that has just been opened, closed at the end; what it writes goes to `folder`."""
    application = QApplication.instance() or QApplication(["lateness"])
    assert isinstance(application, QApplication)
    theme.apply(application)
    run = load_preset(PRESET, rods=plan.sizes[0])
    window = TimedWindow(
        run, PRESET, movie_folder=folder, autosave=folder / "autosave.bacsim"
    )  # fmt: skip
    painted: list[bool] = []
    window.canvas.frame_painted.append(lambda: painted.append(True))
    window.show()
    watch = Watch(window)
    # How long it takes to be there is another matter: see `benchmarks.first_window`.
    watch.until(lambda: bool(painted))
    window.canvas.frame_painted.pop()
    try:
        yield Bench(window, watch, Hands(window), plan)
    finally:
        window.close()
        watch.until(lambda: not window.isVisible())
