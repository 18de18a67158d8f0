# SPDX-License-Identifier: GPL-3.0-or-later
"""How the window looks: a dark and a light set of colours, icons, sizes; the only home of colours.

`apply` may be called at any time, and what is on the screen follows: the palette and the style
sheet by themselves, an icon when it is next drawn, a size that `fix_width` gave at once. Whoever
paints for himself asks `colors()` each time.
"""

from collections import OrderedDict
from dataclasses import asdict, dataclass
from functools import lru_cache
from string import Template
from typing import ClassVar

from PyQt6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PyQt6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QIcon,
    QIconEngine,
    QPainter,
    QPalette,
    QPixmap,
)
from PyQt6.QtSvg import QSvgRenderer
from PyQt6.QtWidgets import QApplication, QToolBar, QWidget

from bacsim_gui.resources import asset_text, assets_dir
from bacsim_gui.settings import THEMES

# Widths that panels share, in pixels at the size of text that `_SAMPLE_WIDTH` was measured at.
NAME_WIDTH = 112
SIDE_NAME_WIDTH = 86
FIELD_WIDTH = 102
PANEL_WIDTH = 400
SIDE_WIDTH = 324
PAST_WIDTH = 180
_SAMPLE, _SAMPLE_WIDTH = "activity_thresh S*", 105.78


@dataclass(frozen=True)
class Colors:
    """One set of colours; each name is also one in the style sheet.

    Attributes:
        window, panel, raised, field: grounds, from the frame of the window to an entry.
        line: borders.
        text, muted: letters, those of lesser weight; `faint` is for what is disabled.
        accent, on_accent: what is chosen or at work, and letters on it.
        accent_deep: below `text`: the done part of a progress bar, a button that is checked.
        warn, error, good: states; `warn_box` and `error_box` are grounds for them.
        record: the dot of a recording.
    """

    window: str
    panel: str
    raised: str
    field: str
    line: str
    text: str
    muted: str
    faint: str
    accent: str
    on_accent: str
    accent_deep: str
    warn: str
    error: str
    good: str
    warn_box: str
    error_box: str
    record: str


DARK = Colors(
    window="#14171d", panel="#1a1e26", raised="#252b36", field="#0f1217", line="#2d3441",
    text="#dfe4ec", muted="#98a1af", faint="#5b6472", accent="#5c9dff", on_accent="#0f1217",
    accent_deep="#2f5fa8", warn="#e6b450", error="#ff7b72", good="#5fc98f",
    warn_box="#2c2616", error_box="#34191b", record="#f0616d",
)  # fmt: skip
LIGHT = Colors(
    window="#e6e9ee", panel="#f5f6f8", raised="#dde2ea", field="#ffffff", line="#bcc4d0",
    text="#1b2029", muted="#4e5765", faint="#9aa3b0", accent="#1c5bbd", on_accent="#ffffff",
    accent_deep="#a9c8f5", warn="#7a5200", error="#ae2219", good="#17683b",
    warn_box="#faeecb", error_box="#fbe1de", record="#d3303f",
)  # fmt: skip

_shown = DARK
_applied: tuple[Colors, int] | None = None
_base_font: QFont | None = None


def colors() -> Colors:
    """The colours that are shown now."""
    return _shown


def chosen(choice: str, scheme: Qt.ColorScheme) -> Colors:
    """The colours for a choice of `THEMES`, on a desktop with this scheme; dark where it has none.

    Raises:
        ValueError: no such choice.
    """
    if choice not in THEMES:
        raise ValueError(f"theme = {choice!r} is unknown: use one of {', '.join(THEMES)}.")
    light = choice == "light" or (choice == "system" and scheme == Qt.ColorScheme.Light)
    return LIGHT if light else DARK


def apply(app: QApplication, shown: Colors = DARK, text_size: int = 100) -> None:
    """Give the whole application these colours, and letters of so many per cent of the system's."""
    global _shown, _applied, _base_font  # noqa: PLW0603
    if (shown, text_size) == _applied:
        return
    _shown, _applied = shown, (shown, text_size)
    if _base_font is None:
        _base_font = app.font()
        app.setStyle("Fusion")
        app.setWindowIcon(QIcon(str(assets_dir() / "icons" / "bacsim.svg")))
    font = QFont(_base_font)
    if font.pointSizeF() > 0:
        font.setPointSizeF(_base_font.pointSizeF() * text_size / 100)
    else:
        font.setPixelSize(round(_base_font.pixelSize() * text_size / 100))
    if font != app.font():
        app.setFont(font)
    app.setPalette(_palette(shown))
    app.setStyleSheet(_style_sheet(shown))
    for widget in app.allWidgets():
        _fit(widget)


