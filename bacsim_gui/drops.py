# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that is dropped onto the window is opened; while it is held, the window says so."""

from pathlib import Path

from PyQt6.QtCore import QEvent, QMimeData, QObject, Qt
from PyQt6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PyQt6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from bacsim_gui.files import Files
from bacsim_gui.panels.layout import label
from bacsim_gui.session import Session

ONE = "One file at a time can be opened: drop one of them."


class Drops(QObject):
    """Watches `window` for files; the hint lies over the part of it named `over`."""

    def __init__(self, window: QWidget, over: QWidget, session: Session, files: Files) -> None:
        super().__init__(window)
        self._session, self._files, self._over = session, files, over
        self.hint = QFrame(over)
        self.hint.setObjectName("drop")
        self.hint.setStyleSheet("#drop { border: 3px dashed palette(highlight); }")
        self.text = label(role="waiting")
        rows = QVBoxLayout(self.hint)
        rows.addWidget(self.text, 0, Qt.AlignmentFlag.AlignCenter)
        self.hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hint.hide()
        window.setAcceptDrops(True)
        # A field would take the name of the file as its text.
        for field in window.findChildren(QLineEdit):
            field.setAcceptDrops(False)
        window.installEventFilter(self)

    def eventFilter(self, a0: QObject | None, a1: QEvent | None) -> bool:  # noqa: D102
        if isinstance(a1, QDragEnterEvent):
            return self._enter(a1)
        if isinstance(a1, QDragMoveEvent):
            a1.setAccepted(bool(_paths(a1.mimeData())))
            return True
        if isinstance(a1, QDropEvent):
            return self._drop(a1)
        if a1 is not None and a1.type() == QEvent.Type.DragLeave:
            self.hint.hide()
        return False

    def _enter(self, event: QDragEnterEvent) -> bool:
        paths = _paths(event.mimeData())
        if not paths:
            return False
        self.text.setText(ONE if len(paths) > 1 else f"Open {paths[0].name}")
        self.hint.setGeometry(self._over.rect())
        self.hint.show()
        self.hint.raise_()
        event.acceptProposedAction()
        return True

    def _drop(self, event: QDropEvent) -> bool:
        self.hint.hide()
        paths = _paths(event.mimeData())
        if not paths:
            return False
        event.acceptProposedAction()
        if len(paths) > 1:
            self._session.show_problem(ONE)
        else:
            self._files.open(paths[0])
        return True


def _paths(data: QMimeData | None) -> list[Path]:
    """The files of this machine among what is held."""
    if data is None:
        return []
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
