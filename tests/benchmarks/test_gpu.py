# SPDX-License-Identifier: GPL-3.0-or-later
"""The measuring of a card works without one, keeps its time, and names what it left out."""

import json
import time

import pytest

from benchmarks import gpu
from benchmarks.gpu_process import Case, Work
from benchmarks.limits import card_named, with_limits
from benchmarks.step_cost import cost_a_rod, measured_limits
from engine import Driver, Setup
from engine.study import standard


@pytest.mark.slow
def test_all_is_measured_with_few_rods(tmp_path, capsys, quick_processes):
    path = tmp_path / "gpu.json"
    gpu.main(["--small", "--seconds", "250", "--json", str(path)])
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["skipped"] == []
    assert {"device", "driver", "jax", "cpu", "platform_version"} <= set(found["machine"])
    rows = {(row["kernel"], row["rods"]): row for row in found["steps"]}
    few = [("neighbours", 64), ("naive", 64), ("rowsum", 64)]
    assert list(rows) == [*few, ("neighbours", 256)]
    for row in rows.values():
        assert 0 < row["step_ms_min"] <= row["step_ms"] <= row["step_ms_max"]
        assert row["rounds"] == 5
        assert row["temp_bytes"] > 0
        assert row["cold"]["cache"] == "miss"
    for case in few:
        assert rows[case]["warm"]["cache"] == "hit"
        assert rows[case]["warm"]["seconds"] < rows[case]["warm"]["first_frame_s"]
    for row in (rows["neighbours", 64], rows["neighbours", 256]):
        assert row["list"]["rebuilds_per_1000"] > 0
        assert row["limits"]["share_of_limit"] > 0
    assert [(c["rods"], c["K"]) for c in found["calls"]] == [(256, 1), (256, 4)]
    (frames,) = found["frames"]
    assert frames["frames_per_s"] * (frames["steps_ms"] + frames["drawing_ms"]) == pytest.approx(
        1e3
    )
    assert frames["renderer"]
    assert found["seconds"]["used"] < found["seconds"]["given"]
    assert "neighbours at 256 rods" in capsys.readouterr().err


def test_what_does_not_fit_into_the_time_is_named():
    found = gpu.measure(gpu.SMALL, 0.5)
    assert found["steps"] == found["calls"] == found["frames"] == []
    assert [skipped["why"] for skipped in found["skipped"]] == ["the time was over"] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--seconds -1", "seconds = '-1' is not possible. Give a number above 0"),
        ("--seconds soon", "seconds = 'soon' is not possible"),
        ("--json /nope/gpu.json", "json = '/nope/gpu.json' is in a folder that does not exist"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as left:
        gpu.main(arguments.split())
    assert left.value.code == 2
    words = capsys.readouterr().err
    assert said in words
    assert words.count("\n") == 1


def test_a_process_that_ends_tells_why(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "no-such-platform")
    job = {"part": "again", "measured": [("neighbours", 64)], **gpu.SMALL}
    said = list(gpu._messages(job, tmp_path, 60))
    assert said[-1]["skipped"]["what"] == "second start, neighbours at 64 rods"
    assert "no-such-platform" in said[-1]["skipped"]["why"]


def test_work_that_will_not_fit_or_fails_is_skipped_with_the_reason():
    said, did = [], []
    work = Work(said.append, time.monotonic() + 10)

    def fail() -> None:
        raise RuntimeError("no memory\nand more")

    work.attempt("short", 1, lambda: did.append("short"))
    work.attempt("long", 60, lambda: did.append("long"))
    work.attempt("bad", 1, fail)
    assert did == ["short"]
    assert [message["done"] for message in said if "done" in message] == ["short", "long", "bad"]
    long, bad = [message["skipped"] for message in said if "skipped" in message]
    assert long["what"] == "long"
    assert long["why"].startswith("it would take about 60 s, and ")
    assert bad == {"what": "bad", "why": "no memory"}


@pytest.mark.slow
def test_a_batch_in_which_an_array_grew_is_timed_again():
    params = standard.standard_params(64)
    case = Case(Driver(Setup(rods=64, kernel="neighbours"), params, seed=1), {})
    case.driver.set(sensing_range=4.0)
    case.batch(3)
    assert case.driver.stats.growths == 1
    assert case.driver.step == 6


@pytest.mark.parametrize(
    ("name", "bytes_per_s"),
    [
        ("NVIDIA H200", 4.8e12), ("NVIDIA H100 80GB HBM3", 3.35e12), ("NVIDIA H100 PCIe", 2.0e12),
        ("NVIDIA A100-SXM4-80GB", 2.039e12), ("NVIDIA A100-SXM4-40GB", 1.555e12),
        ("NVIDIA L40S", 864e9), ("NVIDIA L4", 300e9), ("NVIDIA GeForce RTX 4090", 1008e9),
    ],
)  # fmt: skip
def test_cards_are_known_by_the_names_that_jax_gives_them(name, bytes_per_s):
    card = card_named(name)
    assert card is not None
    assert card.bytes_per_s == bytes_per_s
    assert card_named("CPU") is None


def test_a_step_is_compared_with_the_limit_that_it_meets_first():
    """Ten thousand rods, three turns of eight slots, 0.1 ms a step."""
    cost = {
        "slots_a_turn": 8, "once": {"flops": 100.0, "bytes": 400.0},
        "turn": {"flops": 800.0, "bytes": 200.0},
    }  # fmt: skip
    measured = {"bytes_per_s": 1e12, "flops_per_s": 1e12}
    listed = {"rods": 10_000, "step_ms": 0.1, "list": {"most": 17}}
    other = {"rods": 10_000, "step_ms": 0.1}
    limits = {"data_sheet": None, "measured": measured}
    row, same = with_limits([listed, other], cost, limits)
    assert same == other
    assert row["limits"]["flops"] == 10_000 * 2500
    assert row["limits"]["bytes"] == 10_000 * 1000
    assert row["limits"]["share_of_limit"] == pytest.approx(0.025 / 0.1)
    assert row["limits"]["us_a_turn"] == pytest.approx(100 / 3)
    fast = {"data_sheet": {"bytes_per_s": 1e12, "flops_per_s": 1e14}, "measured": measured}
    (row,) = with_limits([listed], cost, fast)
    assert row["limits"]["share_of_limit"] == pytest.approx(0.01 / 0.1)
    assert with_limits([listed], None, fast) == [listed]


def test_the_cost_of_a_step_is_that_of_its_arithmetic(quickly_compiled):
    """A pair of rods takes some eighty operations, six numbers to read and two sums to carry on."""
    cost = cost_a_rod(256, standard.standard_params(256))
    slots = cost["slots_a_turn"]
    assert slots == 1
    assert 80 * slots < cost["turn"]["flops"] < 400 * slots
    assert 24 * slots < cost["turn"]["bytes"] < 800
    assert 50 < cost["once"]["flops"] < 500
    assert 100 < cost["once"]["bytes"] < 1000
    assert all(rate > 1e6 for rate in measured_limits(2**16, 64).values())
