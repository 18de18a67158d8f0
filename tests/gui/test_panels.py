# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels follow from the declaration: what they show and emit, and that showing is silent."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QApplication, QWidget

from bacsim_gui import theme
from bacsim_gui.panels.number import NumberField, ValueSlider, nudged
from bacsim_gui.panels.parameters import ParameterPanel
from bacsim_gui.panels.past_bar import PastBar, PastShown
from bacsim_gui.panels.recording import RecordingPanel
from bacsim_gui.panels.recording_progress import time_left
from bacsim_gui.panels.statistics import StatisticsPanel, big, phase_text, seconds, size
from bacsim_gui.panels.status import StatusBar
from bacsim_gui.panels.transport import TransportBar
from bacsim_gui.panels.view_panel import ViewPanel
from bacsim_gui.presets import load_preset, preset_names
from bacsim_gui.seam import Status
from bacsim_gui.session import Session
from engine.schema import FIELDS as ALL
from engine.schema import coerce, field
from engine.stats import ListStats, Stats
from engine.timing import CompileRecord
from tests.gui.events import type_into

pytestmark = pytest.mark.gl  # for the display

# Those of the hand are set by the mouse.
FIELDS = [f for f in ALL if f.group != "hand"]


LISTS = ListStats(0.3456, 5.96, 17, 24, 54, 64, 40.3448)
STATS = Stats(
    compiles=2, growths=1, trace_seconds=1.0, lower_seconds=0.5, backend_seconds=3.0,
    last=CompileRecord("growth: longer neighbour lists", 0.3, 0.2, 1.0, "off"), step_seconds=3e-4,
    step_seconds_p95=4e-4, rod_steps_per_second=5e6, temp_bytes=1 << 20, device="CPU",
    kernel="neighbours", kernel_reason="auto: 64 rods or more", code="native, avx2",
    threads=3, rods=300, capacity=320,
    neighbours=LISTS,
)  # fmt: skip


@pytest.fixture
def session(qapp):
    theme.apply(qapp)
    return Session(load_preset("swarming", rods=300), Path("movies"), "swarming")


@pytest.fixture
def panel(qtbot, session):
    made = ParameterPanel()
    qtbot.addWidget(made)
    made.resize(theme.PANEL_WIDTH, 900)
    made.show()
    made.show_values(session, 25)
    return made


def test_every_declared_parameter_has_its_row_with_symbol_meaning_unit_and_range(panel):
    assert set(panel.rows) == {f.name for f in FIELDS}
    for f in FIELDS:
        row = panel.rows[f.name]
        assert f.name in row.name.text()
        assert f.doc[:80] in unescape(row.toolTip())
        if f.kind != "choice":
            assert row.slider is not None
            assert row.slider.value_at(0) == coerce(f.name, f.low)
            assert row.slider.value_at(row.slider.maximum()) == coerce(f.name, f.high)
        else:
            shown = [row.choice.itemText(i) for i in range(row.choice.count())]
            assert tuple(shown) == f.choices


@pytest.mark.parametrize("f", [f for f in FIELDS if f.kind != "choice"], ids=lambda f: f.name)
def test_a_slider_shows_what_it_gave(qapp, f):
    slider = ValueSlider(f)
    for position in range(0, slider.maximum() + 1, 7):
        value = slider.value_at(position)
        assert coerce(f.name, value) == value
        again = slider.value_at(slider.position_of(float(value)))
        assert again == pytest.approx(value, rel=0.02)


