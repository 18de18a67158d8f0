# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of a sweep under way, and files there that are no good."""

import io
import zipfile

import numpy as np
import pytest

from engine.params import Params, Setup
from engine.study.sweep.job import Done
from engine.study.sweep.parts import Parts
from engine.study.sweep.plan import Plan, plan
from engine.study.sweep.spec import read


@pytest.fixture(scope="module")
def made() -> Plan:
    table = {
        "fixed": {"rods": 64, "packing_fraction": 0.2}, "grid": {"F_prop": [2.0, 4.0]},
        "time": {"warm_up": 1.0, "every": 0.5, "samples": 3}, "observe": ["polar_order"],
        "batch": 2,
    }  # fmt: skip
    return plan(read(table, (Setup(), Params())), "1")


def done(values: np.ndarray) -> Done:
    return Done(0, values, ("", "why"), "code", "CPU")


def alone(made: Plan) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(2, made.spec.times.samples, 1))


def test_what_is_kept_is_read_again(made, tmp_path):
    parts, values = Parts(tmp_path / "r.nc", made, ""), alone(made)
    parts.keep(done(values))
    found, notes = parts.done(made.jobs)
    np.testing.assert_array_equal(found[0].values, values)
    assert (found[0].failed, notes) == (("", "why"), [])


def single_array(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def damaged_inside(values: np.ndarray) -> bytes:
    """A compressed file of which a byte of the numbers is another one."""
    file = io.BytesIO()
    np.savez_compressed(file, values=values, failed=np.array(["", ""]), code="", device="")
    whole = bytearray(file.getvalue())
    at = zipfile.ZipFile(file).getinfo("values.npy").header_offset
    whole[at + 60] = 0xFF
    return bytes(whole)


def of_another_method(values: np.ndarray) -> bytes:
    """A file that says to be compressed in a way that Python does not know."""
    file = io.BytesIO()
    np.savez(file, values=values, failed=np.array(["", ""]), code="", device="")
    whole = file.getvalue()
    return whole.replace(b"PK\x01\x02\x2d\x03\x2d\x00\x00\x00\x00\x00",
                         b"PK\x01\x02\x2d\x03\x2d\x00\x00\x00\x13\x00")  # fmt: skip


def without_reasons(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, values=values, failed="", code="", device="")
    return file.getvalue()


@pytest.mark.parametrize(
    "damage", [single_array, damaged_inside, of_another_method, without_reasons]
)
def test_a_file_that_is_no_part_is_told_and_run_again(damage, made, tmp_path):
    parts, values = Parts(tmp_path / "r.nc", made, ""), alone(made)
    parts.keep(done(values))
    (kept,) = parts.folder.glob("job-*.npz")
    kept.write_bytes(damage(values))
    found, notes = parts.done(made.jobs)
    assert not found
    assert len(notes) == 1
    assert kept.name in notes[0]
    assert "run again" in notes[0]
