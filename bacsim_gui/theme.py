# SPDX-License-Identifier: GPL-3.0-or-later
"""How the window looks: one dark palette, one style sheet, the icons; the only home of colours."""

from PyQt6.QtCore import QSize
from PyQt6.QtGui import QColor, QIcon, QPalette
from PyQt6.QtWidgets import QApplication

from bacsim_gui.resources import assets_dir

WINDOW = "#14171d"
PANEL = "#1a1e26"
RAISED = "#252b36"
FIELD = "#0f1217"
LINE = "#2d3441"
TEXT = "#dfe4ec"
MUTED = "#8f98a6"
FAINT = "#5b6472"
ACCENT = "#5c9dff"
ACCENT_DEEP = "#2f5fa8"
WARN = "#e6b450"
ERROR = "#ff7b72"
GOOD = "#5fc98f"

# Widths that panels share, in pixels at scale 1.
NAME_WIDTH = 124
SIDE_NAME_WIDTH = 92
FIELD_WIDTH = 116
PANEL_WIDTH = 400
SIDE_WIDTH = 324
PAST_WIDTH = 190

_STYLE = f"""
QToolTip {{ color: {TEXT}; background: {RAISED}; border: 1px solid {LINE}; padding: 5px; }}
QMainWindow::separator {{ background: {WINDOW}; width: 4px; height: 4px; }}
QDockWidget {{ color: {MUTED}; font-weight: 600; }}
QDockWidget::title {{ background: {WINDOW}; padding: 6px 10px; }}
QTabBar::tab {{ background: {WINDOW}; color: {MUTED}; padding: 6px 14px; border: none;
    border-top: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {TEXT}; background: {PANEL}; border-top: 2px solid {ACCENT}; }}
QTabBar::tab:hover {{ color: {TEXT}; }}
QToolBar {{ background: {WINDOW}; border: none; border-bottom: 1px solid {LINE};
    padding: 5px 8px; spacing: 3px; }}
QToolBar::separator {{ background: {LINE}; width: 1px; margin: 5px 6px; }}
QToolBar QToolButton {{ border: 1px solid transparent; border-radius: 5px; padding: 4px 6px; }}
QToolButton:hover {{ background: {RAISED}; }}
QToolButton:pressed, QToolButton:checked {{ background: {RAISED}; border-color: {LINE}; }}
QToolBar QToolButton:disabled {{ color: {FAINT}; }}
QMenuBar {{ background: {WINDOW}; padding: 2px 6px; }}
QMenuBar::item {{ padding: 4px 9px; border-radius: 4px; }}
QMenuBar::item:selected, QMenu::item:selected {{ background: {RAISED}; }}
QMenu {{ background: {PANEL}; border: 1px solid {LINE}; padding: 4px; }}
QMenu::item {{ padding: 5px 22px; border-radius: 4px; }}
QMenu::item:disabled {{ color: {MUTED}; }}
QMenu::separator {{ background: {LINE}; height: 1px; margin: 4px 8px; }}
QStatusBar {{ background: {WINDOW}; border-top: 1px solid {LINE}; }}
QStatusBar::item {{ border: none; }}
QScrollArea, QScrollArea > QWidget > QWidget {{ background: {PANEL}; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {LINE}; border-radius: 4px; min-height: 30px;
    margin: 1px; }}
QScrollBar::handle:vertical:hover {{ background: {MUTED}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QLineEdit, QComboBox, QSpinBox {{ background: {FIELD}; border: 1px solid {LINE}; border-radius: 4px;
    padding: 2px 6px; min-height: 18px; selection-background-color: {ACCENT}; }}
QLineEdit:hover, QComboBox:hover {{ border-color: {MUTED}; }}
QLineEdit:focus, QComboBox:focus {{ border-color: {ACCENT}; }}
QLineEdit[refused="true"] {{ border-color: {ERROR}; }}
QLineEdit:disabled, QComboBox:disabled {{ color: {MUTED}; background: {PANEL}; }}
QComboBox::drop-down {{ border: none; width: 20px; }}
QComboBox::down-arrow {{ image: url(@icons/chevron-down.svg); width: 12px; height: 12px; }}
QPushButton::menu-indicator {{ image: url(@icons/chevron-down.svg); width: 12px; height: 12px;
    subcontrol-position: right center; right: 6px; }}
QMenu::indicator {{ width: 14px; height: 14px; left: 5px; border: 1px solid {MUTED};
    border-radius: 3px; background: {FIELD}; }}
QMenu::indicator:checked {{ background: {ACCENT}; border-color: {ACCENT};
    image: url(@icons/check.svg); }}
QComboBox QAbstractItemView {{ background: {PANEL}; border: 1px solid {LINE};
    selection-background-color: {RAISED}; selection-color: {TEXT}; outline: none; }}
QPushButton {{ background: {RAISED}; border: 1px solid {LINE}; border-radius: 4px;
    padding: 4px 11px; }}
QPushButton:hover {{ border-color: {MUTED}; }}
QPushButton:pressed {{ background: {LINE}; }}
QPushButton:disabled {{ color: {FAINT}; background: {PANEL}; }}
QPushButton[accent="true"]:enabled {{ background: {ACCENT}; border-color: {ACCENT};
    color: {FIELD}; font-weight: 600; }}
QCheckBox {{ spacing: 7px; }}
QCheckBox::indicator {{ width: 14px; height: 14px; border: 1px solid {MUTED}; border-radius: 3px;
    background: {FIELD}; }}
QCheckBox::indicator:checked {{ background: {ACCENT}; border-color: {ACCENT};
    image: url(@icons/check.svg); }}
QSlider {{ min-height: 20px; }}
QSlider::groove:horizontal {{ background: {LINE}; height: 3px; border-radius: 1px; }}
QSlider::sub-page:horizontal {{ background: {ACCENT}; border-radius: 1px; }}
QSlider::sub-page:horizontal:disabled {{ background: {LINE}; }}
QSlider::handle:horizontal:disabled {{ background: {MUTED}; }}
QSlider::handle:horizontal {{ background: {TEXT}; width: 12px; height: 12px; margin: -5px 0;
    border-radius: 6px; }}
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus {{ background: {ACCENT}; }}
QLabel[role="muted"] {{ color: {MUTED}; }}
QLabel[role="value"] {{ color: {TEXT}; }}
QLabel[role="waiting"] {{ color: {TEXT}; background: {RAISED}; border: 1px solid {WARN};
    border-radius: 6px; padding: 9px 18px; }}
QLabel[role="heading"] {{ color: {TEXT}; font-weight: 600; }}
QLabel[role="error"] {{ color: {ERROR}; }}
QFrame[role="warning-box"] {{ background: #2c2616; border: none; border-left: 3px solid {WARN}; }}
QFrame[role="warning-box"] QLabel {{ color: {WARN}; }}
QFrame[role="error-box"] {{ background: #34191b; border: none; border-left: 3px solid {ERROR}; }}
QFrame[role="past-bar"] {{ background: {WINDOW}; border: none; border-top: 1px solid {LINE}; }}
QLabel[role="past"] {{ color: {MUTED}; }}
QLabel[role="past"][looking="true"] {{ color: {ACCENT}; font-weight: 600; }}
QProgressBar {{ background: {FIELD}; border: 1px solid {LINE}; border-radius: 4px;
    text-align: center; color: {TEXT}; min-height: 18px; }}
QProgressBar::chunk {{ background: {ACCENT_DEEP}; border-radius: 3px; }}
QFrame[role="card"] {{ background: {PANEL}; border: none; border-bottom: 1px solid {LINE}; }}
QFrame[role="footer"] {{ background: {PANEL}; border: none; border-top: 1px solid {LINE}; }}
"""


