# SPDX-License-Identifier: GPL-3.0-or-later
"""The window on the desktop: theme, size of text, panels, keys, and what is kept of it.

One window serves most tests; each leaves it as it was.
"""

import subprocess
import sys
from datetime import datetime

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction, QColor, QKeySequence
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QDockWidget, QLabel

from bacsim_gui import __version__, autosaves, theme
from bacsim_gui.panels.about import AboutDialog
from bacsim_gui.panels.shortcuts import ShortcutsDialog, keys_by_group
from bacsim_gui.settings import Settings, SettingsFile
from tests.gui.events import live, until
from tests.gui.windows import a_window, begin

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("settings") / "settings.toml"


@pytest.fixture(scope="module")
def one_window(qapp, tmp_path_factory, kept):
    with a_window(qapp, tmp_path_factory.mktemp("movies"), settings=kept) as made:
        yield made


@pytest.fixture
def window(one_window):
    one_window.resize(1200, 900)
    begin(one_window)
    one_window.canvas.native.setFocus()
    yield one_window
    one_window.desk.set_theme("dark")
    one_window.desk.set_text_size(100)
    one_window.desk.set_reduced_motion(False)


def entry(window, *texts) -> QAction:
    """The entry of the menus with these texts, from the menu bar on."""
    actions = window.menuBar().actions()
    for text in texts:
        (found,) = (a for a in actions if a.text().replace("&", "") == text)
        actions = found.menu().actions() if found.menu() is not None else []
    return found


def dock(window, title) -> QDockWidget:
    return window.findChild(QDockWidget, title)


def ground(widget) -> np.ndarray:
    """The colour that most of a widget has."""
    image = widget.grab().toImage()
    colors = [
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 7)
        for y in range(0, image.height(), 7)
    ]
    return max(set(colors), key=colors.count)


def test_a_theme_is_chosen_in_the_menu_shown_at_once_and_kept(window, kept):
    assert ground(window.parameters) == theme.DARK.panel
    entry(window, "View", "Theme", "Light").trigger()
    assert ground(window.parameters) == theme.LIGHT.panel
    assert SettingsFile(kept).read()[0].theme == "light"
    # The picture has a background of its own, which is said, and chosen beside the theme.
    assert "dark background" in window.status_bar.said
    entry(window, "View", "Background of the picture", "White").trigger()
    assert window.canvas.view.background == "white"
    window.session.set_view(background="dark")
    entry(window, "View", "Background of the picture").menu().aboutToShow.emit()
    assert entry(window, "View", "Background of the picture", "Dark").isChecked()
    # Texts that bring their own colour follow too.
    row = window.parameters.rows["k_cc"]
    assert theme.LIGHT.muted in row.name.text()
    window._refresh()
    assert any(c in window.status_bar.phase.text() for c in (theme.LIGHT.muted, theme.LIGHT.good))
    entry(window, "View", "Theme", "Dark").trigger()
    assert ground(window.parameters) == theme.DARK.panel
    assert theme.DARK.muted in row.name.text()


def test_the_system_s_scheme_is_followed_while_it_is_asked_for(window, qapp):
    change = qapp.styleHints().colorSchemeChanged
    entry(window, "View", "Theme", "As the system").trigger()
    change.emit(Qt.ColorScheme.Light)
    assert ground(window.parameters) == theme.LIGHT.panel
    change.emit(Qt.ColorScheme.Dark)
    assert ground(window.parameters) == theme.DARK.panel
    entry(window, "View", "Theme", "Light").trigger()
    change.emit(Qt.ColorScheme.Dark)
    assert ground(window.parameters) == theme.LIGHT.panel


def test_text_grows_and_panels_make_room(window):
    name = window.parameters.rows["activity_thresh"].name
    small, wide = name.fontMetrics().height(), window.parameters.width()
    entry(window, "View", "Size of text", "150 %").trigger()
    live(0.1)
    assert name.fontMetrics().height() > 1.4 * small
    assert window.parameters.width() > 1.2 * wide
    assert name.width() >= name.sizeHint().width()
    entry(window, "View", "Size of text", "100 %").trigger()
    live(0.1)
    assert window.parameters.width() == wide


def test_motion_is_reduced_at_a_word(window):
    entry(window, "View", "Reduce motion").trigger()
    assert window.desk.still
    assert not window.isAnimated()
    entry(window, "View", "Reduce motion").trigger()
    assert window.isAnimated() == (not window.desk.still)


