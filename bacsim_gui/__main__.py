# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim-gui`: the window. Flags are derived from the declaration of the parameters.

Neither Qt nor JAX is imported before the command line is known to be good.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bacsim_gui import __version__, documents
from bacsim_gui.device import device_note
from bacsim_gui.documents import Opened
from bacsim_gui.engine_worker import AUTOSAVE_SECONDS
from bacsim_gui.flags import (
    DEFAULT_PRESET,
    PlainParser,
    add_run_flags,
    given_values,
    make_run,
    number,
    print_anywhere,
    whole,
)
from bacsim_gui.logfile import start_log
from bacsim_gui.presets import Run
from bacsim_gui.settings import SettingsFile, settings_path
from bacsim_gui.timeline import TimelineError
from engine.storage.errors import StorageError


def parser() -> argparse.ArgumentParser:
    """The command line of `bacsim-gui`."""
    made = PlainParser(
        prog="bacsim-gui",
        description="Watch rods swarm, tune the model live, record movies.",
        epilog="A preset or a file replaces the defaults, and a flag replaces both.",
        allow_abbrev=False,
    )  # fmt: skip
    made.add_argument("--version", action="version", version=f"bacsim {__version__}")
    made.add_argument(
        "file", nargs="?", metavar="FILE",
        help="open it: parameters (.toml), a checkpoint (.bacsim), a timeline, a trajectory (.gsd)",
    )  # fmt: skip
    made.add_argument(
        "--autosave-minutes", metavar="FLOAT", default=f"{AUTOSAVE_SECONDS / 60:g}",
        help="keep the run so often in a file of its own, for File > Resume autosave; 0 for never; "
        f"default {AUTOSAVE_SECONDS / 60:g}",
    )  # fmt: skip
    made.add_argument(
        "--reset-settings", action="store_true",
        help="begin with the layout, theme and folder of the program; the old ones are put aside",
    )  # fmt: skip
    leave = made.add_argument_group("leave by itself")
    leave.add_argument("--frames", metavar="INT", help="leave after so many drawn frames")
    leave.add_argument(
        "--screenshot", metavar="FILE", help="write a picture of the window (PNG) before leaving"
    )
    add_run_flags(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the window; the status to leave with."""
    print_anywhere()
    command = parser()
    arguments = command.parse_args(argv)
    try:
        frames = whole("frames", arguments.frames, 1)
        opened = _opened(arguments)
        run = make_run(arguments)
        screenshot = _picture_path(arguments.screenshot)
        minutes = _minutes(arguments.autosave_minutes)
    except (ValueError, OSError, StorageError, TimelineError) as error:
        command.error(str(error))
    preset = "" if arguments.config is not None else arguments.preset or DEFAULT_PRESET
    if arguments.reset_settings:
        print(SettingsFile(settings_path()).reset(), file=sys.stderr)
    return show_window(run, preset, frames, screenshot, opened, minutes)


def _opened(arguments: argparse.Namespace) -> Opened | None:
    """What FILE holds, None for parameters, which the flags act on. Raises as `documents.read`."""
    if arguments.file is None:
        return None
    path = Path(arguments.file)
    if path.suffix.lower() == documents.CONFIG:
        if arguments.config is not None:
            raise ValueError("FILE and --config exclude each other: give one of them.")
        arguments.config = arguments.file
        return None
    opened = documents.read(path)
    if opened.frames is not None and arguments.frames is not None:
        opened.frames.close()
        raise ValueError("--frames cannot be given with a trajectory, in which nothing runs.")
    given = [
        name for name in ("preset", "config", "seed", "K") if vars(arguments)[name] is not None
    ]
    given += given_values(arguments)
    if given:
        raise ValueError(
            f"--{given[0]} cannot be given with {path.name}, which says how to begin. Leave one of "
            "them out."
        )
    return opened


def _minutes(text: str) -> float:
    """Minutes between two autosaves, 0 for none."""
    return 0.0 if text == "0" else number("autosave-minutes", text, 0, 1e6)


def _picture_path(text: str | None) -> Path | None:
    """Where the picture of the window goes; `ValueError` where it cannot."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() != ".png":
        raise ValueError(f"--screenshot {text} is not possible: give a name that ends in .png.")
    if not path.parent.is_dir():
        raise ValueError(f"--screenshot {text} is not possible: there is no folder {path.parent}.")
    return path


def show_window(
    run: Run,
    preset: str,
    frames: int | None,
    screenshot: Path | None,
    opened: Opened | None,
    minutes: float,
) -> int:
    """Build the window and run it until it is closed; `minutes` pass between two autosaves."""
    start_log("bacsim-gui", on_screen=True)
    from bacsim_gui.bootstrap import prepare_window, window_problem

    prepare_window()
    trouble = window_problem()
    if trouble is not None:
        print(f"bacsim-gui: {trouble}", file=sys.stderr)
        return 1
    from PyQt6.QtWidgets import QApplication

    from bacsim_gui import autosaves
    from bacsim_gui.window import Window, movie_folder

    app = QApplication(sys.argv[:1])
    app.setApplicationName("bacsim")
    autosaves.tidy()
    # A run of so many frames is a script's: it neither follows the user's settings nor leaves any.
    settings = settings_path() if frames is None else None
    autosave = autosaves.new_path(datetime.now()) if minutes and frames is None else None
    window = Window(
        run, preset, movie_folder=movie_folder(), frames=frames, screenshot=screenshot,
        device_note=device_note(), autosave=autosave, autosave_seconds=60 * minutes, opened=opened,
        settings=settings,
    )  # fmt: skip
    # Without a hook of ours PyQt ends the process for any exception in a slot.
    sys.excepthook = window.report_exception
    # The window's timer lets Python see the signal; closing ends the engine and keeps a movie.
    signal.signal(signal.SIGINT, lambda *_: window.close())
    signal.signal(signal.SIGTERM, lambda *_: window.close())
    window.show()
    app.exec()
    window.engine.stop()
    window.engine.join()
    return window.exit_code


if __name__ == "__main__":
    sys.exit(main())