def test_showing_values_emits_nothing(qtbot, session, panel):
    transport, view, recording = TransportBar(preset_names()), ViewPanel(), RecordingPanel()
    past = PastBar()
    for widget in (transport, view, recording, past):
        qtbot.addWidget(widget)
    told = []
    for signal in (
        panel.edited, panel.restored, panel.applied, transport.auto_toggled, transport.speed_typed,
        transport.seed_typed, transport.preset_chosen, view.edited, recording.edited, past.moved,
    ):  # fmt: skip
        signal.connect(lambda *values: told.append(values))
    for f in FIELDS:
        value = f.choices[-1] if f.kind == "choice" else f.low if f.name != "space_size" else 50
        session.edit(f.name, value)
    session.set_view(background="white", colormap="viridis", show_box=False, title="seen")
    session.set_view(parameters=("dt", "rods"))
    session.set_auto(True, 3)
    for name, value in (
        ("width", "640"), ("kind", ".gif"), ("quality", "high"), ("fps", "12"), ("delay", "3"),
        ("time_a_frame", "0.5"), ("until", "900"), ("keep", "10"),
    ):  # fmt: skip
        session.set_movie(name, value)
    for show in (panel.show_values, transport.show_values, recording.show_values):
        show(session, 3)
    view.show_values(session)
    past.show_values(PastShown(20, 7, None, looking=True))
    assert told == []
    assert past.slider.value() == 7
    assert view.title.text() == "seen"
    assert view.entry("dt").isChecked()
    assert recording.kind.currentData() == ".gif"
    assert recording.until.text() == "900"
    assert panel.rows["w_a"].number.text() == "-2"
    assert transport.auto.isChecked()
    assert not view.shown["show_box"].isChecked()


def test_typing_emits_the_text_once_and_shows_the_valid_value_until_told_otherwise(qtbot):
    number = NumberField("l")
    qtbot.addWidget(number)
    number.show()
    number.show_value(4.0)
    typed = []
    number.typed.connect(typed.append)
    type_into(number, "7,5")
    number.clearFocus()
    assert typed == ["7,5"]
    assert number.text() == "4"
    type_into(number, "4")
    assert typed == ["7,5"]


def test_escape_gives_up_what_was_typed(qtbot):
    number = NumberField()
    qtbot.addWidget(number)
    number.show()
    number.show_value(4.0)
    QTest.keyClicks(number, "99")
    QTest.keyClick(number, Qt.Key.Key_Escape)
    assert number.text() == "4"


def test_a_refresh_does_not_write_over_what_is_being_typed(qtbot):
    number = NumberField()
    qtbot.addWidget(number)
    number.show()
    number.show_value(4.0)
    number.selectAll()
    QTest.keyClicks(number, "12")
    number.show_value(4.0)
    assert number.text() == "12"


def test_the_arrow_keys_move_by_one_declared_step(qtbot, panel):
    moved = []
    panel.edited.connect(lambda *what: moved.append(what))
    QTest.keyClick(panel.rows["w_a"].number, Qt.Key.Key_Up)
    QTest.keyClick(panel.rows["rods"].number, Qt.Key.Key_Down)
    assert moved == [("w_a", 1.05), ("rods", 294.0)]


@pytest.mark.parametrize("name", ["dt", "k_cc", "rods", "T_prop"])
def test_a_nudge_there_and_back_ends_where_it_began(name):
    f = field(name)
    value = float(f.default)
    assert nudged(f, nudged(f, value, 1), -1) == pytest.approx(value, rel=1e-3, abs=1e-12)


def test_the_wheel_scrolls_a_panel_and_changes_no_choice(qtbot, panel):
    changed = []
    panel.edited.connect(lambda *what: changed.append(what))
    for widget in (panel.rows["w_a"].slider, panel.rows["kernel"].choice):
        QApplication.sendEvent(
            widget,
            QWheelEvent(
                QPointF(5, 5), QPointF(5, 5), QPoint(0, -120), QPoint(0, -120),
                Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
                Qt.ScrollPhase.NoScrollPhase, False,
            ),
        )  # fmt: skip
    assert changed == []
    assert panel.rows["kernel"].choice.currentText() == "auto"


def test_derived_figures_are_shown_with_their_units(session, panel):
    figures = panel.derived.figures
    assert figures.text("packing fraction").startswith("0.3")
    assert figures.text("circle radius") == "∞ l"
    assert figures.text("pace") == "5 body widths/s"
    session.edit("T_prop", 0.5)
    panel.show_values(session, 50)
    assert figures.text("circle radius") != "∞ l"
    assert figures.text("pace") == "9.99 body widths/s"


