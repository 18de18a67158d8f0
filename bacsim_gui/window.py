# SPDX-License-Identifier: GPL-3.0-or-later
"""The window: builds the parts and connects them, in the order of the data."""

import atexit
import logging
import time
import traceback
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from weakref import WeakSet

import platformdirs
from PyQt6 import sip
from PyQt6.QtCore import QSize, QTimer, QUrl
from PyQt6.QtGui import QCloseEvent, QDesktopServices, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from bacsim_gui import presets, theme
from bacsim_gui.arrangement import Arrangement
from bacsim_gui.background import Background
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.canvas_keys import CanvasKeys
from bacsim_gui.desk import Desk
from bacsim_gui.documents import Opened
from bacsim_gui.drops import Drops
from bacsim_gui.engine_thread import EngineThread
from bacsim_gui.engine_worker import AUTOSAVE_SECONDS
from bacsim_gui.files import Files
from bacsim_gui.gallery import Gallery
from bacsim_gui.menus import (
    add_edit_menu,
    add_file_menu,
    add_help_menu,
    add_run_menu,
    add_tools_menu,
    add_view_menu,
)
from bacsim_gui.movie_files import unfinished_recordings
from bacsim_gui.panels.layout import Column
from bacsim_gui.panels.parameters import ParameterPanel
from bacsim_gui.panels.past_bar import PastBar
from bacsim_gui.panels.plots import PlotsPanel
from bacsim_gui.panels.recording import RecordingPanel
from bacsim_gui.panels.statistics import WAITS, StatisticsPanel, phase_text
from bacsim_gui.panels.status import ProblemBanner, StatusBar
from bacsim_gui.panels.tool_bar import ToolBar
from bacsim_gui.panels.transport import TransportBar
from bacsim_gui.panels.view_panel import ViewPanel
from bacsim_gui.panels.waiting import WaitingSign
from bacsim_gui.plotting import Plotting
from bacsim_gui.recording import Recording
from bacsim_gui.reports import Reports
from bacsim_gui.return_key import ReturnKey
from bacsim_gui.scrubbing import Scrubber
from bacsim_gui.seam import Frame, Movie, Problem, Status
from bacsim_gui.session import Session
from bacsim_gui.settings import SettingsFile
from bacsim_gui.sharing import Sharing
from bacsim_gui.showing import Showing
from bacsim_gui.timeline import Timeline
from bacsim_gui.tools import Tools
from bacsim_gui.unapplied import may_be_given_up
from bacsim_gui.undo import Undo
from engine.snapshot import Checkpoint, Snapshot

log = logging.getLogger(__name__)

REFRESH_MS = 200
STANDS_STILL = "drawing is paused, the picture stands still"
# Settings of a recording that may be refused; the parameters have their own place for that.
SETTINGS = ("width", "height", "fps", "time_a_frame", "delay", "until", "keep")


_windows: "WeakSet[Window]" = WeakSet()


@atexit.register
def _take_apart() -> None:
    """Delete what windows there are before PyQt does.

    It walks a table of what is left, and crashes where an event filter in Python adds to that table
    meanwhile.
    """
    for window in tuple(_windows):
        if not sip.isdeleted(window):
            sip.delete(window)


def open_recording(
    movie: Movie, timeline: Timeline, step: int, kept: Checkpoint | None
) -> Recording:
    """Begin to record; called in the engine's thread."""
    return Recording(movie.order, timeline, step, kept)


def movie_folder() -> Path:
    """Where movies go unless another folder is chosen: the user's folder for videos."""
    return Path(platformdirs.user_videos_dir())


