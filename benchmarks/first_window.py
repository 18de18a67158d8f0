# SPDX-License-Identifier: GPL-3.0-or-later
"""When the window is there, when it tells that it compiles, and when rods move in it.

Each start is a process of its own, on a display (or under xvfb-run), and loads what `bacsim-gui`
loads, in its order; all times count from the moment at which Qt is loaded. The first start compiles
anew, the others find the compile cache.

    python -m benchmarks.first_window [--starts 4] [--preset swarming]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What is timed, in order, as it is printed.
TIMES = ("the application", "the window is built", "it is shown", "it says what it waits for",
         "the first rods", "time goes on")  # fmt: skip


def child(preset: str) -> None:
    """Open the window as the program does, and print the times as JSON."""
    import time

    began = time.perf_counter()
    import bacsim_gui.__main__  # noqa: F401  (what the command line needs)
    from bacsim_gui.bootstrap import prepare_window
    from bacsim_gui.presets import load_preset

    run = load_preset(preset)
    prepare_window()
    from PyQt6.QtWidgets import QApplication

    loaded = time.perf_counter()
    times: dict[str, float] = {"Python until Qt is loaded": loaded - began}

    def note(name: str) -> None:
        times.setdefault(name, time.perf_counter() - loaded)

    app = QApplication([])
    note(TIMES[0])
    from bacsim_gui.window import Window

    with tempfile.TemporaryDirectory() as folder:
        window = Window(run, preset, movie_folder=Path(folder))
        note(TIMES[1])

        def painted() -> None:
            note(TIMES[2])
            if window.waiting.isVisible():
                note(TIMES[3])
            if window.frame is not None:
                note(TIMES[4])

        window.canvas.frame_painted.append(painted)
        window.show()
        while TIMES[5] not in times:
            app.processEvents()
            if window.frame is not None and window.frame.snapshot.step > 0:
                note(TIMES[5])
        window.close()
        while window.isVisible():
            app.processEvents()
    print(json.dumps(times))


def main() -> None:
    """Time some starts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--preset", default="swarming")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.preset)
        return
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "BACSIM_CACHE": cache, "BACSIM_SETTINGS": "off"}
        command = [sys.executable, "-m", "benchmarks.first_window", "--child"]
        starts = []
        for _ in range(arguments.starts):
            done = subprocess.run(
                [*command, "--preset", arguments.preset], cwd=ROOT, env=environment,
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            starts.append(json.loads(done.stdout.splitlines()[-1]))
    print("seconds since Qt is loaded    first start    later starts")
    for name in ("Python until Qt is loaded", *TIMES):
        first, *later = (start.get(name) for start in starts)
        cells = ["–" if value is None else f"{value:.2f}" for value in (first, *later)]
        print(f"{name:29} {cells[0]:>11}    {', '.join(cells[1:])}")


if __name__ == "__main__":
    main()
