# SPDX-License-Identifier: GPL-3.0-or-later
"""The gallery of presets: what it shows, and what comes of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QObject, QPoint, QRect, Qt
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QDialog, QMessageBox, QWidget

from bacsim_gui import own_presets
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.files import Files
from bacsim_gui.panels.gallery import PICTURE, Entry, GalleryDialog
from bacsim_gui.panels.save_preset import SavePresetDialog
from bacsim_gui.presets import load_preset, preset_names
from bacsim_gui.resources import assets_dir
from bacsim_gui.session import Session
from bacsim_gui.view import camera
from engine.schema import ParameterError
from engine.snapshot import Snapshot
from engine.storage.errors import StorageError


class Gallery(QObject):
    """Opens the gallery, and keeps and deletes presets of the user's own.

    `shown` gives the state in the picture.
    """

    def __init__(
        self,
        parent: QWidget,
        session: Session,
        canvas: RodCanvas,
        files: Files,
        shown: Callable[[], Snapshot | None],
    ) -> None:
        super().__init__(parent)
        self._parent, self._session, self._canvas = parent, session, canvas
        self._files, self._shown = files, shown
        self.dialog: GalleryDialog | None = None
        session.changed.connect(self._follow)

    def show(self) -> None:
        """Show the gallery; the run goes on behind it."""
        if self.dialog is None:
            self.dialog = GalleryDialog(self._parent)
            self.dialog.opened.connect(self._open)
            self.dialog.delete_wanted.connect(self._delete)
            self.dialog.save_wanted.connect(self.save_preset)
        self._fill(self._session.preset)
        self.dialog.open()
        self.dialog.cards.setFocus()

    def save_preset(self) -> None:
        """Keep the present run as a preset of the name that the user gives."""
        session, shown = self._session, self._shown()
        dialog = SavePresetDialog(
            session.run.look_for, own_presets.checked_name, own_presets.existing, self._over
        )
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        name = own_presets.checked_name(dialog.name.text())
        run = replace(session.current_run(), look_for=dialog.look_for.text().strip())
        rods = shown if dialog.with_rods.isChecked() else None
        try:
            own_presets.keep(name, run, rods, self._draw)
        except (ParameterError, StorageError) as error:
            session.show_problem(str(error))
            return
        left_out = ", ".join(session.unapplied)
        self._files.told.emit(
            f"Kept as preset {name}" + (f", without {left_out}: not applied" if left_out else "")
        )
        self._fill(name)

    @property
    def _over(self) -> QWidget:
        dialog = self.dialog
        return dialog if dialog is not None and dialog.isVisible() else self._parent

    def _fill(self, current: str = "") -> None:
        if self.dialog is not None:
            self.dialog.show_entries(_entries(), self._session.current_run(), current)

    def _follow(self) -> None:
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.show_now(self._session.current_run())

    def _open(self, entry: Entry) -> None:
        if self.dialog is not None:
            self.dialog.accept()
        if entry.own:
            self._files.load_own_preset(entry.name)
        else:
            self._files.load_preset(entry.name)

    def _delete(self, entry: Entry) -> None:
        box = QMessageBox(
            QMessageBox.Icon.NoIcon, "bacsim", f"Delete your preset {entry.title}?",
            parent=self._over,
        )  # fmt: skip
        box.setInformativeText("It cannot be brought back.")
        delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton("Keep", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(keep)
        box.setEscapeButton(keep)
        box.exec()
        if box.clickedButton() is not delete:
            return
        try:
            own_presets.delete(entry.name)
        except StorageError as error:
            self._session.show_problem(str(error))
        self._fill()

    def _draw(self, path: Path) -> None:
        """Write the middle of the box, as the window shows it, as the picture of a card."""
        pixels, size = self._canvas.grab(), PICTURE * 2
        height, width, _ = pixels.shape
        image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
        seen = image.rect()
        if (shown := self._shown()) is not None:
            side = shown.params.space_size
            at = camera(self._canvas.view, side, self._canvas.size)
            left, bottom = at.to_picture(0.0, 0.0)
            right, top = at.to_picture(side, side)
            box = QRect(
                QPoint(int(left) + 1, int(top) + 1), QPoint(int(right) - 1, int(bottom) - 1)
            )
            seen &= box
        part = QRect(QPoint(), size.scaled(seen.size(), Qt.AspectRatioMode.KeepAspectRatio))
        part.moveCenter(seen.center())
        small = image.copy(part).scaled(
            size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        if not small.save(str(path), "PNG"):
            raise StorageError(f"The picture cannot be written to {path}: make room.")


def _entries() -> list[Entry]:
    """The presets of the program, then the user's own."""
    found, folder = [], assets_dir() / "presets"
    for name in preset_names():
        run = load_preset(name)
        found.append(Entry(name, run.title, run.look_for, folder / f"{name}.png", run))
    for own in own_presets.found():
        about = own.problem if own.run is None else own.run.look_for
        path = own_presets.picture_of(own.name)
        found.append(Entry(own.name, own.name, about, path, own.run, own=True))
    return found