def test_f11_fills_the_screen_says_the_way_out_and_leaves_it(window):
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert window.isFullScreen()
    assert "F11" in window.status_bar.said
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert not window.isFullScreen()


def test_panels_stand_at_both_sides_of_a_wide_window_and_are_tabs_in_a_narrow_one(window):
    parameters, statistics = dock(window, "Parameters"), dock(window, "Statistics")
    recording = dock(window, "Recording")
    assert set(window.tabifiedDockWidgets(parameters)) == {
        statistics, dock(window, "View"), recording, dock(window, "Plots"),
    }  # fmt: skip
    window.resize(1500, 900)
    live(0.05)
    assert window.tabifiedDockWidgets(parameters) == []
    assert window.dockWidgetArea(statistics) == Qt.DockWidgetArea.LeftDockWidgetArea
    assert not parameters.visibleRegion().isEmpty()
    assert not statistics.visibleRegion().isEmpty()
    # Nothing of a panel is below the fold: its last row is in sight one key away.
    QTest.keyClick(window, Qt.Key.Key_4, Qt.KeyboardModifier.ControlModifier)
    live(0.05)
    assert not window.recording.record.visibleRegion().isEmpty()
    assert window.focusWidget() is window.recording.kind
    window.resize(1200, 900)
    live(0.05)
    assert recording in window.tabifiedDockWidgets(parameters)


def test_a_recording_brings_its_panel_into_sight(window):
    window.arrangement.go_to(dock(window, "Parameters"))
    QTest.keyClick(window, Qt.Key.Key_M)
    live(0.05)
    assert not window.recording.record.visibleRegion().isEmpty()
    QTest.keyClick(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.saved is not None)


def test_the_overview_has_the_keys_of_all_actions_also_of_new_ones(window):
    QTest.keyClick(window, "?")
    dialog = window.findChild(ShortcutsDialog)
    assert dialog.isVisible()
    words = {label.text() for label in dialog.findChildren(QLabel)}
    for action in window.findChildren(QAction):
        for key in action.shortcuts():
            shown = key.toString(QKeySequence.SequenceFormat.NativeText)
            assert any(shown in word.split(" or ") for word in words), action.text()
    assert {"Zoom, with any tool", "wheel", "Ctrl+wheel"} <= words
    assert {"Space", "Shift+S", "F11", "?", "0 or Home", "Ctrl+O"} <= words
    dialog.close()
    late = QAction("Dance", window)
    late.setShortcut("Ctrl+Alt+D")
    assert ("Dance", "Ctrl+Alt+D") in keys_by_group(window)["Elsewhere"]
    late.deleteLater()
    live(0.01)


def test_no_two_actions_share_a_key(window):
    keys = [key.toString() for action in window.findChildren(QAction) for key in action.shortcuts()]
    assert len(keys) == len(set(keys))


def test_everything_in_the_tool_bar_is_in_a_menu_too(window):
    in_menus = {a for top in window.menuBar().actions() for a in top.menu().actions()}
    ours = [a for a in window.transport.actions() if a.text() and not a.isSeparator()]
    assert len(ours) >= 8
    assert set(ours) <= in_menus


def test_an_autosave_is_offered_where_there_is_one(window, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (file,) = (a.menu() for a in window.menuBar().actions() if a.text() == "&File")
    file.aboutToShow.emit()
    assert not entry(window, "File", "Resume autosave").isEnabled()
    kept = autosaves.new_path(datetime.now())
    kept.parent.mkdir(parents=True)
    kept.touch()
    file.aboutToShow.emit()
    assert entry(window, "File", "Resume autosave").isEnabled()


def test_the_picture_is_moved_and_zoomed_by_keys(window):
    canvas, box = window.canvas, window.shown.params.space_size
    for key in ("+", "+", "-"):
        QTest.keyClick(canvas.native, key)
    assert canvas.view.zoom == pytest.approx(1.25)
    assert canvas.view.center == pytest.approx((box / 2, box / 2))
    QTest.keyClick(canvas.native, Qt.Key.Key_Right)
    QTest.keyClick(canvas.native, Qt.Key.Key_Up)
    x, y = canvas.view.center
    assert x > box / 2
    assert y > box / 2
    QTest.keyClick(canvas.native, Qt.Key.Key_Left)
    QTest.keyClick(canvas.native, Qt.Key.Key_Down)
    assert canvas.view.center == pytest.approx((box / 2, box / 2))
    QTest.keyClick(canvas.native, Qt.Key.Key_Home)
    assert (canvas.view.center, canvas.view.zoom) == (None, 1.0)
    # In a slider the same keys move the slider.
    slider = window.parameters.rows["w_d"].slider
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Home)
    assert slider.value() == 0
    assert canvas.view.zoom == 1.0


