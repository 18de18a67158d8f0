# SPDX-License-Identifier: GPL-3.0-or-later
"""The log file: one for each program, in the user's log folder, rotated."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

LEVELS = ("debug", "info", "warning", "error")
_BYTES, _OLD_FILES = 1_000_000, 3
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def log_path(program: str) -> Path:
    """Where the log of `program` ("bacsim" or "bacsim-gui") is written."""
    from platformdirs import user_log_path

    return user_log_path("bacsim", appauthor=False) / f"{program}.log"


def start_log(program: str, level: str = "info", *, on_screen: bool = False) -> Path | None:
    """Log what this process does to the file of `program`, from `level` (of `LEVELS`) on.

    `on_screen` also prints warnings to standard error, for programs that have no other words there.
    Returns the file, or None where it cannot be written: a full disk or a read-only home must not
    keep anybody from simulating.
    """
    path, root = log_path(program), logging.getLogger()
    if on_screen:
        screen = logging.StreamHandler()
        screen.setFormatter(logging.Formatter(f"{program}: %(message)s"))
        screen.setLevel(logging.WARNING)
        root.addHandler(screen)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            path, maxBytes=_BYTES, backupCount=_OLD_FILES, encoding="utf-8",
            errors="backslashreplace",
        )  # fmt: skip
    except OSError:
        return None
    # A disk that is full later on must not cover the screen with the complaints of logging.
    logging.raiseExceptions = False
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.setLevel(level.upper())
    root.addHandler(handler)
    root.setLevel(min(root.level, handler.level))
    # At these levels JAX reports every compile and VisPy every file that it opens.
    for talker in ("jax", "vispy", "asyncio"):
        logging.getLogger(talker).setLevel(max(logging.WARNING, handler.level))
    logging.captureWarnings(True)
    return path
