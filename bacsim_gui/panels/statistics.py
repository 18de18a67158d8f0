# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step and a compile cost, and what the rods do; refreshed a few times a second."""

import math
import time
from typing import TYPE_CHECKING

from PyQt6.QtWidgets import QWidget

from bacsim_gui.panels.layout import Figures, Group
from bacsim_gui.seam import Frame, Status
from bacsim_gui.session import Session
from engine import schema

if TYPE_CHECKING:
    from engine.stats import Stats

PHASES = {
    "starting": "starting JAX",
    "placing": "placing rods",
    "compiling": "compiling",
    "relaxing": "pushing rods apart",
    "tracing": "writing a profiler trace",
    "finishing": "finishing the movie",
    "running": "running",
    "paused": "paused",
    "stopped": "stopped",
}
# What the user has to wait for.
WAITS = ("starting", "placing", "compiling", "relaxing", "tracing", "finishing")
KERNELS = {
    "neighbours": "Each rod sums over a list of the rods near it.",
    "rowsum": "Each rod sums over all rods near it along x, in blocks; there is no list.",
    "naive": "Each rod sums over all rods, with N × N arrays; for comparison.",
}
CACHE = {
    "hit": "hit: read from the persistent cache",
    "miss": "miss: compiled and stored",
    "off": "off",
}


def _code(stats: "Stats") -> str:
    """Whose code the steps are, and on how many threads where that is known."""
    if stats.threads is None:
        return stats.code
    return f"{stats.code}, {stats.threads} thread{'s' * (stats.threads > 1)}"


def seconds(value: float) -> str:
    """A time span with a unit that suits it; a dash for none."""
    if not value > 0:
        return "–"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.2g} µs"


def big(value: float) -> str:
    """A large number in three digits."""
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g}" if value > 0 else "–"


