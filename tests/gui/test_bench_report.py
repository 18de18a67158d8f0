# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark's table says all that is needed to judge it, and is not cut in a pipe."""

from dataclasses import replace

from bacsim_gui.bench_report import print_report
from engine.study.bench import Row, Trap, with_speedup

ROW = Row(
    "naive", 4096, 1, "CPU", 2.5, 1234.5, 1200.0, 1300.0, 419_500_000, 3318.0, None, 0.4, 5, 2,
    "0.10.2", "A CPU, 2 CPUs", 1.5, 0.0,
)  # fmt: skip


def report(rows, capsys) -> str:
    print_report(with_speedup(rows), None)
    return capsys.readouterr().out


def test_the_conditions_and_every_figure_are_said(capsys):
    fast = replace(ROW, kernel="rowsum", step_ms=12.345, step_ms_min=12.0, step_ms_max=13.0)
    lists = replace(ROW, kernel="neighbours", step_ms=1.2345, rod_steps_per_s=3_318_000.0)
    lists = replace(lists, code="native, avx2")
    text = report([ROW, fast, lists], capsys)
    for words in (
        "4,096 = 2 × 2 periodic copies of 1,024", "device CPU", "A CPU, 2 CPUs", "JAX 0.10.2",
        "load 1.5", "length 2, radius 0.25", "1,234", "1,200", "1,300", "419.50", "12.35",
        "100.00 ×", "neighbours", "1000.00 ×",
        "The code of neighbours: native, avx2.", "persistent cache is off", "5 rounds",
    ):  # fmt: skip
        assert words in text
    assert "quiet machine" not in text
    assert "…" not in text


def test_the_codes_of_neighbour_lists_are_told_apart(capsys):
    fast = replace(
        ROW, kernel="neighbours", n=1_048_576, code="native, avx2", step_ms=0.012345,
        step_ms_min=0.012345, step_ms_max=0.012345, rod_steps_per_s=123_456_789.0,
    )  # fmt: skip
    slow = replace(fast, code="JAX", native="off")
    text = report([replace(ROW, n=fast.n), fast, slow], capsys)
    assert "…" not in text
    lines = text.splitlines()
    assert [line for line in lines if "The code of" in line] == [
        "The code of neighbours: native, avx2."
    ]
    cells = [line.split("│")[1].strip() for line in lines if line.startswith("│")]
    assert cells == ["naive", "neighbours", "neighbours, JAX"]


def test_a_disturbed_machine_is_said(capsys):
    assert "quiet machine" in report([replace(ROW, busy_cpus=0.8)], capsys)


def test_a_refused_row_stays_in_the_table_with_its_reason(capsys):
    text = report([ROW, Row("rowsum", 10**6, 1, refused="too many rods")], capsys)
    assert "not measured" in text
    assert "rowsum at 1,000,000 rods: too many rods" in text


def test_wrong_ways_are_called_wrong_and_stand_beside_the_right_value(capsys):
    traps = (Trap("not waited for", 0.5, 1234.5, "wait"), Trap("first call", 2469.0, 1234.5, "no"))
    text = report([replace(ROW, traps=traps)], capsys)
    for words in (
        "WRONG: not waited for",
        "2,469 × too small",
        "2 × too large",
        "calls of 2 steps",
    ):
        assert words in text
