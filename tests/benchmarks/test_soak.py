# SPDX-License-Identifier: GPL-3.0-or-later
"""The long run, cut short: it takes its steps, and says what it saw."""

import json
from dataclasses import replace

import pytest

from benchmarks import soak
from benchmarks.soak import Soak
from engine.kernels import resolve
from engine.params import Setup
from tests.engine.programs import shared_programs

STEADY = Soak(4096, 100_000, "CPU", "JAX", (0.400,) * 9 + (0.436,), (500 << 20,) * 10, 0, 12.0)


@pytest.mark.parametrize("native", ["auto", "off"])
def test_a_short_run_ends_with_figures_and_a_verdict(tmp_path, capsys, native):
    file = tmp_path / "soak.json"
    with shared_programs():
        status = soak.main(
            ["--rods", "50", "--steps", "2001", "--native", native, "--output", str(file)]
        )
    found = json.loads(file.read_text())
    assert (found["rods"], found["steps"], found["growths"]) == (50, 2020, 0)
    assert len(found["step_ms"]) == len(found["memory"]) == 10
    assert min(found["step_ms"]) > 0
    assert found["rebuilds_per_1000"] > 0
    assert status == (0 if found["passed"] else 1)
    code = resolve(Setup(rods=50, kernel="neighbours", native=native)).code
    assert found["code"] == code
    assert f"2,020 steps of 50 rods on CPU (code: {code})" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--rods 0", "rods = '0' is not possible. Give a whole number from 20"),
        ("--steps 5", "steps = '5' is not possible. Give a whole number from 2000"),
        ("--native on", "'on'"),
        ("--rods 2000000000", "rods = 2000000000 with kernel = 'neighbours' needs"),
        ("--output /nope/soak.json", "output = '/nope/soak.json' is in a folder that does not"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        soak.main(arguments.split())
    assert left.value.code == 2
    words = capsys.readouterr().err
    assert said in words
    assert words.count("\n") == 1


@pytest.mark.parametrize(
    ("changed", "passed", "said"),
    [
        ({}, True, "stays the same: 0.400 ms in the first tenth, 0.436 ms in the last (+9.0 %)"),
        ({"step_ms": (0.4,) * 9 + (0.45,)}, False, "time of a step GROWS"),
        ({"step_ms": (0.4,) * 9 + (0.3,)}, True, "(-25.0 %)"),
        ({"memory": (500 << 20,) * 9 + (510 << 20,)}, True, "stays flat: 500 MiB, then 510"),
        ({"memory": (500 << 20,) * 9 + (520 << 20,)}, False, "Memory GROWS"),
    ],
)
def test_the_verdict(changed, passed, said):
    result = replace(STEADY, **changed)
    assert result.passed == passed
    assert said in result.verdict()
