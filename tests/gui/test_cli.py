# SPDX-License-Identifier: GPL-3.0-or-later
"""`bacsim` as users call it: in processes of its own, with no display."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from bacsim_gui import __version__
from bacsim_gui.mp4 import frame_count, metadata
from engine.schema import FIELDS
from engine.snapshot import Start
from engine.study.stages import STAGES
from engine.study.standard import save_state, standard_params
from tests.gui.conftest import without_display

ROOT = Path(__file__).parents[2]
# Runs each command line given as JSON in one process; says status, output, errors, and what was
# imported.
MANY = """
import contextlib, io, json, sys
from bacsim_gui import cli
results = []
for argv in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(argv)
        except SystemExit as leaving:
            status = leaving.code
    results.append([status, out.getvalue(), err.getvalue()])
print(json.dumps([results, sorted({"jax", "PyQt6", "vispy", "OpenGL"} & set(sys.modules))]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """No display, and a log folder of the test's own."""
    return without_display(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def many(environment):
    def run(*lines: list[str]) -> tuple[list[list], list[str]]:
        command = [sys.executable, "-c", MANY, json.dumps(lines)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def bacsim(environment, tmp_path):
    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bacsim_gui.cli", *argv]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run


def test_version_and_help_come_without_jax(many):
    (version, top, movie, bench, trace), imported = many(
        ["--version"], ["--help"], ["movie", "--help"], ["bench", "--help"], ["trace", "--help"]
    )
    assert version[:2] == [0, f"bacsim {__version__}\n"]
    assert all(word in top[1] for word in ("movie", "bench", "trace", "validate"))
    for status, text, _ in (movie, trace):
        assert status == 0
        words = " ".join(text.split())
        for field in FIELDS:
            assert f"--{field.name} " in words
            assert f"default {field.default})" in words
    for flag in ("--kernels", "--native", "--rods", "--rounds", "--threads", "--state", "--json"):
        assert flag in bench[1]
    assert imported == []


def test_bad_values_are_refused_by_name_in_one_line_without_jax(many, tmp_path):
    config = tmp_path / "own.toml"
    config.write_text("[params]\nk_cc = 'stiff'\n", encoding="utf-8")
    cases = [(["movie", f"--{field.name}", "abc"], field.name) for field in FIELDS]
    cases += [
        (["movie", "--radius", "0"], "radius"),
        (["movie", "--rods", "2.5"], "rods"),
        (["movie", "--space_size", "3"], "space_size"),
        (["movie", "--preset", "swarmin"], "Did you mean swarming?"),
        (["movie", "--config", str(tmp_path / "none.toml")], "cannot be read: No such file"),
        (["movie", "--config", str(config)], "k_cc"),
        (["movie", "--preset", "swarming", "--config", str(config)], "exclude each other"),
        (["movie", "--seed", "-1"], "seed"),
        (["movie", "--K", "0"], "K"),
        (["movie", "--seconds", "0"], "seconds"),
        (["movie", "--seconds", "1e308"], "seconds"),
        (["movie", "--fps", "nan"], "fps"),
        (["movie", "--fps", "1e-307"], "fps = 1e-307"),
        (["movie", "--fps", "241"], "fps"),
        (["movie", "--size", "321x240"], "width = 321 is odd"),
        (["movie", "--size", "99999x240"], "width = 99999"),
        (["movie", "extra"], "extra is not known as an argument"),
        (["movie", "--size", "wide"], "size"),
        (["movie", "--sise", "64x64"], "Did you mean --size?"),
        (["trace", "--out", str(tmp_path), "--frames", "x"], "frames"),
        (["trace"], "--out"),
        (["bench", "--kernels", "naive,best"], "best"),
        (["bench", "--native", "auto,on"], "native = 'on'"),
        (["bench", "--rods", "64,many"], "many"),
        (["bench", "--rounds", "3"], "rounds"),
        (["bench", "--threads", "9999"], "threads"),
        (["bench", "--state", str(tmp_path / "none.npz")], "none.npz: No such file"),
        (["bench", "--state", str(config)], "not an .npz file"),
        (["bench", "--state", str(config), "--rods", "64"], "exclude each other"),
        (["validate", "--only", "circel"], "Did you mean circle?"),
        (["validate", "--only", "circle", "--quick"], "exclude each other"),
        (["validate", "--threads", "0"], "threads"),
        (["film"], "film"),
        ([], "COMMAND"),
    ]
    results, imported = many(*[argv for argv, _ in cases])
    for (argv, words), (status, _, said) in zip(cases, results, strict=True):
        assert status == 2, (argv, said)
        assert words in said, (argv, said)
        assert said.count("\n") == 1, (argv, said)
    assert imported == []


@pytest.mark.gl
def test_a_movie_is_made_without_display_qt_or_opengl_of_its_own(many, tmp_path):
    file = tmp_path / "swarm.mp4"
    line = ["movie", "--rods", "64", "--seconds", "1", "--size", "320x240", "--seed", "7",
            "--F_prop", "9.5", "--out", str(file)]  # fmt: skip
    ((status, out, said),), imported = many(line)
    assert status == 0, said
    assert out.startswith(f"{file}: 30 frames")
    assert "64 rods" in said
    assert "30 frames of 50 steps" in said
    assert imported == ["jax"]

    assert frame_count(file) == 30
    assert imageio_ffmpeg.count_frames_and_secs(str(file)) == (30, pytest.approx(1, abs=0.05))
    about = metadata(file)
    assert about["seed"] == "7"
    assert about["bacsim"] == __version__
    parameters = json.loads(about["parameters"])
    assert parameters["setup"]["rods"] == 64
    assert parameters["params"]["F_prop"] == 9.5
    first, last = pictures(file)
    assert np.abs(first - last).max() > 100


def pictures(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last picture of a movie of 320 x 240, as integers.

    imageio_ffmpeg's own reader forks beside JAX's threads and leaves a pipe open.
    """
    read = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(file)]
    raw = [*read, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    frames = subprocess.run(raw, capture_output=True, check=True).stdout
    pixels = np.frombuffer(frames, np.uint8).reshape(-1, 240, 320, 3).astype(int)
    return pixels[0], pixels[-1]


@pytest.mark.gl
def test_a_run_that_fails_leaves_1_and_keeps_its_frames(bacsim, tmp_path):
    done = bacsim(
        "movie", "--rods", "32", "--kernel", "naive", "--F_prop", "1e6", "--size", "64x64"
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("bacsim: Step 1 was not taken")
    assert "The first 1 of 300 frames are in" in last
    assert frame_count(tmp_path / "swarm.mp4") == 1


def test_what_no_movie_can_be_is_refused_before_it_compiles(many, tmp_path):
    (tmp_path / "file").touch()
    results, _ = many(
        ["movie", "--rods", "64", "--size", "321x240", "--out", str(tmp_path / "a.mp4")],
        ["movie", "--rods", "64", "--out", str(tmp_path / "file" / "a.mp4")],
        ["movie", "--rods", "64", "--out", str(tmp_path / "a.avi")],
    )
    for (status, _, said), words in zip(results, ("321", "file", ".mp4"), strict=True):
        assert status == 2, said
        assert words in said.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.gl
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_was_recorded(environment, tmp_path):
    command = [sys.executable, "-m", "bacsim_gui.cli", "movie", "--rods", "32", "--kernel", "naive",
               "--seconds", "3000", "--size", "64x64", "--out", "long.mp4"]  # fmt: skip
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        part, deadline = tmp_path / "long.part.mp4", time.monotonic() + 120
        while not (part.exists() and part.stat().st_size > 2000):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    told = re.search(r"Stopped\. The first (\d+) of 90000 frames are in", said)
    assert told, said
    assert frame_count(tmp_path / "long.mp4") == int(told[1]) > 0


@pytest.mark.slow
def test_bench_prints_records_of_a_state_file(bacsim, tmp_path):
    rng = np.random.default_rng(2)
    side = standard_params(36).space_size
    grid = np.stack(np.meshgrid(*[np.linspace(0, side, 6, endpoint=False)] * 2), -1).reshape(-1, 2)
    start = Start(grid, rng.uniform(-0.1, 0.1, 36), np.ones(36))
    save_state(tmp_path / "state.npz", start, standard_params(36))
    # Native code, where there is one, since that takes no time to compile.
    done = bacsim("bench", "--kernels", "neighbours", "--state", "state.npz", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["kernel"], row["n"], row["threads"]) == ("neighbours", 36, 1)
    assert row["rod_steps_per_s"] > 0
    assert row["speedup_over_naive"] is None
    assert [trap["name"] for trap in row["traps"]] == [
        "not waited for", "first call", "changing inputs",
    ]  # fmt: skip


def test_trace_prints_the_stages_and_where_the_files_are(bacsim, tmp_path):
    done = bacsim("trace", "--out", "there", "--rods", "32", "--kernel", "naive", "--K", "2")
    assert done.returncode == 0, done.stderr
    # What only other kernels, or steps of adaptive length, have to do.
    for stage in set(STAGES) - {"native_steps", "list_check", "neighbour_list", "time_step"}:
        assert re.search(rf"^{stage} ", done.stdout, re.MULTILINE), stage
    assert "4 frames of 2 steps: 32 rods, kernel naive" in done.stdout
    assert str(tmp_path / "there" / "perfetto_trace.json.gz") in done.stdout
    assert {"perfetto_trace.json.gz", "stages.txt", "stages.json"} <= {
        path.name for path in (tmp_path / "there").iterdir()
    }


@pytest.mark.gl
def test_doctor_says_what_works(bacsim):
    done = bacsim("doctor")
    assert done.returncode == 0, done.stderr
    found = {line[:14].strip(): line[14:].strip() for line in done.stdout.splitlines()}
    assert found["bacsim"].startswith(__version__)
    assert "jax 0." in found["packages"]
    assert "missing" not in found["packages"]
    assert found["native code"].startswith(("works: ", "none: "))
    assert found["compile cache"] == "off (BACSIM_CACHE)"
    assert found["pictures"].startswith("OpenGL without a window works: ")
    assert found["window"].startswith("There is no display here")
    assert found["movies"].startswith("ffmpeg version")


def test_doctor_tells_a_program_as_much(bacsim):
    done = bacsim("doctor", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bacsim"] == __version__
    assert told["packages"]["jax"].startswith("0.")
    assert told["findings"]["movies"].startswith("ffmpeg version")
    assert told["paths"]["compile cache"] is None
    assert told["paths"]["log"].endswith("bacsim-gui.log")
    assert isinstance(told["advice"], list)


def test_the_log_file_is_kept_and_rotated(environment, tmp_path):
    script = (
        "from bacsim_gui.logfile import start_log; import logging; print(start_log('bacsim'));"
        "[logging.getLogger('bacsim_gui').info('x' * 1000) for _ in range(6000)];"
        "logging.getLogger('jax').info('chatter')"
    )
    own = environment | {"XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=own, capture_output=True, check=True)
    log = Path(done.stdout.decode().strip())
    assert log.is_relative_to(tmp_path)
    files = sorted(path.name for path in log.parent.iterdir())
    assert files == ["bacsim.log", "bacsim.log.1", "bacsim.log.2", "bacsim.log.3"]
    assert sum(path.stat().st_size for path in log.parent.iterdir()) < 4.1e6
    assert "chatter" not in log.read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file on a full disk")
def test_a_log_on_a_full_disk_covers_nobodys_screen(environment, tmp_path):
    script = (
        "from bacsim_gui.logfile import log_path, start_log; import logging;"
        "log_path('bacsim').parent.mkdir(parents=True);"
        "log_path('bacsim').symlink_to('/dev/full'); start_log('bacsim');"
        "logging.getLogger('bacsim_gui').error('lost')"
    )
    own = environment | {"XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=own, capture_output=True, check=True)
    assert done.stderr == b""


def test_what_goes_wrong_is_in_the_log(environment, bacsim):
    bacsim("trace", "--out", "/dev/null/impossible", "--rods", "16", "--kernel", "naive")
    (log,) = Path(environment["XDG_STATE_HOME"]).rglob("bacsim.log")
    last = log.read_text(encoding="utf-8").splitlines()[-1]
    assert "ERROR" in last
    assert "/dev/null" in last