class Window(QMainWindow):
    """The main window, which begins with `run`, or with what `opened` holds.

    With `frames` it leaves after so many drawn frames; with `screenshot` it writes a picture of
    the whole window before it leaves. Every `autosave_seconds` it keeps the run in the file
    `autosave`, if there is one. The file `settings` keeps taste and layout. `exit_code` is what the
    program should return.
    """

    def __init__(
        self,
        run: presets.Run,
        preset: str = "",
        *,
        movie_folder: Path,
        frames: int | None = None,
        screenshot: Path | None = None,
        device_note: str = "",
        autosave: Path | None = None,
        autosave_seconds: float = AUTOSAVE_SECONDS,
        opened: Opened | None = None,
        settings: Path | None = None,
    ) -> None:
        super().__init__()
        _windows.add(self)
        self.exit_code = 0
        self._frames_to_go = frames
        self._screenshot = screenshot
        self._closing = self._started = False
        self._told = Status()
        self.session = Session(run, movie_folder, preset)
        self.engine = EngineThread(open_recording, autosave, autosave_seconds)
        self._build(device_note, SettingsFile(settings))
        self._connect()
        self._opened = opened
        self.session.running = opened is None or opened.run is not None
        if opened is None or opened.frames is not None:
            self.session.begin()
        self._refresh()

    def _build(self, device_note: str, settings: SettingsFile) -> None:
        self.setWindowTitle("bacsim")
        screen = self.screen()
        fits = screen.availableGeometry().size() if screen is not None else QSize(1500, 940)
        self.resize(QSize(1500, 940).boundedTo(fits))
        self.setMinimumSize(900, 600)
        self.transport = TransportBar(presets.preset_names())
        self.addToolBar(self.transport)
        self.canvas = RodCanvas(view=self.session.view)
        self.banner, self.past_bar = ProblemBanner(), PastBar()
        central = QWidget()
        rows = QVBoxLayout(central)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.banner)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.canvas.native, 1)
        rows.addLayout(middle, 1)
        rows.addWidget(self.past_bar)
        self.setCentralWidget(central)
        self.waiting = WaitingSign(self.canvas.native)
        self.parameters = ParameterPanel()
        self.statistics, self.view_panel = StatisticsPanel(), ViewPanel()
        self.recording = RecordingPanel()
        self.arrangement = Arrangement(self)
        self.arrangement.add("Parameters", self.parameters, theme.PANEL_WIDTH)
        for title, group in (
            ("Statistics", self.statistics), ("View", self.view_panel),
            ("Recording", self.recording),
        ):  # fmt: skip
            self.arrangement.add(title, Column(group), theme.SIDE_WIDTH)
        self.plots = PlotsPanel()
        plots_dock = self.arrangement.add("Plots", self.plots, theme.SIDE_WIDTH)
        self.status_bar = StatusBar(device_note)
        self.setStatusBar(self.status_bar)
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self.reading = Background()
        self.scrubber = Scrubber(self.session, self.past_bar, self.reading)
        self.showing = Showing(self, self.session, self.engine, self.canvas, self.scrubber)
        self.undo = Undo(self, self.session, lambda: self.showing.present)
        self.tools = Tools(
            self, self.session, self.canvas, self.undo, lambda: self.shown,
            lambda: self.showing.present, self.scrubber.before,
        )  # fmt: skip
        self.tool_bar = ToolBar(self.tools.actions, self.tools.sizes)
        middle.insertWidget(0, self.tool_bar)
        self.files = Files(
            self, self.session, self.canvas, self.scrubber, lambda: self.shown,
            lambda: self.engine.status, self.reading,
        )  # fmt: skip
        self.keys = CanvasKeys(self.canvas, lambda: self.shown, self)
        ReturnKey(self)
        self.desk = Desk(self, self.session, self.arrangement, settings)
        self.reports = Reports(
            self, self.session, self.canvas, lambda: self.engine.status, self.reading, device_note
        )
        self.gallery = Gallery(self, self.session, self.canvas, self.files, lambda: self.shown)
        self.plotting = Plotting(
            self.plots, self.session, self.scrubber.past, self.files, self.reading,
            lambda: self.shown, lambda: self.engine.request(self.session.wanted),
        )  # fmt: skip
        # Of a tab behind others Qt says that it is visible; its dock knows better.
        plots_dock.visibilityChanged.connect(self.plotting.see)
        self.sharing = Sharing(self.session, self.files, self.canvas)
        self.drops = Drops(self, central, self.session, self.files)
        add_file_menu(self, self.files, self.gallery, self.transport.gallery, self._quit)
        add_edit_menu(self, self.sharing, self.undo)
        add_run_menu(self, self.transport)
        add_tools_menu(self, self.tools)
        add_view_menu(self, self.desk, self.session, self.arrangement, self.keys.zooming)
        add_help_menu(self, self.reports)

    def _connect(self) -> None:
        """All connections, in the order of the data."""
        session, engine, transport = self.session, self.engine, self.transport
        # What the user does → session
        self.parameters.edited.connect(session.edit)
        self.parameters.restored.connect(session.restore)
        self.parameters.grasped.connect(self.undo.begin_gesture)
        self.parameters.safe_dt_wanted.connect(session.use_largest_safe_dt)
        self.parameters.applied.connect(session.apply_setup)
        transport.run_toggled.connect(session.toggle_running)
        transport.stepped.connect(lambda many: session.step(self.showing.K if many else 1))
        transport.reset_wanted.connect(session.reset)
        transport.seed_wanted.connect(session.new_seed)
        transport.seed_typed.connect(session.set_seed)
        transport.speed_typed.connect(session.set_speed)
        transport.auto_toggled.connect(lambda auto: session.set_auto(auto, self.showing.K))
        transport.preset_chosen.connect(self.files.load_preset)
        transport.gallery_wanted.connect(self.gallery.show)
        transport.record_toggled.connect(self._toggle_movie)
        transport.screenshot_wanted.connect(self.files.draw)
        transport.trace_wanted.connect(self.files.trace)
        self.view_panel.edited.connect(lambda name, value: session.set_view(**{name: value}))
        self.view_panel.drawing_toggled.connect(session.set_drawing)
        self.view_panel.draw_every_typed.connect(session.set_draw_every)
        self.view_panel.reset_wanted.connect(self.canvas.reset_view)
        self.recording.edited.connect(session.set_movie)
        self.recording.folder_wanted.connect(self.files.choose_folder)
        self.recording.toggled_recording.connect(self._toggle_movie)
        self.recording.cancelled.connect(session.cancel_movie)
        self.recording.open_wanted.connect(
            lambda folder: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        )
        self.past_bar.moved.connect(self.scrubber.move)
        self.past_bar.go_on_wanted.connect(self._go_on)
        self.past_bar.now_wanted.connect(session.look_at_now)
        self.banner.dismissed.connect(session.dismiss_problem)
        self.banner.details_wanted.connect(self.reports.show_problem)
        self.status_bar.hints_wanted.connect(self.reports.show_computer)
        # session → engine, and back to the panels
        session.changed.connect(lambda: engine.request(session.wanted))
        session.changed.connect(self._show_session)
        # engine → picture, statistics, session
        engine.frame_ready.connect(self._show_frame)
        engine.status_changed.connect(self._follow_status)
        engine.failed.connect(self._engine_failed)
        engine.finished.connect(self._engine_finished)
        # files → status bar, end
        for telling in (self.files, self.desk, self.reports, self.tools, self.undo):
            telling.told.connect(self.status_bar.say)
        self.desk.changed.connect(session.changed)
        for background in (self.reading, self.files.drawing):
            background.idle.connect(self._close_if_wanted)
        # picture → engine
        self.canvas.frame_painted.append(self.showing.painted)
        self.showing.drawn.connect(self._count_frame)
        self.showing.pictured.connect(self.tools.follow_state)
        self.canvas.view_changed.append(self.session.follow_view)
        self.canvas.pointed.append(self.status_bar.show_place)
        self._timer.timeout.connect(self._refresh)

    @property
    def frame(self) -> Frame | None:
        """The newest frame that was taken from the engine."""
        return self.showing.frame

    @property
    def shown(self) -> Snapshot | None:
        """The state in the picture."""
        return self.showing.shown

    # Shown state

    def _show_session(self) -> None:
        session, K = self.session, self.showing.K
        self.transport.show_values(session, K)
        self.parameters.show_values(session, K)
        self.arrangement.docks[0].setWindowTitle(self.parameters.heading)
        self.view_panel.show_values(session)
        self.recording.show_values(session, K)
        self.banner.show_values(session)
        self.scrubber.show()
        old = self.canvas.view
        self.showing.show(anew=session.view.show_trails != old.show_trails)
        view = session.view
        if (view.center, view.zoom) != (old.center, old.zoom):
            # Zoom and centre belong to the mouse.
            view = replace(view, center=old.center, zoom=old.zoom)
        if view != old:
            self.canvas.view = view
        title = session.preset or session.run.title
        self.setWindowTitle(f"{title} – bacsim" if title else "bacsim")
        for name in ("K", "seed", "draw every", *SETTINGS):
            if name in session.refused:
                self.status_bar.say(session.refused.pop(name))

    def _show_frame(self) -> None:
        frame = None if self._closing else self.showing.take()
        if frame is not None:
            self.session.strokes_done(frame.stroked)
            self.plotting.take(frame.snapshot)

    def _count_frame(self) -> None:
        if self._frames_to_go is not None:
            self._frames_to_go -= 1
            if self._frames_to_go == 0:
                QTimer.singleShot(0, self.close)

    def _refresh(self) -> None:
        """Show what changes with time alone; a few times a second."""
        rate, status = self.showing.rate, self.engine.status
        self.session.forget_refusals()
        self.session.note_trust(status.trust)
        frame, shown = self.frame, self.shown
        if frame is not None and shown is not None:
            frame = replace(frame, snapshot=shown)
            self.parameters.show_count(self.session, shown.n)
        self.statistics.show_values(self.session, status, frame, rate)
        self.status_bar.show_values(self.session, status, frame, rate)
        self.scrubber.show()
        self.recording.show_progress(self.session, status)
        if self.session.auto:
            self.transport.show_values(self.session, self.showing.K)
            self.parameters.derived.show_values(self.session, self.showing.K)
        text = "" if self.session.drawing else STANDS_STILL
        if self._closing or status.phase in WAITS:
            text = phase_text(status, time.monotonic())
        if self._closing and not self.engine.is_alive():
            text = "saving a picture…"
        if self._closing:
            text = f"{text}, then closing"
        self.waiting.say(text, empty=self.frame is None)

    # The engine

    def _follow_status(self) -> None:
        status = self.engine.status
        self.session.movie_ended(status.ended)
        self._announce(status)
        self._refresh()

    def _announce(self, status: Status) -> None:
        """Say once where a recording, a checkpoint or a trace was written."""
        if status.saved != self._told.saved:
            self.status_bar.say(f"Saved {status.saved}")
        if status.kept is not None and status.kept != self._told.kept:
            self.status_bar.say(f"Saved {status.kept}")
        if status.traced is not None and status.traced != self._told.traced:
            self.status_bar.say(
                f"Trace in {status.traced.parent}: open perfetto_trace.json.gz at ui.perfetto.dev, "
                f"or read {status.traced.name}",
            )  # fmt: skip
        if status.device != self._told.device:
            self.status_bar.show_hints(self.reports.advice())
        self._told = status

    def _engine_failed(self, problem: Problem) -> None:
        self.session.engine_failed(problem)
        self._give_up(problem.message)

    def _look_for_opengl(self) -> None:
        """Say it once where nothing can be drawn, and offer advice on the machine."""
        self.status_bar.show_hints(self.reports.advice())
        problem = self.canvas.problem
        if problem is not None:
            self.session.show_problem(problem)
            self._give_up(problem)

    def report_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Log an exception that nothing caught, and show it; the window goes on."""
        log.critical("not caught", exc_info=(kind, error, trace))
        message = (
            f"The window met an unexpected error ({kind.__name__}: {error}). It goes on; the log "
            "file has the details."
        )
        details = "".join(traceback.format_exception(kind, error, trace))
        self.session.show_problem(message, details)
        self._give_up(message)

    def _give_up(self, message: str) -> None:
        """In a run of so many frames nobody watches: say it where a script reads it, and leave."""
        if self._frames_to_go is not None:
            log.error(message)
            self.exit_code = 1
            self.close()

    def _take_screenshot(self) -> None:
        if self._screenshot is not None:
            self._refresh()
            if not self.grab().save(str(self._screenshot)):
                log.error("The screenshot %s could not be written.", self._screenshot)
                self.exit_code = 1

    def _engine_finished(self) -> None:
        self.engine.join()
        self.close()

    def _close_if_wanted(self) -> None:
        if self._closing:
            self.close()

    # Wishes

    def _toggle_movie(self) -> None:
        if self.session.movie is not None:
            self.session.stop_movie()
        else:
            step = 0 if self.frame is None else self.frame.snapshot.step
            self.session.start_movie(self.canvas.view, self.showing.K, step)
            if self.session.movie is not None:
                # Its progress and its end are to be seen.
                self.arrangement.show_panel(self.recording)

    def _go_on(self) -> None:
        self.showing.keep_looking()
        self.scrubber.go_on()

    def _quit(self) -> None:
        if may_be_given_up(self, self.session, "Quit without"):
            self.close()

    # Qt

    def showEvent(self, a0: QShowEvent | None) -> None:  # noqa: D102
        super().showEvent(a0)
        if not self._started:
            self._started = True
            self.desk.begin()
            self.canvas.native.setFocus()
            self._timer.start()
            if self._opened is not None:
                # Not before: the status bar has no room for its words until it is shown.
                self.files.take(self._opened)
            if self._frames_to_go is not None:
                self.session.set_running(True)
            self.engine.start()
            for left in unfinished_recordings(self.session.movie_settings.folder)[:1]:
                self.session.show_problem(left.message)
            # Qt makes the context of OpenGL with the first paint.
            QTimer.singleShot(1000, self._look_for_opengl)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:  # noqa: D102
        super().resizeEvent(a0)
        if self._started:
            self.arrangement.follow_size()
        self.waiting.place()

    def closeEvent(self, a0: QCloseEvent | None) -> None:  # noqa: D102
        # Spontaneous is what the user closes.
        asks = a0 is not None and a0.spontaneous() and not self._closing
        if a0 is not None and asks and not may_be_given_up(self, self.session, "Close without"):
            a0.ignore()
            return
        self.scrubber.close()
        if self.engine.is_alive() or self.reading.busy or self.files.drawing.busy:
            # The engine ends first: a compile in progress, and a movie, which is kept; so is a
            # picture.
            if not self._closing:
                self._take_screenshot()
            self._closing = True
            self.engine.stop()
            self._refresh()
            if a0 is not None:
                a0.ignore()
        else:
            self._timer.stop()
            self.desk.keep()
            for background in (self.reading, self.files.drawing):
                background.end()
            super().closeEvent(a0)
