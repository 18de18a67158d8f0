# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours can be read, in both themes, and what is on the screen follows a change."""

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QIcon, QImage
from PyQt6.QtWidgets import QLabel, QPushButton, QToolBar, QToolButton, QVBoxLayout, QWidget

from bacsim_gui import theme
from bacsim_gui.panels.number import NumberField
from bacsim_gui.panels.past_bar import PastBar, PastShown

pytestmark = pytest.mark.gl  # for the display

BOTH = pytest.mark.parametrize("shown", [theme.DARK, theme.LIGHT], ids=["dark", "light"])


@pytest.fixture(autouse=True)
def dark_again(qapp):
    theme.apply(qapp)
    yield
    theme.apply(qapp)


def pixels(widget: QWidget) -> np.ndarray:
    """What a widget shows, (height, width, 3)."""
    picture = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    raw = picture.constBits().asstring(picture.sizeInBytes())
    rows = np.frombuffer(raw, np.uint8).reshape(picture.height(), picture.bytesPerLine())
    return rows[:, : 3 * picture.width()].reshape(picture.height(), -1, 3).astype(int)


def luminance(color: str) -> float:
    """As WCAG 2 defines it."""
    parts = np.array(QColor(color).getRgbF()[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@BOTH
def test_a_button_shows_that_it_is_checked(qapp, shown):
    theme.apply(qapp, shown)
    button = QPushButton("Distributions")
    button.setCheckable(True)
    free = pixels(button)
    button.setChecked(True)
    assert np.abs(pixels(button) - free).sum(axis=2)[4].min() > 20


@BOTH
def test_every_text_can_be_read_on_every_ground_that_it_stands_on(shown):
    grounds = (shown.window, shown.panel, shown.raised, shown.field)
    pairs = [(ink, ground) for ink in (shown.text, shown.muted) for ground in grounds]
    pairs += [(ink, shown.panel) for ink in (shown.warn, shown.error, shown.accent)]
    pairs += [(ink, shown.window) for ink in (shown.warn, shown.good, shown.accent)]
    pairs += [
        (shown.warn, shown.warn_box), (shown.text, shown.error_box), (shown.text, shown.warn_box),
        (shown.on_accent, shown.accent), (shown.text, shown.accent_deep),
    ]  # fmt: skip
    for ink, ground in pairs:
        assert contrast(ink, ground) >= 4.5, (ink, ground)
    # What is disabled is exempt, but is to be told from what is not.
    assert contrast(shown.faint, shown.panel) < contrast(shown.text, shown.panel) / 2


@BOTH
def test_icons_stand_out_and_disabled_ones_do_not(qapp, qtbot, shown):
    theme.apply(qapp, shown)
    seen = {}
    for enabled in (True, False):
        bar = QToolBar()
        qtbot.addWidget(bar)
        button = QToolButton()
        button.setIcon(theme.icon("record"))
        button.setEnabled(enabled)
        bar.addWidget(button)
        bar.resize(60, 40)
        bar.show()
        ground = np.array(QColor(shown.window).getRgb()[:3])
        seen[enabled] = np.abs(pixels(button) - ground).max(axis=2).max()
        reds = pixels(button)[..., 0] - pixels(button)[..., 2]
        assert (reds.max() > 100) == enabled
    assert seen[True] > 2 * seen[False] > 60


@pytest.mark.parametrize("side", [16, 24, 36])
def test_an_icon_is_drawn_as_large_as_it_is_asked_for(qapp, side):
    drawn = theme.icon("pause").pixmap(side, side, QIcon.Mode.Normal)
    assert (drawn.width(), drawn.height()) == (side, side)
    image = drawn.toImage()
    assert image.pixelColor(side // 3, side // 2).name() == theme.DARK.text
    assert image.pixelColor(1, 1).alpha() == 0


def test_the_system_is_followed_unless_a_theme_is_chosen():
    light, dark, none = (
        Qt.ColorScheme.Light, Qt.ColorScheme.Dark, Qt.ColorScheme.Unknown,
    )  # fmt: skip
    assert theme.chosen("system", light) is theme.LIGHT
    assert theme.chosen("system", dark) is theme.DARK
    assert theme.chosen("system", none) is theme.DARK
    assert theme.chosen("dark", light) is theme.DARK
    assert theme.chosen("light", dark) is theme.LIGHT
    with pytest.raises(ValueError, match="theme = 'blue' is unknown"):
        theme.chosen("blue", light)


def test_what_is_on_the_screen_follows_a_change(qapp, qtbot):
    """Texts, icons, and what a field paints by itself: none keeps a colour of the old theme."""
    box = QWidget()
    qtbot.addWidget(box)
    rows = QVBoxLayout(box)
    number, button, bar, word = NumberField("f t/l²"), QToolButton(), PastBar(), QLabel("word")
    button.setIcon(theme.icon("reset"))
    for widget in (number, button, bar, word):
        rows.addWidget(widget)
    bar.show_values(PastShown(3, 1, None, looking=True))
    box.resize(700, 200)
    box.show()
    for shown in (theme.LIGHT, theme.DARK):
        theme.apply(qapp, shown)
        for widget in (number, button, bar, word):
            ground = np.median(pixels(widget))
            assert (ground > 128) == (shown is theme.LIGHT), widget
        unit = pixels(number)[:, -24:-8]
        muted = np.array(QColor(shown.muted).getRgb()[:3])
        assert np.abs(unit - muted).max(axis=2).min() < 40
        ink = np.array(QColor(shown.text).getRgb()[:3])
        assert np.abs(pixels(button) - ink).max(axis=2).min() < 40


def test_widths_follow_the_size_of_text(qapp, qtbot):
    number = NumberField("l")
    qtbot.addWidget(number)
    theme.fix_width(number, 116)
    number.show_value(12345.67)
    number.show()
    usual = number.width(), number.fontMetrics().height(), number.textMargins().right()
    theme.apply(qapp, theme.DARK, 200)
    assert number.width() == pytest.approx(2 * usual[0], rel=0.05)
    assert number.fontMetrics().height() > 1.8 * usual[1]
    assert number.textMargins().right() > usual[2]
    theme.apply(qapp)
    assert (number.width(), number.fontMetrics().height(), number.textMargins().right()) == usual
