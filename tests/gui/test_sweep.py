# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim sweep` as users call it: with a Dask cluster of its own, killed, resumed, refused."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from bacsim_gui.sweep_command import load
from engine.schema import ParameterError
from engine.study.sweep import result
from tests.gui.commands import Commands, serving
from tests.gui.conftest import without_display

SPEC = """\
title = "Two densities, three seeds"
seed = 5
seeds = 3
batch = 1
observe = ["polar_order", "active_fraction", "largest_cluster"]

[fixed]
rods = 64

[grid]
packing_fraction = [0.2, 0.4]
aspect_ratio = [4, 100]

[time]
warm_up = 0.1
every = 0.1
samples = 60

[[states]]
name = "asleep"
active_fraction = { below = 0.5 }
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return without_display(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def bacsim(tmp_path_factory, environment):
    """All commands that nobody ends before their time, in one process."""
    with serving(environment, tmp_path_factory.mktemp("commands")) as commands:
        yield commands


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(bacsim: Commands, tmp_path_factory) -> tuple[Path, str]:
    """The result of the sweep, run in one go, and what was said."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
    (said,) = bacsim.all_of(("sweep", "spec.toml", "--workers", "1"), folder=folder)
    return folder / "spec.nc", said


def begin(spec: Path, environment: dict) -> "subprocess.Popen[str]":
    """A sweep on two workers in a session of its own, with a job done already."""
    begun = subprocess.Popen(
        [sys.executable, "-m", "bacsim_gui.cli", "sweep", str(spec), "--workers", "2"],
        env=environment, cwd=spec.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: jobs_done(spec))
    return begun


def jobs_done(spec: Path) -> int:
    return len(list((spec.parent / "spec.nc.parts").glob("job-*.npz")))


def wait_for(what, seconds: float = 120.0):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def test_a_sweep_that_loses_a_worker_and_is_killed_goes_on_to_the_same_bytes(
    spec, environment, bacsim, whole
):
    begun = begin(spec, environment)
    children = psutil.Process(begun.pid).children(recursive=True)
    workers = [one for one in children if "spawn_main" in " ".join(one.cmdline())]
    assert len(workers) == 2
    listening = [c for one in (*workers, psutil.Process(begun.pid)) for c in one.net_connections()]
    assert {c.laddr.ip for c in listening if c.status == psutil.CONN_LISTEN} <= {"127.0.0.1", "::1"}
    workers[0].kill()
    some = jobs_done(spec)
    wait_for(lambda: jobs_done(spec) > some)
    begun.send_signal(signal.SIGKILL)
    begun.communicate()
    # Nobody is left behind.
    psutil.wait_procs(children, timeout=30)
    assert not any(one.is_running() for one in workers)
    assert not spec.with_suffix(".nc").exists()

    (on,) = bacsim.many(("sweep", "spec.toml", "--workers", "1"), folder=spec.parent)
    assert on.status == 0, on.err
    assert "done already" in on.err
    assert not (spec.parent / "spec.nc.parts").exists()
    assert spec.with_suffix(".nc").read_bytes() == whole[0].read_bytes()


