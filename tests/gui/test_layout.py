# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panels are made of: groups that fold away, and text that gives way to dots."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from bacsim_gui.panels.elided import ElidedLabel
from bacsim_gui.panels.layout import Column, Group
from tests.gui.events import live

pytestmark = pytest.mark.gl  # for the display


def test_a_group_folds_away_by_mouse_and_key_and_leaves_no_gap(qtbot):
    column, upper, lower = Column(), Group("upper"), Group("lower")
    qtbot.addWidget(column)
    inside, below = QLineEdit(), QLineEdit()
    upper.add(inside)
    lower.add(below)
    column.add(upper)
    column.add(lower)
    column.resize(300, 400)
    column.show()
    live(0.05)
    top, icon = lower.y(), upper.heading.icon().cacheKey()
    QTest.mouseClick(upper.heading, Qt.MouseButton.LeftButton)
    live(0.05)
    assert not inside.isVisible()
    assert below.isVisible()
    assert lower.y() <= top - inside.height()
    assert upper.heading.icon().cacheKey() != icon
    QTest.keyClick(upper.heading, Qt.Key.Key_Space)
    live(0.05)
    assert inside.isVisible()
    assert lower.y() == top


def test_text_without_room_ends_in_dots_and_is_kept_whole(qtbot):
    around, label, other = QWidget(), ElidedLabel(), ElidedLabel(Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(around)
    row = QHBoxLayout(around)
    for one in (label, other):
        one.setFixedWidth(120)
        row.addWidget(one)
    around.show()

    def pixels(one: ElidedLabel, text: str) -> np.ndarray:
        one.setText(text)
        image = one.grab().toImage()
        bits = image.constBits()
        assert bits is not None
        return np.frombuffer(bits.asstring(image.sizeInBytes()), np.uint8).copy()

    for one, shown in ((label, "A name that …"), (other, "A name… whole")):
        long = "A name that there is room for only if the window is whole"
        one.setFixedWidth(one.fontMetrics().horizontalAdvance(shown))
        live(0.02)
        seen = pixels(one, long)
        assert one.text() == long
        meant = one.fontMetrics().elidedText(long, one.mode, one.width())
        assert meant.endswith("…") == (one is label)
        assert np.array_equal(seen, pixels(one, meant))
        assert not np.array_equal(seen, pixels(one, "A name"))
        # It may be made narrower still.
        assert one.minimumSizeHint().width() < one.fontMetrics().horizontalAdvance("A n")


def test_text_is_shown_as_it_is(qtbot):
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText("<b>no</b>")
    assert label.sizeHint().width() > label.fontMetrics().horizontalAdvance("no") * 2