def test_about_tells_version_and_licence(window):
    entry(window, "Help", "About bacsim").trigger()
    about = window.findChild(AboutDialog)
    assert about.isVisible()
    assert f"bacsim {__version__}" in about.text()
    assert "GNU General Public License" in about.informativeText()
    about.close()


def test_figures_of_the_present_are_not_shown_beside_an_earlier_state(window):
    window.session.set_running(True)
    until(lambda: window.past_bar.slider.maximum() > 3)
    until(lambda: "frames/s" in window.status_bar.figures.text())
    window.past_bar.slider.setValue(1)
    until(lambda: window.session.looking is not None)
    window._refresh()
    assert window.status_bar.figures.text() == "1 compile"
    for name in ("pace", "frames a second", "step time, median", "rod-steps a second"):
        assert window.statistics.speed.text(name) == "–"
    # And what cannot be done looks so.
    for action in (window.transport.step, window.transport.steps, window.transport.record):
        button = window.transport.widgetForAction(action)
        faint = np.array(QColor(theme.DARK.text).getRgb()[:3])
        image = button.grab().toImage()
        seen = [
            np.abs(np.array(image.pixelColor(x, y).getRgb()[:3]) - faint).max()
            for x in range(image.width()) for y in range(image.height())
        ]  # fmt: skip
        assert min(seen) > 60
    window.session.look_at_now()
    window.session.set_running(False)


# What needs windows of its own comes last.


def test_the_window_comes_back_as_it_was_left(qapp, tmp_path, one_window):
    kept, movies = tmp_path / "settings.toml", tmp_path / "movies"
    movies.mkdir()
    with a_window(qapp, tmp_path, settings=kept) as first:
        first.resize(1010, 720)
        first.session.set_view(background="white", show_box=False)
        first.session.set_movie("folder", movies)
        first.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock(first, "View"))
        live(0.05)
    with a_window(qapp, tmp_path, settings=kept) as second:
        live(0.05)
        assert second.dockWidgetArea(dock(second, "View")) == Qt.DockWidgetArea.LeftDockWidgetArea
        assert second.session.view.background == "white"
        assert not second.session.view.show_box
        assert second.canvas.view.background == "white"
        assert second.session.movie_settings.folder == movies
        # The menu puts the panels back.
        entry(second, "View", "Panels", "Reset layout").trigger()
        assert second.dockWidgetArea(dock(second, "View")) == Qt.DockWidgetArea.RightDockWidgetArea
    assert SettingsFile(kept).read()[0].layout == b""


def test_the_size_of_the_window_is_kept(qapp, tmp_path, one_window):
    kept = tmp_path / "settings.toml"
    SettingsFile(kept).keep(geometry=one_window.saveGeometry().data())
    from bacsim_gui.presets import load_preset
    from bacsim_gui.window import Window

    made = Window(load_preset("swarming", rods=20), movie_folder=tmp_path, settings=kept)
    assert made.size() == one_window.size()


def test_damaged_settings_stop_no_start_and_are_told_of(qapp, tmp_path, one_window):
    kept = tmp_path / "settings.toml"
    kept.write_text('theme = "blue"\nlayout = "AAAA"\ngeometry = "AAAA"\n')
    with a_window(qapp, tmp_path, settings=kept) as made:
        assert "theme = 'blue'" in made.status_bar.said
        until(lambda: made.frame is not None)
        assert made.session.problem is None
        geometry = made.saveGeometry().data()
    view = SettingsFile(kept).read()[0].view
    assert SettingsFile(kept).read() == (
        Settings(geometry=geometry, folder=str(tmp_path), view=view),
        "",
    )  # fmt: skip


def test_reset_settings_starts_afresh(tmp_path, monkeypatch):
    kept = tmp_path / "settings.toml"
    SettingsFile(kept).keep(theme="light")
    monkeypatch.setenv("BACSIM_SETTINGS", str(kept))
    monkeypatch.delenv("DISPLAY")
    command = [sys.executable, "-m", "bacsim_gui", "--reset-settings"]
    done = subprocess.run([*command, "--radius=-1"], check=False, capture_output=True)
    assert done.returncode == 2
    assert kept.exists()  # a command that is refused does nothing
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "Settings are reset" in done.stderr
    assert not kept.exists()
