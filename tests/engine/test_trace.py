# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace can be opened, and its time is divided among the stages of the step."""

import gzip
import inspect
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

import jax
import pytest

from engine import step
from engine.driver import Driver, SimulationError
from engine.params import Params
from engine.study.stages import (
    IDLE,
    STAGES,
    TASK,
    UNKNOWN,
    operation_spans,
    read_operations,
    stage_times,
)
from engine.study.trace import TraceError, read_events, trace
from tests.engine.programs import setup_for, shared_programs


@pytest.fixture(scope="module")
def driver() -> Driver:
    with shared_programs():
        return Driver(setup_for("neighbours", 64), Params(space_size=32.0, D_r=0.01), seed=1)


@pytest.fixture(scope="module")
def files(driver, tmp_path_factory):
    return trace(driver, tmp_path_factory.mktemp("trace") / "new folder", frames=2, K=3)


# Stages of other runs: of native code, and of steps of adaptive length.
ABSENT = ("native_steps", "time_step")


def test_the_perfetto_file_is_gzipped_json_with_the_operations(files, driver):
    with gzip.open(files.perfetto) as file:
        events = json.load(file)["traceEvents"]
    ran = {e["args"]["hlo_op"] for e in events if "hlo_op" in e.get("args", {})}
    known = read_operations(driver.program.text()).stage
    assert len(ran & set(known)) > 20
    assert sum(e.get("name") == "frame" for e in events) == 2


def test_the_summary_divides_all_time_among_the_stages(files, driver):
    summary = json.loads(files.json.read_text(encoding="utf-8"))
    rows = {row["stage"]: row for row in summary["stages"]}
    stages = [stage for stage in STAGES if stage not in ABSENT]
    assert list(rows) == [*stages, UNKNOWN, IDLE]
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    total = sum(row["ms_a_step"] for row in rows.values())
    assert total == pytest.approx(summary["ms_a_step"])
    assert (summary["frames"], summary["K"], summary["rods"]) == (2, 3, 64)
    assert summary["complete"]
    for stage in stages:
        assert rows[stage]["operations"] or rows[stage]["also_in"], stage
    for stage in ("pair_sums", "noise", "check", "snapshot"):
        assert rows[stage]["ms_a_step"] > 0


def test_the_text_names_every_stage_and_the_profilers_own_cost(files):
    text = files.text.read_text(encoding="utf-8")
    for stage in (*STAGES, UNKNOWN, IDLE):
        named = re.search(rf"^{stage} +[\d.]+ +[\d.]+%", text, re.MULTILINE)
        assert bool(named) == (stage not in ABSENT), stage
    assert "without the profiler" in text


def test_native_code_is_one_stage_of_the_summary(tmp_path):
    driver = Driver(setup_for("native", 1000), Params(space_size=130.0), seed=1)
    files = trace(driver, tmp_path, frames=2, K=200)
    rows = {row["stage"]: row for row in json.loads(files.json.read_text())["stages"]}
    assert list(rows) == ["native_steps", "snapshot", UNKNOWN, IDLE]
    assert rows["native_steps"]["share"] > 0.2


def test_a_trace_moves_the_simulation_on_as_it_says(driver, tmp_path):
    before = driver.step
    trace(driver, tmp_path, frames=1, K=2)
    assert driver.step == before + 4


def test_the_stages_are_the_scopes_of_the_step_in_its_order():
    assert tuple(re.findall(r'named_scope\("(\w+)"\)', inspect.getsource(step))) == STAGES


def test_a_second_trace_at_the_same_time_is_refused_plainly(driver, tmp_path):
    with (
        jax.profiler.trace(tmp_path / "other"),
        pytest.raises(TraceError, match="another trace running"),
    ):
        trace(driver, tmp_path, frames=1, K=1)
    assert trace(driver, tmp_path, frames=1, K=1).text.exists()


def test_a_simulation_that_stops_says_so_itself(tmp_path):
    with shared_programs():
        params = Params(space_size=32.0, F_prop=1e6)
        unstable = Driver(setup_for("naive", 64), params, seed=1)
    with pytest.raises(SimulationError):
        trace(unstable, tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"{}", mtime=0), gzip.compress(b"[1", mtime=0)]
)
def test_a_file_that_is_no_trace_is_refused(tmp_path, content):
    file = tmp_path / "perfetto_trace.json.gz"
    file.write_bytes(content)
    with pytest.raises(TraceError, match="not a Perfetto trace"):
        read_events(file)