def test_figures_are_shown_with_fitting_units():
    assert [seconds(s) for s in (12.3456, 0.00123, 4.5e-7, 0, float("nan"))] == [
        "12.3 s", "1.23 ms", "0.45 µs", "–", "–",
    ]  # fmt: skip
    assert [big(n) for n in (1.25e9, 3.4e6, 1500, 12, float("nan"))] == [
        "1.25 G", "3.4 M", "1.5 k", "12", "–",
    ]  # fmt: skip
    assert [size(n) for n in (500, 2048, 3 << 20, 5 << 30)] == ["500 B", "2 KiB", "3 MiB", "5 GiB"]


def test_the_preset_box_names_no_preset_for_an_own_run(session, qtbot):
    transport = TransportBar(preset_names())
    qtbot.addWidget(transport)
    session.load_run(load_preset("turbulence"), "turbulence")
    transport.show_values(session, 25)
    assert transport.preset.currentText() == "turbulence"
    session.load_run(load_preset("dilute"))
    transport.show_values(session, 25)
    assert transport.preset.currentIndex() == -1
    assert transport.preset.placeholderText() == "own run"


def test_the_statistics_tell_the_kernel_its_lists_and_growths_apart_from_compiles(qtbot, session):
    panel = StatisticsPanel()
    qtbot.addWidget(panel)
    panel.show_values(session, Status(stats=STATS), None, 60.0)
    assert panel.compile.text("compiles") == "2"
    assert panel.compile.text("growths") == "1"
    assert panel.compile.text("compile time, in all") == "4.5 s"
    assert panel.program.text("kernel") == "neighbours"
    assert panel.program.text("chosen") == "auto: 64 rods or more"
    assert panel.program.text("code") == "native, avx2, 3 threads"
    assert panel.program.text("capacity") == "320 rods"
    assert panel.lists.text("neighbours a rod") == "6.0, most 17 of 24"
    assert panel.lists.text("tried for it, most") == "54 of 64"
    assert panel.lists.text("skin") == "0.346 l"
    assert panel.lists.text("remade in 1,000 steps") == "40.3 times"
    assert not panel.lists.isHidden()
    endless = replace(STATS, neighbours=replace(LISTS, candidates=0, candidate_room=0))
    panel.show_values(session, Status(stats=endless), None, 60.0)
    assert panel.lists.text("tried for it, most") == "–"
    without = replace(STATS, kernel="rowsum", kernel_reason="as asked for", neighbours=None)
    without = replace(without, code="JAX", threads=None)
    panel.show_values(session, Status(stats=without), None, 60.0)
    assert panel.program.text("code") == "JAX"
    assert panel.program.text("kernel") == "rowsum"
    assert panel.lists.isHidden()
    assert panel.lists_heading.isHidden()


def test_the_status_line_counts_growths_and_says_why_it_compiles(qtbot, session):
    bar = StatusBar()
    qtbot.addWidget(bar)
    growing = Status("compiling", 5.0, "growth: longer neighbour lists", STATS)
    assert phase_text(growing, 8.0) == "compiling… 3 s (growth: longer neighbour lists)"
    bar.show_values(session, growing, None, 0.0)
    assert bar.figures.text().endswith("2 compiles   1 growth")
    assert "compiling" in bar.phase.text()


def test_what_is_written_into_the_picture_is_chosen_in_the_panel(qtbot, session):
    panel, told = ViewPanel(), []
    qtbot.addWidget(panel)
    panel.edited.connect(lambda *what: told.append(what))
    panel.show()
    QTest.keyClicks(panel.title, "My")
    panel.entry("rods").trigger()
    panel.entry("w_a").trigger()
    panel.shown["show_time"].click()
    # In the order of the declaration, whatever came first.
    assert told == [
        ("title", "M"), ("title", "My"), ("parameters", ("rods",)),
        ("parameters", ("w_a", "rods")), ("show_time", True),
    ]  # fmt: skip


