# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the window keeps the run now and then, and which of these files stay."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import platformdirs

from engine.storage.checkpoint import SUFFIX

# So many are left by earlier windows.
KEPT = 5


def folder() -> Path:
    """The user's folder for them."""
    return platformdirs.user_data_path("bacsim", appauthor=False) / "autosave"


def new_path(now: datetime) -> Path:
    """The file of a window that starts now; of two at once each has its own."""
    return folder() / f"{now:%Y%m%d-%H%M%S}-{os.getpid()}{SUFFIX}"


def newest() -> Path | None:
    """The one that was written last; None where there is none."""
    return next(iter(_by_age()), None)


def tidy() -> None:
    """Delete all but the newest few."""
    for path in _by_age()[KEPT:]:
        with suppress(OSError):
            path.unlink()


def _by_age() -> list[Path]:
    """All of them, the newest first; one that goes away meanwhile is left out."""
    found = []
    with suppress(OSError):
        for path in folder().glob(f"*{SUFFIX}"):
            with suppress(OSError):
                found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]