def _style_sheet(shown: Colors) -> str:
    icons, light = (assets_dir() / "icons").as_posix(), "-light" if shown == LIGHT else ""
    return Template(asset_text("style.qss")).substitute(
        asdict(shown), check=f"{icons}/check{light}.svg", box=scaled(14), arrow=scaled(12),
        chevron=f"{icons}/chevron-down{light}.svg",
        line_height=round(QFontMetricsF(QApplication.font()).height()) + 4,
    )  # fmt: skip


def _palette(shown: Colors) -> QPalette:
    palette, role = QPalette(), QPalette.ColorRole
    for colored, color in (
        (role.Window, shown.window), (role.WindowText, shown.text), (role.Base, shown.field),
        (role.AlternateBase, shown.panel), (role.Text, shown.text), (role.Button, shown.raised),
        (role.ButtonText, shown.text), (role.BrightText, shown.error),
        (role.ToolTipBase, shown.raised), (role.ToolTipText, shown.text),
        (role.PlaceholderText, shown.muted), (role.Link, shown.accent),
        (role.Highlight, shown.accent), (role.HighlightedText, shown.on_accent),
    ):  # fmt: skip
        palette.setColor(colored, QColor(color))
    for colored in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, colored, QColor(shown.faint))
    return palette


# Sizes


def scaled(pixels: int) -> int:
    """So many pixels at the usual size of text, at the present one."""
    width = QFontMetricsF(QApplication.font()).horizontalAdvance(_SAMPLE)
    return round(pixels * max(1.0, width / _SAMPLE_WIDTH))


def fix_width(widget: QWidget, pixels: int) -> None:
    """Keep a widget as wide as `pixels` are at the usual size of text."""
    widget.setProperty("usual_width", pixels)
    _fit(widget)


def keep_least_width(widget: QWidget, pixels: int) -> None:
    """Keep a widget at least as wide as `pixels` are at the usual size of text."""
    widget.setProperty("usual_least_width", pixels)
    _fit(widget)


def fix_icons(bar: QToolBar, pixels: int) -> None:
    """Keep the icons of a tool bar as large as `pixels` are at the usual size of text."""
    bar.setProperty("usual_icons", pixels)
    _fit(bar)


def _fit(widget: QWidget) -> None:
    width, icons = widget.property("usual_width"), widget.property("usual_icons")
    least = widget.property("usual_least_width")
    if least is not None:
        widget.setMinimumWidth(scaled(least))
    if width is not None:
        widget.setFixedWidth(scaled(width))
    if icons is not None and isinstance(widget, QToolBar):
        widget.setIconSize(QSize(scaled(icons), scaled(icons)))
        layout = widget.layout()
        if layout is not None:
            layout.invalidate()


# Icons


def icon(name: str) -> QIcon:
    """The icon `assets/icons/NAME.svg`, in the colours of the moment at which it is drawn."""
    return QIcon(_Drawn(name))


class _Drawn(QIconEngine):
    """Draws an icon from its file each time; disabled, it is faint all over."""

    # Pixmaps of late: styles ask for the same ones at every paint.
    _made: ClassVar[OrderedDict[tuple, QPixmap]] = OrderedDict()

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def clone(self) -> QIconEngine:
        return _Drawn(self._name)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        if size.isEmpty():
            return QPixmap()
        disabled = mode == QIcon.Mode.Disabled
        key = (self._name, size.width(), size.height(), disabled, _shown)
        made = self._made.get(key)
        if made is None:
            made = QPixmap(size)
            made.fill(Qt.GlobalColor.transparent)
            painter = QPainter(made)
            text = _recolored(self._name, _shown, disabled)
            QSvgRenderer(QByteArray(text.encode())).render(painter, QRectF(made.rect()))
            painter.end()
            self._made[key] = made
            while len(self._made) > 200:
                self._made.popitem(last=False)
        return made

    def paint(
        self, painter: QPainter | None, rect: QRect, mode: QIcon.Mode, state: QIcon.State
    ) -> None:
        device = painter.device() if painter is not None else None
        if painter is None or device is None:
            return
        ratio = device.devicePixelRatioF()
        painter.drawPixmap(rect, self.pixmap(rect.size() * ratio, mode, state))


@lru_cache(maxsize=100)
def _recolored(name: str, shown: Colors, disabled: bool) -> str:
    """The text of an icon's file, whose colours are those of the dark set."""
    text = asset_text("icons", f"{name}.svg")
    for role in ("text", "muted", "record"):
        color = shown.faint if disabled else getattr(shown, role)
        text = text.replace(_DRAWN_IN[role], color)
    return text


# The colours that the files are drawn in.
_DRAWN_IN = {"text": "#dfe4ec", "muted": "#8f98a6", "record": "#f0616d"}
