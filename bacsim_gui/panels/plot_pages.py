# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots themselves. Import it when they are first seen: pyqtgraph takes a third of a second."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QEvent, QPoint, QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QImage, QMouseEvent, QPaintDevice, QPainter
from PyQt6.QtSvg import QSvgGenerator
from PyQt6.QtWidgets import QWidget
from pyqtgraph import exceptionHandling

from bacsim_gui import theme
from bacsim_gui.distributions import Distribution, round_up
from bacsim_gui.time_series import COLUMNS, TimeSeries, outline

# It would print every exception once more, and take part in the end of the program.
exceptionHandling.handler.remove()
pg.setConfigOptions(exitCleanup=False, antialias=False)

# What is drawn over time: name of the axis, its range where it is known, and the lines.
OVER_TIME = (
    ("active fraction", (0.0, 1.0), ("active_fraction",)),
    ("order", (0.0, 1.0), ("polar_order", "nematic_order")),
    ("mean speed (l/t)", None, ("mean_speed",)),
)
# The least height of a plot and the width of the axis at its left, at the usual size of text.
LOWEST, AXIS = 96, 64


class PlotPage(pg.GraphicsLayoutWidget):
    """Plots below one another, in the colours of the theme."""

    # Qt tells of changes before there are plots.
    made = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plots: list[pg.PlotItem] = []

    def changeEvent(self, a0: QEvent | None) -> None:
        """Follow the theme and the size of text."""
        super().changeEvent(a0)
        if (
            self.made
            and a0 is not None
            and a0.type()
            in (
                QEvent.Type.PaletteChange,
                QEvent.Type.FontChange,
            )
        ):
            self.restyle()

    def restyle(self) -> None:
        """Take the colours that the theme has now."""
        self.made = True
        colors = theme.colors()
        self.setBackground(colors.panel)
        # The first and the last number of an axis stand out by half of their height.
        half = self.fontMetrics().height() // 2
        self.ci.setContentsMargins(0, half, 4, 0)
        self.ci.setSpacing(half)
        self.setMinimumHeight(theme.scaled(LOWEST) * len(self.plots))
        for plot in self.plots:
            # One below the other, their axes stand at the same place.
            plot.getAxis("left").setWidth(theme.scaled(AXIS))
            for side in ("left", "bottom"):
                axis = plot.getAxis(side)
                axis.setPen(colors.line)
                axis.setTextPen(colors.muted)
                axis.setTickFont(self.font())
                axis.setStyle(tickLength=-4, hideOverlappingLabels=half)
                axis.setLabel(
                    axis.labelText,
                    **{"color": colors.muted, "font-size": f"{self.font().pointSizeF():g}pt"},
                )

    def add(self, left: str, bottom: str = "") -> pg.PlotItem:
        """Another plot below the others."""
        # Without its menu, whose widgets take as long to build as the plot.
        plot = self.ci.addPlot(row=len(self.plots), col=0, enableMenu=False)
        plot.hideButtons()
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
        plot.setLabel("left", left)
        plot.setLabel("bottom", bottom)
        self.plots.append(plot)
        return plot

    def settle(self) -> None:
        """Let new ranges take effect now: while it paints, that would have it paint once more."""
        scene = self.scene()
        assert isinstance(scene, pg.GraphicsScene)
        scene.prepareForPaint()

    def save(self, path: Path, suffix: str) -> None:
        """Write a picture, .png or .svg. Raises `OSError`."""
        size = self.size()
        if suffix == ".svg":
            drawing = QSvgGenerator()
            drawing.setFileName(str(path))
            drawing.setSize(size)
            # Axes are drawn for the resolution of the screen.
            drawing.setResolution(self.logicalDpiX())
            drawing.setViewBox(QRect(QPoint(), size))
            drawing.setTitle("bacsim")
            self._paint(drawing)
            return
        # Twice the size on the screen, for print.
        image = QImage(2 * size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(2)
        image.fill(QColor(theme.colors().panel))
        self._paint(image)
        if not image.save(str(path), "PNG"):
            raise OSError("the disk may be full")

    def _paint(self, onto: QPaintDevice) -> None:
        painter = QPainter(onto)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRect(QPoint(), self.size())
        self.render(painter, QRectF(box), box)
        painter.end()


class TimePage(PlotPage):
    """Averages over time, with a cursor at the state that is looked back at."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: dict[str, pg.PlotDataItem] = {}
        self.cursors: list[pg.InfiniteLine] = []
        self._legend: pg.LegendItem | None = None
        self._table = TimeSeries().table()
        for title, limits, names in OVER_TIME:
            plot = self.add(title)
            if limits is not None:
                plot.getViewBox().setYRange(*limits, padding=0.02)
            if len(names) > 1:
                self._legend = plot.addLegend(offset=(-4, 2), verSpacing=-6)
            for name in names:
                line = plot.plot(name=name.replace("_", " "), skipFiniteCheck=False)
                line.setClipToView(False)
                self.lines[name] = line
            cursor = pg.InfiniteLine(angle=90, movable=False)
            cursor.hide()
            plot.addItem(cursor, ignoreBounds=True)
            self.cursors.append(cursor)
            plot.getViewBox().setMouseEnabled(x=True, y=False)
            if self.plots[0] is not plot:
                plot.getViewBox().setXLink(self.plots[0].getViewBox())
        for plot in self.plots[:-1]:
            plot.getAxis("bottom").setStyle(showValues=False)
        self.plots[-1].setLabel("bottom", "time (t)")
        for plot in self.plots:
            plot.getViewBox().sigRangeChangedManually.connect(self._draw_lines)
        self.restyle()

    def restyle(self) -> None:
        """Take the colours that the theme has now."""
        super().restyle()
        colors = theme.colors()
        second = {"nematic_order": colors.warn}
        for name, line in self.lines.items():
            line.setPen(second.get(name, colors.accent), width=1)
        for cursor in self.cursors:
            cursor.setPen(colors.text, width=1, style=Qt.PenStyle.DashLine)
        if self._legend is not None:
            for _, name in self._legend.items:
                name.setText(name.text, color=colors.text, size=f"{self.font().pointSizeF():g}pt")
            self._legend.updateSize()

    def show_table(self, table: np.ndarray, cursor: float | None) -> None:
        """Show the rows of a `TimeSeries`; `cursor` is the time that is looked at."""
        self._table = table
        self._draw_lines()
        for mark in self.cursors:
            mark.setVisible(cursor is not None)
            if cursor is not None:
                mark.setValue(cursor)
        self.settle()

    def show_all(self) -> None:
        """Give up a zoom into some of the time."""
        self.plots[0].getViewBox().enableAutoRange(axis="x")
        self._draw_lines()
        self.settle()

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        """Show everything again, as a double click on the picture does."""
        super().mouseDoubleClickEvent(event)
        self.show_all()

    def _draw_lines(self) -> None:
        time, box = self._table[:, COLUMNS.index("time")], self.plots[0].getViewBox()
        # Two points a pixel are seen, and take as long to paint however long a run goes on. Who
        # has zoomed in sees all.
        groups = int(box.width()) if box.autoRangeEnabled()[0] else len(time)
        for name, line in self.lines.items():
            values = self._table[:, COLUMNS.index(name)]
            kept = outline(values, max(1, groups))
            line.setData(time[kept], values[kept])


class DistributionPage(PlotPage):
    """A histogram for each distribution that there is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps: dict[str, pg.PlotDataItem] = {}

    def restyle(self) -> None:
        """Take the colours that the theme has now."""
        super().restyle()
        colors = theme.colors()
        for line in self.steps.values():
            line.setPen(colors.accent, width=1)
            line.setBrush(colors.accent_deep)

    def show_distributions(self, found: Sequence[Distribution]) -> None:
        """Show them; others than last time make the plots anew."""
        if tuple(self.steps) != tuple(one.name for one in found):
            self._make(found)
        for one, plot in zip(found, self.plots, strict=True):
            edges = np.log2(one.edges) if one.log else one.edges
            self.steps[one.name].setData(edges, 100 * one.shares)
            plot.getViewBox().setXRange(edges[0], edges[-1], padding=0.01)
            # Seldom another height, so that the axis stands still.
            most = round_up(100 * float(one.shares.max(initial=0)))
            plot.getViewBox().setYRange(0, most, padding=0)
            if one.log:
                ticks = [(float(at), f"{2**at:,}") for at in range(0, int(edges[-1]) + 1, 2)]
                plot.getAxis("bottom").setTicks([ticks])
        self.settle()

    def _make(self, found: Sequence[Distribution]) -> None:
        self.ci.clear()
        self.plots, self.steps = [], {}
        for one in found:
            plot = self.add("rods (%)", one.axis)
            if one.name == "heading":
                plot.getAxis("bottom").setTicks([[(at, str(at)) for at in range(-180, 181, 90)]])
            plot.getViewBox().setMouseEnabled(x=False, y=False)
            self.steps[one.name] = plot.plot(stepMode="center", fillLevel=0)
        self.restyle()
