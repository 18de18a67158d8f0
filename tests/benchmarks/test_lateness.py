# SPDX-License-Identifier: GPL-3.0-or-later
"""How late the window is: what counts as late, and the cases with few rods for moments."""

import json
import os

import pytest

from bacsim_gui.bootstrap import prepare_window

prepare_window()

from benchmarks import lateness  # noqa: E402
from benchmarks.lateness_cases import SMALL, a_bench  # noqa: E402
from benchmarks.watch import Seen, percentile  # noqa: E402


def test_painting_is_no_lateness_and_a_long_wait_weighs_as_long_as_it_lasts():
    seen = Seen()
    seen.note(5.0, 0.0)
    seen.note(45.0, 40.0)
    seen.note(3.0, 0.0)
    assert seen.late == [0, 0, 0]
    assert seen.painting == [40]
    seen.note(45.0, 20.0)
    assert seen.late[3:] == [20, 15, 10, 5, 0]
    both = Seen.all_of([seen, Seen(late=[7.0], seconds=2.0, frames=3)])
    assert (both.late[-1], both.seconds, both.frames) == (7, 2, 3)


def test_percentiles():
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2
    assert percentile(list(range(100)), 0.99) == 99


@pytest.mark.gl
def test_each_case_is_seen_beside_the_window_at_rest(tmp_path, capsys):
    file = tmp_path / "seen.json"
    # The others are taken below.
    asked = ["--small", "--rounds", "1", "--only", "start,running,plots,record", "--json"]
    assert lateness.main([*asked, str(file)]) == 0
    said, found = capsys.readouterr().out, json.loads(file.read_text())
    for case in (
        "starting: JAX loaded, compiled", "running, 64 rods", "running, 64 rods, plots: over time",
        "recording 640 × 360",
    ):  # fmt: skip
        (seen,), (idle,) = found[case]["seen"], found[case]["idle"]
        assert seen["late"]
        assert idle["late"]
        assert idle["steps"] == 0
    assert found["running, 64 rods"]["seen"][0]["steps"] > 0
    assert f"{os.cpu_count()} cores; load average" in said


@pytest.mark.gl
def test_it_drags_and_types_like_a_user(qapp, tmp_path):
    with a_bench(SMALL, tmp_path) as bench:
        window = bench._window
        session, values = window.session, set()
        session.changed.connect(lambda: values.add(session.params.activity_thresh))
        bench.take_rounds(["start", "drag", "rods"], 1)
        # There and back.
        assert max(values) - session.params.activity_thresh > 1
        assert session.setup.rods == 80
        for case in ("dragging a slider, 64 rods", "rods applied (compile)"):
            (seen,), (idle,) = bench.seen[case]
            assert seen.late
            assert idle.steps == 0
        stats = window.engine.status.stats
        assert stats is not None
        assert stats.last is not None
        assert stats.last.reason == "rods"


@pytest.mark.gl
def test_a_long_run_is_told_in_parts(capsys):
    assert lateness.main(["--small", "--minutes", "0.02"]) == 0
    said = capsys.readouterr().out
    assert "64 rods for 0.02 minutes" in said
    assert "memory (MiB)" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--only dance", "--only dance is not known"),
        ("--rounds 0", "rounds = '0'"),
        ("--minutes 0", "minutes = '0'"),
        ("--json /nope/seen.json", "json = '/nope/seen.json' is in a folder that does not"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, words, capsys):
    with pytest.raises(SystemExit) as left:
        lateness.main(arguments.split())
    assert left.value.code == 2
    assert words in capsys.readouterr().err
