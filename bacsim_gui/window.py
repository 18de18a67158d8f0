# SPDX-License-Identifier: GPL-3.0-or-later
"""The window: builds the parts and connects them, in the order of the data."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType

import platformdirs
from PyQt6.QtCore import QSize, Qt, QTimer, QUrl
from PyQt6.QtGui import QAction, QCloseEvent, QDesktopServices, QImage, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import (
    QDockWidget,
    QFileDialog,
    QLabel,
    QMainWindow,
    QMenu,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from bacsim_gui import presets, theme
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.engine_thread import EngineThread
from bacsim_gui.movie_files import free_paths, unfinished_recordings
from bacsim_gui.pace import FrameRate
from bacsim_gui.panels.layout import Column
from bacsim_gui.panels.parameters import ParameterPanel
from bacsim_gui.panels.recording import RecordingPanel
from bacsim_gui.panels.statistics import WAITS, StatisticsPanel, phase_text
from bacsim_gui.panels.status import ProblemBanner, StatusBar
from bacsim_gui.panels.transport import TransportBar
from bacsim_gui.panels.view_panel import ViewPanel
from bacsim_gui.recording import Recording
from bacsim_gui.seam import Frame, Movie, Problem, Status
from bacsim_gui.session import Session
from bacsim_gui.timeline import Timeline
from engine.snapshot import Checkpoint

log = logging.getLogger(__name__)

REFRESH_MS = 200
MESSAGE_MS = 8000
# From this width on the parameters and the statistics stand beside the picture at the same time.
WIDE = 1400


def open_recording(
    movie: Movie, timeline: Timeline, step: int, kept: Checkpoint | None
) -> Recording:
    """Begin to record; called in the engine's thread."""
    return Recording(movie.order, timeline, step, kept)


def movie_folder() -> Path:
    """Where movies go unless another folder is chosen: the user's folder for videos."""
    return Path(platformdirs.user_videos_dir())


