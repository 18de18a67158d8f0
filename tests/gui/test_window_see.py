# SPDX-License-Identifier: GPL-3.0-or-later
"""What the picture tells of rods, chosen in the window by mouse and keys, and when it is drawn."""

import numpy as np
import pytest
from PyQt6.QtCore import QEvent, QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QAbstractButton, QApplication

from bacsim_gui import timeline as timelines
from bacsim_gui.colors import colors
from bacsim_gui.fields import FIELDS
from bacsim_gui.offscreen import render
from bacsim_gui.quantities import QUANTITIES
from bacsim_gui.scene import Scene
from bacsim_gui.trails import with_trails
from bacsim_gui.view import camera
from bacsim_gui.window import STANDS_STILL
from tests.gui.events import live, type_into, until
from tests.gui.windows import begin, image, shown, step

pytestmark = pytest.mark.gl


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset, rods coloured by activity."""
    begin(one_window)
    choose(one_window, "activity")
    return one_window


def choose(window, color_by: str):
    """Go to an entry of the list by its arrow keys, and wait for what it needs of rods."""
    box = window.view_panel.coloring.color_by
    box.setFocus()
    wanted = list(QUANTITIES).index(color_by)
    while box.currentIndex() != wanted:
        down = box.currentIndex() < wanted
        QTest.keyClick(box, Qt.Key.Key_Down if down else Qt.Key.Key_Up)
    assert window.canvas.view.color_by == color_by
    until(lambda: set(window.canvas.view.measures) <= set(window.shown.measures))
    until(lambda: window.frame.number == window.showing.acknowledged)
    live(0.02)
    window.canvas.native.setFocus()


def click(button: QAbstractButton):
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(10, button.height() // 2))


def seen(window) -> np.ndarray:
    """The pixel at each rod's centre, (N, 3)."""
    snapshot, picture = window.shown, window.canvas.grab()
    at = camera(window.canvas.view, snapshot.params.space_size, window.canvas.size)
    pixels = [at.to_picture(float(x), float(y)) for x, y in snapshot.pos]
    return np.array([picture[int(y), int(x)] for x, y in pixels], int)


def agree(window, colormap: str, places: np.ndarray):
    """Nearly every rod has the colour of its place on the map; a soft one may lie over another."""
    table = colors(colormap)[np.round(np.clip(places, 0, 1) * 255).astype(int)].astype(int)
    assert np.mean(np.abs(seen(window) - table).max(axis=1) < 25) > 0.9


def test_rods_are_coloured_by_their_speed_and_edits_compile_nothing(window):
    choose(window, "speed")
    speed = window.shown.measures["speed"]
    assert np.ptp(speed) > 0.3
    agree(window, "viridis", speed / 1.25)  # a free rod has the speed 1
    compiles = window.engine.status.stats.compiles
    type_into(window.parameters.rows["F_prop"].number, "4")
    until(lambda: window.frame.snapshot.params.F_prop == 4 and window.shown.measures)
    slower = step(window).measures["speed"]
    assert np.median(slower) < 0.8 * np.median(speed)
    agree(window, "viridis", slower / 0.625)  # the range has followed
    assert window.engine.status.stats.compiles == compiles


@pytest.mark.parametrize("color_by", ["local_density", "overlap", "cluster"])
def test_rods_are_coloured_by_a_measure(window, color_by):
    choose(window, color_by)
    values = window.shown.measures[color_by]
    ends = window.view_panel.coloring.low.text(), window.view_panel.coloring.high.text()
    low, high = (float(text) for text in ends)
    places = (values - low) / (high - low)
    if color_by == "cluster":
        places = np.log(values / low) / np.log(high / low)
    agree(window, QUANTITIES[color_by].colormap, places)


def test_rods_are_coloured_by_their_heading_and_cost_the_engine_nothing(window):
    choose(window, "heading")
    agree(window, "infinity", np.mod(window.shown.theta / (2 * np.pi), 1))
    assert step(window).measures == {}
    assert window.session.wanted.measures == ()
    assert not window.view_panel.coloring.low.isEnabled()


def test_a_range_is_typed_and_given_back_to_auto(window):
    rows = window.view_panel.coloring
    choose(window, "local_density")
    type_into(rows.high, "4")
    assert window.canvas.view.color_range == (0, 4)
    agree(window, "lapaz", window.shown.measures["local_density"] / 4)
    type_into(rows.low, "nonsense")
    assert "color_range" in window.session.problem.message
    assert window.canvas.view.color_range == (0, 4)
    window.session.dismiss_problem()
    click(rows.auto)
    assert window.canvas.view.color_range is None
    assert float(rows.high.text()) > 4