SCRIPT = """
import sys
from engine import Driver, Params, Setup
from engine.study.trace import trace
driver = Driver(Setup(rods=16, kernel="naive"), Params(space_size=20.0))
print(driver.stats.last.cache, "pair_sums" in trace(driver, sys.argv[1], 1, 2).text.read_text())
import json
rows = json.load(open(sys.argv[1] + "/stages.json"))["stages"]
print(next(row["ms_a_step"] for row in rows if row["stage"] == "pair_sums") > 0)
"""


@pytest.mark.slow
def test_stages_are_found_in_a_program_from_the_persistent_cache(tmp_path, quick_processes):
    environment = os.environ | {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "trace")]
    said = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [text.split() for text in said] == [["miss", "True", "True"], ["hit", "True", "True"]]


# What the program's text tells

TEXT = """HloModule jit_advance, is_scheduled=true

%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %inner = f32[4]{0} add(%p, %p), metadata={op_name="jit(advance)/while/body/limit/add"}
}

%two_stages (p.1: f32[4]) -> f32[4] {
  %p.1 = f32[4]{0} parameter(0)
  %first = f32[4]{0} add(%p.1, %p.1), metadata={op_name="jit(advance)/while/body/propulsion/add"}
  ROOT %last = f32[4]{0} add(%first, %p.1), metadata={op_name="jit(advance)/while/body/velocity/add"}
}

%loop_body (t: (s32[], f32[4])) -> (s32[], f32[4]) {
  %t = (s32[], /*index=1*/f32[4]{0}) parameter(0)
  ROOT %copy.1 = f32[4]{0} copy(%t)
}

ENTRY %main (a: f32[4]) -> (s32[], f32[4]) {
  %a = f32[4]{0} parameter(0)
  %silent_fusion = f32[4]{0} fusion(%a), kind=kLoop, calls=%fused
  %mixed_fusion = f32[4]{0} fusion(%a), calls=%two_stages, metadata={op_name="jit(advance)/velocity/add"}
  %while.1 = (s32[], f32[4]{0}) while(%a), condition=%fused, body=%loop_body, metadata={op_name="jit(advance)/pair_sums/while"}
  ROOT %tail = f32[4]{0} add(%a, %a), metadata={op_name="jit(advance)/while"}
}
"""  # noqa: E501


def test_operations_take_their_stage_from_scope_contents_or_caller():
    operations = read_operations(TEXT)
    assert operations.module == "jit_advance"
    assert operations.control == {"while.1"}
    named = {name: operations.stage.get(name) for name in
             ("silent_fusion", "mixed_fusion", "while.1", "copy.1", "tail")}  # fmt: skip
    assert named == {
        "silent_fusion": "limit",
        "mixed_fusion": "velocity",
        "while.1": "pair_sums",
        "copy.1": "pair_sums",
        "tail": None,
    }
    assert operations.inside["mixed_fusion"] == {"propulsion"}


def span(
    name: str, begin: float, end: float, module: str | None = "jit_advance", thread: int = 1
) -> dict:
    arguments = {"hlo_op": name, "hlo_module": module} if module else {}
    return {"ph": "X", "name": name, "ts": begin * 1e6, "dur": (end - begin) * 1e6,
            "args": arguments, "pid": 1, "tid": thread}  # fmt: skip


def said(name: str, at: float, thread: int = 1) -> dict:
    """An event without length: "end: operation", or a task taken up."""
    return span(name, at, at, None, thread)


def test_each_moment_of_the_frames_is_counted_once():
    times = stage_times(
        [
            {"ph": "M", "name": "thread_name"},
            span("frame", 10, 20, None),
            span("frame", 30, 40, None),
            span("silent_fusion", 9, 11),  # begins before the frame: 1 s of it counts
            span("while.1", 12, 18),  # its own: 12-13 and 16-18
            span("copy.1", 13, 16),
            span("silent_fusion", 22, 25),  # between frames: not counted
            span("mixed_fusion", 31, 35),  # alone 31-33, shared 33-35
            span("silent_fusion", 33, 35),
            span("tail", 36, 37),
            span("copy.1", 38, 39, "jit_other"),  # another program's
        ],
        read_operations(TEXT),
    )
    assert times.frames == 2
    assert times.frame_seconds == pytest.approx(20)
    assert times.of_stage("limit") == pytest.approx(1 + 1)
    assert times.of_stage("velocity") == pytest.approx(2 + 1)
    assert times.of_stage("pair_sums") == pytest.approx(6)
    assert times.of_stage(UNKNOWN) == pytest.approx(1)
    assert times.of_stage(IDLE) == pytest.approx(20 - 2 - 3 - 6 - 1)
    assert sorted(name for name, _ in times.operations("pair_sums")) == ["copy.1", "while.1"]