class Window(QMainWindow):
    """The main window, which begins with `run`.

    With `frames` it leaves after so many drawn frames; with `screenshot` it writes a picture of
    the whole window before it leaves. `exit_code` is what the program should return.
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
    ) -> None:
        super().__init__()
        self.exit_code = 0
        self.frame: Frame | None = None
        self._frames_to_go = frames
        self._screenshot = screenshot
        self._closing = self._arranged = False
        self._acknowledged = 0
        self._told = Status()
        self._rate = FrameRate()
        self.session = Session(run, movie_folder, preset)
        self.engine = EngineThread(open_recording, autosave)
        self._build(device_note)
        self._connect()
        self.session.begin()
        self.session.set_running(True)
        self._refresh()

    def _build(self, device_note: str) -> None:
        self.setWindowTitle("bacsim")
        screen = self.screen()
        fits = screen.availableGeometry().size() if screen is not None else QSize(1500, 940)
        self.resize(QSize(1500, 940).boundedTo(fits))
        self.setMinimumSize(900, 600)
        self.transport = TransportBar(presets.preset_names())
        self.addToolBar(self.transport)
        self.canvas = RodCanvas(view=self.session.view)
        self.banner = ProblemBanner()
        central = QWidget()
        rows = QVBoxLayout(central)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.banner)
        rows.addWidget(self.canvas.native, 1)
        self.setCentralWidget(central)
        self.waiting = QLabel(central)
        self.waiting.setProperty("role", "waiting")
        self.waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.waiting.hide()
        self.parameters = ParameterPanel()
        self.statistics, self.view_panel = StatisticsPanel(), ViewPanel()
        self.recording = RecordingPanel()
        observe = Column()
        for group in (self.statistics, self.view_panel, self.recording):
            observe.add(group)
        self.docks = (
            self._dock("Parameters", self.parameters, theme.PANEL_WIDTH),
            self._dock("Statistics, view, recording", observe, theme.SIDE_WIDTH),
        )
        self.status_bar = StatusBar(device_note)
        self.setStatusBar(self.status_bar)
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._menus()

    def _dock(self, title: str, content: QWidget, width: int) -> QDockWidget:
        dock = QDockWidget(title)
        dock.setObjectName(title)
        content.setMinimumWidth(max(width, content.minimumSizeHint().width()))
        dock.setWidget(content)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        return dock

    def _menus(self) -> None:
        bar = self.menuBar()
        if bar is None:
            return
        self._menu_of(bar.addMenu("&File"), (
            ("Open parameters…", "Ctrl+O", self._open_file),
            ("Save parameters…", "Ctrl+S", self._save_file),
            ("Screenshot", "", self._save_picture),
            ("Quit", "Ctrl+Q", self.close),
        ))  # fmt: skip
        view = bar.addMenu("&View")
        if view is not None:
            for dock in self.docks:
                view.addAction(dock.toggleViewAction())
            view.addAction("Show the whole box", self.canvas.reset_view)
        self._menu_of(bar.addMenu("&Help"), (("About bacsim", "", self._about),))

    def _menu_of(
        self, menu: QMenu | None, entries: tuple[tuple[str, str, Callable[[], object]], ...]
    ) -> None:
        for text, keys, act in entries:
            action = QAction(text, self)
            action.setShortcut(keys)
            action.triggered.connect(lambda _, act=act: act())
            if menu is not None:
                menu.addAction(action)

    def _connect(self) -> None:
        """All connections, in the order of the data."""
        session, engine, transport = self.session, self.engine, self.transport
        # What the user does → session
        self.parameters.edited.connect(session.edit)
        self.parameters.restored.connect(session.restore)
        self.parameters.safe_dt_wanted.connect(session.use_largest_safe_dt)
        self.parameters.applied.connect(session.apply_setup)
        transport.run_toggled.connect(session.toggle_running)
        transport.stepped.connect(lambda many: session.step(self.K if many else 1))
        transport.reset_wanted.connect(session.reset)
        transport.seed_wanted.connect(session.new_seed)
        transport.seed_typed.connect(session.set_seed)
        transport.speed_typed.connect(session.set_speed)
        transport.auto_toggled.connect(lambda auto: session.set_auto(auto, self.K))
        transport.preset_chosen.connect(self._load_preset)
        transport.record_toggled.connect(self._toggle_movie)
        transport.screenshot_wanted.connect(self._save_picture)
        transport.trace_wanted.connect(self._trace)
        self.view_panel.edited.connect(lambda name, value: session.set_view(**{name: value}))
        self.view_panel.reset_wanted.connect(self.canvas.reset_view)
        self.recording.edited.connect(session.set_movie)
        self.recording.folder_wanted.connect(self._choose_folder)
        self.recording.toggled_recording.connect(self._toggle_movie)
        self.recording.open_wanted.connect(
            lambda folder: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        )
        self.banner.dismissed.connect(session.dismiss_problem)
        # session → engine, and back to the panels
        session.changed.connect(lambda: engine.request(session.wanted))
        session.changed.connect(self._show_session)
        # engine → picture, statistics, session
        engine.frame_ready.connect(self._show_frame)
        engine.status_changed.connect(self._follow_status)
        engine.failed.connect(self._engine_failed)
        engine.finished.connect(self._engine_finished)
        # picture → engine
        self.canvas.frame_painted.append(self._painted)
        self.canvas.view_changed.append(self.session.follow_view)
        self._timer.timeout.connect(self._refresh)

    @property
    def K(self) -> int:
        """Steps of a frame: those set by hand, or those that auto has arrived at."""
        if self.session.auto and self.frame is not None:
            return self.frame.K
        return self.session.K

    # Shown state

    def _show_session(self) -> None:
        session, K = self.session, self.K
        self.transport.show_values(session, K)
        self.parameters.show_values(session, K)
        self.view_panel.show_values(session)
        self.recording.show_values(session, K)
        self.banner.show_values(session)
        old = self.canvas.view
        view = session.view
        if (view.center, view.zoom) != (old.center, old.zoom):
            # Zoom and centre belong to the mouse.
            view = replace(view, center=old.center, zoom=old.zoom)
        if view != old:
            self.canvas.view = view
        title = session.preset or session.run.title
        self.setWindowTitle(f"{title} – bacsim" if title else "bacsim")
        for name in ("K", "seed", "width", "height"):
            if name in session.refused:
                self.status_bar.showMessage(session.refused.pop(name), MESSAGE_MS)

    def _show_frame(self) -> None:
        frame = self.engine.take()
        if frame is None or self._closing:
            return
        self.frame = frame
        self.canvas.show_snapshot(frame.snapshot)
        handle = self.windowHandle()
        if handle is None or not handle.isExposed() or not self.canvas.native.isVisible():
            # What is hidden is never painted; time goes on all the same.
            self._painted()

    def _painted(self) -> None:
        frame = self.frame
        if frame is None or frame.number == self._acknowledged:
            return
        self._acknowledged = frame.number
        self._rate.tick(time.monotonic())
        self.engine.painted(frame.number)
        if self._frames_to_go is not None:
            self._frames_to_go -= 1
            if self._frames_to_go == 0:
                QTimer.singleShot(0, self.close)

    def _refresh(self) -> None:
        """Show what changes with time alone; a few times a second."""
        status, rate = self.engine.status, self._rate.value(time.monotonic())
        self.statistics.show_values(self.session, status, self.frame, rate)
        self.status_bar.show_values(self.session, status, self.frame, rate)
        self.recording.show_progress(self.session, status)
        if self.session.auto:
            self.transport.show_values(self.session, self.K)
            self.parameters.derived.show_values(self.session, self.K)
        text = ""
        if self._closing or status.phase in WAITS:
            text = phase_text(status, time.monotonic())
        if self._closing:
            text = f"{text}, then closing"
        self.waiting.setVisible(bool(text))
        if text:
            self.waiting.setText(text)
            self._place_waiting()

    def _place_waiting(self) -> None:
        picture = self.canvas.native.geometry()
        self.waiting.adjustSize()
        size = self.waiting.size()
        top = picture.top() + 16 if self.frame is not None else picture.center().y()
        self.waiting.move(picture.center().x() - size.width() // 2, top)
        self.waiting.raise_()

    # The engine

    def _follow_status(self) -> None:
        status = self.engine.status
        self.session.movie_ended(status.ended)
        self._announce(status)
        self._refresh()

    def _announce(self, status: Status) -> None:
        """Say once where a movie or a trace was written."""
        if status.saved != self._told.saved:
            self.status_bar.showMessage(f"Saved {status.saved}", MESSAGE_MS)
        if status.traced is not None and status.traced != self._told.traced:
            self.status_bar.showMessage(
                f"Trace in {status.traced.parent}: open perfetto_trace.json.gz at ui.perfetto.dev, "
                f"or read {status.traced.name}", 2 * MESSAGE_MS,
            )  # fmt: skip
        self._told = status

    def _engine_failed(self, problem: Problem) -> None:
        self.session.engine_failed(problem)
        self._give_up(problem.message)

    def _look_for_opengl(self) -> None:
        """Say it once where nothing can be drawn."""
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
        self.session.show_problem(message)
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

    # Wishes that need a file

    def _load_preset(self, name: str) -> None:
        try:
            run = presets.load_preset(name)
        except (ValueError, OSError) as error:
            self.session.show_problem(str(error))
            return
        self.session.load_run(run, name)
        self.canvas.reset_view()

    def _open_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Open parameters", "", "Parameters (*.toml)")
        if not name:
            return
        try:
            run = presets.load_config(Path(name))
        except (ValueError, OSError) as error:
            self.session.show_problem(str(error))
            return
        self.session.load_run(run)
        self.canvas.reset_view()

    def _save_file(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self, "Save parameters", "parameters.toml", "Parameters (*.toml)"
        )
        if name:
            try:
                presets.save_config(Path(name), self.session.current_run())
                self.status_bar.showMessage(f"Saved {name}", MESSAGE_MS)
            except OSError as error:
                self.session.show_problem(f"The parameters could not be saved: {error}")

    def _save_picture(self) -> None:
        path = self._new_path("png")
        rgb = self.canvas.grab()
        height, width, _ = rgb.shape
        image = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
        # Where the folder cannot be made, nothing can be saved in it either.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        if image.save(str(path)):
            self.status_bar.showMessage(f"Saved {path}", MESSAGE_MS)
        else:
            self.session.show_problem(
                f"The picture could not be saved as {path}. Choose another folder for movies."
            )

    def _trace(self) -> None:
        self.session.trace(self._new_path("trace"))

    def _new_path(self, suffix: str) -> Path:
        folder = self.session.movie_settings.folder
        return next(free_paths(folder / f"bacsim-{datetime.now():%Y%m%d-%H%M%S}.{suffix}"))

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self, "Folder for movies", str(self.session.movie_settings.folder)
        )
        if folder:
            self.session.set_movie("folder", Path(folder))

    def _toggle_movie(self) -> None:
        if self.session.movie is not None:
            self.session.stop_movie()
        else:
            self.session.start_movie(self.canvas.view, self.K)

    def _about(self) -> None:
        QMessageBox.about(
            self, "About bacsim",
            "<b>bacsim</b><br>A desktop laboratory for swarming bacteria.<br><br>"
            "Free software under the GNU General Public License, version 3 or later, without any "
            "warranty.",
        )  # fmt: skip

    # Qt

    def showEvent(self, a0: QShowEvent | None) -> None:  # noqa: D102
        super().showEvent(a0)
        if not self._arranged:
            self._arranged = True
            self._arrange()
            self.canvas.native.setFocus()
            self._timer.start()
            self.engine.start()
            for left in unfinished_recordings(self.session.movie_settings.folder)[:1]:
                self.session.show_problem(left.message)
            # Qt makes the context of OpenGL with the first paint.
            QTimer.singleShot(1000, self._look_for_opengl)

    def _arrange(self) -> None:
        parameters, observe = self.docks
        if self.width() >= WIDE:
            self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, observe)
            self.resizeDocks([observe], [theme.SIDE_WIDTH], Qt.Orientation.Horizontal)
        else:
            self.tabifyDockWidget(parameters, observe)
            parameters.raise_()
        self.resizeDocks([parameters], [theme.PANEL_WIDTH], Qt.Orientation.Horizontal)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:  # noqa: D102
        super().resizeEvent(a0)
        self._place_waiting()

    def closeEvent(self, a0: QCloseEvent | None) -> None:  # noqa: D102
        if self.engine.is_alive():
            # The engine ends first: a compile in progress, and a movie, which is kept.
            if not self._closing:
                self._take_screenshot()
            self._closing = True
            self.engine.stop()
            self._refresh()
            if a0 is not None:
                a0.ignore()
        else:
            self._timer.stop()
            super().closeEvent(a0)