def icon(name: str) -> QIcon:
    """The icon `assets/icons/NAME.svg`."""
    return QIcon(str(assets_dir() / "icons" / f"{name}.svg"))


def icon_size() -> QSize:
    """The size of the icons in the tool bar."""
    return QSize(18, 18)


def apply(app: QApplication) -> None:
    """Give the whole application the dark look."""
    app.setStyle("Fusion")
    palette = QPalette()
    role = QPalette.ColorRole
    for colored, color in (
        (role.Window, WINDOW), (role.WindowText, TEXT), (role.Base, FIELD),
        (role.AlternateBase, PANEL), (role.Text, TEXT), (role.Button, RAISED),
        (role.ButtonText, TEXT), (role.BrightText, ERROR), (role.ToolTipBase, RAISED),
        (role.ToolTipText, TEXT), (role.PlaceholderText, MUTED), (role.Link, ACCENT),
        (role.Highlight, ACCENT), (role.HighlightedText, FIELD),
    ):  # fmt: skip
        palette.setColor(colored, QColor(color))
    for colored in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, colored, QColor(MUTED))
    app.setPalette(palette)
    app.setStyleSheet(_STYLE.replace("@icons", (assets_dir() / "icons").as_posix()))
    app.setWindowIcon(icon("bacsim"))