def test_an_operation_lasts_until_it_is_done_on_another_thread():
    events = [
        span("frame", 0, 10, None),
        span("silent_fusion", 1, 2),
        span("end: silent_fusion", 4, 5, None),
        span("silent_fusion", 6, 7),
        span("end: silent_fusion", 8, 9, None),
    ]
    times = stage_times(events, read_operations(TEXT))
    assert times.of_stage("limit") == pytest.approx(4 + 3)
    assert times.of_stage(IDLE) == pytest.approx(3)


def test_an_end_that_is_told_after_the_loop_that_waited_for_it_is_not_believed():
    """The thread that does the last of an operation runs what waits for it before it tells."""
    events = [
        span("frame", 0, 20, None),
        span("tail", 1, 2),  # handed over; its last part is done by thread 2, from 3 to 4
        said(TASK, 3, 2),
        span("while.1", 4, 18, thread=2),
        *(event for i in range(4, 17) for event in
          (span("copy.1", i, i + 0.9, thread=2), said("end: copy.1", i + 0.8, 2))),
        said("end: while.1", 17.9, 2),
        said("end: tail", 18.1, 2),
    ]  # fmt: skip
    times = stage_times(events, read_operations(TEXT))
    assert times.of_stage(UNKNOWN) == pytest.approx(3)
    assert times.of_stage("pair_sums") == pytest.approx(14)
    assert times.of_stage(IDLE) == pytest.approx(3)


def test_an_operation_handed_over_lasts_while_its_thread_does_other_things_first():
    events = [
        span("frame", 0, 20, None),
        said(TASK, 0.5),
        span("tail", 1, 2),  # handed over to a task that begins at 8
        span("silent_fusion", 4, 6),
        said("end: silent_fusion", 5.9),
        said(TASK, 8),
        said("end: tail", 12),
        span("mixed_fusion", 13, 14),
    ]
    times = stage_times(events, read_operations(TEXT))
    assert times.of_stage(UNKNOWN) == pytest.approx(10)  # 2 of its 11 s are shared with the other
    assert times.of_stage("limit") == pytest.approx(1)


def test_each_run_has_the_end_that_it_told_itself():
    """A loop is handed over; its end is told when the next run of it is over already."""
    events = [
        span("frame", 0, 20, None),
        span("while.1", 1, 2),
        said(TASK, 3, 2),
        span("copy.1", 4, 5, thread=2),  # a part of the loop
        span("silent_fusion", 6, 9, thread=2),
        span("while.1", 10, 12, thread=2),
        said("end: while.1", 11.9, 2),
        said("end: while.1", 15, 2),
    ]
    times = stage_times(events, read_operations(TEXT))
    assert times.of_stage("limit") == pytest.approx(3)
    assert times.of_stage("pair_sums") == pytest.approx(5 + 2)
    assert times.of_stage(IDLE) == pytest.approx(10)


def test_in_a_real_trace_what_a_loop_works_on_is_done_before_it(files, driver):
    text = driver.program.text()
    spans, frames = operation_spans(read_events(files.perfetto), read_operations(text))
    runs = defaultdict(list)
    for name, begin, end in spans:
        runs[name].append((begin, end))
    pairs = [
        (end, loop_begin)
        for given, loop in given_to_loops(text)
        for begin, end in runs[given]
        for loop_begin, _ in runs[loop]
        if begin < loop_begin and any(a <= begin and loop_begin <= b for a, b in frames)
    ]
    assert len(pairs) > 20
    assert all(end <= loop_begin for end, loop_begin in pairs)


def given_to_loops(text: str) -> list[tuple[str, str]]:
    """Every operation whose result a loop begins with, and the loop."""
    made = dict(re.findall(r"^\s+(?:ROOT )?%(\S+) = (.*)$", text, re.MULTILINE))
    found = []
    for loop, how in made.items():
        if of := re.search(r" while\(%([\w.-]+)\)", how):
            given = made[of[1]].partition(" tuple(")[2].partition(")")[0]
            found += [(name, loop) for name in re.findall(r"%([\w.-]+)", given)]
    return found
