# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of the physics that `bacsim validate` runs, and that they find a wrong engine.

The fast ones run always, all with `pytest --validate tests/engine/test_validate.py -s`, which
prints what was read.
"""

import errno
import importlib
import json
import math
import os
import tempfile
from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui import cli
from engine import Driver, ParameterError, Params, Setup
from engine.kernels import native, resolve
from engine.step import pack
from engine.study.validate import check as checks
from engine.study.validate.check import Check, Reading, Result
from engine.study.validate.lab import Lab, packed
from engine.study.validate.report import records, rows_of, summary
from engine.study.validate.run import result_of, run
from engine.study.validate.table import CHECKS, chosen
from tests.oracle import reference

LONG = [pytest.mark.validate, pytest.mark.slow, pytest.mark.timeout(1800)]
BY_NAME = {check.name: check for check in CHECKS}


@pytest.fixture(scope="module")
def lab() -> Lab:
    """So that all checks share what is compiled."""
    return Lab()


@pytest.mark.parametrize(
    "check", [pytest.param(c, id=c.name, marks=[] if c.fast else LONG) for c in CHECKS]
)
def test_a_check_passes(check, lab):
    result = result_of(check, lab)
    for row in rows_of(result):
        print(" | ".join(row))
    assert not result.problem, result.problem
    wrong = [reading for reading in result.readings if reading.status == "FAIL"]
    assert not wrong, wrong
    if result.status == "not here":
        pytest.skip(result.readings[0].absent)


def wrong(**factors: float):
    """What uploads parameters, some of them wrong by a factor."""

    def wrong_pack(params: Params):
        values = {name: getattr(params, name) * by for name, by in factors.items()}
        return pack(replace(params, **values))

    return wrong_pack


# Every check that is fast is wanted here, or it would find nothing.
@pytest.mark.parametrize(
    ("factors", "found_by"),
    [
        ({"gamma": 1.1}, {"free-rod", "circle", "contact-centres", "contact-tips",
                          "contact-broadside", "conservation"}),
        ({"F_prop": 0.99}, {"free-rod", "circle", "contact-head-on", "contact-broadside",
                            "conservation"}),
        ({"k_cc": 1.01}, {"contact-centres", "contact-tips", "contact-head-on",
                          "contact-broadside"}),
        ({"length": 1.01}, {"free-rod", "circle", "contact-tips", "contact-head-on"}),
        ({"radius": 1.01}, {"contact-centres", "contact-tips", "contact-head-on"}),
        ({"T_prop": 0.99}, {"circle"}),
        ({"dt": 1.01}, {"free-rod", "contact-centres", "contact-tips", "conservation"}),
        ({"tau_a": 1.01}, {"memory"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_wrong_engine_is_found(factors, found_by, lab, monkeypatch):
    monkeypatch.setattr("engine.current.pack", wrong(**factors))
    failed = {c.name for c in CHECKS if c.fast and result_of(c, lab).status == "FAIL"}
    assert found_by <= failed


def test_a_little_too_much_diffusion_is_found(lab, monkeypatch):
    monkeypatch.setattr("engine.current.pack", wrong(D_t=1.06))
    assert result_of(BY_NAME["diffusion"], lab).status == "FAIL"


@pytest.mark.validate
@pytest.mark.slow
def test_native_code_that_follows_another_law_is_found(monkeypatch):
    """It would wake where it is crowded in place of where it is not."""
    if resolve(Setup(kernel="neighbours")).kernel != "native":
        pytest.skip("there is no native code here")
    whole = native.advance

    def rising(state, params, K, most_move, *, threads):
        return whole(state, replace(params, activation="rising"), K, most_move, threads=threads)

    monkeypatch.setattr(native, "advance", rising)
    result = result_of(BY_NAME["choices"], Lab())
    failed = [r.what for r in result.readings if r.status == "FAIL"]
    assert failed == ["largest difference after 10 steps, activation = falling"]


def test_forces_that_are_not_scaled_are_found(lab, monkeypatch):
    """A threshold on force, say: the motion then depends on units."""
    monkeypatch.setattr("engine.current.pack", lambda p: pack(replace(p, k_cc=p.k_cc + 1)))
    assert result_of(BY_NAME["scaling"], lab).status == "FAIL"


def test_the_command_leaves_with_1_where_a_check_fails(tmp_path, capsys, monkeypatch):
    page, figures = tmp_path / "page.md", tmp_path / "figures.json"
    line = ["validate", "--only", "free-rod,scaling"]
    monkeypatch.setattr("engine.current.pack", wrong(gamma=1.1))
    assert cli.main([*line, "--write", str(page), "--json", str(figures)]) == 1
    out, err = capsys.readouterr()
    assert "FAILED: free-rod" in err
    assert "speed at activity 1" in out
    written = page.read_text(encoding="utf-8")
    assert "FAILED: free-rod" in written
    assert f"bacsim validate --only free-rod,scaling --write {page}`" in written
    first, second = json.loads(figures.read_text(encoding="utf-8"))
    assert (first["status"], second["status"]) == ("FAIL", "pass")
    assert first["readings"][0]["got"] == pytest.approx(first["readings"][0]["expected"] / 1.1)

    monkeypatch.undo()
    assert cli.main(line) == 0
    assert capsys.readouterr().out.endswith("2 of 2 checks passed.\n")


def test_what_cannot_be_written_is_refused_before_anything_runs(tmp_path, capsys):
    there = tmp_path / "there.json"
    there.touch()
    for flag, path in (("--json", there), ("--write", tmp_path / "no" / "page.md")):
        assert cli.main(["validate", "--only", "free-rod", flag, str(path)]) == 1
        out, err = capsys.readouterr()
        assert not out
        assert path.name in err


@pytest.mark.parametrize("flag", ["--json", "--write"])
def test_a_folder_that_takes_no_file_is_told_before_anything_runs(
    flag, tmp_path, capsys, monkeypatch
):
    def full(**options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert cli.main(["validate", "--only", "free-rod", flag, str(tmp_path / "new")]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert "Read-only file system" in err


def test_figures_and_page_are_two_files(tmp_path, capsys):
    path = tmp_path / "both"
    line = ["validate", "--only", "free-rod", "--json", str(path)]
    assert cli.main([*line, "--write", str(tmp_path / "." / "both")]) == 1
    assert "Give two names" in capsys.readouterr().err
    assert not path.exists()


def test_a_page_takes_the_place_of_no_device(tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert cli.main(["validate", "--only", "free-rod", "--write", str(pipe)]) == 1
    assert "it is no file" in capsys.readouterr().err
    assert pipe.is_fifo()


def breaks(lab: Lab):
    """A check that reads one figure and then fails."""
    yield checks.near("one", 1.0, 1.0, 0.0)
    raise ValueError("no such thing\nas this")


def stops(lab: Lab):
    """Ctrl-C in the midst of a check."""
    raise KeyboardInterrupt


def test_a_check_that_breaks_keeps_what_it_read_and_the_others(monkeypatch):
    monkeypatch.setattr("engine.study.validate.single.breaks", breaks, raising=False)
    broken = Check("broken", "", "", "single.breaks")
    missing = Check("missing", "", "", "single.no_such_function")
    said = []
    found = list(run([broken, missing, BY_NAME["free-rod"]], lambda *words: said.append(words)))
    assert [result.status for result in found] == ["FAIL", "FAIL", "pass"]
    assert [len(result.readings) for result in found] == [1, 0, 3]
    assert ("free-rod", "") in said
    last = list(rows_of(found[0]))[-1]
    assert "ValueError: no such thing as this" in last
    assert summary(found) == "1 of 3 checks passed; FAILED: broken, missing."


def test_ctrl_c_prints_what_was_done(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("engine.study.validate.single.scaling", stops)
    figures = tmp_path / "figures.json"
    line = ["validate", "--only", "free-rod,scaling,circle", "--json", str(figures)]
    assert cli.main(line) == 130
    assert "speed at activity 1" in capsys.readouterr().out
    assert [record["name"] for record in json.loads(figures.read_text())] == ["free-rod"]


def test_every_check_is_named_once_and_can_be_read():
    assert len(BY_NAME) == len(CHECKS)
    for check in CHECKS:
        module, function = check.read.split(".")
        found = getattr(importlib.import_module(f"engine.study.validate.{module}"), function)
        assert callable(found)
        assert check.law
        assert check.source
        # What is fast is quick.
        assert check.quick or not check.fast


def test_checks_are_chosen_by_name():
    assert chosen(None) == CHECKS
    assert chosen(None, quick=True) == tuple(c for c in CHECKS if c.quick)
    assert [c.name for c in chosen("walk, circle,walk")] == ["walk", "circle"]
    with pytest.raises(ParameterError, match=r"Did you mean circle\?.*free-rod"):
        chosen("walk,circel")


def reading(got: float, **values) -> Reading:
    return Reading("", got, 1.0, 2.0, **values)


def result(*readings: Reading, problem: str = "") -> Result:
    return Result(Check("name", "a | b", "ours", ""), readings, 1.0, problem)


def test_nothing_passes_that_was_not_read():
    assert [reading(got).status for got in (0.99, 1.0, 2.0, 2.01, math.nan)] == [
        "FAIL", "pass", "pass", "FAIL", "FAIL",
    ]  # fmt: skip
    here, away = reading(1.5), checks.absent("", "no card")
    assert away.status == "not here"
    assert result(here, away).status == "pass"
    assert result(away).status == "not here"
    assert result(here, reading(3.0)).status == "FAIL"
    assert result(here, problem="ended").status == "FAIL"
    assert result().status == "FAIL"
    assert summary([result(away)]) == "0 of 1 checks passed; cannot be made here: name."
    json.dumps(records([result(here, away, reading(math.nan))]), allow_nan=False)


def test_a_mean_may_be_off_by_its_error_times_four():
    values = np.array([1.0, 3.0, 1.0, 3.0])
    error = values.std(ddof=1) / 2
    for off, status in ((3.9, "pass"), (4.1, "FAIL")):
        found = checks.sampled("", 2.0 + off * error, values)
        assert found.status == status
        assert found.error == pytest.approx(error)
    assert checks.sampled("", 2.0 + 4.1 * error, values, more=0.2 * error).status == "pass"


@pytest.mark.validate
@pytest.mark.slow
def test_a_crowd_has_the_reference_s_activity():
    """1,200 steps of 150 rods by a program that shares no code with the engine; the command has it
    not."""
    n = 150
    params = packed(n, 0.3, k_cc=60.0, dt=0.00333, activity_thresh=4.0, activity_width=0.7)
    driver = Driver(Setup(rods=n), params, seed=1)
    start = driver.snapshot()
    rods = reference.rods(start.pos, start.theta, start.activity)
    for _ in range(4):
        rods = reference.run(rods, params, 300)
        mine = driver.advance(300).observables["mean_activity"]
        print(f"step {driver.step}: activity {mine:.4f}, reference {rods.activity.mean():.4f}")
        assert mine == pytest.approx(rods.activity.mean(), abs=0.02)
