# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools and undo where something comes between: another run, an earlier state, a dialog."""

import json

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt, QTimer
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QStyle, QStyleOptionSlider

from bacsim_gui.tools import NOT_YET
from bacsim_gui.undo import TOGETHER_SECONDS
from engine import schema
from engine.obstacle import Obstacle
from engine.storage.trajectory import TrajectoryWriter
from tests.gui.events import live, until
from tests.gui.windows import begin, drag, let_go, look_back, pixel, shown, step

pytestmark = pytest.mark.gl

CTRL = Qt.KeyboardModifier.ControlModifier
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(one_window):
    """The window, paused at the start of its preset, with no tool in the hand."""
    begin(one_window)
    return one_window


def take(window, letter: str, keys=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(window, getattr(Qt.Key, f"Key_{letter}"), keys)


def undo(window):
    take(window, "Z", CTRL)


def rod(window, row: int) -> tuple[float, float]:
    return tuple(float(part) for part in window.shown.pos[row])


def done(window):
    until(
        lambda: not window.session._strokes and window.frame.number == window.showing.acknowledged
    )


def push(window):
    """Push with the button down until that is in a state, then stand still."""
    step(window)
    take(window, "W")
    drag(window, rod(window, 40), up=False)
    window.session.set_running(True)
    until(lambda: window.frame.snapshot.params.push_force > 0)
    window.session.set_running(False)
    shown(window)


def test_looking_back_with_the_button_down_lets_the_hand_go(window):
    push(window)
    look_back(window, 0)
    let_go(window, rod(window, 40))
    window.session.look_at_now()
    until(lambda: window.frame.snapshot.params.push_force == 0)
    assert window.session.params.push_force == 0


def test_a_branch_of_a_pushed_state_has_no_hand_in_it(window):
    push(window)
    at = window.frame.snapshot.step
    step(window)
    let_go(window, rod(window, 40))
    look_back(window, at)
    assert window.session.looking.params.push_force > 0
    window._go_on()
    shown(window)
    assert window.session.params.push_force == 0
    assert window.frame.snapshot.params.push_force == 0


def test_what_is_saved_of_a_run_has_no_hand_in_it(window):
    push(window)
    assert window.session.params.push_force > 0
    assert window.session.current_run().params.push_force == 0
    let_go(window, rod(window, 40))


def test_a_dialog_ends_a_drag_whose_release_it_takes(window):
    push(window)
    seen = []

    def answer():
        dialog = QApplication.activeModalWidget()
        if dialog is None:
            QTimer.singleShot(20, answer)
            return
        seen.append(window.session.params.push_force)
        QTest.mouseRelease(dialog, LEFT)
        QTest.keyClick(dialog, Qt.Key.Key_Escape)

    QTimer.singleShot(20, answer)
    take(window, "O", CTRL)
    assert seen == [0]
    QTest.mouseMove(window.canvas.native, pixel(window, *rod(window, 3)))
    assert window.session.params.push_force == 0
    window.activateWindow()
    until(window.isActiveWindow)


def test_a_brush_does_not_go_on_in_another_run(window):
    take(window, "D")
    drag(window, rod(window, 3), up=False)
    done(window)
    take(window, "R")
    shown(window)
    rods, other = window.frame.snapshot.n, rod(window, 50)
    assert rods == window.session.setup.rods
    QTest.mouseMove(window.canvas.native, pixel(window, *other))
    live(0.03)
    let_go(window, other)
    assert not window.session._strokes
    assert window.frame.snapshot.n == rods


def test_a_picked_rod_is_let_go_with_its_run(window):
    take(window, "Q")
    drag(window, rod(window, 5))
    take(window, "R")
    assert window.tools.picking.rod == 5  # it begins again
    take(window, "N")
    assert window.tools.picking.rod is None
    shown(window)


def test_a_picked_rod_is_the_same_one_in_a_branch(window):
    take(window, "D")
    drag(window, rod(window, 3))
    done(window)
    before = window.frame.snapshot
    step(window)
    window.tools.picking.pick(int(before.ids[100]))
    look_back(window, before.step)
    window._go_on()
    shown(window)
    (mark,) = window.tools.picking.marks()
    assert (mark.x, mark.y) == tuple(float(part) for part in before.pos[100])


def test_old_states_make_room_in_undo(window, monkeypatch):
    monkeypatch.setattr("bacsim_gui.undo.MOST_BYTES", 2 * window.shown.rods.nbytes + 100)
    counts = []
    for row in range(4):
        counts.append(window.frame.snapshot.n)
        take(window, "A")
        drag(window, rod(window, row))
        done(window)
        if row == 1:
            window.session.edit("F_prop", 3.0)
    for wanted in counts[:1:-1]:
        undo(window)
        shown(window)
        assert window.frame.snapshot.n == wanted
    # Of those before no state is left, but the value goes back.
    undo(window)
    assert window.session.params.F_prop == 8.0
    assert window.undo.undo_text == ""
    undo(window)
    assert window.frame.snapshot.n == counts[2]


def test_contacts_are_not_told_where_rods_are_missing(window, tmp_path):
    path = tmp_path / "few.gsd"
    about = {
        "parameters": json.dumps(schema.to_mapping(window.session.setup, window.session.params)),
        "seed": "1",
    }
    with TrajectoryWriter(path, about, rods=50) as file:
        file.write(window.shown)
    window.files.open(path)
    until(lambda: window.session.looking is not None)
    assert window.session.thinned
    window.tools.picking.pick(int(window.shown.ids[3]))
    figures = window.tools.picking._card.figures
    assert figures.text("contacts") == "–"
    window.session.look_at_now()
    assert figures.text("contacts") != "–"


def test_marks_are_seen_on_both_sides_of_an_edge(window):
    box = window.session.params.space_size
    window.session.set_obstacles([Obstacle(box - 1.0, box / 2, radius=6.0)])
    for letter, y in ("O", 0.5 * box), ("D", 0.2 * box):
        take(window, letter)
        plain = window.canvas.grab().astype(int)
        QTest.mouseMove(window.canvas.native, pixel(window, 1.0, y))
        until(lambda: window.canvas._marks)
        live(0.05)
        changed = np.abs(window.canvas.grab() - plain).max(axis=2) > 50
        columns = np.flatnonzero(changed.any(axis=0))
        ratio = window.canvas.native.devicePixelRatioF()
        edges = [pixel(window, x, 0.0).x() * ratio for x in (0.3 * box, 0.7 * box)]
        assert columns.min() < edges[0]
        assert columns.max() > edges[1]
        window.tools.left()
        live(0.05)


def test_undo_leaves_nothing_to_be_applied(window):
    for row in (3, 60):
        take(window, "A")
        drag(window, rod(window, row))
        done(window)
    undo(window)
    shown(window)
    assert window.frame.snapshot.n == 201
    assert window.session.unapplied == ()


def test_in_an_earlier_state_nothing_is_undone(window):
    step(window)
    window.session.edit("F_prop", 3.0)
    step(window)
    look_back(window, 0)
    undo(window)
    assert "earlier state" in window.session.problem.message
    assert window.session.params.F_prop == 8.0  # of that state
    window.session.look_at_now()
    assert window.session.params.F_prop == 3.0
    undo(window)
    assert window.session.params.F_prop == 8.0
    window.session.dismiss_problem()


def test_two_drags_of_a_slider_are_undone_one_by_one(window):
    slider = window.parameters.rows["F_prop"].slider

    def slide():
        option = QStyleOptionSlider()
        slider.initStyleOption(option)
        handle = slider.style().subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
        )
        QTest.mousePress(slider, LEFT, pos=handle.center())
        for pixels in (6, 12):
            QTest.mouseMove(slider, handle.center() + QPoint(pixels, 0))
        QTest.mouseRelease(slider, LEFT, pos=handle.center() + QPoint(12, 0))
        return window.session.params.F_prop

    began = window.session.params.F_prop
    first = slide()
    live(1.1 * TOGETHER_SECONDS)
    assert slide() > first > began
    undo(window)
    assert window.session.params.F_prop == first
    undo(window)
    assert window.session.params.F_prop == began