def test_what_comes_out_tells_all_and_failed_points_are_told(whole):
    path, said = whole
    assert "6 of 12 systems ran" in said
    assert "space_size" in said
    found = result.read(path)
    assert found.attrs["spec"] == SPEC
    assert dict(found.sizes) == {
        "packing_fraction": 2, "aspect_ratio": 2, "replicate": 3, "sample": 60
    }  # fmt: skip
    good = found.sel(aspect_ratio=4)
    assert np.isfinite(good["polar_order"]).all()
    assert np.isnan(found.sel(aspect_ratio=100)["polar_order"]).all()
    assert ((good["largest_cluster"] >= 1 / 64) & (good["largest_cluster"] <= 1)).all()
    assert found["dt"].attrs["units"] == "t"
    assert len(np.unique(found["seed"])) == 12
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_result_that_is_there_is_drawn_anew_and_keeps_its_place(spec, bacsim, whole):
    shutil.copy(whole[0], spec.with_suffix(".nc"))
    # Once more: nothing is run, and the picture is drawn.
    spec.write_text(SPEC.replace("asleep", "at rest"), encoding="utf-8")
    (again,) = bacsim.many(("sweep", "spec.toml"), folder=spec.parent)
    assert "only the picture is drawn" in again.err
    assert spec.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    # Another sweep does not take its place.
    spec.write_text(SPEC.replace("seed = 5", "seed = 6"), encoding="utf-8")
    (other,) = bacsim.many(("sweep", "spec.toml"), folder=spec.parent)
    assert other.status == 1
    assert "another sweep" in other.err
    assert spec.with_suffix(".nc").read_bytes() == whole[0].read_bytes()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(spec, environment, bacsim):
    # Long enough that it is stopped in the midst.
    spec.write_text(SPEC.replace("samples = 60", "samples = 120"), encoding="utf-8")
    begun = begin(spec, environment)
    # To the workers too, as a terminal sends it.
    os.killpg(begun.pid, signal.SIGINT)
    _, errors = begun.communicate(timeout=60)
    assert begun.returncode == 130
    assert re.search(r"Stopped\. \d+ jobs? of 6 are kept in spec\.nc\.parts; the same", errors)
    assert "Traceback" not in errors
    # With a changed spec the parts are not taken for its own.
    spec.write_text(SPEC, encoding="utf-8")
    (other,) = bacsim.many(("sweep", "spec.toml"), folder=spec.parent)
    assert other.status == 1
    assert "another sweep" in other.err


def test_a_dry_run_tells_what_would_be_run_and_runs_nothing(spec, bacsim):
    (said,) = bacsim.all_of(("sweep", "spec.toml", "--dry-run"), folder=spec.parent)
    assert "4 points × 3 seeds = 12 systems in 6 jobs" in said
    assert "6 cannot be simulated" in said
    assert sorted(path.name for path in spec.parent.iterdir()) == ["spec.toml"]


def test_a_scheduler_that_is_not_there_is_told_plainly(spec, environment, monkeypatch):
    from bacsim_gui import sweep_cluster
    from bacsim_gui.command import RunError

    monkeypatch.setattr(sweep_cluster, "CONNECT_SECONDS", 0.3)
    with pytest.raises(RunError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        sweep_cluster.run_on_workers([], 1, "tcp://127.0.0.1:9", print, print)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("packing_fraction = [0.2, 0.4]", "packing_fraction = [0.2, 3]", "line 11: packing_frac"),
        ("rods = 64", "rods = 0.5", "line 8: rods = 0.5"),
        ("warm_up = 0.1", "warm_up = -1", "line 15: warm_up = -1"),
        ("below = 0.5", "below = 0.5, x = 1", "x = 1 is not known"),
        ("seeds = 3", "seeds = ", "line 3"),
        ('title = "Two', 'preset = "swarmin"\ntitle = "Two', "Did you mean swarming?"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(spec, old, new, words):
    spec.write_text(SPEC.replace(old, new), encoding="utf-8")
    with pytest.raises(ParameterError) as error:
        load(spec)
    assert words in str(error.value)
    assert "spec.toml" in str(error.value)


@pytest.mark.parametrize("name", ["clusters", "absorbing"])
def test_the_specs_of_the_documentation_can_be_run(name):
    docs = Path(__file__).parents[2] / "docs" / "sweeps"
    plan, _ = load(docs / f"{name}.toml")
    assert not any(system.problem for system in plan.systems)
    assert (docs / f"{name}.png").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(spec, bacsim):
    spec.parent.chmod(0o500)
    try:
        (done,) = bacsim.many(("sweep", "spec.toml", "--workers", "1"), folder=spec.parent)
    finally:
        spec.parent.chmod(0o700)
    assert done.status == 1
    assert "cannot be made" in done.err