def test_a_map_and_a_range_belong_to_what_is_shown(window):
    rows = window.view_panel.coloring
    rows.colormap.setFocus()
    QTest.keyClick(rows.colormap, Qt.Key.Key_Down)
    chosen = window.canvas.view.colormap
    assert chosen == rows.colormap.currentText() != "glow"
    choose(window, "heading")
    assert rows.colormap.currentText() == "infinity"
    choose(window, "activity")
    assert window.canvas.view.colormap == chosen
    rows.colormap.setFocus()
    QTest.keyClick(rows.colormap, Qt.Key.Key_Up)
    assert window.canvas.view.map_name == "glow"


def test_heads_are_marked_on_demand(window):
    choose(window, "fixed")
    before = window.canvas.grab().astype(int)
    click(window.view_panel.shown["show_heads"])
    live(0.05)
    marked = window.canvas.grab().astype(int)
    ink = np.array(window.canvas.view.colors.ink)
    near = [(np.abs(picture - ink).max(axis=2) < 40).sum() for picture in (before, marked)]
    assert near[1] > near[0] + 500
    click(window.view_panel.shown["show_heads"])
    live(0.05)
    np.testing.assert_array_equal(window.canvas.grab(), before)


def test_arrows_tell_the_mean_velocity_on_demand(window):
    before = window.canvas.grab().astype(int)
    click(window.view_panel.shown["show_flow"])
    until(lambda: "velocity_x" in window.shown.measures)
    until(lambda: window.frame.number == window.showing.acknowledged)
    live(0.05)
    assert (np.abs(window.canvas.grab().astype(int) - before).max(axis=2) > 60).sum() > 500
    click(window.view_panel.shown["show_flow"])
    live(0.05)
    np.testing.assert_array_equal(window.canvas.grab(), before)


def pick_field(window, name: str):
    """Go to an entry of the list by its keys, and wait for what it needs of rods."""
    box = window.view_panel.field
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(list(FIELDS).index(name)):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert window.canvas.view.field == name
    until(lambda: set(window.canvas.view.measures) <= set(window.shown.measures))
    until(lambda: window.frame.number == window.showing.acknowledged)
    live(0.05)


def test_a_field_is_drawn_under_the_rods_on_demand_and_rods_can_be_left_out(window):
    before, compiles = window.canvas.grab(), window.engine.status.stats.compiles
    by = window.view_panel.coloring.color_by
    for field in ("density", "vorticity"):
        pick_field(window, field)
        with_rods = window.canvas.grab()
        click(window.view_panel.shown["show_rods"])
        live(0.05)
        alone = window.canvas.grab()
        # Seen through the rods, and alone, as any picture of that state has it.
        wanted = render(window.shown, window.canvas.view, window.canvas.size).astype(int)
        assert np.abs(alone - wanted).max() <= 2
        assert (np.abs(with_rods.astype(int) - alone).max(axis=2) > 20).sum() > 1000
        assert (np.abs(alone.astype(int) - before).max(axis=2) > 60).sum() > 5000
        assert not by.isEnabled()
        click(window.view_panel.shown["show_rods"])
    pick_field(window, "none")
    np.testing.assert_array_equal(window.canvas.grab(), before)
    assert by.isEnabled()
    assert window.engine.status.stats.compiles <= compiles + 1  # what measures velocities


def look_at(window, step: int):
    """Click the bar where the state of that step is."""
    slider, past = window.past_bar.slider, window.scrubber.past
    steps = [past.at(i).step for i in range(len(past))]
    place = steps.index(step) / (len(steps) - 1)
    where = QPointF(8 + place * (slider.width() - 16), slider.height() / 2)
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        held, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        there = slider.mapToGlobal(where)
        QApplication.sendEvent(slider, QMouseEvent(kind, where, there, held, held, none))
    assert window.session.looking.step == step


def test_trails_are_those_of_the_run_when_one_looks_back_and_in_a_picture_too(window):
    type_into(window.transport.speed, "200")
    for many in range(1, 9):
        QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ShiftModifier)
        until(lambda many=many: window.frame.snapshot.step == 200 * many)
    until(lambda: window.frame.number == window.showing.acknowledged)
    live(0.05)
    before = window.canvas.grab()
    click(window.view_panel.shown["show_trails"])
    live(0.05)
    trailing, past = window.canvas.grab(), window.scrubber.past
    assert (np.abs(trailing.astype(int) - before).max(axis=2) > 30).sum() > 300
    states = [Scene.of(past.at(i)) for i in range(len(past))]

    def wanted(scene: Scene) -> np.ndarray:
        earlier = [one for one in states if one.step < scene.step]
        shown = with_trails(scene, earlier)
        return render(shown, window.canvas.view, window.canvas.size).astype(int)

    assert np.abs(trailing - wanted(states[-1])).max() <= 2
    look_at(window, 1000)
    live(0.05)
    (middle,) = (one for one in states if one.step == 1000)
    assert np.abs(window.canvas.grab() - wanted(middle)).max() <= 2
    folder = window.session.movie_settings.folder
    QTest.keyClick(window, Qt.Key.Key_P)
    until(lambda: [one for one in folder.glob("*.png") if ".part" not in one.name])
    (path,) = (one for one in folder.glob("*.png") if ".part" not in one.name)
    # Drawn at twice the size and halved, as pictures are.
    smooth = render(with_trails(middle, [one for one in states if one.step < 1000]),
                    window.canvas.view, window.canvas.size, 2).astype(int)  # fmt: skip
    assert np.abs(image(path) - smooth).max() <= 2
    path.unlink()
    click(window.past_bar.now)
    live(0.05)
    np.testing.assert_array_equal(window.canvas.grab(), trailing)
    click(window.view_panel.shown["show_trails"])
    live(0.05)
    np.testing.assert_array_equal(window.canvas.grab(), before)


