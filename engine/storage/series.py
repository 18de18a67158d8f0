# SPDX-License-Identifier: GPL-3.0-or-later
"""The observables of a run over time, as a table: CSV or Parquet."""

import contextlib
import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from engine.schema import PARAM_FIELDS
from engine.snapshot import Snapshot
from engine.storage.atomic import whole_file
from engine.storage.errors import StorageError

SUFFIXES = (".csv", ".parquet")

_WHOLE_NUMBERS = ("step", "rods")


class SeriesWriter:
    """Writes a row for each snapshot: step, time, rods, the observables, the live parameters.

    Rows are on their way to the disk as soon as they are written, as text: a program that is killed
    loses none. A Parquet file, which could not be read without its end, is NAME.part.csv until it
    is closed. The observables are those of the first snapshot.

    Args:
        path: the file; it must not exist. Its ending, .csv or .parquet, decides the format.

    Attributes:
        path: the file.
        rows: how many are written.

    Raises:
        StorageError: another ending, there is such a file already, or it cannot be written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise StorageError(
                f"{path} is no name for a table. Let it end in {' or '.join(SUFFIXES)}."
            )
        self.rows = 0
        self._columns: tuple[str, ...] = ()
        self._parquet = self.path.suffix.lower() == ".parquet"
        self._text = (
            self.path.with_name(f"{self.path.stem}.part.csv") if self._parquet else self.path
        )
        if self._parquet and self.path.exists():
            raise StorageError(f"{path} exists already. Give another name for the table.")
        try:
            self._file: BinaryIO | None = self._text.open("xb", buffering=0)
        except FileExistsError:
            left = (
                " Another program writes it, or it is left from a run that was interrupted."
                if self._parquet
                else ""
            )
            raise StorageError(
                f"{self._text} exists already.{left} Rename it, or give another name for the table."
            ) from None
        except OSError as problem:
            raise StorageError(
                f"The table cannot be written to {path}: {problem.strerror}. Choose another place, "
                "or make room."
            ) from problem

    def write(self, snapshot: Snapshot) -> None:
        """Append a row for `snapshot`.

        Raises `StorageError` where that fails; the rows before are kept and the table is closed.
        """
        if self._file is None:
            raise StorageError(f"The table {self.path} is closed; no row can be added.")
        row = _row(snapshot)
        rows = [tuple(row.values())]
        if not self._columns:
            self._columns = tuple(row)
            rows = [self._columns, *rows]
        elif tuple(row) != self._columns:
            raise StorageError(
                f"The table {self.path} has the columns {', '.join(self._columns)}. A snapshot "
                "with other observables needs a table of its own."
            )
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        end, data = self._file.tell(), text.getvalue().encode()
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as problem:
            self._abandon(end)
            raise StorageError(
                f"Row {self.rows} of the table cannot be written to {self._text}: "
                f"{problem.strerror}. The {self.rows} before are kept. Make room, and go on in "
                "another file."
            ) from problem
        self.rows += 1

    def close(self) -> None:
        """End the table; more than once does no harm. One without a row is removed again.

        Raises `StorageError` where a Parquet file cannot be written; the rows stay in
        NAME.part.csv then.
        """
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if self.rows and self._parquet:
            self._convert()
        if self._parquet or not self.rows:
            with contextlib.suppress(OSError):
                self._text.unlink()

    def __enter__(self) -> "SeriesWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _abandon(self, end: int) -> None:
        """Close with the whole rows alone, which end at `end`."""
        assert self._file is not None
        with contextlib.suppress(OSError):
            os.ftruncate(self._file.fileno(), end)
        self._file.close()
        self._file = None

    def _convert(self) -> None:
        # It takes a third of a second to import, and a CSV needs none of it.
        import pyarrow as pa
        import pyarrow.csv as pacsv
        import pyarrow.parquet as pq

        types = {n: pa.int64() if n in _WHOLE_NUMBERS else pa.float64() for n in self._columns}
        options = pacsv.ConvertOptions(column_types=types, null_values=[])
        try:
            with whole_file(self.path, "table") as part:
                pq.write_table(pacsv.read_csv(self._text, convert_options=options), part)
        except StorageError as problem:
            raise StorageError(f"{problem} Its rows are in {self._text}.") from problem


def export(snapshots: Iterable[Snapshot], path: Path | str) -> None:
    """Write the table of `snapshots`, such as a `Trajectory`, to `path`; see `SeriesWriter`."""
    with SeriesWriter(path) as table:
        for snapshot in snapshots:
            table.write(snapshot)


def _row(snapshot: Snapshot) -> dict[str, float]:
    params = {f.name: getattr(snapshot.params, f.name) for f in PARAM_FIELDS}
    counted = {"step": snapshot.step, "time": snapshot.time, "rods": snapshot.n}
    return counted | dict(snapshot.observables) | params
