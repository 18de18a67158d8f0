# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong is told with a remedy and with details to copy, and ends nothing."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication

from bacsim_gui import __version__
from bacsim_gui.panels.details import DetailsDialog
from bacsim_gui.selftest import Graphics
from tests.gui.events import live, type_into, until
from tests.gui.fitting import cut_off, name_of, reachable
from tests.gui.windows import begin, shown, step

pytestmark = pytest.mark.gl


@pytest.fixture
def window(one_window):
    begin(one_window)
    QApplication.clipboard().clear()
    yield one_window
    for dialog in one_window.findChildren(DetailsDialog):
        dialog.close()
    live(0.01)  # until it is deleted


def opened(window, what=None) -> DetailsDialog:
    if what is not None:
        QTest.mouseClick(what, Qt.MouseButton.LeftButton)
    (dialog,) = window.findChildren(DetailsDialog)
    assert dialog.isVisible()
    assert not dialog.isModal()
    return dialog


def test_an_error_that_nobody_foresaw_ends_nothing_and_can_be_copied(window):
    """The engine is broken for real, in its own thread, and mended again."""
    before, driver = step(window), window.engine._worker._driver
    driver.advance = None
    QTest.keyClick(window, Qt.Key.Key_S)
    until(lambda: window.session.problem is not None)
    assert window.isVisible()
    assert window.engine.is_alive()
    assert np.array_equal(window.shown.rods, before.rods)
    dialog = opened(window, window.banner.details)
    assert "unexpected error (TypeError" in dialog.words.text()
    assert "press Run to go on" in dialog.words.text()
    details = dialog.details.toPlainText()
    for word in ("Traceback (most recent call last)", "driver.advance", f"bacsim {__version__}",
                 "OpenGL", "device CPU", "Params(", "seed 1"):  # fmt: skip
        assert word in details
    QTest.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == f"{dialog.words.text()}\n\n{details}"
    # The state was kept: the run goes on from it, dialog open or not.
    del driver.advance
    step(window)
    assert dialog.isVisible()
    assert window.banner.isHidden()
    assert window.frame.snapshot.step == before.step + 1


def test_a_refusal_of_the_engine_has_details_too(window):
    window.session.set_running(True)
    until(lambda: window.frame.snapshot.step > 0)
    type_into(window.parameters.rows["dt"].number, "1e30")
    until(lambda: window.session.problem is not None)
    dialog = opened(window, window.banner.details)
    assert "dt" in dialog.words.text()
    assert "SimulationError" in dialog.details.toPlainText()
    assert np.isfinite(window.frame.snapshot.rods).all()


def test_an_error_of_the_window_itself_is_told_with_its_traceback(window):
    try:
        raise KeyError("lost")
    except KeyError as error:
        window.report_exception(KeyError, error, error.__traceback__)
    dialog = opened(window, window.banner.details)
    assert "KeyError" in dialog.words.text()
    assert "raise KeyError" in dialog.details.toPlainText()
    window.session.dismiss_problem()
    step(window)


def test_the_machine_is_judged_and_its_hints_are_one_click_away(window):
    until(lambda: window.canvas.graphics is not None and window.engine.status.device)
    window.canvas.graphics = Graphics("Broadcom", "V3D", "OpenGL ES 3.1", (3, 1), es=True)
    window._look_for_opengl()
    assert window.status_bar.hints.text() == "1 hint"
    dialog = opened(window, window.status_bar.hints)
    assert "Only OpenGL ES is offered here (V3D)" in dialog.words.text()
    assert "LIBGL_ALWAYS_SOFTWARE=1" in dialog.words.text()
    assert cut_off(dialog) == []
    assert all(name_of(widget) for widget in reachable(dialog))
    window.canvas.graphics = Graphics("NVIDIA", "H200", "4.6.0", (4, 6))
    window._look_for_opengl()
    assert window.status_bar.hints.isHidden()
    assert window.reports.advice() == []


def test_a_report_for_a_bug_is_put_on_the_clipboard_while_the_window_goes_on(window):
    window.session.show_problem("Something is odd. Look at it.")
    window.reports.copy_report()
    window.session.set_running(True)
    at = window.frame.snapshot.step
    until(lambda: window.frame.snapshot.step > at)
    assert window.reading.busy
    until(lambda: not window.reading.busy)
    text = QApplication.clipboard().text()
    for word in ("packages       jax", "movies         ffmpeg", "settings       off", "Qt ",
                 "OpenGL ", "Something is odd. Look at it.", "log file"):  # fmt: skip
        assert word in text
    assert "Copied" in window.status_bar.said
    window.session.dismiss_problem()
    window.session.set_running(False)
    shown(window)
