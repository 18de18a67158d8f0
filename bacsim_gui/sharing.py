# SPDX-License-Identifier: GPL-3.0-or-later
"""The clipboard: a run is copied as a short text and begun from one, and the picture is copied."""

from PyQt6.QtGui import QClipboard, QGuiApplication, QImage

from bacsim_gui import run_text
from bacsim_gui.canvas import RodCanvas
from bacsim_gui.files import Files
from bacsim_gui.session import Session
from engine.schema import ParameterError


class Sharing:
    """Copies and pastes runs, and copies pictures; what is to be said goes through `files`."""

    def __init__(self, session: Session, files: Files, canvas: RodCanvas) -> None:
        self._session, self._files, self._canvas = session, files, canvas

    def copy_picture(self) -> None:
        """Put the picture on the clipboard as it is in the window, without what tools point at."""
        clipboard = _clipboard()
        if clipboard is None:
            return
        pixels = self._canvas.grab(bare=True)
        height, width, _ = pixels.shape
        image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
        clipboard.setImage(image.copy())  # which owns its pixels
        self._files.told.emit(f"Copied the picture, {width} × {height} pixels")

    def copy(self) -> None:
        """Put the text of the present run on the clipboard, and say what it leaves out."""
        session, clipboard = self._session, _clipboard()
        run = session.current_run()
        text = run_text.write(run, session.preset)
        if clipboard is None:
            return
        clipboard.setText(text)
        said = f"Copied {text}"
        if session.unapplied:
            said = f"Copied, without what is not applied yet ({', '.join(session.unapplied)})"
        elif not run_text.tells_rods(run, text):
            said = "Copied, but for the rods that the run began with: save a checkpoint for those"
        self._files.told.emit(said)

    def paste(self) -> None:
        """Begin the run that the clipboard tells of."""
        clipboard = _clipboard()
        text = "" if clipboard is None else clipboard.text()
        if not text.strip():
            self._session.show_problem(
                "The clipboard holds no text. A run looks like "
                f"'{run_text.PROGRAM} --preset=swarming --F_prop=12'."
            )
            return
        try:
            shared = run_text.read(text)
        except ParameterError as error:
            self._session.show_problem(f"The clipboard holds no run that can begin: {error}")
            return
        self._files.begin(shared.run, shared.preset, shared.base)


def _clipboard() -> QClipboard | None:
    return QGuiApplication.clipboard()
