# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool bar: run and pause, steps, reset, seed, speed, presets, recording, screenshot."""

from collections.abc import Sequence

from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QResizeEvent
from PyQt6.QtWidgets import QCheckBox, QSizePolicy, QToolBar, QToolButton, QWidget

from bacsim_gui import theme
from bacsim_gui.panels.layout import Choice, label
from bacsim_gui.panels.number import NumberField
from bacsim_gui.session import Session

# Apply, Reset and New seed all begin again; their tips say how they differ.
RESET = (
    "Begin again from the same start and seed, with the parameters as they are now. What is not "
    "applied yet goes on waiting."
)
NEW_SEED = "Begin again from other random places: the next seed is drawn, all else stays."
TRACE = "Profiler trace: measure some steps, to see which part of a step takes how long."

# From this width on there is room for more names.
NAMED = 1200


class TransportBar(QToolBar):
    """Emits what the user asks of time; shows what is set."""

    run_toggled = pyqtSignal()
    stepped = pyqtSignal(bool)
    reset_wanted = pyqtSignal()
    seed_wanted = pyqtSignal()
    seed_typed = pyqtSignal(str)
    speed_typed = pyqtSignal(str)
    auto_toggled = pyqtSignal(bool)
    preset_chosen = pyqtSignal(str)
    gallery_wanted = pyqtSignal()
    record_toggled = pyqtSignal()
    screenshot_wanted = pyqtSignal()
    trace_wanted = pyqtSignal()

    def __init__(self, presets: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__("Transport", parent)
        self.setMovable(False)
        theme.fix_icons(self, 18)
        # What has no room is behind this button, whose own icon the style draws in black.
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if more is not None:
            more.setIcon(theme.icon("more"))
        self.run = self._action("run", "Run", "Space", self.run_toggled, wide=True)
        self.step = self._action("step", "Step", "S", lambda: self.stepped.emit(False))
        self.steps = self._action("steps", "K steps", "Shift+S", lambda: self.stepped.emit(True))
        self.addSeparator()
        self.reset = self._action("reset", "Reset", "R", self.reset_wanted)
        self.reset.setToolTip(_tip(RESET, "R"))
        self.new_seed = self._action("seed", "New seed", "N", self.seed_wanted)
        self.new_seed.setToolTip(_tip(NEW_SEED, "N"))
        self.seed = self._field("seed", 84, "Seed of the start and of the noise.", self.seed_typed)
        self.addSeparator()
        tip = "Steps between two frames. Up and down arrows change it."
        self.speed = self._field("K", 64, tip, self.speed_typed)
        self.speed.nudged.connect(self._nudge)
        self.auto = QCheckBox("auto")
        self.auto.setToolTip("As many steps as fit between two frames: K follows the frame budget.")
        self.auto.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.auto.toggled.connect(self.auto_toggled)
        self.addWidget(label(" "))
        self.addWidget(self.auto)
        self.addSeparator()
        self.preset = Choice()
        self.preset.addItems(presets)
        self.preset.setPlaceholderText("own run")
        self.preset.setToolTip("Begin again with a preset.")
        self.preset.setAccessibleName("preset")
        theme.fix_width(self.preset, 128)
        self.preset.textActivated.connect(self.preset_chosen)
        self.addWidget(self.preset)
        self.gallery = self._action("gallery", "Presets…", "Ctrl+G", self.gallery_wanted)
        self.gallery.setToolTip("All presets, with pictures, and your own (Ctrl+G)")
        stretch = QWidget()
        stretch.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.addWidget(stretch)
        self.record = self._action("record", "Record", "M", self.record_toggled, wide=True)
        self.shot = self._action("screenshot", "Screenshot", "P", self.screenshot_wanted)
        self.shot.setToolTip("Save the picture as it is in the window (P)")
        # In a menu alone: few need it, and not often.
        self.trace = QAction(theme.icon("trace"), "Write a profiler trace", self)
        self.trace.setToolTip(TRACE)
        self.trace.triggered.connect(self.trace_wanted)

    def show_values(self, session: Session, K: int) -> None:
        """Show the session; no signal is emitted. K is what the engine uses now."""
        self.run.setText("Pause" if session.running else "Run")
        self.run.setIcon(theme.icon("pause" if session.running else "run"))
        self.run.setToolTip(f"{self.run.text()} (Space)")
        self.seed.show_value(session.seed)
        self.speed.show_value(K)
        self.speed.setEnabled(not session.auto)
        self.steps.setToolTip(f"{K:,} steps: up to the next frame (Shift+S)")
        with QSignalBlocker(self.auto):
            self.auto.setChecked(session.auto)
        with QSignalBlocker(self.preset):
            # An own run is none of them: -1, which shows the placeholder.
            self.preset.setCurrentIndex(self.preset.findText(session.preset))
        recording = session.movie is not None
        self.record.setText("Finish" if recording else "Record")
        self.record.setIcon(theme.icon("finish" if recording else "record"))
        self.record.setToolTip("Finish the recording (M)" if recording else "Record (M)")
        self.step.setToolTip("Step (S)")
        looking = session.looking is not None
        for action in (self.run, self.step, self.steps, self.record, self.trace):
            action.setEnabled(not looking)
            if looking:
                action.setToolTip("Continue from the state that is shown, or go back to now, first")

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Name what begins again beside its icon, where there is room for that."""
        super().resizeEvent(a0)
        named = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        plain = Qt.ToolButtonStyle.ToolButtonIconOnly
        for action in (self.reset, self.new_seed):
            button = self.widgetForAction(action)
            if isinstance(button, QToolButton):
                button.setToolButtonStyle(named if self.width() >= NAMED else plain)

    def _action(self, icon: str, text: str, keys: str, act, *, wide: bool = False) -> QAction:
        action = QAction(theme.icon(icon), text, self)
        action.triggered.connect(act)
        if keys:
            action.setShortcut(keys)
        action.setToolTip(f"{text} ({keys})" if keys else text)
        self.addAction(action)
        button = self.widgetForAction(action)
        if isinstance(button, QToolButton):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            if wide:
                button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
                theme.keep_least_width(button, 84)
        return action

    def _field(self, name: str, width: int, tip: str, typed) -> NumberField:
        title = label(name)
        title.setContentsMargins(4, 0, 4, 0)
        title.setToolTip(tip)
        self.addWidget(title)
        field = NumberField()
        theme.fix_width(field, width)
        field.setToolTip(tip)
        field.setAccessibleName(name)
        field.setAccessibleDescription(tip)
        field.typed.connect(typed)
        self.addWidget(field)
        return field

    def _nudge(self, direction: int) -> None:
        K = int(self.speed.text())
        self.speed_typed.emit(str(max(1, K + direction * max(1, K // 20))))


def _tip(text: str, keys: str) -> str:
    return f"<p>{text} ({keys})</p>"  # as rich text it is wrapped