def test_an_earlier_state_is_measured_when_that_is_asked_for(window):
    """Which nobody had asked for when the engine was there."""
    speeds = []
    for _ in range(3):
        step(window)
    choose(window, "speed")
    speeds.append(window.shown.measures["speed"])
    choose(window, "activity")
    for _ in range(4):
        step(window)
    look_at(window, 3)
    for color_by in ("cluster", "speed"):
        choose(window, color_by)
        assert window.shown.step == 3
    np.testing.assert_allclose(window.shown.measures["speed"], speeds[0], rtol=1e-3, atol=1e-3)
    agree(window, "viridis", speeds[0] / 1.25)
    click(window.past_bar.now)
    until(lambda: window.shown.step == 7 and "speed" in window.shown.measures)


def test_a_picture_and_a_recording_tell_what_the_window_tells(window):
    choose(window, "speed")
    QTest.keyClick(window, Qt.Key.Key_P)
    folder = window.session.movie_settings.folder

    def drawn():
        return [path for path in folder.glob("*.png") if ".part" not in path.name]

    until(drawn)
    (path,) = drawn()
    known = colors("viridis").astype(int)
    pixels = image(path).reshape(-1, 3)[::7]
    bright = pixels[pixels.max(axis=1) > 150]
    off = np.abs(bright[:, None] - known[None, 128:]).max(axis=2).min(axis=1)
    assert np.mean(off < 12) > 0.3
    type_into(window.recording.width_field, "160")
    type_into(window.recording.height_field, "120")
    QTest.keyClick(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.movie_frames > 0)
    step(window)
    QTest.keyClick(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.saved is not None)
    line = timelines.load(timelines.sidecar(window.engine.status.saved))
    (record,) = [event for event in line.events if event.kind == "record"]
    assert record.value["view"]["color_by"] == "speed"


def test_drawing_is_paused_while_the_simulation_goes_on(window):
    window.session.set_speed("2")
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.frame.snapshot.step > 4)
    click(window.view_panel.paused)
    live(0.1)
    before, at = window.canvas.grab(), window.frame.snapshot.step
    until(lambda: window.frame.snapshot.step > at + 200)
    np.testing.assert_array_equal(window.canvas.grab(), before)
    assert window.waiting.isVisible()
    assert window.waiting.text() == STANDS_STILL
    click(window.view_panel.paused)
    until(lambda: not window.waiting.isVisible())
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.engine.status.phase == "paused")
    until(lambda: window.frame.number == window.showing.acknowledged)
    live(0.05)
    agree(window, "glow", window.frame.snapshot.activity)


def test_a_recording_has_all_its_frames_while_nothing_is_drawn(window):
    click(window.view_panel.paused)
    window.session.set_speed("3")
    saved = window.engine.status.saved
    QTest.keyClick(window, Qt.Key.Key_M)
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.engine.status.movie_frames > 6)
    QTest.keyClick(window, Qt.Key.Key_M)
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.engine.status.saved not in (None, saved))
    click(window.view_panel.paused)
    line = timelines.load(timelines.sidecar(window.engine.status.saved))
    steps = [event.step for event in line.events if event.kind == "frame"]
    assert len(steps) > 6
    assert len(set(np.diff(steps))) == 1


def test_one_frame_in_three_is_drawn(window):
    type_into(window.view_panel.draw_every, "3")
    window.session.set_speed("2")
    steps = []
    window.engine.frame_ready.connect(lambda: steps.append(window.frame.snapshot.step))
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: len(set(steps)) > 8)
    QTest.keyClick(window, Qt.Key.Key_Space)
    until(lambda: window.engine.status.phase == "paused")
    inner = np.diff(sorted(set(steps)))[1:-1]
    assert inner.min() == 6
    type_into(window.view_panel.draw_every, "0")
    assert window.session.draw_every == 3
    type_into(window.view_panel.draw_every, "1")
    shown(window)
