# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a window without a clock in the assertion: only a limit that a hang would reach."""

import time

from PyQt6.QtCore import QCoreApplication, Qt
from PyQt6.QtTest import QTest

from bacsim_gui.panels.number import NumberField


def until(condition, seconds=60):
    """Let the window live until `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"still not so after {seconds} s"
        live(0.005)


def live(seconds):
    """Let the window live for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QCoreApplication.processEvents()
        time.sleep(0.002)


def type_into(field: NumberField, text: str):
    """Replace the text of a field and enter it, key by key."""
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