def size(count: int) -> str:
    """A number of bytes."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def phase_text(status: Status, now: float) -> str:
    """What the engine is doing; with the seconds so far where the user has to wait."""
    text = PHASES.get(status.phase, status.phase)
    if status.phase in WAITS:
        text = f"{text}… {now - status.since:.0f} s"
        if status.phase in ("placing", "compiling") and status.reason:
            text += f" ({status.reason})"
    return text


class StatisticsPanel(Group):
    """Shows a `Status`, a `Frame` and the frame rate. It emits nothing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("statistics", parent)
        self.speed, self.compile, self.program, self.lists, self.state = (
            Figures() for _ in range(5)
        )
        headings = {}
        for title, figures in (
            ("", self.speed), ("compile", self.compile), ("program", self.program),
            ("neighbour list", self.lists), ("state", self.state),
        ):  # fmt: skip
            if title:
                headings[title] = self.add_heading(title)
            figures.setContentsMargins(0, 0, 4, 0)
            self.add(figures)
        self.lists_heading = headings["neighbour list"]

    def show_values(
        self, session: Session, status: Status, frame: Frame | None, frames_per_second: float
    ) -> None:
        """Show what was last measured."""
        K = session.K if frame is None else frame.K
        self._show_speed(session, status, K, frames_per_second)
        self._show_compile(status)
        self._show_lists(status)
        if frame is not None:
            self._show_state(session, frame)
            self._show_trust(session, status)

    def _show_speed(self, session: Session, status: Status, K: int, rate: float) -> None:
        put, stats = self.speed.put, status.stats
        looking = session.looking is not None
        # What was measured of the present says nothing about an earlier state.
        rate, stats = (0.0, None) if looking else (rate, stats)
        put("engine", "looking back" if looking else phase_text(status, time.monotonic()))
        put("frames a second", f"{rate:.1f}" if rate else "–", "Frames drawn in the last second.")
        put("steps a frame K", f"{K}{' (auto)' if session.auto else ''}")
        pace = schema.pace(session.setup, session.params, K * rate * session.draw_every)
        put(
            "pace", f"{pace:.3g} body widths/s" if rate else "–",
            "Body widths that a fully active rod advances in a second, at the measured frame rate.",
        )  # fmt: skip
        if stats is not None or looking:
            median, p95, pace = (
                (0.0, 0.0, 0.0) if stats is None
                else (stats.step_seconds, stats.step_seconds_p95, stats.rod_steps_per_second)
            )  # fmt: skip
            put("step time, median", seconds(median), "Of a blocked batch, over its K.")
            put("step time, p95", seconds(p95))
            put("rod-steps a second", big(pace), "Rods × steps / seconds.")

    def _show_compile(self, status: Status) -> None:
        stats = status.stats
        if stats is None:
            self.compile.put("compiles", "–")
            return
        put, last = self.compile.put, stats.last
        put(
            "compiles", str(stats.compiles),
            "Programs compiled since the start of the window: for the first start, another kernel, "
            "or more or fewer rods than the capacity suits.",
        )  # fmt: skip
        put(
            "growths", str(stats.growths),
            "Compiles, counted apart, because a neighbour list or another array was outgrown in "
            "the midst of a run.",
        )  # fmt: skip
        if last is not None:
            put("the last one, why", last.reason)
            for name, span, total in (
                ("tracing", last.trace_s, stats.trace_seconds),
                ("lowering", last.lower_s, stats.lower_seconds),
                ("compiling", last.compile_s, stats.backend_seconds),
            ):
                text = f"{seconds(span)}, in all {seconds(total)}"
                put(name, text, "Of the last compile and of all, as jax.monitoring reports them.")
            put(
                "compile time, in all", seconds(stats.compile_seconds),
                "Tracing, lowering and compiling of all programs since the start of the window.",
            )  # fmt: skip
            put("persistent cache", last.cache, CACHE.get(last.cache, ""))
        put = self.program.put
        put("device", stats.device)
        put("kernel", stats.kernel, KERNELS.get(stats.kernel, ""))
        put("chosen", stats.kernel_reason, "Why this kernel is in use.")
        put(
            "code", _code(stats),
            "Native code sums over neighbour lists on a CPU; all else is compiled by JAX. The flag "
            "--threads says how many threads native code uses.",
        )  # fmt: skip
        put(
            "capacity", f"{stats.capacity:,} rods",
            "Rods that the compiled program has room for. Any number from 90 % of it to all of it "
            "compiles nothing.",
        )  # fmt: skip
        put("temporary memory", size(stats.temp_bytes), "Of the compiled K-step program.")

    def _show_lists(self, status: Status) -> None:
        """Show the figures of the lists; dashes before the first step, which makes them."""
        put, stats = self.lists.put, status.stats
        listed = stats is not None and stats.kernel == "neighbours"
        for widget in (self.lists_heading, self.lists):
            widget.setVisible(listed)
        if stats is None or not listed:
            return
        lists = stats.neighbours
        tried = lists is not None and lists.candidate_room > 0
        put(
            "neighbours a rod",
            f"{lists.mean:.1f}, most {lists.most} of {lists.slots}" if lists else "–",
            "Rods in a rod's list: the mean, the most of any rod, and how many there is room for. "
            "More than that is a growth.",
        )  # fmt: skip
        put(
            "tried for it, most",
            f"{lists.candidates} of {lists.candidate_room}" if lists and tried else "–",
            "Nearby rods that are tried when a rod's list is made: the most of any rod, and how "
            "many there is room for; native code has no limit.",
        )  # fmt: skip
        put(
            "skin", f"{lists.skin:.3g} l" if lists else "–",
            "How far beyond its reach a rod's list goes. Lists are made anew once a rod has moved "
            "by half of it. Chosen by the run itself: thick where rods are fast, thin in a crowd.",
        )  # fmt: skip
        put(
            "remade in 1,000 steps", f"{lists.rebuilds_per_1000:.3g} times" if lists else "–",
            "How often all lists are made anew, over recent steps.",
        )  # fmt: skip

    def _show_state(self, session: Session, frame: Frame) -> None:
        put, snapshot = self.state.put, frame.snapshot
        put("rods", f"{snapshot.n:,}")
        put("seed", str(session.seed))
        put("step", f"{snapshot.step:,}")
        put("simulated time", f"{snapshot.time:.6g} t", _sentence(schema.unit_words("t")))
        for name, value in snapshot.observables.items():
            unit = "l/t" if name == "mean_speed" else ""
            doc = _sentence(schema.unit_words(unit))
            # A speed is known from the first step on.
            text = "–" if math.isnan(value) else f"{value:.3f} {unit}"
            put(name.replace("_", " "), text, doc)

    def _show_trust(self, session: Session, status: Status) -> None:
        put, trust = self.state.put, None if session.looking is not None else status.trust
        put(
            "deepest overlap",
            "–" if trust is None else f"{trust.deepest_overlap:.2f} body widths",
            "Of any two rods; measured once a second or less often. Up to half a body width "
            "contacts are to be trusted.",
        )  # fmt: skip
        put(
            "crossed pairs", "–" if trust is None else f"{trust.crossed_pairs:,}",
            "Pairs of rods whose core lines meet or cross, as those of bacteria cannot. Measured "
            "once a second or less often.",
        )  # fmt: skip


def _sentence(words: str) -> str:
    return f"{words}." if words else ""
