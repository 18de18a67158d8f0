# SPDX-License-Identifier: GPL-3.0-or-later
"""Honest timing: what a compile cost and why, and what a step costs apart from it.

Compile times come from JAX's own events, not from a clock around a first call. Step times come from
batches that were waited for.
"""

import statistics
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import psutil

_TRACE = "/jax/core/compile/jaxpr_trace_duration"
_LOWER = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_BACKEND = "/jax/core/compile/backend_compile_duration"
_CACHE_HIT = "/jax/compilation_cache/cache_hits"
_CACHE_MISS = "/jax/compilation_cache/cache_misses"


@dataclass
class CompileEvents:
    """What JAX reported while it was being watched; seconds, and counts of events."""

    traces: int = 0
    compiles: int = 0
    trace_s: float = 0.0
    lower_s: float = 0.0
    compile_s: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0

    @property
    def cache(self) -> Literal["hit", "miss", "off"]:
        """What the persistent cache did: a hit means that the compile was read from disk."""
        return "hit" if self.cache_hits else "miss" if self.cache_misses else "off"


@contextmanager
def watch_compiles() -> Iterator[CompileEvents]:
    """Collect JAX's compile events while the block runs."""
    seen = CompileEvents()

    def on_duration(event: str, duration_secs: float, **_: Any) -> None:
        if event == _TRACE:
            seen.traces += 1
            seen.trace_s += duration_secs
        elif event == _LOWER:
            seen.lower_s += duration_secs
        elif event == _BACKEND:
            seen.compiles += 1
            seen.compile_s += duration_secs

    def on_event(event: str, **_: Any) -> None:
        seen.cache_hits += event == _CACHE_HIT
        seen.cache_misses += event == _CACHE_MISS

    jax.monitoring.register_event_duration_secs_listener(on_duration)
    jax.monitoring.register_event_listener(on_event)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(on_duration)
        jax.monitoring.unregister_event_listener(on_event)


@dataclass(frozen=True)
class CompileRecord:
    """One compile: why it happened, and its seconds of tracing, lowering and compiling.

    `cache` tells whether the persistent cache had it ("hit"), had not ("miss"), or was not in use.
    """

    reason: str
    trace_s: float
    lower_s: float
    compile_s: float
    cache: Literal["hit", "miss", "off"]

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.trace_s + self.lower_s + self.compile_s


@dataclass
class BatchTimes:
    """Step times of recent batches, each waited for before the clock was read."""

    recent: deque[float] = field(default_factory=lambda: deque(maxlen=64))

    def add(self, steps: int, seconds: float) -> None:
        """Note a batch of `steps` steps that took `seconds`."""
        if steps:
            self.recent.append(seconds / steps)

    @property
    def median(self) -> float:
        """Median seconds a step; NaN before the first batch."""
        return statistics.median(self.recent) if self.recent else float("nan")

    @property
    def p95(self) -> float:
        """95th percentile of the seconds a step; NaN before the first batch."""
        if not self.recent:
            return float("nan")
        return sorted(self.recent)[min(len(self.recent) - 1, int(0.95 * len(self.recent)))]


def seconds_of_others() -> float:
    """CPU seconds that all other processes of the machine have used so far."""
    own, every = psutil.Process().cpu_times(), psutil.cpu_times()
    used = sum(getattr(every, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
    return used - own.user - own.system
