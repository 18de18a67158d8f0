# SPDX-License-Identifier: GPL-3.0-or-later
"""The live plots: what goes into them, at a rate of their own, and what comes of their buttons.

While the panel is out of sight nothing is collected or drawn: what was missed is made up from the
states that are kept for looking back.
"""

import csv
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from PyQt6.QtCore import QObject, QTimer

from bacsim_gui.background import Background
from bacsim_gui.distributions import MEASURED, distributions
from bacsim_gui.files import Files
from bacsim_gui.panels.plots import DISTRIBUTIONS, TIME, PlotsPanel
from bacsim_gui.past import Past
from bacsim_gui.session import Session
from bacsim_gui.time_series import COLUMNS, LIMIT, TimeSeries
from engine.snapshot import Snapshot
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

if TYPE_CHECKING:
    from types import ModuleType

    from bacsim_gui.panels.plot_pages import DistributionPage, TimePage

# Five times a second; and not more of the time than one part in twenty, where plots draw slowly.
REFRESH_MS = 200
SHARE = 20
# Rods are measured so seldom that it takes a tenth of the time; this often, in seconds, at least.
MEASURED_SHARE, SELDOM = 10, 5.0
PLOTS = "bacsim_gui.panels.plot_pages"


class Plotting(QObject):
    """Fills `panel` from `past` and from the frames that it is told of.

    `shown` gives the state in the picture; `request` sends the session's order to the engine.
    """

    def __init__(
        self,
        panel: PlotsPanel,
        session: Session,
        past: Past,
        files: Files,
        background: Background,
        shown: Callable[[], Snapshot | None],
        request: Callable[[], None],
    ) -> None:
        super().__init__()
        self.series = TimeSeries()
        # Seconds that the last refresh took, painting apart; for benchmarks.
        self.seconds = 0.0
        self._panel, self._session, self._past = panel, session, past
        self._files, self._background, self._shown = files, background, shown
        self._request = request
        # The last state of which rods were measured, when that was asked for, and when it will be.
        self._measured: Snapshot | None = None
        self._asked_at = self._ask_at = self._due = 0.0
        self._page, self._run = TIME, past.run
        self._seen = self._paused = self._loading = False
        # States before this step are not wanted any more.
        self._since = 0
        self._pages: tuple[TimePage, DistributionPage] | None = None
        # What is drawn, so that it is not drawn again: page, state, state that is looked back at.
        self._drawn: tuple[int, Snapshot | None, Snapshot | None] | None = None
        # What the lines over time are drawn from.
        self._table = self.series.table()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._refresh)
        panel.page_chosen.connect(self._choose)
        panel.paused.connect(self._pause)
        panel.reset_wanted.connect(self._reset)
        panel.csv_wanted.connect(self._save_numbers)
        panel.picture_wanted.connect(self._save_picture)

    def take(self, snapshot: Snapshot) -> None:
        """Note a state that the engine has come to, which is in `past` already."""
        if self._seen:
            self._follow_run()
            self.series.add(snapshot)
            self._follow_measures(snapshot)
            # With the picture, so that the window is put on the screen once for both.
            if time.monotonic() >= self._due:
                self._refresh()

    # In and out of sight

    def see(self, seen: bool) -> None:
        """Take note that the panel has come into sight or left it."""
        self._seen = seen
        if not seen:
            self._timer.stop()
            self._want(())
            return
        self._catch_up()
        # Not at once: when docks are arranged, those behind others come into sight for a moment.
        self._timer.start(50)

    def _load(self) -> None:
        """Import the plots, in a thread, so that the window goes on meanwhile."""
        if not self._loading:
            self._loading = True
            self._background.do(lambda: import_module(PLOTS), self._loaded, self._not_loaded)

    def _loaded(self, module: "ModuleType") -> None:
        self._pages = module.TimePage(), module.DistributionPage()
        self._panel.set_pages(*self._pages)
        self._panel.show_page(self._page)
        if self._seen:
            self._timer.start(0)

    def _not_loaded(self, problem: str) -> None:
        self._loading = False
        self._session.show_problem(f"The plots cannot be shown: {problem}")

    def _catch_up(self) -> None:
        """Take what was not seen from the states that are kept."""
        self._follow_run()
        past, series = self._past, self.series
        if not len(past):
            return
        series.drop_from(past.at(0).step)
        first = past.find(self._since)
        every = max(1, (len(past) - first) // LIMIT)
        series.fill(past.at(i) for i in range(first, len(past), every))
        series.add(past.at(-1))

    def _follow_run(self) -> None:
        if self._past.run != self._run:
            self._run, self._since = self._past.run, 0
            self._measured = None
            self.series.clear()
            if self._pages is not None:
                # A part of the time of another run is none of this one's.
                self._pages[TIME].show_all()

    # What is measured of rods, now and then

    def _want(self, names: tuple[str, ...]) -> None:
        if names != self._session.plotted:
            self._asked_at = time.monotonic()
            self._session.set_plotted(names)
            self._request()

    def _measure(self) -> None:
        """Have rods measured, if it is time; a state that stands still is measured once."""
        if self._page != DISTRIBUTIONS or self._paused:
            self._want(())
        elif not self._session.running or time.monotonic() >= self._ask_at:
            self._want(MEASURED)

    def _follow_measures(self, snapshot: Snapshot) -> None:
        if not all(name in snapshot.measures for name in MEASURED):
            return
        self._measured = snapshot
        if self._session.plotted and self._session.running:
            now = time.monotonic()
            # It took at most that long, the frame included.
            self._ask_at = now + min(SELDOM, MEASURED_SHARE * (now - self._asked_at))
            self._want(())

    # Drawing

    def _refresh(self) -> None:
        if self._pages is None:
            self._load()
            return
        self._measure()
        began = time.perf_counter()
        if not self._paused:
            self._draw()
        self.seconds = time.perf_counter() - began
        wait = max(REFRESH_MS, int(1000 * SHARE * self.seconds))
        self._due = time.monotonic() + wait / 1000
        # Where no state comes, a little later without one.
        self._timer.start(2 * wait)

    def _draw(self) -> None:
        if self._pages is None:
            return
        shown, (over_time, spread) = self._shown(), self._pages
        looking = self._session.looking
        if self._page == DISTRIBUTIONS and looking is None and self._measured is not None:
            shown = self._measured  # all of one state
        old, self._drawn = self._drawn, (self._page, shown, looking)
        if old is not None and all(a is b for a, b in zip(old, self._drawn, strict=True)):
            return
        if self._page == TIME:
            self._table = self.series.table()
            over_time.show_table(self._table, None if looking is None else looking.time)
        elif shown is not None:
            spread.show_distributions(distributions(shown))

    # The buttons

    def _choose(self, page: int) -> None:
        self._page = page
        self._panel.show_page(page)
        if self._seen:
            self._measure()
            self._draw()

    def _pause(self, paused: bool) -> None:
        self._paused = paused

    def _reset(self) -> None:
        shown = self._past.at(-1) if len(self._past) else None
        self._since = 0 if shown is None else shown.step
        self.series.clear()
        if shown is not None:
            self.series.add(shown)
        self._drawn = None
        self._panel.pause.setChecked(False)
        if self._pages is not None:
            self._pages[TIME].show_all()
        self._draw()

    def _save_numbers(self) -> None:
        path = self._files.ask_where("Save numbers", self._name, "Tables (*.csv)", ".csv")
        if path is None:
            return
        try:
            with (
                whole_file(path, "table", overwrite=True) as part,
                part.open("w", encoding="utf-8", newline="") as file,
            ):
                csv.writer(file).writerows(self._rows())
        except StorageError as problem:
            self._session.show_problem(str(problem))
            return
        self._files.told.emit(f"Saved {path}")

    def _rows(self) -> list[list[object]]:
        if self._page == TIME:
            # Of plots that stand still, what is seen of them.
            found = self._table if self._paused else self.series.table()
            return [list(COLUMNS), *([int(row[0]), *row[1:]] for row in found.tolist())]
        rows: list[list[object]] = [["distribution", "from", "to", "share"]]
        shown = self._drawn[1] if self._drawn is not None else None
        for one in () if shown is None else distributions(shown):
            for low, high, share in np.column_stack((one.edges[:-1], one.edges[1:], one.shares)):
                rows.append([one.name, float(low), float(high), float(share)])
        return rows

    def _save_picture(self, suffix: str) -> None:
        if self._pages is None:
            return
        kinds = f"Pictures (*{suffix})"
        path = self._files.ask_where("Save picture of the plots", self._name, kinds, suffix)
        if path is None:
            return
        try:
            with whole_file(path, "picture", overwrite=True) as part:
                self._pages[self._page].save(part, suffix)
        except StorageError as problem:
            self._session.show_problem(str(problem))
            return
        self._files.told.emit(f"Saved {path}")

    @property
    def _name(self) -> str:
        return "over-time" if self._page == TIME else "distributions"