def test_escape_gives_up_what_is_typed_before_the_tool(window):
    take(window, "W")
    field = window.parameters.rows["F_prop"].number
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "7")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "8"
    assert not field.hasFocus()
    assert window.session.params.F_prop == 8.0
    assert window.tools.tool.name == "push"


def pushed_to(window, steps: int = 3):
    """Let time go on."""
    for _ in range(steps):
        step(window)


def test_reset_after_undo_of_rods_begins_where_the_run_did(window):
    begun = window.frame.snapshot
    pushed_to(window)
    take(window, "D")
    drag(window, rod(window, 3))
    done(window)
    assert window.frame.snapshot.n < begun.n
    undo(window)
    shown(window)
    assert window.frame.snapshot.step > 0
    take(window, "R")
    shown(window)
    np.testing.assert_array_equal(window.frame.snapshot.rods, begun.rods)


def test_a_refusal_after_undo_of_added_rods_leaves_a_reset_possible(window):
    """The engine's rods are not those that a reset begins with."""
    begun = window.frame.snapshot
    take(window, "A")
    drag(window, (5.0, 5.0))
    done(window)
    pushed_to(window)
    added = window.frame.snapshot
    assert added.n == begun.n + 1
    take(window, "D")
    drag(window, rod(window, 3))
    done(window)
    undo(window)
    shown(window)
    assert window.frame.snapshot.n == added.n
    window.session.edit("dt", 0.9)
    window.session.step(50)
    until(lambda: window.session.problem is not None)
    window.session.dismiss_problem()
    window.session.restore("dt")
    take(window, "R")
    shown(window)
    np.testing.assert_array_equal(window.frame.snapshot.rods, begun.rods)


