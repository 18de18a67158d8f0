# SPDX-License-Identifier: GPL-3.0-or-later
"""What the window reads and writes at the user's wish: dialogs, and what comes of them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtWidgets import QDialog, QFileDialog, QWidget

from bacsim_gui import autosaves, documents, own_presets, picture, presets, recent
from bacsim_gui.background import Background
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.documents import Opened
from bacsim_gui.movie_files import free_paths
from bacsim_gui.order import Order
from bacsim_gui.panels.picture_dialog import PictureDialog
from bacsim_gui.presets import Run
from bacsim_gui.scrubbing import RECORDING, Scrubber
from bacsim_gui.seam import Status
from bacsim_gui.session import Session
from bacsim_gui.unapplied import may_be_given_up
from engine.snapshot import Snapshot
from engine.storage import checkpoint as checkpoints
from engine.storage.errors import StorageError

ALL = "All that can be opened (*.toml *.bacsim *.timeline *.gsd *.mp4 *.webm *.gif *.png)"
PARAMETERS, CHECKPOINTS = "Parameters (*.toml)", "Checkpoints (*.bacsim)"
OTHERS = (
    "Timelines (*.timeline);;Trajectories (*.gsd);;Movies and pictures (*.mp4 *.webm *.gif *.png)"
)


class Files(QObject):
    """Asks for files and acts on them. `told` carries what the status bar is to say.

    `shown` gives the state in the picture and `status` what the engine says.
    """

    told = pyqtSignal(str)

    def __init__(
        self,
        parent: QWidget,
        session: Session,
        canvas: RodCanvas,
        scrubber: Scrubber,
        shown: Callable[[], Snapshot | None],
        status: Callable[[], Status],
        background: Background,
    ) -> None:
        super().__init__(parent)
        self._parent, self._session, self._canvas = parent, session, canvas
        self._scrubber, self._shown, self._status = scrubber, shown, status
        self._background = background
        # Apart, so that nothing waits for a large picture.
        self.drawing = Background()

    # Opening

    def ask_and_open(self) -> None:
        """Open a file of the user's choice."""
        kinds = ";;".join((ALL, PARAMETERS, CHECKPOINTS, OTHERS))
        name, _ = QFileDialog.getOpenFileName(self._parent, "Open", str(self._folder), kinds)
        if name:
            self.open(Path(name))

    def open(self, path: Path) -> None:
        """Read a file beside the window, then show what it holds."""
        self.told.emit(f"Opening {path} …")
        self._background.do(partial(documents.read, path), self.take, self._not_opened)

    def _not_opened(self, problem: str) -> None:
        self.told.emit("")
        self._session.show_problem(problem)

    def take(self, opened: Opened) -> None:
        """Show what was read: a run begins, or goes on, or its frames are looked at."""
        session = self._session
        if opened.frames is not None:
            if session.movie is not None:
                opened.frames.close()
                session.show_problem(f"{opened.path.name} was not opened. {RECORDING}")
                return
            self._scrubber.open(opened.frames)
        elif not self._may_go_on():
            self.told.emit("")
            return
        elif opened.kept is not None:
            session.resume(opened.kept, opened.notes)
            if "view" in opened.notes:
                # The session leaves zoom and centre to the mouse.
                self._canvas.view = session.view
        elif opened.run is not None:
            session.load_run(opened.run)
            self._canvas.reset_view()
        self._note(opened.path)
        self.told.emit(opened.note or f"Opened {opened.path}")

    def open_recent(self, path: Path) -> None:
        """Open a file of the list, or take it off the list where it is no longer there."""
        if path.exists():
            self.open(path)
            return
        recent.remove(path)
        self._session.show_problem(
            f"{path} is no longer there: it was moved, renamed or deleted. It is taken off the "
            "recent files."
        )

    def _note(self, path: Path) -> None:
        if autosaves.folder() not in path.absolute().parents:
            recent.add(path)

    def resume_autosave(self) -> None:
        """Open the newest autosave."""
        newest = autosaves.newest()
        if newest is None:
            self._session.show_problem(
                f"There is no autosave in {autosaves.folder()}. One is written every few minutes "
                "while a run goes on."
            )
        else:
            self.open(newest)

    def load_preset(self, name: str) -> None:
        """Begin with a preset."""
        self._begin_read(partial(presets.load_preset, name), name)

    def load_own_preset(self, name: str) -> None:
        """Begin with a preset of the user's own."""
        self._begin_read(partial(own_presets.load, name))

    def _begin_read(self, read: Callable[[], Run], preset: str = "") -> None:
        try:
            run = read()
        except (ValueError, OSError) as error:
            self._session.show_problem(str(error))
            return
        self.begin(run, preset)

    def begin(self, run: Run, preset: str = "", base: Run | None = None) -> None:
        """Begin with `run`, unless the user would rather stay; see `Session.load_run`."""
        if self._may_go_on():
            self._session.load_run(run, preset, base)
            self._canvas.reset_view()
        else:
            # A choice that shows the new name shows the old one again.
            self._session.changed.emit()

    def _may_go_on(self) -> bool:
        return may_be_given_up(self._parent, self._session, "Open without")

    # Saving

    def save_parameters(self) -> None:
        """Save parameters, seed and speed where the user says."""
        path = self.ask_where("Save parameters", "parameters", PARAMETERS, documents.CONFIG)
        if path is None:
            return
        try:
            presets.save_config(path, self._session.current_run())
        except StorageError as error:
            self._session.show_problem(str(error))
            return
        self._note(path)
        self.told.emit(f"Saved {path}")

    def save_checkpoint(self) -> None:
        """Save the run where the user says; the engine does it and tells when it is done."""
        path = self.ask_where("Save checkpoint", "run", CHECKPOINTS, checkpoints.SUFFIX)
        if path is not None:
            self._session.save_checkpoint(path, self._canvas.view)
            self._note(path)

    def ask_where(self, title: str, name: str, kinds: str, suffix: str) -> Path | None:
        """A file to write, of that ending unless another is typed; None where the user does not.

        An existing one is asked about.
        """
        dialog = QFileDialog(self._parent, title, str(self._folder), kinds)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        # The dialog looks for the name with its ending before it asks.
        dialog.setDefaultSuffix(suffix.removeprefix("."))
        dialog.selectFile(name + suffix)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return None
        return Path(dialog.selectedFiles()[0])

    def ask_and_draw(self) -> None:
        """Save a picture of the size that the user says."""
        dialog = PictureDialog(self._canvas.size, self._folder, self._parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self.draw(dialog.size_wanted)

    def draw(self, size: tuple[int, int] | None = None) -> None:
        """Save a picture of what is shown, as large as in the window unless a size is given."""
        snapshot, session = self._shown(), self._session
        if snapshot is None:
            return
        run = replace(session.run, setup=session.setup, seed=session.seed)
        order = Order(
            self.new_path("png"), size or self._canvas.size, view=self._canvas.view,
            metadata=picture.about(run, snapshot, self._status().stats),
        )  # fmt: skip
        self.told.emit(f"Drawing {order.path.name} …")
        self.drawing.do(
            partial(picture.save, order, self._scrubber.scene(snapshot)),
            lambda path: self.told.emit(f"Saved {path}"),
            session.show_problem,
        )  # fmt: skip

    def trace(self) -> None:
        """Write a profiler trace."""
        self._session.trace(self.new_path("trace"))

    def new_path(self, suffix: str) -> Path:
        """A free name of this moment in the folder for movies."""
        return next(free_paths(self._folder / f"bacsim-{datetime.now():%Y%m%d-%H%M%S}.{suffix}"))

    def choose_folder(self) -> None:
        """Choose the folder for movies."""
        folder = QFileDialog.getExistingDirectory(
            self._parent, "Folder for movies", str(self._folder)
        )
        if folder:
            self._session.set_movie("folder", Path(folder))

    @property
    def _folder(self) -> Path:
        return self._session.movie_settings.folder