def test_a_setting_that_is_emptied_is_none_or_at_once(qtbot, session):
    panel, told = RecordingPanel(), []
    qtbot.addWidget(panel)
    panel.edited.connect(lambda *what: told.append(what))
    session.set_movie("until", "900")
    session.set_movie("delay", "3")
    panel.show()
    panel.show_values(session, 25)
    for emptied in (panel.until, panel.delay):
        emptied.setFocus()
        emptied.selectAll()
        QTest.keyClick(emptied, Qt.Key.Key_Delete)
        QTest.keyClick(emptied, Qt.Key.Key_Return)
    assert told == [("until", ""), ("delay", "0")]


def pixels(widget: QWidget) -> bytes:
    image = widget.grab().toImage()
    bits = image.constBits()
    assert bits is not None
    return bits.asstring(image.sizeInBytes())


def test_words_in_place_of_a_number_have_no_unit(qtbot):
    field, plain = NumberField("t"), NumberField()
    for one in (field, plain):
        qtbot.addWidget(one)
        one.setFixedSize(200, 30)
        one.setPlaceholderText("as in the window")
    assert pixels(field) == pixels(plain)
    for one in (field, plain):
        one.show_value(0.5)
    assert pixels(field) != pixels(plain)


def test_a_size_is_chosen_by_its_pixels_whatever_its_name_is(qtbot, session):
    panel = RecordingPanel()
    qtbot.addWidget(panel)
    told = []
    panel.edited.connect(lambda name, value: told.append((name, value)))
    at = [panel.size_choice.itemText(n) for n in range(panel.size_choice.count())]
    panel.size_choice.activated.emit(at.index("3840 × 2160 (4K)"))
    assert told == [("width", "3840"), ("height", "2160")]
    for pair, text in (((3840, 2160), "3840 × 2160 (4K)"), ((640, 480), "")):
        for name, value in zip(("width", "height"), pair, strict=True):
            session.set_movie(name, str(value))
        panel.show_values(session, 25)
        assert panel.size_choice.currentText() == text


def test_rows_of_colours_say_why_they_cannot_be_used(qtbot, session):
    panel = ViewPanel()
    qtbot.addWidget(panel)
    reason = panel.coloring.reason
    for view, words in (
        ({}, ""), ({"field": "density"}, "Colours tell of the field"),
        ({"field": "none", "show_rods": False}, "No rods are drawn"),
        ({"show_rods": True, "color_by": "heading"}, "An angle goes round once"),
        ({"color_by": "fixed"}, "All rods are of one colour"),
    ):  # fmt: skip
        session.set_view(**view)
        panel.show_values(session)
        assert reason.text().startswith(words)
        assert reason.isHidden() == (words == "")
        usable = panel.coloring._range_row.isEnabled()
        assert usable == (words == "")
        if not usable:
            assert panel.coloring._range_row.toolTip() == reason.text()


def test_units_are_explained_where_they_stand(qtbot, session):
    panel = ParameterPanel()
    qtbot.addWidget(panel)
    panel.show_values(session, 25)
    assert "l is a length, in the presets the width of a body" in panel.rows["length"].toolTip()
    assert "f is a force" in panel.rows["k_cc"].toolTip()
    assert " is a " not in panel.rows["w_d"].toolTip().split("Default")[1]
    # What they say of the presets is so.
    for name in preset_names():
        params = load_preset(name).params
        assert 2 * params.radius == 1
        assert params.F_prop / (2 * params.gamma * params.length) == 1


def test_the_time_left_follows_from_the_share_that_is_done():
    assert time_left(0.01, 0.0, 10.0) == ""
    assert time_left(0.25, 100.0, 110.0) == "about 30 s left"
    assert time_left(0.1, 0.0, 60.0) == "about 9 min left"


def test_the_status_line_tells_what_is_made_and_that_no_autosave_is_written(qtbot, session):
    bar = StatusBar()
    qtbot.addWidget(bar)
    making = Status("running", movie=Path("a/b.gif"), finishing=0.42)
    bar.show_values(session, making, None, 0.0)
    assert bar.words.text() == "making b.gif, 42%"
    bar.show_values(session, Status("running", autosave_problem="No room."), None, 0.0)
    assert bar.words.text() == "no autosave: No room."
