# SPDX-License-Identifier: GPL-3.0-or-later
"""What live plots cost a running window.

    xvfb-run -a -s "-screen 0 1600x1000x24" python -m benchmarks.plots [--rods N] [--seconds S]

Prints frames a second with the plots out of sight and with each page in sight, and the share of the
window's time that goes into filling and painting them.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bacsim_gui.bootstrap import prepare_window

prepare_window()

from PyQt6.QtCore import QEventLoop, QTimer  # noqa: E402
from PyQt6.QtWidgets import QApplication  # noqa: E402

from bacsim_gui import theme  # noqa: E402
from bacsim_gui.panels.plots import DISTRIBUTIONS, TIME  # noqa: E402
from bacsim_gui.presets import load_preset  # noqa: E402
from bacsim_gui.window import Window  # noqa: E402


class Clock:
    """Adds up the time in some functions."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def watch(self, owner: object, name: str) -> None:
        """Count calls of a method of `owner` from now on."""
        plain = getattr(owner, name)

        def timed(*values):
            began = time.perf_counter()
            try:
                return plain(*values)
            finally:
                self.seconds += time.perf_counter() - began
                self.calls += 1

        setattr(owner, name, timed)


def live(seconds: float) -> None:
    """Let the window live."""
    loop = QEventLoop()
    QTimer.singleShot(int(1000 * seconds), loop.quit)
    loop.exec()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rods", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=15)
    wanted = parser.parse_args()
    app = QApplication(sys.argv[:1])
    theme.apply(app)
    with TemporaryDirectory() as folder:
        run = load_preset("swarming", rods=wanted.rods)
        window = Window(run, "swarming", movie_folder=Path(folder))
        window.show()
        while window.frame is None or window.frame.snapshot.step < 10 * run.K:
            live(0.1)
        frames, drawing, painting = Clock(), Clock(), Clock()
        frames.watch(window.plotting, "take")
        drawing.watch(window.plotting, "_draw")
        print(f"{wanted.rods:,} rods, {wanted.seconds:g} s each, window {window.width()} × "
              f"{window.height()}")  # fmt: skip
        print(
            f"{'':16}{'frames/s':>9}{'refreshes/s':>13}{'fill ms':>9}{'paint ms':>10}{'share':>8}"
        )
        for name, page in (("out of sight", None), ("over time", TIME),
                           ("distributions", DISTRIBUTIONS), ("out of sight", None)):  # fmt: skip
            docks = window.arrangement.docks
            window.arrangement.go_to(docks[1] if page is None else docks[-1])
            if page is not None:
                window.plots.page_chosen.emit(page)
                live(8)  # loads, and compiles what measures rods
                if not painting.calls:
                    from pyqtgraph import GraphicsView

                    painting.watch(GraphicsView, "paintEvent")
            live(1)
            for clock in (frames, drawing, painting):
                clock.seconds, clock.calls = 0.0, 0
            began = time.perf_counter()
            live(wanted.seconds)
            took = time.perf_counter() - began
            share = (drawing.seconds + painting.seconds + frames.seconds) / took
            each = [1e3 * clock.seconds / max(1, clock.calls) for clock in (drawing, painting)]
            print(f"{name:16}{frames.calls / took:9.1f}{drawing.calls / took:13.1f}"
                  f"{each[0]:9.2f}{each[1]:10.2f}{share:8.1%}", flush=True)  # fmt: skip
        window.close()
        while window.isVisible():
            live(0.1)


if __name__ == "__main__":
    main()
