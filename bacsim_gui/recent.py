# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that were opened or saved last, kept between starts; a broken list is an empty one."""

import json
import logging
from pathlib import Path

import platformdirs

from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

log = logging.getLogger(__name__)

KEPT = 10


def list_path() -> Path:
    """Where the list is kept."""
    return platformdirs.user_state_path("bacsim", appauthor=False) / "recent.json"


def read() -> tuple[Path, ...]:
    """The files, the latest first."""
    try:
        names = json.loads(list_path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as problem:
        log.warning("The list of recent files is not used: %s", problem)
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(Path(name) for name in names if isinstance(name, str))[:KEPT]


def add(path: Path) -> None:
    """Put a file at the head of the list."""
    path = path.absolute()
    _write([path, *(other for other in read() if other != path)])


def remove(path: Path) -> None:
    """Take a file off the list."""
    _write([other for other in read() if other != path])


def clear() -> None:
    """Empty the list."""
    _write([])


def _write(paths: list[Path]) -> None:
    file = list_path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file, "list of recent files", overwrite=True) as part:
            part.write_text(json.dumps([str(path) for path in paths[:KEPT]]), encoding="utf-8")
    except (OSError, StorageError) as problem:
        # A convenience is not worth a word to the user.
        log.warning("The list of recent files is not kept: %s", problem)