def test_undo_of_rods_keeps_the_values_of_now(window):
    """The picture is older than a value that has just been edited."""
    pushed_to(window)
    take(window, "D")
    window.session.edit("F_prop", 3.5)
    at = rod(window, 3)
    drag(window, at)
    done(window)
    undo(window)
    shown(window)
    assert window.session.params.F_prop == 3.5
    assert window.frame.snapshot.n == window.session.setup.rods


def test_what_is_done_again_later_is_taken_back_to_there(window):
    take(window, "D")
    pushed_to(window, 1)
    drag(window, rod(window, 3))
    done(window)
    undo(window)
    shown(window)
    pushed_to(window)
    later = window.frame.snapshot
    take(window, "Y", CTRL)
    done(window)
    assert f"{later.step:,}" in window.undo.undo_text
    pushed_to(window, 1)
    undo(window)
    shown(window)
    np.testing.assert_array_equal(window.frame.snapshot.rods, later.rods)


def test_an_obstacle_comes_back_to_its_place_in_a_larger_box(window):
    session = window.session
    session.set_obstacles([Obstacle(20.0, 10.0, radius=3.0)])
    until(lambda: window.frame.snapshot.obstacles == session.obstacles)
    window.undo.begin_gesture()
    session.set_obstacles([])
    side, rods = session.params.space_size, session.setup.rods
    session.edit("rods", 4 * rods)
    session.apply_setup()
    shown(window)
    grown = session.params.space_size / side
    undo(window)  # of the number of rods
    undo(window)
    (one,) = session.obstacles
    assert (one.x, one.y) == pytest.approx((20 * grown, 10 * grown))
    session.edit("rods", rods)
    session.apply_setup()
    shown(window)


def click(window, row: int):
    """Use the tool where a rod is; the window does not get to know what comes of it."""
    QTest.mouseClick(window.canvas.native, LEFT, pos=pixel(window, *rod(window, row)))


def test_edits_of_rods_that_follow_quickly_are_undone_one_by_one(window):
    counts = [window.frame.snapshot.n]
    take(window, "A")
    click(window, 3)
    click(window, 60)
    take(window, "D")
    click(window, 100)
    assert window.frame.snapshot.n == counts[0]
    done(window)
    assert window.frame.snapshot.n < counts[0] + 2
    for wanted in (2, 1, 0):
        undo(window)
        shown(window)
        done(window)
        assert window.frame.snapshot.n == counts[0] + wanted


def test_what_is_done_again_at_once_is_taken_back_again(window):
    began = window.frame.snapshot
    take(window, "D")
    drag(window, rod(window, 3))
    done(window)
    fewer = window.frame.snapshot.n
    undo(window)
    take(window, "Y", CTRL)  # before the state of before is in the picture
    shown(window)
    done(window)
    assert window.frame.snapshot.n == fewer
    undo(window)
    shown(window)
    np.testing.assert_array_equal(window.frame.snapshot.rods, began.rods)


@pytest.mark.parametrize("letter", ["A", "D", "T", "Q"])
def test_tools_wait_for_the_run_that_is_being_made(window, letter):
    take(window, letter)
    take(window, "N")
    click(window, 3)
    assert window.status_bar.said == NOT_YET
    shown(window)
    assert window.frame.snapshot.n == window.session.setup.rods
    assert window.undo.undo_text == ""
    assert window.tools.picking.rod is None


def test_escape_puts_back_the_obstacle_that_is_dragged(window):
    session = window.session
    session.set_obstacles([Obstacle(40.0, 40.0, radius=6.0)])
    said = window.undo.undo_text
    count = window.undo.stack.count()
    take(window, "O")
    drag(window, (40.0, 40.0), (60.0, 50.0), up=False)
    assert session.obstacles[0].x != 40
    QTest.keyClick(window.canvas.native, Qt.Key.Key_Escape)
    assert session.obstacles == (Obstacle(40.0, 40.0, radius=6.0),)
    let_go(window, (60.0, 50.0))
    assert session.obstacles == (Obstacle(40.0, 40.0, radius=6.0),)
    assert (window.undo.undo_text, window.undo.stack.count()) == (said, count)
