# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim analyse` as users call it."""

import csv
import dataclasses
import json
import subprocess
import sys

import pytest

from tests.engine.test_analyse import swimmers
from tests.engine.trajectories import write
from tests.gui.conftest import without_display

# Runs the command lines given as JSON in one process, each with no more than so many bytes a file
# where it begins with a number; says status, output and errors of each.
MANY = """
import contextlib, io, json, resource, sys
from bacsim_gui import cli
found = []
for limit, *argv in json.loads(sys.argv[1]):
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit or most, most))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(argv)
        except SystemExit as leaving:
            status = leaving.code
    found.append([status, out.getvalue(), err.getvalue(), sorted({"jax", "matplotlib"} & set(sys.modules))])
sys.stderr.write(json.dumps(found))
"""  # noqa: E501


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def many(folder, tmp_path_factory):
    environment = without_display(tmp_path_factory.mktemp("state"))

    def run(*lines: tuple) -> list[list]:
        command = [sys.executable, "-c", MANY, json.dumps(lines)]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=True
        )
        return json.loads(done.stderr.splitlines()[-1])

    return run


def test_what_cannot_be_analysed_is_said_in_one_line_without_jax(many, folder):
    (folder / "words.gsd").write_text("no trajectory", encoding="utf-8")
    write(folder / "short.gsd", swimmers(2))
    write(folder / "ten.gsd", swimmers(10))
    (folder / "full").mkdir()
    (folder / "full" / "mine").write_text("", encoding="utf-8")
    ten = (0, "analyse", "ten.gsd")
    cases = {
        (0, "analyse", "none.gsd"): (1, "There is no file none.gsd."),
        (0, "analyse", "words.gsd"): (1, "words.gsd"),
        (0, "analyse", "short.gsd"): (1, "2 of the 2 frames of short.gsd"),
        (*ten, "--from", "100"): (1, "from t = 0 to 4.5"),
        (*ten, "--every", "0"): (2, "every = '0' is not possible"),
        (*ten, "--from", "soon"): (2, "from = 'soon' is no time"),
        (*ten, "--from", "3", "--to", "2"): (2, "from = '3' is after --to 2"),
        (*ten, "-o", "full"): (2, "full exists already and is not empty"),
        (*ten, "-o", "ten.gsd"): (2, "ten.gsd is a file"),
        (*ten, "-o", "no/where"): (2, "there is no folder no"),
        (0, "analyse", "--help"): (0, ""),
    }
    for (line, (status, words)), found in zip(cases.items(), many(*cases), strict=True):
        assert found[0] == status, (line, found)
        assert words in found[2]
        assert found[2].count("\n") <= 1
        assert found[3] == []
    assert not (folder / "short.analysis").exists()
    assert not (folder / "ten.analysis").exists()


def test_a_run_is_analysed(many, folder):
    changed = swimmers(40)
    fast = dataclasses.replace(changed[0].params, F_prop=9.0)
    changed[30:] = [dataclasses.replace(one, params=fast) for one in changed[30:]]
    write(folder / "changed.gsd", changed)
    write(folder / "share.gsd", swimmers(12), rods=20)
    run = ("run", "--preset", "swarming", "--rods", "120", "--steps", "400", "--every", "20")
    full = ("analyse", "run.gsd", "-o", "fills", "--every", "2")
    made, done, again, *others = many(
        (0, *run, "--out", "run.gsd"), (0, "analyse", "run.gsd"), (0, "analyse", "run.gsd"),
        (0, "analyse", "changed.gsd", "-o", "some", "--no-figures"),
        (0, "analyse", "share.gsd", "--from", "1", "--no-figures"), (12000, *full),
    )  # fmt: skip
    assert made[0] == 0, made
    assert done[0] == 0, done
    assert "run.analysis: report.md, 3 tables, 10 figures" in done[1]
    assert "polar order" in done[1]
    assert "too short to tell the error" in done[2]
    names = sorted(path.name for path in (folder / "run.analysis").iterdir())
    assert len([name for name in names if name.endswith(".png")]) == 10
    assert {"report.md", "averages.csv", "series.csv", "curves.csv"} < set(names)
    with (folder / "run.analysis" / "series.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(0, 401, 20))
    # What the run noted itself is what is measured of its file, but for float32.
    assert all(0 < float(row["mean_speed"]) < 2 for row in rows)
    report = (folder / "run.analysis" / "report.md").read_text(encoding="utf-8")
    assert "| title | `Swarming` |" in report
    assert "| code | `" in report
    assert again[0] == 2
    assert "run.analysis exists already" in again[2]

    other, share, filled = others
    assert other[0] == 0, other
    assert "F_prop (8 → 9)" in other[2]
    assert "3 tables, 0 figures" in other[1]
    assert share[0] == 0, share
    assert "one rod in 4" in share[2]
    assert not list((folder / "share.analysis").glob("*.png"))

    assert filled[0] == 1, filled
    assert "cannot be written" in filled[2]
    assert "polar order" in filled[1]
    left = {path.name for path in (folder / "fills").iterdir()}
    assert "averages.csv" in left
    assert not any(name.endswith(".part") for name in left)
