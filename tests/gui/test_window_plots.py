# SPDX-License-Identifier: GPL-3.0-or-later
"""The live plots in the real window, driven by their buttons.

One window and its one compile serve all tests of this file; each leaves it paused and usable.
"""

import csv
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from PyQt6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QFileDialog, QLineEdit

from bacsim_gui import theme
from bacsim_gui.distributions import MEASURED
from bacsim_gui.time_series import COLUMNS
from tests.gui.events import live, until
from tests.gui.windows import RODS, begin, shown, step

pytestmark = pytest.mark.gl

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset, its plots over time in sight."""
    begin(one_window)
    one_window.session.set_speed("3")
    number = 1 + [dock.windowTitle() for dock in one_window.arrangement.docks].index("Plots")
    one_window.activateWindow()
    until(one_window.isActiveWindow)
    QTest.keyClick(one_window, Qt.Key[f"Key_{number}"], Qt.KeyboardModifier.ControlModifier)
    until(lambda: one_window.plotting._pages is not None)
    click(one_window.plots.over_time)
    one_window.plots.pause.setChecked(False)
    click(one_window.plots.reset)
    return one_window


def click(button):
    QTest.mouseClick(button, LEFT)


def over_time(window):
    return window.plotting._pages[0]


def spread(window):
    return window.plotting._pages[1]


def drawn(window, name):
    """The points of a line over time."""
    x, y = over_time(window).lines[name].getData()
    return np.array([] if x is None else x), np.array([] if y is None else y)


def run_to(window, least):
    window.session.set_running(True)
    until(lambda: window.frame.snapshot.step >= least)
    window.session.set_running(False)
    shown(window)


def ask_for(path):
    """Answer the next question for a file."""

    def answer():
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, QFileDialog):
            QTimer.singleShot(20, answer)
            return
        dialog.findChild(QLineEdit, "fileNameEdit").setText(str(path))
        dialog.accept()

    QTimer.singleShot(20, answer)


def export(window, text):
    (action,) = [a for a in window.plots.export.menu().actions() if text in a.text()]
    action.trigger()


def test_neither_the_window_nor_its_panel_loads_the_plots():
    code = (
        "import sys, bacsim_gui.bootstrap as b; b.prepare_window()\n"
        "import bacsim_gui.window\n"
        "sys.exit('pyqtgraph' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_step_is_plotted_at_its_time(window):
    states = [window.frame.snapshot, *(step(window) for _ in range(6))]
    until(lambda: len(drawn(window, "polar_order")[0]) == 7)
    for name in ("active_fraction", "polar_order", "nematic_order"):
        x, y = drawn(window, name)
        assert np.allclose(x, [state.time for state in states])
        assert np.allclose(y, [state.observables[name] for state in states])
    _, speeds = drawn(window, "mean_speed")
    assert np.isnan(speeds[0])
    assert np.allclose(speeds[1:], [state.observables["mean_speed"] for state in states[1:]])
    labels = [plot.getAxis("left").labelText for plot in over_time(window).plots]
    assert labels == ["active fraction", "order", "mean speed (l/t)"]
    assert over_time(window).plots[-1].getAxis("bottom").labelText == "time (t)"


def test_a_line_is_seen_in_the_colour_of_the_theme(window):
    run_to(window, 60)
    until(lambda: len(drawn(window, "active_fraction")[0]) > 10)
    for colors in (theme.LIGHT, theme.DARK):
        theme.apply(QApplication.instance(), colors)
        live(0.1)
        image = over_time(window).grab().toImage()
        seen = {image.pixelColor(x, y).name() for x in range(60, image.width(), 2)
                for y in range(image.height())}  # fmt: skip
        assert colors.accent in seen
        assert colors.warn in seen
        assert image.pixelColor(image.width() - 2, 2).name() == colors.panel


def test_a_pause_holds_the_plots_still_and_they_catch_up(window, tmp_path):
    run_to(window, 9)
    until(lambda: len(drawn(window, "polar_order")[0]) >= 4)
    click(window.plots.pause)
    before = drawn(window, "polar_order")[0]
    run_to(window, window.frame.snapshot.step + 30)
    live(0.5)
    assert np.array_equal(drawn(window, "polar_order")[0], before)
    ask_for(tmp_path / "held.csv")
    export(window, "CSV")
    held = (tmp_path / "held.csv").read_text(encoding="utf-8").splitlines()
    assert len(held) == 1 + len(before)
    click(window.plots.pause)
    until(lambda: drawn(window, "polar_order")[0][-1] == window.frame.snapshot.time)
    assert len(drawn(window, "polar_order")[0]) >= len(before) + 10


def test_reset_forgets_what_was_plotted_and_only_that(window):
    run_to(window, 30)
    states = len(window.scrubber.past)
    click(window.plots.reset)
    assert list(drawn(window, "polar_order")[0]) == [window.frame.snapshot.time]
    assert len(window.scrubber.past) == states
    # Not even out of sight and back they return.
    window.arrangement.go_to(window.arrangement.docks[0])
    window.arrangement.docks[-1].hide()
    step(window)
    window.arrangement.docks[-1].show()
    window.arrangement.go_to(window.arrangement.docks[-1])
    until(lambda: len(drawn(window, "polar_order")[0]) == 2)


def test_out_of_sight_nothing_is_collected_and_it_is_made_up_later(window):
    dock = window.arrangement.docks[-1]
    dock.hide()
    had = len(window.plotting.series)
    run_to(window, 30)
    live(0.4)
    assert len(window.plotting.series) == had
    assert not window.plotting._timer.isActive()
    dock.show()
    window.arrangement.go_to(dock)
    until(lambda: len(drawn(window, "polar_order")[0]) == len(window.scrubber.past))
    assert drawn(window, "polar_order")[0][-1] == window.frame.snapshot.time


def test_looking_back_moves_a_cursor_and_a_new_run_begins_anew(window):
    run_to(window, 30)
    x = drawn(window, "polar_order")[0]
    window.past_bar.slider.setFocus()
    for _ in range(4):
        QTest.keyClick(window.past_bar.slider, Qt.Key.Key_Left)
    looking = window.session.looking
    cursor = over_time(window).cursors[0]
    until(lambda: cursor.isVisible() and cursor.value() == looking.time)
    assert len(drawn(window, "polar_order")[0]) >= len(x)
    click(window.past_bar.now)
    until(lambda: not cursor.isVisible())
    QTest.keyClick(window, Qt.Key.Key_R)
    shown(window)
    until(lambda: list(drawn(window, "polar_order")[0]) == [0.0])


def test_distributions_are_of_the_rods_that_are_shown_and_of_what_is_measured_of_them(window):
    click(window.plots.spread)
    until(lambda: list(spread(window).steps) == ["heading", "activity", *MEASURED])
    axes = [plot.getAxis("bottom").labelText for plot in spread(window).plots]
    assert axes[0] == "heading θ (°)"
    assert axes[2] == "speed (l/t)"
    rods = window.frame.snapshot
    edges, shares = spread(window).steps["activity"].getData()
    counts, _ = np.histogram(rods.activity, edges)
    assert np.allclose(shares, 100 * counts / RODS)
    for name in MEASURED:
        assert spread(window).steps[name].getData()[1].sum() == pytest.approx(100)
    # While it runs they follow, and nothing is measured for a page that nobody sees.
    window.session.set_running(True)
    until(lambda: window.plotting._measured.step > 0)
    click(window.plots.over_time)
    assert window.session.wanted.measures == ()
    window.session.set_running(False)
    shown(window)


def test_distributions_follow_a_look_back(window):
    run_to(window, 60)
    click(window.plots.spread)
    until(lambda: "cluster" in spread(window).steps)
    window.past_bar.slider.setFocus()
    QTest.keyClick(window.past_bar.slider, Qt.Key.Key_Home)
    first = window.session.looking

    def is_of_first():
        edges, shares = spread(window).steps["activity"].getData()
        counts, _ = np.histogram(first.activity, edges)
        return np.allclose(shares, 100 * counts / RODS) and "speed" in spread(window).steps

    until(is_of_first)
    click(window.past_bar.now)


def test_numbers_are_saved_as_they_are_plotted(window, tmp_path):
    run_to(window, 12)
    until(lambda: drawn(window, "polar_order")[0][-1] == window.frame.snapshot.time)
    ask_for(tmp_path / "series.csv")
    export(window, "CSV")
    with (tmp_path / "series.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert tuple(head) == COLUMNS
    assert int(rows[-1][0]) == window.frame.snapshot.step
    polar = [float(row[head.index("polar_order")]) for row in rows]
    assert np.allclose(polar, drawn(window, "polar_order")[1])
    click(window.plots.spread)
    until(lambda: "cluster" in spread(window).steps)
    ask_for(tmp_path / "spread")
    export(window, "CSV")
    with (tmp_path / "spread.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head == ["distribution", "from", "to", "share"]
    assert {row[0] for row in rows} == {"heading", "activity", *MEASURED}
    assert sum(float(row[3]) for row in rows) == pytest.approx(5)


def test_a_picture_of_the_plots_is_saved(window, tmp_path):
    run_to(window, 12)
    for suffix in ("png", "svg"):
        ask_for(tmp_path / f"plots.{suffix}")
        export(window, suffix.upper())
    with Image.open(tmp_path / "plots.png") as picture:
        page = over_time(window).size()
        assert picture.size == (2 * page.width(), 2 * page.height())
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 10
    text = (tmp_path / "plots.svg").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "active fraction" in text
    # A folder that is not there is said.
    window.plotting._files.ask_where = lambda *_: tmp_path / "none" / "plots.svg"
    export(window, "SVG")
    del window.plotting._files.ask_where
    assert "cannot be written" in window.session.problem.message
    window.session.dismiss_problem()


def test_long_lines_cost_no_more_than_a_pixel_s_worth_and_are_painted_once(window):
    """Frames became fewer in the first minutes of a run, in which the lines became longer."""
    window.arrangement.show_panel(window.plots)
    click(window.plots.pause)
    page, painted = over_time(window), []
    watch = PaintWatch(page.viewport(), painted)
    try:
        for rows in (1000, 1001, 1900, 1901):
            time = np.linspace(0.0, rows, rows)
            values = np.random.default_rng(0).random((5, rows))
            # As speeds are: none before the first step, then the highest.
            values[4, :2], values[4, -1] = (np.nan, 3.0), -1.0
            table = np.column_stack([time, time, *values])
            painted.clear()
            page.show_table(table, None)
            live(0.1)
            x, y = drawn(window, "mean_speed")
            assert 100 < len(x) <= 2 * page.plots[0].getViewBox().width() + 2
            assert (np.nanmax(y), y[-1], x[-1]) == (3.0, -1.0, rows)
            if rows % 100:  # the line before was as long
                assert len(painted) == 1
        page.plots[0].getViewBox().scaleBy((0.5, 1.0))
        page.plots[0].getViewBox().sigRangeChangedManually.emit([True, False])
        assert len(drawn(window, "mean_speed")[0]) == rows
    finally:
        watch.deleteLater()
        click(window.plots.pause)


class PaintWatch(QObject):
    """Notes in `painted` each time that a widget is painted."""

    def __init__(self, widget, painted):
        super().__init__(widget)
        self._painted = painted
        widget.installEventFilter(self)

    def eventFilter(self, a0, a1):
        if a1.type() == QEvent.Type.Paint:
            self._painted.append(True)
        return False


def zoom_in(page):
    """By the wheel, over the first plot."""
    place = page.plots[0].getViewBox().sceneBoundingRect().center()
    at = page.mapToGlobal(page.mapFromScene(place)).toPointF()
    QApplication.sendEvent(
        page.viewport(),
        QWheelEvent(
            page.mapFromScene(place).toPointF(), at, QPoint(), QPoint(0, 240),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        ),
    )  # fmt: skip
    return place


def follows(page):
    return page.plots[0].getViewBox().autoRangeEnabled()[0]


def test_a_double_click_and_a_new_run_show_all_of_the_time_again(window):
    window.arrangement.show_panel(window.plots)
    run_to(window, 5)
    page = over_time(window)
    rows = len(window.plotting.series)
    place = zoom_in(page)
    assert not follows(page)
    QTest.mouseDClick(page.viewport(), LEFT, pos=page.mapFromScene(place))
    assert follows(page)
    assert len(window.plotting.series) == rows
    zoom_in(page)
    build = window.frame.build
    QTest.keyClick(window, Qt.Key.Key_R)
    until(lambda: window.frame.build != build)
    until(lambda: follows(page))


def test_plots_grow_with_the_text(window):
    window.arrangement.show_panel(window.plots)
    page = over_time(window)
    before = page.plots[0].getAxis("left").width(), page.minimumHeight()
    window.desk.set_text_size(200)
    until(lambda: page.minimumHeight() > 1.5 * before[1])
    until(lambda: page.plots[0].getAxis("left").width() > 1.5 * before[0])
    window.desk.set_text_size(100)
    until(lambda: page.minimumHeight() == before[1])
    until(lambda: page.plots[0].getAxis("left").width() == before[0])
