# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of observables is complete, exact, and there whatever happens to the program."""

import csv
import dataclasses
import math
import os
import re
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine import Driver
from engine.schema import PARAM_FIELDS
from engine.storage.errors import StorageError
from engine.storage.series import SeriesWriter, export
from engine.storage.trajectory import Trajectory
from tests.engine.test_trajectory_faults import in_a_child
from tests.engine.trajectories import PARAMS, snapshot, write

COLUMNS = ["step", "time", "rods", "polar_order", "mean_speed", *(f.name for f in PARAM_FIELDS)]
ENDINGS = pytest.mark.parametrize("ending", ["csv", "parquet"])


def table(path: Path) -> list[dict[str, float]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(newline="") as file:
        return [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]


@ENDINGS
def test_the_table_holds_what_the_snapshots_hold(tmp_path, ending):
    changed = dataclasses.replace(PARAMS, F_prop=1 / 3, dt=1e-05)
    written = [snapshot(), snapshot(7, 2**40, changed), snapshot(8, 9)]
    undefined = {"polar_order": math.nan, "mean_speed": math.inf}
    written.append(dataclasses.replace(snapshot(1, 10), observables=undefined))
    export(written, tmp_path / f"run.{ending}")
    rows = table(tmp_path / f"run.{ending}")
    assert list(rows[0]) == COLUMNS
    for row, wrote in zip(rows, written, strict=True):
        assert (row["step"], row["time"], row["rods"]) == (wrote.step, wrote.time, wrote.n)
        got = {name: row[name] for name in wrote.observables}
        assert repr(got) == repr(dict(wrote.observables))  # nan is not equal to itself
        assert {f.name: row[f.name] for f in PARAM_FIELDS} == dataclasses.asdict(wrote.params)
    assert [path.name for path in tmp_path.iterdir()] == [f"run.{ending}"]


def test_a_parquet_file_has_whole_numbers_and_doubles(tmp_path):
    export([snapshot()], tmp_path / "run.parquet")
    kinds = {field.name: str(field.type) for field in pq.read_schema(tmp_path / "run.parquet")}
    assert kinds == {n: "int64" if n in ("step", "rods") else "double" for n in COLUMNS}


@ENDINGS
def test_a_trajectory_is_exported_as_the_run_itself(tmp_path, ending, crowd: Driver):
    with SeriesWriter(tmp_path / f"live.{ending}") as live:
        states = [crowd.advance(3) for _ in range(3)]
        for state in states:
            live.write(state)
        assert live.rows == 3
    with Trajectory(write(tmp_path / "run.gsd", states)) as trajectory:
        export(trajectory, tmp_path / f"kept.{ending}")
    assert table(tmp_path / f"kept.{ending}") == table(tmp_path / f"live.{ending}")


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(StorageError, match=r"run\.xlsx is no name.*end in \.csv or \.parquet"):
        SeriesWriter(tmp_path / "run.xlsx")
    assert not list(tmp_path.iterdir())
    export([snapshot()], tmp_path / "RUN.CSV")
    assert (tmp_path / "RUN.CSV").exists()


@ENDINGS
def test_an_existing_file_is_not_touched(tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    path.write_bytes(b"mine")
    with pytest.raises(StorageError, match=rf"run\.{ending} exists already.*another name"):
        SeriesWriter(path)
    assert path.read_bytes() == b"mine"


@ENDINGS
def test_of_two_writers_to_one_name_the_second_is_refused(tmp_path, ending):
    with SeriesWriter(tmp_path / f"run.{ending}") as first:
        first.write(snapshot())
        with pytest.raises(StorageError, match="exists already"):
            SeriesWriter(tmp_path / f"run.{ending}")
    assert len(table(tmp_path / f"run.{ending}")) == 1


def test_a_parquet_file_that_comes_into_being_meanwhile_is_not_touched(tmp_path):
    path = tmp_path / "run.parquet"
    series = SeriesWriter(path)
    series.write(snapshot())
    path.write_bytes(b"mine")
    with pytest.raises(StorageError, match=r"exists already.* Its rows are in .*run\.part\.csv"):
        series.close()
    assert path.read_bytes() == b"mine"
    assert len(table(tmp_path / "run.part.csv")) == 1


@ENDINGS
def test_a_table_without_rows_leaves_no_file(tmp_path, ending):
    export([], tmp_path / f"run.{ending}")
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"nowhere/run\.csv: No such file.*another place"):
        SeriesWriter(tmp_path / "nowhere" / "run.csv")


def test_other_observables_are_refused_and_harm_nothing(tmp_path):
    with SeriesWriter(tmp_path / "run.csv") as series:
        series.write(snapshot())
        other = dataclasses.replace(snapshot(), observables={"mean_speed": 1.0})
        with pytest.raises(StorageError, match=r"run\.csv has the columns step, time"):
            series.write(other)
        series.write(snapshot(step=2))
    assert [row["step"] for row in table(tmp_path / "run.csv")] == [0, 2]
    with pytest.raises(StorageError, match="is closed"):
        series.write(snapshot())


KILLED = """
import os, signal, sys
from tests.engine.trajectories import snapshot
from engine.storage.series import SeriesWriter
series = SeriesWriter(sys.argv[1])
for step in range(20):
    series.write(snapshot(step=step))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="kills by signal")
@pytest.mark.parametrize(("name", "kept"), [("a.csv", "a.csv"), ("a.parquet", "a.part.csv")])
def test_a_killed_program_loses_no_row(tmp_path, name, kept):
    assert in_a_child(KILLED, tmp_path / name).returncode == -signal.SIGKILL
    rows = table(tmp_path / kept)
    assert [row["step"] for row in rows] == list(range(20))
    if name != kept:
        with pytest.raises(StorageError, match=r"a\.part\.csv exists already.*interrupted"):
            SeriesWriter(tmp_path / name)


FULL = """
import resource, sys
from tests.engine.trajectories import snapshot
from engine.storage.errors import StorageError
from engine.storage.series import SeriesWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    with SeriesWriter(sys.argv[1]) as series:
        for step in range(200):
            series.write(snapshot(step=step))
except StorageError as problem:
    print(problem)
"""


@pytest.mark.parametrize(("name", "kept"), [("a.csv", "a.csv"), ("a.parquet", "a.part.csv")])
def test_a_full_disk_keeps_whole_rows(tmp_path, name, kept):
    done = in_a_child(FULL, tmp_path / name)
    said = re.match(r"Row (\d+) of the table cannot be written to (.*?): File too", done.stdout)
    assert said, done.stdout + done.stderr
    assert said[2] == str(tmp_path / kept)
    rows = table(tmp_path / kept)
    assert [row["step"] for row in rows] == list(range(int(said[1])))
    assert int(said[1]) > 5
