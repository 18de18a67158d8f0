# SPDX-License-Identifier: GPL-3.0-or-later
"""The gallery: a card for each preset, with its picture and a sentence on what to look for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PyQt6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, pyqtSignal
from PyQt6.QtGui import (
    QFont,
    QKeyEvent,
    QPainter,
    QPalette,
    QPixmap,
    QResizeEvent,
    QTextLayout,
    QTextOption,
)
from PyQt6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListView,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from bacsim_gui.panels.compare import CompareTable
from bacsim_gui.panels.layout import label
from bacsim_gui.presets import Run

# A picture on a card; the files are twice as large, for screens of high resolution.
PICTURE = QSize(224, 144)
_PAD, _LINES = 10, 4
_ENTRY = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Entry:
    """A card. `run` is None where its file is broken; `about` says why then.

    `own` presets are the user's and can be deleted.
    """

    name: str
    title: str
    about: str
    picture: Path
    run: Run | None
    own: bool = False


class GalleryDialog(QDialog):
    """Shows cards; emits the entry that is to be opened or deleted.

    A click or Enter opens; while comparing a click only selects.
    """

    opened = pyqtSignal(object)
    delete_wanted = pyqtSignal(object)
    save_wanted = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Presets")
        self._now: Run | None = None
        self.cards = _Cards()
        self.cards.setAccessibleName("Presets")
        self.cards.itemClicked.connect(self._clicked)
        self.cards.itemActivated.connect(self._open)
        self.cards.currentItemChanged.connect(lambda *_: self._show_current())
        self.cards.delete_pressed.connect(self._delete)
        self.cards.customContextMenuRequested.connect(self._menu)
        self.table = CompareTable()
        self.table.setAccessibleName("What the preset would change")
        self.hint = label()
        self.compare = QPushButton("Compare with the current values")
        self.compare.setCheckable(True)
        self.compare.toggled.connect(self._compare)
        self.save = QPushButton("Save as preset…")
        self.save.clicked.connect(self.save_wanted)
        self.delete = QPushButton("Delete…")
        self.delete.clicked.connect(self._delete)
        self.open_button = QPushButton("Open")
        self.open_button.setProperty("accent", True)
        self.open_button.clicked.connect(self._open)
        self.close_button = QPushButton("Close")
        self.close_button.clicked.connect(self.reject)
        self.side = self._side()
        middle, below = QHBoxLayout(), QHBoxLayout()
        middle.setSpacing(12)
        middle.addWidget(self.cards, 1)
        middle.addWidget(self.side)
        for button in (self.compare, self.save):
            below.addWidget(button)
        below.addWidget(self.hint, 1)
        for button in (self.delete, self.open_button, self.close_button):
            below.addWidget(button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(14, 14, 14, 12)
        rows.setSpacing(10)
        rows.addLayout(middle, 1)
        rows.addLayout(below)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter belongs to the cards
        self._compare(False)
        if parent is not None:
            room = parent.size() - QSize(60, 80)
            self.resize(QSize(1010, 680).boundedTo(room).expandedTo(QSize(720, 460)))
        self.cards.setFocus()

    def show_entries(self, entries: Sequence[Entry], now: Run, current: str = "") -> None:
        """Show these cards, `current` (or the one that was) chosen; `now` is compared with."""
        self._now = now
        chosen = self.current
        current = chosen.name if chosen is not None and not current else current
        self.cards.clear()
        for entry in entries:
            item = QListWidgetItem(entry.title)
            item.setData(_ENTRY, entry)
            item.setData(Qt.ItemDataRole.DecorationRole, QPixmap(str(entry.picture)))
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, entry.about)
            item.setToolTip(entry.about)
            self.cards.addItem(item)
            if entry.name == current:
                self.cards.setCurrentItem(item)
        if self.cards.currentRow() < 0:
            self.cards.setCurrentRow(0)
        self._show_current()

    def show_now(self, now: Run) -> None:
        """Compare with `now` from now on."""
        self._now = now
        self._show_current()

    @property
    def current(self) -> Entry | None:
        """The entry that is chosen."""
        item = self.cards.currentItem()
        return None if item is None else item.data(_ENTRY)

    def _side(self) -> QWidget:
        side = QWidget()
        side.setFixedWidth(330)
        rows = QVBoxLayout(side)
        rows.setContentsMargins(0, 0, 0, 0)
        self.title, self.about = label(role="heading", wrap=True), label(wrap=True)
        self.same = label(wrap=True)
        for widget in (self.title, self.about, self.same):
            rows.addWidget(widget)
        rows.addWidget(self.table, 1)
        rows.addStretch(0)
        return side

    def _compare(self, on: bool) -> None:
        self.side.setVisible(on)
        self.open_button.setVisible(on)
        self.hint.setText(
            "A click chooses, Enter opens" if on else "A click or Enter opens; arrows move"
        )
        self.hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._show_current()
        self.cards.setFocus()

    def _show_current(self) -> None:
        entry = self.current
        self.delete.setVisible(entry is not None and entry.own)
        self.open_button.setEnabled(entry is not None and entry.run is not None)
        if entry is None or not self.compare.isChecked():
            return
        self.title.setText(entry.title)
        self.about.setText(entry.about)
        count = self.table.show_runs(self._now, entry.run)
        self.table.setVisible(count > 0)
        self.same.setVisible(entry.run is not None)
        self.same.setText(
            "Nothing would change: these are the current values."
            if count == 0
            else f"{count} value{'' if count == 1 else 's'} would change:"
        )

    def _clicked(self, item: QListWidgetItem) -> None:
        if not self.compare.isChecked():
            self._open(item)

    def _open(self, *_: object) -> None:
        entry = self.current
        if entry is not None and entry.run is not None and self.isVisible():
            self.opened.emit(entry)

    def _delete(self) -> None:
        entry = self.current
        if entry is not None and entry.own:
            self.delete_wanted.emit(entry)

    def _menu(self, at: QPoint) -> None:
        item, entry = self.cards.itemAt(at), self.current
        view = self.cards.viewport()
        if item is None or entry is None or view is None:
            return
        menu = QMenu(self)
        if entry.run is not None:
            menu.addAction("Open", self._open)
            menu.addAction("Compare", lambda: self.compare.setChecked(True))
        if entry.own:
            menu.addAction("Delete…", self._delete)
        menu.exec(view.mapToGlobal(at))


class _Cards(QListWidget):
    """Cards in rows, as many in each as there is room for."""

    delete_pressed = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMovement(QListView.Movement.Static)
        self.setUniformItemSizes(True)
        self.setSpacing(4)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._painter = _CardPainter(self)
        self.setItemDelegate(self._painter)

    def resizeEvent(self, e: QResizeEvent | None) -> None:
        """Let the cards fill the width."""
        view = self.viewport()
        if view is not None:
            around = 2 * _PAD + 2 * self.spacing()
            columns = max(1, view.width() // (PICTURE.width() + around))
            width = view.width() // columns - around
            height = width * PICTURE.height() // PICTURE.width()
            self._painter.picture = QSize(width, height)
            self.scheduleDelayedItemsLayout()
        super().resizeEvent(e)

    def keyPressEvent(self, e: QKeyEvent | None) -> None:
        if e is not None and e.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        elif e is not None and e.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            item = self.currentItem()
            if item is not None:
                self.itemActivated.emit(item)
        else:
            super().keyPressEvent(e)


class _CardPainter(QStyledItemDelegate):
    """Draws a card in the colours of the palette."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.picture = PICTURE

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        picture, line = self.picture, option.fontMetrics.lineSpacing()
        return QSize(picture.width() + 2 * _PAD, picture.height() + 3 * _PAD + (_LINES + 1) * line)

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        if painter is None:
            return
        entry: Entry = index.data(_ENTRY)
        picture = self.picture
        palette, line = option.palette, option.fontMetrics.lineSpacing()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = option.rect.adjusted(2, 2, -2, -2)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        raised = palette.color(QPalette.ColorRole.Button)
        edge = palette.color(QPalette.ColorRole.Highlight if chosen else QPalette.ColorRole.Button)
        painter.setPen(edge)
        painter.setBrush(raised if chosen or over else palette.color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(box, 6, 6)
        top = option.rect.topLeft() + QPoint(_PAD, _PAD)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        pixels = index.data(Qt.ItemDataRole.DecorationRole)
        if pixels.isNull():
            painter.fillRect(QRect(top, picture), raised)
        else:
            painter.drawPixmap(QRect(top, picture), pixels)
        text = QRect(top + QPoint(0, picture.height() + _PAD // 2), QSize(picture.width(), line))
        font = QFont(option.font)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(palette.color(QPalette.ColorRole.Text))
        room = picture.width() - (option.fontMetrics.horizontalAdvance("own  ") if entry.own else 0)
        title = painter.fontMetrics().elidedText(entry.title, Qt.TextElideMode.ElideRight, room)
        painter.drawText(text, Qt.AlignmentFlag.AlignLeft, title)
        painter.setFont(option.font)
        painter.setPen(palette.color(QPalette.ColorRole.PlaceholderText))
        if entry.own:
            painter.drawText(text, Qt.AlignmentFlag.AlignRight, "own")
        if entry.run is None:
            painter.setPen(palette.color(QPalette.ColorRole.BrightText))
        about = text.translated(0, line + 2)
        about.setHeight(_LINES * line)
        _draw_lines(painter, about, entry.about, option.font)
        painter.restore()


def _draw_lines(painter: QPainter, box: QRect, text: str, font: QFont) -> None:
    """Draw `text` in as many lines as `box` has room for, the last one elided."""
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    height = painter.fontMetrics().lineSpacing()
    most = box.height() // height
    layout.beginLayout()
    for number in range(most):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(box.width())
        start = line.textStart()
        words = text[start : start + line.textLength()]
        if number == most - 1:
            words = painter.fontMetrics().elidedText(
                text[start:], Qt.TextElideMode.ElideRight, box.width()
            )
        painter.drawText(
            box.adjusted(0, number * height, 0, 0), Qt.AlignmentFlag.AlignLeft, words.strip()
        )
    layout.endLayout()
