# SPDX-License-Identifier: GPL-3.0-or-later
"""How the window sits on the desktop: its theme, size of text, full screen, and what is kept."""

from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QByteArray, QObject, Qt, pyqtSignal
from PyQt6.QtWidgets import QApplication, QMainWindow, QStyle

from bacsim_gui import theme
from bacsim_gui.arrangement import Arrangement
from bacsim_gui.session import Session
from bacsim_gui.settings import TASTE, SettingsFile

# Qt's own animations: menus and tool tips that fade or roll, boxes that unroll.
_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu, Qt.UIEffect.UI_FadeMenu, Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip, Qt.UIEffect.UI_FadeTooltip, Qt.UIEffect.UI_AnimateToolBox,
)  # fmt: skip


class Desk(QObject):
    """Applies the settings in `file`, changes them, and keeps them when the window goes.

    `told` carries what the status bar is to say; `changed` says that the look is another.
    """

    told = pyqtSignal(str)
    changed = pyqtSignal()

    def __init__(
        self, window: QMainWindow, session: Session, arrangement: Arrangement, file: SettingsFile
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._arrangement = window, session, arrangement
        self._file = file
        self.settings, self._problem = file.read()
        app = QApplication.instance()
        assert isinstance(app, QApplication), "a window has an application"
        self._app = app
        self._effects = [one for one in _EFFECTS if self._app.isEffectEnabled(one)]
        hints = self._app.styleHints()
        assert hints is not None, "an application has hints"
        self._scheme = hints.colorScheme()
        hints.colorSchemeChanged.connect(self._follow_system)
        self._following = True
        self._apply()
        self._restore()

    # The look

    def set_theme(self, choice: str) -> None:
        """Show a theme of `settings.THEMES` from now on."""
        self._set(theme=choice)
        background = self._session.view.background
        if theme.colors() is theme.LIGHT and background != "white":
            self.told.emit(
                f"The picture keeps its {background} background: View > Background of the picture."
            )

    def set_text_size(self, per_cent: int) -> None:
        """Show text in so many per cent of the system's size, of `settings.TEXT_SIZES`."""
        self._set(text_size=per_cent)

    def set_reduced_motion(self, reduced: bool) -> None:
        """Move nothing that need not move, or move what the system wants moved."""
        self._set(reduced_motion=reduced)

    @property
    def still(self) -> bool:
        """Whether nothing is to move by itself but the rods: set here, or wished by the system."""
        style = self._app.style()
        moves = style is None or style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) > 0
        return self.settings.reduced_motion or not moves

    def toggle_full_screen(self) -> None:
        """Fill the screen, or leave that again."""
        if self._window.isFullScreen():
            self._window.setWindowState(
                self._window.windowState() & ~Qt.WindowState.WindowFullScreen
            )
        else:
            self._window.setWindowState(
                self._window.windowState() | Qt.WindowState.WindowFullScreen
            )
            self.told.emit("F11 leaves the full screen.")

    def reset_layout(self) -> None:
        """Put the panels where they belong."""
        self._arrangement.reset()
        self._file.keep(layout=b"")

    # What is kept

    def begin(self) -> None:
        """Arrange the panels of a window that has just been shown, and say what went wrong."""
        self._arrangement.restore(self.settings.layout)
        self._arrangement.follow_size()
        if self._problem:
            self.told.emit(self._problem)
            self._problem = ""

    def keep(self) -> None:
        """Keep how the window is left, which no longer follows the system."""
        hints = self._app.styleHints()
        if hints is not None and self._following:
            self._following = False
            hints.colorSchemeChanged.disconnect(self._follow_system)
        view = self._session.view
        self._file.keep(
            geometry=self._window.saveGeometry().data(), layout=self._arrangement.kept(),
            folder=str(self._session.movie_settings.folder),
            view={name: getattr(view, name) for name in TASTE},
        )  # fmt: skip

    def _restore(self) -> None:
        kept = self.settings
        if kept.geometry:
            # Qt moves a window back that would lie on a screen which is there no more.
            self._window.restoreGeometry(QByteArray(kept.geometry))
        if kept.view:
            self._session.set_view(**kept.view)
        if kept.folder and Path(kept.folder).is_dir():
            self._session.set_movie("folder", Path(kept.folder))

    def _set(self, **change: object) -> None:
        self.settings = replace(self.settings, **change)
        self._file.keep(**change)
        self._apply()

    def _apply(self) -> None:
        shown = theme.chosen(self.settings.theme, self._scheme)
        theme.apply(self._app, shown, self.settings.text_size)
        self._window.setAnimated(not self.still)
        for effect in self._effects:
            self._app.setEffectEnabled(effect, not self.settings.reduced_motion)
        if self._window.isVisible():
            self._arrangement.follow_text_size()
        self.changed.emit()

    def _follow_system(self, scheme: Qt.ColorScheme) -> None:
        self._scheme = scheme
        if self.settings.theme == "system":
            self._apply()
