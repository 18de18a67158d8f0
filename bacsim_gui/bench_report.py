# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark's rows as a table for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.study.bench import Row
from engine.study.standard import PARAMS, copies_for

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

# A pipe has no width; the table must not be cut there.
PIPE_WIDTH = 140
# Other programs that keep so many CPUs busy disturb what is measured.
BUSY_CPUS = 0.25


def print_report(rows: Sequence[Row], state: "Path | None") -> None:
    """Print what was measured, where, how, and what wrong ways of timing would have read."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPE_WIDTH)
    for line in _where(rows, state):
        console.print(line, soft_wrap=True)
    console.print(_table(rows))
    for row in rows:
        if row.refused:
            console.print(f"{row.label} at {row.n:,} rods: {row.refused}", soft_wrap=True)
    _print_traps(console, rows)
    for line in _how(rows):
        console.print(line, soft_wrap=True)


def _where(rows: Sequence[Row], state: "Path | None") -> list[str]:
    p = PARAMS
    lines = [
        f"Standard benchmark: length {p.length:g}, radius {p.radius:g}, sensing_range "
        f"{p.sensing_range:g}, k_cc {p.k_cc:g}, F_prop {p.F_prop:g}, dt {p.dt:g}, gamma {p.gamma:g}"
        f"; all rods active at first. The rest as declared: w_d {p.w_d:g}, w_a {p.w_a:g}, "
        f"activity_thresh {p.activity_thresh:g}, activity_width {p.activity_width:g}, tau_a "
        f"{p.tau_a:g}, no torque, no noise."
    ]
    lines.append(f"State: {state}." if state else _states(rows))
    for row in _one_of_each_process(rows):
        lines.append(
            f"{_threads(row)}: device {row.device} ({row.cpu}), JAX {row.jax}, load {row.load} at "
            f"the start; meanwhile other programs kept {row.busy_cpus:.2f} CPUs busy."
        )
        if (row.busy_cpus or 0) > BUSY_CPUS:
            lines.append("So the times are too long; repeat this on a quiet machine.")
        lines += row.notes
    lines += [f"The code of {kernel}: {code}." for kernel, code in _native(rows)]
    return lines


def _native(rows: Sequence[Row]) -> list[tuple[str, str | None]]:
    """Kernels that are not compiled by JAX, and whose code they are."""
    return list({row.label: row.code for row in rows if row.code not in (None, "JAX")}.items())


def _states(rows: Sequence[Row]) -> str:
    made = []
    for n in dict.fromkeys(row.n for row in rows):
        m = copies_for(n)
        made.append(f"{n:,}" if m == 1 else f"{n:,} = {m} × {m} periodic copies of {n // m**2:,}")
    return f"States: random, relaxed, the same for all kernels; rods {', '.join(made)}."


def _one_of_each_process(rows: Sequence[Row]) -> list[Row]:
    return list({row.threads: row for row in rows if row.jax is not None}.values())


def _threads(row: Row) -> str:
    return f"{row.threads} thread{'s' * (row.threads > 1)}"


def _table(rows: Sequence[Row]) -> "Table":
    from rich.table import Table

    table = Table(title="Times of steps, compiling apart", title_justify="left")
    for column in (
        "kernel", "rods", "φ", "threads", "compile s", "ms a step", "least", "most",
        "temp MB", "rod-steps/s", "over naive",
    ):  # fmt: skip
        table.add_column(column, justify="left" if column == "kernel" else "right", no_wrap=True)
    for row in rows:
        table.add_row(row.label, f"{row.n:,}", *_cells(row))
    return table


def _cells(row: Row) -> list[str]:
    if row.step_ms is None:
        return ["", f"{row.threads}", "", "not measured", "", "", "", "", ""]
    times = (row.step_ms, row.step_ms_min or 0, row.step_ms_max or 0)
    over = row.speedup_over_naive
    return [
        f"{row.packing_fraction:.3g}",
        f"{row.threads}",
        f"{row.compile_s:.2f}",
        *map(_ms, times),
        f"{(row.temp_bytes or 0) / 1e6:,.2f}",
        f"{row.rod_steps_per_s:,.0f}",
        f"{over:.2f} ×" if over else "",
    ]


def _print_traps(console: "Console", rows: Sequence[Row]) -> None:
    from rich.table import Table

    for row in rows:
        if not row.traps:
            continue
        title = (
            f"Three wrong ways to time {row.label} at {row.n:,} rods, {_threads(row)}, in calls "
            f"of {row.steps_per_round} step{'s' * (row.steps_per_round != 1)}"
        )
        table = Table(title=title, title_justify="left")
        for column in ("wrong way", "reads ms a step", "right is", "off by", "why"):
            left = column in ("wrong way", "why")
            table.add_column(column, justify="left" if left else "right", no_wrap=column != "why")
        for trap in row.traps:
            table.add_row(
                f"WRONG: {trap.name}", _ms(trap.reads_ms), _ms(trap.right_ms),
                _times(trap.reads_ms / trap.right_ms), trap.why,
            )  # fmt: skip
        console.print(table)


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _times(factor: float) -> str:
    how, times = ("large", factor) if factor >= 1 else ("small", 1 / factor)
    return f"{times:,.0f} × too {how}" if times >= 100 else f"{times:.3g} × too {how}"


def _how(rows: Sequence[Row]) -> list[str]:
    rounds = next((row.rounds for row in rows if row.rounds), None)
    if rounds is None:
        return []
    return [
        f"ms a step: median, least and most of {rounds} rounds, interleaved over all rows of a "
        "process, every round from the same state, waited for. compile s: tracing, lowering and "
        "compiling, cold: the persistent cache is off. temp MB: temporaries of the program.",
        "over naive: median over median, same rods, same process. naive computes all pairs; rowsum "
        "leaves out what is too far away along x; neighbours sums over lists, and making them, as "
        "often as the rods demand, is in its times.",
    ]
