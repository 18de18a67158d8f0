# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools, by mouse and keys on the real window: then pixels, or what the engine has."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QImage, QWheelEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication

from bacsim_gui.gestures import AT_ONCE
from bacsim_gui.panels.rod_card import RodCard, RodShown
from bacsim_gui.panels.shortcuts import keys_by_group
from bacsim_gui.tools import BACK, OUTSIDE, TOOLS
from bacsim_gui.view import camera
from engine.obstacle import Obstacle
from engine.pick import distances, rods_within
from tests.gui.events import live, until
from tests.gui.windows import begin, drag, let_go, pixel, shown, step

pytestmark = pytest.mark.gl

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset, with no tool in the hand."""
    begin(one_window)
    return one_window


def press(window, key, keys=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(window, key, keys)


def take(window, letter: str):
    press(window, getattr(Qt.Key, f"Key_{letter}"))


def undo(window):
    press(window, Qt.Key.Key_Z, CTRL)


def redo(window):
    press(window, Qt.Key.Key_Z, CTRL | SHIFT)


def empty_place(window) -> tuple[float, float]:
    """The middle of the largest of some gaps between the rods."""
    snapshot, box = window.shown, window.session.params.space_size
    places = np.random.default_rng(0).random((200, 2)) * 0.8 * box + 0.1 * box
    apart = [distances(snapshot, *place).min() for place in places]
    return tuple(places[int(np.argmax(apart))])


def done(window):
    """Wait until the engine has done what the tools ask for."""
    until(
        lambda: not window.session._strokes and window.frame.number == window.showing.acknowledged
    )


def test_each_tool_has_its_letter_and_its_cursor_and_stands_in_the_overview(window):
    overview = dict(keys_by_group(window)["Tools"])
    for tool in TOOLS:
        take(window, tool.key)
        assert window.tools.tool is tool
        assert [action.isChecked() for action in window.tools.actions].count(True) == 1
        cursor = window.canvas.native.cursor().shape()
        assert (cursor == Qt.CursorShape.ArrowCursor) == (tool.name == "move")
        assert overview[tool.text] == tool.key
        assert tool.tip in window.status_bar.said or tool.name == "move"
    press(window, Qt.Key.Key_Escape)
    assert window.tools.tool.name == "move"


def test_a_tool_is_chosen_by_its_button(window):
    action = window.tools.actions[4]
    button = window.tool_bar.widgetForAction(action)
    assert button.accessibleName() == "Add rod"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert window.tools.tool.name == "add"


def test_the_middle_button_moves_the_picture_whatever_the_tool(window):
    take(window, "D")
    native, middle = window.canvas.native, Qt.MouseButton.MiddleButton
    QTest.mousePress(native, middle, pos=QPoint(200, 200))
    QTest.mouseMove(native, QPoint(230, 200))
    QTest.mouseRelease(native, middle, pos=QPoint(230, 200))
    assert window.canvas.view.center is not None
    assert window.frame.snapshot.n == window.session.setup.rods
    assert window.canvas.native.cursor().shape() == Qt.CursorShape.CrossCursor


def test_a_picked_rod_is_told_of_and_outlined(window):
    step(window)
    snapshot = step(window)
    row = 17
    x, y = (float(part) for part in snapshot.pos[row])
    before = window.canvas.grab()
    take(window, "Q")
    drag(window, (x, y))
    live(0.05)
    card = window.tools.picking._card
    assert card.isVisible()
    assert card.title.text() == "Rod 17"
    assert card.figures.text("position") == f"{x:.1f}, {y:.1f} l"
    assert card.figures.text("heading") == f"{math.degrees(snapshot.theta[row]) % 360:.0f}°"
    assert card.figures.text("activity") == f"{snapshot.activity[row]:.2f}"
    # A rod of this preset begins active, and moves by itself.
    speed = float(card.figures.text("speed").removesuffix(" l/t"))
    way = snapshot.pos[row].astype(float) - window.scrubber.before(snapshot).pos[row]
    assert speed == pytest.approx(np.hypot(*way) / snapshot.params.dt, rel=0.01)
    around = pixel(window, x, y) * window.canvas.native.devicePixelRatioF()
    near = np.s_[around.y() - 20 : around.y() + 20, around.x() - 20 : around.x() + 20]
    assert np.any(window.canvas.grab()[near] != before[near])
    assert not window.session.running
    press(window, Qt.Key.Key_Escape)
    assert not card.isVisible()
    live(0.05)
    np.testing.assert_array_equal(window.canvas.grab()[near], before[near])


def test_the_card_of_the_first_rod_is_whole_also_while_time_stands_still(window):
    card = RodCard(window.canvas.native)
    card.show_rod(RodShown(3, (1.0, 2.0)))
    # Nothing comes that would show it once more; Qt lays it out when it comes to it.
    until(lambda: card.figures.height() >= card.figures.sizeHint().height() > 60)
    until(lambda: card.contentsRect().contains(card.follow.geometry()))
    card.deleteLater()


def test_the_card_is_within_the_picture_with_large_text_in_a_narrow_window(window):
    size = window.size()
    window.tools.picking.pick(3)
    card = window.tools.picking._card
    window.desk.set_text_size(200)
    window.resize(1024, 700)
    until(lambda: window.width() == 1024)
    live(0.1)
    assert window.canvas.native.geometry().contains(card.geometry())
    assert card.contentsRect().contains(card.follow.geometry())
    window.desk.set_text_size(100)
    window.resize(size)
    until(lambda: card.width() < 240)
    window.tools.picking.pick(None)


def test_the_camera_follows_a_rod_until_the_picture_is_moved(window):
    take(window, "Q")
    drag(window, tuple(float(part) for part in window.shown.pos[5]))
    press(window, Qt.Key.Key_F)
    assert window.canvas.view.zoom > 1
    for _ in range(3):
        snapshot = step(window)
        assert window.canvas.view.center == tuple(float(part) for part in snapshot.pos[5])
    assert window.tools.picking.following
    window.canvas.native.setFocus()
    QTest.keyClick(window.canvas.native, Qt.Key.Key_Plus)
    assert window.tools.picking.following
    QTest.keyClick(window.canvas.native, Qt.Key.Key_Left)
    assert not window.tools.picking.following
    assert not window.tools.picking._card.follow.isChecked()


def test_the_ring_of_a_brush_stays_under_the_mouse_while_the_picture_follows_a_rod(window):
    take(window, "Q")
    drag(window, tuple(float(part) for part in window.shown.pos[5]))
    press(window, Qt.Key.Key_F)
    take(window, "T")
    native, mouse = window.canvas.native, QPoint(300, 200)
    QTest.mouseMove(native, mouse)
    rings = []
    for _ in range(2):
        live(0.03)
        ring = window.canvas._marks[-1]
        at = camera(window.canvas.view, window.session.params.space_size, window.canvas.size)
        box = window.session.params.space_size
        x, y = (part % box for part in at.to_model(mouse.x(), mouse.y()))
        pixels = 2 / at.scale
        assert min(math.dist((x, y), mark[:2]) for mark in window.canvas._marks) < pixels
        rings.append(ring[:2])
        for _ in range(10):
            step(window)
    assert rings[0] != rings[1]
    # A stroke acts where the ring is, over a copy of the box as well.
    window.tools.picking.follow(False)
    window.canvas.view = replace(window.canvas.view, center=(0.0, 0.0))
    take(window, "D")
    snapshot = window.frame.snapshot
    places = np.where(snapshot.pos > box / 2, snapshot.pos - box, snapshot.pos)
    beyond = np.flatnonzero((np.abs(places + 0.1 * box) < 0.08 * box).all(axis=1))
    drag(window, tuple(float(part) for part in places[beyond[0]]))
    done(window)
    assert beyond[0] not in window.frame.snapshot.ids


def test_the_status_bar_tells_the_place_under_the_mouse(window):
    box, native = window.session.params.space_size, window.canvas.native
    place = window.status_bar.place

    def told() -> list[float]:
        return [float(part.strip(" xyl")) for part in place.text().split(",")]

    def tells(x: float, y: float) -> bool:
        return place.isVisible() and told() == pytest.approx((x, y), abs=0.01 * box)

    QTest.mouseMove(native, pixel(window, 0.25 * box, 0.75 * box))
    until(lambda: tells(0.25 * box, 0.75 * box))
    # Over a copy it is the place in the box; outside of all there is none.
    window.canvas.view = replace(window.canvas.view, center=(0.0, 0.0))
    live(0.03)
    QTest.mouseMove(native, pixel(window, -0.1 * box, -0.2 * box))
    until(lambda: tells(0.9 * box, 0.8 * box))
    window.canvas.view = replace(window.canvas.view, zoom=0.5)
    assert not place.isVisible()


def test_the_picture_is_copied_without_what_a_tool_points_at(window):
    take(window, "D")
    native, box = window.canvas.native, window.session.params.space_size
    before = window.canvas.grab()
    QTest.mouseMove(native, pixel(window, 0.5 * box, 0.5 * box))
    live(0.03)
    assert np.any(window.canvas.grab() != before)
    press(window, Qt.Key.Key_C, CTRL | Qt.KeyboardModifier.AltModifier)
    image = QApplication.clipboard().image().convertToFormat(QImage.Format.Format_RGB888)
    assert (image.height(), image.width()) == before.shape[:2]
    raw = image.constBits().asstring(image.sizeInBytes())
    rows = np.frombuffer(raw, np.uint8).reshape(image.height(), image.bytesPerLine())
    copied = rows[:, : 3 * image.width()].reshape(before.shape)
    np.testing.assert_array_equal(copied, before)
    assert "Copied the picture" in window.status_bar.said


@pytest.mark.parametrize(
    ("boundary", "share"),
    [("periodic", (-0.2, 0.4)), ("walls", (1.2, 0.4)), ("circle", (0.1, 0.1))],
)
def test_a_press_outside_of_the_edge_does_nothing_and_says_so(window, boundary, share):
    window.session.edit("boundary", boundary)
    window.session.apply_setup()
    shown(window)
    window.canvas.view = replace(window.canvas.view, zoom=0.5)
    box = window.session.params.space_size
    for letter in "WADTOBQ":
        take(window, letter)
        drag(window, (share[0] * box, share[1] * box))
        assert window.status_bar.said == OUTSIDE
        assert window.canvas._marks == ()
    assert window.frame.snapshot.n == window.session.setup.rods
    assert window.session.params.push_force == 0
    assert window.session.obstacles == ()
    assert window.tools.picking.rod is None


def test_a_dragged_obstacle_stays_under_the_mouse_that_was_beyond_a_wall(window):
    session = window.session
    session.edit("boundary", "walls")
    session.apply_setup()
    shown(window)
    box = session.params.space_size
    session.set_obstacles([Obstacle(0.7 * box, 0.5 * box, radius=0.1 * box)])
    take(window, "O")
    places = [(share * box, 0.5 * box) for share in (0.7, 1.0, 1.2, 0.9, 0.5)]
    window.canvas.view = replace(window.canvas.view, zoom=0.5)
    drag(window, *places)
    (moved,) = session.obstacles
    assert moved.x == pytest.approx(0.5 * box, abs=0.02 * box)


def test_a_rod_that_is_taken_away_is_said_to_be_gone(window):
    place = tuple(float(part) for part in window.shown.pos[5])
    take(window, "Q")
    drag(window, place)
    take(window, "D")
    drag(window, place)
    until(lambda: window.frame.snapshot.n < window.session.setup.rods)
    until(lambda: window.tools.picking._card.title.text() == "Rod 5 is gone")


def test_a_rod_that_a_state_or_a_file_lacks_is_not_said_to_be_gone(window):
    begun = window.frame.snapshot
    take(window, "A")
    drag(window, empty_place(window))
    done(window)
    window.tools.picking.pick(begun.n)
    title = window.tools.picking._card.title
    assert title.text() == f"Rod {begun.n}"
    step(window)
    window.session.look_back(begun)
    until(lambda: title.text() == f"Rod {begun.n} is not in this state")
    window.session.look_at_now()
    until(lambda: title.text() == f"Rod {begun.n}")
    window.session.look_back(begun, thinned=True)
    until(lambda: title.text() == f"Rod {begun.n} is not in this file")
    window.session.look_at_now()


def test_following_is_offered_while_a_rod_is_picked(window):
    (follow,) = (a for a in window.tools.others if "Follow" in a.text())
    assert not follow.isEnabled()
    take(window, "Q")
    drag(window, tuple(float(part) for part in window.shown.pos[5]))
    assert follow.isEnabled()
    press(window, Qt.Key.Key_Escape)
    assert not follow.isEnabled()


def test_letters_in_a_list_that_has_the_keyboard_find_entries_and_take_no_tool(window):
    window.arrangement.show_panel(window.view_panel)
    box = window.view_panel.coloring.color_by
    began = box.currentText()
    box.setFocus()
    QTest.keyClick(box, "o")
    assert window.canvas.view.color_by == "overlap"
    assert window.tools.tool.name == "move"
    QTest.keyClick(box, Qt.Key.Key_Space)  # that is no letter
    assert window.session.running
    QTest.keyClick(box, Qt.Key.Key_Space)
    box.setCurrentText(began)
    window.session.set_view(color_by=box.currentData())
    # A click leaves the keyboard where it is.
    window.canvas.native.setFocus()
    QTest.mouseClick(box, Qt.MouseButton.LeftButton)
    QTest.keyClick(box.view(), Qt.Key.Key_Escape)
    assert window.focusWidget() is window.canvas.native
    take(window, "O")
    assert window.tools.tool.name == "disc"


def test_rods_are_pushed_away_from_the_hand_while_it_is_down(window):
    take(window, "W")
    for _ in range(4):
        press(window, Qt.Key.Key_BracketRight)
    at = tuple(float(part) for part in window.shown.pos[40])
    compiles = window.engine.status.stats.compiles
    drag(window, at, up=False)
    assert "Time is paused" in window.status_bar.said
    radius = window.tools._bench.radius
    inside = len(rods_within(window.shown, *at, radius / 2))
    window.session.set_running(True)
    until(lambda: len(rods_within(window.shown, *at, radius / 2)) < inside)
    let_go(window, at)
    until(lambda: window.frame.snapshot.params.push_force == 0)
    assert window.engine.status.stats.compiles == compiles
    # The hand is no edit.
    assert window.undo.undo_text == ""


def test_a_rod_is_added_in_the_direction_of_the_drag(window):
    take(window, "A")
    x, y = empty_place(window)
    rods = window.frame.snapshot.n
    drag(window, (x, y), (x + 3, y + 3))
    until(lambda: window.frame.snapshot.n == rods + 1)
    added = window.frame.snapshot
    at = added.pos[-1]
    scale = 1.5 * window.session.params.space_size / window.canvas.size[1]  # a pixel or so
    assert np.hypot(*(at - (x, y))) < scale
    assert added.theta[-1] == pytest.approx(math.pi / 4, abs=0.2)
    undo(window)
    until(lambda: window.frame.snapshot.n == rods)
    redo(window)
    until(lambda: window.frame.snapshot.n == rods + 1)


def test_rods_under_the_brush_go_and_come_back_with_the_state_at_the_edit(window):
    step(window)
    before = window.frame.snapshot
    take(window, "D")
    a, b = (tuple(float(part) for part in before.pos[row]) for row in (3, 60))
    drag(window, a, b)
    done(window)
    left = window.frame.snapshot
    assert not {3, 60} & set(left.ids)
    radius = window.tools._bench.radius
    assert distances(left, *a).min() > 0.9 * radius
    for share in np.linspace(0, 1, 9):  # all along the way
        x, y = (p + share * (q - p) for p, q in zip(a, b, strict=True))
        assert distances(left, x, y).min() > 0.7 * radius
    step(window)
    undo(window)
    assert f"from step {before.step:,} again" in window.status_bar.said
    until(lambda: window.frame.snapshot.n == before.n)
    assert window.frame.snapshot.step == before.step
    np.testing.assert_array_equal(window.frame.snapshot.rods, before.rods)
    assert window.undo.undo_text == ""
    redo(window)
    until(lambda: window.frame.snapshot.n == left.n)


def test_how_many_rods_there_are_now_is_said_beside_how_many_it_began_with(window):
    row = window.parameters.rows["rods"]
    window._refresh()
    assert row.note.isHidden()
    take(window, "D")
    drag(window, tuple(float(part) for part in window.shown.pos[3]))
    until(lambda: window.shown.n < window.session.setup.rods)
    window._refresh()
    assert row.note.text() == f"{window.shown.n} in the picture now"
    assert row.number.text() == str(window.session.setup.rods)
    press(window, Qt.Key.Key_R)
    until(lambda: window.shown.n == window.session.setup.rods)
    window._refresh()
    assert row.note.isHidden()


def test_activity_is_painted_and_with_shift_taken(window):
    window.tools.choose("paint")
    place = tuple(float(part) for part in window.shown.pos[8])
    for keys, activity in ((SHIFT, 0.0), (Qt.KeyboardModifier.NoModifier, 1.0)):
        drag(window, place, keys=keys)
        until(lambda activity=activity: window.frame.snapshot.activity[8] == activity)
        touched = rods_within(window.frame.snapshot, *place, 0.9 * window.tools._bench.radius)
        assert np.all(window.frame.snapshot.activity[touched] == activity)
    assert window.status_bar.said == AT_ONCE  # in this preset


def test_the_brush_has_a_size_by_key_and_by_wheel(window):
    take(window, "T")
    at = window.tools._bench.radius
    press(window, Qt.Key.Key_BracketRight)
    assert window.tools._bench.radius == pytest.approx(1.25 * at)
    press(window, Qt.Key.Key_BracketLeft)
    native, view = window.canvas.native, window.canvas.view
    place = QPointF(200, 200)
    turned = QWheelEvent(
        place, native.mapToGlobal(place), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, CTRL,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(native, turned)
    assert window.tools._bench.radius == pytest.approx(1.25 * at)
    assert window.canvas.view == view
    assert "across" in window.status_bar.said
    for _ in range(40):
        press(window, Qt.Key.Key_BracketRight)
    assert window.tools._bench.radius == pytest.approx(window.session.params.space_size / 2)


def test_obstacles_are_placed_dragged_and_taken_away(window):
    box = window.session.params.space_size
    compiles = window.engine.status.stats.compiles
    take(window, "O")
    drag(window, (0.3 * box, 0.3 * box), (0.4 * box, 0.3 * box))
    take(window, "B")
    drag(window, (0.6 * box, 0.6 * box), (0.8 * box, 0.7 * box))
    until(lambda: len(window.frame.snapshot.obstacles) == 2)
    pixels = 1.5 * box / min(window.canvas.size)
    disc, square = window.frame.snapshot.obstacles
    assert disc.values == pytest.approx([0.3 * box, 0.3 * box, 0, 0, 0.1 * box], abs=2 * pixels)
    assert square.values == pytest.approx(
        [0.7 * box, 0.65 * box, 0.2 * box, 0.1 * box, 0], abs=2 * pixels
    )
    index = window.undo.stack.index()
    drag(window, (0.31 * box, 0.32 * box), (0.31 * box, 0.32 * box))
    assert window.undo.stack.index() == index  # a click moves nothing
    drag(window, (0.3 * box, 0.3 * box), (0.3 * box, 0.4 * box), (0.3 * box, 0.5 * box))
    until(lambda: window.frame.snapshot.obstacles[0].y > 0.45 * box)
    assert window.undo.undo_text == "moving an obstacle"
    undo(window)  # the drag is one
    assert window.undo.undo_text == "placing an obstacle"
    until(lambda: window.frame.snapshot.obstacles[0] == disc)
    redo(window)
    until(lambda: window.frame.snapshot.obstacles[0].y > 0.45 * box)
    take(window, "D")
    drag(window, (0.3 * box, 0.5 * box))
    until(lambda: window.frame.snapshot.obstacles == (square,))
    assert window.frame.snapshot.n == window.session.setup.rods
    assert window.engine.status.stats.compiles == compiles
    assert window.undo.undo_text == "removing an obstacle"
    for _ in range(4):
        undo(window)
    until(lambda: window.frame.snapshot.obstacles == ())
    assert window.undo.undo_text == ""


def test_a_click_places_no_obstacle_and_escape_ends_a_drag(window):
    box = window.session.params.space_size
    take(window, "O")
    drag(window, (0.3 * box, 0.3 * box))
    assert "Drag to place" in window.status_bar.said
    drag(window, (0.3 * box, 0.3 * box), (0.4 * box, 0.3 * box), up=False)
    press(window, Qt.Key.Key_Escape)
    let_go(window, (0.4 * box, 0.3 * box))
    assert window.session.obstacles == ()
    assert window.tools.tool.name == "disc"


def test_an_earlier_state_is_not_edited_but_its_rods_are_told_of(window):
    begun = window.frame.snapshot
    step(window)
    window.session.look_back(begun)
    place = tuple(float(part) for part in begun.pos[5])
    for letter in "WEADTOB":
        take(window, letter)
        drag(window, place, (place[0] + 5, place[1]))
        assert window.status_bar.said == BACK
    take(window, "Q")
    drag(window, place)
    assert window.tools.picking.rod == 5
    assert window.session.params.push_force == 0
    assert not window.session._strokes
    assert window.session.obstacles == ()


def test_values_go_back_and_forth(window):
    slider = window.parameters.rows["F_prop"].slider
    began = window.session.params.F_prop
    slider.setFocus()
    for _ in range(3):
        QTest.keyClick(slider, Qt.Key.Key_Right)
    after = window.session.params.F_prop
    assert after > began
    assert window.undo.undo_text == "F_prop"
    undo(window)
    assert window.session.params.F_prop == began
    until(lambda: window.frame.snapshot.params.F_prop == began)
    redo(window)
    assert window.session.params.F_prop == after
    undo(window)
    assert window.undo.undo_text == ""
    texts = [action.text() for action in window.menuBar().actions()[1].menu().actions()]
    assert texts[:2] == ["Undo", "Redo F_prop"]


def test_there_is_no_way_back_to_the_rods_of_another_run(window):
    take(window, "A")
    drag(window, empty_place(window))
    done(window)
    assert "added rod" in window.undo.undo_text
    window.session.edit("F_prop", 3.0)
    press(window, Qt.Key.Key_R)
    until(lambda: window.frame.snapshot.n == window.session.setup.rods)
    assert window.undo.undo_text == "F_prop"
    undo(window)
    assert window.undo.undo_text == ""
    window.session.load_run(window.session.run, "swarming")
    assert window.undo.redo_text == ""


def test_rods_are_not_brought_back_in_the_midst_of_a_recording(window):
    take(window, "A")
    drag(window, empty_place(window))
    done(window)
    rods = window.frame.snapshot.n
    press(window, Qt.Key.Key_M)
    until(lambda: window.session.movie is not None)
    undo(window)
    assert window.session.movie is not None
    assert "Finish the recording first" in window.session.problem.message
    assert window.frame.snapshot.n == rods
    window.session.dismiss_problem()
    press(window, Qt.Key.Key_M)
    until(lambda: window.engine.status.saved is not None)
