# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured, as one record for JSON and as tables for people."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.cases import CASES
from benchmarks.figures import Measured, Row
from benchmarks.rounds import DEVELOPED
from engine.study import standard

# A pipe has no width; the tables must not be cut there.
PIPE_WIDTH = 120
# Other programs that keep so many CPUs busy disturb what is measured.
BUSY_CPUS = 0.25


def record(machine: dict[str, Any], measured: Measured, rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, as plain values."""
    params = asdict(standard.PARAMS)
    del params["space_size"]
    return {
        "machine": machine,
        "benchmark": {
            "rods": list(measured.rods), "packing_fraction": standard.PACKING_FRACTION,
            "developed_steps": DEVELOPED, "params": params,
        },
        "rows": [asdict(row) for row in rows],
        "cases": _cases(measured),
        "fresh_starts": [
            {"said": said, **kind._asdict()} for kind, said in measured.fresh.items()
        ],
    }  # fmt: skip


def _cases(measured: Measured) -> list[dict[str, Any]]:
    """Each case with its step times in ms, which are None where it has none."""
    records = []
    for name, case in CASES.items():
        if name not in measured.ready and name not in measured.refused:
            continue
        times = [1e3 * seconds for seconds in measured.step_s.get(name, ())]
        found: dict[str, Any] = {
            "case": name, "rods": measured.rods[case.size], **measured.ready.get(name, {}),
            "refused": measured.refused.get(name), "step_ms": None,
        }  # fmt: skip
        if times:
            steps = measured.steps[name]
            found |= {
                "step_ms": statistics.median(times), "step_ms_min": min(times),
                "step_ms_max": max(times), "rounds": len(times), "steps_per_round": steps,
                "rebuilds_per_1000": 1e3 * measured.rebuilds[name] / (len(times) * steps),
            }  # fmt: skip
        records.append(found)
    return records


def print_report(found: dict[str, Any]) -> None:
    """Print where it was measured, the comparison, and the step times behind it."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPE_WIDTH)
    for line in _where(found):
        console.print(line, soft_wrap=True)
    console.print(_comparison(found["rows"]))
    console.print(_steps(found["cases"]))


def _where(found: dict[str, Any]) -> list[str]:
    machine, of = found["machine"], found["benchmark"]
    p = of["params"]
    lines = [
        f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['system']}, {machine['date']}; load "
        f"{machine['load_before']} before, {machine['load_after']} after; meanwhile other programs "
        f"kept {machine['busy_cpus']:.2f} CPUs busy.",
        f"Standard benchmark: packing fraction {of['packing_fraction']:g}, length {p['length']:g}, "
        f"radius {p['radius']:g}, sensing_range {p['sensing_range']:g}, k_cc {p['k_cc']:g}, F_prop "
        f"{p['F_prop']:g}, dt {p['dt']:g}, gamma {p['gamma']:g}; relaxed, then developed for "
        f"{of['developed_steps']:,} steps. One thread unless said.",
    ]
    lines += sorted({_versions(case) for case in found["cases"] if "versions" in case})
    if machine["busy_cpus"] > BUSY_CPUS:
        lines.append("So the times are too long; repeat this on a quiet machine.")
    return lines


def _comparison(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table("ours", "figure", "measured", "least to most", "target", "met")
    before = None
    for row in rows:
        if before not in (None, row["code"]):
            table.add_section()
        before = row["code"]
        if row["refused"]:
            why = f"not measured: {row['refused']}"
            table.add_row(row["code"], row["figure"], why, "", row["target"], "")
            continue
        met = "" if row["met"] is None else "yes" if row["met"] else "no"
        spread = f"{_number(row['least'])} to {_number(row['most'])}"
        measured = f"{_number(row['measured'])} {row['unit']}"
        table.add_row(row["code"], row["figure"], measured, spread, row["target"], met)
    return table


def _steps(cases: Sequence[dict[str, Any]]) -> Table:
    headings = ("rods", "ms a step", "least to most", "steps", "rebuilds/1000", "compile s")
    table = Table("case", *headings, title="The step times behind it")
    for case in cases:
        if case["refused"] or case["step_ms"] is None:
            continue
        table.add_row(
            case["case"],
            f"{case['rods']:,}",
            _number(case["step_ms"]),
            f"{_number(case['step_ms_min'])} to {_number(case['step_ms_max'])}",
            f"{case['rounds']} × {case['steps_per_round']}",
            f"{case['rebuilds_per_1000']:.1f}",
            f"{case['compile_s']:.1f}",
        )
    return table


def _versions(case: dict[str, Any]) -> str:
    found = ", ".join(f"{name} {version}" for name, version in case["versions"].items())
    return f"{case['what']}: {found}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
