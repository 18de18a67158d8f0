# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.storage.errors import StorageError


@contextmanager
def whole_file(path: Path, what: str, *, overwrite: bool = False) -> Iterator[Path]:
    """A name to write to, which becomes `path` when the block has ended without an error.

    `what` it is, in the words of messages. Raises `StorageError` where it cannot be written, and
    where there is such a file already that `overwrite` does not give up; that one stays then. So
    does what is no file, a device say. A link stays one: what it leads to is overwritten.
    """
    if overwrite:
        path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if overwrite and path.exists() and not path.is_file():
            raise OSError("it is no file")
        if path.exists() and not overwrite:
            raise FileExistsError
        part.touch()
        # Libraries that make a file of their own may hide it from everybody else.
        mode = part.stat().st_mode
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(mode)
        if overwrite:
            part.replace(path)
        else:
            _rename(part, path)
    except FileExistsError:
        raise StorageError(f"{path} exists already. Give another name for the {what}.") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise StorageError(
            f"The {what} cannot be written to {path}: {why}. Choose another place, or make room."
        ) from problem
    finally:
        part.unlink(missing_ok=True)


def _rename(part: Path, path: Path) -> None:
    """Give `part` the name `path`, or raise `FileExistsError`."""
    if os.name == "nt":
        part.rename(path)  # refuses there what would overwrite
        return
    try:
        # Unlike a rename, a second name is refused where there is such a file.
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        part.replace(path)  # a file system without second names
