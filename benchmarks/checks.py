# SPDX-License-Identifier: GPL-3.0-or-later
"""What the command lines here have in common."""

from pathlib import Path

from engine.schema import ParameterError

# With fewer, the box of the standard benchmark is narrower than what a rod reaches.
LEAST_RODS = 20
# Seconds; far more than anybody waits for.
LONGEST = 1e6


def writable(name: str, path: Path | None) -> None:
    """Raise `ParameterError` where a file of results could not be written in the end."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        problem = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise ParameterError(name, str(path), problem, "Give the name of a file to write.")
