# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures of the guide anew, by the walks that the tests take.

Run `python -m docs.make_guide` in the root of the repository. Needs an X display; without one, run
it under `xvfb-run -a -s "-screen 0 1600x1000x24"`. Names after it choose walks.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

from PyQt6.QtWidgets import QApplication

from bacsim_gui.bootstrap import prepare_window

PICTURES = Path(__file__).absolute().parent / "guide"
SIZE = (1360, 850)
# Long enough for the picture of the newest state and the figures beside it.
SETTLE_SECONDS = 0.4


def main() -> None:
    """Walk, and take a picture wherever a walk has something to show."""
    prepare_window()
    from bacsim_gui import theme
    from bacsim_gui.presets import load_preset
    from bacsim_gui.window import Window
    from tests.gui import walks
    from tests.gui.events import live, until
    from tests.gui.windows import shown

    chosen = set(sys.argv[1:])
    app = QApplication([])
    theme.apply(app)
    PICTURES.mkdir(exist_ok=True)
    for walk in walks.WALKS:
        if chosen and walk.__name__ not in chosen:
            continue
        # Pictures show where movies go, which is to say nothing of this machine.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("Videos").mkdir()
            window = Window(load_preset("swarming"), "swarming", movie_folder=Path("Videos"))
            window.resize(*SIZE)
            window.show()
            until(lambda window=window: window.frame is not None)
            window.session.set_running(False)
            shown(window)
            walks.run_on(window, 300)

            def look(name: str, window: Window = window) -> None:
                live(SETTLE_SECONDS)
                screen = window.screen()
                assert screen is not None
                picture = screen.grabWindow(0, window.x(), window.y(), *SIZE)
                assert picture.save(str(PICTURES / f"{name}.webp"), quality=80)

            try:
                walk(window, Path(folder), look)
            finally:
                window.close()
            until(lambda window=window: not window.isVisible(), 120)
            window.deleteLater()
            live(0.1)
        print(walk.__name__)


if __name__ == "__main__":
    main()
